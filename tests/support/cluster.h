// Clusters and schedulers for tests, from files or text.
#ifndef SCHEDFW_TESTS_SUPPORT_CLUSTER_H_
#define SCHEDFW_TESTS_SUPPORT_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "schedfw/cluster/cluster.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw::testing {

/// Reads and normalises files into a cluster; an Error as the library gives it.
Result<Cluster> TryLoad(const std::vector<std::string>& paths);
/// The same for text.
Result<Cluster> TryParse(const std::string& text);
/// The same; fails the test on an error.
Cluster Parse(const std::string& text);

/// A scheduler with upstream's plugins and an optional configuration file ("" : the defaults).
/// Every cycle that uses answers of earlier ones is compared with the whole pipeline.
Result<std::unique_ptr<Scheduler>> TryScheduler(const std::string& config_path,
                                                SchedulerOptions options = {});
/// A scheduler from configuration text ("" : the defaults); fails the test on an error.
std::unique_ptr<Scheduler> MakeScheduler(const std::string& config_text = "",
                                         SchedulerOptions options = {});

/// A node as YAML: `cpu`, 32Gi of memory, 110 pods, the given labels ("a: b, c: d").
std::string NodeYaml(const std::string& name, const std::string& labels = "",
                     const std::string& cpu = "8");
/// A pod as YAML with one container of `cpu`, and more lines for its spec (indented by two).
std::string PodYaml(const std::string& name, const std::string& labels = "",
                    const std::string& spec = "", const std::string& cpu = "100m");
/// A node with GPUs of NVIDIA as YAML: 64 cores, 64Gi, 110 pods; `topology` as the annotation of
/// GPU topology has it, more annotations and labels ("a: b, c: d").
std::string GpuNodeYaml(const std::string& name, int gpus, const std::string& topology = "",
                        const std::string& labels = "", const std::string& annotations = "");
/// A pod that asks for GPUs as YAML, with labels and more lines for its spec (indented by two).
std::string GpuPodYaml(const std::string& name, int gpus, const std::string& labels = "",
                       const std::string& spec = "");
/// A configuration with plugins enabled after the default ones: "{name: A, weight: 2}, {name: B}",
/// and their arguments, "{name: A, args: {…}}".
std::string ConfigYaml(const std::string& enabled, const std::string& plugin_config = "");

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_CLUSTER_H_
