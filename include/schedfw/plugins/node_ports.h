// NodePorts: host ports can be used once a node.
#ifndef SCHEDFW_PLUGINS_NODE_PORTS_H_
#define SCHEDFW_PLUGINS_NODE_PORTS_H_

#include <algorithm>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Filters nodes where a host port the pod wants is taken (plugins/nodeports). Two uses conflict
/// when protocol and port are the same and the IPs are, or one of them is 0.0.0.0.
class NodePorts : public PreFilterPlugin, public BatchFilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodePorts";

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    if (cycle.pod.host_ports.empty()) return Status::Skip();
    state.Emplace<FilterState>();
    return {};
  }

  void FilterNodes(const Cycle& cycle, RowRange rows, std::uint32_t* codes) const override {
    if (cycle.state.Find<FilterState>() == nullptr) {
      std::fill_n(codes, rows.size(), kFilterFault);
      return;
    }
    const StringId any_ip = cycle.snapshot.dictionary().Intern("0.0.0.0");
    const std::int32_t* with_ports = cycle.snapshot.HostPortPods();
    for (Row row = rows.begin; row < rows.end; ++row) {
      if (with_ports[row] == 0) continue;
      for (const PodPtr& pod : cycle.snapshot.pods(row)) {
        if (Conflict(cycle.pod, *pod, any_ip)) {
          codes[row - rows.begin] = 1;
          break;
        }
      }
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    if (code == kFilterFault) {
      return Status::Error("reading \"PreFilterNodePorts\" from cycleState: not found");
    }
    return Status::Unschedulable("node(s) didn't have free ports for the requested pod ports");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kDelete},
             [](const PodInfo& pod, const ObjectChange& change) {
               // The two pods may be interned by different dictionaries: compare the objects.
               const bool freed =
                   change.old_pod != nullptr && ConflictByText(*pod.pod, *change.old_pod->pod);
               return freed ? QueueingHint::kQueue : QueueingHint::kSkip;
             }},
            {{EventResource::kNode, kAdd}, {}}};
  }

 private:
  // Says that PreFilter has run; what it found is in the pod.
  struct FilterState {};

  static bool Conflict(const PodInfo& a, const PodInfo& b, StringId any_ip) {
    for (const HostPort& x : a.host_ports) {
      for (const HostPort& y : b.host_ports) {
        if (x.port == y.port && x.protocol == y.protocol &&
            (x.ip == y.ip || x.ip == any_ip || y.ip == any_ip)) {
          return true;
        }
      }
    }
    return false;
  }

  static bool ConflictByText(const api::Pod& a, const api::Pod& b) {
    Dictionary scratch;
    auto x = CompilePod(std::make_shared<const api::Pod>(a), /*with_plan=*/false, scratch);
    auto y = CompilePod(std::make_shared<const api::Pod>(b), /*with_plan=*/false, scratch);
    return !x || !y || Conflict(**x, **y, scratch.Intern("0.0.0.0"));
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_PORTS_H_
