// Scheduler: profiles, ready to schedule the pods of a cluster.
#ifndef SCHEDFW_SCHEDULER_SCHEDULER_H_
#define SCHEDFW_SCHEDULER_SCHEDULER_H_

#include <algorithm>
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

#include "schedfw/base/random.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/config.h"
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

/// Schedules pods with the profiles of a configuration.
///
/// One Scheduler is used by one thread at a time; several may work on snapshots and forks of one
/// cluster at once. Results depend on the cluster, the configuration and the seed alone.
class Scheduler {
 public:
  /// Makes all plugins. Errors: see Profile::Create.
  static Result<std::unique_ptr<Scheduler>> Create(const SchedulerConfig& config,
                                                   const Registry& registry,
                                                   SchedulerOptions options = {}) {
    auto out = std::unique_ptr<Scheduler>(new Scheduler(std::move(options)));
    out->percentage_of_nodes_to_score_ = config.percentage_of_nodes_to_score;
    const Executor executor(out->options_.executor);
    for (const ProfileConfig& profile_config : config.profiles) {
      auto profile = Profile::Create(profile_config, registry, out->options_.handle);
      if (!profile) return profile.error();
      std::string name = profile->name();
      auto framework = std::make_unique<Framework>(*std::move(profile), executor);
      if (!out->frameworks_.emplace(name, std::move(framework)).second) {
        return ConfigError("profile \"" + name + "\" is there twice");
      }
      out->names_.push_back(std::move(name));
    }
    if (out->names_.empty()) return ConfigError("a scheduler needs at least one profile");
    if (auto done = out->CheckOneQueue(config); !done) return done.error();
    for (const auto& [name, framework] : out->frameworks_) {
      framework->SetSchedulerNames(out->names_);
    }
    return out;
  }

  /// The scheduler names, in the configuration's order.
  const std::vector<std::string>& profile_names() const { return names_; }
  /// A profile's framework, or nullptr.
  Framework* framework(std::string_view scheduler_name) const {
    const auto it = frameworks_.find(scheduler_name);
    return it == frameworks_.end() ? nullptr : it->second.get();
  }

  /// Finds a node for a pod: PreFilter to Score. A pod that is nominated to a node goes there if it
  /// fits. Changes nothing.
  ScheduleResult Schedule(const Snapshot& snapshot, const PodInfo& pod) {
    CycleState state;
    return Schedule(snapshot, pod, state);
  }

  /// One whole attempt: finds a node, then Reserve, Permit, PreBind, Bind and PostBind as one
  /// transaction. When a step fails or throws, the cluster is as it was.
  ///
  /// The pod must wait in `cluster`. A Permit plugin that wants to wait is refused, since nothing
  /// here could end the waiting.
  ScheduleResult ScheduleOne(Cluster& cluster, const PodInfo& pod) {
    CycleState state;
    ScheduleResult result = Schedule(cluster.view(), pod, state);
    if (!result.status.ok()) return result;
    if (Status status = BindAt(cluster, pod, state, *result.row); !status.ok()) {
      result.status = std::move(status);
      result.row.reset();
      result.node.clear();
    }
    return result;
  }

  /// What PostFilter (DefaultPreemption) would do for a pod: which pods to evict where, or why that
  /// doesn't help. Changes nothing. A pod that fits as it is gets Unschedulable with that reason.
  PreemptionResult FindVictims(const Snapshot& snapshot, const PodInfo& pod) {
    return FindVictims(snapshot, pod, nullptr);
  }

