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

#include "schedfw/base/inline.h"
#include "schedfw/base/result.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

class GpuTopology;

/// The annotation of a Node that says how its devices are linked: what `nvidia-smi topo -m` prints
/// there, or the name of a preset.
inline constexpr std::string_view kGpuTopologyAnnotation = "device-plugin.nvidia.com/gpu-topology";

/// A number of a TopologyTable; 0: the topology of the node isn't known.
using TopologyId = std::uint16_t;

/// The topology that the annotation kGpuTopologyAnnotation holds. `gpu_model` fills in the model
/// where the text doesn't say. Errors: see ParseNvidiaSmi. O(size of the text).
Result<NodeTopology> ParseTopologyAnnotation(std::string_view text,
                                             std::string_view gpu_model = {});

/// Gives numbers to topologies. Shared by a Cluster and all its forks and snapshots; it only grows.
/// Every member may be called from any thread. No result depends on the numbers given out.
class TopologyTable {
 public:
  /// The number of what an annotation says of a node with GPUs of a model, 0 with an error. O(size
  /// of the text); the first time also what GpuTopology costs.
  TopologyId Intern(const std::string& text, const std::string& gpu_model, std::string& error);
  /// The number of a topology that nobody has written down. O(topologies).
  TopologyId Intern(NodeTopology topology);
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
  std::vector<std::shared_ptr<const GpuTopology>> topologies_;
};

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/cluster/topology_table_inl.h"
#endif

#endif  // SCHEDFW_CLUSTER_TOPOLOGY_TABLE_H_
