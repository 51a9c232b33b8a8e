// SchedulingQueue: what waits to be scheduled, and when it is tried (again).
#ifndef SCHEDFW_SCHEDULER_QUEUE_H_
#define SCHEDFW_SCHEDULER_QUEUE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/api/pod_group.h"
#include "schedfw/base/clock.h"
#include "schedfw/base/key_map.h"
#include "schedfw/cluster/snapshot.h"
#include "schedfw/framework/event.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

class Framework;
class Scheduler;

/// Plugins as bits, by the numbers that a queue gives them.
using PluginBits = std::uint64_t;

struct QueueOptions {
  std::chrono::nanoseconds initial_backoff = std::chrono::seconds(1);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(10);
  /// So long a pod waits for an event at most (podMaxInUnschedulablePodsDuration).
  std::chrono::nanoseconds max_unschedulable = std::chrono::minutes(5);
  /// Take a pod before its backoff is over when nothing else waits (SchedulerPopFromBackoffQ).
  bool pop_from_backoff = true;
};

/// An event and what it is about.
struct QueueEvent {
  ClusterEvent event;
  PodPtr old_pod, new_pod;
  std::shared_ptr<const api::Node> old_node, new_node;
  std::shared_ptr<const api::PodGroup> old_group, new_group;
  std::uint64_t only_pod = 0;  ///< of a wildcard: the pod that it is for, by key; 0: all

  ObjectChange change(const Snapshot* snapshot) const {
    ObjectChange out;
    out.old_node = old_node.get();
    out.new_node = new_node.get();
    out.old_pod = old_pod.get();
    out.new_pod = new_pod.get();
    out.old_group = old_group.get();
    out.new_group = new_group.get();
    out.snapshot = snapshot;
    return out;
  }
};

/// Which of the pods that wait an event is for; by default all. A group is meant when one of its
/// pods is.
struct EventFilter {
  std::optional<std::int32_t> max_priority = std::nullopt;  ///< only pods of this priority or less
  std::uint64_t except = 0;                                 ///< not this pod, by key
  std::optional<std::int32_t> min_priority = std::nullopt;  ///< only pods of this priority or more
};

/// A pod in the queue, alone or in its group.
struct QueuedPod {
  PodPtr pod;  ///< as the queue knows it: see SchedulingQueue::Update
  std::chrono::nanoseconds timestamp{0};
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;
  std::int32_t consecutive_errors = 0;
  std::uint32_t profile = 0;
  PluginBits unschedulable = 0;  ///< who rejected it last
  PluginBits pending = 0;        ///< who waits for something outside
};

namespace internal {

enum class RequeueStrategy : std::uint8_t { kSkip, kAfterBackoff, kImmediately };

// Unschedulable pods for which hints answer alike: of one plan, rejected by the same plugins.
struct UnschedulableKind {
  std::int64_t pods = 0;
  QueuedPod sample;                                   // one of them, or one that was
  RequeueStrategy strategy = RequeueStrategy::kSkip;  // of the event that is being looked at
};

}  // namespace internal

/// What is queued and popped as one: a pod, or a group of pods.
struct QueuedEntity {
  enum class Where : std::uint8_t { kNowhere, kActive, kBackoff, kErrorBackoff, kUnschedulable };
  static constexpr std::chrono::nanoseconds kNever = std::chrono::nanoseconds::min();

  std::uint64_t key = 0;  ///< PodInfo::Key(), or GroupKey() of its pods
  bool is_group = false;
  std::int32_t priority = 0;
  std::chrono::nanoseconds timestamp{0};
  /// When it became active for the first time; kNever: it hasn't yet.
  std::chrono::nanoseconds initial_timestamp = kNever;
  std::uint64_t sequence = 0;  ///< of equal ones the lower comes first
  std::int32_t attempts = 0;
  std::int32_t unschedulable_count = 0;
  std::int32_t consecutive_errors = 0;
  std::optional<std::chrono::nanoseconds> backoff_expiration;
  std::optional<std::chrono::nanoseconds> flushed;
  int gating_plugin = -1;          ///< the PreEnqueue plugin that keeps it out; -1: none
  Status gate;                     ///< what that plugin said
  QueuedPod one;                   ///< the pod, when it isn't a group
  std::vector<QueuedPod> members;  ///< of a group, in the order in which they are tried

