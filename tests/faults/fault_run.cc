#include "faults/fault_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "schedfw/api/normalize.h"
#include "schedfw/base/random.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/binding.h"
#include "schedfw/scheduler/faults.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/dump.h"

namespace schedfw::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kNodes = 16;
constexpr int kPods = 200;
constexpr int kVictims = 30;  // on nodes from the start
constexpr int kGroups = 4;    // of ten pods
constexpr int kGroupSize = 10;
constexpr int kLateComers = 25;  // pods that come during the run
constexpr int kCaptureEvery = 9;

// What the API server is to a scheduler: it binds a pod once, and says so when it is asked again.
class Host {
 public:
  explicit Host(const FaultSource& source) : source_(source) {}

  Status Bind(const PodInfo& pod, const std::string& node) {
    const std::string& uid = pod.pod->metadata.uid;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (evicted_.contains(uid)) problems_.push_back(uid + " is bound after its eviction");
    if (deleted_.contains(uid)) return Status::Error("pod " + uid + " not found");
    const auto [it, first] = bound_.emplace(uid, node);
    if (first) return {};
    if (!source_.LostReply(uid)) problems_.push_back(uid + " is bound again, to " + node);
    if (it->second == node) return {};
    return Status::Error("pod " + uid + " is already assigned to node " + it->second);
  }
  void Delete(const std::string& uid, bool evicted) {
    const std::lock_guard<std::mutex> lock(mutex_);
    deleted_.insert(uid);
    if (evicted) evicted_.insert(uid);
  }
  bool IsDeleted(const std::string& uid) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return deleted_.contains(uid);
  }
  /// The node of a pod; empty: none.
  std::string NodeOf(const std::string& uid) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = bound_.find(uid);
    return it == bound_.end() ? std::string() : it->second;
  }
  std::map<std::string, std::string> bound() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bound_;
  }
  std::vector<std::string> problems() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return problems_;
  }

 private:
  const FaultSource& source_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> bound_;
  std::set<std::string> deleted_, evicted_;
  std::vector<std::string> problems_;
};

class Run {
 public:
  explicit Run(const FaultRunOptions& options)
      : options_(options), random_(options.seed), plan_random_(options.seed ^ 0x5bd1e995) {}

  FaultRunResult Go();

 private:
  // An event from outside.
  struct Event {
    enum class Kind : std::uint8_t {
      kUngate,
      kLabel,
      kDeletePod,
      kReplacePod,
      kAddPod,
      kAddNode,
      kDeleteNode,
      kUpdateNode,
      kChangeGroup,
    };
    nanoseconds time{0};
    Kind kind = Kind::kLabel;
    std::string name;  // of a pod that is ungated or added
  };
  using Change = std::function<Result<void>(Cluster&)>;

  bool Chance(int percent) { return random_.Below(100) < static_cast<std::uint64_t>(percent); }

  void Choose();
  FaultPlan MakePlan();
  api::Node MakeNode(const std::string& name);
  api::Pod MakePod(const std::string& name);
  api::ObjectList MakeObjects();
  void MakeEvents();
  Result<std::unique_ptr<Scheduler>> MakeScheduler(bool with_faults);

  void Subscribe(SchedulingLoop& loop);
  void Capture(SchedulingLoop& loop);
  void CaptureAtEndOfStep(SchedulingLoop& loop);
  void CatchUp();

  // Applies a change from outside to the loop; false: it was refused, and nothing has changed.
  template <typename F>
  bool Apply(Change change, F&& call) {
    journal_.push_back(std::move(change));
    const std::size_t place = journal_.size() - 1;
    const Result<void> done = call();
    if (done.ok()) return true;
    // What the call has published before it was refused would count without it.
    if (journal_.size() != place + 1) Bad(out_.diverged, "a refused change has had effects");
    journal_.erase(journal_.begin() + static_cast<std::ptrdiff_t>(place));
    return false;
  }
  bool Update(SchedulingLoop& loop, const std::string& name);
  void AddPod(SchedulingLoop& loop, api::Pod pod);
  void DeletePod(SchedulingLoop& loop, const std::string& name);
  void Deliver(SchedulingLoop& loop, const Event& event);
  void DeliverUntil(SchedulingLoop& loop, nanoseconds time);
  bool Watch(SchedulingLoop& loop);
  std::string PickPod();
  std::string PickNode(const SchedulingLoop& loop);

  void RunByTicks(Scheduler& scheduler);
  void RunByItself(Scheduler& scheduler);
  void CheckQueue(const SchedulingLoop& loop);
  void CheckPods();
  void CheckStuck();
  void CheckReplay();
  static void Bad(std::vector<std::string>& list, std::string text) {
    if (list.size() < 20) list.push_back(std::move(text));
  }

