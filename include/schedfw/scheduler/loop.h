// SchedulingLoop: a scheduler that runs: queue, cycles, preemption, waiting at Permit and binding.
#ifndef SCHEDFW_SCHEDULER_LOOP_H_
#define SCHEDFW_SCHEDULER_LOOP_H_

#include <chrono>
#include <cstdint>
#include <functional>
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

#include "schedfw/base/clock.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/host.h"
#include "schedfw/scheduler/binding.h"
#include "schedfw/scheduler/checkpoint_file.h"
#include "schedfw/scheduler/event_bus.h"
#include "schedfw/scheduler/events.h"
#include "schedfw/scheduler/queue.h"
#include "schedfw/scheduler/scheduler.h"
#include "schedfw/scheduler/stage_priorities.h"

namespace schedfw {

/// When a change that the scheduler itself makes to a waiting pod's status, such as its nomination,
/// is seen by the queue.
enum class StatusUpdates : std::uint8_t {
  /// When the pod fails the next time: it isn't tried on its nominated node first. So it was when
  /// the reference's answers were recorded (docs/differences.md).
  kOnFailure,
  kAtOnce,  ///< as with an API server
};

/// Whether cycles are kept apart from each other and from what is committed.
enum class Isolation : std::uint8_t {
  kOn,
  /// For comparison only, to show what it is good for: a CycleState isn't cleared at the end of its
  /// cycle, and what a failed attempt has done isn't taken back, so that its pod stays assumed.
  kOff,
};

struct LoopOptions {
  StatusUpdates status_updates = StatusUpdates::kOnFailure;
  /// Backoff; absent: the configuration's.
  std::optional<QueueOptions> queue;
  /// The time to go by; null: a clock of its own that the loop moves on when it has nothing to do.
  const Clock* clock = nullptr;
  /// Where PreBind and Bind run; must outlive the loop, which alone submits and polls. Their
  /// plugins are called from its threads then. Null: within the step, each once.
  ExecutorAdapter* binder = nullptr;
  Isolation isolation = Isolation::kOn;
};

/// What a run has come to. Pods as "namespace/name", sorted.
struct RunReport {
  std::vector<std::string> bound;    ///< pods on nodes, also those that were there before
  std::vector<std::string> deleted;  ///< pods that were evicted
  /// Pods that wait, and why: what was said at their last attempt.
  std::vector<std::pair<std::string, std::string>> pending;
  std::int64_t attempts = 0;             ///< cycles of pods and of groups
  std::chrono::nanoseconds duration{0};  ///< by the loop's clock
};

/// Runs a scheduler on a cluster: pops what the queue has, schedules, binds, preempts, and moves
/// what was rejected when something changes (pkg/scheduler/schedule_one.go, eventhandlers.go).
///
/// PodGroups of scheduling.k8s.io count if they do for the scheduler (Handle::generic_workload).
///
/// It is the Host of the scheduler's plugins while it lives; a scheduler has one loop at a time.
///
/// Used by one thread. While the loop lives, the cluster is changed through it alone. A plugin that
/// fails, by a status or an exception, fails the attempt of its pod; the loop goes on.
class SchedulingLoop : private PodGroupLookup, private Host {
 public:
  /// Queues the pods that wait, in the order of namespace and name, as a scheduler that starts up
  /// lists them. `scheduler` and `cluster` must outlive the loop.
  SchedulingLoop(Scheduler& scheduler, Cluster& cluster, LoopOptions options = {});
  /// Pods that wait at Permit go back to those that wait for a node. Bindings that run are awaited;
  /// those that an InlineAdapter would begin only later are given up.
  ~SchedulingLoop() override;
  SchedulingLoop(const SchedulingLoop&) = delete;
  SchedulingLoop& operator=(const SchedulingLoop&) = delete;

  const Cluster& cluster() const { return cluster_; }
  const SchedulingQueue& queue() const { return queue_; }
  const Clock& clock() const override { return clock_; }
  /// What happens, for handlers that come and go. They run within the loop's calls and may read
  /// everything, but must not call the loop.
  EventBus& bus() { return bus_; }

