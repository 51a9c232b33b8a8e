#include "schedfw/cluster/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/base/random.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

api::Pod PodOf(const std::string& yaml) {
  auto objects = api::ParseObjects(yaml);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects->pods.at(0);
}
api::Node NodeOf(const std::string& yaml) {
  auto objects = api::ParseObjects(yaml);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects->nodes.at(0);
}

// All that a snapshot says of its nodes and pods, by name.
std::map<std::string, std::string> Describe(const Snapshot& s, bool with_generation = false) {
  std::map<std::string, std::string> out;
  Dictionary& dictionary = s.dictionary();
  Selector web = Selector::FromLabels({{"app", "web"}}, dictionary);
  const Column<std::int32_t> counts = s.CountPods(
      {.namespaces = {dictionary.Intern("default")}, .selector = web, .terminating = false});
  const LabelColumn& zones = s.Label(dictionary.Intern("zone"));
  for (Row row = 0; row < s.size(); ++row) {
    std::string text;
    for (const char* resource : {"cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"}) {
      const ResourceId id = dictionary.Resource(resource);
      text +=
          std::to_string(s.Allocatable(id)[row]) + "/" + std::to_string(s.Requested(id)[row]) + " ";
    }
    text += std::to_string(s.NonZeroRequestedCpu()[row]) + " " +
            std::to_string(s.NonZeroRequestedMemory()[row]) + " pods" +
            std::to_string(s.PodCount()[row]) + " ports" + std::to_string(s.HostPortPods()[row]) +
            " cordon" + std::to_string(s.Unschedulable()[row]) + " taints" +
            std::to_string(dictionary.TaintsOf(s.TaintSets()[row]).size()) + " web" +
            std::to_string(counts[row]) + " zone" +
            (zones.ordinals[row] == 0
                 ? "-"
                 : std::string(dictionary.Text(zones.values[zones.ordinals[row] - 1])));
    std::set<std::string> pods;
    for (const PodPtr& pod : s.pods(row)) {
      pods.insert(pod->FullName());
      EXPECT_EQ(s.RowOf(pod->pod->metadata.ns, pod->pod->metadata.name), row);
    }
    for (const std::string& pod : pods) text += " " + pod;
    EXPECT_EQ(s.Find(s.name(row)), row);
    if (with_generation) text += " g" + std::to_string(s.Generations()[row]);
    out[s.name(row)] = text;
  }
  std::string pending;
  for (const PodPtr& pod : s.Pending()) pending += pod->FullName() + " ";
  out["<pending>"] = pending;
  out["<total>"] = std::to_string(s.PodTotal()) + " " + std::to_string(s.OrphanTotal());
  return out;
}

TEST(Cluster, CountsWhatPodsTake) {
  const Cluster cluster =
      Parse(NodeYaml("n1", "zone: a") + NodeYaml("n2", "zone: b") +
            PodYaml("p1", "app: web", "  nodeName: n1\n", "1500m") +
            PodYaml("p2", "app: web", "  nodeName: n1\n", "0.25") + PodYaml("p3", "", "", "1"));
  const Snapshot& s = cluster.view();
  ASSERT_EQ(s.size(), 2u);
  const Row n1 = *s.Find("n1");
  EXPECT_EQ(s.Allocatable(kCpu)[n1], 8000);
  EXPECT_EQ(s.Requested(kCpu)[n1], 1750);
  EXPECT_EQ(s.Requested(kMemory)[n1], 0);
  EXPECT_EQ(s.NonZeroRequestedMemory()[n1], 2 * 200 * 1024 * 1024);
  EXPECT_EQ(s.PodCount()[n1], 2);
  EXPECT_EQ(s.PodTotal(), 3u);
  ASSERT_EQ(s.Pending().size(), 1u);
  EXPECT_EQ(s.Pending()[0]->FullName(), "default/p3");
  EXPECT_EQ(s.RowOf("default", "p3"), std::nullopt);
}

