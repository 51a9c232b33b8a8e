// ScoreMatrix: every score of a cycle, plugin by node.
#ifndef SCHEDFW_FRAMEWORK_SCORE_MATRIX_H_
#define SCHEDFW_FRAMEWORK_SCORE_MATRIX_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/cluster/snapshot.h"

namespace schedfw {

/// Scores as an Eigen array: a row a plugin (contiguous), a column a feasible node.
using ScoreArray = Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The full score tensor of one cycle; all arrays are plugins × nodes.
struct ScoreMatrix {
  std::vector<std::string> plugins;   ///< that were not skipped, in the profile's order
  std::vector<std::int64_t> weights;  ///< one a plugin
  std::vector<Row> rows;              ///< the feasible nodes, ascending
  ScoreArray raw;                     ///< as Score returned them
  ScoreArray normalized;              ///< after NormalizeScore: from 0 to 100
  ScoreArray weighted;                ///< normalized × weight
  Eigen::Array<std::int64_t, Eigen::Dynamic, 1> total;  ///< sums of weighted, one a node
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_SCORE_MATRIX_H_
