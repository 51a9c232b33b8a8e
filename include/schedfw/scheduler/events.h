// What a scheduler publishes on its EventBus.
#ifndef SCHEDFW_SCHEDULER_EVENTS_H_
#define SCHEDFW_SCHEDULER_EVENTS_H_

#include <cstdint>
#include <string_view>

#include "schedfw/base/status.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

// Texts and statuses in events are valid while the handler runs; a handler that keeps them copies
// them. Pods can be kept as they are.

/// A pod without a node has entered the queue for the first time.
struct PodAdded {
  PodPtr pod;
};

/// A scheduling cycle begins.
struct CycleStarted {
  PodPtr pod;
};

/// A scheduling cycle has ended; binding may be still to come.
struct CycleFinished {
  PodPtr pod;
  const Status& status;
  std::string_view node;  ///< the chosen one; empty: none
};

/// No node was found for a pod, or a plugin rejected it later; it goes back to the queue.
struct PodRejected {
  PodPtr pod;
  const Status& status;
};

/// A pod counts on a node from now on although it isn't bound yet.
struct PodAssumed {
  PodPtr pod;
  std::string_view node;
};

/// A pod has its node for good; the node itself may have been deleted meanwhile.
struct PodBound {
  PodPtr pod;
  std::string_view node;
};

/// Binding failed after all its tries; the pod no longer counts on the node.
struct BindFailed {
  PodPtr pod;
  std::string_view node;
  const Status& status;
};

/// A waiting pod was nominated to a node, or its nomination was taken back.
struct PodNominated {
  PodPtr pod;
  std::string_view node;  ///< empty: to none
};

/// A pod was evicted for another.
struct PodPreempted {
  PodPtr victim;
  PodPtr preemptor;  ///< nullptr: a group of pods
  std::string_view node;
};

/// A pod has entered another stage of its life, which may change its priority.
struct StageChanged {
  PodPtr pod;
  std::string_view stage;
  std::int32_t old_priority = 0;
  std::int32_t new_priority = 0;
};

/// A node was added, changed or deleted.
struct NodeChanged {
  enum class Kind : std::uint8_t { kAdded, kUpdated, kDeleted };
  Kind kind = Kind::kAdded;
  std::string_view node;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_EVENTS_H_
