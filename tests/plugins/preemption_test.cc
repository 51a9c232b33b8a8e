// Preemption by units and by other orders: what PodGroups change, and LatencyAwarePreemption.

#include "schedfw/plugins/preemption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/base/random.h"
#include "schedfw/plugins/latency_aware_preemption.h"
#include "schedfw/plugins/registry.h"
#include "support/cluster.h"
#include "support/random_cluster.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::RandomCluster;
using testing::RandomObjects;
using Strings = std::vector<std::string>;

struct PodSpec {
  int priority = 0;
  std::string node = {};  // "": it waits
  int cpu = 1;
  std::string group = {};
  int start = 0;                 // seconds after midnight; 0: it hasn't started
  std::string annotations = {};  // "a: b, c: d"
  std::string spec = {};         // more of it: ", a: b"
  std::string status = {};       // the same
  std::string labels = {};       // "a: b"
};

std::string Pod(const std::string& name, const PodSpec& in) {
  std::string spec = "priority: " + std::to_string(in.priority) + in.spec;
  if (!in.node.empty()) spec += ", nodeName: " + in.node;
  if (!in.group.empty()) spec += ", schedulingGroup: {podGroupName: " + in.group + "}";
  std::string status = "phase: " + std::string(in.node.empty() ? "Pending" : "Running") + in.status;
  if (in.start > 0) {
    char text[64];
    std::snprintf(text, sizeof text, ", startTime: '2026-01-01T%02d:%02d:%02dZ'",
                  in.start / 3600 % 24, in.start / 60 % 60, in.start % 60);
    status += text;
  }
  return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {" + in.labels +
         "}, annotations: {" + in.annotations + "}}, spec: {" + spec +
         ", containers: [{name: c, resources: {requests: {cpu: '" + std::to_string(in.cpu) +
         "'}}}]}, status: {" + status + "}}\n";
}

// `priority` "": none.
std::string Group(const std::string& name, const std::string& mode, const std::string& priority) {
  return "---\n{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: " + name +
         ", namespace: default}, spec: {schedulingPolicy: {basic: {}}, disruptionMode: {" + mode +
         ": {}}" + (priority.empty() ? "" : ", priority: " + priority) + "}}\n";
}

std::string Budget(const std::string& name, const std::string& app, int allowed) {
  return "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: " + name +
         ", namespace: default}, spec: {selector: {matchLabels: {app: " + app +
         "}}}, status: {disruptionsAllowed: " + std::to_string(allowed) + "}}\n";
}

std::unique_ptr<Scheduler> WithGroups(bool groups, const std::string& config = "") {
  SchedulerOptions options;
  options.handle.generic_workload = groups;
  return MakeScheduler(config, std::move(options));
}

// A configuration whose profiles have `more` in common.
std::string Configuration(const Strings& profiles, const std::string& more) {
  std::string out =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n";
  for (const std::string& profile : profiles) out += "- schedulerName: " + profile + "\n" + more;
  return out;
}
// LatencyAwarePreemption in the place of DefaultPreemption.
std::string LatencyAware(const std::string& args, const Strings& profiles = {"default-scheduler"}) {
  return Configuration(
      profiles,
      "  plugins: {postFilter: {disabled: [{name: DefaultPreemption}], enabled: [{name: "
      "LatencyAwarePreemption}]}}\n"
      "  pluginConfig: [{name: LatencyAwarePreemption, args: {" +
          args + "}}]\n");
}

PreemptionResult Find(Scheduler& scheduler, const Cluster& cluster,
                      const std::string& name = "new") {
  const PodPtr pod = cluster.view().FindPod("default", name);
  EXPECT_NE(pod, nullptr);
  return scheduler.FindVictims(cluster.view(), *pod);
}

Strings Names(const PreemptionResult& result) {
  Strings out;
  for (const Victim& victim : result.victims) out.push_back(victim.pod->pod->metadata.name);
  return out;
}

TEST(VictimUnits, AGroupThatGoesAsAWholeGoesFromAllNodes) {
  const auto text = [](const std::string& mode) {
    return NodeYaml("n1", "", "4") + NodeYaml("n2", "", "4") + Group("g", mode, "1") +
           Pod("g0", {.priority = 1, .node = "n2", .cpu = 1, .group = "g"}) +
           Pod("g1", {.priority = 1, .node = "n1", .cpu = 3, .group = "g"}) +
           Pod("other", {.priority = 50, .node = "n2", .cpu = 3}) +
           Pod("new", {.priority = 10, .cpu = 3});
  };
  const Cluster all = Parse(text("all"));
  PreemptionResult result = Find(*WithGroups(true), all);
  EXPECT_EQ(result.nominated_node, "n1");
  ASSERT_EQ(Names(result), (Strings{"g0", "g1"}));
  EXPECT_EQ(result.victims[0].reason,
            "the priority 1 of PodGroup default/g, which goes as a whole, is below 10 of "
            "default/new");
  EXPECT_EQ(Names(Find(*WithGroups(false), all)), (Strings{"g1"}));

  result = Find(*WithGroups(true), Parse(text("single")));
  ASSERT_EQ(Names(result), (Strings{"g1"}));
  EXPECT_EQ(result.victims[0].reason,
            "the priority 1 of PodGroup default/g is below 10 of default/new");

  // All of them are evicted.
  Cluster cluster = all.Fork();
  ASSERT_TRUE(
      WithGroups(true)->Preempt(cluster, *cluster.view().FindPod("default", "new")).status.ok());
  EXPECT_EQ(cluster.view().FindPod("default", "g0"), nullptr);
  EXPECT_EQ(cluster.view().FindPod("default", "g1"), nullptr);
}

TEST(VictimUnits, AMemberHasThePriorityOfItsGroup) {
  const auto victims = [](const std::string& group, int own, bool groups = true) {
    return Names(Find(*WithGroups(groups),
                      Parse(NodeYaml("n1", "", "1") + group +
                            Pod("member", {.priority = own, .node = "n1", .group = "g"}) +
                            Pod("new", {.priority = 10, .status = ", nominatedNodeName: n1"}))));
  };
  const Strings none, member{"member"};
  EXPECT_EQ(victims(Group("g", "single", "10"), 1), none);
  EXPECT_EQ(victims(Group("g", "all", "10"), 1), none);
  EXPECT_EQ(victims(Group("g", "all", "10"), 1, false), member);
  EXPECT_EQ(victims(Group("g", "single", "9"), 50), member);
  EXPECT_EQ(victims(Group("g", "single", ""), 50), member);  // counts as 0
  EXPECT_EQ(victims(Group("g", "single", ""), 50, false), none);
  // A group that doesn't exist has no priority.
  EXPECT_EQ(victims(Group("another", "single", ""), 50), none);
  EXPECT_EQ(victims("", 1), member);
}

TEST(VictimUnits, MembersAreMoreImportantThanPodsWithoutAGroup) {
  const auto victims = [](const std::string& pods, int cpu, bool groups = true) {
    return Names(Find(
        *WithGroups(groups),
        Parse(NodeYaml("n1", "", "6") + Group("g", "single", "1") + Group("large", "all", "1") +
              Group("small", "all", "1") + pods + Pod("new", {.priority = 10, .cpu = cpu}))));
  };
  const auto pod = [](const std::string& name, const std::string& group, int start, int cpu = 3) {
    return Pod(name, {.priority = 1, .node = "n1", .cpu = cpu, .group = group, .start = start});
  };
  const std::string late_member = pod("old", "", 1) + pod("member", "g", 100);
  EXPECT_EQ(victims(late_member, 3), (Strings{"old"}));
  EXPECT_EQ(victims(late_member, 3, false), (Strings{"member"}));
  // Also that of a group that doesn't exist.
  EXPECT_EQ(victims(pod("old", "", 1) + pod("member", "gone", 100), 3), (Strings{"old"}));
  // The larger group stays, though it started later.
  EXPECT_EQ(
      victims(pod("s", "small", 1, 2) + pod("l0", "large", 100, 2) + pod("l1", "large", 100, 2), 2),
      (Strings{"s"}));
  // Of groups of one size, the one of which a pod started first.
  EXPECT_EQ(victims(pod("s0", "small", 50, 2) + pod("s1", "small", 60, 1) +
                        pod("l0", "large", 100, 2) + pod("l1", "large", 40, 1),
                    3),
            (Strings{"s0", "s1"}));
}

TEST(VictimUnits, OnOtherNodesTheyCountForPluginsThatLookThere) {
  const std::string anti =
      ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: zone, labelSelector: {matchLabels: {app: loud}}}]}}";
  const auto text = [&](const std::string& mode) {
    return NodeYaml("n1", "zone: a", "1") + NodeYaml("n2", "zone: a", "2") + Group("g", mode, "1") +
           Pod("quiet", {.priority = 1, .node = "n1", .group = "g"}) +
           Pod("loud", {.priority = 1, .node = "n2", .group = "g", .labels = "app: loud"}) +
           Pod("stays", {.priority = 50, .node = "n2"}) +
           Pod("new", {.priority = 10, .spec = anti});
  };
  const PreemptionResult whole = Find(*WithGroups(true), Parse(text("all")));
  EXPECT_EQ(whole.nominated_node, "n1");
  EXPECT_EQ(Names(whole), (Strings{"loud", "quiet"}));
  const PreemptionResult single = Find(*WithGroups(true), Parse(text("single")));
  EXPECT_EQ(single.nominated_node, "n2");
  EXPECT_EQ(Names(single), (Strings{"loud"}));
}

