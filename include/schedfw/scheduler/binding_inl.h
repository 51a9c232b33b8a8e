// Definitions of the executor adapters (see base/inline.h).
#ifndef SCHEDFW_SCHEDULER_BINDING_INL_H_
#define SCHEDFW_SCHEDULER_BINDING_INL_H_

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/scheduler/binding.h"

namespace schedfw {
namespace internal {

// Clocks may stand anywhere, so sums and differences of times stop at the ends of their range.
inline std::chrono::nanoseconds After(std::chrono::nanoseconds time,
                                      std::chrono::nanoseconds delay) {
  constexpr auto kMax = std::chrono::nanoseconds::max();
  return time.count() > 0 && delay > kMax - time ? kMax : time + delay;
}
inline std::chrono::nanoseconds Between(std::chrono::nanoseconds begin,
                                        std::chrono::nanoseconds end) {
  constexpr auto kMax = std::chrono::nanoseconds::max();
  return begin.count() < 0 && end > kMax + begin ? kMax : end - begin;
}

SCHEDFW_INLINE Status RunBinding(const BindingJob& job) {
  try {
    return job.run();
  } catch (const std::exception& error) {
    return Status::Error(error.what());
  } catch (...) {
    return Status::Error("an exception that says nothing");
  }
}

SCHEDFW_INLINE std::optional<std::chrono::nanoseconds> RetryDelay(const BindingOptions& options,
                                                                  const BindingTask& task,
                                                                  const Status& status,
                                                                  std::chrono::nanoseconds now) {
  if (status.code() != Code::kError || task.attempts > options.retries) return std::nullopt;
  const std::chrono::nanoseconds left = options.timeout - Between(task.begin, now);
  std::chrono::nanoseconds delay = options.initial_retry;
  // What is doubled is at most the time-out, so this can't overflow.
  for (int i = 1; i < task.attempts && delay.count() > 0 && delay <= left; ++i) delay *= 2;
  if (delay > left) return std::nullopt;
  return delay;
}

}  // namespace internal

SCHEDFW_INLINE Result<void> Validate(const BindingOptions& options) {
  constexpr std::chrono::nanoseconds kDay = std::chrono::hours(24);
  constexpr std::chrono::nanoseconds kZero = std::chrono::nanoseconds::zero();
  const auto refuse = [](const char* name, std::int64_t value, const char* allowed) {
    return ArgumentError("binding: " + std::string(name) + ": " + std::to_string(value) +
                         " (allowed: " + allowed + ")");
  };
  if (options.threads < 1 || options.threads > 256) {
    return refuse("threads", options.threads, "1 to 256");
  }
  if (options.capacity == 0) return refuse("capacity", 0, "at least 1");
  if (options.retries < 0) return refuse("retries", options.retries, "at least 0");
  if (options.initial_retry < kZero || options.initial_retry > kDay) {
    return refuse("initial_retry", options.initial_retry.count(), "0 to 24 h, in nanoseconds");
  }
  if (options.timeout <= kZero || options.timeout > kDay) {
    return refuse("timeout", options.timeout.count(), "above 0 and at most 24 h, in nanoseconds");
  }
  return {};
}

SCHEDFW_INLINE Result<std::unique_ptr<ThreadedAdapter>> ThreadedAdapter::Create(
    BindingOptions options) {
  if (auto valid = Validate(options); !valid) return valid.error();
  auto out = std::unique_ptr<ThreadedAdapter>(new ThreadedAdapter(std::move(options)));
  try {
    for (int i = 0; i < out->options_.threads; ++i) {
      out->threads_.emplace_back([adapter = out.get()] { adapter->Work(); });
    }
  } catch (const std::system_error& error) {
    return ArgumentError("binding: threads: " + std::to_string(out->options_.threads) +
                         " can't be started: " + error.what());
  }
  return out;
}

SCHEDFW_INLINE ThreadedAdapter::~ThreadedAdapter() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    stopping_ = true;
    work_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

SCHEDFW_INLINE ExecutorAdapter::Submit ThreadedAdapter::SubmitBindingJob(BindingJob job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return Submit::kClosed;
  if (pending_ >= options_.capacity) return Submit::kFull;
  tasks_.try_emplace({clock_.Now(), submitted_}, internal::BindingTask{std::move(job)});
  ++submitted_;
  ++pending_;
  work_.notify_one();
  return Submit::kAccepted;
}

SCHEDFW_INLINE std::vector<BindingResult> ThreadedAdapter::Poll() {
  std::vector<BindingResult> out;
  if (results_.Drain(out)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_ -= out.size();
  }
  return out;
}

SCHEDFW_INLINE bool ThreadedAdapter::WaitForResult(std::chrono::nanoseconds timeout) {
  return Pending() != 0 && results_.Wait(timeout);
}

SCHEDFW_INLINE std::size_t ThreadedAdapter::Pending() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pending_;
}

