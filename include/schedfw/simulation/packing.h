// Pack: places the pods of a GPU trace one after another and says how well the GPUs are used.
#ifndef SCHEDFW_SIMULATION_PACKING_H_
#define SCHEDFW_SIMULATION_PACKING_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/plugins/gpu_fragmentation.h"
#include "schedfw/scheduler/scheduler.h"
#include "schedfw/simulation/gpu_trace.h"

namespace schedfw {

/// How a node is chosen (Weng et al., "Beware of Fragmentation", ATC 2023, and its
/// simulator).
enum class PackPolicy : std::uint8_t {
  kRandom,
  kDotProduct,
  kGpuClustering,
  kGpuPacking,
  kBestFit,
  kFragmentationGradientDescent,
};
inline constexpr std::size_t kPackPolicyCount = 6;
/// "random", "dotprod", "clustering", "packing", "bestfit", "fgd": as the command line takes them.
std::string_view PackPolicyName(PackPolicy policy);
/// "01-Random", "02-DotProd", …: as the published tables call them.
std::string_view PackPolicyPublishedName(PackPolicy policy);
std::optional<PackPolicy> ParsePackPolicy(std::string_view name);

/// The kinds of pods that a trace has, told apart by cpu, GPUs, milli of each and models: the most
/// frequent ones that together are at least `share` of all, with weights that add up to 1
/// (utils/frag.go, GetTypicalPods). O(pods log pods).
std::vector<TypicalPod> TypicalPods(const std::vector<GpuTracePod>& pods, double share = 0.95);

struct PackOptions {
  PackPolicy policy = PackPolicy::kFragmentationGradientDescent;
  std::uint64_t seed = 42;  ///< of what Random draws
  int threads = 1;          ///< see ExecutorOptions
  Progress progress;        ///< (events so far, all); false ends it
};

/// Columns of the curves: arrived GPU requests in percent of all GPUs.
inline constexpr std::size_t kPackColumns = 131;

struct PackResult {
  /// By event, in order: what had arrived, what is used, in thousandths of a GPU; and what is idle
  /// by class, over all nodes.
  std::vector<std::int64_t> arrived_milli, used_milli;
  std::vector<GpuFragmentation> idle;
  /// By event: the index of the node, or -1 if the pod was placed nowhere; and its GPUs, a bit
  /// each.
  std::vector<std::int32_t> node;
  std::vector<std::uint16_t> gpus;
  std::int64_t total_milli = 0;     ///< of all GPUs
  std::int64_t used_cpu_milli = 0;  ///< at the end
  std::size_t failed = 0;           ///< pods that were placed nowhere
  /// Mean over the events at each percent of arrivals, as published: allocated GPUs in percent of
  /// all (rounded to 2 decimals), and fragmented ones in percent of the idle ones. NaN: there was
  /// no event near.
  std::array<double, kPackColumns> allocation{}, frag_ratio{};
};

/// Runs one policy, with NodeResourcesFit and DeviceShare as filters. A node has room for 1,001
/// pods. Pods that fit nowhere are given up, none ever leaves. Results are the same for any number
/// of threads. O(arrivals × (nodes + changed nodes × typical pods)).
///
/// Errors: an order that doesn't fit the trace, names or amounts that the cluster refuses; it was
/// ended by `progress`.
Result<PackResult> Pack(const std::vector<GpuTraceNode>& nodes,
                        const std::vector<GpuTracePod>& pods, const GpuTraceOrder& order,
                        const PackOptions& options = {});

}  // namespace schedfw

#endif  // SCHEDFW_SIMULATION_PACKING_H_
