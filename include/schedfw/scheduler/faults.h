// FaultInjector: a plugin that fails by a seeded plan, for tests and simulations.
#ifndef SCHEDFW_SCHEDULER_FAULTS_H_
#define SCHEDFW_SCHEDULER_FAULTS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/base/clock.h"
#include "schedfw/base/random.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

/// Where a fault can be: the calls of a FaultInjector, in the order of a cycle. Unreserve isn't
/// among them, since it can't fail.
enum class FaultPoint : std::uint8_t {
  kPreEnqueue,
  kPreFilter,
  kAddPod,     ///< of the PreFilter extensions
  kRemovePod,  ///< of the PreFilter extensions
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kNormalizeScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr std::size_t kFaultPointCount = 14;

/// How a call fails.
enum class FaultKind : std::uint8_t {
  kNone,
  kThrow,   ///< an exception: a FaultError, or for one call in four an object of no such class
  kError,   ///< Status Error
  kReject,  ///< Status Unschedulable; at PreEnqueue Unresolvable
  /// At Permit: Wait, and nobody ever allows it. At PreBind and Bind: an Error after
  /// FaultPlan::hang. Elsewhere nothing ends a call from outside: an Error at once.
  kTimeout,
  /// At Bind: the host binds the pod, and the answer is an Error. Elsewhere: an Error.
  kLostReply,
};

/// Some of the calls at a point fail.
struct FaultRule {
  FaultPoint point = FaultPoint::kPreEnqueue;
  FaultKind kind = FaultKind::kError;
  double probability = 1;  ///< of each call that the rest of the rule is about, 0 to 1
  /// Only the so-manyth call for a pod, from 1; 0: any. What is called more than once in a cycle
  /// goes by the cycle, but PreBind and Bind by the attempt within it.
  std::uint32_t call = 0;
  /// From this time on it doesn't hold.
  std::chrono::nanoseconds until = std::chrono::nanoseconds::max();
};

/// Which calls fail. That is a function of the call alone, so a plan does the same on any number of
/// threads.
struct FaultPlan {
  std::uint64_t seed = 0;
  std::vector<FaultRule> rules;                            ///< the first that holds counts
  std::chrono::nanoseconds permit_timeout{2'000'000'000};  ///< see FaultKind::kTimeout
  std::chrono::nanoseconds hang = std::chrono::nanoseconds::zero();  ///< the same; real time

  /// How a call fails. `pod` stands for the pod, `call` is the number of calls for it, and `place`
  /// tells apart what else there is of one number (the plugin, the node). O(rules).
  FaultKind At(FaultPoint point, std::uint64_t pod, std::uint32_t call, std::uint64_t place,
               std::chrono::nanoseconds now) const {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const FaultRule& rule = rules[i];
      if (rule.point != point || now >= rule.until || (rule.call != 0 && rule.call != call)) {
        continue;
      }
      if (Draw({i, static_cast<std::uint64_t>(point), pod, call, place}) < rule.probability) {
        return rule.kind;
      }
    }
    return FaultKind::kNone;
  }

  /// A number in [0, 1) that the seed and the words decide.
  double Draw(std::initializer_list<std::uint64_t> words) const {
    return Random(Mix(words)).Uniform();
  }
  /// The same with 64 bits.
  std::uint64_t Mix(std::initializer_list<std::uint64_t> words) const {
    std::uint64_t out = seed;
    for (const std::uint64_t word : words) out = Random(std::rotl(out, 23) ^ word).Next();
    return out;
  }
};

/// What a FaultInjector throws.
class FaultError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A plan at work, shared by the injectors of a scheduler, with counts of what came of it. All
/// functions may be called from any thread.
class FaultSource {
 public:
  /// `clock`, by which rules end, must outlive the source; null: it is always before their end.
  explicit FaultSource(FaultPlan plan, const Clock* clock = nullptr)
      : plan_(std::move(plan)), clock_(clock) {}

