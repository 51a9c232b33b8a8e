// Cluster events: which registrations they match, and which events an update is.

#include "schedfw/framework/event.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/cluster/pod_plans.h"
#include "schedfw/framework/event_classify.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::NodeYaml;
using testing::PodYaml;
using Actions = std::vector<ActionType>;

TEST(Events, Match) {
  constexpr auto kNode = EventResource::kNode;
  EXPECT_TRUE(Matches({kNode, kAdd | kUpdateNodeLabel}, {kNode, kUpdateNodeLabel}));
  EXPECT_FALSE(Matches({kNode, kAdd | kUpdateNodeLabel}, {kNode, kUpdateNodeTaint}));
  EXPECT_FALSE(Matches({kNode, kAdd}, {EventResource::kAssignedPod, kAdd}));
  EXPECT_TRUE(Matches({EventResource::kWildCard, kAdd}, {kNode, kAdd}));
  EXPECT_TRUE(Matches({}, {EventResource::kTargetPod, kUpdate}));
  // A change of another kind is for those that asked for all of them.
  constexpr auto kPod = EventResource::kTargetPod;
  EXPECT_TRUE(Matches({kPod, kUpdate}, {kPod, kUpdate}));
  EXPECT_FALSE(Matches({kPod, kUpdatePodLabel | kUpdatePodToleration}, {kPod, kUpdate}));
}

class PodChanges : public ::testing::Test {
 protected:
  static api::Pod Object(const std::string& yaml) {
    auto objects = api::ParseObjects(yaml);
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    api::SetDefaults(objects->pods[0]);
    return objects->pods[0];
  }
  PodPtr Waiting(const api::Pod& pod) {
    auto out = plans_.Compile(std::make_shared<const api::Pod>(pod), dictionary_);
    EXPECT_TRUE(out.ok()) << out.error().message();
    return *out;
  }
  PodPtr Bound(const api::Pod& pod) {
    auto out = plans_.CompileBound(pod, dictionary_);
    EXPECT_TRUE(out.ok()) << out.error().message();
    return *out;
  }
  // The actions that the update is, for a pod on a node and for the pod that is asked about.
  Actions Between(const api::Pod& before, const api::Pod& after) {
    const Actions waiting = Of(*Waiting(before), *Waiting(after), EventResource::kTargetPod);
    EXPECT_EQ(Of(*Bound(before), *Bound(after), EventResource::kAssignedPod), waiting);
    return waiting;
  }
  Actions Between(const std::string& before, const std::string& after) {
    return Between(Object(before), Object(after));
  }
  Actions Of(const PodInfo& before, const PodInfo& after, EventResource resource) {
    Actions out;
    for (const ClusterEvent& event : PodChangeEvents(before, after, resource, dictionary_)) {
      EXPECT_EQ(event.resource, resource);
      out.push_back(event.actions);
    }
    return out;
  }

  Dictionary dictionary_;
  PodPlans plans_;
};

TEST_F(PodChanges, OneByOne) {
  const auto gated = [](const std::string& gates) {
    return PodYaml("p", "", "  schedulingGates: [" + gates + "]\n");
  };
  const auto tolerant = [](const std::string& tolerations) {
    return PodYaml("p", "", "  tolerations: [" + tolerations + "]\n");
  };
  EXPECT_EQ(Between(PodYaml("p", "a: b"), PodYaml("p", "a: c")), Actions{kUpdatePodLabel});
  EXPECT_EQ(Between(PodYaml("p", "a: b"), PodYaml("p")), Actions{kUpdatePodLabel});
  EXPECT_EQ(Between(PodYaml("p", "", "", "2"), PodYaml("p", "", "", "1")),
            Actions{kUpdatePodScaleDown});
  EXPECT_EQ(Between(PodYaml("p", "", "", "1"), PodYaml("p", "", "", "1001m")),
            Actions{kUpdatePodScaleUp});
  EXPECT_EQ(Between(gated("{name: a}"), PodYaml("p")),
            Actions{kUpdatePodSchedulingGatesEliminated});
  EXPECT_EQ(Between(gated("{name: a}, {name: b}"), gated("{name: b}")), Actions{kUpdate});
  EXPECT_EQ(Between(PodYaml("p"), gated("{name: a}")), Actions{kUpdate});
  EXPECT_EQ(Between(PodYaml("p"), tolerant("{key: a, operator: Exists}")),
            Actions{kUpdatePodToleration});
  EXPECT_EQ(Between(tolerant("{key: a, operator: Exists}"), tolerant("{key: b, operator: Exists}")),
            Actions{kUpdate});  // only their number counts
}

