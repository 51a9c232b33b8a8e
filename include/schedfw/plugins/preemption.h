// Preemption: what plugins share that make room for a pod by evicting others.
#ifndef SCHEDFW_PLUGINS_PREEMPTION_H_
#define SCHEDFW_PLUGINS_PREEMPTION_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/cluster/dry_run.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/executor.h"
#include "schedfw/framework/framework.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"

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

/// Pods that are evicted or spared together (framework/preemption/types.go, Victim): one pod, or
/// all members of a PodGroup with disruption mode All.
struct VictimUnit {
  static constexpr int kPodRank = 1;    ///< a pod without a group
  static constexpr int kGroupRank = 2;  ///< members of a PodGroup, also when each goes alone

  std::vector<std::pair<PodPtr, Row>> pods;  ///< with the nodes they are on, in name order
  std::int32_t priority = 0;                 ///< that of the PodGroup if there is one
  int rank = kPodRank;
  /// Of the pod that started first; the highest number: none of them has started.
  std::int64_t earliest_start_ns = std::numeric_limits<std::int64_t>::max();
  /// Of the first pod; valid while the snapshot that the unit is from, or a copy of it, lives.
  std::string_view ns, name;
};

/// The order of victims, a strict one: priority, rank, the number of pods, the start
/// (framework/preemption/util.go, MoreImportantVictim), then the first by namespace and name.
inline bool MoreImportant(const VictimUnit& a, const VictimUnit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.rank != b.rank) return a.rank > b.rank;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  if (a.earliest_start_ns != b.earliest_start_ns) return a.earliest_start_ns < b.earliest_start_ns;
  return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
}

/// Tells which pods of a snapshot make up a unit. Where PodGroups don't count, each pod is one.
///
/// Looks inside of no pod, so packed ones stay packed. The snapshot must outlive it. All members
/// are safe from any thread.
class VictimFinder {
 public:
  /// The PodGroup of a pod, where groups count and the object exists.
  struct Group {
    const api::PodGroup* object;
    std::vector<std::pair<PodPtr, Row>> members;  ///< on nodes, by name; with disruption mode All

    /// util.PodGroupPriority.
    std::int32_t priority() const { return object->priority.value_or(0); }
    /// All members are one unit.
    bool goes_as_one() const { return object->disruption_all; }
    std::string FullName() const { return object->metadata.ns + "/" + object->metadata.name; }
  };

  /// O(groups), and O(pods on nodes) when a group has disruption mode All.
  VictimFinder(const Snapshot& snapshot, bool generic_workload)
      : snapshot_(snapshot), generic_workload_(generic_workload) {
    if (!generic_workload) return;
    Dictionary& dictionary = snapshot.dictionary();
    bool any_goes_as_one = false;
    for (const api::PodGroup& group : snapshot.objects().pod_groups) {
      const std::uint64_t key = std::uint64_t{dictionary.Intern(group.metadata.ns)} << 32 |
                                dictionary.Intern(group.metadata.name);
      groups_.emplace(key, Group{&group, {}});
      any_goes_as_one = any_goes_as_one || group.disruption_all;
    }
    if (!any_goes_as_one) return;
    for (Row row = 0; row < snapshot.size(); ++row) {
      for (const PodPtr& pod : snapshot.pods(row)) {
        const auto it = groups_.find(pod->GroupKey());
        if (it == groups_.end() || !it->second.goes_as_one()) continue;
        it->second.members.emplace_back(pod, row);
      }
    }
    for (auto& [key, group] : groups_) {
      std::sort(group.members.begin(), group.members.end(), [&](const auto& a, const auto& b) {
        return dictionary.Text(a.first->name) < dictionary.Text(b.first->name);
      });
    }
  }

  /// nullptr: the pod counts for itself. O(1).
  const Group* GroupOf(const PodInfo& pod) const {
    if (groups_.empty() || pod.GroupKey() == 0) return nullptr;
    const auto it = groups_.find(pod.GroupKey());
    return it == groups_.end() ? nullptr : &it->second;
  }
  /// What the pod's priority is as a victim (framework/preemption/util.go, GetPodPriority).
  std::int32_t PriorityOf(const PodInfo& pod) const {
    const Group* group = GroupOf(pod);
    return group == nullptr ? pod.priority() : group->priority();
  }