  const FaultPlan& plan() const { return plan_; }
  /// No call fails from now on.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }
  /// How many calls have failed at a point.
  std::uint64_t count(FaultPoint point) const {
    return counts_[static_cast<std::size_t>(point)].load(std::memory_order_relaxed);
  }
  /// How often a cycle found what an earlier one had left in its CycleState.
  std::uint64_t leaks() const { return leaks_.load(std::memory_order_relaxed); }
  /// How many pods had Reserve called whose attempt has neither been taken back nor ended in
  /// PostBind.
  std::size_t reserved() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reserved_.size();
  }
  /// Whether the host has bound a pod, by uid, and the answer was lost.
  bool LostReply(std::string_view uid) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lost_.contains(HashOf(uid));
  }

 private:
  friend class FaultInjector;

  FaultKind At(FaultPoint point, std::uint64_t pod, std::uint32_t call, std::uint64_t place) {
    if (stopped_.load(std::memory_order_relaxed)) return FaultKind::kNone;
    const auto now = clock_ == nullptr ? std::chrono::nanoseconds::min() : clock_->Now();
    const FaultKind out = plan_.At(point, pod, call, place, now);
    if (out != FaultKind::kNone) {
      counts_[static_cast<std::size_t>(point)].fetch_add(1, std::memory_order_relaxed);
    }
    return out;
  }

  static std::uint64_t HashOf(std::string_view text) {
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash;
  }

  const FaultPlan plan_;
  const Clock* const clock_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> leaks_ = 0;
  std::array<std::atomic<std::uint64_t>, kFaultPointCount> counts_{};
  mutable std::mutex mutex_;
  // By plugin and pod.
  std::set<std::pair<std::uint64_t, std::uint64_t>> reserved_;
  std::set<std::uint64_t> lost_;  // by pod
};

