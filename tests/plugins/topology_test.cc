// The plugins that look at how GPUs and nodes are linked.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedfw/base/random.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/plugins/nccl_topology_hint.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"
#include "support/dump.h"

namespace schedfw {
namespace {

using testing::CanonicalDump;
using testing::ConfigYaml;
using testing::GpuNodeYaml;
using testing::GpuPodYaml;
using testing::MakeScheduler;
using testing::Parse;

std::string GpusOf(const Cluster& cluster, const std::string& pod) {
  return GpuIndexText(cluster.view().GpusOf(cluster.view().FindPod("default", pod)->Key()));
}
std::string NodeOf(const Cluster& cluster, const std::string& pod) {
  const auto row = cluster.view().RowOf("default", pod);
  return row ? cluster.view().name(*row) : "";
}
ScheduleResult Place(Scheduler& scheduler, Cluster& cluster, const std::string& pod) {
  return scheduler.ScheduleOne(cluster, *cluster.view().FindPod("default", pod));
}
// Raw scores of one plugin for a waiting pod, by node.
std::map<std::string, std::int64_t> Scores(Scheduler& scheduler, const Cluster& cluster,
                                           const std::string& pod, const std::string& plugin,
                                           bool normalized = false) {
  const Explanation explanation =
      scheduler.Explain(cluster.snapshot(), cluster.view().FindPod("default", pod));
  std::map<std::string, std::int64_t> out;
  const ScoreMatrix& scores = explanation.scores;
  for (std::size_t p = 0; p < scores.plugins.size(); ++p) {
    if (scores.plugins[p] != plugin) continue;
    for (std::size_t i = 0; i < scores.rows.size(); ++i) {
      const auto& matrix = normalized ? scores.normalized : scores.raw;
      out[cluster.view().name(scores.rows[i])] =
          matrix(static_cast<Eigen::Index>(p), static_cast<Eigen::Index>(i));
    }
  }
  return out;
}
using NodeScores = std::map<std::string, std::int64_t>;

const std::string kThree = GpuNodeYaml("dgx", 8, "dgx-a100") +
                           GpuNodeYaml("pcie", 8, "a100-pcie-8") +
                           GpuNodeYaml("split", 4, "split-socket-4") + GpuNodeYaml("unknown", 8);

TEST(NvLinkAffinity, PrefersTheNodeWhoseGpusTalkTheFastest) {
  Cluster cluster = Parse(kThree + GpuPodYaml("p", 4));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NvLinkAffinity, weight: 10}"));
  const NodeScores scores = Scores(*scheduler, cluster, "p", "NvLinkAffinity");
  EXPECT_GT(scores.at("dgx"), 90);
  EXPECT_LT(scores.at("pcie"), 40);
  EXPECT_LT(scores.at("split"), 40);
  EXPECT_EQ(scores.at("unknown"), 0);
  EXPECT_EQ(Place(*scheduler, cluster, "p").node, "dgx");
  EXPECT_EQ(GpusOf(cluster, "p"), "0-1-2-3");
}

TEST(NvLinkAffinity, GivesTheBridgedPair) {
  Cluster cluster = Parse(GpuNodeYaml("pcie", 8, "a100-pcie-8") + GpuPodYaml("a", 1) +
                          GpuPodYaml("b", 2) + GpuPodYaml("c", 1));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NvLinkAffinity}"));
  for (const char* pod : {"a", "b", "c"}) ASSERT_TRUE(Place(*scheduler, cluster, pod).status.ok());
  // One breaks a pair, two get a whole one, and the next one the other half of the first.
  const GpuTopology& topology = *cluster.view().TopologyOf(0);
  const auto mask = [&](const char* pod) {
    return cluster.view().GpusOf(cluster.view().FindPod("default", pod)->Key());
  };
  EXPECT_TRUE(topology.OnOneIsland(mask("b")));
  EXPECT_TRUE(topology.OnOneIsland(mask("a") | mask("c")));
  EXPECT_EQ(std::popcount(cluster.view().Free()[0].mask), 4);
  EXPECT_EQ(topology.NvLinks(cluster.view().Free()[0].mask), 24) << "two pairs stay whole";
}

