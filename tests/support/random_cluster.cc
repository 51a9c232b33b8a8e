#include "support/random_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "schedfw/api/read.h"
#include "support/cluster.h"

namespace schedfw::testing {

const char* const kRandomProfiles = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins:
    multiPoint: {enabled: [{name: NodeResourcesFit, weight: 7}, {name: ImageLocality, weight: 3}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResourceGroups: [vendor.example]
      scoringStrategy:
        type: MostAllocated
        resources: [{name: nvidia.com/gpu, weight: 5}, {name: cpu, weight: 1}]
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu}, {name: memory}, {name: nvidia.com/gpu}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 40, ignorePreferredTermsOfExistingPods: true}
- schedulerName: shape
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}, {name: memory, weight: 2}]
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 2}, {utilization: 60, score: 10}, {utilization: 90, score: 0}]
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
  - name: NodeAffinity
    args:
      addedAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 9, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}
)";

std::string Join(const std::vector<std::string>& documents) {
  std::string out;
  for (const std::string& document : documents) out += "---\n" + document + "\n";
  return out;
}

std::string RandomObjects::Pick(std::initializer_list<const char*> list) {
  return list.begin()[random_.Below(list.size())];
}

std::string RandomObjects::List(int most, std::string (RandomObjects::*make)()) {
  std::string out;
  for (int count = 1 + static_cast<int>(random_.Below(static_cast<std::uint64_t>(most))); count > 0;
       --count) {
    out += (out.empty() ? "" : ", ") + (this->*make)();
  }
  return "[" + out + "]";
}

std::string RandomObjects::Labels() {
  std::string out = "app: " + Pick({"a", "b", "c"});
  if (Chance(50)) out += ", tier: " + Pick({"front", "back"});
  if (Chance(40)) out += ", rev: '" + Pick({"1", "2"}) + "'";
  return "{" + out + "}";
}

// "cpu: 1, memory: 1Gi, …": what one container asks for.
std::string RandomObjects::Amounts(bool scalars) {
  std::string out;
  const auto add = [&](int percent, const std::string& name,
                       std::initializer_list<const char*> amounts) {
    if (Chance(percent)) out += (out.empty() ? "" : ", ") + name + ": " + Pick(amounts);
  };
  add(85, "cpu", {"100m", "250m", "1", "1500m", "0"});
  add(80, "memory", {"64Mi", "200M", "1Gi", "2.5Gi", "0"});
  if (scalars) {
    add(15, "ephemeral-storage", {"1Gi", "10G"});
    add(20, "nvidia.com/gpu", {"1", "2"});
    add(5, "vendor.example/foo", {"1", "3"});
    add(5, "hugepages-2Mi", {"2Mi", "64Mi"});
  }
  return "{" + out + "}";
}

std::string RandomObjects::LabelSelector() {
  switch (random_.Below(6)) {
    case 0:
    case 1:
      return "{matchLabels: {app: " + Pick({"a", "b", "c"}) + "}}";
    case 2:
      return "{matchExpressions: [{key: app, operator: " + Pick({"In", "NotIn"}) +
             ", values: [a, c]}]}";
    case 3:
      return "{matchLabels: {app: " + Pick({"a", "b"}) +
             "}, matchExpressions: [{key: tier, operator: " + Pick({"Exists", "DoesNotExist"}) +
             "}]}";
    case 4:
      return "{matchExpressions: [{key: rev, operator: NotIn, values: ['1']}]}";
    default:
      return "{}";
  }
}

std::string RandomObjects::NodeTerm() {
  switch (random_.Below(6)) {
    case 0:
      return "{matchExpressions: [{key: zone, operator: " + Pick({"In", "NotIn"}) +
             ", values: [z0, z2]}]}";
    case 1:
      return "{matchExpressions: [{key: disk, operator: " + Pick({"Exists", "DoesNotExist"}) +
             "}]}";
    case 2:
      return "{matchExpressions: [{key: gen, operator: " + Pick({"Gt", "Lt"}) + ", values: ['" +
             Pick({"2", "3"}) + "']}]}";
    case 3:
      return "{matchFields: [{key: metadata.name, operator: " + Pick({"In", "NotIn"}) +
             ", values: [" + NodeName() + "]}]}";
    case 4:
      return "{matchExpressions: [{key: disk, operator: In, values: [ssd]}, {key: zone, operator: "
             "Exists}]}";
    default:
      return "{}";
  }
}

