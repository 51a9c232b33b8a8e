#include "schedfw/api/read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/base/random.h"
#include "schedfw/base/value.h"
#include "support/files.h"

namespace schedfw::api {
namespace {

using namespace std::string_view_literals;
using ::schedfw::testing::Folders;
using ::schedfw::testing::ReadFile;
using ::schedfw::testing::TestsDir;
using Names = std::vector<std::string>;

// "Pod ml/a", "Node n1", …: the objects of a list by kind, then in its order.
Names NamesOf(const ObjectList& objects) {
  Names out;
  const auto add = [&](const char* kind, const auto& list) {
    for (const auto& object : list) {
      const ObjectMeta& meta = object.metadata;
      out.push_back(std::string(kind) + " " + (meta.ns.empty() ? "" : meta.ns + "/") + meta.name);
    }
  };
  add("Node", objects.nodes);
  add("Pod", objects.pods);
  add("PriorityClass", objects.priority_classes);
  add("PodDisruptionBudget", objects.pod_disruption_budgets);
  add("Namespace", objects.namespaces);
  add("Service", objects.services);
  add("ReplicationController", objects.replication_controllers);
  add("ReplicaSet", objects.replica_sets);
  add("StatefulSet", objects.stateful_sets);
  return out;
}

// The names of the objects in a text; of a text that is refused, the message.
Names Read(std::string_view text) {
  const Result<ObjectList> objects = ParseObjects(text, "f");
  return objects.ok() ? NamesOf(*objects) : Names{"error: " + objects.error().message()};
}

ObjectList Parse(std::string_view text) {
  Result<ObjectList> objects = ParseObjects(text, "f");
  EXPECT_TRUE(objects.ok()) << objects.error().message() << "\n" << text;
  return objects.ok() ? *std::move(objects) : ObjectList();
}

// The only pod in a text.
Pod ParsePod(std::string_view text) {
  ObjectList objects = Parse(text);
  EXPECT_EQ(objects.pods.size(), 1u) << text;
  return objects.pods.size() == 1 ? std::move(objects.pods[0]) : Pod();
}

// A pod "ml/a" as JSON on one line, with more fields behind its metadata.
std::string PodWith(std::string_view more) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ml"},)" +
         std::string(more) + "}";
}

struct Refused {
  std::string_view text;
  std::string_view message;
};

void ExpectRefused(const std::vector<Refused>& cases) {
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    const Result<ObjectList> objects = ParseObjects(text, "f");
    ASSERT_FALSE(objects.ok()) << ::testing::PrintToString(NamesOf(*objects));
    EXPECT_EQ(objects.error().kind(), ErrorKind::kParse);
    EXPECT_EQ(objects.error().message(), message);
  }
}

// ---------------------------------------------------------------------------------------------
// Shapes of input

constexpr std::string_view kNodeJson =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})";
constexpr std::string_view kPodJson =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ml"}})";
const Names kBoth = {"Node n1", "Pod ml/a"};

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

TEST(Read, OneObject) {
  EXPECT_EQ(Read(kPodJson), Names{"Pod ml/a"});
  EXPECT_EQ(Read(Join({"\n\t \r\n", kPodJson, "\n\n"})), Names{"Pod ml/a"});
  EXPECT_EQ(Read("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: ml\n"),
            Names{"Pod ml/a"});
  EXPECT_EQ(Read("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ml}"),
            Names{"Pod ml/a"});
}

TEST(Read, ListInAnyOrderOfFields) {
  // kubectl sorts the keys, so that a List says what it is after its items.
  EXPECT_EQ(Read(Join({R"({"apiVersion":"v1","items":[)", kPodJson, ",", kNodeJson,
                       R"(],"kind":"List","metadata":{"resourceVersion":""}})"})),
            kBoth);
  EXPECT_EQ(
      Read(Join({R"({"kind":"List","apiVersion":"v1","items":[)", kNodeJson, ",", kPodJson, "]}"})),
      kBoth);
  EXPECT_EQ(Read(R"({"items":[{"metadata":{"namespace":"ml","name":"a"},"kind":"Pod",)"
                 R"("apiVersion":"v1"}],"kind":"List","apiVersion":"v1"})"),
            Names{"Pod ml/a"});
  EXPECT_EQ(Read("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n"
                 "    name: n1\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n"
                 "    namespace: ml\nkind: List\n"),
            kBoth);
}

TEST(Read, ItemsOfTypedListsTakeTheListsKind) {
  EXPECT_EQ(
      Read(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},)"
           R"("items":[{"metadata":{"name":"a","namespace":"ml"}},{"metadata":{"name":"b"}}]})"),
      (Names{"Pod ml/a", "Pod b"}));
  EXPECT_EQ(Read(R"({"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n1"}}]})"),
            Names{"Node n1"});
  EXPECT_EQ(Read("kind: ReplicaSetList\napiVersion: apps/v1\nitems:\n- metadata: {name: r}\n"),
            Names{"ReplicaSet r"});
  EXPECT_EQ(Read(R"({"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","items":[)"
                 R"({"metadata":{"name":"p"}}]})"),
            Names{"PodDisruptionBudget p"});
  // An item that says what it is, is that.
  EXPECT_EQ(Read(Join({R"({"kind":"PodList","apiVersion":"v1","items":[)", kNodeJson, "]}"})),
            Names{"Node n1"});
}

TEST(Read, ListsWithoutItems) {
  EXPECT_EQ(Read(R"({"kind":"List","apiVersion":"v1","items":[]})"), Names{});
  EXPECT_EQ(Read(R"({"kind":"List","apiVersion":"v1","items":null})"), Names{});
  EXPECT_EQ(Read(R"({"kind":"List","apiVersion":"v1"})"), Names{});
  EXPECT_EQ(Read(R"({"kind":"PodList","apiVersion":"v1","items":null})"), Names{});
  EXPECT_EQ(Read("[]"), Names{});
  EXPECT_EQ(Read("kind: List\napiVersion: v1\nitems:\n"), Names{});
}

TEST(Read, ArrayOfObjects) {
  EXPECT_EQ(Read(Join({"[", kNodeJson, ",\n ", kPodJson, "]"})), kBoth);
  EXPECT_EQ(Read("- apiVersion: v1\n  kind: Pod\n  metadata: {name: a, namespace: ml}\n"
                 "- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n"),
            kBoth);
}

TEST(Read, ListsInLists) {
  const std::string inner = Join({R"({"kind":"List","apiVersion":"v1","items":[)", kPodJson, "]}"});
  EXPECT_EQ(
      Read(Join({R"({"kind":"List","apiVersion":"v1","items":[)", inner, ",", kNodeJson, "]}"})),
      kBoth);
  EXPECT_EQ(Read(Join({"[", inner, ",", kNodeJson, "]"})), kBoth);
  EXPECT_EQ(Read(Join({inner, "\n", kNodeJson})), kBoth);
}

TEST(Read, DocumentsOneAfterAnother) {
  for (const std::string_view between : {"", " ", "\n", "\r\n", "\n\n\t \n"}) {
    EXPECT_EQ(Read(Join({kPodJson, between, kNodeJson})), kBoth);
    EXPECT_EQ(Read(Join({"[", kPodJson, "]", between, kNodeJson, "\n"})), kBoth);
  }
  std::string lines;
  Names names;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "p" + std::to_string(i);
    lines += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + "\"}}\n";
    names.push_back("Pod " + name);
  }
  EXPECT_EQ(Read(lines), names);
}

TEST(Read, DocumentsOfYaml) {
  EXPECT_EQ(Read("# two\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ml}\n---\n"
                 "# nothing here\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n...\n"),
            kBoth);
  EXPECT_EQ(Read(Join({"---\n", kPodJson, "\n---\n", kNodeJson, "\n"})), kBoth);
  EXPECT_EQ(Read(Join({"# JSON behind a comment\n", kPodJson, "\n"})), Names{"Pod ml/a"});
  EXPECT_EQ(Read("{apiVersion: v1, kind: Pod, metadata: {'name': a, namespace: ml}}"),
            Names{"Pod ml/a"});
}

TEST(Read, JsonBetweenSeparatorsOfYaml) {
  EXPECT_EQ(Read(Join({kPodJson, "\n---\n", kNodeJson, "\n"})), kBoth);
  EXPECT_EQ(Read(Join({kPodJson, "\n---\nkind: Node\napiVersion: v1\nmetadata: {name: n1}\n"})),
            kBoth);
  // Lines are those of the whole text.
  EXPECT_EQ(
      Read(Join({"\n", kPodJson, "\n---\nkind: Node\napiVersion: v1\nmetadata:\n  name: 5\n"})),
      Names{"error: f:7: Node: metadata.name: expected a string, got a number 5 "
            "(put it in quotes)"});
}

TEST(Read, AllKinds) {
  EXPECT_EQ(Read("["
                 R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},)"
                 R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}},)"
                 R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"c"}},)"
                 R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"d"}},)"
                 R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"e"}},)"
                 R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"f"}},)"
                 R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"g"}},)"
                 R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",)"
                 R"("metadata":{"name":"h"}},{"apiVersion":"policy/v1",)"
                 R"("kind":"PodDisruptionBudget","metadata":{"name":"i"}}])"),
            (Names{"Node a", "Pod b", "PriorityClass h", "PodDisruptionBudget i", "Namespace c",
                   "Service d", "ReplicationController e", "ReplicaSet f", "StatefulSet g"}));
}

TEST(Read, OtherKindsAreCounted) {
  const ObjectList objects =
      Parse(Join({R"({"apiVersion":"serving.knative.dev/v1","kind":"Service","metadata":5})", "\n",
                  R"({"kind":"List","apiVersion":"v1","items":[)",
                  R"({"apiVersion":"apps/v1","kind":"Deployment","spec":[{}]},)",
                  R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{}},)",
                  R"({"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics"},)",
                  R"({"apiVersion":"v1","kind":"ConfigMap","data":{"kind":"Pod"}},)",
                  R"({"apiVersion":"cluster.x-k8s.io/v1","kind":"Node"},)",
                  R"({"apiVersion":"apps/v1beta1","kind":"ReplicaSet"},)",
                  R"({"apiVersion":"v1","kind":"pod"},)", R"({"kind":"Thing"},)",
                  R"({"apiVersion":"example.com/v1","kind":"AllowList","spec":{"items":[5]}},)",
                  kPodJson, "]}", kNodeJson}));
  EXPECT_EQ(NamesOf(objects), kBoth);
  EXPECT_EQ(objects.ignored,
            (std::map<std::string, std::int64_t>{{"Thing", 1},
                                                 {"apps/v1 Deployment", 2},
                                                 {"apps/v1beta1 ReplicaSet", 1},
                                                 {"cluster.x-k8s.io/v1 Node", 1},
                                                 {"example.com/v1 AllowList", 1},
                                                 {"metrics.k8s.io/v1beta1 PodMetrics", 1},
                                                 {"serving.knative.dev/v1 Service", 1},
                                                 {"v1 ConfigMap", 1},
                                                 {"v1 pod", 1}}));

  // Alone in a file, in a typed list, and in YAML.
  EXPECT_EQ(Parse(R"({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}})").ignored,
            (std::map<std::string, std::int64_t>{{"v1 ConfigMap", 1}}));
  EXPECT_EQ(
      Parse(R"({"apiVersion":"v1","kind":"EventList","items":[{},{"kind":"Event"}]})").ignored,
      (std::map<std::string, std::int64_t>{{"v1 Event", 2}}));
  EXPECT_EQ(Parse("kind: Deployment\napiVersion: apps/v1\nspec: 5\n---\nkind: Secret\n"
                  "apiVersion: v1\n")
                .ignored,
            (std::map<std::string, std::int64_t>{{"apps/v1 Deployment", 1}, {"v1 Secret", 1}}));
}

