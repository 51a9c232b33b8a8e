#include "schedfw/framework/config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/text_file.h"
#include "schedfw/framework/args.h"

namespace schedfw {
namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";

// The file's own shapes, from which the public structs are filled
// (k8s.io/kube-scheduler/config/v1/types.go).
struct LeaderElection {
  bool leader_elect = true;
  GoDuration lease_duration, renew_deadline, retry_period;
  std::string resource_lock, resource_name, resource_namespace;
};
template <typename V>
void Fields(V& v, LeaderElection& o) {
  v("leaderElect", o.leader_elect);
  v("leaseDuration", o.lease_duration);
  v("renewDeadline", o.renew_deadline);
  v("retryPeriod", o.retry_period);
  v("resourceLock", o.resource_lock);
  v("resourceName", o.resource_name);
  v("resourceNamespace", o.resource_namespace);
}

struct ClientConnection {
  std::string kubeconfig, accept_content_types, content_type;
  double qps = 0;
  std::int32_t burst = 0;
};
template <typename V>
void Fields(V& v, ClientConnection& o) {
  v("kubeconfig", o.kubeconfig);
  v("acceptContentTypes", o.accept_content_types);
  v("contentType", o.content_type);
  v("qps", o.qps);
  v("burst", o.burst, Arg{.min = 0, .allowed = "0 or more"});
}

struct TlsConfig {
  bool insecure = false;
  std::string server_name, cert_file, key_file, ca_file, cert_data, key_data, ca_data;
};
template <typename V>
void Fields(V& v, TlsConfig& o) {
  v("insecure", o.insecure);
  v("serverName", o.server_name);
  v("certFile", o.cert_file);
  v("keyFile", o.key_file);
  v("caFile", o.ca_file);
  v("certData", o.cert_data);
  v("keyData", o.key_data);
  v("caData", o.ca_data);
}

struct Extender {
  ExtenderConfig config;
  std::optional<TlsConfig> tls;
  GoDuration http_timeout;
};
template <typename V>
void Fields(V& v, Extender& o) {
  v("urlPrefix", o.config.url_prefix);
  v("filterVerb", o.config.filter_verb);
  v("preemptVerb", o.config.preempt_verb);
  v("prioritizeVerb", o.config.prioritize_verb);
  v("weight", o.config.weight);
  v("bindVerb", o.config.bind_verb);
  v("enableHTTPS", o.config.enable_https);
  v("tlsConfig", o.tls);
  v("httpTimeout", o.http_timeout);
  v("nodeCacheCapable", o.config.node_cache_capable);
  v("managedResources", o.config.managed_resources);
  v("ignorable", o.config.ignorable);
}

// A set of plugins as written. What is written, not what it means, must be equal for queueSort.
struct PluginRefs {
  std::vector<PluginRef> refs;
};

struct Profile {
  std::optional<std::string> scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  PluginSets plugins;
  // Points of gang scheduling, which upstream knows and this library doesn't have yet.
  PluginSet placement_generate, placement_score, pod_group_post_filter;
  std::vector<PluginConfig> plugin_config;
};

struct Configuration {
  std::string api_version, kind;
  std::int32_t parallelism = 16;
  LeaderElection leader_election;
  ClientConnection client_connection;
  bool enable_profiling = true, enable_contention_profiling = true;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  std::vector<Profile> profiles;
  std::vector<Extender> extenders;
  bool delay_cache_until_active = false;
};

}  // namespace

// In schedfw itself, where argument-dependent look-up finds them.
template <typename V>
void Fields(V& v, PluginRef& o) {
  v("name", o.name);
  v("weight", o.weight);
}
template <typename V>
void Fields(V& v, PluginSet& o) {
  v("enabled", o.enabled);
  v("disabled", o.disabled);
}
template <typename V>
void Fields(V& v, PluginConfig& o) {
  v("name", o.name);
  v("args", o.args);
}
template <typename V>
void Fields(V& v, ExtenderManagedResource& o) {
  v("name", o.name);
  v("ignoredByScheduler", o.ignored_by_scheduler);
}
template <typename V>
void Fields(V& v, PluginSets& o) {
  for (ExtensionPoint point : AllPoints()) {
    std::string name(PointName(point));
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
    v(name, o.at(point));
  }
  v("multiPoint", o.multi_point);
}

