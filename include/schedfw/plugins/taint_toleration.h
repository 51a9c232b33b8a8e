// TaintToleration: taints keep pods away that don't tolerate them.
#ifndef SCHEDFW_PLUGINS_TAINT_TOLERATION_H_
#define SCHEDFW_PLUGINS_TAINT_TOLERATION_H_

#include <vector>

#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/normalize.h"
#include "schedfw/plugins/tolerations.h"

namespace schedfw {

/// Filters nodes with untolerated NoSchedule and NoExecute taints; prefers nodes with fewer
/// untolerated PreferNoSchedule taints (plugins/tainttoleration). Works on interned lists of
/// taints: each distinct list is compared once a cycle.
class TaintToleration : public PreFilterPlugin,
                        public BatchFilterPlugin,
                        public PreScorePlugin,
                        public BatchScorePlugin,
                        public DefaultNormalizeScore</*kReverse=*/true>,
                        public EnqueueExtensions,
                        public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "TaintToleration";

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    std::vector<std::uint8_t> rejected =
        UntoleratedTaintSets(cycle.snapshot.dictionary(), cycle.pod.pod->spec.tolerations);
    if (rejected.empty()) return Status::Skip();
    state.Emplace<FilterState>(std::move(rejected));
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const FilterState* state = cycle.state.Find<FilterState>();
    FilterState own;
    if (state == nullptr) {  // its PreFilter is disabled
      own.rejected =
          UntoleratedTaintSets(cycle.snapshot.dictionary(), cycle.pod.pod->spec.tolerations);
      state = &own;
    }
    if (state->rejected.empty()) return;
    const TaintSetId* sets = cycle.snapshot.TaintSets();
    for (Row i = 0; i < rows.size(); ++i) codes[i] = state->rejected[sets[rows[i]]];
  }
  Status Explain(const Cycle&, std::uint32_t) const override {
    return Status::Unresolvable("node(s) had untolerated taint(s)");
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    ScoreState& out = state.Reuse<ScoreState>();
    const Dictionary& dictionary = cycle.snapshot.dictionary();
    out.all_zero = true;
    out.counts.assign(dictionary.TaintSetCount(), 0);
    for (TaintSetId id = 1; id < out.counts.size(); ++id) {
      for (const api::Taint& taint : dictionary.TaintsOf(id)) {
        if (taint.effect == api::TaintEffect::kPreferNoSchedule &&
            !Tolerates(cycle.pod.pod->spec.tolerations, taint)) {
          ++out.counts[id];
          out.all_zero = false;
        }
      }
    }
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    if (state == nullptr) {
      return Status::Error("failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    }
    const TaintSetId* sets = cycle.snapshot.TaintSets();
    for (Row i = 0; i < rows.size(); ++i) out[i] = state->counts[sets[rows[i]]];
    return {};
  }
  std::optional<std::int64_t> UniformScore(const Cycle& cycle) const override {
    const ScoreState* state = cycle.state.Find<ScoreState>();
    return state != nullptr && state->all_zero ? std::optional<std::int64_t>(0) : std::nullopt;
  }
  const ScoreExtensions* NormalizeExtensions() const override { return this; }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kNode, kAdd | kUpdateNodeTaint},
             [](const PodInfo& pod, const ObjectChange& change) {
               const auto& tolerations = pod.pod->spec.tolerations;
               const bool was = change.old_node == nullptr ||
                                HasUntoleratedTaint(change.old_node->spec.taints, tolerations);
               const bool is = change.new_node == nullptr ||
                               HasUntoleratedTaint(change.new_node->spec.taints, tolerations);
               return was && !is ? QueueingHint::kQueue : QueueingHint::kSkip;
             }},
            {{EventResource::kTargetPod, kUpdatePodToleration}, {}}};
  }

 private:
  struct FilterState {
    std::vector<std::uint8_t> rejected;  // by taint set; empty: none is
  };
  struct ScoreState {
    std::vector<std::int64_t> counts;  // by taint set
    bool all_zero = true;
  };
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_TAINT_TOLERATION_H_
