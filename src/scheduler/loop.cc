#include "schedfw/scheduler/loop.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "schedfw/framework/duration.h"
#include "schedfw/framework/event_classify.h"
#include "schedfw/framework/framework.h"

namespace schedfw {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kUnschedulableFlush = std::chrono::seconds(30);

// What a plugin throws fails the attempt like an Error.
template <typename F>
Status Guard(F&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return Status::Error(error.what());
  } catch (...) {
    return Status::Error("a plugin threw something that is no exception");
  }
}

QueueOptions QueueOf(const Scheduler& scheduler, const LoopOptions& options) {
  if (options.queue) return *options.queue;
  QueueOptions out;
  out.initial_backoff = scheduler.initial_backoff();
  out.max_backoff = scheduler.max_backoff();
  return out;
}

QueueEvent PodEvent(EventResource resource, ActionType action, PodPtr old_pod, PodPtr new_pod) {
  QueueEvent out;
  out.event = {resource, action};
  out.old_pod = std::move(old_pod);
  out.new_pod = std::move(new_pod);
  return out;
}

QueueEvent NodeEvent(ActionType action, std::shared_ptr<const api::Node> old_node,
                     std::shared_ptr<const api::Node> new_node) {
  QueueEvent out;
  out.event = {EventResource::kNode, action};
  out.old_node = std::move(old_node);
  out.new_node = std::move(new_node);
  return out;
}

// "namespace/name" as two texts that live as long as the cluster's objects.
std::pair<std::string, std::string> NameOf(const PodInfo& pod) {
  std::string full = pod.FullName();
  const std::size_t slash = full.find('/');
  return {full.substr(0, slash), full.substr(slash + 1)};
}

}  // namespace

SchedulingLoop::SchedulingLoop(Scheduler& scheduler, Cluster& cluster, LoopOptions options)
    : scheduler_(scheduler),
      cluster_(cluster),
      options_(options),
      stages_(scheduler),
      clock_(options_.clock != nullptr ? *options_.clock : own_clock_),
      queue_(scheduler, clock_, QueueOf(scheduler, options_),
             scheduler.pod_groups() ? this : nullptr) {
  BecomeHost();
  queue_.SetSnapshot(&cluster_.view());
  next_unschedulable_flush_ = clock_.Now() + kUnschedulableFlush;
  stages_.ApplyTo(cluster_);
  CountGroups();
  std::vector<std::pair<std::string, PodPtr>> pending;
  for (PodPtr& pod : view().Pending()) {
    std::string name = pod->pod->metadata.ns + '\0' + pod->pod->metadata.name;
    pending.emplace_back(std::move(name), std::move(pod));
  }
  std::sort(pending.begin(), pending.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, pod] : pending) {
    const std::string& nominated = pod->pod->status.nominated_node_name;
    if (!nominated.empty()) nominations_.emplace(pod->Key(), nominated);
    queue_.Add(pod);
  }
}

SchedulingLoop::~SchedulingLoop() { TakeBackAll(); }

// Pods that are on their way to a node wait again.
void SchedulingLoop::TakeBackAll() {
  const bool stands_still = dynamic_cast<InlineAdapter*>(options_.binder) != nullptr;
  while (!binding_.empty()) {  // what may still bind a pod is awaited
    if (!options_.binder->WaitForResult(std::chrono::seconds(1)) && stands_still) break;
    PollBinder();
  }
  HostSlot& slot = scheduler_.host_slot();
  if (slot.host == this) slot.host = nullptr;
  for (auto& [job, binding] : binding_) TakeBack(*binding);
  binding_.clear();
  for (auto& [key, binding] : waiting_) TakeBack(binding);
  waiting_.clear();
  for (Binding& binding : unsubmitted_) TakeBack(binding);
  unsubmitted_.clear();
}

const api::PodGroup* SchedulingLoop::FindGroup(std::uint64_t group_key) const {
  const Dictionary& dictionary = view().dictionary();
  const std::string ns(dictionary.Text(static_cast<StringId>(group_key >> 32)));
  const std::string name(dictionary.Text(static_cast<StringId>(group_key)));
  return ObjectStore::Find(view().objects().pod_groups, ns, name);
}

std::int32_t SchedulingLoop::CountPods(std::uint64_t group_key) const {
  const auto found = group_states_.find(group_key);
  return found == group_states_.end() ? 0 : found->second.pods;
}

Framework* SchedulingLoop::FrameworkOf(const PodInfo& pod) const {
  return scheduler_.framework(pod.plan->pattern->spec.scheduler_name);
}

void SchedulingLoop::CountGroup(const PodInfo& pod, std::int32_t pods, std::int32_t scheduled) {
  label_groups_.Count(pod, pods);
  if (pod.scheduling_group == 0 || !scheduler_.pod_groups()) return;
  GroupState& state = group_states_[pod.GroupKey()];
  state.pods += pods;
  state.scheduled += scheduled;
}