  const FaultRunOptions options_;
  Random random_, plan_random_;
  BinderKind binder_ = BinderKind::kNone;
  // Nothing is flushed: events alone, and the end of backoffs, move pods. Nobody preempts then,
  // since upstream has no event for a nominated pod that goes to another node.
  bool strict_ = false;
  bool by_itself_ = false;  // the loop's own clock, until it is quiet
  StatusUpdates updates_ = StatusUpdates::kAtOnce;
  bool late_ = false;  // no faults from PreFilter to Score
  nanoseconds end_of_faults_{0}, end_{0};
  VirtualClock clock_;
  std::shared_ptr<FaultSource> source_;
  std::unique_ptr<Host> host_;
  api::ObjectList initial_;
  std::map<std::string, api::Pod> pods_;  // that there are, by name
  std::map<std::string, api::Pod> later_;
  std::map<std::string, std::string> given_nodes_;  // uid → node that it came with
  std::set<std::string> unseen_;                    // pods whose change was refused, by name
  std::map<std::string, int> bindings_;             // uid → PodBound
  std::set<std::string> evicted_;
  std::vector<Event> events_;
  std::size_t next_event_ = 0;
  int names_ = 0;
  int uids_ = 0;
  std::vector<Change> journal_;
  std::vector<Subscription> subscriptions_;
  std::string last_rejection_;
  std::map<std::string, std::string> queued_as_;  // pod → what the queue knows of it, at the end
  Cluster cluster_;
  // With `capture`.
  Cluster shadow_;
  std::size_t shadowed_ = 0;
  int moments_ = 0;
  bool capture_ = false;
  FaultRunResult out_;
};

void Run::Choose() {
  const std::uint64_t kind = random_.Below(8);
  if (options_.binder) {
    binder_ = *options_.binder;
  } else {
    binder_ = kind < 4 ? BinderKind::kNone : kind < 7 ? BinderKind::kInline : BinderKind::kThreaded;
  }
  const std::uint64_t how = random_.Below(6);
  strict_ = how < 2;
  by_itself_ = how == 2 && binder_ != BinderKind::kInline && !options_.capture;
  late_ = Chance(30);
  updates_ = Chance(50) ? StatusUpdates::kAtOnce : StatusUpdates::kOnFailure;
  end_of_faults_ = seconds(5 + random_.Below(10));
  end_ = end_of_faults_ + seconds(strict_ ? 40 : 130);
}

FaultPlan Run::MakePlan() {
  FaultPlan plan;
  plan.seed = plan_random_.Next();
  if (binder_ == BinderKind::kThreaded) plan.hang = std::chrono::microseconds(200);
  const std::size_t rules = 3 + plan_random_.Below(12);
  while (plan.rules.size() < rules) {
    FaultRule rule;
    rule.point = static_cast<FaultPoint>(plan_random_.Below(kFaultPointCount));
    rule.kind = static_cast<FaultKind>(1 + plan_random_.Below(5));
    if (rule.kind == FaultKind::kLostReply) rule.point = FaultPoint::kBind;
    if (plan_random_.Below(2) == 0) {
      rule.probability = 0.2 * plan_random_.Uniform();
    } else {
      rule.call = 1 + static_cast<std::uint32_t>(plan_random_.Below(3));
      rule.probability = 0.3 + 0.7 * plan_random_.Uniform();
    }
    if (!by_itself_) rule.until = end_of_faults_;
    // A rejection is taken back by an event or a flush alone.
    const bool rejects = rule.kind == FaultKind::kReject || rule.point == FaultPoint::kPreEnqueue ||
                         rule.point == FaultPoint::kPostFilter ||
                         (rule.point == FaultPoint::kPermit && rule.kind == FaultKind::kTimeout);
    if (strict_ && rejects) continue;
    plan.rules.push_back(rule);
  }
  return plan;
}

api::Node Run::MakeNode(const std::string& name) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels = {{"kubernetes.io/hostname", name},
                          {"zone", "z" + std::to_string(random_.Below(3))}};
  node.status.allocatable.emplace();
  (*node.status.allocatable)["cpu"] =
      Quantity::FromMilli(4000 + 1000 * static_cast<std::int64_t>(random_.Below(5)));
  (*node.status.allocatable)["memory"] = Quantity::FromUnits(std::int64_t{32} << 30);
  (*node.status.allocatable)["pods"] = Quantity::FromUnits(Chance(10) ? 8 : 110);
  if (Chance(15)) node.spec.taints.push_back({"dedicated", "x", api::TaintEffect::kNoSchedule});
  return node;
}

