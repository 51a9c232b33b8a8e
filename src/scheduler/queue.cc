#include "schedfw/scheduler/queue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedfw/scheduler/scheduler.h"

namespace schedfw {

namespace {

using std::chrono::nanoseconds;

constexpr int kOtherPlugin = 63;  // the bit of all plugins beyond the first 63
constexpr std::size_t kArity = 4;
constexpr std::string_view kGangScheduling = "GangScheduling";

constexpr EventResource kAnyResource[] = {EventResource::kAssignedPod,
                                          EventResource::kUnscheduledPod,
                                          EventResource::kTargetPod,
                                          EventResource::kNode,
                                          EventResource::kPodGroup,
                                          EventResource::kCoschedulingPodGroup,
                                          EventResource::kNodeResourceTopology};

constexpr PluginBits Bit(int plugin) { return PluginBits{1} << plugin; }

// Upstream's windows of backoff are whole seconds (backoff_queue.go, alignToWindow).
nanoseconds WholeSeconds(nanoseconds time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace

SchedulingQueue::SchedulingQueue(const Scheduler& scheduler, const Clock& clock,
                                 QueueOptions options, const PodGroupLookup* groups)
    : clock_(clock), options_(options), groups_(groups), rejectors_(64) {
  for (const std::string& name : scheduler.profile_names()) {
    Framework& framework = *scheduler.framework(name);
    if (sort_ == nullptr) sort_ = &framework.queue_sort();
    profile_of_.emplace(name, static_cast<std::uint32_t>(profiles_.size()));
    Collect(framework, groups != nullptr, profiles_.emplace_back());
  }
  plain_sort_ = sort_->SortsByPriority();
  gang_plugin_ = BitOf(kGangScheduling);
}

SchedulingQueue::~SchedulingQueue() {
  for (Heap* heap : {&active_, &backoff_, &error_backoff_, &unschedulable_}) {
    for (const Entry& entry : *heap) delete entry.entity;
  }
}

int SchedulingQueue::BitOf(std::string_view plugin) {
  const auto it = bits_.find(plugin);
  if (it != bits_.end()) return it->second;
  const int bit = std::min(static_cast<int>(bits_.size()), kOtherPlugin);
  bits_.emplace(plugin, bit);
  return bit;
}

// Which events the plugins of a profile are asked about (scheduler.go, buildQueueingHintMap).
void SchedulingQueue::Collect(Framework& framework, bool groups, ProfileHints& out) {
  out.framework = &framework;
  std::set<const Plugin*> seen;
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
        ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
    for (Plugin* plugin : framework.profile().Instances<Plugin>(point)) {
      if (!seen.insert(plugin).second) continue;
      const int bit = BitOf(plugin->Name());
      const bool by_plan = dynamic_cast<const IncrementalPlugin*>(plugin) != nullptr;
      if (const auto* extensions = dynamic_cast<const EnqueueExtensions*>(plugin)) {
        for (ClusterEventWithHint& registered : extensions->EventsToRegister()) {
          if (!by_plan && registered.hint) out.by_pod |= Bit(bit);
          out.hints.push_back({registered.event, bit, std::move(registered.hint)});
        }
        continue;
      }
      // Nothing is known of it: any event may help (runtime/framework.go, defaultEnqueueExtension).
      for (const EventResource resource : kAnyResource) {
        out.hints.push_back({{resource, kAllActions}, bit, {}});
      }
    }
  }
  // Nothing is known of who has no name of its own either.
  for (const EventResource resource : kAnyResource) {
    out.hints.push_back({{resource, kAllActions}, kOtherPlugin, {}});
  }
  if (!groups) return;
  // plugins/gangscheduling/gangscheduling.go, EventsToRegister.
  const int gang = BitOf(kGangScheduling);
  const auto same_group = [](const PodInfo& pod, const ObjectChange& change) {
    return change.new_pod != nullptr && change.new_pod->GroupKey() == pod.GroupKey()
               ? QueueingHint::kQueue
               : QueueingHint::kSkip;
  };
  out.by_pod |= Bit(gang);
  out.hints.push_back({{EventResource::kUnscheduledPod, kAdd}, gang, same_group});
  out.hints.push_back({{EventResource::kAssignedPod, kAdd}, gang, same_group});
  out.hints.push_back({{EventResource::kPodGroup, kAdd | kUpdate},
                       gang,
                       [](const PodInfo& pod, const ObjectChange& change) {
                         const api::PodGroup* now = change.new_group;
                         if (now == nullptr ||
                             pod.pod->spec.scheduling_group != now->metadata.name ||
                             pod.pod->metadata.ns != now->metadata.ns) {
                           return QueueingHint::kSkip;
                         }
                         const api::PodGroup* before = change.old_group;
                         if (before == nullptr) return QueueingHint::kQueue;
                         return before->gang && now->gang && now->min_count < before->min_count
                                    ? QueueingHint::kQueue
                                    : QueueingHint::kSkip;
                       }});
}

std::optional<std::uint32_t> SchedulingQueue::ProfileOf(const PodInfo& pod) const {
  const auto it = profile_of_.find(pod.plan->pattern->spec.scheduler_name);
  return it == profile_of_.end() ? std::nullopt : std::optional(it->second);
}

PluginBits SchedulingQueue::Bits(const std::set<std::string>& plugins) const {
  PluginBits out = 0;
  for (const std::string& plugin : plugins) {
    const auto it = bits_.find(plugin);
    out |= Bit(it == bits_.end() ? kOtherPlugin : it->second);
  }
  return out;
}

std::vector<std::string> SchedulingQueue::Names(PluginBits plugins) const {
  std::vector<std::string> out;
  for (const auto& [name, bit] : bits_) {
    if ((plugins & Bit(bit)) != 0) out.push_back(name);
  }
  return out;
}

// --- heaps

SchedulingQueue::Heap& SchedulingQueue::HeapOf(Where where) {
  switch (where) {
    case Where::kActive:
      return active_;
    case Where::kBackoff:
      return backoff_;
    case Where::kErrorBackoff:
      return error_backoff_;
    default:
      return unschedulable_;
  }
}

bool SchedulingQueue::ComesFirst(const QueuedEntity& a, const QueuedEntity& b) const {
  const auto info = [](const QueuedEntity& entity) {
    return QueuedPodInfo{entity.pods().front().pod, entity.timestamp.count(), entity.priority,
                         entity.initial_timestamp.count()};
  };
  return sort_->Less(info(a), info(b));
}

bool SchedulingQueue::Before(const Entry& a, const Entry& b) const {
  if (a.backoff != b.backoff) return a.backoff < b.backoff;
  if (plain_sort_) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
  } else {
    if (ComesFirst(*a.entity, *b.entity)) return true;
    if (ComesFirst(*b.entity, *a.entity)) return false;
  }
  return a.sequence < b.sequence;
}

SchedulingQueue::Entry SchedulingQueue::EntryOf(QueuedEntity& entity, Where where) const {
  const bool backs_off = where == Where::kBackoff || where == Where::kErrorBackoff;
  return {backs_off ? BackoffTime(entity).count() : 0,
          entity.timestamp.count(),
          entity.sequence,
          entity.priority,
          entity.slot_,
          &entity};
}

std::size_t SchedulingQueue::SiftUp(Heap& heap, std::size_t at) {
  const Entry moved = heap[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / kArity;
    if (!Before(moved, heap[parent])) break;
    heap[at] = heap[parent];
    places_[heap[at].slot] = static_cast<std::uint32_t>(at);
    at = parent;
  }
  heap[at] = moved;
  places_[moved.slot] = static_cast<std::uint32_t>(at);
  return at;
}

void SchedulingQueue::SiftDown(Heap& heap, std::size_t at) {
  const Entry moved = heap[at];
  for (;;) {
    const std::size_t first = kArity * at + 1;
    if (first >= heap.size()) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + kArity, heap.size());
    for (std::size_t child = first + 1; child < end; ++child) {
      if (Before(heap[child], heap[least])) least = child;
    }
    if (!Before(heap[least], moved)) break;
    heap[at] = heap[least];
    places_[heap[at].slot] = static_cast<std::uint32_t>(at);
    at = least;
  }
  heap[at] = moved;
  places_[moved.slot] = static_cast<std::uint32_t>(at);
}

