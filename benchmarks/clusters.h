// Clusters, pods and schedulers that the benchmarks work on.
#ifndef SCHEDFW_BENCHMARKS_CLUSTERS_H_
#define SCHEDFW_BENCHMARKS_CLUSTERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw::benchmarks {

inline constexpr const char* kNamespace = "ml";

/// Amounts, with room for 110 pods.
api::ResourceList Resources(const std::string& cpu, const std::string& memory, int gpus);

std::string NodeName(int i);

/// A node of 8 GPUs in one of 8 zones and 32 racks.
api::Node GpuNode(int i);

/// What differs between training pods.
struct PodKind {
  int apps = 10;        ///< the pods belong to so many apps in turn
  bool spread = false;  ///< over zones (DoNotSchedule) and racks (ScheduleAnyway)
  bool shapes = false;  ///< no two have the same labels and requests
};

/// A pod that asks for 4 GPUs, of app `i % kind.apps`.
api::Pod TrainingPod(int i, const PodKind& kind);

/// GPU nodes, and pods of which every fourth is bound, one a node.
Cluster TrainingCluster(int nodes, int pods, const PodKind& kind);

/// The name of the training pod `i` in the cluster.
std::string PodName(int i);

/// What a pod asks for beside room.
enum class Demand : std::uint8_t { kRoom, kSpread, kAntiAffinity };

/// Nodes full of pods of low priorities, ten a node, and an urgent pod that needs room for three.
Cluster FullCluster(int nodes, Demand demand);

/// GPU nodes of which some have taints and images, pods on half of them, and for each in-tree
/// plugin that filters or scores a pod named as the plugin, in lower case, which gives it work.
Cluster PluginCluster(int nodes);

struct Setup {
  int threads = 1;
  NormalizeMode normalize = NormalizeMode::kParallel;
  /// Runs the whole pipeline in each cycle, also for pods whose plan came up before.
  bool whole_pipeline = false;
  /// The one plugin of the profile, beside the queue's; empty: the default ones.
  std::string only_plugin = {};
};

/// A scheduler with the plugins of `registry`, in-tree ones or more.
std::unique_ptr<Scheduler> MakeScheduler(const Setup& setup = {},
                                         Registry registry = InTreeRegistry());

/// The first pod that waits.
inline PodPtr FirstPending(const Cluster& cluster) { return cluster.view().Pending().front(); }

}  // namespace schedfw::benchmarks

#endif  // SCHEDFW_BENCHMARKS_CLUSTERS_H_
