// TopologyTable: the device topologies that nodes of a cluster have, each compiled once.
#ifndef SCHEDFW_CLUSTER_TOPOLOGY_TABLE_H_
#define SCHEDFW_CLUSTER_TOPOLOGY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/topology/gpu_topology.h"
#include "schedfw/topology/nvidia_smi.h"
#include "schedfw/topology/presets.h"

namespace schedfw {

/// The annotation of a Node that says how its devices are linked: what `nvidia-smi topo -m` prints
/// there, or the name of a preset.
inline constexpr std::string_view kGpuTopologyAnnotation = "device-plugin.nvidia.com/gpu-topology";

/// A number of a TopologyTable; 0: the topology of the node isn't known.
using TopologyId = std::uint16_t;

/// The topology that the annotation kGpuTopologyAnnotation holds. `gpu_model` fills in the model
/// where the text doesn't say. Errors: see ParseNvidiaSmi. O(size of the text).
inline Result<NodeTopology> ParseTopologyAnnotation(std::string_view text,
                                                    std::string_view gpu_model = {}) {
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

/// Gives numbers to topologies. Shared by a Cluster and all its forks and snapshots; it only grows.
/// Every member may be called from any thread. No result depends on the numbers given out.
class TopologyTable {
 public:
  /// The number of what an annotation says of a node with GPUs of a model, 0 with an error. O(size
  /// of the text); the first time also what GpuTopology costs.
  TopologyId Intern(const std::string& text, const std::string& gpu_model, std::string& error) {
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
        topologies_.push_back(std::make_unique<const GpuTopology>(*std::move(topology)));
        known.id = static_cast<TopologyId>(topologies_.size());
      }
    }
    error = known.error;
    return known.id;
  }
  /// The number of a topology that nobody has written down. O(topologies).
  TopologyId Intern(NodeTopology topology) {
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < topologies_.size(); ++i) {
      if (topologies_[i]->node() == topology) return static_cast<TopologyId>(i + 1);
    }
    if (topologies_.size() >= std::numeric_limits<TopologyId>::max()) return 0;
    topologies_.push_back(std::make_unique<const GpuTopology>(std::move(topology)));
    return static_cast<TopologyId>(topologies_.size());
  }
  /// A topology by its number, which isn't 0; it lives as long as the table.
  const GpuTopology& operator[](TopologyId id) const {
    std::shared_lock lock(mutex_);
    return *topologies_[id - 1U];
  }

 private:
  struct Known {
    TopologyId id = 0;
    std::string error;
  };

  mutable std::shared_mutex mutex_;
  std::map<std::pair<std::string, std::string>, Known> known_;
  std::vector<std::unique_ptr<const GpuTopology>> topologies_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_TOPOLOGY_TABLE_H_
