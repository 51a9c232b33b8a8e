// PodPlan and PodInfo: pods compiled once into ids and amounts, for every later cycle.
#ifndef SCHEDFW_CLUSTER_POD_INFO_H_
#define SCHEDFW_CLUSTER_POD_INFO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/affinity.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/gpus.h"
#include "schedfw/cluster/packed_object.h"
#include "schedfw/cluster/pod_requests.h"
#include "schedfw/cluster/selector.h"

namespace schedfw {

struct HostPort {
  StringId protocol = 0;
  StringId ip = 0;  ///< "0.0.0.0" stands for all
  std::int32_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// A term of a node selector: all expressions on labels and all tests of the name must hold.
struct NodeTerm {
  struct NameTest {
    bool equal;  ///< the node's name must (not) be `name`
    StringId name;

    friend bool operator==(const NameTest&, const NameTest&) = default;
  };
  std::vector<Requirement> expressions;
  std::vector<NameTest> names;
  std::int32_t weight = 0;  ///< of a preferred term
  /// Not empty: the term can't be parsed. A required one matches nothing, a preferred one fails the
  /// scoring (nodeaffinity.go, LazyErrorNodeSelector and NewPreferredSchedulingTerms).
  std::string error;

  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

/// spec.nodeSelector and the required node affinity.
struct RequiredNodeAffinity {
  std::vector<Requirement> node_selector;  ///< all must hold
  bool has_terms = false;                  ///< a node affinity is given,
  std::vector<NodeTerm> terms;             ///< of which one term must hold (no term: none does)

  bool Empty() const { return node_selector.empty() && !has_terms; }

  friend bool operator==(const RequiredNodeAffinity&, const RequiredNodeAffinity&) = default;
};

struct SpreadConstraint {
  std::int64_t max_skew = 1;
  StringId topology_key = 0;
  Selector selector;
  std::int64_t min_domains = 1;
  bool honor_affinity = true;  ///< nodeAffinityPolicy
  bool honor_taints = false;   ///< nodeTaintsPolicy

  friend bool operator==(const SpreadConstraint&, const SpreadConstraint&) = default;
};

/// How many different resources one pod may ask for: a bit each in what NodeResourcesFit reports.
inline constexpr std::size_t kMaxRequestedResources = 30;

/// What pods of one kind mean to the cluster, compiled. Immutable; pods whose fields that
/// scheduling reads are equal share one plan (see PodPlans).
struct PodPlan {
  /// A pod of the kind: its fields hold for all of them, but for the name, the uid, the node and
  /// others that no plan depends on (see SamePlan).
  std::shared_ptr<const api::Pod> pattern;
  /// That its ids are of; the plan doesn't keep it alive.
  Dictionary* dictionary = nullptr;
  StringId ns = 0;
  LabelSetId label_set = 0;
  std::int32_t priority = 0;  ///< see PodInfo::priority
  bool terminating = false;
  /// Everything that it asks for, in resource order.
  std::vector<ResourceAmount> total_requests;
  /// What it takes from a node: those that are counted and not zero, without `pods`.
  std::vector<ResourceAmount> taken;
  std::int64_t non_zero_cpu = 0;     ///< thousandths of a core, with defaults
  std::int64_t non_zero_memory = 0;  ///< bytes, with defaults
  std::vector<HostPort> host_ports;
  std::shared_ptr<const PodAffinityTerms> affinity;  ///< null: no inter-pod affinity
  GpuRequest gpus;

  /// False for pods that have a node already: what follows is empty.
  bool for_cycle = false;
  /// Counted resources that it asks for, amounts above zero: cpu, memory, ephemeral-storage, then
  /// the others by name (Filter of NodeResourcesFit).
  std::vector<ResourceAmount> requests;
  /// The same with upstream's defaults for containers that say nothing and without pod-level
  /// resources, as NodeResourcesFit scores.
  std::vector<ResourceAmount> scored_requests;
  RequiredNodeAffinity required_node_affinity;
  std::vector<NodeTerm> preferred_node_affinity;
  std::vector<SpreadConstraint> hard_constraints;  ///< DoNotSchedule
  std::vector<SpreadConstraint> soft_constraints;  ///< ScheduleAnyway
  /// Normalised image names, one entry a container that has the image; images of volumes too.
  std::vector<StringId> images;

