// NodeResourceTopologyMatch: which nodes take a pod by their NUMA zones, and how they score. The
// situations are those of the tests of scheduler-plugins (pkg/noderesourcetopology), with its
// answers where the rules are the same.

#include "schedfw/plugins/node_resource_topology_match.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/base/random.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/config.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/report.h"
#include "support/cluster.h"
#include "support/files.h"
#include "support/numa.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NumaNode;
using testing::NumaPod;
using testing::Parse;
using testing::Topology;

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const std::string kEnabled =
    kHead + "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch}]}}}]\n";

// What the filter says of the only waiting pod, by node; empty: it passes.
std::map<std::string, std::string> Verdicts(const std::string& yaml,
                                            bool filter_restricted = false) {
  const Cluster cluster = Parse(yaml);
  const Snapshot& view = cluster.view();
  NodeResourceTopologyMatchArgs args;
  args.filter_restricted = filter_restricted;
  NodeResourceTopologyMatch plugin(args);
  CycleState state;
  const PodPtr pod = view.Pending().at(0);
  const Cycle cycle{view, *pod, state};
  PreFilterResult result;
  const bool skips = plugin.PreFilter(cycle, state, result).IsSkip();
  std::map<std::string, std::string> out;
  for (Row row = 0; row < view.size(); ++row) {
    const Status status = skips ? Status() : plugin.Filter(cycle, NodeInfo(view, row));
    CycleState none;  // the same where no PreFilter has run
    EXPECT_EQ(plugin.Filter({view, *pod, none}, NodeInfo(view, row)).message(), status.message());
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kUnschedulable);
    }
    out[view.name(row)] = status.message();
  }
  return out;
}

std::map<std::string, std::int64_t> Scores(const std::string& yaml, NumaScoring type,
                                           std::vector<NumaResourceSpec> weights = {}) {
  const Cluster cluster = Parse(yaml);
  const Snapshot& view = cluster.view();
  NodeResourceTopologyMatchArgs args;
  args.scoring_strategy->type = type;
  args.scoring_strategy->resources = std::move(weights);
  NodeResourceTopologyMatch plugin(args);
  CycleState state;
  const PodPtr pod = view.Pending().at(0);
  const Cycle cycle{view, *pod, state};
  EXPECT_TRUE(plugin.PreScore(cycle, state, {}).ok());
  std::map<std::string, std::int64_t> out;
  for (Row row = 0; row < view.size(); ++row) {
    std::int64_t score = -1;
    EXPECT_TRUE(plugin.Score(cycle, NodeInfo(view, row), score).ok());
    if (const auto uniform = plugin.UniformScore(cycle)) {
      EXPECT_EQ(*uniform, score);
    }
    out[view.name(row)] = score;
  }
  return out;
}
using ScoreMap = std::map<std::string, std::int64_t>;

// --- Filter

constexpr const char* kContainerLevel = "SingleNUMANodeContainerLevel";
constexpr const char* kPodLevel = "SingleNUMANodePodLevel";

struct FilterCase {
  std::string node;
  std::vector<std::string> containers;
  std::string want;
  bool burstable = false;
};