  /// Changes from outside. Errors: see the functions of Cluster; nothing has changed then.
  Result<void> AddPod(api::Pod pod);
  Result<void> UpdatePod(api::Pod pod);
  Result<void> DeletePod(std::string_view ns, std::string_view name);
  /// A pod has come to another stage; "": to none. Its annotation says so from now on, and its
  /// priority counts as what StagePriorities says of it: at once in the queue, and as a preemptor,
  /// a victim or a nominated pod. Pods that are added or updated with the annotation are treated
  /// alike.
  ///
  /// An unschedulable pod that rises moves. When a pod on a node, or a nominated one, falls, that
  /// is to those from above its new priority up to its old one as if it had been deleted.
  ///
  /// Error: there is no such pod, or no plugin knows stages. O(log pods), and O(pods that wait) for
  /// a fall.
  Result<void> SetStage(std::string_view ns, std::string_view name, std::string_view stage);
  Result<void> AddNode(api::Node node);
  Result<void> UpdateNode(api::Node node);
  Result<void> DeleteNode(std::string_view name);
  /// Adds or replaces a group.
  Result<void> Upsert(api::PodGroup group);
  Result<void> Upsert(api::CoschedulingPodGroup group);
  Result<void> Upsert(api::NodeResourceTopology topology);

  /// Takes what the binder has finished, then one attempt: of a pod, or of a group. False: nothing
  /// can be tried now, though bindings may be on their way. O(cycle).
  bool Step();
  /// How many pods are on their way to a node: at Permit, or with the binder.
  std::size_t InFlight() const { return waiting_.size() + binding_.size() + unsubmitted_.size(); }
  /// Steps, and moves its own clock on, until nothing more can change: what is left was tried since
  /// the last change, or waits for an event. `progress`: (pods bound so far, these and what waits);
  /// false ends it.
  /// Error: the loop goes by a clock that isn't its own.
  Result<RunReport> RunUntilQuiet(const Progress& progress = {});
  /// What the loop has come to.
  RunReport Report() const;

  /// All that the next steps follow from: the cluster, what is queued and since when, nominations,
  /// the time, random numbers. It holds committed cycles only: pods that are on their way to a node
  /// are in it as pods that wait to be scheduled, with the attempts that they had. What plugins
  /// keep for themselves isn't in it. Equal states give equal sections. O(objects).
  CheckpointFile Checkpoint() const;
  /// Writes Checkpoint() to a file, between steps. Errors: see WriteCheckpoint.
  Result<void> Save(const std::string& path) const;
  /// The sequence of the last checkpoint that Save has tried to write, or that was restored; 0:
  /// there was none.
  std::uint64_t saves() const { return saves_; }
  /// Replaces cluster and loop by those of a checkpoint, and goes on as that loop would have. What
  /// this one was about to do is taken back; what is with the binder is awaited. A clock of the
  /// loop's own is set to the checkpoint's time; with another clock, or a clock that is ahead
  /// already, what was to happen some time later happens that time from now.
  ///
  /// Errors: kConfig: it belongs to another configuration (profiles, plugins, arguments, options);
  /// kParse: see ReadCheckpoint, or it makes no sense. Loop and cluster are then as they were.
  Result<void> Restore(const CheckpointFile& file);
  Result<void> Restore(const std::string& path);

 private:
  struct Saved;  // see loop_checkpoint.cc
  struct GroupState {
    std::int32_t pods = 0;       // that name the group
    std::int32_t scheduled = 0;  // of those: on nodes
  };
  // A pod on its way to a node: assumed there.
  struct Binding {
    QueuedPod pod;
    QueuedEntityPtr entity;  // null: the pod came with its group
    PodPtr assumed;
    std::string node;
    std::unique_ptr<CycleState> state;
    std::shared_ptr<const Snapshot> snapshot;               // with the pod assumed
    Row row = 0;                                            // in it
    bool evicted = false;                                   // while it was with the binder
    bool deleted = false;                                   // the same; there may be a new one
    std::map<std::string, std::chrono::nanoseconds> waits;  // at Permit: plugin → until when
    std::chrono::nanoseconds waits_since{0};
    std::uint64_t order = 0;  // among those that wait
  };
  // How the waiting of a pod at Permit ends.
  struct Verdict {
    std::uint64_t pod = 0;
    Status status;
  };
  struct MemberResult {
    Status status;                  // Success, or why the pod found no node
    std::set<std::string> plugins;  // who rejected it
    bool tried = false;
    std::optional<std::string> node;    // where it was placed
    std::shared_ptr<CycleState> state;  // for the plugins that bind it there
  };
  struct GroupResult {
    Status status;
    std::vector<MemberResult> members;  // as in the entity
    bool any_placed = false;
  };

