// What NodeResourcesFit and NodeResourcesBalancedAllocation share: which columns a score reads.
#ifndef SCHEDFW_PLUGINS_RESOURCE_ALLOCATION_H_
#define SCHEDFW_PLUGINS_RESOURCE_ALLOCATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/base/simd.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// One resource of a scoring strategy, resolved for a cycle.
struct ScoredResource {
  const std::int64_t* allocatable = nullptr;
  const std::int64_t* allocated = nullptr;  ///< what the node's pods take already
  std::int64_t request = 0;                 ///< what this pod adds
  std::int64_t weight = 1;
};

/// The resources of a scoring strategy by their columns, which are looked up once a dictionary.
class ResourceColumns {
 public:
  template <typename Spec>
  explicit ResourceColumns(const std::vector<Spec>& specs) {
    for (const Spec& spec : specs) specs_.push_back({spec.name, spec.weight});
  }

  /// Writes the resources that a score reads in the strategy's order
  /// (noderesources/resource_allocation.go, calculateNodeAllocatableRequest).
  ///
  /// A scalar resource that the pod doesn't ask for is left out, and so is a name that isn't
  /// counted; a node without the resource (allocatable 0) is left out by the loops. `non_zero`: cpu
  /// and memory count with upstream's defaults for containers that say nothing.
  void Resolve(const Snapshot& snapshot, const std::vector<ResourceAmount>& requests, bool non_zero,
               std::vector<ScoredResource>& out) {
    LookUp(snapshot.dictionary());
    out.clear();
    for (const Column& column : columns_) {
      const ResourceId id = column.id;
      ScoredResource resource;
      for (const ResourceAmount& request : requests) {
        if (request.resource == id) resource.request = request.amount;
      }
      if (id > kPods && resource.request == 0) continue;
      resource.weight = column.weight;
      resource.allocatable = snapshot.Allocatable(id);
      resource.allocated = non_zero && id == kCpu      ? snapshot.NonZeroRequestedCpu()
                           : non_zero && id == kMemory ? snapshot.NonZeroRequestedMemory()
                                                       : snapshot.Requested(id);
      out.push_back(resource);
    }
  }
  /// Whether the pod asks for any of them.
  bool AnyRequested(const PodPlan& plan, Dictionary& dictionary) {
    LookUp(dictionary);
    for (const ResourceId id : all_) {
      if (plan.Request(id) != 0) return true;
    }
    return false;
  }

 private:
  struct Spec {
    std::string name;
    std::int64_t weight;
  };
  struct Column {
    ResourceId id;
    std::int64_t weight;
  };

  void LookUp(Dictionary& dictionary) {
    if (dictionary_ == dictionary.id()) return;
    columns_.clear();
    all_.clear();
    for (const Spec& spec : specs_) {
      const ResourceId id = dictionary.Resource(spec.name);
      all_.push_back(id);
      if (id != kPods && dictionary.IsCounted(id)) columns_.push_back({id, spec.weight});
    }
    dictionary_ = dictionary.id();
  }

  std::vector<Spec> specs_;
  std::uint64_t dictionary_ = 0;
  std::vector<Column> columns_;
  std::vector<ResourceId> all_;
};

/// Amounts up to this one are divided as doubles, with the same result: the product with 100 is
/// exact, and a quotient that isn't whole is further from the next integer than a rounding error.
inline constexpr std::int64_t kMaxDoubleAmount = std::int64_t{1} << 46;

/// Whether amounts are from 0 to kMaxDoubleAmount − 1, by the bits that any of them has.
inline bool AreDoubleAmounts(std::uint64_t bits) {
  return bits < static_cast<std::uint64_t>(kMaxDoubleAmount);
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