  std::span<QueuedPod> pods() {
    return is_group ? std::span<QueuedPod>(members) : std::span<QueuedPod>(&one, 1);
  }
  std::span<const QueuedPod> pods() const {
    return is_group ? std::span<const QueuedPod>(members) : std::span<const QueuedPod>(&one, 1);
  }

 private:
  friend class SchedulingQueue;
  Where where_ = Where::kNowhere;
  std::uint32_t slot_ = 0;  // says where it is in its heap or list, see SchedulingQueue::places_
  internal::UnschedulableKind* kind_ = nullptr;  // of an unschedulable pod; null: it has none
};
using QueuedEntityPtr = std::unique_ptr<QueuedEntity>;

/// What the queue has to know of pod groups (scheduling.k8s.io).
class PodGroupLookup {
 public:
  virtual ~PodGroupLookup() = default;
  /// The object, or null.
  virtual const api::PodGroup* FindGroup(std::uint64_t group_key) const = 0;
  /// How many pods name the group, on nodes or not.
  virtual std::int32_t CountPods(std::uint64_t group_key) const = 0;
};

/// How the attempt of a group has ended.
enum class GroupOutcome : std::uint8_t { kSuccess, kRejected, kError };

/// What a queue has done so far.
struct QueueStats {
  std::int64_t attempts = 0;  ///< how often a pod was popped, alone or in its group
  std::int64_t retries = 0;   ///< those that weren't a pod's first
  std::int64_t moves = 0;     ///< how often an event has moved an unschedulable entity
};

/// The scheduling queue of kube-scheduler (backend/queue/scheduling_queue.go).
///
/// Pods are active, wait for the end of their backoff, or are unschedulable until an event that a
/// plugin which rejected them is interested in, or for `max_unschedulable`. A pod that a PreEnqueue
/// plugin keeps out is gated: only that plugin's events move it. Pods of a PodGroup are one entity.
///
/// Used by one thread. Pods are told apart by namespace and name. Orders don't depend on hashes:
/// equal entities come in the order in which they were queued.
class SchedulingQueue {
 public:
  /// `scheduler` (its profiles), `clock` and `groups` must outlive the queue. `groups` null: pods
  /// with a group are ordinary ones.
  SchedulingQueue(const Scheduler& scheduler, const Clock& clock, QueueOptions options,
                  const PodGroupLookup* groups);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  /// The cluster that plugins may look at when they are asked about an event; must outlive the
  /// queue. Without one, some say that any event may help.
  void SetSnapshot(const Snapshot* snapshot) { snapshot_ = snapshot; }

  /// Queues a pod that waits. One whose group has no object waits outside until it has. Pods of
  /// unknown profiles are refused: false.
  bool Add(PodPtr pod);
  /// Replaces a pod's object; `events` says what has changed and may move it. A pod in flight gets
  /// the events; its object is given back with AddUnschedulable. An unknown pod is added.
  void Update(const PodPtr& new_pod, std::span<const QueueEvent> events);
  /// Replaces a pod's object and sorts it anew, without any event. O(log pods).
  void Replace(const PodPtr& new_pod);
  void Delete(const PodInfo& pod);

  /// The first of the active entities; without any, the first that waits for its backoff. Null:
  /// there is none. It is in flight until it comes back, or until Done() of its pods.
  QueuedEntityPtr Pop();
  /// A pod comes back that could not be scheduled. No plugins: it failed by an error. Its `one.pod`
  /// may be another object of the pod. O(log pods + events since Pop).
  void AddUnschedulable(QueuedEntityPtr entity, PluginBits unschedulable, PluginBits pending);
  /// A pod of a group comes back alone, after its group had its attempt.
  void AddMemberBack(QueuedPod pod, PluginBits unschedulable, PluginBits pending);
  /// A group comes back, with the pods that have found no node. Without any the group is done.
  void AddAttemptedGroup(QueuedEntityPtr entity, std::vector<QueuedPod> left, GroupOutcome outcome);
  /// A pod is no longer in flight.
  void Done(std::uint64_t pod_key);
  /// The same for all pods of an entity that won't come back.
  void Done(QueuedEntityPtr entity);

