// DefaultBinder: binds a pod to its node.
#ifndef SCHEDFW_PLUGINS_DEFAULT_BINDER_H_
#define SCHEDFW_PLUGINS_DEFAULT_BINDER_H_

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

/// Calls the host's bind function; without one, the binding is the cluster's own bookkeeping
/// (plugins/defaultbinder).
class DefaultBinder : public BindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultBinder";

  DefaultBinder(const NoArgs&, const Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return kName; }
  bool IsBookkeeping() const override { return !handle_.bind; }
  Status Bind(const Cycle& cycle, CycleState&, const NodeInfo& node) override {
    return handle_.bind ? handle_.bind(cycle.pod, node.name()) : Status();
  }

 private:
  Handle handle_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_DEFAULT_BINDER_H_
