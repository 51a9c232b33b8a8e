// Recorded answers of the real kube-scheduler v1.37.2, all in one process.

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "schedfw/base/simd.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/report.h"
#include "support/cluster.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::Folders;
using testing::ReadFile;
using testing::ReadValue;
using testing::TestsDir;

// Plugins that may be left without effect are left out of the comparison of plugin lists, and so is
// DefaultPreemption's PreEnqueue, which exists only for upstream's asynchronous API calls.
bool IsCompared(const std::string& point, const std::string& plugin) {
  static const std::set<std::string> kWithoutEffect = {
      "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",
      "VolumeZone",         "DynamicResources", "NodeDeclaredFeatures"};
  const std::string name = plugin.substr(0, plugin.find(':'));
  return !kWithoutEffect.contains(name) && !(point == "PreEnqueue" && name == "DefaultPreemption");
}

Value SortedReasons(const Value& status) {
  Value out = status;
  if (const Value* reasons = out.Find("reasons")) {
    Value::List list = *reasons->AsList();
    std::sort(list.begin(), list.end(),
              [](const Value& a, const Value& b) { return *a.AsString() < *b.AsString(); });
    out.Set("reasons", std::move(list));
  }
  return out;
}

// The fields of an explanation that are compared, in one order, without the empty ones. Upstream
// walks extended resources in map order, so reasons are sorted.
Value Comparable(const Value& pod) {
  Value out = Value::Object();
  for (const char* key : {"preEnqueue", "preFilter"}) {
    if (const Value* status = pod.Find(key)) out.Set(key, SortedReasons(*status));
  }
  for (const char* key : {"preFilterNodes", "feasible", "best"}) {
    const Value* list = pod.Find(key);
    if (list != nullptr && !list->IsNull() && !list->AsList()->empty()) out.Set(key, *list);
  }
  if (const Value* filter = pod.Find("filter"); filter != nullptr && !filter->IsNull()) {
    Value::Object statuses;
    for (const auto& [node, status] : *filter->AsObject()) {
      statuses.emplace_back(node, SortedReasons(status));
    }
    if (!statuses.empty()) out.Set("filter", std::move(statuses));
  }
  for (const char* key : {"raw", "weighted", "total"}) {
    const Value* scores = pod.Find(key);
    if (scores == nullptr || scores->IsNull() || scores->AsObject()->empty()) continue;
    Value::Object sorted = *scores->AsObject();
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    out.Set(key, std::move(sorted));
  }
  return out;
}

void ExpectSame(const Value& want, const Value& got, const std::string& what) {
  if (want == got) return;
  if (want.AsObject() != nullptr && got.AsObject() != nullptr) {
    for (const auto& [key, value] : *want.AsObject()) {
      const Value* other = got.Find(key);
      if (other == nullptr) {
        ADD_FAILURE() << what << "." << key << " is missing";
        return;
      }
      if (!(value == *other)) return ExpectSame(value, *other, what + "." + key);
    }
    for (const auto& [key, value] : *got.AsObject()) {
      if (want.Find(key) == nullptr) {
        ADD_FAILURE() << what << "." << key << ": not expected: " << ToJson(value).substr(0, 200);
        return;
      }
    }
  }
  ADD_FAILURE() << what << ": " << ToJson(got).substr(0, 300) << ", expected "
                << ToJson(want).substr(0, 300);
}

void CheckExplain(const Value& want, Scheduler& scheduler, const Cluster& cluster) {
  const Snapshot& snapshot = cluster.view();
  for (const Value& pod : *want.AsList()) {
    const std::string full = *pod.Find("pod")->AsString();
    const std::size_t slash = full.find('/');
    const PodPtr found = snapshot.FindPod(full.substr(0, slash), full.substr(slash + 1));
    ASSERT_NE(found, nullptr) << full;
    const Value got = ToValue(scheduler.Explain(snapshot, found), snapshot);
    ExpectSame(Comparable(pod), Comparable(got), full);
  }
}

