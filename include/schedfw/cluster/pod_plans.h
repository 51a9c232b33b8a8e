// PodPlans: the plans of a cluster's pods, each kind of pod once.
#ifndef SCHEDFW_CLUSTER_POD_PLANS_H_
#define SCHEDFW_CLUSTER_POD_PLANS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "schedfw/base/result.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

namespace internal {

// A volume that scheduling reads: the many others, such as those with a pod's token, have names of
// their own in each pod.
inline bool IsRead(const api::Volume& volume) {
  return volume.image || volume.ephemeral || !volume.persistent_volume_claim.empty();
}

// Whether the volumes that are read are the same.
inline bool SameVolumes(const std::vector<api::Volume>& a, const std::vector<api::Volume>& b) {
  const auto next = [](const std::vector<api::Volume>& list, std::size_t from) {
    while (from < list.size() && !IsRead(list[from])) ++from;
    return from;
  };
  std::size_t i = next(a, 0), j = next(b, 0);
  for (; i < a.size() && j < b.size(); i = next(a, i + 1), j = next(b, j + 1)) {
    if (!(a[i] == b[j])) return false;
  }
  return i == a.size() && j == b.size();
}

}  // namespace internal

/// Whether two pods have one plan: all fields that a plan or an in-tree plugin reads are equal.
/// Name, uid, annotations but those of GPU requests, times, the node and the nomination are not
/// among them.
inline bool SamePlan(const api::Pod& a, const api::Pod& b) {
  const api::ObjectMeta& m = a.metadata;
  const api::ObjectMeta& n = b.metadata;
  const api::PodSpec& x = a.spec;
  const api::PodSpec& y = b.spec;
  const api::PodStatus& s = a.status;
  const api::PodStatus& t = b.status;
  // The resize condition decides how a reported resize counts (pod_requests.h).
  return m.labels == n.labels && x.containers == y.containers && m.ns == n.ns &&
         m.owner_references == n.owner_references &&
         m.deletion_timestamp_ns.has_value() == n.deletion_timestamp_ns.has_value() &&
         x.scheduler_name == y.scheduler_name && x.priority == y.priority &&
         x.priority_class_name == y.priority_class_name &&
         x.preemption_policy == y.preemption_policy && x.node_selector == y.node_selector &&
         x.affinity == y.affinity && x.tolerations == y.tolerations &&
         x.topology_spread_constraints == y.topology_spread_constraints &&
         x.init_containers == y.init_containers && x.overhead == y.overhead &&
         x.resources == y.resources && x.host_network == y.host_network &&
         x.scheduling_gates == y.scheduling_gates && internal::SameVolumes(x.volumes, y.volumes) &&
         x.resource_claims == y.resource_claims && s.container_statuses == t.container_statuses &&
         s.init_container_statuses == t.init_container_statuses &&
         s.allocated_resources == t.allocated_resources && s.has_resources == t.has_resources &&
         s.actuated_requests == t.actuated_requests &&
         internal::IsResizeInfeasible(a) == internal::IsResizeInfeasible(b) &&
         internal::SameGpuAnnotations(m, n);
}

/// Compiles pods, and finds the plan again that a pod of the same kind has. Shared by a Cluster and
/// all its forks and snapshots; a plan goes with its last pod. Every member may be called from any
/// thread. No result depends on which pods share a plan.
class PodPlans {
 public:
  /// A pod that is to be scheduled, with its plan. `priority`: what counts instead of the pod's
  /// own. O(size of the pod); a kind that is known is compared, not compiled. Errors: see
  /// CompilePod.
  Result<PodPtr> Compile(std::shared_ptr<const api::Pod> pod, Dictionary& dictionary,
                         std::optional<std::int32_t> priority = {}) {
    auto out = std::make_shared<PodInfo>();
    const Kind kind{/*for_cycle=*/true, PriorityOf(*pod, priority)};
    const std::uint64_t hash = Hash(*pod, kind);
    out->plan = Find(hash, *pod, kind);
    if (!out->plan) {
      if (auto done = Add(hash, pod, kind, dictionary, out->plan); !done) {
        return done.error();
      }
    }
    out->name = dictionary.Intern(pod->metadata.name);
    out->scheduling_group = dictionary.Intern(pod->spec.scheduling_group);
    out->pod = std::move(pod);
    return PodPtr(std::move(out));
  }
  /// The same for a pod that has a node: of its object only what its plan doesn't tell is kept.
  Result<PodPtr> CompileBound(const api::Pod& pod, Dictionary& dictionary,
                              std::optional<std::int32_t> priority = {}) {
    const Kind kind{/*for_cycle=*/false, PriorityOf(pod, priority)};
    const std::uint64_t hash = Hash(pod, kind);
    std::shared_ptr<const PodPlan> plan = Find(hash, pod, kind);
    if (!plan) {
      auto done = Add(hash, std::make_shared<const api::Pod>(pod), kind, dictionary, plan);
      if (!done) return done.error();
    }
    return Pack(pod, std::move(plan), dictionary);
  }

