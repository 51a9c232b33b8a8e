// ReadNodeTopology: the devices of a node, also from the objects of a cluster.
#ifndef SCHEDFW_CLUSTER_READ_NODE_TOPOLOGY_H_
#define SCHEDFW_CLUSTER_READ_NODE_TOPOLOGY_H_

#include <string>
#include <string_view>

#include "schedfw/base/result.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// Reads a topology of any form: what ParseTopology reads, or Kubernetes objects as JSON or YAML,
/// of which a Node tells by its annotation kGpuTopologyAnnotation and a NodeResourceTopology by its
/// zones (see TopologyOfZones); the Node's counts if there are both.
///
/// `node` chooses among objects; empty: there must be one that tells. Errors: those of the readers;
/// no object tells of that node, several do and none is chosen, or `node` is given for a text that
/// is of one node anyway. They begin with `name`. O(size of the text).
Result<NodeTopology> ParseNodeTopology(std::string_view text, const std::string& name,
                                       std::string_view node = {});

/// The same from a file, gzip or not, "-" for standard input.
Result<NodeTopology> ReadNodeTopology(const std::string& path, std::string_view node = {});

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_READ_NODE_TOPOLOGY_H_
