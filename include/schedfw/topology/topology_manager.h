// The kubelet's Topology Manager: how hints of resources become one set of NUMA zones
// (pkg/kubelet/cm/topologymanager).
#ifndef SCHEDFW_TOPOLOGY_TOPOLOGY_MANAGER_H_
#define SCHEDFW_TOPOLOGY_TOPOLOGY_MANAGER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace schedfw {

/// What the kubelet does with a pod that can't be aligned.
enum class NumaPolicy : std::uint8_t {
  kNone,            ///< nothing is aligned
  kBestEffort,      ///< it takes the pod all the same
  kRestricted,      ///< it refuses the pod when a better place would be possible on the node
  kSingleNumaNode,  ///< it refuses the pod unless one zone is enough
};
/// What is aligned as one.
enum class NumaScope : std::uint8_t { kContainer, kPod };

inline constexpr std::array<std::pair<NumaPolicy, std::string_view>, 4> kNumaPolicyNames{{
    {NumaPolicy::kNone, "none"},
    {NumaPolicy::kBestEffort, "best-effort"},
    {NumaPolicy::kRestricted, "restricted"},
    {NumaPolicy::kSingleNumaNode, "single-numa-node"},
}};
inline constexpr std::array<std::pair<NumaScope, std::string_view>, 2> kNumaScopeNames{{
    {NumaScope::kContainer, "container"},
    {NumaScope::kPod, "pod"},
}};

/// How many zones hints are made for: one for each set of them. The kubelet has the same limit
/// (policy option max-allowable-numa-nodes).
inline constexpr std::size_t kMaxHintZones = 8;

/// Some of a node's zones, a bit each, the zone with the lowest id first.
using ZoneMask = std::uint32_t;

/// A set of zones that has enough of a resource.
struct NumaHint {
  ZoneMask zones = 0;
  bool preferred = false;  ///< no smaller set could have enough, if nothing were in use

  friend bool operator==(const NumaHint&, const NumaHint&) = default;
};
using NumaHints = std::vector<NumaHint>;

/// Whether the kubelet takes the narrower set first: fewer zones, or as many with lower ids
/// (bitmask.go, IsNarrowerThan).
constexpr bool IsNarrower(ZoneMask a, ZoneMask b) {
  const int x = std::popcount(a), y = std::popcount(b);
  return x != y ? x < y : a < b;
}

/// The best common set of zones, given the hints of each resource; a resource without a hint has
/// too little. `zones`: how many zones the node has, at most kMaxHintZones (policy.go, Merge).
/// O(resources × 4^zones), where upstream tries each combination of hints.
inline NumaHint MergeHints(NumaPolicy policy, std::size_t zones, std::span<const NumaHints> hints) {
  const auto all = static_cast<ZoneMask>((1U << zones) - 1);
  constexpr std::size_t kSets = std::size_t{1} << kMaxHintZones;
  using Sets = std::bitset<kSets>;
  const bool single = policy == NumaPolicy::kSingleNumaNode;

  // A merged set is preferred when it is itself a preferred hint of each resource.
  Sets preferred;
  preferred.set();
  for (const NumaHints& list : hints) {
    Sets own;
    for (const NumaHint& hint : list) {
      if (hint.preferred && (!single || std::popcount(hint.zones) == 1)) own.set(hint.zones);
    }
    preferred &= own;
  }
  if (hints.empty()) return {all, true};
  NumaHint best;
  for (ZoneMask mask = 1; mask <= all; ++mask) {
    if (preferred[mask] && (best.zones == 0 || IsNarrower(mask, best.zones))) best = {mask, true};
  }
  if (best.zones != 0) return best;
  if (single) return {all, false};

  // Of the others the one that is as wide as the resource needs that needs most zones, else the
  // widest below that, else the narrowest (HintMerger.compare).
  int wanted = 0;
  Sets merged;
  merged.set(all);
  for (const NumaHints& list : hints) {
    if (list.empty()) continue;  // it says nothing but that the result isn't preferred
    int least = static_cast<int>(zones);
    Sets next;
    for (const NumaHint& hint : list) {
      least = std::min(least, std::popcount(hint.zones));
      for (ZoneMask mask = 1; mask <= all; ++mask) {
        if (merged[mask]) next.set(mask & hint.zones);
      }
    }
    wanted = std::max(wanted, least);
    merged = next;
  }
  const auto is_better = [&](ZoneMask a, ZoneMask b) {
    const int x = std::popcount(a), y = std::popcount(b);
    if (x == y) return a < b;
    if (x <= wanted && y <= wanted) return x > y;
    return x < y;
  };
  for (ZoneMask mask = 1; mask <= all; ++mask) {
    if (merged[mask] && (best.zones == 0 || is_better(mask, best.zones))) best.zones = mask;
  }
  return best.zones == 0 ? NumaHint{all, false} : best;
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_TOPOLOGY_MANAGER_H_
