#include "schedfw/api/normalize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/cluster/pod_info.h"
#include "support/files.h"

namespace schedfw::api {
namespace {

using ::schedfw::testing::Folders;
using ::schedfw::testing::TestsDir;

ObjectList Parse(std::string_view text) {
  Result<ObjectList> objects = ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message() << "\n" << text;
  return objects.ok() ? *std::move(objects) : ObjectList();
}

// A pod "a" with labels {app: web, hash: v2} and this spec (and status), as the API server has it.
Pod Defaulted(std::string_view spec, std::string_view status = "{}") {
  ObjectList objects = Parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":)"
                             R"({"app":"web","hash":"v2"}},"spec":)" +
                             std::string(spec) + R"(,"status":)" + std::string(status) + "}");
  if (objects.pods.size() != 1) return {};
  SetDefaults(objects.pods[0]);
  return std::move(objects.pods[0]);
}

// "cpu=1 memory=2Gi": amounts in canonical form, by name.
std::string Text(const ResourceList& list) {
  std::string out;
  for (const auto& [name, quantity] : list) {
    out += (out.empty() ? "" : " ") + name + "=" + quantity.ToString();
  }
  return out;
}
std::string Text(const std::optional<ResourceList>& list) { return list ? Text(*list) : "absent"; }

// "app In [web], …"
std::string Text(const std::optional<LabelSelector>& selector) {
  if (!selector) return "absent";
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const auto& [key, value] : selector->match_labels) add((key + "=").append(value));
  for (const SelectorRequirement& requirement : selector->match_expressions) {
    std::string text = requirement.key;
    text += requirement.op == SelectorOperator::kIn      ? " in"
            : requirement.op == SelectorOperator::kNotIn ? " notin"
                                                         : " ?";
    for (const std::string& value : requirement.values) text += " " + value;
    add(text);
  }
  return out;
}

TEST(Normalize, NamesAndIdentities) {
  const Pod bare = Defaulted("{}");
  EXPECT_EQ(bare.metadata.ns, "default");
  EXPECT_EQ(bare.metadata.uid, "default/a");
  EXPECT_EQ(bare.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(Defaulted(R"({"schedulerName":"mine"})").spec.scheduler_name, "mine");

  ObjectList objects =
      Parse(R"([{"apiVersion":"v1","kind":"Pod","metadata":)"
            R"({"name":"a","namespace":"ml","uid":"u"}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"m","uid":"u"}}])");
  ASSERT_TRUE(Normalize(objects).ok());
  EXPECT_EQ(objects.pods[0].metadata.ns, "ml");
  EXPECT_EQ(objects.pods[0].metadata.uid, "u");
  EXPECT_EQ(objects.nodes[0].metadata.uid, "n");
  EXPECT_EQ(objects.nodes[0].metadata.ns, "");
  EXPECT_EQ(objects.nodes[1].metadata.uid, "u");
}

TEST(Normalize, AbsentRequestsAreTheLimits) {
  const Pod pod = Defaulted(
      R"({"containers":[{"resources":{"limits":{"cpu":"2","memory":"1Gi","nvidia.com/gpu":1}}},)"
      R"({"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"500m"}}},)"
      R"({"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"0"}}},{}],)"
      R"("initContainers":[{"resources":{"limits":{"memory":"3Gi"}}}]})");
  EXPECT_EQ(Text(pod.spec.containers[0].resources.requests), "cpu=2 memory=1Gi nvidia.com/gpu=1");
  EXPECT_EQ(Text(pod.spec.containers[1].resources.requests), "cpu=500m memory=1Gi");
  EXPECT_EQ(Text(pod.spec.containers[2].resources.requests), "cpu=0");
  EXPECT_EQ(Text(pod.spec.containers[3].resources.requests), "");
  EXPECT_EQ(Text(pod.spec.init_containers[0].resources.requests), "memory=3Gi");
  EXPECT_EQ(Text(pod.spec.containers[1].resources.limits), "cpu=2 memory=1Gi");
}

