// Queueing hints: which changes may make a pod schedulable that a plugin rejected.

#include <gtest/gtest.h>

#include <string>

#include "schedfw/api/read.h"
#include "schedfw/plugins/inter_pod_affinity.h"
#include "schedfw/plugins/node_affinity.h"
#include "schedfw/plugins/node_ports.h"
#include "schedfw/plugins/node_resources_fit.h"
#include "schedfw/plugins/node_unschedulable.h"
#include "schedfw/plugins/pod_topology_spread.h"
#include "schedfw/plugins/taint_toleration.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::NodeYaml;
using testing::PodYaml;

class Hints : public ::testing::Test {
 protected:
  static PodPtr Pod(const std::string& yaml) {
    static Dictionary dictionary;
    auto objects = api::ParseObjects(yaml);
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    api::SetDefaults(objects->pods[0]);
    auto pod = CompilePod(std::make_shared<const api::Pod>(objects->pods[0]), true, dictionary);
    EXPECT_TRUE(pod.ok()) << pod.error().message();
    return *pod;
  }
  static api::Node Node(const std::string& yaml) {
    auto objects = api::ParseObjects(yaml);
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    api::SetDefaults(objects->nodes[0]);
    return objects->nodes[0];
  }

  // Whether the plugin would queue `pod` on this event.
  static bool Queues(const EnqueueExtensions& plugin, EventResource resource, ActionType action,
                     const PodInfo& pod, const ObjectChange& change) {
    for (const ClusterEventWithHint& event : plugin.EventsToRegister()) {
      if (event.event.resource != resource || (event.event.actions & action) == 0) continue;
      if (!event.hint || event.hint(pod, change) == QueueingHint::kQueue) return true;
    }
    return false;
  }
  static bool OnNode(const EnqueueExtensions& plugin, ActionType action, const PodInfo& pod,
                     const api::Node* before, const api::Node* after) {
    return Queues(plugin, EventResource::kNode, action, pod,
                  {.old_node = before, .new_node = after});
  }
};

TEST_F(Hints, NodeUnschedulable) {
  const NodeUnschedulable plugin;
  const PodPtr pod = Pod(PodYaml("p"));
  const api::Node open = Node(NodeYaml("n1"));
  const api::Node cordoned = Node(NodeYaml("n1") + "spec: {unschedulable: true}\n");
  EXPECT_TRUE(OnNode(plugin, kAdd, *pod, nullptr, &open));
  EXPECT_FALSE(OnNode(plugin, kAdd, *pod, nullptr, &cordoned));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeTaint, *pod, &cordoned, &open));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, *pod, &open, &open));
}

TEST_F(Hints, TaintToleration) {
  const TaintToleration plugin;
  const PodPtr pod = Pod(PodYaml("p", "", "  tolerations: [{key: a, operator: Exists}]\n"));
  const api::Node clean = Node(NodeYaml("n1"));
  const api::Node tolerated =
      Node(NodeYaml("n1") + "spec: {taints: [{key: a, effect: NoSchedule}]}\n");
  const api::Node tainted =
      Node(NodeYaml("n1") + "spec: {taints: [{key: b, effect: NoExecute}]}\n");
  EXPECT_TRUE(OnNode(plugin, kAdd, *pod, nullptr, &tolerated));
  EXPECT_FALSE(OnNode(plugin, kAdd, *pod, nullptr, &tainted));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeTaint, *pod, &tainted, &clean));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, *pod, &clean, &tolerated));
}

TEST_F(Hints, NodeAffinity) {
  NodeAffinityArgs args;
  args.added_affinity.emplace().required.emplace().node_selector_terms.push_back(
      {{{"pool", api::SelectorOperator::kIn, {"train"}}}, {}});
  const NodeAffinity plain{NodeAffinityArgs{}};
  const NodeAffinity added{args};
  const PodPtr pod = Pod(PodYaml("p", "", "  nodeSelector: {disk: ssd}\n"));
  const api::Node slow = Node(NodeYaml("n1", "disk: hdd"));
  const api::Node fast = Node(NodeYaml("n1", "disk: ssd"));
  const api::Node pool = Node(NodeYaml("n1", "disk: ssd, pool: train"));
  EXPECT_TRUE(OnNode(plain, kAdd, *pod, nullptr, &fast));
  EXPECT_FALSE(OnNode(plain, kAdd, *pod, nullptr, &slow));
  EXPECT_TRUE(OnNode(plain, kUpdateNodeLabel, *pod, &slow, &fast));
  EXPECT_FALSE(OnNode(plain, kUpdateNodeLabel, *pod, &fast, &pool));
  EXPECT_FALSE(OnNode(added, kUpdateNodeLabel, *pod, &slow, &fast));
  EXPECT_TRUE(OnNode(added, kUpdateNodeLabel, *pod, &fast, &pool));
}

