// Copy-on-write storage: copies share memory until one of them is written.
#ifndef SCHEDFW_CLUSTER_COW_H_
#define SCHEDFW_CLUSTER_COW_H_

#include <algorithm>
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
  /// Makes room for `rows` rows without a spare one.
  void Reserve(std::size_t rows) { values_.Mutable().reserve(rows); }
  std::size_t capacity() const { return values_->capacity(); }
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
  /// Adds rows as T() makes them, up to `size`.
  void Grow(std::size_t size) {
    blocks_.Mutable().resize((size + kBlock - 1) / kBlock);
    size_ = size;
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

/// A hash map from 64-bit keys below 2^64 - 1 whose copies share memory block by block.
///
/// Open addressing with linear probing, at most 4/5 full: for small values 20 to 40 bytes an entry.
/// Find, Set and Erase are O(1); the first write to a block after a fork copies 64 slots. It offers
/// no iteration: results never depend on hash order.
template <typename V>
class CowMap {
 public:
  const V* Find(std::uint64_t key) const {
    if (slots_.size() == 0) return nullptr;
    const Slot& slot = slots_[Locate(key)];
    return slot.key_plus_one == 0 ? nullptr : &slot.value;
  }
  V* FindMutable(std::uint64_t key) {
    if (slots_.size() == 0) return nullptr;
    const std::size_t at = Locate(key);
    return slots_[at].key_plus_one == 0 ? nullptr : &slots_.Mutable(at).value;
  }
  /// Inserts or overwrites.
  void Set(std::uint64_t key, V value) {
    if (5 * (size_ + 1) > 4 * slots_.size()) Grow();
    Slot& slot = slots_.Mutable(Locate(key));
    if (slot.key_plus_one == 0) ++size_;
    slot = {key + 1, std::move(value)};
  }
  bool Erase(std::uint64_t key) {
    if (Find(key) == nullptr) return false;
    // What follows moves up, so that no look-up stops at the hole that would be left.
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = Locate(key);
    for (std::size_t at = (hole + 1) & mask; slots_[at].key_plus_one != 0; at = (at + 1) & mask) {
      const std::size_t home = Index(slots_[at].key_plus_one - 1);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots_.Mutable(hole) = std::move(slots_.Mutable(at));
      hole = at;
    }
    slots_.Mutable(hole) = Slot();
    --size_;
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key_plus_one = 0;  // 0: free
    V value{};
  };

  std::size_t Index(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;  // Fibonacci hashing; the number of slots is a power of two
    return static_cast<std::size_t>(key >> 32) & (slots_.size() - 1);
  }
  // The slot that holds the key, or the free one where it belongs.
  std::size_t Locate(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = Index(key);
    while (slots_[at].key_plus_one != 0 && slots_[at].key_plus_one != key + 1) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    BlockColumn<Slot> old = std::move(slots_);
    slots_ = BlockColumn<Slot>();
    slots_.Grow(std::max<std::size_t>(64, 2 * old.size()));
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i].key_plus_one != 0) slots_.Mutable(Locate(old[i].key_plus_one - 1)) = old[i];
    }
  }

  BlockColumn<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_COW_H_