std::string RandomObjects::NodeAffinity() {
  std::string out;
  if (Chance(60)) {
    out += "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
           List(3, &RandomObjects::NodeTerm) + "}";
  }
  if (Chance(70)) {
    out += out.empty() ? "" : ", ";
    out += "preferredDuringSchedulingIgnoredDuringExecution: [{weight: " +
           std::to_string(1 + random_.Below(100)) + ", preference: " + NodeTerm() +
           "}, {weight: 5, preference: " + NodeTerm() + "}]";
  }
  return "{" + out + "}";
}

std::string RandomObjects::AffinityTerm() {
  std::string out = "{topologyKey: " + Pick({"zone", "zone", "rack", "kubernetes.io/hostname"});
  if (Chance(95)) out += ", labelSelector: " + LabelSelector();
  if (Chance(25)) out += ", namespaces: [" + Pick({"ml", "web", "default, ml"}) + "]";
  if (Chance(25)) {
    out += ", namespaceSelector: " +
           Pick({"{}", "{matchLabels: {team: red}}",
                 "{matchExpressions: [{key: team, operator: NotIn, values: [blue]}]}"});
  }
  if (Chance(15)) out += ", " + Pick({"matchLabelKeys", "mismatchLabelKeys"}) + ": [rev]";
  return out + "}";
}

std::string RandomObjects::AffinityTerms() {
  std::string out;
  if (Chance(60)) {
    out =
        "requiredDuringSchedulingIgnoredDuringExecution: " + List(2, &RandomObjects::AffinityTerm);
  }
  if (Chance(60)) {
    out += out.empty() ? "" : ", ";
    out += "preferredDuringSchedulingIgnoredDuringExecution: [{weight: " +
           std::to_string(1 + random_.Below(100)) + ", podAffinityTerm: " + AffinityTerm() + "}]";
  }
  return "{" + out + "}";
}

std::string RandomObjects::Affinity() {
  std::string out;
  const auto add = [&](int percent, const std::string& name, const std::string& text) {
    if (Chance(percent)) out += (out.empty() ? "" : ", ") + name + ": " + text;
  };
  add(40, "nodeAffinity", NodeAffinity());
  add(15, "podAffinity", AffinityTerms());
  add(20, "podAntiAffinity", AffinityTerms());
  return "{" + out + "}";
}

std::string RandomObjects::SpreadConstraint() {
  const bool hard = Chance(50);
  std::string out = "{maxSkew: " + std::to_string(1 + random_.Below(3)) +
                    ", topologyKey: " + Pick({"zone", "rack", "kubernetes.io/hostname"}) +
                    ", whenUnsatisfiable: " + (hard ? "DoNotSchedule" : "ScheduleAnyway");
  if (Chance(95)) out += ", labelSelector: " + LabelSelector();
  if (hard && Chance(20)) out += ", minDomains: " + std::to_string(1 + random_.Below(5));
  if (Chance(25)) out += ", nodeAffinityPolicy: " + Pick({"Honor", "Ignore"});
  if (Chance(25)) out += ", nodeTaintsPolicy: " + Pick({"Honor", "Ignore"});
  if (Chance(15)) out += ", matchLabelKeys: [rev]";
  return out + "}";
}

std::string RandomObjects::Toleration() {
  if (Chance(10)) return "{operator: Exists}";
  std::string out = "{key: " + Pick({"dedicated", "gpu", "node.kubernetes.io/unschedulable"});
  out += Chance(50) ? ", operator: Exists" : ", value: " + Pick({"red", "blue"});
  if (Chance(50)) out += ", effect: " + Pick({"NoSchedule", "PreferNoSchedule", "NoExecute"});
  return out + "}";
}