// Statuses and preemption, without scores, as they were recorded.
void CheckPreempt(const Value& want, Scheduler& scheduler, const Cluster& cluster) {
  const Snapshot& snapshot = cluster.view();
  for (const Value& pod : *want.AsList()) {
    const std::string full = *pod.Find("pod")->AsString();
    const std::size_t slash = full.find('/');
    const PodPtr found = snapshot.FindPod(full.substr(0, slash), full.substr(slash + 1));
    ASSERT_NE(found, nullptr) << full;
    const Explanation explanation = scheduler.Explain(snapshot, found, {.preempt = true});
    const Value got = ToValue(explanation, snapshot, /*scores=*/false);
    ExpectSame(Comparable(pod), Comparable(got), full);
    const Value* preemption = pod.Find("preemption");
    if (preemption == nullptr) continue;
    ASSERT_TRUE(explanation.preemption) << full;
    Value mine = ToValue(*explanation.preemption);
    if (const Value* victims = mine.Find("victims")) {
      Value::List sorted = *victims->AsList();
      std::sort(sorted.begin(), sorted.end(),
                [](const Value& a, const Value& b) { return *a.AsString() < *b.AsString(); });
      mine.Set("victims", std::move(sorted));
    }
    for (const char* key : {"code", "nominatedNode", "victims", "reasons"}) {
      const Value* a = preemption->Find(key);
      const Value* b = mine.Find(key);
      ExpectSame(a == nullptr ? Value() : *a, b == nullptr ? Value() : *b,
                 full + ".preemption." + key);
    }
  }
}

// Sampling of nodes; the start index moves on from pod to pod.
void CheckCycle(const Value& want, Scheduler& scheduler, const Cluster& cluster) {
  for (const Value& pod : *want.AsList()) {
    const std::string full = *pod.Find("pod")->AsString();
    const std::size_t slash = full.find('/');
    const PodPtr found = cluster.view().FindPod(full.substr(0, slash), full.substr(slash + 1));
    ASSERT_NE(found, nullptr) << full;
    const ScheduleResult result = scheduler.Schedule(cluster.view(), *found);
    ExpectSame(*pod.Find("evaluated"), std::int64_t{result.evaluated}, full + ".evaluated");
    ExpectSame(*pod.Find("feasible"), std::int64_t{result.feasible}, full + ".feasible");
  }
}

void CheckPlace(const Value& want, Scheduler& scheduler, Cluster& cluster) {
  ExpectSame(want, ToValue(scheduler.Place(cluster)), "placements");
}

