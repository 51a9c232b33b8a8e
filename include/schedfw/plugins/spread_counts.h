// SpreadCounts: matching pods by topology domain, kept from cycle to cycle.
#ifndef SCHEDFW_PLUGINS_SPREAD_COUNTS_H_
#define SCHEDFW_PLUGINS_SPREAD_COUNTS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "schedfw/cluster/row_changes.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/plugins/node_match.h"
#include "schedfw/plugins/tolerations.h"

namespace schedfw {

/// The pods that one spread constraint counts, by the ordinals of its topology key.
struct SpreadCount {
  /// Of a domain that no node takes part in. Counts may fall below zero: removing a pod takes away
  /// what was never counted when it is being deleted (filtering.go, updateWithPod).
  static constexpr std::int64_t kNoDomain = std::numeric_limits<std::int64_t>::min();

  /// What changes with the nodes only.
  struct Fixed {
    SpreadConstraint constraint;
    const LabelColumn* column = nullptr;
    std::shared_ptr<const PodMatcher> matcher;  ///< null: it counts no pod
    std::vector<std::uint8_t> eligible;         ///< by row: whether the node takes part
    std::uint32_t empty_value = 0;              ///< the domain of nodes without the key
    bool complete = false;                      ///< every node has the key
    bool by_host = false;                       ///< the key is kubernetes.io/hostname

    std::uint32_t Domain(Row row) const {
      const std::uint32_t ordinal = column->ordinals[row];
      return ordinal == 0 ? empty_value : ordinal;
    }
  };

  std::shared_ptr<const Fixed> fixed;
  Column<std::int64_t> counts;  ///< by ordinal, or kNoDomain; shared until changed
  std::int64_t least = 0;       ///< of all domains; with fewer than minDomains 0

  void FindLeast() {
    std::int64_t domains = 0;
    for (const std::int64_t count : counts.span()) domains += count != kNoDomain;
    enough_domains_ = domains >= fixed->constraint.min_domains;
    least = enough_domains_ ? LeastBut(counts.size()) : 0;
    changed_ = kNone;
  }
  /// Pods of a domain that exists come and go. What preemption tries on one node changes one
  /// domain, for which the least of the others is found once.
  void Change(std::uint32_t ordinal, std::int64_t delta) {
    counts.Mutable()[ordinal] += delta;
    if (!enough_domains_) return;
    if (changed_ == kNone) {
      changed_ = ordinal;
      least_of_others_ = LeastBut(ordinal);
    }
    if (changed_ == ordinal) {
      least = std::min(least_of_others_, counts[ordinal]);
    } else {
      changed_ = kSeveral;
      least = LeastBut(counts.size());
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::uint32_t kSeveral = 0xFFFFFFFE;

  std::int64_t LeastBut(std::size_t but) const {
    std::int64_t out = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (i != but && counts[i] != kNoDomain) out = std::min(out, counts[i]);
    }
    return out;
  }

  bool enough_domains_ = true;
  std::uint32_t changed_ = kNone;
  std::int64_t least_of_others_ = 0;
};

/// What the counts of a pod's constraints depend on, beside nodes and pods: equal keys, equal
/// counts.
struct SpreadKey {
  StringId ns = 0;
  /// Only nodes that have the keys of all constraints take part.
  bool require_all_keys = true;
  std::vector<SpreadConstraint> constraints;
  RequiredNodeAffinity affinity;             ///< empty when no constraint honours it
  std::vector<api::Toleration> tolerations;  ///< the same

  friend bool operator==(const SpreadKey&, const SpreadKey&) = default;
};

/// The counts of all constraints of one key. Kept up to date by what has changed on rows, so that
/// pods that differ in other things than their constraints share them too.
class SpreadCounts {
 public:
  explicit SpreadCounts(SpreadKey key) : key_(std::move(key)) {}

  const SpreadKey& key() const { return key_; }
  const std::vector<SpreadCount>& counts() const { return counts_; }