TEST(Normalize, QuantitiesAreRoundedUpToThousandths) {
  const Pod pod = Defaulted(
      R"({"containers":[{"resources":{"limits":{"memory":"1n"},)"
      R"("requests":{"cpu":"100100u","x.y/z":"1.0001"}}}],)"
      R"("initContainers":[{"resources":{"requests":{"cpu":"1u"}}}],)"
      R"("overhead":{"cpu":"1n","memory":"5"},)"
      R"("resources":{"requests":{"cpu":"10n","memory":"1"},"limits":{"cpu":"2000001u"}}})",
      R"({"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"3u"},)"
      R"("resources":{"requests":{"cpu":"1500u"}}}],)"
      R"("initContainerStatuses":[{"name":"d","allocatedResources":{"cpu":"2500u"}}],)"
      R"("allocatedResources":{"cpu":"3500u"},"resources":{"requests":{"cpu":"4500u"}}})");
  EXPECT_EQ(Text(pod.spec.containers[0].resources.requests), "cpu=101m memory=1m x.y/z=1001m");
  EXPECT_EQ(Text(pod.spec.containers[0].resources.limits), "memory=1m");
  EXPECT_EQ(Text(pod.spec.init_containers[0].resources.requests), "cpu=1m");
  EXPECT_EQ(Text(pod.spec.overhead), "cpu=1m memory=5");
  EXPECT_EQ(Text(pod.spec.resources->requests), "cpu=1m memory=1");
  EXPECT_EQ(Text(pod.spec.resources->limits), "cpu=2001m");
  EXPECT_EQ(Text(pod.status.container_statuses[0].allocated_resources), "cpu=1m");
  EXPECT_EQ(Text(pod.status.container_statuses[0].actuated_requests), "cpu=2m");
  EXPECT_EQ(Text(pod.status.init_container_statuses[0].allocated_resources), "cpu=3m");
  EXPECT_EQ(Text(pod.status.init_container_statuses[0].actuated_requests), "absent");
  EXPECT_EQ(Text(pod.status.allocated_resources), "cpu=4m");
  EXPECT_EQ(Text(pod.status.actuated_requests), "cpu=5m");
}

TEST(Normalize, Ports) {
  constexpr std::string_view kPorts =
      R"("containers":[{"ports":[{"containerPort":80},{"containerPort":81,"hostPort":8081,)"
      R"("protocol":"UDP"}]}],"initContainers":[{"ports":[{"containerPort":82}]}])";
  const auto ports = [](const Container& container) {
    std::string out;
    for (const ContainerPort& port : container.ports) {
      out += (out.empty() ? "" : " ") + port.protocol + ":" + std::to_string(port.container_port) +
             ":" + std::to_string(port.host_port);
    }
    return out;
  };
  const Pod pod = Defaulted("{" + std::string(kPorts) + "}");
  EXPECT_EQ(ports(pod.spec.containers[0]), "TCP:80:0 UDP:81:8081");
  EXPECT_EQ(ports(pod.spec.init_containers[0]), "TCP:82:0");
  const Pod host = Defaulted(R"({"hostNetwork":true,)" + std::string(kPorts) + "}");
  EXPECT_EQ(ports(host.spec.containers[0]), "TCP:80:80 UDP:81:8081");
  EXPECT_EQ(ports(host.spec.init_containers[0]), "TCP:82:82");
}

struct PodLevel {
  const char* what;
  const char* spec;
  const char* requests;  // of the pod, afterwards
};

