// PodTopologySpread: spreads matching pods over topology domains.
#ifndef SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_
#define SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/resource_name.h"
#include "schedfw/base/log.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/node_match.h"
#include "schedfw/plugins/normalize.h"
#include "schedfw/plugins/resource_allocation.h"
#include "schedfw/plugins/spread_counts.h"
#include "schedfw/plugins/tolerations.h"

namespace schedfw {

enum class PodTopologySpreadConstraintsDefaulting : std::uint8_t { kSystem, kList };

namespace api {
template <>
struct EnumNames<PodTopologySpreadConstraintsDefaulting> {
  static constexpr std::array<std::pair<std::string_view, PodTopologySpreadConstraintsDefaulting>,
                              3>
      kNames{{
          {"System", PodTopologySpreadConstraintsDefaulting::kSystem},
          {"List", PodTopologySpreadConstraintsDefaulting::kList},
          {"", PodTopologySpreadConstraintsDefaulting::kSystem},
      }};
};
}  // namespace api

/// A default constraint as a configuration gives it. What must be given has no default here.
struct DefaultSpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::optional<api::UnsatisfiableConstraintAction> when_unsatisfiable;
  std::optional<api::LabelSelector> label_selector;
  std::optional<std::int32_t> min_domains;
  std::optional<api::NodeInclusionPolicy> node_affinity_policy;
  std::optional<api::NodeInclusionPolicy> node_taints_policy;
  std::vector<std::string> match_label_keys;
};
template <typename V>
void Fields(V& v, DefaultSpreadConstraint& c) {
  v("maxSkew", c.max_skew, Arg{.help = "How uneven domains may be", .allowed = "1 or more"});
  v("topologyKey", c.topology_key, Arg{.help = "The node label that names domains"});
  v("whenUnsatisfiable", c.when_unsatisfiable, Arg{.help = "Filter, or only score"});
  v("labelSelector", c.label_selector, Arg{});
  v("minDomains", c.min_domains, Arg{.help = "With fewer domains the least one counts as empty"});
  v("nodeAffinityPolicy", c.node_affinity_policy,
    Arg{.help = "Whether nodes outside of the pod's node affinity count (absent: Honor)"});
  v("nodeTaintsPolicy", c.node_taints_policy,
    Arg{.help = "Whether nodes with untolerated taints count (absent: Ignore)"});
  v("matchLabelKeys", c.match_label_keys,
    Arg{.help = "Labels whose values matching pods share with the pod"});
}

struct PodTopologySpreadArgs {
  std::vector<DefaultSpreadConstraint> default_constraints;
  PodTopologySpreadConstraintsDefaulting defaulting_type =
      PodTopologySpreadConstraintsDefaulting::kSystem;
};
template <typename V>
void Fields(V& v, PodTopologySpreadArgs& args) {
  v("defaultConstraints", args.default_constraints,
    Arg{.help = "Constraints for pods without any, selecting by their Services and owners; each "
                "pair of topologyKey and whenUnsatisfiable once"});
  v("defaultingType", args.defaulting_type,
    Arg{.help = "List: defaultConstraints; System: hostname and zone, scored only"});
}

/// What single fields can't tell (ValidatePodTopologySpreadArgs).
inline Result<void> Validate(const PodTopologySpreadArgs& args) {
  using Defaulting = PodTopologySpreadConstraintsDefaulting;
  if (args.defaulting_type == Defaulting::kSystem && !args.default_constraints.empty()) {
    return ConfigError(
        "defaultingType: \"System\" is not allowed with defaultConstraints "
        "(allowed: List)");
  }
  for (std::size_t i = 0; i < args.default_constraints.size(); ++i) {
    const DefaultSpreadConstraint& c = args.default_constraints[i];
    const std::string path = "defaultConstraints[" + std::to_string(i) + "]";
    if (c.max_skew <= 0) {
      return ConfigError(path + ".maxSkew: " + std::to_string(c.max_skew) +
                         " is not in the valid range (allowed: 1 or more)");
    }
    if (!api::IsQualifiedName(c.topology_key)) {
      return ConfigError(path + ".topologyKey: \"" + c.topology_key + "\" is not a label name");
    }
    if (!c.when_unsatisfiable) return ConfigError(path + ".whenUnsatisfiable: must be given");
    if (c.label_selector) {
      return ConfigError(path + ".labelSelector: must be absent, as it is deduced for each pod");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (args.default_constraints[j].topology_key == c.topology_key &&
          args.default_constraints[j].when_unsatisfiable == c.when_unsatisfiable) {
        return ConfigError(path + ": the pair of topologyKey and whenUnsatisfiable is there twice");
      }
    }
  }
  return {};
}

