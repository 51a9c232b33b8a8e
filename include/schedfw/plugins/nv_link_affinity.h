// NvLinkAffinity: nodes whose free GPUs can talk to each other.
#ifndef SCHEDFW_PLUGINS_NV_LINK_AFFINITY_H_
#define SCHEDFW_PLUGINS_NV_LINK_AFFINITY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/topology_scores.h"

namespace schedfw {

struct NvLinkAffinityArgs {
  std::int32_t packing_weight = 10;
};
template <typename V>
void Fields(V& v, NvLinkAffinityArgs& args) {
  v("packingWeight", args.packing_weight,
    Arg{.help = "How many of the 100 points are for NVLinks that stay whole, between the GPUs that "
                "are left and between those that are taken",
        .min = 0,
        .max = kMaxNodeScore});
}

/// Prefers nodes where the pod's GPUs get the most bandwidth among themselves, and gives it the
/// best of the free GPUs there (GpuTopology).
///
/// The score is (100 − packingWeight) × the bus bandwidth of the best ring over the GPUs that the
/// pod would get, relative to the best that as many GPUs have on any node of the cluster when all
/// are free, + packingWeight × the share of the free GPUs' NVLinks that aren't cut. For one GPU or
/// a share of one the first part is full. Nodes whose topology isn't known score 0. Two look-ups a
/// node; a share of a GPU O(GPUs) a node.
class NvLinkAffinity : public PreScorePlugin,
                       public BatchScorePlugin,
                       public IncrementalPlugin,
                       public internal::TopologyPlugin {
 public:
  static constexpr std::string_view kName = "NvLinkAffinity";

  explicit NvLinkAffinity(const NvLinkAffinityArgs& args) : packing_weight_(args.packing_weight) {}

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    const GpuRequest& request = cycle.plan().gpus;
    if (request.count == 0) return Status::Skip();
    best_ = 0;
    for (const GpuTopology* topology : scores_.Present(cycle.snapshot)) {
      const GpuMask chosen = topology->Choose(topology->all(), request.count);
      if (chosen != 0) best_ = std::max(best_, topology->RingBandwidth(chosen));
    }
    scores_.Prepare(request.count, [this](auto&&... what) { return ScoreOf(what...); });
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const GpuRequest& request = cycle.plan().gpus;
    if (!request.IsShare()) {
      scores_.Score(
          cycle.snapshot, rows, [this](auto&&... what) { return ScoreOf(what...); }, out);
      return {};
    }
    for (Row i = 0; i < rows.size(); ++i) {
      const GpuTopology* topology = cycle.snapshot.TopologyOf(rows[i]);
      const GpuMask chosen = internal::ChooseGpus(cycle, rows[i], NumaMask{0});
      out[i] = chosen == 0 ? 0 : ScoreOf(*topology, cycle.snapshot.Free()[rows[i]].mask, chosen);
    }
    return {};
  }

 private:
  // How good it is to take some of the free GPUs of a node.
  std::int64_t ScoreOf(const GpuTopology& topology, GpuMask free, GpuMask chosen) const {
    const bool one = (chosen & (chosen - 1)) == 0;
    const double bandwidth =
        one || best_ <= 0 ? 1 : static_cast<double>(topology.RingBandwidth(chosen)) / best_;
    const auto rest = static_cast<GpuMask>(free & ~chosen);
    const std::int32_t links = topology.NvLinks(static_cast<GpuMask>(free | chosen));
    const std::int32_t cut = links - topology.NvLinks(chosen) - topology.NvLinks(rest);
    const double whole = links == 0 ? 1 : 1 - static_cast<double>(cut) / links;
    return std::llround((kMaxNodeScore - packing_weight_) * std::min(bandwidth, 1.0) +
                        packing_weight_ * whole);
  }

  const std::int32_t packing_weight_;
  internal::TopologyScores scores_;  // changed in PreScore alone
  float best_ = 0;                   // of the running cycle, GB/s
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NV_LINK_AFFINITY_H_