void SchedulingLoop::CountGroup(const PodInfo& pod, std::int32_t sign) {
  if (view().IsPending(pod.Key())) return CountGroup(pod, sign, 0);
  const api::ObjectMeta& meta = pod.pod->metadata;
  if (view().RowOf(meta.ns, meta.name)) CountGroup(pod, sign, sign);
}

bool SchedulingLoop::IsOnItsWay(std::uint64_t key) const {
  return waiting_.contains(key) ||
         std::any_of(binding_.begin(), binding_.end(),
                     [&](const auto& entry) {
                       return !entry.second->deleted && entry.second->assumed->Key() == key;
                     }) ||
         std::any_of(unsubmitted_.begin(), unsubmitted_.end(),
                     [&](const Binding& binding) { return binding.assumed->Key() == key; });
}

void SchedulingLoop::CountGroups() {
  group_states_.clear();
  label_groups_.Clear();
  for (Row row = 0; row < view().size(); ++row) {
    for (const PodPtr& pod : view().pods(row)) CountGroup(*pod, 1, 1);
  }
  for (const PodPtr& pod : view().Pending()) CountGroup(*pod, 1, 0);
}

// --- changes from outside

Result<void> SchedulingLoop::AddPod(api::Pod pod) {
  const std::string ns = pod.metadata.ns.empty() ? "default" : pod.metadata.ns;
  const std::string name = pod.metadata.name;
  if (auto done = cluster_.AddPod(std::move(pod)); !done) return done;
  PodPtr added = view().FindPod(ns, name);
  if (!added) return {};  // it has finished
  added = stages_.ApplyTo(cluster_, added);
  Changed();
  if (view().IsPending(added->Key())) {
    CountGroup(*added, 1, 0);
    const std::string& nominated = added->pod->status.nominated_node_name;
    if (!nominated.empty()) nominations_[added->Key()] = nominated;
    queue_.Add(added);
    bus_.Publish(PodAdded{added});
    if (scheduler_.pod_groups()) {  // eventhandlers.go, addPodToSchedulingQueue
      queue_.MoveAll(PodEvent(EventResource::kUnscheduledPod, kAdd, nullptr, added));
    }
  } else {
    CountGroup(*added, 1);
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kAdd, nullptr, added));
  }
  return {};
}

Result<void> SchedulingLoop::DeletePod(std::string_view ns, std::string_view name) {
  const PodPtr pod = view().FindPod(ns, name);
  if (!pod) return cluster_.DeletePod(ns, name);  // which says what is wrong
  const std::uint64_t key = pod->Key();
  if (waiting_.contains(key)) {
    RejectWaiting(key, Status::Unschedulable("the pod was deleted"));
  }
  for (std::size_t i = 0; i < unsubmitted_.size(); ++i) {
    if (unsubmitted_[i].assumed->Key() != key) continue;
    Binding binding = std::move(unsubmitted_[i]);
    unsubmitted_.erase(unsubmitted_.begin() + static_cast<std::ptrdiff_t>(i));
    Finish(std::move(binding), Status::Error("the pod was deleted"), nullptr);
    break;
  }
  for (auto& [job, binding] : binding_) {
    if (binding->assumed->Key() == key) binding->deleted = true;
  }
  const bool pending = view().IsPending(key);
  const PodPtr last = view().FindPod(key);
  CountGroup(*pod, -1);
  if (auto done = cluster_.DeletePod(ns, name); !done) return done;
  Changed();
  nominations_.erase(key);
  messages_.erase(key);
  tried_at_.erase(key);
  timed_out_at_.erase(key);
  if (!pending) {
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, last, nullptr));
    return {};
  }
  queue_.Delete(*pod);
  if (!last->pod->status.nominated_node_name.empty()) {
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, last, nullptr),
                   {.max_priority = last->priority()});
  }
  Settle();
  return {};
}

