// Costs of choosing GPUs and of the plugins that look at topologies. See docs/performance.md.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clusters.h"
#include "schedfw/base/random.h"
#include "schedfw/framework/config.h"
#include "schedfw/topology/gpu_topology.h"
#include "schedfw/topology/presets.h"

namespace schedfw::benchmarks {
namespace {

constexpr std::array<std::string_view, 4> kPresets = {"dgx-a100", "dgx-1-v100", "a100-pcie-8",
                                                      "split-socket-4"};

// Choosing k of the free GPUs, for all free sets in turn; with NUMA nodes asked for or not.
void BM_ChooseGpus(benchmark::State& state) {
  const auto preset = TopologyPreset(kPresets[static_cast<std::size_t>(state.range(0))]);
  if (!preset) return state.SkipWithError("no such preset");
  const GpuTopology topology(*preset);
  const auto k = static_cast<std::int32_t>(state.range(1));
  const NumaMask wanted = state.range(2) != 0 ? topology.home(0) : 0;
  std::vector<GpuMask> free;
  for (std::uint32_t mask = 0; mask <= topology.all(); ++mask) {
    if (std::popcount(mask) >= k) free.push_back(static_cast<GpuMask>(mask));
  }
  for (const GpuMask mask : free) benchmark::DoNotOptimize(topology.Choose(mask, k, wanted));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(topology.Choose(free[next], k, wanted));
    next = next + 1 == free.size() ? 0 : next + 1;
  }
  state.SetLabel(std::string(kPresets[static_cast<std::size_t>(state.range(0))]));
}
BENCHMARK(BM_ChooseGpus)
    ->ArgNames({"preset", "k", "numa"})
    ->ArgsProduct({{0, 1, 2, 3}, {1, 2, 4}, {0, 1}})
    ->MinTime(0.05);

// The same for 16 GPUs, where nothing is known in advance: look-ups, and questions that are new.
void BM_ChooseOfSixteen(benchmark::State& state) {
  NodeTopology node;
  Random random(1);
  for (int i = 0; i < kMaxGpus; ++i) node.devices.emplace_back().name = "GPU" + std::to_string(i);
  node.links.assign(kMaxGpus * kMaxGpus, {LinkType::kSys, 0});
  for (std::size_t a = 0; a < kMaxGpus; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const Link link{LinkType::kNvLink, static_cast<std::uint8_t>(1 + random.Below(6))};
      node.links[a * kMaxGpus + b] = node.links[b * kMaxGpus + a] = link;
    }
  }
  const GpuTopology topology(node);
  const bool anew = state.range(0) != 0;
  std::uint64_t next = 0;
  for (auto _ : state) {
    const auto free = static_cast<GpuMask>(anew ? 0xFFFF ^ (next++ % 4093) : 0xFFFF);
    benchmark::DoNotOptimize(topology.Choose(free, 4));
  }
}
BENCHMARK(BM_ChooseOfSixteen)->ArgName("anew")->Arg(0)->Arg(1)->MinTime(0.05);

// What making a GpuTopology costs: once for each topology of a cluster.
void BM_CompileTopology(benchmark::State& state) {
  const auto preset = TopologyPreset(kPresets[static_cast<std::size_t>(state.range(0))]);
  if (!preset) return state.SkipWithError("no such preset");
  for (auto _ : state) benchmark::DoNotOptimize(GpuTopology(*preset).count());
}
BENCHMARK(BM_CompileTopology)->ArgName("preset")->Arg(0)->Arg(3)->Unit(benchmark::kMicrosecond);

constexpr std::string_view kTopologyPlugins =
    "{name: NvLinkAffinity}, {name: NumaAffinity}, {name: NcclTopologyHint}, "
    "{name: GpuTopologySpread}, {name: NetworkTopologyAffinity}";
constexpr std::string_view kZonePlugin = ", {name: NodeResourceTopologyMatch}";

// Two NUMA zones of a node, half of it each, that pods are to fit into.
api::NodeResourceTopology ZonesOf(const api::Node& node) {
  api::NodeResourceTopology out;
  out.metadata.name = node.metadata.name;
  out.topology_policies = {"SingleNUMANodePodLevel"};
  for (const char* name : {"node-0", "node-1"}) {
    api::TopologyZone& zone = out.zones.emplace_back();
    zone.name = name;
    zone.type = "Node";
    for (const auto& [resource, amount] : {std::pair{"cpu", "64"}, std::pair{"memory", "504Gi"}}) {
      const Quantity half = *Quantity::Parse(amount);
      zone.resources.push_back({resource, half, half, half});
    }
  }
  return out;
}

