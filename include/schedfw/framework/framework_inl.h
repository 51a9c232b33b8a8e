// Definitions of Framework (see base/inline.h).
#ifndef SCHEDFW_FRAMEWORK_FRAMEWORK_INL_H_
#define SCHEDFW_FRAMEWORK_FRAMEWORK_INL_H_

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>

#include "schedfw/base/simd.h"
#include "schedfw/framework/executor.h"
#include "schedfw/framework/framework.h"

namespace schedfw {

namespace internal {

template <typename T>
bool Contains(const std::vector<T*>& list, const Plugin* plugin) {
  return std::any_of(list.begin(), list.end(),
                     [&](T* candidate) { return static_cast<const Plugin*>(candidate) == plugin; });
}

// The instance of another extension point that is the same plugin, if it is enabled there.
template <typename T>
T* SamePlugin(const std::vector<T*>& list, const Plugin* plugin) {
  for (T* candidate : list) {
    if (static_cast<const Plugin*>(candidate) == plugin) return candidate;
  }
  return nullptr;
}

inline Status Fault(const char* what, const Plugin& plugin, const Status& status) {
  return Status::Error(what + std::string(plugin.Name()) + "\": " + status.message())
      .WithPlugin(plugin.Name());
}
// A Filter plugin may reject a node, not fail (RunFilterPlugins).
inline Status FilterStatus(const Plugin& plugin, const Status& status) {
  if (status.IsRejected()) return status.WithPlugin(plugin.Name());
  return Status::Error("running \"" + std::string(plugin.Name()) +
                       "\" filter plugin: " + status.message())
      .WithPlugin(plugin.Name());
}
inline Status RejectOrFault(const char* what, const Plugin& plugin, const Status& status) {
  return status.IsRejected() ? status.WithPlugin(plugin.Name()) : Fault(what, plugin, status);
}

inline std::int64_t Highest(const std::int64_t* totals, std::size_t count) {
  std::int64_t out = totals[0];
  RunSimd(
      [](const std::int64_t* in, std::size_t n, std::int64_t* __restrict highest)
          SCHEDFW_SIMD_LOOP {
            std::int64_t max = *highest;
            for (std::size_t i = 0; i < n; ++i) max = in[i] > max ? in[i] : max;
            *highest = max;
          },
      totals, count, &out);
  return out;
}

// Adds score × weight to the totals; false when a score isn't from 0 to 100.
inline bool AddWeighted(const std::int64_t* scores, std::int64_t weight, Row count,
                        std::int64_t* total) {
  std::int64_t bad = 0;
  RunSimd(
      [](const std::int64_t* score, std::int64_t w, Row n, std::int64_t* __restrict sum,
         std::int64_t* __restrict out) SCHEDFW_SIMD_LOOP {
        std::int64_t outside = 0;
        for (Row i = 0; i < n; ++i) {
          outside |= score[i] | static_cast<std::int64_t>(std::uint64_t{kMaxNodeScore} -
                                                          static_cast<std::uint64_t>(score[i]));
          // Weights have 32 bits, and so have the scores if the sum is to count.
          sum[i] += static_cast<std::int64_t>(static_cast<std::int32_t>(score[i])) *
                    static_cast<std::int32_t>(w);
        }
        *out = outside;
      },
      scores, weight, count, total, &bad);
  return bad >= 0;
}

}  // namespace internal

SCHEDFW_INLINE Framework::Framework(Profile profile, Executor executor)
    : profile_(std::move(profile)), executor_(std::make_unique<Executor>(std::move(executor))) {
  pre_enqueue_ = profile_.Instances<PreEnqueuePlugin>(ExtensionPoint::kPreEnqueue);
  queue_sort_ = profile_.Instances<QueueSortPlugin>(ExtensionPoint::kQueueSort);
  pre_filter_ = profile_.Instances<PreFilterPlugin>(ExtensionPoint::kPreFilter);
  pre_score_ = profile_.Instances<PreScorePlugin>(ExtensionPoint::kPreScore);
  cacheable_ = true;
  for (FilterPlugin* plugin : profile_.Instances<FilterPlugin>(ExtensionPoint::kFilter)) {
    FilterEntry& entry = filter_.emplace_back();
    entry.plugin = plugin;
    entry.batch = dynamic_cast<BatchFilterPlugin*>(plugin);
    entry.pre_filter = internal::SamePlugin(pre_filter_, plugin);
    entry.incremental = dynamic_cast<IncrementalPlugin*>(plugin);
    cacheable_ = cacheable_ && entry.batch != nullptr && entry.incremental != nullptr;
  }
  post_filter_ = profile_.Instances<PostFilterPlugin>(ExtensionPoint::kPostFilter);
  for (const PluginRef& ref : profile_.at(ExtensionPoint::kScore)) {
    auto* plugin = dynamic_cast<ScorePlugin*>(profile_.Instance(ref.name));
    if (plugin == nullptr) continue;
    ScoreEntry& entry = score_.emplace_back();
    entry.plugin = plugin;
    entry.batch = dynamic_cast<BatchScorePlugin*>(plugin);
    entry.extensions = plugin->NormalizeExtensions();
    entry.blocks = dynamic_cast<const BatchScoreExtensions*>(entry.extensions);
    entry.pre_score = internal::SamePlugin(pre_score_, plugin);
    entry.incremental = dynamic_cast<IncrementalPlugin*>(plugin);
    entry.weight = ref.weight;
    cacheable_ = cacheable_ && entry.batch != nullptr && entry.incremental != nullptr;
  }
  // A PreFilter or PreScore plugin without the other half may do anything.
  for (PreFilterPlugin* plugin : pre_filter_) {
    cacheable_ = cacheable_ && dynamic_cast<IncrementalPlugin*>(plugin) != nullptr;
  }
  for (PreScorePlugin* plugin : pre_score_) {
    cacheable_ = cacheable_ && dynamic_cast<IncrementalPlugin*>(plugin) != nullptr;
  }
  for (const ExtensionPoint point : {ExtensionPoint::kScore, ExtensionPoint::kFilter}) {
    for (const GpuAllocatorPlugin* plugin : profile_.Instances<GpuAllocatorPlugin>(point)) {
      if (gpu_allocator_ == nullptr) gpu_allocator_ = plugin;
    }
  }
  reserve_ = profile_.Instances<ReservePlugin>(ExtensionPoint::kReserve);
  permit_ = profile_.Instances<PermitPlugin>(ExtensionPoint::kPermit);
  pre_bind_ = profile_.Instances<PreBindPlugin>(ExtensionPoint::kPreBind);
  bind_ = profile_.Instances<BindPlugin>(ExtensionPoint::kBind);
  post_bind_ = profile_.Instances<PostBindPlugin>(ExtensionPoint::kPostBind);
}

SCHEDFW_INLINE Framework::~Framework() = default;

SCHEDFW_INLINE std::vector<NodeProblem> Framework::CheckNodes(const Snapshot& snapshot) const {
  std::vector<const NodeCheckPlugin*> plugins;
  for (const ExtensionPoint point : {ExtensionPoint::kFilter, ExtensionPoint::kScore}) {
    for (const NodeCheckPlugin* plugin : profile_.Instances<NodeCheckPlugin>(point)) {
      if (!internal::Contains(plugins, plugin)) plugins.push_back(plugin);
    }
  }
  std::vector<NodeProblem> out;
  if (plugins.empty()) return out;
  std::vector<Row> rows(snapshot.size());
  for (Row row = 0; row < snapshot.size(); ++row) rows[snapshot.NameRank()[row]] = row;
  for (const Row row : rows) {
    const std::size_t first = out.size();
    for (const NodeCheckPlugin* plugin : plugins) {
      std::string message = plugin->CheckNode(snapshot, row);
      const bool is_new =
          std::none_of(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                       [&](const NodeProblem& other) { return other.message == message; });
      if (message.empty() || !is_new) continue;
      out.push_back({snapshot.name(row), std::string(plugin->Name()), std::move(message)});
    }
  }
  return out;
}

SCHEDFW_INLINE Status Framework::RunPreEnqueuePlugins(const PodInfo& pod) const {
  for (PreEnqueuePlugin* plugin : pre_enqueue_) {
    const Status status = plugin->PreEnqueue(pod);
    if (!status.ok()) return status.WithPlugin(plugin->Name());
  }
  return {};
}

SCHEDFW_INLINE Status Framework::RunPreFilterPlugins(const Cycle& cycle, CycleState& state,
                                                     std::optional<std::set<std::string>>& names) {
  Status status = CallPreFilterPlugins(cycle, state, names);
  active_filters_.clear();
  for (FilterEntry& entry : filter_) {
    if (entry.pre_filter == nullptr || !internal::Contains(skip_filter_, entry.pre_filter)) {
      active_filters_.push_back(&entry);
    }
  }
  return status;
}

SCHEDFW_INLINE Status Framework::RunPreFilterExtension(
    Status (PreFilterExtensions::*call)(const Cycle&, CycleState&, const PodInfo&, const NodeInfo&)
        const,
    const char* name, const Cycle& cycle, CycleState& state, const PodInfo& pod, Row row) const {
  for (PreFilterPlugin* plugin : pre_filter_) {
    const PreFilterExtensions* extensions = plugin->Extensions();
    if (extensions == nullptr || internal::Contains(skip_filter_, plugin)) continue;
    const Status status = (extensions->*call)(cycle, state, pod, NodeInfo(cycle.snapshot, row));
    if (!status.ok()) {
      const std::string what = "running " + std::string(name) + " on PreFilter plugin \"";
      return internal::Fault(what.c_str(), *plugin, status);
    }
  }
  return {};
}

SCHEDFW_INLINE Status Framework::RunFilterPluginsOnNode(const Cycle& cycle, Row row) const {
  for (const FilterEntry* entry : active_filters_) {
    const Status status = entry->plugin->Filter(cycle, NodeInfo(cycle.snapshot, row));
    if (!status.ok()) return internal::FilterStatus(*entry->plugin, status);
  }
  return {};
}

SCHEDFW_INLINE Status Framework::RunFilterPluginsWithNominatedPods(DryRun& dry_run,
                                                                   const PodInfo& pod,
                                                                   const CycleState& state,
                                                                   Row row) const {
  const std::vector<PodPtr> nominated = NominatedBefore(pod, dry_run.view(), row);
  if (!nominated.empty()) {
    Status status = FilterWithNominatedPods(dry_run, pod, state, row, nominated);
    if (!status.ok()) return status;
  }
  return RunFilterPluginsOnNode({dry_run.view(), pod, state}, row);
}

SCHEDFW_INLINE bool Framework::IsFilterThreadSafe() const {
  const auto safe = [](const auto* entry) { return entry->IsThreadSafe(); };
  return std::all_of(active_filters_.begin(), active_filters_.end(),
                     [&](const FilterEntry* entry) { return safe(entry->plugin); }) &&
         std::all_of(pre_filter_.begin(), pre_filter_.end(), safe);
}

SCHEDFW_INLINE std::span<const Row> Framework::RunFilterPlugins(
    const Cycle& cycle, const std::optional<std::set<std::string>>& names, Status& status) {
  const Row count = cycle.snapshot.size();
  rejected_by_.resize(count);
  rejected_code_.resize(count);
  maybe_fault_ = false;
  feasible_.resize(count);
  evaluated_.reset();
  for (FilterEntry& entry : filter_) entry.statuses.clear();
  if (names) {
    std::fill(rejected_by_.begin(), rejected_by_.end(), 0u);  // no block covers the other rows
    evaluated_.emplace();
    for (const std::string& name : *names) {
      if (const auto row = cycle.snapshot.Find(name)) evaluated_->push_back(*row);
    }
    std::sort(evaluated_->begin(), evaluated_->end());
    Row passed = 0;
    for (std::size_t begin = 0; begin < evaluated_->size(); begin += kMaxBlockRows) {
      const std::size_t size = std::min<std::size_t>(kMaxBlockRows, evaluated_->size() - begin);
      passed += FilterBlock(cycle, std::span<const Row>(*evaluated_).subspan(begin, size),
                            feasible_.data() + passed);
    }
    feasible_.resize(passed);
  } else {
    const bool unsafe =
        std::any_of(active_filters_.begin(), active_filters_.end(),
                    [](const FilterEntry* entry) { return !entry->plugin->IsThreadSafe(); });
    const Row block = unsafe ? kMaxBlockRows : executor_->BlockRows(count);
    passed_.resize((std::size_t{count} + block - 1) / block);
    const auto filter = [&](std::size_t begin, std::size_t end) {
      passed_[begin / block] =
          FilterBlock(cycle, RowRange{static_cast<Row>(begin), static_cast<Row>(end)},
                      feasible_.data() + begin);
    };
    executor_->ForBlocks(count, block, unsafe, filter);
    Row passed = 0;
    for (std::size_t b = 0; b < passed_.size(); ++b) {
      Row* from = feasible_.data() + b * block;
      if (from != feasible_.data() + passed) {
        std::copy(from, from + passed_[b], feasible_.data() + passed);
      }
      passed += passed_[b];
    }
    feasible_.resize(passed);
  }
  FilterNominated(cycle);
  if (!nominated_statuses_.empty()) {
    std::erase_if(feasible_, [&](Row row) { return rejected_by_[row] != 0; });
  }
  status = maybe_fault_ || !nominated_statuses_.empty() ? FirstFault(cycle) : Status();
  return feasible_;
}

SCHEDFW_INLINE Row Framework::FilterBlock(const Cycle& cycle, Rows rows, Row* passed) {
  // 1 + the place of the first filter that rejects a row, and its code.
  std::uint32_t by[kMaxBlockRows], code[kMaxBlockRows], codes[kMaxBlockRows];
  const Row count = rows.size();
  std::fill_n(by, count, 0u);
  std::fill_n(code, count, 0u);
  bool all_pass = true;
  for (std::uint32_t f = 0; f < active_filters_.size(); ++f) {
    FilterEntry& entry = *active_filters_[f];
    if (entry.batch != nullptr) {
      std::fill_n(codes, count, 0u);
      entry.batch->FilterNodes(cycle, rows, codes);
      std::uint32_t any = 0;
      for (Row i = 0; i < count; ++i) any |= codes[i];
      if (any == 0) continue;
      all_pass = false;
      if (any == kFilterFault) maybe_fault_.store(true, std::memory_order_relaxed);
      RunSimd(
          [](const std::uint32_t* in, std::uint32_t plugin, Row n, std::uint32_t* __restrict first,
             std::uint32_t* __restrict first_code) SCHEDFW_SIMD_LOOP {
            for (Row i = 0; i < n; ++i) {
              const std::uint32_t is_first = -static_cast<std::uint32_t>(in[i] != 0) &
                                             -static_cast<std::uint32_t>(first[i] == 0);
              first[i] |= is_first & plugin;
              first_code[i] |= is_first & in[i];
            }
          },
          codes, f + 1, count, by, code);
      continue;
    }
    for (Row i = 0; i < count; ++i) {
      if (by[i] != 0) continue;
      const Row row = rows[i];
      Status status = entry.plugin->Filter(cycle, NodeInfo(cycle.snapshot, row));
      if (status.ok()) continue;
      all_pass = false;
      by[i] = f + 1;
      code[i] = 1;
      if (!status.IsRejected()) maybe_fault_.store(true, std::memory_order_relaxed);
      std::lock_guard lock(mutex_);
      entry.statuses.emplace(row, std::move(status));
    }
  }
  if (rows.IsRange()) {
    if (count != 0) {
      std::copy_n(by, count, rejected_by_.data() + rows[0]);
      std::copy_n(code, count, rejected_code_.data() + rows[0]);
    }
  } else {
    for (Row i = 0; i < count; ++i) {
      rejected_by_[rows[i]] = by[i];
      rejected_code_[rows[i]] = code[i];
    }
  }
  if (all_pass) {
    for (Row i = 0; i < count; ++i) passed[i] = rows[i];
    return count;
  }
  Row out = 0;
  for (Row i = 0; i < count; ++i) {
    passed[out] = rows[i];
    out += by[i] == 0 ? 1 : 0;
  }
  return out;
}

SCHEDFW_INLINE Status Framework::RunPreScorePlugins(const Cycle& cycle, CycleState& state,
                                                    std::span<const Row> feasible) {
  skip_score_.clear();
  for (PreScorePlugin* plugin : pre_score_) {
    const Status status = plugin->PreScore(cycle, state, feasible);
    if (status.IsSkip()) {
      skip_score_.push_back(plugin);
    } else if (!status.ok()) {
      return internal::Fault("running PreScore plugin \"", *plugin, status);
    }
  }
  return {};
}

SCHEDFW_INLINE std::span<const std::int64_t> Framework::RunScorePlugins(
    const Cycle& cycle, std::span<const Row> feasible, ScoreMatrix* matrix, Status& status) {
  const auto total = Score(cycle, feasible, matrix, matrix != nullptr, status);
  // Scores that are out of range are looked for where they are all kept.
  if (total.empty() && status.ok() && !feasible.empty()) {
    return Score(cycle, feasible, nullptr, /*keep_all=*/true, status);
  }
  return total;
}

// Three passes over the nodes, each in parallel blocks: raw scores, with the sum of those that are
// final and the bounds of the others; NormalizeScore; and the rest of the sum. Scores are kept for
// all nodes only where a later pass needs them. An empty result with an Ok status: a score that
// wasn't kept is out of range.
SCHEDFW_INLINE std::span<const std::int64_t> Framework::Score(const Cycle& cycle,
                                                              std::span<const Row> feasible,
                                                              ScoreMatrix* matrix, bool keep_all,
                                                              Status& status) {
  const std::size_t nodes = feasible.size();
  active_scores_.clear();
  std::size_t kept = 0;
  bool unsafe = false;
  for (const ScoreEntry& entry : score_) {
    if (entry.pre_score != nullptr && internal::Contains(skip_score_, entry.pre_score)) continue;
    ActiveScore& score = active_scores_.emplace_back();
    score.entry = &entry;
    unsafe = unsafe || !entry.plugin->IsThreadSafe();
    if (entry.batch != nullptr && !keep_all) score.uniform = entry.batch->UniformScore(cycle);
    score.scores = nullptr;
    score.kept =
        keep_all || (!score.uniform && (entry.extensions != nullptr || entry.batch == nullptr ||
                                        !entry.plugin->IsThreadSafe()));
    if (score.kept) ++kept;
  }
  scores_.resize(kept * nodes);
  kept = 0;
  std::int64_t uniform_total = 0;
  status = Status();
  for (ActiveScore& score : active_scores_) {
    const ScoreEntry& entry = *score.entry;
    if (score.kept) score.scores = scores_.data() + kept++ * nodes;
    if (!score.uniform || nodes == 0) continue;
    std::int64_t value = *score.uniform;
    if (entry.extensions != nullptr) {
      score.fault = entry.extensions->NormalizeScore(cycle, feasible.first(1), {&value, 1});
    }
    if (value < kMinNodeScore || value > kMaxNodeScore) return {};
    uniform_total += value * entry.weight;
  }
  if (!TakeFault("running NormalizeScore plugins: ", status)) return {};
  total_.resize(nodes);
  if (matrix != nullptr) *matrix = EmptyMatrix(feasible);

  const bool parallel_normalize =
      !unsafe && executor_->options().normalize == NormalizeMode::kParallel;
  const Row block = executor_->BlockRows(nodes);
  maxima_block_ = block;
  block_maxima_.resize((nodes + block - 1) / block);
  bool bad = false;
  const auto score_block = [&](std::size_t begin, std::size_t end) {
    const Rows rows = Rows::Of(feasible.subspan(begin, end - begin));
    const Row count = rows.size();
    std::int64_t* total = total_.data() + begin;
    std::fill_n(total, count, uniform_total);
    std::int64_t buffer[kMaxBlockRows];
    for (ActiveScore& score : active_scores_) {
      if (score.uniform) continue;
      if (score.scores == nullptr) {
        ScoreBlock(cycle, rows, score, buffer);
        if (!internal::AddWeighted(buffer, score.entry->weight, count, total)) {
          std::lock_guard lock(mutex_);
          bad = true;
        }
        continue;
      }
      if (!unsafe) ScoreBlock(cycle, rows, score, score.scores + begin);
      if (parallel_normalize && score.entry->blocks != nullptr && score.fault.ok()) {
        ScoreBounds bounds;
        score.entry->blocks->Bound(cycle, rows, score.scores + begin, bounds);
        std::lock_guard lock(mutex_);
        score.bounds.Add(bounds);
      }
    }
    if (kept == 0) block_maxima_[begin / block] = internal::Highest(total, count);
  };
  if (unsafe) {
    // A plugin that isn't thread-safe gets all rows in one call.
    for (ActiveScore& score : active_scores_) {
      if (score.scores == nullptr) continue;
      if (!score.entry->plugin->IsThreadSafe()) {
        ScoreBlock(cycle, Rows::Of(feasible), score, score.scores);
        continue;
      }
      for (std::size_t begin = 0; begin < nodes; begin += block) {
        const std::size_t size = std::min<std::size_t>(block, nodes - begin);
        ScoreBlock(cycle, Rows::Of(feasible.subspan(begin, size)), score, score.scores + begin);
      }
    }
  }
  executor_->ForBlocks(nodes, block, unsafe, score_block);
  if (!TakeFault("running Score plugins: ", status)) return {};
  if (bad) return {};
  const auto as_array = [&] {
    return Eigen::Map<const ScoreArray>(scores_.data(),
                                        static_cast<Eigen::Index>(active_scores_.size()),
                                        static_cast<Eigen::Index>(nodes));
  };
  if (matrix != nullptr) matrix->raw = as_array();

  if (kept != 0) {
    NormalizeAll(cycle, feasible, !parallel_normalize);
    if (!TakeFault("running NormalizeScore plugins: ", status)) return {};
    const ActiveScore* out_of_range = nullptr;
    const auto sum_block = [&](std::size_t begin, std::size_t end) {
      const Rows rows = Rows::Of(feasible.subspan(begin, end - begin));
      for (const ActiveScore& score : active_scores_) {
        if (score.scores == nullptr) continue;
        if (parallel_normalize && score.entry->blocks != nullptr) {
          score.entry->blocks->NormalizeBlock(cycle, rows, score.bounds, score.scores + begin);
        }
        if (!internal::AddWeighted(score.scores + begin, score.entry->weight, rows.size(),
                                   total_.data() + begin)) {
          std::lock_guard lock(mutex_);
          if (out_of_range == nullptr || &score < out_of_range) out_of_range = &score;
        }
      }
      block_maxima_[begin / block] = internal::Highest(total_.data() + begin, end - begin);
    };
    executor_->ForBlocks(nodes, block, !parallel_normalize, sum_block);
    if (out_of_range != nullptr) {
      status = OutOfRange(*out_of_range, cycle, feasible);
      return {};
    }
  }
  if (matrix != nullptr) {
    matrix->normalized = as_array();
    matrix->weighted = matrix->normalized;
    for (std::size_t p = 0; p < active_scores_.size(); ++p) {
      matrix->weighted.row(static_cast<Eigen::Index>(p)) *= active_scores_[p].entry->weight;
    }
    matrix->total = Eigen::Map<const Eigen::Array<std::int64_t, Eigen::Dynamic, 1>>(
        total_.data(), static_cast<Eigen::Index>(nodes));
  }
  return total_;
}

// NormalizeScore of the plugins that need all scores at once; `serial`: of all plugins, one after
// the other.
SCHEDFW_INLINE void Framework::NormalizeAll(const Cycle& cycle, std::span<const Row> feasible,
                                            bool serial) {
  const auto normalize = [&](std::size_t p) {
    ActiveScore& score = active_scores_[p];
    if (score.scores == nullptr || score.entry->extensions == nullptr) return;
    if (!serial && score.entry->blocks != nullptr) return;
    Status done =
        score.entry->extensions->NormalizeScore(cycle, feasible, {score.scores, feasible.size()});
    if (!done.ok()) score.fault = std::move(done);
  };
  const bool any =
      std::any_of(active_scores_.begin(), active_scores_.end(), [&](const auto& score) {
        return score.kept && score.entry->extensions != nullptr && score.entry->blocks == nullptr;
      });
  if (serial) {
    for (std::size_t p = 0; p < active_scores_.size(); ++p) normalize(p);
  } else if (any) {
    executor_->ForEach(active_scores_.size(), feasible.size(), normalize);
  }
}

SCHEDFW_INLINE void Framework::ScoreBlock(const Cycle& cycle, Rows rows, ActiveScore& score,
                                          std::int64_t* out) {
  const ScoreEntry& entry = *score.entry;
  Status status;
  if (entry.batch != nullptr) {
    status = entry.batch->ScoreNodes(cycle, rows, out);
  } else {
    for (Row i = 0; i < rows.size() && status.ok(); ++i) {
      out[i] = 0;
      status = entry.plugin->Score(cycle, NodeInfo(cycle.snapshot, rows[i]), out[i]);
    }
  }
  if (status.ok()) return;
  std::lock_guard lock(mutex_);
  // Several blocks may fail: the message that sorts first is the one to report.
  if (score.fault.ok() || status.message() < score.fault.message()) score.fault = status;
}

SCHEDFW_INLINE bool Framework::TakeFault(const char* what, Status& status) const {
  for (const ActiveScore& score : active_scores_) {
    if (score.fault.ok()) continue;
    const std::string name(score.entry->plugin->Name());
    status = Status::Error(what + ("plugin \"" + name + "\" failed with: ") + score.fault.message())
                 .WithPlugin(name);
    return false;
  }
  return true;
}

SCHEDFW_INLINE Status Framework::OutOfRange(const ActiveScore& score, const Cycle& cycle,
                                            std::span<const Row> feasible) const {
  std::size_t bad = 0;
  while (score.scores[bad] >= kMinNodeScore && score.scores[bad] <= kMaxNodeScore) ++bad;
  const std::string name(score.entry->plugin->Name());
  return Status::Error("plugin \"" + name + "\" returns an invalid score " +
                       std::to_string(score.scores[bad]) + " for node " +
                       cycle.snapshot.name(feasible[bad]) +
                       ", it should be in the range of [0, 100] after normalizing")
      .WithPlugin(name);
}

SCHEDFW_INLINE ScoreMatrix Framework::EmptyMatrix(std::span<const Row> feasible) const {
  ScoreMatrix out;
  out.rows.assign(feasible.begin(), feasible.end());
  for (const ActiveScore& score : active_scores_) {
    out.plugins.emplace_back(score.entry->plugin->Name());
    out.weights.push_back(score.entry->weight);
  }
  const auto plugins = static_cast<Eigen::Index>(active_scores_.size());
  const auto nodes = static_cast<Eigen::Index>(feasible.size());
  out.raw = out.normalized = out.weighted = ScoreArray::Zero(plugins, nodes);
  out.total = Eigen::Array<std::int64_t, Eigen::Dynamic, 1>::Zero(nodes);
  return out;
}

SCHEDFW_INLINE bool Framework::RunCached(const Cycle& cycle, CycleState& state, CachedCycle& out) {
  const Snapshot& snapshot = cycle.snapshot;
  if (!cacheable_ || snapshot.HasNominations() || snapshot.size() == 0) return false;
  PlanCache* cache = caches_.Find(cycle.pod.plan, snapshot.size());
  if (cache == nullptr) return false;

  // How each plugin takes part in this cycle. Where that isn't as before, all is made anew.
  signature_.clear();
  for (const FilterEntry* entry : active_filters_) {
    const Dependence dependence = entry->incremental->FilterDependence(cycle);
    if (dependence == Dependence::kCluster) return false;
    signature_.push_back(static_cast<std::uint8_t>(entry - filter_.data()));
    signature_.push_back(static_cast<std::uint8_t>(dependence));
  }
  cached_scores_.clear();
  std::int64_t uniform_total = 0;
  for (const ScoreEntry& entry : score_) {
    CachedScore& score = cached_scores_.emplace_back();
    score.entry = &entry;
    const Dependence dependence = entry.incremental->ScoreDependence(cycle);
    if (dependence == Dependence::kCluster) return false;
    score.role = dependence == Dependence::kFeasibleSet ? CachedScore::kOfFeasibleSet
                 : dependence == Dependence::kDomain    ? CachedScore::kOfDomain
                                                        : CachedScore::kSummed;
    if (dependence != Dependence::kFeasibleSet && entry.pre_score != nullptr) {
      const Status status = entry.pre_score->PreScore(cycle, state, {});
      if (!status.ok() && !status.IsSkip()) return false;
      if (status.IsSkip()) score.role = CachedScore::kSkipped;
    }
    if (score.role == CachedScore::kSummed) {
      if (const auto uniform = entry.batch->UniformScore(cycle)) {
        score.role = CachedScore::kUniform;
        std::int64_t value = *uniform;
        const Row any = 0;
        if (entry.extensions != nullptr &&
            !entry.extensions->NormalizeScore(cycle, {&any, 1}, {&value, 1}).ok()) {
          return false;
        }
        if (value < kMinNodeScore || value > kMaxNodeScore) return false;
        uniform_total += value * entry.weight;
      } else if (entry.extensions != nullptr) {
        score.role = CachedScore::kInKey;
      }
    }
    signature_.push_back(score.role);
  }
  columns_.clear();
  for (const FilterEntry* entry : active_filters_) {
    if (entry->incremental->FilterDependence(cycle) == Dependence::kDomain) {
      entry->incremental->AddFilterColumns(cycle, columns_);
    }
  }
  for (const CachedScore& score : cached_scores_) {
    if (score.role == CachedScore::kOfDomain) {
      score.entry->incremental->AddScoreColumns(cycle, columns_);
    }
  }
  const auto same_columns = [&] {
    if (cache->changing_columns != columns_.size()) return false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].SameAs(cache->columns[i])) return false;
    }
    return true;
  };

  const bool same_nodes = cache->changes.Find(snapshot, changed_);
  if (!same_nodes || cache->signature != signature_ || !same_columns() ||
      cache->objects_id != snapshot.objects_id() || changed_.size() > snapshot.size() / 2) {
    if (!BuildCache(cycle, state, *cache)) {
      cache->changes.Forget();
      return false;
    }
  } else if (cache->too_many_groups) {
    return false;
  } else {
    std::copy(columns_.begin(), columns_.end(), cache->columns.begin());
    LoadColumns(snapshot, *cache);
    for (std::size_t begin = 0; begin < changed_.size(); begin += kMaxBlockRows) {
      const std::size_t size = std::min<std::size_t>(kMaxBlockRows, changed_.size() - begin);
      if (!UpdateRows(cycle, std::span<const Row>(changed_).subspan(begin, size), *cache)) {
        cache->changes.Forget();
        return false;
      }
    }
    pod_columns_.clear();
  }
  if (cache->too_many_groups) return false;
  return Decide(cycle, state, *cache, uniform_total, out);
}