TEST(NodeResourceTopologyMatch, FiltersAsSchedulerPluginsDoes) {
  const std::string plain = "cpu: 50, memory: 16Gi, vendor/nic1: 60";
  const std::map<std::string, std::string> nodes = {
      {"n1", NumaNode("n1", plain) + Topology("n1", kContainerLevel,
                                              {"cpu: 4/20, memory: 8Gi, vendor/nic1: 10/30",
                                               "cpu: 8/30, memory: 8Gi, vendor/nic1: 10/30"})},
      {"n2", NumaNode("n2", plain + ", hugepages-2Mi: 256Mi, vendor.com/old-nic: 4, "
                                    "ephemeral-storage: 1Gi") +
                 Topology("n2", kContainerLevel,
                          {"cpu: 2/20, memory: 4Gi/8Gi, hugepages-2Mi: 128Mi, vendor/nic1: 5/30",
                           "cpu: 4/30, memory: 4Gi/8Gi, hugepages-2Mi: 128Mi, vendor/nic1: 2/30"})},
      {"n3", NumaNode("n3", plain) + Topology("n3", kPodLevel,
                                              {"cpu: 2/20, memory: 4Gi/8Gi, vendor/nic1: 5/30",
                                               "cpu: 4/30, memory: 4Gi/8Gi, vendor/nic1: 2/30"})},
      {"n4", NumaNode("n4", "cpu: 50, memory: 16Gi, example.com/extended: 1") +
                 Topology("n4", kContainerLevel, {"cpu: 4/20, memory: 8Gi", "cpu: 8/30"})},
  };
  const std::string no_container = "cannot align container", no_pod = "cannot align pod";
  const std::vector<FilterCase> cases = {
      // Pods that ask for nothing, or for devices alone.
      {"n1", {""}, "", true},
      {"n3", {"vendor/nic1: 5"}, ""},
      {"n3", {"vendor/nic1: 20"}, no_pod},
      {"n2", {"vendor/nic1: 5"}, ""},
      {"n1", {"vendor/nic1: 20"}, no_container},
      // Of Burstable pods only devices need room, but a zone that lists cpu and memory at all.
      {"n2", {"cpu: 3, memory: 3Gi, vendor/nic1: 11"}, no_container, true},
      {"n3", {"cpu: 19, memory: 5Gi, vendor/nic1: 5"}, "", true},
      {"n3", {"cpu: 1, memory: 1Gi, vendor/nic1: 6"}, no_pod, true},
      {"n2", {"cpu: 5, memory: 5Gi, vendor/nic1: 5"}, "", true},
      {"n4", {"cpu: 30, memory: 1Gi"}, "", true},
      {"n4", {"hugepages-2Mi: 2Mi, cpu: 1"}, no_container, true},
      // Guaranteed pods.
      {"n1", {"cpu: 2, memory: 2Gi"}, ""},
      {"n1", {"cpu: 8, memory: 8Gi"}, ""},
      {"n1", {"cpu: 9, memory: 1Gi"}, no_container},
      {"n1", {"cpu: 2, memory: 2Gi, hugepages-2Mi: 0, vendor/nic1: 3"}, ""},
      {"n2", {"cpu: 2, memory: 2Gi, hugepages-2Mi: 64Mi, vendor/nic1: 3"}, ""},
      {"n2", {"cpu: 2, memory: 2Gi, hugepages-2Mi: 256Mi"}, no_container},
      {"n2", {"cpu: 4, memory: 2Gi, vendor/nic1: 3"}, no_container},  // in no one zone
      {"n3", {"cpu: 1, memory: 1Gi", "cpu: 1, memory: 1Gi", "cpu: 1, memory: 1Gi"}, ""},
      {"n3",
       {"cpu: 1, memory: 1Gi, vendor/nic1: 3", "cpu: 1, memory: 1Gi, vendor/nic1: 3"},
       no_pod},
      {"n3", {"cpu: 3, memory: 1Gi", "cpu: 3, memory: 1Gi"}, no_pod},
      // What zones don't list but the node has.
      {"n2", {"cpu: 2, memory: 2Gi, hugepages-2Mi: 64Mi, vendor.com/old-nic: 3"}, ""},
      {"n2", {"cpu: 2, memory: 2Gi, ephemeral-storage: 100Mi"}, ""},
      {"n1", {"cpu: 2, memory: 2Gi, ephemeral-storage: 100Mi"}, no_container},
      {"n1", {"cpu: 2, memory: 2Gi, vendor.com/old-nic: 1"}, no_container},
      {"n4", {"cpu: 2, memory: 2Gi, example.com/extended: 1"}, ""},
      {"n4", {"cpu: 5, memory: 2Gi"}, no_container},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const FilterCase& c = cases[i];
    EXPECT_EQ(Verdicts(nodes.at(c.node) + NumaPod("p", c.containers, c.burstable)),
              (std::map<std::string, std::string>{{c.node, c.want}}));
  }
}