void SchedulingQueue::Insert(QueuedEntityPtr owned, Where where) {
  QueuedEntity& entity = *owned.release();
  Heap& heap = HeapOf(where);
  entity.where_ = where;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.push_back(0);
  }
  entity.slot_ = free_slots_.back();
  free_slots_.pop_back();
  places_[entity.slot_] = static_cast<std::uint32_t>(heap.size());
  heap.push_back(EntryOf(entity, where));
  if (where == Where::kUnschedulable) {
    CountUnschedulable(entity, 1);
  } else {
    SiftUp(heap, heap.size() - 1);
  }
  for (const QueuedPod& pod : entity.pods()) pods_.Set(pod.pod->Key(), &entity);
  if (entity.is_group) entities_of_groups_[entity.key] = &entity;
}

QueuedEntityPtr SchedulingQueue::Remove(QueuedEntity& entity) {
  Heap& heap = HeapOf(entity.where_);
  const std::size_t at = places_[entity.slot_];
  const Entry last = heap.back();
  heap.pop_back();
  if (last.entity != &entity) {
    heap[at] = last;
    places_[last.slot] = static_cast<std::uint32_t>(at);
    if (entity.where_ != Where::kUnschedulable) SiftDown(heap, SiftUp(heap, at));
  }
  if (entity.where_ == Where::kUnschedulable) CountUnschedulable(entity, -1);
  entity.where_ = Where::kNowhere;
  free_slots_.push_back(entity.slot_);
  for (const QueuedPod& pod : entity.pods()) pods_.Erase(pod.pod->Key());
  if (entity.is_group) entities_of_groups_.erase(entity.key);
  return QueuedEntityPtr(&entity);
}

