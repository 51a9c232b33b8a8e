// DefaultNormalizeScore: scales scores so that the highest becomes 100.
#ifndef SCHEDFW_PLUGINS_NORMALIZE_H_
#define SCHEDFW_PLUGINS_NORMALIZE_H_

#include <algorithm>
#include <cstdint>

#include "schedfw/base/simd.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// The least and the highest of `count` scores, added to `bounds`.
inline void AddBounds(const std::int64_t* scores, Row count, ScoreBounds& bounds) {
  RunSimd(
      [](const std::int64_t* in, Row n, ScoreBounds* __restrict out) SCHEDFW_SIMD_LOOP {
        std::int64_t min = out->min, max = out->max;
        for (Row i = 0; i < n; ++i) {
          min = in[i] < min ? in[i] : min;
          max = in[i] > max ? in[i] : max;
        }
        out->min = min;
        out->max = max;
      },
      scores, count, &bounds);
}

/// Scales to [0, 100] by the maximum, in integers; `kReverse` turns them around. All zero stays
/// zero, or becomes 100 when reversed (plugins/helper/normalize_score.go). Scores are not negative.
template <bool kReverse>
class DefaultNormalizeScore : public BatchScoreExtensions {
 public:
  void Bound(const Cycle&, Rows rows, const std::int64_t* scores, ScoreBounds& bounds) const final {
    AddBounds(scores, rows.size(), bounds);
  }
  void NormalizeBlock(const Cycle&, Rows rows, const ScoreBounds& bounds,
                      std::int64_t* scores) const final {
    if (bounds.max <= 0) {
      if (kReverse) std::fill_n(scores, rows.size(), kMaxNodeScore);
      return;
    }
    for (Row i = 0; i < rows.size(); ++i) {
      const std::int64_t scaled = kMaxNodeScore * scores[i] / bounds.max;
      scores[i] = kReverse ? kMaxNodeScore - scaled : scaled;
    }
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NORMALIZE_H_
