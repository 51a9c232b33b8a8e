// SchedulingLoop: who is tried when, and that nothing is left half-done.

#include "schedfw/scheduler/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/plugins/registry.h"
#include "support/cluster.h"
#include "support/files.h"

namespace schedfw {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;
using Strings = std::vector<std::string>;

// What plugin Probe does, by point or by point and pod ("Reserve", "Reserve a").
struct Script {
  std::map<std::string, Status> statuses;
  std::set<std::string> throws;
  std::map<std::string, std::vector<std::pair<std::string, nanoseconds>>> waits;  // by pod
  Strings log;
};

// Each point tells the log; PreFilter writes a state that Reserve must find.
class Probe : public PreFilterPlugin,
              public ReservePlugin,
              public PermitPlugin,
              public PreBindPlugin,
              public BindPlugin,
              public PostBindPlugin {
 public:
  Probe(std::string name, std::shared_ptr<Script> script)
      : name_(std::move(name)), script_(std::move(script)) {}
  struct Seen {
    std::string pod;
  };

  std::string_view Name() const override { return name_; }
  bool IsThreadSafe() const override { return false; }
  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    state.Emplace<Seen>().pod = cycle.pod.pod->metadata.name;
    return {};
  }
  Status Reserve(const Cycle& cycle, CycleState& state, const NodeInfo&) override {
    const Seen* seen = state.Find<Seen>();
    if (seen == nullptr || seen->pod != cycle.pod.pod->metadata.name) {
      return Status::Error("the state of PreFilter is lost");
    }
    return At("Reserve", cycle);
  }
  void Unreserve(const Cycle& cycle, CycleState&, const NodeInfo&) noexcept override {
    script_->log.push_back("Unreserve " + cycle.pod.pod->metadata.name);
  }
  Status Permit(const Cycle& cycle, CycleState&, const NodeInfo&, nanoseconds& timeout) override {
    for (const auto& [plugin, wait] : script_->waits[cycle.pod.pod->metadata.name]) {
      if (plugin != name_) continue;
      timeout = wait;
      return Status(Code::kWait);
    }
    return At("Permit", cycle);
  }
  Status PreBind(const Cycle& cycle, CycleState&, const NodeInfo&) override {
    return At("PreBind", cycle);
  }
  Status Bind(const Cycle& cycle, CycleState&, const NodeInfo&) override {
    return At("Bind", cycle);
  }
  void PostBind(const Cycle& cycle, CycleState&, const NodeInfo&) override {
    (void)At("PostBind", cycle);
  }

 private:
  Status At(const std::string& point, const Cycle& cycle) const {
    const std::string own = point + " " + cycle.pod.pod->metadata.name;
    script_->log.push_back(own);
    for (const std::string& where : {own, point}) {
      if (script_->throws.contains(where)) throw std::runtime_error("thrown at " + point);
      const auto status = script_->statuses.find(where);
      if (status != script_->statuses.end()) return status->second;
    }
    return {};
  }

  std::string name_;
  std::shared_ptr<Script> script_;
};

SchedulerOptions WithGroups() {
  SchedulerOptions out;
  out.handle.generic_workload = true;
  out.verify_incremental = true;
  return out;
}

std::unique_ptr<Scheduler> WithProbes(const std::shared_ptr<Script>& script,
                                      const Strings& names = {"Probe"}) {
  Registry registry = InTreeRegistry();
  std::string enabled;
  for (const std::string& name : names) {
    PluginSpec spec;
    spec.name = name;
    spec.points = internal::PointsOf<Probe>();
    spec.factory = [=](const Value&, const Handle&) -> Result<PluginPtr> {
      return PluginPtr(std::make_shared<Probe>(name, script));
    };
    EXPECT_TRUE(registry.Add(std::move(spec)).ok());
    enabled += (enabled.empty() ? "{name: " : ", {name: ") + name + "}";
  }
  const auto config = ParseConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}, multiPoint: {enabled: [" +
          enabled + "]}}}]\n",
      registry);
  EXPECT_TRUE(config.ok()) << config.error().message();
  auto scheduler = Scheduler::Create(*config, registry, WithGroups());
  EXPECT_TRUE(scheduler.ok()) << scheduler.error().message();
  return *std::move(scheduler);
}

// A pod with a priority, bound to a node unless that is empty.
std::string Prio(const std::string& name, int priority, const std::string& node = "",
                 const std::string& cpu = "1", const std::string& more = "",
                 const std::string& labels = "") {
  return PodYaml(name, labels.empty() ? "app: " + name : labels,
                 "  priority: " + std::to_string(priority) + "\n" +
                     (node.empty() ? "" : "  nodeName: " + node + "\n") + more,
                 cpu);
}
std::string Member(const std::string& name, const std::string& group = "g", int priority = 0,
                   const std::string& node = "", const std::string& cpu = "1") {
  return Prio(name, priority, node, cpu, "  schedulingGroup: {podGroupName: " + group + "}\n");
}
std::string Group(const std::string& policy, int priority = 0, const std::string& more = "",
                  const std::string& name = "g") {
  return "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: " + name +
         ", namespace: default}\nspec: {schedulingPolicy: {" + policy +
         "}, priority: " + std::to_string(priority) + more + "}\n";
}
std::string Gang(int min_count, int priority = 0, const std::string& more = "",
                 const std::string& name = "g") {
  return Group("gang: {minCount: " + std::to_string(min_count) + "}", priority, more, name);
}

api::Pod OnePod(const std::string& text) {
  auto objects = api::ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects->pods.at(0);
}
api::Node OneNode(const std::string& text) {
  auto objects = api::ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects->nodes.at(0);
}