// Its priority or time has changed.
void SchedulingQueue::Resort(QueuedEntity& entity) {
  Heap& heap = HeapOf(entity.where_);
  const std::size_t at = places_[entity.slot_];
  heap[at] = EntryOf(entity, entity.where_);
  if (entity.where_ != Where::kUnschedulable) SiftDown(heap, SiftUp(heap, at));
}

void SchedulingQueue::SortAnew(std::span<const std::uint64_t> pod_keys) {
  if (plain_sort_) return;
  std::vector<QueuedEntity*> moved;
  for (const std::uint64_t key : pod_keys) {
    QueuedEntity* const* found = pods_.Find(key);
    if (found != nullptr && (*found)->where_ != Where::kUnschedulable) moved.push_back(*found);
  }
  const auto place = [&](const QueuedEntity* entity) {
    return std::pair(entity->where_, places_[entity->slot_]);
  };
  std::sort(moved.begin(), moved.end(),
            [&](const QueuedEntity* a, const QueuedEntity* b) { return place(a) < place(b); });
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  // To the back: children before their parents, so that below each all is in order already; to the
  // front the other way round. Whichever it isn't moves nothing.
  std::for_each(moved.rbegin(), moved.rend(), [&](QueuedEntity* entity) {
    SiftDown(HeapOf(entity->where_), places_[entity->slot_]);
  });
  for (QueuedEntity* entity : moved) SiftUp(HeapOf(entity->where_), places_[entity->slot_]);
}

void SchedulingQueue::SortAnew() {
  if (plain_sort_) return;
  for (Heap* heap : {&active_, &backoff_, &error_backoff_}) {
    std::sort(heap->begin(), heap->end(),
              [&](const Entry& a, const Entry& b) { return Before(a, b); });
    for (std::size_t i = 0; i < heap->size(); ++i) {
      places_[(*heap)[i].slot] = static_cast<std::uint32_t>(i);
    }
  }
}

QueuedEntityPtr SchedulingQueue::NewEntity() {
  QueuedEntityPtr out;
  if (free_.empty()) {
    out = std::make_unique<QueuedEntity>();
  } else {
    out = std::move(free_.back());
    free_.pop_back();
    *out = QueuedEntity();
  }
  out->sequence = ++last_sequence_;
  return out;
}

void SchedulingQueue::Drop(QueuedEntityPtr entity) {
  constexpr std::size_t kMostFree = 4096;
  if (free_.size() >= kMostFree) return;
  for (QueuedPod& pod : entity->pods()) pod.pod.reset();
  free_.push_back(std::move(entity));
}

// Notes that an entity comes to the unschedulable ones, or leaves them.
void SchedulingQueue::CountUnschedulable(QueuedEntity& entity, int sign) {
  const QueuedPod& one = entity.one;
  if (entity.is_group || ((one.unschedulable | one.pending) & profiles_[one.profile].by_pod) != 0) {
    without_kind_ += sign;
    entity.kind_ = nullptr;
  } else {
    const auto it = kinds_
                        .try_emplace({one.pod->plan.get(), one.profile, entity.gating_plugin,
                                      one.unschedulable, one.pending})
                        .first;
    internal::UnschedulableKind& kind = it->second;
    if (kind.pods == 0) kind.sample = one;
    kind.pods += sign;
    entity.kind_ = sign > 0 ? &kind : nullptr;
    if (kind.pods == 0) kinds_.erase(it);
  }
  PluginBits rejectors = 0;
  for (const QueuedPod& pod : entity.pods()) rejectors |= pod.unschedulable | pod.pending;
  if (entity.gating_plugin >= 0) rejectors |= Bit(entity.gating_plugin);
  for (int bit = 0; bit < 64; ++bit) {
    if ((rejectors & Bit(bit)) != 0) rejectors_[static_cast<std::size_t>(bit)] += sign;
  }
}

// --- backoff

// backoff_queue.go, getBackoffTime and calculateBackoffDuration.
nanoseconds SchedulingQueue::BackoffTime(QueuedEntity& entity) const {
  if (options_.max_backoff == nanoseconds::zero()) return QueuedEntity::kNever;
  const std::int32_t count =
      entity.consecutive_errors > 0 ? entity.consecutive_errors : entity.unschedulable_count;
  if (count == 0) return QueuedEntity::kNever;
  if (!entity.backoff_expiration) {
    nanoseconds most = options_.max_backoff;
    if (entity.pods().size() > 1) {
      most = nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(most.count()) *
                                    std::sqrt(static_cast<double>(entity.pods().size()))));
    }
    const int shift = std::min(count - 1, 62);
    const bool is_most = options_.initial_backoff.count() > (most.count() >> shift);
    const nanoseconds backoff =
        is_most ? most : nanoseconds(options_.initial_backoff.count() << shift);
    const nanoseconds end = entity.timestamp + backoff;
    entity.backoff_expiration = options_.pop_from_backoff ? WholeSeconds(end) : end;
  }
  return *entity.backoff_expiration;
}

