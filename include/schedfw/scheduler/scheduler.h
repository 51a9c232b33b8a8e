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

struct SchedulerOptions {
  ExecutorOptions executor;
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
  Row feasible = 0;                    ///< how many nodes passed the filters
  std::int64_t score = 0;              ///< the total of the chosen node
  std::optional<Diagnosis> diagnosis;  ///< when no node was found
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
  std::vector<Row> best;  ///< the rows with the highest total, by name
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
    return out;
  }

  /// The scheduler names, in the configuration's order.
  const std::vector<std::string>& profile_names() const { return names_; }
  /// A profile's framework, or nullptr.
  Framework* framework(std::string_view scheduler_name) const {
    const auto it = frameworks_.find(scheduler_name);
    return it == frameworks_.end() ? nullptr : it->second.get();
  }

  /// Finds a node for a pod: PreFilter to Score, over all nodes. Changes nothing.
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

  /// One pod's cycle with every status and score. Changes nothing.
  Explanation Explain(const Snapshot& snapshot, const PodPtr& pod) {
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
      return out;
    }
    Status status;
    const std::span<const Row> feasible = framework->RunFilterPlugins(cycle, names, status);
    out.diagnosis = framework->Diagnose(cycle);
    if (names) out.diagnosis.pre_filter_nodes.emplace(names->begin(), names->end());
    out.feasible.assign(feasible.begin(), feasible.end());
    if (feasible.empty()) return out;
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
    const std::span<const Row> feasible = framework->RunFilterPlugins(cycle, names, out.status);
    if (!out.status.ok()) return out;
    out.feasible = static_cast<Row>(feasible.size());
    if (feasible.empty()) {
      out.diagnosis = framework->Diagnose(cycle);
      if (names) out.diagnosis->pre_filter_nodes.emplace(names->begin(), names->end());
      out.status = Status::Unschedulable(out.diagnosis->Message());
      return out;
    }
    out.status = framework->RunPreScorePlugins(cycle, state, feasible);
    if (!out.status.ok()) return out;
    const auto total = framework->RunScorePlugins(cycle, feasible, nullptr, out.status);
    if (!out.status.ok()) return out;
    const std::size_t winner = Winner(snapshot, feasible, total);
    out.row = feasible[winner];
    out.node = snapshot.name(*out.row);
    out.score = total[winner];
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
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Framework>, std::less<>> frameworks_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_SCHEDULER_H_
