// NodeAffinity: nodeSelector and node affinity.
#ifndef SCHEDFW_PLUGINS_NODE_AFFINITY_H_
#define SCHEDFW_PLUGINS_NODE_AFFINITY_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"
#include "schedfw/plugins/node_match.h"
#include "schedfw/plugins/normalize.h"

namespace schedfw {

struct NodeAffinityArgs {
  std::optional<api::NodeAffinity> added_affinity;
};
template <typename V>
void Fields(V& v, NodeAffinityArgs& args) {
  v("addedAffinity", args.added_affinity,
    Arg{.help = "A node affinity that every pod of the profile has besides its own",
        .allowed = "a NodeAffinity"});
}
/// The first term that can't be parsed, or nullptr.
inline const NodeTerm* FirstError(const std::vector<NodeTerm>& terms) {
  for (const NodeTerm& term : terms) {
    if (!term.error.empty()) return &term;
  }
  return nullptr;
}
/// Terms that could not match are refused.
inline Result<void> Validate(const NodeAffinityArgs& args) {
  Dictionary scratch;
  if (!args.added_affinity) return {};
  if (args.added_affinity->required) {
    auto terms = CompileNodeSelector(*args.added_affinity->required, scratch);
    if (!terms) {
      return ConfigError("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: " +
                         terms.error().message());
    }
    if (const NodeTerm* bad = FirstError(*terms)) {
      return ConfigError("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: " +
                         bad->error);
    }
  }
  auto terms = CompilePreferredTerms(args.added_affinity->preferred, scratch);
  if (!terms) {
    return ConfigError("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution" +
                       terms.error().message());
  }
  if (const NodeTerm* bad = FirstError(*terms)) {
    return ConfigError("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: " +
                       bad->error);
  }
  return {};
}

/// Filters nodes by the pod's nodeSelector and required node affinity and by the profile's added
/// affinity; scores by the weights of matching preferred terms (plugins/nodeaffinity).
class NodeAffinity : public PreFilterPlugin,
                     public BatchFilterPlugin,
                     public PreScorePlugin,
                     public BatchScorePlugin,
                     public DefaultNormalizeScore</*kReverse=*/false>,
                     public EnqueueExtensions,
                     public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NodeAffinity";