TEST(Cluster, RefusesWhatIsThereAlreadyOrNot) {
  Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p1"));
  const auto before = Describe(cluster.view(), true);
  EXPECT_EQ(cluster.AddNode(NodeOf(NodeYaml("n1"))).error().message(), "Node n1 exists already");
  EXPECT_EQ(cluster.UpdateNode(NodeOf(NodeYaml("n9"))).error().message(), "there is no Node n9");
  EXPECT_EQ(cluster.DeleteNode("n9").error().message(), "there is no Node n9");
  EXPECT_EQ(cluster.AddPod(PodOf(PodYaml("p1"))).error().message(),
            "Pod default/p1 exists already");
  EXPECT_EQ(cluster.UpdatePod(PodOf(PodYaml("p9"))).error().message(),
            "there is no Pod default/p9");
  EXPECT_EQ(cluster.DeletePod("default", "p9").error().message(), "there is no Pod default/p9");
  const PodPtr pod = cluster.view().FindPod("default", "p1");
  EXPECT_FALSE(cluster.ForgetPod(*pod).ok());
  EXPECT_FALSE(cluster.FinishBinding(*pod).ok());
  EXPECT_EQ(Describe(cluster.view(), true), before);
}

TEST(Cluster, RefusesWhatWouldOverflow) {
  const std::string node = NodeYaml("n1");
  const auto load = [&](const std::string& more) {
    auto cluster = testing::TryParse(node + more);
    return cluster.ok() ? "" : cluster.error().message();
  };
  const std::string huge = "  nodeName: n1\n";
  EXPECT_EQ(load(PodYaml("p1", "", huge, "9E")),
            "Pod default/p1: requests of cpu add up to 9E, more than 64 bits can hold");
  EXPECT_EQ(load(PodYaml("p1", "", huge, "9P") + PodYaml("p2", "", huge, "9P")),
            "Pod default/p2: requests on Node n1 add up to more than 64 bits can hold");
  // The same when the node comes after its pods.
  Cluster cluster = Parse(PodYaml("p1", "", huge, "9P") + PodYaml("p2", "", huge, "9P"));
  EXPECT_FALSE(cluster.AddNode(NodeOf(node)).ok());
  EXPECT_EQ(cluster.view().size(), 0u);
  EXPECT_EQ(cluster.view().OrphanTotal(), 2u);
  // What a container that says nothing counts with is part of the sum, in either order.
  const auto memory = [](const std::string& name, const std::string& requests) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {" +
           requests + "}}}]}\n";
  };
  const std::string pods = memory("p1", "memory: 9223372036854775000") + memory("p2", "cpu: 1");
  EXPECT_EQ(load(pods), "Pod default/p2: requests on Node n1 add up to more than 64 bits can hold");
  Cluster before = Parse(pods);
  EXPECT_FALSE(before.AddNode(NodeOf(node)).ok());
  EXPECT_EQ(before.view().OrphanTotal(), 2u);
  EXPECT_EQ(load(PodYaml("p1", "", "", "-1")),
            "Pod default/p1: spec.containers[0].resources.requests.cpu: -1 is negative (allowed: "
            "zero or more)");
}

TEST(Cluster, RefusesTooManyResources) {
  const auto load = [](int count) {
    std::string requests;
    for (int i = 0; i < count; ++i) requests += "example.com/r" + std::to_string(i) + ": 1, ";
    const std::string text =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, "
        "resources: {requests: {" +
        requests + "}}}]}\n";
    auto cluster = testing::TryParse(text);
    return cluster.ok() ? "" : cluster.error().message();
  };
  EXPECT_EQ(load(30), "");
  EXPECT_EQ(load(31), "Pod default/p: the pod asks for 31 resources (allowed: at most 30)");
}