std::string RandomObjects::Container(const std::string& name, bool sidecar) {
  std::string out = "{name: " + name + ", image: 'registry.example/" +
                    Pick({"app", "app:1", "db:2", "huge:3"}) + "'";
  if (Chance(85)) {
    out += ", resources: {" + Pick({"requests", "requests", "limits"}) + ": " + Amounts(true) + "}";
  }
  if (Chance(15)) {
    out += ", ports: [{containerPort: 80, hostPort: " + Pick({"80", "8080"}) +
           Pick({"", ", protocol: UDP", ", hostIP: 127.0.0.1"}) + "}]";
  }
  if (sidecar) out += ", restartPolicy: Always";
  return out + "}";
}

// Resizes and nominations.
std::string RandomObjects::Status(const std::string& node, int containers) {
  std::string out = "phase: " + std::string(node.empty() ? "Pending" : "Running");
  // Each pod has a start of its own, also one that waits: which of equally important pods on a node
  // is evicted depends on their order there.
  char start[40];
  std::snprintf(start, sizeof start, ", startTime: '2026-01-0%dT%02d:%02d:%02dZ'",
                static_cast<int>(1 + random_.Below(9)), pods_ / 3600 % 24, pods_ / 60 % 60,
                pods_ % 60);
  ++pods_;
  out += start;
  if (node.empty()) {
    if (Chance(20)) out += ", nominatedNodeName: " + NodeName();
    return "{" + out + "}";
  }
  if (Chance(10)) {
    out += ", conditions: [{type: PodResizePending, status: 'True', reason: " +
           Pick({"Infeasible", "Deferred"}) + "}]";
  }
  if (Chance(20)) {
    out += ", containerStatuses: [";
    for (int i = 0; i < containers; ++i) {
      out += (i == 0 ? "{name: c" : ", {name: c") + std::to_string(i);
      if (Chance(70)) out += ", allocatedResources: " + Amounts(false);
      if (Chance(70)) out += ", resources: {requests: " + Amounts(false) + "}";
      out += "}";
    }
    out += "]";
  }
  if (Chance(10)) {
    out += ", allocatedResources: " + Amounts(false) + ", resources: {requests: " + Amounts(false) +
           "}";
  }
  return "{" + out + "}";
}

std::string RandomObjects::Pod(const std::string& ns, const std::string& name,
                               const std::string& node) {
  std::string meta = "name: " + name + ", namespace: " + ns + ", labels: " + Labels();
  if (Chance(node.empty() ? 3 : 10)) meta += ", deletionTimestamp: '2026-01-01T00:00:00Z'";
  if (Chance(20)) {
    meta +=
        ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: set, uid: u1, "
        "controller: true}]";
  }
  const int containers = 1 + static_cast<int>(random_.Below(2));
  // Some that wait are nearly as large as a node and important, so that others must make room.
  const bool urgent = node.empty() && Chance(20);
  std::string spec = "containers: [";
  if (urgent) {
    spec += "{name: large, image: 'registry.example/app:1', resources: {requests: {cpu: '7'}}}, ";
  }
  for (int i = 0; i < containers; ++i) {
    spec += (i == 0 ? "" : ", ") + Container("c" + std::to_string(i), false);
  }
  spec += "]";
  if (Chance(20)) {
    spec += ", initContainers: [" + Container("i0", Chance(50)) + ", " +
            Container("i1", Chance(50)) + "]";
  }
  if (!node.empty()) spec += ", nodeName: " + node;
  spec += ", schedulerName: " + Pick({"default-scheduler", "packing", "shape"});
  if (Chance(50)) spec += ", affinity: " + Affinity();
  if (Chance(15)) spec += ", nodeSelector: {disk: " + Pick({"ssd", "hdd"}) + "}";
  if (Chance(50)) {
    spec += ", topologySpreadConstraints: " + List(2, &RandomObjects::SpreadConstraint);
  }
  if (Chance(50)) spec += ", tolerations: " + List(2, &RandomObjects::Toleration);
  if (Chance(10)) spec += ", overhead: {cpu: 50m, memory: 10Mi}";
  if (Chance(10)) spec += ", resources: {requests: " + Amounts(false) + "}";
  if (urgent) {
    spec += ", priorityClassName: high";
  } else if (Chance(50)) {
    spec += ", priorityClassName: " + Pick({"low", "high", "never"});
  }
  if (Chance(5)) spec += ", hostNetwork: true";
  if (Chance(5)) spec += ", volumes: [{name: v, image: {reference: 'registry.example/db:2'}}]";
  if (node.empty() && Chance(3)) spec += ", schedulingGates: [{name: example.com/wait}]";
  return "{apiVersion: v1, kind: Pod, metadata: {" + meta + "}, spec: {" + spec +
         "}, status: " + Status(node, containers) + "}";
}

