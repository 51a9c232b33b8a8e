// The interfaces of plugins, one an extension point (k8s.io/kube-scheduler/framework/interface.go).
#ifndef SCHEDFW_FRAMEWORK_PLUGIN_H_
#define SCHEDFW_FRAMEWORK_PLUGIN_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/status.h"
#include "schedfw/cluster/snapshot.h"
#include "schedfw/framework/cycle_state.h"
#include "schedfw/framework/event.h"

namespace schedfw {

class Diagnosis;
class Framework;

inline constexpr std::int64_t kMinNodeScore = 0;
inline constexpr std::int64_t kMaxNodeScore = 100;

/// Rows that one call of a batch Filter or Score gets at most, so that plugins may use fixed
/// buffers. (A plugin that isn't thread-safe may get all rows at once.)
inline constexpr Row kMaxBlockRows = 1024;

/// The rows that a call is about, ascending: a range, or a list.
class Rows {
 public:
  Rows(RowRange range) : begin_(range.begin), size_(range.size()) {}  // NOLINT
  Rows(std::span<const Row> list)                                     // NOLINT
      : list_(list.data()), size_(static_cast<Row>(list.size())) {}

  /// A list that has no gaps is a range, over which loops are faster.
  static Rows Of(std::span<const Row> list) {
    if (!list.empty() && list.back() - list.front() + 1 == list.size()) {
      return RowRange{list.front(), list.back() + 1};
    }
    return list;
  }

  Row size() const { return size_; }
  bool IsRange() const { return list_ == nullptr; }
  Row operator[](Row i) const { return list_ == nullptr ? begin_ + i : list_[i]; }
  /// Some of them: [begin, begin + size).
  Rows Part(Row begin, Row size) const {
    return list_ == nullptr ? Rows(RowRange{begin_ + begin, begin_ + begin + size})
                            : Rows(std::span<const Row>(list_ + begin, size));
  }
  /// A column's values for these rows, one after another: in the column itself for a range, else
  /// copied to `buffer`, which has room for size() values.
  template <typename T>
  const T* Of(const T* column, T* buffer) const {
    if (list_ == nullptr) return column + begin_;
    for (Row i = 0; i < size_; ++i) buffer[i] = column[list_[i]];
    return buffer;
  }

 private:
  const Row* list_ = nullptr;
  Row begin_ = 0;
  Row size_ = 0;
};

/// One scheduling attempt of one pod: what plugins read.
struct Cycle {
  const Snapshot& snapshot;
  const PodInfo& pod;
  const CycleState& state;

  const PodPlan& plan() const { return *pod.plan; }
};

/// What every plugin is. A class may implement several of the interfaces below.
///
/// Filter, Score and NormalizeScore are called from several threads at once, on one instance; all
/// other extension points from one thread. An exception ends the cycle, leaves the cluster as it
/// was, and reaches the caller unchanged.
class Plugin {
 public:
  virtual ~Plugin() = default;
  /// The name in registries and configurations.
  virtual std::string_view Name() const = 0;
  /// False keeps all its calls on the thread that runs the cycle (an interpreter's lock, say).
  virtual bool IsThreadSafe() const { return true; }
};

/// Decides whether a pod may enter the queue at all.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status PreEnqueue(const PodInfo& pod) = 0;
};

/// What the queue holds and sorts: a pod, or a group of pods that is scheduled as one.
struct QueuedPodInfo {
  PodPtr pod;                  ///< of a group: the first in its order
  std::int64_t timestamp = 0;  ///< when it was queued; a place in the input counts as a time
  std::int32_t priority = 0;   ///< the pod's, or its group's
  std::int64_t initial_timestamp = 0;  ///< when it was queued for the first time
};

/// Orders the queue. A profile has exactly one.
class QueueSortPlugin : public virtual Plugin {
 public:
  /// True when `a` comes before `b`; a strict weak order.
  virtual bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const = 0;
  /// True when Less goes by priority and then by time, so that a queue needn't call it.
  virtual bool SortsByPriority() const { return false; }
};

/// Says which events may make a pod schedulable that this plugin rejected.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<ClusterEventWithHint> EventsToRegister() const = 0;
};

