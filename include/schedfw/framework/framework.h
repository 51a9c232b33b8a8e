// Framework: runs the plugins of a profile, extension point by extension point.
#ifndef SCHEDFW_FRAMEWORK_FRAMEWORK_H_
#define SCHEDFW_FRAMEWORK_FRAMEWORK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/base/inline.h"
#include "schedfw/cluster/dry_run.h"
#include "schedfw/framework/diagnosis.h"
#include "schedfw/framework/plan_cache.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/profile.h"
#include "schedfw/framework/score_matrix.h"

namespace schedfw {

class Executor;

/// The highest of each `rows` totals in turn, the last of what is left: where the winner is needn't
/// be looked for among the others.
struct BlockMaxima {
  std::span<const std::int64_t> highest;
  std::size_t rows = 0;
};

/// What a plugin can't make sense of in a node's object.
struct NodeProblem {
  std::string node;
  std::string plugin;  ///< the first one that said so
  std::string message;
};

/// The plugins of a profile, ready to run (pkg/scheduler/framework/runtime/framework.go).
///
/// One instance runs one cycle at a time and keeps buffers between cycles.
class Framework {
 public:
  Framework(Profile profile, Executor executor);
  ~Framework();

  const Profile& profile() const { return profile_; }
  const Executor& executor() const { return *executor_; }
  const QueueSortPlugin& queue_sort() const { return *queue_sort_.front(); }

  /// False when Reserve, Permit, PreBind and PostBind are empty and nothing outside is bound to, so
  /// that a binding can't fail half-way.
  bool HasBindingPlugins() const {
    return !reserve_.empty() || !permit_.empty() || !pre_bind_.empty() || !post_bind_.empty() ||
           bind_.size() != 1 || !bind_.front()->IsBookkeeping();
  }
  bool HasPostFilterPlugins() const { return !post_filter_.empty(); }
  bool HasScorePlugins() const { return !score_.empty(); }

  /// The first PreEnqueue plugin that keeps the pod out of the queue, or Success.
  Status RunPreEnqueuePlugins(const PodInfo& pod) const;

  /// Runs PreFilter and merges the node subsets (RunPreFilterPlugins). `names` is set when a plugin
  /// narrows the nodes. Skipped plugins are remembered for RunFilterPlugins.
  Status RunPreFilterPlugins(const Cycle& cycle, CycleState& state,
                             std::optional<std::set<std::string>>& names);
  /// The plugins that narrowed the nodes in the last RunPreFilterPlugins.
  const std::set<std::string>& narrowed_by() const { return narrowed_by_; }

  /// Changes the state of all plugins as if `added` had come to the node
  /// (RunPreFilterExtensionAddPod of upstream); `cycle` shows the node with it. May be called from
  /// any thread.
  Status RunPreFilterExtensionAddPod(const Cycle& cycle, CycleState& state, const PodInfo& added,
                                     Row row) const {
    return RunPreFilterExtension(&PreFilterExtensions::AddPod, "AddPod", cycle, state, added, row);
  }
  /// The opposite: as if `removed` had gone from the node.
  Status RunPreFilterExtensionRemovePod(const Cycle& cycle, CycleState& state,
                                        const PodInfo& removed, Row row) const {
    return RunPreFilterExtension(&PreFilterExtensions::RemovePod, "RemovePod", cycle, state,
                                 removed, row);
  }

  /// Runs the filters that PreFilter left on one node. May be called from any thread if all plugins
  /// are thread-safe.
  Status RunFilterPluginsOnNode(const Cycle& cycle, Row row) const;

  /// The same on a changed node, and, if pods of the same or a higher priority are nominated to it,
  /// first with those on it; it must pass both times (RunFilterPluginsWithNominatedPods). `dry_run`
  /// and `state` are as before when it returns.
  Status RunFilterPluginsWithNominatedPods(DryRun& dry_run, const PodInfo& pod,
                                           const CycleState& state, Row row) const;

  /// Only nominated pods of these schedulers count; by default all.
  void SetSchedulerNames(std::vector<std::string> names) { scheduler_names_ = std::move(names); }

  /// True when Filter and the PreFilter extensions may be called from several threads.
  bool IsFilterThreadSafe() const;

  /// Runs Filter over all nodes that `names` leaves (all when absent). Returns the rows that
  /// passed, ascending; valid until the next call. An Error status of a plugin ends the cycle and
  /// is in `status`.
  std::span<const Row> RunFilterPlugins(const Cycle& cycle,
                                        const std::optional<std::set<std::string>>& names,
                                        Status& status);

  /// Who rejected which node in the last RunFilterPlugins, and why.
  Diagnosis Diagnose(const Cycle& cycle) const;