  /// The amount of one resource in `total_requests`, else 0.
  std::int64_t Request(ResourceId resource) const {
    for (const ResourceAmount& request : total_requests) {
      if (request.resource == resource) return request.amount;
    }
    return 0;
  }
};

/// A pod and its plan. Immutable; shared by forks and snapshots.
struct PodInfo {
  std::shared_ptr<const PodPlan> plan;
  PodObject pod;
  StringId name = 0;
  StringId scheduling_group = 0;  ///< spec.schedulingGroup.podGroupName; 0: none

  std::string FullName() const { return pod.FullName(); }
  std::uint64_t Key() const { return std::uint64_t{plan->ns} << 32 | name; }
  /// Of its group: by namespace and name as well. 0: it has none.
  std::uint64_t GroupKey() const {
    return scheduling_group == 0 ? 0 : std::uint64_t{plan->ns} << 32 | scheduling_group;
  }
  StringId ns() const { return plan->ns; }
  LabelSetId label_set() const { return plan->label_set; }
  /// Its labels, by the dictionary of its plan.
  const Labels& labels() const { return plan->dictionary->LabelsOf(plan->label_set); }
  /// What counts wherever priorities are compared: spec.priority, or what Cluster::SetPodPriority
  /// has made of it.
  std::int32_t priority() const { return plan->priority; }
  bool terminating() const { return plan->terminating; }
  /// status.startTime.
  std::optional<std::int64_t> start_time_ns() const { return pod.StartTimeNs(); }
};

using PodPtr = std::shared_ptr<const PodInfo>;

namespace internal {

inline Result<std::vector<ResourceAmount>> ToColumnValues(const ExactAmounts& amounts,
                                                          const Dictionary& dictionary) {
  std::vector<ResourceAmount> out;
  for (const auto& entry : amounts.entries()) {
    const auto value = ColumnValue(entry.resource, entry.quantity);
    if (!value) {
      return ParseError("requests of " + std::string(dictionary.ResourceName(entry.resource)) +
                        " add up to " + entry.quantity.ToString() + ", more than 64 bits can hold");
    }
    out.push_back({entry.resource, *value});
  }
  std::sort(out.begin(), out.end(), [](const ResourceAmount& a, const ResourceAmount& b) {
    return a.resource < b.resource;
  });
  return out;
}

inline void KeepCounted(std::vector<ResourceAmount>& amounts, const Dictionary& dictionary) {
  std::erase_if(amounts, [&](const ResourceAmount& request) {
    return request.amount == 0 || request.resource == kPods ||
           !dictionary.IsCounted(request.resource);
  });
}

// The sums of a pod's requests by the rules of those who ask, each made once where they agree.
class Amounts {
 public:
  Amounts(const api::Pod& pod, Dictionary& dictionary)
      : pod_(pod),
        pod_level_(HasPodLevelRequests(pod)),
        total_(PodRequests(pod, {.use_status = true}, dictionary)) {}

  // What it takes from a node, by what the kubelet reports too.
  const ExactAmounts& total() const { return total_; }