TEST(VictimUnits, NodesAreComparedByThePrioritiesOfPods) {
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "1") + Group("g", "single", "1") +
            Pod("member", {.priority = 9, .node = "n1", .group = "g"}) +
            Pod("alone", {.priority = 5, .node = "n2"}) + Pod("new", {.priority = 10}));
  EXPECT_EQ(Find(*WithGroups(true), cluster).nominated_node, "n2");
}

TEST(VictimUnits, APodWaitsForVictimsOfALowerGroup) {
  const auto status = [](const std::string& priority) {
    std::string going =
        Pod("going", {.priority = 5,
                      .node = "n1",
                      .group = "g",
                      .status = ", conditions: [{type: DisruptionTarget, status: 'True', reason: "
                                "PreemptionByScheduler}]"});
    going.insert(going.find("labels:"), "deletionTimestamp: '2026-01-01T00:00:00Z', ");
    const Cluster cluster =
        Parse(NodeYaml("n1", "", "2") + Group("g", "single", priority) + going +
              Pod("other", {.priority = 1, .node = "n1"}) +
              Pod("new", {.priority = 10, .status = ", nominatedNodeName: n1"}));
    return Find(*WithGroups(true), cluster).status.message();
  };
  EXPECT_EQ(status("9"),
            "preemption: not eligible due to a terminating pod on the nominated node.");
  EXPECT_EQ(status("10"), "");
}

