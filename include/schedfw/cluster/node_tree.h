// NodeTree: the order in which a scheduler that samples looks at nodes.
#ifndef SCHEDFW_CLUSTER_NODE_TREE_H_
#define SCHEDFW_CLUSTER_NODE_TREE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/cluster/cow.h"
#include "schedfw/cluster/dictionary.h"

namespace schedfw {

/// Zones in the order of their first node (pkg/scheduler/backend/cache/node_tree.go).
///
/// A zone goes with its last node. Copies share memory until written.
class NodeTree {
 public:
  /// Region and zone of a node as one string; empty when it has neither (component-helpers,
  /// GetZoneKey).
  static std::string ZoneKey(const api::Node& node) {
    const auto label = [&](const char* beta, const char* stable) {
      for (const char* key : {beta, stable}) {
        const auto it = node.metadata.labels.find(key);
        if (it != node.metadata.labels.end()) return it->second;
      }
      return std::string();
    };
    const std::string zone =
        label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    const std::string region =
        label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    if (zone.empty() && region.empty()) return {};
    return region + std::string(":\0:", 3) + zone;
  }

  void Add(StringId zone) {
    std::vector<Zone>& zones = zones_.Mutable();
    const auto it = Find(zones, zone);
    if (it == zones.end()) {
      zones.push_back({zone, 1});
    } else {
      ++it->nodes;
    }
  }
  void Remove(StringId zone) {
    std::vector<Zone>& zones = zones_.Mutable();
    const auto it = Find(zones, zone);
    if (--it->nodes == 0) zones.erase(it);
  }
  /// The place of a zone among all.
  std::size_t IndexOf(StringId zone) const {
    const auto& zones = *zones_;
    return static_cast<std::size_t>(
        std::find_if(zones.begin(), zones.end(), [&](const Zone& z) { return z.key == zone; }) -
        zones.begin());
  }
  std::size_t size() const { return zones_->size(); }

 private:
  struct Zone {
    StringId key = 0;
    std::uint32_t nodes = 0;
  };
  static std::vector<Zone>::iterator Find(std::vector<Zone>& zones, StringId zone) {
    return std::find_if(zones.begin(), zones.end(), [&](const Zone& z) { return z.key == zone; });
  }

  Cow<std::vector<Zone>> zones_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_NODE_TREE_H_
