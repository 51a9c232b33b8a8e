// Preemption and nominated pods: what recorded answers don't show, and what is done about it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/framework/framework.h"
#include "schedfw/plugins/registry.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

// A pod with a priority, bound to a node unless that is empty.
std::string Prio(const std::string& name, int priority, const std::string& node = "",
                 const std::string& cpu = "1", const std::string& more = "") {
  return PodYaml(name, "app: " + name,
                 "  priority: " + std::to_string(priority) + "\n" +
                     (node.empty() ? "" : "  nodeName: " + node + "\n") + more,
                 cpu);
}
// The status of the pod that the text ends with.
std::string StatusYaml(const std::string& status) { return "status: {" + status + "}\n"; }

PodPtr Pod(const Cluster& cluster, const std::string& name) {
  const PodPtr pod = cluster.view().FindPod("default", name);
  EXPECT_NE(pod, nullptr) << name;
  return pod;
}

std::vector<std::string> Names(const PreemptionResult& result) {
  std::vector<std::string> out;
  for (const Victim& victim : result.victims) out.push_back(victim.pod->pod->metadata.name);
  return out;
}
using Strings = std::vector<std::string>;

TEST(Preemption, TheLeastImportantPodsGo) {
  const auto scheduler = MakeScheduler();
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "4") + Prio("a", 5, "n1") +
            StatusYaml("phase: Running, startTime: \"2026-01-01T00:00:02Z\"") + Prio("b", 5, "n1") +
            StatusYaml("phase: Running, startTime: \"2026-01-01T00:00:01Z\"") + Prio("c", 7, "n1") +
            Prio("d", 5, "n1") + Prio("new", 10, "", "2"));
  const std::uint64_t generation = cluster.view().generation();
  const PreemptionResult result = scheduler->FindVictims(cluster.view(), *Pod(cluster, "new"));
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.nominated_node, "n1");
  // Of equal priority those that started later go; without a start time counts as latest.
  EXPECT_EQ(Names(result), (Strings{"a", "d"}));
  EXPECT_EQ(result.victims[0].reason, "its priority 5 is below 10 of default/new");
  EXPECT_EQ(cluster.view().generation(), generation);
}

TEST(Preemption, OfEqualPodsTheFirstByNameStay) {
  const auto scheduler = MakeScheduler();
  std::string text = NodeYaml("n1", "", "20") + Prio("new", 10, "", "3");
  for (int i = 29; i >= 10; --i) text += Prio("p" + std::to_string(i), 1, "n1");
  const Cluster cluster = Parse(text);
  const PreemptionResult result = scheduler->FindVictims(cluster.view(), *Pod(cluster, "new"));
  EXPECT_EQ(Names(result), (Strings{"p27", "p28", "p29"}));
}

TEST(Preemption, OfEqualNodesTheFirstByNameIsTaken) {
  const auto scheduler = MakeScheduler();
  std::string text = Prio("new", 10, "", "1");
  for (const char* node : {"c", "a", "b"}) {
    text += NodeYaml(node, "", "1") + Prio(std::string("on-") + node, 1, node);
  }
  const Cluster cluster = Parse(text);
  EXPECT_EQ(scheduler->FindVictims(cluster.view(), *Pod(cluster, "new")).nominated_node, "a");
}

TEST(Preemption, EnoughCandidatesEndTheSearch) {
  std::string text = Prio("new", 10, "", "1");
  // The cheapest node comes last by name.
  for (int i = 0; i < 30; ++i) {
    const std::string node = "n" + std::to_string(10 + i);
    text += NodeYaml(node, "", "1") + Prio("p" + std::to_string(10 + i), 9 - i / 4, node);
  }
  const Cluster cluster = Parse(text);
  const auto nominated = [&](int percentage, int absolute) {
    const auto scheduler = MakeScheduler(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args:\n"
        "      minCandidateNodesPercentage: " +
        std::to_string(percentage) +
        "\n      minCandidateNodesAbsolute: " + std::to_string(absolute) + "\n");
    return scheduler->FindVictims(cluster.view(), *Pod(cluster, "new")).nominated_node;
  };
  EXPECT_EQ(nominated(0, 1), "n10");
  EXPECT_EQ(nominated(0, 5), "n14");
  EXPECT_EQ(nominated(50, 1), "n22");    // 15 of 30
  EXPECT_EQ(nominated(10, 100), "n38");  // all
}