std::string RandomObjects::Node(const std::string& name) {
  std::string labels = "kubernetes.io/hostname: " + name;
  if (Chance(90)) labels += ", zone: z" + std::to_string(random_.Below(3));
  if (Chance(80)) labels += ", rack: r" + std::to_string(random_.Below(5));
  if (Chance(60)) labels += ", disk: " + Pick({"ssd", "hdd"});
  if (Chance(60)) labels += ", gen: '" + std::to_string(1 + random_.Below(4)) + "'";
  std::string amounts = "cpu: " + Pick({"4", "6", "8"}) + ", memory: " + Pick({"8Gi", "16Gi"}) +
                        ", pods: " + Pick({"6", "110", "110"}) + ", ephemeral-storage: 100Gi";
  if (Chance(40)) amounts += ", nvidia.com/gpu: " + Pick({"2", "4"});
  if (Chance(20)) amounts += ", hugepages-2Mi: 128Mi, vendor.example/foo: 2";
  std::string spec;
  if (Chance(30)) {
    spec =
        "taints: [{key: " + Pick({"dedicated", "gpu"}) + ", value: " + Pick({"red", "blue"}) +
        ", effect: " + Pick({"NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"}) +
        "}]";
  }
  if (Chance(8)) spec += (spec.empty() ? "" : ", ") + std::string("unschedulable: true");
  std::string images;
  for (const auto& [image, size] :
       {std::pair{"app:latest", "50000000"}, std::pair{"app:1", "300000000"},
        std::pair{"db:2", "900000000"}, std::pair{"huge:3", "2000000000"}}) {
    if (!Chance(40)) continue;
    images += (images.empty() ? "" : ", ") + std::string("{names: ['registry.example/") + image +
              "'], sizeBytes: " + size + "}";
  }
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {" + labels +
         "}}, spec: {" + spec + "}, status: {" + Pick({"allocatable", "allocatable", "capacity"}) +
         ": {" + amounts + "}, images: [" + images + "]}}";
}

std::string RandomObjects::NamespaceObject(const std::string& name) {
  return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name +
         ", labels: {team: " + Pick({"red", "blue"}) + "}}}";
}

std::string RandomObjects::Service(const std::string& name) {
  return "{apiVersion: v1, kind: Service, metadata: {name: " + name +
         ", namespace: " + Namespace() + "}, spec: {selector: {app: " + Pick({"a", "b", "c"}) +
         "}}}";
}

std::string RandomObjects::Others() {
  std::vector<std::string> out = {
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: -5, "
      "globalDefault: true}",
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: "
      "1000}",
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: never}, value: "
      "100, "
      "preemptionPolicy: Never}",
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: set, namespace: default, uid: u1}, "
      "spec: {selector: {matchLabels: {app: b}}}}",
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: states, namespace: ml}, spec: "
      "{selector: {matchLabels: {app: c}}}}",
      "{apiVersion: v1, kind: ReplicationController, metadata: {name: rc, namespace: web}, spec: "
      "{selector: {tier: front}}}"};
  for (int i = 0; i < 3; ++i) {
    out.push_back("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b" +
                  std::to_string(i) + ", namespace: " + Namespace() + "}, spec: {selector: " +
                  LabelSelector() + "}, status: {disruptionsAllowed: " + Pick({"0", "1"}) + "}}");
  }
  return Join(out);
}

