#include "schedfw/scheduler/binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/scheduler/inbox.h"

namespace schedfw {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Submit = ExecutorAdapter::Submit;

constexpr nanoseconds kForever = nanoseconds::max();

BindingJob Job(std::uint64_t id, std::function<Status()> run) {
  return {id, nullptr, "n1", std::move(run)};
}
Status Succeed() { return {}; }

std::unique_ptr<ThreadedAdapter> Threaded(BindingOptions options) {
  auto adapter = ThreadedAdapter::Create(std::move(options));
  EXPECT_TRUE(adapter.ok());
  return *std::move(adapter);
}
std::unique_ptr<InlineAdapter> Inline(const Clock& clock, BindingOptions options = {},
                                      nanoseconds latency = nanoseconds(0)) {
  auto adapter = InlineAdapter::Create(clock, std::move(options), latency);
  EXPECT_TRUE(adapter.ok());
  return *std::move(adapter);
}

// Polls until nothing is pending.
std::vector<BindingResult> Finish(ExecutorAdapter& adapter) {
  std::vector<BindingResult> out;
  while (adapter.Pending() != 0) {
    EXPECT_TRUE(adapter.WaitForResult(kForever));
    for (BindingResult& result : adapter.Poll()) out.push_back(std::move(result));
  }
  return out;
}

TEST(A6, SubmitReturnsAtOnce) {
  std::latch running(1), release(1);
  auto adapter = Threaded({.threads = 1});
  EXPECT_EQ(adapter->SubmitBindingJob(Job(1,
                                          [&] {
                                            running.count_down();
                                            release.wait();
                                            return Status();
                                          })),
            Submit::kAccepted);
  running.wait();
  // The only thread is held until the end of this test's first half; this one isn't.
  EXPECT_EQ(adapter->SubmitBindingJob(Job(2, Succeed)), Submit::kAccepted);
  EXPECT_EQ(adapter->SubmitBindingJob(Job(3, Succeed)), Submit::kAccepted);
  EXPECT_EQ(adapter->Pending(), 3U);
  EXPECT_TRUE(adapter->Poll().empty());
  EXPECT_FALSE(adapter->WaitForResult(nanoseconds(1)));
  release.count_down();
  const std::vector<BindingResult> results = Finish(*adapter);
  ASSERT_EQ(results.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].id, i + 1);
    EXPECT_TRUE(results[i].status.ok());
    EXPECT_EQ(results[i].attempts, 1);
  }
  EXPECT_FALSE(adapter->WaitForResult(kForever));  // nothing can come
}

TEST(A6, FullQueuePushesBack) {
  std::latch release(1);
  auto adapter = Threaded({.threads = 1, .capacity = 2});
  const auto wait = [&] {
    release.wait();
    return Status();
  };
  EXPECT_EQ(adapter->SubmitBindingJob(Job(1, wait)), Submit::kAccepted);
  EXPECT_EQ(adapter->SubmitBindingJob(Job(2, wait)), Submit::kAccepted);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(adapter->SubmitBindingJob(Job(3, wait)), Submit::kFull);
  }
  EXPECT_EQ(adapter->Pending(), 2U);
  release.count_down();
  // Results that nobody fetches take room too: nothing grows.
  EXPECT_TRUE(adapter->WaitForResult(kForever));
  EXPECT_EQ(adapter->SubmitBindingJob(Job(3, wait)), Submit::kFull);
  EXPECT_EQ(Finish(*adapter).size(), 2U);
  EXPECT_EQ(adapter->SubmitBindingJob(Job(3, wait)), Submit::kAccepted);
  EXPECT_EQ(Finish(*adapter).at(0).id, 3U);

  const VirtualClock clock;
  auto inlined = Inline(clock, {.capacity = 1});
  EXPECT_EQ(inlined->SubmitBindingJob(Job(1, Succeed)), Submit::kAccepted);
  EXPECT_EQ(inlined->SubmitBindingJob(Job(2, Succeed)), Submit::kFull);
  EXPECT_EQ(inlined->Poll().size(), 1U);
  EXPECT_EQ(inlined->SubmitBindingJob(Job(2, Succeed)), Submit::kAccepted);
}

