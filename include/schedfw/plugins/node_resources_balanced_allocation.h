// NodeResourcesBalancedAllocation: prefers nodes whose resources are used evenly.
#ifndef SCHEDFW_PLUGINS_NODE_RESOURCES_BALANCED_ALLOCATION_H_
#define SCHEDFW_PLUGINS_NODE_RESOURCES_BALANCED_ALLOCATION_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/resource_allocation.h"

namespace schedfw {

struct BalancedResourceSpec {
  std::string name;
  std::int64_t weight = 1;
};
template <typename V>
void Fields(V& v, BalancedResourceSpec& spec) {
  v("name", spec.name, Arg{.help = "A resource; each at most once"});
  v("weight", spec.weight, Arg{.help = "Always 1; 0 stands for 1", .min = 0, .max = 1});
}

struct NodeResourcesBalancedAllocationArgs {
  std::vector<BalancedResourceSpec> resources;
};
template <typename V>
void Fields(V& v, NodeResourcesBalancedAllocationArgs& args) {
  v("resources", args.resources,
    Arg{.help = "The resources to balance; none stands for cpu and memory"});
}
/// Each resource at most once (ValidateNodeResourcesBalancedAllocationArgs).
inline Result<void> Validate(const NodeResourcesBalancedAllocationArgs& args) {
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (args.resources[i].name == args.resources[j].name) {
        return ConfigError("resources[" + std::to_string(i) + "].name: \"" +
                           args.resources[i].name + "\" is there twice");
      }
    }
  }
  return {};
}

/// Scores by how much the pod evens out the use of resources: the standard deviation of the used
/// fractions with the pod against that without it (noderesources/balanced_allocation.go).
class NodeResourcesBalancedAllocation : public PreScorePlugin, public BatchScorePlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesBalancedAllocation";

  explicit NodeResourcesBalancedAllocation(const NodeResourcesBalancedAllocationArgs& args)
      : resources_(args.resources) {
    if (resources_.empty()) resources_ = {{"cpu", 1}, {"memory", 1}};
  }

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    if (IsBestEffort(cycle)) return Status::Skip();
    state.Emplace<State>(Resolve(cycle));
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, std::span<const Row> rows,
                    std::int64_t* out) const override {
    const State* state = cycle.state.Find<State>();
    std::optional<State> own;
    if (state == nullptr) {  // its PreScore is disabled
      if (IsBestEffort(cycle)) {
        std::fill_n(out, rows.size(), std::int64_t{0});
        return {};
      }
      state = &own.emplace(Resolve(cycle));
    }
    std::vector<double> fractions(state->resources.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t with = Balance(*state, rows[i], /*with_pod=*/true, fractions);
      const std::int64_t without = Balance(*state, rows[i], /*with_pod=*/false, fractions);
      out[i] = kMaxNodeScore / 2 + (kMaxNodeScore / 2 + with - without) / 2;
    }
    return {};
  }

 private:
  struct State {
    std::vector<ScoredResource> resources;
  };

  bool IsBestEffort(const Cycle& cycle) const {
    Dictionary& dictionary = cycle.snapshot.dictionary();
    return std::none_of(resources_.begin(), resources_.end(), [&](const auto& spec) {
      return cycle.pod.Request(dictionary.Resource(spec.name)) != 0;
    });
  }

  State Resolve(const Cycle& cycle) const {
    return {ResolveResources(cycle, resources_, cycle.pod.requests, /*non_zero=*/false)};
  }

  // (1 − standard deviation of the fractions) × 100; sums run in the order of the resources, since
  // the result must be the same to the last bit.
  static std::int64_t Balance(const State& state, Row row, bool with_pod,
                              std::vector<double>& fractions) {
    std::size_t count = 0;
    double total = 0;
    for (const ScoredResource& resource : state.resources) {
      const std::int64_t allocatable = resource.allocatable[row];
      if (allocatable == 0) continue;
      const std::int64_t used = resource.allocated[row] + (with_pod ? resource.request : 0);
      const double fraction =
          std::min(static_cast<double>(used) / static_cast<double>(allocatable), 1.0);
      total += fraction;
      fractions[count++] = fraction;
    }
    double deviation = 0;
    if (count == 2) {
      deviation = std::abs((fractions[0] - fractions[1]) / 2);
    } else if (count > 2) {
      const double mean = total / static_cast<double>(count);
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum = sum + (fractions[i] - mean) * (fractions[i] - mean);
      }
      deviation = std::sqrt(sum / static_cast<double>(count));
    }
    return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(kMaxNodeScore));
  }

  std::vector<BalancedResourceSpec> resources_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_RESOURCES_BALANCED_ALLOCATION_H_