  /// Runs PreScore; skipped plugins are remembered for RunScorePlugins.
  Status RunPreScorePlugins(const Cycle& cycle, CycleState& state, std::span<const Row> feasible);

  /// Scores the feasible nodes, all plugins: the whole tensor when `matrix` is given. Returns the
  /// total of each feasible node; valid until the next call.
  std::span<const std::int64_t> RunScorePlugins(const Cycle& cycle, std::span<const Row> feasible,
                                                ScoreMatrix* matrix, Status& status);
  /// The highest of the totals that the last RunScorePlugins returned, block by block.
  BlockMaxima block_maxima() const { return {block_maxima_, maxima_block_}; }

  /// Filter to Score for a pod whose plan came up before, by asking again only what has changed
  /// since (see PlanCache). RunPreFilterPlugins has run and narrowed no nodes. False: the whole
  /// pipeline is needed, and nothing was decided.
  bool RunCached(const Cycle& cycle, CycleState& state, CachedCycle& out);

  /// Runs PostFilter plugins until one succeeds or ends it (RunPostFilterPlugins). `cycle` is that
  /// of the last RunFilterPlugins (or of RunPreFilterPlugins, when that rejected the pod).
  Status RunPostFilterPlugins(const Cycle& cycle, const Diagnosis& diagnosis,
                              PostFilterResult& result) const;

  /// The GPUs that a pod is to get on a node (see GpuAllocatorPlugin); 0: the cluster decides.
  GpuMask AllocateGpus(const Cycle& cycle, Row row) const {
    if (gpu_allocator_ == nullptr || cycle.plan().gpus.count == 0) return 0;
    const GpuDevices* gpus = cycle.snapshot.Gpus();
    if (gpus == nullptr || gpus[row].count == 0) return 0;
    return gpu_allocator_->AllocateGpus(cycle, NodeInfo(cycle.snapshot, row));
  }

  /// What plugins can't make sense of in nodes' objects (see NodeCheckPlugin), each only once for a
  /// node; nodes in name order. O(nodes × such plugins).
  std::vector<NodeProblem> CheckNodes(const Snapshot& snapshot) const;

