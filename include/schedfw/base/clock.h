// Clock: the time a scheduler goes by, real or simulated.
#ifndef SCHEDFW_BASE_CLOCK_H_
#define SCHEDFW_BASE_CLOCK_H_

#include <atomic>
#include <chrono>
#include <limits>

namespace schedfw {

/// A source of time that never goes back; may be read from many threads at once.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The time since an origin that is fixed for this clock but otherwise arbitrary.
  virtual std::chrono::nanoseconds Now() const = 0;

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

/// The machine's steady clock.
class SystemClock final : public Clock {
 public:
  /// The time since the steady clock's origin, on most systems the last start of the machine.
  std::chrono::nanoseconds Now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
};

/// A clock that stands still until it is moved, for simulations and tests.
class VirtualClock final : public Clock {
 public:
  /// A clock that shows `start`.
  explicit VirtualClock(std::chrono::nanoseconds start = std::chrono::nanoseconds::zero())
      : now_(start.count()) {}

  /// The time last set.
  std::chrono::nanoseconds Now() const override {
    return std::chrono::nanoseconds(now_.load(std::memory_order_acquire));
  }

  /// Moves the clock forward by `amount`.
  ///
  /// False, and the clock stays, if `amount` is negative or leads beyond what nanoseconds can hold.
  bool Advance(std::chrono::nanoseconds amount) {
    if (amount < std::chrono::nanoseconds::zero()) return false;
    Count now = now_.load(std::memory_order_acquire);
    do {
      if (now > 0 && amount.count() > std::numeric_limits<Count>::max() - now) return false;
    } while (!now_.compare_exchange_weak(now, now + amount.count(), std::memory_order_acq_rel));
    return true;
  }

  /// Moves the clock to `time`; false, and the clock stays, if that lies in its past.
  bool Set(std::chrono::nanoseconds time) {
    Count now = now_.load(std::memory_order_acquire);
    do {
      if (time.count() < now) return false;
    } while (!now_.compare_exchange_weak(now, time.count(), std::memory_order_acq_rel));
    return true;
  }

 private:
  using Count = std::chrono::nanoseconds::rep;

  std::atomic<Count> now_;
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_CLOCK_H_
