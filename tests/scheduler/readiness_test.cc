#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "schedfw/api/read.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using std::chrono::milliseconds;
using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

constexpr const char* kFilter = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preEnqueue: {disabled: [{name: SchedulingGates}]}
    filter: {enabled: [{name: ReadinessFilter}]}
)";
constexpr const char* kGates = "  schedulingGates: [{name: data}, {name: quota}]\n";

std::string NameOf(int i) { return "p" + std::to_string(i); }

// Pods whose gates go one by one, 12 ms apart, with whole runs of the loop between.
struct Outcome {
  QueueStats stats;
  std::size_t pending = 0;
};
Outcome LatePods(Scheduler& scheduler, int pods) {
  std::string objects;
  for (int i = 0; i < 32; ++i) objects += NodeYaml("n" + std::to_string(i), "", "32");
  for (int i = 0; i < pods; ++i) objects += PodYaml(NameOf(i), "", kGates);
  Cluster cluster = Parse(objects);
  VirtualClock clock;
  LoopOptions options;
  options.clock = &clock;
  SchedulingLoop loop(scheduler, cluster, options);
  const auto run = [&] {
    while (loop.Step()) {
    }
  };
  run();
  for (int i = 0; i < pods; ++i) {
    clock.Advance(milliseconds(12));
    auto ready = api::ParseObjects(PodYaml(NameOf(i)));
    EXPECT_TRUE(loop.UpdatePod(ready->pods.front()));
    run();
  }
  for (int i = 0; i < 30; ++i) {
    clock.Advance(std::chrono::seconds(1));
    run();
  }
  return {loop.queue().stats(), cluster.view().Pending().size()};
}

TEST(A4, LatePodsCostNoAttemptsWhenGated) {
  constexpr int kPods = 150;
  const Outcome gated = LatePods(*MakeScheduler(), kPods);
  EXPECT_EQ(gated.stats.attempts, kPods);
  EXPECT_EQ(gated.stats.retries, 0);
  EXPECT_EQ(gated.stats.moves, kPods);
  EXPECT_EQ(gated.pending, 0u);

  const Outcome filtered = LatePods(*MakeScheduler(kFilter), kPods);
  EXPECT_EQ(filtered.pending, 0u);
  EXPECT_GE(filtered.stats.attempts, 2 * kPods);  // each has failed once before it was ready
  EXPECT_EQ(filtered.stats.retries, filtered.stats.attempts - kPods);
  EXPECT_GE(filtered.stats.moves, kPods);
}

TEST(A4, FilterSaysWhatAPodWaitsFor) {
  Cluster cluster = Parse(NodeYaml("n0") + NodeYaml("n1") + PodYaml("late", "", kGates));
  const auto scheduler = MakeScheduler(kFilter);
  SchedulingLoop loop(*scheduler, cluster);
  const RunReport report = *loop.RunUntilQuiet();
  ASSERT_EQ(report.pending.size(), 1u);
  EXPECT_NE(report.pending[0].second.find(
                "0/2 nodes are available: 2 pod is not ready: waits for gates [data quota]."),
            std::string::npos)
      << report.pending[0].second;
  EXPECT_GE(report.attempts, 1);
}

}  // namespace
}  // namespace schedfw