api::Pod Run::MakePod(const std::string& name) {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name + "-" + std::to_string(++uids_);
  pod.metadata.labels["app"] = "a" + std::to_string(random_.Below(4));
  pod.spec.priority = static_cast<std::int32_t>(random_.Below(3)) * 100;
  api::Container container;
  container.name = "c";
  container.image = "registry.local/app:1";
  container.resources.requests["cpu"] =
      Quantity::FromMilli(250 + 250 * static_cast<std::int64_t>(random_.Below(6)));
  container.resources.requests["memory"] = Quantity::FromUnits(std::int64_t{1} << 28);
  if (Chance(5)) container.ports.push_back({80, 80, "TCP", ""});
  pod.spec.containers.push_back(std::move(container));
  if (Chance(30)) {
    pod.spec.tolerations.push_back(
        {"dedicated", api::TolerationOperator::kExists, "", api::TaintEffect::kAny});
  }
  api::LabelSelector selector;
  selector.match_labels = {{"app", pod.metadata.labels["app"]}};
  if (Chance(8)) {
    pod.spec.affinity.pod_anti_affinity.emplace();
    api::PodAffinityTerm term;
    term.label_selector = selector;
    term.topology_key = "kubernetes.io/hostname";
    pod.spec.affinity.pod_anti_affinity->required.push_back(std::move(term));
  } else if (Chance(8)) {
    api::TopologySpreadConstraint constraint;
    constraint.max_skew = 2;
    constraint.topology_key = "zone";
    constraint.label_selector = selector;
    pod.spec.topology_spread_constraints.push_back(std::move(constraint));
  }
  if (Chance(5)) pod.spec.preemption_policy = "Never";
  return pod;
}

api::ObjectList Run::MakeObjects() {
  api::ObjectList out;
  for (int i = 0; i < kNodes; ++i) out.nodes.push_back(MakeNode("n" + std::to_string(100 + i)));
  const auto add = [&](api::Pod pod) {
    api::SetDefaults(pod);
    pods_[pod.metadata.name] = pod;
    out.pods.push_back(std::move(pod));
  };
  const auto name = [&] { return "p" + std::to_string(1000 + names_++); };
  for (int i = 0; i < kVictims; ++i) {
    api::Pod pod = MakePod(name());
    pod.spec.priority = Chance(80) ? 0 : 200;
    pod.spec.affinity = {};
    pod.spec.node_name = out.nodes[random_.Below(kNodes)].metadata.name;
    given_nodes_[pod.metadata.uid] = pod.spec.node_name;
    add(std::move(pod));
  }
  for (int g = 0; g < kGroups; ++g) {
    api::PodGroup group;
    group.metadata.name = "g" + std::to_string(g);
    group.metadata.ns = "default";
    group.gang = g != 0;
    group.basic = !group.gang;
    if (group.gang) group.min_count = 3 + static_cast<std::int32_t>(random_.Below(8));
    group.priority = static_cast<std::int32_t>(random_.Below(3)) * 100;
    group.disruption_all = Chance(30);
    const api::Pod pattern = MakePod("pattern");
    for (int i = 0; i < kGroupSize; ++i) {
      api::Pod pod = pattern;
      pod.metadata.name = name();
      pod.metadata.uid = pod.metadata.name + "-" + std::to_string(++uids_);
      pod.spec.scheduling_group = group.metadata.name;
      pod.spec.priority = group.priority;
      pod.spec.affinity = {};
      if (i == 0 && Chance(50)) pod.spec.scheduling_gates.push_back({"gate"});
      if (!pod.spec.scheduling_gates.empty()) {
        events_.push_back(
            {seconds(1 + random_.Below(12)), Event::Kind::kUngate, pod.metadata.name});
      }
      add(std::move(pod));
    }
    out.pod_groups.push_back(std::move(group));
  }
  while (names_ < kPods - kLateComers) {
    api::Pod pod = MakePod(name());
    if (Chance(15)) {
      pod.spec.scheduling_gates.push_back({"gate"});
      if (Chance(85)) {
        events_.push_back(
            {seconds(1 + random_.Below(12)), Event::Kind::kUngate, pod.metadata.name});
      }
    }
    add(std::move(pod));
  }
  while (names_ < kPods) {
    api::Pod pod = MakePod(name());
    events_.push_back(
        {milliseconds(random_.Below(12000)), Event::Kind::kAddPod, pod.metadata.name});
    later_[pod.metadata.name] = std::move(pod);
  }
  return out;
}

void Run::MakeEvents() {
  using Kind = Event::Kind;
  const std::pair<Kind, int> counts[] = {
      {Kind::kLabel, 12},     {Kind::kDeletePod, 6},  {Kind::kReplacePod, 4}, {Kind::kAddNode, 2},
      {Kind::kDeleteNode, 2}, {Kind::kUpdateNode, 5}, {Kind::kChangeGroup, 2}};
  for (const auto& [kind, most] : counts) {
    for (std::uint64_t n = random_.Below(static_cast<std::uint64_t>(most) + 1); n > 0; --n) {
      events_.push_back({milliseconds(random_.Below(15000)), kind, ""});
    }
  }
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
}

