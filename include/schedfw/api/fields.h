// Which field of the JSON form fills which member: one table a type, walked by the decoders and by
// the encoder.
#ifndef SCHEDFW_API_FIELDS_H_
#define SCHEDFW_API_FIELDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/objects.h"

namespace schedfw::api {

// A visitor gets the name and the member of each field. A table itself changes no member, so that
// one that only looks at them may be given an object that others read.

/// An object whose fields land in the enclosing struct. If it matters whether it is given, even
/// without a field, `present` is the member that says so.
template <typename F>
struct Nested {
  explicit Nested(F f) : fields(std::move(f)) {}
  Nested(bool& given, F f) : fields(std::move(f)), present(&given) {}

  F fields;
  bool* present = nullptr;
};

/// A map of which only the keys are read.
struct Keys {
  std::vector<std::string>& names;
};

/// An RFC 3339 time, read as nanoseconds since the Unix epoch.
struct Time {
  std::optional<std::int64_t>& ns;
};

/// The fields that an object can't be without: where their absence would mean something else than
/// what the API server makes of it, which refuses the object.
template <typename T>
inline constexpr std::array<std::string_view, 0> kRequiredFields{};
template <>
inline constexpr std::array<std::string_view, 2> kRequiredFields<SelectorRequirement>{"key",
                                                                                      "operator"};
template <>
inline constexpr std::array<std::string_view, 3> kRequiredFields<TopologySpreadConstraint>{
    "maxSkew", "topologyKey", "whenUnsatisfiable"};
template <>
inline constexpr std::array<std::string_view, 2> kRequiredFields<ZoneCost>{"name", "value"};
template <>
inline constexpr std::array<std::string_view, 2> kRequiredFields<ZoneResource>{"name", "available"};
template <>
inline constexpr std::array<std::string_view, 2> kRequiredFields<TopologyZone>{"name", "type"};

/// The spellings of an enumeration; an empty spelling is what an absent field means.
template <typename E>
struct EnumNames;

template <>
struct EnumNames<SelectorOperator> {
  static constexpr std::array<std::pair<std::string_view, SelectorOperator>, 6> kNames{{
      {"In", SelectorOperator::kIn},
      {"NotIn", SelectorOperator::kNotIn},
      {"Exists", SelectorOperator::kExists},
      {"DoesNotExist", SelectorOperator::kDoesNotExist},
      {"Gt", SelectorOperator::kGt},
      {"Lt", SelectorOperator::kLt},
  }};
};

template <>
struct EnumNames<TaintEffect> {
  static constexpr std::array<std::pair<std::string_view, TaintEffect>, 4> kNames{{
      {"NoSchedule", TaintEffect::kNoSchedule},
      {"PreferNoSchedule", TaintEffect::kPreferNoSchedule},
      {"NoExecute", TaintEffect::kNoExecute},
      {"", TaintEffect::kAny},
  }};
};

template <>
struct EnumNames<TolerationOperator> {
  static constexpr std::array<std::pair<std::string_view, TolerationOperator>, 5> kNames{{
      {"Equal", TolerationOperator::kEqual},
      {"Exists", TolerationOperator::kExists},
      {"Lt", TolerationOperator::kLt},
      {"Gt", TolerationOperator::kGt},
      {"", TolerationOperator::kEqual},
  }};
};

template <>
struct EnumNames<UnsatisfiableConstraintAction> {
  static constexpr std::array<std::pair<std::string_view, UnsatisfiableConstraintAction>, 2> kNames{
      {
          {"DoNotSchedule", UnsatisfiableConstraintAction::kDoNotSchedule},
          {"ScheduleAnyway", UnsatisfiableConstraintAction::kScheduleAnyway},
      }};
};

template <>
struct EnumNames<NodeInclusionPolicy> {
  static constexpr std::array<std::pair<std::string_view, NodeInclusionPolicy>, 2> kNames{{
      {"Honor", NodeInclusionPolicy::kHonor},
      {"Ignore", NodeInclusionPolicy::kIgnore},
  }};
};

template <typename V>
void Fields(V& v, OwnerReference& o) {
  v("apiVersion", o.api_version);
  v("kind", o.kind);
  v("name", o.name);
  v("uid", o.uid);
  v("controller", o.controller);
}

template <typename V>
void Fields(V& v, ObjectMeta& o) {
  v("name", o.name);
  v("namespace", o.ns);
  v("uid", o.uid);
  v("labels", o.labels);
  v("annotations", o.annotations);
  v("ownerReferences", o.owner_references);
  v("creationTimestamp", Time{o.creation_timestamp_ns});
  v("deletionTimestamp", Time{o.deletion_timestamp_ns});
}

template <typename V>
void Fields(V& v, SelectorRequirement& o) {
  v("key", o.key);
  v("operator", o.op);
  v("values", o.values);
}

template <typename V>
void Fields(V& v, LabelSelector& o) {
  v("matchLabels", o.match_labels);
  v("matchExpressions", o.match_expressions);
}

template <typename V>
void Fields(V& v, Taint& o) {
  v("key", o.key);
  v("value", o.value);
  v("effect", o.effect);
}

template <typename V>
void Fields(V& v, ContainerImage& o) {
  v("names", o.names);
  v("sizeBytes", o.size_bytes);
}

template <typename V>
void Fields(V& v, Condition& o) {
  v("type", o.type);
  v("status", o.status);
  v("reason", o.reason);
}

template <typename V>
void Fields(V& v, NodeSpec& o) {
  v("taints", o.taints);
  v("unschedulable", o.unschedulable);
}

template <typename V>
void Fields(V& v, NodeStatus& o) {
  v("capacity", o.capacity);
  v("allocatable", o.allocatable);
  v("images", o.images);
  v("conditions", o.conditions);
}

template <typename V>
void Fields(V& v, Node& o) {
  v("metadata", o.metadata);
  v("spec", o.spec);
  v("status", o.status);
}

template <typename V>
void Fields(V& v, ResourceRequirements& o) {
  v("requests", o.requests);
  v("limits", o.limits);
}

template <typename V>
void Fields(V& v, ContainerPort& o) {
  v("containerPort", o.container_port);
  v("hostPort", o.host_port);
  v("protocol", o.protocol);
  v("hostIP", o.host_ip);
}

template <typename V>
void Fields(V& v, Container& o) {
  v("name", o.name);
  v("image", o.image);
  v("resources", o.resources);
  v("ports", o.ports);
  v("restartPolicy", o.restart_policy);
}

template <typename V>
void Fields(V& v, Volume& o) {
  v("name", o.name);
  v("image", Nested{o.image, [&](auto& w) { w("reference", o.image_reference); }});
  v("persistentVolumeClaim", Nested{[&](auto& w) { w("claimName", o.persistent_volume_claim); }});
  v("ephemeral", Nested{o.ephemeral, [](auto&) {}});
}

template <typename V>
void Fields(V& v, Toleration& o) {
  v("key", o.key);
  v("operator", o.op);
  v("value", o.value);
  v("effect", o.effect);
}

template <typename V>
void Fields(V& v, NodeSelectorTerm& o) {
  v("matchExpressions", o.match_expressions);
  v("matchFields", o.match_fields);
}

template <typename V>
void Fields(V& v, NodeSelector& o) {
  v("nodeSelectorTerms", o.node_selector_terms);
}

template <typename V>
void Fields(V& v, PreferredSchedulingTerm& o) {
  v("weight", o.weight);
  v("preference", o.preference);
}

template <typename V>
void Fields(V& v, NodeAffinity& o) {
  v("requiredDuringSchedulingIgnoredDuringExecution", o.required);
  v("preferredDuringSchedulingIgnoredDuringExecution", o.preferred);
}

template <typename V>
void Fields(V& v, PodAffinityTerm& o) {
  v("labelSelector", o.label_selector);
  v("namespaces", o.namespaces);
  v("topologyKey", o.topology_key);
  v("namespaceSelector", o.namespace_selector);
  v("matchLabelKeys", o.match_label_keys);
  v("mismatchLabelKeys", o.mismatch_label_keys);
}

template <typename V>
void Fields(V& v, WeightedPodAffinityTerm& o) {
  v("weight", o.weight);
  v("podAffinityTerm", o.pod_affinity_term);
}

template <typename V>
void Fields(V& v, PodAffinity& o) {
  v("requiredDuringSchedulingIgnoredDuringExecution", o.required);
  v("preferredDuringSchedulingIgnoredDuringExecution", o.preferred);
}

template <typename V>
void Fields(V& v, Affinity& o) {
  v("nodeAffinity", o.node_affinity);
  v("podAffinity", o.pod_affinity);
  v("podAntiAffinity", o.pod_anti_affinity);
}

template <typename V>
void Fields(V& v, TopologySpreadConstraint& o) {
  v("maxSkew", o.max_skew);
  v("topologyKey", o.topology_key);
  v("whenUnsatisfiable", o.when_unsatisfiable);
  v("labelSelector", o.label_selector);
  v("minDomains", o.min_domains);
  v("nodeAffinityPolicy", o.node_affinity_policy);
  v("nodeTaintsPolicy", o.node_taints_policy);
  v("matchLabelKeys", o.match_label_keys);
}

template <typename V>
void Fields(V& v, PodSchedulingGate& o) {
  v("name", o.name);
}

template <typename V>
void Fields(V& v, PodResourceClaim& o) {
  v("name", o.name);
}

template <typename V>
void Fields(V& v, PodSpec& o) {
  v("nodeName", o.node_name);
  v("schedulerName", o.scheduler_name);
  v("priority", o.priority);
  v("priorityClassName", o.priority_class_name);
  v("preemptionPolicy", o.preemption_policy);
  v("nodeSelector", o.node_selector);
  v("affinity", o.affinity);
  v("tolerations", o.tolerations);
  v("topologySpreadConstraints", o.topology_spread_constraints);
  v("containers", o.containers);
  v("initContainers", o.init_containers);
  v("overhead", o.overhead);
  v("resources", o.resources);
  v("hostNetwork", o.host_network);
  v("schedulingGates", o.scheduling_gates);
  v("schedulingGroup", Nested{[&](auto& w) { w("podGroupName", o.scheduling_group); }});
  v("volumes", o.volumes);
  v("resourceClaims", o.resource_claims);
}

template <typename V>
void Fields(V& v, ContainerStatus& o) {
  v("name", o.name);
  v("allocatedResources", o.allocated_resources);
  v("resources", Nested{[&](auto& w) { w("requests", o.actuated_requests); }});
}

template <typename V>
void Fields(V& v, PodStatus& o) {
  v("phase", o.phase);
  v("nominatedNodeName", o.nominated_node_name);
  v("startTime", Time{o.start_time_ns});
  v("conditions", o.conditions);
  v("containerStatuses", o.container_statuses);
  v("initContainerStatuses", o.init_container_statuses);
  v("allocatedResources", o.allocated_resources);
  v("resources", Nested{o.has_resources, [&](auto& w) { w("requests", o.actuated_requests); }});
}

template <typename V>
void Fields(V& v, Pod& o) {
  v("metadata", o.metadata);
  v("spec", o.spec);
  v("status", o.status);
}

template <typename V>
void Fields(V& v, PriorityClass& o) {
  v("metadata", o.metadata);
  v("value", o.value);
  v("globalDefault", o.global_default);
  v("preemptionPolicy", o.preemption_policy);
}

template <typename V>
void Fields(V& v, TopologyConstraint& o) {
  v("key", o.key);
}

template <typename V>
void Fields(V& v, PodGroup& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) {
      w("schedulingPolicy", Nested{[&](auto& x) {
          x("basic", Nested{o.basic, [](auto&) {}});
          x("gang", Nested{o.gang, [&](auto& y) { y("minCount", o.min_count); }});
        }});
      w("schedulingConstraints", Nested{[&](auto& x) { x("topology", o.topology); }});
      w("disruptionMode", Nested{[&](auto& x) {
          x("single", Nested{o.disruption_single, [](auto&) {}});
          x("all", Nested{o.disruption_all, [](auto&) {}});
        }});
      w("priorityClassName", o.priority_class_name);
      w("priority", o.priority);
    }});
}