SCHEDFW_INLINE void ThreadedAdapter::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

SCHEDFW_INLINE void ThreadedAdapter::Work() {
  while (internal::BindingTasks::node_type handle = Take()) Run(std::move(handle));
}

SCHEDFW_INLINE internal::BindingTasks::node_type ThreadedAdapter::Take() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (tasks_.empty()) {
      work_.wait(lock);
      continue;
    }
    const std::chrono::nanoseconds due = tasks_.begin()->first.first;
    if (due > clock_.Now()) {
      work_.wait_until(lock, std::chrono::steady_clock::time_point(due));
      continue;
    }
    internal::BindingTasks::node_type handle = tasks_.extract(tasks_.begin());
    // While this thread is busy another one must take the next task, or wait for its time.
    if (!tasks_.empty()) work_.notify_one();
    return handle;
  }
  return {};
}

SCHEDFW_INLINE void ThreadedAdapter::Run(internal::BindingTasks::node_type handle) {
  internal::BindingTask& task = handle.mapped();
  if (task.attempts++ == 0) task.begin = clock_.Now();
  Status status = internal::RunBinding(task.job);
  const std::chrono::nanoseconds now = clock_.Now();
  if (const auto delay = internal::RetryDelay(options_, task, status, now)) {
    handle.key().first = internal::After(now, *delay);
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.insert(std::move(handle));
    work_.notify_one();
    return;
  }
  BindingResult result{task.job.id, std::move(status), task.attempts};
  handle = {};
  results_.Post(std::move(result));
  if (!options_.on_result) return;
  try {
    options_.on_result();
  } catch (...) {  // NOLINT: there is nobody to tell
  }
}

SCHEDFW_INLINE Result<std::unique_ptr<InlineAdapter>> InlineAdapter::Create(
    const Clock& clock, BindingOptions options, std::chrono::nanoseconds latency) {
  if (auto valid = Validate(options); !valid) return valid.error();
  if (latency.count() < 0) {
    return ArgumentError("binding: latency: " + std::to_string(latency.count()) +
                         " (allowed: at least 0, in nanoseconds)");
  }
  return std::unique_ptr<InlineAdapter>(new InlineAdapter(clock, std::move(options), latency));
}

SCHEDFW_INLINE ExecutorAdapter::Submit InlineAdapter::SubmitBindingJob(BindingJob job) {
  if (closed_) return Submit::kClosed;
  if (pending_ >= options_.capacity) return Submit::kFull;
  const std::chrono::nanoseconds now = clock_.Now();
  tasks_.try_emplace({internal::After(now, latency_), submitted_},
                     internal::BindingTask{std::move(job), 0, now});
  ++submitted_;
  ++pending_;
  return Submit::kAccepted;
}

SCHEDFW_INLINE std::vector<BindingResult> InlineAdapter::Poll() {
  std::vector<BindingResult> out;
  while (!tasks_.empty() && tasks_.begin()->first.first <= clock_.Now()) {
    // Out of the map first: the job may submit others.
    internal::BindingTasks::node_type handle = tasks_.extract(tasks_.begin());
    internal::BindingTask& task = handle.mapped();
    ++task.attempts;
    Status status = internal::RunBinding(task.job);
    const std::chrono::nanoseconds now = clock_.Now();
    if (const auto delay = internal::RetryDelay(options_, task, status, now)) {
      handle.key().first = internal::After(internal::After(now, *delay), latency_);
      tasks_.insert(std::move(handle));
      continue;
    }
    out.push_back({task.job.id, std::move(status), task.attempts});
    --pending_;
  }
  return out;
}

SCHEDFW_INLINE bool InlineAdapter::WaitForResult(std::chrono::nanoseconds /*timeout*/) {
  return !tasks_.empty() && tasks_.begin()->first.first <= clock_.Now();
}

SCHEDFW_INLINE std::optional<std::chrono::nanoseconds> InlineAdapter::NextTime() const {
  if (tasks_.empty()) return std::nullopt;
  return tasks_.begin()->first.first;
}

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_BINDING_INL_H_