/// Does nothing at every extension point, or fails there as its source says. Several in one
/// profile, each by a name of its own, fail independently: before and behind the other plugins,
/// say.
///
/// As a Bind plugin it leaves the binding to the next one, unless it is to lose its reply.
class FaultInjector : public PreEnqueuePlugin,
                      public PreFilterPlugin,
                      public PreFilterExtensions,
                      public FilterPlugin,
                      public PostFilterPlugin,
                      public PreScorePlugin,
                      public ScorePlugin,
                      public ScoreExtensions,
                      public ReservePlugin,
                      public PermitPlugin,
                      public PreBindPlugin,
                      public BindPlugin,
                      public PostBindPlugin {
 public:
  FaultInjector(std::string name, std::shared_ptr<FaultSource> source, Handle handle)
      : name_(std::move(name)),
        id_(FaultSource::HashOf(name_)),
        source_(std::move(source)),
        handle_(std::move(handle)) {}

  /// Adds an injector to a registry; enable it at the points where it is to fail. Error: the name
  /// is taken.
  static Result<void> AddTo(Registry& registry, const std::string& name,
                            std::shared_ptr<FaultSource> source) {
    PluginSpec spec;
    spec.name = name;
    spec.help = "Fails by a seeded plan.";
    spec.points = internal::PointsOf<FaultInjector>();
    spec.factory = [name, source = std::move(source)](const Value&,
                                                      const Handle& handle) -> Result<PluginPtr> {
      return PluginPtr(std::make_shared<FaultInjector>(name, source, handle));
    };
    return registry.Add(std::move(spec));
  }

  std::string_view Name() const override { return name_; }

  Status PreEnqueue(const PodInfo& pod) override {
    const std::uint64_t uid = UidOf(pod);
    return Fail(FaultPoint::kPreEnqueue, uid, Count(pre_enqueues_, uid));
  }
  Status PreFilter(const Cycle& cycle, CycleState& state, PreFilterResult&) override {
    if (FindCalls(state) != nullptr) source_->leaks_.fetch_add(1, std::memory_order_relaxed);
    const Calls& calls = Begin(cycle.pod, state);
    return Fail(FaultPoint::kPreFilter, calls.uid, calls.cycle);
  }
  const PreFilterExtensions* Extensions() const override { return this; }
  Status AddPod(const Cycle& cycle, CycleState&, const PodInfo& added,
                const NodeInfo&) const override {
    return Fail(FaultPoint::kAddPod, cycle, UidOf(added));
  }
  Status RemovePod(const Cycle& cycle, CycleState&, const PodInfo& removed,
                   const NodeInfo&) const override {
    return Fail(FaultPoint::kRemovePod, cycle, UidOf(removed));
  }
  Status Filter(const Cycle& cycle, const NodeInfo& node) const override {
    return FailOnNode(FaultPoint::kFilter, cycle, node);
  }
  Status PostFilter(const Cycle& cycle, const Diagnosis&, const Framework&,
                    PostFilterResult&) override {
    const Status status = Fail(FaultPoint::kPostFilter, cycle, 0);
    return status.ok() ? Status::Unschedulable("") : status;
  }
  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    return Fail(FaultPoint::kPreScore, cycle, 0);
  }
  Status Score(const Cycle& cycle, const NodeInfo& node, std::int64_t& score) const override {
    score = 0;
    return FailOnNode(FaultPoint::kScore, cycle, node);
  }
  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  Status NormalizeScore(const Cycle& cycle, std::span<const Row>,
                        std::span<std::int64_t>) const override {
    return Fail(FaultPoint::kNormalizeScore, cycle, 0);
  }
  Status Reserve(const Cycle& cycle, CycleState& state, const NodeInfo&) override {
    const Calls& calls = CallsOf(cycle.pod, state);
    {
      const std::lock_guard<std::mutex> lock(source_->mutex_);
      source_->reserved_.emplace(id_, calls.uid);
    }
    return Fail(FaultPoint::kReserve, calls.uid, calls.cycle);
  }
  void Unreserve(const Cycle& cycle, CycleState&, const NodeInfo&) noexcept override {
    EndReserve(cycle.pod);
  }
  Status Permit(const Cycle& cycle, CycleState& state, const NodeInfo&,
                std::chrono::nanoseconds& timeout) override {
    const Calls& calls = CallsOf(cycle.pod, state);
    timeout = source_->plan().permit_timeout;
    return Fail(FaultPoint::kPermit, calls.uid, calls.cycle);
  }
  Status PreBind(const Cycle& cycle, CycleState& state, const NodeInfo&) override {
    Calls& calls = CallsOf(cycle.pod, state);
    return Fail(FaultPoint::kPreBind, calls.uid, ++calls.pre_binds, calls.cycle);
  }
  Status Bind(const Cycle& cycle, CycleState& state, const NodeInfo& node) override {
    Calls& calls = CallsOf(cycle.pod, state);
    const std::uint32_t call = ++calls.binds;
    const FaultKind kind = source_->At(FaultPoint::kBind, calls.uid, call, id_ ^ calls.cycle);
    if (kind == FaultKind::kLostReply && handle_.bind) {
      Status status = handle_.bind(cycle.pod, node.name());
      if (!status.ok()) return status;
      const std::lock_guard<std::mutex> lock(source_->mutex_);
      source_->lost_.insert(calls.uid);
      return Status::Error("the reply was lost");
    }
    const Status status = Give(kind, FaultPoint::kBind, calls.uid, call);
    return status.ok() ? Status::Skip() : status;
  }
  void PostBind(const Cycle& cycle, CycleState& state, const NodeInfo&) override {
    const Calls& calls = CallsOf(cycle.pod, state);
    EndReserve(cycle.pod);
    (void)Fail(FaultPoint::kPostBind, calls.uid, calls.cycle);
  }

 private:
  // Of one cycle. A pod's binding calls never run at once, so they count here too.
  struct Calls {
    std::uint64_t uid = 0;
    std::uint32_t cycle = 0;
    std::uint32_t pre_binds = 0;
    std::uint32_t binds = 0;
  };
  // In a CycleState: the calls of all injectors.
  struct AllCalls {
    std::vector<std::pair<std::uint64_t, Calls>> calls;
  };
  using Counts = std::unordered_map<std::uint64_t, std::uint32_t>;  // look-ups only

  static std::uint64_t UidOf(const PodInfo& pod) {
    return FaultSource::HashOf(pod.pod->metadata.uid);
  }

  std::uint32_t Count(Counts& counts, std::uint64_t uid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ++counts[uid];
  }

  Calls* FindCalls(CycleState& state) const {
    auto* all = state.Find<AllCalls>();
    if (all == nullptr) return nullptr;
    for (auto& [id, calls] : all->calls) {
      if (id == id_) return &calls;
    }
    return nullptr;
  }
  Calls& Begin(const PodInfo& pod, CycleState& state) {
    Calls* calls = FindCalls(state);
    if (calls == nullptr) {
      auto* all = state.Find<AllCalls>();
      if (all == nullptr) all = &state.Emplace<AllCalls>();
      calls = &all->calls.emplace_back(id_, Calls()).second;
    }
    const std::uint64_t uid = UidOf(pod);
    *calls = {uid, Count(cycles_, uid)};
    return *calls;
  }
  // At a point before which PreFilter needn't have been called.
  Calls& CallsOf(const PodInfo& pod, CycleState& state) {
    Calls* calls = FindCalls(state);
    return calls != nullptr ? *calls : Begin(pod, state);
  }

  void EndReserve(const PodInfo& pod) noexcept {
    const std::lock_guard<std::mutex> lock(source_->mutex_);
    source_->reserved_.erase({id_, UidOf(pod)});
  }

  Status Fail(FaultPoint point, std::uint64_t uid, std::uint32_t call,
              std::uint64_t place = 0) const {
    return Give(source_->At(point, uid, call, id_ ^ place), point, uid, call);
  }
  Status Fail(FaultPoint point, const Cycle& cycle, std::uint64_t place) const {
    const Calls calls = Of(cycle);
    return Fail(point, calls.uid, calls.cycle, place);
  }
  // Nodes are rejected one by one; else one of them fails, or none.
  Status FailOnNode(FaultPoint point, const Cycle& cycle, const NodeInfo& node) const {
    const Calls calls = Of(cycle);
    const std::uint64_t row = node.row();
    if (point == FaultPoint::kFilter) {
      const FaultKind kind = source_->At(point, calls.uid, calls.cycle, id_ ^ (row + 1));
      if (kind == FaultKind::kReject) return Give(kind, point, calls.uid, calls.cycle);
    }
    const FaultPlan& plan = source_->plan();
    const auto point_number = static_cast<std::uint64_t>(point);
    if (plan.Mix({id_, point_number, calls.uid, calls.cycle}) % cycle.snapshot.size() != row) {
      return {};
    }
    const FaultKind kind = source_->At(point, calls.uid, calls.cycle, id_);
    if (kind == FaultKind::kReject && point == FaultPoint::kFilter) return {};
    return Give(kind, point, calls.uid, calls.cycle);
  }
  Calls Of(const Cycle& cycle) const {
    if (const auto* all = cycle.state.Find<AllCalls>()) {
      for (const auto& [id, calls] : all->calls) {
        if (id == id_) return calls;
      }
    }
    return {UidOf(cycle.pod), 0};
  }

  Status Give(FaultKind kind, FaultPoint point, std::uint64_t uid, std::uint32_t call) const {
    switch (kind) {
      case FaultKind::kNone:
        return {};
      case FaultKind::kThrow:
        if (source_->plan().Mix({uid, call, id_}) % 4 == 0) {
          throw 4;  // NOLINT(hicpp-exception-baseclass): plugins may throw anything
        }
        throw FaultError(name_ + " was to throw");
      case FaultKind::kReject:
        return point == FaultPoint::kPreEnqueue
                   ? Status::Unresolvable(name_ + " was to reject the pod")
                   : Status::Unschedulable(name_ + " was to reject the pod");
      case FaultKind::kTimeout:
        if (point == FaultPoint::kPermit) return Status(Code::kWait, name_ + " waits");
        if (point == FaultPoint::kPreBind || point == FaultPoint::kBind) {
          std::this_thread::sleep_for(source_->plan().hang);
        }
        return Status::Error(name_ + " was to time out");
      case FaultKind::kError:
      case FaultKind::kLostReply:
        break;
    }
    return Status::Error(name_ + " was to fail");
  }

  const std::string name_;
  const std::uint64_t id_;
  const std::shared_ptr<FaultSource> source_;
  const Handle handle_;
  std::mutex mutex_;
  Counts pre_enqueues_, cycles_;
};

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_FAULTS_H_
