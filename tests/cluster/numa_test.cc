// NUMA zones of nodes: what objects say, what pods take, and that it stays right as both change.

#include "schedfw/cluster/numa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/base/random.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/cluster/dry_run.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"
#include "support/dump.h"
#include "support/numa.h"

namespace schedfw {
namespace {

using testing::CanonicalDump;
using testing::NumaNode;
using testing::NumaPod;
using testing::Parse;
using testing::Topology;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

api::NodeResourceTopology Object(const std::string& text) {
  auto objects = api::ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects->node_resource_topologies.at(0);
}
api::Pod PodOf(const std::string& text) {
  auto objects = api::ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  EXPECT_TRUE(api::Normalize(*objects).ok());
  return objects->pods.at(0);
}

// What the zones of a node have left of a resource, in the order of the object.
using Left = std::vector<std::int64_t>;
Left LeftOf(const Snapshot& snapshot, const std::string& node, const std::string& resource) {
  Left out;
  const NumaZones* zones = snapshot.Numa(*snapshot.Find(node));
  if (zones == nullptr) return out;
  const auto column = zones->layout->Find(snapshot.dictionary().Resource(resource));
  for (std::size_t zone = 0; zone < zones->layout->zones(); ++zone) {
    out.push_back(column ? zones->Available(zone, *column) : NumaLayout::kNone);
  }
  return out;
}
void Assume(Cluster& cluster, const std::string& pod, const std::string& node) {
  const PodPtr found = cluster.view().FindPod("default", pod);
  ASSERT_TRUE(found) << pod;
  ASSERT_TRUE(cluster.AssumePod(*found, *cluster.view().Find(node)).ok());
}

// --- what objects say

TEST(Numa, ReadsPolicyAndScope) {
  const auto config = [](const std::string& policies, const std::string& attributes) {
    Dictionary dictionary;
    NumaTable table;
    const auto zones = CompileNumaZones(
        Object("apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
               "metadata: {name: 'n'}\ntopologyPolicies: [" +
               policies + "]\nattributes: [" + attributes + "]\n"),
        dictionary, table);
    EXPECT_TRUE(zones.ok());
    const NumaLayout& layout = *(*zones)->layout;
    std::string out;
    for (const auto& [policy, name] : kNumaPolicyNames) {
      if (policy == layout.policy) out += std::string(name) + " ";
    }
    for (const auto& [scope, name] : kNumaScopeNames) {
      if (scope == layout.scope) out += std::string(name) + " ";
    }
    return out + std::to_string(layout.max_zones);
  };
  const auto attribute = [](const std::string& name, const std::string& value) {
    return "{name: topologyManager" + name + ", value: '" + value + "'},";
  };
  EXPECT_EQ(config("", ""), "none container 8");
  EXPECT_EQ(config("SingleNUMANodePodLevel", ""), "single-numa-node pod 8");
  EXPECT_EQ(config("SingleNUMANodeContainerLevel", ""), "single-numa-node container 8");
  EXPECT_EQ(config("RestrictedPodLevel, BestEffortContainerLevel", ""), "restricted pod 8");
  EXPECT_EQ(config("BestEffortContainerLevel", ""), "best-effort container 8");
  EXPECT_EQ(config("Restricted", ""), "none container 8");  // as upstream: no level, no policy
  EXPECT_EQ(config("restricted", ""), "none container 8");
  EXPECT_EQ(config("SingleNUMANodePodLevel", attribute("Policy", "restricted")),
            "restricted pod 8");
  EXPECT_EQ(config("", attribute("Policy", "best-effort") + attribute("Scope", "pod") +
                           attribute("MaxNUMANodes", "16")),
            "best-effort pod 16");
  EXPECT_EQ(config("", attribute("Policy", "Restricted") + attribute("Scope", "node") +
                           attribute("MaxNUMANodes", "1")),
            "none container 8");
  EXPECT_EQ(config("", attribute("MaxNUMANodes", "4096")), "none container 1024");
  EXPECT_EQ(config("", attribute("MaxNUMANodes", "many")), "none container 8");
}

TEST(Numa, ReadsZonesOfNumaNodesOnly) {
  const Cluster cluster = Parse(
      NumaNode("n", "cpu: 8") +
      "---\napiVersion: topology.node.k8s.io/v1alpha1\nkind: NodeResourceTopology\n"
      "metadata: {name: 'n'}\ntopologyPolicies: [SingleNUMANodePodLevel]\nzones:\n"
      "- {name: node-3, type: Node, costs: [{name: node-3, value: 10}, {name: node-0, value: 21}],"
      " resources: [{name: cpu, capacity: 4, allocatable: 4, available: 1500m}]}\n"
      "- {name: socket-0, type: Socket, resources: [{name: cpu, available: 9}]}\n"
      "- {name: numa-1, type: Node, resources: [{name: cpu, available: 9}]}\n"
      "- {name: node-64, type: Node, resources: [{name: cpu, available: 9}]}\n"
      "- {name: node-0, type: Node, resources: [{name: memory, available: -1Gi}]}\n"
      "- {name: node-3, type: Node, resources: [{name: cpu, available: 9}]}\n");
  const Snapshot& view = cluster.view();
  const NumaLayout& layout = *view.Numa(0)->layout;
  EXPECT_EQ(layout.ids, (std::vector<std::uint8_t>{3, 0}));
  EXPECT_EQ(layout.by_id, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(layout.costs, (std::vector<std::int64_t>{10, 21, 255, 255}));
  EXPECT_EQ(LeftOf(view, "n", "cpu"), (Left{1500, -1}));
  EXPECT_EQ(LeftOf(view, "n", "memory"), (Left{-1, 0}));
}

TEST(Numa, SaysWhatIsWrong) {
  const std::string head =
      "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
      "metadata: {name: 'n'}\nzones:\n- name: node-0\n  type: Node\n";
  const auto error = [&](const std::string& rest) {
    const auto cluster = testing::TryParse(head + rest);
    return cluster.ok() ? std::string("none") : cluster.error().message();
  };
  const auto expect = [&](const std::string& rest, const std::string& part) {
    EXPECT_NE(error(rest).find(part), std::string::npos) << error(rest);
  };
  EXPECT_EQ(error(""), "none");
  expect("  resources: [{name: cpu, available: much}]\n",
         ":7: NodeResourceTopology n: zones[0].resources[0].available: ");
  expect("  resources: [{name: cpu, capacity: 1}]\n",
         "NodeResourceTopology n: zones[0].resources[0].available: must be given");
  expect("  resources: [{available: 1}]\n",
         "NodeResourceTopology n: zones[0].resources[0].name: must be given");
  expect("  costs: [{name: node-0, value: near}]\n",
         "NodeResourceTopology n: zones[0].costs[0].value: expected an integer of 64 bits");
  expect("- {name: node-1}\n", "NodeResourceTopology n: zones[1].type: must be given");
  expect("  resources: [{name: cpu, allocatable: 9E, available: 1}]\n",
         "NodeResourceTopology n: zones[0].resources[0].allocatable: 9E is more than 64 bits");
  expect("  resources: [{name: cpu, allocatable: -1, available: 1}]\n",
         "zones[0].resources[0].allocatable: -1 is negative (allowed: zero or more)");
  expect("attributes: pod\n", "NodeResourceTopology n: attributes: expected a list");
  // Without a version it says which one.
  const auto unversioned = testing::TryParse("kind: NodeResourceTopology\nmetadata: {name: 'n'}\n");
  ASSERT_FALSE(unversioned.ok());
  EXPECT_NE(unversioned.error().message().find(
                "apiVersion: must be given (allowed for a NodeResourceTopology: "
                "topology.node.k8s.io/v1alpha2)"),
            std::string::npos)
      << unversioned.error().message();
  // An event that is refused changes nothing.
  Cluster cluster = Parse(NumaNode("n", "cpu: 8") + Topology("n", "", {"cpu: 4"}));
  const std::string before = CanonicalDump(cluster.view());
  EXPECT_FALSE(cluster.Upsert(Object(Topology("n", "", {"cpu: 9E"}))).ok());
  EXPECT_EQ(CanonicalDump(cluster.view()), before);
}

TEST(Numa, EqualZonesAreOneObject) {
  const std::vector<std::string> zones = {"cpu: 4, memory: 8Gi", "cpu: 4, memory: 8Gi"};
  Cluster cluster =
      Parse(NumaNode("a", "cpu: 8, memory: 16Gi") + NumaNode("b", "cpu: 8, memory: 16Gi") +
            NumaNode("c", "cpu: 8") + Topology("a", "SingleNUMANodePodLevel", zones) +
            Topology("b", "SingleNUMANodePodLevel", zones) + NumaPod("p", {"cpu: 2, memory: 1Gi"}) +
            NumaPod("q", {"cpu: 2, memory: 1Gi"}));
  EXPECT_EQ(cluster.view().Numa(0), cluster.view().Numa(1));
  EXPECT_EQ(cluster.view().Numa(2), nullptr);
  Assume(cluster, "p", "a");
  EXPECT_NE(cluster.view().Numa(0), cluster.view().Numa(1));
  Assume(cluster, "q", "b");
  EXPECT_EQ(cluster.view().Numa(0), cluster.view().Numa(1));
}

// --- what pods take

struct TakeCase {
  std::string policy;
  std::vector<std::string> zones;
  std::vector<std::string> containers;
  std::string resource;
  Left left;
  bool burstable = false;
};

TEST(Numa, PodsTakeWhatTheKubeletWouldGiveThem) {
  const std::string two = "cpu: 4, memory: 8Gi, a.b/c: 1";
  const std::vector<TakeCase> cases = {
      // One zone has it all, the one with the lowest id.
      {"SingleNUMANodeContainerLevel", {two, two}, {"cpu: 2, memory: 1Gi"}, "cpu", {2000, 4000}},
      {"SingleNUMANodeContainerLevel",
       {two, two},
       {"cpu: 2, memory: 1Gi"},
       "memory",
       {7 * kGi, 8 * kGi}},
      // Each container on its own, or all of them together.
      {"SingleNUMANodeContainerLevel",
       {two, two},
       {"cpu: 3, memory: 1Gi", "cpu: 3, memory: 1Gi"},
       "cpu",
       {1000, 1000}},
      {"BestEffortPodLevel",
       {two, two},
       {"cpu: 3, memory: 1Gi", "cpu: 3, memory: 1Gi"},
       "cpu",
       {0, 2000}},
      // A device pulls the cpus to its zone.
      {"BestEffortContainerLevel",
       {"cpu: 4, a.b/c: 0/1", "cpu: 4, a.b/c: 1"},
       {"cpu: 2, memory: 1Gi, a.b/c: 1"},
       "cpu",
       {4000, 2000}},
      // Nothing is aligned: each resource has the fewest zones by itself.
      {"",
       {"cpu: 4, a.b/c: 0/1", "cpu: 4, a.b/c: 1"},
       {"cpu: 2, memory: 1Gi, a.b/c: 1"},
       "cpu",
       {2000, 4000}},
      // Parts of cores, and pods that aren't Guaranteed, are bound to no zone; devices are.
      {"SingleNUMANodePodLevel", {two, two}, {"cpu: 1500m, memory: 1Gi"}, "cpu", {4000, 4000}},
      {"SingleNUMANodePodLevel",
       {two, two},
       {"cpu: 1500m, memory: 1Gi"},
       "memory",
       {7 * kGi, 8 * kGi}},
      {"SingleNUMANodePodLevel", {two, two}, {"cpu: 2, a.b/c: 1"}, "cpu", {4000, 4000}, true},
      {"SingleNUMANodePodLevel", {two, two}, {"cpu: 2, a.b/c: 1"}, "a.b/c", {0, 1}, true},
      // What init containers had is used again; sidecars keep theirs.
      {"SingleNUMANodeContainerLevel",
       {two, two},
       {"init cpu: 3, memory: 1Gi", "cpu: 2, memory: 1Gi"},
       "cpu",
       {1000, 4000}},
      {"SingleNUMANodeContainerLevel",
       {two, two},
       {"sidecar cpu: 1, memory: 1Gi", "init cpu: 3, memory: 1Gi", "cpu: 3, memory: 1Gi"},
       "cpu",
       {0, 4000}},
      {"SingleNUMANodePodLevel",
       {two, two},
       {"sidecar cpu: 1, memory: 1Gi", "init cpu: 1, memory: 1Gi", "cpu: 2, memory: 1Gi"},
       "cpu",
       {1000, 4000}},
      // The kubelet would refuse this one; it takes what there is.
      {"SingleNUMANodeContainerLevel", {two, two}, {"cpu: 6, memory: 1Gi"}, "cpu", {0, 2000}},
      {"SingleNUMANodeContainerLevel", {two, two}, {"cpu: 9, memory: 1Gi"}, "cpu", {0, 0}},
      // More zones than hints are made for are filled from the first one on.
      {"RestrictedPodLevel",
       {"cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1", "cpu: 1"},
       {"cpu: 3, memory: 1Gi"},
       "cpu",
       {0, 0, 0, 1000, 1000, 1000, 1000, 1000, 1000}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const TakeCase& c = cases[i];
    Cluster cluster =
        Parse(NumaNode("n", "cpu: 64, memory: 64Gi, a.b/c: 8") + Topology("n", c.policy, c.zones) +
              NumaPod("p", c.containers, c.burstable));
    const std::string before = CanonicalDump(cluster.view());
    Assume(cluster, "p", "n");
    EXPECT_EQ(LeftOf(cluster.view(), "n", c.resource), c.left);
    ASSERT_TRUE(cluster.ForgetPod(*cluster.view().FindPod("default", "p")).ok());
    EXPECT_EQ(CanonicalDump(cluster.view()), before);
  }
}

TEST(Numa, AReportCountsThePodsThatAreThere) {
  const std::string zones = "cpu: 4, memory: 8Gi";
  Cluster cluster = Parse(NumaNode("n", "cpu: 8, memory: 16Gi") +
                          Topology("n", "SingleNUMANodePodLevel", {zones, zones}) +
                          NumaPod("p", {"cpu: 2, memory: 1Gi"}));
  Assume(cluster, "p", "n");
  const std::uint64_t key = cluster.view().FindPod("default", "p")->Key();
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  // The same again says nothing new.
  ASSERT_TRUE(cluster.Upsert(Object(Topology("n", "SingleNUMANodePodLevel", {zones, zones}))).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  EXPECT_NE(cluster.view().NumaTakesOf(key), nullptr);
  const std::uint64_t generation = cluster.view().Generations()[0];
  ASSERT_TRUE(cluster
                  .Upsert(Object(Topology("n", "SingleNUMANodePodLevel",
                                          {zones, "cpu: 2/4, memory: 7Gi/8Gi"})))
                  .ok());
  EXPECT_GT(cluster.view().Generations()[0], generation);
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{4000, 2000}));
  EXPECT_EQ(cluster.view().NumaTakesOf(key), nullptr);
  ASSERT_TRUE(cluster.DeletePod("default", "p").ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{4000, 2000}));  // until the next report
}

TEST(Numa, ObjectsAndNodesComeInAnyOrder) {
  const std::string node = NumaNode("n", "cpu: 8, memory: 16Gi");
  const std::string topology = Topology("n", "SingleNUMANodePodLevel", {"cpu: 4", "cpu: 4"});
  Cluster cluster = Parse(topology + NumaPod("p", {"cpu: 2, memory: 1Gi"}));
  EXPECT_FALSE(cluster.view().HasNuma());
  ASSERT_TRUE(cluster.AddNode(api::ParseObjects(NumaNode("m", "cpu: 8"))->nodes[0]).ok());
  ASSERT_TRUE(cluster.AddNode(api::ParseObjects(node)->nodes[0]).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{4000, 4000}));
  EXPECT_EQ(LeftOf(cluster.view(), "m", "cpu"), Left{});
  Assume(cluster, "p", "n");
  ASSERT_TRUE(cluster.FinishBinding(*cluster.view().FindPod("default", "p")).ok());
  // It stays as it is when the node or the pod changes, and when the node comes back.
  ASSERT_TRUE(
      cluster.UpdateNode(api::ParseObjects(NumaNode("n", "cpu: 9, memory: 16Gi"))->nodes[0]).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  api::Pod pod = PodOf(NumaPod("p", {"cpu: 2, memory: 1Gi"}));
  pod.spec.node_name = "n";
  pod.metadata.labels["a"] = "b";
  ASSERT_TRUE(cluster.UpdatePod(pod).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  ASSERT_TRUE(cluster.DeleteNode("n").ok());
  ASSERT_TRUE(cluster.AddNode(api::ParseObjects(node)->nodes[0]).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  ASSERT_TRUE(cluster.DeleteNode("n").ok());
  ASSERT_TRUE(cluster.Upsert(Object(Topology("n", "", {"cpu: 1", "cpu: 3"}))).ok());
  ASSERT_TRUE(cluster.AddNode(api::ParseObjects(node)->nodes[0]).ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{1000, 3000}));
}

TEST(Numa, PodsThatCameWithTheirNodeAreCountedByTheReport) {
  Cluster cluster =
      Parse(NumaNode("n", "cpu: 8, memory: 16Gi") + Topology("n", "", {"cpu: 2/4", "cpu: 4"}) +
            NumaPod("p", {"cpu: 2, memory: 1Gi"}, false, "  nodeName: 'n'\n"));
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
  ASSERT_TRUE(cluster.DeletePod("default", "p").ok());
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{2000, 4000}));
}

TEST(Numa, DryRunsMoveThem) {
  Cluster cluster =
      Parse(NumaNode("n", "cpu: 8, memory: 16Gi") +
            Topology("n", "BestEffortPodLevel", {"cpu: 4", "cpu: 4"}) +
            NumaPod("p", {"cpu: 3, memory: 1Gi"}) + NumaPod("q", {"cpu: 2, memory: 1Gi"}) +
            NumaPod("r", {"cpu: 4, memory: 1Gi"}));
  Assume(cluster, "p", "n");
  Assume(cluster, "q", "n");
  const PodPtr p = cluster.view().FindPod("default", "p");
  const PodPtr q = cluster.view().FindPod("default", "q");
  const PodPtr r = cluster.view().FindPod("default", "r");
  DryRun run(cluster.view());
  const auto left = [&] { return LeftOf(run.view(), "n", "cpu"); };
  EXPECT_EQ(left(), (Left{1000, 2000}));
  run.RemovePod(*p, 0);
  run.RemovePod(*q, 0);
  EXPECT_EQ(left(), (Left{4000, 4000}));
  ASSERT_TRUE(run.AddPod(q, 0).ok());  // where it was, not where it would be put now
  EXPECT_EQ(left(), (Left{4000, 2000}));
  ASSERT_TRUE(run.AddPod(r, 0).ok());  // it waits: a nominated pod, say
  EXPECT_EQ(left(), (Left{0, 2000}));
  run.RemovePod(*r, 0);
  ASSERT_TRUE(run.AddPod(p, 0).ok());
  EXPECT_EQ(left(), (Left{1000, 2000}));
  ASSERT_TRUE(run.AddPod(r, 0).ok());
  EXPECT_EQ(left(), (Left{0, 0}));
  run.RemovePod(*r, 0);
  EXPECT_EQ(left(), (Left{1000, 2000}));
  EXPECT_EQ(LeftOf(cluster.view(), "n", "cpu"), (Left{1000, 2000}));
}

TEST(Numa, CheckpointsKeepThem) {
  const std::string zones = "cpu: 4, memory: 8Gi";
  const std::string gone = NumaNode("gone", "cpu: 8, memory: 16Gi");
  Cluster cluster =
      Parse(NumaNode("n", "cpu: 8, memory: 16Gi") + gone +
            Topology("n", "SingleNUMANodePodLevel", {zones, zones}) +
            Topology("gone", "SingleNUMANodePodLevel", {"cpu: 2/4", zones}) +
            Topology("later", "BestEffortPodLevel", {zones}) +
            NumaPod("a", {"cpu: 3, memory: 1Gi"}) + NumaPod("b", {"cpu: 2, memory: 1Gi"}) +
            NumaPod("c", {"cpu: 2, memory: 1Gi"}) + NumaPod("d", {"cpu: 1, memory: 1Gi"}));
  for (const auto& [pod, node] :
       {std::pair("a", "n"), std::pair("b", "n"), std::pair("c", "gone"), std::pair("d", "n")}) {
    Assume(cluster, pod, node);
    if (std::string(pod) == "d") continue;
    ASSERT_TRUE(cluster.FinishBinding(*cluster.view().FindPod("default", pod)).ok());
  }
  ASSERT_TRUE(cluster.DeletePod("default", "a").ok());
  ASSERT_TRUE(cluster.ForgetPod(*cluster.view().FindPod("default", "d")).ok());
  const auto scheduler = testing::MakeScheduler();
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.DeleteNode("gone").ok());
  const CheckpointFile file = loop.Checkpoint();
  Cluster other;
  const auto again = testing::MakeScheduler();
  SchedulingLoop restored(*again, other);
  const auto done = restored.Restore(file);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(CanonicalDump(other.view()), CanonicalDump(cluster.view()));
  EXPECT_EQ(LeftOf(other.view(), "n", "cpu"), (Left{4000, 2000}));
  for (SchedulingLoop* each : {&loop, &restored}) {
    ASSERT_TRUE(each->AddNode(api::ParseObjects(gone)->nodes[0]).ok());
  }
  EXPECT_EQ(LeftOf(other.view(), "gone", "cpu"), (Left{2000, 2000}));
  EXPECT_EQ(CanonicalDump(other.view()), CanonicalDump(cluster.view()));
}