Result<std::unique_ptr<Scheduler>> Run::MakeScheduler(bool with_faults) {
  Registry registry = InTreeRegistry();
  SchedulerConfig config;
  SchedulerOptions options;
  options.verify_incremental = options_.seed % 4 == 0;
  options.handle.generic_workload = true;
  PluginSets& plugins = config.profiles[0].plugins;
  if (strict_) plugins.at(ExtensionPoint::kPostFilter).disabled.push_back({"*"});
  if (!with_faults) return Scheduler::Create(config, registry, std::move(options));
  options.handle.bind = [host = host_.get()](const PodInfo& pod, const std::string& node) {
    return host->Bind(pod, node);
  };
  for (const char* name : {"First", "Last"}) {
    if (auto done = FaultInjector::AddTo(registry, name, source_); !done) return done.error();
  }
  using enum ExtensionPoint;
  std::vector<ExtensionPoint> points = {kPreEnqueue, kReserve, kPermit, kPreBind, kBind, kPostBind};
  if (!strict_) points.push_back(kPostFilter);
  if (!late_) points.insert(points.end(), {kPreFilter, kFilter, kPreScore, kScore});
  for (const ExtensionPoint point : points) {
    // All of a point by name, so that one comes before the default ones.
    PluginSet& set = plugins.at(point);
    set.disabled.push_back({"*"});
    set.enabled.push_back({"First"});
    for (const PluginRef& ref : DefaultPlugins().enabled) {
      const PluginSpec* spec = registry.Find(ref.name);
      if (spec != nullptr && spec->points.Has(point)) set.enabled.push_back(ref);
    }
    set.enabled.push_back({"Last"});
  }
  return Scheduler::Create(config, registry, std::move(options));
}

// --- events of the loop

void Run::Subscribe(SchedulingLoop& loop) {
  EventBus& bus = loop.bus();
  subscriptions_.clear();
  subscriptions_.push_back(bus.Subscribe<PodBound>([this, &loop](const PodBound& event) {
    const api::ObjectMeta& meta = event.pod->pod->metadata;
    if (++bindings_[meta.uid] > 1) Bad(out_.doubled, meta.uid + " is committed twice");
    ++out_.bound;
    journal_.push_back([ns = meta.ns, name = meta.name,
                        node = std::string(event.node)](Cluster& cluster) -> Result<void> {
      const PodPtr pod = cluster.view().FindPod(ns, name);
      if (!pod) return ArgumentError("there is no pod " + name + " to bind");
      if (const auto row = cluster.view().Find(node)) {
        if (auto done = cluster.AssumePod(*pod, *row); !done) return done;
        return cluster.FinishBinding(*pod);
      }
      api::Pod object = *pod->pod;
      object.spec.node_name = node;
      return cluster.UpdatePod(std::move(object));
    });
    Capture(loop);
  }));
  subscriptions_.push_back(bus.Subscribe<PodPreempted>([this, &loop](const PodPreempted& event) {
    const api::ObjectMeta& meta = event.victim->pod->metadata;
    host_->Delete(meta.uid, /*evicted=*/true);
    evicted_.insert(meta.uid);
    pods_.erase(meta.name);
    unseen_.erase(meta.name);
    ++out_.evicted;
    journal_.push_back(
        [ns = meta.ns, name = meta.name](Cluster& cluster) { return cluster.DeletePod(ns, name); });
    Capture(loop);
  }));
  subscriptions_.push_back(bus.Subscribe<PodNominated>([this](const PodNominated& event) {
    const api::ObjectMeta& meta = event.pod->pod->metadata;
    journal_.push_back([ns = meta.ns, name = meta.name,
                        node = std::string(event.node)](Cluster& cluster) -> Result<void> {
      // Of a pod that is about to be deleted it is no matter.
      if (const PodPtr pod = cluster.view().FindPod(ns, name);
          !pod || !cluster.view().IsPending(pod->Key())) {
        return {};
      }
      return cluster.NominatePod(ns, name, node);
    });
  }));
  subscriptions_.push_back(bus.Subscribe<PodRejected>([this](const PodRejected& event) {
    last_rejection_ = event.pod->FullName() + ": " + event.status.message();
  }));
  if (!options_.capture) return;
  subscriptions_.push_back(
      bus.Subscribe<PodAssumed>([this, &loop](const PodAssumed&) { Capture(loop); }));
  subscriptions_.push_back(
      bus.Subscribe<CycleFinished>([this, &loop](const CycleFinished&) { Capture(loop); }));
}

// --- states captured during the run

void Run::CatchUp() {
  for (; shadowed_ < journal_.size(); ++shadowed_) (void)journal_[shadowed_](shadow_);
}

// A moment at which somebody may want to keep the state.
void Run::Capture(SchedulingLoop& loop) {
  if (!options_.capture || ++moments_ % kCaptureEvery != 0) return;
  if (options_.isolation == Isolation::kOn) {
    capture_ = true;  // what is committed, when the step is over
    return;
  }
  CatchUp();
  ++out_.captured;
  if (CanonicalDump(loop.cluster().view()) == CanonicalDump(shadow_.view())) ++out_.recoverable;
}