// Jobs that say each code, and how often they are tried.
void ExpectRetriesOfErrorsOnly(ExecutorAdapter& adapter) {
  struct Case {
    Status status;
    int attempts;
  };
  const std::vector<Case> cases = {
      {Status(), 1},
      {Status::Error("down"), 4},
      {Status::Unschedulable("no"), 1},
      {Status::Unresolvable("never"), 1},
      {Status(Code::kPending, "later"), 1},
      {Status(Code::kWait), 1},
      {Status::Skip(), 1},
  };
  std::vector<std::atomic<int>> calls(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(adapter.SubmitBindingJob(Job(i,
                                           [&, i] {
                                             ++calls[i];
                                             return cases[i].status;
                                           })),
              Submit::kAccepted);
  }
  std::vector<BindingResult> results = Finish(adapter);
  EXPECT_EQ(results.size(), cases.size());
  for (const BindingResult& result : results) {
    const Case& expected = cases.at(result.id);
    EXPECT_EQ(result.status, expected.status);
    EXPECT_EQ(result.attempts, expected.attempts) << CodeName(result.status.code());
    EXPECT_EQ(calls[result.id], expected.attempts);
  }

  // An error that passes: the attempts end with the first other answer.
  std::atomic<int> left = 2;
  adapter.SubmitBindingJob(
      Job(50, [&] { return left-- > 0 ? Status::Error("not yet") : Status(); }));
  results = Finish(adapter);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[0].attempts, 3);
}

TEST(A6, RetriesErrorsOnly) {
  const BindingOptions options = {.threads = 2, .retries = 3, .initial_retry = nanoseconds(0)};
  ExpectRetriesOfErrorsOnly(*Threaded(options));
  const VirtualClock clock;
  ExpectRetriesOfErrorsOnly(*Inline(clock, options));
}

TEST(A6, ExceptionsAreErrors) {
  auto adapter = Threaded({.threads = 1, .retries = 1, .initial_retry = nanoseconds(0)});
  adapter->SubmitBindingJob(Job(1, []() -> Status { throw std::runtime_error("no route"); }));
  adapter->SubmitBindingJob(Job(2, []() -> Status { throw 42; }));
  adapter->SubmitBindingJob(Job(3, nullptr));
  std::vector<std::optional<BindingResult>> results(4);
  for (BindingResult& result : Finish(*adapter)) results.at(result.id) = std::move(result);
  ASSERT_TRUE(results[1] && results[2] && results[3]);
  EXPECT_EQ(results[1]->status, Status::Error("no route"));
  EXPECT_EQ(results[1]->attempts, 2);
  EXPECT_EQ(results[2]->status, Status::Error("an exception that says nothing"));
  EXPECT_EQ(results[3]->status.code(), Code::kError);
}

TEST(A6, RetriesWaitTwiceAsLongEachTime) {
  VirtualClock clock(std::chrono::seconds(1000));
  auto adapter = Inline(clock, {.retries = 3, .initial_retry = milliseconds(100)}, milliseconds(5));
  std::vector<nanoseconds> times;
  adapter->SubmitBindingJob(Job(1, [&] {
    times.push_back(clock.Now() - std::chrono::seconds(1000));
    return Status::Error("down");
  }));
  std::vector<BindingResult> results;
  while (const auto next = adapter->NextTime()) {
    EXPECT_TRUE(adapter->Poll().empty());  // not due yet
    EXPECT_FALSE(adapter->WaitForResult(kForever));
    EXPECT_TRUE(clock.Set(*next));
    EXPECT_TRUE(adapter->WaitForResult(nanoseconds(0)));
    for (BindingResult& result : adapter->Poll()) results.push_back(std::move(result));
  }
  // Each attempt takes 5 ms.
  EXPECT_EQ(times, (std::vector<nanoseconds>{milliseconds(5), milliseconds(110), milliseconds(315),
                                             milliseconds(720)}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].attempts, 4);
  EXPECT_EQ(results[0].status, Status::Error("down"));
}