Result<void> SchedulingLoop::UpdatePod(api::Pod pod) {
  const std::string ns = pod.metadata.ns.empty() ? "default" : pod.metadata.ns;
  const std::string name = pod.metadata.name;
  const PodPtr before = view().FindPod(ns, name);
  const std::string old_nomination = before ? before->pod->status.nominated_node_name : "";
  if (before && pod.IsTerminal()) return DeletePod(ns, name);
  if (before && IsOnItsWay(before->Key())) {
    if (!pod.metadata.deletion_timestamp_ns || !waiting_.contains(before->Key())) {
      return ArgumentError("Pod " + before->FullName() + " is on its way to a node");
    }
    RejectWaiting(before->Key(), Status::Unschedulable("the pod is being deleted"));
  }
  // A nomination that neither the queue nor the new object knows of stays (nominator.go,
  // UpdateNominatedPod).
  const PodPtr queued = before ? queue_.Find(before->Key()) : nullptr;
  const bool keeps_nomination = queued && queued->pod->status.nominated_node_name.empty() &&
                                pod.status.nominated_node_name.empty();
  const bool was_pending = before && view().IsPending(before->Key());
  if (before) CountGroup(*before, -1);
  if (auto done = cluster_.UpdatePod(std::move(pod)); !done) {
    if (before) CountGroup(*before, 1);
    return done;
  }
  const PodPtr now = stages_.ApplyTo(cluster_, view().FindPod(ns, name));
  Changed();
  const bool pending = view().IsPending(now->Key());
  CountGroup(*now, 1);
  if (was_pending && !pending) {
    nominations_.erase(now->Key());
    queue_.Delete(*before);
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kAdd, nullptr, now));
    return {};
  }
  const EventResource resource = pending ? EventResource::kTargetPod : EventResource::kAssignedPod;
  std::vector<QueueEvent> events;
  for (const ClusterEvent& event : PodChangeEvents(*before, *now, resource, view().dictionary())) {
    events.push_back(PodEvent(event.resource, event.actions, before, now));
  }
  if (!pending) {
    for (const QueueEvent& event : events) queue_.MoveAll(event);
    MoveAfterFall(before, now);
    return {};
  }
  AddRise(before, now, events);
  const std::string& nomination = now->pod->status.nominated_node_name;
  nominations_.erase(now->Key());
  if (!nomination.empty()) nominations_[now->Key()] = nomination;
  if (before->GroupKey() != now->GroupKey()) {
    queue_.Delete(*before);
    queue_.Add(now);
  } else {
    queue_.Update(now, events);
  }
  if (keeps_nomination) {
    if (old_nomination.empty()) return {};
    if (options_.status_updates == StatusUpdates::kOnFailure) {
      nominations_[now->Key()] = old_nomination;
    }
    Nominate(*now, old_nomination);
    MoveAfterFall(before, view().FindPod(now->Key()));
    return {};
  }
  if (!old_nomination.empty() && old_nomination != nomination) {
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, before, nullptr),
                   {.max_priority = before->priority()});
  } else {
    MoveAfterFall(before, now);
  }
  return {};
}

Result<void> SchedulingLoop::AddNode(api::Node node) {
  const std::string name = node.metadata.name;
  const std::size_t orphans = view().OrphanTotal();
  if (auto done = cluster_.AddNode(std::move(node)); !done) return done;
  Changed();
  bus_.Publish(NodeChanged{NodeChanged::Kind::kAdded, name});
  if (view().OrphanTotal() != orphans) {
    for (const PodPtr& pod : view().pods(*view().Find(name))) CountGroup(*pod, 1, 1);
  }
  queue_.MoveAll(
      NodeEvent(kAdd, nullptr, std::make_shared<const api::Node>(view().node(*view().Find(name)))));
  return {};
}

Result<void> SchedulingLoop::UpdateNode(api::Node node) {
  const std::string name = node.metadata.name;
  std::shared_ptr<const api::Node> before;
  if (const auto row = view().Find(name)) {
    before = std::make_shared<const api::Node>(view().node(*row));
  }
  if (auto done = cluster_.UpdateNode(std::move(node)); !done) return done;
  Changed();
  bus_.Publish(NodeChanged{NodeChanged::Kind::kUpdated, name});
  const auto now = std::make_shared<const api::Node>(view().node(*view().Find(name)));
  for (const ClusterEvent& event : NodeChangeEvents(*before, *now)) {
    queue_.MoveAll(NodeEvent(event.actions, before, now));
  }
  return {};
}

Result<void> SchedulingLoop::DeleteNode(std::string_view name) {
  const auto row = view().Find(name);
  if (!row) return cluster_.DeleteNode(name);  // which says what is wrong
  std::vector<std::uint64_t> on_their_way;
  for (const auto& [key, binding] : waiting_) {
    if (binding.node == name) on_their_way.push_back(key);
  }
  for (const std::uint64_t key : on_their_way) {
    // An error: no event would tell any plugin that the pod can be tried again.
    RejectWaiting(key, Status::Error("node " + std::string(name) + " was deleted"));
  }
  const auto before = std::make_shared<const api::Node>(view().node(*row));
  queue_.MoveAll(NodeEvent(kDelete, before, nullptr));
  for (const PodPtr& pod : view().pods(*row)) CountGroup(*pod, -1, -1);
  if (auto done = cluster_.DeleteNode(name); !done) return done;
  Changed();
  bus_.Publish(NodeChanged{NodeChanged::Kind::kDeleted, name});
  Settle();
  return {};
}

Result<void> SchedulingLoop::Upsert(api::PodGroup group) {
  api::SetDefaults(group);
  const std::uint64_t key = std::uint64_t{view().dictionary().Intern(group.metadata.ns)} << 32 |
                            view().dictionary().Intern(group.metadata.name);
  QueueEvent event;
  if (const api::PodGroup* before = FindGroup(key)) {
    event.old_group = std::make_shared<const api::PodGroup>(*before);
  }
  event.event = {EventResource::kPodGroup, event.old_group ? kUpdate : kAdd};
  event.new_group = std::make_shared<const api::PodGroup>(group);
  if (auto done = cluster_.Upsert(std::move(group)); !done) return done;
  Changed();
  queue_.GroupChanged(key, event);
  return {};
}