namespace {

template <typename V>
void Fields(V& v, Profile& o) {
  v("schedulerName", o.scheduler_name);
  v("percentageOfNodesToScore", o.percentage_of_nodes_to_score, Arg{.min = 0, .max = 100});
  v("plugins", api::Nested{[&](auto& w) {
      schedfw::Fields(w, o.plugins);
      w("placementGenerate", o.placement_generate);
      w("placementScore", o.placement_score);
      w("podGroupPostFilter", o.pod_group_post_filter);
    }});
  v("pluginConfig", o.plugin_config);
}
template <typename V>
void Fields(V& v, Configuration& o) {
  v("apiVersion", o.api_version);
  v("kind", o.kind);
  v("parallelism", o.parallelism, Arg{.min = 1, .allowed = "1 or more"});
  v("leaderElection", o.leader_election);
  v("clientConnection", o.client_connection);
  v("enableProfiling", o.enable_profiling);
  v("enableContentionProfiling", o.enable_contention_profiling);
  v("percentageOfNodesToScore", o.percentage_of_nodes_to_score, Arg{.min = 0, .max = 100});
  v("podInitialBackoffSeconds", o.pod_initial_backoff_seconds,
    Arg{.min = 1, .allowed = "1 or more"});
  v("podMaxBackoffSeconds", o.pod_max_backoff_seconds);
  v("profiles", o.profiles);
  v("extenders", o.extenders);
  v("delayCacheUntilActive", o.delay_cache_until_active);
}

// k8s.io/component-base/config/validation, ValidateLeaderElectionConfiguration.
Result<void> ValidateLeaderElection(const LeaderElection& in) {
  const std::string path = "leaderElection";
  if (!in.leader_elect) return {};
  // A zero stands for the default.
  const auto or_default = [](const GoDuration& duration, double otherwise) {
    const double seconds = duration.seconds.value_or(0);
    return seconds == 0 ? otherwise : seconds;
  };
  const double lease = or_default(in.lease_duration, 15);
  const double renew = or_default(in.renew_deadline, 10);
  const double retry = or_default(in.retry_period, 2);
  if (lease < 0) return ConfigError(path + ".leaseDuration: must be greater than zero");
  if (renew < 0) return ConfigError(path + ".renewDeadline: must be greater than zero");
  if (retry < 0) return ConfigError(path + ".retryPeriod: must be greater than zero");
  if (lease <= renew) {
    return ConfigError(path + ".leaseDuration: must be greater than renewDeadline");
  }
  if (!in.resource_lock.empty() && in.resource_lock != "leases") {
    return ConfigError(path + ".resourceLock: \"" + in.resource_lock +
                       "\" is not allowed (allowed: leases)");
  }
  return {};
}

// Bytes in base64 as Go reads them (encoding/base64, StdEncoding): whole groups of four with their
// padding; line ends don't count.
bool IsBase64(std::string_view text) {
  std::size_t count = 0, padding = 0;
  for (const char c : text) {
    if (c == '\r' || c == '\n') continue;
    ++count;
    if (c == '=') {
      ++padding;
      continue;
    }
    const bool digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '+' || c == '/';
    if (!digit || padding != 0) return false;
  }
  return count % 4 == 0 && padding <= 2;
}

// What making the client needs beyond the right types (client-go/transport, TLSConfigFor).
// Certificates aren't read: they are those of the machine that the scheduler runs on.
Result<void> ValidateTls(const TlsConfig& tls, const std::string& path) {
  for (const auto& [name, data] :
       {std::pair{"certData", &tls.cert_data}, std::pair{"keyData", &tls.key_data},
        std::pair{"caData", &tls.ca_data}}) {
    if (!IsBase64(*data)) return ConfigError(path + "." + name + ": is not base64");
  }
  if (tls.insecure && !(tls.ca_file.empty() && tls.ca_data.empty())) {
    return ConfigError(path + ".insecure: root certificates (" +
                       (tls.ca_data.empty() ? "caFile" : "caData") + ") are not allowed with it");
  }
  return {};
}

Result<void> ValidateExtenders(const std::vector<Extender>& extenders) {
  int binders = 0;
  std::set<std::string> managed;
  for (std::size_t i = 0; i < extenders.size(); ++i) {
    const Extender& extender = extenders[i];
    const std::string path = "extenders[" + std::to_string(i) + "]";
    if (!extender.config.prioritize_verb.empty() && extender.config.weight <= 0) {
      return ConfigError(path + ".weight: " + std::to_string(extender.config.weight) +
                         ": must have a positive weight applied to it");
    }
    if (!extender.config.bind_verb.empty() && ++binders > 1) {
      return ConfigError("extenders: only one extender can implement bind");
    }
    if (extender.tls) {
      if (auto done = ValidateTls(*extender.tls, path + ".tlsConfig"); !done) return done;
    }
    const auto& resources = extender.config.managed_resources;
    for (std::size_t j = 0; j < resources.size(); ++j) {
      const std::string& name = resources[j].name;
      const std::string at = path + ".managedResources[" + std::to_string(j) + "].name: \"" + name;
      if (!api::IsExtendedResource(name)) {
        return ConfigError(at + "\" is not the name of an extended resource");
      }
      if (!managed.insert(name).second) return ConfigError(at + "\" is there twice");
    }
  }
  return {};
}

bool SameText(const PluginSet& a, const PluginSet& b) {
  const auto same = [](const std::vector<PluginRef>& x, const std::vector<PluginRef>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const PluginRef& p, const PluginRef& q) {
                        return p.name == q.name && p.weight == q.weight;
                      });
  };
  // Upstream reads no weight of what is disabled.
  const auto names = [](const std::vector<PluginRef>& list) {
    std::vector<std::string> out;
    for (const PluginRef& ref : list) out.push_back(ref.name);
    return out;
  };
  return same(a.enabled, b.enabled) && names(a.disabled) == names(b.disabled);
}