TEST(Preemption, NodesAreTriedZoneByZone) {
  std::string text = Prio("new", 10, "", "1");
  for (const auto& [node, zone, priority] :
       {std::tuple{"a", "z1", 5}, std::tuple{"b", "z1", 5}, std::tuple{"c", "z2", 1}}) {
    text += NodeYaml(node, std::string("topology.kubernetes.io/zone: ") + zone, "1") +
            Prio(std::string("on-") + node, priority, node);
  }
  const Cluster cluster = Parse(text);
  const auto scheduler = MakeScheduler(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args:\n"
      "      minCandidateNodesPercentage: 0\n      minCandidateNodesAbsolute: 2\n");
  // Two candidates are enough: a and c, since the other zone comes second.
  EXPECT_EQ(scheduler->FindVictims(cluster.view(), *Pod(cluster, "new")).nominated_node, "c");
}

TEST(Preemption, APortIsInUseUntilTheLastPodGoes) {
  const auto scheduler = MakeScheduler();
  const std::string port =
      "  containers: [{name: c, ports: [{containerPort: 53, hostPort: 53}]}]\n";
  const auto pod = [&](const std::string& name, int priority, const std::string& node) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + port +
           "  priority: " + std::to_string(priority) + "\n" +
           (node.empty() ? "" : "  nodeName: " + node + "\n");
  };
  const Cluster cluster =
      Parse(NodeYaml("n1") + pod("stays", 10, "n1") + pod("goes", 1, "n1") + pod("new", 10, ""));
  EXPECT_EQ(scheduler->FindVictims(cluster.view(), *Pod(cluster, "new")).nominated_node, "");
}

TEST(Preemption, SaysWhyItDoesNotHelp) {
  const auto scheduler = MakeScheduler();
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "2") + Prio("same", 10, "n1") +
            Prio("big", 20, "n2") + Prio("small", 1, "n2") + Prio("new", 10, "", "2") +
            Prio("never", 10, "", "2", "  preemptionPolicy: Never\n") + Prio("fits", 0, "", "0") +
            Prio("torn", 10, "", "1",
                 "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                 "{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: "
                 "[n1]}, {key: metadata.name, operator: In, values: [n2]}]}]}}}\n"));
  const auto why = [&](const std::string& name) {
    const PreemptionResult result = scheduler->FindVictims(cluster.view(), *Pod(cluster, name));
    EXPECT_TRUE(result.victims.empty());
    EXPECT_EQ(result.status.code(), Code::kUnschedulable);
    return result.status.message();
  };
  EXPECT_EQ(why("new"),
            "preemption: 0/2 nodes are available: 1 Insufficient cpu, "
            "1 Preemption is not helpful for scheduling.");
  // Rejected as a whole by PreFilter.
  EXPECT_EQ(why("torn"),
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
  EXPECT_EQ(why("never"), "preemption: not eligible due to preemptionPolicy=Never.");
  EXPECT_EQ(why("fits"), "the pod fits without evicting any");
  const Cluster empty = Parse(Prio("new", 10));
  EXPECT_EQ(scheduler->FindVictims(empty.view(), *Pod(empty, "new")).status.message(),
            "preemption: no nodes available");
}

