// NodePorts: host ports can be used once a node.
#ifndef SCHEDFW_PLUGINS_NODE_PORTS_H_
#define SCHEDFW_PLUGINS_NODE_PORTS_H_

#include <algorithm>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Filters nodes where a host port the pod wants is taken (plugins/nodeports). Two uses conflict
/// when protocol and port are the same and the IPs are, or one of them is 0.0.0.0.
///
/// Upstream keeps the ports of a node as a set: in a dry run a pod that goes frees its ports though
/// another pod on the node has the same ones.
class NodePorts : public PreFilterPlugin,
                  public PreFilterExtensions,
                  public BatchFilterPlugin,
                  public EnqueueExtensions,
                  public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodePorts";

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    if (cycle.pod.plan->host_ports.empty()) return Status::Skip();
    state.Emplace<FilterState>();
    return {};
  }

  const PreFilterExtensions* Extensions() const override { return this; }
  Status AddPod(const Cycle&, CycleState& state, const PodInfo& added,
                const NodeInfo& node) const override {
    FilterState* filter = state.Find<FilterState>();
    if (filter == nullptr) return NoState();
    for (const HostPort& port : added.plan->host_ports) {
      std::erase_if(filter->freed, [&](const FreedPort& freed) {
        return freed.row == node.row() && freed.port == port;
      });
    }
    return {};
  }
  Status RemovePod(const Cycle&, CycleState& state, const PodInfo& removed,
                   const NodeInfo& node) const override {
    FilterState* filter = state.Find<FilterState>();
    if (filter == nullptr) return NoState();
    for (const HostPort& port : removed.plan->host_ports)
      filter->freed.push_back({node.row(), port});
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) {
      std::fill_n(codes, rows.size(), kFilterFault);
      return;
    }
    const StringId any_ip = cycle.snapshot.dictionary().Intern("0.0.0.0");
    const std::int32_t* with_ports = cycle.snapshot.HostPortPods();
    for (Row i = 0; i < rows.size(); ++i) {
      const Row row = rows[i];
      if (with_ports[row] == 0) continue;
      for (const PodPtr& pod : cycle.snapshot.pods(row)) {
        if (Conflict(cycle.pod, *pod, any_ip, row, state->freed)) {
          codes[i] = 1;
          break;
        }
      }
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    if (code == kFilterFault) return NoState();
    return Status::Unschedulable("node(s) didn't have free ports for the requested pod ports");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kDelete},
             [](const PodInfo& pod, const ObjectChange& change) {
               const bool frees =
                   change.old_pod != nullptr && !change.old_pod->plan->host_ports.empty() &&
                   Conflict(pod, *change.old_pod, pod.plan->dictionary->Intern("0.0.0.0"));
               return frees ? QueueingHint::kQueue : QueueingHint::kSkip;
             }},
            {{EventResource::kNode, kAdd}, {}}};
  }

 private:
  struct FreedPort {
    Row row;
    HostPort port;
  };
  // Says that PreFilter has run; what the pod wants is in the pod.
  struct FilterState {
    std::vector<FreedPort> freed;  // in a dry run
  };

  static Status NoState() {
    return Status::Error("reading \"PreFilterNodePorts\" from cycleState: not found");
  }

  // Whether `pod` wants a port that `other`, on `row`, has.
  static bool Conflict(const PodInfo& pod, const PodInfo& other, StringId any_ip, Row row = 0,
                       const std::vector<FreedPort>& freed = {}) {
    const auto is_freed = [&](const HostPort& port) {
      return std::any_of(freed.begin(), freed.end(),
                         [&](const FreedPort& f) { return f.row == row && f.port == port; });
    };
    for (const HostPort& x : pod.plan->host_ports) {
      for (const HostPort& y : other.plan->host_ports) {
        if (x.port == y.port && x.protocol == y.protocol &&
            (x.ip == y.ip || x.ip == any_ip || y.ip == any_ip) && !is_freed(y)) {
          return true;
        }
      }
    }
    return false;
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_PORTS_H_
