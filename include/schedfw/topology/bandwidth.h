// How fast a set of GPUs can AllReduce: rings and trees over the links of a node and of a fabric.
//
// A model, not a measurement: docs/bandwidth.md has the formulas, their sources and their limits.
#ifndef SCHEDFW_TOPOLOGY_BANDWIDTH_H_
#define SCHEDFW_TOPOLOGY_BANDWIDTH_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// What links carry in one direction, in GB/s (1e9 bytes), and how long steps take, in µs.
///
/// The defaults are those of an A100 on PCIe 4 with EPYC processors; DeclaredBandwidths has others.
struct LinkBandwidths {
  double nvlink = 25;                 ///< the line rate of one NVLink
  double nvlink_efficiency = 0.8;     ///< what of it data gets
  std::int32_t nvlinks_per_gpu = 12;  ///< where peers show more together, a switch is between them
  double xgmi = 64;                   ///< the line rate of one xGMI link
  double xgmi_efficiency = 0.75;
  // What data gets on the way from one PCIe device to another.
  double pix = 24;
  double pxb = 24;
  double phb = 24;  ///< also what a PCIe switch gets from its host bridge
  double node = 24;
  double sys = 16;  ///< also what all ways from one NUMA node to another one share
  double unknown = 8;
  double nic = 25;

  // A ring takes 2 (n - 1) steps.
  double ring_overhead_us = 8.4;
  double ring_direct_us = 3.4;  ///< a step over NVLink or xGMI
  double ring_pcie_us = 5.7;
  double ring_network_us = 9.6;
  // A tree is a chain in a node and a double binary tree of nodes.
  double tree_overhead_us = 4.4;
  double tree_direct_us = 1.2;
  double tree_pcie_us = 1.9;
  double tree_network_us = 8.5;
  double tree_efficiency = 0.7;

  friend bool operator==(const LinkBandwidths&, const LinkBandwidths&) = default;
};

/// Public figures for a model of GPU and the processors that it usually comes with; for an unknown
/// model those of an A100.
///
/// Line rates are NVIDIA's and AMD's. What data gets of them, PCIe and processor interconnects are
/// what NCCL itself counts with: SM70_NVLINK_BW to SM100_NVLINK_BW, PCI_BW, SKL_QPI_BW, … of its
/// src/graph/topo.h. Latencies are those of the simple protocol for rings and of LL128 for trees in
/// its src/graph/tuning.cc; 0.9 × 7/9 of the bandwidth is what it gives trees of one node.
inline LinkBandwidths DeclaredBandwidths(std::string_view gpu_model) {
  const auto has = [&](std::string_view part) {
    return gpu_model.find(part) != std::string_view::npos;
  };
  const auto pcie = [](LinkBandwidths out, double width, double sys) {
    out.pix = out.pxb = out.phb = out.node = width;
    out.sys = std::min(width, sys);
    return out;
  };
  LinkBandwidths out;
  // NVIDIA A100 architecture whitepaper: 12 links of 25 GB/s in each direction. NCCL counts with
  // 20 of them and at most 235 for twelve; 232.5 were measured on eight (NVIDIA/nccl-tests #175).
  out.nvlink_efficiency = 0.78;
  if (has("P100")) {
    // 4 links of 20 GB/s; NCCL: 18. PCIe 3 x16: 12. Broadwell's QPI: 6.
    out.nvlink = 20;
    out.nvlink_efficiency = 0.9;
    out.nvlinks_per_gpu = 4;
    return pcie(out, 12, 6);
  }
  if (has("V100")) {
    // NVIDIA V100 whitepaper: 6 links of 25 GB/s; NCCL: 20. PCIe 3 x16: 12. Skylake's UPI: 10.
    out.nvlink_efficiency = 0.8;
    out.nvlinks_per_gpu = 6;
    return pcie(out, 12, 10);
  }
  if (has("H100") || has("H200") || has("H800") || has("H20")) {
    // NVIDIA H100 whitepaper: 18 links of 25 GB/s (8 of an H800); NCCL: 20.6, that is 370 of 450
    // (NVIDIA/nccl-tests #212). PCIe 5 x16: 48. Sapphire Rapids' UPI: 22.
    out.nvlink_efficiency = 0.824;
    out.nvlinks_per_gpu = has("H800") ? 8 : 18;
    out.nic = 50;
    return pcie(out, 48, 22);
  }
  if (has("B100") || has("B200") || has("B300")) {
    // NVIDIA Blackwell datasheet: 18 links of 50 GB/s; NCCL: 40.1. Emerald Rapids' UPI: 40.
    out.nvlink = 50;
    out.nvlink_efficiency = 0.802;
    out.nvlinks_per_gpu = 18;
    out.nic = 50;
    return pcie(out, 48, 40);
  }
  if (has("MI300") || has("MI325")) {
    // AMD, "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X": 64 GB/s a
    // link, of which about 48 are usable. Zen 4's interconnect in NCCL: 24.
    out.nic = 50;
    return pcie(out, 48, 24);
  }
  if (has("T4")) return pcie(out, 12, 10);
  if (has("L40") || has("L4")) return pcie(out, 24, 22);  // PCIe 4; Sapphire Rapids' UPI
  // PCIe 4 x16: 24, twice NCCL's figure for PCIe 3. Zen 2's interconnect: 16.
  return out;
}