// Fetches the group columns that are counts of pods.
SCHEDFW_INLINE void Framework::LoadColumns(const Snapshot& snapshot, const PlanCache& cache) {
  pod_columns_.clear();
  for (const GroupColumn& column : cache.columns) {
    pod_columns_.push_back(column.label != nullptr ? Column<std::int32_t>()
                                                   : snapshot.CountPods(column.pods));
  }
}

SCHEDFW_INLINE bool Framework::BuildCache(const Cycle& cycle, CycleState& state, PlanCache& cache) {
  const Snapshot& snapshot = cycle.snapshot;
  cache.signature = signature_;
  cache.objects_id = snapshot.objects_id();
  cache.columns = columns_;
  cache.changing_columns = columns_.size();
  std::size_t in_key = 0;
  for (const CachedScore& score : cached_scores_) {
    in_key += score.role == CachedScore::kInKey;
    if (score.role != CachedScore::kOfFeasibleSet) continue;
    const Status status = score.entry->incremental->PreScoreGroups(cycle, state, {});
    if (!status.ok() && !status.IsSkip()) return false;
    if (status.ok()) score.entry->incremental->AddScoreColumns(cycle, cache.columns);
  }
  cache.Reset(snapshot, cache.columns.size() + in_key);
  LoadColumns(snapshot, cache);
  for (Row begin = 0; begin < snapshot.size() && !cache.too_many_groups; begin += kMaxBlockRows) {
    if (!UpdateRows(cycle, RowRange{begin, std::min(snapshot.size(), begin + kMaxBlockRows)},
                    cache)) {
      return false;
    }
  }
  pod_columns_.clear();
  cache.FinishBuilding();
  return true;
}