  Result<std::vector<ResourceAmount>> Requests(Dictionary& dictionary) const {
    if (!ReportsResources()) return ToColumnValues(total_, dictionary);
    return ToColumnValues(PodRequests(pod_, {}, dictionary), dictionary);
  }
  Result<std::vector<ResourceAmount>> ScoredRequests(Dictionary& dictionary) const {
    if (!ReportsResources() && !pod_level_ && EachSaysCpuAndMemory()) {
      return ToColumnValues(total_, dictionary);
    }
    return ToColumnValues(
        PodRequests(pod_, {.skip_pod_level = true, .default_cpu = true, .default_memory = true},
                    dictionary),
        dictionary);
  }
  // pkg/scheduler/framework/types.go, getNonMissingContainerRequests: with pod-level requests the
  // defaults apply only to what neither the pod nor any container gives.
  Result<void> NonZero(Dictionary& dictionary, std::int64_t& cpu, std::int64_t& memory) const {
    std::optional<ExactAmounts> own;
    if (ReportsResources() || pod_level_ || !EachSaysCpuAndMemory()) {
      own = PodRequests(pod_,
                        {.use_status = true,
                         .default_cpu = !pod_level_ || total_.Find(kCpu) == nullptr,
                         .default_memory = !pod_level_ || total_.Find(kMemory) == nullptr},
                        dictionary);
    }
    const ExactAmounts& amounts = own ? *own : total_;
    for (const auto& [resource, out] : {std::pair{kCpu, &cpu}, std::pair{kMemory, &memory}}) {
      const Quantity* quantity = amounts.Find(resource);
      if (quantity == nullptr) continue;
      const auto value = ColumnValue(resource, *quantity);
      if (!value) {
        return ParseError("requests of " + std::string(dictionary.ResourceName(resource)) +
                          " add up to more than 64 bits can hold");
      }
      *out = *value;
    }
    return {};
  }

 private:
  // Whether the status says anything of resources, so that sums by it may differ.
  bool ReportsResources() const {
    const api::PodStatus& status = pod_.status;
    return !status.container_statuses.empty() || !status.init_container_statuses.empty() ||
           status.allocated_resources || status.actuated_requests || IsResizeInfeasible(pod_);
  }
  bool EachSaysCpuAndMemory() const {
    for (const auto* list : {&pod_.spec.containers, &pod_.spec.init_containers}) {
      for (const api::Container& container : *list) {
        const api::ResourceList& requests = container.resources.requests;
        if (!requests.contains("cpu") || !requests.contains("memory")) return false;
      }
    }
    return true;
  }