// Gives each test a folder of its own, and takes it away again.
class ReadFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "schedfw-read-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(ReadFiles, AreMergedInOrder) {
  const std::string a = Write("a.json", kPodJson);
  const std::string b = Write("b.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: b}\n");
  const std::string c = Write("c", R"({"kind":"ConfigMap","apiVersion":"v1"})");
  const Result<ObjectList> objects = ReadObjects({b, c, a, c});
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  EXPECT_EQ(NamesOf(*objects), (Names{"Pod b", "Pod ml/a"}));
  EXPECT_EQ(objects->ignored, (std::map<std::string, std::int64_t>{{"v1 ConfigMap", 2}}));
  EXPECT_TRUE(ReadObjects({}).ok());
}

TEST_F(ReadFiles, MayBeCompressed) {
  // gzip -9n of a node "n".
  const std::string path = Write("n.json.gz",
                                 "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x2c\xc8\x0c"
                                 "\x4b\x2d\x2a\xce\xcc\xcf\x53\xb2"
                                 "\x52\x2a\x33\x54\xd2\x51\xca\xce\xcc\x4b\x01\xb2\xfd\xf2\x53\x52"
                                 "\x81\xbc\xdc\xd4\x92\xc4\x94\xc4"
                                 "\x92\x44\x25\xab\x6a\xa5\xbc\xc4\xdc\x54\xa0\x4c\x9e\x52\x6d\x2d"
                                 "\x00\x99\x2b\x29\xf4\x39\x00\x00"
                                 "\x00"sv);
  const Result<ObjectList> objects = ReadObjects({path});
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  EXPECT_EQ(NamesOf(*objects), Names{"Node n"});
}

TEST_F(ReadFiles, ErrorsNameTheFile) {
  const std::string good = Write("a.json", kPodJson);
  const std::string bad = Write("b.json", "{\"kind\":\"Pod\",\n\"apiVersion\":5}");
  const Result<ObjectList> objects = ReadObjects({good, bad});
  ASSERT_FALSE(objects.ok());
  EXPECT_EQ(objects.error().message(),
            bad + ":2: apiVersion: expected a string, got a number 5 (put it in quotes)");
  const std::string missing = (folder_ / "missing").string();
  EXPECT_EQ(ReadObjects({missing}).error().message(), missing + ": No such file or directory");
}

TEST(Read, ByteOrderMarkAndLineEnds) {
  const std::string json =
      "{\r\n\"apiVersion\":\"v1\",\r\n\"kind\":\"Pod\",\r\n"
      "\"metadata\":{\"name\":\"a\"}\r\n}\r\n";
  const std::string yaml = "apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n";
  for (const std::string& text : {json, yaml}) {
    EXPECT_EQ(Read(text), Names{"Pod a"});
    EXPECT_EQ(Read("\xef\xbb\xbf" + text), Names{"Pod a"});
  }
  ExpectRefused({
      {"\xef\xbb\xbf{\"apiVersion\":\"v1\",\r\n\"kind\":5}",
       "f:2: kind: expected a string, got a number 5 (put it in quotes)"},
      {"apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: yes\r\n",
       "f:4: Pod: metadata.name: expected a string, got a boolean true (put it in quotes)"},
      {"\xef\xbb\xbf", "f: the file is empty"},
      {"\xff\xfe{\0\"\0"sv, "f:1: the text is not UTF-8, but looks like UTF-16 or UTF-32"},
  });
}

TEST(Read, Unicode) {
  const Pod pod =
      ParsePod(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"größe-😀","labels":)"
               R"({"\u00e9t\u00e9":"\ud83d\ude00\t\"\\\/"}}})");
  EXPECT_EQ(pod.metadata.name, "größe-😀");
  EXPECT_EQ(pod.metadata.labels, (StringMap{{"été", "😀\t\"\\/"}}));
  EXPECT_EQ(ParsePod("apiVersion: v1\nkind: Pod\nmetadata:\n  name: größe\n  labels:\n"
                     "    é: \"\\u263A\"\n")
                .metadata.labels,
            (StringMap{{"é", "☺"}}));
}

// ---------------------------------------------------------------------------------------------
// Fields

