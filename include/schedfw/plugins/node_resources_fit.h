// NodeResourcesFit: whether a node has room for a pod, and how well it is used.
#ifndef SCHEDFW_PLUGINS_NODE_RESOURCES_FIT_H_
#define SCHEDFW_PLUGINS_NODE_RESOURCES_FIT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/resource_name.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/resource_allocation.h"

namespace schedfw {

enum class ScoringStrategyType : std::uint8_t {
  kLeastAllocated,
  kMostAllocated,
  kRequestedToCapacityRatio
};

namespace api {
template <>
struct EnumNames<ScoringStrategyType> {
  static constexpr std::array<std::pair<std::string_view, ScoringStrategyType>, 3> kNames{{
      {"LeastAllocated", ScoringStrategyType::kLeastAllocated},
      {"MostAllocated", ScoringStrategyType::kMostAllocated},
      {"RequestedToCapacityRatio", ScoringStrategyType::kRequestedToCapacityRatio},
  }};
};
}  // namespace api

struct ResourceSpec {
  std::string name;
  std::int64_t weight = 1;
};
template <typename V>
void Fields(V& v, ResourceSpec& spec) {
  v("name", spec.name, Arg{.help = "A resource"});
  v("weight", spec.weight, Arg{.help = "How much it counts; 0 stands for 1", .min = 0, .max = 100});
}

struct UtilizationShapePoint {
  std::int32_t utilization = 0;
  std::int32_t score = 0;
};
template <typename V>
void Fields(V& v, UtilizationShapePoint& point) {
  v("utilization", point.utilization,
    Arg{.help = "Requested per allocatable, in percent; ascending", .min = 0, .max = 100});
  v("score", point.score, Arg{.help = "The score at that point", .min = 0, .max = 10});
}

/// A shape has at least one point, and utilization ascends (validateFunctionShape).
inline Result<void> ValidateShape(const std::vector<UtilizationShapePoint>& shape,
                                  const std::string& path) {
  if (shape.empty()) return ConfigError(path + ": at least one point must be given");
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i - 1].utilization >= shape[i].utilization) {
      return ConfigError(path + "[" + std::to_string(i) +
                         "].utilization: " + std::to_string(shape[i].utilization) +
                         ": values must be sorted in increasing order");
    }
  }
  return {};
}

struct RequestedToCapacityRatioParam {
  std::vector<UtilizationShapePoint> shape;
};
template <typename V>
void Fields(V& v, RequestedToCapacityRatioParam& param) {
  v("shape", param.shape, Arg{.help = "A broken line from utilization to score"});
}

struct ScoringStrategy {
  std::optional<ScoringStrategyType> type;  ///< must be given
  std::vector<ResourceSpec> resources;
  std::optional<RequestedToCapacityRatioParam> requested_to_capacity_ratio;
};
template <typename V>
void Fields(V& v, ScoringStrategy& strategy) {
  v("type", strategy.type,
    Arg{.help = "Prefer nodes with more room, with less room, or by a shape"});
  v("resources", strategy.resources,
    Arg{.help = "The resources that count; none stands for cpu and memory, weight 1"});
  v("requestedToCapacityRatio", strategy.requested_to_capacity_ratio,
    Arg{.help = "The shape, for type RequestedToCapacityRatio only"});
}

inline ScoringStrategy DefaultScoringStrategy() {
  ScoringStrategy out;
  out.type = ScoringStrategyType::kLeastAllocated;
  return out;
}

struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  std::optional<ScoringStrategy> scoring_strategy = DefaultScoringStrategy();
};
template <typename V>
void Fields(V& v, NodeResourcesFitArgs& args) {
  v("ignoredResources", args.ignored_resources,
    Arg{.help = "Extended resources that Filter ignores", .allowed = "qualified names"});
  v("ignoredResourceGroups", args.ignored_resource_groups,
    Arg{.help = "Groups of extended resources that Filter ignores: example.com ignores "
                "example.com/foo",
        .allowed = "names without '/'"});
  v("scoringStrategy", args.scoring_strategy, Arg{.help = "How nodes are scored"});
}

