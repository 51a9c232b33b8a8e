// SchedulingQueue, rule by rule; the values are those of kube-scheduler v1.37.2
// (backend/queue/scheduling_queue.go, active_queue.go, backoff_queue.go).

#include "schedfw/scheduler/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/base/random.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::Parse;
using testing::PodYaml;
using Strings = std::vector<std::string>;

// What the plugins of a test do.
struct Script {
  std::map<std::string, std::set<std::string>> gates;  // plugin → pods that it keeps out
  std::map<std::string, std::function<QueueingHint(const PodInfo&)>> hints;  // default: kQueue
  int pre_enqueues = 0;                                                      // of plugin Gate
};

class Probe : public PreEnqueuePlugin, public FilterPlugin, public EnqueueExtensions {
 public:
  Probe(std::string name, std::vector<ClusterEvent> events, std::shared_ptr<Script> script)
      : name_(std::move(name)), events_(std::move(events)), script_(std::move(script)) {}

  std::string_view Name() const override { return name_; }
  bool IsThreadSafe() const override { return false; }
  Status Filter(const Cycle&, const NodeInfo&) const override { return {}; }
  Status PreEnqueue(const PodInfo& pod) override {
    script_->pre_enqueues += name_ == "Gate" ? 1 : 0;
    return script_->gates[name_].contains(pod.pod->metadata.name)
               ? Status::Unresolvable("kept out by " + name_)
               : Status();
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    std::vector<ClusterEventWithHint> out;
    for (const ClusterEvent& event : events_) {
      out.push_back({event, [this](const PodInfo& pod, const ObjectChange&) {
                       const auto& hint = script_->hints[name_];
                       return hint ? hint(pod) : QueueingHint::kQueue;
                     }});
    }
    return out;
  }

 private:
  std::string name_;
  std::vector<ClusterEvent> events_;
  std::shared_ptr<Script> script_;
};

// A plugin that says nothing of events: all are registered for it.
class SaysNothing : public FilterPlugin {
 public:
  std::string_view Name() const override { return "SaysNothing"; }
  Status Filter(const Cycle&, const NodeInfo&) const override { return {}; }
};

constexpr ClusterEvent kNodeAdd{EventResource::kNode, kAdd};
constexpr ClusterEvent kNodeLabel{EventResource::kNode, kUpdateNodeLabel};
constexpr ClusterEvent kNodeTaint{EventResource::kNode, kUpdateNodeTaint};
constexpr ClusterEvent kPodDelete{EventResource::kAssignedPod, kDelete};
constexpr ClusterEvent kOwnLabel{EventResource::kTargetPod, kUpdatePodLabel};

struct Groups : PodGroupLookup {
  std::map<std::uint64_t, api::PodGroup> objects;
  std::map<std::uint64_t, std::int32_t> pods;

  const api::PodGroup* FindGroup(std::uint64_t key) const override {
    const auto found = objects.find(key);
    return found == objects.end() ? nullptr : &found->second;
  }
  std::int32_t CountPods(std::uint64_t key) const override {
    const auto found = pods.find(key);
    return found == pods.end() ? 0 : found->second;
  }
};

// A queue with a virtual clock, and the plugins Blue (asked when a node comes or its labels
// change), Green (when a pod goes), Mute (never), Gate (when a node's labels or the pod's own
// change) and SaysNothing.
class Queue : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }

  void Start(QueueOptions options) {
    queue.reset();
    script = std::make_shared<Script>();
    Registry registry = InTreeRegistry();
    const auto add = [&](const std::string& name, std::vector<ClusterEvent> events) {
      PluginSpec spec;
      spec.name = name;
      spec.points = internal::PointsOf<Probe>();
      spec.factory = [=, this](const Value&, const Handle&) -> Result<PluginPtr> {
        return PluginPtr(std::make_shared<Probe>(name, events, script));
      };
      EXPECT_TRUE(registry.Add(std::move(spec)).ok());
    };
    add("Blue", {kNodeAdd, kNodeLabel, kOwnLabel});
    add("Green", {kPodDelete});
    add("Mute", {});
    add("Gate", {kNodeLabel, kOwnLabel});
    EXPECT_TRUE(registry.Add<SaysNothing>("SaysNothing", "").ok());
    const auto config = ParseConfig(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Blue}, {name: Green}, {name: Mute}, "
        "{name: Gate}, {name: SaysNothing}]}}}]\n",
        registry);
    ASSERT_TRUE(config.ok()) << config.error().message();
    SchedulerOptions scheduler_options;
    scheduler_options.handle.generic_workload = true;
    auto made = Scheduler::Create(*config, registry, scheduler_options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    scheduler = *std::move(made);
    queue = std::make_unique<SchedulingQueue>(*scheduler, clock, options, &groups);
  }

  // A pod of the cluster; given again it is another object of the same pod.
  PodPtr Pod(const std::string& name, int priority = 0, const std::string& spec = "",
             const std::string& labels = "") {
    auto objects = api::ParseObjects(
        PodYaml(name, labels, "  priority: " + std::to_string(priority) + "\n" + spec));
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    auto done = cluster.view().FindPod("default", name) ? cluster.UpdatePod(objects->pods.front())
                                                        : cluster.AddPod(objects->pods.front());
    EXPECT_TRUE(done.ok()) << done.error().message();
    return cluster.view().FindPod("default", name);
  }
  PodPtr Member(const std::string& name, int priority = 0, const std::string& group = "g") {
    PodPtr pod = Pod(name, priority, "  schedulingGroup: {podGroupName: " + group + "}\n");
    ++groups.pods[pod->GroupKey()];
    return pod;
  }
  // Makes the object of a group known, without telling the queue.
  std::uint64_t Gang(int min_count, int priority = 0, const std::string& name = "g") {
    api::PodGroup group;
    group.metadata.ns = "default";
    group.metadata.name = name;
    group.gang = min_count > 0;
    group.basic = !group.gang;
    group.min_count = min_count;
    group.priority = priority;
    const std::uint64_t key = std::uint64_t{cluster.view().dictionary().Intern("default")} << 32 |
                              cluster.view().dictionary().Intern(name);
    groups.objects[key] = group;
    return key;
  }

  void At(nanoseconds time) { ASSERT_TRUE(clock.Set(time)); }
  PluginBits Bits(const std::set<std::string>& plugins) const { return queue->Bits(plugins); }

  static std::string NameOf(const QueuedEntity& entity) {
    std::string out;
    for (const QueuedPod& pod : entity.pods()) {
      out += (out.empty() ? "" : "+") + pod.pod->pod->metadata.name;
    }
    return out;
  }
  // The names of all that can be popped, members of a group with a plus. They stay in flight.
  Strings PopAll() {
    Strings out;
    while (const QueuedEntityPtr entity = queue->Pop()) out.push_back(NameOf(*entity));
    return out;
  }
  // Queues a pod and has it rejected by the plugins, nothing having happened meanwhile.
  PodPtr Rejected(const std::string& name, const std::set<std::string>& plugins, int priority = 0) {
    PodPtr pod = Pod(name, priority);
    EXPECT_TRUE(queue->Add(pod));
    Fail(queue->Pop(), plugins);
    return pod;
  }
  void Fail(QueuedEntityPtr entity, const std::set<std::string>& plugins,
            const std::set<std::string>& pending = {}) {
    ASSERT_NE(entity, nullptr);
    queue->AddUnschedulable(std::move(entity), Bits(plugins), Bits(pending));
  }
  static QueueEvent Event(ClusterEvent event) {
    QueueEvent out;
    out.event = event;
    return out;
  }
  void Happens(ClusterEvent event, const EventFilter& filter = {}) {
    queue->MoveAll(Event(event), filter);
  }
  // (active, in backoff, unschedulable)
  std::vector<std::size_t> Sizes() const {
    return {queue->active(), queue->backing_off(), queue->unschedulable()};
  }
  using V = std::vector<std::size_t>;

  std::shared_ptr<Script> script;
  std::unique_ptr<Scheduler> scheduler;
  Cluster cluster;
  VirtualClock clock;
  Groups groups;
  std::unique_ptr<SchedulingQueue> queue;
};