TEST(A6, NoRetryStartsAfterTheTimeout) {
  const auto attempts = [](nanoseconds initial, nanoseconds timeout, nanoseconds work) {
    VirtualClock clock;
    auto adapter = Inline(clock, {.retries = 1000, .initial_retry = initial, .timeout = timeout});
    adapter->SubmitBindingJob(Job(1, [&clock, work] {
      clock.Advance(work);
      return Status::Error("down");
    }));
    while (true) {
      const std::vector<BindingResult> results = adapter->Poll();
      if (!results.empty()) {
        EXPECT_EQ(adapter->NextTime(), std::nullopt);
        return results[0].attempts;
      }
      clock.Set(*adapter->NextTime());
    }
  };
  // At 0, 100, 300; the next would be at 700.
  EXPECT_EQ(attempts(milliseconds(100), milliseconds(300), milliseconds(0)), 3);
  EXPECT_EQ(attempts(milliseconds(100), milliseconds(299), milliseconds(0)), 2);
  EXPECT_EQ(attempts(milliseconds(100), milliseconds(700), milliseconds(0)), 4);
  // The attempts count as well: from 0 to 50, from 150 to 200, then at 400.
  EXPECT_EQ(attempts(milliseconds(100), milliseconds(399), milliseconds(50)), 2);
  EXPECT_EQ(attempts(milliseconds(100), milliseconds(400), milliseconds(50)), 3);
  // One that takes longer than all the time is heard to its end, whatever it says.
  EXPECT_EQ(attempts(milliseconds(0), milliseconds(300), milliseconds(301)), 1);
  EXPECT_EQ(attempts(milliseconds(0), milliseconds(300), milliseconds(300)), 2);
  EXPECT_EQ(attempts(hours(24), milliseconds(1), milliseconds(0)), 1);
  EXPECT_EQ(attempts(milliseconds(0), milliseconds(1), milliseconds(0)), 1001);

  VirtualClock clock;
  auto late = Inline(clock, {.timeout = milliseconds(1)});
  late->SubmitBindingJob(Job(1, [&] {
    clock.Advance(hours(1));
    return Status();
  }));
  EXPECT_TRUE(late->Poll().at(0).status.ok());

  auto threaded = Threaded({.threads = 1, .initial_retry = hours(2), .timeout = hours(1)});
  threaded->SubmitBindingJob(Job(1, [] { return Status::Error("down"); }));
  const std::vector<BindingResult> results = Finish(*threaded);  // doesn't take two hours
  EXPECT_EQ(results.at(0).attempts, 1);
}

// The only thread is free while a job waits for its retry, and the adapter can be destroyed.
TEST(A6, AWaitingRetryKeepsNoThreadBusy) {
  std::latch failed(1);
  std::atomic<int> calls = 0;
  auto adapter = Threaded({.threads = 1, .initial_retry = hours(12), .timeout = hours(24)});
  adapter->SubmitBindingJob(Job(1, [&] {
    ++calls;
    failed.count_down();
    return Status::Error("down");
  }));
  failed.wait();
  adapter->SubmitBindingJob(Job(2, Succeed));
  EXPECT_TRUE(adapter->WaitForResult(kForever));
  const std::vector<BindingResult> results = adapter->Poll();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].id, 2U);
  EXPECT_EQ(adapter->Pending(), 1U);
  adapter.reset();
  EXPECT_EQ(calls, 1);
}