// --- whatever happens, in any order

class RandomZones {
 public:
  explicit RandomZones(std::uint64_t seed) : random_(seed) {}

  void Run(int steps) {
    for (int i = 0; i < 5; ++i) AddNode(i);
    for (int i = 0; i < 12; ++i) AddPod();
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      Step();
      Check(cluster_.view());
    }
  }

 private:
  std::string Amount(std::uint64_t most) { return std::to_string(random_.Below(most + 1)); }
  std::string NodeName(std::uint64_t i) { return "n" + std::to_string(i); }
  std::string RandomTopology(const std::string& name) {
    static const std::vector<std::string> kPolicies = {
        "SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "RestrictedContainerLevel",
        "BestEffortPodLevel", ""};
    std::vector<std::string> zones(1 + random_.Below(4));
    for (std::string& zone : zones) {
      zone = "cpu: " + Amount(6) + "/6";
      if (random_.Below(4) != 0) zone += ", memory: " + Amount(8) + "Gi/8Gi";
      if (random_.Below(2) != 0) zone += ", a.b/c: " + Amount(2) + "/2";
    }
    return Topology(name, kPolicies[random_.Below(kPolicies.size())], zones);
  }
  void AddNode(std::uint64_t i) {
    const std::string name = NodeName(i);
    if (cluster_.view().Find(name)) return;
    ASSERT_TRUE(
        cluster_
            .AddNode(api::ParseObjects(NumaNode(name, "cpu: 64, memory: 64Gi, a.b/c: 9"))->nodes[0])
            .ok());
  }
  void AddPod() {
    std::vector<std::string> containers;
    for (std::uint64_t i = 0, n = 1 + random_.Below(3); i < n; ++i) {
      static const std::vector<std::string> kKinds = {"", "", "init ", "sidecar "};
      std::string text = (i == 0 ? "" : kKinds[random_.Below(kKinds.size())]) +
                         "cpu: " + std::to_string(1 + random_.Below(4)) +
                         (random_.Below(5) == 0 ? "500m" : "") + ", memory: 1Gi";
      if (random_.Below(3) == 0) text += ", a.b/c: 1";
      containers.push_back(text);
    }
    const std::string name = "p" + std::to_string(next_pod_++);
    ASSERT_TRUE(cluster_.AddPod(PodOf(NumaPod(name, containers, random_.Below(4) == 0))).ok());
    pods_.push_back(name);
  }
  PodPtr AnyPod() { return cluster_.view().FindPod("default", pods_[random_.Below(pods_.size())]); }

  void Step() {
    const Snapshot before = cluster_.snapshot();
    const PodPtr pod = AnyPod();
    switch (random_.Below(11)) {
      case 0:
      case 1:
      case 2: {
        if (before.size() == 0 || !before.IsPending(pod->Key())) return;
        const Row row = static_cast<Row>(random_.Below(before.size()));
        ASSERT_TRUE(cluster_.AssumePod(*pod, row).ok());
        ExpectAsPlaced(before, *pod, row);
        return;
      }
      case 3:
        (void)cluster_.ForgetPod(*pod);
        return;
      case 4:
        (void)cluster_.FinishBinding(*pod);
        return;
      case 5:
        ASSERT_TRUE(cluster_.DeletePod("default", pod->pod->metadata.name).ok());
        std::erase(pods_, pod->pod->metadata.name);
        AddPod();
        return;
      case 6: {
        const std::uint64_t node = random_.Below(5);
        if (cluster_.view().Find(NodeName(node))) {
          ASSERT_TRUE(cluster_.DeleteNode(NodeName(node)).ok());
        } else {
          AddNode(node);
        }
        return;
      }
      case 7:
        ASSERT_TRUE(cluster_.Upsert(Object(RandomTopology(NodeName(random_.Below(5))))).ok());
        return;
      case 8: {  // an update of a pod that has its node
        const auto row = before.RowOf("default", pod->pod->metadata.name);
        if (!row) return;
        api::Pod object = *pod->pod;
        object.spec.node_name = before.name(*row);
        object.metadata.labels["step"] = std::to_string(next_pod_);
        const Left left = LeftOf(before, before.name(*row), "cpu");
        ASSERT_TRUE(cluster_.UpdatePod(object).ok());
        EXPECT_EQ(LeftOf(cluster_.view(), before.name(*row), "cpu"), left);
        return;
      }
      case 9: {  // what-ifs leave it alone
        const std::string dump = CanonicalDump(cluster_.view());
        Cluster fork = cluster_.Fork();
        std::swap(fork, cluster_);
        const std::vector<std::string> pods = pods_;
        for (int i = 0; i < 5; ++i) Step();
        Check(cluster_.view());
        std::swap(fork, cluster_);
        pods_ = pods;
        EXPECT_EQ(CanonicalDump(cluster_.view()), dump);
        return;
      }
      default:
        TryDryRun();
    }
  }

  // All pods of a node leave and come back in another order.
  void TryDryRun() {
    DryRun run(cluster_.view());
    for (Row row = 0; row < cluster_.view().size(); ++row) {
      std::vector<PodPtr> pods = cluster_.view().pods(row);
      for (const PodPtr& pod : pods) run.RemovePod(*pod, row);
      std::reverse(pods.begin(), pods.end());
      for (const PodPtr& waiting : cluster_.view().Pending()) {
        ASSERT_TRUE(run.AddPod(waiting, row).ok());
        run.RemovePod(*waiting, row);
      }
      for (const PodPtr& pod : pods) ASSERT_TRUE(run.AddPod(pod, row).ok());
      EXPECT_EQ(run.view().Numa(row), cluster_.view().Numa(row));
    }
  }

  void ExpectAsPlaced(const Snapshot& before, const PodInfo& pod, Row row) {
    const NumaTakes* takes = cluster_.view().NumaTakesOf(pod.Key());
    NumaTakes want;
    if (const NumaZones* zones = before.Numa(row)) {
      Dictionary& dictionary = before.dictionary();
      want = PlaceInZones(*zones, NumaDemandOf(*pod.pod, dictionary), dictionary).takes;
    }
    EXPECT_EQ(takes == nullptr ? NumaTakes{} : *takes, want);
  }

  // What a node's object says, without what its pods have.
  static void Check(const Snapshot& view) {
    for (Row row = 0; row < view.size(); ++row) {
      const NumaReportPtr* report =
          ObjectStore::Find(view.objects().node_resource_topologies, {}, view.name(row));
      const NumaZones* zones = view.Numa(row);
      ASSERT_EQ(zones != nullptr, report != nullptr);
      if (zones == nullptr) continue;
      std::vector<std::int64_t> left = (*report)->zones->available;
      for (const PodPtr& pod : view.pods(row)) {
        const NumaTakes* takes = view.NumaTakesOf(pod->Key());
        if (takes == nullptr) continue;
        for (const NumaTake& take : *takes) {
          left[zones->layout->At(take.zone, *zones->layout->Find(take.resource))] -= take.amount;
        }
      }
      EXPECT_EQ(zones->layout, (*report)->zones->layout);
      EXPECT_EQ(zones->available, left) << view.name(row);
      EXPECT_TRUE(std::all_of(left.begin(), left.end(), [](std::int64_t amount) {
        return amount >= 0 || amount == NumaLayout::kNone;
      }));
    }
  }

  Random random_;
  Cluster cluster_;
  std::vector<std::string> pods_;
  int next_pod_ = 0;
};

TEST(Numa, ZonesAreAlwaysWhatARecountGives) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomZones(seed).Run(150);
  }
}

}  // namespace
}  // namespace schedfw
