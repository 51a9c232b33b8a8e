#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/framework/config.h"
#include "schedfw/plugins/priority_drift.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;
using testing::TryParse;

constexpr const char* kConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preEnqueue: {enabled: [{name: PriorityDrift}]}
    queueSort: {enabled: [{name: PriorityDrift}], disabled: [{name: "*"}]}
)";

std::string ClassYaml(const std::string& name, std::int32_t value,
                      const std::string& transitions = "", const std::string& more = "") {
  std::string out = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nvalue: " +
                    std::to_string(value) + "\n" + more + "metadata:\n  name: " + name + "\n";
  if (!transitions.empty()) {
    out += "  annotations:\n    scheduling.kubeflow.org/stage-transitions: '" + transitions + "'\n";
  }
  return out;
}

// A pod of a class, at a stage ("": none).
std::string StagedPod(const std::string& name, const std::string& priority_class,
                      const std::string& stage = "", const std::string& more = "",
                      const std::string& cpu = "1") {
  std::string out = PodYaml(name, "", "  priorityClassName: " + priority_class + "\n" + more, cpu);
  if (stage.empty()) return out;
  const std::string meta = "metadata:";
  const std::size_t at = out.find(meta);
  return out.insert(at + meta.size(),
                    "\n  annotations: {scheduling.kubeflow.org/stage: " + stage + "}");
}

std::int32_t PriorityOf(const SchedulingLoop& loop, std::string_view name) {
  return loop.cluster().view().FindPod("default", name)->priority();
}

