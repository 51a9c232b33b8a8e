// TopologyScores: scores that follow from which GPUs of a node are free and how they are linked.
#ifndef SCHEDFW_PLUGINS_TOPOLOGY_SCORES_H_
#define SCHEDFW_PLUGINS_TOPOLOGY_SCORES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/cluster/numa_demand.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/topology/gpu_topology.h"

namespace schedfw::internal {

/// Scores of nodes for pods that ask for `k` whole GPUs, kept as tables: one a topology that the
/// nodes have, by the GPUs that are free. A node costs two look-ups.
///
/// Made anew when the nodes change, so that a score never depends on nodes that aren't there.
class TopologyScores {
 public:
  /// The topologies of GPUs that the nodes of a snapshot have, by what they were given as first.
  const std::vector<const GpuTopology*>& Present(const Snapshot& snapshot) {
    if (nodes_id_ == snapshot.nodes_id()) return present_;
    nodes_id_ = snapshot.nodes_id();
    present_.clear();
    has_large_ = false;
    begin_.clear();
    for (std::vector<std::uint8_t>& table : tables_) table.clear();
    const FreeGpus* free = snapshot.Free();
    for (Row row = 0; free != nullptr && row < snapshot.size(); ++row) {
      const TopologyId id = free[row].topology;
      if (id < begin_.size() && begin_[id] != 0) continue;
      if (id >= begin_.size()) begin_.resize(id + std::size_t{1}, 0);
      if (id == 0) continue;
      present_.push_back(&snapshot.topologies()[id]);
      has_large_ = has_large_ || present_.back()->count() > kBits;
      begin_[id] = static_cast<std::uint32_t>(present_.size());
    }
    return present_;
  }

  /// Makes the table for k GPUs if it isn't there. fn(topology, free, chosen) is a score from 0 to
  /// 100; `chosen` are the GPUs that GpuTopology::Choose gives. Present() has been called. O(1) if
  /// it is there, else O(topologies × 2^GPUs).
  template <typename F>
  void Prepare(std::int32_t k, F&& fn) {
    std::vector<std::uint8_t>& values = tables_[static_cast<std::size_t>(k)];
    current_ = &values;
    k_ = k;
    if (!values.empty()) return;
    // Place 0 is for nodes whose topology isn't known.
    values.assign((present_.size() + 1) << kBits, 0);
    for (std::size_t i = 0; i < present_.size(); ++i) {
      const GpuTopology& topology = *present_[i];
      if (topology.count() > kBits) continue;
      for (std::uint32_t mask = 0; mask <= topology.all(); ++mask) {
        const auto free = static_cast<GpuMask>(mask);
        const GpuMask chosen = topology.Choose(free, k);
        if (chosen == 0) continue;
        values[(i + 1) << kBits | free] = static_cast<std::uint8_t>(fn(topology, free, chosen));
      }
    }
  }

  /// The scores of rows for the k of the last Prepare(), which got the same `fn`.
  template <typename F>
  void Score(const Snapshot& snapshot, Rows rows, F&& fn, std::int64_t* out) const {
    const FreeGpus* free = snapshot.Free();
    if (free == nullptr) {
      std::fill_n(out, rows.size(), std::int64_t{0});
      return;
    }
    FreeGpus buffer[kMaxBlockRows];
    const FreeGpus* in = rows.Of(free, buffer);
    const std::uint8_t* values = current_->data();
    const std::uint32_t* begin = begin_.data();
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = values[std::size_t{begin[in[i].topology]} << kBits | (in[i].mask & kDense)];
    }
    if (!has_large_) return;
    for (Row i = 0; i < rows.size(); ++i) {
      const std::uint32_t place = begin[in[i].topology];
      if (place == 0 || present_[place - 1]->count() <= kBits) continue;
      const GpuTopology& topology = *present_[place - 1];
      const GpuMask chosen = topology.Choose(in[i].mask, k_);
      out[i] = chosen == 0 ? 0 : fn(topology, in[i].mask, chosen);
    }
  }

 private:
  static constexpr int kBits = 8;  // topologies with more GPUs have no table
  static constexpr std::uint32_t kDense = (1U << kBits) - 1;

  std::uint64_t nodes_id_ = 0;
  std::vector<const GpuTopology*> present_;
  bool has_large_ = false;            // some of them have no table
  std::vector<std::uint32_t> begin_;  // by TopologyId: 1 + the place in present_, or 0
  std::array<std::vector<std::uint8_t>, kMaxGpus + 1> tables_;  // by k
  const std::vector<std::uint8_t>* current_ = nullptr;
  std::int32_t k_ = 0;
};

/// The NUMA nodes that have room for all cpu, memory and huge pages of a pod, as the kubelet binds
/// them; nullopt: it binds none.
inline std::optional<NumaMask> ZonesWithRoom(const NumaZones& zones, const NumaDemand& demand) {
  if (!demand.binds_cpu) return std::nullopt;
  const NumaLayout& layout = *zones.layout;
  NumaMask out = 0;
  for (std::size_t zone = 0; zone < layout.zones(); ++zone) {
    const bool has_room =
        std::all_of(demand.pod.begin(), demand.pod.end(), [&](const NumaRequest& request) {
          if (request.host_level || request.bound == 0) return true;
          const auto column = layout.Find(request.resource);
          return column && zones.Available(zone, *column) >= request.bound;
        });
    if (has_room) out |= NumaMask{1} << layout.ids[zone];
  }
  return out;
}

/// The GPUs that a pod gets on a node whose topology is known; 0: the cluster decides. `wanted`:
/// NUMA nodes where its CPUs are to be, 0: anywhere.
inline GpuMask ChooseGpus(const Cycle& cycle, Row row, NumaMask wanted) {
  const Snapshot& snapshot = cycle.snapshot;
  const GpuTopology* topology = snapshot.TopologyOf(row);
  if (topology == nullptr) return 0;
  const GpuRequest& request = cycle.plan().gpus;
  const GpuMask free = snapshot.Free()[row].mask;
  if (!request.IsShare()) return topology->Choose(free, request.count, wanted);
  // GPUs that aren't allocatable have nothing left.
  return topology->ChooseShare(snapshot.Gpus()[row].left, request.milli, free, false, wanted);
}

/// The same near NUMA nodes that have room for the pod's CPUs, where a NodeResourceTopology tells.
inline GpuMask ChooseGpus(const Cycle& cycle, Row row) {
  const NumaZones* zones = cycle.snapshot.Numa(row);
  if (zones == nullptr) return ChooseGpus(cycle, row, NumaMask{0});
  const NumaDemand demand = NumaDemandOf(*cycle.plan().pattern, cycle.snapshot.dictionary());
  return ChooseGpus(cycle, row, ZonesWithRoom(*zones, demand).value_or(0));
}

/// What plugins have in common that choose GPUs by topology.
class TopologyPlugin : public GpuAllocatorPlugin, public NodeCheckPlugin {
 public:
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    return ChooseGpus(cycle, node.row());
  }
  std::string CheckNode(const Snapshot& snapshot, Row row) const override {
    return snapshot.record(row).topology_error;
  }
};

}  // namespace schedfw::internal

#endif  // SCHEDFW_PLUGINS_TOPOLOGY_SCORES_H_
