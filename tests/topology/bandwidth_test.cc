#include "schedfw/topology/bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedfw {
namespace {

using LinkOf = std::function<Link(std::size_t, std::size_t)>;

constexpr Link kPix{LinkType::kPix, 0};
constexpr Link kNode{LinkType::kNode, 0};
constexpr Link kSys{LinkType::kSys, 0};
constexpr double kGigabyte = 1e9;

Link NvLink(std::size_t count) { return {LinkType::kNvLink, static_cast<std::uint8_t>(count)}; }

// GPUs, the first half of them on NUMA node 0, and then NICs, with the links that `link_of` says.
NodeTopology MakeTopology(std::size_t gpus, std::string_view model, const LinkOf& link_of,
                          std::size_t nics = 0) {
  NodeTopology out;
  out.source = "test";
  out.gpu_model = model;
  const std::size_t count = gpus + nics;
  for (std::size_t i = 0; i < count; ++i) {
    Device device;
    const bool gpu = i < gpus;
    device.kind = gpu ? DeviceKind::kGpu : DeviceKind::kNic;
    device.name = (gpu ? "GPU" : "NIC") + std::to_string(gpu ? i : i - gpus);
    const std::size_t place = gpu ? i * 2 / gpus : (i - gpus) * 2 / nics;
    device.numa = {static_cast<std::int32_t>(place)};
    out.devices.push_back(device);
  }
  out.links.resize(count * count);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      out.links[a * count + b] = out.links[b * count + a] = link_of(b, a);
    }
    out.links[a * count + a] = {LinkType::kSelf, 0};
  }
  return out;
}

NodeTopology Switched(std::string_view model, std::size_t gpus, std::size_t links) {
  return MakeTopology(gpus, model, [&](std::size_t, std::size_t) { return NvLink(links); });
}

// The hybrid cube mesh of a DGX-1 with V100.
NodeTopology Dgx1() {
  static constexpr std::array<std::array<int, 8>, 8> kLinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                             {1, 0, 2, 1, 0, 2, 0, 0},
                                                             {1, 2, 0, 2, 0, 0, 1, 0},
                                                             {2, 1, 2, 0, 0, 0, 0, 1},
                                                             {2, 0, 0, 0, 0, 1, 1, 2},
                                                             {0, 2, 0, 0, 1, 0, 2, 1},
                                                             {0, 0, 1, 0, 1, 2, 0, 2},
                                                             {0, 0, 0, 1, 2, 1, 2, 0}}};
  return MakeTopology(8, "V100-SXM2", [](std::size_t a, std::size_t b) {
    const int count = kLinks[a][b];
    if (count > 0) return NvLink(static_cast<std::size_t>(count));
    return a / 4 == b / 4 ? Link{LinkType::kPhb, 0} : kSys;
  });
}

// Eight A100 in PCIe slots of two sockets.
NodeTopology PcieNode() {
  return MakeTopology(8, "A100-PCIE",
                      [](std::size_t a, std::size_t b) { return a / 4 == b / 4 ? kNode : kSys; });
}

double PeakOfAll(const NodeTopology& topology) {
  const BandwidthModel model(topology, DeclaredBandwidths(topology.gpu_model));
  return model.AllReduce(model.all(), 8 * kGigabyte).busbw_gb_s;
}

// A node as PCIe makes them: switches in host bridges in NUMA nodes; and some bridges of NVLinks.
NodeTopology RandomTopology(std::mt19937& random, std::size_t gpus) {
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<std::array<std::size_t, 3>> place(gpus);
  for (auto& p : place) p = {draw(2), draw(2), draw(2)};
  NodeTopology out = MakeTopology(gpus, "A100-PCIE", [&](std::size_t a, std::size_t b) {
    if (draw(6) == 0) return NvLink(1 + draw(4));
    if (place[a][0] != place[b][0]) return kSys;
    if (place[a][1] != place[b][1]) return kNode;
    return place[a][2] != place[b][2] ? Link{LinkType::kPhb, 0} : kPix;
  });
  for (std::size_t i = 0; i < gpus; ++i) {
    out.devices[i].numa = {static_cast<std::int32_t>(place[i][0])};
  }
  return out;
}

LinkBandwidths Distinct() {
  LinkBandwidths out;
  out.nvlinks_per_gpu = 100;  // no switch
  out.pix = 26;
  out.pxb = 25;
  out.phb = 24;
  out.node = 22;
  out.sys = 9;
  return out;
}