TEST(NodeResourceTopologyMatch, ContainersTakeZonesOneAfterAnother) {
  const std::vector<std::string> zones = {
      "cpu: 30/32, memory: 60Gi/64Gi, hugepages-2Mi: 384Mi, vendor/nic1: 16",
      "cpu: 32, memory: 64Gi, hugepages-2Mi: 512Mi, vendor/nic1: 32"};
  const std::string amounts = "cpu: 64, memory: 128Gi, hugepages-2Mi: 896Mi, vendor/nic1: 48";
  const std::string containers =
      NumaNode("host", amounts) + Topology("host", kContainerLevel, zones);
  const std::string pods = NumaNode("host", amounts) + Topology("host", kPodLevel, zones);
  const std::string no_container = "cannot align container";
  const std::vector<FilterCase> cases = {
      {containers, {"cpu: 2, memory: 4G"}, ""},
      {containers, {"cpu: 40, memory: 4G"}, no_container},
      {containers, {"cpu: 2, memory: 100G"}, no_container},
      {containers, {"cpu: 20, memory: 40G", "cpu: 20, memory: 40G"}, ""},
      {containers,
       {"cpu: 2, memory: 6G, hugepages-2Mi: 500Mi, vendor/nic1: 16",
        "cpu: 2, memory: 6G, hugepages-2Mi: 50Mi, vendor/nic1: 8"},
       ""},
      {containers,
       {"cpu: 20, memory: 40G", "cpu: 20, memory: 40G", "cpu: 20, memory: 6G"},
       no_container},
      {containers,
       {"init cpu: 40, memory: 40G", "cpu: 1, memory: 4G"},
       "cannot align init container"},
      {containers,
       {"sidecar cpu: 40, memory: 40G", "cpu: 1, memory: 4G"},
       "cannot align sidecar container"},
      {containers,
       {"init cpu: 30, memory: 10G", "init cpu: 30, memory: 10G", "cpu: 20, memory: 40G",
        "cpu: 20, memory: 40G"},
       ""},
      {containers, {"init cpu: 30, memory: 10G", "cpu: 35, memory: 40G"}, no_container},
      // The kubelet's rule, not upstream's: a sidecar keeps what it has.
      {containers, {"sidecar cpu: 8, memory: 1G", "cpu: 30, memory: 4G"}, ""},
      {containers,
       {"sidecar cpu: 8, memory: 1G", "cpu: 30, memory: 4G", "cpu: 23, memory: 4G"},
       no_container},
      {containers,
       {"sidecar cpu: 7500m, memory: 1G", "cpu: 30, memory: 4G", "cpu: 32, memory: 4G"},
       ""},
      {pods,
       {"cpu: 2, memory: 2Gi", "cpu: 4, memory: 8Gi",
        "cpu: 26, memory: 32Gi, hugepages-2Mi: 512Mi, vendor/nic1: 26"},
       ""},
      {pods,
       {"cpu: 2, memory: 2Gi", "cpu: 8, memory: 8Gi", "cpu: 26, memory: 26Gi"},
       "cannot align pod"},
      {pods, {"cpu: 2, memory: 40Gi", "cpu: 4, memory: 40Gi"}, "cannot align pod"},
      {pods, {"init cpu: 32, memory: 1Gi", "cpu: 16, memory: 1Gi", "cpu: 16, memory: 1Gi"}, ""},
      {pods, {"init cpu: 33, memory: 1Gi", "cpu: 16, memory: 1Gi"}, "cannot align pod"},
      {pods,
       {"sidecar cpu: 2, memory: 1Gi", "init cpu: 31, memory: 1Gi", "cpu: 16, memory: 1Gi"},
       "cannot align pod"},
      {pods,
       {"init cpu: 31, memory: 1Gi", "sidecar cpu: 2, memory: 1Gi", "cpu: 16, memory: 1Gi"},
       ""},
      {pods, {"sidecar cpu: 2500m, memory: 1Gi", "cpu: 32, memory: 1Gi"}, ""},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(Verdicts(cases[i].node + NumaPod("p", cases[i].containers)),
              (std::map<std::string, std::string>{{"host", cases[i].want}}));
  }
}

TEST(NodeResourceTopologyMatch, OverheadAndPodLevelResources) {
  const std::string node = NumaNode("n", "cpu: 8, memory: 16Gi") +
                           Topology("n", kPodLevel, {"cpu: 4, memory: 8Gi", "cpu: 4, memory: 8Gi"});
  const auto verdict = [&](const std::vector<std::string>& containers, const std::string& spec) {
    return Verdicts(node + NumaPod("p", containers, false, spec)).at("n");
  };
  // At pod scope upstream counts overhead, the kubelet doesn't.
  EXPECT_EQ(verdict({"cpu: 4, memory: 1Gi"}, "  overhead: {cpu: 250m}\n"), "cannot align pod");
  EXPECT_EQ(verdict({"cpu: 3, memory: 1Gi"}, "  overhead: {cpu: 250m}\n"), "");
  EXPECT_EQ(verdict({"cpu: 3500m, memory: 1Gi"}, "  overhead: {cpu: 9}\n"), "");
  // The kubelet binds nothing of pods that have resources as a whole.
  const std::string whole =
      "  resources: {requests: {cpu: 6, memory: 1Gi}, limits: {cpu: 6, memory: 1Gi}}\n";
  EXPECT_EQ(verdict({"cpu: 6, memory: 1Gi"}, ""), "cannot align pod");
  EXPECT_EQ(verdict({"cpu: 6, memory: 1Gi"}, whole), "");
  EXPECT_EQ(Scores(node + NumaPod("p", {"cpu: 6, memory: 1Gi", ""}, false, whole),
                   NumaScoring::kLeastAllocated)
                .at("n"),
            100);
}

