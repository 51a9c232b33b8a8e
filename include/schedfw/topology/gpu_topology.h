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

#include "schedfw/base/inline.h"
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
  explicit GpuTopology(NodeTopology topology);
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
  /// declared for their model; 0 for fewer than two (see bandwidth.h). The first call costs
  /// O(2^GPUs × GPUs²).
  float RingBandwidth(GpuMask mask) const;
  /// Pairs of them whose homes differ.
  std::int32_t CrossNumaPairs(GpuMask mask) const {
    std::int32_t out = 0;
    ForEach(mask, [&](std::size_t a) {
      ForEach(mask, [&](std::size_t b) { out += a < b && home_[a] != home_[b] ? 1 : 0; });
    });
    return out;
  }

  /// How good `chosen` of `free` are. `wanted`: where the job's CPUs are to be; 0: anywhere.
  GpuChoiceQuality QualityOf(GpuMask free, GpuMask chosen, NumaMask wanted = 0) const;

  /// The best `k` of the free GPUs; 0: there aren't as many. O(1) for up to 8 GPUs and without
  /// `wanted`, else a look-up if the question came up lately, else O(2^free).
  GpuMask Choose(GpuMask free, std::int32_t k, NumaMask wanted = 0) const;

  /// The GPU for a share: of those that have `milli` left (`left` by GPU, in thousandths; at least
  /// count() of them) the one with the least, or the most if `spread`; of equal ones one that is
  /// near `wanted`, then near a NIC, then whose loss harms the `free` ones the least. 0: there is
  /// none.
  GpuMask ChooseShare(std::span<const std::int16_t> left, std::int32_t milli, GpuMask free,
                      bool spread = false, NumaMask wanted = 0) const;

 private:
  static constexpr std::int32_t kPixStrength = 6;
  static constexpr std::int32_t kXgmiStrength = 7;
  static constexpr std::int32_t kMostNvLinks = 34;  // of a pair; 18 are the most there are today
  static constexpr std::int32_t kNoRing = 127;      // of one GPU

  // A word of table_: what is known of some GPUs, the more important the higher.
  static constexpr int kNicShift = 0, kNumaShift = 7, kFarShift = 12, kPcieShift = 17;
  static constexpr int kNvLinkShift = 27, kWeakestShift = 40;
  static constexpr std::uint64_t kNicBits = 127;      // 16 × 6
  static constexpr std::uint64_t kNumaBits = 31;      // 16 less the number of nodes
  static constexpr std::uint64_t kPcieBits = 1023;    // 120 × 6
  static constexpr std::uint64_t kNvLinkBits = 8191;  // 120 × 34
  static constexpr int kCacheBits = 10;
  static constexpr std::int32_t kDenseGpus = 8;

  template <typename F>
  static void ForEach(std::uint32_t mask, F&& fn) {
    for (; mask != 0; mask &= mask - 1) fn(static_cast<std::size_t>(std::countr_zero(mask)));
  }
  template <typename F>
  std::vector<GpuMask> Group(F&& together) const;
  GpuMask Best(GpuMask free, std::int32_t k) const {
    return best_[static_cast<std::size_t>(k) << kDenseGpus | free];
  }
  void FindIslands();
  void BuildTable();
  std::vector<std::uint8_t> WeakestLinks() const;
  void BuildBest();
  GpuMask FarFrom(NumaMask wanted) const;
  GpuMask Search(GpuMask free, std::int32_t k, GpuMask far) const;

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

#ifndef SCHEDFW_COMPILED
#include "schedfw/topology/gpu_topology_inl.h"
#endif

#endif  // SCHEDFW_TOPOLOGY_GPU_TOPOLOGY_H_