// --- order

TEST_F(Queue, PriorityThenTimeThenArrival) {
  for (const auto& [name, priority] :
       std::vector<std::pair<std::string, int>>{{"d", 0}, {"c", 5}, {"b", 0}, {"a", 5}}) {
    queue->Add(Pod(name, priority));
  }
  At(seconds(1));
  queue->Add(Pod("late", 5));
  queue->Add(Pod("negative", -1));
  EXPECT_EQ(PopAll(), (Strings{"c", "a", "late", "d", "b", "negative"}));
  EXPECT_EQ(queue->in_flight(), 6u);
}

TEST_F(Queue, AMoveKeepsTheTimeAndAFailureTakesItAnew) {
  Rejected("first", {"Blue"});
  At(seconds(3));
  queue->Add(Pod("second"));
  Happens(kNodeAdd);  // the backoff is over
  EXPECT_EQ(Sizes(), (V{2, 0, 0}));
  QueuedEntityPtr first = queue->Pop();
  EXPECT_EQ(NameOf(*first), "first");
  EXPECT_EQ(first->attempts, 2);
  EXPECT_EQ(first->initial_timestamp, seconds(0));  // when it was active for the first time
  queue->Add(Pod("third"));
  Fail(std::move(first), {"Blue"});
  At(seconds(10));
  Happens(kNodeAdd);
  EXPECT_EQ(PopAll(), (Strings{"second", "third", "first"}));
}

TEST_F(Queue, ManyPodsComeInOrderWhateverGoesBetween) {
  Random random(1);
  std::vector<std::pair<int, std::string>> want;
  std::vector<PodPtr> pods;
  for (int i = 0; i < 300; ++i) {
    const int priority = static_cast<int>(random.Below(7));
    pods.push_back(Pod("p" + std::to_string(1000 + i), priority));
    queue->Add(pods.back());
    if (random.Below(3) == 0) {
      queue->Delete(*pods.back());
    } else {
      want.emplace_back(-priority, pods.back()->pod->metadata.name);
    }
  }
  std::sort(want.begin(), want.end());
  Strings names;
  for (const auto& [priority, name] : want) names.push_back(name);
  EXPECT_EQ(PopAll(), names);
}

TEST_F(Queue, PodsOfUnknownProfilesAreRefused) {
  EXPECT_FALSE(queue->Add(Pod("p", 0, "  schedulerName: another\n")));
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
}

// --- backoff

TEST_F(Queue, BackoffEndsWithTheWholeSecondBehindIt) {
  At(milliseconds(400));
  queue->Add(Pod("p"));
  Fail(queue->Pop(), {});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  EXPECT_EQ(queue->NextFlush(), nanoseconds(seconds(2)));
  At(seconds(2) - nanoseconds(1));
  queue->FlushBackoff();
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  At(seconds(2));
  queue->FlushBackoff();
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  EXPECT_EQ(queue->NextFlush(), std::nullopt);
}

TEST_F(Queue, BackoffDoublesUpToTheMaximum) {
  queue->Add(Pod("p"));
  for (const int backoff : {1, 2, 4, 8, 10, 10}) {
    Fail(queue->Pop(), {});
    ASSERT_EQ(queue->NextFlush(), clock.Now() + seconds(backoff + 1));
    At(*queue->NextFlush());
    queue->FlushBackoff();
    ASSERT_EQ(Sizes(), (V{1, 0, 0}));
  }
}

TEST_F(Queue, BackoffAfterVeryManyFailuresIsTheMaximum) {
  queue->Add(Pod("p"));
  for (int i = 0; i < 200; ++i) {
    Fail(queue->Pop(), {});
    At(*queue->NextFlush());
    queue->FlushBackoff();
  }
  Fail(queue->Pop(), {});
  EXPECT_EQ(queue->NextFlush(), clock.Now() + seconds(11));
}

TEST_F(Queue, ErrorsAndRejectionsAreCountedApart) {
  queue->Add(Pod("p"));
  const auto fails = [&](const std::set<std::string>& plugins) {
    QueuedEntityPtr entity = queue->Pop();
    Happens(kNodeAdd);  // so that it goes to its backoff
    Fail(std::move(entity), plugins);
    const nanoseconds backoff = *queue->NextFlush() - clock.Now() - seconds(1);
    At(*queue->NextFlush());
    queue->FlushBackoff();
    return backoff;
  };
  EXPECT_EQ(fails({}), seconds(1));
  EXPECT_EQ(fails({}), seconds(2));
  EXPECT_EQ(fails({"Blue"}), seconds(1));  // the errors are forgotten
  EXPECT_EQ(fails({}), seconds(1));
  EXPECT_EQ(fails({"Blue"}), seconds(2));  // the rejections aren't
  EXPECT_EQ(fails({"Blue"}), seconds(4));
}