/// What one direction of a link between two devices carries, GB/s; of several NVLinks together.
inline double LinkBandwidth(Link link, const LinkBandwidths& bandwidths) {
  switch (link.type) {
    case LinkType::kSelf:
      return std::numeric_limits<double>::infinity();
    case LinkType::kNvLink:
      return link.count * bandwidths.nvlink * bandwidths.nvlink_efficiency;
    case LinkType::kXgmi:
      return bandwidths.xgmi * bandwidths.xgmi_efficiency;
    case LinkType::kPix:
      return bandwidths.pix;
    case LinkType::kPxb:
      return bandwidths.pxb;
    case LinkType::kPhb:
      return bandwidths.phb;
    case LinkType::kNode:
      return bandwidths.node;
    case LinkType::kSys:
      return bandwidths.sys;
    case LinkType::kUnknown:
      break;
  }
  return bandwidths.unknown;
}

/// The rings that an AllReduce of some GPUs of a node uses.
struct GpuRing {
  double busbw_gb_s = 0;  ///< 0 for fewer than two GPUs
  std::int32_t gpus = 0;
  std::int32_t channels = 0;                   ///< rings over disjoint links, each with every GPU
  std::array<std::uint8_t, kMaxGpus> order{};  ///< of GPUs, of the first ring
  Link bottleneck{};                           ///< the narrowest link
  std::int32_t sharers = 1;                    ///< how many edges of the ring share it
  bool direct = false;                         ///< no edge goes over PCIe
  double cross_numa_share = 0;  ///< of all edges: those between GPUs of different NUMA nodes
};

enum class AllReduceAlgorithm : std::uint8_t { kNone, kRing, kTree };

/// "none", "ring" or "tree".
inline std::string_view AllReduceAlgorithmName(AllReduceAlgorithm algorithm) {
  constexpr std::string_view kNames[] = {"none", "ring", "tree"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

/// An AllReduce as nccl-tests reports it.
struct AllReduceResult {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::kNone;  ///< the faster one
  double busbw_gb_s = 0;                                     ///< bytes / time × 2 (n - 1) / n
  double peak_busbw_gb_s = 0;                                ///< what it comes to as messages grow
  double time_us = 0;
  std::string bottleneck;  ///< "NV12", "SYS", "SYS / 2" (two edges share it), "NIC", …
  double cross_numa_share = 0;
};

/// A flow for ShareFairly: how much it puts on shared links for each GB/s of its own.
struct SharedFlow {
  double limit = 0;                                   ///< GB/s, alone
  std::vector<std::pair<std::size_t, double>> loads;  ///< (link, load), a link once
};

/// Divides links among flows max-min fairly: all grow alike until a link they use, or their own
/// limit, is reached. Returns GB/s, one a flow.
inline std::vector<double> ShareFairly(std::span<const double> capacities,
                                       std::span<const SharedFlow> flows) {
  std::vector<double> rates(flows.size(), 0);
  std::vector<double> left(capacities.begin(), capacities.end());
  std::vector<bool> done(flows.size(), false);
  double level = 0;  // what each flow that still grows has
  for (std::size_t open = flows.size(); open > 0;) {
    std::vector<double> loads(capacities.size(), 0);
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (done[f]) continue;
      next = std::min(next, flows[f].limit);
      for (const auto& [link, load] : flows[f].loads) loads[link] += load;
    }
    std::size_t full = capacities.size();
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      if (loads[link] <= 0) continue;
      const double reached = level + std::max(left[link], 0.0) / loads[link];
      if (reached < next) {
        next = reached;
        full = link;
      }
    }
    next = std::max(next, level);
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      left[link] -= loads[link] * (next - level);
    }
    level = next;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (done[f]) continue;
      const bool uses_full = std::any_of(flows[f].loads.begin(), flows[f].loads.end(),
                                         [&](const auto& l) { return l.first == full; });
      if (uses_full || flows[f].limit <= level) {
        rates[f] = level;
        done[f] = true;
        --open;
      }
    }
  }
  return rates;
}

/// The GPUs of a node, prepared for many questions about sets of them. Up to kMaxGpus; those beyond
/// are passed over.
class BandwidthModel {
 public:
  explicit BandwidthModel(const NodeTopology& topology, const LinkBandwidths& bandwidths)
      : bandwidths_(bandwidths) {
    std::vector<std::size_t> gpus = topology.Gpus();
    if (gpus.size() > kMaxGpus) gpus.resize(kMaxGpus);
    count_ = static_cast<std::int32_t>(gpus.size());
    for (std::size_t a = 0; a < gpus.size(); ++a) {
      for (std::size_t b = 0; b < gpus.size(); ++b) {
        links_[a][b] = a == b ? Link{LinkType::kSelf} : topology.link(gpus[a], gpus[b]);
        widths_[a][b] = LinkBandwidth(links_[a][b], bandwidths_);
      }
    }
    FindNuma(topology, gpus);
    FindIslands(topology, gpus);
    FindSwitch();
    FindCosts();
  }

  std::int32_t gpus() const { return count_; }
  const LinkBandwidths& bandwidths() const { return bandwidths_; }
  GpuMask all() const { return static_cast<GpuMask>((1U << count_) - 1); }
  Link link(std::size_t a, std::size_t b) const { return links_[a][b]; }
  /// A number for the GPU's NUMA node; GPUs of which none is known have one together.
  std::int32_t numa(std::size_t gpu) const { return numa_[gpu]; }
  /// Whether NVLinks go to a switch, so that each GPU reaches any other one with all of its own.
  bool switched() const { return switched_; }