/// What single fields can't tell (apis/config/validation, ValidateNodeResourcesFitArgs).
inline Result<void> Validate(const NodeResourcesFitArgs& args) {
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i) {
    if (!api::IsQualifiedName(args.ignored_resources[i])) {
      return ConfigError("ignoredResources[" + std::to_string(i) + "]: \"" +
                         args.ignored_resources[i] + "\" is not a qualified name");
    }
  }
  for (std::size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    if (group.find('/') != std::string::npos || !api::IsQualifiedName(group)) {
      return ConfigError("ignoredResourceGroups[" + std::to_string(i) + "]: \"" + group +
                         "\" is not the name of a group (allowed: no '/')");
    }
  }
  if (!args.scoring_strategy) return {};
  const ScoringStrategy& strategy = *args.scoring_strategy;
  if (!strategy.type) {
    return ConfigError("scoringStrategy.type: must be given (allowed: " +
                       internal::Spellings<ScoringStrategyType>() + ")");
  }
  const bool ratio = strategy.type == ScoringStrategyType::kRequestedToCapacityRatio;
  const std::string path = "scoringStrategy.requestedToCapacityRatio";
  if (!ratio) {
    if (!strategy.requested_to_capacity_ratio) return {};
    return ConfigError(path + ": must be absent when type is not RequestedToCapacityRatio");
  }
  if (!strategy.requested_to_capacity_ratio) {
    return ConfigError(path + ": must be given when type is RequestedToCapacityRatio");
  }
  return ValidateShape(strategy.requested_to_capacity_ratio->shape, path + ".shape");
}