std::vector<std::uint8_t> MembersOf(GpuMask mask) {
  std::vector<std::uint8_t> out;
  for (std::uint8_t i = 0; i < kMaxGpus; ++i) {
    if ((mask >> i & 1) != 0) out.push_back(i);
  }
  return out;
}

// Calls fn with each order of the GPUs of a set.
template <typename F>
void ForEachOrder(GpuMask mask, F&& fn) {
  std::vector<std::uint8_t> order = MembersOf(mask);
  do fn(order);
  while (std::next_permutation(order.begin() + 1, order.end()));
}

double Narrowest(const BandwidthModel& model, std::span<const std::uint8_t> order) {
  double out = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Link link = model.link(order[i], order[(i + 1) % order.size()]);
    out = std::min(out, LinkBandwidth(link, model.bandwidths()));
  }
  return out;
}

TEST(Bandwidth, RingIsTheWidestOfAllOrders) {
  std::mt19937 random(42);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t gpus = 2 + random() % 6;
    const BandwidthModel model(RandomTopology(random, gpus), Distinct());
    double widest = 0;
    double best = 0;
    ForEachOrder(model.all(), [&](std::span<const std::uint8_t> order) {
      widest = std::max(widest, Narrowest(model, order));
      best = std::max(best, model.RingInOrder(order).busbw_gb_s);
    });
    const GpuRing ring = model.Ring(model.all());
    const std::span<const std::uint8_t> order(ring.order.data(), gpus);
    // Ways that edges share count; more rings over NVLinks may give more than any one order.
    EXPECT_GE(ring.busbw_gb_s, best) << round;
    if (ring.channels == 1) {
      EXPECT_EQ(ring.busbw_gb_s, best) << round;
      EXPECT_LE(ring.busbw_gb_s, widest) << round;
    }
    if (best == widest && !ring.direct) {
      EXPECT_EQ(Narrowest(model, order), widest) << round;
    }
    std::vector<std::uint8_t> sorted(order.begin(), order.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, MembersOf(model.all()));
  }
}

TEST(Bandwidth, TableHasWhatEachSetHas) {
  std::mt19937 random(7);
  std::vector<NodeTopology> nodes = {Dgx1(), PcieNode(), Switched("A100-SXM4", 8, 12)};
  for (int i = 0; i < 5; ++i) nodes.push_back(RandomTopology(random, 7));
  for (const NodeTopology& node : nodes) {
    const LinkBandwidths bandwidths = DeclaredBandwidths(node.gpu_model);
    const BandwidthModel model(node, bandwidths);
    const std::vector<float> table = RingBandwidths(node, bandwidths);
    ASSERT_EQ(table.size(), std::size_t{1} << node.devices.size());
    for (std::size_t mask = 0; mask < table.size(); ++mask) {
      const GpuRing ring = model.Ring(static_cast<GpuMask>(mask));
      EXPECT_EQ(table[mask], static_cast<float>(ring.busbw_gb_s)) << mask;
      EXPECT_EQ(table[mask] == 0, std::popcount(mask) < 2);
    }
  }
}

// Published figures of nccl-tests' all_reduce_perf, GB/s of bus bandwidth at large sizes.
TEST(Bandwidth, PublishedOrdersOfMagnitude) {
  // NVIDIA/nccl-tests #175: 232.5 on eight A100 with NVSwitch.
  EXPECT_NEAR(PeakOfAll(Switched("A100-SXM4-80GB", 8, 12)), 232.5, 8);
  // NVIDIA/nccl-tests #212: 370 by rings on eight H100 (480 with NVLink SHARP, which isn't
  // modelled).
  EXPECT_NEAR(PeakOfAll(Switched("H100-SXM5-80GB", 8, 18)), 370, 8);
  // A DGX-1's six rings: NCCL counts with 20 of 25 GB/s of each link.
  EXPECT_GE(PeakOfAll(Dgx1()), 115);
  EXPECT_LE(PeakOfAll(Dgx1()), 150);
  // NVIDIA/nccl-tests #178: 208 on two A100 with a bridge of twelve links; 20 with a third GPU.
  const auto bridges = MakeTopology(8, "A100-PCIE", [](std::size_t a, std::size_t b) {
    if (a / 2 == b / 2) return NvLink(12);
    return a / 4 == b / 4 ? kNode : kSys;
  });
  const LinkBandwidths a100 = DeclaredBandwidths("A100-PCIE");
  EXPECT_NEAR(AllReduce(bridges, 0b11, 8 * kGigabyte, a100).busbw_gb_s, 208, 30);
  EXPECT_NEAR(AllReduce(bridges, 0b111, 8 * kGigabyte, a100).busbw_gb_s, 20, 5);
  // GPUs without NVLink on two sockets: 10 to 25.
  EXPECT_GE(PeakOfAll(PcieNode()), 10);
  EXPECT_LE(PeakOfAll(PcieNode()), 25);
  // AMD: a mesh of seven links of 64 GB/s, of which 48 are usable.
  const auto mi300x = MakeTopology(8, "MI300X", [](std::size_t, std::size_t) {
    return Link{LinkType::kXgmi, 0};
  });
  EXPECT_NEAR(PeakOfAll(mi300x), 7 * 48, 5);
}

