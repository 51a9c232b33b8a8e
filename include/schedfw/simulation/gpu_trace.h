// GPU traces: nodes with GPUs and the pods that arrive, as CSV (the openb trace and others like
// it).
#ifndef SCHEDFW_SIMULATION_GPU_TRACE_H_
#define SCHEDFW_SIMULATION_GPU_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/cluster/gpus.h"

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
/// absent. gpu_milli above 1000 counts as 1000. Gzip or not; as in RFC 4180 values may stand in
/// quotes and lines end with LF or CRLF. Blank lines are passed over. Linear in the text.
///
/// Errors (kind kParse) name file, line, column and value: a column that is absent or there twice,
/// a row of another length, a number that is none or out of range (CPU: 0 to 2^53, memory: below
/// 2^43 MiB; GPUs: 0 to kMaxGpus), a name that is empty or there twice (with the same contents
/// too), GPUs without a model or without a gpu_milli and the other way round, shares of several
/// GPUs, and a quote that isn't closed.
Result<std::vector<GpuTraceNode>> ReadGpuTraceNodes(const std::string& path);
Result<std::vector<GpuTraceNode>> ParseGpuTraceNodes(std::string_view text,
                                                     const std::string& name);
Result<std::vector<GpuTracePod>> ReadGpuTracePods(const std::string& path);
Result<std::vector<GpuTracePod>> ParseGpuTracePods(std::string_view text, const std::string& name);

/// Adds the nodes of another list, called `name` in errors, behind `nodes`; a node that is in both
/// with the same contents is taken once. Linear in both.
///
/// Error (kind kParse): a node has other contents in the two lists. `nodes` are then as before.
Result<void> MergeGpuTraceNodes(std::vector<GpuTraceNode>& nodes,
                                const std::vector<GpuTraceNode>& more, const std::string& name);

/// In which order pods arrive, as indices into the list of pods, and the ranks of nodes: of equal
/// nodes the one with the lower rank is taken.
struct GpuTraceOrder {
  std::vector<std::uint32_t> pods;
  std::vector<std::uint32_t> ranks;  ///< by node
};

/// The most copies of pods that DrawGpuTraceOrder draws.
inline constexpr std::size_t kMaxGpuTraceCopies = std::size_t{1} << 24;

/// Draws an order: the pods by name, shuffled; then, while they ask for less than `tune` of all
/// GPUs, copies of pods drawn evenly, and while they ask for more, pods drawn evenly go. The target
/// is in whole thousandths of a GPU, the nearest. A copy whose gpu_milli (of one GPU) would exceed
/// it ends the draws, as in the published simulator (hkust-adsl/kubernetes-scheduler-simulator,
/// whose generator of random numbers is another one): the pods then ask for less than the target,
/// or for more by all but one GPU of the last copy. Copies come last, and pods without GPUs are
/// drawn and go like all others. Ranks are a shuffle of the nodes by name. `tune` 0: neither more
/// nor fewer. The same seed gives the same order on every machine, and files may list nodes and
/// pods in any order. O(n log n) for n pods, copies and nodes.
///
/// Errors (kind kArgument): `tune` is negative or not finite, no pod asks for a GPU and there are
/// GPUs to fill, more than kMaxGpuTraceCopies copies don't fill them, a node or pod that
/// ParseGpuTraceNodes or ParseGpuTracePods would refuse for its GPUs.
Result<GpuTraceOrder> DrawGpuTraceOrder(const std::vector<GpuTraceNode>& nodes,
                                        const std::vector<GpuTracePod>& pods, double tune,
                                        std::uint64_t seed);

/// Reads orders from CSV files: `event,<seed>,…` with a row of the pod list for each event, both
/// counted from 0 (blank after the last one), and `sn,<seed>,…` with the rank of each node.
/// `seed`: which column. `pods`: how many there are. Files as above.
///
/// Errors (kind kParse), worded as above: a column that is absent or there twice, a row of another
/// length, events that aren't counted from 0 on, an index that there isn't, an event behind a
/// blank; ranks that aren't a permutation, nodes that are missing, unknown or there twice.
Result<std::vector<std::uint32_t>> ReadGpuTraceArrivals(const std::string& path,
                                                        const std::string& seed, std::size_t pods);
Result<std::vector<std::uint32_t>> ReadGpuTraceRanks(const std::string& path,
                                                     const std::string& seed,
                                                     const std::vector<GpuTraceNode>& nodes);

}  // namespace schedfw

#endif  // SCHEDFW_SIMULATION_GPU_TRACE_H_
