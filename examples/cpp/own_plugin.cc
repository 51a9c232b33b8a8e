// Registers a plugin of our own, configures it, and schedules the pods of a cluster file.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "schedfw/cluster/read_cluster.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"

// What a configuration may say of the plugin: declared once, for the reader and the documentation.
struct PackGpusArgs {
  std::string resource = "nvidia.com/gpu";
  std::string maintenance_label = "maintenance";
};
template <typename V>
void Fields(V& v, PackGpusArgs& args) {
  v("resource", args.resource, schedfw::Arg{.help = "The devices to pack"});
  v("maintenanceLabel", args.maintenance_label,
    schedfw::Arg{.help = "Nodes where this label is \"true\" take no pods"});
}

// Fills nodes up with GPUs before it opens the next one, and keeps pods off nodes in maintenance.
// Filter has the simple shape (a node a call), Score the batch shape (all nodes a call).
class PackGpus : public schedfw::FilterPlugin, public schedfw::BatchScorePlugin {
 public:
  explicit PackGpus(const PackGpusArgs& args) : args_(args) {}

  std::string_view Name() const override { return "PackGpus"; }

  schedfw::Status Filter(const schedfw::Cycle&, const schedfw::NodeInfo& node) const override {
    const auto& labels = node.node().metadata.labels;
    const auto it = labels.find(args_.maintenance_label);
    if (it == labels.end() || it->second != "true") return {};
    return schedfw::Status::Unresolvable("node(s) were in maintenance");
  }

  schedfw::Status ScoreNodes(const schedfw::Cycle& cycle, schedfw::Rows rows,
                             std::int64_t* out) const override {
    const auto gpu = cycle.snapshot.dictionary().Resource(args_.resource);
    const std::int64_t* allocatable = cycle.snapshot.Allocatable(gpu);
    const std::int64_t* requested = cycle.snapshot.Requested(gpu);
    for (schedfw::Row i = 0; i < rows.size(); ++i) {
      const schedfw::Row row = rows[i];
      const std::int64_t used = requested[row] + cycle.plan().Request(gpu);
      out[i] = allocatable[row] == 0 ? 0 : 100 * used / allocatable[row];
    }
    return {};
  }

 private:
  PackGpusArgs args_;
};

constexpr const char* kConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: PackGpus, weight: 10}]
)";

int Fail(const schedfw::Error& error) {
  std::cerr << "own_plugin: " << error.message() << "\n";
  return 2;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: own_plugin CLUSTER\n";
    return 2;
  }
  schedfw::Registry registry = schedfw::InTreeRegistry();
  if (auto done = registry.Add<PackGpus, PackGpusArgs>("PackGpus", "Packs GPUs"); !done) {
    return Fail(done.error());
  }
  auto config = schedfw::ParseConfig(kConfig, registry, "own_plugin.cc");
  if (!config) return Fail(config.error());
  auto scheduler = schedfw::Scheduler::Create(*config, registry);
  if (!scheduler) return Fail(scheduler.error());

  auto cluster = schedfw::ReadCluster({argv[1]});
  if (!cluster) return Fail(cluster.error());

  for (const schedfw::Placement& placement : (*scheduler)->Place(*cluster)) {
    if (placement.node.empty()) {
      std::cout << placement.pod->FullName() << " pends: " << placement.status.message() << "\n";
    } else {
      std::cout << placement.pod->FullName() << " -> " << placement.node << "\n";
    }
  }
  return 0;
}
