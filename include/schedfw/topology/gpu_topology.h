// GpuTopology: the GPUs of a node as device choice sees them, and the choice.
#ifndef SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_H_
#define SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "schedfw/topology/bandwidth.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// NUMA nodes by their ids, a bit each; nodes from 64 on are left out.
using NumaMask = std::uint64_t;

/// How good some of a node's GPUs are for one job that uses them together. The first member that
/// differs decides; see operator<.
struct GpuChoiceQuality {
  /// The weakest link of the best ring over the GPUs: the ring whose weakest link is the strongest.
  /// See GpuTopology::Strength. The highest there is for one GPU.
  std::int32_t weakest_link = 0;
  std::int32_t nvlinks = 0;     ///< NVLinks between them, in all
  std::int32_t pcie = 0;        ///< the strengths of pairs without NVLink, in all
  std::int32_t far_gpus = 0;    ///< GPUs that aren't near the NUMA nodes asked for; fewer is better
  std::int32_t numa_nodes = 0;  ///< NUMA nodes that they are on; fewer is better
  std::int32_t nic = 0;         ///< the strengths of each GPU's link to its nearest NIC, in all
  std::int32_t left_nvlinks = 0;  ///< NVLinks between the GPUs that stay free
  std::int32_t left_pcie = 0;     ///< and the strengths of their pairs without NVLink

  /// Whether this is worse than the other.
  friend bool operator<(const GpuChoiceQuality& a, const GpuChoiceQuality& b) {
    return a.Order() < b.Order();
  }
  friend bool operator==(const GpuChoiceQuality&, const GpuChoiceQuality&) = default;

 private:
  std::array<std::int32_t, 8> Order() const {
    return {weakest_link, nvlinks, pcie, -far_gpus, -numa_nodes, nic, left_nvlinks, left_pcie};
  }
};

/// The GPUs of a node, compiled for choosing among them. Immutable; safe from any thread.
///
/// Which of the free GPUs a pod gets: those with the best GpuChoiceQuality, by NVLink first, then
/// by PCIe, NUMA, NICs, and what is left for others; of equal ones the lowest mask. The answer is
/// exact. Making one costs O(2^GPUs × GPUs²): microseconds for 8 GPUs, 30 ms for 16.
class GpuTopology {
 public:
  /// The strength of a link: NVLink by the number of links, then XGMI, PIX, PXB, PHB, NODE, SYS, an
  /// unknown one.
  static std::int32_t Strength(Link link) {
    switch (link.type) {
      case LinkType::kNvLink:
        return kXgmiStrength + std::min<std::int32_t>(link.count, kMostNvLinks);
      case LinkType::kXgmi:
        return kXgmiStrength;
      case LinkType::kPix:
        return 6;
      case LinkType::kPxb:
        return 5;
      case LinkType::kPhb:
        return 4;
      case LinkType::kNode:
        return 3;
      case LinkType::kSys:
        return 2;
      default:
        return 1;
    }
  }

