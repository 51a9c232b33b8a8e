// The other objects that scheduling reads, and the list of all objects of one cluster.
#ifndef SCHEDFW_API_OBJECTS_H_
#define SCHEDFW_API_OBJECTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/api/label_selector.h"
#include "schedfw/api/meta.h"
#include "schedfw/api/node.h"
#include "schedfw/api/node_resource_topology.h"
#include "schedfw/api/pod.h"
#include "schedfw/api/pod_group.h"

namespace schedfw::api {

/// scheduling.k8s.io/v1 PriorityClass.
struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool global_default = false;
  std::optional<std::string> preemption_policy;
};

/// policy/v1 PodDisruptionBudget.
struct PodDisruptionBudget {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
  std::int32_t disruptions_allowed = 0;
  std::vector<std::string> disrupted_pods;  ///< names in status.disruptedPods
};

struct Namespace {
  ObjectMeta metadata;
};

struct Service {
  ObjectMeta metadata;
  std::optional<StringMap> selector;  ///< absent: selects nothing
};

struct ReplicationController {
  ObjectMeta metadata;
  StringMap selector;  ///< empty: the labels of its template
  StringMap template_labels;
};

/// apps/v1 ReplicaSet and StatefulSet: for spreading only their selectors matter.
struct ReplicaSet {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
};
using StatefulSet = ReplicaSet;

/// Every object that one or more files hold, in the order of the files.
struct ObjectList {
  std::vector<Node> nodes;
  std::vector<Pod> pods;
  std::vector<PriorityClass> priority_classes;
  std::vector<PodDisruptionBudget> pod_disruption_budgets;
  std::vector<Namespace> namespaces;
  std::vector<Service> services;
  std::vector<ReplicationController> replication_controllers;
  std::vector<ReplicaSet> replica_sets;
  std::vector<StatefulSet> stateful_sets;
  std::vector<PodGroup> pod_groups;
  std::vector<CoschedulingPodGroup> coscheduling_pod_groups;
  std::vector<NodeResourceTopology> node_resource_topologies;

  /// Objects that scheduling doesn't read: "apps/v1 Deployment" → how many.
  std::map<std::string, std::int64_t> ignored;
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_OBJECTS_H_