constexpr PodLevel kPodLevel[] = {
    {"no pod-level resources", R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})",
     "absent"},
    {"empty ones", R"({"resources":{},"containers":[{"resources":{"requests":{"cpu":"1"}}}]})", ""},
    {"requests only are completed from containers",
     R"({"resources":{"requests":{"cpu":"3"}},"containers":[)"
     R"({"resources":{"requests":{"cpu":"1","memory":"1Gi"}}},)"
     R"({"resources":{"requests":{"memory":"2Gi"}}}]})",
     "cpu=3 memory=3Gi"},
    {"limits only: containers come first, then the limit",
     R"({"resources":{"limits":{"cpu":"3","memory":"8Gi"}},"containers":[)"
     R"({"resources":{"requests":{"cpu":"1"}}},{}]})",
     "cpu=1 memory=8Gi"},
    {"limits of containers are requests of containers",
     R"({"resources":{"limits":{"cpu":"3"}},"containers":[)"
     R"({"resources":{"limits":{"memory":"1Gi","cpu":"2"}}}]})",
     "cpu=2 memory=1Gi"},
    {"sidecars and init containers count as usual",
     R"({"resources":{"limits":{"cpu":"9"}},"containers":[{"resources":{"requests":{"cpu":"1"}}}],)"
     R"("initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},)"
     R"({"resources":{"requests":{"cpu":"4"}}}]})",
     "cpu=6"},
    {"an init container before the sidecar",
     R"({"resources":{"limits":{"cpu":"9"}},"containers":[{"resources":{"requests":{"cpu":"1"}}}],)"
     R"("initContainers":[{"resources":{"requests":{"cpu":"4"}}},)"
     R"({"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}]})",
     "cpu=4"},
    {"other resources stay with the containers",
     R"({"resources":{"limits":{"cpu":"3"}},"containers":[)"
     R"({"resources":{"requests":{"ephemeral-storage":"1Gi","nvidia.com/gpu":"1"},)"
     R"("limits":{"nvidia.com/gpu":"1"}}}]})",
     "cpu=3"},
    {"huge pages come from the containers' limits",
     R"({"resources":{"limits":{"cpu":"3"}},"containers":[)"
     R"({"resources":{"limits":{"hugepages-2Mi":"4Mi"}}},)"
     R"({"resources":{"limits":{"hugepages-2Mi":"2Mi"}}}]})",
     "cpu=3 hugepages-2Mi=6Mi"},
    {"huge pages asked for by the pod",
     R"({"resources":{"requests":{"hugepages-2Mi":"8Mi"}},"containers":[)"
     R"({"resources":{"limits":{"hugepages-2Mi":"4Mi"}}}]})",
     "hugepages-2Mi=8Mi"},
    {"a pod's limit of huge pages",
     R"({"resources":{"limits":{"hugepages-2Mi":"8Mi"}},"containers":[)"
     R"({"resources":{"limits":{"hugepages-2Mi":"4Mi"}}}]})",
     "hugepages-2Mi=8Mi"},
    {"a limit that isn't of the pod's level is no request",
     R"({"resources":{"limits":{"cpu":"1","example.com/foo":"2"}},"containers":[{}]})", "cpu=1"},
};

TEST(Normalize, PodLevelRequestsAreCompleted) {
  for (const PodLevel& row : kPodLevel) {
    SCOPED_TRACE(row.what);
    Pod pod = Defaulted(row.spec);
    const auto requests = [&] {
      return pod.spec.resources ? Text(pod.spec.resources->requests) : "absent";
    };
    EXPECT_EQ(requests(), row.requests);
    SetDefaults(pod);
    EXPECT_EQ(requests(), row.requests);
  }
}