  /// Brings the counts to the state of a snapshot. O(nodes) the first time and after a change of
  /// the nodes, then O(changed rows + nodes / 64).
  void Update(const Snapshot& snapshot) {
    if (!changes_.Find(snapshot, changed_)) {
      Count(snapshot);
      return;
    }
    if (changed_.empty()) return;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      SpreadCount& count = counts_[i];
      if (count.fixed->matcher == nullptr) continue;
      const Column<std::int32_t> pods = snapshot.CountPods(count.fixed->matcher);
      std::vector<std::int32_t>& known = known_[i];
      std::vector<std::int64_t>* counts = nullptr;
      for (const Row row : changed_) {
        const std::int32_t delta = pods[row] - known[row];
        if (delta == 0) continue;
        known[row] = pods[row];
        if (count.fixed->eligible[row] == 0) continue;
        if (counts == nullptr) counts = &count.counts.Mutable();
        (*counts)[count.fixed->Domain(row)] += delta;
      }
      if (counts != nullptr) count.FindLeast();
    }
  }

 private:
  void Count(const Snapshot& snapshot) {
    const Row nodes = snapshot.size();
    std::vector<const LabelColumn*> columns;
    for (const SpreadConstraint& constraint : key_.constraints) {
      columns.push_back(&snapshot.Label(constraint.topology_key));
    }
    const RowAffinity affinity(key_.affinity, snapshot);
    const std::vector<std::uint8_t> untolerated =
        UntoleratedTaintSets(snapshot.dictionary(), key_.tolerations);
    const TaintSetId* taint_sets = snapshot.TaintSets();
    const auto takes_part = [&](const SpreadConstraint& constraint, Row row) {
      if (key_.require_all_keys) {
        for (const LabelColumn* column : columns) {
          if (column->ordinals[row] == 0) return false;
        }
      }
      if (constraint.honor_affinity && !affinity.Matches(row)) return false;
      return !constraint.honor_taints || untolerated.empty() || untolerated[taint_sets[row]] == 0;
    };
    const StringId hostname = snapshot.dictionary().Intern("kubernetes.io/hostname");
    counts_.clear();
    known_.clear();
    for (std::size_t i = 0; i < key_.constraints.size(); ++i) {
      auto fixed = std::make_shared<SpreadCount::Fixed>();
      fixed->constraint = key_.constraints[i];
      fixed->column = columns[i];
      fixed->matcher = Matcher(fixed->constraint.selector);
      fixed->empty_value = key_.require_all_keys ? 0 : columns[i]->OrdinalOf(0);
      fixed->complete = columns[i]->complete;
      fixed->by_host = fixed->constraint.topology_key == hostname;
      fixed->eligible.resize(nodes);
      SpreadCount& count = counts_.emplace_back();
      std::vector<std::int32_t>& known = known_.emplace_back();
      std::vector<std::int64_t>& counts = count.counts.Mutable();
      counts.assign(columns[i]->OrdinalCount(), SpreadCount::kNoDomain);
      Column<std::int32_t> pods;
      if (fixed->matcher != nullptr) {
        pods = snapshot.CountPods(fixed->matcher);
        known.assign(pods.data(), pods.data() + nodes);
      }
      const bool all_take_part =
          fixed->complete &&
          (!key_.require_all_keys ||
           std::all_of(columns.begin(), columns.end(),
                       [](const LabelColumn* column) { return column->complete; })) &&
          (!fixed->constraint.honor_affinity || affinity.Empty()) &&
          (!fixed->constraint.honor_taints || untolerated.empty());
      if (all_take_part) {  // then every value has a node that does
        std::fill(fixed->eligible.begin(), fixed->eligible.end(), std::uint8_t{1});
        std::fill(counts.begin() + 1, counts.end(), std::int64_t{0});
        const std::uint32_t* ordinals = columns[i]->ordinals.data();
        for (Row row = 0; row < known.size(); ++row) {
          if (known[row] != 0) counts[ordinals[row]] += known[row];  // most are 0
        }
      }
      for (Row row = 0; row < nodes && !all_take_part; ++row) {
        if (!takes_part(fixed->constraint, row)) continue;
        fixed->eligible[row] = 1;
        std::int64_t& sum = counts[fixed->Domain(row)];
        sum = std::max<std::int64_t>(sum, 0) + (known.empty() ? 0 : known[row]);
      }
      count.fixed = std::move(fixed);
      count.FindLeast();
    }
  }