void Run::CaptureAtEndOfStep(SchedulingLoop& loop) {
  if (!capture_) return;
  capture_ = false;
  Cluster committed = loop.cluster().Fork();
  for (Row row = 0; row < loop.cluster().view().size(); ++row) {
    for (const PodPtr& pod : loop.cluster().view().pods(row)) {
      (void)committed.ForgetPod(*pod);  // refused unless it is assumed
    }
  }
  CatchUp();
  ++out_.captured;
  if (CanonicalDump(committed.view()) == CanonicalDump(shadow_.view())) ++out_.recoverable;
}

// --- changes from outside

std::string Run::PickPod() {
  if (pods_.empty()) return "";
  return std::next(pods_.begin(), static_cast<std::ptrdiff_t>(random_.Below(pods_.size())))->first;
}

std::string Run::PickNode(const SchedulingLoop& loop) {
  std::vector<std::string> names;
  const Snapshot& view = loop.cluster().view();
  for (Row row = 0; row < view.size(); ++row) names.push_back(view.name(row));
  std::sort(names.begin(), names.end());
  return names.empty() ? "" : names[random_.Below(names.size())];
}

// The loop sees the pod as it is now. It refuses while the pod is on its way.
bool Run::Update(SchedulingLoop& loop, const std::string& name) {
  api::Pod pod = pods_.at(name);
  const std::string& uid = pod.metadata.uid;
  const auto given = given_nodes_.find(uid);
  pod.spec.node_name = given != given_nodes_.end() ? given->second : host_->NodeOf(uid);
  const bool done = Apply([pod](Cluster& cluster) { return cluster.UpdatePod(pod); },
                          [&] { return loop.UpdatePod(pod); });
  if (done) {
    unseen_.erase(name);
  } else {
    unseen_.insert(name);
  }
  return done;
}

void Run::AddPod(SchedulingLoop& loop, api::Pod pod) {
  api::SetDefaults(pod);
  const std::string name = pod.metadata.name;
  pods_[name] = pod;
  if (!Apply([pod](Cluster& cluster) { return cluster.AddPod(pod); },
             [&] { return loop.AddPod(pod); })) {
    Bad(out_.lost, name + " can't be added");
  }
}

void Run::DeletePod(SchedulingLoop& loop, const std::string& name) {
  host_->Delete(pods_.at(name).metadata.uid, /*evicted=*/false);
  pods_.erase(name);
  unseen_.erase(name);
  if (!Apply([name](Cluster& cluster) { return cluster.DeletePod("default", name); },
             [&] { return loop.DeletePod("default", name); })) {
    Bad(out_.lost, name + " can't be deleted");
  }
}

void Run::Deliver(SchedulingLoop& loop, const Event& event) {
  using Kind = Event::Kind;
  const std::string node = PickNode(loop);
  switch (event.kind) {
    case Kind::kUngate:
      if (const auto it = pods_.find(event.name); it != pods_.end()) {
        it->second.spec.scheduling_gates.clear();
        Update(loop, event.name);
      }
      return;
    case Kind::kLabel:
      if (const std::string name = PickPod(); !name.empty()) {
        pods_.at(name).metadata.labels["app"] = "a" + std::to_string(random_.Below(4));
        Update(loop, name);
      }
      return;
    case Kind::kDeletePod:
      if (const std::string name = PickPod(); !name.empty()) DeletePod(loop, name);
      return;
    case Kind::kReplacePod:
      if (const std::string name = PickPod(); !name.empty()) {
        api::Pod pod = pods_.at(name);
        DeletePod(loop, name);
        pod.metadata.uid = name + "-" + std::to_string(++uids_);
        pod.spec.node_name.clear();
        AddPod(loop, std::move(pod));
      }
      return;
    case Kind::kAddPod:
      AddPod(loop, later_.at(event.name));
      return;
    case Kind::kAddNode: {
      // Now and then one that was there before, to which pods may still be bound.
      std::string name = "n" + std::to_string(200 + random_.Below(50));
      for (int i = 0; i < kNodes && Chance(90); ++i) {
        const std::string old = "n" + std::to_string(100 + i);
        if (!loop.cluster().view().Find(old)) name = old;
      }
      if (loop.cluster().view().Find(name)) return;
      const api::Node added = MakeNode(name);
      Apply([added](Cluster& cluster) { return cluster.AddNode(added); },
            [&] { return loop.AddNode(added); });
      return;
    }
    case Kind::kDeleteNode:
      if (node.empty()) return;
      Apply([node](Cluster& cluster) { return cluster.DeleteNode(node); },
            [&] { return loop.DeleteNode(node); });
      return;
    case Kind::kUpdateNode: {
      if (node.empty()) return;
      api::Node changed = loop.cluster().view().node(*loop.cluster().view().Find(node));
      if (Chance(40)) {
        changed.spec.unschedulable = !changed.spec.unschedulable;
      } else if (Chance(50)) {
        changed.spec.taints.clear();
      } else {
        (*changed.status.allocatable)["cpu"] =
            Quantity::FromMilli(3000 + 1000 * static_cast<std::int64_t>(random_.Below(8)));
      }
      Apply([changed](Cluster& cluster) { return cluster.UpdateNode(changed); },
            [&] { return loop.UpdateNode(changed); });
      return;
    }
    case Kind::kChangeGroup: {
      const auto& groups = loop.cluster().view().objects().pod_groups;
      api::PodGroup group = groups[random_.Below(groups.size())];
      if (group.gang) group.min_count = 1 + static_cast<std::int32_t>(random_.Below(10));
      Apply([group](Cluster& cluster) { return cluster.Upsert(group); },
            [&] { return loop.Upsert(group); });
      return;
    }
  }
}