TEST(A16, ExactlyAsSpecified) {
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  struct Case {
    std::int32_t value;
    const char* stage;
    std::int32_t want;
  };
  const PriorityDrift drift((PriorityDriftArgs()));
  for (const Case& c : std::vector<Case>{
           {1000, "", 1000},
           {1000, "Preload", 800},
           {1000, "Train", 1200},
           {1000, "Validate", 1000},
           {1000, "Sleep", 1000},  // an unknown stage weighs 1
           {1000, "train", 1000},  // case matters
           {0, "Train", 0},
           // 3.6, 4.8 and 8.4
           {3, "Train", 4},
           {4, "Train", 5},
           {7, "Train", 8},
           {2, "Preload", 2},
           {3, "Preload", 2},
           {-1000, "Train", -1200},
           {-3, "Train", -4},
           {-7, "Train", -8},
           {-3, "Preload", -2},
           {999'999'999, "Train", 1'000'000'000},
           {833'333'333, "Train", 1'000'000'000},  // 999,999,999.6
           {833'333'332, "Train", 999'999'998},    // 999,999,998.4
           {1'000'000'000, "Train", 1'000'000'000},
           {1'000'000'000, "Preload", 800'000'000},
           {2'000'000'000, "Preload", 2'000'000'000},  // a system class's
           {kMin, "Train", kMin},
           {kMin, "Preload", -1'717'986'918},  // -1,717,986,918.4
       }) {
    EXPECT_EQ(drift.PriorityAt(c.stage, c.value, nullptr), c.want) << c.value << " " << c.stage;
  }

  PriorityDriftArgs halves;
  halves.weights = {{"Half", 0.5}, {"More", 1.25}, {"Fine", 0.000001}, {"Most", 10}};
  const PriorityDrift rounds(halves);
  for (const Case& c : std::vector<Case>{
           {1, "Half", 1},
           {3, "Half", 2},
           {-1, "Half", -1},
           {-3, "Half", -2},
           {2, "More", 3},  // 2.5
           {-2, "More", -3},
           {6, "More", 8},  // 7.5
           {499'999, "Fine", 0},
           {500'000, "Fine", 1},
           {-500'000, "Fine", -1},
           {100'000'001, "Most", 1'000'000'000},
           {kMin, "Most", kMin},
           {5, "Train", 5},  // what is given stands for all weights
       }) {
    EXPECT_EQ(rounds.PriorityAt(c.stage, c.value, nullptr), c.want) << c.value << " " << c.stage;
  }

  api::PriorityClass with;
  with.metadata.name = "research";
  with.metadata.annotations[api::kStageTransitions] =
      R"({"Train": 5000, "Preload": -7, "Caf\u00e9": 1000000000, "Low": -2147483648})";
  EXPECT_EQ(drift.PriorityAt("Train", 1000, &with), 5000);
  EXPECT_EQ(drift.PriorityAt("Preload", 1000, &with), -7);
  EXPECT_EQ(drift.PriorityAt("Café", 1000, &with), 1'000'000'000);
  EXPECT_EQ(drift.PriorityAt("Low", 1000, &with), kMin);
  EXPECT_EQ(drift.PriorityAt("Validate", 1000, &with), 1000);  // not named: by weight
  EXPECT_EQ(drift.PriorityAt("", 1000, &with), 1000);
  with.metadata.name = "system-research";
  EXPECT_EQ(drift.PriorityAt("Train", 1000, &with), 1000);

  // The same of pods that a loop is given, bound or not, and the class's policy stays.
  const auto scheduler = MakeScheduler(kConfig);
  Cluster cluster =
      Parse(NodeYaml("n0") + ClassYaml("plain", 100, "", "preemptionPolicy: Never\n") +
            ClassYaml("jobs", 50, R"({"Train": 900})") +
            ClassYaml("standard", 10, R"({"Preload": 4})", "globalDefault: true\n") +
            StagedPod("none", "plain") + StagedPod("train", "plain", "Train") +
            StagedPod("job", "jobs", "Train") + StagedPod("load", "jobs", "Preload") +
            StagedPod("default", "\"\"", "Preload") +
            StagedPod("critical", "system-cluster-critical", "Preload") +
            StagedPod("bound", "plain", "Preload", "  nodeName: n0\n"));
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_EQ(PriorityOf(loop, "none"), 100);
  EXPECT_EQ(PriorityOf(loop, "train"), 120);
  EXPECT_EQ(PriorityOf(loop, "job"), 900);
  EXPECT_EQ(PriorityOf(loop, "load"), 40);
  EXPECT_EQ(PriorityOf(loop, "default"), 4);
  EXPECT_EQ(PriorityOf(loop, "critical"), 2'000'000'000);
  EXPECT_EQ(PriorityOf(loop, "bound"), 80);
  const PodPtr train = cluster.view().FindPod("default", "train");
  EXPECT_EQ(train->pod->spec.preemption_policy, "Never");
  EXPECT_EQ(train->pod->spec.priority, 100);

  auto late = api::ParseObjects(StagedPod("late", "jobs", "Train"));
  ASSERT_TRUE(late) << late.error().message();
  ASSERT_TRUE(loop.AddPod(late->pods.front()));
  EXPECT_EQ(PriorityOf(loop, "late"), 900);
  late->pods.front().metadata.annotations["scheduling.kubeflow.org/stage"] = "Validate";
  ASSERT_TRUE(loop.UpdatePod(late->pods.front()));
  EXPECT_EQ(PriorityOf(loop, "late"), 50);
}

TEST(A16, QueueFollowsAtOnce) {
  const auto scheduler = MakeScheduler(kConfig);
  std::string objects = NodeYaml("n0", "", "2") + ClassYaml("low", 90) + ClassYaml("high", 100);
  objects += StagedPod("a", "high") + StagedPod("b", "low") + StagedPod("c", "low");
  // One after another they fill the node: who comes first is bound.
  const auto bound_after = [&](const std::vector<std::pair<std::string, std::string>>& stages) {
    Cluster cluster = Parse(objects);
    SchedulingLoop loop(*scheduler, cluster);
    for (const auto& [pod, stage] : stages) {
      EXPECT_TRUE(loop.SetStage("default", pod, stage));
    }
    std::vector<std::string> out;
    while (loop.Step()) {
      for (const PodPtr& pod : cluster.view().pods(0)) {
        const std::string name = pod->pod->metadata.name;
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
      }
    }
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(bound_after({}), (Names{"a", "b"}));
  EXPECT_EQ(bound_after({{"c", "Train"}}), (Names{"c", "a"}));
  EXPECT_EQ(bound_after({{"a", "Preload"}}), (Names{"b", "c"}));
  // Only the last stage counts, and going back to none is a stage as well.
  EXPECT_EQ(bound_after({{"c", "Train"}, {"c", "Preload"}}), (Names{"a", "b"}));
  EXPECT_EQ(bound_after({{"a", "Preload"}, {"a", ""}}), (Names{"a", "b"}));
  // A rise doesn't make a pod younger: of equal ones the first stays first.
  EXPECT_EQ(bound_after({{"c", "Train"}, {"c", "Validate"}}), (Names{"a", "b"}));
}

TEST(A16, VictimIsProtectedAfterTrain) {
  const auto scheduler = MakeScheduler(kConfig);
  const std::string objects =
      NodeYaml("n0", "", "1") + ClassYaml("job", 100) + ClassYaml("urgent", 110) +
      StagedPod("victim", "job", "", "  nodeName: n0\n") + StagedPod("preemptor", "urgent");
  {
    Cluster cluster = Parse(objects);
    SchedulingLoop loop(*scheduler, cluster);
    EXPECT_EQ(loop.RunUntilQuiet()->deleted, std::vector<std::string>{"default/victim"});
  }
  Cluster cluster = Parse(objects);
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.SetStage("default", "victim", "Train"));  // 120
  RunReport report = *loop.RunUntilQuiet();
  EXPECT_TRUE(report.deleted.empty());
  EXPECT_EQ(report.bound, std::vector<std::string>{"default/victim"});
  ASSERT_EQ(loop.queue().unschedulable(), 1u);

  // What changes nothing for the pod that waits doesn't wake it.
  ASSERT_TRUE(loop.SetStage("default", "victim", "Train"));
  EXPECT_EQ(loop.queue().unschedulable(), 1u);
  // As the stage goes on it loses its protection, and who waited takes its place.
  ASSERT_TRUE(loop.SetStage("default", "victim", "Validate"));  // 100
  EXPECT_EQ(loop.queue().unschedulable(), 0u);
  report = *loop.RunUntilQuiet();
  EXPECT_EQ(report.deleted, std::vector<std::string>{"default/victim"});
  EXPECT_EQ(report.bound, std::vector<std::string>{"default/preemptor"});
}

TEST(A16, RiseMakesAPodTryAgain) {
  const auto scheduler = MakeScheduler(kConfig);
  Cluster cluster =
      Parse(NodeYaml("n0", "", "1") + ClassYaml("job", 100) +
            StagedPod("other", "job", "", "  nodeName: n0\n") + StagedPod("waits", "job") +
            StagedPod("gated", "job", "", "  schedulingGates: [{name: g}]\n"));
  SchedulingLoop loop(*scheduler, cluster);
  (void)*loop.RunUntilQuiet();
  ASSERT_EQ(loop.queue().unschedulable(), 2u);
  ASSERT_TRUE(loop.SetStage("default", "waits", "Preload"));
  EXPECT_EQ(loop.queue().unschedulable(), 2u);  // a fall is no reason
  ASSERT_TRUE(loop.SetStage("default", "gated", "Train"));
  EXPECT_EQ(loop.queue().unschedulable(), 2u);  // its gate keeps it out all the same
  ASSERT_TRUE(loop.SetStage("default", "waits", "Train"));
  EXPECT_EQ(loop.queue().unschedulable(), 1u);
  const RunReport report = *loop.RunUntilQuiet();
  EXPECT_EQ(report.deleted, std::vector<std::string>{"default/other"});
  EXPECT_EQ(report.bound, std::vector<std::string>{"default/waits"});
}

TEST(A16, NominationsFollow) {
  // `first` makes room for itself by evicting `old`; `second` comes before it has taken it.
  const auto scheduler = MakeScheduler(kConfig);
  const std::string objects =
      NodeYaml("n0", "", "1") + ClassYaml("job", 100) + ClassYaml("more", 105);
  const auto second_fits = [&](const char* stage) {
    Cluster cluster = Parse(objects + StagedPod("first", "job"));
    SchedulingLoop loop(*scheduler, cluster);
    EXPECT_TRUE(cluster.NominatePod("default", "first", "n0"));
    EXPECT_TRUE(loop.SetStage("default", "first", stage));
    auto second = api::ParseObjects(StagedPod("second", "more"));
    api::SetDefaults(second->pods.front());
    EXPECT_TRUE(cluster.AddPod(second->pods.front()));
    return scheduler->Schedule(cluster.view(), *cluster.view().FindPod("default", "second"))
        .status.ok();
  };
  EXPECT_TRUE(second_fits(""));
  EXPECT_FALSE(second_fits("Train"));  // 120: room is kept for it
}

TEST(A16, PodsOfGroupsHaveTheirGroupsPriority) {
  SchedulerOptions options;
  options.handle.generic_workload = true;
  const auto scheduler = MakeScheduler(kConfig, options);
  Cluster cluster =
      Parse(NodeYaml("n0") + ClassYaml("job", 100) +
            StagedPod("member", "job", "Train", "  schedulingGroup: {podGroupName: g}\n"));
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_EQ(PriorityOf(loop, "member"), 100);
  ASSERT_TRUE(loop.SetStage("default", "member", "Preload"));
  EXPECT_EQ(PriorityOf(loop, "member"), 100);
}

TEST(A16, RefusesBadTransitions) {
  const std::string where = "metadata.annotations.\"scheduling.kubeflow.org/stage-transitions\"";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ": invalid JSON at byte 0: no value"},
      {"  ", ": invalid JSON at byte 2: no value"},
      {"Train: 5", ": invalid JSON at byte 0: no value"},
      {"{Train: 5}", ": invalid JSON at byte 1: expected a text in double quotes"},
      {R"({"Train" 5})", ": invalid JSON at byte 9: expected ':'"},
      {R"({"Train": })", ": invalid JSON at byte 10: expected a value"},
      {R"({"Train": 5)", ": invalid JSON at byte 11: expected ',' or '}'"},
      {R"({"Train": 5,})", ": invalid JSON at byte 12: expected a text in double quotes"},
      {R"({"Train": 5} x)", ": invalid JSON at byte 13: more text behind the object"},
      {R"({"Train": 05})", ": invalid JSON at byte 12: a number begins with 0"},
      {R"({"Train": +5})", ": invalid JSON at byte 10: expected a value"},
      {R"({"Tra\in": 5})", ": invalid JSON at byte 6: an unknown escape"},
      {R"({"\ud800": 5})", ": invalid JSON at byte 8: half a surrogate pair"},
      {"{\"Tr\nain\": 5}", ": invalid JSON at byte 4: a control character in a text"},
      {"[1]", ": must be an object"},
      {"5", ": must be an object"},
      {"null", ": must be an object"},
      {R"({"": 5})", ": a stage must have a name"},
      {R"({"Train": 5, "Load": 6, "Train": 5})", ".Train: is given twice"},
      {R"({"Train": 5, "Tr\u0061in": 6})", ".Train: is given twice"},
      {R"({"Load": 1, "Train": "5"})", ".Train: must be an integer"},
      {R"({"Train": 5.0})", ".Train: must be an integer"},
      {R"({"Train": 1e3})", ".Train: must be an integer"},
      {R"({"Train": null})", ".Train: must be an integer"},
      {R"({"Train": {"a": 1}})", ".Train: must be an integer"},
      {R"({"Train": 1000000001})", ".Train: 1000000001 is more than 1000000000"},
      {R"({"Train": 2147483648})", ".Train: 2147483648 is more than 1000000000"},
      {R"({"Train": 99999999999999999999})",
       ".Train: 99999999999999999999 is more than 1000000000"},
      {R"({"Train": -2147483649})", ".Train: -2147483649 does not fit into 32 bits"},
  };
  for (const auto& [text, want] : cases) {
    api::PriorityClass broken;
    broken.metadata.name = "jobs";
    broken.metadata.annotations[api::kStageTransitions] = text;
    const auto read = api::TransitionsOf(broken);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message(), where + want) << text;
    EXPECT_EQ(read.error().kind(), ErrorKind::kParse);

    api::ObjectList list;
    list.priority_classes = {broken};
    const auto normalized = api::Normalize(list);
    ASSERT_FALSE(normalized);
    EXPECT_EQ(normalized.error().message(), "PriorityClass jobs: " + where + want);
    Cluster cluster;
    const auto applied = cluster.Apply(list);
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().message(), "PriorityClass jobs: " + where + want);
    EXPECT_TRUE(cluster.view().objects().priority_classes.empty());
  }
  // As files give them, with the line; also when no plugin asks.
  const auto file = TryParse(NodeYaml("n0") + ClassYaml("jobs", 5, R"({"Train": 1500000000})"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("PriorityClass jobs: " + where +
                                        ".Train: 1500000000 is more than 1000000000"),
            std::string::npos)
      << file.error().message();
  for (const char* good :
       {"{}", " { } ", R"({"Train":-0})", R"({ "A" : 1000000000 , "B" : -2147483648 })"}) {
    EXPECT_TRUE(TryParse(ClassYaml("jobs", 5, good))) << good;
  }
}

TEST(A16, RefusesBadArguments) {
  const auto with = [](const std::string& args) {
    return ParseConfig(
        std::string(kConfig) + "  pluginConfig: [{name: PriorityDrift, args: " + args + "}]\n",
        InTreeRegistry());
  };
  EXPECT_TRUE(with("{weights: {Train: 1.5, Load: 10}, stageAnnotation: a/b}"));
  for (const char* bad :
       {"{weights: {Train: 0}}", "{weights: {Train: -1.0}}", "{weights: {Train: 10.1}}",
        "{weights: {Train: 0.0000001}}", "{weights: {\"\": 1}}", "{weights: {Train: x}}",
        "{stageAnnotation: \"\"}", "{weight: 3}"}) {
    EXPECT_FALSE(with(bad)) << bad;
  }
}

TEST(A16, CheckpointsKeepWhatPrioritiesCountAs) {
  const auto scheduler = MakeScheduler(kConfig);
  Cluster cluster = Parse(NodeYaml("n0", "", "1") + ClassYaml("job", 100) +
                          StagedPod("bound", "job", "Train", "  nodeName: n0\n") +
                          StagedPod("one", "job") + StagedPod("two", "job"));
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.SetStage("default", "two", "Train"));
  Cluster empty;
  SchedulingLoop restored(*scheduler, empty);
  const auto done = restored.Restore(loop.Checkpoint());
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(PriorityOf(restored, "bound"), 120);
  EXPECT_EQ(PriorityOf(restored, "one"), 100);
  EXPECT_EQ(PriorityOf(restored, "two"), 120);
  ASSERT_TRUE(restored.Step());
  EXPECT_TRUE(restored.cluster().view().IsPending(
      restored.cluster().view().FindPod("default", "one")->Key()));
  std::string first;  // tried, and unschedulable now
  restored.queue().ForEach([&](const QueuedEntity& entity) {
    if (entity.attempts > 0) first = entity.one.pod->pod->metadata.name;
  });
  EXPECT_EQ(first, "two");
}

TEST(A16, NoRecreation) {
  const auto scheduler = MakeScheduler(kConfig);
  Cluster cluster = Parse(NodeYaml("n0", "", "1") + ClassYaml("job", 100) +
                          StagedPod("bound", "job", "", "  nodeName: n0\n") +
                          StagedPod("one", "job", "Preload") + StagedPod("two", "job"));
  SchedulingLoop loop(*scheduler, cluster);
  const std::uint64_t nodes = cluster.view().nodes_id();
  for (const char* name : {"bound", "one"}) {
    const api::Pod before = cluster.view().FindPod("default", name)->pod.Copy();
    ASSERT_TRUE(loop.SetStage("default", name, "Train"));
    const PodPtr now = cluster.view().FindPod("default", name);
    EXPECT_EQ(now->priority(), 120);
    api::Pod want = before;
    want.metadata.annotations["scheduling.kubeflow.org/stage"] = "Train";
    EXPECT_EQ(now->pod->metadata.uid, before.metadata.uid);
    EXPECT_EQ(now->pod->metadata.creation_timestamp_ns, before.metadata.creation_timestamp_ns);
    EXPECT_EQ(now->pod->spec.priority, before.spec.priority);
    EXPECT_EQ(now->pod->metadata.annotations, want.metadata.annotations);
    EXPECT_EQ(now->pod->status.start_time_ns, before.status.start_time_ns);
  }
  EXPECT_EQ(cluster.view().nodes_id(), nodes);
  EXPECT_EQ(cluster.view().PodTotal(), 3u);
  EXPECT_EQ(cluster.view().RowOf("default", "bound"), Row{0});
  EXPECT_EQ(cluster.view().Requested(kCpu)[0], 1000);
  // Its time in the queue stays: of the pods of one priority it is still the first.
  ASSERT_TRUE(loop.SetStage("default", "two", "Train"));
  loop.queue().ForEach([&](const QueuedEntity& entity) {
    EXPECT_EQ(entity.attempts, 0);
    EXPECT_EQ(entity.timestamp.count(), 0);
    if (entity.sequence == 1) {
      EXPECT_EQ(entity.one.pod->pod->metadata.name, "one");
    }
  });

  EXPECT_FALSE(loop.SetStage("default", "nobody", "Train"));
  const auto plain = MakeScheduler();
  SchedulingLoop other(*plain, cluster);
  EXPECT_FALSE(other.SetStage("default", "one", "Train"));
}

}  // namespace
}  // namespace schedfw
