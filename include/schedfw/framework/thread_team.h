// ThreadTeam: threads of a TBB arena that share the pieces of short loops.
#ifndef SCHEDFW_FRAMEWORK_THREAD_TEAM_H_
#define SCHEDFW_FRAMEWORK_THREAD_TEAM_H_

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace schedfw {

/// Runs loops on the calling thread and on helpers from a TBB arena, which stay for a moment after
/// each loop: the passes of a cycle, and cycles that follow each other, find them awake. Waking a
/// thread costs as much as a pass over thousands of rows.
///
/// A helper that hasn't come yet is not waited for. One that has nothing to do for kLinger goes
/// back to the arena.
class ThreadTeam {
 public:
  /// `threads`: with the calling one.
  explicit ThreadTeam(int threads) : arena_(threads), state_(threads) {}
  ~ThreadTeam() {
    state_.closed.store(true, std::memory_order_relaxed);
    arena_.execute([this] { helpers_.wait(); });  // what hasn't begun is over at once
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls fn(i) for all i in [0, count), in any order, on some of the threads, and returns when
  /// all have returned. False: nothing was called, since the team is in another loop. An exception
  /// reaches the caller, and some of what is left isn't called then.
  template <typename F>
  bool Run(std::size_t count, F& fn) {
    State& state = state_;
    if (state.busy.exchange(true, std::memory_order_acquire)) return false;
    state.call = [](void* context, std::size_t i) { (*static_cast<F*>(context))(i); };
    state.context = const_cast<void*>(static_cast<const void*>(&fn));
    state.count = count;
    for (std::size_t m = 0; m < state.members.size(); ++m) {
      state.members[m].next.store(state.Begin(m), std::memory_order_relaxed);
    }
    state.loop.fetch_add(1, std::memory_order_relaxed);
    state.open.store(true, std::memory_order_release);
    CallHelpers(count);
    Work(state, 0);
    state.open.store(false, std::memory_order_seq_cst);
    for (int spins = 0; state.inside.load(std::memory_order_seq_cst) != 0; ++spins) {
      if (spins < kSpins) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
    const std::exception_ptr error = std::exchange(state.error, nullptr);
    state.busy.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

  /// For loops of other kinds.
  tbb::task_arena& arena() { return arena_; }

 private:
  static constexpr std::chrono::microseconds kLinger{100};
  static constexpr int kSpins = 1000;  // some 10 to 50 µs, before others get the core
  static constexpr std::size_t kCacheLine = 64;

  // What a thread has to do of a loop: the same share of it in each loop, so that what it writes
  // in one is in its own caches in the next.
  struct alignas(kCacheLine) Member {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> taken = false;  // by a helper; the first member is the calling thread
  };
  // What helpers share with the team.
  struct State {
    explicit State(int threads) : members(static_cast<std::size_t>(threads)) {}

    std::size_t Begin(std::size_t member) const { return member * count / members.size(); }

    std::vector<Member> members;
    std::atomic<bool> closed = false;
    // A loop, written while none is open and nobody is inside.
    void (*call)(void*, std::size_t) = nullptr;
    void* context = nullptr;
    std::size_t count = 0;
    std::mutex error_mutex;
    std::exception_ptr error;
    std::atomic<bool> busy = false;
    std::atomic<int> asked_for = 0;  // helpers, there or not yet
    alignas(kCacheLine) std::atomic<bool> open = false;
    std::atomic<std::uint64_t> loop = 0;
    alignas(kCacheLine) std::atomic<int> inside = 0;
  };

  static void Pause() {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

  // First what is the member's own, then what others have left.
  static void Work(State& state, std::size_t member) {
    const std::size_t members = state.members.size();
    for (std::size_t k = 0; k < members; ++k) {
      const std::size_t whose = (member + k) % members;
      std::atomic<std::size_t>& next = state.members[whose].next;
      const std::size_t end = state.Begin(whose + 1);
      while (next.load(std::memory_order_relaxed) < end) {
        const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= end) break;
        try {
          state.call(state.context, i);
        } catch (...) {
          const std::lock_guard<std::mutex> lock(state.error_mutex);
          if (!state.error) state.error = std::current_exception();
          for (Member& other : state.members) {
            other.next.store(state.count, std::memory_order_relaxed);
          }
          return;
        }
      }
    }
  }

  void CallHelpers(std::size_t count) {
    State& state = state_;
    const auto most = static_cast<int>(std::min(count, state.members.size())) - 1;
    while (state.asked_for.load(std::memory_order_relaxed) < most) {
      state.asked_for.fetch_add(1, std::memory_order_relaxed);
      try {
        arena_.execute([&] { helpers_.run([&state] { Help(state); }); });
      } catch (...) {  // no memory for it: those that are there do the work
        state.asked_for.fetch_sub(1, std::memory_order_relaxed);
        return;
      }
    }
  }

  static void Help(State& state) {
    using std::chrono::steady_clock;
    std::size_t member = 1;
    while (state.members[member].taken.exchange(true, std::memory_order_relaxed)) {
      member = member + 1 == state.members.size() ? 1 : member + 1;
    }
    std::uint64_t done = 0;  // the last loop that had nothing left
    steady_clock::time_point until = steady_clock::now() + kLinger;
    while (!state.closed.load(std::memory_order_relaxed)) {
      bool worked = false;
      if (state.open.load(std::memory_order_acquire) &&
          state.loop.load(std::memory_order_relaxed) != done) {
        // Whoever is counted inside before the loop is closed keeps it from being replaced.
        state.inside.fetch_add(1, std::memory_order_seq_cst);
        if (state.open.load(std::memory_order_seq_cst)) {
          done = state.loop.load(std::memory_order_relaxed);
          Work(state, member);
          worked = true;
        }
        state.inside.fetch_sub(1, std::memory_order_release);
      }
      if (worked) {
        until = steady_clock::now() + kLinger;
        continue;
      }
      for (int i = 0; i < 8; ++i) Pause();
      if (steady_clock::now() >= until) break;
    }
    state.members[member].taken.store(false, std::memory_order_relaxed);
    state.asked_for.fetch_sub(1, std::memory_order_relaxed);
  }

  tbb::task_arena arena_;
  State state_;
  tbb::task_group helpers_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_THREAD_TEAM_H_
