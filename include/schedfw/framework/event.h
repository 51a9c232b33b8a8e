// Cluster events and queueing hints: what may make a rejected pod schedulable.
#ifndef SCHEDFW_FRAMEWORK_EVENT_H_
#define SCHEDFW_FRAMEWORK_EVENT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

/// The kind of object an event is about (k8s.io/kube-scheduler/framework/types.go).
enum class EventResource : std::uint8_t {
  kAssignedPod,     ///< a pod on a node
  kUnscheduledPod,  ///< another pod that waits
  kTargetPod,       ///< the rejected pod itself
  kNode,
  kWildCard,  ///< anything
};

/// What happened to it, as a set of bits; upstream's ActionType.
using ActionType = std::uint32_t;
inline constexpr ActionType kAdd = 1u << 0;
inline constexpr ActionType kDelete = 1u << 1;
inline constexpr ActionType kUpdateNodeAllocatable = 1u << 2;
inline constexpr ActionType kUpdateNodeLabel = 1u << 3;
inline constexpr ActionType kUpdateNodeTaint = 1u << 4;
inline constexpr ActionType kUpdateNodeCondition = 1u << 5;
inline constexpr ActionType kUpdateNodeAnnotation = 1u << 6;
inline constexpr ActionType kUpdatePodLabel = 1u << 7;
inline constexpr ActionType kUpdatePodScaleDown = 1u << 8;
inline constexpr ActionType kUpdatePodToleration = 1u << 9;
inline constexpr ActionType kUpdatePodSchedulingGatesEliminated = 1u << 10;
inline constexpr ActionType kAllActions = (1u << 11) - 1;

struct ClusterEvent {
  EventResource resource = EventResource::kWildCard;
  ActionType actions = kAllActions;
};

/// The object before and after; one is null when it was added or deleted.
struct ObjectChange {
  const api::Node* old_node = nullptr;
  const api::Node* new_node = nullptr;
  const PodInfo* old_pod = nullptr;
  const PodInfo* new_pod = nullptr;
};

enum class QueueingHint : std::uint8_t { kSkip, kQueue };

/// Whether a change may make the pod, which the plugin rejected, schedulable. Empty: always kQueue.
using QueueingHintFn = std::function<QueueingHint(const PodInfo& pod, const ObjectChange& change)>;

struct ClusterEventWithHint {
  ClusterEvent event;
  QueueingHintFn hint;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_EVENT_H_