Result<void> SchedulingLoop::Upsert(api::CoschedulingPodGroup group) {
  api::SetDefaults(group);
  const std::uint64_t id = LabelGroups::IdOf(group.metadata, view().dictionary());
  const bool is_new = ObjectStore::Find(view().objects().coscheduling_pod_groups, group.metadata.ns,
                                        group.metadata.name) == nullptr;
  if (auto done = cluster_.Upsert(std::move(group)); !done) return done;
  label_groups_.ObjectCame(id, is_new, clock_.Now());
  Changed();
  queue_.SortAnew();
  QueueEvent event;
  event.event = {EventResource::kCoschedulingPodGroup, is_new ? kAdd : kUpdate};
  queue_.MoveAll(event);
  return {};
}

Result<void> SchedulingLoop::Upsert(api::NodeResourceTopology topology) {
  const bool is_new = ObjectStore::Find(view().objects().node_resource_topologies, {},
                                        topology.metadata.name) == nullptr;
  if (auto done = cluster_.Upsert(std::move(topology)); !done) return done;
  Changed();
  QueueEvent event;
  event.event = {EventResource::kNodeResourceTopology, is_new ? kAdd : kUpdate};
  queue_.MoveAll(event);
  return {};
}

// --- steps

bool SchedulingLoop::Step() {
  PollBinder();
  Settle();
  if (!unsubmitted_.empty()) return false;  // the binder is full: nothing more for it
  queue_.FlushBackoff();
  if (clock_.Now() >= next_unschedulable_flush_) {
    next_unschedulable_flush_ = clock_.Now() + kUnschedulableFlush;
    queue_.FlushUnschedulable();
  }
  RunTimers();
  QueuedEntityPtr entity = queue_.Pop();
  if (!entity) return ResolveDeadlock();
  ++attempts_;
  (entity->is_group ? group_tried_at_ : tried_at_)[entity->key] = version_;
  if (entity->is_group) {
    GroupCycle(std::move(entity));
  } else {
    PodCycle(std::move(entity));
  }
  Settle();
  return true;
}

// Rejects the pods at Permit whose time is over.
void SchedulingLoop::RunTimers() {
  const nanoseconds now = clock_.Now();
  for (;;) {
    const Binding* due = nullptr;
    nanoseconds when{0};
    std::string plugin;
    for (const auto& [key, binding] : waiting_) {
      for (const auto& [name, until] : binding.waits) {
        if (until > now) continue;
        if (due != nullptr && std::pair(until, binding.order) >= std::pair(when, due->order)) {
          continue;
        }
        due = &binding;
        when = until;
        plugin = name;
      }
    }
    if (due == nullptr) return;
    TimedOut(*due->pod.pod);
    RejectWaiting(
        due->pod.pod->Key(),
        Status::Unschedulable("rejected due to timeout after waiting " +
                              FormatDuration(when - due->waits_since) + " at plugin " + plugin)
            .WithPlugin(plugin));
    Settle();
  }
}

// Whether all that waits has been tried more than once since the last change.
bool SchedulingLoop::GoesInCircles() const {
  const auto waiting = static_cast<std::int64_t>(queue_.active() + queue_.backing_off() +
                                                 queue_.unschedulable() + waiting_.size());
  constexpr std::int64_t kAtLeast = 16;
  return attempts_ - attempts_at_change_ > 2 * waiting + kAtLeast;
}

// Moves the own clock on to when something may happen. False: nothing more will.
bool SchedulingLoop::AdvanceClock() {
  std::optional<nanoseconds> next;
  const auto at = [&](nanoseconds time) {
    if (!next || time < *next) next = time;
  };
  for (const auto& [key, binding] : waiting_) {
    for (const auto& [plugin, until] : binding.waits) at(until);
  }
  if (const auto flush = queue_.NextFlush()) {
    // What an event has moved to the backoff is tried in any case.
    bool untried = queue_.backing_off() > queue_.in_error_backoff();
    queue_.ForEachInErrorBackoff([&](const QueuedEntity& entity) {
      const auto& tried_at = entity.is_group ? group_tried_at_ : tried_at_;
      const auto tried = tried_at.find(entity.key);
      untried = untried || tried == tried_at.end() || tried->second != version_;
    });
    if (untried || next) at(*flush);
  }
  if (!next) return false;
  own_clock_.Set(std::max(*next, own_clock_.Now()));
  return true;
}

