// Scheduler: profiles, ready to schedule the pods of a cluster.
#ifndef SCHEDFW_SCHEDULER_SCHEDULER_H_
#define SCHEDFW_SCHEDULER_SCHEDULER_H_

#include <algorithm>
#include <array>
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
#include <utility>
#include <vector>

#include "schedfw/base/inline.h"
#include "schedfw/base/random.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/config.h"
#include "schedfw/framework/executor_options.h"
#include "schedfw/framework/framework.h"
#include "schedfw/framework/profile.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

/// Which of several nodes with the highest total is taken.
enum class TieBreak : std::uint8_t {
  kFirst,   ///< the one whose name sorts first
  kSeeded,  ///< one drawn by a seeded generator, evenly
};

/// How many nodes a cycle looks at.
enum class NodesToScore : std::uint8_t {
  kAll,  ///< every node
  /// As upstream on one thread: percentageOfNodesToScore, going on from pod to pod where the last
  /// search ended (schedule_one.go, findNodesThatPassFilters).
  kConfigured,
};

struct SchedulerOptions {
  ExecutorOptions executor;
  NodesToScore nodes_to_score = NodesToScore::kAll;
  TieBreak tie_break = TieBreak::kFirst;
  std::uint64_t seed = 0;
  /// Runs the whole pipeline too whenever the answers of earlier cycles were used, and makes the
  /// cycle an Error if they differ. For tests.
  bool verify_incremental = false;
  Handle handle;
};

/// How one scheduling attempt ended.
struct ScheduleResult {
  /// Success, or why not: Unschedulable with upstream's message, or Error when a plugin failed.
  Status status;
  std::optional<Row> row;              ///< the chosen node
  std::string node;                    ///< its name; empty: none
  Row evaluated = 0;                   ///< how many nodes the filters judged
  Row feasible = 0;                    ///< how many of them passed
  std::int64_t score = 0;              ///< the total of the chosen node; 0 when it was the only one
  bool incremental = false;            ///< answers of earlier cycles of the same plan were used
  std::optional<Diagnosis> diagnosis;  ///< when no node was found
};

/// What PostFilter proposes for a pod that fits on no node, or has done for it.
struct PreemptionResult {
  /// Success, or why evicting pods doesn't help (Unschedulable), or Error when a plugin failed.
  Status status;
  std::string nominated_node;   ///< empty: none
  std::vector<Victim> victims;  ///< the pods to evict there, the most important first
};

/// One pod's cycle over all nodes, every step kept.
struct Explanation {
  PodPtr pod;
  std::string profile;  ///< the scheduler name; no such profile: `known_profile` is false
  bool known_profile = true;
  Status pre_enqueue;         ///< not Success: the pod isn't queued, and nothing below is filled
  Diagnosis diagnosis;        ///< PreFilter and Filter
  std::vector<Row> feasible;  ///< ascending
  Status score_status;        ///< not Success: a plugin failed while scoring
  ScoreMatrix scores;
  std::vector<Row> best;                       ///< the rows with the highest total, by name
  std::optional<PreemptionResult> preemption;  ///< when it was asked for and no node fits
};

struct ExplainOptions {
  bool preempt = false;  ///< run PostFilter too when no node fits
};

struct Placement {
  PodPtr pod;
  std::string node;  ///< empty: it found none
  Status status;     ///< why, when it found none
};

/// Progress of a long call; returning false ends it after the current pod.
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

/// How many pods of a kind fit.
struct FitResult {
  std::vector<std::pair<std::string, std::int64_t>> nodes;  ///< node → pods, in name order
  std::int64_t count = 0;
  bool limited = false;  ///< it stopped at the limit, not for lack of room
  Status status;         ///< what stops the next one
  std::optional<Diagnosis> diagnosis;
};

/// Where a scheduler is in its random numbers and in its search of nodes.
struct SchedulerDraws {
  std::array<std::uint64_t, 4> random{};  ///< Random::state()
  std::size_t start_index = 0;            ///< the next search begins there, in tree order

