#include "clusters.h"

#include <cstdlib>
#include <iostream>
#include <span>
#include <utility>

namespace schedfw::benchmarks {

namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kRack = "topology.kubernetes.io/rack";
constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr const char* kImage = "registry.local/train:1";

// Nothing here fails unless a benchmark is written wrongly; then its figures mean nothing.
template <typename T>
T Get(Result<T> result) {
  if (!result) {
    std::cerr << result.error().message() << "\n";
    std::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// A plugin that doesn't say what its answers depend on: its profile runs the whole pipeline.
class WholePipeline : public PreScorePlugin {
 public:
  std::string_view Name() const override { return "WholePipeline"; }
  Status PreScore(const Cycle&, CycleState&, std::span<const Row>) override {
    return Status::Skip();
  }
};

api::Pod PodOf(const std::string& name, const std::string& cpu, const std::string& memory,
               int gpus) {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.ns = kNamespace;
  api::Container& container = pod.spec.containers.emplace_back();
  container.resources.requests = Resources(cpu, memory, gpus);
  container.resources.requests.erase("pods");
  return pod;
}

api::LabelSelector Selector(const std::string& key, const std::string& value) {
  return {{{key, value}}, {}};
}

void SpreadOver(api::Pod& pod, const char* key, int max_skew,
                api::UnsatisfiableConstraintAction otherwise, api::LabelSelector selector) {
  api::TopologySpreadConstraint& out = pod.spec.topology_spread_constraints.emplace_back();
  out.topology_key = key;
  out.max_skew = max_skew;
  out.when_unsatisfiable = otherwise;
  out.label_selector = std::move(selector);
}

constexpr auto kMust = api::UnsatisfiableConstraintAction::kDoNotSchedule;
constexpr auto kPrefer = api::UnsatisfiableConstraintAction::kScheduleAnyway;

api::PodAffinityTerm Term(const char* key, api::LabelSelector selector) {
  api::PodAffinityTerm out;
  out.topology_key = key;
  out.label_selector = std::move(selector);
  return out;
}

}  // namespace

api::ResourceList Resources(const std::string& cpu, const std::string& memory, int gpus) {
  return {{"cpu", Get(Quantity::Parse(cpu))},
          {"memory", Get(Quantity::Parse(memory))},
          {"pods", Quantity::FromUnits(110)},
          {"nvidia.com/gpu", Quantity::FromUnits(gpus)}};
}

std::string NodeName(int i) { return "gpu-" + std::to_string(100000 + i); }

std::string PodName(int i) { return "train-" + std::to_string(i); }

api::Node GpuNode(int i) {
  api::Node node;
  node.metadata.name = NodeName(i);
  node.metadata.labels = {{kHostname, node.metadata.name},
                          {kZone, "zone-" + std::to_string(i % 8)},
                          {kRack, "rack-" + std::to_string(i % 32)}};
  node.status.capacity = Resources("128", "1008Gi", 8);
  return node;
}

api::Pod TrainingPod(int i, const PodKind& kind) {
  api::Pod pod = kind.shapes ? PodOf(PodName(i), std::to_string(4000 + i) + "m",
                                     std::to_string(32768 + i) + "Mi", 4)
                             : PodOf(PodName(i), "8", "64Gi", 4);
  const std::string app = "app-" + std::to_string(i % kind.apps);
  pod.metadata.labels = {{"app", app}, {"job", "resnet50"}};
  if (kind.shapes) pod.metadata.labels["index"] = std::to_string(i);
  pod.spec.containers.front().image = kImage;
  if (kind.spread) {
    SpreadOver(pod, kZone, 1, kMust, Selector("app", app));
    SpreadOver(pod, kRack, 2, kPrefer, Selector("job", "resnet50"));
  }
  return pod;
}

Cluster TrainingCluster(int nodes, int pods, const PodKind& kind) {
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) Get(cluster.AddNode(GpuNode(i)));
  for (int i = 0; i < pods; ++i) {
    api::Pod pod = TrainingPod(i, kind);
    if (i % 4 == 0 && i / 4 < nodes) pod.spec.node_name = NodeName(i / 4);
    Get(cluster.AddPod(std::move(pod)));
  }
  return cluster;
}

Cluster FullCluster(int nodes, Demand demand) {
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    api::Node node = GpuNode(i);
    node.status.capacity = Resources("10", "64Gi", 8);
    Get(cluster.AddNode(std::move(node)));
  }
  for (int i = 0; i < 10 * nodes; ++i) {
    api::Pod pod = PodOf("old-" + std::to_string(i), "1", "1Gi", i % 10 < 8 ? 1 : 0);
    pod.metadata.labels = {{"app", "app-" + std::to_string(i % 50)}};
    pod.spec.priority = i * 7919 % 5;
    pod.status.start_time_ns = std::int64_t{i * 7907 % 100000} * 1'000'000'000;
    pod.spec.node_name = NodeName(i / 10);
    Get(cluster.AddPod(std::move(pod)));
  }
  api::Pod urgent = PodOf("urgent", "3", "1Gi", 2);
  urgent.metadata.labels = {{"app", "app-1"}};
  urgent.spec.priority = 100;
  if (demand == Demand::kSpread) {
    SpreadOver(urgent, kZone, 5, kMust, Selector("app", "app-1"));
    SpreadOver(urgent, kHostname, 5, kMust, Selector("app", "app-1"));
  } else if (demand == Demand::kAntiAffinity) {
    urgent.spec.affinity.pod_anti_affinity.emplace().required.push_back(
        Term(kHostname, Selector("app", "app-1")));
  }
  Get(cluster.AddPod(std::move(urgent)));
  return cluster;
}

