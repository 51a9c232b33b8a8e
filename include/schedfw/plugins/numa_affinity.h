// NumaAffinity: nodes where the pod's GPUs are on one NUMA node.
#ifndef SCHEDFW_PLUGINS_NUMA_AFFINITY_H_
#define SCHEDFW_PLUGINS_NUMA_AFFINITY_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/topology_scores.h"

namespace schedfw {

/// Prefers nodes where the GPUs that the pod would get (GpuTopology) are on one NUMA node: the
/// score is 100 × the share of pairs of them that are; 100 for one GPU or a share of one. Nodes
/// whose topology isn't known score 0. Two look-ups a node.
class NumaAffinity : public PreScorePlugin,
                     public BatchScorePlugin,
                     public IncrementalPlugin,
                     public GpuAllocatorPlugin,
                     public NodeCheckPlugin {
 public:
  static constexpr std::string_view kName = "NumaAffinity";

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    const GpuRequest& request = cycle.plan().gpus;
    if (request.count == 0) return Status::Skip();
    scores_.Present(cycle.snapshot);
    scores_.Prepare(request.count, Score);
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    if (!cycle.plan().gpus.IsShare()) {
      scores_.Score(cycle.snapshot, rows, Score, out);
      return {};
    }
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = internal::ChooseGpus(cycle, rows[i]) == 0 ? kMinNodeScore : kMaxNodeScore;
    }
    return {};
  }
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    return internal::ChooseGpus(cycle, node.row());
  }
  std::string CheckNode(const Snapshot& snapshot, Row row) const override {
    return snapshot.record(row).topology_error;
  }

 private:
  static std::int64_t Score(const GpuTopology& topology, GpuMask, GpuMask chosen) {
    const std::int32_t gpus = std::popcount(chosen);
    const std::int32_t pairs = gpus * (gpus - 1) / 2;
    if (pairs == 0) return kMaxNodeScore;
    return (kMaxNodeScore * (pairs - topology.CrossNumaPairs(chosen)) + pairs / 2) / pairs;
  }

  internal::TopologyScores scores_;  // changed in PreScore alone
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NUMA_AFFINITY_H_