TEST(Bandwidth, CubeMeshGivesPartsOfItsSixRings) {
  const BandwidthModel model(Dgx1(), DeclaredBandwidths("V100-SXM2"));
  EXPECT_FALSE(model.switched());
  EXPECT_EQ(model.Ring(0xff).channels, 6);
  EXPECT_EQ(model.Ring(0x0f).channels, 4);  // a face with its diagonals
  EXPECT_EQ(model.Ring(0x0f).busbw_gb_s, 80);
  EXPECT_EQ(model.Ring(0b1001).busbw_gb_s, 40);  // NV2
  EXPECT_EQ(model.Ring(0b0011).busbw_gb_s, 20);  // NV1
  // No ring of NVLinks goes through 0, 1, 2, 3 and 7, but a chain does.
  const GpuRing open = model.Ring(0x8f);
  EXPECT_EQ(open.channels, 1);
  EXPECT_FALSE(open.direct);
  EXPECT_EQ(LinkText(open.bottleneck), "SYS");
  const AllReduceResult result = model.AllReduce(0x8f, 8 * kGigabyte);
  EXPECT_EQ(result.algorithm, AllReduceAlgorithm::kTree);
  EXPECT_GT(result.busbw_gb_s, open.busbw_gb_s);
}

TEST(Bandwidth, EqualMeshesUseAllTheirLinks) {
  for (std::size_t gpus = 2; gpus <= 8; ++gpus) {
    for (std::size_t links = 1; links <= 2; ++links) {
      LinkBandwidths bandwidths = DeclaredBandwidths("V100");
      bandwidths.nvlinks_per_gpu = 100;
      const BandwidthModel model(Switched("V100", gpus, links), bandwidths);
      const bool one_less = (gpus == 4 || gpus == 6) && links == 1;
      const auto rings = static_cast<double>((gpus - 1) * links - (one_less ? 1 : 0));
      EXPECT_EQ(model.Ring(model.all()).busbw_gb_s, rings * 20) << gpus << " " << links;
    }
  }
}

TEST(Bandwidth, SharesWaysBetweenNumaNodes) {
  const BandwidthModel model(PcieNode(), Distinct());
  // One crossing each way is enough, wherever the GPUs are.
  const GpuRing best = model.Ring(0b00110011);
  EXPECT_EQ(best.busbw_gb_s, 9);
  EXPECT_EQ(best.sharers, 1);
  EXPECT_EQ(best.cross_numa_share, 0.5);
  // An order that goes back and forth has two on the same way.
  constexpr std::array<std::uint8_t, 4> kZigzag{0, 4, 1, 5};
  const GpuRing zigzag = model.RingInOrder(kZigzag);
  EXPECT_EQ(zigzag.busbw_gb_s, 4.5);
  EXPECT_EQ(zigzag.sharers, 2);
  EXPECT_EQ(zigzag.cross_numa_share, 1);
  EXPECT_EQ(BandwidthModel::BottleneckText(zigzag), "SYS / 2");
}

TEST(Bandwidth, SharesTheUplinkOfAPcieSwitch) {
  // 0 and 1 are below one switch, 2 and 3 below another one.
  const auto node = MakeTopology(
      4, "A100", [](std::size_t a, std::size_t b) { return a / 2 == b / 2 ? kPix : kNode; });
  const BandwidthModel model(node, Distinct());
  EXPECT_EQ(model.Ring(0b1111).busbw_gb_s, 22);
  constexpr std::array<std::uint8_t, 4> kZigzag{0, 2, 1, 3};
  EXPECT_EQ(model.RingInOrder(kZigzag).busbw_gb_s, 12);
  // Two jobs that each have a GPU below both switches.
  constexpr std::array<GpuMask, 2> kJobs{0b0101, 0b1010};
  for (const double rate : model.Together(kJobs)) EXPECT_EQ(rate, 12);
}

