// InterPodAffinity: pods that want to be near other pods, or far from them.
#ifndef SCHEDFW_PLUGINS_INTER_POD_AFFINITY_H_
#define SCHEDFW_PLUGINS_INTER_POD_AFFINITY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedfw/cluster/pod_matcher.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

struct InterPodAffinityArgs {
  std::int32_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
};
template <typename V>
void Fields(V& v, InterPodAffinityArgs& args) {
  v("hardPodAffinityWeight", args.hard_pod_affinity_weight,
    Arg{.help = "How much required affinity of existing pods counts in the score",
        .min = 0,
        .max = 100});
  v("ignorePreferredTermsOfExistingPods", args.ignore_preferred_terms_of_existing_pods,
    Arg{.help = "Whether preferred terms of existing pods count only if the pod has some itself"});
}

/// Filters by required affinity and anti-affinity, also that of existing pods, and scores by
/// preferred terms of both sides (plugins/interpodaffinity).
///
/// What existing pods ask for is counted by distinct term (TermCounts), what the pod asks for by
/// matcher (PodCounts); a cycle sums both over the label columns of the topology keys.
class InterPodAffinity : public PreFilterPlugin,
                         public PreFilterExtensions,
                         public BatchFilterPlugin,
                         public PreScorePlugin,
                         public BatchScorePlugin,
                         public ScoreExtensions,
                         public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "InterPodAffinity";

  explicit InterPodAffinity(const InterPodAffinityArgs& args) : args_(args) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    auto pod = std::make_shared<IncomingPod>();
    pod->namespace_labels = cycle.snapshot.NamespaceLabels(cycle.pod.pod->metadata.ns);
    FilterState out;
    cycle.snapshot.terms().ForEach(
        [&](const InternedTerm& term, std::span<const TermCounts::RowCount> rows) {
          if (term.kind != AffinityKind::kRequiredAntiAffinity) return;
          if (!Selects(term.term, cycle, pod->namespace_labels)) return;
          const std::size_t at = out.existing_anti.At(term.term.topology_key, cycle.snapshot);
          for (const auto& [row, pods] : rows) out.existing_anti.Add(at, row, pods);
        });
    const PodAffinityTerms* own = cycle.pod.affinity.get();
    const bool has_affinity = own != nullptr && own->Has(AffinityKind::kRequiredAffinity);
    const bool has_anti = own != nullptr && own->Has(AffinityKind::kRequiredAntiAffinity);
    if (out.existing_anti.total() == 0 && !has_affinity && !has_anti) return Status::Skip();
    if (has_affinity) {
      pod->affinity.any_namespace = true;
      pod->affinity.selector = Selector::Everything();
      own->ForEach(AffinityKind::kRequiredAffinity, [&](const AffinityTerm& term) {
        pod->affinity.And(IncomingMatcher(term, cycle.snapshot));
        pod->affinity_keys.push_back(term.topology_key);
      });
      pod->matches_itself = pod->affinity.Matches(cycle.pod, cycle.snapshot.dictionary());
      const Column<std::int32_t> pods = cycle.snapshot.CountPods(pod->affinity);
      for (const StringId key : pod->affinity_keys) {
        out.affinity.AddAll(out.affinity.At(key, cycle.snapshot), pods);
      }
    }
    if (has_anti) {
      own->ForEach(AffinityKind::kRequiredAntiAffinity, [&](const AffinityTerm& term) {
        pod->anti.push_back({IncomingMatcher(term, cycle.snapshot), term.topology_key});
        out.anti.AddAll(out.anti.At(term.topology_key, cycle.snapshot),
                        cycle.snapshot.CountPods(pod->anti.back().matcher));
      });
    }
    out.pod = std::move(pod);
    state.Emplace<FilterState>(std::move(out));
    return {};
  }

  const PreFilterExtensions* Extensions() const override { return this; }
  Status AddPod(const Cycle& cycle, CycleState& state, const PodInfo& added,
                const NodeInfo& node) const override {
    return Update(cycle, state, added, node.row(), 1);
  }
  Status RemovePod(const Cycle& cycle, CycleState& state, const PodInfo& removed,
                   const NodeInfo& node) const override {
    return Update(cycle, state, removed, node.row(), -1);
  }

  void FilterNodes(const Cycle& cycle, RowRange rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    const Row count = rows.size();
    if (state == nullptr) {
      std::fill_n(codes, count, kFilterFault);
      return;
    }
    if (!state->affinity.domains().empty()) {
      // Without any matching pod anywhere, the first pod of a group that asks for itself passes.
      const bool first = state->affinity.total() == 0 && state->pod->matches_itself;
      for (const DomainCounts::Domain& domain : state->affinity.domains()) {
        const std::uint32_t* ordinals = domain.column->ordinals.data() + rows.begin;
        const std::int64_t* counts = domain.counts.data();
        for (Row i = 0; i < count; ++i) {
          const bool passes = ordinals[i] != 0 && (first || counts[ordinals[i]] > 0);
          codes[i] = passes ? codes[i] : kAffinity;
        }
      }
    }
    Reject(state->anti, rows, kAntiAffinity, codes);
    Reject(state->existing_anti, rows, kExistingAntiAffinity, codes);
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    switch (code) {
      case kFilterFault:
        return Status::Error(
            "error reading \"PreFilterInterPodAffinity\" from cycleState: not found");
      case kAffinity:
        return Status::Unresolvable("node(s) didn't match pod affinity rules");
      case kAntiAffinity:
        return Status::Unschedulable("node(s) didn't match pod anti-affinity rules");
      default:
        return Status::Unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
    }
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    const PodAffinityTerms* own = cycle.pod.affinity.get();
    const bool prefers = own != nullptr && (own->Has(AffinityKind::kPreferredAffinity) ||
                                            own->Has(AffinityKind::kPreferredAntiAffinity));
    if (args_.ignore_preferred_terms_of_existing_pods && !prefers) return Status::Skip();
    ScoreState out;
    if (prefers) {
      for (const auto& term : own->terms) {
        if (IsRequired(term->kind)) continue;
        const std::size_t at = out.scores.At(term->term.topology_key, cycle.snapshot);
        const Column<std::int32_t> pods =
            cycle.snapshot.CountPods(IncomingMatcher(term->term, cycle.snapshot));
        out.scores.AddAll(at, pods, Weight(*term));
      }
    }
    const Labels namespace_labels = cycle.snapshot.NamespaceLabels(cycle.pod.pod->metadata.ns);
    cycle.snapshot.terms().ForEach(
        [&](const InternedTerm& term, std::span<const TermCounts::RowCount> rows) {
          const std::int64_t weight = Weight(term);
          if (weight == 0 || !Selects(term.term, cycle, namespace_labels)) return;
          const std::size_t at = out.scores.At(term.term.topology_key, cycle.snapshot);
          for (const auto& [row, pods] : rows) out.scores.Add(at, row, pods, weight);
        });
    // A sum of zero counts too: what matters is whether any pod was found (scoring.go, PreScore).
    if (out.scores.total() == 0) return Status::Skip();
    state.Emplace<ScoreState>(std::move(out));
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, std::span<const Row> rows,
                    std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) return NoScoreState();
    std::fill_n(out, rows.size(), 0);
    for (const DomainCounts::Domain& domain : state->scores.domains()) {
      const std::uint32_t* ordinals = domain.column->ordinals.data();
      const std::int64_t* scores = domain.counts.data();  // of ordinal 0: none
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] += scores[ordinals[rows[i]]];
    }
    return {};
  }

  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  /// From the least to the highest score to 0 … 100; all equal: 0.
  Status NormalizeScore(const Cycle& cycle, std::span<const Row>,
                        std::span<std::int64_t> scores) const override {
    if (cycle.state.Find<ScoreState>() == nullptr) return NoScoreState();
    if (scores.empty()) return {};
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    const std::int64_t min = *least, range = *most - *least;
    for (std::int64_t& score : scores) {
      score = range > 0 ? static_cast<std::int64_t>(
                              static_cast<double>(kMaxNodeScore) *
                              (static_cast<double>(score - min) / static_cast<double>(range)))
                        : 0;
    }
    return {};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kAdd | kUpdatePodLabel | kDelete}, AfterPodChange},
            {{EventResource::kTargetPod, kUpdatePodLabel}, {}},
            {{EventResource::kNode, kAdd | kUpdateNodeLabel}, AfterNodeChange}};
  }

 private:
  static constexpr std::uint32_t kAffinity = 1;
  static constexpr std::uint32_t kAntiAffinity = 2;
  static constexpr std::uint32_t kExistingAntiAffinity = 3;

  // Sums by topology key and value.
  class DomainCounts {
   public:
    struct Domain {
      StringId key = 0;
      const LabelColumn* column = nullptr;
      Column<std::int64_t> counts;  // by ordinal; that of 0 stays 0; shared until changed
    };

    // The place of a key, made of zeros if it is new.
    std::size_t At(StringId key, const Snapshot& snapshot) {
      for (std::size_t i = 0; i < domains_.size(); ++i) {
        if (domains_[i].key == key) return i;
      }
      const LabelColumn& column = snapshot.Label(key);
      domains_.push_back({key, &column, {}});
      domains_.back().counts.Mutable().resize(column.OrdinalCount());
      return domains_.size() - 1;
    }
    // `pods` of a row count with `weight`; rows without the key count nowhere.
    void Add(std::size_t at, Row row, std::int64_t pods, std::int64_t weight = 1) {
      const std::uint32_t ordinal = domains_[at].column->ordinals[row];
      if (ordinal == 0) return;
      domains_[at].counts.Mutable()[ordinal] += pods * weight;
      total_ += pods;
    }
    void AddAll(std::size_t at, const Column<std::int32_t>& pods, std::int64_t weight = 1) {
      const std::uint32_t* ordinals = domains_[at].column->ordinals.data();
      std::int64_t* counts = domains_[at].counts.Mutable().data();
      for (std::size_t row = 0; row < pods.size(); ++row) {
        counts[ordinals[row]] += pods[row] * weight;
        total_ += ordinals[row] == 0 ? 0 : pods[row];
      }
      counts[0] = 0;
    }
    // How many pods were counted.
    std::int64_t total() const { return total_; }
    const std::vector<Domain>& domains() const { return domains_; }

   private:
    std::vector<Domain> domains_;
    std::int64_t total_ = 0;
  };

  struct AntiTerm {
    PodMatcher matcher;
    StringId topology_key = 0;
  };
  // What stays the same in a cycle.
  struct IncomingPod {
    PodMatcher affinity;  // the pods that match all required terms at once
    std::vector<StringId> affinity_keys;
    std::vector<AntiTerm> anti;
    bool matches_itself = false;
    Labels namespace_labels;
  };
  struct FilterState {
    std::shared_ptr<const IncomingPod> pod;
    DomainCounts affinity;       // pods that match all required affinity terms
    DomainCounts anti;           // pods that match a required anti-affinity term
    DomainCounts existing_anti;  // pods whose required anti-affinity selects the pod
  };
  struct ScoreState {
    DomainCounts scores;
  };

  static bool IsRequired(AffinityKind kind) {
    return kind == AffinityKind::kRequiredAffinity || kind == AffinityKind::kRequiredAntiAffinity;
  }

  static Status NoScoreState() {
    return Status::Error("failed to read \"PreScoreInterPodAffinity\" from cycleState: not found");
  }

  // What a term adds to the score where it matches.
  std::int64_t Weight(const InternedTerm& term) const {
    switch (term.kind) {
      case AffinityKind::kRequiredAffinity:
        return args_.hard_pod_affinity_weight;
      case AffinityKind::kPreferredAffinity:
        return term.term.weight;
      case AffinityKind::kPreferredAntiAffinity:
        return -std::int64_t{term.term.weight};
      default:
        return 0;
    }
  }

  // Whether a term of an existing pod selects the pod to be placed.
  static bool Selects(const AffinityTerm& term, const Cycle& cycle,
                      const Labels& namespace_labels) {
    const Dictionary& dictionary = cycle.snapshot.dictionary();
    return term.Matches(cycle.pod.ns, namespace_labels, dictionary.LabelsOf(cycle.pod.label_set),
                        dictionary);
  }

  // The pods that a term of the pod to be placed selects. Its namespaceSelector is looked up among
  // the namespaces there are; an empty one selects every pod, also in namespaces without an object
  // (plugin.go, mergeAffinityTermNamespacesIfNotEmpty).
  static PodMatcher IncomingMatcher(const AffinityTerm& term, const Snapshot& snapshot) {
    PodMatcher out;
    out.selector = term.selector;
    out.any_namespace = term.namespace_selector.Empty();
    if (out.any_namespace) return out;
    out.namespaces = term.namespaces;
    if (term.namespace_selector.IsNothing()) return out;
    Dictionary& dictionary = snapshot.dictionary();
    for (const api::Namespace& ns : snapshot.objects().namespaces) {
      if (term.namespace_selector.Matches(dictionary.InternLabels(ns.metadata.labels),
                                          dictionary)) {
        out.namespaces.push_back(dictionary.Intern(ns.metadata.name));
      }
    }
    std::sort(out.namespaces.begin(), out.namespaces.end());
    out.namespaces.erase(std::unique(out.namespaces.begin(), out.namespaces.end()),
                         out.namespaces.end());
    return out;
  }

  static void Reject(const DomainCounts& rejected, RowRange rows, std::uint32_t code,
                     std::uint32_t* codes) {
    if (rejected.total() == 0) return;
    for (const DomainCounts::Domain& domain : rejected.domains()) {
      const std::uint32_t* ordinals = domain.column->ordinals.data() + rows.begin;
      const std::int64_t* counts = domain.counts.data();
      for (Row i = 0; i < rows.size(); ++i) {
        codes[i] = codes[i] == 0 && counts[ordinals[i]] > 0 ? code : codes[i];
      }
    }
  }

  static Status Update(const Cycle& cycle, CycleState& state, const PodInfo& pod, Row row,
                       std::int64_t delta) {
    FilterState* filter = state.Find<FilterState>();
    if (filter == nullptr) {
      return Status::Error(
          "error reading \"PreFilterInterPodAffinity\" from cycleState: not found");
    }
    const IncomingPod& incoming = *filter->pod;
    const Dictionary& dictionary = cycle.snapshot.dictionary();
    if (pod.affinity) {
      pod.affinity->ForEach(AffinityKind::kRequiredAntiAffinity, [&](const AffinityTerm& term) {
        if (!Selects(term, cycle, incoming.namespace_labels)) return;
        DomainCounts& counts = filter->existing_anti;
        counts.Add(counts.At(term.topology_key, cycle.snapshot), row, delta);
      });
    }
    if (!incoming.affinity_keys.empty() && incoming.affinity.Matches(pod, dictionary)) {
      for (const StringId key : incoming.affinity_keys) {
        filter->affinity.Add(filter->affinity.At(key, cycle.snapshot), row, delta);
      }
    }
    for (const AntiTerm& term : incoming.anti) {
      if (!term.matcher.Matches(pod, dictionary)) continue;
      filter->anti.Add(filter->anti.At(term.topology_key, cycle.snapshot), row, delta);
    }
    return {};
  }

  // The terms of a kind of two pods that may come from different clusters: both compiled anew with
  // a dictionary of their own.
  class PodPair {
   public:
    PodPair(const PodInfo& pod, const PodInfo* other) {
      pod_ = Compiled(pod);
      if (other != nullptr) other_ = Compiled(*other);
    }
    bool ok() const { return pod_ != nullptr; }
    // Whether `other` matches all required affinity terms of the pod (false without any).
    bool MatchesAllAffinity() const {
      bool all = true, any = false;
      ForEachOf(*pod_, AffinityKind::kRequiredAffinity, [&](const AffinityTerm& term) {
        any = true;
        all = all && Selects(term, *other_);
      });
      return any && all;
    }
    // Whether `other` matches a required anti-affinity term of the pod.
    bool MatchesAnyAntiAffinity() const { return AnyAntiAffinity(*pod_, *other_); }
    // The same the other way round.
    bool IsMatchedByAnyAntiAffinity() const { return AnyAntiAffinity(*other_, *pod_); }

   private:
    template <typename F>
    static void ForEachOf(const PodInfo& pod, AffinityKind kind, F&& fn) {
      if (pod.affinity) pod.affinity->ForEach(kind, fn);
    }
    bool AnyAntiAffinity(const PodInfo& of, const PodInfo& other) const {
      bool any = false;
      ForEachOf(of, AffinityKind::kRequiredAntiAffinity,
                [&](const AffinityTerm& term) { any = any || Selects(term, other); });
      return any;
    }
    // Hints don't look at the labels of namespaces (plugin.go).
    bool Selects(const AffinityTerm& term, const PodInfo& other) const {
      return term.Matches(other.ns, {}, dictionary_.LabelsOf(other.label_set), dictionary_);
    }
    PodPtr Compiled(const PodInfo& pod) {
      auto compiled = CompilePod(pod.pod, /*with_plan=*/false, dictionary_);
      return compiled ? *compiled : nullptr;
    }

    Dictionary dictionary_;
    PodPtr pod_;
    PodPtr other_;
  };

  static QueueingHint AfterPodChange(const PodInfo& pod, const ObjectChange& change) {
    const auto hint = [](bool queue) { return queue ? QueueingHint::kQueue : QueueingHint::kSkip; };
    if (change.old_pod != nullptr && change.new_pod != nullptr) {
      const PodPair before(pod, change.old_pod), after(pod, change.new_pod);
      return hint((!before.MatchesAllAffinity() && after.MatchesAllAffinity()) ||
                  (before.MatchesAnyAntiAffinity() && !after.MatchesAnyAntiAffinity()));
    }
    if (change.new_pod != nullptr) return hint(PodPair(pod, change.new_pod).MatchesAllAffinity());
    if (change.old_pod == nullptr) return QueueingHint::kQueue;
    const PodPair pair(pod, change.old_pod);
    return hint(pair.MatchesAnyAntiAffinity() || pair.IsMatchedByAnyAntiAffinity());
  }

  // A node that came, or whose domain of some topology key of the pod changed.
  static QueueingHint AfterNodeChange(const PodInfo& pod, const ObjectChange& change) {
    const auto label = [](const api::Node* node, const std::string& key) -> const std::string* {
      if (node == nullptr) return nullptr;
      const auto it = node->metadata.labels.find(key);
      return it == node->metadata.labels.end() ? nullptr : &it->second;
    };
    const api::Affinity& affinity = pod.pod->spec.affinity;
    if (affinity.pod_affinity) {
      for (const api::PodAffinityTerm& term : affinity.pod_affinity->required) {
        const std::string* before = label(change.old_node, term.topology_key);
        const std::string* after = label(change.new_node, term.topology_key);
        if (after != nullptr && (before == nullptr || *before != *after)) {
          return QueueingHint::kQueue;
        }
      }
    }
    if (affinity.pod_anti_affinity && !affinity.pod_anti_affinity->required.empty()) {
      if (change.old_node == nullptr) return QueueingHint::kQueue;
      for (const api::PodAffinityTerm& term : affinity.pod_anti_affinity->required) {
        const std::string* before = label(change.old_node, term.topology_key);
        const std::string* after = label(change.new_node, term.topology_key);
        if (before != nullptr && (after == nullptr || *before != *after)) {
          return QueueingHint::kQueue;
        }
      }
    }
    return QueueingHint::kSkip;
  }

  InterPodAffinityArgs args_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_INTER_POD_AFFINITY_H_