/// Filters nodes where DoNotSchedule constraints would be broken and scores by ScheduleAnyway
/// constraints (plugins/podtopologyspread).
///
/// Counts of matching pods by node are kept by the cluster, and sums by domain from cycle to cycle
/// (SpreadCounts); which domains count for a score depends on the feasible nodes.
class PodTopologySpread : public PreFilterPlugin,
                          public PreFilterExtensions,
                          public BatchFilterPlugin,
                          public PreScorePlugin,
                          public BatchScorePlugin,
                          public BatchScoreExtensions,
                          public IncrementalPlugin,
                          public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "PodTopologySpread";

  explicit PodTopologySpread(const PodTopologySpreadArgs& args)
      : system_defaults_(args.defaulting_type == PodTopologySpreadConstraintsDefaulting::kSystem) {
    using Action = api::UnsatisfiableConstraintAction;
    if (system_defaults_) {
      defaults_.resize(2);
      defaults_[0].max_skew = 3;
      defaults_[0].topology_key = kHostname;
      defaults_[1].max_skew = 5;
      defaults_[1].topology_key = "topology.kubernetes.io/zone";
      for (auto& constraint : defaults_) constraint.when_unsatisfiable = Action::kScheduleAnyway;
      return;
    }
    for (const DefaultSpreadConstraint& in : args.default_constraints) {
      api::TopologySpreadConstraint& out = defaults_.emplace_back();
      out.max_skew = in.max_skew;
      out.topology_key = in.topology_key;
      out.when_unsatisfiable = *in.when_unsatisfiable;
      out.min_domains = in.min_domains;
      out.node_affinity_policy = in.node_affinity_policy;
      out.node_taints_policy = in.node_taints_policy;
      out.match_label_keys = in.match_label_keys;
    }
  }

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    const std::vector<SpreadConstraint>& constraints =
        Constraints(cycle, api::UnsatisfiableConstraintAction::kDoNotSchedule);
    if (constraints.empty()) return Status::Skip();
    FilterState& out = state.Reuse<FilterState>();
    const SpreadCounts& counts = counts_.Get(cycle, constraints, /*require_all_keys=*/true);
    out.constraints.resize(counts.counts().size());
    for (std::size_t i = 0; i < out.constraints.size(); ++i) {
      FilterConstraint& c = out.constraints[i];
      c.count = counts.counts()[i];
      const Selector& selector = c.count.fixed->constraint.selector;
      c.self = selector.Matches(PodLabels(cycle), cycle.snapshot.dictionary()) ? 1 : 0;
    }
    return {};
  }

  const PreFilterExtensions* Extensions() const override { return this; }
  Status AddPod(const Cycle& cycle, CycleState& state, const PodInfo& added,
                const NodeInfo& node) const override {
    return Update(cycle, state, added, node, 1);
  }
  Status RemovePod(const Cycle& cycle, CycleState& state, const PodInfo& removed,
                   const NodeInfo& node) const override {
    return Update(cycle, state, removed, node, -1);
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) {
      std::fill_n(codes, rows.size(), kFilterFault);
      return;
    }
    // skew = matching + self − least, against maxSkew.
    std::uint32_t buffer[kMaxBlockRows], table[kMaxBlockRows];
    for (const FilterConstraint& c : state->constraints) {
      const std::uint32_t* ordinals = rows.Of(c.count.fixed->column->ordinals.data(), buffer);
      const std::int64_t* counts = c.count.counts.data();
      const std::int64_t most = c.count.fixed->constraint.max_skew - c.self + c.count.least;
      const auto code_of = [&](std::size_t ordinal) {
        const std::int64_t count = counts[ordinal];
        const std::int64_t matching = count == SpreadCount::kNoDomain ? 0 : count;
        return ordinal == 0 ? kMissingLabel : matching > most ? kMismatch : 0;
      };
      const std::size_t domains = c.count.counts.size();
      if (domains > rows.size()) {
        for (Row i = 0; i < rows.size(); ++i) {
          codes[i] = codes[i] != 0 ? codes[i] : code_of(ordinals[i]);
        }
        continue;
      }
      for (std::size_t ordinal = 0; ordinal < domains; ++ordinal) table[ordinal] = code_of(ordinal);
      RunSimd(
          [](const std::uint32_t* ordinal, const std::uint32_t* code, Row n,
             std::uint32_t* __restrict out) SCHEDFW_SIMD_LOOP {
            for (Row i = 0; i < n; ++i) {
              const std::uint32_t is_first = -static_cast<std::uint32_t>(out[i] == 0);
              out[i] |= is_first & code[ordinal[i]];
            }
          },
          ordinals, table, rows.size(), codes);
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    const std::string reason = "node(s) didn't match pod topology spread constraints";
    switch (code) {
      case kFilterFault:
        return Status::Error("reading \"PreFilterPodTopologySpread\" from cycleState: not found");
      case kMissingLabel:
        return Status::Unresolvable(reason + " (missing required label)");
      default:
        return Status::Unschedulable(reason);
    }
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row> feasible) override {
    return PreScoreGroups(cycle, state, {feasible, {}});
  }
  Status PreScoreGroups(const Cycle& cycle, CycleState& state,
                        const NodeGroups& feasible) override {
    const std::vector<SpreadConstraint>& constraints =
        Constraints(cycle, api::UnsatisfiableConstraintAction::kScheduleAnyway);
    if (constraints.empty() || cycle.snapshot.size() == 0) return Status::Skip();
    const bool require_all_keys =
        !cycle.pod.pod->spec.topology_spread_constraints.empty() || !system_defaults_;
    ScoreState& out = state.Reuse<ScoreState>();
    const SpreadCounts& counts = counts_.Get(cycle, constraints, require_all_keys);
    const auto nodes_of = [&](std::size_t i) {
      return feasible.counts.empty() ? std::int64_t{1} : std::int64_t{feasible.counts[i]};
    };
    std::int64_t not_ignored = 0;
    out.ignored.clear();
    const bool all_complete =
        std::all_of(counts.counts().begin(), counts.counts().end(),
                    [](const SpreadCount& count) { return count.fixed->complete; });
    if (require_all_keys && !all_complete) out.ignored.resize(cycle.snapshot.size());
    if (out.ignored.empty() && feasible.counts.empty()) {
      not_ignored = static_cast<std::int64_t>(feasible.rows.size());
    } else {
      for (std::size_t i = 0; i < feasible.rows.size(); ++i) {
        const Row row = feasible.rows[i];
        bool ignored = false;
        if (!out.ignored.empty()) {
          for (const SpreadCount& count : counts.counts()) {
            ignored = ignored || count.fixed->column->ordinals[row] == 0;
          }
          out.ignored[row] = ignored ? 1 : 0;
        }
        not_ignored += ignored ? 0 : nodes_of(i);
      }
    }
    const auto all_pods = static_cast<double>(cycle.snapshot.PodTotal());
    double most = 0;
    out.constraints.resize(counts.counts().size());
    for (std::size_t i = 0; i < out.constraints.size(); ++i) {
      const SpreadCount& count = counts.counts()[i];
      ScoreConstraint& c = out.constraints[i];
      c.fixed = count.fixed;
      c.by_host = count.fixed->by_host;
      c.pods = {};
      if (c.by_host && count.fixed->matcher != nullptr) {
        c.pods = cycle.snapshot.CountPods(count.fixed->matcher);
      }
      const std::int64_t domains =
          c.by_host ? not_ignored : CountDomains(*count.fixed, out, feasible.rows);
      c.weight = Log(static_cast<double>(domains + 2));
      c.addend = static_cast<double>(count.fixed->constraint.max_skew - 1);
      most += all_pods * c.weight + c.addend;
      if (c.by_host) continue;
      c.scores.resize(count.counts.size());
      for (std::size_t ordinal = 0; ordinal < c.scores.size(); ++ordinal) {
        const std::int64_t pods = std::max<std::int64_t>(count.counts[ordinal], 0);
        c.scores[ordinal] = static_cast<double>(pods) * c.weight + c.addend;
      }
      c.scores[0] = 0;  // without the key the constraint adds nothing
    }
    out.fits_int32 = most < 0x1p30;
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) {
      return Status::Error(
          "error reading \"PreScorePodTopologySpread\" from cycleState: not found");
    }
    const Row count = rows.size();
    double sums[kMaxBlockRows];
    std::fill_n(sums, count, 0.0);
    std::uint32_t ordinal_buffer[kMaxBlockRows];
    std::int32_t pod_buffer[kMaxBlockRows];
    for (const ScoreConstraint& c : state->constraints) {
      const std::uint32_t* ordinals = rows.Of(c.fixed->column->ordinals.data(), ordinal_buffer);
      if (!c.by_host) {
        RunSimd(
            [](const std::uint32_t* ordinal, const double* scores, Row n, double* __restrict sum)
                SCHEDFW_SIMD_LOOP {
                  for (Row i = 0; i < n; ++i) sum[i] += scores[ordinal[i]];
                },
            ordinals, c.scores.data(), count, sums);
        continue;
      }
      if (c.pods.size() == 0) std::fill_n(pod_buffer, count, 0);
      RunSimd(
          [](const std::uint32_t* ordinal, const std::int32_t* pods, double weight, double addend,
             Row n, double* __restrict sum) SCHEDFW_SIMD_LOOP {
            for (Row i = 0; i < n; ++i) {
              const double score = static_cast<double>(pods[i]) * weight + addend;
              sum[i] += std::bit_cast<double>(std::bit_cast<std::int64_t>(score) &
                                              simd::Mask(ordinal[i] != 0));
            }
          },
          ordinals, c.pods.size() == 0 ? pod_buffer : rows.Of(c.pods.data(), pod_buffer), c.weight,
          c.addend, count, sums);
    }
    if (state->fits_int32) {
      // math.Round: halves go up; sums aren't negative.
      RunSimd(
          [](const double* sum, Row n, std::int64_t* __restrict rounded) SCHEDFW_SIMD_LOOP {
            for (Row i = 0; i < n; ++i) {
              const auto whole = static_cast<std::int32_t>(sum[i]);
              const auto twice = static_cast<std::int32_t>((sum[i] - whole) * 2);
              rounded[i] = whole + twice;
            }
          },
          sums, count, out);
    } else {
      for (Row i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(std::round(sums[i]));
    }
    if (!state->ignored.empty()) {
      for (Row i = 0; i < count; ++i) out[i] = state->ignored[rows[i]] != 0 ? 0 : out[i];
    }
    return {};
  }

  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  /// Fewer pods score higher; nodes that were ignored score 0.
  void Bound(const Cycle& cycle, Rows rows, const std::int64_t* scores,
             ScoreBounds& bounds) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr || state->ignored.empty()) return AddBounds(scores, rows.size(), bounds);
    for (Row i = 0; i < rows.size(); ++i) {
      if (state->ignored[rows[i]] == 0) bounds.Add({scores[i], scores[i]});
    }
  }
  void NormalizeBlock(const Cycle& cycle, Rows rows, const ScoreBounds& bounds,
                      std::int64_t* scores) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    const Row count = rows.size();
    if (bounds.max <= 0) {
      std::fill_n(scores, count, kMaxNodeScore);
    } else if (bounds.max < kMaxDoubleAmount / 2) {
      RunSimd(
          [](std::int64_t min, std::int64_t max, Row n, std::int64_t* __restrict score)
              SCHEDFW_SIMD_LOOP {
                const double divisor = simd::ToDouble(max);
                for (Row i = 0; i < n; ++i) {
                  score[i] = static_cast<std::int32_t>(simd::ToDouble(max + min - score[i]) * 100 /
                                                       divisor);
                }
              },
          bounds.min, bounds.max, count, scores);
    } else {
      for (Row i = 0; i < count; ++i) {
        scores[i] = kMaxNodeScore * (bounds.max + bounds.min - scores[i]) / bounds.max;
      }
    }
    if (state == nullptr || state->ignored.empty()) return;
    for (Row i = 0; i < count; ++i) scores[i] = state->ignored[rows[i]] != 0 ? 0 : scores[i];
  }

  Dependence FilterDependence(const Cycle&) const override { return Dependence::kDomain; }
  Dependence ScoreDependence(const Cycle&) const override { return Dependence::kFeasibleSet; }
  void AddFilterColumns(const Cycle& cycle, std::vector<GroupColumn>& out) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) return;
    for (const FilterConstraint& c : state->constraints) {
      out.push_back(GroupColumn::Of(*c.count.fixed->column, c.count.counts.data()));
    }
  }
  void AddScoreColumns(const Cycle& cycle, std::vector<GroupColumn>& out) const override {
    if (const ScoreState* state = cycle.state.Find<ScoreState>()) {
      for (const ScoreConstraint& c : state->constraints) {
        if (c.by_host && c.fixed->matcher) out.push_back({nullptr, nullptr, c.fixed->matcher});
        if (!c.by_host || !c.fixed->complete) out.push_back({c.fixed->column, nullptr, nullptr});
      }
    }
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    const auto with_constraints = [this](auto* rule) {
      return [this, rule](const PodInfo& pod, const ObjectChange& change) {
        const std::vector<SpreadConstraint>* constraints = ConstraintsForHint(pod, change);
        return constraints == nullptr || rule(pod, change, *constraints) ? QueueingHint::kQueue
                                                                         : QueueingHint::kSkip;
      };
    };
    return {{{EventResource::kAssignedPod, kAdd | kUpdatePodLabel | kDelete},
             with_constraints(&AssignedPodMayHelp)},
            {{EventResource::kTargetPod, kUpdatePodToleration | kUpdatePodLabel},
             with_constraints(&OwnChangeMayHelp)},
            {{EventResource::kNode, kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint},
             with_constraints(&NodeMayHelp)}};
  }

 private:
  static constexpr const char* kHostname = "kubernetes.io/hostname";
  static constexpr std::uint32_t kMismatch = 1;
  static constexpr std::uint32_t kMissingLabel = 2;
  static inline const std::vector<SpreadConstraint> kNone;

  struct FilterConstraint {
    SpreadCount count;
    std::int64_t self = 0;  // 1 if the pod counts itself
  };
  struct FilterState {
    std::vector<FilterConstraint> constraints;

    void EndCycle() { constraints.clear(); }
  };

  struct ScoreConstraint {
    std::shared_ptr<const SpreadCount::Fixed> fixed;
    bool by_host = false;
    Column<std::int32_t> pods;   // by row, when by_host; empty: none matches
    std::vector<double> scores;  // by ordinal, unless by_host
    double weight = 0;
    double addend = 0;
  };
  struct ScoreState {
    std::vector<ScoreConstraint> constraints;
    std::vector<std::uint8_t> ignored;  // by row; empty: none
    std::vector<std::uint8_t> present;  // by ordinal, in use while domains are counted
    bool fits_int32 = false;            // no sum of scores is more

    bool IsIgnored(Row row) const { return !ignored.empty() && ignored[row] != 0; }
    void EndCycle() {
      for (ScoreConstraint& c : constraints) c.pods = {};
    }
  };
  // The constraints that a pod of a plan has by default, of either action.
  struct Defaults {
    std::shared_ptr<const PodPlan> plan;
    std::uint64_t objects_id = 0;
    std::vector<SpreadConstraint> hard, soft;
  };

  static const Labels& PodLabels(const Cycle& cycle) {
    return cycle.snapshot.dictionary().LabelsOf(cycle.pod.label_set());
  }

  // How many domains have feasible nodes. Where not every key is required, nodes without the key
  // make up a domain of the empty value.
  static std::int64_t CountDomains(const SpreadCount::Fixed& fixed, ScoreState& state,
                                   std::span<const Row> feasible) {
    std::vector<std::uint8_t>& present = state.present;
    const std::size_t ordinals = fixed.column->OrdinalCount();
    if (ordinals <= 64 && state.ignored.empty()) {  // a bit each: nothing is stored in the loop
      const std::uint32_t* ordinal = fixed.column->ordinals.data();
      // Once all have been seen the rest needn't be looked at.
      const std::uint64_t all =
          (~std::uint64_t{0} >> (64 - ordinals)) & ~std::uint64_t{fixed.complete};
      std::uint64_t seen = 0;
      std::uint32_t buffer[kMaxBlockRows];
      for (std::size_t begin = 0; begin < feasible.size() && seen != all; begin += kMaxBlockRows) {
        const std::size_t size = std::min<std::size_t>(kMaxBlockRows, feasible.size() - begin);
        const Rows rows = Rows::Of(feasible.subspan(begin, size));
        RunSimd(
            [](const std::uint32_t* in, Row n, std::uint64_t* __restrict out) SCHEDFW_SIMD_LOOP {
              std::uint64_t bits = *out;
              for (Row i = 0; i < n; ++i) bits |= std::uint64_t{1} << in[i];
              *out = bits;
            },
            rows.Of(ordinal, buffer), rows.size(), &seen);
      }
      if (!fixed.complete && (seen & 1) != 0) {  // nodes without the key
        seen = (seen & ~std::uint64_t{1}) | std::uint64_t{1} << fixed.empty_value;
      }
      return std::popcount(seen);
    }
    present.assign(ordinals, 0);
    const std::size_t all = present.size() - (fixed.complete ? 1 : 0);
    std::size_t seen = 0;
    for (const Row row : feasible) {
      if (state.IsIgnored(row)) continue;
      std::uint8_t& domain = present[fixed.Domain(row)];
      seen += domain == 0 ? 1 : 0;
      domain = 1;
      if (seen == all) break;
    }
    return static_cast<std::int64_t>(seen);
  }

  Status Update(const Cycle& cycle, CycleState& state, const PodInfo& pod, const NodeInfo& node,
                std::int64_t delta) const {
    FilterState* filter = state.Find<FilterState>();
    if (filter == nullptr || pod.ns() != cycle.pod.ns()) return {};
    const Labels& labels = cycle.snapshot.dictionary().LabelsOf(pod.label_set());
    for (FilterConstraint& c : filter->constraints) {
      const SpreadCount::Fixed& fixed = *c.count.fixed;
      if (fixed.eligible[node.row()] == 0) continue;
      if (!fixed.constraint.selector.Matches(labels, cycle.snapshot.dictionary())) continue;
      c.count.Change(fixed.column->ordinals[node.row()], delta);
    }
    return {};
  }

  // The pod's own constraints with this action, or, when it has none at all, the defaults with a
  // selector that its Services and its owner give (common.go, buildDefaultConstraints).
  const std::vector<SpreadConstraint>& Constraints(const Cycle& cycle,
                                                   api::UnsatisfiableConstraintAction action) {
    const bool hard = action == api::UnsatisfiableConstraintAction::kDoNotSchedule;
    if (!cycle.pod.pod->spec.topology_spread_constraints.empty()) {
      return hard ? cycle.plan().hard_constraints : cycle.plan().soft_constraints;
    }
    if (!HasDefaults(action)) return kNone;
    const Defaults& defaults = FindDefaults(cycle.pod, cycle.snapshot);
    return hard ? defaults.hard : defaults.soft;
  }

  // The pod's DoNotSchedule constraints (plugin.go, getConstraints); nullptr when they depend on
  // objects that aren't given.
  const std::vector<SpreadConstraint>* ConstraintsForHint(const PodInfo& pod,
                                                          const ObjectChange& change) const {
    if (!pod.pod->spec.topology_spread_constraints.empty()) return &pod.plan->hard_constraints;
    if (!HasDefaults(api::UnsatisfiableConstraintAction::kDoNotSchedule)) return &kNone;
    return change.snapshot == nullptr ? nullptr : &FindDefaults(pod, *change.snapshot).hard;
  }

  // isSchedulableAfterAssignedPodChange.
  static bool AssignedPodMayHelp(const PodInfo& pod, const ObjectChange& change,
                                 const std::vector<SpreadConstraint>& constraints) {
    for (const PodInfo* other : {change.old_pod, change.new_pod}) {
      if (other != nullptr && other->ns() != pod.ns()) return false;
    }
    if (change.old_pod != nullptr && change.new_pod != nullptr) {
      return MatchesDiffer(*change.old_pod, *change.new_pod, constraints);
    }
    const PodInfo* other = change.new_pod != nullptr ? change.new_pod : change.old_pod;
    return other == nullptr ||
           std::any_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& c) {
             return c.selector.Matches(other->labels(), *other->plan->dictionary);
           });
  }

  // isSchedulableAfterTargetPodChange.
  static bool OwnChangeMayHelp(const PodInfo&, const ObjectChange& change,
                               const std::vector<SpreadConstraint>& constraints) {
    if (change.old_pod == nullptr || change.new_pod == nullptr) return true;
    const bool honors_taints =
        std::any_of(constraints.begin(), constraints.end(),
                    [](const SpreadConstraint& c) { return c.honor_taints; });
    if (honors_taints &&
        change.old_pod->pod->spec.tolerations != change.new_pod->pod->spec.tolerations) {
      return true;
    }
    return MatchesDiffer(*change.old_pod, *change.new_pod, constraints);
  }

  // isSchedulableAfterPodLabelChange.
  static bool MatchesDiffer(const PodInfo& before, const PodInfo& after,
                            const std::vector<SpreadConstraint>& constraints) {
    if (before.label_set() == after.label_set()) return false;
    return std::any_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& c) {
      return c.selector.Matches(before.labels(), *before.plan->dictionary) !=
             c.selector.Matches(after.labels(), *after.plan->dictionary);
    });
  }

  // isSchedulableAfterNodeChange: domains count where nodes have the keys of all constraints.
  static bool NodeMayHelp(const PodInfo& pod, const ObjectChange& change,
                          const std::vector<SpreadConstraint>& constraints) {
    const api::Node* before = change.old_node;
    const api::Node* after = change.new_node;
    bool before_matches = before != nullptr;
    bool after_matches = after != nullptr;
    bool moved = false;  // to another domain of a constraint
    for (const SpreadConstraint& c : constraints) {
      const std::string_view key = pod.plan->dictionary->Text(c.topology_key);
      const auto domain = [&](const api::Node* node) {
        return node == nullptr ? nullptr : api::Find(node->metadata.labels, key);
      };
      const std::string* old_domain = domain(before);
      const std::string* new_domain = domain(after);
      before_matches = before_matches && old_domain != nullptr;
      after_matches = after_matches && new_domain != nullptr;
      moved =
          moved || (old_domain != nullptr && new_domain != nullptr && *old_domain != *new_domain);
    }
    if (before == nullptr || after == nullptr) return before_matches || after_matches;
    return before_matches != after_matches ||
           (after_matches && (moved || before->spec.taints != after->spec.taints));
  }

  bool HasDefaults(api::UnsatisfiableConstraintAction action) const {
    return std::any_of(defaults_.begin(), defaults_.end(),
                       [&](const auto& c) { return c.when_unsatisfiable == action; });
  }

  const Defaults& FindDefaults(const PodInfo& pod, const Snapshot& snapshot) const {
    // They follow from the namespace, the labels and the owner: pods of many kinds share them.
    const std::size_t hash = pod.label_set() * std::size_t{31} + pod.ns();
    Defaults& known = known_defaults_[hash % known_defaults_.size()];
    if (known.objects_id != snapshot.objects_id() || !known.plan ||
        (known.plan != pod.plan && !HaveSameDefaults(*known.plan, *pod.plan))) {
      known = MakeDefaults(pod, snapshot);
    }
    return known;
  }
  static bool HaveSameDefaults(const PodPlan& a, const PodPlan& b) {
    return a.ns == b.ns && a.label_set == b.label_set && a.dictionary == b.dictionary &&
           a.pattern->metadata.owner_references == b.pattern->metadata.owner_references;
  }

  Defaults MakeDefaults(const PodInfo& pod, const Snapshot& snapshot) const {
    Defaults out;
    out.plan = pod.plan;
    out.objects_id = snapshot.objects_id();
    const Selector selector = DefaultSelector(*pod.pod, snapshot);
    if (selector.Empty()) return out;
    for (const api::TopologySpreadConstraint& in : defaults_) {
      auto compiled = CompileSpreadConstraint(in, pod.pod->metadata.labels, snapshot.dictionary());
      if (!compiled) continue;  // validated when the plugin was made
      compiled->selector = selector;
      const bool hard = in.when_unsatisfiable == api::UnsatisfiableConstraintAction::kDoNotSchedule;
      (hard ? out.hard : out.soft).push_back(*std::move(compiled));
    }
    return out;
  }

  // The union of the selectors of matching Services and of the controller that owns the pod
  // (helper/spread.go, DefaultSelector). Services count in name order where they disagree.
  static Selector DefaultSelector(const api::Pod& pod, const Snapshot& snapshot) {
    const ObjectStore& objects = snapshot.objects();
    Dictionary& dictionary = snapshot.dictionary();
    api::StringMap labels;
    const auto [begin, end] = objects.ServicesIn(pod.metadata.ns);
    for (const api::Service* service = begin; service != end; ++service) {
      if (!service->selector || !Contains(pod.metadata.labels, *service->selector)) continue;
      for (const auto& [key, value] : *service->selector) labels[key] = value;
    }
    const api::OwnerReference* owner = nullptr;
    for (const api::OwnerReference& reference : pod.metadata.owner_references) {
      if (reference.controller) {
        owner = &reference;
        break;
      }
    }
    if (owner != nullptr && owner->api_version == "v1" && owner->kind == "ReplicationController") {
      const auto* found =
          ObjectStore::Find(objects.replication_controllers, pod.metadata.ns, owner->name);
      if (found != nullptr) {
        for (const auto& [key, value] : found->selector) labels[key] = value;
      }
    }
    Selector out = Selector::FromLabels(labels, dictionary);
    if (owner == nullptr || owner->api_version != "apps/v1") return out;
    const api::ReplicaSet* found = nullptr;
    if (owner->kind == "ReplicaSet") {
      found = ObjectStore::Find(objects.replica_sets, pod.metadata.ns, owner->name);
    } else if (owner->kind == "StatefulSet") {
      found = ObjectStore::Find(objects.stateful_sets, pod.metadata.ns, owner->name);
    }
    if (found == nullptr) return out;
    auto selector = Selector::Compile(found->selector, dictionary);
    if (!selector) return out;
    for (const Requirement& requirement : selector->requirements()) out.Add(requirement);
    return out;
  }

  static bool Contains(const api::StringMap& labels, const api::StringMap& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
      const auto it = labels.find(entry.first);
      return it != labels.end() && it->second == entry.second;
    });
  }

  bool system_defaults_;
  std::vector<api::TopologySpreadConstraint> defaults_;
  mutable std::array<Defaults, 64> known_defaults_;  // cycles and hints take turns
  SpreadCountsCache counts_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_
