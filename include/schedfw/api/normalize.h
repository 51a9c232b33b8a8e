// Normalize: turns objects as files hold them into objects as the API server stores them.
#ifndef SCHEDFW_API_NORMALIZE_H_
#define SCHEDFW_API_NORMALIZE_H_

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/objects.h"
#include "schedfw/api/resource_name.h"
#include "schedfw/api/stage_transitions.h"
#include "schedfw/base/result.h"

namespace schedfw::api {

namespace internal {

inline void RoundUp(ResourceList& list) {
  for (auto& [name, quantity] : list) quantity = quantity.RoundedUpToMilli();
}

// An absent request is the limit (SetDefaults_Pod in pkg/apis/core/v1/defaults.go).
inline void LimitsBecomeRequests(ResourceRequirements& resources) {
  for (const auto& [name, limit] : resources.limits) resources.requests.try_emplace(name, limit);
}

inline void DefaultContainer(Container& container, bool host_network) {
  RoundUp(container.resources.requests);
  RoundUp(container.resources.limits);
  LimitsBecomeRequests(container.resources);
  for (ContainerPort& port : container.ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    if (host_network && port.host_port == 0) port.host_port = port.container_port;
  }
}

// The aggregate of container requests (or limits) by upstream's rule for init containers and
// sidecars; here only for completing pod-level resources.
inline ResourceList Aggregate(const PodSpec& spec, ResourceList ResourceRequirements::*which) {
  const auto add = [](ResourceList& to, const ResourceList& from) {
    for (const auto& [name, quantity] : from) to[name] += quantity;
  };
  const auto max = [](ResourceList& to, const ResourceList& from) {
    for (const auto& [name, quantity] : from) {
      auto [it, inserted] = to.try_emplace(name, quantity);
      if (!inserted && quantity > it->second) it->second = quantity;
    }
  };
  ResourceList total, sidecars, init;
  for (const Container& container : spec.containers) add(total, container.resources.*which);
  for (const Container& container : spec.init_containers) {
    if (container.restart_policy == "Always") {
      add(total, container.resources.*which);
      add(sidecars, container.resources.*which);
      max(init, sidecars);
    } else {
      ResourceList combined = container.resources.*which;
      add(combined, sidecars);
      max(init, combined);
    }
  }
  max(total, init);
  return total;
}

// DefaultPodLevelResources in pkg/api/pod/util.go, as far as requests go: hugepage limits come
// from containers, requests from containers (cpu and memory) or from the pod's own limits.
inline void CompletePodLevelResources(PodSpec& spec) {
  if (!spec.resources || (spec.resources->requests.empty() && spec.resources->limits.empty())) {
    return;
  }
  ResourceRequirements& pod = *spec.resources;
  for (const auto& [name, limit] : Aggregate(spec, &ResourceRequirements::limits)) {
    if (IsHugePageResource(name) && !pod.requests.contains(name)) {
      pod.limits.try_emplace(name, limit);
    }
  }
  for (const auto& [name, request] : Aggregate(spec, &ResourceRequirements::requests)) {
    if (IsPodLevelResource(name) && !IsHugePageResource(name)) {
      pod.requests.try_emplace(name, request);
    }
  }
  for (const auto& [name, limit] : pod.limits) {
    if (IsPodLevelResource(name)) pod.requests.try_emplace(name, limit);
  }
}

// `key in (value)` for every listed key that the pod has; a requirement that is there already
// (the object has been through the API server) isn't repeated.
inline void MergeLabelKeys(const std::vector<std::string>& keys, SelectorOperator op,
                           const StringMap& pod_labels, LabelSelector& selector) {
  for (const std::string& key : keys) {
    const auto label = pod_labels.find(key);
    if (label == pod_labels.end()) continue;
    SelectorRequirement requirement{key, op, {label->second}};
    auto& expressions = selector.match_expressions;
    if (std::find(expressions.begin(), expressions.end(), requirement) == expressions.end()) {
      expressions.push_back(std::move(requirement));
    }
  }
}

// mutatePodAffinity and mutateTopologySpreadConstraints in pkg/registry/core/pod/strategy.go. A
// term without a selector matches nothing and stays so.
inline void MergeLabelKeys(PodAffinityTerm& term, const StringMap& pod_labels) {
  if (!term.label_selector) return;
  MergeLabelKeys(term.match_label_keys, SelectorOperator::kIn, pod_labels, *term.label_selector);
  MergeLabelKeys(term.mismatch_label_keys, SelectorOperator::kNotIn, pod_labels,
                 *term.label_selector);
}

inline void MergeLabelKeys(std::optional<PodAffinity>& affinity, const StringMap& pod_labels) {
  if (!affinity) return;
  for (PodAffinityTerm& term : affinity->required) MergeLabelKeys(term, pod_labels);
  for (WeightedPodAffinityTerm& term : affinity->preferred) {
    MergeLabelKeys(term.pod_affinity_term, pod_labels);
  }
}

// A pod may stay on a node that is not ready or not reachable for a while: it tolerates both taints
// unless it says itself what it does (plugin/pkg/admission/defaulttolerationseconds/admission.go).
inline void AddDefaultTolerations(std::vector<Toleration>& tolerations) {
  const auto says = [&](const char* key) {
    return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& t) {
      return (t.key.empty() || t.key == key) &&
             (t.effect == TaintEffect::kAny || t.effect == TaintEffect::kNoExecute);
    });
  };
  const char* const not_ready = "node.kubernetes.io/not-ready";
  const char* const unreachable = "node.kubernetes.io/unreachable";
  const bool add_not_ready = !says(not_ready), add_unreachable = !says(unreachable);
  const auto add = [&](const char* key) {
    tolerations.push_back({key, TolerationOperator::kExists, {}, TaintEffect::kNoExecute});
  };
  if (add_not_ready) add(not_ready);
  if (add_unreachable) add(unreachable);
}

}  // namespace internal