// A pod with every field that is read.
constexpr std::string_view kFullPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "a", "namespace": "ml", "uid": "u",
    "labels": {"app": "web"}, "annotations": {"note": "x"},
    "ownerReferences": [
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "v", "controller": true}],
    "creationTimestamp": "2026-01-31T12:00:00Z", "deletionTimestamp": "2026-01-31T12:00:01.5+02:00"
  },
  "spec": {
    "nodeName": "n", "schedulerName": "s", "priority": 7, "priorityClassName": "high",
    "preemptionPolicy": "Never", "nodeSelector": {"disk": "ssd"},
    "affinity": {
      "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
          "nodeSelectorTerms": [{
            "matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{
          "weight": 10,
          "preference": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}]},
      "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
          "labelSelector": {"matchLabels": {"app": "web"}}, "namespaces": ["x"],
          "topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "t"}},
          "matchLabelKeys": ["k"], "mismatchLabelKeys": ["m"]}]},
      "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{
          "weight": 20,
          "podAffinityTerm": {
            "labelSelector": {"matchExpressions": [{"key": "q", "operator": "DoesNotExist"}]},
            "topologyKey": "host"}}]}},
    "tolerations": [
      {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, {"value": "v"}],
    "topologySpreadConstraints": [{
      "maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
      "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 3,
      "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["hash"]}],
    "containers": [{
      "name": "c", "image": "i:1",
      "resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": 2}, "limits": {"memory": "1Gi"}},
      "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "10.0.0.1"}]}],
    "initContainers": [{"name": "d", "image": "j", "restartPolicy": "Always"}],
    "overhead": {"cpu": "10m"},
    "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
    "hostNetwork": true,
    "schedulingGates": [{"name": "gate"}],
    "volumes": [
      {"name": "v", "image": {"reference": "r:1"}},
      {"name": "w", "persistentVolumeClaim": {"claimName": "claim"}},
      {"name": "x", "ephemeral": {}}],
    "resourceClaims": [{"name": "rc"}]
  },
  "status": {
    "phase": "Running", "nominatedNodeName": "n3", "startTime": "1970-01-01T00:00:02Z",
    "conditions": [{"type": "PodScheduled", "status": "True", "reason": "why"}],
    "containerStatuses": [{
      "name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "2"}}}],
    "initContainerStatuses": [{"name": "d"}],
    "allocatedResources": {"memory": "3"}, "resources": {"requests": {"memory": "4"}}
  }
})";

Quantity Q(std::string_view text) { return *Quantity::Parse(text); }

TEST(Read, EveryFieldOfAPod) {
  const Pod pod = ParsePod(kFullPod);
  const ObjectMeta& meta = pod.metadata;
  EXPECT_EQ(meta.name, "a");
  EXPECT_EQ(meta.ns, "ml");
  EXPECT_EQ(meta.uid, "u");
  EXPECT_EQ(meta.labels, (StringMap{{"app", "web"}}));
  EXPECT_EQ(meta.annotations, (StringMap{{"note", "x"}}));
  ASSERT_EQ(meta.owner_references.size(), 1u);
  EXPECT_EQ(meta.owner_references[0].api_version, "apps/v1");
  EXPECT_EQ(meta.owner_references[0].kind, "ReplicaSet");
  EXPECT_EQ(meta.owner_references[0].name, "r");
  EXPECT_EQ(meta.owner_references[0].uid, "v");
  EXPECT_TRUE(meta.owner_references[0].controller);
  EXPECT_EQ(meta.creation_timestamp_ns, 1769860800'000000000);
  EXPECT_EQ(meta.deletion_timestamp_ns, 1769853601'500000000);

  const PodSpec& spec = pod.spec;
  EXPECT_EQ(spec.node_name, "n");
  EXPECT_EQ(spec.scheduler_name, "s");
  EXPECT_EQ(spec.priority, 7);
  EXPECT_EQ(spec.priority_class_name, "high");
  EXPECT_EQ(spec.preemption_policy, "Never");
  EXPECT_EQ(spec.node_selector, (StringMap{{"disk", "ssd"}}));
  const auto& node_affinity = spec.affinity.node_affinity;
  ASSERT_TRUE(node_affinity && node_affinity->required);
  ASSERT_EQ(node_affinity->required->node_selector_terms.size(), 1u);
  const NodeSelectorTerm& term = node_affinity->required->node_selector_terms[0];
  using Requirements = std::vector<SelectorRequirement>;
  EXPECT_EQ(term.match_expressions, (Requirements{{"gen", SelectorOperator::kGt, {"3"}}}));
  EXPECT_EQ(term.match_fields, (Requirements{{"metadata.name", SelectorOperator::kNotIn, {"n2"}}}));
  ASSERT_EQ(node_affinity->preferred.size(), 1u);
  EXPECT_EQ(node_affinity->preferred[0].weight, 10);
  EXPECT_EQ(node_affinity->preferred[0].preference.match_expressions,
            (Requirements{{"gpu", SelectorOperator::kExists, {}}}));
  ASSERT_TRUE(spec.affinity.pod_affinity && spec.affinity.pod_anti_affinity);
  ASSERT_EQ(spec.affinity.pod_affinity->required.size(), 1u);
  const PodAffinityTerm& near = spec.affinity.pod_affinity->required[0];
  EXPECT_EQ(near.label_selector, (LabelSelector{{{"app", "web"}}, {}}));
  EXPECT_EQ(near.namespaces, std::vector<std::string>{"x"});
  EXPECT_EQ(near.topology_key, "zone");
  EXPECT_EQ(near.namespace_selector, (LabelSelector{{{"team", "t"}}, {}}));
  EXPECT_EQ(near.match_label_keys, std::vector<std::string>{"k"});
  EXPECT_EQ(near.mismatch_label_keys, std::vector<std::string>{"m"});
  ASSERT_EQ(spec.affinity.pod_anti_affinity->preferred.size(), 1u);
  const WeightedPodAffinityTerm& far = spec.affinity.pod_anti_affinity->preferred[0];
  EXPECT_EQ(far.weight, 20);
  EXPECT_EQ(far.pod_affinity_term.label_selector,
            (LabelSelector{{}, {{"q", SelectorOperator::kDoesNotExist, {}}}}));
  EXPECT_EQ(far.pod_affinity_term.namespace_selector, std::nullopt);
  EXPECT_EQ(
      spec.tolerations,
      (std::vector<Toleration>{{"gpu", TolerationOperator::kExists, "", TaintEffect::kNoSchedule},
                               {"", TolerationOperator::kEqual, "v", TaintEffect::kAny}}));
  ASSERT_EQ(spec.topology_spread_constraints.size(), 1u);
  const TopologySpreadConstraint& spread = spec.topology_spread_constraints[0];
  EXPECT_EQ(spread.max_skew, 2);
  EXPECT_EQ(spread.topology_key, "zone");
  EXPECT_EQ(spread.when_unsatisfiable, UnsatisfiableConstraintAction::kScheduleAnyway);
  EXPECT_EQ(spread.label_selector, (LabelSelector{{{"app", "web"}}, {}}));
  EXPECT_EQ(spread.min_domains, 3);
  EXPECT_EQ(spread.node_affinity_policy, NodeInclusionPolicy::kIgnore);
  EXPECT_EQ(spread.node_taints_policy, NodeInclusionPolicy::kHonor);
  EXPECT_EQ(spread.match_label_keys, std::vector<std::string>{"hash"});
  ASSERT_EQ(spec.containers.size(), 1u);
  const Container& container = spec.containers[0];
  EXPECT_EQ(container.name, "c");
  EXPECT_EQ(container.image, "i:1");
  EXPECT_EQ(container.resources.requests,
            (ResourceList{{"cpu", Q("500m")}, {"nvidia.com/gpu", Q("2")}}));
  EXPECT_EQ(container.resources.limits, (ResourceList{{"memory", Q("1Gi")}}));
  ASSERT_EQ(container.ports.size(), 1u);
  EXPECT_EQ(container.ports[0].container_port, 80);
  EXPECT_EQ(container.ports[0].host_port, 8080);
  EXPECT_EQ(container.ports[0].protocol, "UDP");
  EXPECT_EQ(container.ports[0].host_ip, "10.0.0.1");
  EXPECT_EQ(container.restart_policy, "");
  ASSERT_EQ(spec.init_containers.size(), 1u);
  EXPECT_EQ(spec.init_containers[0].name, "d");
  EXPECT_EQ(spec.init_containers[0].restart_policy, "Always");
  EXPECT_EQ(spec.overhead, (ResourceList{{"cpu", Q("10m")}}));
  ASSERT_TRUE(spec.resources);
  EXPECT_EQ(spec.resources->requests, (ResourceList{{"cpu", Q("2")}}));
  EXPECT_EQ(spec.resources->limits, (ResourceList{{"cpu", Q("3")}}));
  EXPECT_TRUE(spec.host_network);
  ASSERT_EQ(spec.scheduling_gates.size(), 1u);
  EXPECT_EQ(spec.scheduling_gates[0].name, "gate");
  ASSERT_EQ(spec.volumes.size(), 3u);
  EXPECT_EQ(spec.volumes[0].image_reference, "r:1");
  EXPECT_FALSE(spec.volumes[0].ephemeral);
  EXPECT_EQ(spec.volumes[1].persistent_volume_claim, "claim");
  EXPECT_TRUE(spec.volumes[2].ephemeral);
  ASSERT_EQ(spec.resource_claims.size(), 1u);
  EXPECT_EQ(spec.resource_claims[0].name, "rc");

  const PodStatus& status = pod.status;
  EXPECT_EQ(status.phase, "Running");
  EXPECT_EQ(status.nominated_node_name, "n3");
  EXPECT_EQ(status.start_time_ns, 2'000000000);
  ASSERT_EQ(status.conditions.size(), 1u);
  EXPECT_EQ(status.conditions[0].type, "PodScheduled");
  EXPECT_EQ(status.conditions[0].status, "True");
  EXPECT_EQ(status.conditions[0].reason, "why");
  ASSERT_EQ(status.container_statuses.size(), 1u);
  EXPECT_EQ(status.container_statuses[0].name, "c");
  EXPECT_EQ(status.container_statuses[0].allocated_resources, (ResourceList{{"cpu", Q("1")}}));
  EXPECT_EQ(status.container_statuses[0].actuated_requests, (ResourceList{{"cpu", Q("2")}}));
  ASSERT_EQ(status.init_container_statuses.size(), 1u);
  EXPECT_EQ(status.init_container_statuses[0].allocated_resources, std::nullopt);
  EXPECT_EQ(status.allocated_resources, (ResourceList{{"memory", Q("3")}}));
  EXPECT_TRUE(status.has_resources);
  EXPECT_EQ(status.actuated_requests, (ResourceList{{"memory", Q("4")}}));
}

// A node and the other objects with every field that is read.
constexpr std::string_view kOtherObjects = R"([
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "z"}},
 "spec": {"unschedulable": true,
          "taints": [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]},
 "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "7"},
            "images": [{"names": ["i:1", "i:2"], "sizeBytes": 123456789012}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "ok"}]}},
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"},
 "value": 1000, "globalDefault": true, "preemptionPolicy": "Never"},
{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
 "metadata": {"name": "b", "namespace": "ml"}, "spec": {"selector": {"matchLabels": {"x": "y"}}},
 "status": {"disruptionsAllowed": 2, "disruptedPods": {"q": "2026-01-31T12:00:00Z", "r": null}}},
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
 "spec": {"selector": {"app": "web"}}},
{"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "c"},
 "spec": {"selector": {"app": "web"}, "template": {"metadata": {"labels": {"l": "m"}}}}},
{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"},
 "spec": {"selector": {"matchLabels": {"app": "web"}}}},
{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "t"},
 "spec": {"selector": {"matchExpressions": [
   {"key": "app", "operator": "In", "values": ["web", "api"]}]}}}
])";

TEST(Read, EveryFieldOfTheOthers) {
  const ObjectList objects = Parse(kOtherObjects);
  ASSERT_EQ(objects.nodes.size(), 1u);
  const Node& node = objects.nodes[0];
  EXPECT_EQ(node.metadata.labels, (StringMap{{"zone", "z"}}));
  EXPECT_TRUE(node.spec.unschedulable);
  EXPECT_EQ(node.spec.taints, (std::vector<Taint>{{"k", "v", TaintEffect::kPreferNoSchedule}}));
  EXPECT_EQ(node.status.capacity, (ResourceList{{"cpu", Q("8")}}));
  EXPECT_EQ(node.status.allocatable, (ResourceList{{"cpu", Q("7")}}));
  ASSERT_EQ(node.status.images.size(), 1u);
  EXPECT_EQ(node.status.images[0].names, (std::vector<std::string>{"i:1", "i:2"}));
  EXPECT_EQ(node.status.images[0].size_bytes, 123456789012);
  ASSERT_EQ(node.status.conditions.size(), 1u);
  EXPECT_EQ(node.status.conditions[0].type, "Ready");
  ASSERT_EQ(objects.priority_classes.size(), 1u);
  EXPECT_EQ(objects.priority_classes[0].value, 1000);
  EXPECT_TRUE(objects.priority_classes[0].global_default);
  EXPECT_EQ(objects.priority_classes[0].preemption_policy, "Never");
  ASSERT_EQ(objects.pod_disruption_budgets.size(), 1u);
  const PodDisruptionBudget& budget = objects.pod_disruption_budgets[0];
  EXPECT_EQ(budget.metadata.ns, "ml");
  EXPECT_EQ(budget.selector, (LabelSelector{{{"x", "y"}}, {}}));
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_EQ(budget.disrupted_pods, (std::vector<std::string>{"q", "r"}));
  ASSERT_EQ(objects.services.size(), 1u);
  EXPECT_EQ(objects.services[0].selector, (StringMap{{"app", "web"}}));
  ASSERT_EQ(objects.replication_controllers.size(), 1u);
  EXPECT_EQ(objects.replication_controllers[0].selector, (StringMap{{"app", "web"}}));
  EXPECT_EQ(objects.replication_controllers[0].template_labels, (StringMap{{"l", "m"}}));
  ASSERT_EQ(objects.replica_sets.size(), 1u);
  EXPECT_EQ(objects.replica_sets[0].selector, (LabelSelector{{{"app", "web"}}, {}}));
  ASSERT_EQ(objects.stateful_sets.size(), 1u);
  EXPECT_EQ(objects.stateful_sets[0].selector,
            (LabelSelector{{}, {{"app", SelectorOperator::kIn, {"web", "api"}}}}));
}

TEST(Read, AbsentFieldsDifferFromEmptyOnes) {
  const Pod bare = ParsePod(kPodJson);
  EXPECT_EQ(bare.spec.node_selector, std::nullopt);
  EXPECT_EQ(bare.spec.priority, std::nullopt);
  EXPECT_FALSE(bare.spec.affinity.node_affinity);
  EXPECT_FALSE(bare.spec.resources);
  EXPECT_FALSE(bare.status.has_resources);
  EXPECT_EQ(bare.status.actuated_requests, std::nullopt);
  const Pod empty = ParsePod(
      PodWith(R"("spec":{"nodeSelector":{},"affinity":{"nodeAffinity":{}},"resources":{}},)"
              R"("status":{"resources":{},"allocatedResources":{}})"));
  EXPECT_EQ(empty.spec.node_selector, StringMap());
  ASSERT_TRUE(empty.spec.affinity.node_affinity);
  EXPECT_FALSE(empty.spec.affinity.node_affinity->required);
  EXPECT_TRUE(empty.spec.resources);
  EXPECT_TRUE(empty.status.has_resources);
  EXPECT_EQ(empty.status.actuated_requests, std::nullopt);
  EXPECT_EQ(empty.status.allocated_resources, ResourceList());
  const ObjectList nodes = Parse(
      R"([{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{}}},)"
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"m"},"status":{"capacity":{}}}])");
  EXPECT_EQ(nodes.nodes[0].status.allocatable, ResourceList());
  EXPECT_EQ(nodes.nodes[1].status.allocatable, std::nullopt);
}

TEST(Read, FieldNamesAreCaseSensitive) {
  const Pod pod = ParsePod(PodWith(R"("Spec":{"nodeName":5},"spec":{"NodeName":5,"nodename":6})"));
  EXPECT_EQ(pod.spec.node_name, "");
}

