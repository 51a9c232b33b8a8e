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

  /// A pod has come to (delta 1) or gone from (delta -1) a row. `version` is a number that no other
  /// change has. O(terms × log nodes).
  void Change(const PodInfo& pod, std::uint32_t row, std::int32_t delta, std::uint64_t version) {
    if (pod.plan->affinity == nullptr) return;
    for (const auto& term : pod.plan->affinity->terms) {
      while (entries_.size() <= term->id) entries_.PushBack({});
      Entry& entry = entries_.Mutable(term->id);
      if (!entry.term) entry.term = term;
      entry.version = version;
      std::vector<RowCount>& rows = entry.rows.Mutable();
      terms_in_use_ -= rows.empty() ? 0 : 1;
      const auto it =
          std::lower_bound(rows.begin(), rows.end(), row,
                           [](const RowCount& a, std::uint32_t b) { return a.row < b; });
      if (it == rows.end() || it->row != row) {
        rows.insert(it, {row, delta});
      } else if ((it->pods += delta) == 0) {
        rows.erase(it);
      }
      terms_in_use_ += rows.empty() ? 0 : 1;
    }
  }

  /// True when no pod on a node has a term.
  bool empty() const { return terms_in_use_ == 0; }
  /// Ids are below this.
  std::size_t size() const { return entries_.size(); }
  /// Where pods with a term are, rows ascending; empty: nowhere, or it was never seen.
  std::span<const RowCount> rows(AffinityTermId id) const { return *entries_[id].rows; }
  /// The term of an id that has rows.
  const InternedTerm* term(AffinityTermId id) const { return entries_[id].term.get(); }
  /// Equal versions of a term, equal rows; also in different forks.
  std::uint64_t version(AffinityTermId id) const { return entries_[id].version; }

 private:
  struct Entry {
    std::shared_ptr<const InternedTerm> term;
    Cow<std::vector<RowCount>> rows;
    std::uint64_t version = 0;
  };

  BlockColumn<Entry> entries_;  // by AffinityTermId
  std::size_t terms_in_use_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_TERM_COUNTS_H_
