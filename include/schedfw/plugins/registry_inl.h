// The definition of InTreeRegistry (see base/inline.h).
#ifndef SCHEDFW_PLUGINS_REGISTRY_INL_H_
#define SCHEDFW_PLUGINS_REGISTRY_INL_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/plugins/coscheduling.h"
#include "schedfw/plugins/default_binder.h"
#include "schedfw/plugins/default_preemption.h"
#include "schedfw/plugins/device_share.h"
#include "schedfw/plugins/fragmentation_gradient_descent.h"
#include "schedfw/plugins/gpu_packing.h"
#include "schedfw/plugins/gpu_topology_spread.h"
#include "schedfw/plugins/image_locality.h"
#include "schedfw/plugins/inter_pod_affinity.h"
#include "schedfw/plugins/latency_aware_preemption.h"
#include "schedfw/plugins/nccl_topology_hint.h"
#include "schedfw/plugins/network_topology_affinity.h"
#include "schedfw/plugins/node_affinity.h"
#include "schedfw/plugins/node_name.h"
#include "schedfw/plugins/node_ports.h"
#include "schedfw/plugins/node_resource_topology_match.h"
#include "schedfw/plugins/node_resources_balanced_allocation.h"
#include "schedfw/plugins/node_resources_fit.h"
#include "schedfw/plugins/node_unschedulable.h"
#include "schedfw/plugins/numa_affinity.h"
#include "schedfw/plugins/nv_link_affinity.h"
#include "schedfw/plugins/pod_topology_spread.h"
#include "schedfw/plugins/priority_drift.h"
#include "schedfw/plugins/priority_sort.h"
#include "schedfw/plugins/readiness_filter.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/plugins/scheduling_gates.h"
#include "schedfw/plugins/taint_toleration.h"

