// The NUMA zones of nodes, by their NodeResourceTopology objects, and what is left in them.
#ifndef SCHEDFW_CLUSTER_NUMA_H_
#define SCHEDFW_CLUSTER_NUMA_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/api/node_resource_topology.h"
#include "schedfw/base/inline.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/pod_requests.h"
#include "schedfw/topology/topology_manager.h"

namespace schedfw {

/// Zones have ids below this one; others aren't looked at, as upstream.
inline constexpr std::int32_t kMaxNumaIds = 64;
/// The distance where an object tells none.
inline constexpr std::int64_t kUnknownNumaCost = 255;

/// What of a node's zones stays as it is while pods come and go. Zones are in the object's order.
struct NumaLayout {
  static constexpr std::int64_t kNone = -1;  ///< the zone doesn't list the resource

  NumaPolicy policy = NumaPolicy::kNone;
  NumaScope scope = NumaScope::kContainer;
  std::int32_t max_zones = 8;         ///< topologyManagerMaxNUMANodes; scores go by it
  std::vector<std::uint8_t> ids;      ///< of each zone
  std::vector<std::uint32_t> by_id;   ///< the zones, the one with the lowest id first
  std::vector<ResourceId> resources;  ///< that some zone lists, ascending
  std::vector<std::int64_t> total;    ///< zones × resources: what pods may have, or kNone
  std::vector<std::int64_t> costs;    ///< zones × zones

  std::size_t zones() const { return ids.size(); }
  /// The column of a resource, or nullopt when no zone lists it. O(log resources).
  std::optional<std::size_t> Find(ResourceId resource) const {
    const auto it = std::lower_bound(resources.begin(), resources.end(), resource);
    if (it == resources.end() || *it != resource) return std::nullopt;
    return static_cast<std::size_t>(it - resources.begin());
  }
  std::size_t At(std::size_t zone, std::size_t column) const {
    return zone * resources.size() + column;
  }

  friend bool operator==(const NumaLayout&, const NumaLayout&) = default;
};

/// The zones of a node. Immutable; nodes that are equal in them share one (see NumaTable).
struct NumaZones {
  std::shared_ptr<const NumaLayout> layout;
  /// zones × resources: what no pod has, as a column holds it (thousandths of a core for cpu), 0 or
  /// more; NumaLayout::kNone where the zone doesn't list the resource.
  std::vector<std::int64_t> available;

  std::int64_t Available(std::size_t zone, std::size_t column) const {
    return available[layout->At(zone, column)];
  }
};
using NumaZonesPtr = std::shared_ptr<const NumaZones>;

/// What a pod has of one resource in one zone.
struct NumaTake {
  std::uint32_t zone = 0;  ///< its place in the layout
  ResourceId resource = 0;
  std::int64_t amount = 0;

  friend bool operator==(const NumaTake&, const NumaTake&) = default;
};
using NumaTakes = std::vector<NumaTake>;

/// An object as the cluster keeps it, with the zones that it says.
struct NumaReport {
  api::NodeResourceTopology object;
  NumaZonesPtr zones;
};
using NumaReportPtr = std::shared_ptr<const NumaReport>;

/// Gives equal zones out as one object. Shared by a Cluster and all its forks and snapshots; zones
/// go with the last node that has them. Every member may be called from any thread. No result
/// depends on which nodes share their zones.
class NumaTable {
 public:
  NumaZonesPtr Intern(NumaLayout layout, std::vector<std::int64_t> available) {
    std::lock_guard lock(mutex_);
    const std::uint64_t hash = HashOf(layout);
    return InternLocked(layouts_.Intern(hash, std::move(layout)), std::move(available));
  }
  /// The same with a layout that has been interned.
  NumaZonesPtr Intern(std::shared_ptr<const NumaLayout> layout,
                      std::vector<std::int64_t> available) {
    std::lock_guard lock(mutex_);
    return InternLocked(std::move(layout), std::move(available));
  }
  /// The zones with a pod's amounts taken (`sign` -1) or given back (1).
  NumaZonesPtr Change(const NumaZones& zones, const NumaTakes& takes, std::int64_t sign) {
    std::vector<std::int64_t> available = zones.available;
    for (const NumaTake& take : takes) {
      const std::size_t column = *zones.layout->Find(take.resource);
      available[zones.layout->At(take.zone, column)] += sign * take.amount;
    }
    return Intern(zones.layout, std::move(available));
  }

 private:
  static bool Same(const NumaLayout& a, const NumaLayout& b) { return a == b; }
  static bool Same(const NumaZones& a, const NumaZones& b) {
    return a.layout == b.layout && a.available == b.available;
  }

  template <typename T>
  class Pool {
   public:
    std::shared_ptr<const T> Intern(std::uint64_t hash, T value) {
      const auto [begin, end] = objects_.equal_range(hash);
      for (auto it = begin; it != end; ++it) {
        std::shared_ptr<const T> found = it->second.lock();
        if (found && Same(*found, value)) return found;
      }
      if (objects_.size() >= sweep_at_) {
        std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max<std::size_t>(64, 2 * objects_.size());
      }
      auto out = std::make_shared<const T>(std::move(value));
      objects_.emplace(hash, out);
      return out;
    }

   private:
    std::unordered_multimap<std::uint64_t, std::weak_ptr<const T>> objects_;  // look-ups only
    std::size_t sweep_at_ = 64;
  };

  NumaZonesPtr InternLocked(std::shared_ptr<const NumaLayout> layout,
                            std::vector<std::int64_t> available) {
    const std::uint64_t hash =
        HashOf(available, reinterpret_cast<std::uintptr_t>(layout.get()));  // NOLINT
    return zones_.Intern(hash, {std::move(layout), std::move(available)});
  }

  template <typename T>
  static std::uint64_t HashOf(const std::vector<T>& numbers, std::uint64_t out) {
    for (const T number : numbers) {
      out = (out ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
      out ^= out >> 32;
    }
    return out;
  }
  static std::uint64_t HashOf(const NumaLayout& layout) {
    std::uint64_t out =
        static_cast<std::uint64_t>(layout.policy) << 8 | static_cast<std::uint64_t>(layout.scope);
    out = HashOf(layout.ids, out);
    out = HashOf(layout.resources, out);
    out = HashOf(layout.total, out);
    return HashOf(layout.costs, out);
  }

  std::mutex mutex_;
  Pool<NumaLayout> layouts_;
  Pool<NumaZones> zones_;
};

/// The zones that an object says. Zones of other types than "Node", and names that are none of
/// "node-0" to "node-63", are left out, and of several with one id all but the first. An available
/// amount below zero counts as zero; one above the allocatable makes that larger. Error: an amount
/// that 64 bits can't hold, or a negative allocatable one; with the field's path.
/// O(zones × (zones + resources)).
Result<NumaZonesPtr> CompileNumaZones(const api::NodeResourceTopology& object,
                                      Dictionary& dictionary, NumaTable& table);

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/cluster/numa_inl.h"
#endif

#endif  // SCHEDFW_CLUSTER_NUMA_H_
