// Costs of scheduling cycles, of their parts, and of forks. See docs/performance.md.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "schedfw/api/normalize.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {
namespace {

api::ResourceList Resources(const std::string& cpu, const std::string& memory, int gpus) {
  return {{"cpu", *Quantity::Parse(cpu)},
          {"memory", *Quantity::Parse(memory)},
          {"pods", Quantity::FromUnits(110)},
          {"nvidia.com/gpu", Quantity::FromUnits(gpus)}};
}

// GPU nodes in 8 zones and 32 racks, and training pods of 10 jobs, of which every fourth is bound.
Cluster TrainingCluster(int nodes, int pods, bool spread) {
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    api::Node node;
    node.metadata.name = "gpu-" + std::to_string(100000 + i);
    node.metadata.labels = {{"kubernetes.io/hostname", node.metadata.name},
                            {"topology.kubernetes.io/zone", "zone-" + std::to_string(i % 8)},
                            {"topology.kubernetes.io/rack", "rack-" + std::to_string(i % 32)}};
    node.status.capacity = Resources("128", "1008Gi", 8);
    (void)cluster.AddNode(std::move(node));
  }
  for (int i = 0; i < pods; ++i) {
    api::Pod pod;
    pod.metadata.name = "train-" + std::to_string(i);
    pod.metadata.ns = "ml";
    const std::string job = "job-" + std::to_string(i % 10);
    pod.metadata.labels = {{"job", job}, {"framework", "resnet50"}};
    api::Container container;
    container.image = "registry.local/train:1";
    container.resources.requests = Resources("8", "64Gi", 4);
    container.resources.requests.erase("pods");
    pod.spec.containers.push_back(std::move(container));
    if (spread) {
      pod.spec.topology_spread_constraints.resize(2);
      auto& zone = pod.spec.topology_spread_constraints[0];
      zone.max_skew = 1;
      zone.topology_key = "topology.kubernetes.io/zone";
      zone.label_selector = {{{"job", job}}, {}};
      auto& rack = pod.spec.topology_spread_constraints[1];
      rack.max_skew = 2;
      rack.topology_key = "topology.kubernetes.io/rack";
      rack.when_unsatisfiable = api::UnsatisfiableConstraintAction::kScheduleAnyway;
      rack.label_selector = {{{"framework", "resnet50"}}, {}};
    }
    if (i % 4 == 0 && i / 4 < nodes) {
      pod.spec.node_name = "gpu-" + std::to_string(100000 + i / 4);
    }
    (void)cluster.AddPod(std::move(pod));
  }
  return cluster;
}

std::unique_ptr<Scheduler> MakeScheduler(int threads,
                                         NormalizeMode normalize = NormalizeMode::kParallel) {
  SchedulerOptions options;
  options.executor.threads = threads;
  options.executor.normalize = normalize;
  return *Scheduler::Create({}, InTreeRegistry(), options);
}