namespace {

// Ends the test: what follows would go on from a wrong state.
void Expect(const Result<void>& done) {
  if (!done.ok()) throw std::runtime_error(done.error().message());
}

api::ObjectList Read(const std::string& yaml) {
  auto objects = api::ParseObjects(yaml);
  if (!objects.ok()) throw std::runtime_error(objects.error().message() + "\n" + yaml);
  return *std::move(objects);
}

// A service of the same name in another namespace is another service.
std::string OtherKey(const std::string& name, const std::string& yaml) {
  const auto at = yaml.find("namespace: ");
  return at == std::string::npos ? name : yaml.substr(at, yaml.find('}', at) - at) + "/" + name;
}

}  // namespace

RandomCluster::RandomCluster(std::uint64_t seed) : objects_(seed) {
  others_["others"] = objects_.Others();
  for (const std::string name : {"default", "ml"}) {  // "web" has no object
    others_[name] = objects_.NamespaceObject(name);
  }
  const std::string service = objects_.Service("s0");
  others_[OtherKey("s0", service)] = service;
  for (int i = 0; i < 12; ++i) {
    const std::string name = objects_.NodeName();
    nodes_[name] = objects_.Node(name);
  }
  for (int i = 0; i < 60; ++i) {
    PodState pod;
    pod.ns = objects_.Namespace();
    pod.name = "p" + std::to_string(count_++);
    pod.waits = i % 6 == 0;
    if (!pod.waits) pod.node = objects_.NodeName();
    pod.yaml = objects_.Pod(pod.ns, pod.name, pod.node);
    const std::string key = pod.ns + "/" + pod.name;
    if (pod.waits) order_.push_back(key);
    pods_[key] = std::move(pod);
  }
  cluster_ = Rebuild();
}

RandomCluster RandomCluster::Fork() const {
  RandomCluster out(*this);
  out.cluster_ = cluster_.Fork();
  out.objects_.random() = Random(out.objects_.random().Next());
  return out;
}

std::vector<std::string> RandomCluster::Documents() const {
  std::vector<std::string> out;
  for (const auto& [name, yaml] : others_) out.push_back(yaml);
  for (const auto& [name, yaml] : nodes_) out.push_back(yaml);
  for (const auto& [key, pod] : pods_) {
    if (pod.waits) continue;
    std::string yaml = pod.yaml;
    // A pod that was bound here gets the name of its node.
    if (yaml.find(", nodeName: ") == std::string::npos) {
      yaml.insert(yaml.find("spec: {") + 7, "nodeName: " + pod.node + ", ");
    }
    out.push_back(yaml);
  }
  for (const std::string& key : order_) out.push_back(pods_.at(key).yaml);
  return out;
}

Cluster RandomCluster::Rebuild() const { return Parse(Join(Documents())); }

void RandomCluster::Step() {
  const auto any = [&](const auto& wanted) -> PodState* {
    std::vector<PodState*> found;
    for (auto& [key, pod] : pods_) {
      if (wanted(pod)) found.push_back(&pod);
    }
    return found.empty() ? nullptr : found[objects_.random().Below(found.size())];
  };
  const auto all = [](const PodState&) { return true; };
  const auto waiting = [](const PodState& pod) { return pod.waits; };
  const auto assumed = [](const PodState& pod) { return pod.assumed; };
  switch (objects_.random().Below(12)) {
    case 0:
    case 1:
      return ChangeNode();
    case 2:
      return DeleteNode();
    case 3:
    case 4:
      return AddPod();
    case 5:
    case 6:
      if (PodState* pod = any(all)) UpdatePod(*pod);
      return;
    case 7:
      if (PodState* pod = any(all)) DeletePod(pod->ns + "/" + pod->name);
      return;
    case 8:
    case 9:
      if (PodState* pod = any(waiting)) Assume(*pod);
      return;
    case 10:
      if (PodState* pod = any(assumed)) {
        objects_.Chance(50) ? Forget(*pod) : FinishBinding(*pod);
      }
      return;
    default:
      return ChangeOther();
  }
}

