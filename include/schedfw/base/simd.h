// Run-time choice of the instruction set for loops over columns.
#ifndef SCHEDFW_BASE_SIMD_H_
#define SCHEDFW_BASE_SIMD_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace schedfw {

/// Instruction sets that loops are compiled for, each including the ones before it.
enum class SimdLevel : std::uint8_t {
  kNone,     ///< what the compiler was told to use
  kX8664V2,  ///< SSE4.2
  kAvx2,
  kAvx512,  ///< F, BW, DQ and VL
};

inline constexpr std::array<std::pair<std::string_view, SimdLevel>, 4> kSimdLevelNames{{
    {"none", SimdLevel::kNone},
    {"x86-64-v2", SimdLevel::kX8664V2},
    {"avx2", SimdLevel::kAvx2},
    {"avx512", SimdLevel::kAvx512},
}};
constexpr std::string_view SimdLevelName(SimdLevel level) {
  return kSimdLevelNames[static_cast<std::size_t>(level)].first;
}
/// The level of a name in kSimdLevelNames, or nullopt.
constexpr std::optional<SimdLevel> FindSimdLevel(std::string_view name) {
  for (const auto& [known, level] : kSimdLevelNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

/// The highest level that this machine runs.
inline SimdLevel MaxSimdLevel() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const SimdLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return SimdLevel::kAvx512;
    }
    if (__builtin_cpu_supports("avx2")) return SimdLevel::kAvx2;
    if (__builtin_cpu_supports("sse4.2")) return SimdLevel::kX8664V2;
    return SimdLevel::kNone;
  }();
  return level;
#else
  return SimdLevel::kNone;
#endif
}

namespace internal {

inline std::atomic<SimdLevel>& SimdLevelInUse() {
  static std::atomic<SimdLevel> level{MaxSimdLevel()};
  return level;
}

// The loop is inlined here and compiled for the function's target. No level may fuse a*b+c into one
// operation: results are the same to the last bit (the headers are used with -ffp-contract=off).
#if defined(__x86_64__) && defined(__GNUC__)
template <typename F, typename... Args>
[[gnu::target("sse4.2,popcnt"), gnu::noinline]] void RunX8664V2(F loop, Args... args) {
  loop(args...);
}
template <typename F, typename... Args>
[[gnu::target("avx2"), gnu::noinline]] void RunAvx2(F loop, Args... args) {
  loop(args...);
}
template <typename F, typename... Args>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::noinline]] void RunAvx512(F loop,
                                                                                    Args... args) {
  loop(args...);
}
#endif

}  // namespace internal

/// The level that RunSimd() uses; at first the highest that the machine runs.
inline SimdLevel CurrentSimdLevel() {
  return internal::SimdLevelInUse().load(std::memory_order_relaxed);
}
/// Uses another level from now on, in the whole process; false, and no change, when the machine
/// can't run it. Results don't depend on it.
inline bool SetSimdLevel(SimdLevel level) {
  if (level > MaxSimdLevel()) return false;
  internal::SimdLevelInUse().store(level, std::memory_order_relaxed);
  return true;
}

/// Marks a lambda that RunSimd() inlines.
#if defined(__GNUC__)
#define SCHEDFW_SIMD_LOOP __attribute__((always_inline))
#else
#define SCHEDFW_SIMD_LOOP
#endif

/// Runs a loop with the instructions of the current level:
/// `RunSimd([](const T* in, T* __restrict out, Row n) SCHEDFW_SIMD_LOOP { for (…) … }, in, out,
/// n)`.
///
/// The lambda captures nothing, since what it captured would have to be read again after each
/// store. The loop must be one that the compiler can vectorise: contiguous columns, no calls, no
/// early exit, no branch: conditions as masks (see simd::Mask).
template <typename F, typename... Args>
void RunSimd(F loop, Args... args) {
#if defined(__x86_64__) && defined(__GNUC__)
  switch (CurrentSimdLevel()) {
    case SimdLevel::kAvx512:
      return internal::RunAvx512(loop, args...);
    case SimdLevel::kAvx2:
      return internal::RunAvx2(loop, args...);
    case SimdLevel::kX8664V2:
      return internal::RunX8664V2(loop, args...);
    case SimdLevel::kNone:
      break;
  }
#endif
  loop(args...);
}

namespace simd {

/// All bits of a condition, to select with: `Mask(c) & value` is `c ? value : 0`.
inline std::int64_t Mask(bool condition) { return -static_cast<std::int64_t>(condition); }

/// An integer from 0 to 2^52 − 1 as a double, exactly: before AVX-512 no instruction does that.
inline double ToDouble(std::int64_t value) {
  constexpr std::uint64_t kBitsOfTwo52 = 0x4330000000000000u;
  return std::bit_cast<double>(static_cast<std::uint64_t>(value) | kBitsOfTwo52) - 0x1p52;
}

}  // namespace simd
}  // namespace schedfw

#endif  // SCHEDFW_BASE_SIMD_H_