Result<RunReport> SchedulingLoop::RunUntilQuiet(const Progress& progress) {
  if (&clock_ != &own_clock_) {
    return ArgumentError("RunUntilQuiet needs the loop's own clock; with another one call Step");
  }
  for (;;) {
    const std::size_t waiting =
        queue_.active() + queue_.backing_off() + queue_.unschedulable() + InFlight();
    if (progress && !progress(bound_, bound_ + waiting)) break;
    if (GoesInCircles() && !StartAnotherRound()) break;
    if (Step()) continue;
    if (!binding_.empty() || !unsubmitted_.empty()) {
      options_.binder->WaitForResult(std::chrono::milliseconds(10));
      if (const auto* at_once = dynamic_cast<InlineAdapter*>(options_.binder)) {
        if (const auto next = at_once->NextTime()) {
          own_clock_.Set(std::max(*next, own_clock_.Now()));
        }
      }
      continue;
    }
    if (!AdvanceClock()) break;
  }
  TakeBackWaiting();
  return Report();
}

RunReport SchedulingLoop::Report() const {
  RunReport out;
  for (Row row = 0; row < view().size(); ++row) {
    for (const PodPtr& pod : view().pods(row)) out.bound.push_back(pod->FullName());
  }
  std::map<std::uint64_t, std::string> gates;
  queue_.ForEach([&](const QueuedEntity& entity) {
    if (entity.gating_plugin < 0) return;
    for (const QueuedPod& pod : entity.pods()) gates[pod.pod->Key()] = entity.gate.message();
  });
  for (const PodPtr& pod : view().Pending()) {
    std::string why;
    if (const auto gate = gates.find(pod->Key()); gate != gates.end()) {
      why = gate->second;
    } else if (const auto found = messages_.find(pod->Key()); found != messages_.end()) {
      why = found->second;
    } else if (pod->scheduling_group != 0 && FindGroup(pod->GroupKey()) == nullptr) {
      why = "waiting for pod group \"" + pod->pod->spec.scheduling_group + "\", which isn't there";
    } else if (pod->terminating()) {
      why = "the pod is being deleted";
    } else if (FrameworkOf(*pod) == nullptr) {
      why = scheduler_.Admit(*pod).message();
    }
    out.pending.emplace_back(pod->FullName(), std::move(why));
  }
  out.deleted = deleted_;
  std::sort(out.bound.begin(), out.bound.end());
  std::sort(out.deleted.begin(), out.deleted.end());
  std::sort(out.pending.begin(), out.pending.end());
  out.attempts = attempts_;
  out.duration = clock_.Now();
  return out;
}

// --- one pod

ScheduleResult SchedulingLoop::Schedule(const Snapshot& snapshot, const PodInfo& pod,
                                        CycleState& state, const std::set<std::string>* within) {
  ScheduleResult out;
  if (snapshot.size() == 0) {
    out.status = Status::Unresolvable("no nodes available to schedule pods");
    return out;
  }
  EndCycle(state);
  const Status thrown = Guard([&] {
    out = scheduler_.Schedule(snapshot, pod, state, within);
    return Status();
  });
  if (!thrown.ok()) {
    out = ScheduleResult();
    out.status = thrown;
  }
  return out;
}

void SchedulingLoop::PodCycle(QueuedEntityPtr entity) {
  const std::uint64_t key = entity->key;
  const PodPtr pod = view().FindPod(key);
  if (!pod || pod->terminating() || !view().IsPending(key)) {
    --attempts_;  // it wasn't one
    return queue_.Done(key);
  }
  bus_.Publish(CycleStarted{pod});
  ScheduleResult result = Schedule(view(), *entity->one.pod, state_);
  bus_.Publish(CycleFinished{pod, result.status, result.node});
  if (result.status.ok()) {
    Binding binding;
    binding.pod = std::move(entity->one);
    binding.entity = std::move(entity);
    binding.node = std::move(result.node);
    Commit(std::move(binding), nullptr);
    return;
  }
  std::set<std::string> plugins, pending;
  std::optional<std::string> nomination = "";
  std::string message = result.status.message();
  if (result.diagnosis) {
    plugins = result.diagnosis->UnschedulablePlugins();
    pending = result.diagnosis->PendingPlugins();
    nomination = PostFilter(*pod, *result.diagnosis, state_, message);
  }
  EndCycle(state_);
  QueuedPod queued = std::move(entity->one);
  Fail(std::move(queued), std::move(entity), Status(result.status.code(), std::move(message)),
       plugins, nomination, nullptr, pending);
}

Status SchedulingLoop::AllocateGpus(const Snapshot& snapshot, const PodInfo& pod, Row row,
                                    GpuMask& out) {
  if (pod.plan->gpus.count == 0) return {};
  return Guard([&] {
    out = FrameworkOf(pod)->AllocateGpus(Cycle{snapshot, pod, state_}, row);
    return Status();
  });
}

std::optional<std::string> SchedulingLoop::PostFilter(const PodInfo& pod,
                                                      const Diagnosis& diagnosis, CycleState& state,
                                                      std::string& message) {
  const Framework& framework = *FrameworkOf(pod);
  if (!framework.HasPostFilterPlugins()) return "";
  PostFilterResult result;
  const Status status = Guard([&] {
    const Cycle cycle{view(), pod, state};
    return framework.RunPostFilterPlugins(cycle, diagnosis, result);
  });
  if (!status.message().empty()) message += " " + status.message();
  if (status.code() == Code::kError) return std::nullopt;
  EndCycle(state);  // what it shares with the cluster would be copied
  if (status.ok() && result.nominated_node_name) {
    Evict(result.victims, *result.nominated_node_name, pod);
  }
  return result.nominated_node_name;
}

