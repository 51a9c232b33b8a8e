#include "schedfw/topology/gpu_topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "schedfw/base/random.h"

namespace schedfw {
namespace {

NodeTopology Empty(std::size_t gpus, std::size_t nics = 0) {
  NodeTopology out;
  for (std::size_t i = 0; i < gpus + nics; ++i) {
    Device device;
    device.kind = i < gpus ? DeviceKind::kGpu : DeviceKind::kNic;
    device.name = i < gpus ? "GPU" + std::to_string(i) : "NIC" + std::to_string(i - gpus);
    out.devices.push_back(device);
  }
  out.links.assign(out.devices.size() * out.devices.size(), {LinkType::kSys, 0});
  for (std::size_t i = 0; i < out.devices.size(); ++i) {
    out.links[i * out.devices.size() + i] = {LinkType::kSelf, 0};
  }
  return out;
}
void SetLink(NodeTopology& topology, std::size_t a, std::size_t b, Link link) {
  topology.links[a * topology.devices.size() + b] = link;
  topology.links[b * topology.devices.size() + a] = link;
}
void SetNuma(NodeTopology& topology, std::size_t device, std::int32_t node) {
  topology.devices[device].numa = topology.devices[device].cpu_numa = {node};
}

NodeTopology RandomTopology(Random& random, std::size_t gpus) {
  const std::size_t nics = random.Below(3);
  NodeTopology out = Empty(gpus, nics);
  const std::uint64_t density = random.Below(4);
  for (std::size_t a = 0; a < gpus + nics; ++a) {
    if (random.Below(8) != 0) SetNuma(out, a, static_cast<std::int32_t>(random.Below(3)));
    for (std::size_t b = a + 1; b < gpus + nics; ++b) {
      constexpr LinkType kPcie[] = {LinkType::kPix,  LinkType::kPxb, LinkType::kPhb,
                                    LinkType::kNode, LinkType::kSys, LinkType::kUnknown};
      Link link{kPcie[random.Below(6)], 0};
      if (b < gpus && random.Below(4) < density) {
        link = {LinkType::kNvLink, static_cast<std::uint8_t>(1 + random.Below(4))};
      } else if (b < gpus && random.Below(16) == 0) {
        link = {LinkType::kXgmi, 0};
      }
      SetLink(out, a, b, link);
    }
  }
  return out;
}

// The definition, word by word: every set of k GPUs, every ring over it.
class BruteForce {
 public:
  explicit BruteForce(const NodeTopology& topology)
      : topology_(topology), gpus_(topology.Gpus()), nics_(topology.Nics()) {}

  GpuMask Choose(GpuMask free, std::int32_t k, NumaMask wanted) {
    GpuMask best = 0;
    std::vector<std::int32_t> best_order;
    for (std::uint32_t mask = 1; mask < 1U << gpus_.size(); ++mask) {
      if ((mask & ~std::uint32_t{free}) != 0 || std::popcount(mask) != k) continue;
      const auto chosen = static_cast<GpuMask>(mask);
      std::vector<std::int32_t> order = {WeakestLink(chosen),       Sum(chosen, true),
                                         Sum(chosen, false),        -Far(chosen, wanted),
                                         -NumaNodes(chosen),        Nic(chosen),
                                         Sum(free & ~chosen, true), Sum(free & ~chosen, false)};
      if (best != 0 && order <= best_order) continue;
      best = chosen;
      best_order = order;
    }
    return best;
  }

