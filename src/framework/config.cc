#include "schedfw/framework/config.h"

#include <charconv>
#include <cmath>
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
  std::string lease_duration, renew_deadline, retry_period;
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

struct ManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
};
template <typename V>
void Fields(V& v, ManagedResource& o) {
  v("name", o.name);
  v("ignoredByScheduler", o.ignored_by_scheduler);
}

struct Extender {
  ExtenderConfig config;
  bool enable_https = false, node_cache_capable = false;
  std::optional<TlsConfig> tls;
  std::string http_timeout;
  std::vector<ManagedResource> managed_resources;
};
template <typename V>
void Fields(V& v, Extender& o) {
  v("urlPrefix", o.config.url_prefix);
  v("filterVerb", o.config.filter_verb);
  v("preemptVerb", o.config.preempt_verb);
  v("prioritizeVerb", o.config.prioritize_verb);
  v("weight", o.config.weight);
  v("bindVerb", o.config.bind_verb);
  v("enableHTTPS", o.enable_https);
  v("tlsConfig", o.tls);
  v("httpTimeout", o.http_timeout);
  v("nodeCacheCapable", o.node_cache_capable);
  v("managedResources", o.managed_resources);
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

// Go's time.ParseDuration in seconds: "1h2m3.5s", "300ms", "0". nullopt: not a duration.
std::optional<double> ParseDuration(std::string_view text) {
  double sign = 1;
  if (text.starts_with('-') || text.starts_with('+')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6},
      {"ms", 1e-3}, {"s", 1},     {"m", 60},    {"h", 3600}};
  double total = 0;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) {
      return text.starts_with(u.first) &&
             (text.size() == u.first.size() ||
              (text[u.first.size()] >= '0' && text[u.first.size()] <= '9') ||
              text[u.first.size()] == '.');
    });
    if (unit == std::end(kUnits)) return std::nullopt;
    total += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  return sign * total;
}

Result<double> Duration(const std::string& text, double otherwise, const std::string& path) {
  if (text.empty()) return otherwise;
  const auto seconds = ParseDuration(text);
  if (!seconds) {
    return ConfigError(path + ": \"" + text + "\" is not a duration (allowed: like 15s or 1m30s)");
  }
  return *seconds;
}

// k8s.io/component-base/config/validation, ValidateLeaderElectionConfiguration.
Result<void> ValidateLeaderElection(const LeaderElection& in) {
  const std::string path = "leaderElection";
  auto lease = Duration(in.lease_duration, 15, path + ".leaseDuration");
  if (!lease) return lease.error();
  auto renew = Duration(in.renew_deadline, 10, path + ".renewDeadline");
  if (!renew) return renew.error();
  auto retry = Duration(in.retry_period, 2, path + ".retryPeriod");
  if (!retry) return retry.error();
  if (!in.leader_elect) return {};
  // A zero stands for the default.
  if (*lease == 0) *lease = 15;
  if (*renew == 0) *renew = 10;
  if (*retry == 0) *retry = 2;
  if (*lease < 0) return ConfigError(path + ".leaseDuration: must be greater than zero");
  if (*renew < 0) return ConfigError(path + ".renewDeadline: must be greater than zero");
  if (*retry < 0) return ConfigError(path + ".retryPeriod: must be greater than zero");
  if (*lease <= *renew) {
    return ConfigError(path + ".leaseDuration: must be greater than renewDeadline");
  }
  if (!in.resource_lock.empty() && in.resource_lock != "leases") {
    return ConfigError(path + ".resourceLock: \"" + in.resource_lock +
                       "\" is not allowed (allowed: leases)");
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
    if (auto timeout = Duration(extender.http_timeout, 0, path + ".httpTimeout"); !timeout) {
      return timeout.error();
    }
    for (std::size_t j = 0; j < extender.managed_resources.size(); ++j) {
      const std::string& name = extender.managed_resources[j].name;
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
  return same(a.enabled, b.enabled) && same(a.disabled, b.disabled);
}

// Plugins that v1 has removed (apis/config/validation, invalidPluginsByVersion).
bool IsRemoved(std::string_view plugin) {
  return plugin == "AzureDiskLimits" || plugin == "CinderLimits" || plugin == "EBSLimits" ||
         plugin == "GCEPDLimits";
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
        if (text == nullptr || *text != wanted) {
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
    auto done = CheckPluginConfig(in.profiles[i], "profiles[" + std::to_string(i) + "]", registry);
    if (!done) return done.error();
  }
  if (auto done = Validate(in); !done) return done.error();

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
    for (const ManagedResource& resource : extender.managed_resources) {
      extender.config.managed_resources.push_back(resource.name);
    }
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
