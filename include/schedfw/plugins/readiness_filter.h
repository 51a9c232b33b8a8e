// ReadinessFilter: pods that aren't ready are tried, and fit on no node.
#ifndef SCHEDFW_PLUGINS_READINESS_FILTER_H_
#define SCHEDFW_PLUGINS_READINESS_FILTER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/scheduling_gates.h"

namespace schedfw {

/// Rejects every node for a pod with scheduling gates.
///
/// For comparison with SchedulingGates, in whose place a profile can have it: it knows neither what
/// a pod waits for nor when that changes, so such a pod costs whole cycles, and is tried again
/// after each event.
class ReadinessFilter : public BatchFilterPlugin,
                        public EnqueueExtensions,
                        public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "ReadinessFilter";

  std::string_view Name() const override { return kName; }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    if (cycle.plan().pattern->spec.scheduling_gates.empty()) return;
    std::fill_n(codes, rows.size(), 1);
  }
  Status Explain(const Cycle& cycle, std::uint32_t) const override {
    return Status::Unschedulable(
        "pod is not ready: waits for gates [" +
        SchedulingGates::Names(cycle.plan().pattern->spec.scheduling_gates) + "]");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {{{}, {}}}; }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_READINESS_FILTER_H_