Cluster PluginCluster(int nodes) {
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    api::Node node = GpuNode(i);
    if (i % 8 == 1) {
      node.spec.taints = {{"dedicated", "inference", api::TaintEffect::kNoSchedule}};
    } else if (i % 8 == 2) {
      node.spec.taints = {{"old", "", api::TaintEffect::kPreferNoSchedule}};
    }
    if (i % 2 == 0) node.status.images = {{{kImage}, std::int64_t{400} << 20}};
    Get(cluster.AddNode(std::move(node)));
  }
  for (int i = 0; i < nodes; i += 2) {
    api::Pod pod = TrainingPod(i / 2, {});
    pod.spec.node_name = NodeName(i);
    Get(cluster.AddPod(std::move(pod)));
  }
  const auto add = [&](const char* name, auto&& change) {
    api::Pod pod = PodOf(name, "8", "64Gi", 4);
    pod.metadata.labels = {{"app", "app-1"}, {"job", "resnet50"}};
    change(pod);
    Get(cluster.AddPod(std::move(pod)));
  };
  add("noderesourcesfit", [](api::Pod&) {});
  add("noderesourcesbalancedallocation", [](api::Pod&) {});
  add("tainttoleration", [](api::Pod&) {});
  add("imagelocality", [](api::Pod& pod) { pod.spec.containers.front().image = kImage; });
  add("podtopologyspread", [](api::Pod& pod) {
    SpreadOver(pod, kZone, 1000, kMust, Selector("app", "app-1"));
    SpreadOver(pod, kRack, 2, kPrefer, Selector("job", "resnet50"));
  });
  add("interpodaffinity", [](api::Pod& pod) {
    pod.spec.affinity.pod_anti_affinity.emplace().required = {
        Term(kHostname, Selector("app", "app-1"))};
    pod.spec.affinity.pod_affinity.emplace().preferred = {
        {10, Term(kZone, Selector("job", "resnet50"))}};
  });
  add("nodeaffinity", [](api::Pod& pod) {
    api::NodeAffinity& affinity = pod.spec.affinity.node_affinity.emplace();
    const auto is_in = [](const char* key, std::vector<std::string> values) {
      return api::NodeSelectorTerm{{{key, api::SelectorOperator::kIn, std::move(values)}}, {}};
    };
    affinity.required = {{is_in(kZone, {"zone-0", "zone-3", "zone-4", "zone-6"})}};
    affinity.preferred = {{10, is_in(kRack, {"rack-3", "rack-8", "rack-30"})}};
  });
  return cluster;
}

std::unique_ptr<Scheduler> MakeScheduler(const Setup& setup, Registry registry) {
  Get(registry.Add<WholePipeline>("WholePipeline", "Makes a profile run the whole pipeline"));
  SchedulerConfig config;
  PluginSet& plugins = config.profiles.front().plugins.multi_point;
  if (!setup.only_plugin.empty()) {
    plugins.disabled = {{"*"}};
    plugins.enabled = {{"PrioritySort"}, {setup.only_plugin}, {"DefaultBinder"}};
  }
  if (setup.whole_pipeline) plugins.enabled.push_back({"WholePipeline"});
  SchedulerOptions options;
  options.executor.threads = setup.threads;
  options.executor.normalize = setup.normalize;
  return Get(Scheduler::Create(config, registry, options));
}

}  // namespace schedfw::benchmarks
