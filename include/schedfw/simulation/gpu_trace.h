// GPU traces: nodes with GPUs and the pods that arrive, as CSV (the openb trace and others like it).
#ifndef SCHEDFW_SIMULATION_GPU_TRACE_H_
#define SCHEDFW_SIMULATION_GPU_TRACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"

namespace schedfw {

struct GpuTraceNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int32_t gpus = 0;  ///< 0 to kMaxGpus
  std::string model;      ///< empty: it has no GPUs

  friend bool operator==(const GpuTraceNode&, const GpuTraceNode&) = default;
};

struct GpuTracePod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int32_t gpus = 0;
  std::int32_t gpu_milli = 0;  ///< of each GPU, 0 to 1000; below 1000 it shares one GPU
  std::string gpu_spec;        ///< models that it may use, "A|B"; empty: any

  std::int64_t TotalGpuMilli() const { return std::int64_t{gpus} * gpu_milli; }
  friend bool operator==(const GpuTracePod&, const GpuTracePod&) = default;
};

/// What a file, or a text that is called `name` in errors, holds. Rows are read by the names of
/// their columns; columns beside `sn,cpu_milli,memory_mib,gpu,model`, and for pods
/// `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec`, are passed over, and `gpu_spec` may be
/// absent. gpu_milli above 1000 counts as 1000. Gzip or not.
///
/// Errors name file, line, column and value: a column that is absent or there twice, a row of
/// another length, a number that is none or out of range, a name that is empty or there twice
/// (nodes with the same contents too), GPUs without a model and the other way round, and shares of
/// several GPUs.
Result<std::vector<GpuTraceNode>> ReadGpuTraceNodes(const std::string& path);
Result<std::vector<GpuTraceNode>> ParseGpuTraceNodes(std::string_view text,
                                                     const std::string& name);
Result<std::vector<GpuTracePod>> ReadGpuTracePods(const std::string& path);
Result<std::vector<GpuTracePod>> ParseGpuTracePods(std::string_view text, const std::string& name);

/// In which order pods arrive, as indices into the list of pods, and the ranks of nodes: of equal
/// nodes the one with the lower rank is taken.
struct GpuTraceOrder {
  std::vector<std::uint32_t> pods;
  std::vector<std::uint32_t> ranks;  ///< by node
};

/// Draws an order: the pods by name, shuffled; then, while they ask for less than `tune` of all
/// GPUs, copies of pods drawn evenly, and while they ask for more, pods drawn evenly go. A draw
/// whose gpu_milli (of one GPU) would exceed the target ends it, as in the published simulator
/// (hkust-adsl/kubernetes-scheduler-simulator, whose generator of random numbers is another one).
/// Ranks are a shuffle of the nodes. `tune` 0: neither more nor fewer.
/// The same seed gives the same order on every machine. O(pods log pods).
///
/// Error: `tune` is negative or not finite, or no pod asks for a GPU and there are GPUs to fill.
Result<GpuTraceOrder> DrawGpuTraceOrder(const std::vector<GpuTraceNode>& nodes,
                                        const std::vector<GpuTracePod>& pods, double tune,
                                        std::uint64_t seed);

/// Reads orders from CSV files: `event,<seed>,…` with a row of the pod list for each event (blank
/// after the last one), and `sn,<seed>,…` with the rank of each node. `seed`: which column.
/// Errors: as above; an index that there isn't, ranks that aren't a permutation, nodes that are
/// missing or unknown.
Result<std::vector<std::uint32_t>> ReadGpuTraceArrivals(const std::string& path,
                                                        const std::string& seed,
                                                        std::size_t pods);
Result<std::vector<std::uint32_t>> ReadGpuTraceRanks(const std::string& path,
                                                     const std::string& seed,
                                                     const std::vector<GpuTraceNode>& nodes);

}  // namespace schedfw

#endif  // SCHEDFW_SIMULATION_GPU_TRACE_H_