/// Fills in what the API server fills in when a pod is created; idempotent.
///
/// namespace "default", schedulerName "default-scheduler", a uid, requests from limits, host ports
/// on the host network, quantities rounded up to thousandths, pod-level requests, matchLabelKeys
/// and mismatchLabelKeys merged into selectors, tolerations of nodes that are not ready or not
/// reachable. Sources: pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go,
/// pkg/api/pod/util.go, plugin/pkg/admission/defaulttolerationseconds.
inline void SetDefaults(Pod& pod) {
  if (pod.metadata.ns.empty()) pod.metadata.ns = "default";
  if (pod.metadata.uid.empty()) pod.metadata.uid = pod.FullName();
  PodSpec& spec = pod.spec;
  if (spec.scheduler_name.empty()) spec.scheduler_name = "default-scheduler";
  for (Container& c : spec.containers) internal::DefaultContainer(c, spec.host_network);
  for (Container& c : spec.init_containers) internal::DefaultContainer(c, spec.host_network);
  internal::RoundUp(spec.overhead);
  if (spec.resources) {
    internal::RoundUp(spec.resources->requests);
    internal::RoundUp(spec.resources->limits);
  }
  internal::AddDefaultTolerations(spec.tolerations);
  internal::CompletePodLevelResources(spec);
  internal::MergeLabelKeys(spec.affinity.pod_affinity, pod.metadata.labels);
  internal::MergeLabelKeys(spec.affinity.pod_anti_affinity, pod.metadata.labels);
  for (TopologySpreadConstraint& constraint : spec.topology_spread_constraints) {
    if (constraint.label_selector) {
      internal::MergeLabelKeys(constraint.match_label_keys, SelectorOperator::kIn,
                               pod.metadata.labels, *constraint.label_selector);
    }
  }
  for (auto* statuses : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    for (ContainerStatus& status : *statuses) {
      if (status.allocated_resources) internal::RoundUp(*status.allocated_resources);
      if (status.actuated_requests) internal::RoundUp(*status.actuated_requests);
    }
  }
  if (pod.status.allocated_resources) internal::RoundUp(*pod.status.allocated_resources);
  if (pod.status.actuated_requests) internal::RoundUp(*pod.status.actuated_requests);
}