  const api::PodGroup* FindGroup(std::uint64_t group_key) const override;
  std::int32_t CountPods(std::uint64_t group_key) const override;

  const Snapshot& view() const { return cluster_.view(); }
  Framework* FrameworkOf(const PodInfo& pod) const;
  void CountGroup(const PodInfo& pod, std::int32_t pods, std::int32_t scheduled);
  // The same for a pod as it is in the cluster: one whose node isn't there counts nowhere.
  void CountGroup(const PodInfo& pod, std::int32_t sign);
  bool IsOnItsWay(std::uint64_t key) const;
  void CountGroups();
  std::uint64_t ConfigDigest() const;
  static Result<Saved> ReadSaved(std::string_view bytes, Dictionary& dictionary);
  void Changed() {
    ++version_;
    attempts_at_change_ = attempts_;
  }

  // Nothing of a cycle is found in the next one.
  void EndCycle(CycleState& state) const {
    if (options_.isolation == Isolation::kOn) state.Clear();
  }
  void PodCycle(QueuedEntityPtr entity);
  ScheduleResult Schedule(const Snapshot& snapshot, const PodInfo& pod, CycleState& state,
                          const std::set<std::string>* within = nullptr);
  // The GPUs that a pod is to get on a node; not Success: a plugin has failed.
  Status AllocateGpus(const Snapshot& snapshot, const PodInfo& pod, Row row, GpuMask& out);
  // PostFilter and what follows from it. Returns the pod's nomination, absent: it stays.
  std::optional<std::string> PostFilter(const PodInfo& pod, const Diagnosis& diagnosis,
                                        CycleState& state, std::string& message);
  void Evict(const std::vector<Victim>& victims, const std::string& node, const PodInfo& preemptor);
  void EvictPod(const PodPtr& victim, const PodPtr& preemptor, std::string_view node);
  // Takes a pod to a node: Assume to PostBind, or until it waits at Permit. False: it failed, and
  // is back in the queue or, from a group, in `left`.
  // A pod that may be bound now is put in `ready`, if that is given.
  bool Commit(Binding binding, std::vector<QueuedPod>* left, std::vector<Binding>* ready = nullptr);
  bool FinishPermit(Binding binding, std::vector<QueuedPod>* left);
  static Status RunBinding(Framework& framework, const Binding& binding);
  void Submit(Binding binding);
  void PollBinder();
  // How the binding has ended: the pod is bound, or back in the queue.
  bool Finish(Binding binding, const Status& status, std::vector<QueuedPod>* left);
  void TakeBack(Binding& binding);
  void TakeBackAll();
  // A pod has found no node: back to the queue. `nomination` as in PostFilter.
  void Fail(QueuedPod pod, QueuedEntityPtr entity, const Status& status,
            const std::set<std::string>& plugins, const std::optional<std::string>& nomination,
            std::vector<QueuedPod>* left, const std::set<std::string>& pending = {});
  PodPtr AsQueued(const PodPtr& pod) const;
  void AddRise(const PodPtr& before, const PodPtr& now, std::vector<QueueEvent>& events) const;
  void MoveAfterFall(const PodPtr& before, const PodPtr& now);