TEST(NvLinkAffinity, OneGpuGoesWhereNoLinkIsCut) {
  const Cluster cluster = Parse(kThree + GpuPodYaml("p", 1));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NvLinkAffinity}"));
  const NodeScores scores = Scores(*scheduler, cluster, "p", "NvLinkAffinity");
  EXPECT_EQ(scores.at("split"), 100);
  EXPECT_EQ(scores.at("pcie"), 98);  // 12 of 48 NVLinks are cut, 10 points are for them: 97.5
  EXPECT_EQ(scores.at("dgx"), 98);   // 84 of 336
  const auto all = MakeScheduler(
      ConfigYaml("{name: NvLinkAffinity}", "{name: NvLinkAffinity, args: {packingWeight: 100}}"));
  EXPECT_EQ(Scores(*all, cluster, "p", "NvLinkAffinity").at("dgx"), 75);
}

TEST(NvLinkAffinity, ScoresDoNotDependOnNodesThatAreNotThere) {
  Cluster cluster = Parse(GpuNodeYaml("pcie", 8, "a100-pcie-8") + GpuPodYaml("p", 2));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NvLinkAffinity}"));
  const NodeScores alone = Scores(*scheduler, cluster, "p", "NvLinkAffinity");
  EXPECT_EQ(alone.at("pcie"), 100);
  Cluster fork = cluster.Fork();
  api::Node node;
  node.metadata.name = "dgx";
  node.metadata.annotations[std::string(kGpuTopologyAnnotation)] = "dgx-h100";
  node.status.capacity = {{"cpu", *Quantity::Parse("64")},
                          {"memory", *Quantity::Parse("64Gi")},
                          {"pods", *Quantity::Parse("110")},
                          {"nvidia.com/gpu", *Quantity::Parse("8")}};
  ASSERT_TRUE(fork.AddNode(node).ok());
  EXPECT_LT(Scores(*scheduler, fork, "p", "NvLinkAffinity").at("pcie"), 100);
  EXPECT_EQ(Scores(*scheduler, cluster, "p", "NvLinkAffinity"), alone);
}

TEST(TopologyAnnotation, WhatCannotBeUsedIsSaidAndHarmsNobody) {
  const Cluster cluster = Parse(
      GpuNodeYaml("a", 8, "dgx-a100") + GpuNodeYaml("b", 8, "dgx-z9") +
      GpuNodeYaml("c", 8, "split-socket-4") +
      GpuNodeYaml("d", 2,
                  "\"\\tGPU0\\tGPU1\\n" + std::string("GPU0\\t X \\tNV4\\nGPU1\\tNV4\\t X \\n\"")) +
      GpuNodeYaml("e", 2) + GpuPodYaml("p", 2));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NumaAffinity}, {name: NvLinkAffinity}"));
  const NodeScores scores = Scores(*scheduler, cluster, "p", "NvLinkAffinity");
  EXPECT_GT(scores.at("a"), 90);
  EXPECT_EQ(scores.at("b"), 0);
  EXPECT_EQ(scores.at("c"), 0);
  EXPECT_GT(scores.at("d"), 0);
  EXPECT_EQ(scores.at("e"), 0);
  const std::vector<NodeProblem> problems =
      scheduler->framework("default-scheduler")->CheckNodes(cluster.view());
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].node, "b");
  EXPECT_EQ(problems[0].plugin, "NumaAffinity");
  EXPECT_NE(
      problems[0].message.find("metadata.annotations.\"device-plugin.nvidia.com/gpu-topology\": "),
      std::string::npos)
      << problems[0].message;
  EXPECT_NE(problems[0].message.find("dgx-z9"), std::string::npos) << problems[0].message;
  EXPECT_EQ(problems[1].node, "c");
  EXPECT_EQ(problems[1].message,
            "metadata.annotations.\"device-plugin.nvidia.com/gpu-topology\": has 4 GPUs, but 8 are "
            "allocatable");
}

TEST(NumaAffinity, ScoresByPairsOnOneNumaNode) {
  const Cluster cluster = Parse(kThree + GpuPodYaml("p4", 4) + GpuPodYaml("p2", 2) +
                                GpuPodYaml("p1", 1) + GpuPodYaml("none", 0));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NumaAffinity}"));
  const NodeScores four = Scores(*scheduler, cluster, "p4", "NumaAffinity");
  EXPECT_EQ(four.at("split"), 33);  // 2 of 6 pairs
  EXPECT_EQ(four.at("dgx"), 33);    // two GPUs on each NUMA node
  EXPECT_EQ(four.at("pcie"), 100);  // four on each socket
  EXPECT_EQ(four.at("unknown"), 0);
  EXPECT_EQ(Scores(*scheduler, cluster, "p2", "NumaAffinity").at("split"), 100);
  EXPECT_EQ(Scores(*scheduler, cluster, "p1", "NumaAffinity").at("split"), 100);
  EXPECT_TRUE(Scores(*scheduler, cluster, "none", "NumaAffinity").empty());
}