/// Fills in a node's allocatable from its capacity when it is absent; idempotent.
inline void SetDefaults(Node& node) {
  internal::RoundUp(node.status.capacity);
  if (!node.status.allocatable) node.status.allocatable = node.status.capacity;
  internal::RoundUp(*node.status.allocatable);
  if (node.metadata.uid.empty()) node.metadata.uid = node.metadata.name;
}

/// Gives a namespace its label kubernetes.io/metadata.name; idempotent.
inline void SetDefaults(Namespace& ns) {
  ns.metadata.labels["kubernetes.io/metadata.name"] = ns.metadata.name;
}

namespace internal {

// Objects of files that don't say their namespace.
inline void DefaultNamespace(ObjectMeta& meta) {
  if (meta.ns.empty()) meta.ns = "default";
}

}  // namespace internal

inline void SetDefaults(Service& o) { internal::DefaultNamespace(o.metadata); }
inline void SetDefaults(ReplicaSet& o) { internal::DefaultNamespace(o.metadata); }
inline void SetDefaults(PodDisruptionBudget& o) { internal::DefaultNamespace(o.metadata); }
inline void SetDefaults(PodGroup& o) { internal::DefaultNamespace(o.metadata); }
inline void SetDefaults(CoschedulingPodGroup& o) { internal::DefaultNamespace(o.metadata); }
/// It belongs to no namespace, whatever a file says.
inline void SetDefaults(NodeResourceTopology& o) { o.metadata.ns.clear(); }

/// Gives a controller without a selector the labels of its template; idempotent.
inline void SetDefaults(ReplicationController& controller) {
  internal::DefaultNamespace(controller.metadata);
  if (controller.selector.empty()) controller.selector = controller.template_labels;
}

namespace internal {

struct ClassPriority {
  std::int32_t value = 0;
  const PriorityClass* object = nullptr;  // null: a class of the system, or none
};

// The priority of an object with this priorityClassName. Error: there is no such class.
inline Result<ClassPriority> PriorityOfClass(const std::string& name,
                                             const std::vector<PriorityClass>& classes) {
  ClassPriority out;
  for (const PriorityClass& candidate : classes) {
    if (name.empty()
            ? candidate.global_default && (!out.object || candidate.value < out.object->value)
            : candidate.metadata.name == name) {
      out.object = &candidate;
    }
  }
  if (out.object) {
    out.value = out.object->value;
  } else if (name == "system-cluster-critical") {
    out.value = 2000000000;
  } else if (name == "system-node-critical") {
    out.value = 2000001000;
  } else if (!name.empty()) {
    std::string known;
    for (const PriorityClass& c : classes) known += c.metadata.name + ", ";
    return ParseError("spec.priorityClassName: no PriorityClass \"" + name +
                      "\" (there are: " + known + "system-cluster-critical, system-node-critical)");
  }
  return out;
}

}  // namespace internal

/// Sets priority and preemptionPolicy from the pod's PriorityClass, as the Priority admission
/// plugin does (plugin/pkg/admission/priority/admission.go).
///
/// A pod without a class takes the globalDefault class of lowest value, else priority 0. A priority
/// that is set already is kept. Error: the class is unknown and no priority is set. O(classes).
inline Result<void> SetPriority(Pod& pod, const std::vector<PriorityClass>& classes) {
  PodSpec& spec = pod.spec;
  auto found = internal::PriorityOfClass(spec.priority_class_name, classes);
  if (!found) {
    if (spec.priority) return {};
    return found.error().In("Pod " + pod.FullName());
  }
  if (!spec.priority) spec.priority = found->value;
  if (!spec.preemption_policy && found->object) {
    spec.preemption_policy = found->object->preemption_policy;
  }
  return {};
}

