// NodeResourceTopologyMatch: whether a pod's containers fit into single NUMA zones, and how well
// (scheduler-plugins, pkg/noderesourcetopology).
#ifndef SCHEDFW_PLUGINS_NODE_RESOURCE_TOPOLOGY_MATCH_H_
#define SCHEDFW_PLUGINS_NODE_RESOURCE_TOPOLOGY_MATCH_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/cluster/numa_demand.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/resource_allocation.h"

namespace schedfw {

enum class NumaScoring : std::uint8_t {
  kLeastAllocated,
  kMostAllocated,
  kBalancedAllocation,
  kLeastNumaNodes
};
enum class ForeignPodsDetect : std::uint8_t { kAll, kNone, kOnlyExclusiveResources };
enum class CacheResyncMethod : std::uint8_t { kAutodetect, kAll, kOnlyExclusiveResources };
enum class CacheInformerMode : std::uint8_t { kDedicated, kShared };
enum class CacheResyncScope : std::uint8_t { kAll, kOnlyResources };
enum class NumaPreemptionMode : std::uint8_t { kDisabled, kEnabled };

namespace api {

template <>
struct EnumNames<NumaScoring> {
  static constexpr std::array<std::pair<std::string_view, NumaScoring>, 4> kNames{{
      {"LeastAllocated", NumaScoring::kLeastAllocated},
      {"MostAllocated", NumaScoring::kMostAllocated},
      {"BalancedAllocation", NumaScoring::kBalancedAllocation},
      {"LeastNUMANodes", NumaScoring::kLeastNumaNodes},
  }};
};
template <>
struct EnumNames<ForeignPodsDetect> {
  static constexpr std::array<std::pair<std::string_view, ForeignPodsDetect>, 3> kNames{{
      {"All", ForeignPodsDetect::kAll},
      {"None", ForeignPodsDetect::kNone},
      {"OnlyExclusiveResources", ForeignPodsDetect::kOnlyExclusiveResources},
  }};
};
template <>
struct EnumNames<CacheResyncMethod> {
  static constexpr std::array<std::pair<std::string_view, CacheResyncMethod>, 3> kNames{{
      {"Autodetect", CacheResyncMethod::kAutodetect},
      {"All", CacheResyncMethod::kAll},
      {"OnlyExclusiveResources", CacheResyncMethod::kOnlyExclusiveResources},
  }};
};
template <>
struct EnumNames<CacheInformerMode> {
  static constexpr std::array<std::pair<std::string_view, CacheInformerMode>, 2> kNames{{
      {"Dedicated", CacheInformerMode::kDedicated},
      {"Shared", CacheInformerMode::kShared},
  }};
};
template <>
struct EnumNames<CacheResyncScope> {
  static constexpr std::array<std::pair<std::string_view, CacheResyncScope>, 2> kNames{{
      {"All", CacheResyncScope::kAll},
      {"OnlyResources", CacheResyncScope::kOnlyResources},
  }};
};
template <>
struct EnumNames<NumaPreemptionMode> {
  static constexpr std::array<std::pair<std::string_view, NumaPreemptionMode>, 2> kNames{{
      {"Disabled", NumaPreemptionMode::kDisabled},
      {"Enabled", NumaPreemptionMode::kEnabled},
  }};
};

}  // namespace api

struct NumaResourceSpec {
  std::string name;
  std::int64_t weight = 1;
};
template <typename V>
void Fields(V& v, NumaResourceSpec& spec) {
  v("name", spec.name, Arg{.help = "A resource"});
  v("weight", spec.weight, Arg{.help = "How much it counts; 0 or less stands for 1"});
}

struct NumaScoringStrategy {
  std::optional<NumaScoring> type;  ///< must be given
  std::vector<NumaResourceSpec> resources;
};
template <typename V>
void Fields(V& v, NumaScoringStrategy& strategy) {
  v("type", strategy.type,
    Arg{.help = "Prefer nodes whose zones have more room, have less room, are used evenly, or of "
                "which the pod needs few"});
  v("resources", strategy.resources,
    Arg{.help = "Weights of resources; all that the pod asks for count, those without a weight "
                "with 1"});
}
inline NumaScoringStrategy DefaultNumaScoringStrategy() {
  NumaScoringStrategy out;
  out.type = NumaScoring::kLeastAllocated;
  return out;
}

struct NumaCacheArgs {
  ForeignPodsDetect foreign_pods_detect = ForeignPodsDetect::kAll;
  CacheResyncMethod resync_method = CacheResyncMethod::kAutodetect;
  CacheInformerMode informer_mode = CacheInformerMode::kDedicated;
  CacheResyncScope resync_scope = CacheResyncScope::kAll;
};
template <typename V>
void Fields(V& v, NumaCacheArgs& args) {
  v("foreignPodsDetect", args.foreign_pods_detect, Arg{.help = "Without effect"});
  v("resyncMethod", args.resync_method, Arg{.help = "Without effect"});
  v("informerMode", args.informer_mode, Arg{.help = "Without effect"});
  v("resyncScope", args.resync_scope, Arg{.help = "Without effect"});
}

struct NodeResourceTopologyMatchArgs {
  std::optional<NumaScoringStrategy> scoring_strategy = DefaultNumaScoringStrategy();
  std::int64_t cache_resync_period_seconds = 0;
  bool discard_reserved_nodes = false;
  std::optional<NumaCacheArgs> cache;
  NumaPreemptionMode preemption_mode = NumaPreemptionMode::kDisabled;
  bool filter_restricted = false;
};
template <typename V>
void Fields(V& v, NodeResourceTopologyMatchArgs& args) {
  v("scoringStrategy", args.scoring_strategy, Arg{.help = "How zones are scored"});
  v("cacheResyncPeriodSeconds", args.cache_resync_period_seconds,
    Arg{.help = "Without effect: the cluster knows what pods take of zones"});
  v("discardReservedNodes", args.discard_reserved_nodes, Arg{.help = "Without effect"});
  v("cache", args.cache, Arg{.help = "Without effect"});
  v("preemptionMode", args.preemption_mode,
    Arg{.help = "Without effect: pods that were placed here leave their zones when they are "
                "evicted, of others it isn't known which they have"});
  v("filterRestricted", args.filter_restricted,
    Arg{.help = "Also reject nodes with policy restricted whose kubelet would refuse the pod; "
                "scheduler-plugins doesn't"});
}
/// ValidateNodeResourceTopologyMatchArgs.
inline Result<void> Validate(const NodeResourceTopologyMatchArgs& args) {
  if (!args.scoring_strategy || args.scoring_strategy->type) return {};
  return ConfigError(
      "scoringStrategy.type: must be given (allowed: " + internal::Spellings<NumaScoring>() + ")");
}

/// Rejects nodes with policy single-numa-node where no NUMA zone has what a container (or the pod,
/// by the node's scope) needs, and scores nodes by what their zones would have left. Nodes that no
/// NodeResourceTopology is about pass, and score 0. What differs from upstream is in
/// docs/differences.md. For nodes whose zones are equal the answer is found once.
class NodeResourceTopologyMatch : public PreFilterPlugin,
                                  public BatchFilterPlugin,
                                  public PreScorePlugin,
                                  public BatchScorePlugin,
                                  public EnqueueExtensions,
                                  public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeResourceTopologyMatch";