TEST_F(Queue, WithoutAMaximumNothingBacksOff) {
  QueueOptions options;
  options.max_backoff = seconds(0);
  Start(options);
  queue->Add(Pod("p"));
  Fail(queue->Pop(), {});
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, AShortBackoffLastsForItsSecond) {
  QueueOptions options;
  options.initial_backoff = milliseconds(100);
  Start(options);
  queue->Add(Pod("p"));
  Fail(queue->Pop(), {});  // ends in second 0, which counts as backing off
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  EXPECT_EQ(queue->NextFlush(), nanoseconds(seconds(1)));
}

TEST_F(Queue, WhatBacksOffIsTakenWhenNothingIsActive) {
  const auto fails_at = [&](nanoseconds time, const std::string& name, int priority,
                            const std::set<std::string>& plugins) {
    At(time);
    queue->Add(Pod(name, priority));
    QueuedEntityPtr entity = queue->Pop();
    Happens(kNodeAdd);
    Fail(std::move(entity), plugins);
  };
  // All that ends in one second goes by priority.
  std::vector<QueuedEntityPtr> entities;
  queue->Add(Pod("low", 0));
  queue->Add(Pod("high", 10));
  queue->Add(Pod("later", 100));
  queue->Add(Pod("error", 200));
  for (int i = 0; i < 4; ++i) entities.push_back(queue->Pop());
  Happens(kNodeAdd);
  At(milliseconds(200));
  Fail(std::move(entities[3]), {"Blue"});
  At(milliseconds(400));
  Fail(std::move(entities[2]), {"Blue"});
  At(milliseconds(1200));
  Fail(std::move(entities[1]), {"Blue"});
  Fail(std::move(entities[0]), {});
  EXPECT_EQ(Sizes(), (V{0, 4, 0}));
  EXPECT_EQ(queue->in_error_backoff(), 1u);
  queue->Add(Pod("active", -5));
  // Whatever failed by an error waits.
  EXPECT_EQ(PopAll(), (Strings{"active", "high", "low", "later"}));
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  EXPECT_EQ(queue->Pop(), nullptr);
  fails_at(seconds(3), "one-more", 0, {"Blue"});
  EXPECT_EQ(PopAll(), (Strings{"one-more"}));
}

TEST_F(Queue, WithoutPopFromBackoffBackoffIsExact) {
  QueueOptions options;
  options.pop_from_backoff = false;
  Start(options);
  At(milliseconds(400));
  queue->Add(Pod("p"));
  QueuedEntityPtr entity = queue->Pop();
  Happens(kNodeAdd);
  script->gates["Gate"] = {"p"};
  Fail(std::move(entity), {"Blue"});
  EXPECT_EQ(queue->Pop(), nullptr);
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));  // the way to the backoff passes no gate
  EXPECT_EQ(queue->NextFlush(), nanoseconds(seconds(2)));
  At(milliseconds(1400));
  queue->FlushBackoff();
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  At(seconds(2));
  queue->FlushBackoff();
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));  // but the way out does
}

// --- gates

TEST_F(Queue, AGatedPodIsMovedByItsGateOnly) {
  script->gates["Gate"] = {"p"};
  queue->Add(Pod("p"));
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  EXPECT_EQ(queue->Pop(), nullptr);
  queue->ForEach([&](const QueuedEntity& entity) {
    EXPECT_EQ(entity.gate.message(), "kept out by Gate");
    EXPECT_EQ(queue->Names(PluginBits{1} << entity.gating_plugin), (Strings{"Gate"}));
  });
  script->gates.clear();
  Happens(kNodeAdd);  // Gate didn't ask for it
  Happens(kPodDelete);
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens(kNodeLabel);
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  EXPECT_EQ(queue->Pop()->initial_timestamp, seconds(0));
}

TEST_F(Queue, AGateThatIsStillClosedKeepsThePod) {
  script->gates["Gate"] = {"p"};
  queue->Add(Pod("p"));
  Happens(kNodeLabel);
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  script->hints["Gate"] = [](const PodInfo&) { return QueueingHint::kSkip; };
  script->gates.clear();
  Happens(kNodeLabel);
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
}

TEST_F(Queue, GatesAreAskedOnTheWayToTheBackoffButNotBehindIt) {
  queue->Add(Pod("p"));
  queue->Add(Pod("q"));
  QueuedEntityPtr p = queue->Pop(), q = queue->Pop();
  Happens(kNodeAdd);
  script->gates["Gate"] = {"p"};
  script->pre_enqueues = 0;
  Fail(std::move(p), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Fail(std::move(q), {});
  EXPECT_EQ(Sizes(), (V{0, 1, 1}));
  EXPECT_EQ(script->pre_enqueues, 2);
  script->gates["Gate"] = {"q"};
  At(seconds(2));
  queue->FlushBackoff();
  EXPECT_EQ(Sizes(), (V{1, 0, 1}));
  EXPECT_EQ(script->pre_enqueues, 2);
  // Blue rejected p too, but the gate doesn't let its event through.
  Happens(kNodeAdd);
  EXPECT_EQ(Sizes(), (V{1, 0, 1}));
  Happens(kNodeLabel);
  EXPECT_EQ(Sizes(), (V{2, 0, 0}));
}

TEST_F(Queue, SchedulingGatesOpenWhenTheLastOneIsGone) {
  const PodPtr two = Pod("p", 0, "  schedulingGates: [{name: a/x}, {name: a/y}]\n");
  queue->Add(two);
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  const PodPtr one = Pod("p", 0, "  schedulingGates: [{name: a/x}]\n");
  const QueueEvent updated = Event({EventResource::kTargetPod, kUpdate});
  queue->Update(one, {&updated, 1});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  const PodPtr none = Pod("p");
  const QueueEvent open = Event({EventResource::kTargetPod, kUpdatePodSchedulingGatesEliminated});
  queue->Update(none, {&open, 1});
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  EXPECT_EQ(queue->Pop()->one.pod, none);
}

// --- events

TEST_F(Queue, OnlyPluginsThatRejectedAreAsked) {
  Rejected("blue", {"Blue"});
  Rejected("green", {"Green"});
  Rejected("mute", {"Mute"});
  Rejected("any", {"SaysNothing"});
  Rejected("blue-mute", {"Blue", "Mute"});
  EXPECT_EQ(Sizes(), (V{0, 0, 5}));
  int asked = 0;
  script->hints["Blue"] = [&](const PodInfo&) {
    ++asked;
    return QueueingHint::kSkip;
  };
  Happens(kNodeAdd);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(PopAll(), (Strings{"any"}));
  script->hints["Blue"] = {};
  Happens(kNodeAdd);
  EXPECT_EQ(PopAll(), (Strings{"blue", "blue-mute"}));
  Happens(kPodDelete);
  EXPECT_EQ(PopAll(), (Strings{"green"}));
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
}

TEST_F(Queue, AnUpdateOfNoKindIsForThoseWhoWantAllUpdates) {
  Rejected("blue", {"Blue"});
  Rejected("any", {"SaysNothing"});
  Happens({EventResource::kNode, kUpdate});
  EXPECT_EQ(PopAll(), (Strings{"any"}));
}

TEST_F(Queue, AHintThatFailsIsNoReasonToWait) {
  Rejected("p", {"Blue"});
  script->hints["Blue"] = [](const PodInfo&) -> QueueingHint {
    throw std::runtime_error("broken");
  };
  Happens(kNodeAdd);
  EXPECT_EQ(PopAll(), (Strings{"p"}));
}

TEST_F(Queue, AnEventMovesToTheBackoffUntilThatIsOver) {
  Rejected("p", {"Blue"});
  At(seconds(1));
  Happens(kNodeAdd);
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  queue->Delete(*Pod("p"));
  Rejected("q", {"Blue"});  // ends at 2, and with the second behind it
  At(milliseconds(2999));
  Happens(kNodeAdd);
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  queue->Delete(*Pod("q"));
  Rejected("r", {"Blue"});
  At(seconds(4));
  Happens(kNodeAdd);
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, EventsInFlightCountForThoseWhoWereInFlight) {
  queue->Add(Pod("early"));
  queue->Add(Pod("late"));
  QueuedEntityPtr early = queue->Pop();
  Happens(kNodeAdd);
  QueuedEntityPtr late = queue->Pop();
  Fail(std::move(early), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  Fail(std::move(late), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 1, 1}));
  EXPECT_EQ(queue->in_flight(), 0u);
  // The event is forgotten.
  QueuedEntityPtr again = queue->Pop();
  EXPECT_EQ(NameOf(*again), "early");
  Fail(std::move(again), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 0, 2}));
}