TEST(VictimUnits, AUnitBreaksABudgetIfAnyOfItsPodsDoes) {
  const std::string budget = Budget("keep", "a", 0);
  const std::string pods =
      NodeYaml("n1", "", "4") + NodeYaml("n2", "", "9") + Group("g", "all", "1") + budget +
      Pod("g0", {.priority = 1, .node = "n1", .cpu = 2, .group = "g"}) +
      Pod("g1", {.priority = 1, .node = "n2", .cpu = 1, .group = "g", .labels = "app: a"}) +
      Pod("stays", {.priority = 50, .node = "n2", .cpu = 8}) +
      Pod("alone", {.priority = 5, .node = "n1", .cpu = 2});
  const Cluster cluster = Parse(pods + Pod("new", {.priority = 10, .cpu = 2}) +
                                Pod("large", {.priority = 10, .cpu = 4}));
  // The group is spared first, though its priority is lower.
  EXPECT_EQ(Names(Find(*WithGroups(true), cluster)), (Strings{"alone"}));
  const PreemptionResult both = Find(*WithGroups(true), cluster, "large");
  ASSERT_EQ(Names(both), (Strings{"alone", "g0", "g1"}));
  EXPECT_EQ(both.victims[1].violated_budget, "");
  EXPECT_EQ(both.victims[2].violated_budget, "default/keep");

  const std::vector<VictimUnit> units = VictimUnits(cluster.view(), 10);
  ASSERT_EQ(units.size(), 2u);
  const std::vector<BudgetHarm> harms = SplitByBudget(units, cluster.view());
  EXPECT_EQ(harms[0].violations, 0);
  EXPECT_EQ(harms[1].violations, 1);
  EXPECT_EQ(harms[1].budgets, (Strings{"", "default/keep"}));
}

TEST(VictimUnits, EachPodThatBreaksABudgetCounts) {
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "2") + NodeYaml("n2", "", "2") + Group("g", "all", "1") +
            Budget("keep", "a", 0) +
            Pod("g0", {.priority = 1, .node = "n1", .group = "g", .labels = "app: a"}) +
            Pod("g1", {.priority = 1, .node = "n1", .group = "g", .labels = "app: a"}) +
            Pod("x", {.priority = 5, .node = "n2", .cpu = 2, .labels = "app: a"}) +
            Pod("new", {.priority = 10, .cpu = 2}));
  EXPECT_EQ(Names(Find(*WithGroups(true), cluster)), (Strings{"x"}));
}

TEST(VictimUnits, HoldEachPodOnANodeOnce) {
  const std::string text = NodeYaml("n1") + NodeYaml("n2") + Group("all", "all", "3") +
                           Group("single", "single", "7") +
                           Pod("c", {.priority = 1, .node = "n1", .group = "all", .start = 9}) +
                           Pod("b", {.priority = 2, .node = "n2", .group = "all", .start = 5}) +
                           Pod("d", {.priority = 7, .node = "n1"}) +
                           Pod("e", {.priority = 1, .node = "n2", .group = "single", .start = 8}) +
                           Pod("f", {.priority = 1, .node = "n1", .group = "single", .start = 7}) +
                           Pod("g", {.priority = 1, .node = "gone", .group = "all"}) +
                           Pod("h", {.priority = 1, .group = "all"});
  const auto show = [](const Snapshot& view, auto... below) {
    Strings out;
    for (const VictimUnit& unit : VictimUnits(view, below...)) {
      std::string& line = out.emplace_back(std::to_string(unit.priority));
      line += "/" + std::to_string(unit.rank);
      for (const auto& [pod, row] : unit.pods) {
        line += " " + pod->pod->metadata.name + "@" + view.name(row);
      }
    }
    return out;
  };
  Cluster cluster = Parse(text);
  EXPECT_EQ(show(cluster.view()), (Strings{"7/2 f@n1", "7/2 e@n2", "7/1 d@n1", "3/2 b@n2 c@n1"}));
  EXPECT_EQ(show(cluster.view(), 7), (Strings{"3/2 b@n2 c@n1"}));
  // The order of rows and of pods on them changes nothing.
  const Strings before = show(cluster.view());
  const Cluster other = Parse(NodeYaml("n0") + text);
  Cluster moved = other.Fork();
  ASSERT_TRUE(moved.DeleteNode("n0").ok());
  EXPECT_EQ(show(moved.view()), before);
}