  /// The units with a pod on the node and a priority below `below`; in no particular order.
  std::vector<VictimUnit> UnitsOn(Row row, std::int64_t below) const {
    std::vector<VictimUnit> out;
    std::vector<const Group*> taken;
    for (const PodPtr& pod : snapshot_.pods(row)) {
      const Group* group = GroupOf(*pod);
      const std::int32_t priority = group == nullptr ? pod->priority() : group->priority();
      if (priority >= below) continue;
      if (group == nullptr || !group->goes_as_one()) {
        out.push_back(MakeUnit(Alone(pod, row), priority));
      } else if (std::find(taken.begin(), taken.end(), group) == taken.end()) {
        taken.push_back(group);
        out.push_back(MakeUnit(group->members, priority));
      }
    }
    return out;
  }
  /// All units with a priority below `below`, in the order of MoreImportant (getCrossNodesVictims).
  std::vector<VictimUnit> Units(std::int64_t below) const {
    std::vector<VictimUnit> out;
    for (Row row = 0; row < snapshot_.size(); ++row) {
      for (const PodPtr& pod : snapshot_.pods(row)) {
        const Group* group = GroupOf(*pod);
        const std::int32_t priority = group == nullptr ? pod->priority() : group->priority();
        if (priority >= below) continue;
        if (group == nullptr || !group->goes_as_one()) {
          out.push_back(MakeUnit(Alone(pod, row), priority));
        } else if (pod == group->members.front().first) {
          out.push_back(MakeUnit(group->members, priority));
        }
      }
    }
    std::sort(out.begin(), out.end(), MoreImportant);
    return out;
  }

 private:
  static std::vector<std::pair<PodPtr, Row>> Alone(const PodPtr& pod, Row row) {
    std::vector<std::pair<PodPtr, Row>> out;
    out.emplace_back(pod, row);
    return out;
  }
  VictimUnit MakeUnit(std::vector<std::pair<PodPtr, Row>> pods, std::int32_t priority) const {
    VictimUnit out;
    const PodInfo& first = *pods.front().first;
    out.priority = priority;
    out.rank = generic_workload_ && first.scheduling_group != 0 ? VictimUnit::kGroupRank
                                                                : VictimUnit::kPodRank;
    for (const auto& [pod, row] : pods) {
      out.earliest_start_ns =
          std::min(out.earliest_start_ns, pod->start_time_ns().value_or(out.earliest_start_ns));
    }
    out.ns = first.plan->pattern->metadata.ns;
    out.name = snapshot_.dictionary().Text(first.name);
    out.pods = std::move(pods);
    return out;
  }

  const Snapshot& snapshot_;
  const bool generic_workload_;
  std::unordered_map<std::uint64_t, Group> groups_;  // by PodInfo::GroupKey(); look-ups only
};

/// The units of all pods on nodes, where PodGroups count: those with a priority below `below`, the
/// most important first. O(pods × log pods).
inline std::vector<VictimUnit> VictimUnits(
    const Snapshot& snapshot, std::int64_t below = std::numeric_limits<std::int64_t>::max()) {
  return VictimFinder(snapshot, /*generic_workload=*/true).Units(below);
}

/// What evicting a unit would do to PodDisruptionBudgets.
struct BudgetHarm {
  std::int32_t violations = 0;  ///< how many of its pods would break one
  /// The budget that each pod would break, "namespace/name" or empty; without violations: no entry.
  std::vector<std::string> budgets;
};

/// The PodDisruptionBudgets of a snapshot, which must outlive this.
class DisruptionBudgets {
 public:
  explicit DisruptionBudgets(const Snapshot& snapshot) : dictionary_(snapshot.dictionary()) {
    for (const api::PodDisruptionBudget& budget : snapshot.objects().pod_disruption_budgets) {
      auto selector = Selector::Compile(budget.selector, dictionary_);
      // An invalid, absent or empty selector matches nothing.
      if (!selector || selector->Empty() || selector->IsNothing()) continue;
      budgets_.push_back({&budget, *std::move(selector), dictionary_.Intern(budget.metadata.ns)});
    }
  }