/// The nodes that can be considered at all, by name; absent: all.
struct PreFilterResult {
  std::optional<std::set<std::string>> node_names;
};

/// Changes a plugin's state as if a pod had come to or gone from a node (preemption dry runs, pods
/// that are nominated). The snapshot of `cycle` holds the change already. Called from several
/// threads, each with a state of its own.
class PreFilterExtensions {
 public:
  virtual ~PreFilterExtensions() = default;
  virtual Status AddPod(const Cycle& cycle, CycleState& state, const PodInfo& added,
                        const NodeInfo& node) const = 0;
  virtual Status RemovePod(const Cycle& cycle, CycleState& state, const PodInfo& removed,
                           const NodeInfo& node) const = 0;
};

/// Computes once a cycle what Filter needs; Skip leaves the plugin's Filter out.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult& result) = 0;
  virtual const PreFilterExtensions* Extensions() const { return nullptr; }
};

/// Rejects nodes; the simple shape: one node a call.
///
/// Filter may see another snapshot than PreFilter did: the same nodes, with pods added or removed.
/// What it needs of the snapshot's columns it takes from `cycle`, not from its state.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Status Filter(const Cycle& cycle, const NodeInfo& node) const = 0;
};

/// The code by which a batch Filter says that it failed; Explain must return an Error for it.
inline constexpr std::uint32_t kFilterFault = 0xFFFFFFFF;

/// Rejects nodes; the batch shape: many rows a call, which the executor prefers.
class BatchFilterPlugin : public FilterPlugin {
 public:
  /// Writes one code a row into codes[0 .. rows.size()): 0 passes, any other number rejects.
  /// `rows` has at most kMaxBlockRows. `codes` holds zeros at first.
  virtual void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const = 0;
  /// The status that a code stands for; depends on nothing but the cycle and the code.
  virtual Status Explain(const Cycle& cycle, std::uint32_t code) const = 0;

  Status Filter(const Cycle& cycle, const NodeInfo& node) const final {
    std::uint32_t code = 0;
    FilterNodes(cycle, RowRange{node.row(), node.row() + 1}, &code);
    return code == 0 ? Status() : Explain(cycle, code);
  }
};

/// A pod that has to go so that another one fits.
struct Victim {
  PodPtr pod;
  std::string violated_budget;  ///< the PodDisruptionBudget that this breaks, "namespace/name"
  std::string reason;           ///< why this one, a sentence
};

/// What a PostFilter plugin proposes; the caller acts on it.
struct PostFilterResult {
  /// The node to nominate the pod to; empty: its nomination is taken back; absent: it stays as it
  /// is.
  std::optional<std::string> nominated_node_name;
  /// The pods to evict, the most important first; pods that are being deleted already are left out,
  /// so there may be none.
  std::vector<Victim> victims;
};

/// Called when no node fits, e.g. to preempt.
class PostFilterPlugin : public virtual Plugin {
 public:
  /// `framework` runs filters on changed copies of nodes (see Framework). The plugin changes
  /// nothing itself. Unschedulable: it can't help; the next plugin is asked.
  virtual Status PostFilter(const Cycle& cycle, const Diagnosis& diagnosis,
                            const Framework& framework, PostFilterResult& result) = 0;
};

/// Computes once a cycle what Score needs; Skip leaves the plugin's Score out.
class PreScorePlugin : public virtual Plugin {
 public:
  /// `feasible`: the rows that passed all filters, ascending.
  virtual Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row> feasible) = 0;
};

/// Turns raw scores into scores from 0 to 100 over all feasible nodes.
class ScoreExtensions {
 public:
  virtual ~ScoreExtensions() = default;
  /// `scores[i]` belongs to `rows[i]`.
  virtual Status NormalizeScore(const Cycle& cycle, std::span<const Row> rows,
                                std::span<std::int64_t> scores) const = 0;
};

/// What NormalizeScore needs to know of all scores.
struct ScoreBounds {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = std::numeric_limits<std::int64_t>::min();