bool SchedulingQueue::IsBackingOff(QueuedEntity& entity) const {
  const nanoseconds now = options_.pop_from_backoff ? WholeSeconds(Now()) : Now();
  return BackoffTime(entity) >= now;
}

std::optional<nanoseconds> SchedulingQueue::NextFlush() const {
  std::optional<nanoseconds> out;
  for (const Heap* heap : {&backoff_, &error_backoff_}) {
    if (heap->empty()) continue;
    const nanoseconds time(heap->front().backoff);
    if (!out || time < *out) out = time;
  }
  // Ends of backoff are looked at each whole second, and one that is now counts as backing off.
  if (out) out = WholeSeconds(*out) + std::chrono::seconds(1);
  return out;
}

void SchedulingQueue::FlushBackoff() {
  for (Heap* heap : {&backoff_, &error_backoff_}) {
    while (!heap->empty() && !IsBackingOff(*heap->front().entity)) {
      MoveToActive(Remove(*heap->front().entity), /*from_backoff=*/true);
    }
  }
}

void SchedulingQueue::FlushUnschedulable() {
  const nanoseconds now = Now();
  std::vector<QueuedEntity*> due;
  for (const Entry& entry : unschedulable_) {
    QueuedEntity& entity = *entry.entity;
    const nanoseconds since = std::max(entity.timestamp, entity.flushed.value_or(nanoseconds(0)));
    if (now - since > options_.max_unschedulable) due.push_back(&entity);
  }
  if (due.empty()) return;
  std::sort(due.begin(), due.end(),
            [](const QueuedEntity* a, const QueuedEntity* b) { return a->sequence < b->sequence; });
  for (QueuedEntity* entity : due) {
    entity->flushed = now;
    Requeue(Remove(*entity), Strategy::kAfterBackoff);
  }
  // Pods in flight take the flush for an event, whoever it was for.
  if (!in_flight_.empty()) events_.emplace_back();
}

// --- PreEnqueue

// plugins/gangscheduling/gangscheduling.go, PreEnqueue.
Status SchedulingQueue::PreEnqueueGroup(const QueuedPod& pod) const {
  if (groups_ == nullptr || pod.pod->scheduling_group == 0) return {};
  const api::PodGroup* group = groups_->FindGroup(pod.pod->GroupKey());
  if (group == nullptr) {
    return Status::Unresolvable("waiting for pods's pod group \"" +
                                pod.pod->pod->spec.scheduling_group +
                                "\" to appear in scheduling queue");
  }
  if (!group->gang || groups_->CountPods(pod.pod->GroupKey()) >= group->min_count) return {};
  return Status::Unresolvable(
      "waiting for minCount pods from a gang to appear in scheduling queue");
}

// False: a plugin keeps the entity out; of a group, the last of its pods that is kept out counts.
bool SchedulingQueue::RunPreEnqueue(QueuedEntity& entity) {
  entity.gating_plugin = -1;
  entity.gate = Status();
  for (QueuedPod& pod : entity.pods()) {
    Status status;
    try {
      status = profiles_[pod.profile].framework->RunPreEnqueuePlugins(*pod.pod);
    } catch (const std::exception& error) {
      status = Status::Error(error.what());
    } catch (...) {
      status = Status::Error("a plugin threw something that is no exception");
    }
    if (status.ok()) {
      status = PreEnqueueGroup(pod);
      if (!status.ok()) status = status.WithPlugin(kGangScheduling);
    }
    if (status.ok()) continue;
    const int bit = status.plugin().empty() ? kOtherPlugin : BitOf(status.plugin());
    pod.unschedulable |= Bit(bit);
    entity.gating_plugin = bit;
    entity.gate = std::move(status);
  }
  return entity.gating_plugin < 0;
}

bool SchedulingQueue::MoveToActive(QueuedEntityPtr entity, bool from_backoff) {
  if (!(options_.pop_from_backoff && from_backoff) && !RunPreEnqueue(*entity)) {
    Insert(std::move(entity), Where::kUnschedulable);
    return false;
  }
  if (entity->initial_timestamp == QueuedEntity::kNever) entity->initial_timestamp = Now();
  Insert(std::move(entity), Where::kActive);
  return true;
}

bool SchedulingQueue::MoveToBackoff(QueuedEntityPtr entity) {
  if (options_.pop_from_backoff && !RunPreEnqueue(*entity)) {
    Insert(std::move(entity), Where::kUnschedulable);
    return false;
  }
  // Without a plugin to blame it failed by an error; groups never have one (backoff_queue.go, add).
  const bool by_plugin =
      !entity->is_group && (entity->one.unschedulable | entity->one.pending) != 0;
  Insert(std::move(entity), by_plugin ? Where::kBackoff : Where::kErrorBackoff);
  return true;
}

void SchedulingQueue::Requeue(QueuedEntityPtr entity, Strategy strategy) {
  if (strategy == Strategy::kSkip) {
    Insert(std::move(entity), Where::kUnschedulable);
  } else if (strategy == Strategy::kAfterBackoff && IsBackingOff(*entity)) {
    MoveToBackoff(std::move(entity));
  } else {
    MoveToActive(std::move(entity), /*from_backoff=*/false);
  }
}