  const api::Pod& pod_;
  const bool pod_level_;
  const ExactAmounts total_;
};

inline Result<void> RefuseNegative(const api::ResourceList& list, const std::string& path) {
  for (const auto& [name, quantity] : list) {
    if (quantity.Sign() < 0) {
      return ParseError(path + "." + name + ": " + quantity.ToString() +
                        " is negative (allowed: zero or more)");
    }
  }
  return {};
}

inline std::string At(const char* field, std::size_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

inline Result<void> RefuseNegative(const api::Pod& pod) {
  for (const auto& [field, list] : {std::pair{"spec.containers", &pod.spec.containers},
                                    std::pair{"spec.initContainers", &pod.spec.init_containers}}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto done =
          RefuseNegative((*list)[i].resources.requests, At(field, i) + ".resources.requests");
      if (!done) return done;
    }
  }
  if (auto done = RefuseNegative(pod.spec.overhead, "spec.overhead"); !done) return done;
  if (pod.spec.resources) {
    return RefuseNegative(pod.spec.resources->requests, "spec.resources.requests");
  }
  return {};
}

inline Result<NodeTerm> CompileTerm(const api::NodeSelectorTerm& in, Dictionary& dictionary) {
  NodeTerm out;
  for (std::size_t i = 0; i < in.match_expressions.size(); ++i) {
    const std::string at = At("matchExpressions", i);
    if (auto lazy = LazyError(in.match_expressions[i]); !lazy) {
      if (out.error.empty()) out.error = lazy.error().In(at).message();
      continue;
    }
    auto requirement = Compile(in.match_expressions[i], /*nodes=*/true, dictionary);
    if (!requirement) return requirement.error().In(at);
    out.expressions.push_back(*std::move(requirement));
  }
  for (std::size_t i = 0; i < in.match_fields.size(); ++i) {
    const api::SelectorRequirement& field = in.match_fields[i];
    const std::string at = At("matchFields", i);
    if (field.key != "metadata.name") {
      return ParseError(at + ".key: \"" + field.key + "\" is not a field of nodes that can be " +
                        "selected (allowed: metadata.name)");
    }
    if (field.op != api::SelectorOperator::kIn && field.op != api::SelectorOperator::kNotIn) {
      return ParseError(at + ".operator: fields take In and NotIn only");
    }
    if (field.values.size() != 1) {
      return ParseError(at + ".values: must have one element");
    }
    out.names.push_back(
        {field.op == api::SelectorOperator::kIn, dictionary.Intern(field.values[0])});
  }
  return out;
}

inline bool IsEmpty(const api::NodeSelectorTerm& term) {
  return term.match_expressions.empty() && term.match_fields.empty();
}

/// Image names without a tag mean :latest (imagelocality, normalizedImageName).
inline std::string NormalizedImageName(std::string_view name) {
  const auto colon = name.rfind(':');
  const auto slash = name.rfind('/');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return std::string(name) + (tagged ? "" : ":latest");
}

}  // namespace internal

/// Compiles a node selector: the terms that can match. Errors: see Compile(SelectorRequirement).
inline Result<std::vector<NodeTerm>> CompileNodeSelector(const api::NodeSelector& in,
                                                         Dictionary& dictionary) {
  std::vector<NodeTerm> out;
  for (std::size_t i = 0; i < in.node_selector_terms.size(); ++i) {
    const api::NodeSelectorTerm& term = in.node_selector_terms[i];
    if (internal::IsEmpty(term)) continue;  // matches nothing
    auto compiled = internal::CompileTerm(term, dictionary);
    if (!compiled) return compiled.error().In(internal::At("nodeSelectorTerms", i));
    out.push_back(*std::move(compiled));
  }
  return out;
}

/// Compiles preferred terms; those of weight 0 and empty ones never count.
inline Result<std::vector<NodeTerm>> CompilePreferredTerms(
    const std::vector<api::PreferredSchedulingTerm>& in, Dictionary& dictionary) {
  std::vector<NodeTerm> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].weight == 0 || internal::IsEmpty(in[i].preference)) continue;
    auto compiled = internal::CompileTerm(in[i].preference, dictionary);
    if (!compiled) return compiled.error().In(internal::At("", i) + ".preference");
    compiled->weight = in[i].weight;
    out.push_back(*std::move(compiled));
  }
  return out;
}

/// What the API server refuses in a pod's constraint; default constraints have rules of their own.
inline Result<void> CheckSpreadConstraint(const api::TopologySpreadConstraint& in) {
  if (in.max_skew <= 0) {
    return ParseError("maxSkew: " + std::to_string(in.max_skew) +
                      " is not allowed (allowed: 1 or more)");
  }
  if (in.topology_key.empty()) return ParseError("topologyKey: can not be empty");
  if (in.min_domains && *in.min_domains <= 0) {
    return ParseError("minDomains: " + std::to_string(*in.min_domains) +
                      " is not allowed (allowed: 1 or more)");
  }
  return {};
}