namespace schedfw {

struct VolumeBindingArgs {
  std::int64_t bind_timeout_seconds = 600;
  std::vector<UtilizationShapePoint> shape;
};
template <typename V>
void Fields(V& v, VolumeBindingArgs& args) {
  v("bindTimeoutSeconds", args.bind_timeout_seconds,
    Arg{.help = "How long a binding may take",
        .min = 0,
        .max = std::numeric_limits<std::int64_t>::max()});
  v("shape", args.shape,
    Arg{.help = "A broken line from the use of storage to score; none stands for falling from 10"});
}
inline Result<void> Validate(const VolumeBindingArgs& args) {
  return args.shape.empty() ? Result<void>() : ValidateShape(args.shape, "shape");
}

struct DynamicResourcesArgs {
  std::optional<GoDuration> filter_timeout;
  std::optional<GoDuration> binding_timeout;
};
template <typename V>
void Fields(V& v, DynamicResourcesArgs& args) {
  v("filterTimeout", args.filter_timeout,
    Arg{.help = "How long Filter may take a node", .min = 0, .allowed = "0s or more"});
  v("bindingTimeout", args.binding_timeout,
    Arg{.help = "How long a binding may take", .min = 1, .allowed = "1s or more"});
}

namespace internal {

// A plugin of upstream that configurations may name and that does nothing here.
template <typename Args = NoArgs>
void AddWithoutEffect(Registry& registry, std::string name, std::string help, PointSet points) {
  PluginSpec spec;
  spec.name = std::move(name);
  spec.help = std::move(help);
  spec.points = points;
  spec.args = DescribeArgs<Args>();
  spec.no_effect = true;
  if constexpr (!std::is_same_v<Args, NoArgs>) {
    spec.check_args = CheckArgs<Args>;
  }
  (void)registry.Add(std::move(spec));
}

template <typename T, typename Args = NoArgs>
void AddInTree(Registry& registry, std::string help) {
  (void)registry.Add<T, Args>(std::string(T::kName), std::move(help));
}

}  // namespace internal

SCHEDFW_INLINE Registry InTreeRegistry() {
  using P = ExtensionPoint;
  using internal::AddInTree;
  using internal::AddWithoutEffect;
  Registry out;
  AddInTree<BestFit, LargestMachineArgs>(out, "Prefers nodes with the least cpu and GPUs left");
  AddInTree<Coscheduling, CoschedulingArgs>(
      out, "All pods of a PodGroup of scheduling.x-k8s.io or none");
  AddInTree<DefaultBinder>(out, "Binds a pod to its node");
  AddInTree<DefaultPreemption, DefaultPreemptionArgs>(
      out, "Makes room by evicting pods of lower priority");
  AddInTree<DeviceShare, DeviceShareArgs>(
      out, "Whether a node's GPUs, one by one, have room, and which of them a pod gets");
  AddInTree<DotProduct, LargestMachineArgs>(
      out, "Prefers nodes whose free resources match the pod's least");
  AddInTree<FragmentationGradientDescent, FragmentationGradientDescentArgs>(
      out, "Prefers nodes where fewer idle GPUs become useless to typical pods");
  AddInTree<GpuClustering, LargestMachineArgs>(out, "Keeps pods with as many GPUs together");
  AddInTree<GpuPacking>(out, "Prefers GPUs and nodes that are in use already");
  AddInTree<GpuRandom, GpuRandomArgs>(out, "Prefers one of the nodes that fit, drawn evenly");
  AddInTree<GpuTopologySpread, GpuTopologySpreadArgs>(
      out, "Spreads pods over NVLink islands or NUMA nodes, and keeps each within one");
  AddInTree<ImageLocality>(out, "Prefers nodes that have the pod's images");
  AddInTree<InterPodAffinity, InterPodAffinityArgs>(
      out, "Keeps pods near other pods, or away from them");
  AddInTree<LatencyAwarePreemption, LatencyAwarePreemptionArgs>(
      out, "Makes room by evicting pods, by latency and use of GPUs");
  AddInTree<NcclTopologyHint, NcclTopologyHintArgs>(
      out, "Scores nodes by a hint of theirs: PCIe proximity and NVLink bandwidth");
  AddInTree<NetworkTopologyAffinity, NetworkTopologyAffinityArgs>(
      out, "Packs the pods of a group under the fewest switches");
  AddInTree<NodeAffinity, NodeAffinityArgs>(out, "nodeSelector and node affinity");
  AddInTree<NodeName>(out, "A pod that names a node goes there or nowhere");
  AddInTree<NodePorts>(out, "Host ports can be used once a node");
  AddInTree<NodeResourceTopologyMatch, NodeResourceTopologyMatchArgs>(
      out, "Whether containers fit into single NUMA zones of a node, and how well");
  AddInTree<NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs>(
      out, "Prefers nodes whose resources are used evenly");
  AddInTree<NodeResourcesFit, NodeResourcesFitArgs>(
      out, "Whether a node has room, and how well it is used");
  AddInTree<NodeUnschedulable>(out, "Cordoned nodes take no pods");
  AddInTree<NumaAffinity>(out, "Prefers nodes where the pod's GPUs are on one NUMA node");
  AddInTree<NvLinkAffinity, NvLinkAffinityArgs>(
      out, "Prefers nodes whose free GPUs have the most bandwidth among them, and chooses these");
  AddInTree<PodTopologySpread, PodTopologySpreadArgs>(
      out, "Spreads matching pods over topology domains");
  AddInTree<PriorityDrift, PriorityDriftArgs>(
      out, "Sorts the queue by priorities that follow the stages of pods");
  AddInTree<PrioritySort>(out, "Sorts the queue by priority, then by time");
  AddInTree<ReadinessFilter>(out, "Tries pods that aren't ready, for comparison");
  AddInTree<SchedulingGates>(out, "Keeps gated pods out of the queue");
  AddInTree<TaintToleration>(out, "Taints keep pods away that don't tolerate them");

  AddWithoutEffect(out, "VolumeRestrictions", "Restrictions of volumes (no effect)",
                   {P::kPreFilter, P::kFilter});
  AddWithoutEffect(out, "NodeVolumeLimits", "How many volumes a node takes (no effect)",
                   {P::kPreFilter, P::kFilter});
  AddWithoutEffect<VolumeBindingArgs>(
      out, "VolumeBinding", "Binds volumes (no effect)",
      {P::kPreFilter, P::kFilter, P::kPreScore, P::kScore, P::kReserve, P::kPreBind});
  AddWithoutEffect(out, "VolumeZone", "Zones of volumes (no effect)", {P::kPreFilter, P::kFilter});
  AddWithoutEffect<DynamicResourcesArgs>(out, "DynamicResources",
                                         "Dynamic resource allocation (no effect)",
                                         {P::kPreEnqueue, P::kPreFilter, P::kFilter, P::kPostFilter,
                                          P::kScore, P::kReserve, P::kPreBind});
  AddWithoutEffect(out, "NodeDeclaredFeatures", "Features that nodes declare (no effect)",
                   {P::kPreFilter, P::kFilter});
  AddWithoutEffect(out, "GangScheduling", "All pods of a group or none (no effect yet)",
                   {P::kPreEnqueue, P::kPermit});
  AddWithoutEffect(out, "DeferredPodScheduling", "Pods that wait for a resize (no effect)",
                   {P::kPreFilter, P::kFilter, P::kPermit});
  AddWithoutEffect(out, "TopologyPlacementGenerator", "Placements of pod groups (no effect)", {});
  AddWithoutEffect(out, "PodGroupPodsCount", "Prefers placements with more pods (no effect)", {});
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_REGISTRY_INL_H_
