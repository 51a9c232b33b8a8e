// The definition of GpuTopology (see base/inline.h).
#ifndef SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_INL_H_
#define SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_INL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "schedfw/topology/bandwidth.h"
#include "schedfw/topology/gpu_topology.h"
#include "schedfw/topology/islands.h"

namespace schedfw {

template <typename F>
std::vector<GpuMask> GpuTopology::Group(F&& together) const {
  std::vector<GpuMask> out;
  std::uint32_t seen = 0;
  for (std::size_t a = 0; a < static_cast<std::size_t>(count_); ++a) {
    if ((seen >> a & 1) != 0) continue;
    std::uint32_t group = 0;
    for (std::size_t b = a; b < static_cast<std::size_t>(count_); ++b) {
      if (a == b || ((seen >> b & 1) == 0 && together(a, b))) group |= 1U << b;
    }
    seen |= group;
    out.push_back(static_cast<GpuMask>(group));
  }
  return out;
}

SCHEDFW_INLINE GpuTopology::GpuTopology(NodeTopology topology) : node_(std::move(topology)) {
  const std::vector<std::size_t> gpus = node_.Gpus();
  if (gpus.size() > static_cast<std::size_t>(kMaxGpus)) return;
  count_ = static_cast<std::int32_t>(gpus.size());
  const std::vector<std::size_t> nics = node_.Nics();
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = 0; b < gpus.size(); ++b) {
      const Link link = node_.link(gpus[a], gpus[b]);
      strength_[a][b] = static_cast<std::uint8_t>(Strength(link));
      if (link.IsDirect()) direct_[a] = static_cast<GpuMask>(direct_[a] | 1U << b);
    }
    for (const std::size_t nic : nics) {
      const std::int32_t strength = Strength(node_.link(gpus[a], nic));
      nic_[a] = std::max(nic_[a], static_cast<std::uint8_t>(std::min(strength, kPixStrength)));
    }
    for (const std::int32_t id : node_.devices[gpus[a]].cpu_numa) {
      if (id < 0 || id >= 64) continue;
      if (near_[a] == 0) home_[a] = NumaMask{1} << id;
      near_[a] |= NumaMask{1} << id;
    }
  }
  FindIslands();
  islands_ = Group([&](std::size_t a, std::size_t b) { return (island_[a] >> b & 1) != 0; });
  numa_groups_ = Group([&](std::size_t a, std::size_t b) { return home_[a] == home_[b]; });
  BuildTable();
  BuildBest();
}

SCHEDFW_INLINE float GpuTopology::RingBandwidth(GpuMask mask) const {
  std::call_once(ring_made_, [this] {
    ring_.assign(1, 0);
    if (count_ == 0) return;
    ring_ = RingBandwidths(node_, DeclaredBandwidths(node_.gpu_model));
  });
  return ring_[mask];
}

SCHEDFW_INLINE GpuChoiceQuality GpuTopology::QualityOf(GpuMask free, GpuMask chosen,
                                                       NumaMask wanted) const {
  GpuChoiceQuality out;
  const std::uint64_t own = table_[chosen];
  const std::uint64_t left = table_[free & ~chosen];
  out.weakest_link = static_cast<std::int32_t>(own >> kWeakestShift);
  out.nvlinks = static_cast<std::int32_t>(own >> kNvLinkShift & kNvLinkBits);
  out.pcie = static_cast<std::int32_t>(own >> kPcieShift & kPcieBits);
  out.far_gpus = std::popcount(static_cast<GpuMask>(chosen & FarFrom(wanted)));
  out.numa_nodes = kMaxGpus - static_cast<std::int32_t>(own >> kNumaShift & kNumaBits);
  out.nic = static_cast<std::int32_t>(own & kNicBits);
  out.left_nvlinks = static_cast<std::int32_t>(left >> kNvLinkShift & kNvLinkBits);
  out.left_pcie = static_cast<std::int32_t>(left >> kPcieShift & kPcieBits);
  return out;
}

SCHEDFW_INLINE GpuMask GpuTopology::Choose(GpuMask free, std::int32_t k, NumaMask wanted) const {
  free = static_cast<GpuMask>(free & all());
  if (k <= 0 || std::popcount(free) < k) return 0;
  if (std::popcount(free) == k) return free;
  const GpuMask far = FarFrom(wanted);
  if (!best_.empty() && far == 0) return Best(free, k);
  const std::uint64_t key =
      std::uint64_t{free} << 21 | std::uint64_t{far} << 5 | static_cast<std::uint64_t>(k);
  std::atomic<std::uint64_t>& slot = cache_[(key * 0x9E3779B97F4A7C15ULL) >> (64 - kCacheBits)];
  const std::uint64_t known = slot.load(std::memory_order_relaxed);
  if (known >> 16 == key) return static_cast<GpuMask>(known);
  const GpuMask out = Search(free, k, far);
  slot.store(key << 16 | out, std::memory_order_relaxed);
  return out;
}

SCHEDFW_INLINE GpuMask GpuTopology::ChooseShare(std::span<const std::int16_t> left,
                                                std::int32_t milli, GpuMask free, bool spread,
                                                NumaMask wanted) const {
  const GpuMask far = FarFrom(wanted);
  std::int32_t best = -1;
  std::array<std::int32_t, 5> best_order{};
  for (std::int32_t g = 0; g < count_; ++g) {
    const std::int32_t have = left[static_cast<std::size_t>(g)];
    if (have < milli) continue;
    const std::uint64_t rest = table_[free & all() & ~(1U << g)];
    const std::array<std::int32_t, 5> order = {
        spread ? have : -have, -(far >> g & 1), nic_[static_cast<std::size_t>(g)],
        static_cast<std::int32_t>(rest >> kNvLinkShift & kNvLinkBits),
        static_cast<std::int32_t>(rest >> kPcieShift & kPcieBits)};
    if (best >= 0 && !(best_order < order)) continue;
    best = g;
    best_order = order;
  }
  return best < 0 ? GpuMask{0} : static_cast<GpuMask>(1U << best);
}

