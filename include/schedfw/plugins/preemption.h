// Preemption: what plugins share that make room for a pod by evicting others.
#ifndef SCHEDFW_PLUGINS_PREEMPTION_H_
#define SCHEDFW_PLUGINS_PREEMPTION_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/cluster/dry_run.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/executor.h"
#include "schedfw/framework/framework.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// How many nodes are searched for victims.
struct CandidateNodesArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
};
template <typename V>
void Fields(V& v, CandidateNodesArgs& args) {
  v("minCandidateNodesPercentage", args.min_candidate_nodes_percentage,
    Arg{.help = "Share of nodes to look for victims on, in percent", .min = 0, .max = 100});
  v("minCandidateNodesAbsolute", args.min_candidate_nodes_absolute,
    Arg{.help = "Nodes to look for victims on, at least",
        .min = 0,
        .max = std::numeric_limits<std::int32_t>::max()});
}
/// Both can't be zero (ValidateDefaultPreemptionArgs).
inline Result<void> Validate(const CandidateNodesArgs& args) {
  if (args.min_candidate_nodes_percentage != 0 || args.min_candidate_nodes_absolute != 0) return {};
  return ConfigError(
      "minCandidateNodesPercentage: 0 is not allowed when "
      "minCandidateNodesAbsolute is 0 too");
}

/// Finds the node where evicting pods of lower priority costs least, and the fewest pods to evict
/// there (framework/preemption and SelectVictimsOnNode of plugins/defaultpreemption).
///
/// Nodes are tried in upstream's order (NodeTree), on private copies and in parallel, until enough
/// candidates are found; the result is that of trying them one by one. Upstream starts at a random
/// node. Where a pod has no start time, upstream takes the time of the trial; here it counts as
/// later than any, and among equals the first by namespace and name is the more important one.
class PreemptionPlugin : public PostFilterPlugin {
 public:
  explicit PreemptionPlugin(const CandidateNodesArgs& args) : args_(args) {}

  Status PostFilter(const Cycle& cycle, const Diagnosis& diagnosis, const Framework& framework,
                    PostFilterResult& result) final {
    Status status = Preempt(cycle, diagnosis, framework, result);
    if (status.ok()) return status;
    return Status(status.code(), "preemption: " + status.message());
  }

 private:
  // The pods to evict on a node, or why that doesn't help.
  struct Trial {
    Status status;
    std::vector<Victim> victims;  // the most important first
    std::int64_t violations = 0;
  };

  struct Budget {
    const api::PodDisruptionBudget* object;
    Selector selector;
    StringId ns;
  };

  Status Preempt(const Cycle& cycle, const Diagnosis& diagnosis, const Framework& framework,
                 PostFilterResult& result) const {
    if (Status status = Eligible(cycle, diagnosis); !status.ok()) return status;
    const Row nodes = cycle.snapshot.size();
    if (nodes == 0) return Status::Error("no nodes available");
    const std::vector<Row> potential = PotentialNodes(cycle, diagnosis);
    std::vector<Trial> trials(potential.size());
    std::vector<std::size_t> candidates;
    if (!potential.empty()) candidates = TryNodes(cycle, framework, potential, trials);
    if (candidates.empty()) {
      std::map<std::string, std::int64_t> reasons;
      for (const Trial& trial : trials) {
        if (trial.status.code() == Code::kError) return trial.status;
        for (const std::string& reason : trial.status.reasons()) ++reasons[reason];
      }
      if (potential.size() < nodes) {
        reasons["Preemption is not helpful for scheduling"] +=
            nodes - static_cast<std::int64_t>(potential.size());
      }
      result.nominated_node_name = "";
      return Status::Unschedulable(NoNodeMessage(nodes, reasons));
    }
    const std::size_t best = Pick(candidates, trials, potential, cycle.snapshot.NameRank());
    result.nominated_node_name = cycle.snapshot.name(potential[best]);
    // Those that are being deleted already need no eviction (preemption/executor.go).
    std::erase_if(trials[best].victims, [](const Victim& v) { return v.pod->terminating(); });
    result.victims = std::move(trials[best].victims);
    for (Victim& victim : result.victims) {
      victim.reason = "its priority " + std::to_string(victim.pod->priority()) + " is below " +
                      std::to_string(cycle.pod.priority()) + " of " + cycle.pod.FullName();
      if (!victim.violated_budget.empty()) {
        victim.reason += ", at the cost of PodDisruptionBudget " + victim.violated_budget;
      }
    }
    return {};
  }