// Row A15 of the reference article.
TEST(NcclTopologyHint, A15ScoresByFormula) {
  const auto score = [](const char* text) { return ParseNcclHint(text)->Score(); };
  EXPECT_EQ(score(R"({"PCIProximity": 1, "NVLinkBandwidth": 1})"), 100);
  EXPECT_EQ(score(R"({"PCIProximity": 0.7, "NVLinkBandwidth": 0.85})"), 79);
  EXPECT_EQ(score(R"({"NVLinkBandwidth": 0.95, "PCIProximity": 0.9})"), 93);
  EXPECT_EQ(score(" {\"PCIProximity\":0.75 ,\n \"NVLinkBandwidth\":9.2e-1} "), 85);
}

TEST(NcclTopologyHint, A15RefusesWhatIsOutOfRangeOrMalformed) {
  const auto error = [](const char* text) {
    const auto hint = ParseNcclHint(text);
    return hint ? std::string("accepted") : hint.error().message();
  };
  EXPECT_EQ(error(R"({"PCIProximity": 0.69, "NVLinkBandwidth": 0.9})"),
            ".PCIProximity: 0.69 is out of range (allowed: 0.7 to 1)");
  EXPECT_EQ(error(R"({"PCIProximity": 0.9, "NVLinkBandwidth": 1.01})"),
            ".NVLinkBandwidth: 1.01 is out of range (allowed: 0.85 to 1)");
  EXPECT_EQ(error(R"({"PCIProximity": -1, "NVLinkBandwidth": 1})"),
            ".PCIProximity: -1 is out of range (allowed: 0.7 to 1)");
  EXPECT_EQ(error(R"({"PCIProximity": 0.9})"), ".NVLinkBandwidth: is missing");
  EXPECT_EQ(error("{}"), ".PCIProximity: is missing");
  EXPECT_EQ(error(R"({"PCIProximity": "0.9", "NVLinkBandwidth": 1})"),
            ".PCIProximity: must be a number");
  EXPECT_EQ(error(R"({"PCIProximity": 1, "PCIProximity": 1})"), ".PCIProximity: is given twice");
  EXPECT_EQ(error(R"({"pciProximity": 1})"),
            ".pciProximity: is unknown (allowed: PCIProximity, NVLinkBandwidth)");
  EXPECT_EQ(error("[0.9, 0.9]"), ": must be an object");
  EXPECT_EQ(error(""), ": invalid JSON at byte 0: no value");
  EXPECT_EQ(error("{\"PCIProximity\": nan}"), ": invalid JSON at byte 17: expected a value");
  EXPECT_EQ(error("{\"PCIProximity\": 1e999}"), ".PCIProximity: 1e999 is out of range");
  EXPECT_EQ(error("{\"PCIProximity\": 1} x"),
            ": invalid JSON at byte 20: more text behind the object");
}

TEST(NcclTopologyHint, A15HarmsNoOtherNode) {
  const auto hint = [](const std::string& value) {
    return "nccl.nvidia.com/topology-hint: '" + value + "'";
  };
  const Cluster cluster = Parse(
      GpuNodeYaml("best", 8, "", "", hint(R"({"PCIProximity": 1, "NVLinkBandwidth": 1})")) +
      GpuNodeYaml("least", 8, "", "", hint(R"({"PCIProximity": 0.7, "NVLinkBandwidth": 0.85})")) +
      GpuNodeYaml("over", 8, "", "", hint(R"({"PCIProximity": 2, "NVLinkBandwidth": 1})")) +
      GpuNodeYaml("torn", 8, "", "", hint("{\"PCIProx")) + GpuNodeYaml("plain", 8) +
      GpuPodYaml("p", 1));
  const auto scheduler = MakeScheduler(ConfigYaml("{name: NcclTopologyHint}"));
  EXPECT_EQ(Scores(*scheduler, cluster, "p", "NcclTopologyHint"),
            (NodeScores{{"best", 100}, {"least", 79}, {"over", 0}, {"torn", 0}, {"plain", 0}}));
  const std::vector<NodeProblem> problems =
      scheduler->framework("default-scheduler")->CheckNodes(cluster.view());
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].node, "over");
  EXPECT_EQ(
      problems[0].message,
      "metadata.annotations.\"nccl.nvidia.com/topology-hint\".PCIProximity: 2 is out of range "
      "(allowed: 0.7 to 1)");
  EXPECT_EQ(problems[1].node, "torn");
  EXPECT_EQ(problems[1].message,
            "metadata.annotations.\"nccl.nvidia.com/topology-hint\": invalid JSON at byte 9: the "
            "text does not end");
}

