// PodTopologySpread: spreads matching pods over topology domains.
#ifndef SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_
#define SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/api/resource_name.h"
#include "schedfw/base/log.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/node_match.h"
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
/// Counts of matching pods by node are kept by the cluster; a cycle sums them over the label column
/// of the topology key, over the nodes that take part for this pod.
class PodTopologySpread : public PreFilterPlugin,
                          public PreFilterExtensions,
                          public BatchFilterPlugin,
                          public PreScorePlugin,
                          public BatchScorePlugin,
                          public ScoreExtensions,
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
    const std::vector<SpreadConstraint> constraints =
        Constraints(cycle, api::UnsatisfiableConstraintAction::kDoNotSchedule);
    if (constraints.empty()) return Status::Skip();
    FilterState& out = state.Emplace<FilterState>();
    const Eligibility eligibility(cycle, constraints, /*require_all_keys=*/true);
    const Row nodes = cycle.snapshot.size();
    for (const SpreadConstraint& constraint : constraints) {
      auto fixed = std::make_shared<FixedConstraint>();
      fixed->constraint = constraint;
      fixed->column = &cycle.snapshot.Label(constraint.topology_key);
      fixed->self =
          constraint.selector.Matches(PodLabels(cycle), cycle.snapshot.dictionary()) ? 1 : 0;
      fixed->eligible.resize(nodes);
      FilterConstraint& c = out.constraints.emplace_back();
      std::vector<std::int64_t>& counts = c.counts.Mutable();
      counts.assign(fixed->column->OrdinalCount(), kNoDomain);
      const Column<std::int32_t> pods = CountPods(cycle, constraint.selector);
      for (Row row = 0; row < nodes; ++row) {
        if (!eligibility.Includes(constraint, row)) continue;
        fixed->eligible[row] = 1;
        std::int64_t& count = counts[fixed->column->ordinals[row]];
        count = std::max<std::int64_t>(count, 0) + (pods.size() == 0 ? 0 : pods[row]);
      }
      c.fixed = std::move(fixed);
      c.FindLeast();
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

  void FilterNodes(const Cycle& cycle, RowRange rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) {
      std::fill_n(codes, rows.size(), kFilterFault);
      return;
    }
    // skew = matching + self − least, against maxSkew.
    for (const FilterConstraint& c : state->constraints) {
      const std::uint32_t* ordinals = c.fixed->column->ordinals.data() + rows.begin;
      const std::int64_t* counts = c.counts.data();
      const std::int64_t most = c.fixed->constraint.max_skew - c.fixed->self + c.least;
      for (Row i = 0; i < rows.size(); ++i) {
        const std::uint32_t ordinal = ordinals[i];
        const std::int64_t count = counts[ordinal];
        const std::int64_t matching = count == kNoDomain ? 0 : count;
        const std::uint32_t code = ordinal == 0 ? kMissingLabel : matching > most ? kMismatch : 0;
        codes[i] = codes[i] != 0 ? codes[i] : code;
      }
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
    const std::vector<SpreadConstraint> constraints =
        Constraints(cycle, api::UnsatisfiableConstraintAction::kScheduleAnyway);
    if (constraints.empty() || cycle.snapshot.size() == 0) return Status::Skip();
    const bool require_all_keys =
        !cycle.pod.pod->spec.topology_spread_constraints.empty() || !system_defaults_;
    ScoreState& out = state.Emplace<ScoreState>();
    const Eligibility eligibility(cycle, constraints, require_all_keys);
    const Row nodes = cycle.snapshot.size();
    if (require_all_keys) {
      out.ignored.resize(nodes);
      for (const Row row : feasible) {
        out.ignored[row] = eligibility.HasAllKeys(row) ? 0 : 1;
        out.ignored_count += out.ignored[row];
      }
    }
    const StringId hostname = cycle.snapshot.dictionary().Intern(kHostname);
    for (const SpreadConstraint& constraint : constraints) {
      ScoreConstraint& c = out.constraints.emplace_back();
      c.column = &cycle.snapshot.Label(constraint.topology_key);
      c.max_skew = constraint.max_skew;
      c.by_host = constraint.topology_key == hostname;
      c.pods = CountPods(cycle, constraint.selector);
      std::int64_t domains = 0;
      if (c.by_host) {
        domains = static_cast<std::int64_t>(feasible.size()) - out.ignored_count;
      } else {
        domains = SumByDomain(c, constraint, eligibility, out, feasible, nodes);
      }
      c.weight = Log(static_cast<double>(domains + 2));
    }
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, std::span<const Row> rows,
                    std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) {
      return Status::Error(
          "error reading \"PreScorePodTopologySpread\" from cycleState: not found");
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row row = rows[i];
      double score = 0;
      if (!state->IsIgnored(row)) {
        for (const ScoreConstraint& c : state->constraints) {
          const std::uint32_t ordinal = c.column->ordinals[row];
          if (ordinal == 0) continue;
          const std::int64_t count = !c.by_host           ? c.counts[ordinal]
                                     : c.pods.size() == 0 ? 0
                                                          : c.pods[row];
          score += static_cast<double>(count) * c.weight + static_cast<double>(c.max_skew - 1);
        }
      }
      out[i] = static_cast<std::int64_t>(std::round(score));
    }
    return {};
  }

  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  /// Fewer pods score higher; nodes that were ignored score 0.
  Status NormalizeScore(const Cycle& cycle, std::span<const Row> rows,
                        std::span<std::int64_t> scores) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) {
      return Status::Error(
          "error reading \"PreScorePodTopologySpread\" from cycleState: not found");
    }
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    std::int64_t max = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (state->IsIgnored(rows[i])) continue;
      min = std::min(min, scores[i]);
      max = std::max(max, scores[i]);
    }
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (state->IsIgnored(rows[i])) {
        scores[i] = 0;
      } else if (max == 0) {
        scores[i] = kMaxNodeScore;
      } else {
        scores[i] = kMaxNodeScore * (max + min - scores[i]) / max;
      }
    }
    return {};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kAdd | kUpdatePodLabel | kDelete},
             [](const PodInfo& pod, const ObjectChange& change) {
               for (const PodInfo* other : {change.old_pod, change.new_pod}) {
                 if (other != nullptr && other->pod->metadata.ns == pod.pod->metadata.ns) {
                   return QueueingHint::kQueue;
                 }
               }
               return QueueingHint::kSkip;
             }},
            {{EventResource::kTargetPod, kUpdatePodToleration | kUpdatePodLabel}, {}},
            {{EventResource::kNode, kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint}, {}}};
  }

 private:
  static constexpr const char* kHostname = "kubernetes.io/hostname";
  static constexpr std::uint32_t kMismatch = 1;
  static constexpr std::uint32_t kMissingLabel = 2;
  // Of a domain that no node takes part in. Counts may fall below zero: removing a pod takes away
  // what was never counted when it is being deleted (filtering.go, updateWithPod).
  static constexpr std::int64_t kNoDomain = std::numeric_limits<std::int64_t>::min();

  // Which nodes take part in the counts of a pod's constraints.
  class Eligibility {
   public:
    Eligibility(const Cycle& cycle, const std::vector<SpreadConstraint>& constraints,
                bool require_all_keys)
        : require_all_keys_(require_all_keys), taint_sets_(cycle.snapshot.TaintSets()) {
      bool affinity = false, taints = false;
      for (const SpreadConstraint& constraint : constraints) {
        affinity = affinity || constraint.honor_affinity;
        taints = taints || constraint.honor_taints;
        columns_.push_back(&cycle.snapshot.Label(constraint.topology_key));
      }
      if (affinity && !cycle.plan().required_node_affinity.Empty()) {
        affinity_ = RowAffinity(cycle.plan().required_node_affinity, cycle.snapshot);
      }
      if (taints) {
        untolerated_ =
            UntoleratedTaintSets(cycle.snapshot.dictionary(), cycle.pod.pod->spec.tolerations);
      }
    }

    bool HasAllKeys(Row row) const {
      for (const LabelColumn* column : columns_) {
        if (column->ordinals[row] == 0) return false;
      }
      return true;
    }
    bool Includes(const SpreadConstraint& constraint, Row row) const {
      if (require_all_keys_ && !HasAllKeys(row)) return false;
      if (constraint.honor_affinity && !affinity_.Matches(row)) return false;
      return !constraint.honor_taints || untolerated_.empty() ||
             untolerated_[taint_sets_[row]] == 0;
    }

   private:
    bool require_all_keys_;
    const TaintSetId* taint_sets_;
    std::vector<const LabelColumn*> columns_;
    RowAffinity affinity_;
    std::vector<std::uint8_t> untolerated_;
  };

  // What stays the same in a cycle.
  struct FixedConstraint {
    SpreadConstraint constraint;
    const LabelColumn* column = nullptr;
    std::int64_t self = 0;               // 1 if the pod counts itself
    std::vector<std::uint8_t> eligible;  // by row
  };
  struct FilterConstraint {
    std::shared_ptr<const FixedConstraint> fixed;
    // By ordinal; kNoDomain: no node of it takes part. Shared until changed.
    Column<std::int64_t> counts;
    std::int64_t least = 0;  // of all domains; with fewer than minDomains 0

    void FindLeast() {
      std::int64_t domains = 0;
      for (const std::int64_t count : counts.span()) domains += count != kNoDomain;
      enough_domains_ = domains >= fixed->constraint.min_domains;
      least = enough_domains_ ? LeastBut(counts.size()) : 0;
    }
    // Pods of a domain that exists come and go. What preemption tries on one node changes one
    // domain, for which the least of the others is found once.
    void Change(std::uint32_t ordinal, std::int64_t delta) {
      counts.Mutable()[ordinal] += delta;
      if (!enough_domains_) return;
      if (changed_ == kNone) {
        changed_ = ordinal;
        least_of_others_ = LeastBut(ordinal);
      }
      if (changed_ == ordinal) {
        least = std::min(least_of_others_, counts[ordinal]);
      } else {
        changed_ = kSeveral;
        least = LeastBut(counts.size());
      }
    }

   private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;
    static constexpr std::uint32_t kSeveral = 0xFFFFFFFE;

    std::int64_t LeastBut(std::size_t but) const {
      std::int64_t out = std::numeric_limits<std::int32_t>::max();
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (i != but && counts[i] != kNoDomain) out = std::min(out, counts[i]);
      }
      return out;
    }

    bool enough_domains_ = true;
    std::uint32_t changed_ = kNone;
    std::int64_t least_of_others_ = 0;
  };
  struct FilterState {
    std::vector<FilterConstraint> constraints;
  };

  struct ScoreConstraint {
    const LabelColumn* column = nullptr;
    std::int64_t max_skew = 1;
    bool by_host = false;
    Column<std::int32_t> pods;         // by row; empty: none matches
    std::vector<std::int64_t> counts;  // by ordinal
    double weight = 0;
  };
  struct ScoreState {
    std::vector<ScoreConstraint> constraints;
    std::vector<std::uint8_t> ignored;  // by row; empty: none
    std::int64_t ignored_count = 0;

    bool IsIgnored(Row row) const { return !ignored.empty() && ignored[row] != 0; }
  };

  static const Labels& PodLabels(const Cycle& cycle) {
    return cycle.snapshot.dictionary().LabelsOf(cycle.pod.label_set);
  }

  // An empty selector counts no existing pod, though it matches every pod: upstream's shortcut
  // (common.go, countPodsMatchSelector). An empty column stands for zeros.
  static Column<std::int32_t> CountPods(const Cycle& cycle, const Selector& selector) {
    if (selector.IsNothing() || selector.Empty()) return {};
    return cycle.snapshot.CountPods(
        {.namespaces = {cycle.pod.ns}, .selector = selector, .terminating = false});
  }

  // Sums the pods of every domain that a feasible node is in; returns how many there are. Where not
  // every key is required, nodes without the key make up a domain of the empty value.
  static std::int64_t SumByDomain(ScoreConstraint& c, const SpreadConstraint& constraint,
                                  const Eligibility& eligibility, const ScoreState& state,
                                  std::span<const Row> feasible, Row nodes) {
    const std::uint32_t empty_value = c.column->OrdinalOf(0);
    const auto domain = [&](Row row) {
      const std::uint32_t ordinal = c.column->ordinals[row];
      return ordinal == 0 ? empty_value : ordinal;
    };
    std::vector<std::uint8_t> present(c.column->OrdinalCount());
    std::int64_t domains = 0;
    for (const Row row : feasible) {
      if (state.IsIgnored(row)) continue;
      std::uint8_t& seen = present[domain(row)];
      domains += seen == 0;
      seen = 1;
    }
    c.counts.resize(present.size());
    if (c.pods.size() == 0) return domains;
    for (Row row = 0; row < nodes; ++row) {
      const std::uint32_t ordinal = domain(row);
      if (present[ordinal] == 0 || !eligibility.Includes(constraint, row)) continue;
      c.counts[ordinal] += c.pods[row];
    }
    return domains;
  }

  Status Update(const Cycle& cycle, CycleState& state, const PodInfo& pod, const NodeInfo& node,
                std::int64_t delta) const {
    FilterState* filter = state.Find<FilterState>();
    if (filter == nullptr || pod.ns != cycle.pod.ns) return {};
    const Labels& labels = cycle.snapshot.dictionary().LabelsOf(pod.label_set);
    for (FilterConstraint& c : filter->constraints) {
      if (c.fixed->eligible[node.row()] == 0) continue;
      const Selector& selector = c.fixed->constraint.selector;
      if (!selector.Matches(labels, cycle.snapshot.dictionary())) continue;
      c.Change(c.fixed->column->ordinals[node.row()], delta);
    }
    return {};
  }

  // The pod's own constraints with this action, or, when it has none at all, the defaults with a
  // selector that its Services and its owner give (common.go, buildDefaultConstraints).
  std::vector<SpreadConstraint> Constraints(const Cycle& cycle,
                                            api::UnsatisfiableConstraintAction action) const {
    const bool hard = action == api::UnsatisfiableConstraintAction::kDoNotSchedule;
    if (!cycle.pod.pod->spec.topology_spread_constraints.empty()) {
      return hard ? cycle.plan().hard_constraints : cycle.plan().soft_constraints;
    }
    std::vector<SpreadConstraint> out;
    if (std::none_of(defaults_.begin(), defaults_.end(),
                     [&](const auto& c) { return c.when_unsatisfiable == action; })) {
      return out;
    }
    Selector selector = DefaultSelector(cycle);
    if (selector.Empty()) return out;
    for (const api::TopologySpreadConstraint& in : defaults_) {
      if (in.when_unsatisfiable != action) continue;
      auto compiled =
          CompileSpreadConstraint(in, cycle.pod.pod->metadata.labels, cycle.snapshot.dictionary());
      if (!compiled) continue;  // validated when the plugin was made
      compiled->selector = selector;
      out.push_back(*std::move(compiled));
    }
    return out;
  }

  // The union of the selectors of matching Services and of the controller that owns the pod
  // (helper/spread.go, DefaultSelector). Services count in name order where they disagree.
  static Selector DefaultSelector(const Cycle& cycle) {
    const api::Pod& pod = *cycle.pod.pod;
    const ObjectStore& objects = cycle.snapshot.objects();
    Dictionary& dictionary = cycle.snapshot.dictionary();
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
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_POD_TOPOLOGY_SPREAD_H_