TEST(Cluster, RefusesBadSelectors) {
  const auto load = [](const std::string& spec) {
    auto cluster = testing::TryParse(PodYaml("p", "", spec));
    return cluster.ok() ? "" : cluster.error().message();
  };
  const std::string affinity =
      "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [";
  const std::string at =
      "Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: "
      "nodeSelectorTerms[0]: ";
  EXPECT_EQ(load(affinity + "{matchExpressions: [{key: a, operator: In}]}]}}}\n"),
            at + "matchExpressions[0]: values: In and NotIn need at least one value (key \"a\")");
  EXPECT_EQ(load(affinity + "{matchExpressions: [{key: a b, operator: Exists}]}]}}}\n"),
            at + "matchExpressions[0]: key: \"a b\" is not a label key (allowed: [prefix/]name)");
  EXPECT_EQ(load(affinity + "{matchFields: [{key: spec.x, operator: In, values: [a]}]}]}}}\n"),
            at + "matchFields[0].key: \"spec.x\" is not a field of nodes that can be selected "
                 "(allowed: metadata.name)");
  const std::string spread =
      "  topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, ";
  EXPECT_EQ(load(spread + "maxSkew: 0}]\n"),
            "Pod default/p: spec.topologySpreadConstraints[0]: maxSkew: 0 is not allowed (allowed: "
            "1 or more)");
  EXPECT_EQ(load(spread + "maxSkew: 1, labelSelector: {matchExpressions: [{key: a, operator: Gt, "
                          "values: ['1']}]}}]\n"),
            "Pod default/p: spec.topologySpreadConstraints[0]: labelSelector: matchExpressions[0]: "
            "operator: Gt and Lt select nodes only (key \"a\"; allowed: In, NotIn, Exists, "
            "DoesNotExist)");
  // Inter-pod affinity, of pods on nodes too.
  const std::string near =
      "  nodeName: n1\n  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[";
  const std::string far =
      "  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [";
  const std::string required =
      "Pod default/p: "
      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]: ";
  const std::string preferred =
      "Pod default/p: "
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]";
  EXPECT_EQ(load(near + "{labelSelector: {}}]}}\n"), required + "topologyKey: can not be empty");
  EXPECT_EQ(load(near + "{topologyKey: zone, namespaceSelector: {matchLabels: {'a b': c}}}]}}\n"),
            required +
                "namespaceSelector: matchLabels: \"a b\" is not a label key (allowed: "
                "[prefix/]name)");
  EXPECT_EQ(load(far + "{weight: 101, podAffinityTerm: {topologyKey: zone}}]}}\n"),
            preferred + ".weight: 101 is not allowed (allowed: 1 to 100)");
  EXPECT_EQ(load(far + "{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: "
                       "{matchExpressions: [{key: a, operator: In}]}}}]}}\n"),
            preferred +
                ".podAffinityTerm: labelSelector: matchExpressions[0]: values: In and NotIn "
                "need at least one value (key \"a\")");
}

TEST(Cluster, AssumeAndForget) {
  Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p1", "", "", "2") + PodYaml("p2"));
  const PodPtr p1 = cluster.view().FindPod("default", "p1");
  ASSERT_TRUE(cluster.AssumePod(*p1, 0).ok());
  EXPECT_EQ(cluster.view().Requested(kCpu)[0], 2000);
  EXPECT_EQ(cluster.view().Pending().size(), 1u);
  EXPECT_FALSE(cluster.AssumePod(*p1, 0).ok());
  ASSERT_TRUE(cluster.ForgetPod(*p1).ok());
  EXPECT_EQ(cluster.view().Requested(kCpu)[0], 0);
  // It waits behind the others now.
  ASSERT_EQ(cluster.view().Pending().size(), 2u);
  EXPECT_EQ(cluster.view().Pending()[1]->FullName(), "default/p1");
  ASSERT_TRUE(cluster.AssumePod(*p1, 0).ok());
  ASSERT_TRUE(cluster.FinishBinding(*p1).ok());
  EXPECT_FALSE(cluster.ForgetPod(*p1).ok());
}

// Also when its node was deleted in the meantime, and when that came back.
TEST(Cluster, AForgottenPodWaitsAgain) {
  for (const bool comes_back : {false, true}) {
    Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + PodYaml("p1"));
    const PodPtr p1 = cluster.view().FindPod("default", "p1");
    ASSERT_TRUE(cluster.AssumePod(*p1, *cluster.view().Find("n1")).ok());
    ASSERT_TRUE(cluster.DeleteNode("n1").ok());
    EXPECT_EQ(cluster.view().OrphanTotal(), 1u);
    if (comes_back) {
      ASSERT_TRUE(cluster.AddNode(NodeOf(NodeYaml("n1"))).ok());
    }
    ASSERT_TRUE(cluster.ForgetPod(*p1).ok());
    EXPECT_EQ(cluster.view().OrphanTotal(), 0u);
    ASSERT_EQ(cluster.view().Pending().size(), 1u);
    const PodPtr waiting = cluster.view().Pending()[0];
    EXPECT_EQ(waiting->pod->spec.node_name, "");
    EXPECT_EQ(cluster.view().RowOf("default", "p1"), std::nullopt);
    // And can be assumed and bound again.
    const Row n2 = *cluster.view().Find("n2");
    ASSERT_TRUE(cluster.AssumePod(*waiting, n2).ok());
    ASSERT_TRUE(cluster.FinishBinding(*waiting).ok());
    EXPECT_EQ(cluster.view().PodCount()[n2], 1);
  }
}