const std::string kSpreadOverZones =
    "  topologySpreadConstraints: [{maxSkew: 8, topologyKey: zone, whenUnsatisfiable: "
    "ScheduleAnyway, labelSelector: {matchLabels: {app: a}}}]\n";

TEST(GpuTopologySpread, SpreadsOverNumaNodesAndStaysWithinOne) {
  std::string text = GpuNodeYaml("m", 4, "split-socket-4", "zone: z") +
                     GpuNodeYaml("n1", 4, "split-socket-4", "zone: z");
  for (int i = 0; i < 4; ++i) {
    text += GpuPodYaml("p" + std::to_string(i), 1, "app: a", kSpreadOverZones);
  }
  text += GpuPodYaml("q", 2, "app: a", kSpreadOverZones) +
          GpuPodYaml("r", 3, "app: a", kSpreadOverZones);
  Cluster cluster = Parse(text);
  const auto scheduler =
      MakeScheduler(ConfigYaml("{name: GpuTopologySpread, weight: 100}",
                               "{name: GpuTopologySpread, args: {domain: NUMANode}}"));
  std::set<std::string> domains;
  for (const char* pod : {"p0", "p1", "p2", "p3"}) {
    ASSERT_TRUE(Place(*scheduler, cluster, pod).status.ok());
    const int gpu = std::stoi(GpusOf(cluster, pod));
    domains.insert(NodeOf(cluster, pod) + std::to_string(gpu / 2));
  }
  EXPECT_EQ(domains.size(), 4U) << "one on each socket of each node";
  // No socket has two left, so these get what there is.
  ASSERT_TRUE(Place(*scheduler, cluster, "q").status.ok());
  EXPECT_EQ(GpusOf(cluster, "q").size(), 3U);
}

TEST(GpuTopologySpread, DoNotScheduleRejects) {
  const std::string nodes = GpuNodeYaml("m", 4, "split-socket-4", "zone: z");
  Cluster cluster =
      Parse(nodes + GpuPodYaml("a", 1, "app: a", kSpreadOverZones) +
            GpuPodYaml("b", 1, "app: a", kSpreadOverZones) +
            GpuPodYaml("c", 2, "app: a", kSpreadOverZones) +
            GpuPodYaml("d", 1, "app: a", kSpreadOverZones) +
            GpuPodYaml("e", 1, "app: a", kSpreadOverZones) + GpuPodYaml("free", 2, "app: a"));
  const auto scheduler = MakeScheduler(ConfigYaml(
      "{name: GpuTopologySpread}",
      "{name: GpuTopologySpread, args: {domain: NUMANode, whenUnsatisfiable: DoNotSchedule}}"));
  ASSERT_TRUE(Place(*scheduler, cluster, "a").status.ok());
  ASSERT_TRUE(Place(*scheduler, cluster, "b").status.ok());
  const ScheduleResult none = Place(*scheduler, cluster, "c");
  EXPECT_NE(none.status.message().find("node(s) didn't have enough free GPUs on one NUMA node"),
            std::string::npos)
      << none.status.message();
  ASSERT_TRUE(cluster.DeletePod("default", "b").ok());
  ASSERT_TRUE(Place(*scheduler, cluster, "d").status.ok());
  EXPECT_NE(GpusOf(cluster, "a")[0] / 2, GpusOf(cluster, "d")[0] / 2);
  // Two more of the same would be one too many where the first one is.
  ASSERT_TRUE(cluster.DeletePod("default", "d").ok());
  const int other = GpusOf(cluster, "a") == "0" || GpusOf(cluster, "a") == "1" ? 2 : 0;
  api::Pod filler = *cluster.view().FindPod("default", "free")->pod;
  filler.spec.node_name = "m";
  filler.metadata.name = "filler";
  filler.metadata.labels.clear();
  filler.metadata.annotations["alibabacloud.com/gpu-index"] =
      std::to_string(other) + "-" + std::to_string(other + 1);
  ASSERT_TRUE(cluster.AddPod(filler).ok());
  const ScheduleResult skewed = Place(*scheduler, cluster, "e");
  EXPECT_NE(skewed.status.message().find("node(s) didn't match the spread of pods over GPUs"),
            std::string::npos)
      << skewed.status.message();
}

