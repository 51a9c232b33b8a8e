// Queueing hints: which changes may make a pod schedulable that a plugin rejected.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/cluster/pod_plans.h"
#include "schedfw/plugins/default_preemption.h"
#include "schedfw/plugins/inter_pod_affinity.h"
#include "schedfw/plugins/node_affinity.h"
#include "schedfw/plugins/node_name.h"
#include "schedfw/plugins/node_ports.h"
#include "schedfw/plugins/node_resources_fit.h"
#include "schedfw/plugins/node_unschedulable.h"
#include "schedfw/plugins/pod_topology_spread.h"
#include "schedfw/plugins/scheduling_gates.h"
#include "schedfw/plugins/taint_toleration.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::NodeYaml;
using testing::PodYaml;

class Hints : public ::testing::Test {
 protected:
  static Dictionary& SharedDictionary() {
    static Dictionary dictionary;
    return dictionary;
  }
  static api::Pod Object(const std::string& yaml) {
    auto objects = api::ParseObjects(yaml);
    EXPECT_TRUE(objects.ok()) << objects.error().message();
    api::SetDefaults(objects->pods[0]);
    return objects->pods[0];
  }
  // A pod that waits.
  static PodPtr Pod(const std::string& yaml, Dictionary& dictionary = SharedDictionary()) {
    auto pod = CompilePod(std::make_shared<const api::Pod>(Object(yaml)), true, dictionary);
    EXPECT_TRUE(pod.ok()) << pod.error().message();
    return *pod;
  }
  // A pod on a node, as a cluster keeps those that came with it.
  static PodPtr Bound(const std::string& yaml, Dictionary& dictionary = SharedDictionary()) {
    PodPlans plans;
    auto pod = plans.CompileBound(Object(yaml), dictionary);
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
      if (!Matches(event.event, {resource, action})) continue;
      if (!event.hint || event.hint(pod, change) == QueueingHint::kQueue) return true;
    }
    return false;
  }
  static bool OnNode(const EnqueueExtensions& plugin, ActionType action, const PodPtr& pod,
                     const api::Node* before, const api::Node* after) {
    return Queues(plugin, EventResource::kNode, action, *pod,
                  {.old_node = before, .new_node = after});
  }
  // Another pod on a node that comes, gets other labels, or goes.
  static bool OnPod(const EnqueueExtensions& plugin, const PodPtr& pod, const PodPtr& before,
                    const PodPtr& after, const Snapshot* snapshot = nullptr) {
    const ActionType action = !before ? kAdd : !after ? kDelete : kUpdatePodLabel;
    return Queues(plugin, EventResource::kAssignedPod, action, *pod,
                  {.old_pod = before.get(), .new_pod = after.get(), .snapshot = snapshot});
  }
  // The pod itself.
  static bool OnItself(const EnqueueExtensions& plugin, ActionType action, const PodPtr& before,
                       const PodPtr& after) {
    return Queues(plugin, EventResource::kTargetPod, action, *after,
                  {.old_pod = before.get(), .new_pod = after.get()});
  }

  static std::vector<ClusterEvent> Events(const EnqueueExtensions& plugin) {
    std::vector<ClusterEvent> out;
    for (const ClusterEventWithHint& event : plugin.EventsToRegister()) out.push_back(event.event);
    return out;
  }
};