// Null means that the field isn't there; in a map or a list it is an empty element.
// A key may be written with escapes, as no one does.
TEST(Read, EscapedFieldNames) {
  EXPECT_EQ(Read(R"({"apiVersion":"v1","kind":"Pod","met\u0061data":{"n\u0061me":"a"}})"),
            Names{"Pod a"});
  const Pod pod = ParsePod(PodWith(
      R"("sp\u0065c":{"nodeName":"n","nodeName\"":"b","nodeName\u0022":"c","nodeName\\":"d",)"
      R"("topologySpreadConstraints":[{"m\u0061xSkew":1,"topologyKey":"z",)"
      R"("whenUnsatisf\u0069able":"DoNotSchedule"}]})"));
  EXPECT_EQ(pod.spec.node_name, "n");
  EXPECT_EQ(pod.spec.topology_spread_constraints.at(0).max_skew, 1);
  ExpectRefused({
      {PodWith(R"("spec":{"nodeN\q":"n"})"), R"(f:1: spec: unknown escape `\q` in a string)"},
      {PodWith(R"("spec":{"nodeN\u0061me":5})"),
       "f:1: Pod ml/a: spec.nodeName: expected a string, got a number 5 (put it in quotes)"},
  });
}

TEST(Read, NullFields) {
  EXPECT_EQ(Read(PodWith(R"("spec":null,"status":null)")), Names{"Pod ml/a"});
  const Pod pod = ParsePod(PodWith(
      R"("spec":{"nodeName":null,"priority":null,"hostNetwork":null,"nodeSelector":null,)"
      R"("affinity":null,"tolerations":null,"containers":[null,{"resources":null,"ports":[null],)"
      R"("image":null}],"overhead":{"cpu":null},"resources":null,"volumes":[{"ephemeral":null,)"
      R"("image":null}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)"
      R"("whenUnsatisfiable":"DoNotSchedule","minDomains":null,"labelSelector":null,)"
      R"("nodeAffinityPolicy":null}]},)"
      R"("status":{"startTime":null,"resources":null,"allocatedResources":null})"));
  EXPECT_EQ(pod.spec.priority, std::nullopt);
  EXPECT_EQ(pod.spec.node_selector, std::nullopt);
  EXPECT_EQ(pod.spec.containers.size(), 2u);
  EXPECT_EQ(pod.spec.containers[1].ports.size(), 1u);
  EXPECT_EQ(pod.spec.overhead, (ResourceList{{"cpu", Quantity()}}));
  EXPECT_FALSE(pod.spec.resources);
  EXPECT_FALSE(pod.spec.volumes[0].ephemeral);
  EXPECT_EQ(pod.spec.topology_spread_constraints[0].label_selector, std::nullopt);
  EXPECT_FALSE(pod.status.has_resources);
  EXPECT_EQ(pod.status.start_time_ns, std::nullopt);
  EXPECT_EQ(ParsePod(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":)"
                     R"({"x":null},"creationTimestamp":null,"ownerReferences":null}})")
                .metadata.labels,
            (StringMap{{"x", ""}}));
  EXPECT_EQ(Read("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\nspec: ~\n"),
            Names{"Pod a"});
}

