// The events that an update of a pod or a node is (framework/events.go).
#ifndef SCHEDFW_FRAMEWORK_EVENT_CLASSIFY_H_
#define SCHEDFW_FRAMEWORK_EVENT_CLASSIFY_H_

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/cluster/pod_info.h"
#include "schedfw/cluster/pod_requests.h"
#include "schedfw/framework/event.h"

namespace schedfw {

namespace internal {

// Whether some amount of `a` is missing in `b` or less there. Upstream compares thousandths, also
// where plans hold whole units.
inline bool AnyMore(const ExactAmounts& a, const ExactAmounts& b) {
  return std::any_of(a.entries().begin(), a.entries().end(), [&](const ExactAmounts::Entry& entry) {
    const Quantity* other = b.Find(entry.resource);
    return other == nullptr || entry.quantity.RoundedUpToMilli() > other->RoundedUpToMilli();
  });
}

// What decides where a node's conditions differ: the last status of each type.
inline std::map<std::string_view, std::string_view> ConditionStatuses(const api::Node& node) {
  std::map<std::string_view, std::string_view> out;
  for (const api::Condition& condition : node.status.conditions) {
    out[condition.type] = condition.status;
  }
  return out;
}

// What the API server stores: without an allocatable, the capacity.
inline const api::ResourceList& AllocatableOf(const api::Node& node) {
  return node.status.allocatable ? *node.status.allocatable : node.status.capacity;
}

}  // namespace internal

/// What an update changed of a pod, an event each, in upstream's order; one of kUpdate when it is
/// nothing that has an action of its own (PodSchedulingPropertiesChange). Both pods are of the
/// dictionary's cluster. `resource` says what the pod is now: kAssignedPod, kTargetPod when it is
/// the one that is asked about, or kUnscheduledPod. The objects of pods on nodes aren't made.
///
/// Resource claims, whose changes upstream tells apart as well, are not known here.
inline std::vector<ClusterEvent> PodChangeEvents(const PodInfo& old_pod, const PodInfo& new_pod,
                                                 EventResource resource, Dictionary& dictionary) {
  std::vector<ClusterEvent> out;
  const auto add = [&](bool changed, ActionType action) {
    if (changed) out.push_back({resource, action});
  };
  if (old_pod.plan != new_pod.plan) {  // else all that follows is equal (SamePlan)
    const api::Pod& before = *old_pod.plan->pattern;
    const api::Pod& after = *new_pod.plan->pattern;
    const ExactAmounts old_requests = PodRequests(before, {.use_status = true}, dictionary);
    const ExactAmounts new_requests = PodRequests(after, {.use_status = true}, dictionary);
    add(old_pod.label_set() != new_pod.label_set(), kUpdatePodLabel);
    add(internal::AnyMore(old_requests, new_requests), kUpdatePodScaleDown);
    add(internal::AnyMore(new_requests, old_requests), kUpdatePodScaleUp);
    add(after.spec.scheduling_gates.empty() && !before.spec.scheduling_gates.empty(),
        kUpdatePodSchedulingGatesEliminated);
    // The API server allows no toleration to be changed or removed: counting them is enough.
    add(after.spec.tolerations.size() != before.spec.tolerations.size(), kUpdatePodToleration);
  }
  add(out.empty(), kUpdate);
  return out;
}

/// What an update changed of a node, an event each, in upstream's order, where that of taints may
/// come twice; none when it is nothing of these (NodeSchedulingPropertiesChange).
///
/// The preemption policy and the declared features, which come last upstream, are not known here.
inline std::vector<ClusterEvent> NodeChangeEvents(const api::Node& old_node,
                                                  const api::Node& new_node) {
  std::vector<ClusterEvent> out;
  const auto add = [&](bool changed, ActionType action) {
    if (changed) out.push_back({EventResource::kNode, action});
  };
  // Only a node that is opened counts, and counts as one that lost a taint.
  add(old_node.spec.unschedulable && !new_node.spec.unschedulable, kUpdateNodeTaint);
  add(internal::AllocatableOf(old_node) != internal::AllocatableOf(new_node),
      kUpdateNodeAllocatable);
  add(old_node.metadata.labels != new_node.metadata.labels, kUpdateNodeLabel);
  add(old_node.spec.taints != new_node.spec.taints, kUpdateNodeTaint);
  add(internal::ConditionStatuses(old_node) != internal::ConditionStatuses(new_node),
      kUpdateNodeCondition);
  add(old_node.metadata.annotations != new_node.metadata.annotations, kUpdateNodeAnnotation);
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_EVENT_CLASSIFY_H_