TEST_F(Hints, EventsAreUpstreams) {
  using R = EventResource;
  using List = std::vector<ClusterEvent>;
  EXPECT_EQ(Events(SchedulingGates()),
            (List{{R::kTargetPod, kUpdatePodSchedulingGatesEliminated}}));
  EXPECT_EQ(Events(DefaultPreemption(DefaultPreemptionArgs{})), List{});
  EXPECT_EQ(Events(NodeName()), (List{{R::kNode, kAdd}}));
  EXPECT_EQ(Events(NodeUnschedulable()),
            (List{{R::kNode, kAdd | kUpdateNodeTaint}, {R::kTargetPod, kUpdatePodToleration}}));
  EXPECT_EQ(Events(TaintToleration()),
            (List{{R::kNode, kAdd | kUpdateNodeTaint}, {R::kTargetPod, kUpdatePodToleration}}));
  EXPECT_EQ(Events(NodeAffinity(NodeAffinityArgs{})), (List{{R::kNode, kAdd | kUpdateNodeLabel}}));
  EXPECT_EQ(Events(NodePorts()), (List{{R::kAssignedPod, kDelete}, {R::kNode, kAdd}}));
  EXPECT_EQ(Events(NodeResourcesFit(NodeResourcesFitArgs{})),
            (List{{R::kAssignedPod, kDelete},
                  {R::kNode, kAdd | kUpdateNodeAllocatable},
                  {R::kAssignedPod, kUpdatePodScaleDown},
                  {R::kTargetPod, kUpdatePodScaleDown}}));
  EXPECT_EQ(Events(PodTopologySpread(PodTopologySpreadArgs{})),
            (List{{R::kAssignedPod, kAdd | kUpdatePodLabel | kDelete},
                  {R::kTargetPod, kUpdatePodToleration | kUpdatePodLabel},
                  {R::kNode, kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint}}));
  EXPECT_EQ(Events(InterPodAffinity(InterPodAffinityArgs{})),
            (List{{R::kAssignedPod, kAdd | kUpdatePodLabel | kDelete},
                  {R::kTargetPod, kUpdatePodLabel},
                  {R::kNode, kAdd | kUpdateNodeLabel}}));
}

TEST_F(Hints, AlwaysQueue) {
  const PodPtr pod = Pod(PodYaml("p"));
  const PodPtr bound = Bound(PodYaml("q", "", "  nodeName: n1\n"));
  const api::Node node = Node(NodeYaml("n1"));
  EXPECT_TRUE(OnItself(SchedulingGates(), kUpdatePodSchedulingGatesEliminated, pod, pod));
  EXPECT_TRUE(OnNode(NodeName(), kAdd, pod, nullptr, &node));
  EXPECT_TRUE(OnNode(NodePorts(), kAdd, pod, nullptr, &node));
  EXPECT_TRUE(OnItself(TaintToleration(), kUpdatePodToleration, pod, pod));
  const NodeResourcesFit fit{NodeResourcesFitArgs{}};
  EXPECT_TRUE(OnItself(fit, kUpdatePodScaleDown, pod, pod));
  EXPECT_TRUE(OnPod(fit, pod, bound, nullptr));
  EXPECT_TRUE(OnItself(InterPodAffinity(InterPodAffinityArgs{}), kUpdatePodLabel, pod, pod));
}

TEST_F(Hints, NodeUnschedulable) {
  const NodeUnschedulable plugin;
  const PodPtr pod = Pod(PodYaml("p"));
  const api::Node open = Node(NodeYaml("n1"));
  const api::Node cordoned = Node(NodeYaml("n1") + "spec: {unschedulable: true}\n");
  EXPECT_TRUE(OnNode(plugin, kAdd, pod, nullptr, &open));
  EXPECT_FALSE(OnNode(plugin, kAdd, pod, nullptr, &cordoned));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeTaint, pod, &cordoned, &open));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, pod, &open, &open));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, pod, &open, &cordoned));

  const PodPtr other = Pod(PodYaml("p", "", "  tolerations: [{key: a, operator: Exists}]\n"));
  const PodPtr tolerant = Pod(PodYaml(
      "p", "", "  tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]\n"));
  EXPECT_TRUE(OnItself(plugin, kUpdatePodToleration, pod, tolerant));
  EXPECT_FALSE(OnItself(plugin, kUpdatePodToleration, pod, other));
}

