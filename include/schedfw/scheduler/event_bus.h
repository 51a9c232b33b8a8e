// EventBus: typed events, for handlers that come and go while the program runs.
#ifndef SCHEDFW_SCHEDULER_EVENT_BUS_H_
#define SCHEDFW_SCHEDULER_EVENT_BUS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace schedfw {

/// A handler has thrown; its event went on to the handlers after it.
struct HandlerFailed {
  std::string event;  ///< the name of the event's type, without namespaces
  std::exception_ptr error;
};

namespace internal {

/// The name of a type as the compiler writes it.
template <typename T>
constexpr std::string_view FullTypeName() {
  std::string_view name = __PRETTY_FUNCTION__;  // "… [with T = name; …]" or "… [T = name]"
  name.remove_prefix(name.find("T = ") + 4);
  return name.substr(0, name.find_first_of(";]"));
}

/// The same without the namespaces it lies in.
template <typename T>
constexpr std::string_view TypeName() {
  const std::string_view name = FullTypeName<T>();
  const std::size_t colons = name.substr(0, name.find('<')).rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

/// One of 64 numbers for a type. It is made of the type's name rather than counted, so that all
/// shared objects of a program agree on it; types may have the same.
template <typename T>
constexpr std::size_t TypeSlot() {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : FullTypeName<T>()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash >> 58U;
}

/// A handler and who runs it.
class EventHandler {
 public:
  EventHandler(const std::type_info& type, std::function<void(const void*)> call)
      : type_(type), call_(std::move(call)) {}

  bool Handles(const std::type_info& type) const { return type_ == type; }

  bool removed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return removed_;
  }

  /// Calls the handler unless it is removed, and returns what it throws.
  std::exception_ptr Call(const void* event) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (removed_) return nullptr;
      running_.push_back(std::this_thread::get_id());
    }
    std::exception_ptr error;
    try {
      call_(event);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    running_.erase(std::find(running_.begin(), running_.end(), std::this_thread::get_id()));
    if (removed_ && running_.empty()) Destroy(lock);
    return error;
  }

  /// Returns when the handler runs no more, is never called again and is destroyed, or at once if
  /// this thread is inside it.
  void Remove() {
    std::unique_lock<std::mutex> lock(mutex_);
    removed_ = true;
    const auto here = std::this_thread::get_id();
    if (std::find(running_.begin(), running_.end(), here) != running_.end()) return;
    done_.wait(lock, [&] { return running_.empty(); });
    if (!destroyed_) Destroy(lock);
  }

 private:
  // The handler may own its subscription, and then removes itself once more while it is destroyed;
  // that must not wait, so destroying counts as running. Nothing else runs it by now.
  void Destroy(std::unique_lock<std::mutex>& lock) {
    running_.push_back(std::this_thread::get_id());
    std::function<void(const void*)> call = std::exchange(call_, nullptr);
    lock.unlock();
    call = nullptr;
    lock.lock();
    running_.clear();
    destroyed_ = true;
    done_.notify_all();
  }

  const std::type_info& type_;
  std::function<void(const void*)> call_;  // changes only when nothing runs it
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::thread::id> running_;  // a thread as often as it is inside
  bool removed_ = false;
  bool destroyed_ = false;
};

/// The handlers of a bus, which subscriptions may outlive.
class EventHandlers {
 public:
  using List = std::vector<std::shared_ptr<EventHandler>>;

  /// False: no type of this slot has a handler.
  bool Used(std::size_t slot) const {
    // Whoever knows by other means that a handler was added sees its bit too, so this needs no
    // order; the list itself is read under the mutex.
    return (used_.load(std::memory_order_relaxed) >> slot & 1U) != 0;
  }

  std::shared_ptr<const List> Get(std::size_t slot) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lists_[slot];
  }

  void Add(std::size_t slot, std::shared_ptr<EventHandler> handler) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto list = lists_[slot] ? std::make_shared<List>(*lists_[slot]) : std::make_shared<List>();
    list->push_back(std::move(handler));
    lists_[slot] = std::move(list);
    used_.fetch_or(std::uint64_t{1} << slot, std::memory_order_relaxed);
  }

  void Remove(std::size_t slot, const EventHandler* handler) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lists_[slot]) return;
    auto list = std::make_shared<List>();
    for (const std::shared_ptr<EventHandler>& other : *lists_[slot]) {
      if (other.get() != handler) list->push_back(other);
    }
    if (list->empty()) used_.fetch_and(~(std::uint64_t{1} << slot), std::memory_order_relaxed);
    lists_[slot] = list->empty() ? nullptr : std::move(list);
  }

  void RemoveAll() {
    decltype(lists_) lists;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      lists.swap(lists_);
      used_.store(0, std::memory_order_relaxed);
    }
    for (const std::shared_ptr<const List>& list : lists) {
      if (!list) continue;
      for (const std::shared_ptr<EventHandler>& handler : *list) handler->Remove();
    }
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> used_{0};                 // bit = slot
  std::array<std::shared_ptr<const List>, 64> lists_;  // by slot, never changed in place
};

}  // namespace internal