TEST(Bandwidth, JobsShareLinksFairly) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const BandwidthModel model(RandomTopology(random, 8), Distinct());
    std::array<GpuMask, 3> jobs{};
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      GpuMask& job = jobs[random() % jobs.size()];
      job = static_cast<GpuMask>(job | 1U << gpu);
    }
    const std::vector<double> rates = model.Together(jobs);
    std::array<std::array<double, 2>, 2> between{};
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const GpuRing ring = model.Ring(jobs[i]);
      EXPECT_LE(rates[i], ring.busbw_gb_s);
      if (ring.gpus >= 2) {
        EXPECT_GT(rates[i], 0);
      }
      for (std::int32_t k = 0; k < ring.gpus; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const std::size_t a = ring.order[at];
        const std::size_t b = ring.order[(at + 1) % static_cast<std::size_t>(ring.gpus)];
        if (model.link(a, b).type != LinkType::kSys) continue;
        between[static_cast<std::size_t>(model.numa(a))][static_cast<std::size_t>(model.numa(b))] +=
            rates[i];
      }
    }
    for (const auto& row : between) {
      for (const double sum : row) EXPECT_LE(sum, model.bandwidths().sys * (1 + 1e-12));
    }
  }
}

TEST(Bandwidth, ShareFairlyIsMaxMin) {
  // Of a link of 10, a flow that can't use its share leaves it to the others.
  constexpr std::array<double, 2> kLinks{10, 4};
  const std::vector<SharedFlow> flows = {{.limit = 2, .loads = {{0, 1}}},
                                         {.limit = 100, .loads = {{0, 1}, {1, 1}}},
                                         {.limit = 100, .loads = {{0, 2}}},
                                         {.limit = 7, .loads = {}}};
  const std::vector<double> rates = ShareFairly(kLinks, flows);
  // 2, then x + 2x fill what is left of 10.
  EXPECT_DOUBLE_EQ(rates[0], 2);
  EXPECT_NEAR(rates[1], 8.0 / 3, 1e-12);
  EXPECT_NEAR(rates[2], 8.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(rates[3], 7);
  EXPECT_TRUE(ShareFairly(kLinks, {}).empty());
}

TEST(Bandwidth, WiderLinksNeverLowerTheResult) {
  std::mt19937 random(11);
  const std::vector<double LinkBandwidths::*> kinds = {
      &LinkBandwidths::nvlink, &LinkBandwidths::pix,  &LinkBandwidths::pxb,
      &LinkBandwidths::phb,    &LinkBandwidths::node, &LinkBandwidths::sys};
  for (int round = 0; round < 200; ++round) {
    const NodeTopology node = round % 4 == 0 ? Dgx1() : RandomTopology(random, 7);
    const LinkBandwidths before = Distinct();
    // All at once: one kind alone may change the order that is taken.
    LinkBandwidths after = before;
    const double factor = 1 + static_cast<double>(random() % 100) / 100;
    for (const auto kind : kinds) after.*kind *= factor;
    const std::vector<float> narrow = RingBandwidths(node, before);
    const std::vector<float> wide = RingBandwidths(node, after);
    for (std::size_t mask = 0; mask < narrow.size(); ++mask) EXPECT_GE(wide[mask], narrow[mask]);
    // A better link in one place.
    NodeTopology better = node;
    const std::size_t count = node.devices.size();
    const std::size_t a = random() % count;
    const std::size_t b = (a + 1 + random() % (count - 1)) % count;
    better.links[a * count + b] = better.links[b * count + a] = NvLink(4);
    const BandwidthModel old_model(node, before);
    const BandwidthModel new_model(better, before);
    const GpuRing old_ring = old_model.Ring(old_model.all());
    const GpuRing new_ring = new_model.Ring(new_model.all());
    if (old_model.link(a, b).type != LinkType::kNvLink) {
      const auto n = static_cast<std::size_t>(old_ring.gpus);
      EXPECT_GE(Narrowest(new_model, {new_ring.order.data(), n}),
                Narrowest(old_model, {old_ring.order.data(), n}));
    }
  }
}

TEST(Bandwidth, SmallMessagesTakeTreesAndLargeOnesRings) {
  const BandwidthModel model(Switched("A100-SXM4", 8, 12), DeclaredBandwidths("A100-SXM4"));
  double time = 0;
  double busbw = 0;
  for (double bytes = 8; bytes <= 8 * kGigabyte; bytes *= 2) {
    const AllReduceResult result = model.AllReduce(0xff, bytes);
    EXPECT_GT(result.time_us, time);
    EXPECT_GT(result.busbw_gb_s, busbw);
    EXPECT_LT(result.busbw_gb_s, result.peak_busbw_gb_s);
    time = result.time_us;
    busbw = result.busbw_gb_s;
  }
  EXPECT_EQ(model.AllReduce(0xff, 8).algorithm, AllReduceAlgorithm::kTree);
  EXPECT_EQ(model.AllReduce(0xff, kGigabyte).algorithm, AllReduceAlgorithm::kRing);
  EXPECT_EQ(model.AllReduce(0xff, kGigabyte).bottleneck, "NV12");
  // bytes / time × 2 (n - 1) / n
  const AllReduceResult result = model.AllReduce(0b111, kGigabyte);
  EXPECT_DOUBLE_EQ(result.busbw_gb_s, kGigabyte / (1000 * result.time_us) * 4 / 3);
  EXPECT_EQ(model.AllReduce(0b1, kGigabyte).algorithm, AllReduceAlgorithm::kNone);
  EXPECT_EQ(model.AllReduce(0, kGigabyte).busbw_gb_s, 0);
}

// Eight GPUs with a NIC next to each pair.
NodeTopology WithNics() {
  return MakeTopology(
      8, "A100-SXM4",
      [](std::size_t a, std::size_t b) {
        if (b < 8) return NvLink(12);
        if (a >= 8) return kSys;
        return a / 2 == b - 8 ? Link{LinkType::kPxb, 0} : a / 4 == (b - 8) / 2 ? kNode : kSys;
      },
      4);
}

TEST(Bandwidth, AcrossNodesTheNetworkIsTheBottleneck) {
  const NodeTopology node = WithNics();
  const LinkBandwidths bandwidths = DeclaredBandwidths("A100-SXM4");
  EXPECT_EQ(NetworkBandwidth({&node, 0xff}, bandwidths), 4 * 24);
  EXPECT_EQ(NetworkBandwidth({&node, 0x0f}, bandwidths), 2 * 24);
  EXPECT_EQ(NetworkBandwidth({&node, 0xff}, bandwidths, 1), 24);
  std::vector<FabricNode> nodes(4, {&node, 0xff});
  const auto peak = [&](const Fabric& fabric) {
    return AllReduceAcross(nodes, kGigabyte, bandwidths, fabric).peak_busbw_gb_s;
  };
  EXPECT_DOUBLE_EQ(peak({}), 96);
  EXPECT_EQ(AllReduceAcross(nodes, kGigabyte, bandwidths).bottleneck, "NIC");
  EXPECT_DOUBLE_EQ(peak({.rack_oversubscription = 2}), 96);  // all are in one rack
  nodes[1].rack = nodes[3].rack = 1;
  EXPECT_DOUBLE_EQ(peak({.rack_oversubscription = 2}), 48);
  nodes[3].spine = 1;
  const Fabric fabric{.rack_oversubscription = 2, .spine_oversubscription = 3};
  EXPECT_DOUBLE_EQ(peak(fabric), 16);
  EXPECT_EQ(AllReduceAcross(nodes, kGigabyte, bandwidths, fabric).bottleneck, "spine");
  // One node is what AllReduce says of it; none is nothing.
  nodes.resize(1);
  EXPECT_DOUBLE_EQ(peak({}), AllReduce(node, 0xff, kGigabyte, bandwidths).peak_busbw_gb_s);
  nodes.clear();
  EXPECT_EQ(peak({}), 0);
}

TEST(Bandwidth, JobsShareNicsAndRacks) {
  const NodeTopology node = WithNics();
  const LinkBandwidths bandwidths = DeclaredBandwidths("A100-SXM4");
  const auto job = [&](std::vector<std::int32_t> numbers, GpuMask gpus) {
    FabricJob out;
    for (const std::int32_t n : numbers) out.nodes.push_back({n, {&node, gpus, n / 2}});
    return out;
  };
  // Racks of two nodes of 96 GB/s.
  const std::vector<FabricJob> apart = {job({0, 2}, 0xff), job({1, 3}, 0xff)};
  for (const double rate : AllReduceTogetherAcross(apart, bandwidths, {}, 192)) {
    EXPECT_DOUBLE_EQ(rate, 96);
  }
  for (const double rate :
       AllReduceTogetherAcross(apart, bandwidths, {.rack_oversubscription = 4}, 192)) {
    EXPECT_DOUBLE_EQ(rate, 24);
  }
  // Within racks nothing is shared.
  const std::vector<FabricJob> inside = {job({0, 1}, 0xff), job({2, 3}, 0xff)};
  for (const double rate :
       AllReduceTogetherAcross(inside, bandwidths, {.rack_oversubscription = 4}, 192)) {
    EXPECT_DOUBLE_EQ(rate, 96);
  }
}

}  // namespace
}  // namespace schedfw
