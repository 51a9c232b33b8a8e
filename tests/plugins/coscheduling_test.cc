// Coscheduling: its rules one by one, and in a loop in virtual time.

#include "schedfw/plugins/coscheduling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/framework/diagnosis.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"
#include "support/coscheduling.h"

namespace schedfw {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::kCoschedulingConfig;
using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

std::string GroupYaml(const std::string& name, int least, const std::string& metadata = "",
                      const std::string& spec = "") {
  return "---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
         (metadata.empty() ? "" : ", " + metadata) +
         "}\nspec: {minMember: " + std::to_string(least) + (spec.empty() ? "" : ", " + spec) +
         "}\n";
}
std::string Created(int second) {
  return "creationTimestamp: \"2026-01-01T00:00:0" + std::to_string(second) + "Z\"";
}
std::string SetOf(const std::string& groups) {
  return "annotations: {gang.scheduling.koordinator.sh/groups: '" + groups + "'}";
}
// A pod of a group that fills a node of one core.
std::string MemberYaml(const std::string& name, const std::string& group,
                       const std::string& spec = "") {
  return PodYaml(name, "scheduling.x-k8s.io/pod-group: " + group, spec, "1");
}

// A host whose pods are put at Permit by hand, and that notes what it is asked for.
class FakeHost : public Host {
 public:
  explicit FakeHost(Cluster cluster) : cluster_(std::move(cluster)) {
    for (const PodPtr& pod : cluster_.view().Pending()) groups_.Count(*pod, 1);
    for (Row row = 0; row < cluster_.view().size(); ++row) {
      for (const PodPtr& pod : cluster_.view().pods(row)) groups_.Count(*pod, 1);
    }
  }

  const Snapshot& snapshot() const override { return cluster_.view(); }
  const Clock& clock() const override { return clock_; }
  const LabelGroups& label_groups() const override { return groups_; }
  void ForEachWaitingPod(const WaitingPodFn& fn) const override {
    for (const std::string& name : waiting_) {
      const PodPtr pod = Pod(name);
      fn(*pod, snapshot().name(*snapshot().RowOf("default", name)));
    }
  }
  bool IsWaiting(std::uint64_t pod) const override {
    return std::find(waiting_.begin(), waiting_.end(), NameOf(pod)) != waiting_.end();
  }
  bool AllowWaitingPod(std::uint64_t pod, std::string_view plugin) override {
    EXPECT_EQ(plugin, "Coscheduling");
    return Leave(pod, allowed);
  }
  bool RejectWaitingPod(std::uint64_t pod, std::string_view plugin,
                        const std::string& why) override {
    EXPECT_EQ(plugin, "Coscheduling");
    message = why;
    return Leave(pod, rejected);
  }
  void Activate(std::span<const std::uint64_t> pods) override {
    for (const std::uint64_t pod : pods) activated.insert(NameOf(pod));
  }
  void OrderChanged(std::span<const std::uint64_t> pods) override {
    for (const std::uint64_t pod : pods) reordered.insert(NameOf(pod));
  }

  Cluster& cluster() { return cluster_; }
  VirtualClock& virtual_clock() { return clock_; }
  PodPtr Pod(const std::string& name) const { return snapshot().FindPod("default", name); }
  // A pod is assumed on the first node, and waits there or not.
  void Assume(const std::string& name, bool waits = true) {
    ASSERT_TRUE(cluster_.AssumePod(*Pod(name), 0).ok());
    if (waits) waiting_.push_back(name);
  }
  void Forget() { allowed.clear(), rejected.clear(), activated.clear(), reordered.clear(); }

  std::set<std::string> allowed, rejected, activated, reordered;
  std::string message;

 private:
  std::string NameOf(std::uint64_t pod) const {
    return snapshot().FindPod(pod)->pod->metadata.name;
  }
  bool Leave(std::uint64_t pod, std::set<std::string>& out) {
    const auto it = std::find(waiting_.begin(), waiting_.end(), NameOf(pod));
    if (it == waiting_.end()) return false;
    out.insert(*it);
    waiting_.erase(it);
    return true;
  }

  Cluster cluster_;
  VirtualClock clock_;
  LabelGroups groups_;
  std::vector<std::string> waiting_;
};

// A plugin and its host.
class World {
 public:
  explicit World(const std::string& yaml, CoschedulingArgs args = {}, bool with_host = true)
      : host(Parse(yaml)), slot_(std::make_shared<HostSlot>()) {
    Handle handle;
    handle.host = slot_;
    if (with_host) slot_->host = &host;
    plugin = std::make_unique<Coscheduling>(args, handle);
  }