// --- pods

bool SchedulingQueue::Add(PodPtr pod) {
  const auto profile = ProfileOf(*pod);
  if (!profile) return false;
  QueuedPod queued;
  queued.timestamp = Now();
  queued.profile = *profile;
  queued.pod = std::move(pod);
  if (groups_ != nullptr && queued.pod->scheduling_group != 0) {
    AddMember(std::move(queued));
    return true;
  }
  QueuedEntityPtr entity = NewEntity();
  entity->key = queued.pod->Key();
  entity->priority = queued.pod->priority();
  entity->timestamp = queued.timestamp;
  entity->one = std::move(queued);
  MoveToActive(std::move(entity), /*from_backoff=*/false);
  return true;
}

QueuedEntityPtr SchedulingQueue::NewGroup(std::uint64_t key, nanoseconds timestamp) {
  QueuedEntityPtr out = NewEntity();
  out->is_group = true;
  out->key = key;
  out->timestamp = timestamp;
  out->priority = groups_->FindGroup(key)->priority.value_or(0);
  return out;
}

// Pods of a group in the order in which they are tried (framework/types.go,
// PodGroupMemberPodsOrderingFunc).
void SchedulingQueue::SortMembers(QueuedEntity& group) const {
  std::stable_sort(group.members.begin(), group.members.end(),
                   [](const QueuedPod& a, const QueuedPod& b) {
                     if (a.pod->priority() != b.pod->priority()) {
                       return a.pod->priority() > b.pod->priority();
                     }
                     if (a.attempts != b.attempts) return a.attempts > b.attempts;
                     if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
                     return a.pod->pod->metadata.name < b.pod->pod->metadata.name;
                   });
}

// scheduling_queue.go, addPodGroupMember.
void SchedulingQueue::AddMember(QueuedPod pod) {
  const std::uint64_t key = pod.pod->GroupKey();
  if (groups_->FindGroup(key) == nullptr) {
    incomplete_[key].push_back(std::move(pod));
    return;
  }
  if (const auto arrived = arrived_.find(key); arrived != arrived_.end()) {
    arrived->second.push_back(std::move(pod));
    return;
  }
  const auto found = entities_of_groups_.find(key);
  if (found == entities_of_groups_.end()) {
    QueuedEntityPtr group = NewGroup(key, pod.timestamp);
    // A pod whose binding failed backs off: upstream tries it again at once, for as long as it
    // fails.
    group->consecutive_errors = pod.consecutive_errors;
    group->members.push_back(std::move(pod));
    Requeue(std::move(group), Strategy::kAfterBackoff);
    return;
  }
  const Where where = found->second->where_;
  QueuedEntityPtr group = Remove(*found->second);
  const bool gated = group->gating_plugin >= 0;
  group->members.push_back(std::move(pod));
  SortMembers(*group);
  if (where == Where::kActive || gated) {
    MoveToActive(std::move(group), /*from_backoff=*/false);
  } else if (where == Where::kUnschedulable) {
    Insert(std::move(group), Where::kUnschedulable);
  } else {
    Requeue(std::move(group), Strategy::kAfterBackoff);
  }
}

void SchedulingQueue::GroupChanged(std::uint64_t group_key, const QueueEvent& event) {
  if (groups_ == nullptr) return;
  const api::PodGroup* group = groups_->FindGroup(group_key);
  if (group == nullptr) {  // gone: its pods wait until it comes back
    const auto found = entities_of_groups_.find(group_key);
    if (found == entities_of_groups_.end()) return;
    QueuedEntityPtr entity = Remove(*found->second);
    for (QueuedPod& pod : entity->members) incomplete_[group_key].push_back(std::move(pod));
    return;
  }
  if (const auto found = entities_of_groups_.find(group_key);
      found != entities_of_groups_.end() &&
      found->second->priority != group->priority.value_or(0)) {
    found->second->priority = group->priority.value_or(0);
    Resort(*found->second);
  }
  if (const auto waiting = incomplete_.find(group_key); waiting != incomplete_.end()) {
    std::vector<QueuedPod> pods = std::move(waiting->second);
    incomplete_.erase(waiting);
    for (QueuedPod& pod : pods) AddMember(std::move(pod));
  }
  MoveAll(event);
}

// Replaces the object of a pod that is in no entity: its group has no object, or is in flight.
bool SchedulingQueue::ReplaceOutside(const PodPtr& new_pod) {
  const std::uint64_t key = new_pod->Key();
  for (auto* outside : {&incomplete_, &arrived_}) {
    const auto found = outside->find(new_pod->GroupKey());
    if (found == outside->end()) continue;
    for (QueuedPod& pod : found->second) {
      if (pod.pod->Key() != key) continue;
      pod.pod = new_pod;
      return true;
    }
  }
  return false;
}