TEST(NodeResourceTopologyMatch, OtherPoliciesRejectOnlyWhenAsked) {
  const std::vector<std::string> zones = {"cpu: 2/4, memory: 8Gi", "cpu: 4, memory: 8Gi"};
  std::string nodes;
  for (const std::string policy :
       {"RestrictedPodLevel", "RestrictedContainerLevel", "BestEffortPodLevel", "none"}) {
    std::string name = policy;
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    nodes += NumaNode(name, "cpu: 8, memory: 16Gi") + Topology(name, policy, zones);
  }
  const auto pod = [&](const std::vector<std::string>& containers) {
    return nodes + NumaPod("p", containers);
  };
  const std::map<std::string, std::string> all = {{"restrictedpodlevel", ""},
                                                  {"restrictedcontainerlevel", ""},
                                                  {"besteffortpodlevel", ""},
                                                  {"none", ""}};
  // Six cpus would need two zones in any case; four would fit into one, if it were free.
  const std::string six = "cpu: 6, memory: 12Gi", four = "cpu: 4, memory: 1Gi";
  EXPECT_EQ(Verdicts(pod({six})), all);
  EXPECT_EQ(Verdicts(pod({six}), true), all);
  EXPECT_EQ(Verdicts(pod({four, "cpu: 2, memory: 1Gi"})), all);
  EXPECT_EQ(Verdicts(pod({four, "cpu: 2, memory: 1Gi"}), true),
            (std::map<std::string, std::string>{{"restrictedpodlevel", "cannot align pod"},
                                                {"restrictedcontainerlevel", ""},
                                                {"besteffortpodlevel", ""},
                                                {"none", ""}}));
  EXPECT_EQ(Verdicts(pod({"init cpu: 1, memory: 1Gi", four, "cpu: 3, memory: 1Gi"}), true)
                .at("restrictedcontainerlevel"),
            "cannot align container");
}

// --- Score

std::string DefaultNodes(const std::string& policy) {
  std::string out;
  for (const auto& [name, zone] :
       {std::pair("node1", "cpu: 4, memory: 500Mi"), std::pair("node2", "cpu: 2, memory: 50Mi"),
        std::pair("node3", "cpu: 6, memory: 60Mi")}) {
    out += NumaNode(name, "cpu: 12, memory: 1000Mi, example.com/other: 9") +
           Topology(name, policy, {zone, zone});
  }
  return out;
}

TEST(NodeResourceTopologyMatch, ScoresZones) {
  const std::string nodes =
      DefaultNodes(kContainerLevel) + NumaNode("without", "cpu: 12, memory: 1000Mi");
  const std::string yaml = nodes + NumaPod("p", {"cpu: 2, memory: 20Mi"});
  EXPECT_EQ(Scores(yaml, NumaScoring::kMostAllocated),
            (ScoreMap{{"node1", 27}, {"node2", 70}, {"node3", 33}, {"without", 0}}));
  EXPECT_EQ(Scores(yaml, NumaScoring::kLeastAllocated),
            (ScoreMap{{"node1", 73}, {"node2", 30}, {"node3", 66}, {"without", 0}}));
  EXPECT_EQ(Scores(yaml, NumaScoring::kBalancedAllocation),
            (ScoreMap{{"node1", 89}, {"node2", 82}, {"node3", 100}, {"without", 0}}));
  // Weights; one below 1 counts as 1, and so does what has none.
  EXPECT_EQ(Scores(yaml, NumaScoring::kMostAllocated, {{"cpu", 3}, {"memory", -2}}).at("node1"),
            (3 * 50 + 4) / 4);
  // Pods that bind nothing are a good fit everywhere.
  for (const NumaScoring type : {NumaScoring::kLeastAllocated, NumaScoring::kLeastNumaNodes}) {
    EXPECT_EQ(Scores(nodes + NumaPod("p", {"cpu: 2, memory: 20Mi"}, true), type),
              (ScoreMap{{"node1", 100}, {"node2", 100}, {"node3", 100}, {"without", 100}}));
  }
  // Other policies score 0.
  EXPECT_EQ(Scores(DefaultNodes("RestrictedPodLevel") + NumaPod("p", {"cpu: 2, memory: 20Mi"}),
                   NumaScoring::kLeastAllocated),
            (ScoreMap{{"node1", 0}, {"node2", 0}, {"node3", 0}}));
}

