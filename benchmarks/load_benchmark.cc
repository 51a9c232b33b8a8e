// Costs of loading a cluster from a text as kubectl prints it.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "kubectl_text.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/cluster/cluster.h"

namespace schedfw::benchmarks {
namespace {

void SetBytes(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

// The text into objects; what taking them down costs isn't counted.
void BM_ParseObjects(benchmark::State& state) {
  const std::string text = KubectlText(state.range(0));
  for (auto _ : state) {
    Result<api::ObjectList> objects = api::ParseObjects(text);
    if (!objects) return state.SkipWithError(objects.error().message().c_str());
    state.PauseTiming();
    *objects = {};
    state.ResumeTiming();
  }
  SetBytes(state, text);
}
BENCHMARK(BM_ParseObjects)
    ->ArgName("pods")
    ->Arg(100)
    ->Arg(5000)
    ->Arg(50000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The text into a cluster.
void BM_LoadCluster(benchmark::State& state) {
  const std::string text = KubectlText(state.range(0));
  for (auto _ : state) {
    Result<api::ObjectList> objects = api::ParseObjects(text);
    if (!objects) return state.SkipWithError(objects.error().message().c_str());
    if (!api::Normalize(*objects)) return state.SkipWithError("can't be normalised");
    Result<Cluster> cluster = Cluster::FromObjects(*objects);
    if (!cluster) return state.SkipWithError(cluster.error().message().c_str());
    state.PauseTiming();
    *objects = {};
    *cluster = Cluster();
    state.ResumeTiming();
  }
  SetBytes(state, text);
}
BENCHMARK(BM_LoadCluster)
    ->ArgName("pods")
    ->Arg(5000)
    ->Arg(50000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace schedfw::benchmarks
