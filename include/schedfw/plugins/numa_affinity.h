// NumaAffinity: nodes where the pod's GPUs are on one NUMA node, with its CPUs.
#ifndef SCHEDFW_PLUGINS_NUMA_AFFINITY_H_
#define SCHEDFW_PLUGINS_NUMA_AFFINITY_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/topology_scores.h"

namespace schedfw {

/// Prefers nodes where the GPUs that the pod would get (GpuTopology) are on one NUMA node that has
/// room for its CPUs.
///
/// The score is 100 × the share of pairs of these GPUs that are on one NUMA node (all, for one GPU
/// or a share of one) × the share of the GPUs that are near a NUMA node with room for all cpu,
/// memory and huge pages of the pod; the second part counts for Guaranteed pods where a
/// NodeResourceTopology tells. Nodes whose topology isn't known score 0. Two look-ups a node; where
/// zones are told, once for each state of zones and GPUs.
class NumaAffinity : public PreScorePlugin,
                     public BatchScorePlugin,
                     public IncrementalPlugin,
                     public internal::TopologyPlugin {
 public:
  static constexpr std::string_view kName = "NumaAffinity";

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    const GpuRequest& request = cycle.plan().gpus;
    if (request.count == 0) return Status::Skip();
    scores_.Present(cycle.snapshot);
    scores_.Prepare(request.count, PairsOnOneNode);
    if (cycle.snapshot.HasNuma() && plan_ != cycle.pod.plan) {
      plan_ = cycle.pod.plan;
      demand_ = NumaDemandOf(*plan_->pattern, cycle.snapshot.dictionary());
    }
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const bool by_zones = cycle.snapshot.HasNuma() && demand_.binds_cpu;
    if (!cycle.plan().gpus.IsShare() && !by_zones) {
      scores_.Score(cycle.snapshot, rows, PairsOnOneNode, out);
      return {};
    }
    // Few states of zones and GPUs are different, and many nodes are in each.
    struct Known {
      const NumaZones* zones = nullptr;
      FreeGpus free;
      std::int64_t score = -1;
    };
    std::array<Known, 256> memo;
    const bool share = cycle.plan().gpus.IsShare();
    for (Row i = 0; i < rows.size(); ++i) {
      const Row row = rows[i];
      const NumaZones* zones = by_zones ? cycle.snapshot.Numa(row) : nullptr;
      const FreeGpus free =
          cycle.snapshot.Free() == nullptr ? FreeGpus{} : cycle.snapshot.Free()[row];
      if (share) {  // goes by what is left of each GPU
        out[i] = ScoreOf(cycle, row, zones);
        continue;
      }
      const std::size_t hash =
          (reinterpret_cast<std::uintptr_t>(zones) >> 4 ^ free.mask ^ free.topology * 37U) %
          memo.size();
      Known& known = memo[hash];
      const bool same = known.score >= 0 && known.zones == zones && known.free.mask == free.mask &&
                        known.free.topology == free.topology;
      if (!same) known = {zones, free, ScoreOf(cycle, row, zones)};
      out[i] = known.score;
    }
    return {};
  }

 private:
  static std::int64_t PairsOnOneNode(const GpuTopology& topology, GpuMask, GpuMask chosen) {
    const std::int32_t gpus = std::popcount(chosen);
    const std::int32_t pairs = gpus * (gpus - 1) / 2;
    if (pairs == 0) return kMaxNodeScore;
    return (kMaxNodeScore * (pairs - topology.CrossNumaPairs(chosen)) + pairs / 2) / pairs;
  }
  std::int64_t ScoreOf(const Cycle& cycle, Row row, const NumaZones* zones) const {
    std::optional<NumaMask> room;
    if (zones != nullptr) room = internal::ZonesWithRoom(*zones, demand_);
    const GpuMask chosen = internal::ChooseGpus(cycle, row, room.value_or(0));
    if (chosen == 0) return kMinNodeScore;
    const GpuTopology& topology = *cycle.snapshot.TopologyOf(row);
    const std::int64_t pairs = PairsOnOneNode(topology, 0, chosen);
    if (!room) return pairs;
    std::int64_t near = 0;
    for (std::uint32_t rest = chosen; rest != 0; rest &= rest - 1) {
      const NumaMask nodes = topology.near(static_cast<std::size_t>(std::countr_zero(rest)));
      near += nodes == 0 || (nodes & *room) != 0 ? 1 : 0;
    }
    return pairs * near / std::popcount(chosen);
  }

  // Changed in PreScore alone.
  internal::TopologyScores scores_;
  std::shared_ptr<const PodPlan> plan_;
  NumaDemand demand_;  // of plan_
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NUMA_AFFINITY_H_