  friend bool operator==(const SchedulerDraws&, const SchedulerDraws&) = default;
};

/// Schedules pods with the profiles of a configuration.
///
/// One Scheduler is used by one thread at a time; several may work on snapshots and forks of one
/// cluster at once. Results depend on the cluster, the configuration and the seed alone.
class Scheduler {
 public:
  /// Makes all plugins. Errors: see Profile::Create.
  static Result<std::unique_ptr<Scheduler>> Create(const SchedulerConfig& config,
                                                   const Registry& registry,
                                                   SchedulerOptions options = {});

  /// The scheduler names, in the configuration's order.
  const std::vector<std::string>& profile_names() const { return names_; }
  /// True when PodGroups of scheduling.k8s.io count (Handle::generic_workload).
  bool pod_groups() const { return options_.handle.generic_workload; }
  /// Where plugins look for what runs the scheduler; never null.
  HostSlot& host_slot() const { return *options_.handle.host; }
  /// How long a pod that was rejected is left alone: at first, and at most.
  std::chrono::seconds initial_backoff() const { return initial_backoff_; }
  std::chrono::seconds max_backoff() const { return max_backoff_; }
  /// Tells configurations apart that may schedule differently: profiles, plugins by point with
  /// weights and arguments, percentages, backoff and options. An argument that is written out
  /// counts as another one, even if it is the default. The seed doesn't count: see draws().
  std::uint64_t config_digest() const { return config_digest_; }
  /// What the results of the next calls follow from, besides cluster and configuration.
  SchedulerDraws draws() const { return {random_.state(), start_index_}; }
  /// Goes on where another scheduler was.
  void set_draws(const SchedulerDraws& draws) {
    random_.set_state(draws.random);
    start_index_ = draws.start_index;
  }
  /// A profile's framework, or nullptr.
  Framework* framework(std::string_view scheduler_name) const {
    const auto it = frameworks_.find(scheduler_name);
    return it == frameworks_.end() ? nullptr : it->second.get();
  }

  /// Finds a node for a pod: PreFilter to Score. A pod that is nominated to a node goes there if it
  /// fits. Changes nothing.
  ScheduleResult Schedule(const Snapshot& snapshot, const PodInfo& pod);
  /// The same with a state that plugins use at later points of the same attempt. `within`: only
  /// these nodes are looked at, by name.
  ScheduleResult Schedule(const Snapshot& snapshot, const PodInfo& pod, CycleState& state,
                          const std::set<std::string>* within = nullptr);

  /// One whole attempt: finds a node, then Reserve, Permit, PreBind, Bind and PostBind as one
  /// transaction. When a step fails or throws, the cluster is as it was.
  ///
  /// The pod must wait in `cluster`. A Permit plugin that wants to wait is refused, since nothing
  /// here could end the waiting.
  ScheduleResult ScheduleOne(Cluster& cluster, const PodInfo& pod);

  /// What PostFilter (DefaultPreemption) would do for a pod: which pods to evict where, or why that
  /// doesn't help. Changes nothing. A pod that fits as it is gets Unschedulable with that reason.
  PreemptionResult FindVictims(const Snapshot& snapshot, const PodInfo& pod);

  /// Finds victims and acts: deletes them, takes back the nominations of pods of lower priority to
  /// the node, and nominates the pod to it; when no eviction helps, the pod's nomination is taken
  /// back (handleSchedulingFailure). On an error the cluster stays as it was.
  ///
  /// The pod must wait in `cluster`. It is not placed; schedule it again for that.
  PreemptionResult Preempt(Cluster& cluster, const PodInfo& pod);

  /// Schedules all waiting pods one after another, by the queue order of the first profile, each on
  /// the cluster that the ones before it left.
  ///
  /// Gated and deleting pods, and those of unknown profiles, are not scheduled; each placement says
  /// why. `progress` is called before each pod. O(pods × cycle).
  std::vector<Placement> Place(Cluster& cluster, const Progress& progress = {});

