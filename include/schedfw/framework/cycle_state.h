// CycleState: what plugins hand to their later extension points, within one cycle.
#ifndef SCHEDFW_FRAMEWORK_CYCLE_STATE_H_
#define SCHEDFW_FRAMEWORK_CYCLE_STATE_H_

#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

namespace schedfw {

/// A store keyed by type: each plugin writes a struct of its own in PreFilter or PreScore and reads
/// it in Filter and Score. Belongs to one cycle; never shared between pods.
///
/// Look-ups are linear in the number of entries, which is that of plugins with state.
class CycleState {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  /// The entry of type T, or nullptr.
  template <typename T>
  T* Find() {
    for (const auto& entry : entries_) {
      if (entry->type() == typeid(T)) return &static_cast<Holder<T>*>(entry.get())->value;
    }
    return nullptr;
  }
  template <typename T>
  const T* Find() const {
    return const_cast<CycleState*>(this)->Find<T>();
  }

  /// Writes the entry of type T, replacing one that exists, and returns it.
  template <typename T, typename... Args>
  T& Emplace(Args&&... args) {
    if (T* found = Find<T>()) {
      *found = T{std::forward<Args>(args)...};
      return *found;
    }
    auto holder = std::make_unique<Holder<T>>(T{std::forward<Args>(args)...});
    T& value = holder->value;
    entries_.push_back(std::move(holder));
    return value;
  }

  /// A deep copy, for dry runs that change the state. Every T must be copyable.
  CycleState Clone() const {
    CycleState out;
    for (const auto& entry : entries_) out.entries_.push_back(entry->Clone());
    return out;
  }

  void Clear() { entries_.clear(); }

 private:
  struct HolderBase {
    virtual ~HolderBase() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::unique_ptr<HolderBase> Clone() const = 0;
  };
  template <typename T>
  struct Holder : HolderBase {
    explicit Holder(T v) : value(std::move(v)) {}
    // typeid compares by name, so that it is the same type on both sides of a shared object.
    const std::type_info& type() const override { return typeid(T); }
    std::unique_ptr<HolderBase> Clone() const override { return std::make_unique<Holder>(value); }
    T value;
  };

  std::vector<std::unique_ptr<HolderBase>> entries_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_CYCLE_STATE_H_
