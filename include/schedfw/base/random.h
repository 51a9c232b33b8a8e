// Random: a seeded generator whose stream is the same on every platform.
#ifndef SCHEDFW_BASE_RANDOM_H_
#define SCHEDFW_BASE_RANDOM_H_

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace schedfw {

/// A seeded pseudo-random generator: equal seeds give equal streams, whatever the platform.
///
/// The standard library leaves its distributions to each implementation, so a run that breaks ties
/// with them can't be repeated elsewhere. This is xoshiro256** seeded by splitmix64, by David
/// Blackman and Sebastiano Vigna (public domain, https://prng.di.unimi.it/xoshiro256starstar.c and
/// splitmix64.c). Satisfies std::uniform_random_bit_generator. Not for secrets; one object must
/// not be used by two threads at once. All operations take O(1) time (Below: expected).
class Random {
 public:
  using result_type = std::uint64_t;

  /// The generator whose stream `seed` selects; every seed is a good one, zero too.
  explicit constexpr Random(std::uint64_t seed) {
    // One step of splitmix64 a word: the state can't become all zeros, which would stay so.
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31);
    }
  }

  /// The next 64 random bits.
  constexpr std::uint64_t Next() {
    const std::uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return out;
  }

  /// A number from 0 to n - 1, each equally likely; 0 if n is 0.
  constexpr std::uint64_t Below(std::uint64_t n) {
    if (n == 0) return 0;
    // Taking remainders would favour small numbers: 2^64 mod n draws are one too many, so those
    // are repeated. `n - 1` draws at most are repeated out of 2^64.
    const std::uint64_t surplus = (0 - n) % n;
    std::uint64_t draw = Next();
    while (draw < surplus) draw = Next();
    return draw % n;
  }

  /// A number in [0, 1), one of 2^53 evenly spaced ones.
  constexpr double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  /// What the next numbers follow from; never all zeros.
  constexpr const std::array<std::uint64_t, 4>& state() const { return state_; }
  /// Goes on from the state of another generator, which isn't all zeros.
  constexpr void set_state(const std::array<std::uint64_t, 4>& state) { state_ = state; }

  /// The smallest number the generator gives.
  static constexpr std::uint64_t min() { return 0; }
  /// The largest number the generator gives.
  static constexpr std::uint64_t max() { return std::numeric_limits<std::uint64_t>::max(); }
  /// The same as Next(), for std::shuffle and the like.
  constexpr std::uint64_t operator()() { return Next(); }

  /// True if both give the same numbers from here on.
  friend constexpr bool operator==(const Random&, const Random&) = default;

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_RANDOM_H_
