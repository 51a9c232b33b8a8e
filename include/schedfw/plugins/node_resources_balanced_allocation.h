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
class NodeResourcesBalancedAllocation : public PreScorePlugin,
                                        public BatchScorePlugin,
                                        public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesBalancedAllocation";

  explicit NodeResourcesBalancedAllocation(const NodeResourcesBalancedAllocationArgs& args)
      : columns_(args.resources.empty()
                     ? std::vector<BalancedResourceSpec>{{"cpu", 1}, {"memory", 1}}
                     : args.resources) {}

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    if (IsBestEffort(cycle, columns_)) return Status::Skip();
    Resolve(cycle, columns_, state.Reuse<State>());
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const State* state = cycle.state.Find<State>();
    std::optional<State> own;
    if (state == nullptr) {  // its PreScore is disabled
      ResourceColumns columns = columns_;
      if (IsBestEffort(cycle, columns)) {
        std::fill_n(out, rows.size(), std::int64_t{0});
        return {};
      }
      Resolve(cycle, columns, own.emplace());
      state = &*own;
    }
    if (state->resources.size() == 2 && ScorePairs(*state, rows, out)) return {};
    std::vector<double> fractions(state->resources.size());
    for (Row i = 0; i < rows.size(); ++i) {
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

  static bool IsBestEffort(const Cycle& cycle, ResourceColumns& columns) {
    return !columns.AnyRequested(cycle.plan(), cycle.snapshot.dictionary());
  }
  static void Resolve(const Cycle& cycle, ResourceColumns& columns, State& out) {
    columns.Resolve(cycle.snapshot, cycle.plan().total_requests, /*non_zero=*/false, out.resources);
  }

  // The same as Balance() for two resources, whose deviation is half of their difference. False:
  // amounts are too large for the conversion to double.
  static bool ScorePairs(const State& state, Rows rows, std::int64_t* out) {
    const Row count = rows.size();
    std::int64_t buffers[4][kMaxBlockRows];
    const std::int64_t* has[2];
    const std::int64_t* taken[2];
    std::uint64_t bits = 0;
    for (std::size_t r = 0; r < 2; ++r) {
      const ScoredResource& resource = state.resources[r];
      has[r] = rows.Of(resource.allocatable, buffers[2 * r]);
      taken[r] = rows.Of(resource.allocated, buffers[2 * r + 1]);
      bits |= static_cast<std::uint64_t>(resource.request);
    }
    RunSimd(
        [](const std::int64_t* has_a, const std::int64_t* taken_a, std::int64_t request_a,
           const std::int64_t* has_b, const std::int64_t* taken_b, std::int64_t request_b, Row n,
           std::int64_t* __restrict scores, std::uint64_t* __restrict all_bits) SCHEDFW_SIMD_LOOP {
          std::uint64_t seen = *all_bits;
          for (Row i = 0; i < n; ++i) {
            seen |= static_cast<std::uint64_t>(has_a[i] | taken_a[i] | has_b[i] | taken_b[i]);
            const std::int64_t lacks_a = simd::Mask(has_a[i] == 0);
            const std::int64_t lacks_b = simd::Mask(has_b[i] == 0);
            const double whole_a = simd::ToDouble(has_a[i] - lacks_a);
            const double whole_b = simd::ToDouble(has_b[i] - lacks_b);
            const double with_a = simd::ToDouble(taken_a[i] + request_a) / whole_a;
            const double with_b = simd::ToDouble(taken_b[i] + request_b) / whole_b;
            const double without_a = simd::ToDouble(taken_a[i]) / whole_a;
            const double without_b = simd::ToDouble(taken_b[i]) / whole_b;
            const double with =
                std::abs(((with_a < 1.0 ? with_a : 1.0) - (with_b < 1.0 ? with_b : 1.0)) / 2);
            const double without = std::abs(
                ((without_a < 1.0 ? without_a : 1.0) - (without_b < 1.0 ? without_b : 1.0)) / 2);
            // A node that lacks one has nothing to balance: no deviation.
            const std::int64_t both = ~(lacks_a | lacks_b);
            const std::int64_t gain = static_cast<std::int32_t>((1 - with) * 100.0) -
                                      static_cast<std::int32_t>((1 - without) * 100.0);
            const auto twice = static_cast<std::int32_t>(kMaxNodeScore / 2 + (gain & both));
            scores[i] = kMaxNodeScore / 2 + twice / 2;
          }
          *all_bits = seen;
        },
        has[0], taken[0], state.resources[0].request, has[1], taken[1], state.resources[1].request,
        count, out, &bits);
    return AreDoubleAmounts(bits);
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

  ResourceColumns columns_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_RESOURCES_BALANCED_ALLOCATION_H_