  explicit NodeAffinity(const NodeAffinityArgs& args) : added_(args.added_affinity) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult& result) override {
    const api::PodSpec& spec = cycle.pod.pod->spec;
    const api::NodeSelector* required =
        spec.affinity.node_affinity && spec.affinity.node_affinity->required
            ? &*spec.affinity.node_affinity->required
            : nullptr;
    if (required == nullptr && !HasAddedRequired() && !spec.node_selector) return Status::Skip();
    state.Emplace<FilterState>(MakeFilterState(cycle));
    if (required == nullptr || required->node_selector_terms.empty()) return {};

    // When every term names nodes, only those need to be looked at.
    std::set<std::string> names;
    for (const api::NodeSelectorTerm& term : required->node_selector_terms) {
      std::optional<std::set<std::string>> of_term;
      for (const api::SelectorRequirement& field : term.match_fields) {
        if (field.key != "metadata.name" || field.op != api::SelectorOperator::kIn) continue;
        const std::set<std::string> values(field.values.begin(), field.values.end());
        if (!of_term) {
          of_term = values;
        } else {
          std::erase_if(*of_term, [&](const std::string& n) { return !values.contains(n); });
        }
      }
      if (!of_term) return {};
      names.merge(*of_term);
    }
    if (names.empty()) return Status::Unresolvable("pod affinity terms conflict");
    result.node_names = std::move(names);
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    std::optional<FilterState> own;
    if (state == nullptr) state = &own.emplace(MakeFilterState(cycle));
    for (Row i = 0; i < rows.size(); ++i) {
      std::uint32_t code = state->pod.Matches(rows[i]) ? 0 : kPodMismatch;
      if (state->added && !state->added->Matches(rows[i])) code = kEnforcedMismatch;
      codes[i] = code;
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    return Status::Unresolvable(code == kEnforcedMismatch
                                    ? "node(s) didn't match scheduler-enforced node affinity"
                                    : "node(s) didn't match Pod's node affinity/selector");
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    const auto& own = cycle.pod.pod->spec.affinity.node_affinity;
    const bool preferred = own && !own->preferred.empty();
    if (!preferred && !(added_ && !added_->preferred.empty())) return Status::Skip();
    if (Status s = PreferredError(cycle); !s.ok()) return s;
    state.Emplace<ScoreState>(MakeScoreState(cycle));
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    std::optional<ScoreState> own;
    if (state == nullptr) {  // its PreScore is disabled
      if (Status s = PreferredError(cycle); !s.ok()) return s;
      state = &own.emplace(MakeScoreState(cycle));
    }
    for (Row i = 0; i < rows.size(); ++i) {
      std::int64_t sum = 0;
      for (const RowTerm& term : state->terms) {
        if (term.Matches(rows[i])) sum += term.weight();
      }
      out[i] = sum;
    }
    return {};
  }
  const ScoreExtensions* NormalizeExtensions() const override { return this; }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kNode, kAdd | kUpdateNodeLabel},
             [this](const PodInfo& pod, const ObjectChange& change) {
               return AfterNodeChange(pod.pod->spec, change);
             }}};
  }

 private:
  static constexpr std::uint32_t kPodMismatch = 1;
  static constexpr std::uint32_t kEnforcedMismatch = 2;

  struct FilterState {
    RowAffinity pod;
    std::optional<RowAffinity> added;
  };
  struct ScoreState {
    std::vector<RowTerm> terms;
  };

  static Status PreferredError(const Cycle& cycle) {
    for (const NodeTerm& term : cycle.plan().preferred_node_affinity) {
      if (!term.error.empty()) return Status::Error(term.error);
    }
    return {};
  }

  bool HasAddedRequired() const { return added_ && added_->required; }

  // Compiles the profile's affinity; it was validated when the plugin was made.
  RequiredNodeAffinity AddedRequired(Dictionary& dictionary) const {
    RequiredNodeAffinity out;
    out.has_terms = true;
    if (auto terms = CompileNodeSelector(*added_->required, dictionary)) {
      out.terms = *std::move(terms);
    }
    return out;
  }

  FilterState MakeFilterState(const Cycle& cycle) const {
    FilterState out{RowAffinity(cycle.plan().required_node_affinity, cycle.snapshot), {}};
    if (HasAddedRequired()) {
      out.added.emplace(AddedRequired(cycle.snapshot.dictionary()), cycle.snapshot);
    }
    return out;
  }

  ScoreState MakeScoreState(const Cycle& cycle) const {
    ScoreState out;
    if (added_) {
      auto terms = CompilePreferredTerms(added_->preferred, cycle.snapshot.dictionary());
      if (terms) {
        for (const NodeTerm& term : *terms) out.terms.emplace_back(term, cycle.snapshot);
      }
    }
    for (const NodeTerm& term : cycle.plan().preferred_node_affinity) {
      out.terms.emplace_back(term, cycle.snapshot);
    }
    return out;
  }

  // As upstream, the old node is matched against the pod's own affinity alone, so that a node which
  // now meets the profile's affinity too doesn't help (isSchedulableAfterNodeChange).
  QueueingHint AfterNodeChange(const api::PodSpec& spec, const ObjectChange& change) const {
    if (change.new_node == nullptr) return QueueingHint::kSkip;
    if (HasAddedRequired() && MatchNode(*added_->required, *change.new_node) != NodeMatch::kYes) {
      return QueueingHint::kSkip;
    }
    const NodeMatch now = MatchNode(spec, *change.new_node);
    if (now == NodeMatch::kNo) return QueueingHint::kSkip;
    if (now == NodeMatch::kUnparsable || change.old_node == nullptr) return QueueingHint::kQueue;
    return MatchNode(spec, *change.old_node) == NodeMatch::kYes ? QueueingHint::kSkip
                                                                : QueueingHint::kQueue;
  }

  std::optional<api::NodeAffinity> added_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_AFFINITY_H_
