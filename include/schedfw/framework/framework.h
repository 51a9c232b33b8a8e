// Framework: runs the plugins of a profile, extension point by extension point.
#ifndef SCHEDFW_FRAMEWORK_FRAMEWORK_H_
#define SCHEDFW_FRAMEWORK_FRAMEWORK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/cluster/dry_run.h"
#include "schedfw/framework/diagnosis.h"
#include "schedfw/framework/executor.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/profile.h"
#include "schedfw/framework/score_matrix.h"

namespace schedfw {

/// The plugins of a profile, ready to run (pkg/scheduler/framework/runtime/framework.go).
///
/// One instance runs one cycle at a time and keeps buffers between cycles.
class Framework {
 public:
  Framework(Profile profile, Executor executor)
      : profile_(std::move(profile)), executor_(std::move(executor)) {
    pre_enqueue_ = profile_.Instances<PreEnqueuePlugin>(ExtensionPoint::kPreEnqueue);
    queue_sort_ = profile_.Instances<QueueSortPlugin>(ExtensionPoint::kQueueSort);
    pre_filter_ = profile_.Instances<PreFilterPlugin>(ExtensionPoint::kPreFilter);
    for (FilterPlugin* plugin : profile_.Instances<FilterPlugin>(ExtensionPoint::kFilter)) {
      filter_.push_back({plugin, dynamic_cast<BatchFilterPlugin*>(plugin), {}});
    }
    post_filter_ = profile_.Instances<PostFilterPlugin>(ExtensionPoint::kPostFilter);
    pre_score_ = profile_.Instances<PreScorePlugin>(ExtensionPoint::kPreScore);
    for (const PluginRef& ref : profile_.at(ExtensionPoint::kScore)) {
      auto* plugin = dynamic_cast<ScorePlugin*>(profile_.Instance(ref.name));
      if (plugin == nullptr) continue;
      score_.push_back({plugin, dynamic_cast<BatchScorePlugin*>(plugin), ref.weight});
    }
    reserve_ = profile_.Instances<ReservePlugin>(ExtensionPoint::kReserve);
    permit_ = profile_.Instances<PermitPlugin>(ExtensionPoint::kPermit);
    pre_bind_ = profile_.Instances<PreBindPlugin>(ExtensionPoint::kPreBind);
    bind_ = profile_.Instances<BindPlugin>(ExtensionPoint::kBind);
    post_bind_ = profile_.Instances<PostBindPlugin>(ExtensionPoint::kPostBind);
  }

  const Profile& profile() const { return profile_; }
  const Executor& executor() const { return executor_; }
  const QueueSortPlugin& queue_sort() const { return *queue_sort_.front(); }

  /// False when Reserve, Permit, PreBind and PostBind are empty and nothing outside is bound to, so
  /// that a binding can't fail half-way.
  bool HasBindingPlugins() const {
    return !reserve_.empty() || !permit_.empty() || !pre_bind_.empty() || !post_bind_.empty() ||
           bind_.size() != 1 || !bind_.front()->IsBookkeeping();
  }

  /// The first PreEnqueue plugin that keeps the pod out of the queue, or Success.
  Status RunPreEnqueuePlugins(const PodInfo& pod) const {
    for (PreEnqueuePlugin* plugin : pre_enqueue_) {
      const Status status = plugin->PreEnqueue(pod);
      if (!status.ok()) return status.WithPlugin(plugin->Name());
    }
    return {};
  }

  /// Runs PreFilter and merges the node subsets (RunPreFilterPlugins). `names` is set when a plugin
  /// narrows the nodes. Skipped plugins are remembered for RunFilterPlugins.
  Status RunPreFilterPlugins(const Cycle& cycle, CycleState& state,
                             std::optional<std::set<std::string>>& names) {
    Status status = CallPreFilterPlugins(cycle, state, names);
    active_filters_.clear();
    for (FilterEntry& entry : filter_) {
      if (!Contains(skip_filter_, entry.plugin)) active_filters_.push_back(&entry);
    }
    return status;
  }