PodPtr RandomCluster::Find(const PodState& pod) const {
  PodPtr out = cluster_.view().FindPod(pod.ns, pod.name);
  if (!out) throw std::runtime_error("there is no pod " + pod.ns + "/" + pod.name);
  return out;
}

void RandomCluster::ChangeNode() {
  const std::string name = objects_.NodeName();
  const std::string yaml = objects_.Node(name);
  api::Node node = Read(yaml).nodes.at(0);
  Expect(nodes_.contains(name) ? cluster_.UpdateNode(std::move(node))
                               : cluster_.AddNode(std::move(node)));
  nodes_[name] = yaml;
}

void RandomCluster::DeleteNode() {
  const std::string name = objects_.NodeName();
  EXPECT_EQ(cluster_.DeleteNode(name).ok(), nodes_.erase(name) == 1);
}

void RandomCluster::AddPod() {
  PodState pod;
  pod.ns = objects_.Namespace();
  pod.name = "p" + std::to_string(count_++);
  pod.waits = objects_.Chance(60);
  if (!pod.waits) pod.node = objects_.NodeName();
  pod.yaml = objects_.Pod(pod.ns, pod.name, pod.node);
  Expect(cluster_.AddPod(Read(pod.yaml).pods.at(0)));
  const std::string key = pod.ns + "/" + pod.name;
  if (pod.waits) order_.push_back(key);
  pods_[key] = std::move(pod);
}

void RandomCluster::UpdatePod(PodState& pod) {
  const std::string key = pod.ns + "/" + pod.name;
  if (pod.waits && objects_.Chance(30)) {  // somebody else has bound it
    pod.node = objects_.NodeName();
    pod.waits = false;
    std::erase(order_, key);
  }
  pod.yaml = objects_.Pod(pod.ns, pod.name, pod.node);
  pod.assumed = false;
  Expect(cluster_.UpdatePod(Read(pod.yaml).pods.at(0)));
}

void RandomCluster::DeletePod(const std::string& key) {
  const PodState pod = pods_.at(key);
  Expect(cluster_.DeletePod(pod.ns, pod.name));
  std::erase(order_, key);
  pods_.erase(key);
}

void RandomCluster::Assume(PodState& pod) {
  const Snapshot& view = cluster_.view();
  if (view.size() == 0) return;
  const Row row = static_cast<Row>(objects_.random().Below(view.size()));
  const std::string node = view.name(row);
  Expect(cluster_.AssumePod(*Find(pod), row));
  pod.node = node;
  pod.waits = false;
  pod.assumed = true;
  std::erase(order_, pod.ns + "/" + pod.name);
}

void RandomCluster::Forget(PodState& pod) {
  Expect(cluster_.ForgetPod(*Find(pod)));
  pod.node.clear();
  pod.waits = true;
  pod.assumed = false;
  order_.push_back(pod.ns + "/" + pod.name);
}

void RandomCluster::FinishBinding(PodState& pod) {
  Expect(cluster_.FinishBinding(*Find(pod)));
  pod.assumed = false;
}

void RandomCluster::ChangeOther() {
  const std::string name = objects_.Pick({"default", "ml", "s0", "s1"});
  const std::string yaml = name[0] == 's' ? objects_.Service(name) : objects_.NamespaceObject(name);
  others_[OtherKey(name, yaml)] = yaml;
  Expect(cluster_.Apply(Read(yaml)));
}

}  // namespace schedfw::testing