Strings Short(const Strings& names) {
  Strings out;
  for (const std::string& name : names) out.push_back(name.substr(name.find('/') + 1));
  return out;
}
Strings Pending(const RunReport& report) {
  Strings out;
  for (const auto& [pod, why] : report.pending) {
    EXPECT_NE(why, "") << pod;
    out.push_back(pod.substr(pod.find('/') + 1));
  }
  return out;
}
std::string NodeOf(const Cluster& cluster, const std::string& name) {
  for (Row row = 0; row < cluster.view().size(); ++row) {
    for (const PodPtr& pod : cluster.view().pods(row)) {
      if (pod->FullName() == "default/" + name) return cluster.view().name(row);
    }
  }
  return "";
}
// What is on each node and what waits, as far as a failed attempt could leave traces in it.
std::string Describe(const Cluster& cluster) {
  const Snapshot& s = cluster.view();
  std::string out;
  for (Row row = 0; row < s.size(); ++row) {
    out += s.name(row) + ":" + std::to_string(s.Requested(kCpu)[row]) + "," +
           std::to_string(s.PodCount()[row]) + " ";
  }
  Strings pending;
  for (const PodPtr& pod : s.Pending()) pending.push_back(pod->FullName());
  std::sort(pending.begin(), pending.end());
  for (const std::string& pod : pending) out += pod + " ";
  return out;
}

struct LoopRun {
  explicit LoopRun(const std::string& text, LoopOptions options = {},
                   std::unique_ptr<Scheduler> own = nullptr)
      : scheduler(own ? std::move(own) : MakeScheduler("", WithGroups())),
        cluster(Parse(text)),
        loop(std::make_unique<SchedulingLoop>(*scheduler, cluster, options)) {}

  RunReport Quiet() {
    auto report = loop->RunUntilQuiet();
    EXPECT_TRUE(report.ok()) << report.error().message();
    return *report;
  }

  std::unique_ptr<Scheduler> scheduler;
  Cluster cluster;
  std::unique_ptr<SchedulingLoop> loop;
};

// --- events from outside

// One node that is full, and pods that wait for different things.
std::string Waiters() {
  return NodeYaml("n1", "disk: hdd", "2") + Prio("old", 0, "n1", "2") +
         Prio("big", 0, "", "2", "  preemptionPolicy: Never\n") +
         Prio("label", 0, "", "0", "  nodeSelector: {disk: ssd}\n") +
         "---\napiVersion: v1\nkind: Node\nmetadata: {name: t1, labels: {kind: tainted}}\n"
         "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}\n"
         "status: {allocatable: {cpu: \"0\", memory: 1Gi, pods: \"9\"}}\n" +
         Prio("toleration", 0, "", "0", "  nodeSelector: {kind: tainted}\n") +
         Prio("gated", 0, "", "0", "  schedulingGates: [{name: a/b}]\n");
}

// Runs, does something, and says which pods it had tried again.
template <typename F>
Strings TriedAgain(LoopRun& run, F&& change) {
  run.Quiet();
  std::map<std::string, std::int32_t> before, after;
  const auto read = [&](std::map<std::string, std::int32_t>& out) {
    run.loop->queue().ForEach([&](const QueuedEntity& entity) {
      for (const QueuedPod& pod : entity.pods()) out[pod.pod->pod->metadata.name] = pod.attempts;
    });
  };
  read(before);
  const Result<void> done = change(*run.loop);
  EXPECT_TRUE(done.ok()) << done.error().message();
  run.Quiet();
  read(after);
  Strings out;
  for (const auto& [name, attempts] : before) {
    const auto now = after.find(name);
    if (now == after.end() || now->second != attempts) out.push_back(name);
  }
  return out;
}

TEST(Loop, AtFirstEachPodIsTriedOnce) {
  LoopRun run(Waiters());
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.attempts, 3);
  EXPECT_EQ(Pending(report), (Strings{"big", "gated", "label", "toleration"}));
  EXPECT_EQ(report.pending[1].second, "waiting for scheduling gates: [a/b]");
  EXPECT_EQ(report.duration, seconds(0));
}

TEST(Loop, APodThatGoesWakesWhoeverLacksRoom) {
  LoopRun run(Waiters());
  EXPECT_EQ(TriedAgain(run, [](auto& loop) { return loop.DeletePod("default", "old"); }),
            (Strings{"big"}));
  EXPECT_EQ(NodeOf(run.cluster, "big"), "n1");
}

TEST(Loop, APodThatComesOnANodeWakesNobodyHere) {
  LoopRun run(Waiters());
  EXPECT_EQ(
      TriedAgain(run, [](auto& loop) { return loop.AddPod(OnePod(Prio("x", 0, "n1", "0"))); }),
      Strings{});
  EXPECT_EQ(TriedAgain(run, [](auto& loop) { return loop.AddPod(OnePod(Prio("w", 0, "", "0"))); }),
            Strings{});
  EXPECT_EQ(NodeOf(run.cluster, "w"), "n1");
}

TEST(Loop, ANodeWakesWhomItFits) {
  LoopRun run(NodeYaml("n1", "disk: hdd", "2") + Prio("old", 0, "n1", "2") +
              Prio("big", 0, "", "2") + Prio("label", 0, "", "0", "  nodeSelector: {disk: ssd}\n"));
  EXPECT_EQ(
      TriedAgain(run, [](auto& loop) { return loop.AddNode(OneNode(NodeYaml("n2", "", "1"))); }),
      Strings{});
  EXPECT_EQ(
      TriedAgain(
          run, [](auto& loop) { return loop.AddNode(OneNode(NodeYaml("n3", "disk: ssd", "2"))); }),
      (Strings{"big", "label"}));
  EXPECT_EQ(NodeOf(run.cluster, "big"), "n3");
  EXPECT_EQ(NodeOf(run.cluster, "label"), "n3");
}

TEST(Loop, ANodeWithoutTaintsWakesWhomATaintKeptAway) {
  LoopRun run(Waiters());  // a node with a taint has rejected them all
  EXPECT_EQ(
      TriedAgain(run, [](auto& loop) { return loop.AddNode(OneNode(NodeYaml("n2", "", "1"))); }),
      (Strings{"big", "label", "toleration"}));
}

