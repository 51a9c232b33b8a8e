// FragmentationGradientDescent: places pods where the least of what is idle becomes useless.
#ifndef SCHEDFW_PLUGINS_FRAGMENTATION_GRADIENT_DESCENT_H_
#define SCHEDFW_PLUGINS_FRAGMENTATION_GRADIENT_DESCENT_H_

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/gpu_fragmentation.h"
#include "schedfw/plugins/gpu_packing.h"

namespace schedfw {

template <typename V>
void Fields(V& v, TypicalPod& pod) {
  v("cpuMilli", pod.cpu_milli,
    Arg{.help = "Cores, in thousandths", .min = 0, .max = std::int64_t{1} << 53});
  v("gpus", pod.gpus, Arg{.help = "How many GPUs", .min = 0, .max = kMaxGpus});
  v("gpuMilli", pod.gpu_milli,
    Arg{.help = "How much of each GPU, in thousandths", .min = 0, .max = kGpuMilli});
  v("models", pod.models, Arg{.help = "GPU models that it may use, like A|B; empty: any"});
  v("weight", pod.weight,
    Arg{.help = "How often it comes, compared to the others", .allowed = "above 0"});
}

struct FragmentationGradientDescentArgs {
  std::vector<TypicalPod> typical_pods;
};
template <typename V>
void Fields(V& v, FragmentationGradientDescentArgs& args) {
  v("typicalPods", args.typical_pods,
    Arg{.help = "The kinds of pods by which GPUs are judged; none: all nodes are equal"});
}
inline Result<void> Validate(const FragmentationGradientDescentArgs& args) {
  for (std::size_t i = 0; i < args.typical_pods.size(); ++i) {
    const TypicalPod& pod = args.typical_pods[i];
    const std::string at = "typicalPods[" + std::to_string(i) + "].";
    if (!(pod.weight > 0) || !std::isfinite(pod.weight)) {
      return ConfigError(at + "weight: " + internal::NumberText(pod.weight) +
                         " is not allowed (allowed: above 0)");
    }
    if ((pod.gpus == 0) != (pod.gpu_milli == 0)) {
      return ConfigError(at + "gpuMilli: must be 0 when gpus is 0, and only then");
    }
    if (pod.gpus > 1 && pod.gpu_milli < kGpuMilli) {
      return ConfigError(at + "gpuMilli: " + std::to_string(pod.gpu_milli) +
                         " is not allowed with several gpus (allowed: 1000)");
    }
  }
  return {};
}

/// Scores by how much less of a node's idle GPUs typical pods can't use once the pod is there:
/// 100 / (1 + e^(−x)) for x GPUs less, so 50 means no change. A share goes to the GPU on which that
/// is best (Weng et al., "Beware of Fragmentation", ATC 2023; its simulator, fgd.go). O(GPUs ×
/// typical pods) a node.
class FragmentationGradientDescent : public BatchScorePlugin,
                                     public IncrementalPlugin,
                                     public GpuAllocatorPlugin {
 public:
  static constexpr std::string_view kName = "FragmentationGradientDescent";

  explicit FragmentationGradientDescent(const FragmentationGradientDescentArgs& args)
      : pods_(args.typical_pods) {
    // Weights that add up to 1 stay what they are, to the bit.
    double sum = 0;
    for (const TypicalPod& pod : pods_) sum += pod.weight;
    if (std::abs(sum - 1) < 1e-9) return;
    for (TypicalPod& pod : pods_) pod.weight /= sum;
  }

  std::string_view Name() const override { return kName; }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const auto meter = Meter(cycle.snapshot.dictionary());
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = Best(*meter, cycle, internal::GpuNode(cycle.snapshot, rows[i])).score;
    }
    return {};
  }
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    const auto meter = Meter(cycle.snapshot.dictionary());
    return Best(*meter, cycle, internal::GpuNode(cycle.snapshot, node.row())).gpus;
  }

 private:
  struct Choice {
    std::int64_t score = 0;
    GpuMask gpus = 0;
  };

  static Choice Best(const GpuFragmentationMeter& meter, const Cycle& cycle,
                     const internal::GpuNode& node) {
    const GpuRequest& request = cycle.plan().gpus;
    const std::int64_t cpu_left = node.cpu_left - cycle.plan().Request(kCpu);
    const double before = meter.Measure(node.cpu_left, node.gpus).Fragmented();
    const auto score_with = [&](GpuMask gpus) {
      GpuDevices after = node.gpus;
      after.Take(gpus, request.milli);
      const double change = before - meter.Measure(cpu_left, after).Fragmented();
      return static_cast<std::int64_t>(100 * (1 / (1 + std::exp(-change / 1000))));
    };
    if (!request.IsShare()) {
      const GpuMask gpus = node.gpus.First(request);
      return {score_with(gpus), gpus};
    }
    Choice out{-1, 0};
    for (std::uint32_t g = 0; g < node.gpus.count; ++g) {
      const std::int16_t left = node.gpus.left[g];
      if (left < request.milli) continue;
      // GPUs with as much left score alike.
      const auto* begin = node.gpus.left.data();
      if (std::find(begin, begin + g, left) != begin + g) continue;
      const auto gpus = static_cast<GpuMask>(1U << g);
      if (const std::int64_t score = score_with(gpus); score > out.score) out = {score, gpus};
    }
    return out.gpus == 0 ? Choice{} : out;
  }

  std::shared_ptr<const GpuFragmentationMeter> Meter(Dictionary& dictionary) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!meter_ || of_ != &dictionary) {
      meter_ = std::make_shared<const GpuFragmentationMeter>(pods_, dictionary);
      of_ = &dictionary;
    }
    return meter_;
  }

  std::vector<TypicalPod> pods_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const GpuFragmentationMeter> meter_;
  mutable const Dictionary* of_ = nullptr;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_FRAGMENTATION_GRADIENT_DESCENT_H_
