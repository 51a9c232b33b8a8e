#include "schedfw/base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace schedfw {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(VirtualClock, StandsStillUntilMoved) {
  VirtualClock clock;
  EXPECT_EQ(clock.Now(), nanoseconds(0));
  EXPECT_EQ(clock.Now(), nanoseconds(0));
  EXPECT_TRUE(clock.Advance(seconds(5)));
  EXPECT_EQ(clock.Now(), seconds(5));
  EXPECT_TRUE(clock.Advance(nanoseconds(1)));
  EXPECT_EQ(clock.Now(), nanoseconds(5'000'000'001));
  EXPECT_TRUE(clock.Advance(nanoseconds(0)));
  EXPECT_EQ(clock.Now(), nanoseconds(5'000'000'001));
  EXPECT_EQ(VirtualClock(seconds(-3)).Now(), seconds(-3));
}

TEST(VirtualClock, NeverGoesBack) {
  VirtualClock clock(seconds(10));
  EXPECT_FALSE(clock.Advance(nanoseconds(-1)));
  EXPECT_FALSE(clock.Set(seconds(9)));
  EXPECT_EQ(clock.Now(), seconds(10));
  EXPECT_TRUE(clock.Set(seconds(10)));
  EXPECT_TRUE(clock.Set(seconds(11)));
  EXPECT_EQ(clock.Now(), seconds(11));
}

TEST(VirtualClock, RefusesToLeaveItsRange) {
  VirtualClock clock(nanoseconds(1));
  EXPECT_FALSE(clock.Advance(nanoseconds::max()));
  EXPECT_FALSE(clock.Advance(nanoseconds::min()));
  EXPECT_EQ(clock.Now(), nanoseconds(1));
  EXPECT_TRUE(clock.Advance(nanoseconds::max() - nanoseconds(1)));
  EXPECT_EQ(clock.Now(), nanoseconds::max());
  EXPECT_FALSE(clock.Advance(nanoseconds(1)));

  VirtualClock early(nanoseconds::min());
  EXPECT_TRUE(early.Advance(nanoseconds::max()));
  EXPECT_EQ(early.Now(), nanoseconds(-1));
}

TEST(VirtualClock, CountsEveryAdvanceOfManyThreads) {
  VirtualClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clock] {
      nanoseconds last = clock.Now();
      for (int step = 0; step < 1000; ++step) {
        EXPECT_TRUE(clock.Advance(nanoseconds(3)));
        const nanoseconds now = clock.Now();
        EXPECT_GT(now, last);
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clock.Now(), nanoseconds(12'000));
}

TEST(SystemClock, MovesOnByItself) {
  const SystemClock clock;
  const nanoseconds first = clock.Now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(clock.Now() - first, std::chrono::milliseconds(2));
}

TEST(Clock, IsReadThroughTheInterface) {
  VirtualClock moved(seconds(1));
  const Clock& clock = moved;
  EXPECT_TRUE(moved.Advance(seconds(1)));
  EXPECT_EQ(clock.Now(), seconds(2));
}

}  // namespace
}  // namespace schedfw