void SchedulingQueue::Replace(const PodPtr& new_pod) {
  const std::uint64_t key = new_pod->Key();
  QueuedEntity* const* found = pods_.Find(key);
  if (found == nullptr) {
    ReplaceOutside(new_pod);
    return;
  }
  QueuedEntity& entity = **found;
  const bool waits = entity.where_ == Where::kUnschedulable;
  if (waits) CountUnschedulable(entity, -1);
  for (QueuedPod& pod : entity.pods()) {
    if (pod.pod->Key() == key) pod.pod = new_pod;
  }
  if (waits) CountUnschedulable(entity, 1);
  if (entity.is_group) {
    SortMembers(entity);
  } else {
    entity.priority = new_pod->priority();
  }
  Resort(entity);
}

void SchedulingQueue::Update(const PodPtr& new_pod, std::span<const QueueEvent> events) {
  const std::uint64_t key = new_pod->Key();
  if (in_flight_.Contains(key)) {
    events_.insert(events_.end(), events.begin(), events.end());
    return;
  }
  QueuedEntity* const* found = pods_.Find(key);
  if (found == nullptr) {
    if (!ReplaceOutside(new_pod)) Add(new_pod);
    return;
  }
  QueuedEntity& entity = **found;
  Replace(new_pod);
  if (entity.where_ != Where::kUnschedulable) return;
  for (const QueueEvent& event : events) {
    const Strategy strategy = WorthRequeuing(entity, event);
    if (strategy == Strategy::kSkip) continue;
    ++stats_.moves;
    Requeue(Remove(entity), strategy);
    QueuedEntity* const* now = pods_.Find(key);
    if (now == nullptr || (*now)->where_ != Where::kUnschedulable) return;
  }
}

void SchedulingQueue::Delete(const PodInfo& pod) {
  const std::uint64_t key = pod.Key();
  const auto drop = [&](std::vector<QueuedPod>& pods) {
    std::erase_if(pods, [&](const QueuedPod& other) { return other.pod->Key() == key; });
  };
  if (const auto it = incomplete_.find(pod.GroupKey()); it != incomplete_.end()) {
    drop(it->second);
    if (it->second.empty()) incomplete_.erase(it);
  }
  if (const auto it = arrived_.find(pod.GroupKey()); it != arrived_.end()) drop(it->second);
  QueuedEntity* const* found = pods_.Find(key);
  if (found == nullptr) return;
  const Where where = (*found)->where_;
  QueuedEntityPtr entity = Remove(**found);
  if (!entity->is_group || entity->members.size() == 1) return Drop(std::move(entity));
  drop(entity->members);
  const bool gated = entity->gating_plugin >= 0;  // perhaps for the pod that goes
  if (where == Where::kUnschedulable && !gated) {
    Insert(std::move(entity), where);
  } else if (where == Where::kActive || gated) {
    MoveToActive(std::move(entity), /*from_backoff=*/false);
  } else {
    Requeue(std::move(entity), Strategy::kAfterBackoff);
  }
}

// --- cycles

QueuedEntityPtr SchedulingQueue::Pop() {
  Heap* heap = &active_;
  if (heap->empty() && options_.pop_from_backoff) heap = &backoff_;
  if (heap->empty()) return nullptr;
  QueuedEntityPtr entity = Remove(*heap->front().entity);
  ++entity->attempts;
  for (QueuedPod& pod : entity->pods()) {
    ++stats_.attempts;
    if (pod.attempts++ > 0) ++stats_.retries;
    AddInFlight(pod.pod->Key());
  }
  if (entity->is_group) {
    SortMembers(*entity);
    arrived_[entity->key];
  }
  return entity;
}

void SchedulingQueue::AddInFlight(std::uint64_t pod_key) {
  const std::uint64_t next = first_event_ + events_.size();
  if (in_flight_.Contains(pod_key)) return;
  in_flight_.Set(pod_key, next);
  if (in_flight_from_.empty() || in_flight_from_.back().first != next) {
    in_flight_from_.emplace_back(next, 0);
  }
  ++in_flight_from_.back().second;
}

void SchedulingQueue::Done(std::uint64_t pod_key) {
  const std::uint64_t* found = in_flight_.Find(pod_key);
  if (found == nullptr) return;
  const auto from = std::lower_bound(
      in_flight_from_.begin(), in_flight_from_.end(), *found,
      [](const auto& entry, std::uint64_t number) { return entry.first < number; });
  --from->second;
  in_flight_.Erase(pod_key);
  while (!in_flight_from_.empty() && in_flight_from_.front().second == 0) {
    in_flight_from_.pop_front();
  }
  PruneEvents();
}

void SchedulingQueue::Done(QueuedEntityPtr entity) {
  for (const QueuedPod& pod : entity->pods()) Done(pod.pod ? pod.pod->Key() : entity->key);
  Drop(std::move(entity));
}

// Drops the events that no pod in flight will ask about.
void SchedulingQueue::PruneEvents() {
  if (in_flight_from_.empty()) {
    first_event_ += events_.size();
    events_.clear();
    return;
  }
  for (; first_event_ < in_flight_from_.front().first; ++first_event_) events_.pop_front();
}

