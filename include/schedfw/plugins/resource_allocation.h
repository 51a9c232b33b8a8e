// What NodeResourcesFit and NodeResourcesBalancedAllocation share: which columns a score reads.
#ifndef SCHEDFW_PLUGINS_RESOURCE_ALLOCATION_H_
#define SCHEDFW_PLUGINS_RESOURCE_ALLOCATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// One resource of a scoring strategy, resolved for a cycle.
struct ScoredResource {
  const std::int64_t* allocatable = nullptr;
  const std::int64_t* allocated = nullptr;  ///< what the node's pods take already
  std::int64_t request = 0;                 ///< what this pod adds
  std::int64_t weight = 1;
};

/// Resolves the resources a score reads, in the strategy's order
/// (noderesources/resource_allocation.go, calculateNodeAllocatableRequest).
///
/// A scalar resource that the pod doesn't ask for is left out, and so is a name that isn't counted;
/// a node without the resource (allocatable 0) is left out by the loops. `non_zero`: cpu and memory
/// count with upstream's defaults for containers that say nothing.
template <typename Spec>
std::vector<ScoredResource> ResolveResources(const Cycle& cycle, const std::vector<Spec>& specs,
                                             const std::vector<ResourceAmount>& requests,
                                             bool non_zero) {
  std::vector<ScoredResource> out;
  Dictionary& dictionary = cycle.snapshot.dictionary();
  for (const Spec& spec : specs) {
    const ResourceId id = dictionary.Resource(spec.name);
    if (id == kPods || !dictionary.IsCounted(id)) continue;
    ScoredResource resource;
    for (const ResourceAmount& request : requests) {
      if (request.resource == id) resource.request = request.amount;
    }
    if (id > kPods && resource.request == 0) continue;
    resource.weight = spec.weight;
    resource.allocatable = cycle.snapshot.Allocatable(id);
    resource.allocated = non_zero && id == kCpu      ? cycle.snapshot.NonZeroRequestedCpu()
                         : non_zero && id == kMemory ? cycle.snapshot.NonZeroRequestedMemory()
                                                     : cycle.snapshot.Requested(id);
    out.push_back(resource);
  }
  return out;
}

/// part × 100 / whole in integers, exact where the product doesn't fit into 64 bits.
inline std::int64_t Percent(std::int64_t part, std::int64_t whole) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(part, kMaxNodeScore, &product)) return product / whole;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(part) * kMaxNodeScore / whole);
}

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_RESOURCE_ALLOCATION_H_