  /// Moves pods to the active ones at once, without backoff.
  void Activate(std::span<const std::uint64_t> pod_keys);
  /// An event: entities whose rejecting plugins may let them through now move on. O(1) when no
  /// entity that waits was rejected by a plugin that is interested.
  void MoveAll(const QueueEvent& event, const EventFilter& filter = {});

  /// QueueSort now says something else of these pods: they all belong nearer to the front, or all
  /// nearer to the back, in the same order as before among themselves. To be called before anything
  /// else is queued. O(pods given * log pods).
  void SortAnew(std::span<const std::uint64_t> pod_keys);
  /// The same when it may say something else of any pods. O(pods * log pods).
  void SortAnew();

  /// The object of a group has come or was changed: its pods take note.
  void GroupChanged(std::uint64_t group_key, const QueueEvent& event);

  /// Moves what has waited long enough to the active ones.
  void FlushBackoff();
  /// Moves what has been unschedulable for too long.
  void FlushUnschedulable();
  /// When FlushBackoff has something to do next; nullopt: nothing waits for its backoff.
  std::optional<std::chrono::nanoseconds> NextFlush() const;

  const QueueOptions& options() const { return options_; }

  /// A pod as the queue knows it, or null.
  PodPtr Find(std::uint64_t pod_key) const;

  QueueStats stats() const { return stats_; }

  std::size_t active() const { return active_.size(); }
  std::size_t backing_off() const { return backoff_.size() + error_backoff_.size(); }
  std::size_t in_error_backoff() const { return error_backoff_.size(); }
  std::size_t unschedulable() const { return unschedulable_.size(); }
  std::size_t in_flight() const { return in_flight_.size(); }

  /// Bits of plugins by name; unknown names share one bit.
  PluginBits Bits(const std::set<std::string>& plugins) const;
  std::vector<std::string> Names(PluginBits plugins) const;

  /// Calls `fn(entity)` for all that wait, in no particular order.
  template <typename F>
  void ForEach(F&& fn) const {
    for (const auto* list : {&active_, &backoff_, &error_backoff_, &unschedulable_}) {
      for (const Entry& entry : *list) fn(std::as_const(*entry.entity));
    }
  }
  /// The same for those that wait out their backoff after an error, or are groups.
  template <typename F>
  void ForEachInErrorBackoff(F&& fn) const {
    for (const Entry& entry : error_backoff_) fn(std::as_const(*entry.entity));
  }
  /// Pods whose group has no object.
  const std::map<std::uint64_t, std::vector<QueuedPod>>& incomplete() const { return incomplete_; }

 private:
  friend class QueueArchive;
  using Strategy = internal::RequeueStrategy;
  using Where = QueuedEntity::Where;
  // An entity in a heap or list, which owns it, with what it is sorted by, so that sorting doesn't
  // touch the entities themselves.
  struct Entry {
    std::int64_t backoff;
    std::int64_t timestamp;
    std::uint64_t sequence;
    std::int32_t priority;
    std::uint32_t slot;
    QueuedEntity* entity;
  };
  using Heap = std::vector<Entry>;
  // What tells unschedulable pods apart for hints.
  struct KindKey {
    const PodPlan* plan;
    std::uint32_t profile;
    int gating_plugin;
    PluginBits unschedulable, pending;

    friend auto operator<=>(const KindKey&, const KindKey&) = default;
  };

  struct Hint {
    ClusterEvent event;
    int plugin;
    QueueingHintFn worth;
  };
  struct ProfileHints {
    Framework* framework;
    std::vector<Hint> hints;
    PluginBits by_pod = 0;  // plugins with hints that look at more than the pod's plan
  };

  std::chrono::nanoseconds Now() const { return clock_.Now(); }
  int BitOf(std::string_view plugin);
  void Collect(Framework& framework, bool groups, ProfileHints& out);
  std::optional<std::uint32_t> ProfileOf(const PodInfo& pod) const;