 private:
  std::vector<std::size_t> Members(std::uint32_t mask) const {
    std::vector<std::size_t> out;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      if ((mask >> g & 1) != 0) out.push_back(g);
    }
    return out;
  }
  Link Between(std::size_t a, std::size_t b) const { return topology_.link(gpus_[a], gpus_[b]); }
  std::int32_t WeakestLink(GpuMask mask) {
    const auto known = weakest_.find(mask);
    if (known != weakest_.end()) return known->second;
    std::vector<std::size_t> ring = Members(mask);
    std::int32_t best = ring.size() == 1 ? 1000 : 0;
    while (ring.size() > 1) {
      std::int32_t weakest = 1000;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const Link link = Between(ring[i], ring[(i + 1) % ring.size()]);
        weakest = std::min(weakest, GpuTopology::Strength(link));
      }
      best = std::max(best, weakest);
      if (!std::next_permutation(ring.begin() + 1, ring.end())) break;
    }
    return weakest_[mask] = best;
  }
  std::int32_t Sum(std::uint32_t mask, bool direct) const {
    std::int32_t out = 0;
    for (const std::size_t a : Members(mask)) {
      for (const std::size_t b : Members(mask)) {
        if (a >= b || Between(a, b).IsDirect() != direct) continue;
        const Link link = Between(a, b);
        out += !direct ? GpuTopology::Strength(link) : std::max<std::int32_t>(link.count, 1);
      }
    }
    return out;
  }
  std::int32_t Far(GpuMask mask, NumaMask wanted) const {
    std::int32_t out = 0;
    for (const std::size_t g : Members(mask)) {
      const std::vector<std::int32_t>& numa = topology_.devices[gpus_[g]].cpu_numa;
      const bool near = std::any_of(numa.begin(), numa.end(),
                                    [&](std::int32_t id) { return (wanted >> id & 1) != 0; });
      out += wanted != 0 && !numa.empty() && !near ? 1 : 0;
    }
    return out;
  }
  std::int32_t NumaNodes(GpuMask mask) const {
    NumaMask nodes = 0;
    for (const std::size_t g : Members(mask)) {
      const std::vector<std::int32_t>& numa = topology_.devices[gpus_[g]].cpu_numa;
      if (!numa.empty()) nodes |= NumaMask{1} << numa.front();
    }
    return std::popcount(nodes);
  }
  std::int32_t Nic(GpuMask mask) const {
    std::int32_t out = 0;
    for (const std::size_t g : Members(mask)) {
      std::int32_t nearest = 0;
      for (const std::size_t nic : nics_) {
        nearest = std::max(nearest, GpuTopology::Strength(topology_.link(gpus_[g], nic)));
      }
      out += nearest;
    }
    return out;
  }

  const NodeTopology& topology_;
  const std::vector<std::size_t> gpus_, nics_;
  std::map<GpuMask, std::int32_t> weakest_;
};

TEST(GpuTopology, ChoosesAsBruteForceDoes) {
  Random random(7);
  int asked = 0;
  for (int round = 0; round < 250; ++round) {
    const NodeTopology topology = RandomTopology(random, 1 + random.Below(9));
    const GpuTopology compiled(topology);
    BruteForce brute(topology);
    for (int i = 0; i < 40; ++i, ++asked) {
      const auto free = static_cast<GpuMask>(random.Next() & compiled.all());
      const std::int32_t most = std::min(std::popcount(free), 7);
      if (most == 0) {
        EXPECT_EQ(compiled.Choose(free, 1), 0);
        continue;
      }
      const auto k = static_cast<std::int32_t>(1 + random.Below(static_cast<std::uint64_t>(most)));
      const NumaMask wanted = random.Below(2) == 0 ? 0 : random.Below(8);
      const GpuMask expected = brute.Choose(free, k, wanted);
      ASSERT_EQ(compiled.Choose(free, k, wanted), expected)
          << "round " << round << " free " << free << " k " << k << " wanted " << wanted;
      // Asked again it is the same, from the cache.
      ASSERT_EQ(compiled.Choose(free, k, wanted), expected);
    }
  }
  EXPECT_EQ(asked, 10'000);
}

TEST(GpuTopology, ChoosesAmongSixteen) {
  Random random(11);
  for (int round = 0; round < 3; ++round) {
    const NodeTopology topology = RandomTopology(random, 16);
    const GpuTopology compiled(topology);
    BruteForce brute(topology);
    for (const std::int32_t k : {1, 2, 3, 5}) {
      const auto free = static_cast<GpuMask>(random.Next());
      if (std::popcount(free) < k) continue;
      EXPECT_EQ(compiled.Choose(free, k), brute.Choose(free, k, 0)) << "round " << round;
    }
  }
}

TEST(GpuTopology, QualityTellsWhyOneChoiceIsBetter) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    const NodeTopology topology = RandomTopology(random, 6);
    const GpuTopology compiled(topology);
    const GpuMask best = compiled.Choose(compiled.all(), 3);
    for (std::uint32_t mask = 1; mask <= compiled.all(); ++mask) {
      if (std::popcount(mask) != 3) continue;
      EXPECT_FALSE(compiled.QualityOf(compiled.all(), best) <
                   compiled.QualityOf(compiled.all(), static_cast<GpuMask>(mask)));
    }
  }
}

