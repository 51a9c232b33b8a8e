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
    Holder<T>* found = FindHolder<T>();
    return found != nullptr && found->written ? &found->value : nullptr;
  }
  template <typename T>
  const T* Find() const {
    return const_cast<CycleState*>(this)->Find<T>();
  }

  /// Writes the entry of type T, replacing one that exists, and returns it.
  template <typename T, typename... Args>
  T& Emplace(Args&&... args) {
    T& out = Reuse<T>();
    out = T{std::forward<Args>(args)...};
    return out;
  }
  /// The entry of type T as it was left by whoever wrote it last, perhaps in an earlier cycle, or a
  /// new one; to be written anew without allocating.
  template <typename T>
  T& Reuse() {
    Holder<T>* found = FindHolder<T>();
    if (found == nullptr) {
      entries_.push_back(std::make_unique<Holder<T>>(T{}));
      found = static_cast<Holder<T>*>(entries_.back().get());
    }
    found->written = true;
    return found->value;
  }

  /// Takes back what Reuse() or Emplace() wrote.
  template <typename T>
  void Drop() {
    if (Holder<T>* found = FindHolder<T>()) found->written = false;
  }

  /// A deep copy, for dry runs that change the state. Every T must be copyable.
  CycleState Clone() const {
    CycleState out;
    for (const auto& entry : entries_) {
      if (entry->written) out.entries_.push_back(entry->Clone());
    }
    return out;
  }

  /// Ends a cycle: no entry is found any more. Their memory is kept for Reuse(); a T with a member
  /// EndCycle() lets go there of what it shares with the cluster.
  void Clear() {
    for (const auto& entry : entries_) {
      if (entry->written) entry->EndCycle();
      entry->written = false;
    }
  }

 private:
  struct HolderBase {
    virtual ~HolderBase() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::unique_ptr<HolderBase> Clone() const = 0;
    virtual void EndCycle() = 0;
    bool written = true;
  };
  template <typename T>
  struct Holder : HolderBase {
    explicit Holder(T v) : value(std::move(v)) {}
    // typeid compares by name, so that it is the same type on both sides of a shared object.
    const std::type_info& type() const override { return typeid(T); }
    std::unique_ptr<HolderBase> Clone() const override { return std::make_unique<Holder>(value); }
    void EndCycle() override {
      if constexpr (requires { value.EndCycle(); }) value.EndCycle();
    }
    T value;
  };

  template <typename T>
  Holder<T>* FindHolder() {
    // Most types are the very same object; comparing names is for shared objects.
    for (const auto& entry : entries_) {
      if (&entry->type() == &typeid(T)) return static_cast<Holder<T>*>(entry.get());
    }
    for (const auto& entry : entries_) {
      if (entry->type() == typeid(T)) return static_cast<Holder<T>*>(entry.get());
    }
    return nullptr;
  }

  std::vector<std::unique_ptr<HolderBase>> entries_;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_CYCLE_STATE_H_