// Plugins that v1 has removed (apis/config/validation, invalidPluginsByVersion).
bool IsRemoved(std::string_view plugin) {
  return plugin == "AzureDiskLimits" || plugin == "CinderLimits" || plugin == "EBSLimits" ||
         plugin == "GCEPDLimits";
}

// The points of pod groups: read and checked, without effect here.
Result<void> CheckPodGroupPoints(const Profile& profile, const std::string& path,
                                 const Registry& registry) {
  struct Point {
    const char* name;
    const PluginSet* set;
    std::set<std::string_view> plugins;
  };
  const Point points[] = {
      {"placementGenerate", &profile.placement_generate, {"TopologyPlacementGenerator"}},
      {"placementScore", &profile.placement_score, {"NodeResourcesFit", "PodGroupPodsCount"}},
      {"podGroupPostFilter",
       &profile.pod_group_post_filter,
       {"DefaultPreemption", "DynamicResources"}}};
  for (const Point& point : points) {
    for (std::size_t i = 0; i < point.set->enabled.size(); ++i) {
      const std::string& plugin = point.set->enabled[i].name;
      const std::string at = path + ".plugins." + point.name + ".enabled[" + std::to_string(i) +
                             "].name: plugin \"" + plugin + "\" ";
      if (registry.Find(plugin) == nullptr) return ConfigError(at + "does not exist");
      if (!point.plugins.contains(plugin)) return ConfigError(at + "does not extend this point");
    }
  }
  return {};
}