  /// Changes the state of all plugins as if `added` had come to the node
  /// (RunPreFilterExtensionAddPod of upstream); `cycle` shows the node with it. May be called from
  /// any thread.
  Status RunPreFilterExtensionAddPod(const Cycle& cycle, CycleState& state, const PodInfo& added,
                                     Row row) const {
    for (PreFilterPlugin* plugin : pre_filter_) {
      const PreFilterExtensions* extensions = plugin->Extensions();
      if (extensions == nullptr || Contains(skip_filter_, plugin)) continue;
      const Status status = extensions->AddPod(cycle, state, added, NodeInfo(cycle.snapshot, row));
      if (!status.ok()) return Fault("running AddPod on PreFilter plugin \"", *plugin, status);
    }
    return {};
  }
  /// The opposite: as if `removed` had gone from the node.
  Status RunPreFilterExtensionRemovePod(const Cycle& cycle, CycleState& state,
                                        const PodInfo& removed, Row row) const {
    for (PreFilterPlugin* plugin : pre_filter_) {
      const PreFilterExtensions* extensions = plugin->Extensions();
      if (extensions == nullptr || Contains(skip_filter_, plugin)) continue;
      const Status status =
          extensions->RemovePod(cycle, state, removed, NodeInfo(cycle.snapshot, row));
      if (!status.ok()) return Fault("running RemovePod on PreFilter plugin \"", *plugin, status);
    }
    return {};
  }

  /// Runs the filters that PreFilter left on one node. May be called from any thread if all plugins
  /// are thread-safe.
  Status RunFilterPluginsOnNode(const Cycle& cycle, Row row) const {
    for (const FilterEntry* entry : active_filters_) {
      const Status status = entry->plugin->Filter(cycle, NodeInfo(cycle.snapshot, row));
      if (!status.ok()) return FilterStatus(*entry->plugin, status);
    }
    return {};
  }

  /// The same on a changed node, and, if pods of the same or a higher priority are nominated to it,
  /// first with those on it; it must pass both times (RunFilterPluginsWithNominatedPods). `dry_run`
  /// and `state` are as before when it returns.
  Status RunFilterPluginsWithNominatedPods(DryRun& dry_run, const PodInfo& pod,
                                           const CycleState& state, Row row) const {
    const std::vector<PodPtr> nominated = NominatedBefore(pod, dry_run.view(), row);
    if (!nominated.empty()) {
      Status status = FilterWithNominatedPods(dry_run, pod, state, row, nominated);
      if (!status.ok()) return status;
    }
    return RunFilterPluginsOnNode({dry_run.view(), pod, state}, row);
  }

  /// Only nominated pods of these schedulers count; by default all.
  void SetSchedulerNames(std::vector<std::string> names) { scheduler_names_ = std::move(names); }

  /// True when Filter and the PreFilter extensions may be called from several threads.
  bool IsFilterThreadSafe() const {
    return !AnyUnsafe(active_filters_) &&
           std::all_of(pre_filter_.begin(), pre_filter_.end(),
                       [](const PreFilterPlugin* plugin) { return plugin->IsThreadSafe(); });
  }