TEST_F(Hints, TaintToleration) {
  const TaintToleration plugin;
  const PodPtr pod = Pod(PodYaml("p", "", "  tolerations: [{key: a, operator: Exists}]\n"));
  const api::Node clean = Node(NodeYaml("n1"));
  const api::Node tolerated =
      Node(NodeYaml("n1") + "spec: {taints: [{key: a, effect: NoSchedule}]}\n");
  const api::Node tainted =
      Node(NodeYaml("n1") + "spec: {taints: [{key: b, effect: NoExecute}]}\n");
  const api::Node disliked =
      Node(NodeYaml("n1") + "spec: {taints: [{key: b, effect: PreferNoSchedule}]}\n");
  EXPECT_TRUE(OnNode(plugin, kAdd, pod, nullptr, &tolerated));
  EXPECT_FALSE(OnNode(plugin, kAdd, pod, nullptr, &tainted));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeTaint, pod, &tainted, &clean));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeTaint, pod, &tainted, &disliked));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, pod, &clean, &tolerated));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeTaint, pod, &tainted, &tainted));
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
  const api::Node slow_pool = Node(NodeYaml("n1", "disk: hdd, pool: train"));
  EXPECT_TRUE(OnNode(plain, kAdd, pod, nullptr, &fast));
  EXPECT_FALSE(OnNode(plain, kAdd, pod, nullptr, &slow));
  EXPECT_TRUE(OnNode(plain, kUpdateNodeLabel, pod, &slow, &fast));
  EXPECT_FALSE(OnNode(plain, kUpdateNodeLabel, pod, &fast, &pool));
  EXPECT_FALSE(OnNode(plain, kUpdateNodeLabel, pod, &fast, &slow));
  EXPECT_FALSE(OnNode(added, kAdd, pod, nullptr, &fast));
  EXPECT_TRUE(OnNode(added, kAdd, pod, nullptr, &pool));
  EXPECT_FALSE(OnNode(added, kUpdateNodeLabel, pod, &slow, &fast));
  EXPECT_TRUE(OnNode(added, kUpdateNodeLabel, pod, &slow, &pool));
  EXPECT_TRUE(OnNode(added, kUpdateNodeLabel, pod, &slow_pool, &pool));
  // That the profile's affinity is met now doesn't count: the pod's own was met before.
  EXPECT_FALSE(OnNode(added, kUpdateNodeLabel, pod, &fast, &pool));
  // Neither for pods that ask for nothing themselves.
  EXPECT_FALSE(OnNode(added, kUpdateNodeLabel, Pod(PodYaml("p")), &fast, &pool));
  EXPECT_TRUE(OnNode(added, kAdd, Pod(PodYaml("p")), nullptr, &pool));
}

