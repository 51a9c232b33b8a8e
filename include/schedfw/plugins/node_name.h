// NodeName: a pod that names a node goes there or nowhere.
#ifndef SCHEDFW_PLUGINS_NODE_NAME_H_
#define SCHEDFW_PLUGINS_NODE_NAME_H_

#include <algorithm>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Filters nodes by spec.nodeName (plugins/nodename).
class NodeName : public PreFilterPlugin,
                 public BatchFilterPlugin,
                 public EnqueueExtensions,
                 public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeName";

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult& result) override {
    const std::string& name = cycle.pod.pod->spec.node_name;
    if (!name.empty()) result.node_names.emplace({name});
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const std::string& name = cycle.pod.pod->spec.node_name;
    if (name.empty()) return;
    const auto wanted = cycle.snapshot.Find(name);
    for (Row i = 0; i < rows.size(); ++i) codes[i] = wanted != rows[i];
  }
  Status Explain(const Cycle&, std::uint32_t) const override {
    return Status::Unresolvable("node(s) didn't match the requested node name");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kNode, kAdd}, {}}};
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_NAME_H_