TEST(Loop, UpdatesOfNodesWakeByWhatHasChanged) {
  LoopRun run(Waiters());
  EXPECT_EQ(
      TriedAgain(run,
                 [](auto& loop) {
                   return loop.UpdateNode(OneNode(NodeYaml("n1", "disk: hdd, other: x", "2")));
                 }),
      Strings{});
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.UpdateNode(OneNode(NodeYaml("n1", "disk: ssd", "2")));
                       }),
            (Strings{"label"}));
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.UpdateNode(OneNode(NodeYaml("n1", "disk: ssd", "4")));
                       }),
            (Strings{"big"}));
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.UpdateNode(OneNode(NodeYaml("t1", "kind: tainted", "1")));
                       }),
            (Strings{"toleration"}));
  EXPECT_EQ(NodeOf(run.cluster, "toleration"), "t1");
}

TEST(Loop, UpdatesOfAPodWakeItself) {
  LoopRun run(Waiters());
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.UpdatePod(
                             OnePod(Prio("toleration", 0, "", "0",
                                         "  nodeSelector: {kind: tainted}\n"
                                         "  tolerations: [{key: k, operator: Exists}]\n")));
                       }),
            (Strings{"toleration"}));
  EXPECT_EQ(NodeOf(run.cluster, "toleration"), "t1");
  EXPECT_EQ(
      TriedAgain(run, [](auto& loop) { return loop.UpdatePod(OnePod(Prio("gated", 0, "", "0"))); }),
      (Strings{"gated"}));
  EXPECT_EQ(NodeOf(run.cluster, "gated"), "n1");
  // Labels of its own don't help a pod that lacks room.
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.UpdatePod(OnePod(
                             Prio("big", 0, "", "2", "  preemptionPolicy: Never\n", "new: label")));
                       }),
            Strings{});
}

TEST(Loop, APodThatIsBoundElsewhereLeavesTheQueue) {
  LoopRun run(Waiters());
  run.Quiet();
  ASSERT_TRUE(
      run.loop->UpdatePod(OnePod(Prio("label", 0, "n1", "0", "  nodeSelector: {disk: ssd}\n")))
          .ok());
  const RunReport report = run.Quiet();
  EXPECT_EQ(Pending(report), (Strings{"big", "gated", "toleration"}));
  EXPECT_EQ(NodeOf(run.cluster, "label"), "n1");
}

TEST(Loop, LabelsOfOthersWakeWhoeverLooksForThem) {
  const std::string affinity =
      "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}\n";
  const std::string text =
      NodeYaml("n1", "zone: a") + Prio("db", 0, "n1", "0") + Prio("near", 0, "", "0", affinity);
  {
    LoopRun run(text);
    EXPECT_EQ(
        TriedAgain(run,
                   [](auto& loop) {
                     return loop.UpdatePod(OnePod(Prio("db", 0, "n1", "0", "", "app: other")));
                   }),
        Strings{});
    EXPECT_EQ(TriedAgain(run,
                         [](auto& loop) {
                           return loop.UpdatePod(OnePod(Prio("db", 0, "n1", "0", "", "app: web")));
                         }),
              (Strings{"near"}));
  }
  // A pod that the loop binds counts as well.
  LoopRun run(text);
  EXPECT_EQ(TriedAgain(run,
                       [](auto& loop) {
                         return loop.AddPod(OnePod(Prio("new", 0, "", "0", "", "app: web")));
                       }),
            (Strings{"near"}));
  EXPECT_EQ(NodeOf(run.cluster, "near"), "n1");
}

TEST(Loop, ANodeThatGoesWakesWhoeverSpreads) {
  const std::string spread =
      "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]\n";
  // Zone b has none and no room, so nothing more goes to zone a until b is gone.
  LoopRun run(NodeYaml("a1", "zone: a") + NodeYaml("b1", "zone: b", "0") +
              Prio("w", 0, "a1", "1", "", "app: web") +
              Prio("next", 0, "", "1", spread, "app: web"));
  EXPECT_EQ(TriedAgain(run, [](auto& loop) { return loop.DeleteNode("b1"); }), (Strings{"next"}));
  EXPECT_EQ(NodeOf(run.cluster, "next"), "a1");
}

TEST(Loop, ErrorsOfTheClusterChangeNothing) {
  LoopRun run(Waiters());
  run.Quiet();
  EXPECT_FALSE(run.loop->AddPod(OnePod(Prio("old", 0))).ok());
  EXPECT_FALSE(run.loop->UpdatePod(OnePod(Prio("none", 0))).ok());
  EXPECT_FALSE(run.loop->DeletePod("default", "none").ok());
  EXPECT_FALSE(run.loop->AddNode(OneNode(NodeYaml("n1"))).ok());
  EXPECT_FALSE(run.loop->UpdateNode(OneNode(NodeYaml("none"))).ok());
  EXPECT_FALSE(run.loop->DeleteNode("none").ok());
  EXPECT_EQ(run.Quiet().attempts, 3);
}

// --- what the queue never tries, and errors

TEST(Loop, WithoutNodesPodsBackOffUntilOneComes) {
  LoopRun run(Prio("p", 0));
  RunReport report = run.Quiet();
  EXPECT_EQ(report.attempts, 1);
  EXPECT_EQ(report.pending.at(0).second, "no nodes available to schedule pods");
  EXPECT_EQ(run.loop->queue().in_error_backoff(), 1u);
  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n1"))).ok());
  EXPECT_EQ(run.loop->queue().in_error_backoff(), 1u);  // no event ends it
  EXPECT_FALSE(run.loop->Step());
  report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"p"}));
  EXPECT_EQ(report.duration, seconds(2));  // 1 s, with the whole second behind it
}