TEST_F(Hints, NodeAffinityMatchesAsFilterDoes) {
  const NodeAffinity plugin{NodeAffinityArgs{}};
  const auto wants = [](const std::string& terms) {
    return Pod(PodYaml("p", "",
                       "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
                       " {nodeSelectorTerms: [" +
                           terms + "]}}}\n"));
  };
  const auto term = [&](const std::string& requirement) {
    return wants("{matchExpressions: [" + requirement + "]}");
  };
  const auto adds = [&](const PodPtr& pod, const std::string& labels) {
    const api::Node node = Node(NodeYaml("n1", labels));
    return OnNode(plugin, kAdd, pod, nullptr, &node);
  };
  const PodPtr in = term("{key: a, operator: In, values: [x, \"y\"]}");
  EXPECT_TRUE(adds(in, "a: \"y\""));
  EXPECT_FALSE(adds(in, "a: z"));
  EXPECT_FALSE(adds(in, "b: x"));
  const PodPtr not_in = term("{key: a, operator: NotIn, values: [x]}");
  EXPECT_FALSE(adds(not_in, "a: x"));
  EXPECT_TRUE(adds(not_in, "a: z"));
  EXPECT_TRUE(adds(not_in, ""));
  EXPECT_TRUE(adds(term("{key: a, operator: Exists}"), "a: x"));
  EXPECT_FALSE(adds(term("{key: a, operator: Exists}"), "b: x"));
  EXPECT_FALSE(adds(term("{key: a, operator: DoesNotExist}"), "a: x"));
  EXPECT_TRUE(adds(term("{key: a, operator: DoesNotExist}"), "b: x"));
  const PodPtr more = term("{key: a, operator: Gt, values: [\"5\"]}");
  EXPECT_TRUE(adds(more, "a: \"6\""));
  EXPECT_FALSE(adds(more, "a: \"5\""));
  EXPECT_FALSE(adds(more, "a: six"));
  EXPECT_FALSE(adds(more, ""));
  const PodPtr less = term("{key: a, operator: Lt, values: [\"5\"]}");
  EXPECT_TRUE(adds(less, "a: \"4\""));
  EXPECT_FALSE(adds(less, "a: \"5\""));
  // All of a term, one of the terms; a term without anything matches nothing.
  const PodPtr both = term("{key: a, operator: Exists}, {key: b, operator: In, values: [x]}");
  EXPECT_TRUE(adds(both, "a: q, b: x"));
  EXPECT_FALSE(adds(both, "a: q"));
  const PodPtr either = wants(
      "{}, {matchExpressions: [{key: a, operator: Exists}]}, "
      "{matchExpressions: [{key: b, operator: Exists}]}");
  EXPECT_TRUE(adds(either, "b: q"));
  EXPECT_FALSE(adds(either, "c: q"));
  EXPECT_FALSE(adds(wants("{}"), "a: q"));
  const auto named = [&](const std::string& op, const std::string& name) {
    return wants("{matchFields: [{key: metadata.name, operator: " + op + ", values: [" + name +
                 "]}]}");
  };
  EXPECT_TRUE(adds(named("In", "n1"), ""));
  EXPECT_FALSE(adds(named("In", "n2"), ""));
  EXPECT_FALSE(adds(named("NotIn", "n1"), ""));
  EXPECT_TRUE(adds(named("NotIn", "n2"), ""));

  // A term that can't be parsed fails the hint, which queues, unless another one matches.
  const std::string bad = "{matchExpressions: [{key: a, operator: Gt, values: [six]}]}";
  const PodPtr unparsable = wants(bad);
  const PodPtr other = wants(bad + ", {matchExpressions: [{key: b, operator: Exists}]}");
  const api::Node a = Node(NodeYaml("n1", "a: \"7\""));
  const api::Node b = Node(NodeYaml("n1", "b: x"));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, unparsable, &a, &b));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, unparsable, &b, &b));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, other, &a, &b));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, other, &b, &b));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, other, &b, &a));
  const PodPtr selected =
      Pod(PodYaml("p", "",
                  "  nodeSelector: {c: x}\n"
                  "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                  "{nodeSelectorTerms: [" +
                      bad + "]}}}\n"));
  EXPECT_FALSE(adds(selected, "a: \"7\""));  // the nodeSelector is asked first
  EXPECT_TRUE(adds(selected, "c: x"));
}

TEST_F(Hints, NodeResourcesFit) {
  const NodeResourcesFit plugin{NodeResourcesFitArgs{}};
  const PodPtr pod = Pod(PodYaml("p", "", "", "4"));
  const api::Node small = Node(NodeYaml("n1", "", "2"));
  const api::Node large = Node(NodeYaml("n1", "", "8"));
  const api::Node larger = Node(NodeYaml("n1", "", "16"));
  EXPECT_FALSE(OnNode(plugin, kAdd, pod, nullptr, &small));
  EXPECT_TRUE(OnNode(plugin, kAdd, pod, nullptr, &large));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeAllocatable, pod, &large, &larger));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeAllocatable, pod, &larger, &large));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeAllocatable, pod, &larger, &larger));

  const auto node = [](const std::string& allocatable) {
    return Node("kind: Node\napiVersion: v1\nmetadata: {name: n1}\nstatus: {allocatable: {" +
                allocatable + "}}\n");
  };
  const api::Node base = node("cpu: 8, memory: 8Gi, pods: 10, example.com/gpu: 1");
  const api::Node more_memory = node("cpu: 8, memory: 9Gi, pods: 10, example.com/gpu: 1");
  const api::Node more_pods = node("cpu: 8, memory: 8Gi, pods: 11, example.com/gpu: 1");
  const api::Node more_gpus = node("cpu: 8, memory: 8Gi, pods: 10, example.com/gpu: 2");
  const api::Node no_pods = node("cpu: 9, memory: 8Gi, example.com/gpu: 1");
  const auto updated = [&](const PodPtr& of, const api::Node& after) {
    return OnNode(plugin, kUpdateNodeAllocatable, of, &base, &after);
  };
  EXPECT_FALSE(updated(pod, more_memory));  // it doesn't ask for memory
  EXPECT_TRUE(updated(pod, more_pods));
  EXPECT_FALSE(updated(pod, more_gpus));
  EXPECT_FALSE(updated(pod, no_pods));  // no room for any pod
  EXPECT_FALSE(OnNode(plugin, kAdd, pod, nullptr, &no_pods));
  const auto asks = [](const std::string& requests) {
    return Pod(
        "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{name: c, "
        "image: i, resources: {requests: {" +
        requests + "}, limits: {" + requests + "}}}]}\n");
  };
  const PodPtr nothing = asks("");
  EXPECT_TRUE(OnNode(plugin, kAdd, nothing, nullptr, &base));
  EXPECT_TRUE(updated(nothing, more_pods));
  EXPECT_FALSE(updated(nothing, more_gpus));
  EXPECT_TRUE(updated(asks("example.com/gpu: 2"), more_gpus));
  EXPECT_FALSE(updated(asks("example.com/gpu: 3"), more_gpus));
  EXPECT_TRUE(updated(asks("memory: 1Gi"), more_memory));
  // Hints count the resources that Filter ignores.
  NodeResourcesFitArgs ignoring;
  ignoring.ignored_resources = {"example.com/gpu"};
  const PodPtr gpus = asks("example.com/gpu: 3");
  EXPECT_FALSE(OnNode(NodeResourcesFit{ignoring}, kAdd, gpus, nullptr, &more_gpus));

  const auto resized = [&](const PodPtr& waiting, const PodPtr& from, const PodPtr& to) {
    return Queues(plugin, EventResource::kAssignedPod, kUpdatePodScaleDown, *waiting,
                  {.old_pod = from.get(), .new_pod = to.get()});
  };
  const PodPtr before = Bound(PodYaml("q", "", "  nodeName: n1\n", "3"));
  const PodPtr after = Bound(PodYaml("q", "", "  nodeName: n1\n", "1"));
  EXPECT_TRUE(resized(pod, before, after));
  EXPECT_FALSE(resized(pod, after, before));
  EXPECT_FALSE(resized(nothing, before, after));
  EXPECT_FALSE(resized(gpus, before, after));
  // The objects of pods that the library bound don't say that they have a node.
  EXPECT_TRUE(resized(pod, Pod(PodYaml("q", "", "", "3")), Pod(PodYaml("q", "", "", "1"))));
}

