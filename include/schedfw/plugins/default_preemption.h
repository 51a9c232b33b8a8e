// DefaultPreemption: makes room for a pod by evicting pods of lower priority.
#ifndef SCHEDFW_PLUGINS_DEFAULT_PREEMPTION_H_
#define SCHEDFW_PLUGINS_DEFAULT_PREEMPTION_H_

#include "schedfw/plugins/preemption.h"

namespace schedfw {

struct DefaultPreemptionArgs : CandidateNodesArgs {};

/// Evicts as upstream does (plugins/defaultpreemption): see PreemptionPlugin.
class DefaultPreemption : public PreEnqueuePlugin, public PreemptionPlugin {
 public:
  static constexpr std::string_view kName = "DefaultPreemption";

  explicit DefaultPreemption(const DefaultPreemptionArgs& args, const Handle& handle = {})
      : PreemptionPlugin(args, handle) {}

  std::string_view Name() const override { return kName; }

  /// Upstream holds pods back here while their victims are evicted in the background; nothing here
  /// runs in the background.
  Status PreEnqueue(const PodInfo&) override { return {}; }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_DEFAULT_PREEMPTION_H_
