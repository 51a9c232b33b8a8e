// PodRequests: what a pod asks for, over its containers, sidecars, overhead and resizes.
#ifndef SCHEDFW_CLUSTER_POD_REQUESTS_H_
#define SCHEDFW_CLUSTER_POD_REQUESTS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/base/quantity.h"
#include "schedfw/cluster/dictionary.h"

namespace schedfw {

/// An amount of one resource: thousandths of a core for cpu, else whole units.
struct ResourceAmount {
  ResourceId resource = 0;
  std::int64_t amount = 0;

  friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};

/// Exact amounts by resource; a short list is faster than a map and keeps no order.
class ExactAmounts {
 public:
  struct Entry {
    ResourceId resource;
    Quantity quantity;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  const Quantity* Find(ResourceId resource) const {
    for (const Entry& entry : entries_) {
      if (entry.resource == resource) return &entry.quantity;
    }
    return nullptr;
  }
  void Set(ResourceId resource, const Quantity& quantity) {
    if (Quantity* found = FindMutable(resource)) {
      *found = quantity;
    } else {
      entries_.push_back({resource, quantity});
    }
  }
  void Add(ResourceId resource, const Quantity& quantity) {
    if (Quantity* found = FindMutable(resource)) {
      *found += quantity;
    } else {
      entries_.push_back({resource, quantity});
    }
  }
  void Add(const ExactAmounts& other) {
    for (const Entry& entry : other.entries_) Add(entry.resource, entry.quantity);
  }
  void Max(const ExactAmounts& other) {
    for (const Entry& entry : other.entries_) {
      Quantity* found = FindMutable(entry.resource);
      if (found == nullptr) {
        entries_.push_back(entry);
      } else if (*found < entry.quantity) {
        *found = entry.quantity;
      }
    }
  }