TEST_F(Hints, NodePorts) {
  const NodePorts plugin;
  const auto with_port = [](const std::string& name, int port, const std::string& ip,
                            const std::string& protocol = "TCP") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: " +
           std::to_string(port) + ", hostIP: '" + ip + "', protocol: " + protocol + "}]}]}\n";
  };
  const PodPtr pod = Pod(with_port("p", 80, ""));
  const PodPtr local = Pod(with_port("p", 80, "10.0.0.2"));
  const auto deleted = [&](const PodPtr& waiting, const std::string& other) {
    return OnPod(plugin, waiting, Bound(other), nullptr);
  };
  EXPECT_TRUE(deleted(pod, with_port("q", 80, "10.0.0.1")));
  EXPECT_TRUE(deleted(local, with_port("q", 80, "0.0.0.0")));
  EXPECT_TRUE(deleted(local, with_port("q", 80, "10.0.0.2")));
  EXPECT_FALSE(deleted(local, with_port("q", 80, "10.0.0.1")));
  EXPECT_FALSE(deleted(pod, with_port("q", 80, "", "UDP")));
  EXPECT_FALSE(deleted(pod, with_port("q", 81, "")));
  EXPECT_FALSE(deleted(pod, PodYaml("q")));
  EXPECT_FALSE(deleted(Pod(PodYaml("p")), with_port("q", 80, "")));
}

// Hints of PodTopologySpread.
class SpreadHints : public Hints {
 protected:
  struct Constraint {
    std::string key;
    std::string labels;  // of matchLabels
    bool hard = true;
    std::string more = "";
  };
  static PodPtr Spread(const std::vector<Constraint>& constraints,
                       const std::string& labels = "app: web", const std::string& spec = "") {
    std::string out = "  topologySpreadConstraints:\n";
    for (const Constraint& c : constraints) {
      out += "  - {maxSkew: 1, topologyKey: " + c.key +
             ", whenUnsatisfiable: " + (c.hard ? "DoNotSchedule" : "ScheduleAnyway") +
             ", labelSelector: {matchLabels: {" + c.labels + "}}" + c.more + "}\n";
    }
    return Pod(PodYaml("p", labels, out + spec));
  }
  static PodPtr Other(const std::string& labels, const std::string& ns = "default") {
    return Bound("apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: " + ns + ", labels: {" +
                 labels + "}}\nspec: {nodeName: n1, containers: [{name: c, image: i}]}\n");
  }

  const PodTopologySpread plugin_{PodTopologySpreadArgs{}};
};