TEST(Loop, UnknownProfilesAndPodsThatGoAreNotTried) {
  std::string going = Prio("going", 0);
  const std::string name = "name: going\n";
  going.insert(going.find(name) + name.size(), "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n");
  LoopRun run(NodeYaml("n1") + Prio("foreign", 0, "", "1", "  schedulerName: another\n") + going);
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.bound, Strings{});
  EXPECT_EQ(Pending(report), (Strings{"foreign", "going"}));
  EXPECT_EQ(report.attempts, 0);
  EXPECT_NE(report.pending[0].second.find("another"), std::string::npos);
  EXPECT_EQ(run.loop->queue().in_flight(), 0u);
}

TEST(Loop, WithoutPopFromBackoffItWaitsForTheBackoff) {
  LoopOptions options;
  options.queue = QueueOptions();
  options.queue->pop_from_backoff = false;
  LoopRun run(NodeYaml("n1", "", "1") + Prio("old", 0, "n1") + Prio("new", 5), options);
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"new"}));
  EXPECT_EQ(report.duration, seconds(2));
}

TEST(Loop, WithAnotherClockItOnlySteps) {
  VirtualClock clock(seconds(100));
  LoopOptions options;
  options.clock = &clock;
  LoopRun run(Prio("p", 0), options);
  EXPECT_FALSE(run.loop->RunUntilQuiet().ok());
  EXPECT_TRUE(run.loop->Step());
  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n1"))).ok());
  clock.Set(seconds(101));
  EXPECT_FALSE(run.loop->Step());
  clock.Set(seconds(102));
  EXPECT_TRUE(run.loop->Step());
  EXPECT_EQ(NodeOf(run.cluster, "p"), "n1");
  EXPECT_FALSE(run.loop->Step());
}

TEST(Loop, ProgressMayEndIt) {
  LoopRun run(NodeYaml("n1") + Prio("a", 0) + Prio("b", 0) + Prio("c", 0));
  std::vector<std::pair<std::size_t, std::size_t>> calls;
  const auto report = run.loop->RunUntilQuiet([&](std::size_t done, std::size_t total) {
    calls.emplace_back(done, total);
    return calls.size() < 3;
  });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(calls, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 3}, {2, 3}}));
  EXPECT_EQ(Short(report->bound), (Strings{"a", "b"}));
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b", "c"}));  // it may go on
}

// --- plugins that fail

TEST(Loop, APluginThatFailsLeavesTheClusterAsItWas) {
  for (const std::string point : {"Reserve", "Permit", "PreBind", "Bind"}) {
    for (const std::string how : {"throws", "Error", "Unschedulable"}) {
      SCOPED_TRACE(point + " " + how);
      const auto script = std::make_shared<Script>();
      LoopRun run(NodeYaml("n1") + Prio("p", 0) + Prio("q", 0), {}, WithProbes(script));
      const std::string before = Describe(run.cluster);
      script->statuses.emplace("Bind", Status());
      if (how == "throws") {
        script->throws.insert(point + " p");
      } else {
        script->statuses[point + " p"] =
            Status(how == "Error" ? Code::kError : Code::kUnschedulable, std::string("broken"));
      }
      ASSERT_TRUE(run.loop->Step());
      EXPECT_EQ(Describe(run.cluster), before);
      EXPECT_EQ(run.loop->queue().in_flight(), 0u);
      EXPECT_EQ(script->log.back(), "Unreserve p");
      // A rejection at Reserve or Permit is one by that plugin, whom any event may help; all else
      // waits out its backoff.
      const bool rejected = how == "Unschedulable" && (point == "Reserve" || point == "Permit");
      EXPECT_EQ(run.loop->queue().in_error_backoff(), rejected ? 0u : 1u);
      EXPECT_EQ(run.loop->queue().unschedulable(), rejected ? 1u : 0u);
      script->throws.clear();
      script->statuses.erase(point + " p");
      const RunReport report = run.Quiet();  // q's binding is an event
      EXPECT_EQ(Short(report.bound), (Strings{"p", "q"}));
      EXPECT_EQ(report.pending.size(), 0u);
    }
  }
}

TEST(Loop, APostBindThatFailsChangesNothing) {
  const auto script = std::make_shared<Script>();
  script->throws.insert("PostBind");
  LoopRun run(NodeYaml("n1") + Prio("p", 0) + Prio("q", 0), {}, WithProbes(script));
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"p", "q"}));
  EXPECT_EQ(report.attempts, 2);
}

TEST(Loop, WhoAlwaysFailsEndsTheRunAllTheSame) {
  const auto script = std::make_shared<Script>();
  script->statuses["Bind"] = Status::Error("broken");
  LoopRun run(NodeYaml("n1") + Prio("p", 0) + Gang(2) + Member("a") + Member("b"), {},
              WithProbes(script));
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.bound, Strings{});
  EXPECT_EQ(Pending(report), (Strings{"a", "b", "p"}));
  EXPECT_EQ(run.loop->queue().in_flight(), 0u);
}

// --- waiting at Permit

TEST(Loop, TheShortestWaitAtPermitDecides) {
  const auto script = std::make_shared<Script>();
  script->waits["p"] = {{"Slow", seconds(10)}, {"Quick", seconds(5)}};
  LoopRun run(NodeYaml("n1", "", "1") + Prio("p", 0) + Prio("q", 0), {},
              WithProbes(script, {"Slow", "Quick"}));
  const std::string before = Describe(run.cluster);
  ASSERT_TRUE(run.loop->Step());
  EXPECT_NE(Describe(run.cluster), before);  // assumed
  EXPECT_EQ(run.loop->queue().in_flight(), 1u);
  ASSERT_TRUE(run.loop->Step());  // q finds no room
  const RunReport report = run.Quiet();
  // p gave its place back after 5 s, which made room for q.
  EXPECT_EQ(report.duration, seconds(5));
  EXPECT_EQ(Short(report.bound), (Strings{"q"}));
  ASSERT_EQ(Pending(report), (Strings{"p"}));
  EXPECT_NE(report.pending[0].second.find("Insufficient cpu"), std::string::npos);
}