  /// The best rings of a set: the widest narrowest link, of these the fewest narrow ones, and,
  /// where NVLinks or xGMI connect the set, as many rings over disjoint links as are found. Bits
  /// beyond the GPUs are passed over. O(2^n n^2); no allocation up to 10 GPUs.
  GpuRing Ring(GpuMask mask) const {
    Members set(*this, mask);
    if (set.count < 2) return Alone(set);
    constexpr std::size_t kSmall = std::size_t{1} << (kSmallSet - 1);
    const std::size_t size =
        (std::size_t{1} << (set.count - 1)) * static_cast<std::size_t>(set.count - 1);
    if (set.count <= kSmallSet) {
      std::array<std::uint64_t, kSmall*(kSmallSet - 1)> walks;  // NOLINT: filled as it is used
      return BestRing(set, {walks.data(), size});
    }
    std::vector<std::uint64_t> walks(size);
    return BestRing(set, walks);
  }

  /// The ring that visits GPUs in the given order, each once; one channel.
  GpuRing RingInOrder(std::span<const std::uint8_t> order) const {
    GpuRing out;
    out.gpus = static_cast<std::int32_t>(order.size());
    std::copy(order.begin(), order.end(), out.order.begin());
    if (order.size() < 2) return out;
    Measure(out);
    return out;
  }

  /// The bus bandwidth of each set of GPUs, GB/s: 2^n of them, by mask; 0 for fewer than two GPUs.
  std::vector<float> RingBandwidths() const {
    std::vector<float> out(std::size_t{1} << count_, 0);
    std::vector<std::uint64_t> walks;
    for (std::int32_t first = 0; first + 1 < count_; ++first) {
      // All sets whose first GPU this is have their walks in one table.
      const auto rest = static_cast<GpuMask>(all() & ~((2U << first) - 1));
      const Members set(*this, static_cast<GpuMask>(rest | 1U << first));
      const auto others = static_cast<std::size_t>(set.count) - 1;
      walks.assign((std::size_t{1} << others) * others, 0);
      FillWalks(set, walks);
      for (std::size_t sub = 1; sub < std::size_t{1} << others; ++sub) {
        const auto mask = static_cast<GpuMask>((sub << (first + 1)) | (1U << first));
        GpuRing ring;
        Backtrack(set, walks, sub, ring);
        out[mask] = static_cast<float>(Finish(mask, ring).busbw_gb_s);
      }
    }
    return out;
  }

  /// An AllReduce of `bytes` on each GPU of a set.
  AllReduceResult AllReduce(GpuMask mask, double bytes) const {
    const GpuRing ring = Ring(mask);
    AllReduceResult out;
    out.cross_numa_share = ring.cross_numa_share;
    if (ring.gpus < 2) return out;
    const double n = ring.gpus;
    const double factor = 2 * (n - 1) / n;
    const LinkBandwidths& b = bandwidths_;
    Choose({.ring_algbw = ring.busbw_gb_s / factor,
            .ring_us = b.ring_overhead_us +
                       2 * (n - 1) * (ring.direct ? b.ring_direct_us : b.ring_pcie_us),
            .tree_algbw = ChainBandwidth(ring) * b.tree_efficiency,
            .tree_us = b.tree_overhead_us +
                       2 * (n - 1) * (ring.direct ? b.tree_direct_us : b.tree_pcie_us)},
           factor, bytes, out);
    out.bottleneck = BottleneckText(ring);
    return out;
  }

  /// What each of several sets gets when all of them AllReduce at once, GB/s of bus bandwidth: they
  /// share the ways between NUMA nodes and from PCIe switches to their host bridges.
  std::vector<double> Together(std::span<const GpuMask> jobs) const {
    // Links: from NUMA node to NUMA node, then out of islands, then into them.
    constexpr std::size_t kN = kMaxGpus;
    std::vector<double> capacities(kN * kN + 2 * kN, bandwidths_.phb);
    std::fill_n(capacities.begin(), kN * kN, bandwidths_.sys);
    std::vector<SharedFlow> flows;
    flows.reserve(jobs.size());
    for (const GpuMask mask : jobs) {
      const GpuRing ring = Ring(mask);
      SharedFlow flow;
      flow.limit = ring.busbw_gb_s;
      const Loads loads = LoadsOf(ring);
      for (std::size_t i = 0; i < kN; ++i) {
        for (std::size_t j = 0; j < kN; ++j) {
          if (loads.sys[i][j] != 0) flow.loads.emplace_back(i * kN + j, loads.sys[i][j]);
        }
        if (loads.out[i] != 0) flow.loads.emplace_back(kN * kN + i, loads.out[i]);
        if (loads.in[i] != 0) flow.loads.emplace_back(kN * kN + kN + i, loads.in[i]);
      }
      flows.push_back(std::move(flow));
    }
    return ShareFairly(capacities, flows);
  }

  /// The bottleneck of rings, as AllReduceResult has it.
  static std::string BottleneckText(const GpuRing& ring) {
    std::string out = LinkText(ring.bottleneck);
    if (ring.sharers > 1) out += " / " + std::to_string(ring.sharers);
    return out;
  }