TEST_F(SpreadHints, AssignedPods) {
  const PodPtr pod = Spread({{"zone", "app: web"}, {"rack", "tier: front"}});
  const PodPtr web = Other("app: web");
  const PodPtr front = Other("tier: front");
  const PodPtr both = Other("app: web, tier: front");
  const PodPtr none = Other("app: db");
  // Pods that come or go count when any constraint selects them.
  EXPECT_TRUE(OnPod(plugin_, pod, nullptr, web));
  EXPECT_TRUE(OnPod(plugin_, pod, nullptr, front));
  EXPECT_FALSE(OnPod(plugin_, pod, nullptr, none));
  EXPECT_TRUE(OnPod(plugin_, pod, front, nullptr));
  EXPECT_FALSE(OnPod(plugin_, pod, none, nullptr));
  // Labels count when a constraint selects the pod now and didn't, or no longer.
  EXPECT_TRUE(OnPod(plugin_, pod, none, web));
  EXPECT_TRUE(OnPod(plugin_, pod, web, none));
  EXPECT_TRUE(OnPod(plugin_, pod, web, both));
  EXPECT_FALSE(OnPod(plugin_, pod, web, Other("app: web, x: z")));
  EXPECT_FALSE(OnPod(plugin_, pod, none, Other("app: cache")));
  EXPECT_FALSE(OnPod(plugin_, pod, web, web));
  // Another namespace doesn't.
  EXPECT_FALSE(OnPod(plugin_, pod, nullptr, Other("app: web", "elsewhere")));
  EXPECT_FALSE(OnPod(plugin_, pod, Other("app: web", "elsewhere"), nullptr));
  EXPECT_FALSE(OnPod(plugin_, pod, Other("", "elsewhere"), Other("app: web", "elsewhere")));

  // Only what filters counts.
  const PodPtr soft = Spread({{"zone", "app: web", false}, {"rack", "tier: front"}});
  EXPECT_FALSE(OnPod(plugin_, soft, nullptr, web));
  EXPECT_TRUE(OnPod(plugin_, soft, nullptr, front));
  EXPECT_FALSE(OnPod(plugin_, Pod(PodYaml("p", "app: web")), nullptr, web));
  // Labels whose values the pods have to share.
  const PodPtr keyed =
      Spread({{"zone", "app: web", true, ", matchLabelKeys: [rev]"}}, "app: web, rev: \"2\"");
  EXPECT_FALSE(OnPod(plugin_, keyed, nullptr, Other("app: web, rev: \"1\"")));
  EXPECT_TRUE(OnPod(plugin_, keyed, nullptr, Other("app: web, rev: \"2\"")));
}

TEST_F(SpreadHints, ThePodItself) {
  const std::string tolerations = "  tolerations: [{key: a, operator: Exists}]\n";
  const std::vector<Constraint> ignoring = {{"zone", "app: web"}};
  const std::vector<Constraint> honoring = {
      {"zone", "app: web", true, ", nodeTaintsPolicy: Honor"}};
  EXPECT_TRUE(OnItself(plugin_, kUpdatePodToleration, Spread(honoring),
                       Spread(honoring, "app: web", tolerations)));
  EXPECT_FALSE(OnItself(plugin_, kUpdatePodToleration, Spread(ignoring),
                        Spread(ignoring, "app: web", tolerations)));
  EXPECT_FALSE(OnItself(plugin_, kUpdatePodToleration, Spread(honoring), Spread(honoring)));
  const std::vector<Constraint> soft = {{"zone", "app: web", false, ", nodeTaintsPolicy: Honor"},
                                        {"zone", "app: web"}};
  EXPECT_FALSE(
      OnItself(plugin_, kUpdatePodToleration, Spread(soft), Spread(soft, "app: web", tolerations)));
  EXPECT_TRUE(OnItself(plugin_, kUpdatePodLabel, Spread(ignoring), Spread(ignoring, "app: db")));
  EXPECT_TRUE(OnItself(plugin_, kUpdatePodLabel, Spread(ignoring, ""), Spread(ignoring)));
  EXPECT_FALSE(
      OnItself(plugin_, kUpdatePodLabel, Spread(ignoring), Spread(ignoring, "app: web, x: z")));
}