// Asks the plugins that depend on the node alone. False: one failed; the whole pipeline says how.
SCHEDFW_INLINE bool Framework::UpdateRows(const Cycle& cycle, Rows rows, PlanCache& cache) {
  const Row count = rows.size();
  std::uint32_t codes[kMaxBlockRows], all_codes[kMaxBlockRows];
  std::fill_n(all_codes, count, 0u);
  for (const FilterEntry* entry : active_filters_) {
    if (entry->incremental->FilterDependence(cycle) != Dependence::kRow) continue;
    std::fill_n(codes, count, 0u);
    entry->batch->FilterNodes(cycle, rows, codes);
    for (Row i = 0; i < count; ++i) {
      if (codes[i] == kFilterFault) return false;
      all_codes[i] |= codes[i];
    }
  }
  // Tells nodes without a label from those with any count.
  constexpr std::int64_t kNoLabel = std::int64_t{1} << 62;
  std::int64_t sums[kMaxBlockRows], scores[kMaxBlockRows];
  std::fill_n(sums, count, std::int64_t{0});
  const std::size_t columns = cache.columns.size();
  std::size_t key_size = columns;
  for (const CachedScore& score : cached_scores_) key_size += score.role == CachedScore::kInKey;
  key_buffer_.resize(key_size * count);
  std::size_t at = columns;
  for (const CachedScore& score : cached_scores_) {
    if (score.role != CachedScore::kSummed && score.role != CachedScore::kInKey) continue;
    if (!score.entry->batch->ScoreNodes(cycle, rows, scores).ok()) return false;
    if (score.role == CachedScore::kInKey) {
      for (Row i = 0; i < count; ++i) key_buffer_[i * key_size + at] = scores[i];
      ++at;
    } else if (!internal::AddWeighted(scores, score.entry->weight, count, sums)) {
      return false;
    }
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const GroupColumn& column = cache.columns[c];
    std::int64_t* out = key_buffer_.data() + c;
    if (column.label == nullptr) {
      const std::int32_t* pods = pod_columns_[c].data();
      for (Row i = 0; i < count; ++i) out[i * key_size] = pods[rows[i]];
      continue;
    }
    const std::uint32_t* ordinals = column.label->ordinals.data();
    for (Row i = 0; i < count; ++i) {
      const std::uint32_t ordinal = ordinals[rows[i]];
      out[i * key_size] = column.counts == nullptr || ordinal == 0
                              ? std::int64_t{ordinal} - kNoLabel
                              : column.counts[ordinal];
    }
  }
  for (Row i = 0; i < count; ++i) {
    if (all_codes[i] == 0) {
      cache.Pass(rows[i], sums[i], key_buffer_.data() + i * key_size);
    } else {
      cache.Fail(rows[i]);
    }
  }
  return true;
}

