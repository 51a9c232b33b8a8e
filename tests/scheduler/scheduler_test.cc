#include "schedfw/scheduler/scheduler.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/report.h"
#include "support/cluster.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

std::string Nodes(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += NodeYaml("n" + std::to_string(100 + i), "zone: z" + std::to_string(i % 3),
                    std::to_string(2 + i % 5));
  }
  return out;
}

// A plugin that does at one extension point what a test tells it to.
class Probe : public PreFilterPlugin,
              public FilterPlugin,
              public PreScorePlugin,
              public ScorePlugin,
              public ReservePlugin,
              public PermitPlugin,
              public PreBindPlugin,
              public BindPlugin,
              public PostBindPlugin {
 public:
  struct Script {
    std::string where;    // the point at which it acts
    Status status;        // what it returns there
    bool throws = false;  // or throws
    std::vector<std::string> log;
  };

  Probe(std::string name, std::shared_ptr<Script> script)
      : name_(std::move(name)), script_(std::move(script)) {}

  std::string_view Name() const override { return name_; }
  bool IsThreadSafe() const override { return false; }
  Status PreFilter(const Cycle&, CycleState&, PreFilterResult&) override { return At("PreFilter"); }
  Status Filter(const Cycle&, const NodeInfo&) const override { return At("Filter"); }
  Status PreScore(const Cycle&, CycleState&, std::span<const Row>) override {
    return At("PreScore");
  }
  Status Score(const Cycle&, const NodeInfo&, std::int64_t& score) const override {
    score = 1;
    return At("Score");
  }
  Status Reserve(const Cycle&, CycleState&, const NodeInfo&) override { return At("Reserve"); }
  void Unreserve(const Cycle&, CycleState&, const NodeInfo&) noexcept override {
    script_->log.push_back(name_ + ".Unreserve");
  }
  Status Permit(const Cycle&, CycleState&, const NodeInfo&, std::chrono::nanoseconds&) override {
    return At("Permit");
  }
  Status PreBind(const Cycle&, CycleState&, const NodeInfo&) override { return At("PreBind"); }
  Status Bind(const Cycle&, CycleState&, const NodeInfo&) override {
    const Status status = At("Bind");
    return status.ok() ? Status::Skip() : status;
  }
  void PostBind(const Cycle&, CycleState&, const NodeInfo&) override { (void)At("PostBind"); }

 private:
  Status At(const std::string& point) const {
    script_->log.push_back(name_ + "." + point);
    if (script_->where != name_ + "." + point) return {};
    if (script_->throws) throw std::runtime_error("thrown at " + point);
    return script_->status;
  }

  std::string name_;
  std::shared_ptr<Script> script_;
};

std::unique_ptr<Scheduler> WithProbes(const std::shared_ptr<Probe::Script>& script) {
  Registry registry = InTreeRegistry();
  std::string enabled;
  for (const std::string name : {"First", "Second"}) {
    PluginSpec spec;
    spec.name = name;
    spec.points = internal::PointsOf<Probe>();
    spec.factory = [=](const Value&, const Handle&) -> Result<PluginPtr> {
      return PluginPtr(std::make_shared<Probe>(name, script));
    };
    EXPECT_TRUE(registry.Add(std::move(spec)).ok());
    enabled += "{name: " + name + "}, ";
  }
  auto config = ParseConfig(kHead +
                                "profiles: [{plugins: {bind: {disabled: [{name: "
                                "DefaultBinder}]}, multiPoint: {enabled: [" +
                                enabled + "{name: DefaultBinder}]}}}]\n",
                            registry);
  EXPECT_TRUE(config.ok()) << config.error().message();
  // The in-tree binder binds behind the probes, which skip.
  config->profiles[0].plugins.at(ExtensionPoint::kBind) = {
      {{"First"}, {"Second"}, {"DefaultBinder"}}, {{"*"}}};
  auto scheduler = Scheduler::Create(*config, registry);
  EXPECT_TRUE(scheduler.ok()) << scheduler.error().message();
  return *std::move(scheduler);
}

// All columns of a small cluster as text.
std::string Describe(const Snapshot& s) {
  std::string out = std::to_string(s.generation());
  for (Row row = 0; row < s.size(); ++row) {
    out += " " + s.name(row) + ":" + std::to_string(s.Requested(kCpu)[row]) + "," +
           std::to_string(s.PodCount()[row]) + "," + std::to_string(s.Generations()[row]);
  }
  for (const PodPtr& pod : s.Pending()) out += " " + pod->FullName();
  return out;
}

