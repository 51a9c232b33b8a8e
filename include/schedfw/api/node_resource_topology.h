// NodeResourceTopology: what a node's agent reports of its NUMA zones.
#ifndef SCHEDFW_API_NODE_RESOURCE_TOPOLOGY_H_
#define SCHEDFW_API_NODE_RESOURCE_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/api/meta.h"
#include "schedfw/base/quantity.h"

namespace schedfw::api {

struct TopologyAttribute {
  std::string name;
  std::string value;

  friend bool operator==(const TopologyAttribute&, const TopologyAttribute&) = default;
};

/// The distance to another zone.
struct ZoneCost {
  std::string name;
  std::int64_t value = 0;

  friend bool operator==(const ZoneCost&, const ZoneCost&) = default;
};

struct ZoneResource {
  std::string name;
  Quantity capacity;
  Quantity allocatable;
  Quantity available;  ///< what no pod had when the object was written

  friend bool operator==(const ZoneResource&, const ZoneResource&) = default;
};

struct TopologyZone {
  std::string name;  ///< "node-0"
  std::string type;  ///< "Node" for a NUMA node; others aren't looked at
  std::string parent;
  std::vector<ZoneCost> costs;
  std::vector<ZoneResource> resources;

  friend bool operator==(const TopologyZone&, const TopologyZone&) = default;
};

/// topology.node.k8s.io/v1alpha2 NodeResourceTopology, and v1alpha1, which has no attributes. Its
/// name is that of the node.
struct NodeResourceTopology {
  ObjectMeta metadata;
  std::vector<std::string> topology_policies;  ///< the first one counts, attributes before it
  std::vector<TopologyAttribute> attributes;
  std::vector<TopologyZone> zones;
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_NODE_RESOURCE_TOPOLOGY_H_
