// StagePriorities: applies priorities that follow stages to the pods of a cluster.
#ifndef SCHEDFW_SCHEDULER_STAGE_PRIORITIES_H_
#define SCHEDFW_SCHEDULER_STAGE_PRIORITIES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/stage_priority.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {

/// What the stages of pods mean to a scheduler: nothing, unless a StagePriorityPlugin sorts its
/// queue. Pods of a PodGroup have the priority of their group and don't follow a stage, where such
/// groups count. The scheduler must outlive it.
class StagePriorities {
 public:
  explicit StagePriorities(const Scheduler& scheduler) : pod_groups_(scheduler.pod_groups()) {
    // All profiles sort alike.
    const Framework& first = *scheduler.framework(scheduler.profile_names().front());
    plugin_ = dynamic_cast<const StagePriorityPlugin*>(&first.queue_sort());
  }

  bool on() const { return plugin_ != nullptr; }
  /// The annotation of pods that holds their stage; only when on().
  const std::string& annotation() const { return plugin_->StageAnnotation(); }

  /// What the pod's priority should count as at a stage. O(log classes + its annotation), or
  /// O(classes) for a pod that names no class.
  std::int32_t PriorityAt(const Snapshot& snapshot, const PodInfo& pod,
                          std::string_view stage) const {
    const api::PodSpec& spec = pod.plan->pattern->spec;
    const std::int32_t value = spec.priority.value_or(0);
    if (!on() || (pod_groups_ && pod.scheduling_group != 0)) return value;
    return plugin_->PriorityAt(
        stage, value, ClassOf(snapshot.objects().priority_classes, spec.priority_class_name));
  }
  /// The same at the stage that the pod has. Packed pods stay packed.
  std::int32_t PriorityOf(const Snapshot& snapshot, const PodInfo& pod) const {
    return PriorityAt(snapshot, pod,
                      on() ? pod.pod.Annotation(annotation()).value_or("") : std::string());
  }

  /// Gives all pods of a cluster the priorities of their stages. O(pods).
  void ApplyTo(Cluster& cluster) const {
    if (!on()) return;
    std::vector<PodPtr> pods = cluster.view().Pending();
    for (Row row = 0; row < cluster.view().size(); ++row) {
      const std::vector<PodPtr>& on_node = cluster.view().pods(row);
      pods.insert(pods.end(), on_node.begin(), on_node.end());
    }
    for (const PodPtr& pod : pods) ApplyTo(cluster, pod);
  }
  /// The same for one pod of it, which is returned as it is then.
  PodPtr ApplyTo(Cluster& cluster, const PodPtr& pod) const {
    if (!on()) return pod;
    const std::int32_t priority = PriorityOf(cluster.view(), *pod);
    if (priority == pod->priority()) return pod;
    const std::string full = pod->FullName();
    const std::size_t slash = full.find('/');
    const std::string_view ns = std::string_view(full).substr(0, slash);
    // It was compiled before, and nothing but the priority differs.
    (void)cluster.SetPodPriority(ns, std::string_view(full).substr(slash + 1), priority);
    return cluster.view().FindPod(pod->Key());
  }

 private:
  // As api::SetPriority finds it.
  static const api::PriorityClass* ClassOf(const std::vector<api::PriorityClass>& classes,
                                           const std::string& name) {
    if (!name.empty()) return ObjectStore::Find(classes, std::string(), name);
    const api::PriorityClass* found = nullptr;
    for (const api::PriorityClass& candidate : classes) {
      if (candidate.global_default && (found == nullptr || candidate.value < found->value)) {
        found = &candidate;
      }
    }
    return found;
  }

  const StagePriorityPlugin* plugin_ = nullptr;
  bool pod_groups_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_STAGE_PRIORITIES_H_
