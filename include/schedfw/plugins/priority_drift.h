// PriorityDrift: priorities that follow the stage of a pod.
#ifndef SCHEDFW_PLUGINS_PRIORITY_DRIFT_H_
#define SCHEDFW_PLUGINS_PRIORITY_DRIFT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/stage_transitions.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/stage_priority.h"
#include "schedfw/plugins/priority_sort.h"

namespace schedfw {

struct PriorityDriftArgs {
  std::string stage_annotation = "scheduling.kubeflow.org/stage";
  std::map<std::string, double> weights = {{"Preload", 0.8}, {"Train", 1.2}, {"Validate", 1.0}};
};
template <typename V>
void Fields(V& v, PriorityDriftArgs& args) {
  v("stageAnnotation", args.stage_annotation,
    Arg{.help = "The annotation of pods that holds their stage", .allowed = "not empty"});
  v("weights", args.weights,
    Arg{.help = "Stage → what priorities are multiplied by where the class says nothing of the "
                "stage; by default Preload 0.8, Train 1.2, Validate 1.0. What is given stands for "
                "all of it; other stages weigh 1",
        .allowed = "above 0, at most 10, six decimals"});
}

namespace internal {

inline constexpr std::int64_t kMillion = 1'000'000;

// In millionths.
inline std::int64_t Millionths(double weight) { return std::llround(weight * kMillion); }

}  // namespace internal

inline Result<void> Validate(const PriorityDriftArgs& args) {
  if (args.stage_annotation.empty()) return ConfigError("stageAnnotation: must not be empty");
  for (const auto& [stage, weight] : args.weights) {
    if (stage.empty()) return ConfigError("weights: a stage must have a name");
    const bool bounded = weight > 0 && weight <= 10;
    const double exact = weight * internal::kMillion;
    // What has more decimals would be rounded, and priorities with it.
    if (!bounded || std::abs(exact - std::round(exact)) > 1e-6) {
      return ConfigError("weights." + stage + ": " + std::to_string(weight) +
                         " is not allowed (allowed: above 0, at most 10, six decimals)");
    }
  }
  return {};
}

/// Sorts the queue as PrioritySort does, by priorities that follow the stage of a pod.
///
/// A pod's priority counts as what its PriorityClass gives the stage (api::TransitionsOf), else as
/// round(spec.priority × weight of the stage), halves away from zero, in integers. Without a stage
/// it is spec.priority. What a weight gives is at most 1,000,000,000 and fits into 32 bits.
/// Priorities of system classes (above 1,000,000,000, or of a class "system-…") stay.
///
/// The priorities themselves are set by who owns the cluster: see StagePriorities and
/// SchedulingLoop::SetStage. Preemption policies stay those of the classes.
class PriorityDrift : public PrioritySort,
                      public PreEnqueuePlugin,
                      public EnqueueExtensions,
                      public StagePriorityPlugin {
 public:
  static constexpr std::string_view kName = "PriorityDrift";

  explicit PriorityDrift(const PriorityDriftArgs& args) : annotation_(args.stage_annotation) {
    for (const auto& [stage, weight] : args.weights) {
      weights_.emplace(stage, internal::Millionths(weight));
    }
  }

  std::string_view Name() const override { return kName; }

  /// Keeps no pod out: its priority was set before.
  Status PreEnqueue(const PodInfo&) override { return {}; }
  /// It rejects nothing that an event could change.
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {}; }

  const std::string& StageAnnotation() const override { return annotation_; }

  std::int32_t PriorityAt(std::string_view stage, std::int32_t value,
                          const api::PriorityClass* priority_class) const override {
    if (stage.empty() || value > api::kHighestUserPriority) return value;
    if (priority_class != nullptr) {
      if (priority_class->metadata.name.starts_with("system-")) return value;
      if (const auto transitions = api::TransitionsOf(*priority_class);
          transitions && *transitions) {
        for (const auto& [name, priority] : **transitions) {
          if (name == stage) return priority;
        }
      }
    }
    const auto weight = weights_.find(stage);
    return weight == weights_.end() ? value : Weigh(value, weight->second);
  }

 private:
  // Below 2^31 × 10^7, so 64 bits hold it.
  static std::int32_t Weigh(std::int64_t value, std::int64_t millionths) {
    const std::int64_t product = value * millionths;
    const std::int64_t half = product < 0 ? -internal::kMillion / 2 : internal::kMillion / 2;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(
        (product + half) / internal::kMillion, std::numeric_limits<std::int32_t>::min(),
        api::kHighestUserPriority));
  }

  const std::string annotation_;
  std::map<std::string, std::int64_t, std::less<>> weights_;  // millionths
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_PRIORITY_DRIFT_H_
