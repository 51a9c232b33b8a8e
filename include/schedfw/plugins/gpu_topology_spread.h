// GpuTopologySpread: spreads pods over NVLink islands or NUMA nodes, and keeps each within one.
#ifndef SCHEDFW_PLUGINS_GPU_TOPOLOGY_SPREAD_H_
#define SCHEDFW_PLUGINS_GPU_TOPOLOGY_SPREAD_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/normalize.h"
#include "schedfw/plugins/topology_scores.h"

namespace schedfw {

/// What counts as a domain of GPUs.
enum class GpuDomain : std::uint8_t { kNvLinkIsland, kNumaNode };

}  // namespace schedfw

template <>
struct schedfw::api::EnumNames<schedfw::GpuDomain> {
  static constexpr std::pair<std::string_view, schedfw::GpuDomain> kNames[] = {
      {"NVLinkIsland", schedfw::GpuDomain::kNvLinkIsland},
      {"NUMANode", schedfw::GpuDomain::kNumaNode},
  };
};

namespace schedfw {

struct GpuTopologySpreadArgs {
  GpuDomain domain = GpuDomain::kNvLinkIsland;
  std::int32_t max_skew = 1;
  api::UnsatisfiableConstraintAction when_unsatisfiable =
      api::UnsatisfiableConstraintAction::kScheduleAnyway;
};
template <typename V>
void Fields(V& v, GpuTopologySpreadArgs& args) {
  v("domain", args.domain, Arg{.help = "What pods are spread over, and kept within"});
  v("maxSkew", args.max_skew,
    Arg{.help = "With DoNotSchedule: how many more matching pods a domain may have than the one "
                "with the fewest",
        .min = 1,
        .max = std::numeric_limits<std::int32_t>::max()});
  v("whenUnsatisfiable", args.when_unsatisfiable,
    Arg{.help = "Whether a pod waits rather than break this, or rather goes where it breaks it "
                "least"});
}

/// Spreads the pods that a pod's own spread constraint selects over groups of GPUs that can talk to
/// each other, where PodTopologySpread sees nothing below a node.
///
/// A domain is an NVLink island or the GPUs of one NUMA node. A pod gets all its GPUs from one
/// domain if there is one with as many free, from that with the fewest matching pods, then the best
/// GPUs (GpuTopology). Matching pods are those of its namespace that its first topology spread
/// constraint selects; a pod without one, or without whole GPUs, isn't looked at. Score: the number
/// of matching pods in the domain that it would get, turned around and scaled to 100; a node
/// without such a domain scores 0. With DoNotSchedule the filter rejects nodes without such a
/// domain, and domains that would have more than maxSkew matching pods more than the domain of the
/// cluster that has the fewest (domains that are too small for the pod don't count).
///
/// Two look-ups a node without matching pods, else O(GPUs + pods of the node); with DoNotSchedule
/// O(nodes + pods) a cycle.
class GpuTopologySpread : public PreFilterPlugin,
                          public PreFilterExtensions,
                          public BatchFilterPlugin,
                          public PreScorePlugin,
                          public BatchScorePlugin,
                          public BatchScoreExtensions,
                          public IncrementalPlugin,
                          public internal::TopologyPlugin,
                          public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "GpuTopologySpread";