TEST(NodeResourceTopologyMatch, ScoresTheWorstZoneThatCounts) {
  const std::string node =
      NumaNode("n", "cpu: 12, memory: 16Gi") +
      Topology("n", kContainerLevel,
               {"cpu: 1/4, memory: 0/4Gi", "cpu: 8, memory: 4Gi", "cpu: 3, memory: 4Gi"});
  const auto score = [&](const std::vector<std::string>& containers) {
    return Scores(node + NumaPod("p", containers), NumaScoring::kLeastAllocated).at("n");
  };
  EXPECT_EQ(score({"cpu: 2, memory: 1Gi"}), (33 + 75) / 2);
  // The mean of the containers, init containers included; parts of cores count as whole ones.
  EXPECT_EQ(score({"cpu: 2, memory: 1Gi", "cpu: 1500m, memory: 2Gi"}), (54 + 41) / 2);
  EXPECT_EQ(score({"init cpu: 2, memory: 2Gi", "cpu: 2, memory: 1Gi"}), (41 + 54) / 2);
}

TEST(NodeResourceTopologyMatch, ScoresBalance) {
  const std::string node =
      NumaNode("n", "cpu: 8") + Topology("n", kPodLevel, {"cpu: 4, memory: 1Gi"});
  EXPECT_EQ(Scores(node + NumaPod("p", {"cpu: 2, memory: 1Gi"}), NumaScoring::kBalancedAllocation)
                .at("n"),
            static_cast<std::int64_t>((1 - 0.125) * 100));
  EXPECT_EQ(Scores(node + NumaPod("p", {"cpu: 5, memory: 1Gi"}), NumaScoring::kBalancedAllocation)
                .at("n"),
            0);
}

std::string FourZones() {
  const std::string with = "cpu: 2, memory: 50Mi, vendor/gpu: 1";
  const std::string without = "cpu: 2, memory: 50Mi, vendor/gpu: 0";
  const std::vector<std::string> costs = {"10 12 20 20", "12 10 20 20", "20 20 10 12",
                                          "20 20 12 10"};
  const std::string amounts = "cpu: 8, memory: 200Mi, vendor/gpu: 2";
  return NumaNode("node1", amounts) +
         Topology("node1", "BestEffortContainerLevel", {with, with, without, without}, costs) +
         NumaNode("node2", amounts) +
         Topology("node2", "BestEffortContainerLevel", {with, without, with, without}, costs);
}

TEST(NodeResourceTopologyMatch, ScoresTheNumberOfZones) {
  struct ScoreCase {
    std::string nodes;
    std::vector<std::string> containers;
    ScoreMap want;
  };
  const auto all = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return ScoreMap{{"node1", a}, {"node2", b}, {"node3", c}};
  };
  const std::string containers = DefaultNodes("BestEffortContainerLevel");
  const std::string pods = DefaultNodes("BestEffortPodLevel");
  const std::string tail = ", memory: 50Mi";
  const auto cpus = [&](const std::string& n) { return "cpu: " + n + tail; };
  const std::vector<ScoreCase> cases = {
      {containers, {cpus("2")}, all(94, 94, 94)},
      {containers, {cpus("4")}, all(94, 82, 94)},
      {containers, {cpus("6")}, all(82, 0, 94)},
      {containers, {cpus("2"), cpus("2")}, all(94, 94, 94)},
      {containers, {cpus("1"), cpus("3")}, all(94, 82, 94)},
      {containers, {cpus("5"), cpus("3")}, all(82, 0, 94)},
      {pods, {cpus("2"), cpus("2")}, all(94, 82, 82)},
      {pods, {cpus("1"), cpus("3")}, all(94, 82, 82)},
      {pods, {cpus("5"), cpus("3")}, all(82, 0, 82)},
      {FourZones(), {cpus("2") + ", vendor/gpu: 1"}, {{"node1", 94}, {"node2", 94}}},
      {FourZones(), {cpus("2") + ", vendor/gpu: 2"}, {{"node1", 82}, {"node2", 76}}},
      {FourZones(), {cpus("2") + ", vendor/gpu: 2", cpus("2")}, {{"node1", 82}, {"node2", 76}}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(
        Scores(cases[i].nodes + NumaPod("p", cases[i].containers), NumaScoring::kLeastNumaNodes),
        cases[i].want);
  }
}