  /// Finds victims and acts: deletes them, takes back the nominations of pods of lower priority to
  /// the node, and nominates the pod to it; when no eviction helps, the pod's nomination is taken
  /// back (handleSchedulingFailure). On an error the cluster stays as it was.
  ///
  /// The pod must wait in `cluster`. It is not placed; schedule it again for that.
  PreemptionResult Preempt(Cluster& cluster, const PodInfo& pod) {
    std::optional<std::string> nomination;
    PreemptionResult out = FindVictims(cluster.view(), pod, &nomination);
    if (out.status.code() == Code::kError || !nomination) return out;
    Cluster next = cluster.Fork();
    if (auto done = Evict(next, pod, *nomination, out.victims); !done) {
      return {Status::Error(done.error().message()), {}, {}};
    }
    cluster = std::move(next);
    return out;
  }

  /// Schedules all waiting pods one after another, by the queue order of the first profile, each on
  /// the cluster that the ones before it left.
  ///
  /// Gated and deleting pods, and those of unknown profiles, are not scheduled; each placement says
  /// why. `progress` is called before each pod. O(pods × cycle).
  std::vector<Placement> Place(Cluster& cluster, const Progress& progress = {}) {
    std::vector<Placement> out;
    const std::vector<QueuedPodInfo> queue = Queue(cluster.view());
    out.reserve(queue.size());
    for (const QueuedPodInfo& queued : queue) {
      if (progress && !progress(out.size(), queue.size())) break;
      Placement& placement = out.emplace_back();
      placement.pod = queued.pod;
      placement.status = Admit(*queued.pod);
      if (!placement.status.ok()) continue;
      ScheduleResult result = ScheduleOne(cluster, *queued.pod);
      placement.node = std::move(result.node);
      placement.status = std::move(result.status);
    }
    return out;
  }

  /// The pods that wait, in queue order; deleting pods are left out.
  std::vector<QueuedPodInfo> Queue(const Snapshot& snapshot) const {
    std::vector<QueuedPodInfo> queue;
    for (PodPtr& pod : snapshot.Pending()) {
      if (pod->terminating) continue;
      const auto timestamp = static_cast<std::int64_t>(queue.size());
      queue.push_back({std::move(pod), timestamp});
    }
    const QueueSortPlugin& sort = frameworks_.find(names_.front())->second->queue_sort();
    std::stable_sort(
        queue.begin(), queue.end(),
        [&](const QueuedPodInfo& a, const QueuedPodInfo& b) { return sort.Less(a, b); });
    return queue;
  }

  /// One pod's cycle over all nodes with every status and score. Changes nothing.
  Explanation Explain(const Snapshot& snapshot, const PodPtr& pod, ExplainOptions options = {}) {
    Explanation out;
    out.pod = pod;
    out.profile = pod->pod->spec.scheduler_name;
    Framework* framework = this->framework(out.profile);
    if (framework == nullptr) {
      out.known_profile = false;
      return out;
    }
    out.pre_enqueue = framework->RunPreEnqueuePlugins(*pod);
    if (!out.pre_enqueue.ok()) return out;

    CycleState state;
    const Cycle cycle{snapshot, *pod, state};
    std::optional<std::set<std::string>> names;
    const Status pre_filter = framework->RunPreFilterPlugins(cycle, state, names);
    if (!pre_filter.ok()) {
      out.diagnosis = Diagnosis(snapshot.size());
      out.diagnosis.pre_filter = pre_filter;
      out.diagnosis.LeaveOutAll();
      if (options.preempt) out.preemption = RunPostFilter(*framework, cycle, out.diagnosis);
      return out;
    }
    Status status;
    const std::span<const Row> feasible = framework->RunFilterPlugins(cycle, names, status);
    out.diagnosis = framework->Diagnose(cycle);
    if (names) out.diagnosis.pre_filter_nodes.emplace(names->begin(), names->end());
    out.feasible.assign(feasible.begin(), feasible.end());
    if (feasible.empty()) {
      if (options.preempt) out.preemption = RunPostFilter(*framework, cycle, out.diagnosis);
      return out;
    }
    out.score_status = framework->RunPreScorePlugins(cycle, state, out.feasible);
    if (!out.score_status.ok()) return out;
    const auto total =
        framework->RunScorePlugins(cycle, out.feasible, &out.scores, out.score_status);
    if (out.score_status.ok()) out.best = Best(snapshot, out.feasible, total);
    return out;
  }

