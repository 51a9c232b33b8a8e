// PodInfo: a pod compiled once into ids and amounts, for every later cycle.
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
  };
  std::vector<Requirement> expressions;
  std::vector<NameTest> names;
  std::int32_t weight = 0;  ///< of a preferred term
  /// Not empty: the term can't be parsed. A required one matches nothing, a preferred one fails the
  /// scoring (nodeaffinity.go, LazyErrorNodeSelector and NewPreferredSchedulingTerms).
  std::string error;
};

/// spec.nodeSelector and the required node affinity.
struct RequiredNodeAffinity {
  std::vector<Requirement> node_selector;  ///< all must hold
  bool has_terms = false;                  ///< a node affinity is given,
  std::vector<NodeTerm> terms;             ///< of which one term must hold (no term: none does)

  bool Empty() const { return node_selector.empty() && !has_terms; }
};

struct SpreadConstraint {
  std::int64_t max_skew = 1;
  StringId topology_key = 0;
  Selector selector;
  std::int64_t min_domains = 1;
  bool honor_affinity = true;  ///< nodeAffinityPolicy
  bool honor_taints = false;   ///< nodeTaintsPolicy
};

/// How many different resources one pod may ask for: a bit each in what NodeResourcesFit reports.
inline constexpr std::size_t kMaxRequestedResources = 30;

/// What a cycle needs to know of the pod it schedules, compiled.
struct PodPlan {
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
};

/// A pod and what it means to the cluster. Immutable; shared by forks and snapshots.
struct PodInfo {
  std::shared_ptr<const api::Pod> pod;
  StringId ns = 0;
  StringId name = 0;
  LabelSetId label_set = 0;
  std::int32_t priority = 0;
  bool terminating = false;
  /// What it takes from a node: counted resources in resource order.
  std::vector<ResourceAmount> requests;
  std::int64_t non_zero_cpu = 0;     ///< thousandths of a core, with defaults
  std::int64_t non_zero_memory = 0;  ///< bytes, with defaults
  std::vector<HostPort> host_ports;
  std::shared_ptr<const PodAffinityTerms> affinity;  ///< null: no inter-pod affinity
  std::shared_ptr<const PodPlan> plan;               ///< null for pods that have a node already

  std::string FullName() const { return pod->FullName(); }
  std::uint64_t Key() const { return std::uint64_t{ns} << 32 | name; }
  /// The amount of one resource in `requests`, else 0.
  std::int64_t Request(ResourceId resource) const {
    for (const ResourceAmount& request : requests) {
      if (request.resource == resource) return request.amount;
    }
    return 0;
  }
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

/// Compiles what a cycle needs of a pod to be scheduled. The pod is normalised already.
///
/// Errors: selectors, constraints or amounts that the API server would refuse too, with the path.
inline Result<PodPlan> CompilePlan(const api::Pod& pod, Dictionary& dictionary) {
  PodPlan out;
  auto requests = internal::ToColumnValues(PodRequests(pod, {}, dictionary), dictionary);
  if (!requests) return requests.error();
  out.requests = *std::move(requests);
  internal::KeepCounted(out.requests, dictionary);
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

  auto scored = internal::ToColumnValues(
      PodRequests(pod, {.skip_pod_level = true, .default_cpu = true, .default_memory = true},
                  dictionary),
      dictionary);
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
    const std::string at = internal::At("spec.topologySpreadConstraints", i);
    if (auto checked = CheckSpreadConstraint(in); !checked) return checked.error().In(at);
    auto constraint = CompileSpreadConstraint(in, pod.metadata.labels, dictionary);
    if (!constraint) return constraint.error().In(at);
    auto& list = in.when_unsatisfiable == api::UnsatisfiableConstraintAction::kDoNotSchedule
                     ? out.hard_constraints
                     : out.soft_constraints;
    list.push_back(*std::move(constraint));
  }

  const auto add_image = [&](const std::string& image) {
    out.images.push_back(dictionary.Intern(internal::NormalizedImageName(image)));
  };
  for (const api::Container& container : pod.spec.init_containers) add_image(container.image);
  for (const api::Container& container : pod.spec.containers) add_image(container.image);
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.image) add_image(volume.image_reference);
  }
  return out;
}

/// Compiles a pod. `with_plan`: the pod is to be scheduled. O(size of the pod).
///
/// Errors name the pod and the field: negative amounts, sums that 64 bits can't hold, and what
/// CompilePlan() refuses.
inline Result<PodPtr> CompilePod(std::shared_ptr<const api::Pod> pod, bool with_plan,
                                 Dictionary& dictionary) {
  const auto refuse = [&](const Error& error) { return error.In("Pod " + pod->FullName()); };
  if (auto done = internal::RefuseNegative(*pod); !done) return refuse(done.error());
  auto out = std::make_shared<PodInfo>();
  out->pod = pod;
  out->ns = dictionary.Intern(pod->metadata.ns);
  out->name = dictionary.Intern(pod->metadata.name);
  out->label_set = dictionary.LabelSet(dictionary.InternLabels(pod->metadata.labels));
  out->priority = pod->spec.priority.value_or(0);
  out->terminating = pod->metadata.deletion_timestamp_ns.has_value();

  const ExactAmounts exact = PodRequests(*pod, {.use_status = true}, dictionary);
  auto requests = internal::ToColumnValues(exact, dictionary);
  if (!requests) return refuse(requests.error());
  out->requests = *std::move(requests);

  // pkg/scheduler/framework/types.go, getNonMissingContainerRequests: with pod-level requests the
  // defaults apply only to what neither the pod nor any container gives.
  const bool pod_level = internal::HasPodLevelRequests(*pod);
  const PodRequestsOptions non_zero{.use_status = true,
                                    .default_cpu = !pod_level || exact.Find(kCpu) == nullptr,
                                    .default_memory = !pod_level || exact.Find(kMemory) == nullptr};
  const ExactAmounts with_defaults = PodRequests(*pod, non_zero, dictionary);
  for (const auto& [resource, amount] :
       {std::pair{kCpu, &out->non_zero_cpu}, std::pair{kMemory, &out->non_zero_memory}}) {
    const Quantity* quantity = with_defaults.Find(resource);
    if (quantity == nullptr) continue;
    const auto value = ColumnValue(resource, *quantity);
    if (!value) {
      return refuse(ParseError("requests of " + std::string(dictionary.ResourceName(resource)) +
                               " add up to more than 64 bits can hold"));
    }
    *amount = *value;
  }

  // Host ports of containers and sidecars; plain init containers reserve none
  // (pkg/scheduler/util/utils.go, GetHostPorts).
  const auto add_ports = [&](const api::Container& container) {
    for (const api::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      out->host_ports.push_back({dictionary.Intern(port.protocol.empty() ? "TCP" : port.protocol),
                                 dictionary.Intern(port.host_ip.empty() ? "0.0.0.0" : port.host_ip),
                                 port.host_port});
    }
  };
  for (const api::Container& container : pod->spec.init_containers) {
    if (container.restart_policy == "Always") add_ports(container);
  }
  for (const api::Container& container : pod->spec.containers) add_ports(container);

  auto affinity = CompileAffinityTerms(*pod, dictionary);
  if (!affinity) return refuse(affinity.error());
  out->affinity = *std::move(affinity);

  if (with_plan) {
    auto plan = CompilePlan(*pod, dictionary);
    if (!plan) return refuse(plan.error());
    out->plan = std::make_shared<const PodPlan>(*std::move(plan));
  }
  return PodPtr(std::move(out));
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_POD_INFO_H_