TEST(NodeResourceTopologyMatch, ScoresTheDistanceOfZones) {
  // Eight zones with distances of all kinds: of three zones 0, 1 and 5 are the closest.
  const std::vector<std::string> costs = {"10 20 40 30 20 30 50 40", "20 10 30 40 50 20 40 50",
                                          "40 30 10 20 40 50 20 30", "30 40 20 10 30 20 40 50",
                                          "20 50 40 30 10 50 30 20", "30 20 50 20 50 10 50 40",
                                          "50 40 20 40 30 50 10 30", "40 50 30 50 20 40 30 10"};
  const std::vector<std::string> zones(8, "cpu: 4, memory: 5Gi, vendor/gpu: 1");
  std::vector<std::string> odd = zones;
  for (std::size_t zone = 1; zone < 8; zone += 2) odd[zone] = "cpu: 4, vendor/gpu: 1";
  const std::string amounts = "cpu: 32, memory: 40Gi, vendor/gpu: 8";
  const std::string yaml =
      NumaNode("all", amounts) + Topology("all", "RestrictedPodLevel", zones, costs) +
      NumaNode("odd", amounts) + Topology("odd", "RestrictedPodLevel", odd, costs) +
      NumaNode("few", amounts) +
      Topology("few", "RestrictedPodLevel", {zones[0], zones[0], zones[0]}) +
      NumaPod("p", {"cpu: 3, memory: 2Gi, vendor/gpu: 3"});
  // Three zones of 12 points each, half a zone back for the closest ones; unknown distances are
  // all the same.
  EXPECT_EQ(Scores(yaml, NumaScoring::kLeastNumaNodes),
            (ScoreMap{{"all", 70}, {"odd", 64}, {"few", 70}}));
}

TEST(NodeResourceTopologyMatch, TooManyZonesScoreNothing) {
  const auto score = [](std::size_t zones, int cpus) {
    const std::vector<std::string> list(zones, "cpu: 1, memory: 1Gi");
    return Scores(NumaNode("n", "cpu: 64, memory: 64Gi") +
                      Topology("n", "BestEffortPodLevel", list) +
                      NumaPod("p", {"cpu: " + std::to_string(cpus) + ", memory: 1Gi"}),
                  NumaScoring::kLeastNumaNodes)
        .at("n");
  };
  EXPECT_EQ(score(8, 8), 10);
  EXPECT_EQ(score(12, 12), 0);  // below zero upstream, which fails the cycle
  EXPECT_EQ(score(64, 2), 82);
  EXPECT_EQ(score(64, 32), 0);  // there are too many sets to look at
}

// --- in a scheduler

TEST(NodeResourceTopologyMatch, PlacesPodsUntilNoZoneHasRoom) {
  const std::string zone = "cpu: 4, memory: 8Gi";
  std::string yaml = NumaNode("a", "cpu: 8, memory: 16Gi") + NumaNode("b", "cpu: 8, memory: 16Gi") +
                     Topology("a", kContainerLevel, {zone, zone}) +
                     Topology("b", kPodLevel, {zone, zone});
  for (int i = 0; i < 6; ++i) {
    yaml += NumaPod("p" + std::to_string(i), {"cpu: 3, memory: 1Gi"});
  }
  Cluster cluster = Parse(yaml);
  const auto scheduler = MakeScheduler(kEnabled);
  int placed = 0;
  std::string why;
  for (const Placement& placement : scheduler->Place(cluster)) {
    placed += placement.node.empty() ? 0 : 1;
    if (placement.node.empty()) why = placement.status.message();
  }
  EXPECT_EQ(placed, 4);  // NodeResourcesFit alone would refuse them too, for other reasons
  EXPECT_NE(why.find("0/2 nodes are available"), std::string::npos) << why;

  // One core is left in each zone, and none of them has two.
  Cluster other =
      Parse(NumaNode("a", "cpu: 8, memory: 16Gi") + Topology("a", kContainerLevel, {zone, zone}) +
            NumaPod("p0", {"cpu: 3, memory: 1Gi"}) + NumaPod("p1", {"cpu: 3, memory: 1Gi"}) +
            NumaPod("p2", {"cpu: 2, memory: 1Gi"}));
  const auto result = MakeScheduler(kEnabled)->Place(other);
  EXPECT_EQ(result[2].status.message(), "0/1 nodes are available: 1 cannot align container.");
}