  /// Runs Filter over all nodes that `names` leaves (all when absent). Returns the rows that
  /// passed, ascending; valid until the next call. An Error status of a plugin ends the cycle and
  /// is in `status`.
  std::span<const Row> RunFilterPlugins(const Cycle& cycle,
                                        const std::optional<std::set<std::string>>& names,
                                        Status& status) {
    const Row count = cycle.snapshot.size();
    verdicts_.assign(count, {});
    evaluated_.reset();
    if (names) {
      evaluated_.emplace();
      for (const std::string& name : *names) {
        if (const auto row = cycle.snapshot.Find(name)) evaluated_->push_back(*row);
      }
      std::sort(evaluated_->begin(), evaluated_->end());
    }
    for (FilterEntry& entry : filter_) entry.statuses.clear();
    if (evaluated_) {
      for (Row row : *evaluated_) FilterBlock(cycle, {row, row + 1});
    } else if (AnyUnsafe(active_filters_)) {
      for (Row begin = 0; begin < count; begin += kMaxBlockRows) {
        FilterBlock(cycle, {begin, std::min(count, begin + kMaxBlockRows)});
      }
    } else {
      executor_.ForBlocks(count, [&](std::size_t begin, std::size_t end) {
        FilterBlock(cycle, {static_cast<Row>(begin), static_cast<Row>(end)});
      });
    }
    FilterNominated(cycle);
    feasible_.clear();
    const auto collect = [&](Row row) {
      if (verdicts_[row].plugin == 0) feasible_.push_back(row);
    };
    if (evaluated_) {
      for (Row row : *evaluated_) collect(row);
    } else {
      for (Row row = 0; row < count; ++row) collect(row);
    }
    status = FirstFault(cycle);
    return feasible_;
  }

  /// Who rejected which node in the last RunFilterPlugins, and why.
  Diagnosis Diagnose(const Cycle& cycle) const {
    Diagnosis out(cycle.snapshot.size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    const auto add = [&](Row row) {
      const Verdict verdict = verdicts_[row];
      if (verdict.plugin == 0) return;
      const auto [it, inserted] = known.try_emplace({verdict.plugin, CodeOf(verdict, row)});
      if (inserted) it->second = out.AddStatus(StatusOf(cycle, verdict, row));
      out.Reject(row, it->second);
    };
    if (evaluated_) {
      out.LeaveOutAll();
      for (Row row : *evaluated_) {
        out.Admit(row);
        add(row);
      }
    } else {
      for (Row row = 0; row < out.size(); ++row) add(row);
    }
    return out;
  }

  /// Runs PreScore; skipped plugins are remembered for RunScorePlugins.
  Status RunPreScorePlugins(const Cycle& cycle, CycleState& state, std::span<const Row> feasible) {
    skip_score_.clear();
    for (PreScorePlugin* plugin : pre_score_) {
      const Status status = plugin->PreScore(cycle, state, feasible);
      if (status.IsSkip()) {
        skip_score_.push_back(plugin);
      } else if (!status.ok()) {
        return Fault("running PreScore plugin \"", *plugin, status);
      }
    }
    return {};
  }

  /// Scores the feasible nodes, all plugins: the whole tensor when `matrix` is given. Returns the
  /// total of each feasible node; valid until the next call.
  std::span<const std::int64_t> RunScorePlugins(const Cycle& cycle, std::span<const Row> feasible,
                                                ScoreMatrix* matrix, Status& status) {
    const std::size_t nodes = feasible.size();
    active_scores_.clear();
    for (const ScoreEntry& entry : score_) {
      if (!Contains(skip_score_, entry.plugin)) active_scores_.push_back(&entry);
    }
    const std::size_t plugins = active_scores_.size();
    scores_.resize(plugins * nodes);
    total_.assign(nodes, 0);
    status = Status();
    if (matrix != nullptr) *matrix = EmptyMatrix(feasible);
    faults_.assign(plugins, Status());

    const bool unsafe = AnyUnsafe(active_scores_);
    const auto score_block = [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = 0; p < plugins; ++p) {
        ScoreBlock(cycle, feasible.subspan(begin, end - begin), p,
                   scores_.data() + p * nodes + begin);
      }
    };
    if (unsafe) {
      score_block(0, nodes);
    } else {
      executor_.ForBlocks(nodes, score_block);
    }
    if (!TakeFault("running Score plugins: ", status)) return {};
    if (matrix != nullptr) matrix->raw = AsArray(plugins, nodes);

    const auto normalize = [&](std::size_t p) {
      const ScoreExtensions* extensions = active_scores_[p]->plugin->NormalizeExtensions();
      if (extensions == nullptr) return;
      const Status done =
          extensions->NormalizeScore(cycle, feasible, {scores_.data() + p * nodes, nodes});
      if (!done.ok()) faults_[p] = done;
    };
    if (unsafe || executor_.options().normalize == NormalizeMode::kSynchronous) {
      for (std::size_t p = 0; p < plugins; ++p) normalize(p);
    } else {
      executor_.ForEach(plugins, nodes, normalize);
    }
    if (!TakeFault("running NormalizeScore plugins: ", status)) return {};

    for (std::size_t p = 0; p < plugins; ++p) {
      const std::int64_t* row = scores_.data() + p * nodes;
      const std::int64_t weight = active_scores_[p]->weight;
      std::int64_t bad = 0;
      for (std::size_t i = 0; i < nodes; ++i) {
        bad |= static_cast<std::int64_t>(row[i] < kMinNodeScore) | (row[i] > kMaxNodeScore);
        total_[i] += row[i] * weight;
      }
      if (bad != 0) {
        status = OutOfRange(p, {row, nodes}, cycle, feasible);
        return {};
      }
    }
    if (matrix != nullptr) {
      matrix->normalized = AsArray(plugins, nodes);
      matrix->weighted = matrix->normalized;
      for (std::size_t p = 0; p < plugins; ++p) {
        matrix->weighted.row(static_cast<Eigen::Index>(p)) *= active_scores_[p]->weight;
      }
      matrix->total = Eigen::Map<const Eigen::Array<std::int64_t, Eigen::Dynamic, 1>>(
          total_.data(), static_cast<Eigen::Index>(nodes));
    }
    return total_;
  }

