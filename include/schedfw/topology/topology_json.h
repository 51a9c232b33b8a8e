// A NodeTopology as JSON.
#ifndef SCHEDFW_TOPOLOGY_TOPOLOGY_JSON_H_
#define SCHEDFW_TOPOLOGY_TOPOLOGY_JSON_H_

#include <string>
#include <string_view>

#include "schedfw/base/result.h"
#include "schedfw/base/value.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// The form of `schedfw topo -o json`, which ParseTopologyJson reads back to the same value:
///
///     {"devices": [{"name": "GPU0", "kind": "GPU", "numa": [0], "gpu_numa_id": null,
///                   "cpu_numa": [0], "cpus": "0-79", "alias": "…"}, …],
///      "links": [["X", "NV12", …], …], "source": "nvidia-smi topo -m", "gpu_model": null,
///      "numa_nodes": [{"id": 0, "cpus": "0-79", "memory_bytes": 1024}, …],
///      "numa_distances": [[10, 21], …]}
///
/// `kind` is GPU or NIC; unknown lists are empty, other unknown values null; `alias` is only there
/// when it is known. Complexity: devices squared.
Value TopologyValue(const NodeTopology& topology);

/// The topology that such an object describes. `devices` and `links` must be there; other keys may
/// be absent, and unknown ones are passed over. Without any `cpu_numa` they follow from the rest.
///
/// Errors (kind kParse), with name and the path of the value: wrong types, no GPU, two devices of a
/// name, links that are unknown, not square or not symmetric, malformed ranges.
Result<NodeTopology> TopologyFromValue(const Value& value, const std::string& name = "<text>");
/// The same from a text; syntax errors carry the line.
Result<NodeTopology> ParseTopologyJson(std::string_view text, const std::string& name = "<text>");

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_TOPOLOGY_JSON_H_
