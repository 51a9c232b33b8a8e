// DeviceShare: which GPUs of a node a pod gets, and whether there are enough.
#ifndef SCHEDFW_PLUGINS_DEVICE_SHARE_H_
#define SCHEDFW_PLUGINS_DEVICE_SHARE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Of several GPUs that a share fits on: the one with the least left, or with the most.
enum class GpuStrategy : std::uint8_t { kBinpack, kSpread };

}  // namespace schedfw

template <>
struct schedfw::api::EnumNames<schedfw::GpuStrategy> {
  static constexpr std::pair<std::string_view, GpuStrategy> kNames[] = {
      {"binpack", GpuStrategy::kBinpack},
      {"spread", GpuStrategy::kSpread},
  };
};

namespace schedfw {

struct DeviceShareArgs {
  GpuStrategy strategy = GpuStrategy::kBinpack;
};
template <typename V>
void Fields(V& v, DeviceShareArgs& args) {
  v("strategy", args.strategy,
    Arg{.help = "Of the GPUs that a share of one fits on: the one with the least left, or with the "
                "most"});
}

/// Rejects nodes whose GPUs, looked at one by one, can't take the pod: a share needs one GPU with
/// as much left, whole GPUs must be free, and the model must be one that the pod allows (the filter
/// of Alibaba's open-gpu-share). Of whole GPUs a pod gets the first ones. O(GPUs) a node.
class DeviceShare : public PreFilterPlugin,
                    public BatchFilterPlugin,
                    public EnqueueExtensions,
                    public IncrementalPlugin,
                    public GpuAllocatorPlugin {
 public:
  static constexpr std::string_view kName = "DeviceShare";

  explicit DeviceShare(const DeviceShareArgs& args) : strategy_(args.strategy) {}

  std::string_view Name() const override { return kName; }

  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult&) override {
    return cycle.plan().gpus.count == 0 ? Status::Skip() : Status();
  }
  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    const GpuRequest& request = cycle.plan().gpus;
    const GpuDevices* gpus = cycle.snapshot.Gpus();
    for (Row i = 0; i < rows.size(); ++i) {
      if (request.count == 0) continue;  // its PreFilter is disabled
      if (gpus == nullptr || gpus[rows[i]].count < request.count) {
        codes[i] = kTooFew;
      } else if (!gpus[rows[i]].Accepts(request)) {
        codes[i] = kOtherModel;
      } else if (gpus[rows[i]].CountWith(request.milli) < request.count) {
        codes[i] = kInUse;
      }
    }
  }
  Status Explain(const Cycle&, std::uint32_t code) const override {
    switch (code) {
      case kTooFew:
        return Status::Unresolvable("node(s) didn't have as many GPUs");
      case kOtherModel:
        return Status::Unresolvable("node(s) had GPUs of another model");
      default:
        return Status::Unschedulable("node(s) didn't have enough free GPUs");
    }
  }
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    const GpuDevices& gpus = cycle.snapshot.Gpus()[node.row()];
    const GpuRequest& request = cycle.plan().gpus;
    return strategy_ == GpuStrategy::kSpread ? gpus.Loosest(request) : gpus.Tightest(request);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kDelete}, {}},
            {{EventResource::kNode, kAdd | kUpdateNodeAllocatable | kUpdateNodeLabel}, {}}};
  }

 private:
  enum : std::uint32_t { kTooFew = 1, kOtherModel = 2, kInUse = 3 };

  const GpuStrategy strategy_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_DEVICE_SHARE_H_