  /// What a pipelined chain over the GPUs of a ring reduces and returns, GB/s of data.
  double ChainBandwidth(const GpuRing& ring) const {
    // A GPU in the midst of the chain sends twice: the sums on, and the result back. That is two
    // links' work where links are its own, and else goes through one port.
    if (ring.gpus > 2 && (ring.channels > 1 || (ring.direct && switched_)))
      return ring.busbw_gb_s / 2;
    const auto n = static_cast<std::size_t>(ring.gpus);
    if (n == 2) return Edge(ring, 0);
    std::size_t worst = 0;  // where the chain is cut
    for (std::size_t i = 1; i < n; ++i) {
      if (Edge(ring, i) < Edge(ring, worst)) worst = i;
    }
    double out = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      if (i == worst) continue;
      const bool own = links_[ring.order[i]][ring.order[(i + 1) % n]].IsDirect();
      out = std::min(out, Edge(ring, i) / (own ? 1 : 2));
    }
    return out;
  }

  struct Speeds {
    double ring_algbw;
    double ring_us;
    double tree_algbw;
    double tree_us;
  };
  /// Takes the faster of ring and tree; `factor` is 2 (n - 1) / n.
  static void Choose(const Speeds& speeds, double factor, double bytes, AllReduceResult& out) {
    // 1 GB/s is 1,000 bytes a µs.
    const double ring = speeds.ring_us + bytes / (1000 * speeds.ring_algbw);
    const double tree = speeds.tree_us + bytes / (1000 * speeds.tree_algbw);
    const bool use_tree = tree < ring;
    out.algorithm = use_tree ? AllReduceAlgorithm::kTree : AllReduceAlgorithm::kRing;
    out.time_us = use_tree ? tree : ring;
    out.busbw_gb_s = bytes / (1000 * out.time_us) * factor;
    out.peak_busbw_gb_s = std::max(speeds.ring_algbw, speeds.tree_algbw) * factor;
  }

 private:
  static constexpr std::int32_t kSmallSet = 10;
  static constexpr std::size_t kClasses = 13;  // of widths; the widest beyond share the first
  // Steps of the search for more rings; enough for every set of a DGX-1.
  static constexpr std::int32_t kSearchSteps = 4000;

  // The GPUs of a mask, in order.
  struct Members {
    Members(const BandwidthModel& model, GpuMask mask) {
      for (std::int32_t i = 0; i < model.count_; ++i) {
        if ((mask >> i & 1) != 0) {
          gpus[static_cast<std::size_t>(count++)] = static_cast<std::uint8_t>(i);
        }
      }
    }
    std::int32_t count = 0;
    std::array<std::uint8_t, kMaxGpus> gpus{};
  };

  // How many edges of a ring use each shared way.
  struct Loads {
    std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> sys{};
    std::array<std::uint8_t, kMaxGpus> out{};
    std::array<std::uint8_t, kMaxGpus> in{};
  };

  // Rings over disjoint links, one after another.
  struct Search {
    std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> left{};  // links, by direction
    std::int32_t count = 0;
    std::int32_t steps = 0;
    std::int32_t crossings = 0;
    bool both_ways = false;  // each ring takes its links in both directions
  };

  void FindNuma(const NodeTopology& topology, const std::vector<std::size_t>& gpus) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::vector<std::int32_t>& near = topology.devices[gpus[i]].numa;
      std::int32_t id = near.empty() ? -1 : near.front();
      if (near.empty()) {
        // Without an answer, GPUs that reach each other without SYS are taken as neighbours.
        for (std::size_t j = 0; j < i && id == -1; ++j) {
          const LinkType type = links_[i][j].type;
          if (type >= LinkType::kPix && type <= LinkType::kNode) id = ids[numa_[j]];
        }
        const bool far = std::any_of(gpus.begin(), gpus.end(), [&](std::size_t g) {
          return topology.link(gpus[i], g).type == LinkType::kSys;
        });
        if (id == -1 && far) id = -2 - static_cast<std::int32_t>(i);
      }
      auto found = std::find(ids.begin(), ids.end(), id);
      if (found == ids.end()) found = ids.insert(found, id);
      numa_[i] = static_cast<std::uint8_t>(found - ids.begin());
    }
  }

  // GPUs below one PCIe switch, which is also told by a NIC that both are next to.
  void FindIslands(const NodeTopology& topology, const std::vector<std::size_t>& gpus) {
    const auto near = [&](std::size_t a, std::size_t b) {
      const LinkType type = topology.link(a, b).type;
      return type == LinkType::kPix || type == LinkType::kPxb;
    };
    const std::vector<std::size_t> nics = topology.Nics();
    for (std::size_t i = 0; i < gpus.size(); ++i) island_[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool same =
            near(gpus[i], gpus[j]) || std::any_of(nics.begin(), nics.end(), [&](std::size_t nic) {
              return near(gpus[i], nic) && near(gpus[j], nic);
            });
        if (!same) continue;
        const auto [low, high] = std::minmax(island_[i], island_[j]);
        std::replace(island_.begin(), island_.begin() + count_, high, low);
      }
    }
  }

  void FindSwitch() {
    for (std::size_t a = 0; a < Count(); ++a) {
      std::int32_t sum = 0;
      for (std::size_t b = 0; b < Count(); ++b) {
        if (links_[a][b].type == LinkType::kNvLink) sum += links_[a][b].count;
      }
      if (sum > bandwidths_.nvlinks_per_gpu) switched_ = true;
    }
  }

  // Costs whose least sum has the fewest narrowest links, of these the fewest next ones, and so on,
  // and then the fewest that cross NUMA nodes. So the narrowest link is as wide as it can be.
  void FindCosts() {
    std::vector<double> widths;
    for (std::size_t a = 0; a < Count(); ++a) {
      for (std::size_t b = 0; b < a; ++b) widths.push_back(widths_[a][b]);
    }
    std::sort(widths.begin(), widths.end());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    const std::size_t classes = std::min(widths.size(), kClasses);
    for (std::size_t a = 0; a < Count(); ++a) {
      for (std::size_t b = 0; b < Count(); ++b) {
        if (a == b) continue;
        const auto at = static_cast<std::size_t>(
            std::lower_bound(widths.begin(), widths.end(), widths_[a][b]) - widths.begin());
        std::uint64_t cost = 0;
        for (std::size_t c = at; c + 1 < classes; ++c) {
          cost = cost == 0 ? 2 * (kMaxGpus + 1) : cost * (kMaxGpus + 1);
        }
        costs_[a][b] = cost + (numa_[a] != numa_[b] ? 1 : 0);
      }
    }
  }

  std::size_t Count() const { return static_cast<std::size_t>(count_); }

  static GpuRing Alone(const Members& set) {
    GpuRing out;
    out.gpus = set.count;
    out.order = set.gpus;
    return out;
  }

  // walks[sub * (n - 1) + last]: the least cost from the first GPU over all of `sub`, a set of the
  // others, to `last` (Held and Karp).
  void FillWalks(const Members& set, std::span<std::uint64_t> walks) const {
    const auto others = static_cast<std::size_t>(set.count) - 1;
    std::array<std::array<std::uint64_t, kMaxGpus>, kMaxGpus> costs;  // NOLINT: filled below
    for (std::size_t a = 0; a < others; ++a) {
      for (std::size_t b = 0; b < others; ++b)
        costs[a][b] = costs_[set.gpus[a + 1]][set.gpus[b + 1]];
    }
    for (std::size_t sub = 1; sub < std::size_t{1} << others; ++sub) {
      for (std::size_t lasts = sub; lasts != 0; lasts &= lasts - 1) {
        const auto last = static_cast<std::size_t>(std::countr_zero(lasts));
        const std::size_t before = sub & ~(std::size_t{1} << last);
        std::uint64_t best = costs_[set.gpus[0]][set.gpus[last + 1]];
        if (before != 0) {
          best = ~std::uint64_t{0};
          for (std::size_t rest = before; rest != 0; rest &= rest - 1) {
            const auto previous = static_cast<std::size_t>(std::countr_zero(rest));
            best = std::min(best, walks[before * others + previous] + costs[previous][last]);
          }
        }
        walks[sub * others + last] = best;
      }
    }
  }

  // The ring through the first GPU and all of `sub`.
  void Backtrack(const Members& set, std::span<const std::uint64_t> walks, std::size_t sub,
                 GpuRing& out) const {
    const auto others = static_cast<std::size_t>(set.count) - 1;
    out.gpus = std::popcount(sub) + 1;
    out.order[0] = set.gpus[0];
    std::uint8_t next = set.gpus[0];
    for (auto at = static_cast<std::size_t>(out.gpus) - 1; at > 0; --at) {
      std::size_t best = 0;
      std::uint64_t least = ~std::uint64_t{0};
      for (std::size_t lasts = sub; lasts != 0; lasts &= lasts - 1) {
        const auto last = static_cast<std::size_t>(std::countr_zero(lasts));
        const std::uint64_t cost = walks[sub * others + last] + costs_[set.gpus[last + 1]][next];
        if (cost < least) {
          least = cost;
          best = last;
        }
      }
      next = set.gpus[best + 1];
      out.order[at] = next;
      sub &= ~(std::size_t{1} << best);
    }
    // A ring is the same backwards.
    const auto end = out.order.begin() + out.gpus;
    if (out.order[1] > *(end - 1)) std::reverse(out.order.begin() + 1, end);
  }

  GpuRing BestRing(const Members& set, std::span<std::uint64_t> walks) const {
    GpuRing out;
    FillWalks(set, walks);
    Backtrack(set, walks, (std::size_t{1} << (set.count - 1)) - 1, out);
    GpuMask mask = 0;
    for (std::int32_t i = 0; i < set.count; ++i) {
      mask = static_cast<GpuMask>(mask | 1U << set.gpus[static_cast<std::size_t>(i)]);
    }
    return Finish(mask, out);
  }

  double Edge(const GpuRing& ring, std::size_t i) const {
    return widths_[ring.order[i]][ring.order[(i + 1) % static_cast<std::size_t>(ring.gpus)]];
  }

  Loads LoadsOf(const GpuRing& ring) const {
    Loads out;
    const auto n = static_cast<std::size_t>(ring.gpus);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t a = ring.order[i];
      const std::size_t b = ring.order[(i + 1) % n];
      const LinkType type = links_[a][b].type;
      if (type != LinkType::kPhb && type != LinkType::kNode && type != LinkType::kSys) continue;
      ++out.out[island_[a]];
      ++out.in[island_[b]];
      if (type == LinkType::kSys) ++out.sys[numa_[a]][numa_[b]];
    }
    return out;
  }

  // One channel in the order that `ring` has.
  void Measure(GpuRing& ring) const {
    const auto n = static_cast<std::size_t>(ring.gpus);
    const Loads loads = LoadsOf(ring);
    ring.channels = 1;
    ring.direct = true;
    ring.busbw_gb_s = std::numeric_limits<double>::infinity();
    std::int32_t crossings = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t a = ring.order[i];
      const std::size_t b = ring.order[(i + 1) % n];
      const Link link = links_[a][b];
      crossings += numa_[a] != numa_[b] ? 1 : 0;
      if (!link.IsDirect()) ring.direct = false;
      const auto narrow = [&](double width, std::int32_t sharers) {
        if (width >= ring.busbw_gb_s) return;
        ring.busbw_gb_s = width;
        ring.bottleneck = link;
        ring.sharers = sharers;
      };
      narrow(widths_[a][b], 1);
      if (link.IsDirect()) continue;
      if (link.type == LinkType::kSys) {
        const std::uint8_t sharers = loads.sys[numa_[a]][numa_[b]];
        narrow(bandwidths_.sys / sharers, sharers);
      }
      if (const std::uint8_t sharers = std::max(loads.out[island_[a]], loads.in[island_[b]]);
          sharers > 1) {
        narrow(bandwidths_.phb / sharers, sharers);
      }
    }
    ring.cross_numa_share = static_cast<double>(crossings) / static_cast<double>(n);
  }

  // Looks for an order in which fewer edges share the narrowest way: turns stretches of the ring
  // round, and moves GPUs elsewhere in it, as long as that helps.
  void ShareLess(GpuRing& ring) const {
    const auto n = ring.order.begin() + ring.gpus;
    for (bool better = true; better;) {
      better = false;
      const auto try_out = [&](GpuRing& changed) {
        Measure(changed);
        if (changed.busbw_gb_s <= ring.busbw_gb_s) return;
        ring = changed;
        better = true;
      };
      for (auto a = ring.order.begin() + 1; a != n; ++a) {
        for (auto b = a + 1; b != n; ++b) {
          const auto first = a - ring.order.begin();
          const auto last = b - ring.order.begin() + 1;
          GpuRing turned = ring;
          std::reverse(turned.order.begin() + first, turned.order.begin() + last);
          try_out(turned);
          for (const std::ptrdiff_t middle : {first + 1, last - 1}) {
            GpuRing moved = ring;
            std::rotate(moved.order.begin() + first, moved.order.begin() + middle,
                        moved.order.begin() + last);
            try_out(moved);
          }
        }
      }
    }
  }

  // Adds to the best single ring what more rings over direct links give.
  GpuRing Finish(GpuMask mask, GpuRing ring) const {
    Measure(ring);
    if (!ring.direct) {
      if (ring.sharers > 1) ShareLess(ring);
      return ring;
    }
    const Members set(*this, mask);
    const LinkType type = links_[ring.order[0]][ring.order[1]].type;
    if (type == LinkType::kNvLink && switched_) {
      // A GPU's links all go to the switch; the matrix shows as many to each peer.
      ring.channels = ring.bottleneck.count;
      return ring;
    }
    std::int32_t crossings = 0;
    const std::int32_t channels = CountRings(set, type, crossings);
    const double width = LinkBandwidth(
        {type, static_cast<std::uint8_t>(type == LinkType::kNvLink ? 1 : 0)}, bandwidths_);
    if (channels * width <= ring.busbw_gb_s) return ring;
    ring.busbw_gb_s = channels * width;
    if (type == LinkType::kNvLink) ring.bottleneck.count = 1;
    ring.channels = channels;
    ring.sharers = 1;
    ring.cross_numa_share =
        static_cast<double>(crossings) / (static_cast<double>(channels) * ring.gpus);
    return ring;
  }

  // How many rings over disjoint links of one type a set has, each link used once in a direction.
  std::int32_t CountRings(const Members& set, LinkType type, std::int32_t& crossings) const {
    Search fresh;
    fresh.count = set.count;
    const auto n = static_cast<std::size_t>(set.count);
    std::int32_t degree = std::numeric_limits<std::int32_t>::max();
    bool equal = true;
    std::uint8_t first = 0;
    std::int32_t arcs_across = 0;
    for (std::size_t a = 0; a < n; ++a) {
      std::int32_t sum = 0;
      for (std::size_t b = 0; b < n; ++b) {
        if (a == b) continue;
        const Link link = links_[set.gpus[a]][set.gpus[b]];
        std::uint8_t links = 0;
        if (link.type == type) links = type == LinkType::kNvLink ? link.count : 1;
        if (a == 0 && b == 1) first = links;
        equal = equal && links == first;
        fresh.left[a][b] = links;
        sum += links;
        if (numa_[set.gpus[a]] != numa_[set.gpus[b]]) arcs_across += links;
      }
      degree = std::min(degree, sum);
    }
    if (equal) {
      // All arcs of a complete graph make rings, but for four and six nodes with an odd number of
      // links (T. W. Tillson, "A Hamiltonian decomposition of K*2m, 2m >= 8", 1980).
      const bool odd = (n == 4 || n == 6) && first % 2 == 1;
      crossings = arcs_across;
      if (odd) crossings = arcs_across * (degree - 1) / degree;
      return degree - (odd ? 1 : 0);
    }
    for (std::int32_t want = degree; want > 1; --want) {
      if (want % 2 == 0) {
        Search search = fresh;
        search.both_ways = true;
        if (FindRings(set, search, want / 2)) {
          crossings = 2 * search.crossings;
          return want;
        }
      }
      Search search = fresh;
      if (FindRings(set, search, want)) {
        crossings = search.crossings;
        return want;
      }
    }
    return 0;
  }

  // Finds `want` more rings; false also when that takes too long.
  bool FindRings(const Members& set, Search& search, std::int32_t want) const {
    if (want == 0) return true;
    return Extend(set, search, 0, 1, want);
  }

  // Goes on from GPU `at` of a ring that has visited `seen`.
  bool Extend(const Members& set, Search& search, std::size_t at, std::uint32_t seen,
              std::int32_t want) const {
    if (++search.steps > kSearchSteps) return false;
    const auto n = static_cast<std::size_t>(search.count);
    const bool last = seen == (1U << n) - 1;
    // Peers with more links left first, so that none of them is left over.
    for (std::uint8_t most = 0, level = Most(search, at); level > most; --level) {
      for (std::size_t to = 0; to < n; ++to) {
        if (search.left[at][to] != level) continue;
        if (last ? to != 0 : (seen >> to & 1) != 0) continue;
        // Two GPUs make no ring of links that are taken both ways at once.
        if (search.both_ways && n == 2) return false;
        const std::int32_t across = numa_[set.gpus[at]] != numa_[set.gpus[to]] ? 1 : 0;
        Take(search, at, to, -1);
        search.crossings += across;
        const bool done = last ? FindRings(set, search, want - 1)
                               : Extend(set, search, to, seen | 1U << to, want);
        if (done) return true;
        Take(search, at, to, 1);
        search.crossings -= across;
        if (search.steps > kSearchSteps) return false;
      }
    }
    return false;
  }

  static std::uint8_t Most(const Search& search, std::size_t at) {
    const auto n = static_cast<std::size_t>(search.count);
    return *std::max_element(search.left[at].begin(),
                             search.left[at].begin() + static_cast<std::ptrdiff_t>(n));
  }

  static void Take(Search& search, std::size_t a, std::size_t b, int by) {
    const auto add = [&](std::size_t from, std::size_t to) {
      search.left[from][to] = static_cast<std::uint8_t>(search.left[from][to] + by);
    };
    add(a, b);
    if (search.both_ways) add(b, a);
  }

  LinkBandwidths bandwidths_;
  std::int32_t count_ = 0;
  bool switched_ = false;
  std::array<std::array<Link, kMaxGpus>, kMaxGpus> links_{};
  std::array<std::array<double, kMaxGpus>, kMaxGpus> widths_{};
  std::array<std::array<std::uint64_t, kMaxGpus>, kMaxGpus> costs_{};
  std::array<std::uint8_t, kMaxGpus> numa_{};
  std::array<std::uint8_t, kMaxGpus> island_{};
};

