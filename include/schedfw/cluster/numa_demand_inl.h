// The definitions of NumaDemandOf and PlaceInZones (see base/inline.h).
#ifndef SCHEDFW_CLUSTER_NUMA_DEMAND_INL_H_
#define SCHEDFW_CLUSTER_NUMA_DEMAND_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/cluster/numa_demand.h"

namespace schedfw {

namespace internal {

// numaresources.go, isNUMAAffineResource.
inline bool IsNumaAffine(std::string_view name) {
  return name == "cpu" || name == "memory" || api::IsHugePageResource(name);
}
inline bool IsHostLevel(std::string_view name) {
  return name == "ephemeral-storage" || name == "storage" || !api::IsNativeResource(name);
}

inline NumaRequest* FindRequest(NumaRequests& list, ResourceId resource) {
  for (NumaRequest& request : list) {
    if (request.resource == resource) return &request;
  }
  return nullptr;
}
// Each amount of `more` is added, or taken where it is larger.
template <typename F>
void Combine(NumaRequests& list, const NumaRequests& more, F&& combine) {
  for (const NumaRequest& request : more) {
    NumaRequest* own = FindRequest(list, request.resource);
    if (own == nullptr) {
      list.push_back(request);
      continue;
    }
    own->amount = combine(own->amount, request.amount);
    own->bound = combine(own->bound, request.bound);
  }
}
inline void Add(NumaRequests& list, const NumaRequests& more) { Combine(list, more, CappedSum); }
inline void Max(NumaRequests& list, const NumaRequests& more) {
  Combine(list, more, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}

class DemandCompiler {
 public:
  DemandCompiler(const api::Pod& pod, Dictionary& dictionary)
      : pod_(pod),
        dictionary_(dictionary),
        // CPU and memory manager leave pods with resources of their own alone, unless a feature
        // gate that is off by default is set (PodLevelResourceManagers).
        binds_(api::QosOf(pod) == api::PodQos::kGuaranteed && !api::HasPodLevelResources(pod)) {}

  NumaDemand Run() {
    NumaDemand out;
    out.qos = api::QosOf(pod_);
    out.binds_cpu = binds_;
    NumaRequests sidecars, inits, apps;
    for (const api::Container& container : pod_.spec.init_containers) {
      const bool sidecar = container.restart_policy == "Always";
      out.containers.push_back({sidecar ? ContainerKind::kSidecar : ContainerKind::kInit,
                                RequestsOf(container.resources.requests)});
      const NumaRequests& own = out.containers.back().requests;
      // policy_static.go, podGuaranteedCPUs: the largest moment while init containers run, each
      // beside the sidecars before it.
      NumaRequests moment = sidecars;
      Add(moment, own);
      Max(inits, moment);
      if (sidecar) sidecars = std::move(moment);
    }
    for (const api::Container& container : pod_.spec.containers) {
      out.containers.push_back({ContainerKind::kApp, RequestsOf(container.resources.requests)});
      Add(apps, out.containers.back().requests);
    }
    out.pod = std::move(sidecars);
    Add(out.pod, apps);
    Max(out.pod, inits);
    out.pod_with_overhead = out.pod;
    NumaRequests overhead = RequestsOf(pod_.spec.overhead);
    for (NumaRequest& request : overhead) {
      // It adds to what is bound, and is not bound by itself.
      const NumaRequest* own = FindRequest(out.pod, request.resource);
      request.bound = own != nullptr && own->bound > 0 ? request.amount : 0;
    }
    Add(out.pod_with_overhead, overhead);
    Sort(out.pod);
    Sort(out.pod_with_overhead);
    for (const NumaContainer& container : out.containers) {
      for (const NumaRequest& request : container.requests) {
        out.devices =
            out.devices || !api::IsNativeResource(dictionary_.ResourceName(request.resource));
      }
    }
    return out;
  }

 private:
  NumaRequests RequestsOf(const api::ResourceList& list) {
    NumaRequests out;
    for (const auto& [name, quantity] : list) {
      NumaRequest request;
      request.resource = dictionary_.Resource(name);
      // Amounts that 64 bits can't hold were refused when the pod was compiled.
      request.amount = ColumnValue(request.resource, quantity).value_or(0);
      request.host_level = IsHostLevel(name);
      const bool part_of_core = request.resource == kCpu && request.amount % 1000 != 0;
      if (!IsNumaAffine(name) || (binds_ && !part_of_core)) request.bound = request.amount;
      out.push_back(request);
    }
    Sort(out);
    return out;
  }
  void Sort(NumaRequests& list) {
    std::sort(list.begin(), list.end(), [&](const NumaRequest& a, const NumaRequest& b) {
      if (a.resource <= kMemory || b.resource <= kMemory) return a.resource < b.resource;
      return dictionary_.ResourceName(a.resource) < dictionary_.ResourceName(b.resource);
    });
  }

  const api::Pod& pod_;
  Dictionary& dictionary_;
  const bool binds_;
};

}  // namespace internal

SCHEDFW_INLINE NumaDemand NumaDemandOf(const api::Pod& pod, Dictionary& dictionary) {
  return internal::DemandCompiler(pod, dictionary).Run();
}

namespace internal {

// Places the containers of one pod one after another, as the kubelet's hint providers would:
// pkg/kubelet/cm/cpumanager/policy_static.go, memorymanager/policy_static.go, devicemanager.
class NumaPlacer {
 public:
  NumaPlacer(const NumaZones& zones, const NumaDemand& demand, const Dictionary& dictionary)
      : layout_(*zones.layout),
        demand_(demand),
        dictionary_(dictionary),
        free_(zones.available),
        reusable_(free_.size(), 0) {}