TEST(Preemption, WaitsForVictimsThatAreGoing) {
  const auto scheduler = MakeScheduler();
  const std::string going = "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n";
  std::string victim = Prio("going", 1, "n1");
  victim.insert(victim.find("spec:"), going);
  const std::string condition =
      "phase: Running, conditions: [{type: DisruptionTarget, status: \"True\", reason: "
      "PreemptionByScheduler}]";
  const std::string rest = NodeYaml("n1", "", "2") + Prio("other", 1, "n1") +
                           Prio("new", 10, "", "2") + StatusYaml("nominatedNodeName: n1");
  const auto result = [&](const std::string& status) {
    const Cluster cluster = Parse(victim + StatusYaml(status) + rest);
    return scheduler->FindVictims(cluster.view(), *Pod(cluster, "new"));
  };
  EXPECT_EQ(result(condition).status.message(),
            "preemption: not eligible due to a terminating pod on the nominated node.");
  // It is among those that make room, but needs no eviction.
  const PreemptionResult both = result("phase: Running");
  EXPECT_EQ(both.nominated_node, "n1");
  EXPECT_EQ(Names(both), (Strings{"other"}));
}

TEST(Preemption, BudgetsAreSparedAndNamed) {
  const auto scheduler = MakeScheduler();
  const std::string budget =
      "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\n"
      "metadata: {name: keep, namespace: default}\n"
      "spec: {selector: {matchLabels: {app: a}}}\nstatus: {disruptionsAllowed: 0}\n";
  const std::string node = NodeYaml("n1", "", "2") + Prio("a", 1, "n1") + Prio("b", 5, "n1");
  const Cluster one = Parse(node + Prio("new", 10, "", "1") + budget);
  EXPECT_EQ(Names(scheduler->FindVictims(one.view(), *Pod(one, "new"))), (Strings{"b"}));
  const Cluster both = Parse(node + Prio("new", 10, "", "2") + budget);
  const PreemptionResult result = scheduler->FindVictims(both.view(), *Pod(both, "new"));
  ASSERT_EQ(Names(result), (Strings{"b", "a"}));
  EXPECT_EQ(result.victims[0].violated_budget, "");
  EXPECT_EQ(result.victims[1].violated_budget, "default/keep");
}

TEST(Preemption, ActsOnTheCluster) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(NodeYaml("n1", "", "2") + Prio("a", 1, "n1", "2") +
                          Prio("waits", 5, "", "2") + StatusYaml("nominatedNodeName: n1") +
                          Prio("new", 10, "", "2") + Prio("hopeless", 10, "", "9"));
  const Snapshot before = cluster.snapshot();
  const PreemptionResult result = scheduler->Preempt(cluster, *Pod(cluster, "new"));
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(cluster.view().FindPod("default", "a"), nullptr);
  EXPECT_EQ(Pod(cluster, "new")->pod->status.nominated_node_name, "n1");
  EXPECT_EQ(Pod(cluster, "waits")->pod->status.nominated_node_name, "");
  EXPECT_NE(before.FindPod("default", "a"), nullptr);  // snapshots stay
  // Nobody of a lower priority takes the room meanwhile.
  EXPECT_FALSE(scheduler->Schedule(cluster.view(), *Pod(cluster, "waits")).status.ok());
  EXPECT_EQ(scheduler->ScheduleOne(cluster, *Pod(cluster, "new")).node, "n1");
  EXPECT_FALSE(cluster.view().HasNominations());
  // What no eviction helps loses its nomination.
  ASSERT_TRUE(cluster.NominatePod("default", "hopeless", "n1").ok());
  EXPECT_FALSE(scheduler->Preempt(cluster, *Pod(cluster, "hopeless")).status.ok());
  EXPECT_EQ(Pod(cluster, "hopeless")->pod->status.nominated_node_name, "");
  EXPECT_FALSE(cluster.view().HasNominations());
}