/// The bus bandwidth of each set of GPUs of a node, GB/s: 2^n of them, by mask.
inline std::vector<float> RingBandwidths(const NodeTopology& topology,
                                         const LinkBandwidths& bandwidths) {
  return BandwidthModel(topology, bandwidths).RingBandwidths();
}

/// An AllReduce of `bytes` on each GPU of a set of one node.
inline AllReduceResult AllReduce(const NodeTopology& topology, GpuMask mask, double bytes,
                                 const LinkBandwidths& bandwidths) {
  return BandwidthModel(topology, bandwidths).AllReduce(mask, bytes);
}

/// What each of several sets of one node gets when all AllReduce at once, GB/s of bus bandwidth.
inline std::vector<double> AllReduceTogether(const NodeTopology& topology,
                                             std::span<const GpuMask> jobs,
                                             const LinkBandwidths& bandwidths) {
  return BandwidthModel(topology, bandwidths).Together(jobs);
}

/// Some GPUs of a node, and where the node is in the fabric.
struct FabricNode {
  const NodeTopology* topology = nullptr;  ///< not owned
  GpuMask gpus = 0;
  std::int32_t rack = 0;
  std::int32_t spine = 0;
};

/// What lies between nodes. Oversubscription is what goes into a level over what it passes on: 1
/// is a fabric that never blocks, 2 leaves each node half its rate when all send out at once.
struct Fabric {
  std::int32_t rails = 0;  ///< NICs of a node that one job uses at most; 0: all that are near
  double rack_oversubscription = 1;
  double spine_oversubscription = 1;
};