  NumaPlacement Run(const NumaZones& zones) {
    NumaPlacement out;
    const bool whole_pod = layout_.scope == NumaScope::kPod && layout_.policy != NumaPolicy::kNone;
    if (whole_pod) {
      const NumaHint hint = Merge(demand_.pod);
      if (!Admits(hint)) out.admitted = false;
      for (const NumaContainer& container : demand_.containers) Take(container, hint.zones);
    } else {
      for (const NumaContainer& container : demand_.containers) {
        if (layout_.policy == NumaPolicy::kNone) {
          for (const NumaRequest& request : container.requests) {
            TakeOne(container.kind, request, Merge({request}).zones);
          }
          continue;
        }
        const NumaHint hint = Merge(container.requests);
        if (!Admits(hint) && out.admitted) {
          out.admitted = false;
          out.refused = container.kind;
        }
        Take(container, hint.zones);
      }
    }
    for (std::size_t zone = 0; zone < layout_.zones(); ++zone) {
      for (std::size_t column = 0; column < layout_.resources.size(); ++column) {
        const std::size_t at = layout_.At(zone, column);
        const std::int64_t taken = zones.available[at] - free_[at];
        if (taken == 0) continue;
        out.takes.push_back({static_cast<std::uint32_t>(zone), layout_.resources[column], taken});
      }
    }
    return out;
  }

 private:
  bool Admits(const NumaHint& hint) const {
    return hint.preferred || layout_.policy == NumaPolicy::kBestEffort ||
           layout_.policy == NumaPolicy::kNone;
  }
  static bool IsIn(ZoneMask mask, std::size_t place) { return (mask >> place & 1) != 0; }
  bool IsMemory(ResourceId resource) const {
    return resource == kMemory || api::IsHugePageResource(dictionary_.ResourceName(resource));
  }

  // The best set of zones for all requests at once, by their order of ids. Of more zones than the
  // kubelet makes hints for: all of them.
  NumaHint Merge(const NumaRequests& requests) const {
    const std::size_t zones = layout_.zones();
    if (zones == 0) return {0, true};
    if (zones > kMaxHintZones) return {~ZoneMask{0}, true};
    std::vector<NumaHints> hints;
    std::vector<std::pair<std::size_t, std::int64_t>> memory;  // column and amount
    for (const NumaRequest& request : requests) {
      const auto column = layout_.Find(request.resource);
      if (request.bound <= 0 || !column) continue;
      if (IsMemory(request.resource)) {
        memory.emplace_back(*column, request.bound);
      } else {
        hints.push_back(HintsOf(*column, request.bound));
      }
    }
    // All types of memory have the same hints: sets that have enough of each.
    if (!memory.empty()) hints.push_back(MemoryHints(memory));
    return MergeHints(layout_.policy, zones, hints);
  }

  template <typename F>
  std::int64_t SumOver(ZoneMask mask, F&& amount) const {
    std::int64_t sum = 0;
    for (std::size_t place = 0; place < layout_.zones(); ++place) {
      if (IsIn(mask, place)) sum = CappedSum(sum, amount(layout_.by_id[place]));
    }
    return sum;
  }
  std::int64_t Amount(const std::vector<std::int64_t>& amounts, std::size_t zone,
                      std::size_t column) const {
    return std::max<std::int64_t>(amounts[layout_.At(zone, column)], 0);
  }

