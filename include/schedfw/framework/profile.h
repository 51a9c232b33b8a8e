// Profile: the effective plugins of one scheduler name, made and ordered.
#ifndef SCHEDFW_FRAMEWORK_PROFILE_H_
#define SCHEDFW_FRAMEWORK_PROFILE_H_

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/framework/config.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

/// The plugins of one profile by extension point, with instances and weights.
///
/// Rules: pkg/scheduler/framework/runtime/framework.go, NewFramework and expandMultiPointPlugins.
class Profile {
 public:
  /// Makes all plugins of a profile. Errors (ConfigError): a plugin that doesn't exist or doesn't
  /// have the point, is enabled twice, has a negative weight or wrong arguments; not exactly one
  /// QueueSort plugin; no Bind plugin.
  static Result<Profile> Create(const ProfileConfig& config, const Registry& registry,
                                const Handle& handle = {}) {
    Profile out;
    out.name_ = config.scheduler_name;
    out.percentage_ = config.percentage_of_nodes_to_score;
    const auto refuse = [&](const Error& error) {
      return ConfigError("profile \"" + config.scheduler_name + "\": " + error.message());
    };
    const PluginSets plugins = MergeDefaults(config.plugins);
    if (auto done = out.MakeAll(plugins, config, registry, handle); !done) {
      return refuse(done.error());
    }
    for (ExtensionPoint point : AllPoints()) {
      if (auto done = out.Expand(plugins, point); !done) return refuse(done.error());
    }
    if (auto done = out.SetWeights(plugins); !done) return refuse(done.error());
    const std::size_t sorts = out.at(ExtensionPoint::kQueueSort).size();
    if (sorts != 1) {
      return refuse(ConfigError("exactly one queueSort plugin is needed, but " +
                                std::to_string(sorts) + " are enabled"));
    }
    if (out.at(ExtensionPoint::kBind).empty()) {
      return refuse(ConfigError("at least one bind plugin is needed"));
    }
    return out;
  }

  const std::string& name() const { return name_; }
  std::optional<std::int32_t> percentage_of_nodes_to_score() const { return percentage_; }

  /// The effective plugins of a point, in order; weights are set for Score only. Plugins that have
  /// no effect here are listed too.
  const std::vector<PluginRef>& at(ExtensionPoint point) const {
    return effective_[static_cast<std::size_t>(point)];
  }
  /// True when the plugin is enabled at some point.
  bool Has(std::string_view plugin) const { return specs_.find(plugin) != specs_.end(); }
  /// True when the plugin is enabled but has no effect here.
  bool HasWithoutEffect(std::string_view plugin) const {
    const auto it = specs_.find(plugin);
    return it != specs_.end() && it->second->no_effect;
  }

  /// The plugins with an effect that implement `T` and are enabled at `point`, in order.
  template <typename T>
  std::vector<T*> Instances(ExtensionPoint point) const {
    std::vector<T*> out;
    for (const PluginRef& ref : at(point)) {
      const auto it = instances_.find(ref.name);
      if (it == instances_.end()) continue;
      if (T* plugin = dynamic_cast<T*>(it->second.get())) out.push_back(plugin);
    }
    return out;
  }
  /// An instance by name, or nullptr.
  Plugin* Instance(std::string_view plugin) const {
    const auto it = instances_.find(plugin);
    return it == instances_.end() ? nullptr : it->second.get();
  }

 private:
  Result<void> MakeAll(const PluginSets& plugins, const ProfileConfig& config,
                       const Registry& registry, const Handle& handle) {
    std::vector<const PluginSet*> sets = {&plugins.multi_point};
    for (const PluginSet& set : plugins.points) sets.push_back(&set);
    for (const PluginSet* set : sets) {
      for (const PluginRef& ref : set->enabled) {
        if (specs_.contains(ref.name)) continue;
        const PluginSpec* spec = registry.Find(ref.name);
        if (spec == nullptr) return ConfigError("plugin \"" + ref.name + "\" does not exist");
        specs_.emplace(ref.name, std::make_shared<const PluginSpec>(*spec));
        if (spec->no_effect) continue;
        Value args = Value::Object();
        for (const PluginConfig& candidate : config.plugin_config) {
          if (candidate.name == ref.name) args = candidate.args;
        }
        Result<PluginPtr> made = spec->factory(args, handle);
        if (!made) {
          return ConfigError("plugin \"" + ref.name + "\": " + made.error().message());
        }
        instances_.emplace(ref.name, *std::move(made));
      }
    }
    return {};
  }