template <typename V>
void Fields(V& v, CoschedulingPodGroup& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) {
      w("minMember", o.min_member);
      w("minResources", o.min_resources);
      w("scheduleTimeoutSeconds", o.schedule_timeout_seconds);
    }});
}

template <typename V>
void Fields(V& v, TopologyAttribute& o) {
  v("name", o.name);
  v("value", o.value);
}

template <typename V>
void Fields(V& v, ZoneCost& o) {
  v("name", o.name);
  v("value", o.value);
}

template <typename V>
void Fields(V& v, ZoneResource& o) {
  v("name", o.name);
  v("capacity", o.capacity);
  v("allocatable", o.allocatable);
  v("available", o.available);
}

template <typename V>
void Fields(V& v, TopologyZone& o) {
  v("name", o.name);
  v("type", o.type);
  v("parent", o.parent);
  v("costs", o.costs);
  v("resources", o.resources);
}

template <typename V>
void Fields(V& v, NodeResourceTopology& o) {
  v("metadata", o.metadata);
  v("topologyPolicies", o.topology_policies);
  v("attributes", o.attributes);
  v("zones", o.zones);
}

template <typename V>
void Fields(V& v, PodDisruptionBudget& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) { w("selector", o.selector); }});
  v("status", Nested{[&](auto& w) {
      w("disruptionsAllowed", o.disruptions_allowed);
      w("disruptedPods", Keys{o.disrupted_pods});
    }});
}

template <typename V>
void Fields(V& v, Namespace& o) {
  v("metadata", o.metadata);
}

template <typename V>
void Fields(V& v, Service& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) { w("selector", o.selector); }});
}

template <typename V>
void Fields(V& v, ReplicationController& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) {
      w("selector", o.selector);
      w("template", Nested{[&](auto& x) {
          x("metadata", Nested{[&](auto& y) { y("labels", o.template_labels); }});
        }});
    }});
}

template <typename V>
void Fields(V& v, ReplicaSet& o) {
  v("metadata", o.metadata);
  v("spec", Nested{[&](auto& w) { w("selector", o.selector); }});
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_FIELDS_H_