  /// How many more pods like this one fit, placed one after another on a fork, and what stops the
  /// next one. At most `limit` are placed. The pod need not be in the cluster. O(count × cycle).
  ///
  /// Error: the pod can't be compiled.
  Result<FitResult> Fit(const Snapshot& snapshot, const api::Pod& pod, std::int64_t limit,
                        const Progress& progress = {}) {
    Cluster fork(snapshot);
    FitResult out;
    std::map<std::string, std::int64_t> nodes;
    for (; out.count < limit; ++out.count) {
      if (progress &&
          !progress(static_cast<std::size_t>(out.count), static_cast<std::size_t>(limit))) {
        break;
      }
      api::Pod copy = pod;
      copy.metadata.name = pod.metadata.name + "#" + std::to_string(out.count);
      copy.metadata.uid.clear();
      copy.metadata.deletion_timestamp_ns.reset();
      copy.spec.node_name.clear();
      copy.status = {};
      const std::string ns = copy.metadata.ns.empty() ? "default" : copy.metadata.ns;
      const std::string name = copy.metadata.name;
      if (auto done = fork.AddPod(std::move(copy)); !done) return done.error();
      const PodPtr added = fork.view().FindPod(ns, name);
      out.status = Admit(*added);
      if (!out.status.ok()) break;
      ScheduleResult result = ScheduleOne(fork, *added);
      if (!result.status.ok()) {
        out.status = std::move(result.status);
        out.diagnosis = std::move(result.diagnosis);
        break;
      }
      ++nodes[result.node];
    }
    out.limited = out.status.ok();
    out.nodes.assign(nodes.begin(), nodes.end());
    return out;
  }

  /// Success if the pod may be queued: its profile exists and no PreEnqueue plugin rejects it.
  Status Admit(const PodInfo& pod) const {
    const Framework* framework = this->framework(pod.pod->spec.scheduler_name);
    return framework == nullptr ? NoProfile(pod) : framework->RunPreEnqueuePlugins(pod);
  }

 private:
  explicit Scheduler(SchedulerOptions options)
      : options_(std::move(options)), random_(options_.seed) {}

  // All profiles share one queue: they must sort it alike (pkg/scheduler/profile/profile.go).
  Result<void> CheckOneQueue(const SchedulerConfig& config) const {
    const auto sort_of = [&](const ProfileConfig& profile) {
      const std::string name(frameworks_.find(profile.scheduler_name)->second->queue_sort().Name());
      for (const PluginConfig& plugin : profile.plugin_config) {
        if (plugin.name == name) return std::pair{name, plugin.args};
      }
      return std::pair{name, Value()};
    };
    for (const ProfileConfig& profile : config.profiles) {
      if (sort_of(profile) == sort_of(config.profiles.front())) continue;
      return ConfigError("profile \"" + profile.scheduler_name +
                         "\": the queueSort plugin and its arguments must be the same in all "
                         "profiles");
    }
    return {};
  }

  Status NoProfile(const PodInfo& pod) const {
    std::string known;
    for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
    return Status::Unresolvable("no profile for schedulerName \"" + pod.pod->spec.scheduler_name +
                                "\" (there are: " + known + ")");
  }

