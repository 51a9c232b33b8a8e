// ReadTopology: the devices of a node from a file of any known format.
#ifndef SCHEDFW_TOPOLOGY_READ_TOPOLOGY_H_
#define SCHEDFW_TOPOLOGY_READ_TOPOLOGY_H_

#include <string>
#include <string_view>

#include "schedfw/base/result.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// Reads a topology and tells its format by its content:
/// - an XML text is hwloc's (ParseHwlocXml);
/// - a JSON object is that of `schedfw topo -o json` (ParseTopologyJson);
/// - anything else should be the text of `nvidia-smi topo -m` (ParseNvidiaSmi).
///
/// Errors: those of the formats' readers, with `name`. `numactl -H` names no devices, and the error
/// says so. Complexity: linear, and devices squared.
Result<NodeTopology> ParseTopology(std::string_view text, const std::string& name = "<text>");

/// The same from a file, gzip or not; "-" is standard input.
Result<NodeTopology> ReadTopology(const std::string& path);

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_READ_TOPOLOGY_H_