/// The right of a handler to be called; its end removes the handler. It may outlive the bus.
///
/// Moving is for one thread at a time; the rest may be called from any thread.
class [[nodiscard]] Subscription {
 public:
  /// A subscription to nothing.
  Subscription() = default;
  Subscription(Subscription&& other) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      Reset();
      handlers_ = std::move(other.handlers_);
      handler_ = std::move(other.handler_);
      slot_ = other.slot_;
    }
    return *this;
  }
  ~Subscription() { Reset(); }

  /// Removes the handler.
  ///
  /// Afterwards it is never called again, runs on no thread, and what it held is destroyed; this
  /// waits for that, so the caller must hold no lock that the handler takes. From inside the
  /// handler it doesn't wait: runs that have begun end, and the last of them destroys it. Two
  /// handlers that remove each other while they run on two threads wait forever. O(handlers).
  void Reset() {
    if (!handler_) return;
    if (const auto handlers = handlers_.lock()) handlers->Remove(slot_, handler_.get());
    handler_->Remove();
  }

  /// True until the handler is removed or the bus is gone.
  bool active() const { return handler_ && !handler_->removed(); }

 private:
  friend class EventBus;

  Subscription(const std::shared_ptr<internal::EventHandlers>& handlers,
               std::shared_ptr<internal::EventHandler> handler, std::size_t slot)
      : handlers_(handlers), handler_(std::move(handler)), slot_(slot) {}

  // Reset() leaves them as they are, so that it can be called twice at once.
  std::weak_ptr<internal::EventHandlers> handlers_;
  std::shared_ptr<internal::EventHandler> handler_;
  std::size_t slot_ = 0;
};

/// Brings events to handlers. Any type is an event; it is known by its exact type.
///
/// All functions may be called from many threads at once and from inside handlers.
class EventBus {
 public:
  EventBus() : handlers_(std::make_shared<internal::EventHandlers>()) {}
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  /// Removes and destroys all handlers. Nobody may be publishing.
  ~EventBus() { handlers_->RemoveAll(); }

  /// Calls `handler` for each E that is published from now on, after the handlers that were there
  /// before it, until the subscription ends. Events that are being published now don't reach it. An
  /// empty handler subscribes to nothing. O(handlers).
  template <typename E>
  Subscription Subscribe(std::function<void(const E&)> handler) {
    if (!handler) return {};
    auto entry = std::make_shared<internal::EventHandler>(
        typeid(E), [handler = std::move(handler)](const void* event) {
          handler(*static_cast<const E*>(event));
        });
    handlers_->Add(internal::TypeSlot<E>(), entry);
    return Subscription(handlers_, std::move(entry), internal::TypeSlot<E>());
  }

  /// Calls the handlers of E on this thread, in the order in which they subscribed. One that is
  /// removed meanwhile is left out.
  ///
  /// A handler that throws doesn't stop the others: what it threw is published as HandlerFailed, or
  /// dropped if that is the event. Without handlers this costs about a load and a branch.
  template <typename E>
  void Publish(const E& event) const {
    if (Wanted<E>()) Deliver<E>(event);
  }

  /// False if E has no handler, so that an event needn't be made; seldom true though it has none.
  template <typename E>
  bool Wanted() const {
    constexpr std::size_t kSlot = internal::TypeSlot<E>();
    return handlers_->Used(kSlot);
  }

 private:
  template <typename E>
  void Deliver(const E& event) const {
    const auto list = handlers_->Get(internal::TypeSlot<E>());
    if (!list) return;
    for (const std::shared_ptr<internal::EventHandler>& handler : *list) {
      if (!handler->Handles(typeid(E))) continue;
      const std::exception_ptr error = handler->Call(&event);
      if constexpr (!std::is_same_v<E, HandlerFailed>) {
        if (error && Wanted<HandlerFailed>()) {
          Publish(HandlerFailed{std::string(internal::TypeName<E>()), error});
        }
      }
    }
  }

  const std::shared_ptr<internal::EventHandlers> handlers_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_EVENT_BUS_H_
