// Registry: plugins by name, with their extension points, arguments and factories.
#ifndef SCHEDFW_FRAMEWORK_REGISTRY_H_
#define SCHEDFW_FRAMEWORK_REGISTRY_H_

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/host.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// The extension points, in the order of a cycle.
enum class ExtensionPoint : std::uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr std::size_t kExtensionPointCount = 12;

/// "PreEnqueue", …: upstream's name of a point.
constexpr std::string_view PointName(ExtensionPoint point) {
  constexpr std::array<std::string_view, kExtensionPointCount> kNames{
      "PreEnqueue", "QueueSort", "PreFilter", "Filter",  "PostFilter", "PreScore",
      "Score",      "Reserve",   "Permit",    "PreBind", "Bind",       "PostBind"};
  return kNames[static_cast<std::size_t>(point)];
}

/// All points, in order.
inline std::array<ExtensionPoint, kExtensionPointCount> AllPoints() {
  std::array<ExtensionPoint, kExtensionPointCount> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<ExtensionPoint>(i);
  return out;
}

/// A set of extension points.
class PointSet {
 public:
  constexpr PointSet() = default;
  constexpr PointSet(std::initializer_list<ExtensionPoint> points) {
    for (ExtensionPoint point : points) Add(point);
  }
  constexpr void Add(ExtensionPoint point) { bits_ |= 1u << static_cast<unsigned>(point); }
  constexpr bool Has(ExtensionPoint point) const {
    return (bits_ & 1u << static_cast<unsigned>(point)) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};

/// What the host gives to plugins when they are made.
struct Handle {
  /// Binds a pod to a node outside of this library, e.g. at an API server; absent: nothing to do.
  std::function<Status(const PodInfo& pod, const std::string& node)> bind;
  /// PodGroups of scheduling.k8s.io count (upstream's feature gate GenericWorkload): what plugins
  /// do with pods on nodes follows the groups that these name.
  bool generic_workload = false;
  /// Where plugins find what runs the scheduler. Scheduler::Create makes one when it is absent;
  /// plugins made without a scheduler have none.
  std::shared_ptr<HostSlot> host;
};

using PluginPtr = std::shared_ptr<Plugin>;
using PluginFactory = std::function<Result<PluginPtr>(const Value& args, const Handle& handle)>;

/// All there is to know of a plugin before it is made.
struct PluginSpec {
  std::string name;
  std::string help;
  PointSet points;
  std::vector<ArgSpec> args;
  /// Makes an instance; null: known by name only, see `no_effect`.
  PluginFactory factory;
  /// Checks arguments without making an instance; errors carry `path`. Set for every plugin with
  /// declared arguments.
  std::function<Result<void>(const Value& args, const std::string& path)> check_args;
  /// True for upstream's plugins that may be configured but do nothing here.
  bool no_effect = false;
};

namespace internal {

template <typename T>
PointSet PointsOf() {
  PointSet out;
  if (std::derived_from<T, PreEnqueuePlugin>) out.Add(ExtensionPoint::kPreEnqueue);
  if (std::derived_from<T, QueueSortPlugin>) out.Add(ExtensionPoint::kQueueSort);
  if (std::derived_from<T, PreFilterPlugin>) out.Add(ExtensionPoint::kPreFilter);
  if (std::derived_from<T, FilterPlugin>) out.Add(ExtensionPoint::kFilter);
  if (std::derived_from<T, PostFilterPlugin>) out.Add(ExtensionPoint::kPostFilter);
  if (std::derived_from<T, PreScorePlugin>) out.Add(ExtensionPoint::kPreScore);
  if (std::derived_from<T, ScorePlugin>) out.Add(ExtensionPoint::kScore);
  if (std::derived_from<T, ReservePlugin>) out.Add(ExtensionPoint::kReserve);
  if (std::derived_from<T, PermitPlugin>) out.Add(ExtensionPoint::kPermit);
  if (std::derived_from<T, PreBindPlugin>) out.Add(ExtensionPoint::kPreBind);
  if (std::derived_from<T, BindPlugin>) out.Add(ExtensionPoint::kBind);
  if (std::derived_from<T, PostBindPlugin>) out.Add(ExtensionPoint::kPostBind);
  return out;
}

template <typename Args>
concept Validated = requires(const Args& args) {
  { Validate(args) } -> std::same_as<Result<void>>;
};

template <typename Args>
Result<Args> ReadArgs(const Value& value, const std::string& path) {
  Args args{};
  if (auto done = DecodeArgs(value, args, path); !done) return done.error();
  if constexpr (Validated<Args>) {
    if (auto done = Validate(args); !done) {
      return ConfigError(path + "." + done.error().message());
    }
  }
  return args;
}

template <typename Args>
Result<void> CheckArgs(const Value& value, const std::string& path) {
  if (auto args = ReadArgs<Args>(value, path); !args) return args.error();
  return {};
}

template <typename T, typename Args>
Result<PluginPtr> Make(const Args& args, const Handle& handle) {
  if constexpr (requires { T::Create(args, handle); }) {
    auto made = T::Create(args, handle);
    if (!made) return made.error();
    return PluginPtr(*std::move(made));
  } else if constexpr (std::constructible_from<T, const Args&, const Handle&>) {
    return PluginPtr(std::make_shared<T>(args, handle));
  } else if constexpr (std::constructible_from<T, const Args&>) {
    return PluginPtr(std::make_shared<T>(args));
  } else {
    return PluginPtr(std::make_shared<T>());
  }
}

}  // namespace internal

/// Plugins by name. A program makes its own, usually from InTreeRegistry() (plugins/registry.h).
class Registry {
 public:
  /// Adds plugin class T with arguments of the declared struct Args.
  ///
  /// T is made by `static Result<std::shared_ptr<T>> Create(const Args&, const Handle&)` if it has
  /// one, else by the first constructor of T(args, handle), T(args), T() that exists. If a function
  /// `Result<void> Validate(const Args&)` can be found, it checks what single fields can't.
  /// Error: the name is taken.
  template <typename T, typename Args = NoArgs>
  Result<void> Add(std::string name, std::string help) {
    PluginSpec spec;
    spec.name = std::move(name);
    spec.help = std::move(help);
    spec.points = internal::PointsOf<T>();
    spec.args = DescribeArgs<Args>();
    if constexpr (!std::is_same_v<Args, NoArgs>) {
      spec.check_args = internal::CheckArgs<Args>;
    }
    spec.factory = [](const Value& value, const Handle& handle) -> Result<PluginPtr> {
      // A plugin without declared arguments ignores what it is given, as upstream's do.
      if constexpr (std::is_same_v<Args, NoArgs>) {
        return internal::Make<T>(NoArgs{}, handle);
      } else {
        auto args = internal::ReadArgs<Args>(value, "args");
        if (!args) return args.error();
        return internal::Make<T>(*args, handle);
      }
    };
    return Add(std::move(spec));
  }

  /// Adds a plugin that is described by hand. Error: the name is empty or taken.
  Result<void> Add(PluginSpec spec) {  // NOLINT(performance-unnecessary-value-param): moved
    if (spec.name.empty()) return PluginError("a plugin needs a name");
    std::string name = spec.name;
    const auto [it, inserted] = specs_.try_emplace(std::move(name), std::move(spec));
    if (!inserted) return PluginError("plugin \"" + it->first + "\" is registered already");
    return {};
  }

  /// The plugin's description, or nullptr.
  const PluginSpec* Find(std::string_view name) const {
    const auto it = specs_.find(name);
    return it == specs_.end() ? nullptr : &it->second;
  }

  /// All plugins, in name order.
  std::vector<const PluginSpec*> All() const {
    std::vector<const PluginSpec*> out;
    for (const auto& [name, spec] : specs_) out.push_back(&spec);
    return out;
  }

 private:
  std::map<std::string, PluginSpec, std::less<>> specs_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_REGISTRY_H_
