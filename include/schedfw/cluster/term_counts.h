// TermCounts: which terms of inter-pod affinity the pods on nodes have, and where.
#ifndef SCHEDFW_CLUSTER_TERM_COUNTS_H_
#define SCHEDFW_CLUSTER_TERM_COUNTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedfw/cluster/affinity.h"
#include "schedfw/cluster/cow.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

/// For each term that pods on nodes have, on which nodes and how often.
///
/// Replicas share their terms, so a cycle looks at the different terms of a cluster and not at its
/// pods. Copies share memory until written.
class TermCounts {
 public:
  struct RowCount {
    std::uint32_t row = 0;
    std::int32_t pods = 0;
  };

  /// A pod has come to (delta 1) or gone from (delta -1) a row. O(terms × log nodes).
  void Change(const PodInfo& pod, std::uint32_t row, std::int32_t delta) {
    if (pod.affinity == nullptr) return;
    for (const auto& term : pod.affinity->terms) {
      while (entries_.size() <= term->id) entries_.PushBack({});
      Entry& entry = entries_.Mutable(term->id);
      if (!entry.term) entry.term = term;
      std::vector<RowCount>& rows = entry.rows.Mutable();
      const auto it =
          std::lower_bound(rows.begin(), rows.end(), row,
                           [](const RowCount& a, std::uint32_t b) { return a.row < b; });
      if (it == rows.end() || it->row != row) {
        rows.insert(it, {row, delta});
      } else if ((it->pods += delta) == 0) {
        rows.erase(it);
      }
    }
  }

  /// Calls fn(const InternedTerm&, std::span<const RowCount>) for each term that some pod on a node
  /// has; rows ascending. In the order of ids, on which no result may depend.
  template <typename F>
  void ForEach(F&& fn) const {
    for (std::size_t id = 0; id < entries_.size(); ++id) {
      const Entry& entry = entries_[id];
      if (!entry.rows->empty()) fn(*entry.term, std::span<const RowCount>(*entry.rows));
    }
  }

 private:
  struct Entry {
    std::shared_ptr<const InternedTerm> term;
    Cow<std::vector<RowCount>> rows;
  };

  BlockColumn<Entry> entries_;  // by AffinityTermId
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_TERM_COUNTS_H_
