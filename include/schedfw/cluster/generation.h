// Generations: numbers that tell states apart, across forks too.
#ifndef SCHEDFW_CLUSTER_GENERATION_H_
#define SCHEDFW_CLUSTER_GENERATION_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace schedfw {

/// Gives out numbers that grow and that nobody else in the process gets.
///
/// Two rows of any clusters that have the same number are in the same state, whichever way they
/// came there. A copy starts on a range of its own, above all numbers given out so far. Results may
/// compare numbers, but not depend on their values.
class GenerationSource {
 public:
  GenerationSource() = default;
  GenerationSource(const GenerationSource&) {}
  GenerationSource(GenerationSource&& other) noexcept
      : next_(std::exchange(other.next_, 0)), end_(std::exchange(other.end_, 0)) {}
  GenerationSource& operator=(GenerationSource other) noexcept {
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
    return *this;
  }

  std::uint64_t Next() {
    if (next_ == end_) {
      static std::atomic<std::uint64_t> reserved{1};
      next_ = reserved.fetch_add(kRange, std::memory_order_relaxed);
      end_ = next_ + kRange;
    }
    return next_++;
  }

 private:
  static constexpr std::uint64_t kRange = 4096;

  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_GENERATION_H_