// Retries come on time although other threads are held up and no job comes to wake anyone.
TEST(A6, ARetryFindsAFreeThread) {
  std::latch release(1);
  auto adapter = Threaded({.threads = 3, .initial_retry = milliseconds(1)});
  std::latch held(1);
  adapter->SubmitBindingJob(Job(1, [&] {
    held.count_down();
    release.wait();
    return Status();
  }));
  held.wait();
  std::atomic<int> left = 3;
  adapter->SubmitBindingJob(
      Job(2, [&] { return left-- > 0 ? Status::Error("not yet") : Status(); }));
  EXPECT_TRUE(adapter->WaitForResult(kForever));
  const std::vector<BindingResult> results = adapter->Poll();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].id, 2U);
  EXPECT_EQ(results[0].attempts, 4);
  release.count_down();
  EXPECT_EQ(Finish(*adapter).at(0).id, 1U);
}

TEST(A6, EachJobEndsExactlyOnce) {
  constexpr std::uint64_t kJobs = 10'000;
  struct Plan {
    int errors = 0;  // attempts that fail before the last answer
    bool throws = false;
    Status answer;
  };
  std::mt19937_64 random(6);
  std::vector<Plan> plans(kJobs);
  for (Plan& plan : plans) {
    plan.errors = random() % 3 == 0 ? static_cast<int>(random() % 6) : 0;
    plan.throws = random() % 2 == 0;
    if (random() % 4 == 0) plan.answer = Status::Unschedulable("no");
  }
  std::vector<std::atomic<int>> calls(kJobs);
  std::vector<std::atomic<bool>> running(kJobs);
  std::vector<int> ends(kJobs);
  std::atomic<bool> twice_at_once = false;

  auto adapter = Threaded(
      {.threads = 8, .capacity = 64, .retries = 3, .initial_retry = std::chrono::microseconds(1)});
  const auto poll = [&] {
    for (const BindingResult& result : adapter->Poll()) {
      const Plan& plan = plans.at(result.id);
      ++ends[result.id];
      EXPECT_EQ(result.attempts, std::min(plan.errors, 3) + 1);
      EXPECT_EQ(result.attempts, calls[result.id]);
      EXPECT_EQ(result.status, plan.errors > 3 ? Status::Error("down") : plan.answer);
    }
  };
  for (std::uint64_t id = 0; id < kJobs;) {
    const Submit submit = adapter->SubmitBindingJob(Job(id, [&, id] {
      if (running[id].exchange(true)) twice_at_once = true;
      const Plan& plan = plans[id];
      const bool fails = calls[id]++ < plan.errors;
      running[id] = false;
      if (fails && plan.throws) throw std::runtime_error("down");
      return fails ? Status::Error("down") : plan.answer;
    }));
    EXPECT_LE(adapter->Pending(), 64U);
    if (submit == Submit::kAccepted) {
      ++id;
      continue;
    }
    ASSERT_EQ(submit, Submit::kFull);
    EXPECT_TRUE(adapter->WaitForResult(kForever));
    poll();
  }
  while (adapter->Pending() != 0) {
    EXPECT_TRUE(adapter->WaitForResult(kForever));
    poll();
  }
  EXPECT_EQ(ends, std::vector<int>(kJobs, 1));
  EXPECT_FALSE(twice_at_once);
}

TEST(A6, ManyThreadsMaySubmit) {
  constexpr std::uint64_t kThreads = 4, kJobs = 500;
  auto adapter = Threaded({.threads = 2, .capacity = 16});
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t n = 0; n < kJobs; ++n) {
        while (adapter->SubmitBindingJob(Job(i * kJobs + n, Succeed)) != Submit::kAccepted) {
          std::this_thread::yield();
        }
      }
    });
  }
  std::vector<int> ends(kThreads * kJobs);
  for (std::size_t got = 0; got < ends.size();) {
    adapter->WaitForResult(milliseconds(1));
    for (const BindingResult& result : adapter->Poll()) {
      ++ends.at(result.id);
      ++got;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, std::vector<int>(kThreads * kJobs, 1));
  EXPECT_EQ(adapter->Pending(), 0U);
}

