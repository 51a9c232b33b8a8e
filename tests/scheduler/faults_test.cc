// What fault plans have shown: pods that change while they are bound, plugins that throw anything.
#include "schedfw/scheduler/faults.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/binding.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;
using Strings = std::vector<std::string>;

api::Pod OnePod(const std::string& text, const std::string& uid = "") {
  api::Pod out = (*api::ParseObjects(text)).pods.at(0);
  out.metadata.uid = uid;
  return out;
}

// A loop with a host that binds, one second after it was asked.
struct World {
  explicit World(const std::string& objects, FaultPlan plan = {}, std::size_t capacity = 16)
      : cluster(Parse(objects)), source(std::make_shared<FaultSource>(std::move(plan), &clock)) {
    Registry registry = InTreeRegistry();
    SchedulerConfig config;
    for (const char* name : {"First", "Last"}) {
      EXPECT_TRUE(FaultInjector::AddTo(registry, name, source).ok());
      config.profiles[0].plugins.multi_point.enabled.push_back({name});
    }
    // The injectors come before the plugin that binds.
    PluginSet& bind = config.profiles[0].plugins.at(ExtensionPoint::kBind);
    bind.disabled.push_back({"*"});
    bind.enabled = {{"First"}, {"DefaultBinder"}};
    SchedulerOptions options;
    options.handle.generic_workload = true;
    options.handle.bind = [this](const PodInfo& pod, const std::string& node) {
      if (!bound.emplace(pod.pod->metadata.uid, node).second) {
        again.push_back(pod.pod->metadata.uid);
      }
      return Status();
    };
    scheduler = *Scheduler::Create(config, registry, std::move(options));
    BindingOptions binding;
    binding.capacity = capacity;
    binding.retries = 2;
    binding.initial_retry = seconds(1);
    binder = *InlineAdapter::Create(clock, binding, seconds(1));
    LoopOptions loop_options;
    loop_options.clock = &clock;
    loop_options.binder = binder.get();
    loop = std::make_unique<SchedulingLoop>(*scheduler, cluster, loop_options);
    subscription = loop->bus().Subscribe<PodBound>([this](const PodBound& event) {
      events.push_back(event.pod->pod->metadata.name + " " + std::string(event.node));
    });
  }

  void Steps() {
    for (int i = 0; i < 1000 && loop->Step(); ++i) {
    }
  }
  void Run(int for_seconds) {
    for (int i = 0; i < for_seconds; ++i) {
      Steps();
      clock.Advance(seconds(1));
    }
    Steps();
  }
  bool IsPending(const std::string& name) const {
    return cluster.view().IsPending(cluster.view().FindPod("default", name)->Key());
  }

  VirtualClock clock;
  Cluster cluster;
  std::shared_ptr<FaultSource> source;
  std::map<std::string, std::string> bound;  // uid → node
  Strings again;                             // bound though they were
  Strings events;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<InlineAdapter> binder;
  std::unique_ptr<SchedulingLoop> loop;
  Subscription subscription;
};

FaultPlan OneRule(FaultPoint point, FaultKind kind, std::uint32_t call = 0) {
  FaultPlan out;
  out.rules.push_back({point, kind, 1, call});
  return out;
}

TEST(Faults, APlanIsAFunctionOfTheCall) {
  FaultPlan plan;
  plan.seed = 7;
  plan.rules.push_back({FaultPoint::kFilter, FaultKind::kThrow, 0.25});
  plan.rules.push_back({FaultPoint::kBind, FaultKind::kError, 1, 2, seconds(10)});
  int failed = 0;
  for (std::uint64_t pod = 0; pod < 4000; ++pod) {
    const FaultKind kind = plan.At(FaultPoint::kFilter, pod, 1, 0, seconds(0));
    EXPECT_EQ(kind, plan.At(FaultPoint::kFilter, pod, 1, 0, seconds(5)));
    failed += kind == FaultKind::kThrow ? 1 : 0;
  }
  EXPECT_GT(failed, 900);
  EXPECT_LT(failed, 1100);
  EXPECT_EQ(plan.At(FaultPoint::kBind, 1, 1, 0, seconds(0)), FaultKind::kNone);
  EXPECT_EQ(plan.At(FaultPoint::kBind, 1, 2, 0, seconds(0)), FaultKind::kError);
  EXPECT_EQ(plan.At(FaultPoint::kBind, 1, 2, 0, seconds(10)), FaultKind::kNone);
  EXPECT_EQ(plan.At(FaultPoint::kPreBind, 1, 2, 0, seconds(0)), FaultKind::kNone);
}

TEST(Faults, EachPointFailsAndTheNextAttemptSucceeds) {
  for (std::size_t i = 0; i < kFaultPointCount; ++i) {
    const auto point = static_cast<FaultPoint>(i);
    if (point == FaultPoint::kAddPod || point == FaultPoint::kRemovePod ||
        point == FaultPoint::kPostFilter) {
      continue;  // of preemption
    }
    for (const FaultKind kind : {FaultKind::kThrow, FaultKind::kError, FaultKind::kTimeout}) {
      World world(NodeYaml("n1") + NodeYaml("n2") + PodYaml("a"), OneRule(point, kind, 1));
      world.Run(5);
      EXPECT_GT(world.source->count(point), 0U) << i;
      if (point == FaultPoint::kPreEnqueue ||
          (point == FaultPoint::kPermit && kind == FaultKind::kTimeout)) {
        // It waits until something happens: PreEnqueue of each injector fails at its first call.
        EXPECT_TRUE(world.IsPending("a"));
        for (const char* name : {"n3", "n4"}) {
          const auto objects = api::ParseObjects(NodeYaml(name));
          EXPECT_TRUE(world.loop->AddNode(objects->nodes.at(0)).ok());
          world.Run(5);
        }
      }
      world.Run(40);
      EXPECT_EQ(world.events.size(), 1U) << i << " " << static_cast<int>(kind);
      EXPECT_EQ(world.bound.size(), 1U);
      EXPECT_TRUE(world.again.empty());
      EXPECT_EQ(world.source->reserved(), 0U) << i;
      EXPECT_EQ(world.source->leaks(), 0U);
    }
  }
}