  /// One entry a unit (framework/preemption/util.go, FilterVictimsWithPDBViolation): each budget
  /// allows so many evictions, counted over the pods in order. Pods without labels, and those that
  /// the budget knows to be going, don't count. Safe from any thread.
  std::vector<BudgetHarm> Split(std::span<const VictimUnit> units) const {
    std::vector<BudgetHarm> out(units.size());
    std::vector<std::int32_t> allowed;
    for (const Budget& budget : budgets_) allowed.push_back(budget.object->disruptions_allowed);
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      const auto& pods = units[unit].pods;
      for (std::size_t pod = 0; pod < pods.size(); ++pod) {
        for (std::size_t i = 0; i < budgets_.size(); ++i) {
          if (!Covers(budgets_[i], *pods[pod].first) || --allowed[i] >= 0) continue;
          const api::ObjectMeta& meta = budgets_[i].object->metadata;
          ++out[unit].violations;
          out[unit].budgets.resize(pods.size());
          out[unit].budgets[pod] = meta.ns + "/" + meta.name;
          break;
        }
      }
    }
    return out;
  }

 private:
  struct Budget {
    const api::PodDisruptionBudget* object;
    Selector selector;
    StringId ns;
  };

  bool Covers(const Budget& budget, const PodInfo& pod) const {
    if (pod.ns() != budget.ns) return false;
    const Labels& labels = dictionary_.LabelsOf(pod.label_set());
    if (labels.empty() || !budget.selector.Matches(labels, dictionary_)) return false;
    const std::vector<std::string>& gone = budget.object->disrupted_pods;
    return std::find(gone.begin(), gone.end(), dictionary_.Text(pod.name)) == gone.end();
  }

  Dictionary& dictionary_;
  std::vector<Budget> budgets_;
};

/// Which units would break PodDisruptionBudgets, one entry a unit; they are charged in order. A
/// unit breaks one if any of its pods does.
inline std::vector<BudgetHarm> SplitByBudget(std::span<const VictimUnit> units,
                                             const Snapshot& snapshot) {
  return DisruptionBudgets(snapshot).Split(units);
}

/// Whether the pod is being deleted because a scheduler has evicted it
/// (framework/preemption/util.go, PodTerminatingByPreemption).
inline bool IsBeingPreempted(const PodInfo& pod) {
  if (!pod.terminating()) return false;
  for (const api::Condition& condition : pod.pod->status.conditions) {
    if (condition.type != "DisruptionTarget") continue;
    return condition.status == "True" && condition.reason == "PreemptionByScheduler";
  }
  return false;
}

/// Finds the node where evicting pods of lower priority costs least, and the fewest pods to evict
/// there (framework/preemption and SelectVictimsOnNode of plugins/defaultpreemption). Which pods
/// are spared first and which node is best are orders that a plugin may replace.
///
/// Nodes are tried in upstream's order (NodeTree), on private copies and in parallel, until enough
/// candidates are found; the result is that of trying them one by one. Upstream starts at a random
/// node. Where a pod has no start time, upstream takes the time of the trial; here it counts as
/// later than any, and among equals the first by namespace and name is the more important one.
///
/// With Handle::generic_workload, members of a PodGroup have its priority, and those of a group
/// with disruption mode All go together, from all nodes.
class PreemptionPlugin : public PostFilterPlugin {
 public:
  PreemptionPlugin(const CandidateNodesArgs& args, const Handle& handle)
      : args_(args), generic_workload_(handle.generic_workload) {}

  Status PostFilter(const Cycle& cycle, const Diagnosis& diagnosis, const Framework& framework,
                    PostFilterResult& result) final {
    Status status = Preempt(cycle, diagnosis, framework, result);
    if (status.ok()) return status;
    return Status(status.code(), "preemption: " + status.message());
  }

 protected:
  /// Sorts the units that a node may lose: the first are spared first. Called from several threads.
  virtual void SortUnits(const Cycle&, std::vector<VictimUnit>& units) const {
    std::sort(units.begin(), units.end(), MoreImportant);
  }
  /// How good a node is, given the pods to evict, the most important first: the best have the
  /// highest number. Budgets come before that, and what victims cost behind it.
  virtual std::int64_t NodeScore(const Cycle&, Row, const std::vector<Victim>&) const { return 0; }
  /// What the loss of one pod costs when nodes are compared, in steps of 1 / CostScale() of a
  /// priority.
  virtual std::int64_t Cost(const Cycle&, const PodInfo& pod) const { return pod.priority(); }
  virtual std::int64_t CostScale() const { return 1; }