/// What a node can send, and at the same time receive, by the NICs nearest to the GPUs of a set,
/// GB/s. A topology without NICs is taken to have one, behind the host bridge.
inline double NetworkBandwidth(const FabricNode& node, const LinkBandwidths& bandwidths,
                               std::int32_t rails = 0) {
  const NodeTopology& topology = *node.topology;
  const std::vector<std::size_t> gpus = topology.Gpus();
  const std::vector<std::size_t> nics = topology.Nics();
  if (nics.empty()) return std::min(bandwidths.nic, bandwidths.phb);
  std::vector<double> rates(nics.size(), 0);
  std::vector<bool> far(nics.size(), false);
  std::vector<std::int32_t> users(nics.size(), 0);
  for (std::size_t i = 0; i < gpus.size() && i < kMaxGpus; ++i) {
    if ((node.gpus >> i & 1) == 0) continue;
    std::size_t best = 0;
    const auto width = [&](std::size_t nic) {
      return LinkBandwidth(topology.link(gpus[i], nics[nic]), bandwidths);
    };
    for (std::size_t nic = 1; nic < nics.size(); ++nic) {
      // By type first: ways of one width differ in how far they go.
      const LinkType a = topology.link(gpus[i], nics[nic]).type;
      const LinkType b = topology.link(gpus[i], nics[best]).type;
      if (a != b ? a < b && a != LinkType::kUnknown : users[nic] < users[best]) best = nic;
    }
    ++users[best];
    if (const double rate = std::min(bandwidths.nic, width(best)); rate > rates[best]) {
      rates[best] = rate;
      far[best] = topology.link(gpus[i], nics[best]).type == LinkType::kSys;
    }
  }
  // Those that are reached over the interconnect of the NUMA nodes share it.
  double near_sum = 0;
  double far_sum = 0;
  std::vector<std::pair<double, bool>> used;
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    if (users[nic] > 0) used.emplace_back(rates[nic], far[nic]);
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (rails > 0 && used.size() > static_cast<std::size_t>(rails)) {
    used.resize(static_cast<std::size_t>(rails));
  }
  for (const auto& [rate, is_far] : used) (is_far ? far_sum : near_sum) += rate;
  return near_sum + std::min(far_sum, bandwidths.sys);
}