// A small cluster of nodes with cores, pods with priorities, groups and budgets, and what is to be
// evicted for a pod, found by the rules as they are written down.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {
    const int nodes = 1 + Below(4);
    for (int i = 0; i < nodes; ++i) cores_.push_back(2 + Below(7));
    const int groups = Below(4);
    for (int i = 0; i < groups; ++i) groups_.push_back({Below(2) == 0, Below(5) - 1});
    allowed_ = {Below(3), Below(3)};
    for (int node = 0; node < nodes; ++node) {
      for (int free = cores_[static_cast<std::size_t>(node)]; free > 0;) {
        Own pod{static_cast<int>(pods_.size()), Below(5), node, 1 + Below(3), -1, 1 + Below(4), -1};
        pod.cpu = std::min(pod.cpu, free);
        free -= pod.cpu;
        if (Below(2) == 0) pod.group = Below(4);  // perhaps one that doesn't exist
        if (Below(3) == 0) pod.app = Below(2);
        pods_.push_back(pod);
      }
    }
    priority_ = Below(6);
    cpu_ = 1 + Below(5);
  }

  std::string Yaml(const std::function<std::string()>& annotations = {}) {
    std::string out;
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      out += NodeYaml("n" + std::to_string(i), "", std::to_string(cores_[i]));
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      out += Group("g" + std::to_string(i), groups_[i].all ? "all" : "single",
                   groups_[i].priority < 0 ? "" : std::to_string(groups_[i].priority));
    }
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      out += Budget("b" + std::to_string(i), "a" + std::to_string(i), allowed_[i]);
    }
    for (const Own& pod : pods_) {
      out += Pod(Name(pod.id), {.priority = pod.priority,
                                .node = "n" + std::to_string(pod.node),
                                .cpu = pod.cpu,
                                .group = pod.group < 0 ? "" : "g" + std::to_string(pod.group),
                                .start = pod.start,
                                .annotations = annotations ? annotations() : "",
                                .labels = pod.app < 0 ? "" : "app: a" + std::to_string(pod.app)});
    }
    return out + Pod("new", {.priority = priority_, .cpu = cpu_});
  }

  // The node, then the victims; nothing when no eviction helps.
  Strings Expected(bool groups) const {
    using Units = std::vector<std::vector<Own>>;
    Strings best;
    std::tuple<int, int, int, std::size_t, int> least;
    for (std::size_t node = 0; node < cores_.size(); ++node) {
      Units units;
      std::set<int> seen;
      for (const Own& pod : pods_) {
        if (pod.node != static_cast<int>(node) || Priority(pod, groups) >= priority_) continue;
        if (!groups || !Exists(pod) || !groups_[static_cast<std::size_t>(pod.group)].all) {
          units.push_back({pod});
        } else if (seen.insert(pod.group).second) {
          units.emplace_back();
          for (const Own& other : pods_) {
            if (other.group == pod.group) units.back().push_back(other);
          }
        }
      }
      const auto here = [&](const std::vector<Own>& unit) {
        int sum = 0;
        for (const Own& pod : unit) sum += pod.node == static_cast<int>(node) ? pod.cpu : 0;
        return sum;
      };
      int free = cores_[node];
      for (const Own& pod : pods_) free -= pod.node == static_cast<int>(node) ? pod.cpu : 0;
      for (const auto& unit : units) free += here(unit);
      if (units.empty() || free < cpu_) continue;
      const auto key = [&](const std::vector<Own>& unit) {
        int start = unit[0].start;
        for (const Own& pod : unit) start = std::min(start, pod.start);
        return std::tuple(-Priority(unit[0], groups), groups && unit[0].group >= 0 ? 0 : 1,
                          -static_cast<int>(unit.size()), start, unit[0].id);
      };
      std::sort(units.begin(), units.end(),
                [&](const auto& a, const auto& b) { return key(a) < key(b); });
      auto allowed = allowed_;
      std::vector<int> violations;
      for (const auto& unit : units) {
        violations.push_back(0);
        for (const Own& pod : unit) {
          if (pod.app >= 0 && --allowed[static_cast<std::size_t>(pod.app)] < 0) {
            ++violations.back();
          }
        }
      }
      std::vector<bool> goes(units.size());
      int broken = 0;
      for (const bool violating : {true, false}) {
        for (std::size_t i = 0; i < units.size(); ++i) {
          if ((violations[i] > 0) != violating) continue;
          goes[i] = free - here(units[i]) < cpu_;
          if (goes[i]) broken += violations[i];
          if (!goes[i]) free -= here(units[i]);
        }
      }
      Strings names{"n" + std::to_string(node)};
      std::vector<Own> victims;
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (goes[i]) victims.insert(victims.end(), units[i].begin(), units[i].end());
      }
      int sum = 0, highest = -1, earliest = 0;
      for (const Own& pod : victims) {
        names.push_back(Name(pod.id));
        sum += pod.priority + 1000;
        if (pod.priority > highest) earliest = pod.start;
        if (pod.priority == highest) earliest = std::min(earliest, pod.start);
        highest = std::max(highest, pod.priority);
      }
      const std::tuple cost(broken, victims[0].priority, sum, victims.size(), -earliest);
      if (best.empty() || cost < least) {
        best = names;
        least = cost;
      }
    }
    return best;
  }

  int priority() const { return priority_; }

 private:
  struct Own {
    int id, priority, node, cpu, group, start, app;
  };
  struct OwnGroup {
    bool all;
    int priority;  // -1: none
  };

  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  static std::string Name(int id) { return "p" + std::to_string(100 + id); }
  bool Exists(const Own& pod) const {
    return pod.group >= 0 && pod.group < static_cast<int>(groups_.size());
  }
  int Priority(const Own& pod, bool groups) const {
    if (!groups || !Exists(pod)) return pod.priority;
    return std::max(0, groups_[static_cast<std::size_t>(pod.group)].priority);
  }

  Random random_;
  std::vector<int> cores_;
  std::vector<OwnGroup> groups_;
  std::array<int, 2> allowed_{};
  std::vector<Own> pods_;
  int priority_ = 0, cpu_ = 0;
};