TEST_F(SpreadHints, Nodes) {
  const PodPtr pod = Spread({{"zone", "app: web"}, {"rack", "app: web"}, {"host", "", false}});
  const api::Node none = Node(NodeYaml("n1", "zone: a"));
  const api::Node here = Node(NodeYaml("n1", "zone: a, rack: r1"));
  const api::Node same = Node(NodeYaml("n1", "zone: a, rack: r1, host: h"));
  const api::Node there = Node(NodeYaml("n1", "zone: a, rack: r2"));
  const api::Node other_none = Node(NodeYaml("n1", "zone: b"));
  const std::string taint = "spec: {taints: [{key: a, effect: NoSchedule}]}\n";
  const api::Node tainted = Node(NodeYaml("n1", "zone: a, rack: r1") + taint);
  const api::Node none_tainted = Node(NodeYaml("n1", "zone: a") + taint);
  EXPECT_TRUE(OnNode(plugin_, kAdd, pod, nullptr, &here));
  EXPECT_FALSE(OnNode(plugin_, kAdd, pod, nullptr, &none));
  EXPECT_TRUE(OnNode(plugin_, kDelete, pod, &here, nullptr));
  EXPECT_FALSE(OnNode(plugin_, kDelete, pod, &none, nullptr));
  EXPECT_TRUE(OnNode(plugin_, kUpdateNodeLabel, pod, &none, &here));
  EXPECT_TRUE(OnNode(plugin_, kUpdateNodeLabel, pod, &here, &none));
  EXPECT_TRUE(OnNode(plugin_, kUpdateNodeLabel, pod, &here, &there));
  EXPECT_FALSE(OnNode(plugin_, kUpdateNodeLabel, pod, &here, &same));
  EXPECT_FALSE(OnNode(plugin_, kUpdateNodeLabel, pod, &none, &other_none));
  EXPECT_TRUE(OnNode(plugin_, kUpdateNodeTaint, pod, &tainted, &here));
  EXPECT_TRUE(OnNode(plugin_, kUpdateNodeTaint, pod, &here, &tainted));
  EXPECT_FALSE(OnNode(plugin_, kUpdateNodeTaint, pod, &none_tainted, &none));
  EXPECT_FALSE(OnNode(plugin_, kUpdateNodeTaint, pod, &here, &here));
}

TEST_F(SpreadHints, DefaultConstraints) {
  PodTopologySpreadArgs args;
  args.defaulting_type = PodTopologySpreadConstraintsDefaulting::kList;
  DefaultSpreadConstraint& constraint = args.default_constraints.emplace_back();
  constraint.max_skew = 1;
  constraint.topology_key = "zone";
  constraint.when_unsatisfiable = api::UnsatisfiableConstraintAction::kDoNotSchedule;
  const PodTopologySpread plugin{args};
  const Cluster cluster = testing::Parse(
      "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: "
      "{selector: {app: web}}\n" +
      NodeYaml("n1", "zone: a"));
  const Snapshot& snapshot = cluster.view();
  Dictionary& dictionary = snapshot.dictionary();
  const PodPtr pod = Pod(PodYaml("p", "app: web, x: z"), dictionary);
  const PodPtr alone = Pod(PodYaml("p", "app: db"), dictionary);
  const PodPtr web = Bound(PodYaml("q", "app: web", "  nodeName: n1\n"), dictionary);
  const PodPtr db = Bound(PodYaml("q", "app: db", "  nodeName: n1\n"), dictionary);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(OnPod(plugin, pod, nullptr, web, &snapshot));
    EXPECT_FALSE(OnPod(plugin, pod, nullptr, db, &snapshot));
    EXPECT_FALSE(OnPod(plugin, alone, nullptr, web, &snapshot));  // no Service selects it
    EXPECT_FALSE(OnPod(plugin, alone, nullptr, db, &snapshot));
  }
  EXPECT_TRUE(OnPod(plugin, pod, nullptr, db));  // who knows
  const api::Node zone = Node(NodeYaml("n2", "zone: b"));
  const api::Node none = Node(NodeYaml("n2"));
  const auto on_add = [&](const PodPtr& waiting, const api::Node& node) {
    return Queues(plugin, EventResource::kNode, kAdd, *waiting,
                  {.new_node = &node, .snapshot = &snapshot});
  };
  EXPECT_TRUE(on_add(pod, zone));
  EXPECT_FALSE(on_add(pod, none));
  EXPECT_TRUE(on_add(alone, none));  // no constraint, so it has the keys of all
  // The defaults are for pods without any constraint.
  const PodPtr own = Spread({{"zone", "app: web", false}});
  EXPECT_FALSE(OnPod(plugin, own, nullptr, Other("app: web")));
}