TEST(Loop, ATimeoutAtPermitNamesItsPlugin) {
  const auto script = std::make_shared<Script>();
  script->waits["p"] = {{"Slow", seconds(10)}, {"Quick", seconds(5)}};
  LoopRun run(NodeYaml("n1", "", "1") + Prio("p", 0), {}, WithProbes(script, {"Slow", "Quick"}));
  const std::string before = Describe(run.cluster);
  const RunReport report = run.Quiet();
  // runtime/waiting_pods_map.go
  EXPECT_EQ(report.pending.at(0).second,
            "rejected due to timeout after waiting 5s at plugin Quick");
  EXPECT_EQ(Describe(run.cluster), before);
  EXPECT_EQ(report.attempts, 1);  // its own place coming free is no news for it
  run.loop->queue().ForEach([&](const QueuedEntity& entity) {
    EXPECT_EQ(run.loop->queue().Names(entity.one.unschedulable), (Strings{"Quick"}));
  });
}

TEST(Loop, AWaitLastsAQuarterOfAnHourAtMost) {
  const auto script = std::make_shared<Script>();
  script->waits["p"] = {{"Probe", std::chrono::hours(5)}};
  LoopRun run(NodeYaml("n1") + Prio("p", 0), {}, WithProbes(script));
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.duration, nanoseconds(std::chrono::minutes(15)));
  EXPECT_EQ(report.pending.at(0).second,
            "rejected due to timeout after waiting 15m0s at plugin Probe");
}

TEST(Loop, ATimeoutAtPermitIsWrittenAsGoWritesDurations) {
  const std::pair<nanoseconds, const char*> times[] = {
      {nanoseconds(7), "7ns"},
      {nanoseconds(1'500), "1.5µs"},
      {nanoseconds(20'000'000), "20ms"},
      {nanoseconds(1'050'000'000), "1.05s"},
      {seconds(60), "1m0s"},
      {nanoseconds(90'500'000'000), "1m30.5s"},
  };
  for (const auto& [time, text] : times) {
    const auto script = std::make_shared<Script>();
    script->waits["p"] = {{"Probe", time}};
    LoopRun run(NodeYaml("n1") + Prio("p", 0), {}, WithProbes(script));
    EXPECT_EQ(run.Quiet().pending.at(0).second,
              std::string("rejected due to timeout after waiting ") + text + " at plugin Probe");
  }
}

TEST(Loop, PodsAndNodesMayGoWhileAPodWaitsAtPermit) {
  const auto script = std::make_shared<Script>();
  script->waits["p"] = {{"Probe", seconds(10)}};
  LoopRun run(NodeYaml("n1", "", "1") + Prio("p", 0), {}, WithProbes(script));
  ASSERT_TRUE(run.loop->Step());
  EXPECT_FALSE(run.loop->UpdatePod(OnePod(Prio("p", 0, "", "1", "", "x: z"))).ok());
  ASSERT_TRUE(run.loop->DeleteNode("n1").ok());
  EXPECT_EQ(run.loop->queue().in_error_backoff(), 1u);
  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n2", "", "1"))).ok());
  script->waits.clear();
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"p"}));
  EXPECT_EQ(NodeOf(run.cluster, "p"), "n2");

  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n3", "", "1"))).ok());
  script->waits["q"] = {{"Probe", seconds(10)}};
  ASSERT_TRUE(run.loop->AddPod(OnePod(Prio("q", 0))).ok());
  ASSERT_TRUE(run.loop->Step());
  ASSERT_TRUE(run.loop->DeletePod("default", "q").ok());
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.pending.size(), 0u);
  EXPECT_EQ(run.cluster.view().Requested(kCpu)[*run.cluster.view().Find("n3")], 0);
}

TEST(Loop, ALoopThatEndsEarlyLeavesNothingAssumed) {
  const auto script = std::make_shared<Script>();
  script->waits["a"] = script->waits["b"] = {{"Probe", seconds(10)}};
  LoopRun run(NodeYaml("n1") + Prio("a", 0) + Prio("b", 0) + Prio("c", 0), {}, WithProbes(script));
  const std::string before = Describe(run.cluster);
  ASSERT_TRUE(run.loop->Step());
  ASSERT_TRUE(run.loop->Step());
  EXPECT_NE(Describe(run.cluster), before);
  run.loop.reset();
  EXPECT_EQ(Describe(run.cluster), before);
  EXPECT_EQ(std::count(script->log.begin(), script->log.end(), "Unreserve a"), 1);
  EXPECT_EQ(std::count(script->log.begin(), script->log.end(), "Unreserve b"), 1);
}

TEST(Loop, WhoWaitsAtPermitIsPreemptedWithoutBeingDeleted) {
  const auto script = std::make_shared<Script>();
  script->waits["low"] = {{"Probe", seconds(10)}};
  LoopRun run(NodeYaml("n1", "", "1") + Prio("low", 0), {}, WithProbes(script));
  ASSERT_TRUE(run.loop->Step());
  ASSERT_TRUE(run.loop->AddPod(OnePod(Prio("high", 5))).ok());
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"high"}));
  EXPECT_EQ(Pending(report), (Strings{"low"}));
  EXPECT_EQ(report.deleted, Strings{});
}

// --- preemption

TEST(Loop, VictimsGoAndBudgetsAreSpared) {
  LoopRun run(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "1") + Prio("a", 0, "n1") +
              Prio("b", 1, "n2") + Prio("new", 5) +
              "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\n"
              "metadata: {name: pdb, namespace: default}\n"
              "spec: {selector: {matchLabels: {app: a}}}\nstatus: {disruptionsAllowed: 0}\n");
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.deleted), (Strings{"b"}));  // though a is less important
  EXPECT_EQ(NodeOf(run.cluster, "new"), "n2");
  EXPECT_EQ(report.attempts, 2);
  EXPECT_EQ(report.duration, seconds(0));  // it is popped from its backoff
}