  // Whether the pod may preempt at all (PodEligibleToPreemptOthers).
  static Status Eligible(const Cycle& cycle, const Diagnosis& diagnosis) {
    const api::Pod& pod = *cycle.pod.pod;
    if (pod.spec.preemption_policy == "Never") {
      return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
    }
    const std::string& nominated = pod.status.nominated_node_name;
    if (nominated.empty()) return {};
    const auto row = cycle.snapshot.Find(nominated);
    if (!row) return {};
    const Status& status =
        diagnosis.pre_filter.ok() ? diagnosis.status(*row) : diagnosis.pre_filter;
    if (status.code() == Code::kUnschedulableAndUnresolvable) return {};
    for (const PodPtr& victim : cycle.snapshot.pods(*row)) {
      if (victim->priority() < cycle.pod.priority() && IsBeingPreempted(*victim->pod)) {
        return Status::Unschedulable(
            "not eligible due to a terminating pod on the nominated node.");
      }
    }
    return {};
  }

  static bool IsBeingPreempted(const api::Pod& pod) {
    if (!pod.metadata.deletion_timestamp_ns) return false;
    for (const api::Condition& condition : pod.status.conditions) {
      if (condition.type != "DisruptionTarget") continue;
      return condition.status == "True" && condition.reason == "PreemptionByScheduler";
    }
    return false;
  }

  // The nodes that were rejected in a way that fewer pods may change, zone by zone in turn.
  static std::vector<Row> PotentialNodes(const Cycle& cycle, const Diagnosis& diagnosis) {
    std::vector<Row> out;
    const bool all = diagnosis.pre_filter.code() == Code::kUnschedulable;
    if (!all && !diagnosis.pre_filter.ok()) return out;
    for (const Row row : cycle.snapshot.TreeOrder()) {
      if (all || diagnosis.status(row).code() == Code::kUnschedulable) out.push_back(row);
    }
    return out;
  }

  // How many candidates are enough (calculateNumCandidates).
  std::size_t EnoughCandidates(std::size_t potential) const {
    const auto share =
        static_cast<std::int64_t>(potential) * args_.min_candidate_nodes_percentage / 100;
    const std::int64_t wanted = std::max<std::int64_t>(share, args_.min_candidate_nodes_absolute);
    return std::min(static_cast<std::size_t>(wanted), potential);
  }

  // Fills trials in order until there are enough candidates, of which one breaks no budget; returns
  // those (DryRunPreemption).
  std::vector<std::size_t> TryNodes(const Cycle& cycle, const Framework& framework,
                                    const std::vector<Row>& potential,
                                    std::vector<Trial>& trials) const {
    const std::vector<Budget> budgets = Budgets(cycle);
    const std::size_t enough = EnoughCandidates(potential.size());
    std::vector<std::size_t> candidates;
    bool unharmed = false;
    const auto is_enough = [&] { return unharmed && candidates.size() >= enough; };
    for (std::size_t begin = 0; begin < potential.size() && !is_enough();) {
      // Nearly each node is a candidate, as a rule.
      const std::size_t missing = candidates.size() < enough ? enough - candidates.size() : kChunk;
      const std::size_t end = std::min(potential.size(), begin + std::max(missing, kChunk));
      const auto run = [&](std::size_t chunk) {
        DryRun dry_run(cycle.snapshot);
        const std::size_t first = begin + chunk * kChunk;
        for (std::size_t i = first; i < std::min(end, first + kChunk); ++i) {
          trials[i] = TryNode(cycle, framework, dry_run, potential[i], budgets);
        }
      };
      const std::size_t chunks = (end - begin + kChunk - 1) / kChunk;
      if (framework.IsFilterThreadSafe()) {
        framework.executor().ForEach(chunks, kChunk * kRowsPerTrial, run);
      } else {
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
      }
      for (; begin < end && !is_enough(); ++begin) {
        if (!trials[begin].status.ok()) continue;
        candidates.push_back(begin);
        unharmed = unharmed || trials[begin].violations == 0;
      }
    }
    return candidates;
  }

