// SetCpuNuma: which of a device's NUMA nodes have CPUs.
#ifndef SCHEDFW_TOPOLOGY_CPU_NUMA_H_
#define SCHEDFW_TOPOLOGY_CPU_NUMA_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// Fills `cpu_numa` of all devices from `numa`, by the first of these that is known:
/// - the CPUs of the NUMA nodes, if `numa_nodes` were read;
/// - the memory of the GPUs: on Grace it is NUMA nodes of its own, which come after those of the
///   CPUs, so that nodes from the lowest GPU NUMA ID on have no CPUs;
/// - otherwise every node has CPUs.
///
/// Complexity: devices × their NUMA nodes × the node's NUMA nodes.
inline void SetCpuNuma(NodeTopology& topology) {
  std::optional<std::int32_t> memory_only;
  for (const Device& device : topology.devices) {
    if (device.gpu_numa && (!memory_only || *device.gpu_numa < *memory_only)) {
      memory_only = device.gpu_numa;
    }
  }
  const auto has_cpus = [&](std::int32_t id) {
    const auto& nodes = topology.numa_nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const NumaNode& other) { return other.id == id; });
    if (node != nodes.end()) return !node->cpus.empty();
    return nodes.empty() && (!memory_only || id < *memory_only);
  };
  for (Device& device : topology.devices) {
    device.cpu_numa.clear();
    for (const std::int32_t id : device.numa) {
      if (has_cpus(id)) device.cpu_numa.push_back(id);
    }
  }
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_CPU_NUMA_H_
