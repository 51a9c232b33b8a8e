// Costs of single plugins, of the two shapes of a plugin, and of spread counts. See
// docs/performance.md.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clusters.h"

namespace schedfw::benchmarks {
namespace {

// Made once a size: 100,000 nodes take longer to make than to measure.
const Cluster& SharedPluginCluster(int nodes) {
  static std::map<int, Cluster> clusters;
  const auto it = clusters.find(nodes);
  return it != clusters.end() ? it->second
                              : clusters.emplace(nodes, PluginCluster(nodes)).first->second;
}

// A cycle of the whole pipeline in a profile with one plugin, for a pod that gives it work.
void BM_Plugin(benchmark::State& state, const char* plugin) {
  const Cluster& cluster = SharedPluginCluster(static_cast<int>(state.range(0)));
  const auto scheduler = MakeScheduler(
      {.threads = static_cast<int>(state.range(1)), .whole_pipeline = true, .only_plugin = plugin});
  std::string name = plugin;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const PodPtr pod = cluster.view().FindPod(kNamespace, name);
  if (!pod) return state.SkipWithError("there is no pod for the plugin");
  (void)scheduler->Schedule(cluster.view(), *pod);  // makes the columns that later cycles use
  for (auto _ : state) {
    const ScheduleResult result = scheduler->Schedule(cluster.view(), *pod);
    if (!result.row || result.incremental) return state.SkipWithError("not a whole cycle");
  }
  state.counters["nodes/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
}
void PluginArgs(benchmark::internal::Benchmark* b) {
  b->ArgNames({"nodes", "threads"})
      ->ArgsProduct({{100, 1000, 10'000, 100'000}, {1, 2}})
      ->MinTime(0.1)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(BM_Plugin, NodeResourcesFit, "NodeResourcesFit")->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, NodeResourcesBalancedAllocation, "NodeResourcesBalancedAllocation")
    ->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, PodTopologySpread, "PodTopologySpread")->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, InterPodAffinity, "InterPodAffinity")->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, TaintToleration, "TaintToleration")->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, NodeAffinity, "NodeAffinity")->Apply(PluginArgs);
BENCHMARK_CAPTURE(BM_Plugin, ImageLocality, "ImageLocality")->Apply(PluginArgs);

// One policy in both shapes: a node needs as many free GPUs as the pod asks for, and the fuller it
// is the better.
constexpr std::string_view kGpu = "nvidia.com/gpu";

std::int64_t PackScore(std::int64_t allocatable, std::int64_t requested) {
  return kMaxNodeScore * requested / std::max<std::int64_t>(allocatable, 1);
}

class PackSimple : public PreFilterPlugin, public FilterPlugin, public ScorePlugin {
 public:
  std::string_view Name() const override { return "PackSimple"; }
  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult&) override {
    gpu_ = cycle.snapshot.dictionary().Resource(kGpu);
    request_ = cycle.plan().Request(gpu_);
    return {};
  }
  Status Filter(const Cycle&, const NodeInfo& node) const override {
    if (node.allocatable(gpu_) - node.requested(gpu_) >= request_) return {};
    return Status::Unschedulable("too few free GPUs");
  }
  Status Score(const Cycle&, const NodeInfo& node, std::int64_t& score) const override {
    score = PackScore(node.allocatable(gpu_), node.requested(gpu_));
    return {};
  }

 private:
  ResourceId gpu_ = 0;
  std::int64_t request_ = 0;
};

class PackBatch : public PreFilterPlugin, public BatchFilterPlugin, public BatchScorePlugin {
 public:
  std::string_view Name() const override { return "PackBatch"; }
  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult&) override {
    gpu_ = cycle.snapshot.dictionary().Resource(kGpu);
    request_ = cycle.plan().Request(gpu_);
    return {};
  }
  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const std::int64_t* allocatable = cycle.snapshot.Allocatable(gpu_);
    const std::int64_t* requested = cycle.snapshot.Requested(gpu_);
    for (Row i = 0; i < rows.size(); ++i) {
      codes[i] = allocatable[rows[i]] - requested[rows[i]] < request_ ? 1 : 0;
    }
  }
  Status Explain(const Cycle&, std::uint32_t) const override {
    return Status::Unschedulable("too few free GPUs");
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const std::int64_t* allocatable = cycle.snapshot.Allocatable(gpu_);
    const std::int64_t* requested = cycle.snapshot.Requested(gpu_);
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = PackScore(allocatable[rows[i]], requested[rows[i]]);
    }
    return {};
  }

 private:
  ResourceId gpu_ = 0;
  std::int64_t request_ = 0;
};

// A profile with that policy alone: a call a node, or a call for many.
void BM_PluginShape(benchmark::State& state) {
  const Cluster& cluster = SharedPluginCluster(static_cast<int>(state.range(0)));
  const std::string plugin = state.range(1) != 0 ? "PackBatch" : "PackSimple";
  Registry registry = InTreeRegistry();
  if (!registry.Add<PackSimple>("PackSimple", "") || !registry.Add<PackBatch>("PackBatch", "")) {
    return state.SkipWithError("a name is taken");
  }
  const auto scheduler =
      MakeScheduler({.whole_pipeline = true, .only_plugin = plugin}, std::move(registry));
  const PodPtr pod = FirstPending(cluster);
  (void)scheduler->Schedule(cluster.view(), *pod);
  for (auto _ : state) benchmark::DoNotOptimize(scheduler->Schedule(cluster.view(), *pod).row);
}
BENCHMARK(BM_PluginShape)
    ->ArgNames({"nodes", "batch"})
    ->ArgsProduct({{100, 1000, 10'000, 100'000}, {0, 1}})
    ->MinTime(0.1)
    ->Unit(benchmark::kMicrosecond);

// PodTopologySpread alone, the whole pipeline over nodes, and the binding: by a scheduler that
// keeps its counts from cycle to cycle, or by a new one each time, which counts all pods again.
// What making it costs isn't part of the time.
void BM_SpreadCounts(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const int nodes = static_cast<int>(state.range(0));
  const bool keep = state.range(1) != 0;
  const Setup setup{.whole_pipeline = true, .only_plugin = "PodTopologySpread"};
  const Cluster cluster = TrainingCluster(nodes, nodes, {.spread = true});
  const std::vector<PodPtr> waiting = cluster.view().Pending();
  Cluster fork = cluster.Fork();
  auto scheduler = MakeScheduler(setup);
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == waiting.size()) {
      fork = cluster.Fork();
      next = 0;
    }
    if (!keep) scheduler = MakeScheduler(setup);
    const Clock::time_point begin = Clock::now();
    benchmark::DoNotOptimize(scheduler->ScheduleOne(fork, *waiting[next]).row);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
    ++next;
  }
}
BENCHMARK(BM_SpreadCounts)
    ->ArgNames({"nodes", "kept"})
    ->ArgsProduct({{1000, 10'000}, {0, 1}})
    ->MinTime(0.1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace schedfw::benchmarks