  // The fewest pods to evict on a node so that the pod fits (SelectVictimsOnNode). `dry_run` is as
  // before when it returns.
  static Trial TryNode(const Cycle& cycle, const Framework& framework, DryRun& dry_run, Row row,
                       const std::vector<Budget>& budgets) {
    Trial out;
    std::vector<PodPtr> lower;
    const std::vector<PodPtr>& before = cycle.snapshot.pods(row);
    for (const PodPtr& pod : before) {
      if (pod->priority() < cycle.pod.priority()) lower.push_back(pod);
    }
    if (lower.empty()) {
      out.status = Status::Unresolvable("No preemption victims found for incoming pod");
      return out;
    }
    CycleState state = cycle.state.Clone();
    const Cycle trial{dry_run.view(), cycle.pod, state};
    std::vector<PodPtr> removed;  // what is missing on the node at the moment
    const auto remove = [&](const PodPtr& pod) {
      dry_run.RemovePod(*pod, row);
      removed.push_back(pod);
      return framework.RunPreFilterExtensionRemovePod(trial, state, *pod, row);
    };
    const auto add = [&](const PodPtr& pod) {
      if (auto done = dry_run.AddPod(pod, row); !done) return Status::Error(done.error().message());
      std::erase(removed, pod);
      return framework.RunPreFilterExtensionAddPod(trial, state, *pod, row);
    };
    const auto fits = [&] {
      return framework.RunFilterPluginsWithNominatedPods(dry_run, cycle.pod, state, row);
    };
    const auto choose = [&]() -> Status {
      for (const PodPtr& pod : lower) {
        if (Status status = remove(pod); !status.ok()) return AsError(status);
      }
      if (Status status = fits(); !status.ok()) return status;
      std::sort(lower.begin(), lower.end(), MoreImportant);
      std::vector<Victim> violating, others;
      SplitByBudget(lower, budgets, cycle.snapshot.dictionary(), violating, others);
      // Those that break a budget are spared first, then the others; the most important of each
      // first.
      for (std::vector<Victim>* group : {&violating, &others}) {
        for (const Victim& victim : *group) {
          if (Status status = add(victim.pod); !status.ok()) return AsError(status);
          // As upstream, whatever stops the pod, a failure too, makes the other one a victim.
          if (fits().ok()) continue;
          if (Status status = remove(victim.pod); !status.ok()) return AsError(status);
          out.victims.push_back(victim);
          out.violations += victim.violated_budget.empty() ? 0 : 1;
        }
      }
      if (out.victims.empty()) {
        return Status::Error("expected at least one victim pod on node \"" +
                             cycle.snapshot.name(row) + "\"");
      }
      if (!violating.empty() && !others.empty()) {
        std::sort(out.victims.begin(), out.victims.end(),
                  [](const Victim& a, const Victim& b) { return MoreImportant(a.pod, b.pod); });
      }
      return {};
    };
    out.status = choose();
    for (const PodPtr& pod : removed) (void)dry_run.AddPod(pod, row);
    return out;
  }

  static Status AsError(const Status& status) { return Status::Error(status.message()); }

  static std::int64_t StartTime(const PodInfo& pod) {
    return pod.start_time_ns().value_or(std::numeric_limits<std::int64_t>::max());
  }
  // Higher priority, then an earlier start (MoreImportantVictim), then the first by name.
  static bool MoreImportant(const PodPtr& a, const PodPtr& b) {
    if (a->priority() != b->priority()) return a->priority() > b->priority();
    if (StartTime(*a) != StartTime(*b)) return StartTime(*a) < StartTime(*b);
    const api::ObjectMeta& x = a->pod->metadata;
    const api::ObjectMeta& y = b->pod->metadata;
    return std::tie(x.ns, x.name) < std::tie(y.ns, y.name);
  }