 private:
  // The pods to evict on a node, or why that doesn't help.
  struct Trial {
    Status status;
    std::vector<Victim> victims;  // the most important first
    std::int64_t violations = 0;
  };

  Status Preempt(const Cycle& cycle, const Diagnosis& diagnosis, const Framework& framework,
                 PostFilterResult& result) const {
    const VictimFinder finder(cycle.snapshot, generic_workload_);
    if (Status status = Eligible(cycle, diagnosis, finder); !status.ok()) return status;
    const Row nodes = cycle.snapshot.size();
    if (nodes == 0) return Status::Error("no nodes available");
    const std::vector<Row> potential = PotentialNodes(cycle, diagnosis);
    std::vector<Trial> trials(potential.size());
    std::vector<std::size_t> candidates;
    if (!potential.empty()) candidates = TryNodes(cycle, framework, finder, potential, trials);
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
    const std::size_t best = Pick(cycle, candidates, trials, potential);
    result.nominated_node_name = cycle.snapshot.name(potential[best]);
    // Those that are being deleted already need no eviction (preemption/executor.go).
    std::erase_if(trials[best].victims, [](const Victim& v) { return v.pod->terminating(); });
    result.victims = std::move(trials[best].victims);
    for (Victim& victim : result.victims) victim.reason = Reason(cycle, finder, victim);
    return {};
  }

  static std::string Reason(const Cycle& cycle, const VictimFinder& finder, const Victim& victim) {
    const VictimFinder::Group* group = finder.GroupOf(*victim.pod);
    std::string out;
    if (group == nullptr) {
      out = "its priority " + std::to_string(victim.pod->priority());
    } else {
      out = "the priority " + std::to_string(group->priority()) + " of PodGroup " +
            group->FullName() + (group->goes_as_one() ? ", which goes as a whole," : "");
    }
    out += " is below " + std::to_string(cycle.pod.priority()) + " of " + cycle.pod.FullName();
    if (!victim.violated_budget.empty()) {
      out += ", at the cost of PodDisruptionBudget " + victim.violated_budget;
    }
    return out;
  }