// preemption/executor.go, prepareCandidate.
void SchedulingLoop::Evict(const std::vector<Victim>& victims, const std::string& node,
                           const PodInfo& preemptor) {
  const PodPtr by = view().FindPod(preemptor.Key());
  for (const Victim& victim : victims) EvictPod(victim.pod, by, node);
  const std::vector<PodPtr> nominated = view().NominatedPods(view().dictionary().Intern(node));
  for (const PodPtr& other : nominated) {
    if (other->priority() >= preemptor.priority() || other->Key() == preemptor.Key()) continue;
    if (options_.status_updates == StatusUpdates::kOnFailure) {
      // What isn't known to be nominated has nothing to be taken back.
      const PodPtr queued = queue_.Find(other->Key());
      if (queued && !queued->pod->status.nominated_node_name.empty()) {
        nominations_.erase(other->Key());
      }
      continue;
    }
    nominations_.erase(other->Key());
    Nominate(*other, "");
    queue_.Replace(view().FindPod(other->Key()));
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, other, nullptr),
                   {.max_priority = other->priority()});
  }
}

void SchedulingLoop::EvictPod(const PodPtr& victim, const PodPtr& preemptor,
                              std::string_view node) {
  const std::uint64_t key = victim->Key();
  const auto goes_when_bound = [&](Binding& binding) {
    if (binding.deleted || binding.assumed->Key() != key) return false;
    return binding.evicted = true;
  };
  for (auto& [job, binding] : binding_) {
    if (goes_when_bound(*binding)) return;
  }
  for (Binding& binding : unsubmitted_) {
    if (goes_when_bound(binding)) return;
  }
  if (waiting_.contains(key)) {  // not bound yet: it waits again, and isn't deleted
    RejectWaiting(key, Status::Error("preempted while it waited at Permit"));
    return;
  }
  const auto [ns, name] = NameOf(*victim);
  if (!cluster_.DeletePod(ns, name)) return;
  CountGroup(*victim, -1, -1);
  deleted_.push_back(ns + "/" + name);
  Changed();
  bus_.Publish(PodPreempted{victim, preemptor, node});
  queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, victim, nullptr));
}

void SchedulingLoop::Nominate(const PodInfo& pod, const std::string& node) {
  if (!view().IsPending(pod.Key())) return;
  const auto [ns, name] = NameOf(pod);
  const bool changes = view().FindPod(pod.Key())->pod->status.nominated_node_name != node;
  (void)cluster_.NominatePod(ns, name, node);  // it waits, so there is nothing to refuse
  if (changes) bus_.Publish(PodNominated{view().FindPod(pod.Key()), node});
}

// A pod's object as the queue gets it when the pod has failed.
PodPtr SchedulingLoop::AsQueued(const PodPtr& pod) const {
  if (options_.status_updates == StatusUpdates::kAtOnce) return pod;
  const auto found = nominations_.find(pod->Key());
  const std::string& node = found == nominations_.end() ? std::string() : found->second;
  if (pod->pod->status.nominated_node_name == node) return pod;
  api::Pod object = *pod->pod;
  object.status.nominated_node_name = node;
  auto out = std::make_shared<PodInfo>(*pod);
  out->pod = std::make_shared<const api::Pod>(std::move(object));
  return out;
}

// schedule_one.go, handleSchedulingFailure.
void SchedulingLoop::Fail(QueuedPod queued, QueuedEntityPtr entity, const Status& status,
                          const std::set<std::string>& plugins,
                          const std::optional<std::string>& nomination,
                          std::vector<QueuedPod>* left, const std::set<std::string>& pending) {
  const std::uint64_t key = queued.pod->Key();
  const PodPtr pod = view().FindPod(key);
  if (!pod || !view().IsPending(key)) return queue_.Done(key);
  messages_[key] = status.message();
  bus_.Publish(PodRejected{pod, status});
  queued.pod = AsQueued(pod);
  const std::string known = queued.pod->pod->status.nominated_node_name;
  const PluginBits rejectors = queue_.Bits(plugins);
  PluginBits waits_for = queue_.Bits(pending);
  if (status.code() == Code::kPending) waits_for |= queue_.Bits({std::string(status.plugin())});
  if (entity) {
    entity->one = std::move(queued);
    queue_.AddUnschedulable(std::move(entity), rejectors, waits_for);
  } else if (left != nullptr) {
    queued.unschedulable = rejectors;
    queued.pending = waits_for;
    left->push_back(std::move(queued));
  } else {
    queue_.AddMemberBack(std::move(queued), rejectors, waits_for);
  }
  Nominate(*pod, nomination.value_or(known));
  if (!nomination || *nomination == known) return;
  if (nomination->empty()) {
    nominations_.erase(key);
  } else {
    nominations_[key] = *nomination;
  }
  if (options_.status_updates == StatusUpdates::kOnFailure) return;
  queue_.Replace(view().FindPod(key));
  if (!known.empty()) {
    queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kDelete, pod, nullptr),
                   {.max_priority = pod->priority()});
  }
}