  ScheduleResult Schedule(const Snapshot& snapshot, const PodInfo& pod, CycleState& state) {
    ScheduleResult out;
    Framework* framework = this->framework(pod.pod->spec.scheduler_name);
    if (framework == nullptr) {
      out.status = NoProfile(pod);
      return out;
    }
    const Cycle cycle{snapshot, pod, state};
    std::optional<std::set<std::string>> names;
    const Status pre_filter = framework->RunPreFilterPlugins(cycle, state, names);
    if (!pre_filter.ok()) {
      if (!pre_filter.IsRejected()) {
        out.status = pre_filter;
        return out;
      }
      out.diagnosis.emplace(snapshot.size());
      out.diagnosis->pre_filter = pre_filter;
      out.diagnosis->LeaveOutAll();
      out.status = Status::Unschedulable(out.diagnosis->Message());
      return out;
    }
    std::span<const Row> rows;
    std::optional<Row> tried;  // the nominated node, if it was tried and doesn't fit
    if (const auto nominated = snapshot.Find(pod.pod->status.nominated_node_name)) {
      // Likely the only node that fits: it is tried before the others (evaluateNominatedNode). That
      // it fails there, for whatever reason, doesn't end the cycle.
      Status ignored;
      const auto feasible = framework->RunFilterPlugins(
          cycle, std::set<std::string>{snapshot.name(*nominated)}, ignored);
      if (ignored.ok() && !feasible.empty()) {
        rows = feasible;
        out.evaluated = 1;
      } else if (ignored.ok()) {
        tried = nominated;
      }
    }
    if (rows.empty()) {
      rows = framework->RunFilterPlugins(cycle, names, out.status);
      if (!out.status.ok()) return out;
      out.evaluated = names ? NodesOf(snapshot, *names) : snapshot.size();
      if (options_.nodes_to_score == NodesToScore::kConfigured && snapshot.size() > 0) {
        rows = Sample(snapshot, *framework, names, tried, rows, out.evaluated);
      }
    }
    out.feasible = static_cast<Row>(rows.size());
    if (rows.empty()) {
      out.diagnosis = framework->Diagnose(cycle);
      if (names) out.diagnosis->pre_filter_nodes.emplace(names->begin(), names->end());
      out.status = Status::Unschedulable(out.diagnosis->Message());
      return out;
    }
    if (rows.size() == 1) {  // nothing to compare
      out.row = rows.front();
      out.node = snapshot.name(*out.row);
      return out;
    }
    out.status = framework->RunPreScorePlugins(cycle, state, rows);
    if (!out.status.ok()) return out;
    const auto total = framework->RunScorePlugins(cycle, rows, nullptr, out.status);
    if (!out.status.ok()) return out;
    const std::size_t winner = Winner(snapshot, rows, total);
    out.row = rows[winner];
    out.node = snapshot.name(*out.row);
    out.score = total[winner];
    return out;
  }