  static std::vector<Budget> Budgets(const Cycle& cycle) {
    std::vector<Budget> out;
    for (const api::PodDisruptionBudget& budget : cycle.snapshot.objects().pod_disruption_budgets) {
      auto selector = Selector::Compile(budget.selector, cycle.snapshot.dictionary());
      // An invalid, absent or empty selector matches nothing.
      if (!selector || selector->Empty() || selector->IsNothing()) continue;
      out.push_back(
          {&budget, *std::move(selector), cycle.snapshot.dictionary().Intern(budget.metadata.ns)});
    }
    return out;
  }

  // FilterVictimsWithPDBViolation: each budget allows so many evictions, counted over the pods in
  // order. Pods without labels, and those that the budget knows to be going, don't count.
  static void SplitByBudget(const std::vector<PodPtr>& pods, const std::vector<Budget>& budgets,
                            const Dictionary& dictionary, std::vector<Victim>& violating,
                            std::vector<Victim>& others) {
    std::vector<std::int32_t> allowed;
    for (const Budget& budget : budgets) allowed.push_back(budget.object->disruptions_allowed);
    for (const PodPtr& pod : pods) {
      std::string violated;
      for (std::size_t i = 0; i < budgets.size() && violated.empty(); ++i) {
        if (!Covers(budgets[i], *pod, dictionary) || --allowed[i] >= 0) continue;
        const api::ObjectMeta& meta = budgets[i].object->metadata;
        violated = meta.ns + "/" + meta.name;
      }
      (violated.empty() ? others : violating).push_back({pod, std::move(violated), {}});
    }
  }
  static bool Covers(const Budget& budget, const PodInfo& pod, const Dictionary& dictionary) {
    const Labels& labels = dictionary.LabelsOf(pod.label_set());
    if (pod.ns() != budget.ns || labels.empty() || !budget.selector.Matches(labels, dictionary)) {
      return false;
    }
    const std::vector<std::string>& gone = budget.object->disrupted_pods;
    return std::find(gone.begin(), gone.end(), pod.pod->metadata.name) == gone.end();
  }

  // The candidate where the harm is least; of equals the first by name (pickOneNodeForPreemption).
  static std::size_t Pick(const std::vector<std::size_t>& candidates,
                          const std::vector<Trial>& trials, const std::vector<Row>& rows,
                          const std::vector<std::uint32_t>& rank) {
    using Cost = std::array<std::int64_t, 5>;
    const auto cost = [](const Trial& trial) {
      // Priorities are shifted so that negative ones don't make more victims cheaper.
      constexpr std::int64_t kShift = std::int64_t{1} << 31;
      const PodInfo& top = *trial.victims.front().pod;
      std::int64_t sum = 0;
      std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
      for (const Victim& victim : trial.victims) {
        sum += victim.pod->priority() + kShift;
        if (victim.pod->priority() == top.priority())
          earliest = std::min(earliest, StartTime(*victim.pod));
      }
      return Cost{trial.violations, top.priority(), sum,
                  static_cast<std::int64_t>(trial.victims.size()), -earliest};
    };
    std::size_t best = candidates.front();
    Cost least = cost(trials[best]);
    for (const std::size_t candidate : candidates) {
      const Cost own = cost(trials[candidate]);
      if (own < least || (own == least && rank[rows[candidate]] < rank[rows[best]])) {
        least = own;
        best = candidate;
      }
    }
    return best;
  }

  static constexpr std::size_t kChunk = 32;
  // What a trial costs, in rows of a filter pass over many nodes.
  static constexpr std::size_t kRowsPerTrial = 64;

  CandidateNodesArgs args_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_PREEMPTION_H_