TEST(Loop, OthersLeaveRoomForWhoIsNominated) {
  // While the preemptor backs off, the small pod of lower priority is tried, and finds no room.
  LoopRun run(NodeYaml("n1", "", "2") + Prio("old", 0, "n1", "2") + Prio("a-big", 9, "", "2") +
              Prio("small", 3, "", "1"));
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"a-big"}));
  EXPECT_EQ(Pending(report), (Strings{"small"}));
}

TEST(Loop, ANominationStaysWhenThePodIsUpdated) {
  LoopRun run(NodeYaml("n1", "", "2") + Prio("old", 0, "n1", "2") + Prio("a-big", 9, "", "2") +
              Prio("small", 3, "", "1"));
  ASSERT_TRUE(run.loop->Step());  // a-big preempts
  const auto nominated = [&] {
    return run.cluster.view().FindPod("default", "a-big")->pod->status.nominated_node_name;
  };
  EXPECT_EQ(nominated(), "n1");
  ASSERT_TRUE(run.loop->UpdatePod(OnePod(Prio("a-big", 9, "", "2", "", "app: a-big, x: z"))).ok());
  EXPECT_EQ(nominated(), "n1");
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a-big"}));
}

TEST(Loop, WhoMayNotPreemptWaits) {
  LoopRun run(NodeYaml("n1", "", "1") + Prio("old", 0, "n1") +
              Prio("new", 5, "", "1", "  preemptionPolicy: Never\n"));
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.deleted, Strings{});
  EXPECT_NE(report.pending.at(0).second.find("not eligible due to preemptionPolicy=Never."),
            std::string::npos);
}

TEST(Loop, AsLongAsAVictimGoesThePreemptorWaits) {
  // The pod is nominated, and its victim is being deleted: it may not preempt again.
  std::string victim = Prio("victim", 0, "n1");
  const std::string name = "name: victim\n";
  victim.insert(victim.find(name) + name.size(), "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n");
  victim +=
      "status: {conditions: [{type: DisruptionTarget, status: \"True\", reason: "
      "PreemptionByScheduler}]}\n";
  LoopRun run(NodeYaml("n1", "", "1") + NodeYaml("n2", "", "1") + Prio("other", 0, "n2") + victim +
              Prio("new", 5) + "status: {nominatedNodeName: n1}\n");
  RunReport report = run.Quiet();
  EXPECT_EQ(report.deleted, Strings{});
  EXPECT_NE(report.pending.at(0).second.find("terminating pod on the nominated node"),
            std::string::npos);
  ASSERT_TRUE(run.loop->DeletePod("default", "victim").ok());
  report = run.Quiet();
  EXPECT_EQ(NodeOf(run.cluster, "new"), "n1");
}

TEST(Loop, StatusUpdatesDecideWhetherTheNominatedNodeIsTriedFirst) {
  // The recorded answer, and the one that the same kube-scheduler gives when updates of a pod's
  // status reach its queue.
  const auto folder = testing::TestsDir() / "conformance/vectors/loop-preempt-012";
  const auto run = [&](StatusUpdates updates) {
    auto cluster = testing::TryLoad({(folder / "cluster.json").string()});
    EXPECT_TRUE(cluster.ok());
    const auto scheduler = MakeScheduler("", WithGroups());
    LoopOptions options;
    options.status_updates = updates;
    SchedulingLoop loop(*scheduler, *cluster, options);
    return *loop.RunUntilQuiet();
  };
  const RunReport recorded = run(StatusUpdates::kOnFailure);
  EXPECT_EQ(Short(recorded.bound), (Strings{"solo0", "solo1"}));
  EXPECT_EQ(Short(recorded.deleted), (Strings{"old0", "old1"}));
  EXPECT_EQ(Pending(recorded), (Strings{"solo2", "solo3"}));
  const RunReport real = run(StatusUpdates::kAtOnce);
  EXPECT_EQ(Short(real.bound), (Strings{"solo0", "solo1", "solo3"}));
  EXPECT_EQ(Short(real.deleted), (Strings{"old0", "old1"}));
  EXPECT_EQ(Pending(real), (Strings{"solo2"}));
}

// --- groups

TEST(Loop, AGangIsPlacedOrNothingIs) {
  const std::string members = Member("a") + Member("b") + Member("c");
  {
    LoopRun run(NodeYaml("n1", "", "3") + Gang(3) + members);
    EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b", "c"}));
  }
  LoopRun run(NodeYaml("n1", "", "2") + Gang(3) + members + Prio("solo", 0, "", "2"));
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"solo"}));
  ASSERT_EQ(Pending(report), (Strings{"a", "b", "c"}));
  // With the first one that doesn't fit it is clear that the gang won't; the others aren't tried.
  EXPECT_EQ(report.pending[0].second, "0/1 nodes are available: 1 Insufficient cpu.");
  for (const int other : {1, 2}) {
    EXPECT_EQ(report.pending[other].second.find(
                  "0/1 placements are available, first placement status: minCount (3) cannot be "
                  "satisfied: 0 scheduled, 2 remaining"),
              0u);
  }
}

TEST(Loop, AGangIsElasticAboveItsMinimum) {
  LoopRun run(NodeYaml("n1", "", "3") + Gang(2) + Member("a") + Member("b", "g", 0, "", "8") +
              Member("c") + Member("d", "g", 0, "", "2"));
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"a", "c"}));
  EXPECT_EQ(Pending(report), (Strings{"b", "d"}));
}

TEST(Loop, PodsThatAreBoundCountForTheMinimum) {
  LoopRun run(NodeYaml("n1", "", "3") + Gang(3) + Member("a", "g", 0, "n1") +
              Member("b", "g", 0, "n1") + Member("c"));
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b", "c"}));
}

