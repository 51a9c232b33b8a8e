// AffinityCounts: pods by topology domain for inter-pod affinity, kept from cycle to cycle.
#ifndef SCHEDFW_PLUGINS_AFFINITY_COUNTS_H_
#define SCHEDFW_PLUGINS_AFFINITY_COUNTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedfw/cluster/pod_matcher.h"
#include "schedfw/cluster/row_changes.h"

namespace schedfw {

/// Pods of one kind by the values of one topology key.
struct DomainCount {
  const LabelColumn* column = nullptr;
  Column<std::int64_t> counts;  ///< by ordinal; that of 0 is 0; shared until changed
  std::int64_t total = 0;       ///< on nodes that have the key

  void Reset(const Snapshot& snapshot, StringId key) {
    column = &snapshot.Label(key);
    counts.Mutable().assign(column->OrdinalCount(), 0);
    total = 0;
  }
  void Add(Row row, std::int64_t pods) {
    const std::uint32_t ordinal = column->ordinals[row];
    if (ordinal == 0 || pods == 0) return;
    counts.Mutable()[ordinal] += pods;
    total += pods;
  }
};

/// Sums by topology key and value.
class DomainCounts {
 public:
  struct Domain {
    StringId key = 0;
    const LabelColumn* column = nullptr;
    Column<std::int64_t> counts;  // by ordinal; that of 0 stays 0; shared until changed
  };

  void Clear() {
    domains_.clear();
    total_ = 0;
  }
  /// Adds all counts of one key, times `weight`. O(1) when it is the only one, else O(domains).
  void Add(StringId key, const DomainCount& count, std::int64_t weight = 1) {
    total_ += count.total;
    const auto it = std::find_if(domains_.begin(), domains_.end(),
                                 [&](const Domain& domain) { return domain.key == key; });
    if (it == domains_.end() && weight == 1) {
      domains_.push_back({key, count.column, count.counts});
      return;
    }
    Domain& domain =
        it == domains_.end() ? domains_.emplace_back(Domain{key, count.column, {}}) : *it;
    std::vector<std::int64_t>& sums = domain.counts.Mutable();
    sums.resize(count.counts.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += count.counts[i] * weight;
  }
  /// `pods` come to a row (go from it when negative); rows without the key count nowhere.
  void Change(StringId key, const Snapshot& snapshot, Row row, std::int64_t pods) {
    auto it = std::find_if(domains_.begin(), domains_.end(),
                           [&](const Domain& domain) { return domain.key == key; });
    if (it == domains_.end()) {
      const LabelColumn& column = snapshot.Label(key);
      it = domains_.insert(domains_.end(), Domain{key, &column, {}});
      it->counts.Mutable().resize(column.OrdinalCount());
    }
    const std::uint32_t ordinal = it->column->ordinals[row];
    if (ordinal == 0) return;
    it->counts.Mutable()[ordinal] += pods;
    total_ += pods;
  }
  /// How many pods were counted.
  std::int64_t total() const { return total_; }
  const std::vector<Domain>& domains() const { return domains_; }

 private:
  std::vector<Domain> domains_;
  std::int64_t total_ = 0;
};

/// The counts that were asked for last, brought up to date by what has changed. Not safe for
/// concurrent use; a reference is valid until the next call.
class AffinityCounts {
 public:
  /// The pods that match. O(nodes) the first time and after a change of the nodes, then O(changed
  /// rows + nodes / 64).
  const DomainCount& Matching(const Snapshot& snapshot,
                              const std::shared_ptr<const PodMatcher>& matcher, StringId key) {
    ++clock_;
    Match& match = FindMatch(snapshot, matcher, key);
    match.last_use = clock_;
    if (!match.changes.Find(snapshot, changed_)) {
      match.count.Reset(snapshot, key);
      const Column<std::int32_t> pods = snapshot.CountPods(matcher);
      match.known.assign(pods.data(), pods.data() + snapshot.size());
      for (Row row = 0; row < snapshot.size(); ++row) match.count.Add(row, match.known[row]);
    } else if (!changed_.empty()) {
      const Column<std::int32_t> pods = snapshot.CountPods(matcher);
      for (const Row row : changed_) {
        match.count.Add(row, pods[row] - match.known[row]);
        match.known[row] = pods[row];
      }
    }
    return match.count;
  }

  /// The pods that have a term. O(1) while no pod with the term comes or goes, else O(nodes that
  /// have such pods).
  const DomainCount& WithTerm(const Snapshot& snapshot, AffinityTermId id) {
    if (dictionary_ != snapshot.dictionary().id()) {
      terms_.clear();
      dictionary_ = snapshot.dictionary().id();
    }
    if (terms_.size() <= id) terms_.resize(id + 1);
    Term& term = terms_[id];
    const TermCounts& counts = snapshot.terms();
    if (term.nodes != snapshot.nodes_id() || term.version != counts.version(id)) {
      term.nodes = snapshot.nodes_id();
      term.version = counts.version(id);
      term.count.Reset(snapshot, counts.term(id)->term.topology_key);
      for (const auto& [row, pods] : counts.rows(id)) term.count.Add(row, pods);
    }
    return term.count;
  }

 private:
  static constexpr std::size_t kLeast = 16;
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kMostRows = std::size_t{1} << 23;

  struct Match {
    std::shared_ptr<const PodMatcher> matcher;
    StringId key = 0;
    std::uint64_t last_use = 0;
    RowChanges changes;
    std::vector<std::int32_t> known;  // by row, as counted
    DomainCount count;
  };
  struct Term {
    std::uint64_t nodes = 0;
    std::uint64_t version = 0;
    DomainCount count;
  };

  Match& FindMatch(const Snapshot& snapshot, const std::shared_ptr<const PodMatcher>& matcher,
                   StringId key) {
    for (const auto& match : matches_) {
      if (match->key == key && match->matcher == matcher) return *match;
    }
    for (const auto& match : matches_) {
      if (match->key != key || !(*match->matcher == *matcher)) continue;
      match->matcher = matcher;
      return *match;
    }
    const std::size_t most =
        std::clamp<std::size_t>(kMostRows / std::max<Row>(snapshot.size(), 1), kLeast, kMost);
    while (matches_.size() >= most) {
      matches_.erase(
          std::min_element(matches_.begin(), matches_.end(),
                           [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
    }
    Match& out = *matches_.emplace_back(std::make_unique<Match>());
    out.matcher = matcher;
    out.key = key;
    return out;
  }

  std::vector<std::unique_ptr<Match>> matches_;
  std::vector<Row> changed_;
  std::uint64_t dictionary_ = 0;
  std::vector<Term> terms_;  // by id
  std::uint64_t clock_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_AFFINITY_COUNTS_H_