// As in the API server's decoder: the last scalar wins, objects and lists are read into what is
// there, null takes away what may be absent.
TEST(Read, KeysGivenTwice) {
  const auto pod = [](std::string_view meta, std::string_view more = "") {
    return ParsePod(
        Join({R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a",)", meta, "}", more, "}"}));
  };
  const Pod scalars = pod(R"("labels":{"x":"1","y":"2"},"name":"b","labels":{"y":"3"})");
  EXPECT_EQ(scalars.metadata.name, "b");
  EXPECT_EQ(scalars.metadata.labels, (StringMap{{"x", "1"}, {"y", "3"}}));
  const Pod nested = pod(R"("uid":"u")", R"(,"metadata":{"namespace":"n"},"metadata":null)");
  EXPECT_EQ(nested.metadata.name, "a");
  EXPECT_EQ(nested.metadata.ns, "n");
  EXPECT_EQ(nested.metadata.uid, "u");
  const Pod lists =
      pod(R"("uid":"u")", R"(,"spec":{"containers":[{"name":"c","image":"i"},{"name":"d"}],)"
                          R"("containers":[{"name":"e"}]})");
  ASSERT_EQ(lists.spec.containers.size(), 1u);
  EXPECT_EQ(lists.spec.containers[0].name, "e");
  EXPECT_EQ(lists.spec.containers[0].image, "i");
  const Pod nulls =
      pod(R"("uid":"u")", R"(,"spec":{"priority":5,"priority":null,"nodeName":"x","nodeName":null,)"
                          R"("nodeSelector":{"a":"b"},"nodeSelector":null,)"
                          R"("tolerations":[{}],"tolerations":null})");
  EXPECT_EQ(nulls.spec.priority, std::nullopt);
  EXPECT_EQ(nulls.spec.node_name, "x");
  EXPECT_EQ(nulls.spec.node_selector, std::nullopt);
  EXPECT_TRUE(nulls.spec.tolerations.empty());
  const Pod yaml = ParsePod(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {x: '1', x: '2'}\n  name: b\n");
  EXPECT_EQ(yaml.metadata.name, "b");
  EXPECT_EQ(yaml.metadata.labels, (StringMap{{"x", "2"}}));
}

TEST(Read, QuantitiesMayBeNumbers) {
  const auto json = [](std::string_view value) {
    return ParsePod(PodWith(Join({R"("spec":{"overhead":{"cpu":)", value, "}}"})))
        .spec.overhead.at("cpu")
        .ToString();
  };
  EXPECT_EQ(json("2"), "2");
  EXPECT_EQ(json("1.5"), "1500m");
  EXPECT_EQ(json("1e3"), "1e3");
  EXPECT_EQ(json("-3"), "-3");
  EXPECT_EQ(json("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(json("0.0000000001"), "1n");
  EXPECT_EQ(json("null"), "0");
  EXPECT_EQ(json(R"(" 1Gi\n")"), "1Gi");
  EXPECT_EQ(json("5 "), "5");
  const auto yaml = [](std::string_view value) {
    return ParsePod(Join({"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  overhead:\n"
                          "    cpu: ",
                          value, "\n"}))
        .spec.overhead.at("cpu")
        .ToString();
  };
  EXPECT_EQ(yaml("2"), "2");
  EXPECT_EQ(yaml("010"), "8");
  EXPECT_EQ(yaml("1_000"), "1k");
  EXPECT_EQ(yaml("0.5"), "500m");
  EXPECT_EQ(yaml("1e3"), "1k");
}

TEST(Read, Times) {
  const auto nanos = [](std::string_view time) -> std::optional<std::int64_t> {
    const std::string text = PodWith(Join({R"("status":{"startTime":")", time, "\"}"}));
    const Result<ObjectList> objects = ParseObjects(text, "f");
    if (objects.ok()) return objects->pods[0].status.start_time_ns;
    EXPECT_EQ(objects.error().message(),
              Join({R"(f:1: Pod ml/a: status.startTime: ")", time,
                    R"(" is not a time (allowed: RFC 3339, like 2026-01-31T12:00:00Z))"}));
    return std::nullopt;
  };
  constexpr std::int64_t kNoon = 1769860800'000000000;
  EXPECT_EQ(nanos("2026-01-31T12:00:00Z"), kNoon);
  EXPECT_EQ(nanos("2026-01-31T12:00:00+02:00"), kNoon - 7200'000000000);
  EXPECT_EQ(nanos("2026-01-31T12:00:00-02:30"), kNoon + 9000'000000000);
  EXPECT_EQ(nanos("2026-01-31T12:00:00.123456789999Z"), kNoon + 123456789);
  EXPECT_EQ(nanos("2026-01-31T12:00:00,5Z"), kNoon + 500000000);
  EXPECT_EQ(nanos("2026-01-31T1:00:00Z"), kNoon - 39600'000000000);
  EXPECT_EQ(nanos("2026-01-31T12:00:00+24:00"), kNoon - 86400'000000000);
  EXPECT_EQ(nanos("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(nanos("1969-12-31T23:59:59Z"), -1'000000000);
  EXPECT_EQ(nanos("2024-02-29T00:00:00Z"), 1709164800'000000000);
  EXPECT_EQ(nanos("2000-02-29T00:00:00Z"), 951782400'000000000);
  EXPECT_EQ(nanos("1678-01-01T00:00:00Z"), -9214560000'000000000);
  EXPECT_EQ(nanos("2261-12-31T23:59:59-24:00"), 9214732799'000000000);
  EXPECT_EQ(nanos("0001-01-01T00:00:00Z"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(nanos("9999-12-31T23:59:59Z"), std::numeric_limits<std::int64_t>::max());
  for (const std::string_view bad : {"",
                                     "yesterday",
                                     "2026-01-31",
                                     "2026-01-31T12:00:00",
                                     "2026-01-31 12:00:00Z",
                                     "2026-01-31t12:00:00z",
                                     "2026-01-31T12:00:60Z",
                                     "2026-01-31T24:00:00Z",
                                     "2026-01-31T12:60:00Z",
                                     "2026-02-29T12:00:00Z",
                                     "1900-02-29T12:00:00Z",
                                     "2026-13-01T12:00:00Z",
                                     "2026-00-01T12:00:00Z",
                                     "2026-01-00T12:00:00Z",
                                     "2026-01-32T12:00:00Z",
                                     "2026-01-31T12:00:00.Z",
                                     "2026-01-31T12:00:00+0200",
                                     "2026-01-31T12:00:00+25:00",
                                     "2026-01-31T12:00:00+02:61",
                                     "2026-01-31T12:00:00Zx",
                                     "2026-01-31T12:00Z",
                                     "26-01-31T12:00:00Z",
                                     "1769860800"}) {
    EXPECT_EQ(nanos(bad), std::nullopt) << bad;
  }
}

// ---------------------------------------------------------------------------------------------
// Errors

TEST(ReadErrors, WhatIsNoObject) {
  ExpectRefused({
      {"", "f: the file is empty"},
      {" \n\t\r\n ", "f: the file is empty"},
      {"null", "f: there is no object in the file"},
      {"# nothing\n", "f: there is no object in the file"},
      {"---\n---\n", "f: there is no object in the file"},
      {"hello", R"(f:1: expected a Kubernetes object, got a string "hello")"},
      {"\n12", "f:2: expected a Kubernetes object, got a number 12"},
      {"true", "f:1: expected a Kubernetes object, got a boolean true"},
      {"{}", "f:1: kind: must be given"},
      {"\n\n  {}", "f:3: kind: must be given"},
      {"name,cpu\na,5\n", R"(f:1: expected a Kubernetes object, got a string "name,cpu a,5")"},
      {"# values\nreplicas: 5\nimage: x\n", "f:2: kind: must be given"},
      {R"({"apiVersion":"v1","metadata":{"name":"a"}})", "f:1: kind: must be given"},
      {R"({"apiVersion":"v1","kind":""})", "f:1: kind: must be given"},
      {R"({"apiVersion":"v1","kind":null})", "f:1: kind: must be given"},
      {R"({"apiVersion":"v1","kind":5})",
       "f:1: kind: expected a string, got a number 5 (put it in quotes)"},
      {"apiVersion: 1\nkind: Pod\n",
       "f:1: apiVersion: expected a string, got a number 1 (put it in quotes)"},
      {R"({"apiVersion":"v1","kind":["Pod"]})", "f:1: kind: expected a string, got a list"},
      {"[5]", "f:1: [0]: expected an object, got a number 5"},
      {"[\nnull]", "f:2: [0]: expected an object, got null"},
      {"[[{}]]", "f:1: [0]: expected an object, got a list"},
      {"- a\n- b\n", R"(f:1: [0]: expected an object, got a string "a")"},
      {R"({"kind":"List","items":{}})", "f:1: items: expected a list, got an object"},
      {R"({"kind":"PodList","apiVersion":"v1","items":"x"})",
       R"(f:1: items: expected a list, got a string "x")"},
      {"{\"kind\":\"List\",\"items\":[\n{\"apiVersion\":\"v1\"}]}",
       "f:2: items[0].kind: must be given"},
      {"kind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n- metadata:\n    name: a\n",
       "f:5: items[1].kind: must be given"},
  });
}

TEST(ReadErrors, WhatIsRequired) {
  ExpectRefused({
      {R"({"kind":"Pod","metadata":{"name":"a"}})",
       "f:1: apiVersion: must be given (allowed for a Pod: v1)"},
      {"kind: List\nitems:\n- kind: StatefulSet\n",
       "f:3: items[0].apiVersion: must be given (allowed for a StatefulSet: apps/v1)"},
      {R"({"apiVersion":"v1","kind":"Pod"})", "f:1: Pod: metadata.name: must be given"},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":null})",
       "f:1: Pod: metadata.name: must be given"},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"","namespace":"ml"}})",
       "f:1: Pod: metadata.name: must be given"},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a-"}})",
       "f:1: Pod: metadata.name: must be given"},
      {"{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"n\"}},"
       "\n"
       "{\"spec\":{}}]}",
       "f:2: Node items[1]: metadata.name: must be given"},
      {PodWith(R"("spec":{"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1}]})"),
       "f:1: Pod ml/a: spec.topologySpreadConstraints[0].whenUnsatisfiable: must be given"},
      {PodWith(R"("spec":{"topologySpreadConstraints":[)"
               "\n"
               R"({"topologyKey":"zone","maxSkew":null,"whenUnsatisfiable":"DoNotSchedule"}]})"),
       "f:2: Pod ml/a: spec.topologySpreadConstraints[0].maxSkew: must be given"},
      {PodWith(R"("spec":{"topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[)"
               R"({"key":"a"}]}}]})"),
       "f:1: Pod ml/a: spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0]."
       "operator: must be given"},
      {"---\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\napiVersion: v1\n",
       "f:6: Pod: metadata.name: must be given"},
  });
}

TEST(ReadErrors, NameTheObjectWhereverItsNameIs) {
  ExpectRefused({
      {R"({"apiVersion":"v1","kind":"Pod","spec":{"priority":"x"},"metadata":{"labels":{},)"
       R"("name":"a","namespace":"ml"}})",
       R"(f:1: Pod ml/a: spec.priority: expected an integer of 32 bits, got a string "x")"},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"x":5},"name":"a",)"
       R"("namespace":"ml"}})",
       "f:1: Pod ml/a: metadata.labels.x: expected a string, got a number 5 (put it in quotes)"},
      {R"({"items":[{"metadata":{"name":"n1"}},{"metadata":{"labels":[],"name":"m"}}],)"
       R"("kind":"NodeList","apiVersion":"v1"})",
       "f:1: Node m: metadata.labels: expected an object, got a list"},
      {R"({"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":5}}],)"
       R"("kind":"NodeList","apiVersion":"v1"})",
       "f:1: Node items[1]: metadata.name: expected a string, got a number 5 (put it in quotes)"},
      {R"({"apiVersion":"v1","kind":"Pod","spec":[]})",
       "f:1: Pod: spec: expected an object, got a list"},
      {"apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    on: off\n  name: a\n",
       "f:5: Pod a: metadata.labels.true: expected a string, got a boolean false "
       "(put it in quotes)"},
      {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n"
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"uid\":[],\"name\":\"b\"}}\n",
       "f:2: Pod b: metadata.uid: expected a string, got a list"},
  });
}

TEST(ReadErrors, WrongTypes) {
  const auto spec = [](std::string_view text) {
    return PodWith(Join({"\n\"spec\":{", text, "}"}));
  };
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"("nodeName":5)", "nodeName: expected a string, got a number 5 (put it in quotes)"},
      {R"("nodeName":true)", "nodeName: expected a string, got a boolean true (put it in quotes)"},
      {R"("nodeName":{})", "nodeName: expected a string, got an object"},
      {R"("priority":"7")", R"(priority: expected an integer of 32 bits, got a string "7")"},
      {R"("priority":1.5)", "priority: expected an integer of 32 bits, got a number 1.5"},
      {R"("priority":1.0)", "priority: expected an integer of 32 bits, got a number 1.0"},
      {R"("priority":1e3)", "priority: expected an integer of 32 bits, got a number 1e3"},
      {R"("priority":2147483648)",
       "priority: expected an integer of 32 bits, got a number 2147483648"},
      {R"("priority":-99999999999999999999)",
       "priority: expected an integer of 32 bits, got a number -99999999999999999999"},
      {R"("priority":[])", "priority: expected an integer of 32 bits, got a list"},
      {R"("hostNetwork":"yes")", R"(hostNetwork: expected true or false, got a string "yes")"},
      {R"("hostNetwork":1)", "hostNetwork: expected true or false, got a number 1"},
      {R"("nodeSelector":[])", "nodeSelector: expected an object, got a list"},
      {R"("nodeSelector":{"disk":1})",
       "nodeSelector.disk: expected a string, got a number 1 (put it in quotes)"},
      {R"("nodeSelector":{"a.b/c":["x"]})", "nodeSelector.a.b/c: expected a string, got a list"},
      {R"("containers":{})", "containers: expected a list, got an object"},
      {R"("containers":"c")", R"(containers: expected a list, got a string "c")"},
      {R"("containers":[{},"c"])", R"(containers[1]: expected an object, got a string "c")"},
      {R"("containers":[{"ports":[{"hostPort":"80"}]}])",
       R"(containers[0].ports[0].hostPort: expected an integer of 32 bits, got a string "80")"},
      {R"("containers":[{"resources":{"requests":["cpu"]}}])",
       "containers[0].resources.requests: expected an object, got a list"},
      {R"("containers":[{"resources":{"requests":{"cpu":true}}}])",
       "containers[0].resources.requests.cpu: expected a quantity, got a boolean true"},
      {R"("containers":[{"resources":{"requests":{"cpu":{}}}}])",
       "containers[0].resources.requests.cpu: expected a quantity, got an object"},
      {R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}})",
       "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: expected a list, "
       "got "
       "an object"},
      {R"("volumes":[{"ephemeral":5}])",
       "volumes[0].ephemeral: expected an object, got a number 5"},
      {R"("tolerations":[{"effect":3}])",
       "tolerations[0].effect: expected a string, got a number 3 (put it in quotes)"},
      {R"("topologySpreadConstraints":[{"matchLabelKeys":[1]}])",
       "topologySpreadConstraints[0].matchLabelKeys[0]: expected a string, got a number 1 (put "
       "it "
       "in quotes)"},
  };
  for (const auto& [text, message] : cases) {
    ExpectRefused({{spec(text), Join({"f:2: Pod ml/a: spec.", message})}});
  }
  ExpectRefused({
      {PodWith(R"("status":{"startTime":5})"),
       "f:1: Pod ml/a: status.startTime: expected a time, got a number 5"},
      {R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"images":[)"
       R"({"sizeBytes":1e30}]}})",
       "f:1: Node n1: status.images[0].sizeBytes: expected an integer of 64 bits, got a number "
       "1e30"},
      {R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},)"
       R"("status":{"disruptedPods":[]}})",
       "f:1: PodDisruptionBudget b: status.disruptedPods: expected an object, got a list"},
  });
}

TEST(ReadErrors, WrongWords) {
  ExpectRefused({
      {PodWith(R"("spec":{"tolerations":[{"operator":"Equals"}]})"),
       R"(f:1: Pod ml/a: spec.tolerations[0].operator: "Equals" is not allowed (allowed: Equal, )"
       "Exists, Lt, Gt)"},
      {PodWith(R"("spec":{"tolerations":[{"effect":"noschedule"}]})"),
       R"(f:1: Pod ml/a: spec.tolerations[0].effect: "noschedule" is not allowed (allowed: )"
       "NoSchedule, PreferNoSchedule, NoExecute)"},
      {PodWith(R"("spec":{"topologySpreadConstraints":[{"whenUnsatisfiable":""}]})"),
       R"(f:1: Pod ml/a: spec.topologySpreadConstraints[0].whenUnsatisfiable: "" is not allowed )"
       "(allowed: DoNotSchedule, ScheduleAnyway)"},
      {PodWith(R"("spec":{"topologySpreadConstraints":[{"nodeTaintsPolicy":"honor"}]})"),
       R"(f:1: Pod ml/a: spec.topologySpreadConstraints[0].nodeTaintsPolicy: "honor" is not )"
       "allowed (allowed: Honor, Ignore)"},
      {R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":)"
       R"({"selector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}})",
       R"(f:1: ReplicaSet r: spec.selector.matchExpressions[0].operator: "Is" is not allowed )"
       "(allowed: In, NotIn, Exists, DoesNotExist, Gt, Lt)"},
      {"kind: Node\napiVersion: v1\nmetadata: {name: n1}\nspec:\n  taints:\n  - key: k\n"
       "    effect: NoRun\n",
       R"(f:7: Node n1: spec.taints[0].effect: "NoRun" is not allowed (allowed: NoSchedule, )"
       "PreferNoSchedule, NoExecute)"},
  });
}

