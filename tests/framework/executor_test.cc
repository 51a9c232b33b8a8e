// Executor: blocks, threads, and use inside of a caller's own parallel code.

#include "schedfw/framework/executor.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

TEST(Executor, BlocksCoverEveryRowOnce) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 8);
  for (const int threads : {0, 1, 2, 8}) {
    for (const Row grain : {1u, 7u, 512u}) {
      const Executor executor({.threads = threads, .grain_rows = grain});
      for (const std::size_t count : {0u, 1u, 13u, 1023u, 1024u, 1025u, 5000u}) {
        for (const bool serial : {false, true}) {
          std::vector<std::atomic<int>> seen(count);
          const Row block = executor.BlockRows(count);
          ASSERT_LE(block, kMaxBlockRows);
          executor.ForBlocks(count, block, serial, [&](std::size_t begin, std::size_t end) {
            ASSERT_EQ(begin % block, 0u);
            ASSERT_LE(end - begin, block);
            for (std::size_t i = begin; i < end; ++i) ++seen[i];
          });
          for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
        }
      }
    }
  }
}

TEST(Executor, AnExceptionReachesTheCaller) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 8);
  for (const int threads : {0, 1, 4}) {
    const Executor executor({.threads = threads, .grain_rows = 10});
    EXPECT_THROW(executor.ForBlocks(1000, 10, false,
                                    [](std::size_t begin, std::size_t) {
                                      if (begin == 500) throw std::runtime_error("broken");
                                    }),
                 std::runtime_error);
  }
}

// Helpers come when the system lets them, so much is tried often: loops of all lengths one after
// another, with pauses after which the helpers have gone, and loops that fail in between.
TEST(Executor, LoopsThatFollowEachOtherAreKeptApart) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 4);
  for (const int threads : {2, 4}) {
    const Executor executor({.threads = threads, .grain_rows = 1});
    std::vector<std::uint32_t> seen(64);
    for (std::uint32_t loop = 1; loop <= 5000; ++loop) {
      const std::size_t count = 2 + loop * 7 % 60;
      if (loop % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (loop % 50 == 0) {
        EXPECT_THROW(executor.ForBlocks(count, 1, false,
                                        [&](std::size_t begin, std::size_t) {
                                          if (begin % 3 == 1) throw std::runtime_error("broken");
                                        }),
                     std::runtime_error);
      }
      executor.ForBlocks(count, 1, false, [&](std::size_t begin, std::size_t) {
        seen[begin] = seen[begin] == loop ? 0 : loop;
      });
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], loop) << i << " of " << count;
    }
  }
}

TEST(Executor, UsesItsThreads) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 4);
  const Executor executor({.threads = 3, .grain_rows = 1});
  std::atomic<int> here = 0;
  // Each waits for the others: with fewer threads this would not end.
  executor.ForBlocks(3, 1, false, [&](std::size_t, std::size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

// A loop in a loop, as when preemption tries nodes, and one from another thread meanwhile.
TEST(Executor, LoopsMayBeNested) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 4);
  const Executor executor({.threads = 3, .grain_rows = 1});
  std::vector<std::atomic<int>> seen(20 * 30);
  const auto outer = [&] {
    executor.ForEach(20, 100, [&](std::size_t i) {
      executor.ForBlocks(30, 1, false,
                         [&](std::size_t begin, std::size_t) { ++seen[i * 30 + begin]; });
    });
  };
  for (int i = 0; i < 50; ++i) {
    std::thread other(outer);
    outer();
    other.join();
  }
  for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 100);
}

// Many schedulers at once inside of a parallel loop of the caller, each using the caller's threads.
TEST(Executor, WorksInsideOfACallersArena) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 4);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += testing::NodeYaml("n" + std::to_string(100 + i), "zone: z" + std::to_string(i % 3));
  }
  for (int i = 0; i < 20; ++i) {
    text += testing::PodYaml("p" + std::to_string(100 + i), "app: a", "",
                             std::to_string(100 + 10 * i) + "m");
  }
  const Cluster cluster = testing::Parse(text);
  const auto place = [&](int threads) {
    SchedulerOptions options;
    options.executor = {.threads = threads, .grain_rows = 4};
    const auto scheduler = testing::MakeScheduler("", options);
    Cluster fork = cluster.Fork();
    std::string out;
    for (const Placement& placement : scheduler->Place(fork)) out += placement.node + " ";
    return out;
  };
  const std::string want = place(1);
  std::vector<std::string> got(16);
  tbb::parallel_for(std::size_t{0}, got.size(),
                    [&](std::size_t i) { got[i] = place(i % 2 == 0 ? 0 : 2); });
  for (const std::string& nodes : got) EXPECT_EQ(nodes, want);
}

}  // namespace
}  // namespace schedfw
