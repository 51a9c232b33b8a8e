// Groups of pods: placed together or not at all, and what is evicted for them.

#include <algorithm>
#include <string>
#include <utility>

#include "schedfw/framework/framework.h"
#include "schedfw/plugins/preemption.h"
#include "schedfw/scheduler/loop.h"

namespace schedfw {

namespace {

constexpr const char* kGangScheduling = "GangScheduling";
constexpr const char* kPreempts = "PreemptLowerPriority";

std::int32_t PriorityOf(const api::PodGroup& group) { return group.priority.value_or(0); }

// plugins/gangscheduling/gangscheduling.go, PlacementFeasible: Unschedulable when the minimum can't
// be met any more, Wait while it isn't met.
Status Feasible(const api::PodGroup& group, std::int32_t remaining, std::int32_t scheduled) {
  const std::int32_t least = group.gang ? group.min_count : 1;
  const std::string counts =
      std::to_string(scheduled) + " scheduled, " + std::to_string(remaining) + " remaining";
  const std::string minimum = "minCount (" + std::to_string(least) + ") ";
  if (remaining + scheduled < least) {
    return Status::Unschedulable(minimum + "cannot be satisfied: " + counts)
        .WithPlugin(kGangScheduling);
  }
  if (scheduled < least) {
    return Status(Code::kWait, minimum + "is not yet satisfied: " + counts)
        .WithPlugin(kGangScheduling);
  }
  return {};
}

}  // namespace

// schedule_one_podgroup.go, validatePodGroup.
Status SchedulingLoop::CheckGroup(const QueuedEntity& entity, const api::PodGroup& group) const {
  const api::PodSpec& first = entity.members.front().pod->plan->pattern->spec;
  const auto check = [&](const PodInfo& pod) -> Status {
    const api::PodSpec& spec = pod.plan->pattern->spec;
    if (spec.scheduler_name != first.scheduler_name) {
      return Status::Error(
          "all pods in a single pod group should have the same "
          ".spec.schedulerName set, got: \"" +
          spec.scheduler_name + "\" and \"" + first.scheduler_name + "\"");
    }
    if (pod.priority() != PriorityOf(group)) {
      return Status::Error(
          "all pods in a single pod group should have the same priority as the "
          "pod group's priority, got " +
          std::to_string(pod.priority()) + " and " + std::to_string(PriorityOf(group)));
    }
    const std::string policy = spec.preemption_policy.value_or(kPreempts);
    const std::string wanted = first.preemption_policy.value_or(kPreempts);
    if (policy != wanted) {
      return Status::Error(
          "all pods in a single pod group should have the same preemption policy, "
          "got " +
          wanted + " and " + policy);
    }
    return {};
  };
  for (const QueuedPod& member : entity.members) {
    if (Status status = check(*member.pod); !status.ok()) return status;
  }
  const auto state = group_states_.find(entity.key);
  if (state == group_states_.end() || state->second.scheduled == 0) return {};
  for (Row row = 0; row < view().size(); ++row) {
    for (const PodPtr& pod : view().pods(row)) {
      if (pod->GroupKey() != entity.key) continue;
      if (Status status = check(*pod); !status.ok()) return status;
    }
  }
  return {};
}

// schedule_one_podgroup.go, podGroupSchedulingDefaultAlgorithm: on a copy of the cluster, where
// each pod sees those that were placed before it.
SchedulingLoop::GroupResult SchedulingLoop::PlaceGroupWithin(const Snapshot& snapshot,
                                                             const QueuedEntity& entity,
                                                             const api::PodGroup& group,
                                                             const std::set<std::string>* within) {
  GroupResult out;
  out.members.resize(entity.members.size());
  const auto state = group_states_.find(entity.key);
  std::int32_t scheduled = state == group_states_.end() ? 0 : state->second.scheduled;
  auto remaining = static_cast<std::int32_t>(entity.members.size());
  out.status = Feasible(group, remaining, scheduled);
  if (out.status.IsRejected()) return out;
  Cluster trial(snapshot);
  const bool keeps_state = FrameworkOf(*entity.members.front().pod)->HasBindingPlugins();
  for (std::size_t i = 0; i < entity.members.size(); ++i) {
    const PodInfo& pod = *entity.members[i].pod;
    MemberResult& member = out.members[i];
    ScheduleResult result = Schedule(trial.view(), pod, state_, within);
    if (keeps_state && result.status.ok()) {
      member.state = std::make_shared<CycleState>(std::move(state_));
      state_ = CycleState();
    }
    EndCycle(state_);
    member.tried = true;
    member.status = std::move(result.status);
    if (result.diagnosis) member.plugins = result.diagnosis->UnschedulablePlugins();
    if (!member.status.ok() && !member.status.IsRejected()) {
      out.status = Status::Error("failed to schedule other pod from a pod group: " +
                                 member.status.message());
      break;
    }
    --remaining;
    if (member.status.ok()) {
      GpuMask gpus = 0;
      out.status = AllocateGpus(trial.view(), pod, *result.row, gpus);
      if (!out.status.ok()) break;
      if (auto done = trial.AssumePod(pod, *result.row, gpus); !done) {
        out.status = Status::Error(done.error().message());
        break;
      }
      member.node = std::move(result.node);
      out.any_placed = true;
      ++scheduled;
    }
    out.status = Feasible(group, remaining, scheduled);
    if (out.status.IsRejected()) break;
  }
  if (out.status.code() == Code::kWait) {
    out.status = Status::Unschedulable(out.status.message()).WithPlugin(kGangScheduling);
  }
  return out;
}

// schedule_one_podgroup.go, podGroupSchedulingPlacementAlgorithm.
SchedulingLoop::GroupResult SchedulingLoop::PlaceGroup(const Snapshot& snapshot,
                                                       const QueuedEntity& entity,
                                                       const api::PodGroup& group) {
  const auto refuse = [&](const GroupResult& first, std::size_t placements) {
    GroupResult out = first;
    out.status = Status::Unschedulable(
                     "0/" + std::to_string(placements) +
                     " placements are available, first placement status: " + first.status.message())
                     .WithPlugin(kGangScheduling);
    return out;
  };
  if (group.topology.empty()) {
    GroupResult out = PlaceGroupWithin(snapshot, entity, group, nullptr);
    return out.status.IsRejected() ? refuse(out, 1) : out;
  }
  // One placement for each value of the label; pods of the group that are on nodes decide it.
  const StringId key = snapshot.dictionary().Intern(group.topology.front().key);
  const LabelColumn& label = snapshot.Label(key);
  std::map<std::string, std::set<std::string>> placements;
  std::set<std::string> taken;
  for (Row row = 0; row < snapshot.size(); ++row) {
    const std::uint32_t ordinal = label.ordinals[row];
    const auto& pods = snapshot.pods(row);
    const bool has_member = std::any_of(
        pods.begin(), pods.end(), [&](const PodPtr& pod) { return pod->GroupKey() == entity.key; });
    if (ordinal == 0) {
      if (has_member) {
        GroupResult out;
        out.members.resize(entity.members.size());
        out.status = Status::Error("a pod of the group is on node " + snapshot.name(row) +
                                   ", which has no label " + group.topology.front().key);
        return out;
      }
      continue;
    }
    std::string value(snapshot.dictionary().Text(label.values[ordinal - 1]));
    if (has_member) taken.insert(value);
    placements[std::move(value)].insert(snapshot.name(row));
  }
  GroupResult none;
  none.members.resize(entity.members.size());
  if (taken.size() > 1) {
    none.status = Status::Error("pods of the group are in more than one domain of " +
                                group.topology.front().key);
    return none;
  }
  if (taken.size() == 1) {
    std::erase_if(placements, [&](const auto& entry) { return !taken.contains(entry.first); });
  }
  if (placements.empty()) {
    none.status = Status::Unschedulable("no feasible placements found").WithPlugin(kGangScheduling);
    return none;
  }
  std::optional<GroupResult> first, best;
  std::int64_t most = 0;
  double fullest = 0;
  for (const auto& [value, nodes] : placements) {
    GroupResult result = PlaceGroupWithin(snapshot, entity, group, &nodes);
    if (result.status.code() == Code::kError) return result;
    if (!first) first = result;
    if (!result.status.ok()) continue;
    // More pods, then the fuller domain (PodGroupPodsCount; NodeResourcesFit scores placements by
    // what they leave free of cpu and memory).
    std::int64_t placed = 0;
    for (const MemberResult& member : result.members) placed += member.node ? 1 : 0;
    double full = 0;
    for (const auto& [resource, requested] :
         {std::pair{kCpu, snapshot.NonZeroRequestedCpu()},
          std::pair{kMemory, snapshot.NonZeroRequestedMemory()}}) {
      double used = 0, capacity = 0;
      for (const std::string& name : nodes) {
        const Row row = *snapshot.Find(name);
        used += static_cast<double>(requested[row]);
        capacity += static_cast<double>(snapshot.Allocatable(resource)[row]);
      }
      if (capacity > 0) full += used / capacity;
    }
    if (!best || placed > most || (placed == most && full > fullest)) {
      best = std::move(result);
      most = placed;
      fullest = full;
    }
  }
  return best ? *best : refuse(*first, placements.size());
}

// schedule_one_podgroup.go, podGroupCycle.
void SchedulingLoop::GroupCycle(QueuedEntityPtr entity) {
  const api::PodGroup* found = FindGroup(entity->key);
  std::vector<QueuedPod> members = std::move(entity->members);
  entity->members.clear();
  for (QueuedPod& member : members) {
    const PodPtr pod = view().FindPod(member.pod->Key());
    if (pod && !pod->terminating() && view().IsPending(pod->Key())) {
      entity->members.push_back(std::move(member));
    } else {
      queue_.Done(member.pod->Key());
    }
  }
  std::vector<QueuedPod> left;
  if (entity->members.empty()) {
    --attempts_;  // it wasn't one
    queue_.AddAttemptedGroup(std::move(entity), std::move(left), GroupOutcome::kSuccess);
    return;
  }
  GroupResult result;
  result.members.resize(entity->members.size());
  const std::optional<api::PodGroup> group = found ? std::optional(*found) : std::nullopt;
  result.status =
      group ? CheckGroup(*entity, *group) : Status::Error("the pod group is not there any more");
  if (result.status.ok()) result = PlaceGroup(view(), *entity, *group);
  const auto fail = [&](std::size_t i, const Status& status, const std::set<std::string>& plugins,
                        const std::optional<std::string>& nomination) {
    Fail(std::move(entity->members[i]), nullptr, status, plugins, nomination, &left);
  };
  const std::size_t n = entity->members.size();
  if (result.status.ok() && result.any_placed) {
    const std::uint64_t key = entity->key;
    const std::int32_t before = group_states_[key].scheduled;
    std::vector<Binding> ready;
    for (std::size_t i = 0; i < n; ++i) {
      const MemberResult& member = result.members[i];
      if (!member.node) {
        fail(i, member.status, member.plugins, std::nullopt);
        continue;
      }
      Binding binding;
      binding.pod = std::move(entity->members[i]);
      binding.node = *member.node;
      if (member.state) state_ = std::move(*member.state);
      Commit(std::move(binding), &left, &ready);
    }
    BindGroup(*entity, std::move(ready), left);
    // Without a pod that stays, what is left isn't tried again at once, as it would be upstream.
    const bool done = group_states_[key].scheduled > before && !IsShortOfPods(key);
    queue_.AddAttemptedGroup(std::move(entity), std::move(left),
                             done ? GroupOutcome::kSuccess : GroupOutcome::kError);
    return;
  }
  if (result.status.code() == Code::kError) {
    for (std::size_t i = 0; i < n; ++i) {
      const Status& own = result.members[i].status;
      fail(i, own.code() == Code::kError ? own : result.status, {}, "");
    }
    queue_.AddAttemptedGroup(std::move(entity), std::move(left), GroupOutcome::kError);
    return;
  }
  if (result.status.ok()) {  // none of the pods that are left has found a node
    result.status = Status::Unschedulable("no pod of the group fits").WithPlugin(kGangScheduling);
  }
  if (options_.status_updates == StatusUpdates::kOnFailure) {
    // What was assumed for the trial has lost the nomination that its object doesn't have.
    for (std::size_t i = 0; i < n; ++i) {
      const PodInfo& pod = *entity->members[i].pod;
      if (result.members[i].node) Nominate(pod, pod.pod->status.nominated_node_name);
    }
  }
  std::string message = result.status.message();
  const auto nominations = PreemptForGroup(*entity, *group, message);
  const Status status = Status::Unschedulable(message).WithPlugin(kGangScheduling);
  for (std::size_t i = 0; i < n; ++i) {
    const MemberResult& member = result.members[i];
    const bool placed = member.node.has_value();
    const Status& own = placed || !member.tried ? status : member.status;
    const std::set<std::string>& plugins = member.plugins;
    if (nominations) {
      fail(i, own, plugins, (*nominations)[i]);
    } else {
      fail(i, own, plugins, placed ? std::optional<std::string>("") : std::nullopt);
    }
  }
  queue_.AddAttemptedGroup(std::move(entity), std::move(left), GroupOutcome::kRejected);
}

bool SchedulingLoop::IsShortOfPods(std::uint64_t group_key) const {
  const auto state = group_states_.find(group_key);
  if (state == group_states_.end()) return false;
  const api::PodGroup* group = FindGroup(group_key);
  return group != nullptr && group->gang && state->second.scheduled < group->min_count;
}

// Binds the pods of a group that has been placed. All hold their place by now. As soon as one of a
// gang has failed that the minimum needs, those that aren't bound yet give it back. Upstream lets
// them wait at Permit, for minutes, while the one that is missing is tried again.
void SchedulingLoop::BindGroup(const QueuedEntity& entity, std::vector<Binding> ready,
                               std::vector<QueuedPod>& left) {
  const std::uint64_t key = entity.key;
  std::size_t bound = 0;
  for (; bound < ready.size() && !IsShortOfPods(key); ++bound) {
    FinishPermit(std::move(ready[bound]), &left);
  }
  if (!IsShortOfPods(key)) return;
  const Status status =
      Status::Unschedulable("the gang lost a pod that it needs").WithPlugin(kGangScheduling);
  const std::set<std::string> plugins = {kGangScheduling};
  for (; ready.size() > bound; ready.pop_back()) {
    TakeBack(ready.back());
    Fail(std::move(ready.back().pod), nullptr, status, plugins, "", &left);
  }
  std::vector<std::uint64_t> waiting;
  for (const auto& [pod, binding] : waiting_) {
    if (binding.assumed->GroupKey() == key) waiting.push_back(pod);
  }
  // Rejecting one rejects those that are left.
  if (!waiting.empty()) RejectWaiting(waiting.front(), status);
}

// framework/preemption/podgrouppreemption.go.
std::optional<std::vector<std::optional<std::string>>> SchedulingLoop::PreemptForGroup(
    const QueuedEntity& entity, const api::PodGroup& group, std::string& message) {
  const Framework* framework = FrameworkOf(*entity.members.front().pod);
  if (!framework->HasPostFilterPlugins()) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    message += " " + why;
    return std::nullopt;
  };
  for (const QueuedPod& member : entity.members) {
    if (member.pod->plan->pattern->spec.preemption_policy == "Never") {
      return refuse("not eligible due to preemptionPolicy=Never.");
    }
  }
  const std::vector<VictimUnit> units = VictimUnits(view(), PriorityOf(group));
  if (units.empty()) return refuse("No preemption victims found for incoming preemptor");
  Cluster copy = cluster_.Fork();
  const auto take = [&](const VictimUnit& unit) {
    for (const auto& [pod, row] : unit.pods) {
      const std::string full = pod->FullName();
      const std::size_t slash = full.find('/');
      (void)copy.DeletePod(full.substr(0, slash), full.substr(slash + 1));
    }
  };
  const auto put_back = [&](const VictimUnit& unit) {
    for (const auto& [pod, row] : unit.pods) {
      api::Pod object = *pod->pod;
      object.spec.node_name = view().name(row);
      (void)copy.AddPod(std::move(object));
    }
  };
  for (const VictimUnit& unit : units) take(unit);
  const GroupResult placed = PlaceGroup(copy.view(), entity, group);
  if (!placed.status.ok() || !placed.any_placed) return refuse(placed.status.message());