TEST(Scheduler, ACycleIsATransaction) {
  for (const std::string point :
       {"PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBind", "Bind"}) {
    for (const bool throws : {false, true}) {
      SCOPED_TRACE(point + (throws ? " throws" : " fails"));
      auto script = std::make_shared<Probe::Script>();
      const auto scheduler = WithProbes(script);
      Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + PodYaml("p1") + PodYaml("p2"));
      const std::string before = Describe(cluster.view());
      const PodPtr pod = cluster.view().FindPod("default", "p1");
      script->where = "Second." + point;
      script->status = Status::Error("broken");
      script->throws = throws;
      if (throws) {
        EXPECT_THROW((void)scheduler->ScheduleOne(cluster, *pod), std::runtime_error);
      } else {
        const ScheduleResult result = scheduler->ScheduleOne(cluster, *pod);
        EXPECT_EQ(result.status.code(), Code::kError);
        EXPECT_NE(result.status.message().find("broken"), std::string::npos);
        EXPECT_NE(result.status.message().find("Second"), std::string::npos);
        EXPECT_EQ(result.node, "");
      }
      EXPECT_EQ(Describe(cluster.view()), before);
      const bool reserved =
          point == "Reserve" || point == "Permit" || point == "PreBind" || point == "Bind";
      std::vector<std::string> undone;
      for (const std::string& entry : script->log) {
        if (entry.ends_with("Unreserve")) undone.push_back(entry);
      }
      EXPECT_EQ(undone, reserved ? (std::vector<std::string>{"Second.Unreserve", "First.Unreserve"})
                                 : std::vector<std::string>{});
      // And the same pod can be scheduled afterwards.
      script->where.clear();
      EXPECT_EQ(scheduler->ScheduleOne(cluster, *pod).node, "n1");
      EXPECT_EQ(script->log.back(), "Second.PostBind");
    }
  }
}

TEST(Scheduler, APermitThatWaitsIsRefused) {
  auto script = std::make_shared<Probe::Script>();
  const auto scheduler = WithProbes(script);
  Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p1"));
  script->where = "First.Permit";
  script->status = Status(Code::kWait);
  const ScheduleResult result =
      scheduler->ScheduleOne(cluster, *cluster.view().FindPod("default", "p1"));
  EXPECT_EQ(result.status.code(), Code::kUnschedulable);
  EXPECT_EQ(result.status.plugin(), "First");
  EXPECT_EQ(cluster.view().Pending().size(), 1u);
}

TEST(Scheduler, SaysWhyAPodPends) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(Nodes(5) + NodeYaml("x", "", "64") +
                          PodYaml("big", "", "  nodeSelector: {zone: z1}\n", "50"));
  const auto placements = scheduler->Place(cluster);
  ASSERT_EQ(placements.size(), 1u);
  EXPECT_EQ(placements[0].node, "");
  EXPECT_EQ(placements[0].status.message(),
            "0/6 nodes are available: 2 Insufficient cpu, 4 node(s) didn't match Pod's node "
            "affinity/selector.");
}

TEST(Scheduler, GatedDeletingAndForeignPodsAreNotScheduled) {
  const auto scheduler = MakeScheduler();
  Cluster cluster =
      Parse(NodeYaml("n1") + PodYaml("gated", "", "  schedulingGates: [{name: a/b}, {name: c}]\n") +
            PodYaml("foreign", "", "  schedulerName: other\n") +
            "---\napiVersion: v1\nkind: Pod\nmetadata: {name: leaving, deletionTimestamp: "
            "\"2026-01-01T00:00:00Z\"}\nspec: {containers: [{name: c, image: i}]}\n");
  const auto placements = scheduler->Place(cluster);
  ASSERT_EQ(placements.size(), 2u);
  EXPECT_EQ(placements[0].status.message(), "waiting for scheduling gates: [a/b c]");
  EXPECT_EQ(placements[0].status.plugin(), "SchedulingGates");
  EXPECT_EQ(placements[1].status.message(),
            "no profile for schedulerName \"other\" (there are: default-scheduler)");
  EXPECT_EQ(cluster.view().PodCount()[0], 0);
}

