// NodeUnschedulable: cordoned nodes take no pods.
#ifndef SCHEDFW_PLUGINS_NODE_UNSCHEDULABLE_H_
#define SCHEDFW_PLUGINS_NODE_UNSCHEDULABLE_H_

#include <vector>

#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/tolerations.h"

namespace schedfw {

/// Filters nodes with spec.unschedulable, unless the pod tolerates
/// node.kubernetes.io/unschedulable:NoSchedule (plugins/nodeunschedulable).
class NodeUnschedulable : public PreFilterPlugin,
                          public BatchFilterPlugin,
                          public EnqueueExtensions,
                          public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeUnschedulable";

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult&) override {
    return cycle.snapshot.UnschedulableTotal() == 0 || ToleratesUnschedulable(cycle.pod)
               ? Status::Skip()
               : Status();
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const std::uint8_t* unschedulable = cycle.snapshot.Unschedulable();
    std::uint32_t any = 0;
    for (Row i = 0; i < rows.size(); ++i) {
      codes[i] = unschedulable[rows[i]];
      any |= codes[i];
    }
    if (any != 0 && ToleratesUnschedulable(cycle.pod)) std::fill_n(codes, rows.size(), 0u);
  }
  Status Explain(const Cycle&, std::uint32_t) const override {
    return Status::Unresolvable("node(s) were unschedulable");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kNode, kAdd | kUpdateNodeTaint},
             [](const PodInfo&, const ObjectChange& change) {
               const bool was = change.old_node != nullptr && !change.old_node->spec.unschedulable;
               const bool is = change.new_node != nullptr && !change.new_node->spec.unschedulable;
               return is && !was ? QueueingHint::kQueue : QueueingHint::kSkip;
             }},
            {{EventResource::kTargetPod, kUpdatePodToleration},
             [](const PodInfo&, const ObjectChange& change) {
               return change.new_pod != nullptr && ToleratesUnschedulable(*change.new_pod)
                          ? QueueingHint::kQueue
                          : QueueingHint::kSkip;
             }}};
  }

 private:
  static bool ToleratesUnschedulable(const PodInfo& pod) {
    return Tolerates(pod.pod->spec.tolerations,
                     {"node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule});
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_UNSCHEDULABLE_H_