// A gang of one-GPU pods, each filling a node.
std::string Gang(const std::string& name, int members, int gpus) {
  std::string out =
      "---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
      ", namespace: default}\nspec: {minMember: " + std::to_string(members) + "}\n";
  for (int i = 0; i < members; ++i) {
    out +=
        GpuPodYaml(name + "-" + std::to_string(i), gpus, "scheduling.x-k8s.io/pod-group: " + name);
  }
  return out;
}
constexpr const char* kNetworkLevels =
    "{name: NetworkTopologyAffinity, args: {levels: [spine, leaf]}}";

TEST(NetworkTopologyAffinity, PacksAGangUnderFewestSwitches) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    // Nodes of 8 GPUs under leaves under spines; some are taken.
    std::string text;
    std::map<std::string, std::map<std::string, int>> room;  // spine, leaf
    int node = 0, total = 0;
    for (std::uint64_t spine = 0; spine < 2 + random.Below(2); ++spine) {
      for (std::uint64_t leaf = 0; leaf < 1 + random.Below(4); ++leaf) {
        const std::string spine_name = "s" + std::to_string(spine);
        const std::string leaf_name = spine_name + "l" + std::to_string(leaf);
        for (std::uint64_t i = 0; i < 1 + random.Below(4); ++i) {
          const std::string name = "node" + std::to_string(node++);
          const bool taken = random.Below(3) == 0;
          text += GpuNodeYaml(name, 8, "", "spine: " + spine_name + ", leaf: " + leaf_name);
          if (taken) text += GpuPodYaml("old-" + name, 1, "", "  nodeName: " + name + "\n");
          room[spine_name][leaf_name] += taken ? 0 : 1;
          total += taken ? 0 : 1;
        }
      }
    }
    if (total == 0) continue;
    const int members = 1 + static_cast<int>(random.Below(static_cast<std::uint64_t>(total)));
    Cluster cluster = Parse(text + Gang("g", members, 8));
    const auto scheduler =
        MakeScheduler(ConfigYaml("{name: NetworkTopologyAffinity, weight: 100}", kNetworkLevels));
    std::set<std::string> spines, leaves;
    for (int i = 0; i < members; ++i) {
      const std::string pod = "g-" + std::to_string(i);
      ASSERT_TRUE(Place(*scheduler, cluster, pod).status.ok());
      const api::Node& on = cluster.view().node(*cluster.view().RowOf("default", pod));
      spines.insert(on.metadata.labels.at("spine"));
      leaves.insert(on.metadata.labels.at("leaf"));
    }
    // The fewest leaves over all sets of spines that are as few as can be.
    std::vector<std::map<std::string, int>> groups;
    for (const auto& [name, group] : room) groups.push_back(group);
    int fewest_spines = 99, fewest_leaves = 99;
    for (std::uint32_t mask = 1; mask < 1U << groups.size(); ++mask) {
      std::vector<int> sizes;
      int sum = 0;
      for (std::size_t s = 0; s < groups.size(); ++s) {
        if ((mask >> s & 1) == 0) continue;
        for (const auto& [name, size] : groups[s]) sizes.push_back(size), sum += size;
      }
      if (sum < members || std::popcount(mask) > fewest_spines) continue;
      std::sort(sizes.rbegin(), sizes.rend());
      int needed = 0;
      for (int left = members; left > 0; ++needed) left -= sizes[static_cast<std::size_t>(needed)];
      if (std::popcount(mask) < fewest_spines) fewest_leaves = 99;
      fewest_spines = std::popcount(mask);
      fewest_leaves = std::min(fewest_leaves, needed);
    }
    EXPECT_EQ(static_cast<int>(spines.size()), fewest_spines) << "round " << round;
    if (fewest_spines == 1) {
      EXPECT_EQ(static_cast<int>(leaves.size()), fewest_leaves) << "round " << round;
    }
  }
}