// --- binding

void SchedulingLoop::Bound(const PodPtr& pod, std::string_view node) {
  const std::uint64_t key = pod->Key();
  nominations_.erase(key);
  messages_.erase(key);
  tried_at_.erase(key);
  timed_out_at_.erase(key);
  ++bound_;
  bus_.Publish(PodBound{pod, node});
  queue_.Done(key);
  Changed();
  queue_.MoveAll(PodEvent(EventResource::kAssignedPod, kAdd, nullptr, pod));
}

bool SchedulingLoop::Commit(Binding binding, std::vector<QueuedPod>* left,
                            std::vector<Binding>* ready) {
  const PodPtr pod = view().FindPod(binding.pod.pod->Key());
  Framework& framework = *FrameworkOf(*pod);
  const Row row = *view().Find(binding.node);
  binding.assumed = pod;
  GpuMask gpus = 0;
  if (const Status failed = AllocateGpus(view(), *pod, row, gpus); !failed.ok()) {
    EndCycle(state_);
    Fail(std::move(binding.pod), std::move(binding.entity), failed, {}, "", left);
    return false;
  }
  const bool plain = !framework.HasBindingPlugins();
  if (plain && options_.binder == nullptr) {
    EndCycle(state_);  // what it shares with the cluster would be copied
  } else if (options_.isolation == Isolation::kOn) {
    binding.state = std::make_unique<CycleState>(std::move(state_));
    state_ = CycleState();
  } else {
    binding.state = std::make_unique<CycleState>(state_.Clone());
  }
  if (auto done = cluster_.AssumePod(*pod, row, gpus); !done) {
    Fail(std::move(binding.pod), std::move(binding.entity), Status::Error(done.error().message()),
         {}, "", left);
    return false;
  }
  CountGroup(*pod, 0, 1);
  bus_.Publish(PodAssumed{pod, binding.node});
  if (plain && options_.binder == nullptr) {
    (void)cluster_.FinishBinding(*pod);
    Bound(pod, binding.node);
    return true;
  }
  binding.snapshot = std::make_shared<const Snapshot>(cluster_.snapshot());
  binding.row = row;
  const Cycle cycle{*binding.snapshot, *pod, *binding.state};
  const NodeInfo node(*binding.snapshot, row);
  Status status = Guard([&] { return framework.RunReservePlugins(cycle, *binding.state, node); });
  std::vector<PermitWait> waits;
  if (status.ok()) {
    status = Guard([&] { return framework.RunPermitPlugins(cycle, *binding.state, node, waits); });
  }
  if (status.code() == Code::kWait) {
    constexpr nanoseconds kMost = std::chrono::minutes(15);
    for (const PermitWait& wait : waits) {
      binding.waits[wait.plugin] = clock_.Now() + std::min(wait.timeout, kMost);
    }
    binding.waits_since = clock_.Now();
    binding.order = ++last_waiting_;
    const std::uint64_t key = pod->Key();
    waiting_.emplace(key, std::move(binding));
    return true;
  }
  if (!status.ok()) {
    TakeBack(binding);
    std::set<std::string> plugins;
    if (status.IsRejected()) plugins.emplace(status.plugin());
    Fail(std::move(binding.pod), std::move(binding.entity), status, plugins, "", left);
    return false;
  }
  if (ready == nullptr) return FinishPermit(std::move(binding), left);
  ready->push_back(std::move(binding));
  return true;
}

Status SchedulingLoop::RunBinding(Framework& framework, const Binding& binding) {
  return Guard([&] {
    const Cycle cycle{*binding.snapshot, *binding.assumed, *binding.state};
    const NodeInfo node(*binding.snapshot, binding.row);
    if (Status s = framework.RunPreBindPlugins(cycle, *binding.state, node); !s.ok()) return s;
    return framework.RunBindPlugins(cycle, *binding.state, node);
  });
}

// Nothing holds the pod back any more: it is bound, here or by the binder.
bool SchedulingLoop::FinishPermit(Binding binding, std::vector<QueuedPod>* left) {
  queue_.Done(binding.assumed->Key());
  if (options_.binder != nullptr) {
    Submit(std::move(binding));
    return true;
  }
  const Status status = RunBinding(*FrameworkOf(*binding.assumed), binding);
  return Finish(std::move(binding), status, left);
}

