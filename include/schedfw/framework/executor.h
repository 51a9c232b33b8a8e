// Executor: runs blocks of rows on a TBB arena, in parallel where that pays.
#ifndef SCHEDFW_FRAMEWORK_EXECUTOR_H_
#define SCHEDFW_FRAMEWORK_EXECUTOR_H_

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "schedfw/framework/executor_options.h"
#include "schedfw/framework/thread_team.h"

namespace schedfw {

/// Runs loops over rows and plugins. Results never depend on the number of threads: every piece of
/// work writes places of its own, and reductions are done in row order by the caller.
///
/// An exception in a piece of work reaches the caller; which one, if there are several, is not
/// said.
class Executor {
 public:
  explicit Executor(ExecutorOptions options = {}) : options_(options) {
    parallel_rows_ =
        options_.grain_rows == 0 ? kParallelRows : 2 * std::size_t{options_.grain_rows};
    options_.grain_rows =
        options_.grain_rows == 0 ? kMaxBlock : std::min<Row>(options_.grain_rows, kMaxBlock);
    // TBB warns on standard error when an arena is larger than it may ever become.
    const auto allowed =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    if (options_.threads > 1) {
      team_ = std::make_shared<ThreadTeam>(std::min(options_.threads, static_cast<int>(allowed)));
    }
  }

  const ExecutorOptions& options() const { return options_; }

  /// How many rows a block of ForBlocks takes.
  Row BlockRows(std::size_t count) const {
    return IsSerial(count) ? kMaxBlock : options_.grain_rows;
  }

  /// Calls fn(begin, end) for blocks of `block` rows that cover [0, count), at once where that pays
  /// unless `serial`.
  template <typename F>
  void ForBlocks(std::size_t count, Row block, bool serial, F&& fn) const {
    const std::size_t blocks = (count + block - 1) / block;
    if (serial || IsSerial(count)) {
      for (std::size_t i = 0; i < blocks; ++i) fn(i * block, std::min(count, (i + 1) * block));
      return;
    }
    Run(blocks, [&](std::size_t i) { fn(i * block, std::min(count, (i + 1) * block)); });
  }

  /// Calls fn(i) for i in [0, count), each as a task of its own if work on that many rows is worth
  /// it.
  template <typename F>
  void ForEach(std::size_t count, std::size_t work_rows, F&& fn) const {
    if (count < 2 || IsSerial(work_rows)) {
      for (std::size_t i = 0; i < count; ++i) fn(i);
      return;
    }
    Run(count, fn);
  }

  /// Rows from which on a second thread pays whatever the plugins are: the passes of a cycle
  /// (Filter, Score, the sum) take 1 to 6 ns a row, a parallel loop some 2 µs, and what one thread
  /// has written the other reads from a cache that isn't its own. With half as many rows some
  /// clusters gain a third and others lose a tenth (benchmarks/cycle_benchmark.cc, BM_Schedule).
  static constexpr std::size_t kParallelRows = 8192;

 private:
  static constexpr Row kMaxBlock = 1024;

  bool IsSerial(std::size_t count) const { return options_.threads == 1 || count < parallel_rows_; }

  template <typename F>
  void Run(std::size_t count, F&& fn) const {
    if (team_ && team_->Run(count, fn)) return;
    const auto loop = [&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1),
                        [&](const tbb::blocked_range<std::size_t>& range) {
                          for (std::size_t i = range.begin(); i != range.end(); ++i) fn(i);
                        });
    };
    // A thread that waits for its pieces takes no other work of the arena: that could be another
    // cycle, or a piece of the loop around this one, on top of it.
    const auto isolated = [&] { tbb::this_task_arena::isolate(loop); };
    if (team_) {  // it is in a loop of its own
      team_->arena().execute(isolated);
    } else {
      isolated();
    }
  }

  ExecutorOptions options_;
  std::size_t parallel_rows_;  // fewer are done on the calling thread
  std::shared_ptr<ThreadTeam> team_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_EXECUTOR_H_