  /// Runs PostFilter plugins until one succeeds or ends it (RunPostFilterPlugins). `cycle` is that
  /// of the last RunFilterPlugins (or of RunPreFilterPlugins, when that rejected the pod).
  Status RunPostFilterPlugins(const Cycle& cycle, const Diagnosis& diagnosis,
                              PostFilterResult& result) const {
    std::vector<std::string> reasons;
    std::string rejector;
    result = {};
    for (PostFilterPlugin* plugin : post_filter_) {
      PostFilterResult own;
      const Status status = plugin->PostFilter(cycle, diagnosis, *this, own);
      if (status.ok() || status.code() == Code::kUnschedulableAndUnresolvable) {
        result = std::move(own);
        return status.WithPlugin(plugin->Name());
      }
      if (!status.IsRejected()) {
        result = {};
        return Status::Error(status.message()).WithPlugin(plugin->Name());
      }
      if (own.nominated_node_name) result = std::move(own);
      reasons.insert(reasons.end(), status.reasons().begin(), status.reasons().end());
      if (rejector.empty()) rejector = plugin->Name();
    }
    return Status(Code::kUnschedulable, std::move(reasons)).WithPlugin(rejector);
  }
  bool HasPostFilterPlugins() const { return !post_filter_.empty(); }
  bool HasScorePlugins() const { return !score_.empty(); }
  bool HasFilterPlugins() const { return !filter_.empty(); }

