// Copy-on-write storage: copies share memory until one of them is written.
#ifndef SCHEDFW_CLUSTER_COW_H_
#define SCHEDFW_CLUSTER_COW_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace schedfw {

/// A value whose copies share one allocation; Mutable() makes it private first.
///
/// Copying is one atomic increment. Distinct Cow objects may be used from distinct threads at once
/// even while they share memory; one object is not safe for concurrent writes, as usual.
template <typename T>
class Cow {
 public:
  Cow() = default;
  explicit Cow(T value) : block_(new Block{{1}, std::move(value)}) {}
  Cow(const Cow& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Cow(Cow&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Cow& operator=(Cow other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Cow() { Release(); }

  const T& operator*() const { return block_ ? block_->value : Empty(); }
  const T* operator->() const { return &**this; }

  /// The value for writing; O(1) when nobody else shares it, else a copy.
  T& Mutable() {
    if (block_ == nullptr) {
      block_ = new Block{{1}, T()};
    } else if (block_->references.load(std::memory_order_acquire) != 1) {
      Block* copy = new Block{{1}, block_->value};
      Release();
      block_ = copy;
    }
    return block_->value;
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> references;
    T value;
  };

  static const T& Empty() {
    static const T kEmpty{};
    return kEmpty;
  }
  void Release() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;
    block_ = nullptr;
  }

  Block* block_ = nullptr;
};

/// A contiguous column of plain values, one a row.
template <typename T>
class Column {
 public:
  std::size_t size() const { return values_->size(); }
  const T& operator[](std::size_t row) const { return (*values_)[row]; }
  const T* data() const { return values_->data(); }
  std::span<const T> span() const { return {values_->data(), values_->size()}; }

  std::vector<T>& Mutable() { return values_.Mutable(); }
  void Set(std::size_t row, T value) { values_.Mutable()[row] = value; }
  void PushBack(T value) { values_.Mutable().push_back(value); }
  /// Moves the last row's value into `row` and drops the last row.
  void SwapRemove(std::size_t row) {
    std::vector<T>& values = values_.Mutable();
    values[row] = values.back();
    values.pop_back();
  }

 private:
  Cow<std::vector<T>> values_;
};

/// A column of values that are costly to copy: shared in blocks of 64 rows, so that the first write
/// after a fork copies one block and not the whole column.
template <typename T>
class BlockColumn {
 public:
  static constexpr std::size_t kBlock = 64;

  std::size_t size() const { return size_; }
  const T& operator[](std::size_t row) const { return (*(*blocks_)[row / kBlock])[row % kBlock]; }
  T& Mutable(std::size_t row) { return blocks_.Mutable()[row / kBlock].Mutable()[row % kBlock]; }
  void PushBack(T value) {
    if (size_ % kBlock == 0) blocks_.Mutable().emplace_back();
    ++size_;
    Mutable(size_ - 1) = std::move(value);
  }
  void SwapRemove(std::size_t row) {
    if (row + 1 != size_) Mutable(row) = std::move(Mutable(size_ - 1));
    PopBack();
  }
  void PopBack() {
    Mutable(size_ - 1) = T();
    --size_;
    if (size_ % kBlock == 0) blocks_.Mutable().pop_back();
  }

 private:
  Cow<std::vector<Cow<std::array<T, kBlock>>>> blocks_;
  std::size_t size_ = 0;
};

/// A hash map from 64-bit keys whose copies share memory bucket by bucket.
///
/// Find, Insert and Erase are O(1); the first write to a bucket block after a fork copies 64
/// buckets. It offers no iteration: results never depend on hash order.
template <typename V>
class CowMap {
 public:
  const V* Find(std::uint64_t key) const {
    if (buckets_.size() == 0) return nullptr;
    for (const auto& [k, v] : buckets_[Index(key)]) {
      if (k == key) return &v;
    }
    return nullptr;
  }
  V* FindMutable(std::uint64_t key) {
    if (Find(key) == nullptr) return nullptr;
    for (auto& [k, v] : buckets_.Mutable(Index(key))) {
      if (k == key) return &v;
    }
    return nullptr;
  }
  /// Inserts or overwrites.
  void Set(std::uint64_t key, V value) {
    if (V* found = FindMutable(key)) {
      *found = std::move(value);
      return;
    }
    if (size_ + 1 > 2 * buckets_.size()) Grow();
    buckets_.Mutable(Index(key)).emplace_back(key, std::move(value));
    ++size_;
  }
  bool Erase(std::uint64_t key) {
    if (Find(key) == nullptr) return false;
    auto& bucket = buckets_.Mutable(Index(key));
    for (auto& entry : bucket) {
      if (entry.first == key) {
        entry = std::move(bucket.back());
        bucket.pop_back();
        --size_;
        return true;
      }
    }
    return false;
  }
  std::size_t size() const { return size_; }

 private:
  using Bucket = std::vector<std::pair<std::uint64_t, V>>;

  std::size_t Index(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;  // Fibonacci hashing; the bucket count is a power of two
    return static_cast<std::size_t>(key >> 32) & (buckets_.size() - 1);
  }
  void Grow() {
    const std::size_t wanted = buckets_.size() == 0 ? 64 : 4 * buckets_.size();
    BlockColumn<Bucket> old = std::move(buckets_);
    buckets_ = BlockColumn<Bucket>();
    for (std::size_t i = 0; i < wanted; ++i) buckets_.PushBack({});
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (const auto& entry : old[i]) buckets_.Mutable(Index(entry.first)).push_back(entry);
    }
  }

  BlockColumn<Bucket> buckets_;
  std::size_t size_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_COW_H_