  void GroupCycle(QueuedEntityPtr group);
  GroupResult PlaceGroup(const Snapshot& snapshot, const QueuedEntity& entity,
                         const api::PodGroup& group);
  GroupResult PlaceGroupWithin(const Snapshot& snapshot, const QueuedEntity& entity,
                               const api::PodGroup& group, const std::set<std::string>* within);
  Status CheckGroup(const QueuedEntity& entity, const api::PodGroup& group) const;
  // True while fewer pods of a gang than its minimum are on nodes or on their way to one.
  bool IsShortOfPods(std::uint64_t group_key) const;
  void BindGroup(const QueuedEntity& entity, std::vector<Binding> ready,
                 std::vector<QueuedPod>& left);
  // Evicts what stands in the way of a group. The nodes by member, or absent: it doesn't help.
  std::optional<std::vector<std::optional<std::string>>> PreemptForGroup(const QueuedEntity& entity,
                                                                         const api::PodGroup& group,
                                                                         std::string& message);

  void Nominate(const PodInfo& pod, const std::string& node);
  void Bound(const PodPtr& pod, std::string_view node);
  void RejectWaiting(std::uint64_t key, const Status& status);
  void RunTimers();
  bool AdvanceClock();
  bool GoesInCircles() const;

  // Host, and what follows from its calls (loop_permit.cc).
  const Snapshot& snapshot() const override { return view(); }
  const LabelGroups& label_groups() const override { return label_groups_; }
  void ForEachWaitingPod(const WaitingPodFn& fn) const override;
  bool IsWaiting(std::uint64_t pod) const override { return waiting_.contains(pod); }
  bool AllowWaitingPod(std::uint64_t pod, std::string_view plugin) override;
  bool RejectWaitingPod(std::uint64_t pod, std::string_view plugin,
                        const std::string& message) override;
  void Activate(std::span<const std::uint64_t> pods) override;
  void OrderChanged(std::span<const std::uint64_t> pods) override { queue_.SortAnew(pods); }
  void BecomeHost();
  // Does what plugins have asked of the host. At the end of all that may call them.
  void Settle();
  bool ResolveDeadlock();
  void TakeBackWaiting();
  void TimedOut(const PodInfo& pod);
  bool StartAnotherRound();

  Scheduler& scheduler_;
  Cluster& cluster_;
  const LoopOptions options_;
  const StagePriorities stages_;
  VirtualClock own_clock_;
  const Clock& clock_;
  std::unordered_map<std::uint64_t, GroupState> group_states_;  // look-ups only
  SchedulingQueue queue_;
  CycleState state_;
  // What pods' status.nominatedNodeName is, where the queue doesn't know it yet.
  std::unordered_map<std::uint64_t, std::string> nominations_;  // look-ups only
  EventBus bus_;
  std::map<std::uint64_t, Binding> waiting_;   // at Permit, by pod
  std::uint64_t last_waiting_ = 0;             // the last order given
  std::map<std::uint64_t, Verdict> verdicts_;  // by the order of waiting
  std::vector<std::uint64_t> activated_;
  LabelGroups label_groups_;
  // Version in which the group of a pod, or a pod without one, ran out of time the last time.
  std::unordered_map<std::uint64_t, std::uint64_t> timed_out_at_;  // look-ups only
  std::uint64_t waited_at_ = 0;  // the last version in which a pod was taken back from Permit
  std::uint64_t round_at_ = 0;   // and in which another round was started
  // With the binder, by job. A job that outlives its binding does nothing.
  std::map<std::uint64_t, std::shared_ptr<Binding>> binding_;
  std::vector<Binding> unsubmitted_;                         // the binder had no room
  std::unordered_map<std::uint64_t, std::string> messages_;  // of last attempts; look-ups only
  std::vector<std::string> deleted_;
  std::uint64_t version_ = 1;  // grows when a pod is bound or deleted, and by events
  // Pods and groups may have one name: entity → version; look-ups only.
  std::unordered_map<std::uint64_t, std::uint64_t> tried_at_, group_tried_at_;
  std::size_t bound_ = 0;  // by the loop
  std::int64_t attempts_ = 0;
  std::int64_t attempts_at_change_ = 0;
  std::chrono::nanoseconds next_unschedulable_flush_{0};
  mutable std::uint64_t saves_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_LOOP_H_