/// An AllReduce over GPUs of several nodes: rings through every node, or trees of nodes. Nodes
/// without GPUs in their set are passed over. Every crossing of a rack or spine is taken to have
/// its share of an oversubscribed level, as when all nodes send out at once.
inline AllReduceResult AllReduceAcross(std::span<const FabricNode> nodes, double bytes,
                                       const LinkBandwidths& bandwidths,
                                       const Fabric& fabric = {}) {
  std::vector<FabricNode> used;
  for (const FabricNode& node : nodes) {
    if (node.topology != nullptr && node.gpus != 0) used.push_back(node);
  }
  if (used.empty()) return {};
  if (used.size() == 1) return AllReduce(*used[0].topology, used[0].gpus, bytes, bandwidths);
  std::stable_sort(used.begin(), used.end(), [](const FabricNode& a, const FabricNode& b) {
    return std::pair(a.spine, a.rack) < std::pair(b.spine, b.rack);
  });

  AllReduceResult out;
  const auto count = static_cast<double>(used.size());
  double gpus = 0;
  double ring = std::numeric_limits<double>::infinity();
  double chain = std::numeric_limits<double>::infinity();
  double crossings = 0;
  bool direct = true;
  std::vector<double> rates;
  for (const FabricNode& node : used) {
    const BandwidthModel model(*node.topology, bandwidths);
    const GpuRing inside = model.Ring(node.gpus);
    gpus += inside.gpus;
    rates.push_back(NetworkBandwidth(node, bandwidths, fabric.rails));
    if (inside.gpus < 2) continue;
    crossings += inside.cross_numa_share * inside.gpus;
    direct = direct && inside.direct;
    chain = std::min(chain, model.ChainBandwidth(inside));
    if (inside.busbw_gb_s < ring) {
      ring = inside.busbw_gb_s;
      out.bottleneck = BandwidthModel::BottleneckText(inside);
    }
  }
  double network = std::numeric_limits<double>::infinity();
  std::string where = "NIC";
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::size_t next = (i + 1) % used.size();
    double rate = std::min(rates[i], rates[next]);
    std::string text = "NIC";
    if (used[i].spine != used[next].spine) {
      rate /= fabric.rack_oversubscription * fabric.spine_oversubscription;
      text = "spine";
    } else if (used[i].rack != used[next].rack) {
      rate /= fabric.rack_oversubscription;
      text = "rack";
    }
    if (rate < network) {
      network = rate;
      where = text;
    }
  }
  if (network < ring) out.bottleneck = where;
  out.cross_numa_share = crossings / gpus;
  const double factor = 2 * (gpus - 1) / gpus;
  const double steps_between = 2 * (count - 1);
  const double steps_inside = 2 * (gpus - 1) - steps_between;
  // Of two nodes each sends its sums once; in a bigger tree a node sends as much again to return
  // the result. (NCCL's tuning has the depth as log2 of the number of nodes.)
  const double between = used.size() == 2 ? network : network / 2;
  BandwidthModel::Choose(
      {.ring_algbw = std::min(ring, network) / factor,
       .ring_us = bandwidths.ring_overhead_us + steps_between * bandwidths.ring_network_us +
                  steps_inside * (direct ? bandwidths.ring_direct_us : bandwidths.ring_pcie_us),
       .tree_algbw = std::min(chain, between) * bandwidths.tree_efficiency,
       .tree_us =
           bandwidths.tree_overhead_us +
           2 * std::ceil(std::log2(count)) * bandwidths.tree_network_us +
           2 * (gpus / count - 1) * (direct ? bandwidths.tree_direct_us : bandwidths.tree_pcie_us)},
      factor, bytes, out);
  return out;
}