void Run::DeliverUntil(SchedulingLoop& loop, nanoseconds time) {
  while (next_event_ < events_.size() && events_[next_event_].time <= time) {
    Deliver(loop, events_[next_event_++]);
  }
}

// What the loop has not been told: changes that it refused, and bindings whose answer it never got.
// True: it knows something new.
bool Run::Watch(SchedulingLoop& loop) {
  bool out = false;
  const std::set<std::string> unseen = unseen_;
  for (const std::string& name : unseen) out = Update(loop, name) || out;
  for (const auto& [uid, node] : host_->bound()) {
    if (!source_->LostReply(uid) || host_->IsDeleted(uid)) continue;
    const std::string name = uid.substr(0, uid.find('-'));
    const PodPtr pod = loop.cluster().view().FindPod("default", name);
    if (!pod || pod->pod->metadata.uid != uid || !loop.cluster().view().IsPending(pod->Key())) {
      continue;
    }
    out = Update(loop, name) || out;
  }
  return out;
}

// --- the run

void Run::RunByTicks(Scheduler& scheduler) {
  LoopOptions options;
  options.clock = &clock_;
  options.isolation = options_.isolation;
  options.status_updates = updates_;
  options.queue.emplace();
  options.queue->max_unschedulable = strict_ ? nanoseconds(std::chrono::hours(1000)) : seconds(20);
  options.queue->pop_from_backoff = Chance(80);
  BindingOptions binding;
  binding.threads = 8;
  binding.retries = static_cast<int>(random_.Below(3));
  binding.capacity = Chance(30) ? 3 : 1024;
  std::unique_ptr<ExecutorAdapter> binder;
  nanoseconds tick = seconds(1);
  if (binder_ == BinderKind::kInline) {
    binding.initial_retry = milliseconds(300);
    binder = *InlineAdapter::Create(
        clock_, binding, milliseconds(random_.Below(binding.capacity == 3 ? 300 : 1500)));
    tick = milliseconds(250);
  } else if (binder_ == BinderKind::kThreaded) {
    binding.initial_retry = std::chrono::microseconds(100);
    binder = *ThreadedAdapter::Create(binding);
  }
  options.binder = binder.get();
  SchedulingLoop loop(scheduler, cluster_, options);
  Subscribe(loop);
  const auto steps = [&] {
    for (int n = 0; loop.Step(); ++n) {
      CaptureAtEndOfStep(loop);
      if (n > 5000) {
        Bad(out_.stuck, "it goes in circles; the last pod: " + last_rejection_);
        return;
      }
    }
    CaptureAtEndOfStep(loop);
  };
  for (; clock_.Now() < end_; clock_.Advance(tick)) {
    DeliverUntil(loop, clock_.Now());
    steps();
    if (binder_ != BinderKind::kThreaded) {
      Watch(loop);
      continue;
    }
    // Some results come later than other events.
    const bool wait = clock_.Now() > end_of_faults_ || Chance(60);
    while (wait && binder->Pending() > 0) {
      binder->WaitForResult(milliseconds(100));
      steps();
    }
    Watch(loop);
  }
  steps();
  out_.attempts += loop.Report().attempts;
  if (options_.capture) {
    subscriptions_.clear();
    return;
  }
  if (loop.InFlight() != 0 || loop.queue().in_flight() != 0) {
    Bad(out_.stuck, std::to_string(loop.InFlight()) + " pods are on their way and " +
                        std::to_string(loop.queue().in_flight()) + " in flight at the end");
  }
  std::size_t backing_off = 0;  // groups that don't fit are tried again and again
  loop.queue().ForEachInErrorBackoff(
      [&](const QueuedEntity& entity) { backing_off += entity.is_group ? 1 : 0; });
  if (loop.queue().active() != 0 || (strict_ && loop.queue().backing_off() != backing_off)) {
    Bad(out_.stuck, std::to_string(loop.queue().active()) + " pods are active and " +
                        std::to_string(loop.queue().backing_off() - backing_off) +
                        " wait out their backoff at the end");
  }
  CheckQueue(loop);
  subscriptions_.clear();
}