// A key that the pod lacks is left out; without a selector there is nothing to add to.
TEST(Normalize, LabelKeysAreMergedIntoSelectors) {
  constexpr std::string_view kTerm =
      R"({"labelSelector":{"matchLabels":{"app":"web"}},"topologyKey":"zone",)"
      R"("matchLabelKeys":["hash","none"],"mismatchLabelKeys":["app","none"]})";
  constexpr std::string_view kRest = R"({"topologyKey":"zone","matchLabelKeys":["hash"]})";
  const std::string term(kTerm), rest(kRest);
  const std::string affinity =
      R"({"requiredDuringSchedulingIgnoredDuringExecution":[)" + term + "," + rest +
      R"(],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":)" +
      term + "}]}";
  Pod pod =
      Defaulted(R"({"affinity":{"podAffinity":)" + affinity + R"(,"podAntiAffinity":)" + affinity +
                R"(},"topologySpreadConstraints":[{"labelSelector":{"matchLabels":{"app":"web"}},)"
                R"("maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
                R"("matchLabelKeys":["hash","none","app"]},)"
                R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
                R"("matchLabelKeys":["hash"]},)"
                R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
                R"("labelSelector":{},"matchLabelKeys":["hash"]},)"
                R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
                R"("labelSelector":{"matchExpressions":[)"
                R"({"key":"hash","operator":"In","values":["v2"]}]},"matchLabelKeys":["hash"]}]})");
  for (int again = 0; again < 2; ++again) {
    for (const auto* one :
         {&pod.spec.affinity.pod_affinity, &pod.spec.affinity.pod_anti_affinity}) {
      ASSERT_TRUE(*one);
      constexpr const char* kMerged = "app=web, hash in v2, app notin web";
      EXPECT_EQ(Text((*one)->required[0].label_selector), kMerged);
      EXPECT_EQ(Text((*one)->required[1].label_selector), "absent");
      EXPECT_EQ(Text((*one)->preferred[0].pod_affinity_term.label_selector), kMerged);
    }
    const auto& spread = pod.spec.topology_spread_constraints;
    EXPECT_EQ(Text(spread[0].label_selector), "app=web, hash in v2, app in web");
    EXPECT_EQ(Text(spread[1].label_selector), "absent");
    EXPECT_EQ(Text(spread[2].label_selector), "hash in v2");
    EXPECT_EQ(Text(spread[3].label_selector), "hash in v2");
    SetDefaults(pod);  // a pod that has been through the API server
  }
}

TEST(Normalize, NodesThatAreNotReadyAreToleratedForAWhile) {
  const auto keys = [](std::vector<Toleration> given) {
    Pod pod;
    pod.metadata.name = "p";
    pod.spec.tolerations = std::move(given);
    SetDefaults(pod);
    std::vector<std::string> out;
    for (const Toleration& t : pod.spec.tolerations) {
      out.push_back(t.key);
      if (!t.value.empty()) out.back() += "=" + t.value;
    }
    return out;
  };
  using Keys = std::vector<std::string>;
  const std::string not_ready = "node.kubernetes.io/not-ready";
  const std::string unreachable = "node.kubernetes.io/unreachable";
  EXPECT_EQ(keys({}), (Keys{not_ready, unreachable}));
  EXPECT_EQ(keys({{"a", TolerationOperator::kExists, "", TaintEffect::kAny}}),
            (Keys{"a", not_ready, unreachable}));
  // Whatever the pod says of a taint itself stays, also when it tolerates less.
  EXPECT_EQ(keys({{not_ready, TolerationOperator::kEqual, "x", TaintEffect::kNoExecute}}),
            (Keys{not_ready + "=x", unreachable}));
  EXPECT_EQ(keys({{unreachable, TolerationOperator::kExists, "", TaintEffect::kAny}}),
            (Keys{unreachable, not_ready}));
  EXPECT_EQ(keys({{unreachable, TolerationOperator::kExists, "", TaintEffect::kNoSchedule}}),
            (Keys{unreachable, not_ready, unreachable}));
  EXPECT_EQ(keys({{"", TolerationOperator::kExists, "", TaintEffect::kNoExecute}}), (Keys{""}));
}

TEST(Normalize, AllocatableIsTheCapacityWhereItIsAbsent) {
  ObjectList objects =
      Parse(R"([{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"capacity":)"
            R"({"cpu":"4","memory":"1n"}}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"b"},"status":{"capacity":)"
            R"({"cpu":"4"},"allocatable":{"cpu":"3500100u"}}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"c"},"status":{"capacity":)"
            R"({"cpu":"4"},"allocatable":{}}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"d"},"status":{"capacity":)"
            R"({"cpu":"4"},"allocatable":null}},)"
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"e"}}])");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(Normalize(objects).ok());
    EXPECT_EQ(Text(objects.nodes[0].status.allocatable), "cpu=4 memory=1m");
    EXPECT_EQ(Text(objects.nodes[0].status.capacity), "cpu=4 memory=1m");
    EXPECT_EQ(Text(objects.nodes[1].status.allocatable), "cpu=3501m");
    EXPECT_EQ(Text(objects.nodes[2].status.allocatable), "");
    EXPECT_EQ(Text(objects.nodes[3].status.allocatable), "cpu=4");
    EXPECT_EQ(Text(objects.nodes[4].status.allocatable), "");
  }
}