void SchedulingQueue::AddUnschedulable(QueuedEntityPtr entity, PluginBits unschedulable,
                                       PluginBits pending) {
  const std::uint64_t key = entity->key;
  QueuedPod& pod = entity->one;
  Blame(pod, unschedulable, pending);
  entity->consecutive_errors = pod.consecutive_errors;
  entity->unschedulable_count = pod.unschedulable_count;
  entity->gating_plugin = -1;
  entity->timestamp = pod.timestamp = Now();
  entity->backoff_expiration.reset();
  entity->flushed.reset();
  entity->priority = pod.pod->priority();
  entity->sequence = ++last_sequence_;
  // scheduling_queue.go, determineSchedulingHintForInFlightPod.
  Strategy strategy = Strategy::kSkip;
  const std::uint64_t* flight = in_flight_.Find(key);
  if ((unschedulable | pending) == 0 || flight == nullptr) {
    strategy = Strategy::kAfterBackoff;
  } else {
    for (std::size_t i = *flight - first_event_; i < events_.size(); ++i) {
      const Strategy worth = WorthRequeuing(pod, events_[i]);
      if (worth == Strategy::kSkip) continue;
      strategy = worth;
      if (worth == Strategy::kImmediately || pending == 0) break;
    }
  }
  Done(key);
  Requeue(std::move(entity), strategy);
}

void SchedulingQueue::Blame(QueuedPod& pod, PluginBits unschedulable, PluginBits pending) {
  pod.unschedulable = unschedulable;
  pod.pending = pending;
  if ((unschedulable | pending) == 0) {
    ++pod.consecutive_errors;
  } else {
    ++pod.unschedulable_count;
    pod.consecutive_errors = 0;
  }
}

void SchedulingQueue::AddMemberBack(QueuedPod pod, PluginBits unschedulable, PluginBits pending) {
  Blame(pod, unschedulable, pending);
  pod.timestamp = Now();
  Done(pod.pod->Key());
  AddMember(std::move(pod));
}

PodPtr SchedulingQueue::Find(std::uint64_t pod_key) const {
  QueuedEntity* const* found = pods_.Find(pod_key);
  if (found == nullptr) return nullptr;
  for (const QueuedPod& pod : std::as_const(**found).pods()) {
    if (pod.pod->Key() == pod_key) return pod.pod;
  }
  return nullptr;
}

// scheduling_queue.go, AddAttemptedPodGroupIfNeeded.
void SchedulingQueue::AddAttemptedGroup(QueuedEntityPtr popped, std::vector<QueuedPod> left,
                                        GroupOutcome outcome) {
  const nanoseconds now = Now();
  for (const QueuedPod& pod : left) Done(pod.pod->Key());
  const bool had_left = !left.empty();
  for (QueuedPod& pod : left) pod.timestamp = now;
  std::vector<QueuedPod> pods = std::move(left);
  const auto arrived = arrived_.find(popped->key);
  std::move(arrived->second.begin(), arrived->second.end(), std::back_inserter(pods));
  arrived_.erase(arrived);
  if (pods.empty()) return Drop(std::move(popped));
  if (groups_->FindGroup(popped->key) == nullptr) {
    auto& waiting = incomplete_[popped->key];
    std::move(pods.begin(), pods.end(), std::back_inserter(waiting));
    return Drop(std::move(popped));
  }
  QueuedEntityPtr group = NewGroup(popped->key, popped->timestamp);
  group->initial_timestamp = popped->initial_timestamp;
  group->attempts = popped->attempts;
  const std::uint64_t sequence = popped->sequence;
  group->unschedulable_count = popped->unschedulable_count;
  group->consecutive_errors = popped->consecutive_errors;
  group->members = std::move(pods);
  SortMembers(*group);
  Drop(std::move(popped));
  if (outcome == GroupOutcome::kSuccess) {
    group->unschedulable_count = group->consecutive_errors = 0;
    if (had_left) {
      group->sequence = sequence;
    } else {
      group->timestamp = now;
    }
    MoveToActive(std::move(group), /*from_backoff=*/false);
    return;
  }
  if (outcome == GroupOutcome::kRejected) {
    ++group->unschedulable_count;
    group->consecutive_errors = 0;
  } else {
    ++group->consecutive_errors;
  }
  group->timestamp = now;
  Requeue(std::move(group), Strategy::kAfterBackoff);
}

void SchedulingQueue::Activate(std::span<const std::uint64_t> pod_keys) {
  for (const std::uint64_t key : pod_keys) {
    QueuedEntity* const* found = pods_.Find(key);
    if (found == nullptr) {
      // In flight: it is tried again after its backoff, whatever rejects it.
      if (in_flight_.Contains(key)) events_.emplace_back().only_pod = key;
      continue;
    }
    const Where where = (*found)->where_;
    if (where == Where::kActive) continue;
    MoveToActive(Remove(**found), where != Where::kUnschedulable);
  }
}

// --- events