  Status PreFilter(const std::string& name) {
    PreFilterResult result;
    return plugin->PreFilter(CycleOf(name), state_, result);
  }
  Status PostFilter(const std::string& name) {
    static const auto scheduler = MakeScheduler();
    PostFilterResult result;
    const Status out = plugin->PostFilter(CycleOf(name), Diagnosis(),
                                          *scheduler->framework("default-scheduler"), result);
    EXPECT_FALSE(result.nominated_node_name.has_value());
    return out;
  }
  // With the pod assumed, as the cycle does.
  Status Permit(const std::string& name) {
    timeout = nanoseconds(-1);
    return plugin->Permit(CycleOf(name), state_, NodeInfo(host.snapshot(), 0), timeout);
  }
  void Unreserve(const std::string& name) {
    plugin->Unreserve(CycleOf(name), state_, NodeInfo(host.snapshot(), 0));
  }
  // The names of waiting pods in the order of the queue; all were queued in the order of the input.
  std::vector<std::string> Queue() {
    std::vector<QueuedPodInfo> pods;
    for (const PodPtr& pod : host.snapshot().Pending()) {
      const auto time = static_cast<std::int64_t>(pods.size());
      pods.push_back({pod, time, pod->priority(), time});
    }
    for (const auto& a : pods) {
      for (const auto& b : pods) EXPECT_FALSE(plugin->Less(a, b) && plugin->Less(b, a));
      EXPECT_FALSE(plugin->Less(a, a));
    }
    std::reverse(pods.begin(), pods.end());
    std::sort(pods.begin(), pods.end(),
              [&](const auto& a, const auto& b) { return plugin->Less(a, b); });
    std::vector<std::string> out;
    for (const auto& pod : pods) out.push_back(pod.pod->pod->metadata.name);
    return out;
  }

  FakeHost host;
  std::unique_ptr<Coscheduling> plugin;
  nanoseconds timeout{-1};

 private:
  Cycle CycleOf(const std::string& name) {
    pod_ = host.Pod(name);
    return {host.snapshot(), *pod_, state_};
  }