TEST(Normalize, NamespacesAndControllers) {
  ObjectList objects =
      Parse(R"([{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ml","labels":)"
            R"({"team":"t","kubernetes.io/metadata.name":"other"}}},)"
            R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"a"},)"
            R"("spec":{"template":{"metadata":{"labels":{"x":"y"}}}}},)"
            R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"b"},)"
            R"("spec":{"selector":{"p":"q"},"template":{"metadata":{"labels":{"x":"y"}}}}},)"
            R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"c"}}])");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(Normalize(objects).ok());
    EXPECT_EQ(objects.namespaces[0].metadata.labels,
              (StringMap{{"kubernetes.io/metadata.name", "ml"}, {"team", "t"}}));
    EXPECT_EQ(objects.replication_controllers[0].selector, (StringMap{{"x", "y"}}));
    EXPECT_EQ(objects.replication_controllers[1].selector, (StringMap{{"p", "q"}}));
    EXPECT_TRUE(objects.replication_controllers[2].selector.empty());
  }
}

TEST(Normalize, FinishedPodsAreRemoved) {
  std::string text = "[";
  for (const char* phase : {"Pending", "Succeeded", "Running", "Failed", "Unknown", ""}) {
    const std::string name = std::string("p-") + phase;
    text += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
            R"("},"status":{"phase":")" + phase + "\"}},";
  }
  text += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"leaving",)"
          R"("deletionTimestamp":"2026-01-31T12:00:00Z"},"status":{"phase":"Running"}},)"
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"left",)"
          R"("deletionTimestamp":"2026-01-31T12:00:00Z"},)"
          R"("spec":{"priorityClassName":"unknown"},"status":{"phase":"Failed"}}])";
  ObjectList objects = Parse(text);
  ASSERT_TRUE(Normalize(objects).ok());
  std::vector<std::string> names;
  for (const Pod& pod : objects.pods) names.push_back(pod.metadata.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"p-Pending", "p-Running", "p-Unknown", "p-", "leaving"}));
}

// ---------------------------------------------------------------------------------------------
// Priorities

PriorityClass Class(const std::string& name, std::int32_t value, bool global_default = false,
                    std::optional<std::string> policy = {}) {
  PriorityClass out;
  out.metadata.name = name;
  out.value = value;
  out.global_default = global_default;
  out.preemption_policy = std::move(policy);
  return out;
}

// "PRIORITY POLICY" of a pod of this class.
std::string Priority(const std::string& name, const std::vector<PriorityClass>& classes) {
  Pod pod;
  pod.metadata.ns = "ml";
  pod.metadata.name = "a";
  pod.spec.priority_class_name = name;
  if (auto done = SetPriority(pod, classes); !done) return done.error().message();
  EXPECT_TRUE(pod.spec.priority.has_value());
  return std::to_string(pod.spec.priority.value_or(-1)) + " " +
         pod.spec.preemption_policy.value_or("absent");
}

TEST(Normalize, PrioritiesComeFromClasses) {
  const std::vector<PriorityClass> classes = {Class("low", -5), Class("high", 1000, false, "Never"),
                                              Class("mid", 10, false, "PreemptLowerPriority")};
  EXPECT_EQ(Priority("low", classes), "-5 absent");
  EXPECT_EQ(Priority("mid", classes), "10 PreemptLowerPriority");
  EXPECT_EQ(Priority("high", classes), "1000 Never");
  EXPECT_EQ(Priority("", classes), "0 absent");
  EXPECT_EQ(Priority("", {}), "0 absent");
}

TEST(Normalize, TheDefaultClassOfLowestValueCounts) {
  EXPECT_EQ(Priority("", {Class("a", 7), Class("b", 5, true, "Never")}), "5 Never");
  EXPECT_EQ(Priority("", {Class("a", 9, true), Class("b", 5, true), Class("c", 7, true)}),
            "5 absent");
  EXPECT_EQ(Priority("", {Class("a", -1, true)}), "-1 absent");
  EXPECT_EQ(Priority("a", {Class("a", 3), Class("b", 5, true)}), "3 absent");
}