TEST(Preemption, VictimsMayBeWhatAffinityObjectsTo) {
  const auto scheduler = MakeScheduler();
  const std::string anti =
      "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: zone, labelSelector: {matchLabels: {app: loud}}}]}}\n";
  const Cluster cluster =
      Parse(NodeYaml("n1", "zone: a") + NodeYaml("n2", "zone: a") + Prio("loud", 1, "n1") +
            Prio("calm", 1, "n1") + Prio("new", 10, "", "1", anti));
  const PreemptionResult result = scheduler->FindVictims(cluster.view(), *Pod(cluster, "new"));
  EXPECT_EQ(result.nominated_node, "n1");
  EXPECT_EQ(Names(result), (Strings{"loud"}));
}

TEST(Preemption, SpreadCountsFollowTheVictims) {
  const auto scheduler = MakeScheduler();
  const std::string spread =
      "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {set: s}}}]\n";
  const auto pod = [&](const std::string& name, int priority, const std::string& node) {
    return PodYaml(name, "set: s",
                   "  priority: " + std::to_string(priority) + "\n  nodeName: " + node + "\n");
  };
  // Both zones are uneven by one already; on n2 there is no room.
  const Cluster cluster =
      Parse(NodeYaml("n1", "zone: a") + NodeYaml("n2", "zone: b", "1") + pod("a1", 1, "n1") +
            pod("a2", 2, "n1") + pod("b1", 50, "n2") + Prio("full", 50, "n2", "900m") +
            PodYaml("new", "set: s", "  priority: 10\n" + spread));
  const PreemptionResult result = scheduler->FindVictims(cluster.view(), *Pod(cluster, "new"));
  EXPECT_EQ(result.nominated_node, "n1");
  EXPECT_EQ(Names(result), (Strings{"a1"}));
}

TEST(Nominations, CountForPodsOfTheSameOrALowerPriority) {
  const auto scheduler = MakeScheduler();
  const auto text = [](const std::string& node) {
    return NodeYaml("n1", "", "2") + Prio("nominated", 5, "", "2") +
           StatusYaml("nominatedNodeName: " + node) + Prio("lower", 1, "", "1") +
           Prio("same", 5, "", "1") + Prio("higher", 6, "", "1");
  };
  const auto fits = [&](const Cluster& cluster, const std::string& name) {
    return scheduler->Schedule(cluster.view(), *Pod(cluster, name)).status.ok();
  };
  Cluster cluster = Parse(text("n1"));
  EXPECT_FALSE(fits(cluster, "lower"));
  EXPECT_FALSE(fits(cluster, "same"));
  EXPECT_TRUE(fits(cluster, "higher"));
  EXPECT_TRUE(fits(cluster, "nominated"));  // its own counts not
  EXPECT_EQ(scheduler->Explain(cluster.view(), Pod(cluster, "lower")).diagnosis.Message(),
            "0/1 nodes are available: 1 Insufficient cpu.");
  ASSERT_TRUE(cluster.NominatePod("default", "nominated", "").ok());
  EXPECT_TRUE(fits(cluster, "lower"));
  ASSERT_TRUE(cluster.NominatePod("default", "nominated", "gone").ok());
  EXPECT_TRUE(fits(cluster, "lower"));
  ASSERT_TRUE(cluster.NominatePod("default", "nominated", "n1").ok());
  EXPECT_FALSE(fits(cluster, "lower"));
  ASSERT_TRUE(cluster.DeletePod("default", "nominated").ok());
  EXPECT_TRUE(fits(cluster, "lower"));
  EXPECT_FALSE(cluster.view().HasNominations());
}

TEST(Nominations, OfSchedulersThatAreNotOursDoNotCount) {
  const auto scheduler = MakeScheduler();
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "2") + Prio("foreign", 5, "", "2", "  schedulerName: other\n") +
            StatusYaml("nominatedNodeName: n1") + Prio("lower", 1, "", "1"));
  EXPECT_TRUE(scheduler->Schedule(cluster.view(), *Pod(cluster, "lower")).status.ok());
}