  std::shared_ptr<HostSlot> slot_;
  CycleState state_;
  PodPtr pod_;
};

using Names = std::set<std::string>;
using List = std::vector<std::string>;

std::string Members(const std::string& group, int count, const std::string& spec = "") {
  std::string out;
  for (int i = 0; i < count; ++i) out += MemberYaml(group + std::to_string(i), group, spec);
  return out;
}

TEST(Coscheduling, ArgumentsHaveBounds) {
  const Registry registry = InTreeRegistry();
  const PluginSpec* spec = registry.Find("Coscheduling");
  ASSERT_NE(spec, nullptr);
  std::vector<std::tuple<std::string, std::string, std::string>> args;
  for (const ArgSpec& arg : spec->args) args.emplace_back(arg.name, arg.default_value, arg.type);
  EXPECT_EQ(args, (std::vector<std::tuple<std::string, std::string, std::string>>{
                      {"permitWaitingTimeSeconds", "60", "integer"},
                      {"podGroupBackoffSeconds", "0", "integer"},
                      {"podGroupRejectPercentage", "10", "integer"}}));
  for (const auto& [name, good, bad] :
       {std::tuple{"permitWaitingTimeSeconds", 0, -1}, std::tuple{"podGroupBackoffSeconds", 0, -1},
        std::tuple{"podGroupRejectPercentage", 100, 101},
        std::tuple{"podGroupRejectPercentage", 0, -1}}) {
    const auto check = [&, key = name](int value) {
      const auto parsed = ParseConfig(
          "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
          "profiles:\n- pluginConfig:\n  - name: Coscheduling\n    args: {" +
              std::string(key) + ": " + std::to_string(value) + "}\n",
          registry);
      return parsed.ok() ? std::string() : parsed.error().message();
    };
    EXPECT_EQ(check(good), "") << name;
    EXPECT_NE(check(bad).find(name), std::string::npos) << check(bad);
  }
}

TEST(Coscheduling, SortsByPriorityThenByTheTimeOfTheGroup) {
  World world(GroupYaml("late", 1, Created(2)) + GroupYaml("early", 1, Created(1)) +
              MemberYaml("l0", "late") + PodYaml("single") + MemberYaml("e1", "early") +
              MemberYaml("e0", "early") + MemberYaml("orphan", "nothing") +
              PodYaml("high", "", "  priority: 5\n"));
  // What was created before the loop started comes before what was tried since; "orphan" has no
  // object and goes by its own time.
  EXPECT_EQ(world.Queue(), (List{"high", "e0", "e1", "l0", "single", "orphan"}));
}

TEST(Coscheduling, PodsOfOneGroupFollowEachOtherThoughAnotherIsAsOld) {
  World world(GroupYaml("b", 1, Created(1)) + GroupYaml("a", 1, Created(1)) +
              MemberYaml("x0", "b") + MemberYaml("x1", "a") + MemberYaml("x2", "b") +
              MemberYaml("x3", "a"));
  EXPECT_EQ(world.Queue(), (List{"x1", "x3", "x0", "x2"}));
}

TEST(Coscheduling, AGroupThatFailedGoesToTheBack) {
  World world(NodeYaml("n1") + GroupYaml("a", 2, Created(1)) + GroupYaml("b", 2, Created(2)) +
              Members("a", 3) + Members("b", 3) + PodYaml("single"));
  EXPECT_EQ(world.Queue(), (List{"a0", "a1", "a2", "b0", "b1", "b2", "single"}));
  world.host.virtual_clock().Set(seconds(7));
  world.Unreserve("a0");
  EXPECT_EQ(world.host.reordered, (Names{"a0", "a1", "a2"}));
  EXPECT_EQ(world.Queue(), (List{"b0", "b1", "b2", "single", "a0", "a1", "a2"}));
  world.Unreserve("b0");  // at the same moment, but later
  EXPECT_EQ(world.Queue(), (List{"single", "a0", "a1", "a2", "b0", "b1", "b2"}));
  // Enough pods have a node: what is left of the group is as good as new.
  world.host.Assume("a0");
  world.host.Assume("a1", false);
  world.host.Forget();
  EXPECT_TRUE(world.Permit("a1").ok());
  EXPECT_EQ(world.host.reordered, (Names{"a0", "a1", "a2"}));
  EXPECT_EQ(world.Queue(), (List{"a2", "single", "b0", "b1", "b2"}));
}

TEST(Coscheduling, PreFilterWantsEnoughPods) {
  World world(NodeYaml("n1") + GroupYaml("a", 3) + Members("a", 2) + PodYaml("single") +
              MemberYaml("orphan", "nothing"));
  EXPECT_EQ(world.PreFilter("a0"),
            Status::Unresolvable("pre-filter pod a0 cannot find enough sibling pods, current pods "
                                 "number: 2, minMember of group: 3"));
  EXPECT_TRUE(world.PreFilter("single").ok());
  EXPECT_TRUE(world.PreFilter("orphan").ok());
  // Pods on nodes count; those of other namespaces don't.
  World more(NodeYaml("n1") + GroupYaml("a", 3) + Members("a", 2) +
             MemberYaml("bound", "a", "  nodeName: n1\n"));
  EXPECT_TRUE(more.PreFilter("a0").ok());
}

TEST(Coscheduling, PreFilterWantsEnoughPodsWithoutGates) {
  const std::string gate = "  schedulingGates: [{name: g}]\n";
  World world(GroupYaml("a", 3) + Members("a", 2) + MemberYaml("gated", "a", gate));
  EXPECT_EQ(world.PreFilter("a0"),
            Status::Unresolvable(
                "pre-filter pod a0 cannot proceed due to gated pods in the same PodGroup"));
  World more(GroupYaml("a", 3) + Members("a", 3) + MemberYaml("gated", "a", gate));
  EXPECT_TRUE(more.PreFilter("a0").ok());
}

TEST(Coscheduling, PreFilterWantsMinResources) {
  // Two nodes with 8 cores: 3 are taken by others, 1 by the group itself.
  const std::string cluster = NodeYaml("n1") + NodeYaml("n2") +
                              PodYaml("other", "", "  nodeName: n1\n", "3") +
                              MemberYaml("bound", "a", "  nodeName: n1\n") + Members("a", 2);
  const auto with = [&](const std::string& amounts) {
    return World(cluster + GroupYaml("a", 2, "", "minResources: {" + amounts + "}"));
  };
  EXPECT_TRUE(with("cpu: 13").PreFilter("a0").ok());
  EXPECT_EQ(with("cpu: 13500m").PreFilter("a0"), Status::Unresolvable("resource gap: cpu 500m"));
  EXPECT_EQ(with("cpu: 1, memory: 65Gi, nvidia.com/gpu: 2").PreFilter("a0"),
            Status::Unresolvable("resource gap: memory 1073741824, nvidia.com/gpu 2"));
}

TEST(Coscheduling, MinResourcesAreCheckedOnceUntilTheGroupFailsOrTimePasses) {
  World world(NodeYaml("n1") + GroupYaml("a", 2, "", "minResources: {cpu: 8}") + Members("a", 3));
  EXPECT_TRUE(world.PreFilter("a0").ok());
  ASSERT_TRUE(world.host.cluster()
                  .AddPod(api::ParseObjects(PodYaml("other", "", "  nodeName: n1\n", "1"))->pods[0])
                  .ok());
  EXPECT_TRUE(world.PreFilter("a1").ok());
  world.host.virtual_clock().Set(seconds(60));
  EXPECT_EQ(world.PreFilter("a1"), Status::Unresolvable("resource gap: cpu 1"));
  ASSERT_TRUE(world.host.cluster().DeletePod("default", "other").ok());
  EXPECT_TRUE(world.PreFilter("a1").ok());
  ASSERT_TRUE(world.host.cluster()
                  .AddPod(api::ParseObjects(PodYaml("other", "", "  nodeName: n1\n", "1"))->pods[0])
                  .ok());
  EXPECT_TRUE(world.PreFilter("a1").ok());
  world.Unreserve("a0");
  EXPECT_EQ(world.PreFilter("a1"), Status::Unresolvable("resource gap: cpu 1"));
}

TEST(Coscheduling, PermitWaitsUntilMinMemberHaveANode) {
  World world(NodeYaml("n1") + GroupYaml("a", 3, "", "scheduleTimeoutSeconds: 30") +
              Members("a", 4) + PodYaml("single") + MemberYaml("orphan", "nothing"));
  world.host.Assume("single", false);
  EXPECT_TRUE(world.Permit("single").ok());
  world.host.Assume("orphan", false);
  EXPECT_EQ(world.Permit("orphan"), Status::Unschedulable("PodGroup not found"));

  world.host.Assume("a0");
  EXPECT_EQ(world.Permit("a0").code(), Code::kWait);
  EXPECT_EQ(world.timeout, seconds(30));
  EXPECT_EQ(world.host.activated, (Names{"a1", "a2", "a3"}));
  world.host.Forget();
  world.host.Assume("a1");
  EXPECT_EQ(world.Permit("a1").code(), Code::kWait);
  EXPECT_EQ(world.host.activated, Names());  // only the first one does
  world.host.Assume("a2", false);
  EXPECT_TRUE(world.Permit("a2").ok());
  EXPECT_EQ(world.host.allowed, (Names{"a0", "a1"}));
  world.host.Assume("a3", false);
  EXPECT_TRUE(world.Permit("a3").ok());
}

TEST(Coscheduling, TimeoutsAreTheGroupsElseTheArguments) {
  const auto timeout = [](const std::string& spec, CoschedulingArgs args) {
    World world(NodeYaml("n1") + GroupYaml("a", 2, "", spec) + Members("a", 2), args);
    world.host.Assume("a0");
    EXPECT_EQ(world.Permit("a0").code(), Code::kWait);
    return world.timeout;
  };
  EXPECT_EQ(timeout("", {}), seconds(60));
  EXPECT_EQ(timeout("", {.permit_waiting_time_seconds = 5}), seconds(5));
  EXPECT_EQ(timeout("scheduleTimeoutSeconds: 7", {.permit_waiting_time_seconds = 5}), seconds(7));
  EXPECT_EQ(timeout("scheduleTimeoutSeconds: 0", {.permit_waiting_time_seconds = 5}), seconds(5));
  EXPECT_GT(timeout("", {.permit_waiting_time_seconds = std::numeric_limits<std::int64_t>::max()}),
            seconds(100'000'000));
}

// How many of ten pods have a node when an eleventh fits nowhere, and whether they are rejected.
bool IsRejected(int assigned, CoschedulingArgs args = {}) {
  World world(NodeYaml("n1", "", "64") + GroupYaml("a", 10) + Members("a", 11), args);
  for (int i = 0; i < assigned; ++i) world.host.Assume("a" + std::to_string(i));
  const Status status = world.PostFilter("a10");
  EXPECT_EQ(status.code(), Code::kUnschedulable);
  if (world.host.rejected.empty()) {
    EXPECT_EQ(status.message(), "");
    return false;
  }
  EXPECT_EQ(static_cast<int>(world.host.rejected.size()), assigned);
  EXPECT_EQ(world.host.message, "optimistic rejection in PostFilter");
  EXPECT_EQ(status.message(),
            "PodGroup default/a gets rejected due to Pod a10 is unschedulable even after "
            "PostFilter");
  EXPECT_EQ(world.host.reordered.size(), 11u);
  return true;
}

TEST(Coscheduling, PostFilterRejectsAGroupThatLacksMoreThanItMay) {
  EXPECT_TRUE(IsRejected(1));
  EXPECT_TRUE(IsRejected(8));
  EXPECT_FALSE(IsRejected(9));   // a tenth
  EXPECT_FALSE(IsRejected(10));  // nothing: it is an extra pod that doesn't fit
  EXPECT_TRUE(IsRejected(9, {.pod_group_reject_percentage = 9}));
  EXPECT_TRUE(IsRejected(9, {.pod_group_reject_percentage = 0}));
  EXPECT_FALSE(IsRejected(10, {.pod_group_reject_percentage = 0}));
  EXPECT_TRUE(IsRejected(7, {.pod_group_reject_percentage = 29}));
  EXPECT_FALSE(IsRejected(7, {.pod_group_reject_percentage = 30}));
  EXPECT_FALSE(IsRejected(1, {.pod_group_reject_percentage = 100}));
}

TEST(Coscheduling, PostFilterOfOtherPodsDoesNothing) {
  World world(NodeYaml("n1") + GroupYaml("a", 2) + Members("a", 2) + PodYaml("single") +
              MemberYaml("orphan", "nothing"));
  world.host.Assume("a0");
  EXPECT_EQ(world.PostFilter("single"), Status::Unschedulable("can not find pod group"));
  EXPECT_EQ(world.PostFilter("orphan"), Status::Unschedulable("can not find pod group"));
  EXPECT_EQ(world.host.rejected, Names());
}

TEST(Coscheduling, ARejectedGroupIsLeftAloneForItsBackoff) {
  const std::string yaml =
      NodeYaml("n1") + GroupYaml("a", 2) + Members("a", 2) + GroupYaml("b", 2) + Members("b", 1);
  World world(yaml, {.pod_group_backoff_seconds = 20});
  world.host.virtual_clock().Set(seconds(5));
  (void)world.PostFilter("a0");
  (void)world.PostFilter("b0");  // too few pods: nothing to be kept away
  EXPECT_EQ(world.PreFilter("a1"), Status::Unresolvable("podGroup default/a failed recently"));
  EXPECT_NE(world.PreFilter("b0").message(), "podGroup default/b failed recently");
  world.host.virtual_clock().Set(seconds(25) - nanoseconds(1));
  EXPECT_FALSE(world.PreFilter("a1").ok());
  world.host.virtual_clock().Set(seconds(25));
  EXPECT_TRUE(world.PreFilter("a1").ok());
  World without(yaml);
  (void)without.PostFilter("a0");
  EXPECT_TRUE(without.PreFilter("a1").ok());
}

TEST(Coscheduling, UnreserveRejectsTheOthers) {
  World world(NodeYaml("n1") + GroupYaml("a", 3) + Members("a", 3) + GroupYaml("b", 3) +
              Members("b", 3));
  for (const char* pod : {"a0", "a1", "b0"}) world.host.Assume(pod);
  world.Unreserve("a0");
  EXPECT_EQ(world.host.rejected, (Names{"a0", "a1"}));
  EXPECT_EQ(world.host.message, "rejection in Unreserve");
}

TEST(Coscheduling, GroupsThatNameEachOtherAreOneSet) {
  World world(
      NodeYaml("n1") + GroupYaml("a", 1, Created(3) + ", " + SetOf("[\"default/c\"]")) +
      GroupYaml("b", 1, Created(2)) +
      GroupYaml("c", 2, Created(1) + ", " + SetOf(" [ \"default\\/c\" , \"default/a\" ] ")) +
      Members("a", 1) + Members("b", 1) + Members("c", 3));
  EXPECT_EQ(world.Queue(), (List{"a0", "c0", "c1", "c2", "b0"}));
  world.host.Assume("a0");
  EXPECT_EQ(world.Permit("a0").code(), Code::kWait);  // though it has its one pod
  EXPECT_EQ(world.host.activated, (Names{"c0", "c1", "c2"}));
  world.host.Assume("c0");
  EXPECT_EQ(world.Permit("c0").code(), Code::kWait);
  // Two of three.
  EXPECT_NE(world.PostFilter("c1").message(), "");
  EXPECT_EQ(world.host.rejected, (Names{"a0", "c0"}));
  EXPECT_EQ(world.Queue(), (List{"b0", "c1", "c2"}));
}

TEST(Coscheduling, ASetIsBoundWhenAllOfItsGroupsAre) {
  World world(NodeYaml("n1") + GroupYaml("a", 1, SetOf("[\"default/a\", \"default/b\"]")) +
              GroupYaml("b", 2) + Members("a", 2) + Members("b", 2));
  for (const char* pod : {"a0", "a1", "b0"}) {
    world.host.Assume(pod);
    EXPECT_EQ(world.Permit(pod).code(), Code::kWait) << pod;
  }
  world.host.Assume("b1", false);
  EXPECT_TRUE(world.Permit("b1").ok());
  EXPECT_EQ(world.host.allowed, (Names{"a0", "a1", "b0"}));
}

TEST(Coscheduling, ASetWithAGroupThatIsNotThereWaits) {
  World world(NodeYaml("n1") + GroupYaml("a", 1, SetOf("[\"default/later\"]")) + Members("a", 1));
  world.host.Assume("a0");
  EXPECT_EQ(world.Permit("a0").code(), Code::kWait);
}

TEST(Coscheduling, AListOfGroupsThatCannotBeReadCountsAsNone) {
  for (const char* list :
       {"", "a", "[", "[\"default/b\"", "[\"default/b\",]", "{}", "[1]", "[\"default/b\"] x",
        "[\"default/b]", "\"default/b\"", "[\"a\\n\"]", "[\"default/b\"\"default/b\"]", "[\"\\"}) {
    EXPECT_FALSE(internal::ParseNames(list).has_value()) << list;
    World world(NodeYaml("n1") + GroupYaml("a", 1, SetOf(list)) + GroupYaml("b", 1) +
                Members("a", 1));
    world.host.Assume("a0", false);
    EXPECT_TRUE(world.Permit("a0").ok()) << list;
  }
  EXPECT_EQ(internal::ParseNames("[]"), List());
  EXPECT_EQ(internal::ParseNames(" [ \"a/b\" ,\n\"c\\\"\\\\\"] "), (List{"a/b", "c\"\\"}));
}

TEST(Coscheduling, OfTwoSetsThatWaitOneGoesOn) {
  World world(NodeYaml("n1", "", "64") + GroupYaml("a", 3, Created(2)) +
              GroupYaml("b", 3, Created(1)) + GroupYaml("c", 3, Created(3)) + Members("a", 3) +
              Members("b", 3) + Members("c", 3, "  priority: 1\n"));
  world.host.Assume("a0");
  EXPECT_FALSE(world.plugin->ResolveDeadlock(1));  // nobody is in its way
  world.host.Assume("b0");
  EXPECT_TRUE(world.plugin->ResolveDeadlock(1));
  EXPECT_EQ(world.host.rejected, (Names{"a0"}));  // b is older
  EXPECT_EQ(world.host.message, "rejected so that PodGroup default/b gets its nodes");
  EXPECT_EQ(world.Queue(), (List{"c0", "c1", "c2", "b1", "b2", "a1", "a2"}));
  // It didn't help b: now the other one.
  world.host.Forget();
  world.host.Assume("a1");
  EXPECT_TRUE(world.plugin->ResolveDeadlock(1));
  EXPECT_EQ(world.host.rejected, (Names{"b0"}));
  world.host.Forget();
  world.host.Assume("b1");
  EXPECT_FALSE(world.plugin->ResolveDeadlock(1));  // each had its turn
  // Something has changed. The higher priority comes first.
  world.host.Assume("c0");
  EXPECT_TRUE(world.plugin->ResolveDeadlock(2));
  EXPECT_EQ(world.host.rejected, (Names{"a1", "b1"}));
}

TEST(Coscheduling, WithoutAHostItJudgesTheClusterAsItIs) {
  World world(NodeYaml("n1") + GroupYaml("a", 3) + Members("a", 2) +
                  MemberYaml("bound", "a", "  nodeName: n1\n") + GroupYaml("b", 2) +
                  Members("b", 1),
              {}, /*with_host=*/false);
  EXPECT_TRUE(world.PreFilter("a0").ok());
  EXPECT_NE(world.PreFilter("b0").message().find("current pods number: 1"), std::string::npos);
  world.host.Assume("a0");
  EXPECT_EQ(world.Permit("a0").code(), Code::kWait);
  EXPECT_EQ(world.timeout, seconds(60));
  world.host.Assume("a1");
  EXPECT_TRUE(world.Permit("a1").ok());
  EXPECT_EQ(world.PostFilter("b0").code(), Code::kUnschedulable);
  world.Unreserve("a0");
  EXPECT_FALSE(world.plugin->ResolveDeadlock(1));
  EXPECT_EQ(world.Queue(), (List{"b0"}));
  EXPECT_EQ(world.host.rejected, Names());
  EXPECT_EQ(world.host.activated, Names());
}

// --- in a loop

std::string Why(const RunReport& report, const std::string& pod) {
  for (const auto& [name, why] : report.pending) {
    if (name == "default/" + pod) return why;
  }
  return "it doesn't wait";
}

TEST(CoschedulingLoop, AGangThatFitsIsBoundAtOnce) {
  Cluster cluster = Parse(NodeYaml("n1", "", "4") + GroupYaml("a", 3) + Members("a", 4));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(loop.Step());
  EXPECT_EQ(loop.InFlight(), 2u);
  EXPECT_TRUE(loop.Step());
  EXPECT_EQ(loop.InFlight(), 0u);
  const RunReport report = *loop.RunUntilQuiet();
  EXPECT_EQ(report.bound.size(), 4u);
  EXPECT_EQ(report.attempts, 4);
  EXPECT_EQ(report.duration, seconds(0));
}

TEST(CoschedulingLoop, ALargeGapIsGivenUpAtOnceAndASmallOneAtTheTimeout) {
  // Ten pods want ten cores; then a single one wants one.
  const auto run = [](const std::string& cores, auto&& check) {
    Cluster cluster = Parse(NodeYaml("n1", "", cores) +
                            GroupYaml("a", 10, Created(1), "scheduleTimeoutSeconds: 30") +
                            Members("a", 10) + PodYaml("single", "", "", "1"));
    const auto scheduler = MakeScheduler(kCoschedulingConfig);
    SchedulingLoop loop(*scheduler, cluster);
    check(loop);
    const RunReport report = *loop.RunUntilQuiet();
    EXPECT_EQ(report.bound, (List{"default/single"}));
    EXPECT_EQ(loop.InFlight(), 0u);
    return report;
  };
  const RunReport small = run("9", [](SchedulingLoop& loop) {
    for (int i = 0; i < 11; ++i) EXPECT_TRUE(loop.Step()) << i;
    EXPECT_EQ(loop.InFlight(), 9u);  // a tenth is missing: tolerated
    EXPECT_FALSE(loop.Step());       // and the single pod has found no room
    EXPECT_EQ(loop.clock().Now(), seconds(0));
  });
  EXPECT_GE(small.duration, seconds(30));
  run("8", [](SchedulingLoop& loop) {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(loop.Step()) << i;
    EXPECT_EQ(loop.InFlight(), 8u);
    EXPECT_TRUE(loop.Step());  // the ninth doesn't fit
    EXPECT_EQ(loop.InFlight(), 0u);
  });
}

TEST(CoschedulingLoop, TheTimeoutTakesTheWholeGangBack) {
  Cluster cluster = Parse(NodeYaml("n1", "", "9") +
                          GroupYaml("a", 10, "", "scheduleTimeoutSeconds: 30") + Members("a", 10));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  VirtualClock clock;
  LoopOptions options;
  options.clock = &clock;
  SchedulingLoop loop(*scheduler, cluster, options);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(loop.Step());
  clock.Set(seconds(30) - nanoseconds(1));
  EXPECT_FALSE(loop.Step());
  EXPECT_EQ(loop.InFlight(), 9u);
  clock.Set(seconds(30));
  (void)loop.Step();
  const RunReport report = loop.Report();
  EXPECT_EQ(Why(report, "a0"), "rejected due to timeout after waiting 30s at plugin Coscheduling");
  EXPECT_EQ(Why(report, "a5"), "rejection in Unreserve");
  EXPECT_EQ(report.bound.size(), 1u);  // of those that go on: the tenth has found room, and waits
  EXPECT_EQ(loop.InFlight(), 1u);
}

TEST(CoschedulingLoop, ADeletedMemberTakesTheOthersBack) {
  Cluster cluster = Parse(NodeYaml("n1", "", "9") + GroupYaml("a", 10) + Members("a", 10));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(loop.Step());
  EXPECT_EQ(loop.InFlight(), 9u);
  ASSERT_TRUE(loop.DeletePod("default", "a3").ok());
  EXPECT_EQ(loop.InFlight(), 0u);
  EXPECT_EQ(Why(loop.Report(), "a0"), "rejection in Unreserve");
}

TEST(CoschedulingLoop, ALateMemberCompletesTheGang) {
  Cluster cluster = Parse(NodeYaml("n1") + GroupYaml("a", 3) + Members("a", 2));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_EQ(loop.RunUntilQuiet()->bound, List());
  EXPECT_EQ(Why(loop.Report(), "a1"),
            "0/1 nodes are available: pre-filter pod a1 cannot find enough sibling pods, current "
            "pods number: 2, minMember of group: 3. preemption: 0/1 nodes are available: 1 "
            "Preemption is not helpful for scheduling., PodGroup default/a gets rejected due to "
            "Pod a1 is unschedulable even after PostFilter");
  ASSERT_TRUE(loop.AddPod(api::ParseObjects(MemberYaml("a2", "a"))->pods[0]).ok());
  EXPECT_EQ(loop.RunUntilQuiet()->bound.size(), 3u);
}

TEST(CoschedulingLoop, ALateGroupLetsItsPodsThrough) {
  Cluster cluster = Parse(NodeYaml("n1") + Members("a", 2));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_EQ(loop.RunUntilQuiet()->bound, List());
  EXPECT_EQ(Why(loop.Report(), "a1"), "PodGroup not found");
  auto objects = api::ParseObjects(GroupYaml("a", 2));
  ASSERT_TRUE(objects.ok());
  ASSERT_TRUE(loop.Upsert(objects->coscheduling_pod_groups[0]).ok());
  EXPECT_EQ(loop.RunUntilQuiet()->bound.size(), 2u);
}

TEST(CoschedulingLoop, WhatIsTooLargeDoesNotKeepOthersFromTheirTurn) {
  // The first gang never fits and is tried again and again; the others would starve behind it.
  Cluster cluster =
      Parse(NodeYaml("n1", "", "8") + GroupYaml("big", 12, Created(1)) + Members("big", 12) +
            GroupYaml("small", 5, Created(2)) + Members("small", 5) +
            PodYaml("single1", "", "", "1") + PodYaml("single2", "", "", "2"));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  const RunReport report = *loop.RunUntilQuiet();
  EXPECT_EQ(report.bound,
            (List{"default/single1", "default/single2", "default/small0", "default/small1",
                  "default/small2", "default/small3", "default/small4"}));
  EXPECT_EQ(loop.InFlight(), 0u);
}

TEST(CoschedulingLoop, EachSetThatWaitsForAPodGetsItsTurn) {
  // Nine of ten are tolerated, so each holds all there is until its time is over.
  std::string yaml = NodeYaml("n1", "", "9");
  for (int i = 0; i < 5; ++i) {
    const std::string name = "g" + std::to_string(i) + "x";
    yaml += GroupYaml(name, i == 4 ? 9 : 10, Created(i)) + Members(name, i == 4 ? 9 : 10);
  }
  Cluster cluster = Parse(yaml);
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  SchedulingLoop loop(*scheduler, cluster);
  const RunReport report = *loop.RunUntilQuiet();
  ASSERT_EQ(report.bound.size(), 9u);
  EXPECT_EQ(report.bound[0], "default/g4x0");
  EXPECT_EQ(loop.InFlight(), 0u);
}

TEST(CoschedulingLoop, TheProfilesShareTheirState) {
  // The second profile's plugin sees what the first one's, which sorts the queue, has to know.
  const std::string profile = R"(
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
)";
  Cluster cluster =
      Parse(NodeYaml("n1", "", "4") + GroupYaml("a", 6, Created(1)) +
            Members("a", 6, "  schedulerName: second\n") + PodYaml("single", "", "", "4"));
  const auto scheduler = MakeScheduler(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "- schedulerName: default-scheduler" +
      profile + "- schedulerName: second" + profile);
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_EQ(loop.RunUntilQuiet()->bound, (List{"default/single"}));
}

TEST(CoschedulingLoop, EachLoopStartsAfresh) {
  const Cluster base = Parse(NodeYaml("n1", "", "4") + GroupYaml("a", 6, Created(1)) +
                             Members("a", 6) + GroupYaml("b", 4, Created(2)) + Members("b", 4));
  const auto scheduler = MakeScheduler(kCoschedulingConfig);
  std::vector<std::int64_t> attempts;
  for (int i = 0; i < 2; ++i) {
    Cluster cluster = base.Fork();
    SchedulingLoop loop(*scheduler, cluster);
    const RunReport report = *loop.RunUntilQuiet();
    EXPECT_EQ(report.bound.size(), 4u);
    attempts.push_back(report.attempts);
  }
  EXPECT_EQ(attempts[0], attempts[1]);
  EXPECT_EQ(scheduler->host_slot().host, nullptr);
}

}  // namespace
}  // namespace schedfw