TEST(Loop, AGangWaitsForItsObjectItsPodsAndItsGates) {
  LoopRun run(NodeYaml("n1") + Member("a") +
              Prio("b", 0, "", "1",
                   "  schedulingGroup: {podGroupName: g}\n  schedulingGates: [{name: x/z}]\n"));
  RunReport report = run.Quiet();
  EXPECT_EQ(report.attempts, 0);
  EXPECT_EQ(report.pending.at(0).second, "waiting for pod group \"g\", which isn't there");
  auto objects = api::ParseObjects(Gang(3));
  ASSERT_TRUE(objects.ok());
  ASSERT_TRUE(run.loop->Upsert(objects->pod_groups.at(0)).ok());
  EXPECT_EQ(run.Quiet().attempts, 0);
  ASSERT_TRUE(run.loop->AddPod(OnePod(Member("c"))).ok());
  EXPECT_EQ(run.Quiet().attempts, 0);
  ASSERT_TRUE(run.loop->UpdatePod(OnePod(Member("b"))).ok());
  report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"a", "b", "c"}));
  EXPECT_EQ(report.attempts, 1);
}

TEST(Loop, ALowerMinimumIsNoticed) {
  LoopRun run(NodeYaml("n1") + Gang(3) + Member("a") + Member("b"));
  EXPECT_EQ(run.Quiet().bound, Strings{});
  auto objects = api::ParseObjects(Gang(2));
  objects->pod_groups.at(0).metadata.ns = "";  // as good as default
  ASSERT_TRUE(run.loop->Upsert(objects->pod_groups.at(0)).ok());
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b"}));
}

TEST(Loop, PodsOfAGroupMustGoTogether) {
  const auto why = [](const std::string& text) {
    LoopRun run(NodeYaml("n1") + text);
    const RunReport report = run.Quiet();
    for (const auto& [pod, reason] : report.pending) EXPECT_EQ(reason, report.pending[0].second);
    return report.pending.empty() ? "" : report.pending[0].second;
  };
  EXPECT_EQ(why(Gang(2, 5) + Member("a", "g", 5) + Member("b", "g", 4)),
            "all pods in a single pod group should have the same priority as the pod group's "
            "priority, got 4 and 5");
  EXPECT_EQ(why(Gang(2) + Member("a", "g", 3, "n1") + Member("b")),
            "all pods in a single pod group should have the same priority as the pod group's "
            "priority, got 3 and 0");
  EXPECT_EQ(why(Gang(2) + Member("a") +
                Prio("b", 0, "", "1",
                     "  preemptionPolicy: Never\n  schedulingGroup: {podGroupName: g}\n")),
            "all pods in a single pod group should have the same preemption policy, got "
            "PreemptLowerPriority and Never");
  EXPECT_EQ(why(Gang(2) + Member("a") + Member("b")), "");
}

TEST(Loop, WithoutNodesAGangBacksOff) {
  LoopRun run(Gang(2) + Member("a") + Member("b"));
  RunReport report = run.Quiet();
  EXPECT_EQ(report.pending.at(0).second, "no nodes available to schedule pods");
  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n1"))).ok());
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b"}));
}

TEST(Loop, ATopologyConstraintKeepsAGroupInOneDomain) {
  const std::string constraint = ", schedulingConstraints: {topology: [{key: rack}]}";
  const std::string nodes = NodeYaml("a1", "rack: a", "2") + NodeYaml("b1", "rack: b", "2") +
                            NodeYaml("b2", "rack: b", "1") + NodeYaml("x", "", "9");
  {
    LoopRun run(nodes + Gang(3, 0, constraint) + Member("p") + Member("q") + Member("r"));
    EXPECT_EQ(Short(run.Quiet().bound), (Strings{"p", "q", "r"}));
    for (const char* pod : {"p", "q", "r"}) EXPECT_EQ(NodeOf(run.cluster, pod)[0], 'b') << pod;
  }
  {  // four don't fit in any
    LoopRun run(nodes + Gang(4, 0, constraint) + Member("p") + Member("q") + Member("r") +
                Member("s"));
    const RunReport report = run.Quiet();
    EXPECT_EQ(report.bound, Strings{});
    EXPECT_EQ(report.pending.at(0).second.find("0/2 placements are available"), 0u);
  }
  {  // where some are on nodes, the others go to the same domain
    LoopRun run(nodes + Gang(2, 0, constraint) + Member("o", "g", 0, "a1") + Member("p") +
                Member("q"));
    EXPECT_EQ(Short(run.Quiet().bound), (Strings{"o", "p"}));
    EXPECT_EQ(NodeOf(run.cluster, "p"), "a1");
  }
  LoopRun run(nodes + Gang(2, 0, constraint) + Member("o", "g", 0, "x") + Member("p"));
  EXPECT_EQ(run.Quiet().pending.at(0).second,
            "a pod of the group is on node x, which has no label rack");
}

TEST(Loop, AMemberThatFailsTakesBackTheGang) {
  for (const std::string point : {"Reserve", "Permit", "PreBind", "Bind"}) {
    SCOPED_TRACE(point);
    const auto script = std::make_shared<Script>();
    LoopRun run(NodeYaml("n1", "", "3") + Gang(3) + Member("a") + Member("b") + Member("c"), {},
                WithProbes(script));
    const std::string before = Describe(run.cluster);
    const bool binds = point == "PreBind" || point == "Bind";
    // Of those that bind the first, so that nothing is bound yet.
    script->statuses[point + (binds ? " a" : " b")] = Status::Error("broken");
    ASSERT_TRUE(run.loop->Step());
    EXPECT_EQ(Describe(run.cluster), before);
    EXPECT_EQ(run.loop->queue().in_flight(), 0u);
    EXPECT_EQ(run.loop->queue().in_error_backoff(), 1u);
    EXPECT_FALSE(run.loop->Step());
    // Each Reserve but that of a plugin that failed there is undone once, in reverse order.
    Strings undone;
    for (const std::string& entry : script->log) {
      if (entry.starts_with("Unreserve")) undone.push_back(entry.substr(10));
    }
    EXPECT_EQ(undone, binds ? (Strings{"a", "c", "b"}) : (Strings{"b", "c", "a"}));
    script->statuses.clear();
    ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n2", "", "0"))).ok());  // something has changed
    const RunReport report = run.Quiet();
    EXPECT_EQ(Short(report.bound), (Strings{"a", "b", "c"}));
    EXPECT_EQ(report.duration, seconds(2));
  }
}