TEST(Nominations, TheNominatedNodeIsTriedFirst) {
  const auto scheduler = MakeScheduler();
  const Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + Prio("x", 0, "n2", "4") +
                                Prio("new", 1) + StatusYaml("nominatedNodeName: n2") +
                                Prio("big", 0, "", "7") + StatusYaml("nominatedNodeName: n2"));
  const ScheduleResult result = scheduler->Schedule(cluster.view(), *Pod(cluster, "new"));
  EXPECT_EQ(result.node, "n2");
  EXPECT_EQ(result.evaluated, 1u);
  EXPECT_EQ(scheduler->Schedule(cluster.view(), *Pod(cluster, "big")).node, "n1");
}

TEST(Nominations, OnlyWaitingPodsAreNominated) {
  Cluster cluster = Parse(NodeYaml("n1") + Prio("bound", 0, "n1") + Prio("p", 0));
  EXPECT_EQ(cluster.NominatePod("default", "bound", "n1").error().message(),
            "Pod default/bound does not wait for a node");
  EXPECT_EQ(cluster.NominatePod("default", "none", "n1").error().message(),
            "there is no Pod default/none");
  EXPECT_FALSE(cluster.view().HasNominations());
}

// A filter that reads nothing but the pods of a node, and one that fails.
class AtMostTwo : public FilterPlugin {
 public:
  std::string_view Name() const override { return "AtMostTwo"; }
  Status Filter(const Cycle&, const NodeInfo& node) const override {
    return node.pods().size() < 2 ? Status() : Status::Unschedulable("two pods are there");
  }
};
TEST(Preemption, WorksWithFiltersOfOneNodeACall) {
  Registry registry = InTreeRegistry();
  ASSERT_TRUE((registry.Add<AtMostTwo>("AtMostTwo", "at most two pods a node").ok()));
  auto config = ParseConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles:\n- plugins: {filter: {enabled: [{name: AtMostTwo}]}}\n",
      registry);
  ASSERT_TRUE(config.ok()) << config.error().message();
  auto scheduler = Scheduler::Create(*config, registry);
  ASSERT_TRUE(scheduler.ok()) << scheduler.error().message();
  const Cluster cluster =
      Parse(NodeYaml("n1") + Prio("a", 1, "n1") + Prio("b", 2, "n1") + Prio("new", 10));
  EXPECT_EQ(Names((*scheduler)->FindVictims(cluster.view(), *Pod(cluster, "new"))), (Strings{"a"}));
}

TEST(Sampling, FollowsZonesAndTheStartIndex) {
  std::string text;
  for (int i = 0; i < 240; ++i) {
    text += NodeYaml("n" + std::to_string(1000 + i),
                     "topology.kubernetes.io/zone: z" + std::to_string(i % 3 == 0 ? 1 : 0));
  }
  text += Prio("p", 0) + Prio("q", 0);
  SchedulerOptions options;
  options.nodes_to_score = NodesToScore::kConfigured;
  const auto scheduler = MakeScheduler("", options);
  Cluster cluster = Parse(text);
  for (int round = 0; round < 3; ++round) {
    const ScheduleResult result = scheduler->Schedule(cluster.view(), *Pod(cluster, "p"));
    EXPECT_EQ(result.evaluated, 117u);  // 50 - 240 / 125 = 49 percent of 240
    EXPECT_EQ(result.feasible, result.evaluated);
  }
  // The order: a node of each zone in turn; the zone of the first node comes first. A node that
  // changes its zone goes to the end of the new one.
  const auto order = [&] {
    std::vector<std::string> out;
    for (const Row row : cluster.view().TreeOrder()) out.push_back(cluster.view().name(row));
    return out;
  };
  const Strings first = order();
  EXPECT_EQ(Strings(first.begin(), first.begin() + 4),
            (Strings{"n1000", "n1001", "n1003", "n1002"}));
  ASSERT_TRUE(cluster.DeleteNode("n1003").ok());
  const Strings second = order();
  EXPECT_EQ(Strings(second.begin(), second.begin() + 4),
            (Strings{"n1000", "n1001", "n1006", "n1002"}));
}

}  // namespace
}  // namespace schedfw