 private:
  // What plans of equal pods may differ in.
  struct Kind {
    bool for_cycle;
    std::int32_t priority;
  };
  static std::int32_t PriorityOf(const api::Pod& pod, std::optional<std::int32_t> priority) {
    return priority.value_or(pod.spec.priority.value_or(0));
  }

  std::shared_ptr<const PodPlan> Find(std::uint64_t hash, const api::Pod& pod, const Kind& kind) {
    std::lock_guard lock(mutex_);
    const auto [begin, end] = plans_.equal_range(hash);
    // Kinds that only differ in what isn't hashed are compared one by one: not too many of them.
    int left = kMostCompared;
    for (auto it = begin; it != end && left > 0; ++it, --left) {
      std::shared_ptr<const PodPlan> plan = it->second.lock();
      if (plan && plan->for_cycle == kind.for_cycle && plan->priority == kind.priority &&
          SamePlan(*plan->pattern, pod)) {
        return plan;
      }
    }
    return nullptr;
  }
  Result<void> Add(std::uint64_t hash, const std::shared_ptr<const api::Pod>& pattern,
                   const Kind& kind, Dictionary& dictionary, std::shared_ptr<const PodPlan>& plan) {
    auto made = CompilePlan(pattern, kind.for_cycle, dictionary);
    if (!made) return made.error().In("Pod " + pattern->FullName());
    made->priority = kind.priority;
    plan = std::make_shared<const PodPlan>(*std::move(made));
    std::lock_guard lock(mutex_);
    if (plans_.size() >= sweep_at_) {
      std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = std::max<std::size_t>(64, 2 * plans_.size());
    }
    plans_.emplace(hash, plan);
    return {};
  }

  static PodPtr Pack(const api::Pod& pod, std::shared_ptr<const PodPlan> plan,
                     Dictionary& dictionary) {
    auto out = std::make_shared<PodInfo>();
    out->pod.Pack(pod, *plan->pattern);
    out->plan = std::move(plan);
    out->name = dictionary.Intern(pod.metadata.name);
    out->scheduling_group = dictionary.Intern(pod.spec.scheduling_group);
    return out;
  }

  // Only of what tells kinds of pods apart as a rule: what has the same hash is compared.
  static std::uint64_t Hash(const api::Pod& pod, const Kind& kind) {
    std::uint64_t out = static_cast<std::uint32_t>(kind.priority);
    const auto number = [&](std::uint64_t value) {
      out = (out ^ value) * 0x9E3779B97F4A7C15u;
      out ^= out >> 32;
    };
    const auto text = [&](std::string_view value) { number(std::hash<std::string_view>()(value)); };
    text(pod.metadata.ns);
    for (const auto& [key, value] : pod.metadata.labels) text(value);
    for (const api::Volume& volume : pod.spec.volumes) {
      if (internal::IsRead(volume)) text(volume.persistent_volume_claim);
    }
    for (const api::Container& container : pod.spec.containers) {
      text(container.image);
      for (const auto& [name, quantity] : container.resources.requests) {
        number(quantity.Fingerprint());
      }
    }
    return out * 2 + (kind.for_cycle ? 1 : 0);
  }

  static constexpr int kMostCompared = 16;

  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const PodPlan>> plans_;  // look-ups only
  std::size_t sweep_at_ = 64;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_POD_PLANS_H_