// One cycle without binding: nodes, spread constraints or not, threads.
void BM_Schedule(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, nodes, state.range(1) != 0);
  const auto scheduler = MakeScheduler(static_cast<int>(state.range(2)));
  const PodPtr pod = cluster.view().Pending().front();
  for (auto _ : state) benchmark::DoNotOptimize(scheduler->Schedule(cluster.view(), *pod).row);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Schedule)
    ->ArgNames({"nodes", "spread", "threads"})
    ->ArgsProduct({{512, 5000, 20000}, {0, 1}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// 1,000 pods on 512 nodes, one after another, bound.
void BM_Place(benchmark::State& state) {
  const Cluster cluster = TrainingCluster(512, 1000, state.range(0) != 0);
  const auto scheduler = MakeScheduler(1);
  for (auto _ : state) {
    Cluster fork = cluster.Fork();
    benchmark::DoNotOptimize(scheduler->Place(fork).size());
  }
}
BENCHMARK(BM_Place)->ArgName("spread")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// NormalizeScore of all plugins at once, or one after the other on the calling thread.
void BM_Normalize(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, nodes, true);
  const auto mode = state.range(1) != 0 ? NormalizeMode::kSynchronous : NormalizeMode::kParallel;
  const auto scheduler = MakeScheduler(2, mode);
  const PodPtr pod = cluster.view().Pending().front();
  for (auto _ : state) benchmark::DoNotOptimize(scheduler->Schedule(cluster.view(), *pod).row);
}
BENCHMARK(BM_Normalize)
    ->ArgNames({"nodes", "synchronous"})
    ->ArgsProduct({{512, 5000, 20000}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// What a pod asks for beside room.
enum class Demand { kRoom, kSpread, kAntiAffinity };

// Nodes full of pods of low priorities, ten a node, and an urgent pod that needs room for three.
Cluster FullCluster(int nodes, Demand demand) {
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    api::Node node;
    node.metadata.name = "gpu-" + std::to_string(100000 + i);
    node.metadata.labels = {{"kubernetes.io/hostname", node.metadata.name},
                            {"topology.kubernetes.io/zone", "zone-" + std::to_string(i % 8)}};
    node.status.capacity = Resources("10", "64Gi", 8);
    (void)cluster.AddNode(std::move(node));
  }
  const auto pod_of = [](const std::string& name, const std::string& cpu, int gpus) {
    api::Pod pod;
    pod.metadata.name = name;
    pod.metadata.ns = "ml";
    api::Container container;
    container.resources.requests = Resources(cpu, "1Gi", gpus);
    container.resources.requests.erase("pods");
    pod.spec.containers.push_back(std::move(container));
    return pod;
  };
  for (int i = 0; i < 10 * nodes; ++i) {
    api::Pod pod = pod_of("old-" + std::to_string(i), "1", i % 10 < 8 ? 1 : 0);
    pod.metadata.labels = {{"app", "app-" + std::to_string(i % 50)}};
    pod.spec.priority = i * 7919 % 5;
    pod.status.start_time_ns = std::int64_t{i * 7907 % 100000} * 1'000'000'000;
    pod.spec.node_name = "gpu-" + std::to_string(100000 + i / 10);
    (void)cluster.AddPod(std::move(pod));
  }
  api::Pod urgent = pod_of("urgent", "3", 2);
  urgent.metadata.labels = {{"app", "app-1"}};
  urgent.spec.priority = 100;
  const api::LabelSelector own{{{"app", "app-1"}}, {}};
  if (demand == Demand::kSpread) {
    urgent.spec.topology_spread_constraints.resize(2);
    for (auto& constraint : urgent.spec.topology_spread_constraints) {
      constraint.max_skew = 5;
      constraint.label_selector = own;
    }
    urgent.spec.topology_spread_constraints[0].topology_key = "topology.kubernetes.io/zone";
    urgent.spec.topology_spread_constraints[1].topology_key = "kubernetes.io/hostname";
  } else if (demand == Demand::kAntiAffinity) {
    api::PodAffinityTerm& term =
        urgent.spec.affinity.pod_anti_affinity.emplace().required.emplace_back();
    term.topology_key = "kubernetes.io/hostname";
    term.label_selector = own;
  }
  (void)cluster.AddPod(std::move(urgent));
  return cluster;
}

// A whole failed cycle and the choice of victims: nodes, what the pod asks for, threads.
void BM_Preempt(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = FullCluster(nodes, static_cast<Demand>(state.range(1)));
  const auto scheduler = MakeScheduler(static_cast<int>(state.range(2)));
  const PodPtr pod = cluster.view().Pending().front();
  std::size_t victims = 0;
  for (auto _ : state) victims = scheduler->FindVictims(cluster.view(), *pod).victims.size();
  if (victims == 0) state.SkipWithError("no victims were found");
}
BENCHMARK(BM_Preempt)
    ->ArgNames({"nodes", "demand", "threads"})
    ->ArgsProduct({{512, 5000}, {0, 1, 2}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// A fork, and one pod bound on it.
void BM_ForkAndBind(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = TrainingCluster(nodes, 4 * nodes, false);
  const PodPtr pod = cluster.view().Pending().front();
  for (auto _ : state) {
    Cluster fork = cluster.Fork();
    benchmark::DoNotOptimize(fork.AssumePod(*pod, 0).ok());
  }
}
BENCHMARK(BM_ForkAndBind)->ArgName("nodes")->Arg(512)->Arg(5000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace schedfw