void Run::RunByItself(Scheduler& scheduler) {
  LoopOptions options;
  options.status_updates = updates_;
  std::unique_ptr<ExecutorAdapter> binder;
  if (binder_ == BinderKind::kThreaded) {
    BindingOptions binding;
    binding.threads = 8;
    binding.retries = 1;
    binding.initial_retry = std::chrono::microseconds(100);
    binder = *ThreadedAdapter::Create(binding);
  }
  options.binder = binder.get();
  {
    SchedulingLoop loop(scheduler, cluster_, options);
    Subscribe(loop);
    // One event from outside every few steps.
    int step = 0;
    const Progress progress = [&](std::size_t, std::size_t) {
      if (++step % 4 == 0 && next_event_ < events_.size()) Deliver(loop, events_[next_event_++]);
      return true;
    };
    for (int round = 0; round < 3; ++round) {
      if (auto done = loop.RunUntilQuiet(progress); !done) {
        Bad(out_.stuck, done.error().message());
      }
      Watch(loop);
    }
    DeliverUntil(loop, nanoseconds::max());
    out_.attempts += loop.Report().attempts;
  }  // which awaits what is with the binder
  subscriptions_.clear();
  // Other schedulers start where that one was stopped, and nothing fails any more: one, and others
  // in place of a flush as long as that changes anything.
  source_->Stop();
  options.binder = nullptr;
  for (std::size_t changes = journal_.size() + 1, round = 0; changes != journal_.size(); ++round) {
    if (round == 10) return Bad(out_.stuck, "schedulers that start anew find ever more to do");
    changes = journal_.size();
    SchedulingLoop loop(scheduler, cluster_, options);
    Subscribe(loop);
    do {
      if (auto done = loop.RunUntilQuiet(); !done) Bad(out_.stuck, done.error().message());
    } while (Watch(loop));
    if (loop.InFlight() != 0 || loop.queue().in_flight() != 0) {
      Bad(out_.stuck, "pods are on their way when it is quiet");
    }
    CheckQueue(loop);
    subscriptions_.clear();
  }
}

// --- what must hold at the end

// Who waits is in the queue once, and nobody else.
void Run::CheckQueue(const SchedulingLoop& loop) {
  queued_as_.clear();
  std::map<std::uint64_t, int> queued;
  loop.queue().ForEach([&](const QueuedEntity& entity) {
    for (const QueuedPod& pod : entity.pods()) {
      ++queued[pod.pod->Key()];
      std::string& why = queued_as_[pod.pod->FullName()];
      why = "tried " + std::to_string(pod.attempts) + " times, rejected by";
      for (const std::string& plugin : loop.queue().Names(pod.unschedulable)) why += " " + plugin;
      if (entity.gating_plugin >= 0) why += ", gated: " + entity.gate.message();
    }
  });
  for (const auto& [group, pods] : loop.queue().incomplete()) {
    for (const QueuedPod& pod : pods) ++queued[pod.pod->Key()];
  }
  for (const PodPtr& pod : cluster_.view().Pending()) {
    const auto it = queued.find(pod->Key());
    if (it == queued.end()) {
      Bad(out_.lost, pod->FullName() + " waits, but isn't queued");
      continue;
    }
    if (it->second != 1) {
      Bad(out_.doubled, pod->FullName() + " is queued " + std::to_string(it->second) + " times");
    }
    queued.erase(it);
  }
  for (const auto& [key, count] : queued) {
    const PodPtr pod = cluster_.view().FindPod(key);
    Bad(out_.doubled, (pod ? pod->FullName() : "a deleted pod") + " is queued, but doesn't wait");
  }
}

void Run::CheckPods() {
  const Snapshot& view = cluster_.view();
  for (const auto& [name, pod] : pods_) {
    const PodPtr found = view.FindPod("default", name);
    if (!found || found->pod->metadata.uid != pod.metadata.uid) {
      Bad(out_.lost, name + " is gone, though nobody has deleted it");
    }
  }
  if (view.PodTotal() != pods_.size()) {
    Bad(out_.lost,
        std::to_string(view.PodTotal()) + " pods are there, not " + std::to_string(pods_.size()));
  }
  const std::map<std::string, std::string> bound = host_->bound();
  for (const auto& [name, pod] : pods_) {
    const std::string& uid = pod.metadata.uid;
    const auto given = given_nodes_.find(uid);
    const std::string node = given != given_nodes_.end() ? given->second : host_->NodeOf(uid);
    const PodPtr found = view.FindPod("default", name);
    if (!found) continue;
    const auto row = view.RowOf("default", name);
    const std::string where = row                            ? view.name(*row)
                              : view.IsPending(found->Key()) ? std::string()
                                                             : found->pod->spec.node_name;
    if (where != node) {
      Bad(out_.doubled, name + " is on node \"" + where + "\", but was bound to \"" + node + "\"");
    }
  }
  for (const std::string& problem : host_->problems()) Bad(out_.doubled, problem);
  if (source_->leaks() != 0) Bad(out_.diverged, "a cycle has seen the state of another");
  if (source_->reserved() != 0) {
    Bad(out_.stuck, std::to_string(source_->reserved()) + " pods are reserved at the end");
  }
}