/// Compiles one spread constraint of a pod with these labels (podtopologyspread/common.go,
/// filterTopologySpreadConstraints). Errors: a bad selector.
inline Result<SpreadConstraint> CompileSpreadConstraint(const api::TopologySpreadConstraint& in,
                                                        const api::StringMap& pod_labels,
                                                        Dictionary& dictionary) {
  SpreadConstraint out;
  out.max_skew = in.max_skew;
  out.topology_key = dictionary.Intern(in.topology_key);
  auto selector = Selector::Compile(in.label_selector, dictionary);
  if (!selector) return selector.error().In("labelSelector");
  out.selector = *std::move(selector);
  for (const std::string& key : in.match_label_keys) {
    const auto label = pod_labels.find(key);
    if (label == pod_labels.end()) continue;
    Requirement requirement{
        dictionary.Intern(key), api::SelectorOperator::kIn, {dictionary.Intern(label->second)}, 0};
    const auto& known = out.selector.requirements();
    if (std::find(known.begin(), known.end(), requirement) == known.end()) {
      out.selector.Add(std::move(requirement));
    }
  }
  out.min_domains = in.min_domains.value_or(1);
  out.honor_affinity = in.node_affinity_policy.value_or(api::NodeInclusionPolicy::kHonor) ==
                       api::NodeInclusionPolicy::kHonor;
  out.honor_taints = in.node_taints_policy.value_or(api::NodeInclusionPolicy::kIgnore) ==
                     api::NodeInclusionPolicy::kHonor;
  return out;
}

namespace internal {

// What a cycle needs of a pod to be scheduled.
inline Result<void> CompileForCycle(const api::Pod& pod, const Amounts& amounts,
                                    Dictionary& dictionary, PodPlan& out) {
  auto requests = amounts.Requests(dictionary);
  if (!requests) return requests.error();
  out.requests = *std::move(requests);
  KeepCounted(out.requests, dictionary);
  if (out.requests.size() > kMaxRequestedResources) {
    return ParseError("the pod asks for " + std::to_string(out.requests.size()) +
                      " resources (allowed: at most " + std::to_string(kMaxRequestedResources) +
                      ")");
  }
  // cpu, memory and ephemeral-storage first, then the others by name: the order of reasons.
  std::sort(out.requests.begin(), out.requests.end(),
            [&](const ResourceAmount& a, const ResourceAmount& b) {
              if (a.resource <= kEphemeralStorage || b.resource <= kEphemeralStorage) {
                return a.resource < b.resource;
              }
              return dictionary.ResourceName(a.resource) < dictionary.ResourceName(b.resource);
            });

  auto scored = amounts.ScoredRequests(dictionary);
  if (!scored) return scored.error();
  out.scored_requests = *std::move(scored);

  RequiredNodeAffinity& required = out.required_node_affinity;
  if (pod.spec.node_selector) {
    required.node_selector =
        Selector::FromLabels(*pod.spec.node_selector, dictionary).requirements();
  }
  if (const auto& affinity = pod.spec.affinity.node_affinity) {
    if (affinity->required) {
      auto terms = CompileNodeSelector(*affinity->required, dictionary);
      if (!terms) {
        return terms.error().In(
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
      }
      required.has_terms = true;
      required.terms = *std::move(terms);
    }
    auto preferred = CompilePreferredTerms(affinity->preferred, dictionary);
    if (!preferred) {
      return preferred.error().In(
          "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution");
    }
    out.preferred_node_affinity = *std::move(preferred);
  }

  for (std::size_t i = 0; i < pod.spec.topology_spread_constraints.size(); ++i) {
    const api::TopologySpreadConstraint& in = pod.spec.topology_spread_constraints[i];
    const std::string at = At("spec.topologySpreadConstraints", i);
    if (auto checked = CheckSpreadConstraint(in); !checked) return checked.error().In(at);
    auto constraint = CompileSpreadConstraint(in, pod.metadata.labels, dictionary);
    if (!constraint) return constraint.error().In(at);
    auto& list = in.when_unsatisfiable == api::UnsatisfiableConstraintAction::kDoNotSchedule
                     ? out.hard_constraints
                     : out.soft_constraints;
    list.push_back(*std::move(constraint));
  }

  const auto add_image = [&](const std::string& image) {
    out.images.push_back(dictionary.Intern(NormalizedImageName(image)));
  };
  for (const api::Container& container : pod.spec.init_containers) add_image(container.image);
  for (const api::Container& container : pod.spec.containers) add_image(container.image);
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.image) add_image(volume.image_reference);
  }
  return {};
}

}  // namespace internal