TEST(Loop, AboveTheMinimumAMemberFailsAlone) {
  const auto script = std::make_shared<Script>();
  script->statuses["Reserve b"] = Status::Unschedulable("not now");
  LoopRun run(NodeYaml("n1", "", "3") + Gang(2) + Member("a") + Member("b") + Member("c"), {},
              WithProbes(script));
  ASSERT_TRUE(run.loop->Step());
  EXPECT_EQ(NodeOf(run.cluster, "a"), "n1");
  EXPECT_EQ(NodeOf(run.cluster, "b"), "");
  EXPECT_EQ(NodeOf(run.cluster, "c"), "n1");
  EXPECT_EQ(run.loop->queue().active(), 1u);  // the rest of a group is tried at once
  ASSERT_TRUE(run.loop->Step());
  EXPECT_EQ(run.loop->queue().active(), 0u);  // but not again and again
  script->statuses.clear();
  ASSERT_TRUE(run.loop->AddNode(OneNode(NodeYaml("n2", "", "0"))).ok());  // something has changed
  EXPECT_EQ(Short(run.Quiet().bound), (Strings{"a", "b", "c"}));
}

TEST(Loop, AGangThatLosesAPodAtPermitGivesItsPlacesBack) {
  const auto script = std::make_shared<Script>();
  script->waits["a"] = {{"Probe", seconds(5)}};
  script->waits["b"] = script->waits["c"] = {{"Probe", seconds(60)}};
  LoopRun run(NodeYaml("n1", "", "3") + Gang(3) + Member("a") + Member("b") + Member("c") +
                  Prio("solo", -1, "", "3"),
              {}, WithProbes(script));
  ASSERT_TRUE(run.loop->Step());
  ASSERT_TRUE(run.loop->Step());
  EXPECT_EQ(NodeOf(run.cluster, "solo"), "");
  ASSERT_TRUE(run.loop->DeletePod("default", "a").ok());
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"solo"}));
  EXPECT_EQ(Pending(report), (Strings{"b", "c"}));
  EXPECT_EQ(report.duration, seconds(0));
}

TEST(Loop, GroupsEvictTogetherAndGoTogether) {
  // Six old pods; the gang needs room of four, and the least important go.
  std::string text = NodeYaml("n1", "", "3") + NodeYaml("n2", "", "3") + Gang(4, 10);
  for (int i = 0; i < 6; ++i) {
    text += Prio("old" + std::to_string(i), i, i % 2 == 0 ? "n1" : "n2");
  }
  for (const char* name : {"a", "b", "c", "d"}) text += Member(name, "g", 10);
  {
    LoopRun run(text);
    const RunReport report = run.Quiet();
    EXPECT_EQ(Short(report.deleted), (Strings{"old0", "old1", "old2", "old3"}));
    EXPECT_EQ(Short(report.bound), (Strings{"a", "b", "c", "d", "old4", "old5"}));
  }
  // A group with disruption mode All goes as a whole, from both nodes.
  text = NodeYaml("n1", "", "2") + NodeYaml("n2", "", "2") +
         Gang(2, 1, ", disruptionMode: {all: {}}") + Member("a1", "g", 1, "n1") +
         Member("a2", "g", 1, "n2") + Prio("s1", 2, "n1") + Prio("s2", 2, "n2");
  {
    LoopRun run(text + Gang(1, 10, "", "h") + Member("new", "h", 10));
    const RunReport report = run.Quiet();
    EXPECT_EQ(Short(report.deleted), (Strings{"a1", "a2"}));
    EXPECT_EQ(Short(report.bound), (Strings{"new", "s1", "s2"}));
  }
  LoopRun run(text + Prio("new", 10));  // for a single pod, too
  EXPECT_EQ(Short(run.Quiet().deleted), (Strings{"a1", "a2"}));
}

TEST(Loop, AGangThatCannotBePlacedEvictsNobody) {
  LoopRun run(NodeYaml("n1", "", "2") + Prio("old", 0, "n1") + Gang(3, 10) + Member("a", "g", 10) +
              Member("b", "g", 10) + Member("c", "g", 10));
  const RunReport report = run.Quiet();
  EXPECT_EQ(report.deleted, Strings{});
  EXPECT_EQ(Short(report.bound), (Strings{"old"}));
}

TEST(Loop, OfAGroupsVictimsThoseThatGoAlreadyAreNotEvicted) {
  std::string going = Prio("going", 0, "n1");
  const std::string name = "name: going\n";
  going.insert(going.find(name) + name.size(), "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n");
  LoopRun run(NodeYaml("n1", "", "2") + going + Prio("old", 0, "n1") + Gang(2, 10) +
              Member("a", "g", 10) + Member("b", "g", 10));
  RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.deleted), (Strings{"old"}));
  EXPECT_EQ(Short(report.bound), (Strings{"going"}));
  ASSERT_TRUE(run.loop->DeletePod("default", "going").ok());
  report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"a", "b"}));
  EXPECT_EQ(Short(report.deleted), (Strings{"old"}));
}

TEST(Loop, WithoutTheFeaturePodsOfGroupsAreOrdinary) {
  LoopRun run(NodeYaml("n1", "", "1") + Gang(2) + Member("a") + Member("b"), {}, MakeScheduler());
  const RunReport report = run.Quiet();
  EXPECT_EQ(Short(report.bound), (Strings{"a"}));
  EXPECT_EQ(Pending(report), (Strings{"b"}));
}

}  // namespace
}  // namespace schedfw