  explicit GpuTopologySpread(const GpuTopologySpreadArgs& args) : args_(args) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    if (!IsHard() || Constraint(cycle) == nullptr) return Status::Skip();
    return Count(cycle, state);
  }
  const PreFilterExtensions* Extensions() const override { return this; }
  Status AddPod(const Cycle& cycle, CycleState& state, const PodInfo&,
                const NodeInfo&) const override {
    return Count(cycle, state);
  }
  Status RemovePod(const Cycle& cycle, CycleState& state, const PodInfo&,
                   const NodeInfo&) const override {
    return Count(cycle, state);
  }
  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const State* state = cycle.state.Find<State>();
    if (state == nullptr) return;  // its PreFilter is disabled
    for (Row i = 0; i < rows.size(); ++i) {
      const Choice choice = Choose(cycle, rows[i]);
      if (choice.gpus == 0) {
        codes[i] = kNoDomain;
      } else if (choice.count + 1 - state->fewest > args_.max_skew) {
        codes[i] = kSkew;
      }
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    if (code == kSkew) {
      return Status::Unschedulable("node(s) didn't match the spread of pods over GPUs");
    }
    return Status::Unschedulable(args_.domain == GpuDomain::kNvLinkIsland
                                     ? "node(s) didn't have enough free GPUs on one NVLink island"
                                     : "node(s) didn't have enough free GPUs on one NUMA node");
  }

  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row>) override {
    const SpreadConstraint* constraint = Constraint(cycle);
    if (constraint == nullptr) return Status::Skip();
    scores_.Present(cycle.snapshot);
    scores_.Prepare(cycle.plan().gpus.count, HasDomain{this});
    if (plan_ != cycle.pod.plan) {
      plan_ = cycle.pod.plan;
      PodMatcher matcher;
      matcher.namespaces = {cycle.pod.ns()};
      matcher.selector = constraint->selector;
      matcher.terminating = false;
      if (matcher_ == nullptr || *matcher_ != matcher) {
        matcher_ = std::make_shared<const PodMatcher>(std::move(matcher));
        known_.clear();
      }
    }
    state.Reuse<Matching>().pods = cycle.snapshot.CountPods(matcher_);
    const std::int32_t k = cycle.plan().gpus.count;
    if (known_k_ != k || known_.size() != cycle.snapshot.size()) {
      known_k_ = k;
      known_.assign(cycle.snapshot.size(), {});
    }
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const Matching* matching = cycle.state.Find<Matching>();
    if (matching == nullptr) return Status::Error("PreScore of GpuTopologySpread has not run");
    scores_.Score(cycle.snapshot, rows, HasDomain{this}, out);
    for (Row i = 0; i < rows.size(); ++i) {
      if (out[i] == 0) {
        out[i] = kNone;
      } else {  // a node without matching pods has them in no domain
        out[i] = matching->pods[rows[i]] == 0 ? 0 : CountOf(cycle, rows[i]);
      }
    }
    return {};
  }
  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  void Bound(const Cycle&, Rows rows, const std::int64_t* scores,
             ScoreBounds& bounds) const override {
    for (Row i = 0; i < rows.size(); ++i) {
      if (scores[i] != kNone) bounds.Add({scores[i], scores[i]});
    }
  }
  void NormalizeBlock(const Cycle&, Rows rows, const ScoreBounds& bounds,
                      std::int64_t* scores) const override {
    for (Row i = 0; i < rows.size(); ++i) {
      scores[i] = scores[i] == kNone ? kMinNodeScore
                                     : kMaxNodeScore - kMaxNodeScore * scores[i] / (bounds.max + 1);
    }
  }

  Dependence FilterDependence(const Cycle&) const override { return Dependence::kCluster; }
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    if (Constraint(cycle) != nullptr) {
      if (const GpuMask gpus = Choose(cycle, node.row()).gpus) return gpus;
    }
    return TopologyPlugin::AllocateGpus(cycle, node);
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kAdd | kDelete}, {}},
            {{EventResource::kNode, kAdd | kDelete | kUpdateNodeAllocatable}, {}}};
  }

 private:
  enum : std::uint32_t { kNoDomain = 1, kSkew = 2 };
  static constexpr std::int64_t kNone = -1;

  struct State {
    std::int64_t fewest = 0;
  };
  // Scores 1 where a domain has enough free GPUs, else 0.
  struct HasDomain {
    std::int64_t operator()(const GpuTopology& topology, GpuMask free, GpuMask chosen) const {
      const std::vector<GpuMask>& domains = plugin->Domains(topology);
      return std::any_of(domains.begin(), domains.end(), [&](GpuMask domain) {
        return std::popcount(static_cast<GpuMask>(domain & free)) >= std::popcount(chosen);
      });
    }
    const GpuTopologySpread* plugin;
  };
  // How many matching pods a node has.
  struct Matching {
    Column<std::int32_t> pods;
    void EndCycle() { pods = {}; }
  };
  struct Choice {
    GpuMask gpus = 0;  // 0: no domain has enough free ones
    std::int64_t count = 0;
  };

  bool IsHard() const {
    return args_.when_unsatisfiable == api::UnsatisfiableConstraintAction::kDoNotSchedule;
  }
  // What selects matching pods; null: the pod isn't looked at.
  static const SpreadConstraint* Constraint(const Cycle& cycle) {
    const PodPlan& plan = cycle.plan();
    if (plan.gpus.count == 0 || plan.gpus.IsShare()) return nullptr;
    if (!plan.hard_constraints.empty()) return &plan.hard_constraints.front();
    return plan.soft_constraints.empty() ? nullptr : &plan.soft_constraints.front();
  }
  const std::vector<GpuMask>& Domains(const GpuTopology& topology) const {
    return args_.domain == GpuDomain::kNvLinkIsland ? topology.islands() : topology.numa_groups();
  }

  // The GPUs that matching pods of a node have, a mask a pod.
  static void MatchingPods(const Cycle& cycle, const SpreadConstraint& constraint, Row row,
                           std::vector<GpuMask>& out) {
    out.clear();
    const Dictionary& dictionary = cycle.snapshot.dictionary();
    for (const PodPtr& pod : cycle.snapshot.pods(row)) {
      if (pod->ns() != cycle.pod.ns() || pod->terminating()) continue;
      if (!constraint.selector.Matches(pod->labels(), dictionary)) continue;
      if (const GpuMask gpus = cycle.snapshot.GpusOf(pod->Key())) out.push_back(gpus);
    }
  }
  static std::int64_t CountIn(GpuMask domain, const std::vector<GpuMask>& pods) {
    return std::count_if(pods.begin(), pods.end(),
                         [&](GpuMask gpus) { return (gpus & domain) != 0; });
  }

  // The domain with the fewest matching pods that has enough free GPUs; of equal ones that with the
  // best GPUs.
  Choice Choose(const Cycle& cycle, Row row) const {
    Choice out;
    const GpuTopology* topology = cycle.snapshot.TopologyOf(row);
    if (topology == nullptr) return out;
    const GpuMask free = cycle.snapshot.Free()[row].mask;
    const std::int32_t k = cycle.plan().gpus.count;
    std::vector<GpuMask> pods;
    MatchingPods(cycle, *Constraint(cycle), row, pods);
    for (const GpuMask domain : Domains(*topology)) {
      const GpuMask gpus = topology->Choose(static_cast<GpuMask>(free & domain), k);
      if (gpus == 0) continue;
      const std::int64_t count = CountIn(domain, pods);
      const bool is_better = out.gpus == 0 || count < out.count ||
                             (count == out.count && topology->QualityOf(free, out.gpus) <
                                                        topology->QualityOf(free, gpus));
      if (is_better) out = {gpus, count};
    }
    return out;
  }

  // The count of Choose(), kept while the node doesn't change and pods of other kinds ask the same.
  // Threads have rows of their own.
  std::int64_t CountOf(const Cycle& cycle, Row row) const {
    const std::uint64_t generation = cycle.snapshot.Generations()[row];
    Known& known = known_[row];
    if (known.generation != generation) known = {generation, Choose(cycle, row).count};
    return known.count;
  }

  Status Count(const Cycle& cycle, CycleState& state) const {
    state.Reuse<State>().fewest = Fewest(cycle);
    return {};
  }

  // How many matching pods the domain with the fewest has, of those that are large enough.
  std::int64_t Fewest(const Cycle& cycle) const {
    std::int64_t out = std::numeric_limits<std::int64_t>::max();
    const SpreadConstraint& constraint = *Constraint(cycle);
    std::vector<GpuMask> pods;
    for (Row row = 0; row < cycle.snapshot.size() && out > 0; ++row) {
      const GpuTopology* topology = cycle.snapshot.TopologyOf(row);
      if (topology == nullptr) continue;
      MatchingPods(cycle, constraint, row, pods);
      for (const GpuMask domain : Domains(*topology)) {
        if (std::popcount(domain) >= cycle.plan().gpus.count) {
          out = std::min(out, CountIn(domain, pods));
        }
      }
    }
    return out == std::numeric_limits<std::int64_t>::max() ? 0 : out;
  }

  const GpuTopologySpreadArgs args_;
  // Changed in PreScore alone.
  internal::TopologyScores scores_;
  std::shared_ptr<const PodPlan> plan_;
  std::shared_ptr<const PodMatcher> matcher_;  // of plan_
  struct Known {
    std::uint64_t generation = 0;  // of the row; 0: nothing is known
    std::int64_t count = 0;
  };
  std::int32_t known_k_ = 0;
  mutable std::vector<Known> known_;  // by row, for matcher_ and known_k_ GPUs
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_GPU_TOPOLOGY_SPREAD_H_