void Run::CheckStuck() {
  source_->Stop();
  auto made = MakeScheduler(/*with_faults=*/false);
  if (!made) return Bad(out_.stuck, made.error().message());
  Scheduler& scheduler = **made;
  for (const PodPtr& pod : cluster_.view().Pending()) {
    if (!pod->pod->spec.scheduling_gates.empty() || pod->scheduling_group != 0) continue;
    const ScheduleResult result = scheduler.Schedule(cluster_.view(), *pod);
    if (!result.status.IsRejected()) {
      Bad(out_.stuck, pod->FullName() + " waits, but fits on " + result.node +
                          result.status.message() + " (nominated to \"" +
                          pod->pod->status.nominated_node_name + "\"); " +
                          queued_as_[pod->FullName()]);
    }
  }
  Cluster fork = cluster_.Fork();
  SchedulingLoop fresh(scheduler, fork);
  // Pods of a gang that weren't tried keep their nominations while the gang is tried again and
  // again, as upstream. What it gives up at its first attempt here is free for others only now.
  bool released = false;
  const Subscription nominations = fresh.bus().Subscribe<PodNominated>(
      [&](const PodNominated& event) { released = released || event.node.empty(); });
  const Subscription bindings = fresh.bus().Subscribe<PodBound>([&](const PodBound& event) {
    if (released) return;
    const std::string name = event.pod->FullName();
    Bad(out_.stuck, name + " waits, but another scheduler places it; " + queued_as_[name]);
  });
  if (auto report = fresh.RunUntilQuiet(); !report) Bad(out_.stuck, report.error().message());
}

void Run::CheckReplay() {
  auto replayed = Cluster::FromObjects(initial_);
  if (!replayed) return Bad(out_.diverged, replayed.error().message());
  for (const Change& change : journal_) {
    if (auto done = change(*replayed); !done) {
      return Bad(out_.diverged, "replay: " + done.error().message());
    }
  }
  const std::string is = CanonicalDump(cluster_.view());
  const std::string should = CanonicalDump(replayed->view());
  if (is == should) return;
  const auto [a, b] = std::mismatch(is.begin(), is.end(), should.begin(), should.end());
  const auto line = [](const std::string& text, std::string::const_iterator at) {
    const auto offset = static_cast<std::size_t>(at - text.begin());
    const std::size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return text.substr(begin, text.find('\n', begin) - begin).substr(0, 600);
  };
  Bad(out_.diverged, "is: " + line(is, a) + "\n      not: " + line(should, b));
}

FaultRunResult Run::Go() {
  Choose();
  out_.mode = std::string(binder_ == BinderKind::kNone     ? "no binder"
                          : binder_ == BinderKind::kInline ? "binder in virtual time"
                                                           : "binder with threads") +
              (by_itself_ ? ", until quiet"
               : strict_  ? ", without flush"
                          : "") +
              (updates_ == StatusUpdates::kAtOnce ? "" : ", status on failure") +
              (late_ ? ", faults from Reserve on" : "");
  source_ = std::make_shared<FaultSource>(MakePlan(), by_itself_ ? nullptr : &clock_);
  host_ = std::make_unique<Host>(*source_);
  initial_ = MakeObjects();
  MakeEvents();
  if (auto done = api::Normalize(initial_); !done) {
    Bad(out_.diverged, done.error().message());
    return out_;
  }
  auto cluster = Cluster::FromObjects(initial_);
  auto scheduler = MakeScheduler(/*with_faults=*/true);
  if (!cluster || !scheduler) {
    Bad(out_.diverged, !cluster ? cluster.error().message() : scheduler.error().message());
    return out_;
  }
  cluster_ = *std::move(cluster);
  if (options_.capture) shadow_ = *Cluster::FromObjects(initial_);
  if (by_itself_) {
    RunByItself(**scheduler);
  } else {
    RunByTicks(**scheduler);
  }
  for (std::size_t i = 0; i < kFaultPointCount; ++i) {
    out_.faults += static_cast<std::int64_t>(source_->count(static_cast<FaultPoint>(i)));
  }
  for (const auto& [uid, node] : host_->bound()) out_.lost_replies += source_->LostReply(uid);
  if (options_.capture) return out_;
  CheckPods();
  CheckReplay();
  CheckStuck();
  return out_;
}

}  // namespace

FaultRunResult RunFaultPlan(const FaultRunOptions& options) { return Run(options).Go(); }

}  // namespace schedfw::testing
