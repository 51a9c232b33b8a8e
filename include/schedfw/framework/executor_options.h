// ExecutorOptions: on how many threads plugins run.
#ifndef SCHEDFW_FRAMEWORK_EXECUTOR_OPTIONS_H_
#define SCHEDFW_FRAMEWORK_EXECUTOR_OPTIONS_H_

#include <cstdint>

#include "schedfw/cluster/snapshot.h"

namespace schedfw {

/// How NormalizeScore runs: all plugins at once, or one after the other on the calling thread.
enum class NormalizeMode : std::uint8_t { kParallel, kSynchronous };

struct ExecutorOptions {
  /// Threads at most: 1 runs everything on the calling thread, 0 uses the arena of the caller (in
  /// a program of its own: all cores), any other number an arena of that size. TBB uses no more
  /// than there are cores, unless a tbb::global_control allows more when the Executor is made.
  int threads = 1;
  /// Rows that one task takes; fewer than twice as many are done on the calling thread. 0 chooses
  /// by what was measured of the built-in plugins: see Executor::kParallelRows.
  Row grain_rows = 0;
  NormalizeMode normalize = NormalizeMode::kParallel;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_EXECUTOR_OPTIONS_H_