  /// The pods that wait, in queue order; deleting pods are left out.
  std::vector<QueuedPodInfo> Queue(const Snapshot& snapshot) const;

  /// One pod's cycle over all nodes with every status and score. Changes nothing.
  Explanation Explain(const Snapshot& snapshot, const PodPtr& pod, ExplainOptions options = {});

  /// How many more pods like this one fit, placed one after another on a fork, and what stops the
  /// next one. At most `limit` are placed. The pod need not be in the cluster. O(count × cycle).
  ///
  /// Error: the pod can't be compiled.
  Result<FitResult> Fit(const Snapshot& snapshot, const api::Pod& pod, std::int64_t limit,
                        const Progress& progress = {});

  /// Success if the pod may be queued: its profile exists and no PreEnqueue plugin rejects it.
  Status Admit(const PodInfo& pod) const;

 private:
  explicit Scheduler(SchedulerOptions options)
      : options_(std::move(options)), random_(options_.seed) {}

  // All profiles share one queue: they must sort it alike (pkg/scheduler/profile/profile.go).
  Result<void> CheckOneQueue(const SchedulerConfig& config) const;

  std::uint64_t DigestOf(const SchedulerConfig& config) const;

  Status NoProfile(const PodInfo& pod) const;

  static Row NodesOf(const Snapshot& snapshot, const std::set<std::string>& names);

  // How many feasible nodes are enough (numFeasibleNodesToFind).
  std::size_t EnoughNodes(const Framework& framework, std::size_t nodes) const;

  // Leaves of the feasible rows those that a search in tree order from the start index finds until
  // there are enough, counts the nodes it has judged, and moves the start index on. The search ends
  // when it finds one feasible node more than enough.
  std::span<const Row> Sample(const Snapshot& snapshot, const Framework& framework,
                              const std::optional<std::set<std::string>>& names,
                              std::optional<Row> tried, std::span<const Row> feasible,
                              Row& evaluated);

  PreemptionResult FindVictims(const Snapshot& snapshot, const PodInfo& pod,
                               std::optional<std::string>* nomination);

  // Does what the API server and the queue do after a preemption (preemption/executor.go,
  // prepareCandidate).
  static Result<void> Evict(Cluster& cluster, const PodInfo& pod, const std::string& node,
                            const std::vector<Victim>& victims);

  static PreemptionResult RunPostFilter(const Framework& framework, const Cycle& cycle,
                                        const Diagnosis& diagnosis,
                                        std::optional<std::string>* nomination = nullptr);

  std::size_t Winner(const Snapshot& snapshot, std::span<const Row> rows,
                     std::span<const std::int64_t> total, const BlockMaxima& maxima);

  static std::vector<Row> Best(const Snapshot& snapshot, std::span<const Row> rows,
                               std::span<const std::int64_t> total);

  Row DrawOne(const Snapshot& snapshot, std::vector<Row>& ties);

  void Verify(Framework& framework, const Cycle& cycle, ScheduleResult& result) const;

  Status BindAt(Cluster& cluster, const PodInfo& pod, CycleState& state, Row row);

  SchedulerOptions options_;
  Random random_;
  std::uint64_t config_digest_ = 0;
  std::int32_t percentage_of_nodes_to_score_ = 0;
  std::chrono::seconds initial_backoff_{1}, max_backoff_{10};
  std::size_t start_index_ = 0;  // where the next search of nodes begins
  std::vector<Row> sampled_;     // of the running cycle
  CycleState state_;             // the same
  CachedCycle cached_;           // the same
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Framework>, std::less<>> frameworks_;
};

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/scheduler/scheduler_inl.h"
#endif

#endif  // SCHEDFW_SCHEDULER_SCHEDULER_H_