Strings Answer(Scheduler& scheduler, const Cluster& cluster) {
  const PreemptionResult result = Find(scheduler, cluster);
  if (!result.status.ok()) return {};
  Strings out{result.nominated_node};
  for (const std::string& name : Names(result)) out.push_back(name);
  return out;
}

TEST(VictimUnits, FollowTheRulesOnRandomClusters) {
  const auto with = WithGroups(true), without = WithGroups(false);
  int found = 0, differ = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    const Cluster cluster = Parse(model.Yaml());
    const Strings expected = model.Expected(true), plain = model.Expected(false);
    ASSERT_EQ(Answer(*with, cluster), expected);
    ASSERT_EQ(Answer(*without, cluster), plain);
    found += expected.empty() ? 0 : 1;
    differ += expected == plain ? 0 : 1;
  }
  EXPECT_GT(found, 800);
  EXPECT_GT(differ, 250);
}

TEST(A8, FormulaTable) {
  EXPECT_DOUBLE_EQ(PreemptScore(1000, 1, 0), 1000);
  EXPECT_DOUBLE_EQ(PreemptScore(1000, 1, 100), 700);
  EXPECT_DOUBLE_EQ(PreemptScore(1000, 0.5, 100), 350);
  EXPECT_DOUBLE_EQ(PreemptScore(1000, 1, 300), 343);
  EXPECT_DOUBLE_EQ(PreemptScore(1000, 0.25, 200), 122.5);
  EXPECT_DOUBLE_EQ(PreemptScore(-1000, 1, 100), -700);
  EXPECT_DOUBLE_EQ(PreemptScore(0, 1, 100), 0);
  EXPECT_NEAR(PreemptScore(1000, 1, 50), 836.66, 0.001);
  EXPECT_DOUBLE_EQ(PreemptScore(8, 1, 30, 0.5, 10), 1);
  EXPECT_DOUBLE_EQ(PreemptScore(8, 1, 1e9, 1), 8);
}

const std::string kLatency = "schedfw.io/preemption-latency-ms";
const std::string kUtilization = "schedfw.io/gpu-utilization";

TEST(A8, ShorterLatencyWins) {
  const auto nominated = [](const std::string& slow, const std::string& quick,
                            const std::string& args = "") {
    // By upstream's criteria the slow ones go: their priority is lower.
    const Cluster cluster =
        Parse(NodeYaml("n1", "", "2") + NodeYaml("n2", "", "2") +
              Pod("slow", {.priority = 1, .node = "n1", .annotations = slow}) +
              Pod("too", {.priority = 1, .node = "n1"}) +
              Pod("quick", {.priority = 5, .node = "n2", .annotations = quick}) +
              Pod("also", {.priority = 5, .node = "n2", .annotations = quick}) +
              Pod("new", {.priority = 10, .cpu = 2}));
    return Find(*MakeScheduler(LatencyAware(args)), cluster).nominated_node;
  };
  EXPECT_EQ(nominated(kLatency + ": '300'", kLatency + ": '100'"), "n2");
  EXPECT_EQ(nominated(kLatency + ": '100'", kLatency + ": '100.0'"), "n1");
  EXPECT_EQ(nominated("", kLatency + ": '0.5'"), "n1");
  EXPECT_EQ(nominated("", kLatency + ": '0.5'", "defaultLatencyMs: 10"), "n2");
  EXPECT_EQ(nominated("", kLatency + ": '10'", "defaultLatencyMs: 10"), "n1");
  EXPECT_EQ(nominated(kLatency + ": '300'", kLatency + ": '100'", "decay: 1"), "n1");
  EXPECT_EQ(nominated("slow: '7'", "slow: '6'", "latencyAnnotation: slow, latencyUnitMs: 1"), "n2");
  // Which pods are spared is upstream's order.
  EXPECT_EQ(nominated(kLatency + ": '300'", kLatency + ": '100'", "scoreOf: victim"), "n1");
}

