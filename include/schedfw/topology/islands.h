// NvLinkIslands: which GPUs of a node reach each other without PCIe.
#ifndef SCHEDFW_TOPOLOGY_ISLANDS_H_
#define SCHEDFW_TOPOLOGY_ISLANDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// For each GPU, in the order of NodeTopology::Gpus(), the number of its island: GPUs that direct
/// links (NVLink, XGMI) connect, over other GPUs if need be. Islands count from 0 in the order of
/// their first GPU; a GPU without a direct link is one of its own. Complexity: GPUs squared.
inline std::vector<std::int32_t> NvLinkIslands(const NodeTopology& topology) {
  const std::vector<std::size_t> gpus = topology.Gpus();
  std::vector<std::int32_t> out(gpus.size(), -1);
  std::vector<std::size_t> reached;
  std::int32_t islands = 0;
  for (std::size_t first = 0; first < gpus.size(); ++first) {
    if (out[first] >= 0) continue;
    out[first] = islands;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t from = reached.back();
      reached.pop_back();
      for (std::size_t to = 0; to < gpus.size(); ++to) {
        if (out[to] >= 0 || !topology.link(gpus[from], gpus[to]).IsDirect()) continue;
        out[to] = islands;
        reached.push_back(to);
      }
    }
    ++islands;
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_ISLANDS_H_