TEST(Cluster, PodsOfADeletedNodeCountAgainWhenItComesBack) {
  Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + PodYaml("p1", "", "  nodeName: n1\n") +
                          PodYaml("p2") + PodYaml("lost", "", "  nodeName: n3\n"));
  EXPECT_EQ(cluster.view().OrphanTotal(), 1u);
  const PodPtr p2 = cluster.view().FindPod("default", "p2");
  ASSERT_TRUE(cluster.AssumePod(*p2, *cluster.view().Find("n1")).ok());
  const auto before = Describe(cluster.view());
  ASSERT_TRUE(cluster.DeleteNode("n1").ok());
  EXPECT_EQ(cluster.view().size(), 1u);
  EXPECT_EQ(cluster.view().OrphanTotal(), 3u);
  ASSERT_TRUE(cluster.AddNode(NodeOf(NodeYaml("n1"))).ok());
  EXPECT_EQ(Describe(cluster.view()), before);
}

TEST(Cluster, ApplyIsAllOrNothing) {
  Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p1"));
  const auto before = Describe(cluster.view(), true);
  auto objects =
      api::ParseObjects(NodeYaml("n2") + NodeYaml("n1", "zone: z") + PodYaml("p2", "", "", "9E"));
  ASSERT_TRUE(objects.ok());
  EXPECT_FALSE(cluster.Apply(*objects).ok());
  EXPECT_EQ(Describe(cluster.view(), true), before);
  objects->pods.clear();
  ASSERT_TRUE(cluster.Apply(*objects).ok());
  EXPECT_EQ(cluster.view().size(), 2u);
  EXPECT_EQ(
      Describe(cluster.view()).at("n1").substr(Describe(cluster.view()).at("n1").find("zone"), 5),
      "zonez");
}

TEST(Cluster, FinishedPodsGo) {
  Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p1", "", "  nodeName: n1\n", "2") +
                          PodYaml("done", "", "  nodeName: n1\nstatus: {phase: Succeeded}\n"));
  EXPECT_EQ(cluster.view().PodTotal(), 1u);
  ASSERT_TRUE(
      cluster.UpdatePod(PodOf(PodYaml("p1", "", "  nodeName: n1\nstatus: {phase: Failed}\n")))
          .ok());
  EXPECT_EQ(cluster.view().PodTotal(), 0u);
  EXPECT_EQ(cluster.view().Requested(kCpu)[0], 0);
}

// The objects of a cluster as a test keeps them, to build the same cluster from nothing.
struct Model {
  std::map<std::string, std::string> nodes;
  std::map<std::string, std::string> bound, waiting;  // name → YAML
  std::vector<std::string> order;                     // of waiting pods

  Cluster Rebuild() const {
    std::string text;
    for (const auto& [name, yaml] : nodes) text += yaml;
    for (const auto& [name, yaml] : bound) text += yaml;
    for (const std::string& name : order) text += waiting.at(name);
    return text.empty() ? Cluster() : Parse(text);
  }
};