/// A job over a fabric: its nodes by number, with its GPUs there; equal numbers are one node.
struct FabricJob {
  std::vector<std::pair<std::int32_t, FabricNode>> nodes;  ///< (number of the node, its GPUs)
};

/// What each of several jobs gets when all AllReduce at once over one fabric, GB/s of bus
/// bandwidth.
///
/// They share NICs of nodes, and what racks pass on: `rack_rate`, what the nodes of a rack can send
/// together in GB/s, over the oversubscription.
inline std::vector<double> AllReduceTogetherAcross(std::span<const FabricJob> jobs,
                                                   const LinkBandwidths& bandwidths,
                                                   const Fabric& fabric, double rack_rate) {
  // Links: out of and into each node, out of and into each rack, in the order they are met.
  std::vector<std::pair<std::int32_t, std::int32_t>> names;  // (kind, number)
  std::vector<double> capacities;
  const auto link = [&](std::int32_t kind, std::int32_t number, double capacity) {
    const auto found = std::find(names.begin(), names.end(), std::pair(kind, number));
    const auto at = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) {
      names.emplace_back(kind, number);
      capacities.push_back(0);
    }
    capacities[at] = std::max(capacities[at], capacity);
    return at;
  };
  std::vector<SharedFlow> flows;
  for (const FabricJob& job : jobs) {
    std::vector<FabricNode> nodes;
    for (const auto& [number, node] : job.nodes) nodes.push_back(node);
    SharedFlow flow;
    Fabric free = fabric;  // what others leave of a level is counted below
    free.rack_oversubscription = free.spine_oversubscription = 1;
    // So large that steps don't count.
    flow.limit = AllReduceAcross(nodes, 1e15, bandwidths, free).peak_busbw_gb_s;
    if (nodes.size() > 1) {
      double rate = std::numeric_limits<double>::infinity();
      std::vector<std::int32_t> racks;
      for (const auto& [number, node] : job.nodes) {
        const double own = NetworkBandwidth(node, bandwidths, fabric.rails);
        rate = std::min(rate, own);
        flow.loads.emplace_back(link(0, number, own), 1.0);
        if (std::find(racks.begin(), racks.end(), node.rack) == racks.end()) {
          racks.push_back(node.rack);
        }
      }
      flow.limit = std::min(flow.limit, rate);
      if (racks.size() > 1) {
        for (const std::int32_t rack : racks) {
          flow.loads.emplace_back(link(1, rack, rack_rate / fabric.rack_oversubscription), 1.0);
        }
      }
    }
    flows.push_back(std::move(flow));
  }
  return ShareFairly(capacities, flows);
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_BANDWIDTH_H_
