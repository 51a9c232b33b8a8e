// Scores that pack GPUs: the policies to which fragmentation gradient descent was compared.
#ifndef SCHEDFW_PLUGINS_GPU_PACKING_H_
#define SCHEDFW_PLUGINS_GPU_PACKING_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/random.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"

// Weng et al., "Beware of Fragmentation", ATC 2023; the rules are those of its simulator
// (hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin), rounding included.

namespace schedfw {

/// The largest machine: what loads are fractions of.
struct LargestMachineArgs {
  std::int64_t max_cpu_milli = 128'000;
  std::int64_t max_gpu_milli = 8'000;
};
template <typename V>
void Fields(V& v, LargestMachineArgs& args) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  v("maxCpuMilli", args.max_cpu_milli,
    Arg{.help = "Cores of the largest machine, in thousandths", .min = 1, .max = kMost});
  v("maxGpuMilli", args.max_gpu_milli,
    Arg{.help = "GPUs of the largest machine, in thousandths",
        .min = kGpuMilli,
        .max = kGpuMilli * kMaxGpus});
}

namespace internal {

// What the scores look at of one node.
struct GpuNode {
  GpuNode(const Snapshot& snapshot, Row row)
      : cpu_left(snapshot.Allocatable(kCpu)[row] - snapshot.Requested(kCpu)[row]),
        gpus(snapshot.Gpus() == nullptr ? kNone : snapshot.Gpus()[row]) {}

  static inline const GpuDevices kNone{};
  std::int64_t cpu_left;
  const GpuDevices& gpus;
};

}  // namespace internal

struct GpuRandomArgs {
  std::int64_t seed = 42;
};
template <typename V>
void Fields(V& v, GpuRandomArgs& args) {
  v("seed", args.seed,
    Arg{.help = "Of what is drawn; pods of other names draw otherwise", .min = 0});
}

/// One of the nodes that fit gets all points, and a share one of the GPUs that fit, drawn evenly by
/// seed and the pod's name. A baseline to compare with.
class GpuRandom : public PreScorePlugin, public BatchScorePlugin, public GpuAllocatorPlugin {
 public:
  static constexpr std::string_view kName = "GpuRandom";

  explicit GpuRandom(const GpuRandomArgs& args) : seed_(static_cast<std::uint64_t>(args.seed)) {}

  std::string_view Name() const override { return kName; }
  Status PreScore(const Cycle& cycle, CycleState& state, std::span<const Row> feasible) override {
    Random random = Draws(cycle, 1);
    // Which row a node has must not matter, so the draw is among names.
    std::vector<Row> rows(feasible.begin(), feasible.end());
    if (!cycle.snapshot.IsNameOrder()) {
      const std::vector<std::uint32_t>& rank = cycle.snapshot.NameRank();
      std::sort(rows.begin(), rows.end(), [&](Row a, Row b) { return rank[a] < rank[b]; });
    }
    state.Reuse<Chosen>().row = rows[random.Below(rows.size())];
    return {};
  }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const Chosen* chosen = cycle.state.Find<Chosen>();
    if (chosen == nullptr) return Status::Error("PreScore of GpuRandom has not run");
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = rows[i] == chosen->row ? kMaxNodeScore : kMinNodeScore;
    }
    return {};
  }
  GpuMask AllocateGpus(const Cycle& cycle, const NodeInfo& node) const override {
    const GpuRequest& request = cycle.plan().gpus;
    const GpuDevices& gpus = cycle.snapshot.Gpus()[node.row()];
    if (!request.IsShare()) return gpus.First(request);
    const std::int32_t fits = gpus.CountWith(request.milli);
    if (fits == 0) return 0;
    auto left = static_cast<std::int32_t>(Draws(cycle, 2).Below(static_cast<std::uint64_t>(fits)));
    for (std::uint32_t g = 0; g < gpus.count; ++g) {
      if (gpus.left[g] >= request.milli && left-- == 0) return static_cast<GpuMask>(1U << g);
    }
    return 0;
  }

 private:
  struct Chosen {
    Row row = 0;
  };

  // The same on every machine and at every attempt.
  Random Draws(const Cycle& cycle, std::uint64_t purpose) const {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const char c : cycle.pod.FullName()) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return Random(Random(seed_ ^ purpose << 56).Next() ^ hash);
  }

  const std::uint64_t seed_;
};

/// Prefers nodes whose free resources, as a vector of cpu and all GPUs, have the smallest product
/// with what the pod asks for: the tight ones.
class DotProduct : public BatchScorePlugin, public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "DotProduct";

  explicit DotProduct(const LargestMachineArgs& args) : largest_(args) {}

  std::string_view Name() const override { return kName; }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const auto max_cpu = static_cast<double>(largest_.max_cpu_milli);
    const auto max_gpu = static_cast<double>(largest_.max_gpu_milli);
    const double cpu = static_cast<double>(cycle.plan().Request(kCpu)) / max_cpu;
    const double gpu = static_cast<double>(cycle.plan().gpus.TotalMilli()) / max_gpu;
    for (Row i = 0; i < rows.size(); ++i) {
      const internal::GpuNode node(cycle.snapshot, rows[i]);
      const double product = static_cast<double>(node.cpu_left) / max_cpu * cpu +
                             static_cast<double>(node.gpus.LeftTotal()) / max_gpu * gpu;
      out[i] = std::clamp(static_cast<std::int64_t>(100 * (1 - product / 2)), kMinNodeScore,
                          kMaxNodeScore);
    }
    return {};
  }

 private:
  const LargestMachineArgs largest_;
};