std::unique_ptr<Scheduler> SchedulerWith(std::string_view plugins) {
  const std::string config =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {multiPoint: {enabled: [" +
      std::string(plugins) + "]}}}]\n";
  Registry registry = InTreeRegistry();
  auto parsed = ParseConfig(config, registry, "benchmark");
  if (!parsed) return nullptr;
  auto scheduler = Scheduler::Create(*parsed, registry, {});
  return scheduler ? *std::move(scheduler) : nullptr;
}

// Nodes of three topologies under leaf and spine switches, and pods of 4 GPUs that spread over
// zones, each tenth of them a gang: of one kind a gang, or no two alike.
Cluster MixedCluster(int nodes, int pods, bool shapes, bool zones) {
  api::ObjectList objects;
  for (int i = 0; i < nodes; ++i) {
    api::Node node = GpuNode(i);
    const std::string_view preset = std::array{kPresets[0], kPresets[2], kPresets[3]}[i % 3];
    node.metadata.annotations[std::string(kGpuTopologyAnnotation)] = preset;
    node.metadata.annotations["nccl.nvidia.com/topology-hint"] =
        R"({"PCIProximity": 0.9, "NVLinkBandwidth": 0.)" + std::to_string(90 + i % 8) + "}";
    auto& labels = node.metadata.labels;
    labels["network.topology.nvidia.com/leaf"] = "leaf-" + std::to_string(i / 16);
    labels["network.topology.nvidia.com/spine"] = "spine-" + std::to_string(i / 128);
    labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i / 128 % 8);
    labels["topology.kubernetes.io/rack"] = "rack-" + std::to_string(i / 16);
    if (preset == kPresets[3]) {
      node.status.allocatable = node.status.capacity;
      (*node.status.allocatable)["nvidia.com/gpu"] = *Quantity::Parse("4");
    }
    if (zones) objects.node_resource_topologies.push_back(ZonesOf(node));
    objects.nodes.push_back(std::move(node));
  }
  const int members = std::max(pods / 10, 1);
  for (int i = 0; i < pods; ++i) {
    api::Pod pod = TrainingPod(i, {.apps = 1, .spread = true, .shapes = shapes});
    pod.metadata.labels[std::string(api::kPodGroupLabel)] = "gang-" + std::to_string(i / members);
    if (zones) {  // Guaranteed, so that its CPUs are bound
      auto& resources = pod.spec.containers.front().resources;
      if (shapes) resources.requests["cpu"] = Quantity::FromUnits(1 + i % 16);
      resources.limits = resources.requests;
    }
    objects.pods.push_back(std::move(pod));
  }
  auto done = api::Normalize(objects);
  auto cluster = Cluster::FromObjects(std::move(objects));
  if (!done || !cluster) std::abort();
  return *std::move(cluster);
}

// What all topology plugins add to the cycle and the binding of a pod: the same pods are placed by
// the default plugins and by these and the topology plugins, in turn.
void BM_TopologyPlugins(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const int nodes = static_cast<int>(state.range(0));
  const bool zones = state.range(2) != 0;
  const Cluster cluster = MixedCluster(nodes, std::min(nodes, 1000), state.range(1) != 0, zones);
  const std::vector<PodPtr> waiting = cluster.view().Pending();
  const std::string with_plugins =
      std::string(kTopologyPlugins) + std::string(zones ? kZonePlugin : "");
  const std::unique_ptr<Scheduler> schedulers[] = {SchedulerWith(""), SchedulerWith(with_plugins)};
  if (schedulers[0] == nullptr || schedulers[1] == nullptr) {
    return state.SkipWithError("the configuration is refused");
  }
  Cluster forks[] = {cluster.Fork(), cluster.Fork()};
  double seconds[2] = {};
  std::int64_t by_groups = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == waiting.size()) {
      for (Cluster& fork : forks) fork = cluster.Fork();
      next = 0;
    }
    double last = 0;
    for (const int with : {0, 1}) {
      const Clock::time_point begin = Clock::now();
      const ScheduleResult result = schedulers[with]->ScheduleOne(forks[with], *waiting[next]);
      last = std::chrono::duration<double>(Clock::now() - begin).count();
      if (!result.status.ok()) return state.SkipWithError("a pod fits nowhere");
      seconds[with] += last;
      by_groups += with == 1 && result.incremental ? 1 : 0;
    }
    state.SetIterationTime(last);
    ++next;
  }
  const double pods = static_cast<double>(state.iterations());
  state.counters["without_us"] = seconds[0] / pods * 1e6;
  state.counters["added_us"] = (seconds[1] - seconds[0]) / pods * 1e6;
  state.counters["by_groups"] = static_cast<double>(by_groups) / pods;
}
BENCHMARK(BM_TopologyPlugins)
    ->ArgNames({"nodes", "shapes", "zones"})
    ->ArgsProduct({{512, 5000}, {0, 1}, {0, 1}})
    ->Iterations(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace schedfw::benchmarks
