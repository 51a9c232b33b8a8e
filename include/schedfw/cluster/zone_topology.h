// The devices that NUMA zones tell of: how many GPUs are in which, and no more.
#ifndef SCHEDFW_CLUSTER_ZONE_TOPOLOGY_H_
#define SCHEDFW_CLUSTER_ZONE_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/gpus.h"
#include "schedfw/cluster/numa.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// The topology that a NodeResourceTopology amounts to: as many GPUs in each zone as it has, in the
/// order of zone ids, NODE within a zone and SYS between zones; zones are NUMA nodes, with their
/// costs as distances. Without GPUs if they aren't listed by zone, or there are more than kMaxGpus.
inline NodeTopology TopologyOfZones(const NumaLayout& layout, const Dictionary& dictionary) {
  NodeTopology out;
  out.source = "NodeResourceTopology";
  for (const std::uint32_t zone : layout.by_id) {
    NumaNode& node = out.numa_nodes.emplace_back();
    node.id = layout.ids[zone];
    std::int64_t gpus = 0;
    for (std::size_t column = 0; column < layout.resources.size(); ++column) {
      const std::int64_t total = layout.total[layout.At(zone, column)];
      if (total == NumaLayout::kNone) continue;
      const ResourceId resource = layout.resources[column];
      if (resource == kMemory) node.memory_bytes = total;
      if (IsGpuResource(dictionary.ResourceName(resource))) gpus += total;
    }
    for (std::int64_t i = 0; i < gpus && out.devices.size() <= kMaxGpus; ++i) {
      Device& device = out.devices.emplace_back();
      device.name = "GPU" + std::to_string(out.devices.size() - 1);
      device.numa = device.cpu_numa = {node.id};
    }
    for (const std::uint32_t other : layout.by_id) {
      out.numa_distances.push_back(
          static_cast<std::int32_t>(layout.costs[zone * layout.zones() + other]));
    }
  }
  if (out.devices.size() > static_cast<std::size_t>(kMaxGpus)) out.devices.clear();
  for (const Device& a : out.devices) {
    for (const Device& b : out.devices) {
      out.links.push_back({&a == &b           ? LinkType::kSelf
                           : a.numa == b.numa ? LinkType::kNode
                                              : LinkType::kSys,
                           0});
    }
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_ZONE_TOPOLOGY_H_