void SchedulingLoop::Submit(Binding binding) {
  Framework* framework = FrameworkOf(*binding.assumed);
  // Loops that come after each other may use one binder.
  static std::atomic<std::uint64_t> last_job = 0;
  const std::uint64_t id = ++last_job;
  auto kept = std::make_shared<Binding>(std::move(binding));
  const auto run = [framework, weak = std::weak_ptr<const Binding>(kept)] {
    const std::shared_ptr<const Binding> job = weak.lock();
    return job ? RunBinding(*framework, *job) : Status::Error("the binding was given up");
  };
  const auto submitted = options_.binder->SubmitBindingJob({id, kept->assumed, kept->node, run});
  switch (submitted) {
    case ExecutorAdapter::Submit::kAccepted:
      binding_.emplace(id, std::move(kept));
      break;
    case ExecutorAdapter::Submit::kFull:
      unsubmitted_.push_back(std::move(*kept));
      break;
    case ExecutorAdapter::Submit::kClosed:
      Finish(std::move(*kept), Status::Error("the binder is closed"), nullptr);
      break;
  }
}

// Takes the results of the binder, and gives it what it had no room for.
void SchedulingLoop::PollBinder() {
  if (options_.binder == nullptr) return;
  for (BindingResult& result : options_.binder->Poll()) {
    const auto found = binding_.find(result.id);
    if (found == binding_.end()) continue;  // another loop's, which has given it up
    Binding binding = std::move(*found->second);
    binding_.erase(found);
    Finish(std::move(binding), result.status, nullptr);
  }
  std::vector<Binding> again = std::move(unsubmitted_);
  unsubmitted_.clear();
  for (Binding& binding : again) Submit(std::move(binding));
}

bool SchedulingLoop::Finish(Binding binding, const Status& status, std::vector<QueuedPod>* left) {
  const PodPtr pod = binding.assumed;
  const std::uint64_t key = pod->Key();
  Framework& framework = *FrameworkOf(*pod);
  const auto now = view().FindPod(key);
  const bool gone = binding.deleted || !now || view().IsPending(key);
  if (!status.ok() || gone) {
    if (!status.ok()) bus_.Publish(BindFailed{pod, binding.node, status});
    TakeBack(binding);
    if (gone) return false;
    const PodPtr back = view().FindPod(key);
    const QueueEvent free = PodEvent(EventResource::kAssignedPod, kDelete, back, nullptr);
    // It failed by an error, whoever gave it: its rejection is nothing that an event could change.
    if (!status.IsRejected()) queue_.MoveAll(free);
    Fail(std::move(binding.pod), std::move(binding.entity), status, {}, "", left);
    if (status.IsRejected()) {
      queue_.MoveAll(free, {.max_priority = {}, .except = key});
    }
    return false;
  }
  (void)cluster_.FinishBinding(*pod);
  (void)Guard([&] {
    const Cycle cycle{*binding.snapshot, *pod, *binding.state};
    framework.RunPostBindPlugins(cycle, *binding.state, NodeInfo(*binding.snapshot, binding.row));
    return Status();
  });
  Bound(pod, binding.node);
  if (binding.evicted) EvictPod(pod, nullptr, binding.node);
  return true;
}

// Undoes Assume and Reserve.
void SchedulingLoop::TakeBack(Binding& binding) {
  if (options_.isolation == Isolation::kOff) return;
  const PodInfo& pod = *binding.assumed;
  Framework& framework = *FrameworkOf(pod);
  {
    const Cycle cycle{*binding.snapshot, pod, *binding.state};
    framework.RunUnreservePlugins(cycle, *binding.state, NodeInfo(*binding.snapshot, binding.row));
  }
  binding.state.reset();
  binding.snapshot.reset();
  if (binding.deleted) return;  // another pod of that name may be assumed
  const bool on_node = view().Find(binding.node).has_value();
  if (!cluster_.ForgetPod(pod)) return;  // it was deleted meanwhile
  CountGroup(pod, on_node ? 0 : 1, on_node ? -1 : 0);
}

// Ends the waiting at Permit of a pod that may not be bound.
void SchedulingLoop::RejectWaiting(std::uint64_t key, const Status& status) {
  const auto found = waiting_.find(key);
  Binding binding = std::move(found->second);
  waiting_.erase(found);
  verdicts_.erase(binding.order);
  waited_at_ = version_;
  TakeBack(binding);
  const PodPtr back = view().FindPod(key);
  const QueueEvent gone = PodEvent(EventResource::kAssignedPod, kDelete, back, nullptr);
  std::set<std::string> plugins;
  if (status.IsRejected()) plugins.emplace(status.plugin());
  if (!status.IsRejected()) queue_.MoveAll(gone);
  Fail(std::move(binding.pod), std::move(binding.entity), status, plugins, "", nullptr);
  if (status.IsRejected()) queue_.MoveAll(gone, {.max_priority = {}, .except = key});
  // The others of a gang would wait in vain.
  const std::uint64_t group = back->GroupKey();
  if (!IsShortOfPods(group)) return;
  for (const auto& [other, waits] : waiting_) {
    if (waits.assumed->GroupKey() != group) continue;
    // It does the same for the next one.
    return RejectWaiting(
        other,
        Status::Unschedulable("the gang lost a pod that it needs").WithPlugin("GangScheduling"));
  }
}

}  // namespace schedfw