/// Prefers nodes that have pods of the same kind only, where a kind is a number of whole GPUs or a
/// share of one, and of these the full ones.
class GpuClustering : public BatchScorePlugin, public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "GpuClustering";

  explicit GpuClustering(const LargestMachineArgs& args) : largest_(args) {}

  std::string_view Name() const override { return kName; }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const GpuRequest& request = cycle.plan().gpus;
    std::fill_n(out, rows.size(), kMinNodeScore);
    if (request.count == 0) return {};
    for (Row i = 0; i < rows.size(); ++i) {
      const internal::GpuNode node(cycle.snapshot, rows[i]);
      const std::int64_t used =
          std::max<std::int64_t>(0, largest_.max_gpu_milli - node.gpus.LeftTotal());
      out[i] = 25 * used / largest_.max_gpu_milli;
      bool same = false, other = false;
      for (const PodPtr& pod : cycle.snapshot.pods(rows[i])) {
        const GpuRequest& theirs = pod->plan->gpus;
        if (theirs.count == 0) continue;
        (KindOf(theirs) == KindOf(request) ? same : other) = true;
      }
      out[i] += same ? (other ? 50 : 75) : (other ? 0 : 25);
    }
    return {};
  }

 private:
  static std::int32_t KindOf(const GpuRequest& request) {
    return request.IsShare() ? 0 : request.count;
  }

  const LargestMachineArgs largest_;
};

/// Prefers GPUs in use to free ones, and nodes in use to free nodes.
class GpuPacking : public BatchScorePlugin, public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "GpuPacking";

  std::string_view Name() const override { return kName; }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const GpuRequest& request = cycle.plan().gpus;
    for (Row i = 0; i < rows.size(); ++i) {
      out[i] = request.count == 0
                   ? kMinNodeScore
                   : ScoreOf(internal::GpuNode(cycle.snapshot, rows[i]).gpus, request);
    }
    return {};
  }

 private:
  static std::int64_t ScoreOf(const GpuDevices& gpus, const GpuRequest& request) {
    const std::int64_t free = gpus.CountWith(kGpuMilli);
    if (free == gpus.count) return std::max<std::int64_t>(33 - free, free);
    std::array<std::int16_t, kMaxGpus> left{};
    std::copy_n(gpus.left.begin(), gpus.count, left.begin());
    std::sort(left.begin(), left.begin() + gpus.count);
    std::int64_t used = 0, taken = 0, rest = 0;
    for (std::int32_t g = 0; g < gpus.count && taken < request.count; ++g) {
      if (left[g] < request.milli) continue;
      ++taken;
      if (left[g] == kGpuMilli) ++used;
      rest += left[g] / 10;
    }
    if (used > 0) return std::max<std::int64_t>(50 - used, 33);
    return std::max<std::int64_t>(100 - rest / 10, 50);
  }
};

/// Prefers the nodes with the least left of cpu and GPUs once the pod is there.
class BestFit : public BatchScorePlugin, public BatchScoreExtensions, public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "BestFit";

  explicit BestFit(const LargestMachineArgs& args) : largest_(args) {}

  std::string_view Name() const override { return kName; }
  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    const auto max_cpu = static_cast<double>(largest_.max_cpu_milli);
    const auto max_gpu = static_cast<double>(largest_.max_gpu_milli);
    const std::int64_t cpu = cycle.plan().Request(kCpu);
    const std::int64_t gpu = cycle.plan().gpus.TotalMilli();
    for (Row i = 0; i < rows.size(); ++i) {
      const internal::GpuNode node(cycle.snapshot, rows[i]);
      const double left = 0.5 * static_cast<double>(node.cpu_left - cpu) / max_cpu +
                          0.5 * static_cast<double>(node.gpus.LeftTotal() - gpu) / max_gpu;
      out[i] = static_cast<std::int64_t>(100 * (1 - left));
    }
    return {};
  }
  const ScoreExtensions* NormalizeExtensions() const override { return this; }
  void Bound(const Cycle&, Rows rows, const std::int64_t* scores,
             ScoreBounds& bounds) const override {
    for (Row i = 0; i < rows.size(); ++i) bounds.Add({scores[i], scores[i]});
  }
  void NormalizeBlock(const Cycle&, Rows rows, const ScoreBounds& bounds,
                      std::int64_t* scores) const override {
    for (Row i = 0; i < rows.size(); ++i) {
      scores[i] = bounds.max == bounds.min
                      ? 0
                      : kMaxNodeScore * (scores[i] - bounds.min) / (bounds.max - bounds.min);
    }
  }

 private:
  const LargestMachineArgs largest_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_GPU_PACKING_H_