TEST(A8, BudgetsComeBeforeLatency) {
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "1") + Budget("keep", "a", 0) +
            Pod("slow", {.priority = 1, .node = "n1", .annotations = kLatency + ": '900'"}) +
            Pod("quick", {.priority = 1, .node = "n2", .labels = "app: a"}) +
            Pod("new", {.priority = 10}));
  EXPECT_EQ(Find(*MakeScheduler(LatencyAware("")), cluster).nominated_node, "n1");
}

TEST(A8, TheNodeThatWillUseItsGpusBestWins) {
  const auto gpus = [](const std::string& name, const std::string& node, int priority,
                       const std::string& utilization) {
    const std::string use = utilization.empty() ? "" : kUtilization + ": '" + utilization + "'";
    std::string pod = Pod(name, {.priority = priority, .node = node, .annotations = use});
    return pod.replace(pod.find("cpu: '1'"), 8, "nvidia.com/gpu: '2'");
  };
  const auto node = [](const std::string& name, int count) {
    std::string out = NodeYaml(name);
    return out.insert(out.find("cpu: "), "nvidia.com/gpu: '" + std::to_string(count) + "', ");
  };
  const auto nominated = [&](const std::string& stays_1, const std::string& stays_2) {
    const Cluster cluster = Parse(node("n1", 4) + node("n2", 4) + gpus("a", "n1", 50, stays_1) +
                                  gpus("b", "n1", 1, "0.1") + gpus("c", "n2", 50, stays_2) +
                                  gpus("d", "n2", 5, "1") + gpus("new", "", 10, "0.5"));
    return Find(*MakeScheduler(LatencyAware("")), cluster).nominated_node;
  };
  EXPECT_EQ(nominated("0.4", "0.5"), "n2");
  EXPECT_EQ(nominated("0.5", "0.4"), "n1");
  EXPECT_EQ(nominated("0.5", ""), "n2");      // the default is 1
  EXPECT_EQ(nominated("0.5", "0.50"), "n1");  // equal: the lower priority goes
  // The GPUs of the pod that comes count: 1.8 of 4 is more than 3 of 8.
  const Cluster sizes =
      Parse(node("n1", 4) + node("n2", 8) + gpus("a", "n1", 50, "0.4") + gpus("b", "n1", 5, "1") +
            gpus("c", "n2", 50, "1") + gpus("d", "n2", 1, "1") + gpus("e", "n2", 50, "0") +
            gpus("f", "n2", 50, "0") + gpus("new", "", 10, "0.5"));
  EXPECT_EQ(Find(*MakeScheduler(LatencyAware("")), sizes).nominated_node, "n1");
}

TEST(A8, TheVictimThatIsWorthLeastGoes) {
  const auto victims = [](const std::string& a, const std::string& b, const std::string& args) {
    const Cluster cluster = Parse(
        NodeYaml("n1", "", "2") +
        Pod("a", {.priority = 6, .node = "n1", .annotations = a, .labels = "app: a"}) +
        Pod("b", {.priority = 5, .node = "n1", .annotations = b}) + Pod("new", {.priority = 10}));
    return Names(Find(*MakeScheduler(LatencyAware("scoreOf: victim" + args)), cluster));
  };
  const Strings a{"a"}, b{"b"};
  EXPECT_EQ(victims("", "", ""), b);
  EXPECT_EQ(victims(kUtilization + ": '0.5'", "", ""), a);
  EXPECT_EQ(victims(kUtilization + ": '0.5'", kUtilization + ": '0.25'", ""), b);
  EXPECT_EQ(victims(kLatency + ": '100'", "", ""), a);
  EXPECT_EQ(victims(kLatency + ": '100'", kLatency + ": '100'", ""), b);
  EXPECT_EQ(victims(kUtilization + ": '0.8'", "", ", defaultUtilization: 0.9"), b);  // 4.8, 4.5
  EXPECT_EQ(victims(kUtilization + ": '0.7'", "", ", defaultUtilization: 0.9"), a);  // 4.2, 4.5
  // The worth decides between nodes too.
  const auto nominated = [](const std::string& args) {
    const Cluster cluster =
        Parse(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "1") +
              Pod("x", {.priority = 5, .node = "n1"}) +
              Pod("z", {.priority = 6, .node = "n2", .annotations = kUtilization + ": '0.5'"}) +
              Pod("new", {.priority = 10}));
    return Find(*MakeScheduler(LatencyAware(args)), cluster).nominated_node;
  };
  EXPECT_EQ(nominated("scoreOf: victim"), "n2");
  EXPECT_EQ(nominated("scoreOf: candidate"), "n1");
  // Fewer victims are better, though their worth is negative.
  const Cluster negative = Parse(NodeYaml("n1", "", "2") + NodeYaml("n2", "", "2") +
                                 Pod("a", {.priority = -5000, .node = "n1"}) +
                                 Pod("b", {.priority = -5000, .node = "n1"}) +
                                 Pod("c", {.priority = -5000, .node = "n2", .cpu = 2}) +
                                 Pod("new", {.priority = 10, .cpu = 2}));
  EXPECT_EQ(Find(*MakeScheduler(LatencyAware("scoreOf: victim")), negative).nominated_node, "n2");
}

