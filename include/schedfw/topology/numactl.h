// NumaFacts: the NUMA nodes of a machine, as `numactl -H` prints them.
#ifndef SCHEDFW_TOPOLOGY_NUMACTL_H_
#define SCHEDFW_TOPOLOGY_NUMACTL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// NUMA nodes and what lies between them; without devices.
struct NumaFacts {
  std::string source;                   ///< the file, for errors
  std::vector<NumaNode> nodes;          ///< ascending
  std::vector<std::int32_t> distances;  ///< nodes × nodes, row by row (ACPI SLIT); may be empty

  friend bool operator==(const NumaFacts&, const NumaFacts&) = default;
};

/// Reads the text of `numactl -H` (`numactl --hardware`): CPUs and sizes of NUMA nodes, and their
/// distances. Other lines are passed over.
///
/// Errors (kind kParse), with name and line: no node, a node given twice or not among those that
/// are available, a malformed number, distances that don't fit the nodes. Complexity: linear.
Result<NumaFacts> ParseNumactl(std::string_view text, const std::string& name = "<text>");
/// The same from a file, gzip or not; "-" is standard input.
Result<NumaFacts> ReadNumactl(const std::string& path);

/// Adds NUMA nodes to a topology and corrects what follows from them: `cpu_numa` of all devices;
/// the near nodes of devices of which only CPUs are known, and the near CPUs of those of which only
/// nodes are known. What the topology said of NUMA nodes before is replaced.
///
/// Errors (kind kParse, with the source of the facts): a device none of whose nodes is there, so
/// that the two are of different machines. Complexity: devices × nodes × ranges of CPUs.
Result<void> AddNumaFacts(NodeTopology& topology, const NumaFacts& facts);

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_NUMACTL_H_