// Filters and scores the groups by their best rows.
SCHEDFW_INLINE bool Framework::Decide(const Cycle& cycle, CycleState& state, PlanCache& cache,
                                      std::int64_t uniform_total, CachedCycle& out) {
  group_rows_.clear();
  groups_.clear();
  group_nodes_.clear();
  for (std::uint32_t g = 0; g < cache.size(); ++g) {
    if (cache.group(g).nodes == 0) continue;
    groups_.push_back(g);
    group_rows_.push_back(cache.Best(g));
  }
  std::uint32_t codes[PlanCache::kMostGroups], all_codes[PlanCache::kMostGroups];
  std::fill_n(all_codes, groups_.size(), 0u);
  for (const FilterEntry* entry : active_filters_) {
    if (entry->incremental->FilterDependence(cycle) != Dependence::kDomain) continue;
    std::fill_n(codes, groups_.size(), 0u);
    entry->batch->FilterNodes(cycle, std::span<const Row>(group_rows_), codes);
    for (std::size_t i = 0; i < groups_.size(); ++i) all_codes[i] |= codes[i];
  }
  std::size_t left = 0;
  out.feasible = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (all_codes[i] != 0) continue;
    groups_[left] = groups_[i];
    group_rows_[left++] = group_rows_[i];
    group_nodes_.push_back(cache.group(groups_[i]).nodes);
    out.feasible += group_nodes_.back();
  }
  groups_.resize(left);
  group_rows_.resize(left);
  if (left == 0) return false;  // the whole pipeline says why
  out.ties.clear();
  if (out.feasible == 1) {  // nothing to compare
    out.row = group_rows_[0];
    out.score = 0;
    if (out.want_ties) out.ties.push_back(out.row);
    return true;
  }

  std::int64_t totals[PlanCache::kMostGroups], scores[PlanCache::kMostGroups];
  for (std::size_t i = 0; i < left; ++i) totals[i] = cache.sum(group_rows_[i]) + uniform_total;
  std::size_t at = cache.columns.size();
  for (const CachedScore& score : cached_scores_) {
    const ScoreEntry& entry = *score.entry;
    if (score.role == CachedScore::kInKey) {
      for (std::size_t i = 0; i < left; ++i) scores[i] = cache.key(groups_[i])[at];
      ++at;
    } else if (score.role == CachedScore::kOfFeasibleSet || score.role == CachedScore::kOfDomain) {
      if (score.role == CachedScore::kOfFeasibleSet) {
        const Status status =
            entry.incremental->PreScoreGroups(cycle, state, {group_rows_, group_nodes_});
        if (status.IsSkip()) continue;
        if (!status.ok()) return false;
      }
      if (!entry.batch->ScoreNodes(cycle, std::span<const Row>(group_rows_), scores).ok()) {
        return false;
      }
    } else {
      continue;
    }
    if (entry.extensions != nullptr &&
        !entry.extensions->NormalizeScore(cycle, group_rows_, {scores, left}).ok()) {
      return false;
    }
    if (!internal::AddWeighted(scores, entry.weight, static_cast<Row>(left), totals)) return false;
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < left; ++i) {
    if (totals[i] > totals[best] ||
        (totals[i] == totals[best] && cache.rank(group_rows_[i]) < cache.rank(group_rows_[best]))) {
      best = i;
    }
  }
  out.row = group_rows_[best];
  out.score = totals[best];
  if (out.want_ties) {
    for (std::size_t i = 0; i < left; ++i) {
      if (totals[i] != totals[best]) continue;
      cache.AddTies(groups_[i], cache.sum(group_rows_[i]), out.ties);
    }
  }
  return true;
}