TEST(Scheduler, NeedsOfPluginsWithoutEffectAreNotIgnored) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(
      NodeYaml("n1") +
      PodYaml("claim", "", "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n") +
      PodYaml("ephemeral", "", "  volumes: [{name: v, ephemeral: {}}]\n") +
      PodYaml("device", "", "  resourceClaims: [{name: gpu}]\n") +
      PodYaml("plain", "", "  volumes: [{name: v, emptyDir: {}}]\n"));
  const auto placements = scheduler->Place(cluster);
  const std::string claim =
      "0/1 nodes are available: the pod uses a PersistentVolumeClaim, which needs plugin "
      "VolumeBinding, which has no effect here.";
  EXPECT_EQ(placements[0].status.message(), claim);
  EXPECT_EQ(placements[1].status.message(), claim);
  EXPECT_EQ(placements[2].status.message(),
            "0/1 nodes are available: the pod uses a ResourceClaim, which needs plugin "
            "DynamicResources, which has no effect here.");
  EXPECT_EQ(placements[3].node, "n1");
}

TEST(Scheduler, TiesGoToTheFirstByNameOrToASeededDraw) {
  std::string text;
  for (const char* name : {"b", "a", "c", "d"}) text += NodeYaml(name);
  for (int i = 0; i < 4; ++i) text += PodYaml("p" + std::to_string(i));
  const Cluster cluster = Parse(text);
  const PodPtr pod = cluster.view().FindPod("default", "p0");
  EXPECT_EQ(MakeScheduler()->Schedule(cluster.view(), *pod).node, "a");

  const auto draw = [&](std::uint64_t seed) {
    SchedulerOptions options;
    options.tie_break = TieBreak::kSeeded;
    options.seed = seed;
    const auto scheduler = MakeScheduler("", options);
    std::string out;
    for (int i = 0; i < 40; ++i) out += scheduler->Schedule(cluster.view(), *pod).node;
    return out;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  for (const char node : {'a', 'b', 'c', 'd'}) {
    EXPECT_NE(draw(1).find(node), std::string::npos) << node;
  }
}

TEST(Scheduler, FitCountsUntilTheNextOnePends) {
  const auto scheduler = MakeScheduler();
  const Cluster cluster =
      Parse(NodeYaml("n1", "", "2") + NodeYaml("n2", "", "3") + PodYaml("p", "", "", "1"));
  const api::Pod& pod = *cluster.view().FindPod("default", "p")->pod;
  auto fit = scheduler->Fit(cluster.view(), pod, 100);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->count, 5);
  EXPECT_FALSE(fit->limited);
  EXPECT_EQ(fit->nodes, (std::vector<std::pair<std::string, std::int64_t>>{{"n1", 2}, {"n2", 3}}));
  EXPECT_EQ(fit->status.message(), "0/2 nodes are available: 2 Insufficient cpu.");
  auto limited = scheduler->Fit(cluster.view(), pod, 3);
  EXPECT_EQ(limited->count, 3);
  EXPECT_TRUE(limited->limited);
  EXPECT_EQ(cluster.view().Pending().size(), 1u);
}

// Score matrices and placements with 1, 2 and 8 threads, in tiny blocks, are the same to the bit.
TEST(Scheduler, ThreadsChangeNothing) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 8);
  for (const std::string prefix : {"spread-policy", "taints", "nodeaffinity", "place-"}) {
    for (const auto& folder :
         testing::Folders(testing::TestsDir() / "conformance" / "vectors", prefix)) {
      SCOPED_TRACE(folder.filename().string());
      auto cluster = testing::TryLoad({(folder / "cluster.json").string()});
      ASSERT_TRUE(cluster.ok());
      const auto config = folder / "config.yaml";
      std::vector<std::string> answers;
      for (const int count : {1, 2, 8}) {
        for (const auto normalize : {NormalizeMode::kParallel, NormalizeMode::kSynchronous}) {
          SchedulerOptions options;
          options.executor = {.threads = count, .grain_rows = 1, .normalize = normalize};
          auto scheduler = testing::TryScheduler(
              std::filesystem::exists(config) ? config.string() : "", options);
          ASSERT_TRUE(scheduler.ok());
          std::string answer;
          const auto pending = cluster->view().Pending();
          for (std::size_t i = 0; i < pending.size() && i < 5; ++i) {
            const Explanation e = (*scheduler)->Explain(cluster->view(), pending[i]);
            answer += ToJson(ToValue(e, cluster->view()));
            answer.append(
                reinterpret_cast<const char*>(e.scores.normalized.data()),
                sizeof(std::int64_t) * static_cast<std::size_t>(e.scores.normalized.size()));
          }
          Cluster fork = cluster->Fork();
          answer += ToJson(ToValue((*scheduler)->Place(fork)));
          answers.push_back(std::move(answer));
        }
      }
      for (const std::string& answer : answers) ASSERT_EQ(answer, answers[0]);
    }
  }
}