  explicit NodeResourceTopologyMatch(const NodeResourceTopologyMatchArgs& args)
      : strategy_(args.scoring_strategy.value_or(DefaultNumaScoringStrategy())),
        filter_restricted_(args.filter_restricted) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    // Also without any zones: whether it skips depends on the pod alone.
    const State& made = Make(cycle, state.Reuse<State>());
    return IsExempt(made.demand) ? Status::Skip() : Status();
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    if (!cycle.snapshot.HasNuma()) return;
    std::optional<State> own;
    const State& state = Get(cycle, own);
    if (IsExempt(state.demand)) return;
    const NodeAmounts amounts(cycle.snapshot, state.demand);
    Memo<std::uint32_t> memo;
    for (Row i = 0; i < rows.size(); ++i) {
      const NumaZones* zones = cycle.snapshot.Numa(rows[i]);
      if (zones == nullptr) continue;
      const NumaPolicy policy = zones->layout->policy;
      if (policy == NumaPolicy::kSingleNumaNode) {
        const std::vector<ResourceId> missing = amounts.Missing(rows[i]);
        codes[i] = missing.empty()
                       ? memo.Get(zones, [&] { return Judge(*zones, state.demand, missing); })
                       : Judge(*zones, state.demand, missing);
      } else if (policy == NumaPolicy::kRestricted && filter_restricted_) {
        codes[i] = memo.Get(
            zones, [&] { return Admit(*zones, state.demand, cycle.snapshot.dictionary()); });
      }
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    switch (code) {
      case kPod:
        return Status::Unschedulable("cannot align pod");
      case kInitContainer:
        return Status::Unschedulable("cannot align init container");
      case kSidecarContainer:
        return Status::Unschedulable("cannot align sidecar container");
      default:
        return Status::Unschedulable("cannot align container");
    }
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    if (state.Find<State>() == nullptr) Make(cycle, state.Reuse<State>());
    return {};
  }
  std::optional<std::int64_t> UniformScore(const Cycle& cycle) const override {
    const State* state = cycle.state.Find<State>();
    if (state == nullptr) return std::nullopt;
    if (!state->demand.binds_cpu) return kMaxNodeScore;
    if (!cycle.snapshot.HasNuma()) return kMinNodeScore;
    return std::nullopt;
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    std::optional<State> own;
    const State& state = Get(cycle, own);
    Memo<std::int64_t> memo;
    for (Row i = 0; i < rows.size(); ++i) {
      const NumaZones* zones = cycle.snapshot.Numa(rows[i]);
      if (!state.demand.binds_cpu) {  // each node is a good fit
        out[i] = kMaxNodeScore;
      } else if (zones == nullptr) {
        out[i] = kMinNodeScore;
      } else {
        out[i] = memo.Get(zones, [&] { return ScoreOf(*zones, state); });
      }
    }
    return {};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kDelete}, {}},
            {{EventResource::kNode, kAdd | kUpdateNodeAllocatable}, {}},
            {{EventResource::kNodeResourceTopology, kAdd | kUpdate}, {}}};
  }

 private:
  enum : std::uint32_t { kPod = 1, kInitContainer, kSidecarContainer, kAppContainer };
  static constexpr std::size_t kNoZone = ~std::size_t{0};

  struct State {
    NumaDemand demand;
    std::vector<std::pair<ResourceId, std::int64_t>> weights;

    std::int64_t Weight(ResourceId resource) const {
      for (const auto& [id, weight] : weights) {
        if (id == resource) return weight;
      }
      return 1;
    }
  };

  // The answers for the zones that a block of nodes has: a small table, in which the last one stays
  // of those that meet.
  template <typename T>
  class Memo {
   public:
    template <typename F>
    T Get(const NumaZones* zones, F&& make) {
      const auto bits = reinterpret_cast<std::uintptr_t>(zones);  // NOLINT
      Entry& entry = entries_[(bits * 0x9E3779B97F4A7C15u) >> (64 - kBits)];
      if (entry.zones != zones) entry = {zones, make()};
      return entry.value;
    }

   private:
    static constexpr int kBits = 6;
    struct Entry {
      const NumaZones* zones = nullptr;
      T value{};
    };
    std::array<Entry, std::size_t{1} << kBits> entries_;
  };

  // Which resources of a pod a node has at all: whatever zones say, upstream wants each of them
  // among the node's allocatable ones.
  class NodeAmounts {
   public:
    NodeAmounts(const Snapshot& snapshot, const NumaDemand& demand) : snapshot_(snapshot) {
      const Dictionary& dictionary = snapshot.dictionary();
      for (const NumaRequest& request : demand.pod_with_overhead) {
        if (request.amount == 0) continue;
        const bool counted = dictionary.IsCounted(request.resource);
        columns_.push_back(
            {request.resource, counted ? snapshot.Allocatable(request.resource) : nullptr});
      }
    }
    std::vector<ResourceId> Missing(Row row) const {
      std::vector<ResourceId> out;
      for (const Column& column : columns_) {
        const bool has = column.amounts != nullptr ? column.amounts[row] != 0 : Has(row, column.id);
        if (!has) out.push_back(column.id);
      }
      return out;
    }

   private:
    struct Column {
      ResourceId id;
      const std::int64_t* amounts;  // null: no column counts it
    };
    bool Has(Row row, ResourceId resource) const {
      const auto& allocatable = snapshot_.node(row).status.allocatable;
      const std::string name(snapshot_.dictionary().ResourceName(resource));
      return allocatable && allocatable->contains(name) && !allocatable->at(name).IsZero();
    }

    const Snapshot& snapshot_;
    std::vector<Column> columns_;
  };

  const State& Make(const Cycle& cycle, State& out) const {
    Dictionary& dictionary = cycle.snapshot.dictionary();
    out.demand = NumaDemandOf(*cycle.plan().pattern, dictionary);
    out.weights.clear();
    for (const NumaResourceSpec& spec : strategy_.resources) {  // of several, the last one counts
      out.weights.insert(out.weights.begin(),
                         {dictionary.Resource(spec.name), std::max<std::int64_t>(spec.weight, 1)});
    }
    return out;
  }
  // `own`: where it is made if no PreFilter or PreScore has.
  const State& Get(const Cycle& cycle, std::optional<State>& own) const {
    const State* state = cycle.state.Find<State>();
    return state != nullptr ? *state : Make(cycle, own.emplace());
  }

  // --- filter.go

  static bool IsExempt(const NumaDemand& demand) {
    return demand.qos == api::PodQos::kBestEffort && !demand.devices;
  }
  static std::uint32_t CodeOf(ContainerKind kind) {
    switch (kind) {
      case ContainerKind::kInit:
        return kInitContainer;
      case ContainerKind::kSidecar:
        return kSidecarContainer;
      default:
        return kAppContainer;
    }
  }

  // The zone with the lowest id that has all that is asked for, kNoZone when no zone needs to have
  // anything, or nullopt (resourcesAvailableInAnyNUMANodes).
  static std::optional<std::size_t> ChooseZone(const NumaLayout& layout,
                                               const std::vector<std::int64_t>& available,
                                               const NumaRequests& requests,
                                               const std::vector<ResourceId>& missing) {
    std::uint64_t fits = ~std::uint64_t{0};
    bool any = false;
    for (const NumaRequest& request : requests) {
      if (request.amount == 0) continue;
      if (std::find(missing.begin(), missing.end(), request.resource) != missing.end()) {
        return std::nullopt;
      }
      const auto column = layout.Find(request.resource);
      if (!column) {
        if (request.host_level) continue;
        return std::nullopt;
      }
      any = true;
      std::uint64_t own = 0;
      for (std::size_t zone = 0; zone < layout.zones(); ++zone) {
        const std::int64_t amount = available[layout.At(zone, *column)];
        if (amount != NumaLayout::kNone && amount >= request.bound) own |= std::uint64_t{1} << zone;
      }
      fits &= own;
      if (fits == 0) return std::nullopt;
    }
    if (!any) return kNoZone;
    return *std::find_if(layout.by_id.begin(), layout.by_id.end(),
                         [&](std::uint32_t zone) { return (fits >> zone & 1) != 0; });
  }

  // singleNUMAPodLevelHandler and singleNUMAContainerLevelHandler: containers one after another,
  // each in the first zone that has room; sidecars keep theirs, which upstream forgets.
  static std::uint32_t Judge(const NumaZones& zones, const NumaDemand& demand,
                             const std::vector<ResourceId>& missing) {
    const NumaLayout& layout = *zones.layout;
    if (layout.scope == NumaScope::kPod) {
      const auto zone = ChooseZone(layout, zones.available, demand.pod_with_overhead, missing);
      return zone ? 0u : std::uint32_t{kPod};
    }
    std::vector<std::int64_t> available = zones.available;
    for (const NumaContainer& container : demand.containers) {
      const auto zone = ChooseZone(layout, available, container.requests, missing);
      if (!zone) return CodeOf(container.kind);
      if (*zone == kNoZone || container.kind == ContainerKind::kInit) continue;
      for (const NumaRequest& request : container.requests) {
        const auto column = layout.Find(request.resource);
        if (!column) continue;
        std::int64_t& left = available[layout.At(*zone, *column)];
        if (left != NumaLayout::kNone) left -= request.bound;
      }
    }
    return 0;
  }

  static std::uint32_t Admit(const NumaZones& zones, const NumaDemand& demand,
                             const Dictionary& dictionary) {
    const NumaPlacement placement = PlaceInZones(zones, demand, dictionary);
    if (placement.admitted) return 0;
    return zones.layout->scope == NumaScope::kPod ? std::uint32_t{kPod} : CodeOf(placement.refused);
  }

  // --- score.go

  std::int64_t ScoreOf(const NumaZones& zones, const State& state) const {
    const NumaLayout& layout = *zones.layout;
    const NumaDemand& demand = state.demand;
    const bool whole_pod = layout.scope == NumaScope::kPod;
    if (strategy_.type == NumaScoring::kLeastNumaNodes) {
      return whole_pod ? PodNodes(zones, demand) : ContainerNodes(zones, demand);
    }
    if (layout.policy != NumaPolicy::kSingleNumaNode) return kMinNodeScore;
    if (whole_pod) return LeastOfZones(zones, demand.pod_with_overhead, state);
    std::int64_t sum = 0;
    for (const NumaContainer& container : demand.containers) {
      sum += LeastOfZones(zones, container.requests, state);
    }
    return sum / static_cast<std::int64_t>(demand.containers.size());
  }

  // The lowest score of a zone above 0; those with 0 aren't candidates (scoreForEachNUMANode).
  std::int64_t LeastOfZones(const NumaZones& zones, const NumaRequests& requests,
                            const State& state) const {
    std::int64_t least = 0;
    for (std::size_t zone = 0; zone < zones.layout->zones(); ++zone) {
      const std::int64_t score = strategy_.type == NumaScoring::kBalancedAllocation
                                     ? Balance(zones, zone, requests)
                                     : Share(zones, zone, requests, state);
      if (least == 0 || (score != 0 && score < least)) least = score;
    }
    return least;
  }

  static std::int64_t AvailableIn(const NumaZones& zones, std::size_t zone, ResourceId resource) {
    const auto column = zones.layout->Find(resource);
    if (!column) return 0;
    return std::max<std::int64_t>(zones.Available(zone, *column), 0);
  }
  // Scores are made of whole cores, rounded up (Quantity.Value).
  static std::int64_t Units(ResourceId resource, std::int64_t amount) {
    return resource == kCpu ? amount / 1000 + (amount % 1000 != 0 ? 1 : 0) : amount;
  }

  // least_allocated.go and most_allocated.go.
  std::int64_t Share(const NumaZones& zones, std::size_t zone, const NumaRequests& requests,
                     const State& state) const {
    __extension__ using Wide = __int128;
    Wide sum = 0, weights = 0;
    for (const NumaRequest& request : requests) {
      const std::int64_t weight = state.Weight(request.resource);
      weights += weight;
      const std::int64_t available = AvailableIn(zones, zone, request.resource);
      if (available == 0 || request.amount > available) continue;
      const std::int64_t whole = Units(request.resource, available);
      const std::int64_t part = Units(request.resource, request.amount);
      const bool most = strategy_.type == NumaScoring::kMostAllocated;
      sum += Wide{Percent(most ? part : whole - part, whole)} * weight;
    }
    return weights == 0 ? 0 : static_cast<std::int64_t>(sum / weights);
  }

  // balanced_allocation.go, with the sample variance as gonum computes it, in the order of the
  // requests. (Whoever is scored asks for cpu and memory at least.)
  static std::int64_t Balance(const NumaZones& zones, std::size_t zone,
                              const NumaRequests& requests) {
    std::vector<double> fractions;
    double sum = 0;
    for (const NumaRequest& request : requests) {
      const std::int64_t whole =
          Units(request.resource, AvailableIn(zones, zone, request.resource));
      const std::int64_t part = Units(request.resource, request.amount);
      const double fraction =
          whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
      if (fraction > 1) return 0;
      fractions.push_back(fraction);
      sum += fraction;
    }
    if (fractions.size() < 2) return kMaxNodeScore;
    const auto count = static_cast<double>(fractions.size());
    const double mean = sum / count;
    double squares = 0, compensation = 0;
    for (const double fraction : fractions) {
      const double distance = fraction - mean;
      squares += distance * distance;
      compensation += distance;
    }
    const double variance = (squares - compensation * compensation / count) / (count - 1);
    return static_cast<std::int64_t>((1 - variance) * static_cast<double>(kMaxNodeScore));
  }

  // --- least_numa.go

  struct ZoneSet {
    std::uint64_t zones = 0;  // by their place
    bool is_closest = false;  // no other set of as many zones has a shorter distance
  };

  static bool IsListed(const NumaLayout& layout, const NumaRequests& requests) {
    return std::any_of(requests.begin(), requests.end(), [&](const NumaRequest& request) {
      return layout.Find(request.resource).has_value();
    });
  }

  static std::int64_t PodNodes(const NumaZones& zones, const NumaDemand& demand) {
    const NumaLayout& layout = *zones.layout;
    if (!IsListed(layout, demand.pod_with_overhead)) return kMaxNodeScore;
    const auto set = FewestZones(layout, zones.available, demand.pod_with_overhead);
    if (!set) return kMinNodeScore;
    return ScoreOfCount(layout, std::popcount(set->zones), set->is_closest);
  }

  static std::int64_t ContainerNodes(const NumaZones& zones, const NumaDemand& demand) {
    const NumaLayout& layout = *zones.layout;
    std::vector<std::int64_t> available = zones.available;
    int most = 0;
    bool closest = true;
    for (const NumaContainer& container : demand.containers) {
      if (!IsListed(layout, container.requests)) continue;
      const auto set = FewestZones(layout, available, container.requests);
      if (!set) return kMinNodeScore;
      closest = closest && set->is_closest;
      most = std::max(most, std::popcount(set->zones));
      for (const NumaRequest& request : container.requests) {
        const auto column = layout.Find(request.resource);
        if (!column) continue;
        std::int64_t left = request.amount;
        for (const std::uint32_t zone : layout.by_id) {
          std::int64_t& own = available[layout.At(zone, *column)];
          if ((set->zones >> zone & 1) == 0 || own == NumaLayout::kNone) continue;
          const std::int64_t taken = std::min(own, left);
          own -= taken;
          left -= taken;
        }
      }
    }
    return most == 0 ? kMaxNodeScore : ScoreOfCount(layout, most, closest);
  }

  // normalizeScore; more zones than the kubelet is set to handle would fall below 0.
  static std::int64_t ScoreOfCount(const NumaLayout& layout, int count, bool closest) {
    const std::int64_t step = kMaxNodeScore / layout.max_zones;
    const std::int64_t score = kMaxNodeScore - count * step + (closest ? step / 2 : 0);
    return std::max(score, kMinNodeScore);
  }

  static float Distance(const NumaLayout& layout, const std::vector<std::size_t>& set) {
    std::int64_t sum = 0;
    for (const std::size_t from : set) {
      for (const std::size_t to : set) sum += layout.costs[from * layout.zones() + to];
    }
    return static_cast<float>(sum) / static_cast<float>(set.size() * set.size());
  }

  // Calls `fn` with each set of so many zones, in lexicographic order, until it says false.
  template <typename F>
  static void ForEachSet(std::size_t zones, std::size_t size, F&& fn) {
    std::vector<std::size_t> set(size);
    for (std::size_t i = 0; i < size; ++i) set[i] = i;
    while (fn(set)) {
      std::size_t i = size;
      while (i > 0 && set[i - 1] == zones - size + i - 1) --i;
      if (i == 0) return;
      ++set[i - 1];
      for (; i < size; ++i) set[i] = set[i - 1] + 1;
    }
  }

  // The fewest zones that have all together, each of which lists each resource; of several such
  // sets one with the shortest distance (numaNodesRequired). Nothing when it would take more than
  // kMostSets sets to find it.
  static std::optional<ZoneSet> FewestZones(const NumaLayout& layout,
                                            const std::vector<std::int64_t>& available,
                                            const NumaRequests& requests) {
    std::vector<std::size_t> columns;
    for (const NumaRequest& request : requests) {
      const auto column = layout.Find(request.resource);
      if (!column) return std::nullopt;
      columns.push_back(*column);
    }
    const auto has_all = [&](const std::vector<std::size_t>& set) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        std::int64_t sum = 0;
        for (const std::size_t zone : set) {
          const std::int64_t own = available[layout.At(zone, columns[i])];
          if (own == NumaLayout::kNone) return false;
          sum = internal::CappedSum(sum, own);
        }
        if (requests[i].amount > sum) return false;
      }
      return true;
    };
    std::size_t tried = 0;
    for (std::size_t size = 1; size <= layout.zones(); ++size) {
      auto shortest = static_cast<float>(kUnknownNumaCost);
      ForEachSet(layout.zones(), size, [&](const std::vector<std::size_t>& set) {
        shortest = std::min(shortest, Distance(layout, set));
        return ++tried <= kMostSets;
      });
      if (tried > kMostSets) return std::nullopt;
      std::optional<ZoneSet> best;
      float best_distance = static_cast<float>(kUnknownNumaCost + 1);
      ForEachSet(layout.zones(), size, [&](const std::vector<std::size_t>& set) {
        if (!has_all(set)) return true;
        const float distance = Distance(layout, set);
        const bool closest = distance == shortest;
        if (!closest && distance >= best_distance) return true;
        best_distance = distance;
        best.emplace();
        best->is_closest = closest;
        for (const std::size_t zone : set) best->zones |= std::uint64_t{1} << zone;
        return !closest;
      });
      if (best) return best;
    }
    return std::nullopt;
  }
  static constexpr std::size_t kMostSets = std::size_t{1} << 16;

  const NumaScoringStrategy strategy_;
  const bool filter_restricted_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_RESOURCE_TOPOLOGY_MATCH_H_