  // Of cpu and devices (generateCPUTopologyHints, generateDeviceTopologyHints): sets of zones that
  // have the resource, which include those where init containers left something to be reused.
  NumaHints HintsOf(std::size_t column, std::int64_t wanted) const {
    ZoneMask all = 0, must = 0;
    for (std::size_t place = 0; place < layout_.zones(); ++place) {
      const std::size_t at = layout_.At(layout_.by_id[place], column);
      if (layout_.total[at] > 0) all |= 1U << place;
      if (reusable_[at] > 0) must |= 1U << place;
    }
    int least = std::popcount(all);
    NumaHints out;
    for (ZoneMask mask = 1; mask <= all; ++mask) {
      if ((mask & ~all) != 0) continue;
      const auto total =
          SumOver(mask, [&](std::size_t zone) { return Amount(layout_.total, zone, column); });
      if (total >= wanted) least = std::min(least, std::popcount(mask));
      if ((must & ~mask) != 0) continue;
      const auto free = SumOver(mask, [&](std::size_t zone) {
        return Amount(free_, zone, column) + reusable_[layout_.At(zone, column)];
      });
      if (free >= wanted) out.push_back({mask, false});
    }
    for (NumaHint& hint : out) hint.preferred = std::popcount(hint.zones) == least;
    return out;
  }

  // calculateHints; what is not known here is which zones have memory in common with others.
  NumaHints MemoryHints(const std::vector<std::pair<std::size_t, std::int64_t>>& wanted) const {
    const auto all = static_cast<ZoneMask>((1U << layout_.zones()) - 1);
    int least = std::popcount(all);
    NumaHints out;
    for (ZoneMask mask = 1; mask <= all; ++mask) {
      bool possible = true, fits = true;
      for (const auto& [column, amount] : wanted) {
        const auto total = SumOver(
            mask, [&, at = column](std::size_t zone) { return Amount(layout_.total, zone, at); });
        // Memory of init containers is only reused in the same set of zones.
        std::int64_t free =
            SumOver(mask, [&, at = column](std::size_t zone) { return Amount(free_, zone, at); });
        if (mask == memory_zones_) free = CappedSum(free, Reusable(column));
        possible = possible && total >= amount;
        fits = fits && free >= amount;
      }
      if (!possible) continue;
      least = std::min(least, std::popcount(mask));
      if (fits) out.push_back({mask, false});
    }
    for (NumaHint& hint : out) hint.preferred = std::popcount(hint.zones) == least;
    return out;
  }
  std::int64_t Reusable(std::size_t column) const {
    std::int64_t sum = 0;
    for (std::size_t zone = 0; zone < layout_.zones(); ++zone) {
      sum = CappedSum(sum, reusable_[layout_.At(zone, column)]);
    }
    return sum;
  }

  void Take(const NumaContainer& container, ZoneMask mask) {
    for (const NumaRequest& request : container.requests) {
      TakeOne(container.kind, request, mask);
    }
  }

  // Takes an amount from the zones of a set, the lowest id first, then from the others; in each
  // what may be reused before what is free. A plain init container leaves all that it had to those
  // after it; others keep what they get.
  void TakeOne(ContainerKind kind, const NumaRequest& request, ZoneMask mask) {
    const auto column = layout_.Find(request.resource);
    if (request.bound <= 0 || !column) return;
    const bool memory = IsMemory(request.resource);
    const bool reuses = !memory || mask == memory_zones_;
    if (memory && kind == ContainerKind::kInit) memory_zones_ = mask;
    std::int64_t left = request.bound;
    for (const bool inside : {true, false}) {
      for (std::size_t place = 0; place < layout_.zones() && left > 0; ++place) {
        if ((place >= 32 ? true : IsIn(mask, place)) != inside) continue;
        const std::size_t at = layout_.At(layout_.by_id[place], *column);
        const std::int64_t reused = reuses ? std::min(reusable_[at], left) : 0;
        left -= reused;
        const std::int64_t fresh = std::min(std::max<std::int64_t>(free_[at], 0), left);
        left -= fresh;
        free_[at] -= fresh;
        reusable_[at] += kind == ContainerKind::kInit ? fresh : -reused;
      }
    }
  }

  const NumaLayout& layout_;
  const NumaDemand& demand_;
  const Dictionary& dictionary_;
  std::vector<std::int64_t> free_;
  std::vector<std::int64_t> reusable_;  // of the pod's init containers
  ZoneMask memory_zones_ = 0;           // where those had memory last
};

}  // namespace internal

SCHEDFW_INLINE NumaPlacement PlaceInZones(const NumaZones& zones, const NumaDemand& demand,
                                          const Dictionary& dictionary) {
  return internal::NumaPlacer(zones, demand, dictionary).Run(zones);
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_NUMA_DEMAND_INL_H_