TEST(ReadErrors, WrongQuantities) {
  constexpr std::string_view kAllowed =
      " (allowed: a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent like "
      "e3)";
  const auto request = [](std::string_view value) {
    return PodWith(Join(
        {R"("spec":{"containers":[{"resources":{"requests":{)", "\n\"memory\":", value, "}}}]}"}));
  };
  constexpr std::string_view kWhere =
      "f:2: Pod ml/a: spec.containers[0].resources.requests.memory: ";
  ExpectRefused({
      {request(R"("6GiB")"),
       Join({kWhere, R"("6GiB" is not a quantity: unknown suffix "GiB")", kAllowed})},
      {request(R"("1 Gi")"),
       Join({kWhere, R"("1 Gi" is not a quantity: unknown suffix " Gi")", kAllowed})},
      {request(R"("")"), Join({kWhere, R"("" is not a quantity: it is empty)", kAllowed})},
      {request(R"("\n")"), Join({kWhere, R"("" is not a quantity: it is empty)", kAllowed})},
      {request(R"("half")"),
       Join({kWhere, R"("half" is not a quantity: it doesn't start with a number)", kAllowed})},
      {request("1e30"), Join({kWhere, R"("1e30" is too large for a quantity (allowed: at most )",
                              "9223372036854775807 units, with either sign)"})},
  });
  ExpectRefused(
      {{"kind: Node\napiVersion: v1\nmetadata: {name: n1}\nstatus:\n  allocatable:\n"
        "    cpu: 4\n    memory: 16GB\n",
        Join({R"(f:7: Node n1: status.allocatable.memory: "16GB" is not a quantity: )",
              R"(unknown suffix "GB")", kAllowed})}});
}

// Messages stay on one line and short, and characters whole, whatever the text holds.
TEST(ReadErrors, QuoteWhatIsLongOrStrange) {
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  ExpectRefused({
      {PodWith(R"("spec":{"tolerations":[{"effect":"No\nSchedule\u0007\u007f"}]})"),
       R"(f:1: Pod ml/a: spec.tolerations[0].effect: "No\nSchedule\x07\x7f" is not allowed )"
       "(allowed: NoSchedule, PreferNoSchedule, NoExecute)"},
      {PodWith(Join({R"("spec":{"tolerations":[{"effect":")", umlauts, R"("}]})"})),
       Join({R"(f:1: Pod ml/a: spec.tolerations[0].effect: ")", umlauts.substr(0, 60),
             R"(…" is not allowed (allowed: NoSchedule, PreferNoSchedule, NoExecute))"})},
      {PodWith(Join({R"("spec":{"priority":")", umlauts, "\"}"})),
       Join({R"(f:1: Pod ml/a: spec.priority: expected an integer of 32 bits, got a string ")",
             umlauts.substr(0, 58), "…"})},
      {PodWith(R"("spec":{"nodeSelector":{"a\nb":5}})"),
       R"(f:1: Pod ml/a: spec.nodeSelector.a\nb: expected a string, got a number 5 )"
       "(put it in quotes)"},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a\r\nb"},"spec":5})",
       R"(f:1: Pod a\r\nb: spec: expected an object, got a number 5)"},
  });
}

TEST(ReadErrors, ListsInListsHaveALimit) {
  std::string text, path;
  for (int i = 0; i < 17; ++i) text += R"({"kind":"List","items":[)";
  for (int i = 0; i < 16; ++i) path += (i == 0 ? "items[0]" : ".items[0]");
  for (int i = 0; i < 17; ++i) text += "]}";
  ExpectRefused({{text, "f:1: " + path + ": Lists are nested deeper than 16 levels"}});
}

TEST(ReadErrors, BrokenJson) {
  ExpectRefused({
      // The text ends too early.
      {"{", "f:1: the text ends in the middle of an object"},
      {"[", "f:1: the text ends in the middle of a list"},
      {"[\n{}\n,\n", "f:4: [1]: the text ends where a value should be"},
      {R"({"apiVersion":"v1","kind":"Po)", "f:1: kind: the text ends in the middle of a string"},
      {R"({"apiVersion":"v1","kind":"Pod\)", "f:1: kind: the text ends in the middle of a string"},
      {R"({"apiVersion":"v1","ki)", "f:1: the text ends in the middle of a string"},
      {R"({"apiVersion":"v1","kind")", "f:1: the text ends in the middle of an object"},
      {R"({"apiVersion":"v1","kind":)", "f:1: kind: the text ends where a value should be"},
      {R"({"apiVersion":"v1","kind":"Pod")", "f:1: the text ends in the middle of an object"},
      {R"({"apiVersion":"v1","kind":"Pod",)", "f:1: the text ends in the middle of an object"},
      {"{\"kind\":\"List\",\"items\":[\n{\"metadata\":{\"name\":\"a\"}},\n{\"metadata\":{\n",
       "f:4: items[1].metadata: the text ends in the middle of an object"},
      {"{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Pod\"}\n",
       "f:3: items: the text ends in the middle of a list"},
      {PodWith(R"("spec":{"priority":5)"), "f:1: the text ends in the middle of an object"},
      // Something is missing in the middle.
      {R"({"apiVersion":"v1" "kind":"Pod"})",
       R"(f:1: apiVersion: expected `,` or `}`, got `"kind"`)"},
      {"{\"apiVersion\":\"v1\"\n\"kind\":\"Pod\"}",
       R"(f:2: apiVersion: expected `,` or `}`, got `"kind"`)"},
      {R"({"apiVersion" "v1"})", R"(f:1: apiVersion: expected `:` and a value, got `"v1"`)"},
      {R"({"apiVersion":,"kind":"Pod"})", "f:1: apiVersion: expected a value, got `,`"},
      {Join({R"({"kind":"List","items":[)", kPodJson, " {}]}"}),
       "f:1: items[0]: expected `,` or `]`, got `{`"},
      {R"({"kind":"List","items":[{},{})"
       "\n}",
       "f:2: items[1]: expected `,` or `]`, got `}`"},
      {PodWith(R"("spec":{"nodeSelector":{"a":"b"])"),
       "f:1: spec.nodeSelector.a: expected `,` or `}`, got `]`"},
      // Something is there that shouldn't be.
      {Join({kPodJson, "]"}), "f:1: expected an object or the end of the text, got `]`"},
      {Join({kPodJson, "\n}"}), "f:2: expected an object or the end of the text, got `}`"},
      {Join({kPodJson, ",\n", kPodJson}),
       "f:1: expected an object or the end of the text, got `,`"},
      {Join({kPodJson, "\nDONE 5"}), "f:2: expected an object or the end of the text, got `DONE`"},
      {Join({kPodJson, "\n\n\"x\""}),
       R"(f:3: expected an object or the end of the text, got `"x"`)"},
      {Join({kPodJson, kPodJson, "5"}), "f:1: expected an object or the end of the text, got `5`"},
      {Join({"[", kPodJson, ",]"}), "f:1: [1]: expected a value, got `]`"},
      {R"({"apiVersion":"v1","kind":"Pod",})", "f:1: expected a key in quotes, got `}`"},
      {R"({"kind":"Pod",apiVersion:"v1"})", "f:1: expected a key in quotes, got `apiVersion`"},
      {R"({"kind":"Pod","apiVersion":"v1","metadata":{'name':'a'}})",
       "f:1: metadata: expected a key in quotes or `}`, got `'name'`"},
      {"{\"kind\":\"Pod\", // a comment\n\"apiVersion\":\"v1\"}",
       "f:1: expected a key in quotes, got `//`"},
      // Values that JSON doesn't have.
      {PodWith(R"("spec":{"priority":05})"),
       "f:1: spec.priority: `05` is neither a number nor a string in quotes"},
      {PodWith(R"("spec":{"priority":5.})"),
       "f:1: spec.priority: `5.` is neither a number nor a string in quotes"},
      {PodWith(R"("spec":{"priority":-})"),
       "f:1: spec.priority: `-` is neither a number nor a string in quotes"},
      {PodWith(R"("spec":{"priority":0x10})"),
       "f:1: spec.priority: `0x10` is neither a number nor a string in quotes"},
      {PodWith(R"("spec":{"overhead":{"cpu":500m}})"),
       "f:1: spec.overhead.cpu: `500m` is neither a number nor a string in quotes"},
      {PodWith(R"("spec":{"priority":+5})"), "f:1: spec.priority: expected a value, got `+5`"},
      {PodWith(R"("spec":{"priority":NaN})"), "f:1: spec.priority: expected a value, got `NaN`"},
      {PodWith(R"("spec":{"hostNetwork":True})"),
       "f:1: spec.hostNetwork: expected a value, got `True`"},
      {PodWith(R"("spec":{"hostNetwork":tru})"),
       "f:1: spec.hostNetwork: expected a value, got `tru`"},
      {PodWith(R"("spec":{"nodeName":nul})"), "f:1: spec.nodeName: expected a value, got `nul`"},
      {PodWith(R"("spec":{"nodeName":undefined})"),
       "f:1: spec.nodeName: expected a value, got `undefined`"},
      // Strings.
      {"{\"kind\":\"Pod\n\"}", "f:1: kind: a string isn't closed on its line"},
      {"{\"kind\":\"Pod,\n\"apiVersion\":\"v1\"}", "f:1: kind: a string isn't closed on its line"},
      {"{\"kind\":\"P\x01\"}",
       "f:1: kind: a control character in a string must be escaped (\\x01)"},
      {PodWith(R"("spec":{"nodeName":"\q"})"),
       R"(f:1: spec.nodeName: unknown escape `\q` in a string)"},
      {PodWith(R"("spec":{"nodeName":"\u12g4"})"),
       R"(f:1: spec.nodeName: `\u` in a string needs four hexadecimal digits)"},
      {PodWith(R"("spec":{"nodeName":"\ud800"})"),
       R"(f:1: spec.nodeName: `\ud800` in a string is half of a character)"},
      {PodWith(R"("spec":{"nodeName":"\udc00\ud800"})"),
       R"(f:1: spec.nodeName: `\udc00` in a string is half of a character)"},
      {"{\"kind\":\"Pod\",\n\"x\":\"\xff\"}", "f:2: x: the text is not valid UTF-8"},
      {"{\"kind\":\"Pod\",\n\n\"x\":\"\xed\xa0\x80\"}", "f:3: x: the text is not valid UTF-8"},
      {"{\"kind\":\xc3}", "f:1: kind: the text is not valid UTF-8"},
      {"{\"kind\":\0}"sv, R"(f:1: kind: expected a value, got `\x00`)"},
  });
}

// What looks like a wrong value may follow from a fault before it.
TEST(ReadErrors, FaultsBeforeWrongValues) {
  ExpectRefused({
      {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"x\":[1 2],\n\"metadata\":{\"name\":5}}",
       "f:1: x[0]: expected `,` or `]`, got `2`"},
      {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":5},\n\"x\":[1 2]}",
       "f:1: Pod: metadata.name: expected a string, got a number 5 (put it in quotes)"},
  });
}

TEST(ReadErrors, BrokenStreams) {
  const std::string pod(kPodJson);
  ExpectRefused({
      {pod + "\n" + pod + "\n" + pod.substr(0, pod.size() - 1) + "\n",
       "f:4: the text ends in the middle of an object"},
      {pod + "\n" + pod.substr(0, 20), "f:2: the text ends in the middle of a string"},
      {pod + "\n{\"apiVersion\":\"v1\" \"kind\":\"Pod\"}\n" + pod,
       R"(f:2: apiVersion: expected `,` or `}`, got `"kind"`)"},
      {pod + "\n{}\n" + pod, "f:2: kind: must be given"},
      {pod + "\n" + pod + "\n{\"kind\":\"Pod\xff\"}", "f:3: kind: the text is not valid UTF-8"},
      {pod + "\n[" + pod + ",\n7]", "f:3: [1]: expected an object, got a number 7"},
  });
}