TEST(Normalize, SystemClassesAreThere) {
  EXPECT_EQ(Priority("system-cluster-critical", {}), "2000000000 absent");
  EXPECT_EQ(Priority("system-node-critical", {Class("b", 5, true)}), "2000001000 absent");
  EXPECT_EQ(
      Priority("system-node-critical", {Class("system-node-critical", 2000001000, false, "Never")}),
      "2000001000 Never");
}

TEST(Normalize, UnknownClassesAreRefused) {
  EXPECT_EQ(Priority("urgent", {}),
            "Pod ml/a: spec.priorityClassName: no PriorityClass \"urgent\" (there are: "
            "system-cluster-critical, system-node-critical)");
  EXPECT_EQ(Priority("Low", {Class("low", 1), Class("high", 2)}),
            "Pod ml/a: spec.priorityClassName: no PriorityClass \"Low\" (there are: low, high, "
            "system-cluster-critical, system-node-critical)");
  ObjectList objects = Parse(R"([{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},)"
                             R"("spec":{"priorityClassName":"urgent"}}])");
  const Result<void> done = Normalize(objects);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind(), ErrorKind::kParse);
  EXPECT_EQ(done.error().message(),
            "Pod default/a: spec.priorityClassName: no PriorityClass \"urgent\" (there are: "
            "system-cluster-critical, system-node-critical)");
}

// What the API server has written into the pod stays, whatever classes the files hold.
TEST(Normalize, PrioritiesThatAreSetStay) {
  for (const std::string& name : {std::string("high"), std::string("gone"), std::string()}) {
    Pod pod;
    pod.spec.priority_class_name = name;
    pod.spec.priority = 3;
    pod.spec.preemption_policy = "PreemptLowerPriority";
    ASSERT_TRUE(SetPriority(pod, {Class("high", 1000, true, "Never")}).ok());
    EXPECT_EQ(pod.spec.priority, 3);
    EXPECT_EQ(pod.spec.preemption_policy, "PreemptLowerPriority");
  }
}

TEST(Normalize, PrioritiesOfAClusterFile) {
  ObjectList objects = Parse(
      R"([{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},)"
      R"("spec":{"priorityClassName":"high"}},)"
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}},)"
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},)"
      R"("value":1000,"preemptionPolicy":"Never"},)"
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"std"},)"
      R"("value":10,"globalDefault":true}])");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(Normalize(objects).ok());
    EXPECT_EQ(objects.pods[0].spec.priority, 1000);
    EXPECT_EQ(objects.pods[0].spec.preemption_policy, "Never");
    EXPECT_EQ(objects.pods[1].spec.priority, 10);
  }
}

// ---------------------------------------------------------------------------------------------
// Twice is once

// All that a compiled pod holds, as text.
class Description {
 public:
  explicit Description(const Dictionary& dictionary) : dictionary_(dictionary) {}

  std::string Of(const PodInfo& pod) {
    Add(pod.FullName());
    Add(pod.pod->metadata.uid);
    Add(pod.pod->spec.scheduler_name);
    Add(pod.pod->spec.preemption_policy.value_or("absent"));
    Number(pod.label_set());
    Number(pod.priority());
    Number(pod.terminating());
    Amounts(pod.plan->total_requests);
    Amounts(pod.plan->taken);
    Number(pod.plan->non_zero_cpu);
    Number(pod.plan->non_zero_memory);
    for (const HostPort& port : pod.plan->host_ports) {
      Id(port.protocol);
      Id(port.ip);
      Number(port.port);
    }
    if (!pod.plan->for_cycle) return out_;
    Amounts(pod.plan->requests);
    Amounts(pod.plan->scored_requests);
    Requirements(pod.plan->required_node_affinity.node_selector);
    Number(pod.plan->required_node_affinity.has_terms);
    Terms(pod.plan->required_node_affinity.terms);
    Terms(pod.plan->preferred_node_affinity);
    Constraints(pod.plan->hard_constraints);
    Constraints(pod.plan->soft_constraints);
    for (const StringId image : pod.plan->images) Id(image);
    return out_;
  }

