// What the scheduling queue costs with very many pods. See docs/performance.md.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clusters.h"
#include "schedfw/base/clock.h"
#include "schedfw/base/random.h"
#include "schedfw/framework/config.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/queue.h"

namespace schedfw::benchmarks {
namespace {

constexpr const char* kDriftConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preEnqueue: {enabled: [{name: PriorityDrift}]}
    queueSort: {enabled: [{name: PriorityDrift}], disabled: [{name: "*"}]}
)";

// Pods of ten kinds and a thousand priorities that wait in a cluster without nodes.
Cluster WaitingPods(int pods) {
  Cluster cluster;
  Random random(1);
  for (int i = 0; i < pods; ++i) {
    api::Pod pod = TrainingPod(i, {});
    pod.spec.priority = static_cast<std::int32_t>(100 * random.Below(100));
    if (!cluster.AddPod(std::move(pod))) break;
  }
  return cluster;
}

// One pod comes, the first goes: with `pods` queued all the time.
void BM_QueueAddPop(benchmark::State& state) {
  const auto pods = static_cast<std::size_t>(state.range(0));
  const Cluster cluster = WaitingPods(2 * static_cast<int>(pods));
  const std::vector<PodPtr> all = cluster.view().Pending();
  const auto scheduler = MakeScheduler();
  VirtualClock clock;
  SchedulingQueue queue(*scheduler, clock, {}, nullptr);
  for (std::size_t i = 0; i < pods; ++i) {
    clock.Advance(std::chrono::microseconds(1));
    queue.Add(all[i]);
  }
  std::vector<PodPtr> outside(all.begin() + static_cast<std::ptrdiff_t>(pods), all.end());
  std::size_t next = 0;
  for (auto _ : state) {
    clock.Advance(std::chrono::microseconds(1));
    queue.Add(std::move(outside[next]));
    QueuedEntityPtr first = queue.Pop();
    outside[next] = std::move(first->one.pod);
    queue.Done(std::move(first));
    next = next + 1 == pods ? 0 : next + 1;
  }
  if (queue.active() != pods) state.SkipWithError("pods were lost");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_QueueAddPop)->ArgName("pods")->Arg(1000)->Arg(100'000);

// One pod of those that wait in a loop comes to another stage.
void BM_StageChange(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  Cluster cluster = WaitingPods(pods);
  const Registry registry = InTreeRegistry();
  const auto config = ParseConfig(kDriftConfig, registry);
  if (!config) return state.SkipWithError(config.error().message().c_str());
  const auto scheduler = Scheduler::Create(*config, registry);
  if (!scheduler) return state.SkipWithError(scheduler.error().message().c_str());
  SchedulingLoop loop(**scheduler, cluster);
  Random random(2);
  constexpr const char* kStages[] = {"Preload", "Train", "Validate"};
  std::uint64_t changes = 0;
  for (auto _ : state) {
    const auto pod = static_cast<int>(random.Below(static_cast<std::uint64_t>(pods)));
    if (!loop.SetStage(kNamespace, PodName(pod), kStages[changes++ % 3])) {
      return state.SkipWithError("a stage was refused");
    }
  }
  if (loop.queue().active() != static_cast<std::size_t>(pods)) {
    state.SkipWithError("pods were lost");
  }
}
BENCHMARK(BM_StageChange)->ArgName("pods")->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// Events while all pods are unschedulable: one that no pod has an interest in, or one that all
// plugins are asked about for each pod, but that helps none.
void BM_MoveAll(benchmark::State& state) {
  const auto pods = static_cast<std::size_t>(state.range(0));
  const Cluster cluster = WaitingPods(static_cast<int>(pods));
  const auto scheduler = MakeScheduler();
  VirtualClock clock;
  SchedulingQueue queue(*scheduler, clock, {}, nullptr);
  for (const PodPtr& pod : cluster.view().Pending()) queue.Add(pod);
  const PluginBits rejectors = queue.Bits({"NodeResourcesFit"});
  while (queue.active() > 0) queue.AddUnschedulable(queue.Pop(), rejectors, 0);
  QueueEvent event;
  if (state.range(1) != 0) {  // a node that is too small for any of them
    event.event = {EventResource::kNode, kAdd};
    api::Node node = GpuNode(0);
    node.status.allocatable = Resources("1", "1Gi", 0);
    event.new_node = std::make_shared<const api::Node>(std::move(node));
  } else {
    event.event = {EventResource::kNode, kUpdateNodeTaint};
  }
  for (auto _ : state) queue.MoveAll(event);
  if (queue.unschedulable() != pods) state.SkipWithError("pods have moved");
}
BENCHMARK(BM_MoveAll)
    ->ArgNames({"pods", "interest"})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace schedfw::benchmarks
