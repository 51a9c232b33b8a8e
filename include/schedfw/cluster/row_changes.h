// RowChanges: which rows of a cluster have changed since the last look.
#ifndef SCHEDFW_CLUSTER_ROW_CHANGES_H_
#define SCHEDFW_CLUSTER_ROW_CHANGES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "schedfw/cluster/snapshot.h"

namespace schedfw {

/// Remembers a snapshot by the generations of its rows and compares others with it. What is derived
/// from rows is kept up to date with this, whether the next snapshot is a later one of the same
/// cluster, a fork, or an earlier one.
class RowChanges {
 public:
  /// Finds the rows that differ from those of the last call, ascending. False: the nodes are
  /// others, or this is the first call, so that all rows count as changed and `changed` is empty.
  ///
  /// O(nodes / 64 + changes).
  bool Find(const Snapshot& snapshot, std::vector<Row>& changed) {
    changed.clear();
    const std::uint64_t* rows = snapshot.Generations();
    const std::uint64_t* blocks = snapshot.BlockGenerations();
    const std::size_t block_count = BlockCount(snapshot.size());
    if (nodes_ != snapshot.nodes_id()) {
      nodes_ = snapshot.nodes_id();
      rows_.assign(rows, rows + snapshot.size());
      blocks_.assign(blocks, blocks + block_count);
      return false;
    }
    for (std::size_t b = 0; b < block_count; ++b) {
      if (blocks[b] == blocks_[b]) continue;
      blocks_[b] = blocks[b];
      const auto begin = static_cast<Row>(b * kRowsOfBlock);
      const Row end = std::min(snapshot.size(), begin + kRowsOfBlock);
      for (Row row = begin; row < end; ++row) {
        if (rows[row] == rows_[row]) continue;
        rows_[row] = rows[row];
        changed.push_back(row);
      }
    }
    return true;
  }
  /// The next call is like the first one.
  void Forget() { nodes_ = 0; }

 private:
  std::uint64_t nodes_ = 0;
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> blocks_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_ROW_CHANGES_H_