  // An empty selector counts no existing pod, though it matches every pod: upstream's shortcut
  // (common.go, countPodsMatchSelector).
  std::shared_ptr<const PodMatcher> Matcher(const Selector& selector) const {
    if (selector.IsNothing() || selector.Empty()) return nullptr;
    return std::make_shared<const PodMatcher>(
        PodMatcher{.namespaces = {key_.ns}, .selector = selector, .terminating = false});
  }

  const SpreadKey key_;
  RowChanges changes_;
  std::vector<Row> changed_;
  std::vector<SpreadCount> counts_;               // by constraint
  std::vector<std::vector<std::int32_t>> known_;  // by constraint: pods by row, as counted
};

/// The counts of the keys that were asked for last. Not safe for concurrent use.
class SpreadCountsCache {
 public:
  /// The counts of a pod's constraints in this state. Valid until the next call.
  const SpreadCounts& Get(const Cycle& cycle, const std::vector<SpreadConstraint>& constraints,
                          bool require_all_keys) {
    const std::uint64_t hash = Hash(cycle.pod.ns(), require_all_keys, constraints);
    const auto honors = [&](bool SpreadConstraint::*policy) {
      return std::any_of(constraints.begin(), constraints.end(),
                         [&](const SpreadConstraint& c) { return c.*policy; });
    };
    const bool affinity = honors(&SpreadConstraint::honor_affinity);
    const bool taints = honors(&SpreadConstraint::honor_taints);
    static const RequiredNodeAffinity kNoAffinity;
    static const std::vector<api::Toleration> kNoTolerations;
    const auto& required = affinity ? cycle.plan().required_node_affinity : kNoAffinity;
    const auto& tolerations = taints ? cycle.pod.pod->spec.tolerations : kNoTolerations;
    ++clock_;
    for (Entry& entry : entries_) {
      const SpreadKey& key = entry.counts->key();
      if (entry.hash != hash || key.ns != cycle.pod.ns() ||
          key.require_all_keys != require_all_keys || key.constraints != constraints ||
          key.affinity != required || key.tolerations != tolerations) {
        continue;
      }
      entry.last_use = clock_;
      entry.counts->Update(cycle.snapshot);
      return *entry.counts;
    }
    const std::size_t most = std::clamp<std::size_t>(
        kMostRows / std::max<std::size_t>(cycle.snapshot.size(), 1), kLeastEntries, kMostEntries);
    while (entries_.size() >= most) {
      entries_.erase(
          std::min_element(entries_.begin(), entries_.end(),
                           [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; }));
    }
    auto counts = std::make_unique<SpreadCounts>(
        SpreadKey{cycle.pod.ns(), require_all_keys, constraints, required, tolerations});
    counts->Update(cycle.snapshot);
    entries_.push_back({hash, clock_, std::move(counts)});
    return *entries_.back().counts;
  }

 private:
  static constexpr std::size_t kLeastEntries = 16;
  static constexpr std::size_t kMostEntries = 256;
  static constexpr std::size_t kMostRows = std::size_t{1} << 23;

  struct Entry {
    std::uint64_t hash;
    std::uint64_t last_use;
    std::unique_ptr<SpreadCounts> counts;
  };

  static std::uint64_t Hash(StringId ns, bool require_all_keys,
                            const std::vector<SpreadConstraint>& constraints) {
    std::uint64_t out = std::uint64_t{ns} << 1 | (require_all_keys ? 1 : 0);
    const auto add = [&](std::uint64_t value) {
      out = (out ^ value) * 0x9E3779B97F4A7C15u;
      out ^= out >> 32;
    };
    for (const SpreadConstraint& constraint : constraints) {
      add(constraint.topology_key);
      for (const Requirement& requirement : constraint.selector.requirements()) {
        add(requirement.key);
        for (const StringId value : requirement.values) add(value);
      }
    }
    return out;
  }

  std::vector<Entry> entries_;
  std::uint64_t clock_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_SPREAD_COUNTS_H_