  bool Before(const Entry& a, const Entry& b) const;
  bool ComesFirst(const QueuedEntity& a, const QueuedEntity& b) const;
  Heap& HeapOf(Where where);
  Entry EntryOf(QueuedEntity& entity, Where where) const;
  void Insert(QueuedEntityPtr entity, Where where);
  QueuedEntityPtr Remove(QueuedEntity& entity);
  std::size_t SiftUp(Heap& heap, std::size_t at);
  void SiftDown(Heap& heap, std::size_t at);
  void Resort(QueuedEntity& entity);
  QueuedEntityPtr NewEntity();
  void Drop(QueuedEntityPtr entity);

  // When the backoff ends; kNever: it doesn't back off.
  std::chrono::nanoseconds BackoffTime(QueuedEntity& entity) const;
  bool IsBackingOff(QueuedEntity& entity) const;
  bool RunPreEnqueue(QueuedEntity& entity);
  Status PreEnqueueGroup(const QueuedPod& pod) const;
  bool MoveToActive(QueuedEntityPtr entity, bool from_backoff);
  bool MoveToBackoff(QueuedEntityPtr entity);
  void Requeue(QueuedEntityPtr entity, Strategy strategy);
  Strategy WorthRequeuing(const QueuedPod& pod, const QueueEvent& event) const;
  Strategy WorthRequeuing(const QueuedEntity& entity, const QueueEvent& event) const;
  PluginBits Interested(const ClusterEvent& event);
  bool GateIsInterested(int gating_plugin, std::uint32_t profile, const ClusterEvent& event) const;
  bool JudgeKinds(const QueueEvent& event);
  static bool IsFor(const QueuedEntity& entity, const EventFilter& filter);
  void AddMember(QueuedPod pod);
  bool ReplaceOutside(const PodPtr& new_pod);
  void SortMembers(QueuedEntity& group) const;
  QueuedEntityPtr NewGroup(std::uint64_t key, std::chrono::nanoseconds timestamp);
  void AddInFlight(std::uint64_t pod_key);
  static void Blame(QueuedPod& pod, PluginBits unschedulable, PluginBits pending);
  void PruneEvents();
  void CountUnschedulable(QueuedEntity& entity, int sign);

  const Clock& clock_;
  const QueueOptions options_;
  const PodGroupLookup* const groups_;
  const Snapshot* snapshot_ = nullptr;
  const QueueSortPlugin* sort_ = nullptr;
  bool plain_sort_ = false;  // by priority and time
  std::vector<ProfileHints> profiles_;
  std::map<std::string, std::uint32_t, std::less<>> profile_of_;
  std::map<std::string, int, std::less<>> bits_;
  std::vector<std::pair<ClusterEvent, PluginBits>> interested_;  // by event, as they come up
  int gang_plugin_ = -1;

  QueueStats stats_;
  std::uint64_t last_sequence_ = 0;
  std::vector<QueuedEntityPtr> free_;  // to be used again
  Heap active_, backoff_, error_backoff_, unschedulable_;
  // By slot of an entity, where it is in its heap. Sorting writes here, close together, and not
  // into the entities.
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> free_slots_;
  KeyMap<QueuedEntity*> pods_;                                           // by pod
  std::unordered_map<std::uint64_t, QueuedEntity*> entities_of_groups_;  // by group; the same
  std::map<std::uint64_t, std::vector<QueuedPod>> incomplete_;           // groups without object
  std::map<std::uint64_t, std::vector<QueuedPod>> arrived_;  // while their group was in flight
  std::vector<std::int64_t> rejectors_;  // by plugin: how many unschedulable entities it rejected
  // The kinds of what is unschedulable, in no order that counts, and how many entities have none.
  std::map<KindKey, internal::UnschedulableKind> kinds_;
  std::int64_t without_kind_ = 0;

  // Events since the oldest pod in flight was popped; the first has number first_event_.
  std::deque<QueueEvent> events_;
  std::uint64_t first_event_ = 0;
  KeyMap<std::uint64_t> in_flight_;  // pod → next event at its Pop
  // The numbers in in_flight_, ascending, and how often each is there; the first at least once.
  std::deque<std::pair<std::uint64_t, std::int64_t>> in_flight_from_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_QUEUE_H_
