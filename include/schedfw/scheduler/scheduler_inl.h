// Definitions of Scheduler (see base/inline.h).
#ifndef SCHEDFW_SCHEDULER_SCHEDULER_INL_H_
#define SCHEDFW_SCHEDULER_SCHEDULER_INL_H_

#include <algorithm>
#include <chrono>

#include "schedfw/base/digest.h"
#include "schedfw/base/simd.h"
#include "schedfw/framework/executor.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {

SCHEDFW_INLINE Result<std::unique_ptr<Scheduler>> Scheduler::Create(const SchedulerConfig& config,
                                                                    const Registry& registry,
                                                                    SchedulerOptions options) {
  if (!options.handle.host) options.handle.host = std::make_shared<HostSlot>();
  auto out = std::unique_ptr<Scheduler>(new Scheduler(std::move(options)));
  out->percentage_of_nodes_to_score_ = config.percentage_of_nodes_to_score;
  out->initial_backoff_ = std::chrono::seconds(config.pod_initial_backoff_seconds);
  out->max_backoff_ = std::chrono::seconds(config.pod_max_backoff_seconds);
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
  out->config_digest_ = out->DigestOf(config);
  return out;
}

SCHEDFW_INLINE std::uint64_t Scheduler::DigestOf(const SchedulerConfig& config) const {
  Digest out;
  const auto number = [&](auto value) { out.Add(static_cast<std::uint64_t>(value)); };
  number(config.percentage_of_nodes_to_score);
  number(config.pod_initial_backoff_seconds);
  number(config.pod_max_backoff_seconds);
  number(options_.nodes_to_score);
  number(options_.tie_break);
  number(options_.handle.generic_workload);
  number(config.profiles.size());
  for (const ProfileConfig& profile_config : config.profiles) {
    const Profile& profile = frameworks_.find(profile_config.scheduler_name)->second->profile();
    out.Add(profile.name());
    number(profile.percentage_of_nodes_to_score().value_or(-1));
    std::set<std::string> plugins;
    for (const ExtensionPoint point : AllPoints()) {
      number(profile.at(point).size());
      for (const PluginRef& plugin : profile.at(point)) {
        out.Add(plugin.name);
        number(plugin.weight);
        plugins.insert(plugin.name);
      }
    }
    std::map<std::string, const Value*> args;
    for (const PluginConfig& plugin : profile_config.plugin_config) {
      if (plugins.contains(plugin.name)) args[plugin.name] = &plugin.args;
    }
    for (const auto& [name, value] : args) {
      out.Add(name);
      out.AddValue(*value);
    }
  }
  return out.value();
}

SCHEDFW_INLINE ScheduleResult Scheduler::Schedule(const Snapshot& snapshot, const PodInfo& pod) {
  state_.Clear();  // a plugin may have thrown
  ScheduleResult out = Schedule(snapshot, pod, state_);
  state_.Clear();
  return out;
}

SCHEDFW_INLINE ScheduleResult Scheduler::ScheduleOne(Cluster& cluster, const PodInfo& pod) {
  state_.Clear();  // a plugin may have thrown
  ScheduleResult result = Schedule(cluster.view(), pod, state_);
  if (result.status.ok()) {
    if (Status status = BindAt(cluster, pod, state_, *result.row); !status.ok()) {
      result.status = std::move(status);
      result.row.reset();
      result.node.clear();
    }
  }
  state_.Clear();
  return result;
}

SCHEDFW_INLINE PreemptionResult Scheduler::FindVictims(const Snapshot& snapshot,
                                                       const PodInfo& pod) {
  return FindVictims(snapshot, pod, nullptr);
}

