// Costs of scheduling cycles, of their parts, and of forks. See docs/performance.md.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "clusters.h"

namespace schedfw::benchmarks {
namespace {

// One cycle without binding, the whole pipeline: nodes, spread constraints or not, threads.
void BM_Schedule(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, nodes, {.spread = state.range(1) != 0});
  const auto scheduler =
      MakeScheduler({.threads = static_cast<int>(state.range(2)), .whole_pipeline = true});
  const PodPtr pod = FirstPending(cluster);
  (void)scheduler->Schedule(cluster.view(), *pod);  // makes the columns that later cycles use
  for (auto _ : state) benchmark::DoNotOptimize(scheduler->Schedule(cluster.view(), *pod).row);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Schedule)
    ->ArgNames({"nodes", "spread", "threads"})
    ->ArgsProduct({{512, 5000, 20'000}, {0, 1}, {1, 2}})
    ->MinTime(0.2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// One cycle and the binding, for pods of ten kinds in turn: the whole pipeline, or by groups.
void BM_ScheduleReplicas(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const bool groups = state.range(2) != 0;
  const Cluster cluster = TrainingCluster(nodes, nodes, {.spread = state.range(1) != 0});
  const std::vector<PodPtr> waiting = cluster.view().Pending();
  const auto scheduler = MakeScheduler({.whole_pipeline = !groups});
  Cluster fork = cluster.Fork();
  std::size_t next = 0;
  std::int64_t by_groups = 0;
  for (auto _ : state) {
    if (next == waiting.size()) {
      state.PauseTiming();
      fork = cluster.Fork();
      next = 0;
      state.ResumeTiming();
    }
    by_groups += scheduler->ScheduleOne(fork, *waiting[next++]).incremental ? 1 : 0;
  }
  // The first pods of each kind are scheduled by the whole pipeline.
  state.counters["by_groups"] =
      static_cast<double>(by_groups) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_ScheduleReplicas)
    ->ArgNames({"nodes", "spread", "groups"})
    ->ArgsProduct({{512, 5000, 20'000}, {0, 1}, {0, 1}})
    ->MinTime(0.2)
    ->Unit(benchmark::kMicrosecond);

// 1,000 pods on 512 nodes, one after another, bound.
void BM_Place(benchmark::State& state) {
  const Cluster cluster = TrainingCluster(512, 1000, {.spread = state.range(0) != 0});
  const auto scheduler = MakeScheduler();
  for (auto _ : state) {
    Cluster fork = cluster.Fork();
    benchmark::DoNotOptimize(scheduler->Place(fork).size());
  }
}
BENCHMARK(BM_Place)->ArgName("spread")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// NormalizeScore of all plugins at once, or one after the other on the calling thread.
void BM_Normalize(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, nodes, {.spread = true});
  const auto mode = state.range(1) != 0 ? NormalizeMode::kSynchronous : NormalizeMode::kParallel;
  const auto scheduler = MakeScheduler({.threads = 2, .normalize = mode, .whole_pipeline = true});
  const PodPtr pod = FirstPending(cluster);
  (void)scheduler->Schedule(cluster.view(), *pod);  // makes the columns that later cycles use
  for (auto _ : state) benchmark::DoNotOptimize(scheduler->Schedule(cluster.view(), *pod).row);
}
BENCHMARK(BM_Normalize)
    ->ArgNames({"nodes", "synchronous"})
    ->ArgsProduct({{512, 5000, 20'000}, {0, 1}})
    ->MinTime(0.2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// A whole failed cycle and the choice of victims: nodes, what the pod asks for, threads.
void BM_Preempt(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = FullCluster(nodes, static_cast<Demand>(state.range(1)));
  const auto scheduler = MakeScheduler({.threads = static_cast<int>(state.range(2))});
  const PodPtr pod = FirstPending(cluster);
  std::size_t victims = 0;
  for (auto _ : state) victims = scheduler->FindVictims(cluster.view(), *pod).victims.size();
  if (victims == 0) state.SkipWithError("no victims were found");
}
BENCHMARK(BM_Preempt)
    ->ArgNames({"nodes", "demand", "threads"})
    ->ArgsProduct({{512, 5000}, {0, 1, 2}, {1, 2}})
    ->MinTime(0.2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// A fork, and one pod bound on it.
void BM_ForkAndBind(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, 4 * nodes, {});
  const PodPtr pod = FirstPending(cluster);
  for (auto _ : state) {
    Cluster fork = cluster.Fork();
    benchmark::DoNotOptimize(fork.AssumePod(*pod, 0).ok());
  }
}
BENCHMARK(BM_ForkAndBind)->ArgName("nodes")->Arg(512)->Arg(5000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace schedfw::benchmarks