// Property: the order of nodes and pods in the file changes nothing but the order of the answers.
TEST(Scheduler, TheOrderOfNodesInTheFileChangesNothing) {
  const auto folder = testing::TestsDir() / "conformance" / "vectors" / "spread-policy-003";
  const Value list = testing::ReadValue(folder / "cluster.json");
  Value reversed = list;
  Value::List items = *list.Find("items")->AsList();
  std::reverse(items.begin(), items.end());
  reversed.Set("items", std::move(items));
  const Cluster a = Parse(ToJson(list));
  const Cluster b = Parse(ToJson(reversed));
  const auto scheduler = MakeScheduler();
  for (const PodPtr& pod : a.view().Pending()) {
    const PodPtr same = b.view().FindPod(pod->pod->metadata.ns, pod->pod->metadata.name);
    EXPECT_EQ(ToJson(ToValue(scheduler->Explain(a.view(), pod), a.view())),
              ToJson(ToValue(scheduler->Explain(b.view(), same), b.view())));
  }
}

// Property: whatever came before, a cycle on the incremental state equals one on a cluster that is
// built anew from the same objects.
TEST(Scheduler, AfterPlacingTheStateEqualsOneBuiltAnew) {
  const auto scheduler = MakeScheduler();
  std::string text = Nodes(12);
  for (int i = 0; i < 30; ++i) {
    text += PodYaml("p" + std::to_string(i), "app: a" + std::to_string(i % 2),
                    "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
                    "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a" +
                        std::to_string(i % 2) + "}}}]\n",
                    "600m");
  }
  Cluster cluster = Parse(text);
  const auto placements = scheduler->Place(cluster);
  std::string again = Nodes(12);
  for (const Placement& placement : placements) {
    if (placement.node.empty()) continue;
    const std::string name = placement.pod->pod->metadata.name;
    const std::string app = placement.pod->pod->metadata.labels.at("app");
    again += PodYaml(name, "app: " + app, "  nodeName: " + placement.node + "\n", "600m");
  }
  const std::string extra =
      PodYaml("extra", "app: a1",
              "  topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: "
              "ScheduleAnyway, labelSelector: {matchLabels: {app: a1}}}]\n",
              "100m");
  const Cluster rebuilt = Parse(again + extra);
  auto objects = api::ParseObjects(extra);
  ASSERT_TRUE(cluster.AddPod(objects->pods[0]).ok());
  const auto explain = [&](const Cluster& c) {
    return ToJson(
        ToValue(scheduler->Explain(c.view(), c.view().FindPod("default", "extra")), c.view()));
  };
  EXPECT_EQ(explain(cluster), explain(rebuilt));
}

TEST(Scheduler, AScoreOutOfRangeIsAnError) {
  class TooHigh : public ScorePlugin {
   public:
    std::string_view Name() const override { return "TooHigh"; }
    Status Score(const Cycle&, const NodeInfo&, std::int64_t& score) const override {
      score = 101;
      return {};
    }
  };
  Registry registry = InTreeRegistry();
  ASSERT_TRUE(registry.Add<TooHigh>("TooHigh", "").ok());
  auto config = ParseConfig(
      kHead + "profiles: [{plugins: {score: {enabled: [{name: TooHigh}]}}}]\n", registry);
  auto scheduler = Scheduler::Create(*config, registry);
  const Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + PodYaml("p"));
  const ScheduleResult result =
      (*scheduler)->Schedule(cluster.view(), *cluster.view().FindPod("default", "p"));
  EXPECT_EQ(result.status.message(),
            "plugin \"TooHigh\" returns an invalid score 101 for node n1, it should be in the "
            "range of [0, 100] after normalizing");
  EXPECT_EQ(result.status.plugin(), "TooHigh");
}

}  // namespace
}  // namespace schedfw