  /// Of a topology with more GPUs than kMaxGpus none is known: count() is 0.
  explicit GpuTopology(NodeTopology topology) : node_(std::move(topology)) {
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
  GpuTopology(const GpuTopology&) = delete;
  GpuTopology& operator=(const GpuTopology&) = delete;

  const NodeTopology& node() const { return node_; }
  /// How many GPUs; 0 also when there are too many.
  std::int32_t count() const { return count_; }
  GpuMask all() const { return static_cast<GpuMask>((1U << count_) - 1); }
  std::int32_t strength(std::size_t a, std::size_t b) const { return strength_[a][b]; }
  /// The NUMA nodes near a GPU, and the first of them; 0: unknown.
  NumaMask near(std::size_t gpu) const { return near_[gpu]; }
  NumaMask home(std::size_t gpu) const { return home_[gpu]; }
  /// The homes of some GPUs.
  NumaMask HomesOf(GpuMask mask) const {
    NumaMask out = 0;
    ForEach(mask, [&](std::size_t gpu) { out |= home_[gpu]; });
    return out;
  }
  /// The GPUs that are linked to a GPU without PCIe, over others or not, and the GPU itself.
  GpuMask island(std::size_t gpu) const { return island_[gpu]; }
  /// Whether all of them are on one island.
  bool OnOneIsland(GpuMask mask) const {
    return mask == 0 || (mask & ~island_[static_cast<std::size_t>(std::countr_zero(mask))]) == 0;
  }
  /// Groups of GPUs: the islands, or those with the same home; each GPU is in one.
  const std::vector<GpuMask>& islands() const { return islands_; }
  const std::vector<GpuMask>& numa_groups() const { return numa_groups_; }
  /// NVLinks between some GPUs, in all; XGMI counts as one.
  std::int32_t NvLinks(GpuMask mask) const {
    return static_cast<std::int32_t>(table_[mask] >> kNvLinkShift & kNvLinkBits);
  }
  /// The bus bandwidth of an AllReduce over some GPUs by rings, GB/s, with the bandwidths that are
  /// declared for their model; 0 for fewer than two (see bandwidth.h). The first call costs O(2^GPUs
  /// × GPUs²).
  float RingBandwidth(GpuMask mask) const {
    std::call_once(ring_made_, [this] {
      ring_.assign(1, 0);
      if (count_ == 0) return;
      ring_ = RingBandwidths(node_, DeclaredBandwidths(node_.gpu_model));
    });
    return ring_[mask];
  }
  /// Pairs of them whose homes differ.
  std::int32_t CrossNumaPairs(GpuMask mask) const {
    std::int32_t out = 0;
    ForEach(mask, [&](std::size_t a) {
      ForEach(mask, [&](std::size_t b) { out += a < b && home_[a] != home_[b] ? 1 : 0; });
    });
    return out;
  }

  /// How good `chosen` of `free` are. `wanted`: where the job's CPUs are to be; 0: anywhere.
  GpuChoiceQuality QualityOf(GpuMask free, GpuMask chosen, NumaMask wanted = 0) const {
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

  /// The best `k` of the free GPUs; 0: there aren't as many. O(1) for up to 8 GPUs and without
  /// `wanted`, else a look-up if the question came up lately, else O(2^free).
  GpuMask Choose(GpuMask free, std::int32_t k, NumaMask wanted = 0) const {
    free = static_cast<GpuMask>(free & all());
    if (k <= 0 || std::popcount(free) < k) return 0;
    if (std::popcount(free) == k) return free;
    const GpuMask far = FarFrom(wanted);
    if (!best_.empty() && far == 0) return Best(free, k);
    const std::uint64_t key = std::uint64_t{free} << 21 | std::uint64_t{far} << 5 |
                              static_cast<std::uint64_t>(k);
    std::atomic<std::uint64_t>& slot =
        cache_[(key * 0x9E3779B97F4A7C15ULL) >> (64 - kCacheBits)];
    const std::uint64_t known = slot.load(std::memory_order_relaxed);
    if (known >> 16 == key) return static_cast<GpuMask>(known);
    const GpuMask out = Search(free, k, far);
    slot.store(key << 16 | out, std::memory_order_relaxed);
    return out;
  }

  /// The GPU for a share: of those that have `milli` left (`left` by GPU, in thousandths; at least
  /// count() of them) the one with the least, or the most if `spread`; of equal ones one that is
  /// near `wanted`, then near a NIC, then whose loss harms the `free` ones the least. 0: there is
  /// none.
  GpuMask ChooseShare(std::span<const std::int16_t> left, std::int32_t milli, GpuMask free,
                      bool spread = false, NumaMask wanted = 0) const {
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

 private:
  static constexpr std::int32_t kPixStrength = 6;
  static constexpr std::int32_t kXgmiStrength = 7;
  static constexpr std::int32_t kMostNvLinks = 34;  // of a pair; 18 are the most there are today
  static constexpr std::int32_t kNoRing = 127;      // of one GPU

  // A word of table_: what is known of some GPUs, the more important the higher.
  static constexpr int kNicShift = 0, kNumaShift = 7, kFarShift = 12, kPcieShift = 17;
  static constexpr int kNvLinkShift = 27, kWeakestShift = 40;
  static constexpr std::uint64_t kNicBits = 127;       // 16 × 6
  static constexpr std::uint64_t kNumaBits = 31;       // 16 less the number of nodes
  static constexpr std::uint64_t kPcieBits = 1023;     // 120 × 6
  static constexpr std::uint64_t kNvLinkBits = 8191;   // 120 × 34
  static constexpr int kCacheBits = 10;
  static constexpr std::int32_t kDenseGpus = 8;

  template <typename F>
  static void ForEach(std::uint32_t mask, F&& fn) {
    for (; mask != 0; mask &= mask - 1) fn(static_cast<std::size_t>(std::countr_zero(mask)));
  }
  template <typename F>
  std::vector<GpuMask> Group(F&& together) const {
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

  void FindIslands() {
    for (std::size_t g = 0; g < static_cast<std::size_t>(count_); ++g) {
      std::uint32_t island = 1U << g;
      for (std::uint32_t last = 0; last != island;) {
        last = island;
        ForEach(last, [&](std::size_t other) { island |= direct_[other]; });
      }
      island_[g] = static_cast<GpuMask>(island);
    }
  }

  void BuildTable() {
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
      const auto nodes = static_cast<std::uint64_t>(
          kMaxGpus - std::popcount(HomesOf(static_cast<GpuMask>(mask))));
      table_[mask] = std::uint64_t{weakest[mask]} << kWeakestShift | nvlinks << kNvLinkShift |
                     pcie << kPcieShift | nodes << kNumaShift | nic << kNicShift;
    }
    table_[0] = std::uint64_t{kMaxGpus} << kNumaShift;
  }

  // By set of GPUs: the weakest link of the best ring. Rings begin at the lowest GPU of a set;
  // path[set][last] is the weakest link of the best path over the set that ends at `last`
  // (Held and Karp's recursion, with the minimum in place of the sum).
  std::vector<std::uint8_t> WeakestLinks() const {
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

  GpuMask FarFrom(NumaMask wanted) const {
    if (wanted == 0) return 0;
    std::uint32_t out = 0;
    for (std::size_t g = 0; g < static_cast<std::size_t>(count_); ++g) {
      if (near_[g] != 0 && (near_[g] & wanted) == 0) out |= 1U << g;
    }
    return static_cast<GpuMask>(out);
  }

  GpuMask Search(GpuMask free, std::int32_t k, GpuMask far) const {
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

  GpuMask Best(GpuMask free, std::int32_t k) const {
    return best_[static_cast<std::size_t>(k) << kDenseGpus | free];
  }
  void BuildBest() {
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

  NodeTopology node_;
  std::int32_t count_ = 0;
  std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> strength_{};
  std::array<GpuMask, kMaxGpus> direct_{};  // the GPUs that it is linked to without PCIe
  std::array<GpuMask, kMaxGpus> island_{};
  std::vector<GpuMask> islands_, numa_groups_;
  std::array<std::uint8_t, kMaxGpus> nic_{};
  std::array<NumaMask, kMaxGpus> near_{};
  std::array<NumaMask, kMaxGpus> home_{};
  std::vector<std::uint64_t> table_{std::uint64_t{kMaxGpus} << kNumaShift};  // by set of GPUs
  std::vector<std::uint8_t> best_;  // up to kDenseGpus GPUs: by number and free GPUs
  mutable std::unique_ptr<std::atomic<std::uint64_t>[]> cache_;
  mutable std::once_flag ring_made_;
  mutable std::vector<float> ring_;  // by set of GPUs
};

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_H_
