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
#include "schedfw/plugins/affinity_counts.h"
#include "schedfw/plugins/normalize.h"

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
/// matcher (PodCounts); sums over the label columns of the topology keys are kept from cycle to
/// cycle (AffinityCounts).
class InterPodAffinity : public PreFilterPlugin,
                         public PreFilterExtensions,
                         public BatchFilterPlugin,
                         public PreScorePlugin,
                         public BatchScorePlugin,
                         public BatchScoreExtensions,
                         public EnqueueExtensions,
                         public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "InterPodAffinity";

  explicit InterPodAffinity(const InterPodAffinityArgs& args) : args_(args) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    if (cycle.plan().affinity == nullptr && cycle.snapshot.terms().empty()) return Status::Skip();
    Incoming& incoming = FindIncoming(cycle);
    const IncomingPod& pod = *incoming.pod;
    FilterState& out = state.Reuse<FilterState>();
    out.EndCycle();
    ForEachSelecting(cycle, incoming, [&](const InternedTerm& term) {
      if (term.kind != AffinityKind::kRequiredAntiAffinity) return;
      out.existing_anti.Add(term.term.topology_key, counts_.WithTerm(cycle.snapshot, term.id));
    });
    if (out.existing_anti.total() == 0 && pod.affinity == nullptr && pod.anti.empty()) {
      state.Drop<FilterState>();
      return Status::Skip();
    }
    for (const StringId key : pod.affinity_keys) {
      out.affinity.Add(key, counts_.Matching(cycle.snapshot, pod.affinity, key));
    }
    for (const OwnTerm& term : pod.anti) {
      out.anti.Add(term.topology_key,
                   counts_.Matching(cycle.snapshot, term.matcher, term.topology_key));
    }
    out.pod = incoming.pod;
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

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
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
        const std::uint32_t* ordinals = domain.column->ordinals.data();
        const std::int64_t* counts = domain.counts.data();
        for (Row i = 0; i < count; ++i) {
          const std::uint32_t ordinal = ordinals[rows[i]];
          const bool passes = ordinal != 0 && (first || counts[ordinal] > 0);
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
    const bool none = cycle.plan().affinity == nullptr && cycle.snapshot.terms().empty();
    if (none) return Status::Skip();
    Incoming& incoming = FindIncoming(cycle);
    const IncomingPod& pod = *incoming.pod;
    if (args_.ignore_preferred_terms_of_existing_pods && pod.preferred.empty()) {
      return Status::Skip();
    }
    ScoreState& out = state.Reuse<ScoreState>();
    out.EndCycle();
    for (const OwnTerm& term : pod.preferred) {
      out.scores.Add(term.topology_key,
                     counts_.Matching(cycle.snapshot, term.matcher, term.topology_key),
                     term.weight);
    }
    ForEachSelecting(cycle, incoming, [&](const InternedTerm& term) {
      const std::int64_t weight = Weight(term);
      if (weight == 0) return;
      out.scores.Add(term.term.topology_key, counts_.WithTerm(cycle.snapshot, term.id), weight);
    });
    // A sum of zero counts too: what matters is whether any pod was found (scoring.go, PreScore).
    if (out.scores.total() != 0) return {};
    state.Drop<ScoreState>();
    return Status::Skip();
  }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) return NoScoreState();
    std::fill_n(out, rows.size(), 0);
    for (const DomainCounts::Domain& domain : state->scores.domains()) {
      const std::uint32_t* ordinals = domain.column->ordinals.data();
      const std::int64_t* scores = domain.counts.data();  // of ordinal 0: none
      for (Row i = 0; i < rows.size(); ++i) out[i] += scores[ordinals[rows[i]]];
    }
    return {};
  }

  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  /// From the least to the highest score to 0 … 100; all equal: 0.
  void Bound(const Cycle&, Rows rows, const std::int64_t* scores,
             ScoreBounds& bounds) const override {
    AddBounds(scores, rows.size(), bounds);
  }
  void NormalizeBlock(const Cycle&, Rows rows, const ScoreBounds& bounds,
                      std::int64_t* scores) const override {
    const std::int64_t range = bounds.max - bounds.min;
    for (Row i = 0; i < rows.size(); ++i) {
      scores[i] = range > 0
                      ? static_cast<std::int64_t>(static_cast<double>(kMaxNodeScore) *
                                                  (static_cast<double>(scores[i] - bounds.min) /
                                                   static_cast<double>(range)))
                      : 0;
    }
  }

  Dependence FilterDependence(const Cycle&) const override { return Dependence::kDomain; }
  Dependence ScoreDependence(const Cycle&) const override { return Dependence::kDomain; }
  void AddFilterColumns(const Cycle& cycle, std::vector<GroupColumn>& out) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    if (state == nullptr) return;
    for (const DomainCounts* counts : {&state->affinity, &state->anti, &state->existing_anti}) {
      AddColumns(*counts, out);
    }
  }
  void AddScoreColumns(const Cycle& cycle, std::vector<GroupColumn>& out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state != nullptr) AddColumns(state->scores, out);
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

  struct OwnTerm {
    std::shared_ptr<const PodMatcher> matcher;
    StringId topology_key = 0;
    std::int64_t weight = 1;
  };
  // What the pod to be placed asks for; the same for all pods of its plan while namespaces stay.
  struct IncomingPod {
    std::shared_ptr<const PodMatcher> affinity;  // pods that match all required terms at once
    std::vector<StringId> affinity_keys;
    std::vector<OwnTerm> anti;       // required
    std::vector<OwnTerm> preferred;  // weights of anti-affinity are negative
    bool matches_itself = false;
    Labels namespace_labels;
  };
  struct Incoming {
    std::shared_ptr<const PodPlan> plan;
    std::uint64_t objects_id = 0;
    std::shared_ptr<const IncomingPod> pod;
    std::vector<std::uint8_t> selected_by;  // by term: 0 not asked yet, 1 no, 2 yes
  };
  struct FilterState {
    std::shared_ptr<const IncomingPod> pod;
    DomainCounts affinity;       // pods that match all required affinity terms
    DomainCounts anti;           // pods that match a required anti-affinity term
    DomainCounts existing_anti;  // pods whose required anti-affinity selects the pod

    void EndCycle() {
      affinity.Clear();
      anti.Clear();
      existing_anti.Clear();
    }
  };
  struct ScoreState {
    DomainCounts scores;

    void EndCycle() { scores.Clear(); }
  };

  static void AddColumns(const DomainCounts& counts, std::vector<GroupColumn>& out) {
    for (const DomainCounts::Domain& domain : counts.domains()) {
      out.push_back(GroupColumn::Of(*domain.column, domain.counts.data()));
    }
  }

  Incoming& FindIncoming(const Cycle& cycle) {
    const auto hash = reinterpret_cast<std::uintptr_t>(cycle.pod.plan.get()) / 64;
    Incoming& out = incoming_[hash % incoming_.size()];
    if (out.plan == cycle.pod.plan && out.objects_id == cycle.snapshot.objects_id()) return out;
    out.plan = cycle.pod.plan;
    out.objects_id = cycle.snapshot.objects_id();
    out.selected_by.clear();
    auto pod = std::make_shared<IncomingPod>();
    pod->namespace_labels = cycle.snapshot.NamespaceLabels(cycle.pod.pod->metadata.ns);
    if (const PodAffinityTerms* own = cycle.plan().affinity.get()) {
      PodMatcher all;
      all.any_namespace = true;
      all.selector = Selector::Everything();
      for (const auto& term : own->terms) {
        PodMatcher matcher = IncomingMatcher(term->term, cycle.snapshot);
        if (term->kind == AffinityKind::kRequiredAffinity) {
          all.And(matcher);
          pod->affinity_keys.push_back(term->term.topology_key);
          continue;
        }
        const bool required = term->kind == AffinityKind::kRequiredAntiAffinity;
        (required ? pod->anti : pod->preferred)
            .push_back({std::make_shared<const PodMatcher>(std::move(matcher)),
                        term->term.topology_key, required ? 1 : Weight(*term)});
      }
      if (!pod->affinity_keys.empty()) {
        pod->matches_itself = all.Matches(cycle.pod, cycle.snapshot.dictionary());
        pod->affinity = std::make_shared<const PodMatcher>(std::move(all));
      }
    }
    out.pod = std::move(pod);
    return out;
  }

  // Calls fn(const InternedTerm&) for the terms of pods on nodes that select the pod. In the order
  // of ids, on which no result may depend.
  template <typename F>
  static void ForEachSelecting(const Cycle& cycle, Incoming& incoming, F&& fn) {
    const TermCounts& terms = cycle.snapshot.terms();
    if (incoming.selected_by.size() < terms.size()) incoming.selected_by.resize(terms.size());
    for (AffinityTermId id = 0; id < terms.size(); ++id) {
      std::uint8_t& answer = incoming.selected_by[id];
      if (answer == 1 || terms.rows(id).empty()) continue;
      const InternedTerm& term = *terms.term(id);
      if (answer == 0) {
        answer = Selects(term.term, cycle, incoming.pod->namespace_labels) ? 2 : 1;
      }
      if (answer == 2) fn(term);
    }
  }

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
    return term.Matches(cycle.pod.ns(), namespace_labels,
                        dictionary.LabelsOf(cycle.pod.label_set()), dictionary);
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

  static void Reject(const DomainCounts& rejected, Rows rows, std::uint32_t code,
                     std::uint32_t* codes) {
    if (rejected.total() == 0) return;
    for (const DomainCounts::Domain& domain : rejected.domains()) {
      const std::uint32_t* ordinals = domain.column->ordinals.data();
      const std::int64_t* counts = domain.counts.data();
      for (Row i = 0; i < rows.size(); ++i) {
        codes[i] = codes[i] == 0 && counts[ordinals[rows[i]]] > 0 ? code : codes[i];
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
    if (pod.plan->affinity) {
      pod.plan->affinity->ForEach(
          AffinityKind::kRequiredAntiAffinity, [&](const AffinityTerm& term) {
            if (!Selects(term, cycle, incoming.namespace_labels)) return;
            filter->existing_anti.Change(term.topology_key, cycle.snapshot, row, delta);
          });
    }
    if (incoming.affinity != nullptr && incoming.affinity->Matches(pod, dictionary)) {
      for (const StringId key : incoming.affinity_keys) {
        filter->affinity.Change(key, cycle.snapshot, row, delta);
      }
    }
    for (const OwnTerm& term : incoming.anti) {
      if (!term.matcher->Matches(pod, dictionary)) continue;
      filter->anti.Change(term.topology_key, cycle.snapshot, row, delta);
    }
    return {};
  }

  // Hints don't look at the labels of namespaces (plugin.go): a namespaceSelector matches a
  // namespace only if it matches one without labels.
  static bool SelectsForHint(const AffinityTerm& term, const PodInfo& pod) {
    return term.Matches(pod.ns(), {}, pod.labels(), *pod.plan->dictionary);
  }
  // Whether `other` matches all required affinity terms of `pod`; false without any.
  static bool MatchesAllAffinity(const PodInfo& pod, const PodInfo& other) {
    if (pod.plan->affinity == nullptr) return false;
    bool all = true, any = false;
    pod.plan->affinity->ForEach(AffinityKind::kRequiredAffinity, [&](const AffinityTerm& term) {
      any = true;
      all = all && SelectsForHint(term, other);
    });
    return any && all;
  }
  // Whether `other` matches a required anti-affinity term of `pod`.
  static bool MatchesAnyAntiAffinity(const PodInfo& pod, const PodInfo& other) {
    if (pod.plan->affinity == nullptr) return false;
    bool any = false;
    pod.plan->affinity->ForEach(AffinityKind::kRequiredAntiAffinity, [&](const AffinityTerm& term) {
      any = any || SelectsForHint(term, other);
    });
    return any;
  }

  static QueueingHint AfterPodChange(const PodInfo& pod, const ObjectChange& change) {
    const auto hint = [](bool queue) { return queue ? QueueingHint::kQueue : QueueingHint::kSkip; };
    const PodInfo* before = change.old_pod;
    const PodInfo* after = change.new_pod;
    if (before != nullptr && after != nullptr) {
      return hint((!MatchesAllAffinity(pod, *before) && MatchesAllAffinity(pod, *after)) ||
                  (MatchesAnyAntiAffinity(pod, *before) && !MatchesAnyAntiAffinity(pod, *after)));
    }
    if (after != nullptr) return hint(MatchesAllAffinity(pod, *after));
    if (before == nullptr) return QueueingHint::kQueue;
    return hint(MatchesAnyAntiAffinity(pod, *before) || MatchesAnyAntiAffinity(*before, pod));
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
  std::array<Incoming, 64> incoming_;
  AffinityCounts counts_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_INTER_POD_AFFINITY_H_