 private:
  void Add(std::string_view text) {
    out_ += text;
    out_ += '|';
  }
  void Number(std::int64_t number) { Add(std::to_string(number)); }
  void Id(StringId id) { Add(dictionary_.Text(id)); }
  void Amounts(const std::vector<ResourceAmount>& amounts) {
    for (const ResourceAmount& amount : amounts) {
      Add(dictionary_.ResourceName(amount.resource));
      Number(amount.amount);
    }
    Add("end");
  }
  void Requirements(const std::vector<Requirement>& requirements) {
    for (const Requirement& requirement : requirements) {
      Id(requirement.key);
      Number(static_cast<int>(requirement.op));
      for (const StringId value : requirement.values) Id(value);
      Number(requirement.bound);
    }
    Add("end");
  }
  void Terms(const std::vector<NodeTerm>& terms) {
    for (const NodeTerm& term : terms) {
      Requirements(term.expressions);
      for (const NodeTerm::NameTest& test : term.names) {
        Number(test.equal);
        Id(test.name);
      }
      Number(term.weight);
    }
    Add("end");
  }
  void Constraints(const std::vector<SpreadConstraint>& constraints) {
    for (const SpreadConstraint& constraint : constraints) {
      Number(constraint.max_skew);
      Id(constraint.topology_key);
      Number(constraint.selector.IsNothing());
      Requirements(constraint.selector.requirements());
      Number(constraint.min_domains);
      Number(constraint.honor_affinity);
      Number(constraint.honor_taints);
    }
    Add("end");
  }

  const Dictionary& dictionary_;
  std::string out_;
};

std::vector<std::string> Describe(const ObjectList& objects, Dictionary& dictionary) {
  std::vector<std::string> out;
  for (const Node& node : objects.nodes) {
    out.push_back(node.metadata.name + "|" + node.metadata.uid + "|" + Text(node.status.capacity) +
                  "|" + Text(node.status.allocatable));
  }
  for (const Pod& pod : objects.pods) {
    // As if it waited, so that everything is compiled.
    auto compiled = CompilePod(std::make_shared<const Pod>(pod), /*for_cycle=*/true, dictionary);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) continue;
    std::string text = Description(dictionary).Of(**compiled);
    for (const auto* affinity :
         {&pod.spec.affinity.pod_affinity, &pod.spec.affinity.pod_anti_affinity}) {
      if (!*affinity) continue;
      for (const PodAffinityTerm& term : (*affinity)->required) text += Text(term.label_selector);
      for (const WeightedPodAffinityTerm& term : (*affinity)->preferred) {
        text += Text(term.pod_affinity_term.label_selector);
      }
    }
    out.push_back(std::move(text));
  }
  return out;
}

TEST(Normalize, TwiceIsOnce) {
  int files = 0;
  std::size_t pods = 0;
  for (const auto& folder : Folders(TestsDir() / "conformance" / "vectors", "")) {
    const std::filesystem::path path = folder / "cluster.json";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(path.string());
    Result<ObjectList> objects = ReadObjects({path.string()});
    ASSERT_TRUE(objects.ok()) << objects.error().message();
    ASSERT_TRUE(Normalize(*objects).ok());
    Dictionary dictionary;
    const std::vector<std::string> once = Describe(*objects, dictionary);
    ASSERT_TRUE(Normalize(*objects).ok());
    ASSERT_EQ(Describe(*objects, dictionary), once);
    ++files;
    pods += objects->pods.size();
  }
  EXPECT_GT(files, 100);
  EXPECT_GT(pods, 1000u);
}

ObjectList Groups(const std::string& spec) {
  const std::string text = R"(
apiVersion: v1
kind: List
items:
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 3, globalDefault: true}
- {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: )" +
                           spec + "}\n";
  auto objects = ParseObjects(text);
  EXPECT_TRUE(objects.ok()) << objects.error().message();
  return objects.ok() ? *std::move(objects) : ObjectList();
}