SCHEDFW_INLINE PreemptionResult Scheduler::Preempt(Cluster& cluster, const PodInfo& pod) {
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

SCHEDFW_INLINE std::vector<Placement> Scheduler::Place(Cluster& cluster, const Progress& progress) {
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

SCHEDFW_INLINE std::vector<QueuedPodInfo> Scheduler::Queue(const Snapshot& snapshot) const {
  std::vector<QueuedPodInfo> queue;
  for (PodPtr& pod : snapshot.Pending()) {
    if (pod->terminating()) continue;
    const auto timestamp = static_cast<std::int64_t>(queue.size());
    const std::int32_t priority = pod->priority();
    queue.push_back({std::move(pod), timestamp, priority, timestamp});
  }
  const QueueSortPlugin& sort = frameworks_.find(names_.front())->second->queue_sort();
  std::stable_sort(queue.begin(), queue.end(),
                   [&](const QueuedPodInfo& a, const QueuedPodInfo& b) { return sort.Less(a, b); });
  return queue;
}

SCHEDFW_INLINE Explanation Scheduler::Explain(const Snapshot& snapshot, const PodPtr& pod,
                                              ExplainOptions options) {
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
    out.diagnosis = Diagnosis::OfPreFilter(snapshot.size(), pre_filter);
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
  const auto total = framework->RunScorePlugins(cycle, out.feasible, &out.scores, out.score_status);
  if (out.score_status.ok()) out.best = Best(snapshot, out.feasible, total);
  return out;
}

SCHEDFW_INLINE Result<FitResult> Scheduler::Fit(const Snapshot& snapshot, const api::Pod& pod,
                                                std::int64_t limit, const Progress& progress) {
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

SCHEDFW_INLINE Status Scheduler::Admit(const PodInfo& pod) const {
  const Framework* framework = this->framework(pod.pod->spec.scheduler_name);
  return framework == nullptr ? NoProfile(pod) : framework->RunPreEnqueuePlugins(pod);
}

SCHEDFW_INLINE Result<void> Scheduler::CheckOneQueue(const SchedulerConfig& config) const {
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

SCHEDFW_INLINE Status Scheduler::NoProfile(const PodInfo& pod) const {
  std::string known;
  for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
  return Status::Unresolvable("no profile for schedulerName \"" + pod.pod->spec.scheduler_name +
                              "\" (there are: " + known + ")");
}

SCHEDFW_INLINE ScheduleResult Scheduler::Schedule(const Snapshot& snapshot, const PodInfo& pod,
                                                  CycleState& state,
                                                  const std::set<std::string>* within) {
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
    out.diagnosis = Diagnosis::OfPreFilter(snapshot.size(), pre_filter);
    out.diagnosis->narrowed_by = framework->narrowed_by();
    out.status = Status::Unschedulable(out.diagnosis->Message());
    return out;
  }
  if (within != nullptr) {
    if (!names) {
      names = *within;
    } else {
      std::erase_if(*names, [&](const std::string& name) { return !within->contains(name); });
    }
  }
  if (!names && pod.pod->status.nominated_node_name.empty() &&
      options_.nodes_to_score == NodesToScore::kAll) {
    cached_.want_ties = options_.tie_break == TieBreak::kSeeded;
    if (framework->RunCached(cycle, state, cached_)) {
      out.row = cached_.want_ties ? DrawOne(snapshot, cached_.ties) : cached_.row;
      out.node = snapshot.name(*out.row);
      out.evaluated = snapshot.size();
      out.feasible = cached_.feasible;
      out.score = cached_.score;
      out.incremental = true;
      if (options_.verify_incremental) Verify(*framework, cycle, out);
      return out;
    }
  }
  std::span<const Row> rows;
  std::optional<Row> tried;  // the nominated node, if it was tried and doesn't fit
  const std::string& nomination = pod.pod->status.nominated_node_name;
  if (const auto nominated = within == nullptr || within->contains(nomination)
                                 ? snapshot.Find(nomination)
                                 : std::nullopt) {
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
    out.diagnosis->narrowed_by = framework->narrowed_by();
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
  const std::size_t winner = Winner(snapshot, rows, total, framework->block_maxima());
  out.row = rows[winner];
  out.node = snapshot.name(*out.row);
  out.score = total[winner];
  return out;
}

SCHEDFW_INLINE Row Scheduler::NodesOf(const Snapshot& snapshot,
                                      const std::set<std::string>& names) {
  return static_cast<Row>(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return snapshot.Find(name).has_value();
  }));
}

SCHEDFW_INLINE std::size_t Scheduler::EnoughNodes(const Framework& framework,
                                                  std::size_t nodes) const {
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

SCHEDFW_INLINE std::span<const Row> Scheduler::Sample(
    const Snapshot& snapshot, const Framework& framework,
    const std::optional<std::set<std::string>>& names, std::optional<Row> tried,
    std::span<const Row> feasible, Row& evaluated) {
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

SCHEDFW_INLINE PreemptionResult Scheduler::FindVictims(const Snapshot& snapshot, const PodInfo& pod,
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
  Diagnosis diagnosis;
  if (!pre_filter.ok()) {
    if (!pre_filter.IsRejected()) {
      out.status = pre_filter;
      return out;
    }
    diagnosis = Diagnosis::OfPreFilter(snapshot.size(), pre_filter);
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

SCHEDFW_INLINE Result<void> Scheduler::Evict(Cluster& cluster, const PodInfo& pod,
                                             const std::string& node,
                                             const std::vector<Victim>& victims) {
  for (const Victim& victim : victims) {
    const api::ObjectMeta& meta = victim.pod->pod->metadata;
    if (auto done = cluster.DeletePod(meta.ns, meta.name); !done) return done;
  }
  if (!node.empty()) {
    const StringId id = cluster.view().dictionary().Intern(node);
    const std::vector<PodPtr> nominated = cluster.view().NominatedPods(id);
    for (const PodPtr& other : nominated) {
      if (other->priority() >= pod.priority()) continue;
      const api::ObjectMeta& meta = other->pod->metadata;
      if (auto done = cluster.NominatePod(meta.ns, meta.name, ""); !done) return done;
    }
  }
  return cluster.NominatePod(pod.pod->metadata.ns, pod.pod->metadata.name, node);
}

SCHEDFW_INLINE PreemptionResult Scheduler::RunPostFilter(const Framework& framework,
                                                         const Cycle& cycle,
                                                         const Diagnosis& diagnosis,
                                                         std::optional<std::string>* nomination) {
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

// One of several rows, evenly; which one doesn't depend on their order.
SCHEDFW_INLINE Row Scheduler::DrawOne(const Snapshot& snapshot, std::vector<Row>& ties) {
  if (ties.size() == 1) return ties.front();
  const std::vector<std::uint32_t>& rank = snapshot.NameRank();
  std::sort(ties.begin(), ties.end(), [&](Row a, Row b) { return rank[a] < rank[b]; });
  return ties[random_.Below(ties.size())];
}

// Runs the whole pipeline too and compares.
SCHEDFW_INLINE void Scheduler::Verify(Framework& framework, const Cycle& cycle,
                                      ScheduleResult& result) const {
  CycleState state;
  const Cycle whole{cycle.snapshot, cycle.pod, state};
  std::optional<std::set<std::string>> names;
  std::string other;
  Status status = framework.RunPreFilterPlugins(whole, state, names);
  const auto differs = [&](const char* what, std::int64_t is, std::int64_t should) {
    if (is != should && other.empty()) {
      other = std::string(what) + " is " + std::to_string(is) + ", not " + std::to_string(should);
    }
  };
  std::span<const Row> rows;
  if (status.ok()) rows = framework.RunFilterPlugins(whole, names, status);
  differs("the number of feasible nodes", result.feasible, static_cast<std::int64_t>(rows.size()));
  if (status.ok() && rows.size() > 1) {
    status = framework.RunPreScorePlugins(whole, state, rows);
    std::span<const std::int64_t> total;
    if (status.ok()) total = framework.RunScorePlugins(whole, rows, nullptr, status);
    if (status.ok()) {
      const auto at = std::lower_bound(rows.begin(), rows.end(), *result.row) - rows.begin();
      differs("the total of the chosen node", result.score, total[static_cast<std::size_t>(at)]);
      differs("the highest total", result.score, *std::max_element(total.begin(), total.end()));
      if (options_.tie_break == TieBreak::kFirst) {
        differs("the row", *result.row, Best(cycle.snapshot, rows, total).front());
      }
    }
  } else if (status.ok() && rows.size() == 1) {
    differs("the row", *result.row, rows.front());
  }
  if (!status.ok()) other = status.message();
  if (other.empty()) return;
  result.status = Status::Error("verify_incremental: Pod " + cycle.pod.FullName() + ": " + other);
  result.row.reset();
  result.node.clear();
}

SCHEDFW_INLINE std::size_t Scheduler::Winner(const Snapshot& snapshot, std::span<const Row> rows,
                                             std::span<const std::int64_t> total,
                                             const BlockMaxima& maxima) {
  if (options_.tie_break == TieBreak::kSeeded) {
    std::vector<Row> ties = Best(snapshot, rows, total);
    const Row chosen = DrawOne(snapshot, ties);
    return static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), chosen) -
                                    rows.begin());
  }
  const std::int64_t best = *std::max_element(maxima.highest.begin(), maxima.highest.end());
  const bool is_name_order = snapshot.IsNameOrder();
  const std::uint32_t* rank = is_name_order ? nullptr : snapshot.NameRank().data();
  std::size_t winner = total.size();
  for (std::size_t block = 0; block < maxima.highest.size(); ++block) {
    if (maxima.highest[block] != best) continue;
    const std::size_t end = std::min(total.size(), (block + 1) * maxima.rows);
    for (std::size_t i = block * maxima.rows; i < end; ++i) {
      if (total[i] != best) continue;
      if (is_name_order) return i;
      if (winner == total.size() || rank[rows[i]] < rank[rows[winner]]) winner = i;
    }
  }
  return winner;
}

SCHEDFW_INLINE std::vector<Row> Scheduler::Best(const Snapshot& snapshot, std::span<const Row> rows,
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

namespace internal {

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

}  // namespace internal

SCHEDFW_INLINE Status Scheduler::BindAt(Cluster& cluster, const PodInfo& pod, CycleState& state,
                                        Row row) {
  Framework& framework = *this->framework(pod.pod->spec.scheduler_name);
  const GpuMask gpus = framework.AllocateGpus(Cycle{cluster.view(), pod, state}, row);
  if (!framework.HasBindingPlugins()) {  // nothing that could fail or needs telling
    state.Clear();                       // what it shares with the cluster would be copied
    if (auto done = cluster.AssumePod(pod, row, gpus); !done) {
      return Status::Error(done.error().message());
    }
    (void)cluster.FinishBinding(pod);
    return {};
  }
  internal::Rollback rollback(cluster);
  if (auto done = cluster.AssumePod(pod, row, gpus); !done) {
    return Status::Error(done.error().message());
  }
  const Cycle cycle{cluster.view(), pod, state};
  const NodeInfo node(cluster.view(), row);
  rollback.OnFailure([&] { framework.RunUnreservePlugins(cycle, state, node); });
  if (Status s = framework.RunReservePlugins(cycle, state, node); !s.ok()) return s;
  std::vector<PermitWait> waits;
  if (Status s = framework.RunPermitPlugins(cycle, state, node, waits); !s.ok()) {
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

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_SCHEDULER_INL_H_
