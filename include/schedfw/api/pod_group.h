// PodGroup: pods that are scheduled together, in both forms that are in use.
#ifndef SCHEDFW_API_POD_GROUP_H_
#define SCHEDFW_API_POD_GROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/meta.h"

namespace schedfw::api {

/// All pods in one domain of this node label.
struct TopologyConstraint {
  std::string key;
};

/// scheduling.k8s.io/v1beta1 PodGroup (and v1alpha3, which has the same fields): pods name it in
/// spec.schedulingGroup.podGroupName.
struct PodGroup {
  ObjectMeta metadata;
  bool basic = false;                        ///< spec.schedulingPolicy.basic, or
  bool gang = false;                         ///< spec.schedulingPolicy.gang: so many or none
  std::int32_t min_count = 0;                ///< of a gang
  std::vector<TopologyConstraint> topology;  ///< spec.schedulingConstraints.topology
  bool disruption_single = false;  ///< spec.disruptionMode: one pod may have to go alone, or
  bool disruption_all = false;     ///< all of them together
  std::string priority_class_name;
  std::optional<std::int32_t> priority;
};

/// The label by which a pod names its CoschedulingPodGroup.
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

/// scheduling.x-k8s.io/v1alpha1 PodGroup, of the Coscheduling plugin: pods name it in the label
/// kPodGroupLabel.
struct CoschedulingPodGroup {
  ObjectMeta metadata;
  std::int32_t min_member = 1;
  ResourceList min_resources;  ///< empty: not checked
  std::optional<std::int32_t> schedule_timeout_seconds;
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_POD_GROUP_H_