SCHEDFW_INLINE Diagnosis Framework::Diagnose(const Cycle& cycle) const {
  Diagnosis out(cycle.snapshot.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  const auto add = [&](Row row) {
    const Verdict verdict = VerdictOf(row);
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

SCHEDFW_INLINE Status Framework::RunPostFilterPlugins(const Cycle& cycle,
                                                      const Diagnosis& diagnosis,
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

// A pod that needs a plugin which is known by name only must not be placed as if it didn't.
SCHEDFW_INLINE Status Framework::RefuseWithoutEffect(const PodInfo& pod) const {
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

SCHEDFW_INLINE Status Framework::CallPreFilterPlugins(const Cycle& cycle, CycleState& state,
                                                      std::optional<std::set<std::string>>& names) {
  skip_filter_.clear();
  names.reset();
  if (Status status = RefuseWithoutEffect(cycle.pod); !status.ok()) return status;
  Status rejected;
  std::set<std::string>& narrowing = narrowed_by_;
  narrowing.clear();
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
        return internal::Fault("running PreFilter plugin \"", *plugin, status);
      }
      // Preemption may help, and needs the state of all other plugins.
      rejected = std::move(named);
      continue;
    }
    if (!result.node_names) continue;
    narrowing.emplace(plugin->Name());
    if (names) {
      std::erase_if(*names, [&](const std::string& n) { return !result.node_names->contains(n); });
    } else {
      names = std::move(result.node_names);
    }
    if (names->empty()) {
      if (narrowing.size() == 1) {
        return Status::Unresolvable("node(s) didn't satisfy plugin " + *narrowing.begin());
      }
      std::string list;
      for (const std::string& n : narrowing) list += (list.empty() ? "" : " ") + n;
      return Status::Unresolvable("node(s) didn't satisfy plugin(s) [" + list + "] simultaneously");
    }
  }
  return rejected;
}

// The pods nominated to a node that the pod must leave room for.
SCHEDFW_INLINE std::vector<PodPtr> Framework::NominatedBefore(const PodInfo& pod,
                                                              const Snapshot& snapshot,
                                                              Row row) const {
  std::vector<PodPtr> out;
  if (!snapshot.HasNominations()) return out;
  for (const PodPtr& nominated : snapshot.NominatedPods(snapshot.record(row).name)) {
    const std::string& scheduler = nominated->pod->spec.scheduler_name;
    if (nominated->priority() >= pod.priority() && nominated->Key() != pod.Key() &&
        (scheduler_names_.empty() || std::find(scheduler_names_.begin(), scheduler_names_.end(),
                                               scheduler) != scheduler_names_.end())) {
      out.push_back(nominated);
    }
  }
  return out;
}

SCHEDFW_INLINE Status
Framework::FilterWithNominatedPods(DryRun& dry_run, const PodInfo& pod, const CycleState& state,
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
SCHEDFW_INLINE void Framework::FilterNominated(const Cycle& cycle) {
  nominated_statuses_.clear();
  if (!cycle.snapshot.HasNominations()) return;
  std::optional<DryRun> dry_run;
  for (const StringId name : cycle.snapshot.NominatedNodes()) {
    const auto row = cycle.snapshot.FindById(name);
    if (!row || (evaluated_ && !std::binary_search(evaluated_->begin(), evaluated_->end(), *row))) {
      continue;
    }
    const std::vector<PodPtr> nominated = NominatedBefore(cycle.pod, cycle.snapshot, *row);
    if (nominated.empty()) continue;
    if (!dry_run) dry_run.emplace(cycle.snapshot);
    Status status = FilterWithNominatedPods(*dry_run, cycle.pod, cycle.state, *row, nominated);
    if (status.ok()) continue;
    rejected_by_[*row] = kByNominated;
    rejected_code_[*row] = *row;
    nominated_statuses_.emplace(*row, std::move(status));
  }
}

// Rows that a batch plugin rejected with one code share a status; those of the simple shape each
// have their own.
SCHEDFW_INLINE std::uint32_t Framework::CodeOf(const Verdict& verdict, Row row) const {
  if (verdict.plugin == kByNominated) return row;
  return active_filters_[verdict.plugin - 1]->batch != nullptr ? verdict.code : row;
}
SCHEDFW_INLINE Status Framework::StatusOf(const Cycle& cycle, const Verdict& verdict,
                                          Row row) const {
  if (verdict.plugin == kByNominated) return nominated_statuses_.at(row);
  const FilterEntry& entry = *active_filters_[verdict.plugin - 1];
  return internal::FilterStatus(*entry.plugin, entry.batch != nullptr
                                                   ? entry.batch->Explain(cycle, verdict.code)
                                                   : entry.statuses.at(row));
}

// The first failure of a Filter plugin, in row order, ends the cycle.
SCHEDFW_INLINE Status Framework::FirstFault(const Cycle& cycle) const {
  for (Row row = 0; row < rejected_by_.size(); ++row) {
    const Verdict verdict = VerdictOf(row);
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

SCHEDFW_INLINE Status Framework::RunReservePlugins(const Cycle& cycle, CycleState& state,
                                                   const NodeInfo& node) {
  for (ReservePlugin* plugin : reserve_) {
    const Status status = plugin->Reserve(cycle, state, node);
    if (!status.ok()) return internal::RejectOrFault("running Reserve plugin \"", *plugin, status);
  }
  return {};
}
SCHEDFW_INLINE void Framework::RunUnreservePlugins(const Cycle& cycle, CycleState& state,
                                                   const NodeInfo& node) noexcept {
  for (auto it = reserve_.rbegin(); it != reserve_.rend(); ++it) {
    (*it)->Unreserve(cycle, state, node);
  }
}
SCHEDFW_INLINE Status Framework::RunPermitPlugins(const Cycle& cycle, CycleState& state,
                                                  const NodeInfo& node,
                                                  std::vector<PermitWait>& waits) {
  Status wait;
  for (PermitPlugin* plugin : permit_) {
    std::chrono::nanoseconds own{0};
    const Status status = plugin->Permit(cycle, state, node, own);
    if (status.code() == Code::kWait) {
      waits.push_back({std::string(plugin->Name()), own});
      wait = status.WithPlugin(plugin->Name());
    } else if (!status.ok()) {
      return internal::RejectOrFault("running Permit plugin \"", *plugin, status);
    }
  }
  return wait;
}
SCHEDFW_INLINE Status Framework::RunPreBindPlugins(const Cycle& cycle, CycleState& state,
                                                   const NodeInfo& node) {
  for (PreBindPlugin* plugin : pre_bind_) {
    const Status status = plugin->PreBind(cycle, state, node);
    if (!status.ok()) return internal::RejectOrFault("running PreBind plugin \"", *plugin, status);
  }
  return {};
}
SCHEDFW_INLINE Status Framework::RunBindPlugins(const Cycle& cycle, CycleState& state,
                                                const NodeInfo& node) {
  for (BindPlugin* plugin : bind_) {
    const Status status = plugin->Bind(cycle, state, node);
    if (status.IsSkip()) continue;
    if (!status.ok()) return internal::RejectOrFault("running Bind plugin \"", *plugin, status);
    return {};
  }
  return Status::Error("all Bind plugins skipped the pod");
}
SCHEDFW_INLINE void Framework::RunPostBindPlugins(const Cycle& cycle, CycleState& state,
                                                  const NodeInfo& node) {
  // The pod is bound whatever they do, so each is told; then the first failure goes on.
  std::exception_ptr error;
  for (PostBindPlugin* plugin : post_bind_) {
    try {
      plugin->PostBind(cycle, state, node);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_FRAMEWORK_INL_H_
