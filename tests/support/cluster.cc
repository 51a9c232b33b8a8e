#include "support/cluster.h"

#include <gtest/gtest.h>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/plugins/registry.h"

namespace schedfw::testing {
namespace {

Result<Cluster> ToCluster(Result<api::ObjectList> objects) {
  if (!objects) return objects.error();
  if (auto done = api::Normalize(*objects); !done) return done.error();
  return Cluster::FromObjects(*std::move(objects));
}

}  // namespace

Result<Cluster> TryLoad(const std::vector<std::string>& paths) {
  return ToCluster(api::ReadObjects(paths));
}

Result<Cluster> TryParse(const std::string& text) { return ToCluster(api::ParseObjects(text)); }

Cluster Parse(const std::string& text) {
  auto cluster = TryParse(text);
  EXPECT_TRUE(cluster.ok()) << cluster.error().message();
  return cluster.ok() ? *std::move(cluster) : Cluster();
}

Result<std::unique_ptr<Scheduler>> TryScheduler(const std::string& config_path,
                                                SchedulerOptions options) {
  const Registry registry = InTreeRegistry();
  SchedulerConfig config;
  if (!config_path.empty()) {
    auto read = ReadConfig(config_path, registry);
    if (!read) return read.error();
    config = *std::move(read);
  }
  options.verify_incremental = true;
  return Scheduler::Create(config, registry, std::move(options));
}

std::unique_ptr<Scheduler> MakeScheduler(const std::string& config_text, SchedulerOptions options) {
  const Registry registry = InTreeRegistry();
  SchedulerConfig config;
  if (!config_text.empty()) {
    auto parsed = ParseConfig(config_text, registry);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message();
    if (parsed.ok()) config = *std::move(parsed);
  }
  options.verify_incremental = true;
  auto scheduler = Scheduler::Create(config, registry, std::move(options));
  EXPECT_TRUE(scheduler.ok()) << scheduler.error().message();
  return scheduler.ok() ? *std::move(scheduler) : nullptr;
}

std::string NodeYaml(const std::string& name, const std::string& labels, const std::string& cpu) {
  return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {" + labels +
         "}\nstatus:\n  allocatable: {cpu: \"" + cpu + "\", memory: 32Gi, pods: \"110\"}\n";
}

std::string PodYaml(const std::string& name, const std::string& labels, const std::string& spec,
                    const std::string& cpu) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels: {" + labels +
         "}\nspec:\n  containers:\n  - name: c\n    image: registry.local/app:1\n    resources: "
         "{requests: {cpu: \"" +
         cpu + "\"}}\n" + spec;
}

std::string GpuNodeYaml(const std::string& name, int gpus, const std::string& topology,
                        const std::string& labels, const std::string& annotations) {
  std::string notes = annotations;
  if (!topology.empty()) {
    notes += (notes.empty() ? "" : ", ") + std::string(kGpuTopologyAnnotation) + ": " + topology;
  }
  return "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels +
         "}, annotations: {" + notes +
         "}}\nstatus: {capacity: {cpu: '64', memory: 64Gi, pods: '110', nvidia.com/gpu: '" +
         std::to_string(gpus) + "'}}\n";
}

std::string GpuPodYaml(const std::string& name, int gpus, const std::string& labels,
                       const std::string& spec) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {" + labels +
         "}}\nspec:\n  containers: [{name: c, image: i, resources: {requests: {cpu: '1', "
         "memory: 1Gi}, limits: {nvidia.com/gpu: '" +
         std::to_string(gpus) + "'}}}]\n" + spec;
}

std::string ConfigYaml(const std::string& enabled, const std::string& plugin_config) {
  return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
         "profiles:\n- plugins: {multiPoint: {enabled: [" +
         enabled + "]}}\n  pluginConfig: [" + plugin_config + "]\n";
}

}  // namespace schedfw::testing