  /// Runs Reserve in order; the caller calls RunUnreserve when any later step fails.
  Status RunReservePlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) {
    for (ReservePlugin* plugin : reserve_) {
      const Status status = plugin->Reserve(cycle, state, node);
      if (!status.ok()) return RejectOrFault("running Reserve plugin \"", *plugin, status);
    }
    return {};
  }
  /// Undoes Reserve of every plugin, in reverse order.
  void RunUnreservePlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) noexcept {
    for (auto it = reserve_.rbegin(); it != reserve_.rend(); ++it) {
      (*it)->Unreserve(cycle, state, node);
    }
  }
  /// Wait if any plugin wants to wait and none rejects; `timeout` is the longest one.
  Status RunPermitPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node,
                          std::chrono::nanoseconds& timeout) {
    Status wait;
    for (PermitPlugin* plugin : permit_) {
      std::chrono::nanoseconds own{0};
      const Status status = plugin->Permit(cycle, state, node, own);
      if (status.code() == Code::kWait) {
        timeout = std::max(timeout, own);
        wait = status.WithPlugin(plugin->Name());
      } else if (!status.ok()) {
        return RejectOrFault("running Permit plugin \"", *plugin, status);
      }
    }
    return wait;
  }
  Status RunPreBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) {
    for (PreBindPlugin* plugin : pre_bind_) {
      const Status status = plugin->PreBind(cycle, state, node);
      if (!status.ok()) return RejectOrFault("running PreBind plugin \"", *plugin, status);
    }
    return {};
  }
  /// The first Bind plugin that doesn't skip binds.
  Status RunBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) {
    for (BindPlugin* plugin : bind_) {
      const Status status = plugin->Bind(cycle, state, node);
      if (status.IsSkip()) continue;
      if (!status.ok()) return RejectOrFault("running Bind plugin \"", *plugin, status);
      return {};
    }
    return Status::Error("all Bind plugins skipped the pod");
  }
  void RunPostBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) {
    for (PostBindPlugin* plugin : post_bind_) plugin->PostBind(cycle, state, node);
  }

 private:
  struct FilterEntry {
    FilterPlugin* plugin;
    BatchFilterPlugin* batch;        // null: the simple shape
    std::map<Row, Status> statuses;  // of the simple shape, guarded by statuses_mutex_
  };
  struct ScoreEntry {
    ScorePlugin* plugin;
    BatchScorePlugin* batch;  // null: the simple shape
    std::int64_t weight;
  };
  // Who rejected a row: 1 + the place among the active filters, and the code it gave; or
  // kByNominated, when it was rejected with nominated pods on it.
  struct Verdict {
    std::uint32_t plugin = 0;
    std::uint32_t code = 0;
  };

  static constexpr std::uint32_t kByNominated = 0xFFFFFFFF;

  template <typename T>
  static bool Contains(const std::vector<T*>& list, const Plugin* plugin) {
    return std::any_of(list.begin(), list.end(), [&](T* candidate) {
      return static_cast<const Plugin*>(candidate) == plugin;
    });
  }
  template <typename T>
  static bool AnyUnsafe(const std::vector<T>& entries) {
    return std::any_of(entries.begin(), entries.end(),
                       [](const auto& entry) { return !entry->plugin->IsThreadSafe(); });
  }

  static Status Fault(const char* what, const Plugin& plugin, const Status& status) {
    return Status::Error(what + std::string(plugin.Name()) + "\": " + status.message())
        .WithPlugin(plugin.Name());
  }
  // A Filter plugin may reject a node, not fail (RunFilterPlugins).
  static Status FilterStatus(const Plugin& plugin, const Status& status) {
    if (status.IsRejected()) return status.WithPlugin(plugin.Name());
    return Status::Error("running \"" + std::string(plugin.Name()) +
                         "\" filter plugin: " + status.message())
        .WithPlugin(plugin.Name());
  }
  static Status RejectOrFault(const char* what, const Plugin& plugin, const Status& status) {
    return status.IsRejected() ? status.WithPlugin(plugin.Name()) : Fault(what, plugin, status);
  }

  // A pod that needs a plugin which is known by name only must not be placed as if it didn't.
  Status RefuseWithoutEffect(const PodInfo& pod) const {
    const char* plugin = nullptr;
    const char* what = nullptr;
    const api::PodSpec& spec = pod.pod->spec;
    const bool claims =
        std::any_of(spec.volumes.begin(), spec.volumes.end(), [](const api::Volume& volume) {
          return !volume.persistent_volume_claim.empty() || volume.ephemeral;
        });
    if (claims && profile_.HasWithoutEffect("VolumeBinding")) {
      plugin = "VolumeBinding";
      what = "the pod uses a PersistentVolumeClaim, which";
    } else if (!spec.resource_claims.empty() && profile_.HasWithoutEffect("DynamicResources")) {
      plugin = "DynamicResources";
      what = "the pod uses a ResourceClaim, which";
    }
    if (plugin == nullptr) return {};
    return Status::Unresolvable(std::string(what) + " needs plugin " + plugin +
                                ", which has no effect here")
        .WithPlugin(plugin);
  }

  Status CallPreFilterPlugins(const Cycle& cycle, CycleState& state,
                              std::optional<std::set<std::string>>& names) {
    skip_filter_.clear();
    names.reset();
    if (Status status = RefuseWithoutEffect(cycle.pod); !status.ok()) return status;
    Status rejected;
    std::set<std::string> narrowing;
    for (PreFilterPlugin* plugin : pre_filter_) {
      PreFilterResult result;
      const Status status = plugin->PreFilter(cycle, state, result);
      if (status.IsSkip()) {
        skip_filter_.push_back(plugin);
        continue;
      }
      if (!status.ok()) {
        Status named = status.WithPlugin(plugin->Name());
        if (status.code() == Code::kUnschedulableAndUnresolvable) return named;
        if (status.code() != Code::kUnschedulable) {
          return Fault("running PreFilter plugin \"", *plugin, status);
        }
        // Preemption may help, and needs the state of all other plugins.
        rejected = std::move(named);
        continue;
      }
      if (!result.node_names) continue;
      narrowing.emplace(plugin->Name());
      if (names) {
        std::erase_if(*names,
                      [&](const std::string& n) { return !result.node_names->contains(n); });
      } else {
        names = std::move(result.node_names);
      }
      if (names->empty()) {
        if (narrowing.size() == 1) {
          return Status::Unresolvable("node(s) didn't satisfy plugin " + *narrowing.begin());
        }
        std::string list;
        for (const std::string& n : narrowing) list += (list.empty() ? "" : " ") + n;
        return Status::Unresolvable("node(s) didn't satisfy plugin(s) [" + list +
                                    "] simultaneously");
      }
    }
    return rejected;
  }

  // The pods nominated to a node that the pod must leave room for.
  std::vector<PodPtr> NominatedBefore(const PodInfo& pod, const Snapshot& snapshot, Row row) const {
    std::vector<PodPtr> out;
    if (!snapshot.HasNominations()) return out;
    for (const PodPtr& nominated : snapshot.NominatedPods(snapshot.record(row).name)) {
      const std::string& scheduler = nominated->pod->spec.scheduler_name;
      if (nominated->priority >= pod.priority && nominated->Key() != pod.Key() &&
          (scheduler_names_.empty() || std::find(scheduler_names_.begin(), scheduler_names_.end(),
                                                 scheduler) != scheduler_names_.end())) {
        out.push_back(nominated);
      }
    }
    return out;
  }

  Status FilterWithNominatedPods(DryRun& dry_run, const PodInfo& pod, const CycleState& state,
                                 Row row, const std::vector<PodPtr>& nominated) const {
    CycleState with = state.Clone();
    const Cycle cycle{dry_run.view(), pod, with};
    Status status;
    std::size_t added = 0;
    for (; added < nominated.size() && status.ok(); ++added) {
      if (auto done = dry_run.AddPod(nominated[added], row); !done) {
        status = Status::Error(done.error().message());
        break;
      }
      status = RunPreFilterExtensionAddPod(cycle, with, *nominated[added], row);
    }
    if (status.ok()) status = RunFilterPluginsOnNode(cycle, row);
    while (added > 0) dry_run.RemovePod(*nominated[--added], row);
    return status;
  }

  // The nodes with nominated pods are judged once more, with those pods on them.
  void FilterNominated(const Cycle& cycle) {
    nominated_statuses_.clear();
    if (!cycle.snapshot.HasNominations()) return;
    std::optional<DryRun> dry_run;
    for (const StringId name : cycle.snapshot.NominatedNodes()) {
      const auto row = cycle.snapshot.FindById(name);
      if (!row ||
          (evaluated_ && !std::binary_search(evaluated_->begin(), evaluated_->end(), *row))) {
        continue;
      }
      const std::vector<PodPtr> nominated = NominatedBefore(cycle.pod, cycle.snapshot, *row);
      if (nominated.empty()) continue;
      if (!dry_run) dry_run.emplace(cycle.snapshot);
      Status status = FilterWithNominatedPods(*dry_run, cycle.pod, cycle.state, *row, nominated);
      if (status.ok()) continue;
      verdicts_[*row] = {kByNominated, *row};
      nominated_statuses_.emplace(*row, std::move(status));
    }
  }

  void FilterBlock(const Cycle& cycle, RowRange rows) {
    std::array<std::uint32_t, kMaxBlockRows> codes;
    Verdict* verdicts = verdicts_.data() + rows.begin;
    const Row count = rows.size();
    for (std::uint32_t f = 0; f < active_filters_.size(); ++f) {
      FilterEntry& entry = *active_filters_[f];
      if (entry.batch != nullptr) {
        std::fill_n(codes.begin(), count, 0u);
        entry.batch->FilterNodes(cycle, rows, codes.data());
        for (Row i = 0; i < count; ++i) {
          const bool first = (codes[i] != 0) & (verdicts[i].plugin == 0);
          verdicts[i].plugin = first ? f + 1 : verdicts[i].plugin;
          verdicts[i].code = first ? codes[i] : verdicts[i].code;
        }
        continue;
      }
      for (Row i = 0; i < count; ++i) {
        if (verdicts[i].plugin != 0) continue;
        const Row row = rows.begin + i;
        Status status = entry.plugin->Filter(cycle, NodeInfo(cycle.snapshot, row));
        if (status.ok()) continue;
        verdicts[i] = {f + 1, 1};
        std::lock_guard lock(statuses_mutex_);
        entry.statuses.emplace(row, std::move(status));
      }
    }
  }

  // Rows that a batch plugin rejected with one code share a status; those of the simple shape each
  // have their own.
  std::uint32_t CodeOf(const Verdict& verdict, Row row) const {
    if (verdict.plugin == kByNominated) return row;
    return active_filters_[verdict.plugin - 1]->batch != nullptr ? verdict.code : row;
  }
  Status StatusOf(const Cycle& cycle, const Verdict& verdict, Row row) const {
    if (verdict.plugin == kByNominated) return nominated_statuses_.at(row);
    const FilterEntry& entry = *active_filters_[verdict.plugin - 1];
    return FilterStatus(*entry.plugin, entry.batch != nullptr
                                           ? entry.batch->Explain(cycle, verdict.code)
                                           : entry.statuses.at(row));
  }

  // The first failure of a Filter plugin, in row order, ends the cycle.
  Status FirstFault(const Cycle& cycle) const {
    for (Row row = 0; row < verdicts_.size(); ++row) {
      const Verdict verdict = verdicts_[row];
      if (verdict.plugin == 0) continue;
      bool failed = false;
      if (verdict.plugin == kByNominated) {
        failed = !nominated_statuses_.at(row).IsRejected();
      } else if (const FilterEntry& entry = *active_filters_[verdict.plugin - 1];
                 entry.batch != nullptr) {
        failed = verdict.code == kFilterFault;
      } else {
        failed = !entry.statuses.at(row).IsRejected();
      }
      if (failed) return StatusOf(cycle, verdict, row);
    }
    return {};
  }

  void ScoreBlock(const Cycle& cycle, std::span<const Row> rows, std::size_t p, std::int64_t* out) {
    const ScoreEntry& entry = *active_scores_[p];
    Status status;
    if (entry.batch != nullptr) {
      status = entry.batch->ScoreNodes(cycle, rows, out);
    } else {
      for (std::size_t i = 0; i < rows.size() && status.ok(); ++i) {
        out[i] = 0;
        status = entry.plugin->Score(cycle, NodeInfo(cycle.snapshot, rows[i]), out[i]);
      }
    }
    if (!status.ok()) {
      std::lock_guard lock(statuses_mutex_);
      // Several blocks may fail: the message that sorts first is the one to report.
      if (faults_[p].ok() || status.message() < faults_[p].message()) faults_[p] = status;
    }
  }

  bool TakeFault(const char* what, Status& status) const {
    for (std::size_t p = 0; p < faults_.size(); ++p) {
      if (faults_[p].ok()) continue;
      const std::string name(active_scores_[p]->plugin->Name());
      status =
          Status::Error(what + ("plugin \"" + name + "\" failed with: ") + faults_[p].message())
              .WithPlugin(name);
      return false;
    }
    return true;
  }

  Status OutOfRange(std::size_t p, std::span<const std::int64_t> scores, const Cycle& cycle,
                    std::span<const Row> feasible) const {
    const auto bad = std::find_if(scores.begin(), scores.end(), [](std::int64_t score) {
      return score < kMinNodeScore || score > kMaxNodeScore;
    });
    const std::string name(active_scores_[p]->plugin->Name());
    return Status::Error(
               "plugin \"" + name + "\" returns an invalid score " + std::to_string(*bad) +
               " for node " +
               cycle.snapshot.name(feasible[static_cast<std::size_t>(bad - scores.begin())]) +
               ", it should be in the range of [0, 100] after normalizing")
        .WithPlugin(name);
  }

  ScoreMatrix EmptyMatrix(std::span<const Row> feasible) const {
    ScoreMatrix out;
    out.rows.assign(feasible.begin(), feasible.end());
    for (const ScoreEntry* entry : active_scores_) {
      out.plugins.emplace_back(entry->plugin->Name());
      out.weights.push_back(entry->weight);
    }
    const auto plugins = static_cast<Eigen::Index>(active_scores_.size());
    const auto nodes = static_cast<Eigen::Index>(feasible.size());
    out.raw = out.normalized = out.weighted = ScoreArray::Zero(plugins, nodes);
    out.total = Eigen::Array<std::int64_t, Eigen::Dynamic, 1>::Zero(nodes);
    return out;
  }

  Eigen::Map<const ScoreArray> AsArray(std::size_t plugins, std::size_t nodes) const {
    return {scores_.data(), static_cast<Eigen::Index>(plugins), static_cast<Eigen::Index>(nodes)};
  }

  Profile profile_;
  Executor executor_;
  std::vector<std::string> scheduler_names_;
  std::vector<PreEnqueuePlugin*> pre_enqueue_;
  std::vector<QueueSortPlugin*> queue_sort_;
  std::vector<PreFilterPlugin*> pre_filter_;
  std::vector<FilterEntry> filter_;
  std::vector<PostFilterPlugin*> post_filter_;
  std::vector<PreScorePlugin*> pre_score_;
  std::vector<ScoreEntry> score_;
  std::vector<ReservePlugin*> reserve_;
  std::vector<PermitPlugin*> permit_;
  std::vector<PreBindPlugin*> pre_bind_;
  std::vector<BindPlugin*> bind_;
  std::vector<PostBindPlugin*> post_bind_;

  // Of the running cycle.
  std::vector<PreFilterPlugin*> skip_filter_;
  std::vector<PreScorePlugin*> skip_score_;
  std::vector<FilterEntry*> active_filters_;
  std::vector<const ScoreEntry*> active_scores_;
  std::vector<Verdict> verdicts_;
  std::map<Row, Status> nominated_statuses_;
  std::optional<std::vector<Row>> evaluated_;
  std::vector<Row> feasible_;
  std::vector<std::int64_t> scores_;  // plugins × nodes
  std::vector<std::int64_t> total_;
  std::vector<Status> faults_;
  std::mutex statuses_mutex_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_FRAMEWORK_H_
