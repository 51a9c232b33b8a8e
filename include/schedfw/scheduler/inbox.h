// Inbox: messages from many threads to one.
#ifndef SCHEDFW_SCHEDULER_INBOX_H_
#define SCHEDFW_SCHEDULER_INBOX_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace schedfw {

/// How often an inbox was locked, by all threads, and what that cost them.
struct InboxStats {
  std::uint64_t acquisitions = 0;
  std::uint64_t contended = 0;  ///< another thread had it
  std::uint64_t waited_ns = 0;  ///< until it was free then, by the steady clock
};

/// Takes messages from any thread and gives them, in the order in which they came, to one thread.
///
/// Drain, WaitUntil and Wait are for the receiving thread alone, the rest for all threads.
template <typename T>
class Inbox {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// An inbox for at most `capacity` messages at a time; 0: any number.
  explicit Inbox(std::size_t capacity = 0) : capacity_(capacity) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Adds a message. False, and the message is dropped, if the inbox is full or closed.
  bool Post(T message) {
    const std::unique_lock<std::mutex> lock = Lock();
    if (closed_ || (capacity_ != 0 && messages_.size() >= capacity_)) return false;
    messages_.push_back(std::move(message));
    if (messages_.size() == 1) changed_.notify_one();
    return true;
  }

  /// Replaces the contents of `out` by all messages; false if there are none.
  ///
  /// The memory of `out` is used for what comes next, so passing the same vector each time saves
  /// allocations.
  bool Drain(std::vector<T>& out) {
    out.clear();
    const std::unique_lock<std::mutex> lock = Lock();
    out.swap(messages_);
    return !out.empty();
  }

  /// Waits for a message. False if there is none: it is `time`, or Wake or Close was called.
  bool WaitUntil(TimePoint time) {
    std::unique_lock<std::mutex> lock = Lock();
    changed_.wait_until(lock, time, [&] { return !messages_.empty() || woken_ || closed_; });
    woken_ = false;
    return !messages_.empty();
  }
  /// The same for a span of time from now on.
  bool Wait(std::chrono::nanoseconds timeout) {
    const TimePoint now = std::chrono::steady_clock::now();
    return WaitUntil(timeout < TimePoint::max() - now ? now + timeout : TimePoint::max());
  }

  /// Ends the wait that goes on, else the next one, without a message.
  void Wake() {
    const std::unique_lock<std::mutex> lock = Lock();
    woken_ = true;
    changed_.notify_one();
  }

  /// Takes no more messages. Those that are there can still be drained; nothing waits any more.
  void Close() {
    const std::unique_lock<std::mutex> lock = Lock();
    closed_ = true;
    changed_.notify_one();
  }
  bool closed() const {
    const std::unique_lock<std::mutex> lock = Lock();
    return closed_;
  }

  /// Waiting for a message is no waiting for the lock.
  InboxStats stats() const {
    const std::unique_lock<std::mutex> lock = Lock();
    return stats_;
  }

 private:
  // Only who finds it taken looks at the clock.
  std::unique_lock<std::mutex> Lock() const {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      const auto start = std::chrono::steady_clock::now();
      lock.lock();
      const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
      ++stats_.contended;
      stats_.waited_ns += static_cast<std::uint64_t>(waited.count());
    }
    ++stats_.acquisitions;
    return lock;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  mutable InboxStats stats_;  // under the lock
  std::condition_variable changed_;
  std::vector<T> messages_;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_INBOX_H_