TEST_F(Hints, NodeResourcesFit) {
  const NodeResourcesFit plugin{NodeResourcesFitArgs{}};
  const PodPtr pod = Pod(PodYaml("p", "", "", "4"));
  const api::Node small = Node(NodeYaml("n1", "", "2"));
  const api::Node large = Node(NodeYaml("n1", "", "8"));
  const api::Node larger = Node(NodeYaml("n1", "", "16"));
  EXPECT_FALSE(OnNode(plugin, kAdd, *pod, nullptr, &small));
  EXPECT_TRUE(OnNode(plugin, kAdd, *pod, nullptr, &large));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeAllocatable, *pod, &large, &larger));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeAllocatable, *pod, &larger, &large));
  const PodPtr before = Pod(PodYaml("q", "", "  nodeName: n1\n", "3"));
  const PodPtr after = Pod(PodYaml("q", "", "  nodeName: n1\n", "1"));
  const auto resized = [&](const PodPtr& from, const PodPtr& to) {
    return Queues(plugin, EventResource::kAssignedPod, kUpdatePodScaleDown, *pod,
                  {.old_pod = from.get(), .new_pod = to.get()});
  };
  EXPECT_TRUE(resized(before, after));
  EXPECT_FALSE(resized(after, before));
  EXPECT_TRUE(Queues(plugin, EventResource::kAssignedPod, kDelete, *pod, {}));
}

TEST_F(Hints, NodePorts) {
  const NodePorts plugin;
  const auto with_port = [](const std::string& name, int port, const std::string& ip) {
    return Pod("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
               "}\nspec: {containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: " +
               std::to_string(port) + ", hostIP: '" + ip + "'}]}]}\n");
  };
  const PodPtr pod = with_port("p", 80, "");
  const auto deleted = [&](const PodPtr& other) {
    return Queues(plugin, EventResource::kAssignedPod, kDelete, *pod, {.old_pod = other.get()});
  };
  EXPECT_TRUE(deleted(with_port("q", 80, "10.0.0.1")));
  EXPECT_FALSE(deleted(with_port("q", 81, "")));
  EXPECT_FALSE(deleted(Pod(PodYaml("q"))));
}

TEST_F(Hints, PodTopologySpread) {
  const PodTopologySpread plugin{PodTopologySpreadArgs{}};
  const PodPtr pod = Pod(PodYaml("p"));
  const PodPtr same = Pod(PodYaml("q"));
  const PodPtr other =
      Pod("apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: elsewhere}\n"
          "spec: {containers: [{name: c, image: i}]}\n");
  const auto added = [&](const PodPtr& by) {
    return Queues(plugin, EventResource::kAssignedPod, kAdd, *pod, {.new_pod = by.get()});
  };
  EXPECT_TRUE(added(same));
  EXPECT_FALSE(added(other));
}

TEST_F(Hints, InterPodAffinity) {
  const InterPodAffinity plugin{InterPodAffinityArgs{}};
  const auto wants = [](const std::string& kind) {
    return "  affinity: {" + kind +
           ": {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: "
           "{matchLabels: {app: db}}}]}}\n";
  };
  const PodPtr near = Pod(PodYaml("near", "app: web", wants("podAffinity")));
  const PodPtr away = Pod(PodYaml("away", "app: web", wants("podAntiAffinity")));
  const PodPtr plain = Pod(PodYaml("plain", "app: db"));
  const PodPtr db = Pod(PodYaml("d", "app: db", "  nodeName: n1\n"));
  const PodPtr other = Pod(PodYaml("d", "app: cache", "  nodeName: n1\n"));
  const PodPtr loner = Pod(PodYaml("l", "app: x", wants("podAntiAffinity") + "  nodeName: n1\n"));
  const auto on_pod = [&](const PodPtr& pod, const PodPtr& before, const PodPtr& after) {
    const ActionType action = !before ? kAdd : !after ? kDelete : kUpdatePodLabel;
    return Queues(plugin, EventResource::kAssignedPod, action, *pod,
                  {.old_pod = before.get(), .new_pod = after.get()});
  };
  EXPECT_TRUE(on_pod(near, nullptr, db));
  EXPECT_FALSE(on_pod(near, nullptr, other));
  EXPECT_TRUE(on_pod(near, other, db));
  EXPECT_FALSE(on_pod(near, db, other));
  EXPECT_FALSE(on_pod(near, db, nullptr));
  EXPECT_TRUE(on_pod(away, db, nullptr));
  EXPECT_TRUE(on_pod(away, db, other));
  EXPECT_FALSE(on_pod(away, other, db));
  EXPECT_FALSE(on_pod(away, nullptr, db));
  EXPECT_TRUE(on_pod(plain, loner, nullptr));  // what kept it away is gone
  EXPECT_FALSE(on_pod(plain, other, nullptr));

  const api::Node none = Node(NodeYaml("n1"));
  const api::Node a = Node(NodeYaml("n1", "zone: a"));
  const api::Node b = Node(NodeYaml("n1", "zone: b"));
  EXPECT_TRUE(OnNode(plugin, kAdd, *near, nullptr, &a));
  EXPECT_FALSE(OnNode(plugin, kAdd, *near, nullptr, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, *near, &none, &a));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, *near, &a, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, *near, &a, &b));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, *near, &a, &a));
  EXPECT_TRUE(OnNode(plugin, kAdd, *away, nullptr, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, *away, &a, &none));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, *away, &none, &a));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, *away, &a, &b));
}

}  // namespace
}  // namespace schedfw
