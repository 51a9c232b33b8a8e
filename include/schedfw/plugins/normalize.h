// DefaultNormalizeScore: scales scores so that the highest becomes 100.
#ifndef SCHEDFW_PLUGINS_NORMALIZE_H_
#define SCHEDFW_PLUGINS_NORMALIZE_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Scales to [0, 100] by the maximum, in integers; `reverse` turns them around. All zero stays
/// zero, or becomes 100 when reversed (plugins/helper/normalize_score.go). Scores are not negative.
inline void DefaultNormalizeScore(bool reverse, std::span<std::int64_t> scores) {
  std::int64_t max = 0;
  for (const std::int64_t score : scores) max = std::max(max, score);
  if (max == 0) {
    if (reverse) std::fill(scores.begin(), scores.end(), kMaxNodeScore);
    return;
  }
  for (std::int64_t& score : scores) {
    score = kMaxNodeScore * score / max;
    if (reverse) score = kMaxNodeScore - score;
  }
}

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NORMALIZE_H_
