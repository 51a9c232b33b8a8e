// What a pod asks of NUMA zones, and where the kubelet's Topology Manager would put it.
#ifndef SCHEDFW_CLUSTER_NUMA_DEMAND_H_
#define SCHEDFW_CLUSTER_NUMA_DEMAND_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/api/qos.h"
#include "schedfw/base/inline.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/numa.h"
#include "schedfw/cluster/pod_requests.h"
#include "schedfw/topology/topology_manager.h"

namespace schedfw {

enum class ContainerKind : std::uint8_t { kInit, kSidecar, kApp };

/// What is asked of one resource.
struct NumaRequest {
  ResourceId resource = 0;
  std::int64_t amount = 0;  ///< the request, as a column holds it; may be zero
  /// What the kubelet binds to zones. Less than the amount: of a pod that isn't Guaranteed no cpu,
  /// memory and huge pages, of a container that asks for a part of a core no cpu.
  std::int64_t bound = 0;
  bool host_level = false;  ///< zones need not list it (numaresources.go, isHostLevelResource)

  friend bool operator==(const NumaRequest&, const NumaRequest&) = default;
};

/// In the order cpu, memory, then the other resources by name.
using NumaRequests = std::vector<NumaRequest>;

struct NumaContainer {
  ContainerKind kind = ContainerKind::kApp;
  NumaRequests requests;
};

/// What a pod asks of zones.
struct NumaDemand {
  api::PodQos qos = api::PodQos::kBestEffort;
  bool binds_cpu = false;  ///< and memory: it is Guaranteed, by the requests of its containers
  bool devices = false;    ///< a container asks for a resource that isn't Kubernetes' own
  std::vector<NumaContainer> containers;  ///< init containers first, as the kubelet admits them
  NumaRequests pod;                       ///< of all together, without overhead
  NumaRequests pod_with_overhead;         ///< the same as upstream's scheduler counts it

  /// Whether there is anything for a zone to hold.
  bool BindsAny() const {
    return std::any_of(pod.begin(), pod.end(),
                       [](const NumaRequest& request) { return request.bound > 0; });
  }
};

namespace internal {

inline std::int64_t CappedSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace internal

/// What a pod asks of zones. O(containers × resources).
NumaDemand NumaDemandOf(const api::Pod& pod, Dictionary& dictionary);

/// Where a pod's containers would go on a node.
struct NumaPlacement {
  /// False: the kubelet would refuse the pod (TopologyAffinityError); it is placed all the same, as
  /// policy best-effort would.
  bool admitted = true;
  ContainerKind refused = ContainerKind::kApp;  ///< the first that isn't admitted, at its scope
  NumaTakes takes;                              ///< by zone and resource; never more than there is
};

/// Where the kubelet would put a pod by its Topology Manager, with what the zones have left: the
/// same for equal arguments. What zones don't list isn't placed. O(containers × resources ×
/// 2^zones) for up to kMaxHintZones zones; with more, zones are filled from the lowest id on.
NumaPlacement PlaceInZones(const NumaZones& zones, const NumaDemand& demand,
                           const Dictionary& dictionary);

}  // namespace schedfw

#ifndef SCHEDFW_COMPILED
#include "schedfw/cluster/numa_demand_inl.h"
#endif

#endif  // SCHEDFW_CLUSTER_NUMA_DEMAND_H_