TEST(Faults, ARetryAfterALostReplyFindsThePodBound) {
  World world(NodeYaml("n1") + PodYaml("a"), OneRule(FaultPoint::kBind, FaultKind::kLostReply, 1));
  world.Run(5);
  EXPECT_EQ(world.events, (Strings{"a n1"}));
  EXPECT_EQ(world.again.size(), 1U);  // the host is asked once more, and says yes
  EXPECT_TRUE(world.source->LostReply(world.again.at(0)));
}

TEST(Loop, APodThatIsBeingBoundIsNotChanged) {
  World world(NodeYaml("n1") + NodeYaml("n2") + PodYaml("a"));
  world.Steps();
  EXPECT_EQ(world.loop->InFlight(), 1U);
  EXPECT_FALSE(world.loop->UpdatePod(OnePod(PodYaml("a", "app: b"))).ok());
  EXPECT_FALSE(world.IsPending("a"));
  world.Run(5);
  EXPECT_EQ(world.events.size(), 1U);
  EXPECT_TRUE(world.again.empty());
}

TEST(Loop, APodMayBeReplacedWhileItIsBeingBound) {
  World world(NodeYaml("n1"));
  ASSERT_TRUE(world.loop->AddPod(OnePod(PodYaml("a"), "old")).ok());
  world.Steps();
  ASSERT_TRUE(world.loop->DeletePod("default", "a").ok());
  ASSERT_TRUE(world.loop->AddPod(OnePod(PodYaml("a"), "new")).ok());
  world.Steps();  // both are with the binder now
  EXPECT_EQ(world.loop->InFlight(), 2U);
  world.clock.Advance(nanoseconds(1));
  world.Run(5);
  EXPECT_EQ(world.events, (Strings{"a n1"}));
  EXPECT_EQ(world.bound.count("new"), 1U);
  const PodPtr pod = world.cluster.view().FindPod("default", "a");
  EXPECT_EQ(pod->pod->metadata.uid, "new");
  EXPECT_FALSE(world.IsPending("a"));
  EXPECT_EQ(world.cluster.view().PodCount()[0], 1);
  EXPECT_FALSE(world.cluster.Fork().ForgetPod(*pod).ok());  // it isn't assumed any more
}

TEST(Loop, ALoopGivesUpWhatAClockThatStandsWouldBindLater) {
  World world(NodeYaml("n1") + PodYaml("a"));
  world.Steps();
  EXPECT_EQ(world.loop->InFlight(), 1U);
  world.subscription.Reset();
  world.loop.reset();
  EXPECT_TRUE(world.IsPending("a"));
  world.clock.Advance(seconds(2));
  (void)world.binder->Poll();
  EXPECT_TRUE(world.bound.empty());
  EXPECT_EQ(world.source->reserved(), 0U);
}

TEST(Loop, ABindingIsAnnouncedThoughItsNodeIsGone) {
  World world(NodeYaml("n1") + PodYaml("a"));
  world.Steps();
  ASSERT_TRUE(world.loop->DeleteNode("n1").ok());
  world.Run(3);
  EXPECT_EQ(world.events, (Strings{"a n1"}));
  EXPECT_EQ(world.cluster.view().OrphanTotal(), 1U);
}

TEST(Loop, AGroupWhoseGatedPodGoesIsTried) {
  const std::string in_group = "  schedulingGroup: {podGroupName: g}\n";
  World world(NodeYaml("n1") +
              "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
              "spec: {schedulingPolicy: {gang: {minCount: 2}}}\n" +
              PodYaml("a", "", in_group) + PodYaml("b", "", in_group) +
              PodYaml("c", "", in_group + "  schedulingGates: [{name: later}]\n"));
  world.Run(3);
  EXPECT_TRUE(world.events.empty());
  ASSERT_TRUE(world.loop->DeletePod("default", "c").ok());
  world.Run(3);
  EXPECT_EQ(world.events.size(), 2U);
}

TEST(Loop, PodsWithoutTheirNodeDoNotCountForAGang) {
  const std::string group =
      "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
      "spec: {schedulingPolicy: {gang: {minCount: 2}}}\n";
  const std::string in_group = "  schedulingGroup: {podGroupName: g}\n";
  World world(NodeYaml("n1") + group + PodYaml("lost", "", in_group + "  nodeName: n2\n") +
              NodeYaml("n2"));
  ASSERT_TRUE(world.loop->DeleteNode("n2").ok());
  ASSERT_TRUE(world.loop->DeletePod("default", "lost").ok());
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(world.loop->AddPod(OnePod(PodYaml(name, "", in_group))).ok());
  }
  world.Run(5);
  EXPECT_EQ(world.events.size(), 2U);
}

}  // namespace
}  // namespace schedfw