TEST(A8, AGroupIsWorthWhatItsPodsAreOnAverage) {
  const auto victims = [](const std::string& g1) {
    const Cluster cluster =
        Parse(NodeYaml("n1", "here: a", "3") + NodeYaml("n2", "", "1") + Group("g", "all", "8") +
              Pod("g0", {.priority = 1,
                         .node = "n1",
                         .cpu = 2,
                         .group = "g",
                         .annotations = kUtilization + ": '1'"}) +
              Pod("g1", {.priority = 1, .node = "n2", .group = "g", .annotations = g1}) +
              Pod("alone", {.priority = 5, .node = "n1"}) +
              Pod("new", {.priority = 10, .spec = ", nodeSelector: {here: a}"}));
    SchedulerOptions options;
    options.handle.generic_workload = true;
    return Names(
        Find(*MakeScheduler(LatencyAware("scoreOf: victim"), std::move(options)), cluster));
  };
  EXPECT_EQ(victims(kUtilization + ": '0.5'"), (Strings{"alone"}));   // 6 and 5
  EXPECT_EQ(victims(kUtilization + ": '0'"), (Strings{"g0", "g1"}));  // 4
  EXPECT_EQ(victims(kLatency + ": '200'"), (Strings{"g0", "g1"}));    // 3.92
}

TEST(A8, MalformedAnnotationsCountAsTheDefault) {
  const Cluster good =
      Parse(NodeYaml("n1", "", "2") +
            Pod("a", {.priority = 5, .node = "n1", .annotations = kUtilization + ": '0.6'"}) +
            Pod("b", {.priority = 5, .node = "n1", .start = 1}) + Pod("new", {.priority = 10}));
  const auto scheduler = MakeScheduler(LatencyAware("scoreOf: victim, defaultUtilization: 0.5"));
  EXPECT_EQ(Names(Find(*scheduler, good)), (Strings{"b"}));
  for (const char* text : {"", " 0.6", "0.6 ", "+0.6", "x", "60%", "1.01", "-0.1", "nan", "inf",
                           "1e400", "0,6", "0x1", "0.6f"}) {
    const std::string annotation = kUtilization + ": '" + text + "'";
    const Cluster bad =
        Parse(NodeYaml("n1", "", "2") +
              Pod("a", {.priority = 5, .node = "n1", .annotations = annotation}) +
              Pod("b", {.priority = 5, .node = "n1", .start = 1}) + Pod("new", {.priority = 10}));
    EXPECT_EQ(Names(Find(*scheduler, bad)), (Strings{"a"})) << text;
  }
  const auto by_latency = MakeScheduler(LatencyAware("scoreOf: victim, defaultLatencyMs: 50"));
  for (const auto& [text, victim] :
       {std::pair{"49", "b"}, std::pair{"1e1", "b"}, std::pair{"-1", "a"}, std::pair{"1e999", "a"},
        std::pair{"1ms", "a"}, std::pair{"51", "a"}}) {
    const Cluster cluster = Parse(
        NodeYaml("n1", "", "2") +
        Pod("a", {.priority = 5, .node = "n1", .annotations = kLatency + ": '" + text + "'"}) +
        Pod("b", {.priority = 5, .node = "n1", .start = 1}) + Pod("new", {.priority = 10}));
    EXPECT_EQ(Names(Find(*by_latency, cluster)), (Strings{victim})) << text;
  }
}

TEST(A8, AnnotationsAreReadFromPackedPods) {
  const std::string uid = ", uid: 6f1c2b0a-9d3e-4c55-8b77-0123456789ab";
  std::string with_uid = Pod("c", {.node = "n1", .start = 5, .annotations = "k: '1', l: two"});
  with_uid.insert(with_uid.find(", labels"), uid);
  const Cluster cluster =
      Parse(NodeYaml("n1") + Pod("a", {.node = "n1", .annotations = "k: first, z: ''"}) +
            Pod("b", {.node = "n1", .annotations = "k: first, z: ''"}) + with_uid +
            Pod("d", {.node = "n1"}) + Pod("e", {.annotations = "k: waits"}));
  const auto read = [&](const std::string& name, const std::string& key) {
    const auto out = cluster.view().FindPod("default", name)->pod.Annotation(key);
    return out ? "<" + *out + ">" : "none";
  };
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(read(name, "k"), "<first>");
    EXPECT_EQ(read(name, "z"), "<>");
    EXPECT_EQ(read(name, "first"), "none");
  }
  EXPECT_EQ(read("c", "k"), "<1>");
  EXPECT_EQ(read("c", "l"), "<two>");
  EXPECT_EQ(read("c", "z"), "none");
  EXPECT_EQ(read("d", "k"), "none");
  EXPECT_EQ(read("e", "k"), "<waits>");
  EXPECT_EQ(read("e", "l"), "none");
}

