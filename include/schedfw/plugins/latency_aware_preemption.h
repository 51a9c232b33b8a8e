// LatencyAwarePreemption: preemption by how long evictions take and how well GPUs are used.
#ifndef SCHEDFW_PLUGINS_LATENCY_AWARE_PREEMPTION_H_
#define SCHEDFW_PLUGINS_LATENCY_AWARE_PREEMPTION_H_

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/plugins/preemption.h"

namespace schedfw {

/// What is scored: the nodes to choose from, or the pods to evict.
enum class PreemptScoreOf : std::uint8_t { kCandidate, kVictim };
namespace api {
template <>
struct EnumNames<PreemptScoreOf> {
  static constexpr std::array<std::pair<std::string_view, PreemptScoreOf>, 2> kNames{{
      {"candidate", PreemptScoreOf::kCandidate},
      {"victim", PreemptScoreOf::kVictim},
  }};
};
}  // namespace api

struct LatencyAwarePreemptionArgs : CandidateNodesArgs {
  PreemptScoreOf score_of = PreemptScoreOf::kCandidate;
  double decay = 0.7;
  std::int32_t latency_unit_ms = 100;
  double default_utilization = 1;
  std::string utilization_annotation = "schedfw.io/gpu-utilization";
  std::int32_t default_latency_ms = 0;
  std::string latency_annotation = "schedfw.io/preemption-latency-ms";
  std::string gpu_resource = "nvidia.com/gpu";
};
template <typename V>
void Fields(V& v, LatencyAwarePreemptionArgs& args) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  v("scoreOf", args.score_of, Arg{.help = "What is scored: nodes with their victims, or victims"});
  v("decay", args.decay,
    Arg{.help = "What a score is multiplied by for each unit of latency",
        .allowed = "above 0, at most 1"});
  v("latencyUnitMs", args.latency_unit_ms,
    Arg{.help = "The unit of latency, in milliseconds", .min = 1, .max = kMost});
  v("defaultUtilization", args.default_utilization,
    Arg{.help = "How well a pod uses its GPUs if it doesn't say so", .allowed = "0 to 1"});
  v("utilizationAnnotation", args.utilization_annotation,
    Arg{.help = "The annotation in which a pod says so, from 0 to 1"});
  v("defaultLatencyMs", args.default_latency_ms,
    Arg{.help = "How long evicting a pod takes if it doesn't say so, in milliseconds",
        .min = 0,
        .max = kMost});
  v("latencyAnnotation", args.latency_annotation,
    Arg{.help = "The annotation in which a pod says so, in milliseconds"});
  v("gpuResource", args.gpu_resource, Arg{.help = "The resource that stands for GPUs"});
  Fields(v, static_cast<CandidateNodesArgs&>(args));
}
inline Result<void> Validate(const LatencyAwarePreemptionArgs& args) {
  const auto refuse = [](const std::string& name, double value, const std::string& allowed) {
    return ConfigError(name + ": " + internal::NumberText(value) +
                       " is not in the valid range (allowed: " + allowed + ")");
  };
  if (!(args.decay > 0 && args.decay <= 1)) {
    return refuse("decay", args.decay, "above 0, at most 1");
  }
  if (!(args.default_utilization >= 0 && args.default_utilization <= 1)) {
    return refuse("defaultUtilization", args.default_utilization, "0 to 1");
  }
  for (const auto& [name, text] : {std::pair{"utilizationAnnotation", &args.utilization_annotation},
                                   std::pair{"latencyAnnotation", &args.latency_annotation},
                                   std::pair{"gpuResource", &args.gpu_resource}}) {
    if (text->empty()) return ConfigError(std::string(name) + ": can not be empty");
  }
  return Validate(static_cast<const CandidateNodesArgs&>(args));
}

/// priority × gpuUtilizationFactor × decay^(latencyMs / latencyUnitMs).
inline double PreemptScore(double priority, double gpu_utilization_factor, double latency_ms,
                           double decay = 0.7, double latency_unit_ms = 100) {
  return priority * gpu_utilization_factor * std::pow(decay, latency_ms / latency_unit_ms);
}

/// An alternative to DefaultPreemption that scores by PreemptScore. Which pods may be evicted is
/// the same: only those of lower priority. How a pod uses its GPUs and how long its eviction takes
/// it says in annotations; what isn't a number in the valid range counts as the default.
///
/// - `scoreOf: candidate`: of the nodes that break the fewest budgets, the one with the highest
/// score
///   is taken: the priority of the pod that needs room × how well the GPUs of the node will be used
///   (the sum of GPUs × utilization over the pods that stay and the one that comes, of all GPUs;
///   the default on a node without) × the decay for the slowest victim. Upstream's criteria decide
///   among equals, and upstream's order says which pods are spared. A negative priority turns the
///   order of nodes round, as the formula does.
/// - `scoreOf: victim`: the score is what keeping a pod is worth: its priority × its utilization ×
/// the
///   decay for its own latency. It stands for the priority in the order in which pods are spared
///   and in upstream's criteria for nodes. Of a group that goes as a whole the utilization is the
///   mean and the latency the longest one.
///
/// Scores are compared in steps of 2^-20, so that the last bit of a power decides nothing. With
/// decay 1, utilization 1 and `scoreOf: victim`, the answers are those of DefaultPreemption.
class LatencyAwarePreemption : public PreemptionPlugin {
 public:
  static constexpr std::string_view kName = "LatencyAwarePreemption";