TEST(NodeResourceTopologyMatch, PreemptionFreesTheZonesOfPodsThatWerePlacedHere) {
  const std::string zone = "cpu: 4, memory: 8Gi";
  const std::string low = "  priority: 1\n", high = "  priority: 9\n";
  Cluster cluster =
      Parse(NumaNode("a", "cpu: 8, memory: 16Gi") + Topology("a", kContainerLevel, {zone, zone}) +
            NumaPod("low0", {"cpu: 3, memory: 1Gi"}, false, low) +
            NumaPod("low1", {"cpu: 2, memory: 1Gi"}, false, low));
  const auto scheduler = MakeScheduler(kEnabled);
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.RunUntilQuiet().ok());
  auto pod = api::ParseObjects(NumaPod("high", {"cpu: 3, memory: 1Gi"}, false, high));
  ASSERT_TRUE(loop.AddPod(pod->pods[0]).ok());
  ASSERT_TRUE(loop.RunUntilQuiet().ok());
  EXPECT_TRUE(cluster.view().RowOf("default", "high"));
  // The one whose zone is enough goes, the last of equal priority.
  EXPECT_TRUE(cluster.view().FindPod("default", "low0"));
  EXPECT_FALSE(cluster.view().FindPod("default", "low1"));
}

TEST(NodeResourceTopologyMatch, ANewReportWakesPods) {
  const std::string zone = "cpu: 4, memory: 8Gi";
  Cluster cluster =
      Parse(NumaNode("a", "cpu: 8, memory: 16Gi") +
            Topology("a", kPodLevel, {"cpu: 2/4, memory: 8Gi", zone}) +
            NumaPod("p", {"cpu: 3, memory: 1Gi"}) + NumaPod("q", {"cpu: 3, memory: 1Gi"}));
  const auto scheduler = MakeScheduler(kEnabled);
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.RunUntilQuiet().ok());
  EXPECT_TRUE(cluster.view().RowOf("default", "p"));
  EXPECT_FALSE(cluster.view().RowOf("default", "q"));
  auto report = api::ParseObjects(Topology("a", kPodLevel, {zone, "cpu: 1/4, memory: 7Gi/8Gi"}));
  ASSERT_TRUE(loop.Upsert(report->node_resource_topologies[0]).ok());
  ASSERT_TRUE(loop.RunUntilQuiet().ok());
  EXPECT_TRUE(cluster.view().RowOf("default", "q"));
}

// Cycles that go on from earlier ones give what whole cycles do, while zones change; schedulers of
// the tests compare the two in each cycle.
TEST(NodeResourceTopologyMatch, CyclesOfOneKindOfPodsStayRight) {
  Random random(3);
  std::string yaml;
  for (int i = 0; i < 150; ++i) {
    const std::string name = "n" + std::to_string(i);
    yaml += NumaNode(name, "cpu: 8, memory: 16Gi");
    if (i % 5 == 4) continue;
    const std::string zone = "cpu: " + std::to_string(1 + random.Below(4)) + "/4, memory: 8Gi";
    yaml += Topology(name,
                     i % 3 == 0   ? kPodLevel
                     : i % 3 == 1 ? kContainerLevel
                                  : "RestrictedPodLevel",
                     {zone, "cpu: 4, memory: 8Gi"});
  }
  for (int i = 0; i < 120; ++i) {
    yaml += NumaPod("p" + std::to_string(i),
                    {i % 2 == 0 ? "cpu: 3, memory: 1Gi" : "cpu: 1, memory: 1Gi"});
  }
  for (const std::string type :
       {"LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"}) {
    Cluster cluster = Parse(yaml);
    const auto scheduler = MakeScheduler(
        kHead +
        "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch}]}}, "
        "pluginConfig: [{name: NodeResourceTopologyMatch, args: {filterRestricted: true, "
        "scoringStrategy: {type: " +
        type + "}}}]}]\n");
    std::size_t placed = 0;
    for (const Placement& placement : scheduler->Place(cluster)) {
      placed += placement.node.empty() ? 0 : 1;
    }
    EXPECT_EQ(placed, 120u);
    for (int i = 0; i < 20; ++i) {
      const std::string name = "n" + std::to_string(random.Below(150));
      auto report = api::ParseObjects(
          Topology(name, kPodLevel,
                   {"cpu: " + std::to_string(random.Below(5)) + "/4", "cpu: 4, memory: 8Gi"}));
      ASSERT_TRUE(cluster.Upsert(report->node_resource_topologies[0]).ok());
      auto pod = api::ParseObjects(NumaPod("q" + std::to_string(i), {"cpu: 3, memory: 1Gi"}));
      ASSERT_TRUE(cluster.AddPod(pod->pods[0]).ok());
      (void)scheduler->Place(cluster);
    }
  }
}

// --- arguments

