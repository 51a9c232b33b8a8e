// The definition of CompileNumaZones (see base/inline.h).
#ifndef SCHEDFW_CLUSTER_NUMA_INL_H_
#define SCHEDFW_CLUSTER_NUMA_INL_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/cluster/numa.h"

namespace schedfw {

namespace internal {

// strconv.Atoi.
inline std::optional<std::int64_t> DecimalInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// The id of a zone by its name (numanode.NameToID); nullopt: it isn't looked at.
inline std::optional<std::uint8_t> NumaIdOf(std::string_view name) {
  constexpr std::string_view kPrefix = "node-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto id = DecimalInteger(name.substr(kPrefix.size()));
  if (!id || *id < 0 || *id >= kMaxNumaIds) return std::nullopt;
  return static_cast<std::uint8_t>(*id);
}

// Policy and scope, by the first of topologyPolicies and then by the attributes; what makes no
// sense counts as absent (nodeconfig/topologymanager.go).
inline void ReadNumaConfig(const api::NodeResourceTopology& object, NumaLayout& out) {
  if (!object.topology_policies.empty()) {
    using Row = std::pair<std::string_view, NumaPolicy>;
    std::string_view name = object.topology_policies.front();
    constexpr std::string_view kLevel = "Level";
    for (const auto& [scope, text] :
         {std::pair(NumaScope::kContainer, "Container"), std::pair(NumaScope::kPod, "Pod")}) {
      const std::string suffix = std::string(text) + std::string(kLevel);
      if (!name.ends_with(suffix)) continue;
      for (const auto& [policy, value] : {Row{"SingleNUMANode", NumaPolicy::kSingleNumaNode},
                                          Row{"Restricted", NumaPolicy::kRestricted},
                                          Row{"BestEffort", NumaPolicy::kBestEffort}}) {
        if (name.substr(0, name.size() - suffix.size()) != policy) continue;
        out.policy = value;
        out.scope = scope;
      }
    }
  }
  for (const api::TopologyAttribute& attribute : object.attributes) {
    if (attribute.name == "topologyManagerScope") {
      for (const auto& [scope, name] : kNumaScopeNames) {
        if (name == attribute.value) out.scope = scope;
      }
    } else if (attribute.name == "topologyManagerPolicy") {
      for (const auto& [policy, name] : kNumaPolicyNames) {
        if (name == attribute.value) out.policy = policy;
      }
    } else if (attribute.name == "topologyManagerMaxNUMANodes") {
      constexpr std::int64_t kLimit = 1024;
      const auto most = DecimalInteger(attribute.value);
      if (most && *most > 1) out.max_zones = static_cast<std::int32_t>(std::min(*most, kLimit));
    }
  }
}

}  // namespace internal

SCHEDFW_INLINE Result<NumaZonesPtr> CompileNumaZones(const api::NodeResourceTopology& object,
                                                     Dictionary& dictionary, NumaTable& table) {
  NumaLayout layout;
  internal::ReadNumaConfig(object, layout);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < object.zones.size(); ++i) {
    const api::TopologyZone& zone = object.zones[i];
    const auto id = zone.type == "Node" ? internal::NumaIdOf(zone.name) : std::nullopt;
    if (!id || std::find(layout.ids.begin(), layout.ids.end(), *id) != layout.ids.end()) continue;
    layout.ids.push_back(*id);
    places.push_back(i);
    for (const api::ZoneResource& resource : zone.resources) {
      layout.resources.push_back(dictionary.Resource(resource.name));
    }
  }
  std::vector<ResourceId>& resources = layout.resources;
  std::sort(resources.begin(), resources.end());
  resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
  const std::size_t zones = layout.zones();
  for (std::uint32_t zone = 0; zone < zones; ++zone) layout.by_id.push_back(zone);
  std::sort(layout.by_id.begin(), layout.by_id.end(),
            [&](std::uint32_t a, std::uint32_t b) { return layout.ids[a] < layout.ids[b]; });
  layout.total.assign(zones * resources.size(), NumaLayout::kNone);
  layout.costs.assign(zones * zones, kUnknownNumaCost);
  std::vector<std::int64_t> available = layout.total;

  for (std::size_t zone = 0; zone < zones; ++zone) {
    const api::TopologyZone& in = object.zones[places[zone]];
    for (const api::ZoneCost& cost : in.costs) {
      const auto id = internal::NumaIdOf(cost.name);
      if (!id) continue;
      const auto to = std::find(layout.ids.begin(), layout.ids.end(), *id);
      if (to == layout.ids.end()) continue;
      layout.costs[zone * zones + static_cast<std::size_t>(to - layout.ids.begin())] = cost.value;
    }
    for (std::size_t i = 0; i < in.resources.size(); ++i) {
      const api::ZoneResource& resource = in.resources[i];
      const ResourceId id = dictionary.Resource(resource.name);
      const auto refuse = [&](const char* field, const Quantity& quantity, const char* what) {
        return ParseError("NodeResourceTopology " + object.metadata.name + ": zones[" +
                          std::to_string(places[zone]) + "].resources[" + std::to_string(i) + "]." +
                          field + ": " + quantity.ToString() + what);
      };
      const auto total = ColumnValue(id, resource.allocatable);
      const auto left = ColumnValue(id, resource.available);
      constexpr const char* kTooLarge = " is more than 64 bits can hold";
      if (!total) return refuse("allocatable", resource.allocatable, kTooLarge);
      if (!left) return refuse("available", resource.available, kTooLarge);
      if (*total < 0) {
        return refuse("allocatable", resource.allocatable, " is negative (allowed: zero or more)");
      }
      const std::size_t at = layout.At(zone, *layout.Find(id));
      available[at] = std::max<std::int64_t>(*left, 0);
      layout.total[at] = std::max(*total, available[at]);
    }
  }
  return table.Intern(std::move(layout), std::move(available));
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_NUMA_INL_H_
