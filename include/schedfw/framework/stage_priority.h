// StagePriorityPlugin: what a plugin says of priorities that follow the stage of a pod.
#ifndef SCHEDFW_FRAMEWORK_STAGE_PRIORITY_H_
#define SCHEDFW_FRAMEWORK_STAGE_PRIORITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "schedfw/api/objects.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Makes a pod's priority follow its stage. It counts when it is the plugin that sorts the queue.
class StagePriorityPlugin : public virtual Plugin {
 public:
  /// The annotation of pods that holds their stage.
  virtual const std::string& StageAnnotation() const = 0;
  /// What the priority of a pod counts as at a stage; depends on nothing else.
  ///
  /// `stage` empty: the pod has none. `value`: its spec.priority, which its class gave it.
  /// `priority_class`: that class, or null.
  virtual std::int32_t PriorityAt(std::string_view stage, std::int32_t value,
                                  const api::PriorityClass* priority_class) const = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_STAGE_PRIORITY_H_