/// Checks a group as the API server does (pkg/apis/scheduling/validation), and sets its priority as
/// that of a pod. Error: what is wrong, with the field.
inline Result<void> Complete(PodGroup& group, const std::vector<PriorityClass>& classes) {
  const auto refuse = [&](const std::string& what) {
    return ParseError("PodGroup " + group.metadata.ns + "/" + group.metadata.name + ": spec." +
                      what);
  };
  constexpr std::int32_t kHighest = 1000000000;
  if (group.basic == group.gang) {
    return refuse("schedulingPolicy: exactly one of basic and gang must be set");
  }
  if (group.gang && group.min_count < 1) {
    return refuse("schedulingPolicy.gang.minCount: " + std::to_string(group.min_count) +
                  " is not allowed (allowed: 1 or more)");
  }
  if (group.topology.size() > 1) {
    return refuse("schedulingConstraints.topology: " + std::to_string(group.topology.size()) +
                  " constraints are not allowed (allowed: at most 1)");
  }
  if (!group.topology.empty() && group.topology.front().key.empty()) {
    return refuse("schedulingConstraints.topology[0].key: can not be empty");
  }
  if (group.disruption_single && group.disruption_all) {
    return refuse("disruptionMode: only one of single and all may be set");
  }
  if (group.priority && *group.priority > kHighest) {
    return refuse("priority: " + std::to_string(*group.priority) + " is more than " +
                  std::to_string(kHighest));
  }
  if (group.priority) return {};
  auto found = internal::PriorityOfClass(group.priority_class_name, classes);
  if (!found) {
    return found.error().In("PodGroup " + group.metadata.ns + "/" + group.metadata.name);
  }
  group.priority = found->value;
  return {};
}
/// The same for a group of Coscheduling.
inline Result<void> Complete(const CoschedulingPodGroup& group) {
  if (group.min_member >= 1) return {};
  return ParseError("PodGroup " + group.metadata.ns + "/" + group.metadata.name +
                    ": spec.minMember: " + std::to_string(group.min_member) +
                    " is not allowed (allowed: 1 or more)");
}

/// Turns objects as files hold them into objects as the API server stores them.
///
/// Removes pods that have finished (Succeeded, Failed), applies the defaults above, and gives pods
/// their priorities. Errors: a pod or a group names an unknown PriorityClass; the transitions of a
/// class are malformed (see TransitionsOf); see also Complete. Idempotent.
inline Result<void> Normalize(ObjectList& objects) {
  if (auto done = CheckTransitions(objects.priority_classes); !done) return done.error();
  std::erase_if(objects.pods, [](const Pod& pod) { return pod.IsTerminal(); });
  for (Node& node : objects.nodes) SetDefaults(node);
  for (Namespace& ns : objects.namespaces) SetDefaults(ns);
  const auto set_defaults = [](auto& list) {
    for (auto& o : list) SetDefaults(o);
  };
  set_defaults(objects.services);
  set_defaults(objects.replication_controllers);
  set_defaults(objects.replica_sets);
  set_defaults(objects.stateful_sets);
  set_defaults(objects.pod_disruption_budgets);
  set_defaults(objects.pod_groups);
  set_defaults(objects.coscheduling_pod_groups);
  set_defaults(objects.node_resource_topologies);
  for (PodGroup& group : objects.pod_groups) {
    if (auto done = Complete(group, objects.priority_classes); !done) return done.error();
  }
  for (const CoschedulingPodGroup& group : objects.coscheduling_pod_groups) {
    if (auto done = Complete(group); !done) return done.error();
  }
  for (Pod& pod : objects.pods) {
    SetDefaults(pod);
    if (auto done = SetPriority(pod, objects.priority_classes); !done) return done.error();
  }
  return {};
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_NORMALIZE_H_