TEST(ReadErrors, BrokenYaml) {
  ExpectRefused({
      {"kind: Pod\n? [a]\n: b\n",
       "f:2: a mapping's key is a sequence or mapping; it must be a string (or is a closing "
       "bracket "
       "missing?)"},
      {"kind: Pod\nname: \xff\n", "f:2: the text is not valid UTF-8"},
      {"kind: Pod\nname: \x01\n", "f:2: control characters are not allowed"},
      {"kind: Pod\nx: .inf\n", "f:2: the number `.inf` has no form in JSON"},
  });
  // The words are yaml-cpp's.
  const std::vector<Refused> starts = {
      {"kind: Pod\nmetadata:\n  name: [a\n", "f:3: "},
      {"kind: Pod\nmetadata: {name: a\n", "f:2: "},
      {"kind: Pod\n metadata:\n  name: a\n", "f:2: "},
      {"kind: \"Pod\nx: 5\n", "f:2: "},
      {"kind: Pod\nmetadata: *nobody\n", "f:2: "},
      {"kind: Pod\nx: @a\n", "f:2: "},
      {"a: b: c\n", "f:1: "},
  };
  for (const auto& [text, start] : starts) {
    const Result<ObjectList> objects = ParseObjects(text, "f");
    ASSERT_FALSE(objects.ok()) << text;
    const std::string& message = objects.error().message();
    EXPECT_TRUE(message.starts_with(start) && message.size() > start.size()) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ReadErrors, LinesOfYaml) {
  ExpectRefused({
      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n"
       "    ports:\n    - hostPort: http\n",
       R"(f:9: Pod a: spec.containers[0].ports[0].hostPort: expected an integer of 32 bits, got a )"
       R"(string "http")"},
      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n\n  # a "
       "container\n"
       "  - name: c\n    resources:\n      requests: {cpu: 1,\n        memory: [1Gi]}\n",
       "f:12: Pod a: spec.containers[0].resources.requests.memory: expected a quantity, got a "
       "list"},
      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: &l\n    x: 1.0\n",
       "f:6: Pod a: metadata.labels.x: expected a string, got a number 1 (put it in quotes)"},
      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: 2026-01-31\n  annotations: >\n    text\n",
       R"(f:5: Pod 2026-01-31: metadata.annotations: expected an object, got a string "text\n")"},
      {"kind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n"
       "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n  spec:\n    priority: high\n",
       R"(f:12: Pod b: spec.priority: expected an integer of 32 bits, got a string "high")"},
  });
}

// ---------------------------------------------------------------------------------------------
// Every position at once

// What a leaf of a document may be.
enum class Kind { kString, kInteger, kBoolean, kQuantity, kTime, kWord, kList, kObject };

bool Takes(Kind kind, const Value& value) {
  if (value.IsNull()) return true;
  switch (kind) {
    case Kind::kString:
      return value.AsString() != nullptr;
    case Kind::kInteger:
      return value.AsInteger() != nullptr;
    case Kind::kBoolean:
      return value.AsBool() != nullptr;
    case Kind::kQuantity:
      return value.AsInteger() != nullptr || value.AsDouble() != nullptr;
    case Kind::kList:
      return value.AsList() != nullptr;
    case Kind::kObject:
      return value.AsObject() != nullptr;
    case Kind::kTime:
    case Kind::kWord:
      return false;
  }
  return false;
}

Kind KindOf(const Value& value, std::string_view path) {
  const auto under = [&](std::string_view list) {
    return path.find(std::string(list) + ".") != std::string_view::npos;
  };
  if (value.AsList() != nullptr) return Kind::kList;
  if (value.AsObject() != nullptr) return Kind::kObject;
  if (value.AsBool() != nullptr) return Kind::kBoolean;
  if (under("requests") || under("limits") || under("overhead") || under("capacity") ||
      under("allocatable") || under("allocatedResources")) {
    return Kind::kQuantity;
  }
  if (value.AsInteger() != nullptr) return Kind::kInteger;
  if (path.ends_with("Timestamp") || path.ends_with("startTime")) return Kind::kTime;
  for (const std::string_view word :
       {"operator", "effect", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    if (path.ends_with(word)) return Kind::kWord;
  }
  return Kind::kString;
}

// Puts wrong values in the place of every value of an object, one at a time, and looks at what is
// said of each.
class TypeSweep {
 public:
  TypeSweep(Value& object, std::string subject) : object_(object), subject_(std::move(subject)) {}

  int Run() {
    for (auto& [key, value] : *object_.AsObject()) {
      if (key != "kind" && key != "apiVersion") Below(value, key);
    }
    return tried_;
  }

 private:
  void Below(Value& at, const std::string& path) {
    const Value saved = at;
    for (const Value& wrong : {Value(), Value(true), Value(777), Value(77.5), Value("~wrong~"),
                               Value(Value::List{Value("~wrong~")}), Value(Value::Object())}) {
      at = wrong;
      Try(KindOf(saved, path), wrong, path);
    }
    at = saved;
    if (path.ends_with("disruptedPods")) return;  // of which only the keys are read
    if (Value::Object* object = at.AsObject()) {
      for (auto& [key, value] : *object) Below(value, Join({path, ".", key}));
    } else if (Value::List* list = at.AsList()) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        Below((*list)[i], Join({path, "[", std::to_string(i), "]"}));
      }
    }
  }

  void Try(Kind kind, const Value& wrong, const std::string& path) {
    const std::string text = ToJson(object_, 1);
    const Result<ObjectList> objects = ParseObjects(text, "f");
    ++tried_;
    if (objects.ok()) {
      EXPECT_TRUE(Takes(kind, wrong)) << path << " took " << ToJson(wrong);
      return;
    }
    const std::string& message = objects.error().message();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    // A part without what must be in it.
    const bool empty = wrong.IsNull() || wrong == Value(Value::Object());
    if (empty && message.ends_with(": must be given")) return;
    if (path == "metadata" || path == "metadata.name") return;
    // A list where a list may be has a wrong element; all else is wrong itself.
    const bool element = wrong.AsList() != nullptr && kind == Kind::kList;
    EXPECT_TRUE(element || !Takes(kind, wrong)) << message;
    const std::string what = Join({": ", path == "metadata.namespace" ? "Pod a" : subject_, ": ",
                                   path, element ? "[0]: " : ": "});
    const bool unique = wrong == Value("~wrong~") || wrong == Value(77.5);
    if (!unique) {
      EXPECT_NE(message.find(what), std::string::npos) << message;
      return;
    }
    const std::size_t offset = text.find(wrong.AsString() != nullptr ? "~wrong~" : "77.5");
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(offset), '\n');
    EXPECT_TRUE(message.starts_with("f:" + std::to_string(line) + what)) << message << text;
  }

  Value& object_;
  std::string subject_;
  int tried_ = 0;
};

TEST(ReadErrors, EveryPositionChecksItsType) {
  Value pod = *ParseValue(kFullPod);
  int tried = TypeSweep(pod, "Pod ml/a").Run();
  Value others = *ParseValue(kOtherObjects);
  for (Value& object : *others.AsList()) {
    const Value& meta = *object.Find("metadata");
    const std::string name = *meta.Find("name")->AsString();
    // The pod has shown what is said of metadata.
    object.Set("metadata", Value::Object{{"name", name}});
    tried += TypeSweep(object, *object.Find("kind")->AsString() + " " + name).Run();
  }
  EXPECT_GT(tried, 1000);
}

// ---------------------------------------------------------------------------------------------
// Robustness

// `text` with one piece of it changed: bytes flipped, cut off, doubled, removed or swapped.
std::string Mutated(const std::string& text, Random& random) {
  std::string out = text;
  const std::size_t at = random.Below(out.size());
  const std::size_t length = 1 + random.Below(std::min<std::size_t>(40, out.size() - at));
  switch (random.Below(6)) {
    case 0:
      out.resize(at);
      break;
    case 1:
      for (std::uint64_t i = 1 + random.Below(4); i > 0; --i) {
        out[random.Below(out.size())] ^= static_cast<char>(1 << random.Below(8));
      }
      break;
    case 2:
      out[at] = static_cast<char>(random.Below(256));
      break;
    case 3:
      out.insert(random.Below(out.size()), text, at, length);
      break;
    case 4:
      out.erase(at, length);
      break;
    default:
      out[at] = "{}[],:\"\\ \n0-e"[random.Below(13)];
      break;
  }
  return out;
}

void ExpectAnswer(const std::string& text, int& refused) {
  const Result<ObjectList> objects = ParseObjects(text, "f");
  if (objects.ok()) return;
  ++refused;
  const std::string& message = objects.error().message();
  EXPECT_TRUE(message.starts_with("f:")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u) << message;
}

