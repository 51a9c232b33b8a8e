// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).
#ifndef SCHEDFW_FRAMEWORK_CONFIG_H_
#define SCHEDFW_FRAMEWORK_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/base/value.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

struct PluginRef {
  std::string name;
  std::int32_t weight = 0;  ///< 0: not given, which counts as 1
};

struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<PluginRef> disabled;  ///< "*" stands for all
};

/// Plugins by extension point; multi_point enables at every point a plugin has.
struct PluginSets {
  std::array<PluginSet, kExtensionPointCount> points;
  PluginSet multi_point;

  PluginSet& at(ExtensionPoint point) { return points[static_cast<std::size_t>(point)]; }
  const PluginSet& at(ExtensionPoint point) const {
    return points[static_cast<std::size_t>(point)];
  }
};

struct PluginConfig {
  std::string name;
  Value args;
};

struct ProfileConfig {
  std::string scheduler_name = "default-scheduler";
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  PluginSets plugins;  ///< what the file says; defaults are merged in by MergeDefaults()
  std::vector<PluginConfig> plugin_config;
};

/// A resource that an extender takes care of.
struct ExtenderManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;  ///< NodeResourcesFit doesn't look at it
};

/// An extender: understood and validated, never called. An empty verb: it has no such call.
struct ExtenderConfig {
  std::string url_prefix;
  std::string filter_verb;
  std::string preempt_verb;
  std::string prioritize_verb;
  std::string bind_verb;
  std::int64_t weight = 0;
  bool enable_https = false;
  double http_timeout_seconds = 5;
  bool node_cache_capable = false;
  bool ignorable = false;
  /// A pod goes to the extender if it asks for one of these; none: every pod does.
  std::vector<ExtenderManagedResource> managed_resources;
};

struct SchedulerConfig {
  std::int32_t parallelism =
      16;  ///< upstream's goroutines; threads here are an option of their own
  std::int32_t percentage_of_nodes_to_score = 0;  ///< 0: adaptive
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  std::vector<ProfileConfig> profiles = {ProfileConfig{}};
  std::vector<ExtenderConfig> extenders;
};

/// Reads a KubeSchedulerConfiguration as YAML or JSON from a file ("-": standard input).
///
/// Decoding is strict: unknown and duplicate fields are errors at every level. Errors
/// (ConfigError): the file, the field path, the value, what is allowed; what upstream's validation
/// refuses (pkg/scheduler/apis/config/validation). Arguments of plugins are checked against
/// `registry`. Resources that extenders manage and the scheduler is to ignore become the
/// ignoredResources of NodeResourcesFit in every profile (pkg/scheduler/scheduler.go,
/// buildExtenders).
Result<SchedulerConfig> ReadConfig(const std::string& path, const Registry& registry);

/// The same for text in memory; `name` stands for the file in errors.
Result<SchedulerConfig> ParseConfig(std::string_view text, const Registry& registry,
                                    const std::string& name = "<text>");

/// Upstream's default plugins (pkg/scheduler/apis/config/v1/default_plugins.go).
inline PluginSet DefaultPlugins() {
  return {{{"SchedulingGates"},
           {"PrioritySort"},
           {"NodeName"},
           {"NodeUnschedulable"},
           {"TaintToleration", 3},
           {"NodeAffinity", 2},
           {"NodePorts"},
           {"NodeResourcesFit", 1},
           {"VolumeRestrictions"},
           {"NodeVolumeLimits"},
           {"VolumeBinding"},
           {"VolumeZone"},
           {"PodTopologySpread", 2},
           {"InterPodAffinity", 2},
           {"DynamicResources", 2},
           {"DefaultPreemption"},
           {"NodeResourcesBalancedAllocation", 1},
           {"ImageLocality", 1},
           {"DefaultBinder"},
           {"NodeDeclaredFeatures"}},
          {}};
}

/// The profile's plugins with upstream's defaults merged in (default_plugins.go, mergePlugins).
///
/// A default that the profile enables again takes the profile's weight and keeps its place; one
/// that is disabled, or all for "*", goes; what else is enabled comes behind.
inline PluginSets MergeDefaults(const PluginSets& custom) {
  PluginSets out = custom;
  const auto disables = [&](std::string_view name) {
    for (const PluginRef& ref : custom.multi_point.disabled) {
      if (ref.name == name) return true;
    }
    return false;
  };
  std::vector<PluginRef> enabled;
  std::vector<bool> replaced(custom.multi_point.enabled.size());
  if (!disables("*")) {
    for (PluginRef ref : DefaultPlugins().enabled) {
      if (disables(ref.name)) continue;
      // The last one counts when the profile names a plugin twice.
      for (std::size_t i = custom.multi_point.enabled.size(); i-- > 0;) {
        if (custom.multi_point.enabled[i].name != ref.name) continue;
        ref = custom.multi_point.enabled[i];
        replaced[i] = true;
        break;
      }
      enabled.push_back(ref);
    }
  }
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    if (!replaced[i]) enabled.push_back(custom.multi_point.enabled[i]);
  }
  out.multi_point.enabled = std::move(enabled);
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_CONFIG_H_