  explicit LatencyAwarePreemption(const LatencyAwarePreemptionArgs& args, const Handle& handle = {})
      : PreemptionPlugin(args, handle), args_(args) {}

  std::string_view Name() const override { return kName; }

 protected:
  void SortUnits(const Cycle& cycle, std::vector<VictimUnit>& units) const override {
    if (!ScoresVictims()) return PreemptionPlugin::SortUnits(cycle, units);
    std::vector<std::pair<std::int64_t, VictimUnit>> scored;
    scored.reserve(units.size());
    for (VictimUnit& unit : units) {
      const std::int64_t score = Score(unit);
      scored.emplace_back(score, std::move(unit));
    }
    std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : MoreImportant(a.second, b.second);
    });
    for (std::size_t i = 0; i < units.size(); ++i) units[i] = std::move(scored[i].second);
  }

  std::int64_t NodeScore(const Cycle& cycle, Row row,
                         const std::vector<Victim>& victims) const override {
    if (ScoresVictims()) return 0;
    double latency_ms = 0;
    for (const Victim& victim : victims) latency_ms = std::max(latency_ms, LatencyMs(*victim.pod));
    return Steps(cycle.pod.priority(), NodeUtilization(cycle, row, victims), latency_ms);
  }

  std::int64_t Cost(const Cycle&, const PodInfo& pod) const override {
    if (!ScoresVictims()) return pod.priority();
    return Steps(pod.priority(), Utilization(pod), LatencyMs(pod));
  }
  std::int64_t CostScale() const override { return ScoresVictims() ? kSteps : 1; }

 private:
  static constexpr std::int64_t kSteps = std::int64_t{1} << 20;

  bool ScoresVictims() const { return args_.score_of == PreemptScoreOf::kVictim; }

  std::int64_t Steps(std::int32_t priority, double utilization, double latency_ms) const {
    return std::llround(
        PreemptScore(priority, utilization, latency_ms, args_.decay, args_.latency_unit_ms) *
        kSteps);
  }
  std::int64_t Score(const VictimUnit& unit) const {
    double utilization = 0, latency_ms = 0;
    for (const auto& [pod, row] : unit.pods) {
      utilization += Utilization(*pod);
      latency_ms = std::max(latency_ms, LatencyMs(*pod));
    }
    return Steps(unit.priority, utilization / static_cast<double>(unit.pods.size()), latency_ms);
  }

  double Utilization(const PodInfo& pod) const {
    return Annotated(pod, args_.utilization_annotation, 1).value_or(args_.default_utilization);
  }
  double LatencyMs(const PodInfo& pod) const {
    return Annotated(pod, args_.latency_annotation, std::numeric_limits<double>::max())
        .value_or(args_.default_latency_ms);
  }
  // A number from 0 to `most`; nothing for any other text.
  static std::optional<double> Annotated(const PodInfo& pod, const std::string& name, double most) {
    const std::optional<std::string> text = pod.pod.Annotation(name);
    if (!text) return std::nullopt;
    double out = 0;
    const char* const end = text->data() + text->size();
    const auto [ptr, error] = std::from_chars(text->data(), end, out);
    if (error != std::errc() || ptr != end || !(out >= 0 && out <= most)) return std::nullopt;
    return out;
  }

  // How well the GPUs of a node will be used.
  double NodeUtilization(const Cycle& cycle, Row row, const std::vector<Victim>& victims) const {
    const ResourceId gpu = cycle.snapshot.dictionary().Resource(args_.gpu_resource);
    const std::int64_t capacity = cycle.snapshot.Allocatable(gpu)[row];
    if (capacity <= 0) return args_.default_utilization;
    std::vector<std::pair<std::uint64_t, double>> used;  // sorted: a sum depends on the order
    const auto add = [&](const PodInfo& pod) {
      const std::int64_t amount = pod.plan->Request(gpu);
      if (amount > 0) used.emplace_back(amount, Utilization(pod));
    };
    for (const PodPtr& pod : cycle.snapshot.pods(row)) {
      const auto goes = [&](const Victim& victim) { return victim.pod == pod; };
      if (std::none_of(victims.begin(), victims.end(), goes)) add(*pod);
    }
    add(cycle.pod);
    std::sort(used.begin(), used.end());
    double sum = 0;
    for (const auto& [amount, utilization] : used) sum += static_cast<double>(amount) * utilization;
    return std::clamp(sum / static_cast<double>(capacity), 0.0, 1.0);
  }

  LatencyAwarePreemptionArgs args_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_LATENCY_AWARE_PREEMPTION_H_