TEST(NetworkTopologyAffinity, ScoresByLevelsOnThePath) {
  const Cluster cluster = Parse(GpuNodeYaml("a", 8, "", "spine: s, leaf: l1") +
                                GpuNodeYaml("b", 8, "", "spine: s, leaf: l2") +
                                GpuNodeYaml("c", 8, "", "spine: t, leaf: l3") +
                                GpuNodeYaml("d", 8) + Gang("g", 2, 8) + GpuPodYaml("alone", 8));
  const auto scheduler =
      MakeScheduler(ConfigYaml("{name: NetworkTopologyAffinity}", kNetworkLevels));
  EXPECT_EQ(Scores(*scheduler, cluster, "g-0", "NetworkTopologyAffinity"),
            (NodeScores{{"a", 100}, {"b", 50}, {"c", 0}, {"d", 0}}));
  EXPECT_TRUE(Scores(*scheduler, cluster, "alone", "NetworkTopologyAffinity").empty());
}

// What all placements of jobs on one node's free GPUs reach: the most for j jobs of k GPUs, in
// bandwidth and in jobs on one island.
class Exhaustive {
 public:
  Exhaustive(const GpuTopology& topology, std::int32_t k) : topology_(topology), k_(k) {}

  // fn(set) is what a job gains with these GPUs.
  template <typename F>
  std::vector<double> Most(GpuMask free, F&& fn) {
    std::map<GpuMask, std::vector<double>> known;
    return MostOf(free, fn, known);
  }

 private:
  template <typename F>
  std::vector<double> MostOf(GpuMask free, F& fn, std::map<GpuMask, std::vector<double>>& known) {
    if (const auto found = known.find(free); found != known.end()) return found->second;
    std::vector<double> best = {0};
    for (std::uint32_t mask = (0U - free) & free; mask != 0; mask = (mask - free) & free) {
      if (std::popcount(mask) != k_) continue;
      const auto set = static_cast<GpuMask>(mask);
      const std::vector<double> rest = MostOf(static_cast<GpuMask>(free & ~set), fn, known);
      if (best.size() < rest.size() + 1) best.resize(rest.size() + 1, 0);
      for (std::size_t j = 0; j < rest.size(); ++j) {
        best[j + 1] = std::max(best[j + 1], rest[j] + fn(topology_, set));
      }
    }
    return known[free] = best;
  }

  const GpuTopology& topology_;
  const std::int32_t k_;
};

// The share of jobs on one NVLink island, and their bandwidth, against an exhaustive search.
TEST(NvLinkAffinity, ReachesWhatAnExhaustivePlacementDoes) {
  const auto bandwidth = [](const GpuTopology& topology, GpuMask set) -> double {
    return topology.RingBandwidth(set);
  };
  const auto on_island = [](const GpuTopology& topology, GpuMask set) -> double {
    return topology.OnOneIsland(set) ? 1 : 0;
  };
  const char* const kTopologies[] = {"dgx-a100", "a100-pcie-8", "split-socket-4", "dgx-1-v100"};
  for (const std::int32_t k : {2, 4}) {
    double got[2] = {}, most[2] = {};
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Random random(seed * 7 + static_cast<std::uint64_t>(k));
      std::string text;
      std::int64_t room = 0;
      for (std::uint64_t n = 0; n < 4; ++n) {
        const std::string name = "node" + std::to_string(n);
        const std::size_t kind = random.Below(4);
        const int gpus = kind == 2 ? 4 : 8;
        text += GpuNodeYaml(name, gpus, kTopologies[kind]);
        std::string taken;
        int count = 0;
        for (int g = 0; g < gpus; ++g) {
          if (random.Below(4) != 0) continue;
          taken += (taken.empty() ? "" : "-") + std::to_string(g);
          ++count;
        }
        room += (gpus - count) / k;
        if (count == 0) continue;
        std::string old = GpuPodYaml("old-" + name, count, "", "  nodeName: " + name + "\n");
        const std::string meta = "labels: {}}";
        old.replace(old.find(meta), meta.size(),
                    "annotations: {alibabacloud.com/gpu-index: '" + taken + "'}}");
        text += old;
      }
      const auto jobs = 1 + static_cast<std::int64_t>(random.Below(
                                static_cast<std::uint64_t>(std::max<std::int64_t>(room, 1))));
      for (std::int64_t i = 0; i < jobs; ++i) text += GpuPodYaml("p" + std::to_string(i), k);
      Cluster cluster = Parse(text);

      // All ways to divide the jobs among the nodes.
      for (const int measure : {0, 1}) {
        std::vector<double> best = {0};
        for (Row row = 0; row < cluster.view().size(); ++row) {
          const GpuTopology& topology = *cluster.view().TopologyOf(row);
          Exhaustive exhaustive(topology, k);
          const GpuMask free = cluster.view().Free()[row].mask;
          const std::vector<double> here =
              measure == 0 ? exhaustive.Most(free, bandwidth) : exhaustive.Most(free, on_island);
          std::vector<double> next(best.size() + here.size() - 1, 0);
          for (std::size_t a = 0; a < best.size(); ++a) {
            for (std::size_t b = 0; b < here.size(); ++b) {
              next[a + b] = std::max(next[a + b], best[a] + here[b]);
            }
          }
          best = next;
        }
        most[measure] += best[std::min(best.size() - 1, static_cast<std::size_t>(jobs))];
      }

      const auto scheduler =
          MakeScheduler(ConfigYaml("{name: DeviceShare}, {name: NvLinkAffinity, weight: 100}"));
      for (std::int64_t i = 0; i < jobs; ++i) {
        const std::string pod = "p" + std::to_string(i);
        if (!Place(*scheduler, cluster, pod).status.ok()) continue;
        const GpuTopology& topology =
            *cluster.view().TopologyOf(*cluster.view().RowOf("default", pod));
        const GpuMask set = cluster.view().GpusOf(cluster.view().FindPod("default", pod)->Key());
        got[0] += bandwidth(topology, set);
        got[1] += on_island(topology, set);
      }
    }
    EXPECT_GE(got[0], 0.99 * most[0]) << "bandwidth, " << k << " GPUs";
    EXPECT_GE(got[1], 0.99 * most[1]) << "on one island, " << k << " GPUs";
  }
}