  /// Runs Reserve in order; the caller calls RunUnreserve when any later step fails.
  Status RunReservePlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node);
  /// Undoes Reserve of every plugin, in reverse order.
  void RunUnreservePlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node) noexcept;
  /// Wait if any plugin wants to wait and none rejects; `waits` says which, in their order.
  Status RunPermitPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node,
                          std::vector<PermitWait>& waits);
  Status RunPreBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node);
  /// The first Bind plugin that doesn't skip binds.
  Status RunBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node);
  void RunPostBindPlugins(const Cycle& cycle, CycleState& state, const NodeInfo& node);

 private:
  struct FilterEntry {
    FilterPlugin* plugin;
    BatchFilterPlugin* batch;        // null: the simple shape
    PreFilterPlugin* pre_filter;     // null: it has none, or it isn't enabled
    IncrementalPlugin* incremental;  // null: nothing is known of it
    std::map<Row, Status> statuses;  // of the simple shape, guarded by mutex_
  };
  struct ScoreEntry {
    ScorePlugin* plugin;
    BatchScorePlugin* batch;             // null: the simple shape
    const ScoreExtensions* extensions;   // null: raw scores are final
    const BatchScoreExtensions* blocks;  // null: NormalizeScore runs over all at once
    PreScorePlugin* pre_score;           // null: it has none, or it isn't enabled
    IncrementalPlugin* incremental;
    std::int64_t weight;
  };
  // Who rejected a row: 1 + the place among the active filters, and the code it gave; or
  // kByNominated, when it was rejected with nominated pods on it.
  struct Verdict {
    std::uint32_t plugin = 0;
    std::uint32_t code = 0;
  };
  // A score plugin in the running cycle.
  struct ActiveScore {
    const ScoreEntry* entry;
    std::optional<std::int64_t> uniform;  // the same raw score everywhere
    bool kept = false;                    // scores of all nodes are needed later
    std::int64_t* scores = nullptr;       // where they are
    ScoreBounds bounds;
    Status fault;
  };
  // A score plugin in a cycle that goes by groups.
  struct CachedScore {
    enum Role : std::uint8_t {
      kSummed,         // final scores that depend on the node alone
      kInKey,          // such that NormalizeScore changes: equal ones make up a group
      kOfDomain,       // the same for all nodes of a group
      kOfFeasibleSet,  // the same, and by the groups of feasible nodes
      kUniform,
      kSkipped,
    };
    const ScoreEntry* entry;
    Role role = kSummed;
  };

  static constexpr std::uint32_t kByNominated = 0xFFFFFFFF;

  Status RunPreFilterExtension(Status (PreFilterExtensions::*call)(const Cycle&, CycleState&,
                                                                   const PodInfo&, const NodeInfo&)
                                   const,
                               const char* name, const Cycle& cycle, CycleState& state,
                               const PodInfo& pod, Row row) const;
  Status RefuseWithoutEffect(const PodInfo& pod) const;
  Status CallPreFilterPlugins(const Cycle& cycle, CycleState& state,
                              std::optional<std::set<std::string>>& names);
  std::vector<PodPtr> NominatedBefore(const PodInfo& pod, const Snapshot& snapshot, Row row) const;
  Status FilterWithNominatedPods(DryRun& dry_run, const PodInfo& pod, const CycleState& state,
                                 Row row, const std::vector<PodPtr>& nominated) const;
  void FilterNominated(const Cycle& cycle);
  Row FilterBlock(const Cycle& cycle, Rows rows, Row* passed);
  Verdict VerdictOf(Row row) const { return {rejected_by_[row], rejected_code_[row]}; }
  std::uint32_t CodeOf(const Verdict& verdict, Row row) const;
  Status StatusOf(const Cycle& cycle, const Verdict& verdict, Row row) const;
  Status FirstFault(const Cycle& cycle) const;
  void ScoreBlock(const Cycle& cycle, Rows rows, ActiveScore& score, std::int64_t* out);
  std::span<const std::int64_t> Score(const Cycle& cycle, std::span<const Row> feasible,
                                      ScoreMatrix* matrix, bool keep_all, Status& status);
  void NormalizeAll(const Cycle& cycle, std::span<const Row> feasible, bool serial);
  bool TakeFault(const char* what, Status& status) const;
  Status OutOfRange(const ActiveScore& score, const Cycle& cycle,
                    std::span<const Row> feasible) const;
  ScoreMatrix EmptyMatrix(std::span<const Row> feasible) const;
  void LoadColumns(const Snapshot& snapshot, const PlanCache& cache);
  bool BuildCache(const Cycle& cycle, CycleState& state, PlanCache& cache);
  bool UpdateRows(const Cycle& cycle, Rows rows, PlanCache& cache);
  bool Decide(const Cycle& cycle, CycleState& state, PlanCache& cache, std::int64_t uniform_total,
              CachedCycle& out);

  Profile profile_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::string> scheduler_names_;
  std::vector<PreEnqueuePlugin*> pre_enqueue_;
  std::vector<QueueSortPlugin*> queue_sort_;
  std::vector<PreFilterPlugin*> pre_filter_;
  std::vector<FilterEntry> filter_;
  std::vector<PostFilterPlugin*> post_filter_;
  std::vector<PreScorePlugin*> pre_score_;
  std::vector<ScoreEntry> score_;
  const GpuAllocatorPlugin* gpu_allocator_ = nullptr;
  std::vector<ReservePlugin*> reserve_;
  std::vector<PermitPlugin*> permit_;
  std::vector<PreBindPlugin*> pre_bind_;
  std::vector<BindPlugin*> bind_;
  std::vector<PostBindPlugin*> post_bind_;
  bool cacheable_ = false;  // every Filter and Score plugin says what it depends on
  PlanCaches caches_;

  // Of the running cycle.
  std::set<std::string> narrowed_by_;
  std::vector<PreFilterPlugin*> skip_filter_;
  std::vector<PreScorePlugin*> skip_score_;
  std::vector<FilterEntry*> active_filters_;
  std::vector<ActiveScore> active_scores_;
  std::vector<std::uint32_t> rejected_by_, rejected_code_;  // by row: see Verdict
  std::atomic<bool> maybe_fault_ = false;                   // a filter may have failed
  std::map<Row, Status> nominated_statuses_;
  std::optional<std::vector<Row>> evaluated_;
  std::vector<Row> feasible_;
  std::vector<Row> passed_;           // by block: how many of its rows
  std::vector<std::int64_t> scores_;  // of plugins that need all of them at once
  std::vector<std::int64_t> total_;
  std::vector<std::int64_t> block_maxima_;  // of total_
  std::size_t maxima_block_ = 0;            // how many totals each is of
  std::mutex mutex_;

  // Of the running cycle by groups.
  std::vector<std::uint8_t> signature_;
  std::vector<GroupColumn> columns_;
  std::vector<CachedScore> cached_scores_;
  std::vector<Row> changed_;
  std::vector<Column<std::int32_t>> pod_columns_;  // by group column
  std::vector<std::int64_t> key_buffer_;
  std::vector<std::uint32_t> groups_;
  std::vector<Row> group_rows_, group_nodes_;
};

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/framework/framework_inl.h"
#endif

#endif  // SCHEDFW_FRAMEWORK_FRAMEWORK_H_