 private:
  Quantity* FindMutable(ResourceId resource) {
    for (Entry& entry : entries_) {
      if (entry.resource == resource) return &entry.quantity;
    }
    return nullptr;
  }
  std::vector<Entry> entries_;
};

struct PodRequestsOptions {
  /// Use what the kubelet reports as allocated and actuated where it is more (in-place resize).
  bool use_status = false;
  /// Ignore spec.resources.
  bool skip_pod_level = false;
  /// A container that says nothing of cpu (memory) counts with 100m (200Mi).
  bool default_cpu = false;
  bool default_memory = false;
};

/// Upstream's defaults for containers that say nothing (pkg/scheduler/util/pod_resources.go).
inline constexpr std::int64_t kDefaultMilliCpuRequest = 100;
inline constexpr std::int64_t kDefaultMemoryRequest = 200 * 1024 * 1024;

namespace internal {

inline ExactAmounts ToAmounts(const api::ResourceList& list, Dictionary& dictionary) {
  ExactAmounts out;
  for (const auto& [name, quantity] : list) out.Set(dictionary.Resource(name), quantity);
  return out;
}

inline const api::ContainerStatus* FindStatus(const api::Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    for (const api::ContainerStatus& status : *list) {
      if (status.name == name) return &status;
    }
  }
  return nullptr;
}

// The first PodResizePending condition says whether the resize is infeasible on its node.
inline bool IsResizeInfeasible(const api::Pod& pod) {
  for (const api::Condition& condition : pod.status.conditions) {
    if (condition.type == "PodResizePending") return condition.reason == "Infeasible";
  }
  return false;
}

enum class RequestSource { kSpec, kAllocated, kActuated };

// The list that one container counts with; nullptr: nothing.
inline const api::ResourceList* ContainerRequests(const api::Container& container,
                                                  const api::ContainerStatus* status,
                                                  bool infeasible, RequestSource source) {
  if (source == RequestSource::kSpec) return &container.resources.requests;
  if (status != nullptr) {
    if (source == RequestSource::kActuated && status->actuated_requests) {
      return &*status->actuated_requests;
    }
    if (status->allocated_resources) return &*status->allocated_resources;
  }
  return infeasible ? nullptr : &container.resources.requests;
}

// max(containers + sidecars, the largest moment while init containers run), by resource. A sidecar
// counts for every init container after it.
inline ExactAmounts AggregateContainers(const api::Pod& pod, const PodRequestsOptions& options,
                                        RequestSource source, Dictionary& dictionary) {
  const bool infeasible = options.use_status && IsResizeInfeasible(pod);
  const auto requests_of = [&](const api::Container& container) {
    const api::ContainerStatus* status =
        options.use_status ? FindStatus(pod, container.name) : nullptr;
    const api::ResourceList* list = ContainerRequests(container, status, infeasible, source);
    ExactAmounts out = list == nullptr ? ExactAmounts() : ToAmounts(*list, dictionary);
    if (options.default_cpu && out.Find(kCpu) == nullptr) {
      out.Set(kCpu, Quantity::FromMilli(kDefaultMilliCpuRequest));
    }
    if (options.default_memory && out.Find(kMemory) == nullptr) {
      out.Set(kMemory, Quantity::FromUnits(kDefaultMemoryRequest));
    }
    return out;
  };
  ExactAmounts total, sidecars, init;
  for (const api::Container& container : pod.spec.containers) total.Add(requests_of(container));
  for (const api::Container& container : pod.spec.init_containers) {
    ExactAmounts amounts = requests_of(container);
    if (container.restart_policy == "Always") {
      total.Add(amounts);
      sidecars.Add(amounts);
      init.Max(sidecars);
    } else {
      amounts.Add(sidecars);
      init.Max(amounts);
    }
  }
  total.Max(init);
  return total;
}

inline bool HasPodLevelRequests(const api::Pod& pod) {
  if (!pod.spec.resources) return false;
  for (const auto& [name, quantity] : pod.spec.resources->requests) {
    if (api::IsPodLevelResource(name)) return true;
  }
  return false;
}

}  // namespace internal

/// What a pod asks for, exactly; rounding comes last (k8s.io/component-helpers/resource/helpers.go,
/// PodRequests). O(containers × resources).
inline ExactAmounts PodRequests(const api::Pod& pod, const PodRequestsOptions& options,
                                Dictionary& dictionary) {
  using internal::RequestSource;
  const bool infeasible = options.use_status && internal::IsResizeInfeasible(pod);
  const bool pod_level_status = pod.status.allocated_resources && pod.status.actuated_requests;
  ExactAmounts total =
      internal::AggregateContainers(pod, options, RequestSource::kSpec, dictionary);
  if (options.use_status) {
    ExactAmounts allocated, actuated;
    if (pod_level_status) {
      allocated = internal::ToAmounts(*pod.status.allocated_resources, dictionary);
      actuated = internal::ToAmounts(*pod.status.actuated_requests, dictionary);
    } else {
      allocated =
          internal::AggregateContainers(pod, options, RequestSource::kAllocated, dictionary);
      actuated = internal::AggregateContainers(pod, options, RequestSource::kActuated, dictionary);
    }
    if (infeasible) total = ExactAmounts();
    total.Max(actuated);
    total.Max(allocated);
  }
  if (!options.skip_pod_level && internal::HasPodLevelRequests(pod)) {
    ExactAmounts pod_level = internal::ToAmounts(pod.spec.resources->requests, dictionary);
    if (options.use_status && pod.status.has_resources) {
      if (infeasible) pod_level = ExactAmounts();
      if (pod.status.actuated_requests) {
        pod_level.Max(internal::ToAmounts(*pod.status.actuated_requests, dictionary));
      }
      if (pod.status.allocated_resources) {
        pod_level.Max(internal::ToAmounts(*pod.status.allocated_resources, dictionary));
      }
    }
    for (const auto& entry : pod_level.entries()) {
      if (api::IsPodLevelResource(dictionary.ResourceName(entry.resource))) {
        total.Set(entry.resource, entry.quantity);
      }
    }
  }
  for (const auto& [name, quantity] : pod.spec.overhead) {
    total.Add(dictionary.Resource(name), quantity);
  }
  return total;
}

/// A quantity as a column holds it: thousandths for cpu, else whole units, rounded up; nullopt when
/// 64 bits can't hold it.
inline std::optional<std::int64_t> ColumnValue(ResourceId resource, const Quantity& quantity) {
  return resource == kCpu ? quantity.MilliValue() : quantity.Value();
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_POD_REQUESTS_H_
