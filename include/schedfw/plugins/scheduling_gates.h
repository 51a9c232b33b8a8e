// SchedulingGates: keeps gated pods out of the queue.
#ifndef SCHEDFW_PLUGINS_SCHEDULING_GATES_H_
#define SCHEDFW_PLUGINS_SCHEDULING_GATES_H_

#include <string>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Rejects pods with scheduling gates before they are queued (plugins/schedulinggates).
class SchedulingGates : public PreEnqueuePlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "SchedulingGates";

  std::string_view Name() const override { return kName; }

  Status PreEnqueue(const PodInfo& pod) override {
    // Pods of one plan have the same gates, and the plan is at hand already.
    const auto& gates = pod.plan->pattern->spec.scheduling_gates;
    if (gates.empty()) return {};
    return Status::Unresolvable("waiting for scheduling gates: [" + Names(gates) + "]");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kTargetPod, kUpdatePodSchedulingGatesEliminated}, {}}};
  }

  /// The gates' names, with blanks between.
  static std::string Names(const std::vector<api::PodSchedulingGate>& gates) {
    std::string names;
    for (const api::PodSchedulingGate& gate : gates) {
      names += (names.empty() ? "" : " ") + gate.name;
    }
    return names;
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_SCHEDULING_GATES_H_
