// Fragmentation of GPUs: how much of what is idle on a node typical pods can't use.
#ifndef SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_
#define SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace schedfw {

/// A kind of pod that a cluster gets, and how often: all weights add up to 1.
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int32_t gpus = 0;
  std::int32_t gpu_milli = 0;  ///< of each GPU
  std::string models;          ///< "A|B"; empty: any
  double weight = 0;

  friend bool operator==(const TypicalPod&, const TypicalPod&) = default;
};

/// Idle GPU milli by what typical pods could do with it, in the order and with the names of the
/// published simulator.
struct GpuFragmentation {
  static constexpr std::array<const char*, 7> kClasses = {
      "q1_lack_both", "q2_lack_gpu",  "q3_satisfied", "q4_lack_cpu",
      "xl_satisfied", "xr_lack_cpu", "no_access"};
  static constexpr std::size_t kSatisfied = 2;

  std::array<double, 7> milli{};

  /// What isn't satisfied: classes 0, 1, 3, 4, 5, 6, added in this order.
  double Fragmented() const {
    return milli[0] + milli[1] + milli[3] + milli[4] + milli[5] + milli[6];
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_