/// Filters nodes without room and scores by use (plugins/noderesources/fit.go).
///
/// Filter compares, for every resource the pod asks for, allocatable − requested; a node is
/// unresolvable when the pod would not fit into it even if it were empty.
class NodeResourcesFit : public BatchFilterPlugin,
                         public PreFilterPlugin,
                         public PreScorePlugin,
                         public BatchScorePlugin,
                         public EnqueueExtensions,
                         public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesFit";

  explicit NodeResourcesFit(const NodeResourcesFitArgs& args)
      : ignored_(args.ignored_resources),
        ignored_groups_(args.ignored_resource_groups),
        strategy_(Completed(args.scoring_strategy.value_or(DefaultScoringStrategy()))),
        columns_(strategy_.resources) {
    if (strategy_.requested_to_capacity_ratio) {
      for (const UtilizationShapePoint& point : strategy_.requested_to_capacity_ratio->shape) {
        // Shape scores go to 10, node scores to 100.
        shape_.push_back({point.utilization, std::int64_t{point.score} * 10});
      }
    }
  }

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    FilterState& out = state.Reuse<FilterState>();
    out.needs.clear();
    const Dictionary& dictionary = cycle.snapshot.dictionary();
    const auto& requests = cycle.plan().requests;
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      const ResourceId id = requests[i].resource;
      if (id > kPods && IsIgnored(dictionary.ResourceName(id))) continue;
      out.needs.push_back({id, kFirstResourceBit + i, requests[i].amount});
    }
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) {
      std::fill_n(codes, rows.size(), kFilterFault);
      return;
    }
    const Row count = rows.size();
    std::int64_t allocatable[kMaxBlockRows], requested[kMaxBlockRows];
    std::int32_t pods[kMaxBlockRows];
    RunSimd(
        [](const std::int64_t* allowed, const std::int32_t* have, Row n,
           std::uint32_t* __restrict out) SCHEDFW_SIMD_LOOP {
          for (Row i = 0; i < n; ++i) {
            out[i] = static_cast<std::uint32_t>(simd::Mask(have[i] >= allowed[i])) & kTooManyPods;
          }
        },
        rows.Of(cycle.snapshot.Allocatable(kPods), allocatable),
        rows.Of(cycle.snapshot.PodCount(), pods), count, codes);
    for (const Need& need : state->needs) {
      RunSimd(
          [](const std::int64_t* has, const std::int64_t* taken, std::int64_t amount,
             std::uint32_t bit, Row n, std::uint32_t* __restrict out) SCHEDFW_SIMD_LOOP {
            for (Row i = 0; i < n; ++i) {
              // A node that is never large enough has no room either.
              const std::int64_t lacks = simd::Mask(amount > has[i] - taken[i]);
              const std::int64_t never = simd::Mask(amount > has[i]);
              out[i] |= (static_cast<std::uint32_t>(lacks) & bit) |
                        (static_cast<std::uint32_t>(never) & (bit | kUnresolvable));
            }
          },
          rows.Of(cycle.snapshot.Allocatable(need.resource), allocatable),
          rows.Of(cycle.snapshot.Requested(need.resource), requested), need.amount,
          std::uint32_t{1} << need.bit, count, codes);
    }
  }

  Status Explain(const Cycle& cycle, std::uint32_t code) const override {
    if (code == kFilterFault) {
      return Status::Error(
          "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found");
    }
    std::vector<std::string> reasons;
    if ((code & kTooManyPods) != 0) reasons.emplace_back("Too many pods");
    const auto& requests = cycle.plan().requests;
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      if ((code >> (kFirstResourceBit + i) & 1) != 0) {
        reasons.push_back("Insufficient " + std::string(cycle.snapshot.dictionary().ResourceName(
                                                requests[i].resource)));
      }
    }
    return Status(
        (code & kUnresolvable) != 0 ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable,
        std::move(reasons));
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    Resolve(cycle, columns_, state.Reuse<ScoreState>());
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    std::optional<ScoreState> own;
    if (state == nullptr) {  // its PreScore is disabled
      ResourceColumns columns = columns_;
      Resolve(cycle, columns, own.emplace());
      state = &*own;
    }
    switch (*strategy_.type) {
      case ScoringStrategyType::kLeastAllocated:
        WeightedMean<false>(*state, rows, out);
        break;
      case ScoringStrategyType::kMostAllocated:
        WeightedMean<true>(*state, rows, out);
        break;
      case ScoringStrategyType::kRequestedToCapacityRatio:
        ScoreByShape(*state, rows, out);
        break;
    }
    return {};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kDelete}, {}},
            {{EventResource::kNode, kAdd | kUpdateNodeAllocatable},
             [](const PodInfo& pod, const ObjectChange& change) {
               return change.new_node != nullptr &&
                              NodeMayHelp(*pod.plan, change.old_node, *change.new_node)
                          ? QueueingHint::kQueue
                          : QueueingHint::kSkip;
             }},
            {{EventResource::kAssignedPod, kUpdatePodScaleDown},
             [](const PodInfo& pod, const ObjectChange& change) {
               return change.old_pod != nullptr && change.new_pod != nullptr &&
                              Decreased(*pod.plan, *change.old_pod->plan, *change.new_pod->plan)
                          ? QueueingHint::kQueue
                          : QueueingHint::kSkip;
             }},
            {{EventResource::kTargetPod, kUpdatePodScaleDown}, {}}};
  }

 private:
  // Codes of Filter: a bit a reason.
  static constexpr std::uint32_t kTooManyPods = 1u << 0;
  static constexpr std::uint32_t kUnresolvable = 1u << 1;
  static constexpr std::uint32_t kFirstResourceBit = 2;
  static_assert(kFirstResourceBit + kMaxRequestedResources <= 32);

  struct Need {
    ResourceId resource;
    std::uint32_t bit;
    std::int64_t amount;
  };
  struct FilterState {
    std::vector<Need> needs;
  };
  struct ScoreState {
    std::vector<ScoredResource> resources;
  };
  struct ShapePoint {
    std::int64_t utilization;
    std::int64_t score;
  };

  bool IsIgnored(std::string_view name) const {
    if (ignored_.empty() && ignored_groups_.empty()) return false;
    if (!api::IsExtendedResource(name)) return false;
    const std::string_view group = name.substr(0, name.find('/'));
    return std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end() ||
           std::find(ignored_groups_.begin(), ignored_groups_.end(), group) !=
               ignored_groups_.end();
  }

  static ScoringStrategy Completed(ScoringStrategy strategy) {
    if (strategy.resources.empty()) strategy.resources = {{"cpu", 1}, {"memory", 1}};
    for (ResourceSpec& spec : strategy.resources) {
      spec.weight = std::max<std::int64_t>(spec.weight, 1);
    }
    return strategy;
  }

  static void Resolve(const Cycle& cycle, ResourceColumns& columns, ScoreState& out) {
    columns.Resolve(cycle.snapshot, cycle.plan().scored_requests, /*non_zero=*/true, out.resources);
  }

  // The mean of the free (kMost: the used) percentages; resources that a node doesn't have don't
  // count.
  template <bool kMost>
  static void WeightedMean(const ScoreState& state, Rows rows, std::int64_t* out) {
    const Row count = rows.size();
    std::int64_t capacities[kMaxBlockRows], used[kMaxBlockRows];
    std::int32_t sums[kMaxBlockRows], weights[kMaxBlockRows];
    std::fill_n(sums, count, 0);
    std::fill_n(weights, count, 0);
    std::int64_t all_weights = 0;
    for (const ScoredResource& resource : state.resources) {
      const std::int64_t* has = rows.Of(resource.allocatable, capacities);
      const std::int64_t* taken = rows.Of(resource.allocated, used);
      all_weights += resource.weight;
      std::uint64_t bits = static_cast<std::uint64_t>(resource.request);
      RunSimd(
          [](const std::int64_t* c, const std::int64_t* u, std::int64_t request,
             std::int32_t weight, Row n, std::int32_t* __restrict sum,
             std::int32_t* __restrict weight_sum, std::uint64_t* __restrict all_bits)
              SCHEDFW_SIMD_LOOP {
                std::uint64_t seen = *all_bits;
                for (Row i = 0; i < n; ++i) {
                  seen |= static_cast<std::uint64_t>(c[i] | u[i]);
                  const std::int64_t free = c[i] - u[i] - request;
                  const std::int64_t left = simd::Mask(free > 0) & free;
                  const std::int64_t part = kMost ? c[i] - left : left;
                  const std::int64_t lacks = simd::Mask(c[i] == 0);
                  const double percent = simd::ToDouble(part) * 100 / simd::ToDouble(c[i] - lacks);
                  sum[i] += static_cast<std::int32_t>(percent) * weight;
                  weight_sum[i] += static_cast<std::int32_t>(~lacks) & weight;
                }
                *all_bits = seen;
              },
          has, taken, resource.request, static_cast<std::int32_t>(resource.weight), count, sums,
          weights, &bits);
      if (all_weights > kMaxFloatWeights || !AreDoubleAmounts(bits)) {
        return ExactWeightedMean<kMost>(state, rows, out);
      }
    }
    RunSimd(
        [](const std::int32_t* sum, const std::int32_t* weight, Row n,
           std::int64_t* __restrict mean) SCHEDFW_SIMD_LOOP {
          for (Row i = 0; i < n; ++i) {
            const std::int32_t lacks = -static_cast<std::int32_t>(weight[i] == 0);
            mean[i] = static_cast<std::int32_t>(static_cast<float>(sum[i]) /
                                                static_cast<float>(weight[i] - lacks));
          }
        },
        sums, weights, count, out);
  }

  // Floats divide sums up to 100 times this by weights up to this as integers are divided: see
  // kMaxDoubleAmount.
  static constexpr std::int64_t kMaxFloatWeights = 1 << 16;

  template <bool kMost>
  static void ExactWeightedMean(const ScoreState& state, Rows rows, std::int64_t* out) {
    for (Row i = 0; i < rows.size(); ++i) {
      const Row row = rows[i];
      std::int64_t sum = 0, weights = 0;
      for (const ScoredResource& resource : state.resources) {
        const std::int64_t capacity = resource.allocatable[row];
        if (capacity == 0) continue;
        const std::int64_t requested = resource.allocated[row] + resource.request;
        const std::int64_t score = kMost ? Percent(std::min(requested, capacity), capacity)
                                   : requested > capacity ? 0
                                                          : Percent(capacity - requested, capacity);
        sum += score * resource.weight;
        weights += resource.weight;
      }
      out[i] = weights == 0 ? 0 : sum / weights;
    }
  }

  // helper/shape_score.go, BuildBrokenLinearFunction.
  std::int64_t ShapeScore(std::int64_t utilization) const {
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      if (utilization > shape_[i].utilization) continue;
      if (i == 0) return shape_[0].score;
      const ShapePoint& a = shape_[i - 1];
      const ShapePoint& b = shape_[i];
      return a.score +
             (b.score - a.score) * (utilization - a.utilization) / (b.utilization - a.utilization);
    }
    return shape_.back().score;
  }

  // A resource that scores 0 doesn't count at all, and the mean is rounded half up
  // (noderesources/requested_to_capacity_ratio.go).
  void ScoreByShape(const ScoreState& state, Rows rows, std::int64_t* out) const {
    for (Row i = 0; i < rows.size(); ++i) {
      const Row row = rows[i];
      std::int64_t sum = 0, weights = 0;
      for (const ScoredResource& resource : state.resources) {
        const std::int64_t capacity = resource.allocatable[row];
        if (capacity == 0) continue;
        const std::int64_t requested = resource.allocated[row] + resource.request;
        const std::int64_t score =
            ShapeScore(requested > capacity ? kMaxNodeScore : Percent(requested, capacity));
        if (score <= 0) continue;
        sum += score * resource.weight;
        weights += resource.weight;
      }
      out[i] = weights == 0 ? 0
                            : static_cast<std::int64_t>(std::round(static_cast<double>(sum) /
                                                                   static_cast<double>(weights)));
    }
  }

  static std::int64_t AllocatableOf(const api::Node& node, std::string_view name, bool cpu) {
    const auto& list = node.status.allocatable ? *node.status.allocatable : node.status.capacity;
    const Quantity* quantity = api::Find(list, name);
    if (quantity == nullptr) return 0;
    return (cpu ? quantity->MilliValue() : quantity->Value()).value_or(0);
  }

  // Upstream's isFit on the empty node and haveAnyRequestedResourcesIncreased. Resources that
  // Filter ignores count here.
  static bool NodeMayHelp(const PodPlan& pod, const api::Node* old_node, const api::Node& node) {
    const auto pods = [](const api::Node& n) { return AllocatableOf(n, "pods", false); };
    if (pods(node) < 1) return false;
    bool increased = old_node == nullptr || pods(node) > pods(*old_node);
    for (const ResourceAmount& request : pod.requests) {
      const std::string_view name = pod.dictionary->ResourceName(request.resource);
      const bool cpu = request.resource == kCpu;
      const std::int64_t now = AllocatableOf(node, name, cpu);
      if (request.amount > now) return false;
      increased = increased || now > AllocatableOf(*old_node, name, cpu);
    }
    return increased;
  }

  // haveEnoughRelevantResourcesDecreased.
  static bool Decreased(const PodPlan& pod, const PodPlan& before, const PodPlan& after) {
    return std::any_of(pod.taken.begin(), pod.taken.end(), [&](const ResourceAmount& request) {
      return before.Request(request.resource) > after.Request(request.resource);
    });
  }

  std::vector<std::string> ignored_;
  std::vector<std::string> ignored_groups_;
  ScoringStrategy strategy_;
  ResourceColumns columns_;
  std::vector<ShapePoint> shape_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_RESOURCES_FIT_H_