// All of them at once, with the cycle by groups compared with the whole pipeline each time.
TEST(TopologyPlugins, EqualTheWholePipelineOnRandomClusters) {
  const char* const kTopologies[] = {"dgx-a100", "a100-pcie-8", "split-socket-4", "dgx-1-v100",
                                     "",         "broken"};
  int incremental = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    std::string text;
    const auto nodes = 6 + random.Below(80);
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const char* topology = kTopologies[random.Below(6)];
      text +=
          GpuNodeYaml("n" + std::to_string(i), topology == kTopologies[2] ? 4 : 8, topology,
                      "zone: z" + std::to_string(i % 3) + ", spine: s" + std::to_string(i / 16) +
                          ", leaf: l" + std::to_string(i / 4),
                      random.Below(2) == 0 ? ""
                                           : "nccl.nvidia.com/topology-hint: "
                                             "'{\"PCIProximity\": 0.8, \"NVLinkBandwidth\": 0.9}'");
    }
    for (int i = 0; i < 60; ++i) {
      const int kind = static_cast<int>(random.Below(4));
      text += GpuPodYaml("p" + std::to_string(i), 1 << kind, "app: a" + std::to_string(kind % 2),
                         kind < 2 ? kSpreadOverZones : "");
    }
    text += Gang("g", 6, 4) + Gang("h", 5, 8);
    Cluster cluster = Parse(text);
    const auto scheduler =
        MakeScheduler(ConfigYaml("{name: NvLinkAffinity, weight: 3}, {name: NumaAffinity}, "
                                 "{name: NcclTopologyHint}, {name: GpuTopologySpread, weight: 2}, "
                                 "{name: NetworkTopologyAffinity}, {name: DeviceShare}",
                                 kNetworkLevels));
    for (const PodPtr& pod : cluster.snapshot().Pending()) {
      const ScheduleResult result = scheduler->ScheduleOne(cluster, *pod);
      ASSERT_NE(result.status.code(), Code::kError) << result.status.message();
      incremental += result.incremental ? 1 : 0;
      if (result.status.ok() && random.Below(5) == 0) {
        ASSERT_TRUE(cluster.DeletePod("default", pod->pod->metadata.name).ok());
      }
    }
    for (Row row = 0; row < cluster.view().size(); ++row) {
      EXPECT_EQ(cluster.view().Free()[row].mask, cluster.view().Gpus()[row].Free());
    }
  }
  EXPECT_GT(incremental, 200);
}

}  // namespace
}  // namespace schedfw