  void Add(const ScoreBounds& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

/// A NormalizeScore that maps each score by the bounds of all: both steps run block by block, which
/// the executor prefers.
class BatchScoreExtensions : public ScoreExtensions {
 public:
  /// Widens `bounds` by the scores of a block; rows may be left out.
  virtual void Bound(const Cycle& cycle, Rows rows, const std::int64_t* scores,
                     ScoreBounds& bounds) const = 0;
  /// Turns the scores of a block into scores from 0 to 100.
  virtual void NormalizeBlock(const Cycle& cycle, Rows rows, const ScoreBounds& bounds,
                              std::int64_t* scores) const = 0;

  Status NormalizeScore(const Cycle& cycle, std::span<const Row> rows,
                        std::span<std::int64_t> scores) const final {
    ScoreBounds bounds;
    const auto for_blocks = [&](auto&& fn) {
      for (std::size_t begin = 0; begin < rows.size(); begin += kMaxBlockRows) {
        const std::size_t size = std::min<std::size_t>(kMaxBlockRows, rows.size() - begin);
        fn(rows.subspan(begin, size), scores.data() + begin);
      }
    };
    for_blocks([&](Rows block, const std::int64_t* in) { Bound(cycle, block, in, bounds); });
    for_blocks([&](Rows block, std::int64_t* out) { NormalizeBlock(cycle, block, bounds, out); });
    return {};
  }
};

/// Ranks nodes; the simple shape: one node a call.
class ScorePlugin : public virtual Plugin {
 public:
  virtual Status Score(const Cycle& cycle, const NodeInfo& node, std::int64_t& score) const = 0;
  /// nullptr: raw scores are from 0 to 100 already.
  virtual const ScoreExtensions* NormalizeExtensions() const { return nullptr; }
};

/// Ranks nodes; the batch shape: many rows a call, which the executor prefers.
class BatchScorePlugin : public ScorePlugin {
 public:
  /// Writes the score of rows[i] into out[i].
  virtual Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const = 0;
  /// The score of every node, when the state of the cycle tells that it is the same for all:
  /// ScoreNodes is not called then.
  virtual std::optional<std::int64_t> UniformScore(const Cycle&) const { return std::nullopt; }

  Status Score(const Cycle& cycle, const NodeInfo& node, std::int64_t& score) const final {
    return ScoreNodes(cycle, RowRange{node.row(), node.row() + 1}, &score);
  }
};

/// Nodes that a plugin can't tell apart (see IncrementalPlugin), as one row of them and their
/// number.
struct NodeGroups {
  std::span<const Row> rows;
  std::span<const Row> counts;
};

/// What splits nodes into groups: the value of a label, or a number of the node.
struct GroupColumn {
  const LabelColumn* label = nullptr;  ///< with `counts`: only says what they are the counts of
  /// By ordinal of `label`, whose values are on one node each: nodes with equal counts are in one
  /// group. A count changes with its node only.
  const std::int64_t* counts = nullptr;
  std::shared_ptr<const PodMatcher>
      pods;  ///< when `label` is null: how many pods of the node match

  /// Nodes that have the same label in common, or the same counts where a label is on one node
  /// each.
  static GroupColumn Of(const LabelColumn& column, const std::int64_t* by_ordinal) {
    return {&column, column.unique ? by_ordinal : nullptr, nullptr};
  }
  /// Whether both split nodes by the same thing.
  bool SameAs(const GroupColumn& other) const {
    return label == other.label && (counts == nullptr) == (other.counts == nullptr) &&
           (pods == other.pods || (pods && other.pods && *pods == *other.pods));
  }
};

/// What the answers of a plugin depend on, beside the plan of the pod, the nodes and the objects.
enum class Dependence : std::uint8_t {
  kRow,          ///< the node itself and the pods on it
  kDomain,       ///< the group of the node, and pods anywhere
  kFeasibleSet,  ///< the same, and which nodes passed all filters
  kCluster,      ///< anything
};

/// Says what a plugin's answers depend on, so that for pods of one plan only what has changed is
/// asked again. In-tree plugins do; a profile with others runs the whole pipeline for each pod.
/// Their queueing hints look at no more of the rejected pod than its plan tells (see SamePlan).
///
/// Only with kFeasibleSet does PreScore make use of the feasible rows that it gets. NormalizeScore
/// maps equal scores alike, and by the set of all scores alone.
class IncrementalPlugin : public virtual Plugin {
 public:
  /// Of Filter, once PreFilter has run and didn't skip.
  virtual Dependence FilterDependence(const Cycle&) const { return Dependence::kRow; }
  /// Of Score; before PreScore.
  virtual Dependence ScoreDependence(const Cycle&) const { return Dependence::kRow; }
  /// With kDomain: the columns that split nodes into groups for Filter. Nodes with equal values in
  /// all of them get equal codes.
  virtual void AddFilterColumns(const Cycle&, std::vector<GroupColumn>&) const {}
  /// With kDomain or kFeasibleSet: the columns for Score. Nodes with equal values in all of them
  /// get equal raw scores. With kFeasibleSet these don't change while plan, nodes and objects
  /// don't.
  virtual void AddScoreColumns(const Cycle&, std::vector<GroupColumn>&) const {}
  /// With kFeasibleSet: PreScore, for groups of feasible nodes.
  virtual Status PreScoreGroups(const Cycle&, CycleState&, const NodeGroups&) { return {}; }
};

/// Chooses the GPUs that a pod gets on a node. The first Score or Filter plugin of a profile that
/// is one decides; without one the cluster does (Cluster::AssumePod).
class GpuAllocatorPlugin : public virtual Plugin {
 public:
  /// Called before the pod is there, for pods with a GPU request and nodes with GPUs. 0, or GPUs
  /// that aren't enough or free: the cluster decides.
  virtual GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const = 0;
};

/// Says of nodes what the plugin can't make sense of, where it goes on without.
class NodeCheckPlugin : public virtual Plugin {
 public:
  /// What is wrong with a node's object, with the path of the field; empty: nothing.
  virtual std::string CheckNode(const Snapshot& snapshot, Row row) const = 0;
};

/// Takes notice when a pod is about to go to a node, and when that fails after all.
class ReservePlugin : public virtual Plugin {
 public:
  virtual Status Reserve(const Cycle& cycle, CycleState& state, const NodeInfo& node) = 0;
  /// Undoes Reserve; called in reverse order, also when this plugin's Reserve failed or never ran.
  virtual void Unreserve(const Cycle& cycle, CycleState& state, const NodeInfo& node) noexcept = 0;
};

/// A Permit plugin that a pod waits for, and how long at most.
struct PermitWait {
  std::string plugin;
  std::chrono::nanoseconds timeout{0};
};

/// Allows, rejects, or delays the binding.
class PermitPlugin : public virtual Plugin {
 public:
  /// With Code::kWait, `timeout` is how long the pod waits at most.
  virtual Status Permit(const Cycle& cycle, CycleState& state, const NodeInfo& node,
                        std::chrono::nanoseconds& timeout) = 0;
};

/// Permit plugins for whose verdict several sets of pods may wait at once, each in the way of the
/// others.
class WaitingSetsPlugin : public virtual Plugin {
 public:
  /// Pods wait at Permit and nothing is left to try. May reject some of them through the host so
  /// that others get their room; true: it has. `version` grows when a pod is bound or deleted, and
  /// by what comes from outside; within one the answer must become false at last.
  virtual bool ResolveDeadlock(std::uint64_t version) = 0;
};

/// Does what must be done before the binding.
class PreBindPlugin : public virtual Plugin {
 public:
  virtual Status PreBind(const Cycle& cycle, CycleState& state, const NodeInfo& node) = 0;
};

/// Binds the pod; Skip passes it to the next Bind plugin.
class BindPlugin : public virtual Plugin {
 public:
  /// True when Bind always succeeds and does nothing, so that it needn't be called.
  virtual bool IsBookkeeping() const { return false; }
  virtual Status Bind(const Cycle& cycle, CycleState& state, const NodeInfo& node) = 0;
};

/// Takes notice of a binding.
class PostBindPlugin : public virtual Plugin {
 public:
  virtual void PostBind(const Cycle& cycle, CycleState& state, const NodeInfo& node) = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_PLUGIN_H_
