// The definition of TopologyTable (see base/inline.h).
#ifndef SCHEDFW_CLUSTER_TOPOLOGY_TABLE_INL_H_
#define SCHEDFW_CLUSTER_TOPOLOGY_TABLE_INL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "schedfw/cluster/topology_table.h"
#include "schedfw/topology/gpu_topology.h"
#include "schedfw/topology/nvidia_smi.h"
#include "schedfw/topology/presets.h"

namespace schedfw {

SCHEDFW_INLINE Result<NodeTopology> ParseTopologyAnnotation(std::string_view text,
                                                            std::string_view gpu_model) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  const std::size_t end = text.find_last_not_of(kBlanks);
  const std::string_view name =
      begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
  const bool is_name = !name.empty() && name.find_first_of(kBlanks) == name.npos;
  auto out = is_name ? TopologyPreset(name) : ParseNvidiaSmi(text, "topology");
  if (!out && is_name) return out.error().In(internal::QuotedInput(name));
  if (out && out->gpu_model.empty()) out->gpu_model = gpu_model;
  return out;
}

SCHEDFW_INLINE TopologyId TopologyTable::Intern(const std::string& text,
                                                const std::string& gpu_model, std::string& error) {
  std::unique_lock lock(mutex_);
  const auto [it, inserted] = known_.try_emplace({text, gpu_model});
  Known& known = it->second;
  if (inserted) {
    auto topology = ParseTopologyAnnotation(text, gpu_model);
    if (!topology) {
      known.error = topology.error().message();
    } else if (topologies_.size() >= std::numeric_limits<TopologyId>::max()) {
      known.error = "more topologies than " + std::to_string(topologies_.size());
    } else {
      topologies_.push_back(std::make_shared<const GpuTopology>(*std::move(topology)));
      known.id = static_cast<TopologyId>(topologies_.size());
    }
  }
  error = known.error;
  return known.id;
}

SCHEDFW_INLINE TopologyId TopologyTable::Intern(NodeTopology topology) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < topologies_.size(); ++i) {
    if (topologies_[i]->node() == topology) return static_cast<TopologyId>(i + 1);
  }
  if (topologies_.size() >= std::numeric_limits<TopologyId>::max()) return 0;
  topologies_.push_back(std::make_shared<const GpuTopology>(std::move(topology)));
  return static_cast<TopologyId>(topologies_.size());
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_TOPOLOGY_TABLE_INL_H_