/// Compiles the plan of a pod that is normalised already. `for_cycle`: it is to be scheduled.
/// O(size of the pod).
///
/// Errors: negative amounts, sums that 64 bits can't hold, and selectors or constraints that the
/// API server would refuse too; with the path, but without the pod's name.
inline Result<PodPlan> CompilePlan(std::shared_ptr<const api::Pod> pattern, bool for_cycle,
                                   Dictionary& dictionary) {
  const api::Pod& pod = *pattern;
  if (auto done = internal::RefuseNegative(pod); !done) return done.error();
  PodPlan out;
  out.dictionary = &dictionary;
  out.for_cycle = for_cycle;
  out.ns = dictionary.Intern(pod.metadata.ns);
  out.label_set = dictionary.LabelSet(dictionary.InternLabels(pod.metadata.labels));
  out.priority = pod.spec.priority.value_or(0);
  out.terminating = pod.metadata.deletion_timestamp_ns.has_value();

  const internal::Amounts amounts(pod, dictionary);
  auto total = internal::ToColumnValues(amounts.total(), dictionary);
  if (!total) return total.error();
  out.total_requests = *std::move(total);
  out.taken = out.total_requests;
  internal::KeepCounted(out.taken, dictionary);
  if (auto done = amounts.NonZero(dictionary, out.non_zero_cpu, out.non_zero_memory); !done) {
    return done.error();
  }

  std::int64_t whole_gpus = 0;
  for (const ResourceAmount& request : out.total_requests) {
    if (IsGpuResource(dictionary.ResourceName(request.resource))) whole_gpus += request.amount;
  }
  out.gpus = GpuRequestOf(pod.metadata, whole_gpus, dictionary);
  for (const ResourceAmount& request : out.taken) {
    const std::string_view name = dictionary.ResourceName(request.resource);
    if (out.gpus.count != 0 || !name.starts_with(kMigPrefix)) continue;
    if (out.gpus.slices != 0 && dictionary.ResourceName(out.gpus.mig) < name) continue;
    out.gpus.mig = request.resource;
    out.gpus.slices = static_cast<std::int32_t>(std::min<std::int64_t>(request.amount, 1 << 20));
  }

  // Host ports of containers and sidecars; plain init containers reserve none
  // (pkg/scheduler/util/utils.go, GetHostPorts).
  const auto add_ports = [&](const api::Container& container) {
    for (const api::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      out.host_ports.push_back({dictionary.Intern(port.protocol.empty() ? "TCP" : port.protocol),
                                dictionary.Intern(port.host_ip.empty() ? "0.0.0.0" : port.host_ip),
                                port.host_port});
    }
  };
  for (const api::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") add_ports(container);
  }
  for (const api::Container& container : pod.spec.containers) add_ports(container);

  auto affinity = CompileAffinityTerms(pod, dictionary);
  if (!affinity) return affinity.error();
  out.affinity = *std::move(affinity);

  if (for_cycle) {
    if (auto done = internal::CompileForCycle(pod, amounts, dictionary, out); !done) {
      return done.error();
    }
  }
  out.pattern = std::move(pattern);
  return out;
}

/// Compiles a pod alone, its plan included. Errors: see CompilePlan; they name the pod.
inline Result<PodPtr> CompilePod(std::shared_ptr<const api::Pod> pod, bool for_cycle,
                                 Dictionary& dictionary) {
  auto plan = CompilePlan(pod, for_cycle, dictionary);
  if (!plan) return plan.error().In("Pod " + pod->FullName());
  auto out = std::make_shared<PodInfo>();
  out->name = dictionary.Intern(pod->metadata.name);
  out->scheduling_group = dictionary.Intern(pod->spec.scheduling_group);
  out->plan = std::make_shared<const PodPlan>(*std::move(plan));
  out->pod = std::move(pod);
  return PodPtr(std::move(out));
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_POD_INFO_H_