  static Row NodesOf(const Snapshot& snapshot, const std::set<std::string>& names) {
    return static_cast<Row>(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      return snapshot.Find(name).has_value();
    }));
  }

  // How many feasible nodes are enough (numFeasibleNodesToFind).
  std::size_t EnoughNodes(const Framework& framework, std::size_t nodes) const {
    constexpr std::size_t kLeast = 100;
    constexpr std::int64_t kLeastPercentage = 5;
    if (!framework.HasScorePlugins()) return 1;
    if (nodes < kLeast) return nodes;
    std::int64_t percentage =
        framework.profile().percentage_of_nodes_to_score().value_or(percentage_of_nodes_to_score_);
    const auto all = static_cast<std::int64_t>(nodes);
    if (percentage == 0) percentage = std::max(50 - all / 125, kLeastPercentage);
    return std::max(static_cast<std::size_t>(all * percentage / 100), kLeast);
  }

  // Leaves of the feasible rows those that a search in tree order from the start index finds until
  // there are enough, counts the nodes it has judged, and moves the start index on. The search ends
  // when it finds one feasible node more than enough.
  std::span<const Row> Sample(const Snapshot& snapshot, const Framework& framework,
                              const std::optional<std::set<std::string>>& names,
                              std::optional<Row> tried, std::span<const Row> feasible,
                              Row& evaluated) {
    std::vector<Row> narrowed;
    std::span<const Row> order = snapshot.TreeOrder();
    if (names) {
      for (const std::string& name : *names) {
        if (const auto row = snapshot.Find(name)) narrowed.push_back(*row);
      }
      order = narrowed;
    }
    if (order.empty()) return feasible;
    const std::size_t enough = EnoughNodes(framework, order.size());
    std::vector<Row>& found = sampled_;
    found.clear();
    std::size_t rejected = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Row row = order[(start_index_ + i) % order.size()];
      if (!std::binary_search(feasible.begin(), feasible.end(), row)) {
        ++rejected;
        if (row == tried) tried.reset();
      } else if (found.size() < enough) {
        found.push_back(row);
        if (!framework.HasFilterPlugins() && found.size() == enough) break;
      } else {
        break;
      }
    }
    rejected += tried ? 1 : 0;  // its status is there, though the search didn't come to it
    evaluated = static_cast<Row>(found.size() + rejected);
    start_index_ = (start_index_ + evaluated) % snapshot.size();
    std::sort(found.begin(), found.end());
    return found;
  }

  PreemptionResult FindVictims(const Snapshot& snapshot, const PodInfo& pod,
                               std::optional<std::string>* nomination) {
    PreemptionResult out;
    Framework* framework = this->framework(pod.pod->spec.scheduler_name);
    if (framework == nullptr) {
      out.status = NoProfile(pod);
      return out;
    }
    CycleState state;
    const Cycle cycle{snapshot, pod, state};
    std::optional<std::set<std::string>> names;
    const Status pre_filter = framework->RunPreFilterPlugins(cycle, state, names);
    Diagnosis diagnosis(snapshot.size());
    if (!pre_filter.ok()) {
      if (!pre_filter.IsRejected()) {
        out.status = pre_filter;
        return out;
      }
      diagnosis.pre_filter = pre_filter;
      diagnosis.LeaveOutAll();
    } else {
      const auto feasible = framework->RunFilterPlugins(cycle, names, out.status);
      if (!out.status.ok()) return out;
      if (!feasible.empty()) {
        out.status = Status::Unschedulable("the pod fits without evicting any");
        return out;
      }
      diagnosis = framework->Diagnose(cycle);
    }
    return RunPostFilter(*framework, cycle, diagnosis, nomination);
  }

  // Does what the API server and the queue do after a preemption (preemption/executor.go,
  // prepareCandidate).
  static Result<void> Evict(Cluster& cluster, const PodInfo& pod, const std::string& node,
                            const std::vector<Victim>& victims) {
    for (const Victim& victim : victims) {
      const api::ObjectMeta& meta = victim.pod->pod->metadata;
      if (auto done = cluster.DeletePod(meta.ns, meta.name); !done) return done;
    }
    if (!node.empty()) {
      const StringId id = cluster.view().dictionary().Intern(node);
      const std::vector<PodPtr> nominated = cluster.view().NominatedPods(id);
      for (const PodPtr& other : nominated) {
        if (other->priority >= pod.priority) continue;
        const api::ObjectMeta& meta = other->pod->metadata;
        if (auto done = cluster.NominatePod(meta.ns, meta.name, ""); !done) return done;
      }
    }
    return cluster.NominatePod(pod.pod->metadata.ns, pod.pod->metadata.name, node);
  }

  static PreemptionResult RunPostFilter(const Framework& framework, const Cycle& cycle,
                                        const Diagnosis& diagnosis,
                                        std::optional<std::string>* nomination = nullptr) {
    PreemptionResult out;
    if (!framework.HasPostFilterPlugins()) {
      out.status = Status::Unschedulable("no PostFilter plugin is enabled");
      return out;
    }
    PostFilterResult result;
    out.status = framework.RunPostFilterPlugins(cycle, diagnosis, result);
    out.nominated_node = result.nominated_node_name.value_or("");
    out.victims = std::move(result.victims);
    if (nomination != nullptr) *nomination = std::move(result.nominated_node_name);
    return out;
  }

  std::size_t Winner(const Snapshot& snapshot, std::span<const Row> rows,
                     std::span<const std::int64_t> total) {
    const std::int64_t best = *std::max_element(total.begin(), total.end());
    if (options_.tie_break == TieBreak::kSeeded) {
      const std::vector<Row> ties = Best(snapshot, rows, total);
      const Row chosen = ties[random_.Below(ties.size())];
      return static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), chosen) -
                                      rows.begin());
    }
    const std::vector<std::uint32_t>& rank = snapshot.NameRank();
    std::size_t winner = rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (total[i] != best) continue;
      if (winner == rows.size() || rank[rows[i]] < rank[rows[winner]]) winner = i;
    }
    return winner;
  }

  static std::vector<Row> Best(const Snapshot& snapshot, std::span<const Row> rows,
                               std::span<const std::int64_t> total) {
    std::vector<Row> out;
    const std::int64_t best = *std::max_element(total.begin(), total.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (total[i] == best) out.push_back(rows[i]);
    }
    const std::vector<std::uint32_t>& rank = snapshot.NameRank();
    std::sort(out.begin(), out.end(), [&](Row a, Row b) { return rank[a] < rank[b]; });
    return out;
  }

  // Takes back what a failed transaction has done, in reverse order.
  class Rollback {
   public:
    explicit Rollback(Cluster& cluster) : before_(cluster.snapshot()), cluster_(&cluster) {}
    ~Rollback() {
      if (unreserve_) unreserve_();
      if (cluster_ != nullptr) *cluster_ = Cluster(before_);
    }
    Rollback(const Rollback&) = delete;
    Rollback& operator=(const Rollback&) = delete;

    void OnFailure(std::function<void()> unreserve) { unreserve_ = std::move(unreserve); }
    void Commit() {
      unreserve_ = nullptr;
      cluster_ = nullptr;
    }

   private:
    Snapshot before_;
    std::function<void()> unreserve_;
    Cluster* cluster_;
  };

  Status BindAt(Cluster& cluster, const PodInfo& pod, CycleState& state, Row row) {
    Framework& framework = *this->framework(pod.pod->spec.scheduler_name);
    if (!framework.HasBindingPlugins()) {  // nothing that could fail or needs telling
      if (auto done = cluster.AssumePod(pod, row); !done) {
        return Status::Error(done.error().message());
      }
      (void)cluster.FinishBinding(pod);
      return {};
    }
    Rollback rollback(cluster);
    if (auto done = cluster.AssumePod(pod, row); !done) {
      return Status::Error(done.error().message());
    }
    const Cycle cycle{cluster.view(), pod, state};
    const NodeInfo node(cluster.view(), row);
    rollback.OnFailure([&] { framework.RunUnreservePlugins(cycle, state, node); });
    if (Status s = framework.RunReservePlugins(cycle, state, node); !s.ok()) return s;
    std::chrono::nanoseconds timeout{0};
    if (Status s = framework.RunPermitPlugins(cycle, state, node, timeout); !s.ok()) {
      return s.code() == Code::kWait
                 ? Status::Unschedulable("waiting at Permit is not possible in a single attempt")
                       .WithPlugin(s.plugin())
                 : s;
    }
    if (Status s = framework.RunPreBindPlugins(cycle, state, node); !s.ok()) return s;
    if (Status s = framework.RunBindPlugins(cycle, state, node); !s.ok()) return s;
    if (auto done = cluster.FinishBinding(pod); !done) return Status::Error(done.error().message());
    rollback.Commit();
    framework.RunPostBindPlugins(cycle, state, node);
    return {};
  }

  SchedulerOptions options_;
  Random random_;
  std::int32_t percentage_of_nodes_to_score_ = 0;
  std::size_t start_index_ = 0;  // where the next search of nodes begins
  std::vector<Row> sampled_;     // of the running cycle
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Framework>, std::less<>> frameworks_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_SCHEDULER_H_