TEST(NodeResourceTopologyMatch, ArgumentsAreChecked) {
  const Registry registry = InTreeRegistry();
  const auto error = [&](const std::string& args) {
    const std::string text =
        kHead + "profiles: [{pluginConfig: [{name: NodeResourceTopologyMatch, args: {" + args +
        "}}]}]\n";
    const auto config = ParseConfig(text, registry, "f");
    return config.ok() ? std::string() : config.error().message();
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("cacheResyncPeriodSeconds: 5, discardReservedNodes: true, cache: "
                  "{foreignPodsDetect: None, resyncMethod: OnlyExclusiveResources, informerMode: "
                  "Shared, resyncScope: OnlyResources}, preemptionMode: Enabled, "
                  "scoringStrategy: {type: LeastNUMANodes, resources: [{name: cpu, weight: 0}]}"),
            "");
  const auto expect = [&](const std::string& args, const std::string& part) {
    EXPECT_NE(error(args).find(part), std::string::npos) << error(args);
  };
  expect("scoringStrategy: {type: Best}",
         "scoringStrategy.type: \"Best\" is not supported (allowed: LeastAllocated, "
         "MostAllocated, BalancedAllocation, LeastNUMANodes)");
  expect("scoringStrategy: {resources: []}", "scoringStrategy.type: must be given");
  expect("preemptionMode: On", "preemptionMode: ");
  expect("cache: {informerMode: Own}", "cache.informerMode: ");
  expect("filterRestrict: true", "args.filterRestrict\" (allowed: scoringStrategy, ");
}

// As the manual of scheduler-plugins has it for nodes whose reports come often.
TEST(NodeResourceTopologyMatch, TheConfigurationOfItsManualIsRead) {
  const std::string text =
      kHead +
      "profiles: [{schedulerName: topo-aware-scheduler, plugins: {multiPoint: {enabled: [{name: "
      "NodeResourceTopologyMatch}]}, reserve: {disabled: [{name: NodeResourceTopologyMatch}]}}, "
      "pluginConfig: [{name: NodeResourceTopologyMatch, args: {scoringStrategy: {type: "
      "LeastAllocated}}}]}]\n";
  EXPECT_NE(MakeScheduler(text), nullptr);
}

// --- recorded answers: tests/cases, with what the kubelet does where that differs

struct Answer {
  std::string pod;
  std::string node;
  bool fits;
};
std::vector<Answer> Recorded(const std::string& text) {
  std::vector<Answer> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string pod, name, node, node_name, scope, qos, arrow, verdict;
    words >> pod >> name >> node >> node_name >> scope >> qos >> arrow >> verdict;
    if (pod != "pod" || node != "node" || arrow != "->") continue;
    out.push_back({name, node_name, verdict == "OK"});
  }
  return out;
}

void RunNumaCase(const std::string& folder, std::size_t answers,
                 const std::vector<Answer>& corrected = {}) {
  const auto path = testing::TestsDir() / "cases" / folder;
  auto cluster = testing::TryLoad({(path / "cluster.yaml").string(), (path / "nrt.yaml").string(),
                                   (path / "pod.yaml").string()});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message();
  const Snapshot& view = cluster->view();
  const auto scheduler = MakeScheduler(kEnabled);
  const std::vector<Answer> recorded = Recorded(testing::ReadFile(path / "expected.md"));
  EXPECT_EQ(recorded.size(), answers);
  for (const Answer& answer : recorded) {
    bool want = answer.fits;
    for (const Answer& other : corrected) {
      if (other.pod == answer.pod && other.node == answer.node) want = other.fits;
    }
    const PodPtr pod = view.FindPod("default", answer.pod);
    ASSERT_TRUE(pod) << answer.pod;
    SCOPED_TRACE(answer.pod + " on " + answer.node);
    const Row row = *view.Find(answer.node);
    EXPECT_EQ(scheduler->Explain(view, pod).diagnosis.IsFeasible(row), want);
    CycleState state;  // and by the plugin alone
    NodeResourceTopologyMatch plugin({});
    EXPECT_EQ(plugin.Filter({view, *pod, state}, NodeInfo(view, row)).ok(), want);
  }
}

TEST(Case, B46NumaContainerScopeReuse) { RunNumaCase("B46-numa-container-scope-reuse", 2); }
TEST(Case, B47NumaHostLevelResources) { RunNumaCase("B47-numa-host-level-resources", 3); }
TEST(Case, B49NumaSidecarCpu) { RunNumaCase("B49-numa-sidecar-cpu", 2, {{"whole", "n1", false}}); }

}  // namespace
}  // namespace schedfw