TEST(A6, AClosedAdapterFinishesWhatItHas) {
  std::latch release(1);
  auto adapter = Threaded({.threads = 1, .initial_retry = milliseconds(1)});
  std::atomic<int> left = 2;
  adapter->SubmitBindingJob(Job(1, [&] {
    release.wait();
    return left-- > 0 ? Status::Error("not yet") : Status();
  }));
  adapter->SubmitBindingJob(Job(2, Succeed));
  adapter->Close();
  EXPECT_EQ(adapter->SubmitBindingJob(Job(3, Succeed)), Submit::kClosed);
  release.count_down();
  const std::vector<BindingResult> results = Finish(*adapter);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].id, 1U);
  EXPECT_EQ(results[1].attempts, 3);

  const VirtualClock clock;
  auto inlined = Inline(clock);
  inlined->SubmitBindingJob(Job(1, Succeed));
  inlined->Close();
  EXPECT_EQ(inlined->SubmitBindingJob(Job(2, Succeed)), Submit::kClosed);
  EXPECT_EQ(Finish(*inlined).size(), 1U);
}

TEST(A6, DestructionWaitsForRunningJobs) {
  std::latch running(1), release(1);
  std::atomic<bool> ended = false;
  auto adapter = Threaded({.threads = 1});
  adapter->SubmitBindingJob(Job(1, [&] {
    running.count_down();
    release.wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    ended = true;
    return Status::Error("down");
  }));
  running.wait();
  std::thread destroyer([&] {
    release.count_down();
    adapter.reset();
    EXPECT_TRUE(ended);
  });
  destroyer.join();
}

TEST(A6, JobsAreDestroyedBeforeTheirResults) {
  auto adapter = Threaded({.threads = 1});
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  adapter->SubmitBindingJob(Job(1, [held = std::move(held)] { return Status(); }));
  EXPECT_EQ(Finish(*adapter).size(), 1U);
  EXPECT_TRUE(watched.expired());
}

// A caller that waits for other things too.
TEST(A6, ResultsWakeWhoeverWaitsElsewhere) {
  Inbox<int> inbox;
  BindingOptions options = {.threads = 1};
  options.on_result = [&] {
    inbox.Wake();
    throw std::runtime_error("nobody hears this");
  };
  auto adapter = Threaded(options);
  for (std::uint64_t id = 0; id < 3; ++id) {
    adapter->SubmitBindingJob(Job(id, Succeed));
    EXPECT_FALSE(inbox.Wait(kForever));
    EXPECT_EQ(adapter->Poll().size(), 1U);
  }
}

TEST(A6, InlineJobsRunWhenTheyAreDue) {
  VirtualClock clock;
  auto adapter = Inline(clock, {}, milliseconds(10));
  EXPECT_EQ(adapter->NextTime(), std::nullopt);
  std::vector<std::uint64_t> order;
  const auto submit = [&](std::uint64_t id) {
    EXPECT_EQ(adapter->SubmitBindingJob(Job(id,
                                            [&order, id] {
                                              order.push_back(id);
                                              return Status();
                                            })),
              Submit::kAccepted);
  };
  submit(3);
  submit(1);
  clock.Advance(milliseconds(4));
  submit(2);
  EXPECT_EQ(adapter->NextTime(), milliseconds(10));
  EXPECT_TRUE(adapter->Poll().empty());
  EXPECT_EQ(adapter->Pending(), 3U);
  clock.Set(milliseconds(10));
  EXPECT_EQ(adapter->Poll().size(), 2U);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(adapter->NextTime(), milliseconds(14));
  EXPECT_EQ(adapter->Pending(), 1U);
  clock.Set(milliseconds(100));
  submit(5);
  EXPECT_EQ(adapter->Poll().size(), 1U);
  EXPECT_EQ(order.back(), 2U);
  EXPECT_EQ(adapter->NextTime(), milliseconds(110));
}