SCHEDFW_INLINE void GpuTopology::FindIslands() {
  const std::vector<std::int32_t> numbers = NvLinkIslands(node_);
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    for (std::size_t b = 0; b < numbers.size(); ++b) {
      if (numbers[a] == numbers[b]) island_[a] = static_cast<GpuMask>(island_[a] | 1U << b);
    }
  }
}

SCHEDFW_INLINE void GpuTopology::BuildTable() {
  const std::uint32_t sets = 1U << count_;
  table_.assign(sets, 0);
  const std::vector<std::uint8_t> weakest = WeakestLinks();
  for (std::uint32_t mask = 1; mask < sets; ++mask) {
    const auto a = static_cast<std::size_t>(std::countr_zero(mask));
    const std::uint32_t rest = mask & (mask - 1);
    std::uint64_t nvlinks = table_[rest] >> kNvLinkShift & kNvLinkBits;
    std::uint64_t pcie = table_[rest] >> kPcieShift & kPcieBits;
    const std::uint64_t nic = (table_[rest] & kNicBits) + nic_[a];
    ForEach(rest, [&](std::size_t b) {
      const std::uint64_t strength = strength_[a][b];
      if ((direct_[a] >> b & 1) == 0) {
        pcie += strength;
      } else {
        nvlinks += std::max<std::uint64_t>(strength - kXgmiStrength, 1);
      }
    });
    const auto nodes =
        static_cast<std::uint64_t>(kMaxGpus - std::popcount(HomesOf(static_cast<GpuMask>(mask))));
    table_[mask] = std::uint64_t{weakest[mask]} << kWeakestShift | nvlinks << kNvLinkShift |
                   pcie << kPcieShift | nodes << kNumaShift | nic << kNicShift;
  }
  table_[0] = std::uint64_t{kMaxGpus} << kNumaShift;
}

// By set of GPUs: the weakest link of the best ring. Rings begin at the lowest GPU of a set;
// path[set][last] is the weakest link of the best path over the set that ends at `last`
// (Held and Karp's recursion, with the minimum in place of the sum).
SCHEDFW_INLINE std::vector<std::uint8_t> GpuTopology::WeakestLinks() const {
  const std::uint32_t sets = 1U << count_;
  std::vector<std::uint8_t> out(sets, 0);
  std::vector<std::array<std::uint8_t, kMaxGpus>> path(sets);
  for (std::uint32_t mask = 1; mask < sets; ++mask) {
    const auto first = static_cast<std::size_t>(std::countr_zero(mask));
    const std::uint32_t rest = mask & (mask - 1);
    if (rest == 0) {
      path[mask][first] = kNoRing;
      out[mask] = kNoRing;
      continue;
    }
    std::uint8_t best = 0;
    ForEach(rest, [&](std::size_t last) {
      const std::uint32_t before = mask & ~(1U << last);
      std::uint8_t widest = 0;
      ForEach(before, [&](std::size_t other) {
        if (other == first && before != 1U << first) return;
        widest = std::max(widest, std::min(path[before][other], strength_[other][last]));
      });
      path[mask][last] = widest;
      best = std::max(best, std::min(widest, strength_[last][first]));
    });
    out[mask] = best;
  }
  return out;
}

SCHEDFW_INLINE GpuMask GpuTopology::FarFrom(NumaMask wanted) const {
  if (wanted == 0) return 0;
  std::uint32_t out = 0;
  for (std::size_t g = 0; g < static_cast<std::size_t>(count_); ++g) {
    if (near_[g] != 0 && (near_[g] & wanted) == 0) out |= 1U << g;
  }
  return static_cast<GpuMask>(out);
}

SCHEDFW_INLINE GpuMask GpuTopology::Search(GpuMask free, std::int32_t k, GpuMask far) const {
  std::uint32_t best = 0;
  std::uint64_t best_own = 0, best_left = 0;
  constexpr std::uint64_t kLeft = kNvLinkBits << kNvLinkShift | kPcieBits << kPcieShift;
  for (std::uint32_t mask = (0U - free) & free; mask != 0; mask = (mask - free) & free) {
    if (std::popcount(mask) != k) continue;
    const auto near = static_cast<std::uint64_t>(k - std::popcount(mask & far));
    const std::uint64_t own = table_[mask] | near << kFarShift;
    if (best != 0 && own < best_own) continue;
    const std::uint64_t left = table_[free & ~mask] & kLeft;
    if (best != 0 && own == best_own && left <= best_left) continue;
    best = mask;
    best_own = own;
    best_left = left;
  }
  return static_cast<GpuMask>(best);
}

SCHEDFW_INLINE void GpuTopology::BuildBest() {
  cache_ = std::make_unique<std::atomic<std::uint64_t>[]>(std::size_t{1} << kCacheBits);
  if (count_ > kDenseGpus || count_ == 0) return;
  best_.assign(static_cast<std::size_t>(kDenseGpus + 1) << kDenseGpus, 0);
  for (std::uint32_t free = 1; free <= all(); ++free) {
    for (std::int32_t k = 1; k <= std::popcount(free); ++k) {
      best_[static_cast<std::size_t>(k) << kDenseGpus | free] =
          static_cast<std::uint8_t>(Search(static_cast<GpuMask>(free), k, 0));
    }
  }
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_INL_H_