// The whole loop: which pods are bound and which evicted in the end.
void CheckLoop(const Value& want, Scheduler& scheduler, Cluster& cluster) {
  SchedulingLoop loop(scheduler, cluster);
  const auto report = loop.RunUntilQuiet();
  ASSERT_TRUE(report.ok()) << report.error().message();
  const auto names = [](const Value& list) {
    std::vector<std::string> out;
    for (const Value& name : *list.AsList()) out.push_back(*name.AsString());
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(report->bound, names(*want.Find("bound")));
  EXPECT_EQ(report->deleted, names(*want.Find("deleted")));
  std::vector<std::string> pending;
  for (const auto& [pod, why] : report->pending) {
    pending.push_back(pod);
    EXPECT_NE(why, "") << pod;
  }
  EXPECT_EQ(pending, names(*want.Find("pending")));
}

void CheckConfig(const Value& want, const Scheduler& scheduler) {
  for (const auto& [profile, points] : *want.AsObject()) {
    const Framework* framework = scheduler.framework(profile);
    ASSERT_NE(framework, nullptr) << profile;
    const Value got = ToValue(framework->profile());
    for (const auto& [point, names] : *points.AsObject()) {
      const auto keep = [&, &point = point](const Value& list) {
        Value::List out;
        for (const Value& name : *list.AsList()) {
          if (IsCompared(point, *name.AsString())) out.push_back(name);
        }
        return out;
      };
      const Value* mine = got.Find(point);
      if (mine == nullptr && keep(names).empty()) continue;  // a point this library doesn't have
      ASSERT_NE(mine, nullptr) << point;
      ExpectSame(keep(names), keep(*mine), profile + "." + point);
    }
  }
}

// Runs every vector whose folder starts with `prefix`, and says how many there were.
void RunVectors(const std::string& prefix, SchedulerOptions options = {}) {
  int count = 0;
  for (const auto& folder : Folders(TestsDir() / "conformance" / "vectors", prefix)) {
    SCOPED_TRACE(folder.filename().string());
    ++count;
    std::string mode = ReadFile(folder / "mode");
    mode.erase(mode.find_last_not_of(" \n") + 1);
    const Value want = ReadValue(folder / "expected.json");
    const auto config = folder / "config.yaml";
    if (mode == "cycle") options.nodes_to_score = NodesToScore::kConfigured;
    options.handle.generic_workload = mode == "loop";
    auto scheduler =
        testing::TryScheduler(std::filesystem::exists(config) ? config.string() : "", options);
    if (want.Find("error") != nullptr) {
      EXPECT_FALSE(scheduler.ok()) << "should be refused: " << ToJson(*want.Find("error"));
      continue;
    }
    ASSERT_TRUE(scheduler.ok()) << scheduler.error().message();
    if (mode == "config") {
      CheckConfig(want, **scheduler);
      continue;
    }
    auto cluster = testing::TryLoad({(folder / "cluster.json").string()});
    ASSERT_TRUE(cluster.ok()) << cluster.error().message();
    if (mode == "explain") {
      CheckExplain(want, **scheduler, *cluster);
    } else if (mode == "preempt") {
      CheckPreempt(want, **scheduler, *cluster);
    } else if (mode == "cycle") {
      CheckCycle(want, **scheduler, *cluster);
    } else if (mode == "loop") {
      CheckLoop(want, **scheduler, *cluster);
    } else if (mode == "place") {
      CheckPlace(want, **scheduler, *cluster);
    } else {
      FAIL() << "unknown mode " << mode;
    }
  }
  EXPECT_GT(count, 0) << "no vectors " << prefix;
}

TEST(Vectors, Default) { RunVectors("default"); }
TEST(Vectors, Fit) { RunVectors("fit-"); }
TEST(Vectors, Balanced) { RunVectors("balanced"); }
TEST(Vectors, Ephemeral) { RunVectors("ephemeral"); }
TEST(Vectors, Sums) { RunVectors("sums"); }
TEST(Vectors, Resize) { RunVectors("resize"); }
TEST(Vectors, Spread) { RunVectors("spread-"); }
TEST(Vectors, Taints) { RunVectors("taints"); }
TEST(Vectors, NodeAffinity) { RunVectors("nodeaffinity"); }
TEST(Vectors, Ports) { RunVectors("ports"); }
TEST(Vectors, Images) { RunVectors("images"); }
TEST(Vectors, Profiles) { RunVectors("profiles"); }
TEST(Vectors, Place) { RunVectors("place-"); }
TEST(Vectors, PodAffinity) { RunVectors("podaffinity"); }
TEST(Vectors, Mixed) { RunVectors("mixed"); }
TEST(Vectors, Nominated) { RunVectors("nominated"); }
TEST(Vectors, Sample) { RunVectors("sample"); }
TEST(Vectors, Admission) { RunVectors("admission"); }
TEST(Vectors, Preempt) { RunVectors("preempt"); }
TEST(Vectors, Config) { RunVectors("config-"); }
TEST(Vectors, LoopPlain) { RunVectors("loop-plain"); }
TEST(Vectors, LoopPreempt) { RunVectors("loop-preempt"); }
TEST(Vectors, LoopGang) { RunVectors("loop-gang-"); }
TEST(Vectors, LoopGangPreempt) { RunVectors("loop-gangpreempt"); }

// The same with threads: tiny blocks, so that small clusters are split as well.
TEST(Vectors, SpreadOnEightThreads) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 8);
  SchedulerOptions options;
  options.executor = {.threads = 8, .grain_rows = 2};
  RunVectors("spread-", options);
}
TEST(Vectors, PreemptOnEightThreads) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 8);
  SchedulerOptions options;
  options.executor = {.threads = 8, .grain_rows = 1};
  RunVectors("preempt", options);
}

// The same with the instructions of older machines.
TEST(Vectors, OnEverySimdLevel) {
  const SimdLevel best = CurrentSimdLevel();
  for (const auto& [name, level] : kSimdLevelNames) {
    SCOPED_TRACE(name);
    if (!SetSimdLevel(level)) continue;
    for (const char* prefix :
         {"default", "fit-", "balanced", "sums", "spread-", "place-", "mixed"}) {
      RunVectors(prefix);
    }
  }
  EXPECT_TRUE(SetSimdLevel(best));
}

}  // namespace
}  // namespace schedfw
