// ImageLocality: prefers nodes that have the pod's images.
#ifndef SCHEDFW_PLUGINS_IMAGE_LOCALITY_H_
#define SCHEDFW_PLUGINS_IMAGE_LOCALITY_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Scores by the bytes of the pod's images that a node has, each weighted by the share of nodes
/// that have it, so that pods don't heap up on the few nodes with an image (plugins/imagelocality).
class ImageLocality : public BatchScorePlugin, public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "ImageLocality";

  std::string_view Name() const override { return kName; }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    constexpr std::int64_t kMegabyte = 1024 * 1024;
    constexpr std::int64_t kMinThreshold = 23 * kMegabyte;
    const auto& images = cycle.plan().images;
    const auto count = static_cast<std::int64_t>(images.size());
    const std::int64_t max_threshold = 1000 * kMegabyte * count;

    std::fill_n(out, rows.size(), std::int64_t{0});
    for (const StringId image : images) {
      const ImageState* state = cycle.snapshot.Image(image);
      if (state == nullptr) continue;
      const double spread =
          static_cast<double>(state->node_count) / static_cast<double>(cycle.snapshot.size());
      const auto bytes = static_cast<std::int64_t>(static_cast<double>(state->size_bytes) * spread);
      const std::uint8_t* has = cycle.snapshot.HasImage(image).data();
      for (Row i = 0; i < rows.size(); ++i) out[i] += has[rows[i]] != 0 ? bytes : 0;
    }
    for (Row i = 0; i < rows.size(); ++i) {
      const std::int64_t sum = out[i] < kMinThreshold   ? kMinThreshold
                               : out[i] > max_threshold ? max_threshold
                                                        : out[i];
      out[i] = kMaxNodeScore * (sum - kMinThreshold) / (max_threshold - kMinThreshold);
    }
    return {};
  }

  std::optional<std::int64_t> UniformScore(const Cycle& cycle) const override {
    for (const StringId image : cycle.plan().images) {
      if (cycle.snapshot.Image(image) != nullptr) return std::nullopt;
    }
    return kMinNodeScore;
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_IMAGE_LOCALITY_H_