  // Spares what can stay: first what a budget protects, the more important first.
  const auto fits = [&] {
    Cluster trial = copy.Fork();
    for (std::size_t i = 0; i < entity.members.size(); ++i) {
      if (!placed.members[i].node) continue;
      const PodInfo& pod = *entity.members[i].pod;
      const std::set<std::string> within = {*placed.members[i].node};
      const ScheduleResult result = Schedule(trial.view(), pod, state_, &within);
      EndCycle(state_);
      if (!result.status.ok()) return false;
      GpuMask gpus = 0;
      if (!AllocateGpus(trial.view(), pod, *result.row, gpus).ok()) return false;
      if (!trial.AssumePod(pod, *result.row, gpus)) return false;
    }
    return true;
  };
  std::vector<const VictimUnit*> victims;
  const std::vector<BudgetHarm> harm = SplitByBudget(units, view());
  for (const bool protected_first : {true, false}) {
    for (std::size_t i = 0; i < units.size(); ++i) {
      if ((harm[i].violations > 0) != protected_first) continue;
      put_back(units[i]);
      if (fits()) continue;
      take(units[i]);
      victims.push_back(&units[i]);
    }
  }
  for (const VictimUnit* unit : victims) {
    for (const auto& [pod, row] : unit->pods) {
      if (!pod->terminating()) EvictPod(pod, nullptr, view().name(row));  // else it goes anyway
    }
  }
  message += " pod group preemption: found a placement for podgroup, preempting " +
             std::to_string(victims.size()) + " victims";
  std::vector<std::optional<std::string>> out;
  for (const MemberResult& member : placed.members) out.push_back(member.node);
  return out;
}

}  // namespace schedfw