TEST(GpuTopology, TakesOneOfABrokenPairFirst) {
  // Bridges in pairs: 0-1, 2-3. GPU 2 is taken, so a pod with one GPU gets 3 and no pair is broken.
  NodeTopology pairs = Empty(4);
  SetLink(pairs, 0, 1, {LinkType::kNvLink, 12});
  SetLink(pairs, 2, 3, {LinkType::kNvLink, 12});
  const GpuTopology topology(pairs);
  EXPECT_EQ(topology.Choose(0b1011, 1), 0b1000);
  EXPECT_EQ(topology.Choose(0b1011, 2), 0b0011);
  EXPECT_EQ(topology.islands(), (std::vector<GpuMask>{0b0011, 0b1100}));
  EXPECT_TRUE(topology.OnOneIsland(0b1100));
  EXPECT_FALSE(topology.OnOneIsland(0b0110));
}

TEST(GpuTopology, NumaAndNicsDecideWhereLinksAreEqual) {
  NodeTopology box = Empty(4, 1);
  for (std::size_t a = 0; a < 4; ++a) {
    SetNuma(box, a, a < 2 ? 0 : 1);
    for (std::size_t b = a + 1; b < 4; ++b) SetLink(box, a, b, {LinkType::kNvLink, 18});
  }
  SetLink(box, 1, 4, {LinkType::kPix, 0});
  const GpuTopology topology(box);
  EXPECT_EQ(topology.Choose(0b1111, 2), 0b0011);               // one NUMA node, and near the NIC
  EXPECT_EQ(topology.Choose(0b1111, 2, NumaMask{2}), 0b1100);  // the CPUs are on node 1
  EXPECT_EQ(topology.Choose(0b1111, 1), 0b0010);
  EXPECT_EQ(topology.Choose(0b1111, 5), 0);
  EXPECT_EQ(topology.Choose(0b1111, 0), 0);
  EXPECT_EQ(topology.CrossNumaPairs(0b1111), 4);
  EXPECT_EQ(topology.numa_groups(), (std::vector<GpuMask>{0b0011, 0b1100}));
}

TEST(GpuTopology, SharesGoByWhatIsLeftFirst) {
  NodeTopology box = Empty(4);
  SetLink(box, 0, 1, {LinkType::kNvLink, 12});
  for (std::size_t g = 0; g < 4; ++g) SetNuma(box, g, g < 2 ? 0 : 1);
  const GpuTopology topology(box);
  const auto choose = [&](const std::vector<std::int16_t>& left, std::int32_t milli,
                          bool spread = false, NumaMask wanted = 0) {
    std::uint32_t free = 0;
    for (std::size_t g = 0; g < left.size(); ++g) free |= left[g] == 1000 ? 1U << g : 0;
    return topology.ChooseShare(left, milli, static_cast<GpuMask>(free), spread, wanted);
  };
  EXPECT_EQ(choose({1000, 1000, 300, 500}, 200), 0b0100);
  EXPECT_EQ(choose({1000, 1000, 300, 500}, 400), 0b1000);
  EXPECT_EQ(choose({1000, 1000, 300, 500}, 600), 0b0001);
  EXPECT_EQ(choose({1000, 1000, 300, 500}, 200, /*spread=*/true), 0b0001);
  EXPECT_EQ(choose({1000, 1000, 1000, 1000}, 200), 0b0100) << "a GPU without NVLink";
  EXPECT_EQ(choose({300, 1000, 1000, 300}, 200, false, NumaMask{2}), 0b1000);
  EXPECT_EQ(choose({0, 0, 0, 0}, 200), 0);
}

TEST(GpuTopology, MoreGpusThanAreToldApartAreNone) {
  EXPECT_EQ(GpuTopology(Empty(17)).count(), 0);
  EXPECT_EQ(GpuTopology(Empty(17)).Choose(1, 1), 0);
  EXPECT_EQ(GpuTopology(Empty(0)).count(), 0);
  EXPECT_EQ(GpuTopology(Empty(16)).Choose(0xFFFF, 16), 0xFFFF);
}

}  // namespace
}  // namespace schedfw