// scheduling_queue.go, isPodWorthRequeuing.
SchedulingQueue::Strategy SchedulingQueue::WorthRequeuing(const QueuedPod& pod,
                                                          const QueueEvent& event) const {
  const PluginBits rejectors = pod.unschedulable | pod.pending;
  if (rejectors == 0) return Strategy::kAfterBackoff;
  if (event.event.IsWildCard()) {
    return event.only_pod != 0 && event.only_pod != pod.pod->Key() ? Strategy::kSkip
                                                                   : Strategy::kAfterBackoff;
  }
  Strategy out = Strategy::kSkip;
  const ObjectChange change = event.change(snapshot_);
  for (const Hint& hint : profiles_[pod.profile].hints) {
    if ((rejectors & Bit(hint.plugin)) == 0 || !Matches(hint.event, event.event)) continue;
    if (hint.worth) {
      try {
        if (hint.worth(*pod.pod, change) == QueueingHint::kSkip) continue;
      } catch (...) {  // NOLINT: a hint that fails is no reason to wait
      }
    }
    if ((pod.pending & Bit(hint.plugin)) != 0) return Strategy::kImmediately;
    if (pod.pending == 0) return Strategy::kAfterBackoff;
    out = Strategy::kAfterBackoff;
  }
  return out;
}

SchedulingQueue::Strategy SchedulingQueue::WorthRequeuing(const QueuedEntity& entity,
                                                          const QueueEvent& event) const {
  Strategy out = Strategy::kSkip;
  for (const QueuedPod& pod : entity.pods()) out = std::max(out, WorthRequeuing(pod, event));
  return out;
}

PluginBits SchedulingQueue::Interested(const ClusterEvent& event) {
  for (const auto& [known, plugins] : interested_) {
    if (known == event) return plugins;
  }
  PluginBits out = 0;
  for (const ProfileHints& profile : profiles_) {
    for (const Hint& hint : profile.hints) {
      if (Matches(hint.event, event)) out |= Bit(hint.plugin);
    }
  }
  if (event.IsWildCard()) out = ~PluginBits{0};
  interested_.emplace_back(event, out);
  return out;
}

bool SchedulingQueue::GateIsInterested(int gating_plugin, std::uint32_t profile,
                                       const ClusterEvent& event) const {
  if (gating_plugin < 0 || event.IsWildCard()) return true;
  const auto& hints = profiles_[profile].hints;
  return std::any_of(hints.begin(), hints.end(), [&](const Hint& hint) {
    return hint.plugin == gating_plugin && Matches(hint.event, event);
  });
}

// Asks the hints about each kind of pod, once however many there are. False: none moves.
bool SchedulingQueue::JudgeKinds(const QueueEvent& event) {
  bool any = false;
  for (auto& [key, kind] : kinds_) {
    kind.strategy = GateIsInterested(key.gating_plugin, key.profile, event.event)
                        ? WorthRequeuing(kind.sample, event)
                        : Strategy::kSkip;
    any = any || kind.strategy != Strategy::kSkip;
  }
  return any;
}

bool SchedulingQueue::IsFor(const QueuedEntity& entity, const EventFilter& filter) {
  const auto pods = entity.pods();
  return std::any_of(pods.begin(), pods.end(), [&](const QueuedPod& pod) {
    return (!filter.max_priority || pod.pod->priority() <= *filter.max_priority) &&
           (!filter.min_priority || pod.pod->priority() >= *filter.min_priority) &&
           (filter.except == 0 || pod.pod->Key() != filter.except);
  });
}

void SchedulingQueue::MoveAll(const QueueEvent& event, const EventFilter& filter) {
  const PluginBits interested = Interested(event.event);
  if (interested == 0) return;
  // Of an event that may be anything it counts which pod it is about.
  const bool by_kind = !event.event.IsWildCard();
  bool any = !by_kind;
  for (std::size_t bit = 0; bit < rejectors_.size() && !any; ++bit) {
    any = rejectors_[bit] != 0 && (interested & Bit(static_cast<int>(bit))) != 0;
  }
  if (any && by_kind) any = JudgeKinds(event) || without_kind_ != 0;
  if (any) {
    std::vector<std::pair<QueuedEntity*, Strategy>> moved;
    for (const Entry& entry : unschedulable_) {
      QueuedEntity& entity = *entry.entity;
      if (!IsFor(entity, filter)) continue;
      Strategy strategy = Strategy::kSkip;
      if (by_kind && entity.kind_ != nullptr) {
        strategy = entity.kind_->strategy;
      } else if (GateIsInterested(entity.gating_plugin, entity.pods().front().profile,
                                  event.event)) {
        strategy = WorthRequeuing(entity, event);
      }
      if (strategy != Strategy::kSkip) moved.emplace_back(&entity, strategy);
    }
    stats_.moves += static_cast<std::int64_t>(moved.size());
    for (const auto& [entity, strategy] : moved) Requeue(Remove(*entity), strategy);
  }
  if (!in_flight_.empty()) events_.push_back(event);
}

}  // namespace schedfw