TEST_F(PodChanges, OthersAreOneOfAllKinds) {
  api::Pod before = Object(PodYaml("p"));
  EXPECT_EQ(Between(before, before), Actions{kUpdate});
  api::Pod after = before;
  after.status.nominated_node_name = "n1";
  after.status.conditions.push_back({"PodScheduled", "False", "Unschedulable"});
  after.metadata.annotations["a"] = "b";
  EXPECT_EQ(Between(before, after), Actions{kUpdate});
  after = before;
  after.spec.priority = 7;
  EXPECT_EQ(Between(before, after), Actions{kUpdate});
}

TEST_F(PodChanges, InUpstreamsOrder) {
  const std::string before =
      PodYaml("p", "a: b", "  schedulingGates: [{name: a}]\n  tolerations: []\n", "2");
  const std::string after =
      PodYaml("p", "a: c", "  tolerations: [{key: a, operator: Exists}]\n", "1");
  EXPECT_EQ(Between(before, after),
            (Actions{kUpdatePodLabel, kUpdatePodScaleDown, kUpdatePodSchedulingGatesEliminated,
                     kUpdatePodToleration}));
}

TEST_F(PodChanges, Amounts) {
  const auto asks = [](const std::string& requests) {
    return Object(
        "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{name: c, "
        "image: i, resources: {requests: {" +
        requests + "}}}]}\n");
  };
  // More of one and less of another is both.
  EXPECT_EQ(Between(asks("cpu: 1, memory: 2Gi"), asks("cpu: 2, memory: 1Gi")),
            (Actions{kUpdatePodScaleDown, kUpdatePodScaleUp}));
  // A request that goes, even for nothing, is less; one that comes is more.
  EXPECT_EQ(Between(asks("cpu: 1, memory: 0"), asks("cpu: 1")), Actions{kUpdatePodScaleDown});
  EXPECT_EQ(Between(asks("cpu: 1"), asks("cpu: 1, memory: 0")), Actions{kUpdatePodScaleUp});
  // Thousandths count for every resource, and how an amount is written doesn't.
  EXPECT_EQ(Between(asks("memory: 100900m"), asks("memory: 100500m")),
            Actions{kUpdatePodScaleDown});
  EXPECT_EQ(Between(asks("cpu: 1, memory: 1Gi"), asks("cpu: 1000m, memory: 1024Mi")),
            Actions{kUpdate});

  // What the kubelet reports counts too: the pod shrinks when its container has shrunk.
  const auto reports = [](api::Pod pod, const std::string& cpu) {
    api::ContainerStatus& status = pod.status.container_statuses.emplace_back();
    status.name = "c";
    status.allocated_resources.emplace()["cpu"] = *Quantity::Parse(cpu);
    return pod;
  };
  const api::Pod wanted = asks("cpu: 1");
  EXPECT_EQ(Between(reports(asks("cpu: 2"), "2"), reports(wanted, "2")), Actions{kUpdate});
  EXPECT_EQ(Between(reports(wanted, "2"), reports(wanted, "1")), Actions{kUpdatePodScaleDown});
}