Result<void> CheckPluginConfig(Profile& profile, const std::string& path,
                               const Registry& registry) {
  for (std::size_t i = 0; i < profile.plugin_config.size(); ++i) {
    PluginConfig& config = profile.plugin_config[i];
    const std::string at = path + ".pluginConfig[" + std::to_string(i) + "]";
    for (std::size_t j = 0; j < i; ++j) {
      if (profile.plugin_config[j].name == config.name) {
        return ConfigError(at + ".name: \"" + config.name + "\" is configured twice");
      }
    }
    // Upstream's validation has this name by mistake, and so refuses whatever it carries.
    if (config.name == "NodeResourcesFitArgs") {
      return ConfigError(at +
                         ".name: \"NodeResourcesFitArgs\" is no plugin (did you mean "
                         "NodeResourcesFit?)");
    }
    if (IsRemoved(config.name)) {
      return ConfigError(at + ".name: \"" + config.name + "\" was removed");
    }
    const PluginSpec* spec = registry.Find(config.name);
    if (spec == nullptr || !spec->check_args) continue;  // upstream leaves unknown ones alone
    if (config.args.IsNull()) config.args = Value::Object();
    if (Value::Object* args = config.args.AsObject()) {
      // Arguments may say what they are; then it must be right.
      for (auto it = args->begin(); it != args->end();) {
        const std::string* text = it->second.AsString();
        std::string wanted;
        if (it->first == "kind") wanted = config.name + "Args";
        if (it->first == "apiVersion") wanted = kApiVersion;
        if (wanted.empty()) {
          ++it;
          continue;
        }
        const bool absent = it->second.IsNull() || (text != nullptr && text->empty());
        if (!absent && (text == nullptr || *text != wanted)) {
          return ConfigError(at + ".args." + it->first + ": arguments of " + config.name +
                             " must be of " + it->first + " " + wanted);
        }
        it = args->erase(it);
      }
    }
    if (auto done = spec->check_args(config.args, at + ".args"); !done) return done;
  }
  return {};
}

Result<void> Validate(const Configuration& in) {
  if (auto done = ValidateLeaderElection(in.leader_election); !done) return done;
  if (in.pod_max_backoff_seconds < in.pod_initial_backoff_seconds) {
    return ConfigError("podMaxBackoffSeconds: " + std::to_string(in.pod_max_backoff_seconds) +
                       ": must be greater than or equal to podInitialBackoffSeconds");
  }
  for (std::size_t i = 0; i < in.profiles.size(); ++i) {
    const Profile& profile = in.profiles[i];
    const std::string path = "profiles[" + std::to_string(i) + "]";
    const std::string name = profile.scheduler_name.value_or("");
    if (name.empty()) return ConfigError(path + ".schedulerName: a name is required");
    for (std::size_t j = 0; j < i; ++j) {
      if (in.profiles[j].scheduler_name == name) {
        return ConfigError(path + ".schedulerName: \"" + name + "\" is the name of profiles[" +
                           std::to_string(j) + "] too");
      }
    }
    if (!SameText(profile.plugins.at(ExtensionPoint::kQueueSort),
                  in.profiles[0].plugins.at(ExtensionPoint::kQueueSort))) {
      return ConfigError(path + ".plugins.queueSort: must be the same for all profiles");
    }
    for (ExtensionPoint point : AllPoints()) {
      for (const PluginRef& ref : profile.plugins.at(point).enabled) {
        if (IsRemoved(ref.name)) {
          return ConfigError(path + ".plugins: plugin \"" + ref.name + "\" was removed");
        }
      }
    }
  }
  return ValidateExtenders(in.extenders);
}

// Whether upstream gives the plugin default arguments in this profile (apis/config/v1/defaults.go,
// pluginsNames): it is enabled at some point, effective or not.
bool IsEnabledSomewhere(const Profile& profile, std::string_view plugin) {
  const PluginSets plugins = MergeDefaults(profile.plugins);
  std::vector<const PluginSet*> sets = {&plugins.multi_point, &profile.placement_generate,
                                        &profile.placement_score};
  for (const PluginSet& set : plugins.points) sets.push_back(&set);
  return std::any_of(sets.begin(), sets.end(), [&](const PluginSet* set) {
    return std::any_of(set->enabled.begin(), set->enabled.end(),
                       [&](const PluginRef& ref) { return ref.name == plugin; });
  });
}

