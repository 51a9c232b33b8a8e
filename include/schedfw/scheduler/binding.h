// ExecutorAdapter: binds pods beside the scheduling cycle, on threads or in virtual time.
#ifndef SCHEDFW_SCHEDULER_BINDING_H_
#define SCHEDFW_SCHEDULER_BINDING_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/base/clock.h"
#include "schedfw/base/inline.h"
#include "schedfw/base/result.h"
#include "schedfw/base/status.h"
#include "schedfw/cluster/pod_info.h"
#include "schedfw/scheduler/inbox.h"

namespace schedfw {

/// The binding of one pod.
struct BindingJob {
  std::uint64_t id = 0;  ///< the caller's; comes back in the result
  PodPtr pod;
  std::string node;
  /// PreBind and Bind of the pod. Called on a thread of the adapter, once an attempt, never twice
  /// at once. What it throws counts as an Error with the exception's text. It is destroyed before
  /// the result is handed out.
  std::function<Status()> run;
};

/// How a job ended.
struct BindingResult {
  std::uint64_t id = 0;
  Status status;     ///< of the last attempt
  int attempts = 0;  ///< at least 1
};

struct BindingOptions {
  int threads = 4;              ///< 1 to 256
  std::size_t capacity = 1024;  ///< jobs that may be pending at a time, at least 1
  int retries = 3;              ///< attempts after the first one, at least 0
  /// The time between the end of the first attempt and the start of the next; it doubles from retry
  /// to retry. 0 to 24 h.
  std::chrono::nanoseconds initial_retry = std::chrono::milliseconds(100);
  /// How long after the start of the first attempt a retry may start. Above 0, at most 24 h.
  ///
  /// It ends no attempt: a call that hangs can't be stopped from outside, and as long as it may
  /// still bind the pod its outcome is unknown. To report it as failed would let the pod be bound
  /// twice, so such a job stays pending, and the pod assumed, until the call returns.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  /// Called when a result has come, on the adapter's thread; wakes a caller that waits for other
  /// things too. May be empty, must be quick, and what it throws is dropped. InlineAdapter has no
  /// use for it.
  std::function<void()> on_result = nullptr;
};

/// Error: an option is outside its bounds.
Result<void> Validate(const BindingOptions& options);

/// Runs binding jobs and says how they ended, exactly once each.
///
/// An attempt that ends with an Error is repeated, as BindingOptions says; Success, a rejection and
/// every other status end the job. At most `capacity` jobs are pending, that is, accepted and their
/// results not yet handed out by Poll. A caller that meets kFull polls first and submits later.
class ExecutorAdapter {
 public:
  enum class Submit : std::uint8_t { kAccepted, kFull, kClosed };

  virtual ~ExecutorAdapter() = default;
  ExecutorAdapter(const ExecutorAdapter&) = delete;
  ExecutorAdapter& operator=(const ExecutorAdapter&) = delete;

  /// Hands a job over; returns at once, whatever the jobs before it do. A job that isn't accepted
  /// is dropped: while Pending() is below the capacity, the only thread that submits won't meet
  /// kFull.
  virtual Submit SubmitBindingJob(BindingJob job) = 0;

  /// The results since the last call, in the order in which the jobs ended. Doesn't wait.
  virtual std::vector<BindingResult> Poll() = 0;

  /// Waits until Poll has something to do; false after `timeout`, and at once if nothing is
  /// pending.
  virtual bool WaitForResult(std::chrono::nanoseconds timeout) = 0;

  /// How many jobs were accepted and have not had their result handed out.
  virtual std::size_t Pending() const = 0;

  /// Accepts no more jobs. Those accepted are finished, with their retries, and their results can
  /// be polled. Doesn't wait.
  virtual void Close() = 0;

 protected:
  ExecutorAdapter() = default;
};

namespace internal {

struct BindingTask {
  BindingJob job;
  int attempts = 0;
  std::chrono::nanoseconds begin{0};  // of the first attempt
};

// Tasks by the time they are due, then in the order of submission.
using BindingTasks = std::map<std::pair<std::chrono::nanoseconds, std::uint64_t>, BindingTask>;

// One attempt. Never throws.
Status RunBinding(const BindingJob& job);

// The time to the start of the next attempt; nullopt: there is none. `now` is the end of the last.
std::optional<std::chrono::nanoseconds> RetryDelay(const BindingOptions& options,
                                                   const BindingTask& task, const Status& status,
                                                   std::chrono::nanoseconds now);

}  // namespace internal

/// Runs jobs on threads of its own, those that wait longest first. A job that waits for its retry
/// keeps no thread busy.
///
/// Poll and WaitForResult are for one thread at a time, the rest for any, also from inside jobs.
class ThreadedAdapter final : public ExecutorAdapter {
 public:
  /// Starts the threads. Error: see Validate; or the system gives no more threads.
  static Result<std::unique_ptr<ThreadedAdapter>> Create(BindingOptions options = {});

  /// Waits for the attempts that run. No other starts, neither of jobs that wait nor as a retry:
  /// whoever wants them finished calls Close and polls until nothing is pending.
  ~ThreadedAdapter() override;

  Submit SubmitBindingJob(BindingJob job) override;
  std::vector<BindingResult> Poll() override;
  bool WaitForResult(std::chrono::nanoseconds timeout) override;
  std::size_t Pending() const override;
  void Close() override;

 private:
  explicit ThreadedAdapter(BindingOptions options) : options_(std::move(options)) {}

  void Work();
  // Takes the first task when it is due. An empty handle: the adapter is being destroyed.
  internal::BindingTasks::node_type Take();
  void Run(internal::BindingTasks::node_type handle);

  const BindingOptions options_;
  const SystemClock clock_;
  Inbox<BindingResult> results_;
  mutable std::mutex mutex_;
  std::condition_variable work_;  // tasks_ or stopping_ has changed
  internal::BindingTasks tasks_;  // those that no thread runs
  std::uint64_t submitted_ = 0;
  std::size_t pending_ = 0;
  bool closed_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Runs jobs inside Poll, for clocks that stand still until they are moved: an attempt takes
/// `latency` and has its effect at the end of it. Any number of jobs run side by side.
///
/// For one thread. Jobs that are due run in the order of the times they are due, then of
/// submission.
class InlineAdapter final : public ExecutorAdapter {
 public:
  /// `clock` must live as long as the adapter. Error: see Validate; or `latency` is below 0.
  static Result<std::unique_ptr<InlineAdapter>> Create(
      const Clock& clock, BindingOptions options = {},
      std::chrono::nanoseconds latency = std::chrono::nanoseconds::zero());

  Submit SubmitBindingJob(BindingJob job) override;
  std::vector<BindingResult> Poll() override;
  /// True if Poll would run a job now. It doesn't wait: nobody would move the clock.
  bool WaitForResult(std::chrono::nanoseconds timeout) override;
  std::size_t Pending() const override { return pending_; }
  void Close() override { closed_ = true; }

  /// When Poll has something to do next, by the clock; nullopt: nothing is pending.
  std::optional<std::chrono::nanoseconds> NextTime() const;

 private:
  InlineAdapter(const Clock& clock, BindingOptions options, std::chrono::nanoseconds latency)
      : clock_(clock), options_(std::move(options)), latency_(latency) {}

  const Clock& clock_;
  const BindingOptions options_;
  const std::chrono::nanoseconds latency_;
  internal::BindingTasks tasks_;
  std::uint64_t submitted_ = 0;
  std::size_t pending_ = 0;
  bool closed_ = false;
};

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/scheduler/binding_inl.h"
#endif

#endif  // SCHEDFW_SCHEDULER_BINDING_H_