TEST_F(PodChanges, OfPodsThatTheLibraryBound) {
  const PodPtr before = Waiting(Object(PodYaml("p", "a: b", "", "2")));
  const PodPtr same = Bound(Object(PodYaml("p", "a: b", "  nodeName: n1\n", "2")));
  const PodPtr less = Bound(Object(PodYaml("p", "a: b", "  nodeName: n1\n", "1")));
  EXPECT_EQ(Of(*before, *same, EventResource::kAssignedPod), Actions{kUpdate});
  EXPECT_EQ(Of(*before, *less, EventResource::kAssignedPod), Actions{kUpdatePodScaleDown});
  EXPECT_EQ(Of(*before, *less, EventResource::kUnscheduledPod), Actions{kUpdatePodScaleDown});
}

class NodeChanges : public ::testing::Test {
 protected:
  static api::Node Node(const std::string& yaml) {
    auto objects = api::ParseObjects(yaml);
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    return objects->nodes[0];
  }
  static Actions Between(const api::Node& before, const api::Node& after) {
    Actions out;
    for (const ClusterEvent& event : NodeChangeEvents(before, after)) {
      EXPECT_EQ(event.resource, EventResource::kNode);
      out.push_back(event.actions);
    }
    return out;
  }
};

TEST_F(NodeChanges, OneByOne) {
  const api::Node base = Node(NodeYaml("n1", "a: b"));
  EXPECT_EQ(Between(base, base), Actions{});
  EXPECT_EQ(Between(base, Node(NodeYaml("n1", "a: c"))), Actions{kUpdateNodeLabel});
  EXPECT_EQ(Between(base, Node(NodeYaml("n1", "a: b", "4"))), Actions{kUpdateNodeAllocatable});
  EXPECT_EQ(Between(base, Node(NodeYaml("n1", "a: b", "8000m"))), Actions{});

  api::Node changed = base;
  changed.spec.unschedulable = true;  // closed: nobody is helped
  EXPECT_EQ(Between(base, changed), Actions{});
  EXPECT_EQ(Between(changed, base), Actions{kUpdateNodeTaint});

  changed = base;
  changed.spec.taints.push_back({"a", "", api::TaintEffect::kNoSchedule});
  EXPECT_EQ(Between(base, changed), Actions{kUpdateNodeTaint});
  EXPECT_EQ(Between(changed, base), Actions{kUpdateNodeTaint});

  changed = base;
  changed.metadata.annotations["a"] = "b";
  EXPECT_EQ(Between(base, changed), Actions{kUpdateNodeAnnotation});

  changed = base;  // the capacity alone is nothing
  changed.status.capacity["cpu"] = Quantity::FromUnits(9);
  EXPECT_EQ(Between(base, changed), Actions{});
  changed.status.capacity = *base.status.allocatable;
  changed.status.allocatable.reset();  // stands for the capacity
  EXPECT_EQ(Between(base, changed), Actions{});
}

TEST_F(NodeChanges, Conditions) {
  api::Node before = Node(NodeYaml("n1"));
  before.status.conditions = {{"Ready", "True", "KubeletReady"}, {"DiskPressure", "False", ""}};
  api::Node after = before;
  after.status.conditions[0].reason = "Other";
  std::swap(after.status.conditions[0], after.status.conditions[1]);
  EXPECT_EQ(Between(before, after), Actions{});
  after.status.conditions.push_back({"Ready", "Unknown", ""});  // the last one counts
  EXPECT_EQ(Between(before, after), Actions{kUpdateNodeCondition});
  after = before;
  after.status.conditions.pop_back();
  EXPECT_EQ(Between(before, after), Actions{kUpdateNodeCondition});
}

TEST_F(NodeChanges, InUpstreamsOrder) {
  api::Node before = Node(NodeYaml("n1", "a: b"));
  before.spec.unschedulable = true;
  before.spec.taints.push_back(
      {"node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule});
  api::Node after = Node(NodeYaml("n1", "a: c", "4"));
  after.status.conditions = {{"Ready", "True", ""}};
  after.metadata.annotations["a"] = "b";
  EXPECT_EQ(Between(before, after),
            (Actions{kUpdateNodeTaint, kUpdateNodeAllocatable, kUpdateNodeLabel, kUpdateNodeTaint,
                     kUpdateNodeCondition, kUpdateNodeAnnotation}));
}

}  // namespace
}  // namespace schedfw