  static bool Contains(const std::vector<PluginRef>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const PluginRef& ref) { return ref.name == name; });
  }

  // The order: plugins of the point that also come from multiPoint, in the point's order; then
  // those from multiPoint alone; then the rest of the point.
  Result<void> Expand(const PluginSets& plugins, ExtensionPoint point) {
    const PluginSet& set = plugins.at(point);
    std::vector<PluginRef>& out = effective_[static_cast<std::size_t>(point)];
    const std::string where(PointName(point));
    for (std::size_t i = 0; i < set.enabled.size(); ++i) {
      const std::string& name = set.enabled[i].name;
      if (!specs_.at(name)->points.Has(point)) {
        return ConfigError("plugin \"" + name + "\" does not extend " + where);
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (set.enabled[j].name == name) {
          return ConfigError("plugin \"" + name + "\" is enabled twice at " + where);
        }
      }
    }
    if (Contains(set.disabled, "*")) {
      out = set.enabled;
      return {};
    }
    std::vector<PluginRef> overridden, from_multi_point, rest;
    for (const PluginRef& ref : plugins.multi_point.enabled) {
      if (!specs_.at(ref.name)->points.Has(point) || Contains(set.disabled, ref.name)) continue;
      if (Contains(set.enabled, ref.name)) continue;
      if (Contains(from_multi_point, ref.name)) {
        return ConfigError("plugin \"" + ref.name + "\" is enabled twice at " + where);
      }
      from_multi_point.push_back(ref);
    }
    for (const PluginRef& ref : set.enabled) {
      const bool overrides =
          Contains(plugins.multi_point.enabled, ref.name) && !Contains(set.disabled, ref.name);
      (overrides ? overridden : rest).push_back(ref);
    }
    for (auto* part : {&overridden, &from_multi_point, &rest}) {
      out.insert(out.end(), part->begin(), part->end());
    }
    return {};
  }

  // The weight at the Score point beats that of multiPoint; no weight counts as 1.
  Result<void> SetWeights(const PluginSets& plugins) {
    std::map<std::string_view, std::int64_t> weights;
    std::int64_t total = 0;
    for (const auto* list :
         {&plugins.at(ExtensionPoint::kScore).enabled, &plugins.multi_point.enabled}) {
      for (const PluginRef& ref : *list) {
        if (!specs_.at(ref.name)->points.Has(ExtensionPoint::kScore)) continue;
        const std::int64_t weight = ref.weight == 0 ? 1 : ref.weight;
        if (!weights.emplace(ref.name, weight).second) continue;
        if (weight < 0) {
          return ConfigError("score plugin \"" + ref.name + "\": weight " + std::to_string(weight) +
                             " is not allowed (allowed: 0 or more)");
        }
        if (weight * kMaxNodeScore > std::numeric_limits<std::int64_t>::max() - total) {
          return ConfigError("the weights of score plugins add up to more than 64 bits can hold");
        }
        total += weight * kMaxNodeScore;
      }
    }
    for (ExtensionPoint point : AllPoints()) {
      for (PluginRef& ref : effective_[static_cast<std::size_t>(point)]) {
        ref.weight =
            point == ExtensionPoint::kScore ? static_cast<std::int32_t>(weights.at(ref.name)) : 0;
      }
    }
    return {};
  }

  std::string name_;
  std::optional<std::int32_t> percentage_;
  std::array<std::vector<PluginRef>, kExtensionPointCount> effective_;
  std::map<std::string, std::shared_ptr<const PluginSpec>, std::less<>> specs_;
  std::map<std::string, PluginPtr, std::less<>> instances_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_PROFILE_H_