// Property: whatever the events, the columns equal those of a cluster built anew; forks and
// snapshots that were taken on the way stay as they were.
TEST(Cluster, IncrementalEqualsRebuilt) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Cluster cluster;
    Model model;
    std::vector<std::pair<Snapshot, std::map<std::string, std::string>>> kept;
    const auto node_name = [&] { return "n" + std::to_string(random.Below(90)); };
    const auto pod_name = [&] { return "p" + std::to_string(random.Below(60)); };
    for (int step = 0; step < 400; ++step) {
      const std::string node = node_name(), pod = pod_name();
      const std::string node_yaml =
          NodeYaml(node, "zone: z" + std::to_string(random.Below(4)),
                   std::to_string(1 + random.Below(64))) +
          (random.Below(3) == 0 ? "spec: {unschedulable: true, taints: [{key: a, effect: "
                                  "NoSchedule}]}\n"
                                : "");
      const std::string labels = random.Below(2) == 0 ? "app: web" : "app: db";
      const std::string ports =
          random.Below(4) == 0 ? "    ports: [{containerPort: 1, hostPort: 80}]\n" : "";
      const std::string at = "  nodeName: " + node + "\n";
      switch (random.Below(9)) {
        case 0:
        case 1:
        case 2:
          if (model.nodes.contains(node)) {
            ASSERT_TRUE(cluster.UpdateNode(NodeOf(node_yaml)).ok());
          } else {
            ASSERT_TRUE(cluster.AddNode(NodeOf(node_yaml)).ok());
          }
          model.nodes[node] = node_yaml;
          break;
        case 3:
          ASSERT_EQ(cluster.DeleteNode(node).ok(), model.nodes.erase(node) == 1);
          break;
        case 4:
        case 5: {
          if (model.bound.contains(pod) || model.waiting.contains(pod)) break;
          const bool bind = random.Below(2) == 0;
          const std::string yaml = PodYaml(pod, labels, ports + (bind ? at : ""),
                                           std::to_string(random.Below(3000)) + "m");
          ASSERT_TRUE(cluster.AddPod(PodOf(yaml)).ok());
          if (bind) {
            model.bound[pod] = yaml;
          } else {
            model.waiting[pod] = yaml;
            model.order.push_back(pod);
          }
          break;
        }
        case 6: {
          const bool there = model.bound.erase(pod) + model.waiting.erase(pod) == 1;
          std::erase(model.order, pod);
          ASSERT_EQ(cluster.DeletePod("default", pod).ok(), there);
          break;
        }
        case 7: {  // bind a waiting pod
          const auto it = model.waiting.find(pod);
          const auto row = cluster.view().Find(node);
          if (it == model.waiting.end() || !row) break;
          const PodPtr info = cluster.view().FindPod("default", pod);
          ASSERT_TRUE(cluster.AssumePod(*info, *row).ok());
          ASSERT_TRUE(cluster.FinishBinding(*info).ok());
          model.bound[pod] = it->second + at;
          model.waiting.erase(it);
          std::erase(model.order, pod);
          break;
        }
        case 8: {  // a fork goes its own way
          Cluster fork = cluster.Fork();
          (void)fork.DeleteNode(node);
          (void)fork.DeletePod("default", pod);
          (void)fork.AddNode(NodeOf(NodeYaml(node, "zone: fork", "999")));
          break;
        }
      }
      if (step % 40 == 0) kept.emplace_back(cluster.snapshot(), Describe(cluster.view(), true));
      // Asking on the way makes the counts and label columns live through the events.
      if (step % 7 == 0) (void)Describe(cluster.view());
    }
    EXPECT_EQ(Describe(cluster.view()), Describe(model.Rebuild().view()));
    for (const auto& [snapshot, description] : kept) {
      EXPECT_EQ(Describe(snapshot, true), description);
    }
  }
}

TEST(PodCounts, MoreSelectorsThanAreKept) {
  std::string text = NodeYaml("n1") + NodeYaml("n2");
  for (int i = 0; i < 200; ++i) {
    text += PodYaml("p" + std::to_string(i), "job: j" + std::to_string(i % 100),
                    i % 3 == 0 ? "  nodeName: n1\n" : "  nodeName: n2\n");
  }
  Cluster cluster = Parse(text);
  const Snapshot& s = cluster.view();
  const StringId ns = s.dictionary().Intern("default");
  for (int round = 0; round < 3; ++round) {
    for (int job = 0; job < 100; ++job) {
      const Selector selector =
          Selector::FromLabels({{"job", "j" + std::to_string(job)}}, s.dictionary());
      const auto counts = s.CountPods({.namespaces = {ns}, .selector = selector});
      EXPECT_EQ(counts[0] + counts[1], 2) << job;
    }
  }
  ASSERT_TRUE(cluster.DeletePod("default", "p99").ok());
  const Selector last = Selector::FromLabels({{"job", "j99"}}, s.dictionary());
  const auto counts = s.CountPods({.namespaces = {ns}, .selector = last});
  EXPECT_EQ(counts[0] + counts[1], 1);
}

}  // namespace
}  // namespace schedfw
