// KeyMap: values by 64-bit keys, without an allocation for each.
#ifndef SCHEDFW_BASE_KEY_MAP_H_
#define SCHEDFW_BASE_KEY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace schedfw {

/// A hash table for look-ups, which can't be walked: nothing may depend on its order. Pointers to
/// values are valid until the next change. All members are O(1) but for the growing, which halves
/// what is full.
template <typename V>
class KeyMap {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// The value, or null.
  V* Find(std::uint64_t key) {
    if (size_ == 0) return nullptr;
    Slot& slot = slots_[PlaceOf(key)];
    return slot.used ? &slot.value : nullptr;
  }
  const V* Find(std::uint64_t key) const { return const_cast<KeyMap*>(this)->Find(key); }
  bool Contains(std::uint64_t key) const { return Find(key) != nullptr; }

  /// Adds a value; where the key is known, it replaces that one.
  void Set(std::uint64_t key, V value) {
    if (4 * (size_ + 1) > 3 * slots_.size()) Grow();
    Slot& slot = slots_[PlaceOf(key)];
    if (!slot.used) ++size_;
    slot = {key, std::move(value), true};
  }
  /// False: there is no such key.
  bool Erase(std::uint64_t key) {
    if (size_ == 0) return false;
    std::size_t gap = PlaceOf(key);
    if (!slots_[gap].used) return false;
    const std::size_t mask = slots_.size() - 1;
    // What was pushed on by the gap comes back, so that no mark of it has to stay.
    for (std::size_t i = (gap + 1) & mask; slots_[i].used; i = (i + 1) & mask) {
      const std::size_t distance = (i - HomeOf(slots_[i].key)) & mask;
      if (distance < ((i - gap) & mask)) continue;
      slots_[gap] = std::move(slots_[i]);
      gap = i;
    }
    slots_[gap] = Slot();
    --size_;
    return true;
  }

  void Clear() { *this = KeyMap(); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    V value{};
    bool used = false;
  };

  std::size_t HomeOf(std::uint64_t key) const {
    // Fibonacci hashing: neighbouring keys come far apart. The upper bits are the mixed ones.
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  // Where the key is, or would be put.
  std::size_t PlaceOf(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = HomeOf(key);
    while (slots_[i].used && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.empty() ? 16 : 2 * old.size());
    shift_ = old.empty() ? 60 : shift_ - 1;
    for (Slot& slot : old) {
      if (slot.used) slots_[PlaceOf(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  int shift_ = 60;
  std::size_t size_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_KEY_MAP_H_
