// Fragmentation of GPUs: how much of what is idle on a node typical pods can't use.
#ifndef SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_
#define SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/gpus.h"

namespace schedfw {

/// A kind of pod that a cluster gets, and how often.
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int32_t gpus = 0;
  std::int32_t gpu_milli = 0;  ///< of each GPU
  std::string models;          ///< "A|B"; empty: any
  double weight = 0;           ///< of all: the weights add up to 1

  friend bool operator==(const TypicalPod&, const TypicalPod&) = default;
};

/// Idle GPU milli by what typical pods could do with it, in the order and with the names of the
/// published simulator.
struct GpuFragmentation {
  static constexpr std::array<const char*, 7> kClasses = {
      "q1_lack_both", "q2_lack_gpu", "q3_satisfied", "q4_lack_cpu",
      "xl_satisfied", "xr_lack_cpu", "no_access"};
  static constexpr std::size_t kSatisfied = 2;

  std::array<double, 7> milli{};

  /// What isn't satisfied: classes 0, 1, 3, 4, 5, 6, added in this order.
  double Fragmented() const {
    return milli[0] + milli[1] + milli[3] + milli[4] + milli[5] + milli[6];
  }
};

/// Measures nodes by typical pods (Weng et al., "Beware of Fragmentation", ATC 2023; its simulator,
/// utils/frag.go). Immutable; used by any number of threads.
class GpuFragmentationMeter {
 public:
  /// Model names count by the ids of `dictionary`, which nodes that are measured share.
  GpuFragmentationMeter(const std::vector<TypicalPod>& pods, Dictionary& dictionary) {
    for (const TypicalPod& pod : pods) {
      Kind& kind = kinds_.emplace_back();
      kind.cpu_milli = pod.cpu_milli;
      kind.gpus = pod.gpus;
      kind.weight = pod.weight;
      if (pod.gpus > 0) {
        kind.slot = SlotOf(pod.gpu_milli);
        kind.first_model = static_cast<std::uint32_t>(models_.size());
        for (const StringId model : ParseGpuModels(pod.models, dictionary)) {
          models_.push_back(model);
        }
        kind.models = static_cast<std::uint32_t>(models_.size()) - kind.first_model;
      }
    }
  }

  /// What is idle on a node, by class. Sums are made in the order of the typical pods, so that they
  /// are those of the simulator to the bit. O(typical pods + GPUs × different shares).
  GpuFragmentation Measure(std::int64_t cpu_left, const GpuDevices& gpus) const {
    // By share that typical pods ask for: how many GPUs have it, and the sum of those that don't.
    std::int32_t has[kMostSlots], rest[kMostSlots];
    const std::size_t slots = shares_.size();
    std::int32_t total = 0;
    for (std::size_t s = 0; s < slots; ++s) has[s] = rest[s] = 0;
    for (std::uint32_t g = 0; g < gpus.count; ++g) {
      const std::int32_t left = gpus.left[g];
      total += left;
      for (std::size_t s = 0; s < slots; ++s) {
        const bool fits = left >= shares_[s];
        has[s] += fits ? 1 : 0;
        rest[s] += fits ? 0 : left;
      }
    }
    GpuFragmentation out;
    const auto all = static_cast<double>(total);
    for (const Kind& kind : kinds_) {
      const bool cpu = cpu_left >= kind.cpu_milli;
      if (kind.slot < 0) {
        out.milli[cpu ? 4 : 5] += kind.weight * all;
      } else if (!Accepts(kind, gpus.model)) {
        out.milli[6] += kind.weight * all;
      } else if (has[kind.slot] < kind.gpus) {
        out.milli[cpu ? 1 : 0] += kind.weight * all;
      } else if (!cpu) {
        out.milli[3] += kind.weight * all;
      } else {
        const std::int32_t lost = rest[kind.slot];
        out.milli[1] += kind.weight * static_cast<double>(lost);
        out.milli[2] += kind.weight * static_cast<double>(total - lost);
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t kMostSlots = kGpuMilli + 1;

  struct Kind {
    std::int64_t cpu_milli = 0;
    double weight = 0;
    std::int32_t gpus = 0;
    std::int32_t slot = -1;  // in shares_; -1: it asks for no GPU
    std::uint32_t first_model = 0, models = 0;
  };

  std::int32_t SlotOf(std::int32_t share) {
    const auto found = std::find(shares_.begin(), shares_.end(), share);
    if (found == shares_.end()) {
      shares_.push_back(share);
      return static_cast<std::int32_t>(shares_.size()) - 1;
    }
    return static_cast<std::int32_t>(found - shares_.begin());
  }
  bool Accepts(const Kind& kind, StringId model) const {
    if (kind.models == 0) return true;
    const auto begin = models_.begin() + kind.first_model;
    return std::find(begin, begin + kind.models, model) != begin + kind.models;
  }

  std::vector<Kind> kinds_;
  std::vector<std::int32_t> shares_;
  std::vector<StringId> models_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_GPU_FRAGMENTATION_H_
