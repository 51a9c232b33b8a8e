// Cluster events and queueing hints: what may make a rejected pod schedulable.
#ifndef SCHEDFW_FRAMEWORK_EVENT_H_
#define SCHEDFW_FRAMEWORK_EVENT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/api/pod_group.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

class Snapshot;

/// The kind of object an event is about (k8s.io/kube-scheduler/framework/types.go).
enum class EventResource : std::uint8_t {
  kAssignedPod,     ///< a pod on a node
  kUnscheduledPod,  ///< another pod that waits
  kTargetPod,       ///< the rejected pod itself
  kNode,
  kPodGroup,              ///< scheduling.k8s.io
  kCoschedulingPodGroup,  ///< scheduling.x-k8s.io
  kNodeResourceTopology,  ///< topology.node.k8s.io
  kWildCard,              ///< anything
};

/// What happened to it, as a set of bits in upstream's order, which Matches() depends on.
using ActionType = std::uint32_t;
inline constexpr ActionType kAdd = 1u << 0;
inline constexpr ActionType kDelete = 1u << 1;
inline constexpr ActionType kUpdateNodeAllocatable = 1u << 2;
inline constexpr ActionType kUpdateNodeLabel = 1u << 3;
inline constexpr ActionType kUpdateNodeTaint = 1u << 4;
inline constexpr ActionType kUpdateNodeCondition = 1u << 5;
inline constexpr ActionType kUpdateNodeAnnotation = 1u << 6;
inline constexpr ActionType kUpdateNodeDeclaredFeature = 1u << 7;
inline constexpr ActionType kUpdateNodePreemptionPolicy = 1u << 8;
inline constexpr ActionType kUpdatePodLabel = 1u << 9;
inline constexpr ActionType kUpdatePodScaleDown = 1u << 10;
inline constexpr ActionType kUpdatePodScaleUp = 1u << 11;
inline constexpr ActionType kUpdatePodToleration = 1u << 12;
inline constexpr ActionType kUpdatePodSchedulingGatesEliminated = 1u << 13;
inline constexpr ActionType kUpdatePodGeneratedResourceClaim = 1u << 14;
inline constexpr ActionType kAllActions = (1u << 15) - 1;
inline constexpr ActionType kUpdate = kAllActions & ~(kAdd | kDelete);  ///< any change, or another

struct ClusterEvent {
  EventResource resource = EventResource::kWildCard;
  ActionType actions = kAllActions;

  constexpr bool IsWildCard() const {
    return resource == EventResource::kWildCard && actions == kAllActions;
  }
  friend bool operator==(const ClusterEvent&, const ClusterEvent&) = default;
};

/// Whether a plugin that registered an event is asked about one that has come (framework/events.go,
/// MatchClusterEvents). What comes has one action, or kUpdate, which only registrations for all
/// updates match.
constexpr bool Matches(const ClusterEvent& registered, const ClusterEvent& incoming) {
  if (registered.IsWildCard()) return true;
  return (registered.resource == EventResource::kWildCard ||
          registered.resource == incoming.resource) &&
         (registered.actions & incoming.actions) != 0 && incoming.actions <= registered.actions;
}

/// The object before and after; one is null when it was added or deleted. Pods are of the cluster
/// that the rejected pod waits in.
///
/// Upstream's hints also ask whether a pod of an event has a node or is nominated to one. Here they
/// don't: an event of kAssignedPod is about a pod on a node, whether or not its object says so
/// (that of a pod bound by the library doesn't), or about a nominated one that is deleted.
struct ObjectChange {
  const api::Node* old_node = nullptr;
  const api::Node* new_node = nullptr;
  const PodInfo* old_pod = nullptr;
  const PodInfo* new_pod = nullptr;
  const api::PodGroup* old_group = nullptr;
  const api::PodGroup* new_group = nullptr;
  /// The cluster as it is when the hint is called, where hints find other objects; without it, what
  /// depends on those counts as changed.
  const Snapshot* snapshot = nullptr;
};

enum class QueueingHint : std::uint8_t { kSkip, kQueue };

/// Whether a change may make the pod, which the plugin rejected, schedulable. Empty: always kQueue.
/// Called between cycles, by the thread that runs them, for each pod that waits: it has to be
/// quick.
using QueueingHintFn = std::function<QueueingHint(const PodInfo& pod, const ObjectChange& change)>;

struct ClusterEventWithHint {
  ClusterEvent event;
  QueueingHintFn hint;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_EVENT_H_
