// Pod: what is scheduled (core/v1), as far as scheduling reads it.
#ifndef SCHEDFW_API_POD_H_
#define SCHEDFW_API_POD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/api/label_selector.h"
#include "schedfw/api/meta.h"
#include "schedfw/api/node.h"

namespace schedfw::api {

struct ResourceRequirements {
  ResourceList requests;
  ResourceList limits;

  friend bool operator==(const ResourceRequirements&, const ResourceRequirements&) = default;
};

struct ContainerPort {
  std::int32_t container_port = 0;
  std::int32_t host_port = 0;
  std::string protocol;  ///< TCP, UDP or SCTP
  std::string host_ip;

  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};

struct Container {
  std::string name;
  std::string image;
  ResourceRequirements resources;
  std::vector<ContainerPort> ports;
  std::string restart_policy;  ///< "Always" on an init container makes it a sidecar

  friend bool operator==(const Container&, const Container&) = default;
};

struct Volume {
  std::string name;
  bool image = false;                   ///< an image volume
  std::string image_reference;          ///< volumes[].image.reference
  std::string persistent_volume_claim;  ///< volumes[].persistentVolumeClaim.claimName
  bool ephemeral = false;               ///< a generic ephemeral volume, which makes a claim

  friend bool operator==(const Volume&, const Volume&) = default;
};

enum class TolerationOperator : std::uint8_t { kEqual, kExists, kLt, kGt };

struct Toleration {
  std::string key;  ///< empty matches every key
  TolerationOperator op = TolerationOperator::kEqual;
  std::string value;
  TaintEffect effect = TaintEffect::kAny;

  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// All expressions and fields of a term must match; an empty term matches nothing.
struct NodeSelectorTerm {
  std::vector<SelectorRequirement> match_expressions;
  std::vector<SelectorRequirement> match_fields;  ///< metadata.name only

  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

/// Any of the terms must match.
struct NodeSelector {
  std::vector<NodeSelectorTerm> node_selector_terms;

  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};

struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;

  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};

struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;

  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> namespaces;
  std::string topology_key;
  std::optional<LabelSelector> namespace_selector;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;

  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm pod_affinity_term;

  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};

/// podAffinity and podAntiAffinity have the same shape.
struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;

  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

struct Affinity {
  std::optional<NodeAffinity> node_affinity;
  std::optional<PodAffinity> pod_affinity;
  std::optional<PodAffinity> pod_anti_affinity;

  friend bool operator==(const Affinity&, const Affinity&) = default;
};

enum class UnsatisfiableConstraintAction : std::uint8_t { kDoNotSchedule, kScheduleAnyway };
enum class NodeInclusionPolicy : std::uint8_t { kHonor, kIgnore };

struct TopologySpreadConstraint {
  std::int32_t max_skew = 0;  ///< 1 or more must be given
  std::string topology_key;
  UnsatisfiableConstraintAction when_unsatisfiable = UnsatisfiableConstraintAction::kDoNotSchedule;
  std::optional<LabelSelector> label_selector;
  std::optional<std::int32_t> min_domains;
  std::optional<NodeInclusionPolicy> node_affinity_policy;  ///< absent: Honor
  std::optional<NodeInclusionPolicy> node_taints_policy;    ///< absent: Ignore
  std::vector<std::string> match_label_keys;

  friend bool operator==(const TopologySpreadConstraint&,
                         const TopologySpreadConstraint&) = default;
};

struct PodSchedulingGate {
  std::string name;

  friend bool operator==(const PodSchedulingGate&, const PodSchedulingGate&) = default;
};

struct PodResourceClaim {
  std::string name;

  friend bool operator==(const PodResourceClaim&, const PodResourceClaim&) = default;
};

struct PodSpec {
  std::string node_name;
  std::string scheduler_name;
  std::optional<std::int32_t> priority;
  std::string priority_class_name;
  std::optional<std::string> preemption_policy;  ///< PreemptLowerPriority or Never
  std::optional<StringMap> node_selector;
  Affinity affinity;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  std::optional<ResourceRequirements> resources;  ///< pod-level resources
  bool host_network = false;
  std::vector<PodSchedulingGate> scheduling_gates;
  std::string scheduling_group;  ///< schedulingGroup.podGroupName; empty: none
  std::vector<Volume> volumes;
  std::vector<PodResourceClaim> resource_claims;
};

struct ContainerStatus {
  std::string name;
  std::optional<ResourceList> allocated_resources;
  /// resources.requests as actuated by the kubelet; absent: not reported.
  std::optional<ResourceList> actuated_requests;

  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

struct PodStatus {
  std::string phase;
  std::string nominated_node_name;
  std::optional<std::int64_t> start_time_ns;  ///< since the Unix epoch
  std::vector<Condition> conditions;
  std::vector<ContainerStatus> container_statuses;
  std::vector<ContainerStatus> init_container_statuses;
  std::optional<ResourceList> allocated_resources;  ///< pod-level
  bool has_resources = false;                       ///< status.resources is present
  std::optional<ResourceList> actuated_requests;    ///< status.resources.requests, pod-level
};

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;

  /// "namespace/name".
  std::string FullName() const { return metadata.ns + "/" + metadata.name; }
  /// True when it has finished and no longer counts anywhere.
  bool IsTerminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_POD_H_
