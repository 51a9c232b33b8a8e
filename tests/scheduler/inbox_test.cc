#include "schedfw/scheduler/inbox.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace schedfw {
namespace {

using std::chrono::nanoseconds;

TEST(Inbox, GivesMessagesInTheirOrder) {
  Inbox<int> inbox;
  std::vector<int> out = {7, 8};
  EXPECT_FALSE(inbox.Drain(out));
  EXPECT_TRUE(out.empty());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(inbox.Post(i));
  EXPECT_TRUE(inbox.Drain(out));
  EXPECT_EQ(out, (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(inbox.Drain(out));
  EXPECT_TRUE(out.empty());
}

TEST(Inbox, TakesWhatCanOnlyBeMoved) {
  Inbox<std::unique_ptr<int>> inbox;
  EXPECT_TRUE(inbox.Post(std::make_unique<int>(5)));
  std::vector<std::unique_ptr<int>> out;
  ASSERT_TRUE(inbox.Drain(out));
  EXPECT_EQ(*out.at(0), 5);
}

TEST(Inbox, MayBeBounded) {
  Inbox<int> inbox(2);
  EXPECT_TRUE(inbox.Post(1));
  EXPECT_TRUE(inbox.Post(2));
  EXPECT_FALSE(inbox.Post(3));
  std::vector<int> out;
  EXPECT_TRUE(inbox.Drain(out));
  EXPECT_EQ(out, (std::vector<int>{1, 2}));
  EXPECT_TRUE(inbox.Post(4));
}

TEST(Inbox, WaitsForAMessage) {
  Inbox<int> inbox;
  EXPECT_FALSE(inbox.Wait(nanoseconds(0)));
  EXPECT_FALSE(inbox.Wait(nanoseconds(-5)));
  EXPECT_FALSE(inbox.Wait(nanoseconds::min()));
  EXPECT_FALSE(inbox.Wait(std::chrono::milliseconds(1)));
  std::thread poster([&] { inbox.Post(1); });
  EXPECT_TRUE(inbox.Wait(nanoseconds::max()));
  EXPECT_TRUE(inbox.WaitUntil(std::chrono::steady_clock::time_point::max()));  // still there
  poster.join();
}

TEST(Inbox, WakesWithoutAMessage) {
  Inbox<int> inbox;
  inbox.Wake();
  EXPECT_FALSE(inbox.Wait(nanoseconds::max()));
  std::thread waker([&] { inbox.Wake(); });
  EXPECT_FALSE(inbox.Wait(nanoseconds::max()));
  waker.join();
  EXPECT_FALSE(inbox.Wait(nanoseconds(0)));
  inbox.Wake();
  inbox.Post(1);
  EXPECT_TRUE(inbox.Wait(nanoseconds::max()));
}

TEST(Inbox, AClosedOneTakesNothing) {
  Inbox<int> inbox;
  inbox.Post(1);
  EXPECT_FALSE(inbox.closed());
  std::thread closer([&] { inbox.Close(); });
  closer.join();
  EXPECT_TRUE(inbox.closed());
  EXPECT_FALSE(inbox.Post(2));
  EXPECT_TRUE(inbox.Wait(nanoseconds::max()));
  std::vector<int> out;
  EXPECT_TRUE(inbox.Drain(out));
  EXPECT_EQ(out, (std::vector<int>{1}));
  EXPECT_FALSE(inbox.Wait(nanoseconds::max()));
}

TEST(Inbox, LosesNothingOfManyThreads) {
  constexpr int kThreads = 4, kMessages = 5000;
  Inbox<std::pair<int, int>> inbox;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kMessages; ++n) EXPECT_TRUE(inbox.Post({i, n}));
    });
  }
  std::vector<int> next(kThreads);
  std::vector<std::pair<int, int>> out;
  for (int got = 0; got < kThreads * kMessages;) {
    ASSERT_TRUE(inbox.Wait(nanoseconds::max()));
    ASSERT_TRUE(inbox.Drain(out));
    for (const auto& [thread, number] : out) EXPECT_EQ(number, next.at(thread)++);
    got += static_cast<int>(out.size());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(inbox.Drain(out));
}

}  // namespace
}  // namespace schedfw