TEST(A6, InlineJobsWithoutLatencyAreDueAtOnce) {
  const VirtualClock clock;
  auto adapter = Inline(clock);
  // One that submits another: that is due as well.
  adapter->SubmitBindingJob(Job(1, [&] {
    EXPECT_EQ(adapter->Pending(), 1U);
    EXPECT_EQ(adapter->SubmitBindingJob(Job(2, Succeed)), Submit::kAccepted);
    return Status();
  }));
  EXPECT_EQ(adapter->NextTime(), nanoseconds(0));
  const std::vector<BindingResult> results = adapter->Poll();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].id, 1U);
  EXPECT_EQ(results[1].id, 2U);
  EXPECT_EQ(adapter->NextTime(), std::nullopt);
}

// A retry and new jobs that are due together: the one submitted first runs first.
TEST(A6, InlineRetriesKeepTheirPlace) {
  VirtualClock clock;
  auto adapter = Inline(clock, {.initial_retry = milliseconds(10)});
  std::vector<int> order;
  int left = 1;
  adapter->SubmitBindingJob(Job(1, [&] {
    order.push_back(1);
    return left-- > 0 ? Status::Error("not yet") : Status();
  }));
  EXPECT_TRUE(adapter->Poll().empty());
  clock.Set(milliseconds(10));
  adapter->SubmitBindingJob(Job(2, [&] {
    order.push_back(2);
    return Status();
  }));
  EXPECT_EQ(adapter->Poll().size(), 2U);
  EXPECT_EQ(order, (std::vector<int>{1, 1, 2}));
}

TEST(A6, InlineJobsWorkAtTheEndsOfTime) {
  VirtualClock late(nanoseconds::max() - nanoseconds(1));
  auto adapter = Inline(late, {}, hours(1));
  adapter->SubmitBindingJob(Job(1, [] { return Status::Error("down"); }));
  EXPECT_EQ(adapter->NextTime(), nanoseconds::max());
  late.Set(nanoseconds::max());
  EXPECT_EQ(Finish(*adapter).at(0).attempts, 4);  // no time passes any more

  VirtualClock early(nanoseconds::min());
  adapter = Inline(early);
  adapter->SubmitBindingJob(Job(1, [&] {
    early.Set(nanoseconds::max());
    return Status::Error("down");
  }));
  EXPECT_EQ(adapter->Poll().at(0).attempts, 1);
}

TEST(A6, BindingOptionsAreChecked) {
  const auto message = [](const BindingOptions& options) {
    const Result<void> valid = Validate(options);
    const bool created = ThreadedAdapter::Create(options).ok();
    EXPECT_EQ(created, valid.ok());
    EXPECT_EQ(InlineAdapter::Create(VirtualClock(), options).ok(), valid.ok());
    return valid ? "" : valid.error().message();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({.threads = 1, .capacity = 1, .retries = 0, .initial_retry = nanoseconds(0)}),
            "");
  EXPECT_EQ(message({.threads = 0}), "binding: threads: 0 (allowed: 1 to 256)");
  EXPECT_EQ(message({.threads = 257}), "binding: threads: 257 (allowed: 1 to 256)");
  EXPECT_EQ(message({.capacity = 0}), "binding: capacity: 0 (allowed: at least 1)");
  EXPECT_EQ(message({.retries = -1}), "binding: retries: -1 (allowed: at least 0)");
  EXPECT_EQ(message({.initial_retry = nanoseconds(-1)}),
            "binding: initial_retry: -1 (allowed: 0 to 24 h, in nanoseconds)");
  EXPECT_EQ(message({.timeout = nanoseconds(0)}),
            "binding: timeout: 0 (allowed: above 0 and at most 24 h, in nanoseconds)");
  EXPECT_EQ(message({.timeout = hours(25)}),
            "binding: timeout: 90000000000000 (allowed: above 0 and at most 24 h, in nanoseconds)");
  EXPECT_EQ(InlineAdapter::Create(VirtualClock(), {}, nanoseconds(-1)).error().message(),
            "binding: latency: -1 (allowed: at least 0, in nanoseconds)");
}

}  // namespace
}  // namespace schedfw