TEST_F(Hints, InterPodAffinity) {
  const InterPodAffinity plugin{InterPodAffinityArgs{}};
  const auto wants = [](const std::string& kind, const std::string& more = "") {
    return "  affinity: {" + kind +
           ": {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: "
           "{matchLabels: {app: db}}" +
           more + "}]}}\n";
  };
  const PodPtr near = Pod(PodYaml("near", "app: web", wants("podAffinity")));
  const PodPtr away = Pod(PodYaml("away", "app: web", wants("podAntiAffinity")));
  const PodPtr plain = Pod(PodYaml("plain", "app: db"));
  const PodPtr db = Bound(PodYaml("d", "app: db", "  nodeName: n1\n"));
  const PodPtr other = Bound(PodYaml("d", "app: cache", "  nodeName: n1\n"));
  const PodPtr loner = Bound(PodYaml("l", "app: x", wants("podAntiAffinity") + "  nodeName: n1\n"));
  const auto on_pod = [&](const PodPtr& pod, const PodPtr& before, const PodPtr& after) {
    return OnPod(plugin, pod, before, after);
  };
  EXPECT_TRUE(on_pod(near, nullptr, db));
  EXPECT_FALSE(on_pod(near, nullptr, other));
  EXPECT_TRUE(on_pod(near, other, db));
  EXPECT_FALSE(on_pod(near, db, other));
  EXPECT_FALSE(on_pod(near, db, db));
  EXPECT_FALSE(on_pod(near, db, nullptr));
  EXPECT_TRUE(on_pod(away, db, nullptr));
  EXPECT_TRUE(on_pod(away, db, other));
  EXPECT_FALSE(on_pod(away, other, db));
  EXPECT_FALSE(on_pod(away, nullptr, db));
  EXPECT_TRUE(on_pod(plain, loner, nullptr));  // what kept it away is gone
  EXPECT_FALSE(on_pod(plain, nullptr, loner));
  EXPECT_FALSE(on_pod(plain, other, nullptr));
  // The objects of pods that the library bound don't say that they have a node.
  EXPECT_TRUE(on_pod(near, nullptr, Pod(PodYaml("d", "app: db"))));

  // One pod must match all terms.
  const PodPtr picky =
      Pod(PodYaml("near", "app: web",
                  "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                  "[{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}, "
                  "{topologyKey: rack, labelSelector: {matchLabels: {tier: back}}}]}}\n"));
  EXPECT_FALSE(on_pod(picky, nullptr, db));
  EXPECT_TRUE(on_pod(picky, nullptr, Bound(PodYaml("d", "app: db, tier: back"))));

  // Hints see no labels of namespaces: of selectors only those count that match without any.
  const auto far_db = [](const std::string& ns) {
    return Bound("apiVersion: v1\nkind: Pod\nmetadata: {name: d, namespace: " + ns +
                 ", labels: {app: db}}\nspec: {nodeName: n1, containers: [{name: c, image: i}]}\n");
  };
  const auto near_in = [&](const std::string& namespaces) {
    return Pod(PodYaml("near", "app: web", wants("podAffinity", ", " + namespaces)));
  };
  EXPECT_FALSE(on_pod(near, nullptr, far_db("far")));
  EXPECT_TRUE(on_pod(near_in("namespaces: [far]"), nullptr, far_db("far")));
  EXPECT_TRUE(on_pod(near_in("namespaceSelector: {}"), nullptr, far_db("far")));
  EXPECT_FALSE(
      on_pod(near_in("namespaceSelector: {matchLabels: {team: a}}"), nullptr, far_db("default")));
  EXPECT_TRUE(on_pod(
      near_in("namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}"),
      nullptr, far_db("far")));

  const api::Node none = Node(NodeYaml("n1"));
  const api::Node a = Node(NodeYaml("n1", "zone: a"));
  const api::Node b = Node(NodeYaml("n1", "zone: b"));
  EXPECT_TRUE(OnNode(plugin, kAdd, near, nullptr, &a));
  EXPECT_FALSE(OnNode(plugin, kAdd, near, nullptr, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, near, &none, &a));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, near, &a, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, near, &a, &b));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, near, &a, &a));
  EXPECT_TRUE(OnNode(plugin, kAdd, away, nullptr, &none));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, away, &a, &none));
  EXPECT_FALSE(OnNode(plugin, kUpdateNodeLabel, away, &none, &a));
  EXPECT_TRUE(OnNode(plugin, kUpdateNodeLabel, away, &a, &b));
  EXPECT_FALSE(OnNode(plugin, kAdd, plain, nullptr, &a));
}

}  // namespace
}  // namespace schedfw