  // Whether the pod may preempt at all (PodEligibleToPreemptOthers).
  static Status Eligible(const Cycle& cycle, const Diagnosis& diagnosis,
                         const VictimFinder& finder) {
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
      if (finder.PriorityOf(*victim) < cycle.pod.priority() && IsBeingPreempted(*victim)) {
        return Status::Unschedulable(
            "not eligible due to a terminating pod on the nominated node.");
      }
    }
    return {};
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
                                    const VictimFinder& finder, const std::vector<Row>& potential,
                                    std::vector<Trial>& trials) const {
    const DisruptionBudgets budgets(cycle.snapshot);
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
          trials[i] = TryNode(cycle, framework, finder, budgets, dry_run, potential[i]);
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
  Trial TryNode(const Cycle& cycle, const Framework& framework, const VictimFinder& finder,
                const DisruptionBudgets& budgets, DryRun& dry_run, Row row) const {
    Trial out;
    std::vector<VictimUnit> units = finder.UnitsOn(row, cycle.pod.priority());
    if (units.empty()) {
      out.status = Status::Unresolvable("No preemption victims found for incoming pod");
      return out;
    }
    CycleState state = cycle.state.Clone();
    const Cycle trial{dry_run.view(), cycle.pod, state};
    std::vector<PodPtr> removed;  // what is missing on the node at the moment
    // Of other nodes only what plugins count over nodes changes, as upstream.
    const auto remove = [&](const VictimUnit& unit) -> Status {
      for (const auto& [pod, at] : unit.pods) {
        if (at == row) {
          dry_run.RemovePod(*pod, row);
          removed.push_back(pod);
        }
        Status status = framework.RunPreFilterExtensionRemovePod(trial, state, *pod, at);
        if (!status.ok()) return Status::Error(status.message());
      }
      return {};
    };
    const auto add = [&](const VictimUnit& unit) -> Status {
      for (const auto& [pod, at] : unit.pods) {
        if (at == row) {
          if (auto done = dry_run.AddPod(pod, row); !done) {
            return Status::Error(done.error().message());
          }
          std::erase(removed, pod);
        }
        Status status = framework.RunPreFilterExtensionAddPod(trial, state, *pod, at);
        if (!status.ok()) return Status::Error(status.message());
      }
      return {};
    };
    const auto fits = [&] {
      return framework.RunFilterPluginsWithNominatedPods(dry_run, cycle.pod, state, row);
    };
    const auto choose = [&]() -> Status {
      for (const VictimUnit& unit : units) {
        if (Status status = remove(unit); !status.ok()) return status;
      }
      if (Status status = fits(); !status.ok()) return status;
      SortUnits(cycle, units);
      std::vector<BudgetHarm> harms = budgets.Split(units);
      std::vector<std::size_t> victims;
      // Those that break a budget are spared first, then the others; the most important of each
      // first.
      for (const bool violating : {true, false}) {
        for (std::size_t i = 0; i < units.size(); ++i) {
          if ((harms[i].violations > 0) != violating) continue;
          if (Status status = add(units[i]); !status.ok()) return status;
          // As upstream, whatever stops the pod, a failure too, makes the other one a victim.
          if (fits().ok()) continue;
          if (Status status = remove(units[i]); !status.ok()) return status;
          victims.push_back(i);
          out.violations += harms[i].violations;
        }
      }
      if (victims.empty()) {
        return Status::Error("expected at least one victim pod on node \"" +
                             cycle.snapshot.name(row) + "\"");
      }
      std::sort(victims.begin(), victims.end());
      for (const std::size_t i : victims) {
        for (std::size_t pod = 0; pod < units[i].pods.size(); ++pod) {
          Victim& victim = out.victims.emplace_back();
          victim.pod = units[i].pods[pod].first;
          if (harms[i].violations > 0) victim.violated_budget = std::move(harms[i].budgets[pod]);
        }
      }
      return {};
    };
    out.status = choose();
    for (const PodPtr& pod : removed) (void)dry_run.AddPod(pod, row);
    return out;
  }

  // What a node would cost, less being better: budgets that are broken, the node's score, the cost
  // of the most important victim, of all victims, their number, and how long the most important
  // ones have run (pickOneNodeForPreemption).
  __extension__ using Wide = __int128;
  using Harm =
      std::tuple<std::int64_t, std::int64_t, std::int64_t, Wide, std::size_t, std::int64_t>;

  Harm HarmOf(const Cycle& cycle, const Trial& trial, Row row) const {
    // Costs are shifted so that negative ones don't make more victims cheaper.
    const std::int64_t shift = (std::int64_t{1} << 31) * CostScale();
    const std::int64_t top = Cost(cycle, *trial.victims.front().pod);
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    std::int64_t earliest = 0;
    Wide sum = 0;
    for (const Victim& victim : trial.victims) {
      const std::int64_t cost = Cost(cycle, *victim.pod);
      const std::int64_t start =
          victim.pod->start_time_ns().value_or(std::numeric_limits<std::int64_t>::max());
      sum += cost + shift;
      // A member of a group may have a higher priority than the first pod has
      // (GetEarliestPodStartTime).
      if (cost > highest || (cost == highest && start < earliest)) earliest = start;
      highest = std::max(highest, cost);
    }
    const std::int64_t score = NodeScore(cycle, row, trial.victims);
    return {trial.violations, -score, top, sum, trial.victims.size(), -earliest};
  }

  // The candidate where the harm is least; of equals the first by name.
  std::size_t Pick(const Cycle& cycle, const std::vector<std::size_t>& candidates,
                   const std::vector<Trial>& trials, const std::vector<Row>& rows) const {
    const std::vector<std::uint32_t>& rank = cycle.snapshot.NameRank();
    std::size_t best = candidates.front();
    Harm least = HarmOf(cycle, trials[best], rows[best]);
    for (const std::size_t candidate : candidates) {
      const Harm own = HarmOf(cycle, trials[candidate], rows[candidate]);
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
  bool generic_workload_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_PREEMPTION_H_