TEST(Normalize, PodGroupsGetTheirNamespaceAndPriority) {
  const auto priority = [](const std::string& more) {
    ObjectList objects = Groups("{schedulingPolicy: {basic: {}}" + more + "}");
    EXPECT_TRUE(Normalize(objects).ok());
    EXPECT_EQ(objects.pod_groups.at(0).metadata.ns, "default");
    return objects.pod_groups.at(0).priority;
  };
  EXPECT_EQ(priority(""), 3) << "the class that is the default of all";
  EXPECT_EQ(priority(", priorityClassName: high"), 7);
  EXPECT_EQ(priority(", priority: 5"), 5);
  EXPECT_EQ(priority(", priorityClassName: system-node-critical"), 2000001000);
}

TEST(Normalize, RefusesPodGroups) {
  const auto refused = [](const std::string& spec) {
    ObjectList objects = Groups(spec);
    const auto done = Normalize(objects);
    return done.ok() ? std::string("accepted") : done.error().message();
  };
  const std::string at = "PodGroup default/g: spec.";
  EXPECT_EQ(refused("{schedulingPolicy: {gang: {minCount: 2}}}"), "accepted");
  EXPECT_EQ(refused("{}"), at + "schedulingPolicy: exactly one of basic and gang must be set");
  EXPECT_EQ(refused("{schedulingPolicy: {basic: {}, gang: {minCount: 2}}}"),
            at + "schedulingPolicy: exactly one of basic and gang must be set");
  EXPECT_EQ(refused("{schedulingPolicy: {gang: {minCount: 0}}}"),
            at + "schedulingPolicy.gang.minCount: 0 is not allowed (allowed: 1 or more)");
  EXPECT_EQ(refused("{schedulingPolicy: {gang: {}}}"),
            at + "schedulingPolicy.gang.minCount: 0 is not allowed (allowed: 1 or more)");
  EXPECT_EQ(
      refused("{schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: a}, "
              "{key: b}]}}"),
      at + "schedulingConstraints.topology: 2 constraints are not allowed (allowed: at most 1)");
  EXPECT_EQ(
      refused("{schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: ''}]}}"),
      at + "schedulingConstraints.topology[0].key: can not be empty");
  EXPECT_EQ(refused("{schedulingPolicy: {basic: {}}, disruptionMode: {single: {}, all: {}}}"),
            at + "disruptionMode: only one of single and all may be set");
  EXPECT_EQ(refused("{schedulingPolicy: {basic: {}}, priority: 1000000001}"),
            at + "priority: 1000000001 is more than 1000000000");
  EXPECT_EQ(refused("{schedulingPolicy: {basic: {}}, priorityClassName: low}"),
            at + "priorityClassName: no PriorityClass \"low\" (there are: high, usual, "
                 "system-cluster-critical, system-node-critical)");
}

TEST(Normalize, NamespacedObjectsAreInTheDefaultNamespace) {
  auto objects = ParseObjects(R"(
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: a}}
- {apiVersion: v1, kind: ReplicationController, metadata: {name: a}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}}
- {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: a}, spec: {minMember: 2}}
)");
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  ASSERT_TRUE(Normalize(*objects).ok());
  EXPECT_EQ(objects->services.at(0).metadata.ns, "default");
  EXPECT_EQ(objects->replication_controllers.at(0).metadata.ns, "default");
  EXPECT_EQ(objects->replica_sets.at(0).metadata.ns, "default");
  EXPECT_EQ(objects->stateful_sets.at(0).metadata.ns, "default");
  EXPECT_EQ(objects->pod_disruption_budgets.at(0).metadata.ns, "default");
  EXPECT_EQ(objects->coscheduling_pod_groups.at(0).metadata.ns, "default");
  objects->coscheduling_pod_groups[0].min_member = 0;
  EXPECT_EQ(Normalize(*objects).error().message(),
            "PodGroup default/a: spec.minMember: 0 is not allowed (allowed: 1 or more)");
}

}  // namespace
}  // namespace schedfw::api
