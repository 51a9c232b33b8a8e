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

/// Gives a controller without a selector the labels of its template; idempotent.
inline void SetDefaults(ReplicationController& controller) {
  if (controller.selector.empty()) controller.selector = controller.template_labels;
}

/// Sets priority and preemptionPolicy from the pod's PriorityClass, as the Priority admission
/// plugin does (plugin/pkg/admission/priority/admission.go).
///
/// A pod without a class takes the globalDefault class of lowest value, else priority 0. A priority
/// that is set already is kept. Error: the class is unknown and no priority is set. O(classes).
inline Result<void> SetPriority(Pod& pod, const std::vector<PriorityClass>& classes) {
  PodSpec& spec = pod.spec;
  const std::string& name = spec.priority_class_name;
  const PriorityClass* found = nullptr;
  for (const PriorityClass& candidate : classes) {
    if (name.empty() ? candidate.global_default && (!found || candidate.value < found->value)
                     : candidate.metadata.name == name) {
      found = &candidate;
    }
  }
  std::int32_t value = 0;
  if (found) {
    value = found->value;
  } else if (name == "system-cluster-critical") {
    value = 2000000000;
  } else if (name == "system-node-critical") {
    value = 2000001000;
  } else if (!name.empty() && !spec.priority) {
    std::string known;
    for (const PriorityClass& c : classes) known += c.metadata.name + ", ";
    return ParseError("Pod " + pod.FullName() + ": spec.priorityClassName: no PriorityClass \"" +
                      name + "\" (there are: " + known +
                      "system-cluster-critical, system-node-critical)");
  }
  if (!spec.priority) spec.priority = value;
  if (!spec.preemption_policy && found) spec.preemption_policy = found->preemption_policy;
  return {};
}

/// Turns objects as files hold them into objects as the API server stores them.
///
/// Removes pods that have finished (Succeeded, Failed), applies the defaults above, and gives pods
/// their priorities. Error: a pod names an unknown PriorityClass. Idempotent.
inline Result<void> Normalize(ObjectList& objects) {
  std::erase_if(objects.pods, [](const Pod& pod) { return pod.IsTerminal(); });
  for (Node& node : objects.nodes) SetDefaults(node);
  for (Namespace& ns : objects.namespaces) SetDefaults(ns);
  for (ReplicationController& controller : objects.replication_controllers) {
    SetDefaults(controller);
  }
  for (Pod& pod : objects.pods) {
    SetDefaults(pod);
    if (auto done = SetPriority(pod, objects.priority_classes); !done) return done.error();
  }
  return {};
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_NORMALIZE_H_