TEST(Read, BrokenTextsAreRefusedOrRead) {
  Random random(20260131);
  std::vector<std::string> texts;
  for (const char* vector : {"default", "sums", "spread-hard"}) {
    const auto folders = Folders(TestsDir() / "conformance" / "vectors", vector);
    ASSERT_FALSE(folders.empty()) << vector;
    texts.push_back(ReadFile(folders.front() / "cluster.json"));
  }
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += std::string(i % 2 == 0 ? kPodJson : kNodeJson) + "\n";
  texts.push_back(lines);
  texts.emplace_back(kFullPod);
  texts.emplace_back(kOtherObjects);
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = Mutated(texts[static_cast<std::size_t>(i) % texts.size()], random);
    if (i % 3 == 0 && !text.empty()) text = Mutated(text, random);
    ExpectAnswer(text, refused);
    if (HasFailure()) {
      ADD_FAILURE() << "text " << i << ":\n" << text;
      return;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Read, BrokenYamlIsRefusedOrRead) {
  Random random(20260201);
  std::vector<std::string> texts;
  for (const auto& folder : Folders(TestsDir() / "cases", "B")) {
    if (std::filesystem::exists(folder / "pod.yaml")) {
      texts.push_back(ReadFile(folder / "pod.yaml"));
    }
  }
  ASSERT_FALSE(texts.empty());
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = Mutated(texts[static_cast<std::size_t>(i) % texts.size()], random);
    if (i % 3 == 0 && !text.empty()) text = Mutated(text, random);
    ExpectAnswer(text, refused);
    if (HasFailure()) {
      ADD_FAILURE() << "text " << i << ":\n" << text;
      return;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(Read, DeepNestingIsNoTrouble) {
  constexpr int kDepth = 1000000;
  const std::string deep(kDepth, '[');
  const std::string close(kDepth, ']');
  EXPECT_EQ(Read(PodWith("\"unread\":" + deep + close)), Names{"Pod ml/a"});
  EXPECT_FALSE(ParseObjects(deep).ok());
  EXPECT_FALSE(ParseObjects(deep + close).ok());
  std::string objects;
  for (int i = 0; i < kDepth / 10; ++i) objects += R"({"kind":"List","items":[)";
  EXPECT_FALSE(ParseObjects(objects).ok());
}

// Every prefix of a text gives an answer; none but the whole is taken for one.
TEST(Read, CutOffTexts) {
  const std::string text = "[" + std::string(kFullPod) + "]";
  for (std::size_t size = 1; size < text.size(); ++size) {
    const Result<ObjectList> objects = ParseObjects(std::string_view(text).substr(0, size), "f");
    ASSERT_FALSE(objects.ok()) << size;
    const std::string& message = objects.error().message();
    const bool in_word = message.find("expected a value, got `t") != std::string::npos;  // tr|ue
    EXPECT_TRUE(in_word || message.find("the text ends") != std::string::npos) << message;
  }
  EXPECT_EQ(Read(text), Names{"Pod ml/a"});
}

// ---------------------------------------------------------------------------------------------
// Long Lists, which are read piece by piece when they are laid out evenly.

// A List of pods "ml/0", "ml/1" and so on of 2 KB, indented as by kubectl. Each has 11 lines.
struct LongList {
  std::string before = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [";
  std::string type = "\n            \"apiVersion\": \"v1\",\n            \"kind\": \"Pod\",";
  int pods = 400;
  std::map<int, std::string> instead;  // of the pod of that number
  std::string after = "\n    ],\n    \"kind\": \"List\"\n}\n";

  std::string Text() const {
    std::string out = before;
    for (int i = 0; i < pods; ++i) {
      const auto other = instead.find(i);
      out += i == 0 ? "\n        " : ",\n        ";
      out += other != instead.end() ? other->second : PodText(std::to_string(i));
    }
    return out + after;
  }
  std::string PodText(const std::string& name, const std::string& spec = "") const {
    return "{" + type + "\n            \"metadata\": {\n                \"annotations\": {\n" +
           std::string(20, ' ') + "\"text\": \"" + std::string(1800, 'x') + "\\n},\\n{\"\n" +
           std::string(16, ' ') + "},\n                \"name\": \"" + name +
           "\",\n                \"namespace\": \"ml\"\n            }" + spec + "\n        }";
  }
};

// The answer to a text, which must be the same when the text is read at once: blanks before it keep
// its layout from being seen.
Names ReadBothWays(const std::string& text) {
  Names pieces = Read(text);
  const Names whole = Read(std::string(5000, ' ') + text);
  EXPECT_EQ(pieces, whole);
  return pieces;
}

Names PodNames(int from, int to) {
  Names out;
  for (int i = from; i < to; ++i) out.push_back("Pod ml/" + std::to_string(i));
  return out;
}

TEST(ReadLong, ListsOfAllLayouts) {
  const Names all = PodNames(0, 400);
  LongList list;
  const std::string text = list.Text();
  EXPECT_EQ(ReadBothWays(text), all);
  std::string other = text;
  std::erase(other, '\n');
  EXPECT_EQ(ReadBothWays(other), all);
  std::erase(other, ' ');
  EXPECT_EQ(ReadBothWays(other), all);
  other = text;
  std::erase(other, ' ');
  EXPECT_EQ(ReadBothWays(other), all);
  // Objects inside of the items that look like items, so that nothing can be split.
  LongList nested;
  nested.type =
      "\"x\":[{\"x\":[1]},{\"x\":[{\"x\":[2]},{\"x\":[3]}]}],"
      "\"kind\":\"Pod\",\"apiVersion\":\"v1\",";
  other = nested.Text();
  std::erase(other, ' ');
  std::erase(other, '\n');
  EXPECT_EQ(ReadBothWays(other), all);
  std::string windows;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(ReadBothWays(windows), all);
  list.pods = 1;
  list.instead[0] = list.PodText("0", std::string(600000, ' '));
  EXPECT_EQ(ReadBothWays(list.Text()), PodNames(0, 1));
}

TEST(ReadLong, TypedLists) {
  const Names all = PodNames(0, 400);
  LongList list;
  list.type = "";
  list.before = "{\"kind\": \"PodList\", \"apiVersion\": \"v1\",\n\"items\" : [";
  list.after = "]}";
  EXPECT_EQ(ReadBothWays(list.Text()), all);
  list.before = "{\"items\": [";
  list.after = "], \"kind\": \"PodList\", \"apiVersion\": \"v1\"}";
  EXPECT_EQ(ReadBothWays(list.Text()), all);
  list.after = "]}";
  EXPECT_EQ(ReadBothWays(list.Text()), Names{"error: f:1: kind: must be given"});
  list.after = "], \"kind\": \"Listing\", \"apiVersion\": \"v1\"}";
  EXPECT_EQ(Parse(list.Text()).ignored, (std::map<std::string, std::int64_t>{{"v1 Listing", 1}}));
  // The first kind counts.
  list.before = "{\"kind\": \"NodeList\", \"apiVersion\": \"v1\", \"items\": [";
  list.after = "], \"kind\": \"PodList\"}";
  EXPECT_EQ(ReadBothWays(list.Text()).front(), "Node ml/0");
  // An item without a version has that of a typed list only.
  list.type = "\"kind\": \"ConfigMap\",";
  list.before = "{\"items\": [";
  list.after = "], \"kind\": \"SecretList\", \"apiVersion\": \"v1\"}";
  EXPECT_EQ(Parse(list.Text()).ignored,
            (std::map<std::string, std::int64_t>{{"v1 ConfigMap", 400}}));
  list.after = "], \"kind\": \"List\", \"apiVersion\": \"v1\"}";
  EXPECT_EQ(Parse(list.Text()).ignored, (std::map<std::string, std::int64_t>{{"ConfigMap", 400}}));
}

TEST(ReadLong, ItemsOfAllKinds) {
  LongList list;
  LongList inner;
  inner.pods = 2;
  list.instead[200] = inner.Text();  // with its indentation, which looks like the outer items'
  list.instead[300] = std::string(kNodeJson);
  list.instead[301] = R"({"kind":"ConfigMap","apiVersion":"v1"})";
  Names expected = {"Node n1"};
  for (const Names& part :
       {PodNames(0, 200), PodNames(0, 2), PodNames(201, 300), PodNames(302, 400)}) {
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(ReadBothWays(list.Text()), expected);
  EXPECT_EQ(Parse(list.Text()).ignored, (std::map<std::string, std::int64_t>{{"v1 ConfigMap", 1}}));
}

TEST(ReadLong, WhatFollowsTheList) {
  const LongList list;
  const std::string text = list.Text();
  const Names once = PodNames(0, 400);
  Names twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(ReadBothWays(text + text), twice);
  EXPECT_EQ(ReadBothWays(text + "---\n" + text), twice);
  LongList more = list;
  more.after = "], \"items\": [" + std::string(kNodeJson) + "], \"kind\": \"List\"}";
  EXPECT_EQ(ReadBothWays(more.Text()).size(), 401u);
  more.after = "], \"items\": [], \"kind\": \"List\"}";
  EXPECT_EQ(ReadBothWays(more.Text()), PodNames(0, 400));
  // A list that isn't the object's own.
  more.before = "{\"kind\": \"List\", \"metadata\": {\"items\": [";
  more.after = "]}, \"items\": []}";
  EXPECT_EQ(ReadBothWays(more.Text()), Names{});
  more.after = "]}}";
  EXPECT_EQ(ReadBothWays(more.Text()), Names{});
}

TEST(ReadLong, ErrorsSayWhere) {
  LongList list;
  list.instead[399] = list.PodText("bad", ",\"spec\":{\"priority\":\"x\"}");
  EXPECT_EQ(ReadBothWays(list.Text()),
            Names{"error: f:4402: Pod ml/bad: spec.priority: expected an integer of 32 bits, got a "
                  "string \"x\""});
  list.instead[399] = "{\"kind\": \"Pod\"}";
  EXPECT_EQ(ReadBothWays(list.Text()),
            Names{"error: f:4393: items[399].apiVersion: must be given (allowed for a Pod: v1)"});
  list.instead = {{250, "{\"x\": tru}"}};
  EXPECT_EQ(ReadBothWays(list.Text()), Names{"error: f:2754: items[250].kind: must be given"});
  const std::string text = LongList().Text();
  EXPECT_EQ(ReadBothWays(text.substr(0, text.size() - 2)),
            Names{"error: f:4406: the text ends in the middle of an object"});
  EXPECT_EQ(ReadBothWays(text + "]"),
            Names{"error: f:4407: expected an object or the end of the text, got `]`"});
}

TEST(ReadLong, BrokenTextsAreReadAlike) {
  Random random(20260202);
  LongList list;
  list.pods = 300;
  const std::string text = list.Text();
  std::string line = text;
  std::erase(line, '\n');
  std::erase(line, ' ');
  for (int i = 0; i < 200; ++i) {
    const std::string broken = Mutated(i % 2 == 0 ? text : line, random);
    ReadBothWays(broken);
    if (HasFailure()) {
      ADD_FAILURE() << "text " << i;
      return;
    }
  }
}

TEST_F(ReadFiles, PipesAreOpenedOnce) {
  const std::string path = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string text = LongList().Text();
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << text; });
  const Result<ObjectList> objects = ReadObjects({path});
  writer.join();
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  EXPECT_EQ(NamesOf(*objects), PodNames(0, 400));
}

TEST_F(ReadFiles, LongListsAreReadAsTexts) {
  LongList list;
  const std::string good = Write("good.json", list.Text());
  const std::string node = Write("n.json", kNodeJson);
  const Result<ObjectList> objects = ReadObjects({good, node, good});
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  EXPECT_EQ(objects->pods.size(), 800u);
  EXPECT_EQ(objects->nodes.size(), 1u);
  EXPECT_EQ(NamesOf(*objects)[1], "Pod ml/0");
  EXPECT_EQ(NamesOf(*objects)[800], "Pod ml/399");

  const std::string compressed = (folder_ / "good.json.gz").string();
  const std::string text = list.Text();
  gzFile file = gzopen(compressed.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  const Result<ObjectList> decompressed = ReadObjects({compressed});
  ASSERT_TRUE(decompressed.ok()) << decompressed.error().message();
  EXPECT_EQ(NamesOf(*decompressed), PodNames(0, 400));

  list.instead[399] = "{\"kind\": 5}";
  const std::string bad = Write("bad.json", list.Text());
  EXPECT_EQ(ReadObjects({good, bad}).error().message(),
            bad + ":4393: items[399].kind: expected a string, got a number 5 (put it in quotes)");
}

}  // namespace
}  // namespace schedfw::api