TEST_F(Queue, HintsInFlightSeeWhoRejectedInTheEnd) {
  queue->Add(Pod("p"));
  QueuedEntityPtr p = queue->Pop();
  Happens(kNodeAdd);
  Fail(std::move(p), {"Green"});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
}

TEST_F(Queue, APodThatIsDoneHasNoEvents) {
  queue->Add(Pod("p"));
  QueuedEntityPtr p = queue->Pop();
  const std::uint64_t key = p->key;
  queue->Done(key);
  queue->Done(key);
  EXPECT_EQ(queue->in_flight(), 0u);
  // It can't be known what has happened meanwhile.
  Fail(std::move(p), {"Mute"});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
}

TEST_F(Queue, EventsMayBeForSomePodsOnly) {
  const PodPtr high = Rejected("high", {"Blue"}, 10);
  Rejected("middle", {"Blue"}, 5);
  Rejected("low", {"Blue"}, 0);
  Happens(kNodeAdd, {.max_priority = 5});
  EXPECT_EQ(PopAll(), (Strings{"middle", "low"}));
  Happens(kNodeAdd, {.max_priority = {}, .except = high->Key()});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens(kNodeAdd);
  EXPECT_EQ(PopAll(), (Strings{"high"}));
}

TEST_F(Queue, InFlightTheFilterIsNotAsked) {
  queue->Add(Pod("p", 10));
  QueuedEntityPtr p = queue->Pop();
  Happens(kNodeAdd, {.max_priority = 5, .except = p->key});
  Fail(std::move(p), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
}

TEST_F(Queue, PendingPluginsSkipTheBackoff) {
  queue->Add(Pod("p"));
  Fail(queue->Pop(), {"Blue"}, {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens(kNodeAdd);
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  // In flight, too; and behind a plugin that only rejected.
  QueuedEntityPtr p = queue->Pop();
  Happens(kPodDelete);
  Happens(kNodeAdd);
  Fail(std::move(p), {"Green", "Blue"}, {"Blue"});
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  p = queue->Pop();
  Happens(kPodDelete);
  Fail(std::move(p), {"Green", "Blue"}, {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
}

TEST_F(Queue, WhatWaitsTooLongIsTriedAgain) {
  At(seconds(1));
  Rejected("p", {"Mute"});
  At(seconds(1) + minutes(5));
  queue->FlushUnschedulable();
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  queue->Add(Pod("younger"));
  At(seconds(1) + minutes(5) + nanoseconds(1));
  queue->FlushUnschedulable();
  EXPECT_EQ(PopAll(), (Strings{"p", "younger"}));  // its place is that of its failure
}

TEST_F(Queue, AFlushDoesNotOpenGates) {
  script->gates["Gate"] = {"p"};
  queue->Add(Pod("p"));
  At(minutes(5) + seconds(1));
  queue->FlushUnschedulable();
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  script->gates.clear();
  At(minutes(6));
  queue->FlushUnschedulable();  // not yet again
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  At(minutes(10) + seconds(2));
  queue->FlushUnschedulable();
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, InFlightAFlushOfOthersCounts) {
  Rejected("old", {"Mute"});
  At(minutes(6));
  queue->Add(Pod("p"));
  QueuedEntityPtr p = queue->Pop();
  queue->FlushUnschedulable();
  Fail(std::move(p), {"Mute"});
  EXPECT_EQ(Sizes(), (V{1, 1, 0}));
}

TEST_F(Queue, Activate) {
  const PodPtr waits = Rejected("waits", {"Mute"});
  queue->Add(Pod("backs-off"));
  QueuedEntityPtr entity = queue->Pop();
  const std::uint64_t backs_off = entity->key;
  Fail(std::move(entity), {});
  script->gates["Gate"] = {"gated", "backs-off"};
  queue->Add(Pod("gated"));
  const std::vector<std::uint64_t> keys = {waits->Key(), backs_off, Pod("gated")->Key(),
                                           Pod("unknown")->Key()};
  queue->Activate(keys);
  // Gates aren't asked on the way from the backoff.
  EXPECT_EQ(Sizes(), (V{2, 0, 1}));
  EXPECT_EQ(PopAll(), (Strings{"waits", "backs-off"}));
}

TEST_F(Queue, ActivateInFlightIsForThatPod) {
  queue->Add(Pod("p"));
  queue->Add(Pod("q"));
  QueuedEntityPtr p = queue->Pop(), q = queue->Pop();
  const std::vector<std::uint64_t> keys = {p->key};
  queue->Activate(keys);
  Fail(std::move(q), {"Mute"});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Fail(std::move(p), {"Mute"});
  EXPECT_EQ(Sizes(), (V{0, 1, 1}));
}

// --- updates and deletions

TEST_F(Queue, UpdateReplacesTheObjectWhereverItIs) {
  const QueueEvent label = Event(kOwnLabel);
  queue->Add(Pod("active"));
  queue->Update(Pod("active", 7, "", "a: b"), {&label, 1});
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  queue->Add(Pod("other", 3));
  QueuedEntityPtr entity = queue->Pop();  // by the new priority
  EXPECT_EQ(NameOf(*entity), "active");
  EXPECT_EQ(entity->one.pod->priority(), 7);
  Fail(std::move(entity), {});
  queue->Update(Pod("active", 7, "", "a: c"), {&label, 1});
  EXPECT_EQ(Sizes(), (V{1, 1, 0}));
  EXPECT_EQ(queue->Find(Pod("active", 7, "", "a: c")->Key())->pod->metadata.labels.size(), 1u);
  EXPECT_EQ(queue->Find(Pod("none")->Key()), nullptr);
}

TEST_F(Queue, UpdateOfAnUnschedulablePodIsAnEvent) {
  Rejected("blue", {"Blue"});
  Rejected("mute", {"Mute"});
  const std::vector<QueueEvent> events = {Event({EventResource::kTargetPod, kUpdatePodScaleDown}),
                                          Event(kOwnLabel)};
  const PodPtr mute = Pod("mute", 0, "", "a: b");
  queue->Update(mute, events);
  EXPECT_EQ(Sizes(), (V{0, 0, 2}));
  EXPECT_EQ(queue->Find(mute->Key()), mute);
  queue->Update(Pod("blue", 0, "", "a: b"), events);
  EXPECT_EQ(Sizes(), (V{0, 1, 1}));
}

TEST_F(Queue, UpdateInFlightIsAnEventOfItsOwn) {
  queue->Add(Pod("p"));
  QueuedEntityPtr p = queue->Pop();
  const QueueEvent label = Event(kOwnLabel);
  queue->Update(Pod("p", 0, "", "a: b"), {&label, 1});
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  Fail(std::move(p), {"Blue"});
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
}

TEST_F(Queue, UpdateOfAnUnknownPodAddsIt) {
  queue->Update(Pod("p"), {});
  EXPECT_EQ(PopAll(), (Strings{"p"}));
}

TEST_F(Queue, DeleteFindsThePodAnywhere) {
  const PodPtr waits = Rejected("waits", {"Blue"});
  const PodPtr backs_off = Pod("backs-off");
  queue->Add(backs_off);
  Fail(queue->Pop(), {});
  const PodPtr in_flight = Pod("in-flight");
  queue->Add(in_flight);
  QueuedEntityPtr entity = queue->Pop();
  const PodPtr active = Pod("active");
  queue->Add(active);
  EXPECT_EQ(Sizes(), (V{1, 1, 1}));
  for (const PodPtr& pod : {waits, backs_off, active, in_flight}) queue->Delete(*pod);
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  EXPECT_EQ(queue->in_flight(), 1u);
  queue->Done(entity->key);
  EXPECT_EQ(queue->in_flight(), 0u);
  Happens(kNodeAdd);
  At(minutes(10));
  queue->FlushBackoff();
  queue->FlushUnschedulable();
  EXPECT_EQ(queue->Pop(), nullptr);
}

// --- groups

TEST_F(Queue, MembersGatherUntilThereAreEnough) {
  const std::uint64_t key = Gang(3);
  queue->Add(Member("b"));
  queue->Add(Member("a"));
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  EXPECT_EQ(queue->Pop(), nullptr);
  queue->ForEach([&](const QueuedEntity& entity) {
    EXPECT_EQ(entity.gate.message(),
              "waiting for minCount pods from a gang to appear in scheduling queue");
  });
  queue->Add(Member("c"));
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  const QueuedEntityPtr group = queue->Pop();
  EXPECT_TRUE(group->is_group);
  EXPECT_EQ(group->key, key);
  EXPECT_EQ(NameOf(*group), "a+b+c");
  EXPECT_EQ(queue->in_flight(), 3u);
}

TEST_F(Queue, ABasicGroupNeedsNoNumber) {
  Gang(0);
  queue->Add(Member("a"));
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, MembersAreSortedByPriorityAttemptsTimeAndName) {
  Gang(0);
  queue->Add(Member("tried"));
  std::vector<QueuedPod> left = {queue->Pop()->members.front()};
  // As the loop does: the group comes back with what is left.
  QueuedEntityPtr popped = std::make_unique<QueuedEntity>();
  popped->is_group = true;
  popped->key = left.front().pod->GroupKey();
  queue->AddAttemptedGroup(std::move(popped), std::move(left), GroupOutcome::kSuccess);
  queue->Add(Member("z"));
  queue->Add(Member("a"));
  At(seconds(1));
  queue->Add(Member("later"));
  queue->Add(Member("high", 5));
  EXPECT_EQ(PopAll(), (Strings{"high+tried+a+z+later"}));
}

TEST_F(Queue, OneGatedMemberHoldsAll) {
  Gang(2);
  script->gates["Gate"] = {"b"};
  queue->Add(Member("a"));
  queue->Add(Member("b"));
  queue->Add(Member("c"));
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens({EventResource::kUnscheduledPod, kAdd});  // Gate doesn't care
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  script->gates.clear();
  Happens(kNodeLabel);
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, WithoutItsObjectAGroupWaitsOutside) {
  const PodPtr a = Member("a"), b = Member("b");
  queue->Add(a);
  queue->Add(b);
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  ASSERT_EQ(queue->incomplete().size(), 1u);
  EXPECT_EQ(queue->incomplete().begin()->second.size(), 2u);
  // An update changes the object, and no event moves it.
  const PodPtr changed = Pod("b", 0, "  schedulingGroup: {podGroupName: g}\n", "x: z");
  queue->Update(changed, {});
  EXPECT_EQ(queue->incomplete().begin()->second.at(1).pod, changed);
  queue->Delete(*a);
  At(minutes(20));
  queue->FlushUnschedulable();
  EXPECT_EQ(queue->Pop(), nullptr);

  const std::uint64_t key = Gang(1, 4);
  queue->GroupChanged(key, Event({EventResource::kPodGroup, kAdd}));
  EXPECT_TRUE(queue->incomplete().empty());
  QueuedEntityPtr group = queue->Pop();
  EXPECT_EQ(NameOf(*group), "b");
  EXPECT_EQ(group->priority, 4);
  // It goes while the group is in flight.
  groups.objects.clear();
  std::vector<QueuedPod> left = std::move(group->members);
  queue->AddAttemptedGroup(std::move(group), std::move(left), GroupOutcome::kRejected);
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  EXPECT_EQ(queue->incomplete().begin()->second.size(), 1u);
  // And while it is queued.
  Gang(1);
  queue->GroupChanged(key, Event({EventResource::kPodGroup, kAdd}));
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  groups.objects.clear();
  queue->GroupChanged(key, Event({EventResource::kPodGroup, kDelete}));
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  EXPECT_EQ(queue->incomplete().size(), 1u);
}

TEST_F(Queue, AGroupGoesByThePriorityOfItsObject) {
  const std::uint64_t key = Gang(1, 50);
  queue->Add(Member("member", 0));
  queue->Add(Pod("solo", 10));
  queue->Add(Pod("urgent", 100));
  EXPECT_EQ(PopAll(), (Strings{"urgent", "member", "solo"}));
  Gang(1, 1, "h");
  queue->Add(Pod("solo2", 10));
  queue->Add(Member("later", 0, "h"));
  const std::uint64_t other = Gang(1, 20, "h");
  EXPECT_NE(key, other);
  queue->GroupChanged(other, Event({EventResource::kPodGroup, kUpdate}));
  EXPECT_EQ(PopAll(), (Strings{"later", "solo2"}));
}

TEST_F(Queue, ALowerMinimumOpensTheGate) {
  const std::uint64_t key = Gang(3);
  queue->Add(Member("a"));
  queue->Add(Member("b"));
  QueueEvent event = Event({EventResource::kPodGroup, kUpdate});
  event.old_group = std::make_shared<const api::PodGroup>(groups.objects[key]);
  groups.objects[key].min_count = 2;
  event.new_group = std::make_shared<const api::PodGroup>(groups.objects[key]);
  queue->GroupChanged(key, event);
  EXPECT_EQ(PopAll(), (Strings{"a+b"}));
}

TEST_F(Queue, WhoArrivesWhileItsGroupIsInFlightWaitsForIt) {
  Gang(1);
  queue->Add(Member("a"));
  queue->Add(Pod("solo"));
  QueuedEntityPtr group = queue->Pop();
  EXPECT_EQ(NameOf(*group), "a");
  At(seconds(1));
  queue->Add(Member("b"));
  const PodPtr changed = Pod("b", 0, "  schedulingGroup: {podGroupName: g}\n", "x: z");
  queue->Update(changed, {});
  EXPECT_EQ(PopAll(), (Strings{"solo"}));
  queue->Add(Pod("another"));
  // All that was popped has been bound: the group is a new one, behind the others.
  queue->Done(group->members.front().pod->Key());
  group->members.clear();
  queue->AddAttemptedGroup(std::move(group), {}, GroupOutcome::kSuccess);
  EXPECT_EQ(queue->Pop()->one.pod->pod->metadata.name, "another");
  group = queue->Pop();
  EXPECT_EQ(NameOf(*group), "b");
  EXPECT_EQ(group->members.front().pod, changed);
  // Who goes while the group is in flight doesn't come back.
  const PodPtr c = Member("c");
  queue->Add(c);
  queue->Delete(*c);
  std::vector<QueuedPod> left = std::move(group->members);
  queue->AddAttemptedGroup(std::move(group), std::move(left), GroupOutcome::kSuccess);
  EXPECT_EQ(PopAll(), (Strings{"b"}));
}

TEST_F(Queue, WhatASuccessLeavesKeepsItsPlace) {
  Gang(1);
  queue->Add(Member("a"));
  queue->Add(Member("b"));
  queue->Add(Pod("solo"));
  QueuedEntityPtr group = queue->Pop();
  At(seconds(5));
  std::vector<QueuedPod> left = {group->members.at(1)};
  queue->Done(group->members.at(0).pod->Key());
  queue->AddAttemptedGroup(std::move(group), std::move(left), GroupOutcome::kSuccess);
  EXPECT_EQ(queue->in_flight(), 0u);
  group = queue->Pop();  // before solo, which came at the same time
  EXPECT_EQ(NameOf(*group), "b");
  EXPECT_EQ(group->attempts, 2);
  EXPECT_EQ(group->members.front().attempts, 2);
}

TEST_F(Queue, ARejectedGroupWaitsOutABackoffByItsSize) {
  Gang(4);
  for (const char* name : {"a", "b", "c", "d"}) queue->Add(Member(name));
  for (const int backoff : {1, 2, 4, 8, 16, 20, 20}) {  // 10 × sqrt(4)
    QueuedEntityPtr group = queue->Pop();
    std::vector<QueuedPod> left = std::move(group->members);
    queue->AddAttemptedGroup(std::move(group), std::move(left), GroupOutcome::kRejected);
    ASSERT_EQ(Sizes(), (V{0, 1, 0}));
    ASSERT_EQ(queue->in_error_backoff(), 1u);
    ASSERT_EQ(queue->Pop(), nullptr);  // it isn't taken before
    Happens(kNodeAdd);
    ASSERT_EQ(queue->NextFlush(), clock.Now() + seconds(backoff + 1));
    At(*queue->NextFlush());
    queue->FlushBackoff();
  }
  // Errors are counted apart, and a success forgets all.
  const auto comes_back = [&](GroupOutcome outcome) {
    QueuedEntityPtr group = queue->Pop();
    std::vector<QueuedPod> left = std::move(group->members);
    queue->AddAttemptedGroup(std::move(group), std::move(left), outcome);
    const nanoseconds backoff =
        queue->NextFlush() ? *queue->NextFlush() - clock.Now() - seconds(1) : nanoseconds(0);
    if (queue->NextFlush()) At(*queue->NextFlush());
    queue->FlushBackoff();
    return backoff;
  };
  EXPECT_EQ(comes_back(GroupOutcome::kError), seconds(1));
  EXPECT_EQ(comes_back(GroupOutcome::kError), seconds(2));
  EXPECT_EQ(comes_back(GroupOutcome::kRejected), seconds(20));
  EXPECT_EQ(comes_back(GroupOutcome::kSuccess), seconds(0));
  EXPECT_EQ(comes_back(GroupOutcome::kRejected), seconds(1));
}

TEST_F(Queue, AMemberJoinsItsGroupWhereThatIs) {
  Gang(1);
  queue->Add(Member("a"));
  QueuedEntityPtr group = queue->Pop();
  std::vector<QueuedPod> left = std::move(group->members);
  queue->AddAttemptedGroup(std::move(group), std::move(left), GroupOutcome::kRejected);
  queue->Add(Member("b"));
  EXPECT_EQ(Sizes(), (V{0, 1, 0}));
  At(seconds(2));
  queue->FlushBackoff();
  queue->Add(Member("c"));
  EXPECT_EQ(PopAll(), (Strings{"a+b+c"}));
}

TEST_F(Queue, AMemberThatFailsLaterComesBackToItsGroup) {
  Gang(2);
  queue->Add(Member("a"));
  queue->Add(Member("b"));
  QueuedEntityPtr group = queue->Pop();
  QueuedPod a = group->members.at(0);
  queue->Done(group->members.at(1).pod->Key());
  group->members.clear();
  queue->AddAttemptedGroup(std::move(group), {}, GroupOutcome::kSuccess);
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
  EXPECT_EQ(queue->in_flight(), 1u);
  queue->AddMemberBack(std::move(a), Bits({"Blue"}), 0);
  EXPECT_EQ(queue->in_flight(), 0u);
  EXPECT_EQ(PopAll(), (Strings{"a"}));
}

TEST_F(Queue, AGroupLosesMembers) {
  Gang(2);
  const PodPtr a = Member("a"), b = Member("b"), c = Member("c");
  for (const PodPtr& pod : {a, b, c}) queue->Add(pod);
  const auto goes = [&](const PodPtr& pod) {
    --groups.pods[pod->GroupKey()];
    queue->Delete(*pod);
  };
  goes(a);
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  goes(b);
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));  // too few again
  queue->Add(Member("d"));
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
  goes(c);
  goes(Pod("d", 0, "  schedulingGroup: {podGroupName: g}\n"));
  EXPECT_EQ(Sizes(), (V{0, 0, 0}));
}

TEST_F(Queue, AFilterIsForAGroupIfItIsForOneOfItsPods) {
  Gang(2, 10);
  script->gates["Gate"] = {"a"};
  const PodPtr a = Member("a", 10), b = Member("b", 3);
  queue->Add(a);
  queue->Add(b);
  script->gates.clear();
  Happens(kNodeLabel, {.max_priority = 2});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens(kNodeLabel, {.max_priority = 3, .except = b->Key()});
  EXPECT_EQ(Sizes(), (V{0, 0, 1}));
  Happens(kNodeLabel, {.max_priority = {}, .except = a->Key()});
  EXPECT_EQ(Sizes(), (V{1, 0, 0}));
}

TEST_F(Queue, WithoutGroupsTheirPodsAreOrdinary) {
  queue = std::make_unique<SchedulingQueue>(*scheduler, clock, QueueOptions(), nullptr);
  queue->Add(Member("a"));
  queue->Add(Member("b"));
  EXPECT_EQ(PopAll(), (Strings{"a", "b"}));
}

// --- random operations against a model that is as simple as it gets

struct ModelPod {
  enum class In { kActive, kBackoff, kError, kUnschedulable, kFlight };
  std::string name;
  int priority = 0;
  In in = In::kActive;
  nanoseconds timestamp{0};
  std::uint64_t sequence = 0;
  int rejections = 0, errors = 0;
  std::set<std::string> plugins, pending;
  bool gated = false;
  nanoseconds flushed{0};
  std::vector<ClusterEvent> events;  // while in flight
};

class Model {
 public:
  using In = ModelPod::In;
  nanoseconds now{0};
  std::set<std::string> closed;  // pods that Gate keeps out
  std::map<std::string, ModelPod> pods;

  static nanoseconds Floor(nanoseconds time) { return std::chrono::floor<seconds>(time); }
  static nanoseconds Backoff(const ModelPod& pod) {  // when it ends
    const int count = pod.errors > 0 ? pod.errors : pod.rejections;
    if (count == 0) return nanoseconds::min();
    return Floor(pod.timestamp +
                 std::min<nanoseconds>(seconds(10), seconds(1 << std::min(count - 1, 5))));
  }
  bool BacksOff(const ModelPod& pod) const { return Backoff(pod) >= Floor(now); }

  void ToActive(ModelPod& pod, bool from_backoff = false) {
    pod.gated = !from_backoff && closed.contains(pod.name);
    if (pod.gated) pod.plugins.insert("Gate");
    pod.in = pod.gated ? In::kUnschedulable : In::kActive;
  }
  void Requeue(ModelPod& pod, int strategy) {  // 0: skip, 1: after backoff, 2: at once
    if (strategy == 0) {
      pod.in = In::kUnschedulable;
    } else if (strategy == 1 && BacksOff(pod)) {
      const bool by_error = pod.plugins.empty() && pod.pending.empty();
      ToActive(pod);
      if (!pod.gated) pod.in = by_error ? In::kError : In::kBackoff;
    } else {
      ToActive(pod);
    }
  }
  static int Worth(const ModelPod& pod, const ClusterEvent& event) {
    std::set<std::string> all = pod.plugins;
    all.insert(pod.pending.begin(), pod.pending.end());
    if (all.empty() || event.IsWildCard()) return 1;
    int out = 0;
    const auto queues = [&](const std::string& plugin, std::vector<ClusterEvent> events) {
      if (!all.contains(plugin)) return;
      if (std::find(events.begin(), events.end(), event) == events.end()) return;
      out = std::max(out, pod.pending.contains(plugin) ? 2 : 1);
    };
    queues("Blue", {kNodeAdd, kNodeLabel});
    queues("Green", {kPodDelete});
    queues("Gate", {kNodeLabel});
    return out;
  }

  void Add(const std::string& name, int priority) {
    ModelPod pod;
    pod.name = name;
    pod.priority = priority;
    pod.timestamp = now;
    pod.sequence = ++sequence_;
    ToActive(pods[name] = pod);
  }
  std::string Pop() {
    for (const In in : {In::kActive, In::kBackoff}) {
      ModelPod* best = nullptr;
      const auto key = [&](const ModelPod& pod) {
        return std::tuple(in == In::kBackoff ? Backoff(pod) : nanoseconds(0), -pod.priority,
                          pod.timestamp, pod.sequence);
      };
      for (auto& [name, pod] : pods) {
        if (pod.in == in && (best == nullptr || key(pod) < key(*best))) best = &pod;
      }
      if (best == nullptr) continue;
      best->in = In::kFlight;
      best->events.clear();
      return best->name;
    }
    return "";
  }
  void Fail(const std::string& name, const std::set<std::string>& plugins,
            const std::set<std::string>& pending) {
    ModelPod& pod = pods[name];
    pod.plugins = plugins;
    pod.pending = pending;
    if (plugins.empty() && pending.empty()) {
      ++pod.errors;
    } else {
      ++pod.rejections;
      pod.errors = 0;
    }
    pod.timestamp = now;
    pod.sequence = ++sequence_;
    pod.flushed = nanoseconds(0);
    int strategy = plugins.empty() && pending.empty() ? 1 : 0;
    for (const ClusterEvent& event : pod.events) strategy = std::max(strategy, Worth(pod, event));
    Requeue(pod, strategy);
  }
  void Happens(const ClusterEvent& event) {
    for (auto& [name, pod] : pods) {
      if (pod.in == In::kFlight) pod.events.push_back(event);
      if (pod.in != In::kUnschedulable || (pod.gated && event != kNodeLabel)) continue;
      if (const int worth = Worth(pod, event); worth > 0) Requeue(pod, worth);
    }
  }
  void FlushBackoff() {
    for (auto& [name, pod] : pods) {
      if ((pod.in == In::kBackoff || pod.in == In::kError) && !BacksOff(pod)) ToActive(pod, true);
    }
  }
  void FlushUnschedulable() {
    bool any = false;
    for (auto& [name, pod] : pods) {
      if (pod.in != In::kUnschedulable) continue;
      if (now - std::max(pod.timestamp, pod.flushed) <= minutes(5)) continue;
      pod.flushed = now;
      any = true;
      Requeue(pod, 1);
    }
    for (auto& [name, pod] : pods) {
      if (any && pod.in == In::kFlight) pod.events.emplace_back();
    }
  }
  void Activate(const std::string& name) {
    ModelPod& pod = pods[name];
    if (pod.in == In::kFlight) {
      pod.events.emplace_back();
    } else if (pod.in != In::kActive) {
      ToActive(pod, pod.in != In::kUnschedulable);
    }
  }
  std::vector<std::size_t> Sizes() const {
    std::vector<std::size_t> out(3);
    for (const auto& [name, pod] : pods) {
      if (pod.in == In::kActive) ++out[0];
      if (pod.in == In::kBackoff || pod.in == In::kError) ++out[1];
      if (pod.in == In::kUnschedulable) ++out[2];
    }
    return out;
  }

 private:
  std::uint64_t sequence_ = 0;
};

TEST_F(Queue, RandomOperationsAreThoseOfTheModel) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    cluster = Cluster();
    queue.reset();
    clock.Set(clock.Now() + seconds(1));
    Start({});
    Random random(seed);
    Model model;
    std::map<std::string, QueuedEntityPtr> in_flight;
    int made = 0;
    const auto pick = [&](const auto& from) {
      return std::next(from.begin(), static_cast<std::ptrdiff_t>(random.Below(from.size())))->first;
    };
    for (int step = 0; step < 1500; ++step) {
      model.now = clock.Now();
      switch (random.Below(12)) {
        case 0:
        case 1: {
          const std::string name = "p" + std::to_string(1000 + made++);
          const int priority = static_cast<int>(random.Below(3));
          if (random.Below(4) == 0) script->gates["Gate"].insert(name);
          model.closed = script->gates["Gate"];
          queue->Add(Pod(name, priority));
          model.Add(name, priority);
          break;
        }
        case 2:
        case 3:
        case 4: {
          QueuedEntityPtr entity = queue->Pop();
          const std::string name = entity ? entity->one.pod->pod->metadata.name : "";
          ASSERT_EQ(name, model.Pop()) << step;
          if (entity) in_flight[name] = std::move(entity);
          break;
        }
        case 5:
        case 6: {
          if (in_flight.empty()) break;
          const std::string name = pick(in_flight);
          std::set<std::string> plugins, pending;
          for (const char* plugin : {"Blue", "Green", "Mute"}) {
            if (random.Below(3) == 0) plugins.insert(plugin);
          }
          if (plugins.contains("Blue") && random.Below(3) == 0) pending.insert("Blue");
          Fail(std::move(in_flight[name]), plugins, pending);
          in_flight.erase(name);
          model.Fail(name, plugins, pending);
          break;
        }
        case 7: {
          const ClusterEvent event =
              std::vector{kNodeAdd, kNodeLabel, kNodeTaint, kPodDelete}[random.Below(4)];
          Happens(event);
          model.Happens(event);
          break;
        }
        case 8:
          clock.Advance(milliseconds(random.Below(random.Below(8) == 0 ? 200'000 : 900)));
          model.now = clock.Now();
          queue->FlushBackoff();
          model.FlushBackoff();
          break;
        case 9: {
          if (model.pods.empty()) break;
          const std::string name = pick(model.pods);
          if (random.Below(2) == 0) {
            auto& closed = script->gates["Gate"];
            if (closed.erase(name) == 0) closed.insert(name);
            model.closed = closed;
            break;
          }
          queue->Delete(*cluster.view().FindPod("default", name));
          if (const auto entity = in_flight.find(name); entity != in_flight.end()) {
            queue->Done(entity->second->key);
            in_flight.erase(entity);
          }
          model.pods.erase(name);
          ASSERT_TRUE(cluster.DeletePod("default", name).ok());
          break;
        }
        case 10:
          queue->FlushUnschedulable();
          model.FlushUnschedulable();
          break;
        default: {
          if (model.pods.empty() || random.Below(3) != 0) break;
          const std::string name = pick(model.pods);
          const std::vector<std::uint64_t> keys = {cluster.view().FindPod("default", name)->Key()};
          queue->Activate(keys);
          model.Activate(name);
        }
      }
      ASSERT_EQ(Sizes(), model.Sizes()) << step;
      ASSERT_EQ(queue->in_flight(), in_flight.size());
    }
  }
}

}  // namespace
}  // namespace schedfw
