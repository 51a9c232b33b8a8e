// The QoS class of a pod (pkg/apis/core/v1/helper/qos/qos.go).
#ifndef SCHEDFW_API_QOS_H_
#define SCHEDFW_API_QOS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "schedfw/api/pod.h"
#include "schedfw/api/resource_name.h"

namespace schedfw::api {

enum class PodQos : std::uint8_t { kBestEffort, kBurstable, kGuaranteed };

/// True when the pod as a whole has requests or limits of what a pod may ask for as a whole.
inline bool HasPodLevelResources(const Pod& pod) {
  if (!pod.spec.resources) return false;
  const auto any = [](const ResourceList& list) {
    return std::any_of(list.begin(), list.end(),
                       [](const auto& entry) { return IsPodLevelResource(entry.first); });
  };
  return any(pod.spec.resources->requests) || any(pod.spec.resources->limits);
}

namespace internal {

inline PodQos QosOf(const ResourceRequirements& resources) {
  static const Quantity kZero;
  const auto amount = [](const ResourceList& list, const char* name) -> const Quantity& {
    const auto it = list.find(name);
    return it == list.end() ? kZero : it->second;
  };
  std::optional<PodQos> out;
  for (const char* name : {"cpu", "memory"}) {
    const Quantity& request = amount(resources.requests, name);
    if (request != amount(resources.limits, name)) return PodQos::kBurstable;
    const PodQos own = request.IsZero() ? PodQos::kBestEffort : PodQos::kGuaranteed;
    if (out && *out != own) return PodQos::kBurstable;
    out = own;
  }
  return *out;
}

}  // namespace internal

/// The class of a normalised pod: of its own resources where it has them, else of its containers,
/// init containers among them. O(containers).
inline PodQos QosOf(const Pod& pod) {
  if (HasPodLevelResources(pod)) return internal::QosOf(*pod.spec.resources);
  std::optional<PodQos> out;
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (const Container& container : *list) {
      const PodQos own = internal::QosOf(container.resources);
      if (own == PodQos::kBurstable || (out && *out != own)) return PodQos::kBurstable;
      out = own;
    }
  }
  return out.value_or(PodQos::kBestEffort);
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_QOS_H_