// What extenders manage and the scheduler is to ignore takes the place of NodeResourcesFit's own
// ignoredResources, in every profile (pkg/scheduler/scheduler.go, buildExtenders).
Result<void> IgnoreManagedResources(Configuration& in) {
  Value::List ignored;
  for (const Extender& extender : in.extenders) {
    for (const ExtenderManagedResource& resource : extender.config.managed_resources) {
      if (resource.ignored_by_scheduler) ignored.emplace_back(resource.name);
    }
  }
  if (ignored.empty()) return {};
  const std::string plugin = "NodeResourcesFit";
  for (Profile& profile : in.profiles) {
    auto& configs = profile.plugin_config;
    auto it = std::find_if(configs.begin(), configs.end(),
                           [&](const PluginConfig& config) { return config.name == plugin; });
    if (it == configs.end()) {
      if (!IsEnabledSomewhere(profile, plugin)) {
        return ConfigError("extenders: managed resources with ignoredByScheduler need plugin " +
                           plugin + " in every profile, but profile \"" + *profile.scheduler_name +
                           "\" doesn't enable it");
      }
      it = configs.insert(configs.end(), {plugin, Value::Object()});
    }
    it->args.Set("ignoredResources", ignored);
  }
  return {};
}

Result<SchedulerConfig> FromValue(const Value& value, const Registry& registry) {
  const Value* kind = value.Find("kind");
  const Value* version = value.Find("apiVersion");
  if (kind == nullptr || kind->AsString() == nullptr || kind->AsString()->empty()) {
    return ConfigError("kind: must be given (allowed: KubeSchedulerConfiguration)");
  }
  if (*kind->AsString() != "KubeSchedulerConfiguration") {
    return ConfigError("kind: \"" + *kind->AsString() +
                       "\" is not supported (allowed: KubeSchedulerConfiguration)");
  }
  if (version == nullptr || version->AsString() == nullptr || *version->AsString() != kApiVersion) {
    const std::string given =
        version != nullptr && version->AsString() != nullptr ? *version->AsString() : "";
    return ConfigError("apiVersion: \"" + given +
                       "\" is not supported (allowed: " + std::string(kApiVersion) + ")");
  }
  Configuration in;
  if (auto done = DecodeArgs(value, in); !done) return done.error();
  if (in.profiles.empty()) in.profiles.emplace_back();
  if (in.profiles.size() == 1 && !in.profiles[0].scheduler_name) {
    in.profiles[0].scheduler_name = "default-scheduler";
  }
  for (std::size_t i = 0; i < in.profiles.size(); ++i) {
    const std::string path = "profiles[" + std::to_string(i) + "]";
    if (auto done = CheckPluginConfig(in.profiles[i], path, registry); !done) return done.error();
    if (auto done = CheckPodGroupPoints(in.profiles[i], path, registry); !done) {
      return done.error();
    }
  }
  if (auto done = Validate(in); !done) return done.error();
  if (auto done = IgnoreManagedResources(in); !done) return done.error();

  SchedulerConfig out;
  out.parallelism = in.parallelism;
  out.percentage_of_nodes_to_score = in.percentage_of_nodes_to_score.value_or(0);
  out.pod_initial_backoff_seconds = in.pod_initial_backoff_seconds;
  out.pod_max_backoff_seconds = in.pod_max_backoff_seconds;
  out.profiles.clear();
  for (Profile& profile : in.profiles) {
    out.profiles.push_back({*profile.scheduler_name, profile.percentage_of_nodes_to_score,
                            std::move(profile.plugins), std::move(profile.plugin_config)});
  }
  for (Extender& extender : in.extenders) {
    const double timeout = extender.http_timeout.seconds.value_or(0);
    if (timeout != 0) extender.config.http_timeout_seconds = timeout;
    out.extenders.push_back(std::move(extender.config));
  }
  return out;
}

}  // namespace

Result<SchedulerConfig> ParseConfig(std::string_view text, const Registry& registry,
                                    const std::string& name) {
  Result<Value> value = ParseValue(text, name);
  if (!value) return ConfigError(value.error().message());
  Result<SchedulerConfig> config = FromValue(*value, registry);
  if (!config) return config.error().In(name);
  return config;
}

Result<SchedulerConfig> ReadConfig(const std::string& path, const Registry& registry) {
  Result<std::string> text = io::ReadText(path);
  if (!text) return ConfigError(text.error().message());
  return ParseConfig(*text, registry, path == "-" ? "<stdin>" : path);
}

}  // namespace schedfw