TEST(A8, NeverEvictsHigher) {
  SchedulerOptions options;
  options.handle.generic_workload = true;
  const auto by_node = MakeScheduler(LatencyAware(""), options);
  const auto by_victim = MakeScheduler(LatencyAware("scoreOf: victim"), options);
  int evicted = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Model model(seed);
    const Cluster cluster = Parse(model.Yaml([&] {
      return kLatency + ": '" + std::to_string(random.Below(400)) + "', " + kUtilization + ": '0." +
             std::to_string(random.Below(100)) + "'";
    }));
    const VictimFinder finder(cluster.view(), true);
    for (Scheduler* scheduler : {by_node.get(), by_victim.get()}) {
      const PreemptionResult result = Find(*scheduler, cluster);
      // Whether it helps doesn't depend on the order.
      ASSERT_EQ(result.status.ok(), !model.Expected(true).empty());
      for (const Victim& victim : result.victims) {
        ASSERT_LT(finder.PriorityOf(*victim.pod), model.priority());
        ++evicted;
      }
    }
  }
  EXPECT_GT(evicted, 500);
}

TEST(A8, WithoutWeightsItIsDefaultPreemption) {
  const std::string neutral = "scoreOf: victim, decay: 1, defaultUtilization: 1";
  for (const bool groups : {false, true}) {
    SchedulerOptions options;
    options.handle.generic_workload = groups;
    const auto scheduler = MakeScheduler(LatencyAware(neutral), options);
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
      SCOPED_TRACE(seed);
      Model model(seed + 5000);
      ASSERT_EQ(Answer(*scheduler, Parse(model.Yaml())), model.Expected(groups));
    }
  }
  // With every plugin and pods of all kinds.
  const Strings profiles{"default-scheduler", "packing", "shape"};
  const auto latency_aware = MakeScheduler(LatencyAware(neutral, profiles));
  const auto usual = MakeScheduler(Configuration(profiles, ""));
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCluster random(seed);
    const Snapshot& view = random.cluster().view();
    for (const PodPtr& pod : view.Pending()) {
      const PreemptionResult a = latency_aware->FindVictims(view, *pod);
      const PreemptionResult b = usual->FindVictims(view, *pod);
      ASSERT_EQ(a.status.message(), b.status.message());
      ASSERT_EQ(a.nominated_node, b.nominated_node);
      ASSERT_EQ(Names(a), Names(b));
      found += b.victims.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found, 20);
}

TEST(A8, BadArgumentsAreRefused) {
  const Registry registry = InTreeRegistry();
  const PluginSpec* spec = registry.Find("LatencyAwarePreemption");
  ASSERT_NE(spec, nullptr);
  EXPECT_TRUE(spec->points.Has(ExtensionPoint::kPostFilter));
  EXPECT_FALSE(spec->points.Has(ExtensionPoint::kPreEnqueue));
  ASSERT_EQ(spec->args.size(), 10u);
  EXPECT_EQ(spec->args[0].default_value, "candidate");
  EXPECT_EQ(spec->args[1].default_value, "0.7");
  EXPECT_EQ(spec->args[3].default_value, "1");
  const auto refusal = [&](const std::string& args) {
    const auto config = ParseConfig(LatencyAware(args), registry, "f");
    if (config.ok()) return std::string();
    const std::string at = "f: profiles[0].pluginConfig[0].args.";
    const std::string message = config.error().message();
    EXPECT_EQ(message.substr(0, at.size()), at);
    return message.substr(at.size());
  };
  EXPECT_EQ(refusal("decay: 1, latencyUnitMs: 1, defaultUtilization: 0, defaultLatencyMs: 0"), "");
  EXPECT_EQ(refusal("decay: 0"),
            "decay: 0 is not in the valid range (allowed: above 0, at most 1)");
  EXPECT_EQ(refusal("decay: 1.5"),
            "decay: 1.5 is not in the valid range (allowed: above 0, at most 1)");
  EXPECT_EQ(refusal("decay: fast"), "decay: expected a number, got a string");
  EXPECT_EQ(refusal("defaultUtilization: -0.5"),
            "defaultUtilization: -0.5 is not in the valid range (allowed: 0 to 1)");
  EXPECT_EQ(refusal("latencyUnitMs: 0"),
            "latencyUnitMs: 0 is not in the valid range (allowed: 1 to 2147483647)");
  EXPECT_EQ(refusal("defaultLatencyMs: -1"),
            "defaultLatencyMs: -1 is not in the valid range (allowed: 0 to 2147483647)");
  EXPECT_EQ(refusal("scoreOf: both"),
            "scoreOf: \"both\" is not supported (allowed: candidate, victim)");
  EXPECT_EQ(refusal("gpuResource: ''"), "gpuResource: can not be empty");
  EXPECT_EQ(refusal("latencyAnnotation: ''"), "latencyAnnotation: can not be empty");
  EXPECT_EQ(refusal("utilizationAnnotation: ''"), "utilizationAnnotation: can not be empty");
  EXPECT_EQ(refusal("minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0"),
            "minCandidateNodesPercentage: 0 is not allowed when minCandidateNodesAbsolute is 0 "
            "too");
  EXPECT_EQ(refusal("minCandidateNodesPercentage: 101"),
            "minCandidateNodesPercentage: 101 is not in the valid range (allowed: 0 to 100)");
}

}  // namespace
}  // namespace schedfw
