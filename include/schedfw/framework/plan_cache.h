// PlanCache: what a cycle found out about the nodes, for the next pod of the same plan.
#ifndef SCHEDFW_FRAMEWORK_PLAN_CACHE_H_
#define SCHEDFW_FRAMEWORK_PLAN_CACHE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedfw/cluster/row_changes.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// What a cycle by groups decided.
struct CachedCycle {
  Row feasible = 0;        ///< how many nodes passed all filters
  Row row = 0;             ///< the best one; of several the one whose name sorts first
  std::int64_t score = 0;  ///< its total; 0 when it was the only one
  bool want_ties = false;  ///< in: fill `ties`
  std::vector<Row> ties;   ///< all rows with the highest total, in no particular order
};

/// The answers of the plugins for one plan, kept from cycle to cycle.
///
/// A node's answers fall into those that depend on the node alone (whether its filters pass, and
/// the sum of its final scores) and those that it shares with its group (see IncrementalPlugin). So
/// within a group the best node is the one with the highest sum, whatever the rest is, and a cycle
/// compares the best nodes of the groups: O(changed nodes × log nodes + groups) instead of
/// O(nodes). The result is that of the whole pipeline, since scores are whole numbers and
/// NormalizeScore sees every score that it would see.
class PlanCache {
 public:
  /// More groups than this, or than a share of the nodes, cost more than the whole pipeline.
  static constexpr std::uint32_t kMostGroups = 1024;

  struct Group {
    Row nodes = 0;  ///< that pass the filters of the node alone
  };

  explicit PlanCache(std::shared_ptr<const PodPlan> pod_plan) : plan(std::move(pod_plan)) {}

  const std::shared_ptr<const PodPlan> plan;
  RowChanges changes;
  std::uint64_t objects_id = 0;
  std::uint64_t last_use = 0;
  /// How each plugin took part when the answers were made.
  std::vector<std::uint8_t> signature;
  std::vector<GroupColumn> columns;
  std::size_t changing_columns = 0;  ///< the first ones, which plugins give anew in each cycle
  bool too_many_groups = false;

  /// Forgets all nodes. A group's key has `key_size` numbers.
  void Reset(const Snapshot& snapshot, std::size_t key_size) {
    key_size_ = key_size;
    rank_ = snapshot.NameRank().data();
    most_groups_ = std::min<std::uint32_t>(kMostGroups, std::max<Row>(snapshot.size() / 4, 64));
    group_of_.assign(snapshot.size(), kNone);
    sum_.assign(snapshot.size(), 0);
    groups_.clear();
    heaps_.clear();
    keys_.clear();
    slots_.assign(2048, kNone);
    too_many_groups = false;
    building_ = true;
  }
  /// Ends what Reset() began.
  void FinishBuilding() {
    building_ = false;
    for (std::vector<Candidate>& heap : heaps_) {
      heap.reserve(2 * heap.size() + kSpareCandidates);
      std::make_heap(heap.begin(), heap.end(), IsWorse);
    }
  }

  /// Takes a node's answers: it passes its own filters, its sum of final scores, and what tells its
  /// group. Amortised O(log nodes).
  void Pass(Row row, std::int64_t sum, const std::int64_t* key) {
    const std::uint32_t group = FindGroup(key);
    if (group == kNone) {
      too_many_groups = true;
      return;
    }
    if (group_of_[row] == group && sum_[row] == sum) return;
    Leave(row);
    group_of_[row] = group;
    sum_[row] = sum;
    ++groups_[group].nodes;
    std::vector<Candidate>& heap = heaps_[group];
    heap.push_back({sum, rank_[row], row});
    if (building_) return;
    std::push_heap(heap.begin(), heap.end(), IsWorse);
    if (heap.size() > 2 * std::size_t{groups_[group].nodes} + kSpareCandidates) Sweep(group);
  }
  /// The node doesn't pass its own filters.
  void Fail(Row row) {
    Leave(row);
    group_of_[row] = kNone;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(groups_.size()); }
  const Group& group(std::uint32_t i) const { return groups_[i]; }
  const std::int64_t* key(std::uint32_t i) const { return keys_.data() + i * key_size_; }
  /// The row with the highest sum in a group that has nodes; the first by name.
  Row Best(std::uint32_t group) {
    std::vector<Candidate>& heap = heaps_[group];
    while (!IsCurrent(heap.front(), group)) {
      std::pop_heap(heap.begin(), heap.end(), IsWorse);
      heap.pop_back();
    }
    return heap.front().row;
  }
  std::int64_t sum(Row row) const { return sum_[row]; }
  std::uint32_t rank(Row row) const { return rank_[row]; }
  /// All rows of a group with this sum. O(nodes of the group).
  void AddTies(std::uint32_t group, std::int64_t sum, std::vector<Row>& out) const {
    const std::size_t begin = out.size();
    for (const Candidate& candidate : heaps_[group]) {
      if (candidate.sum == sum && IsCurrent(candidate, group)) out.push_back(candidate.row);
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
    out.erase(std::unique(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end()), out.end());
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kSpareCandidates = 64;

  // A node as it was when it came to the group. It stays in the heap when it changes: what is no
  // longer so is dropped when it comes to the top.
  struct Candidate {
    std::int64_t sum;
    std::uint32_t rank;
    Row row;
  };
  static bool IsWorse(const Candidate& a, const Candidate& b) {
    return a.sum != b.sum ? a.sum < b.sum : a.rank > b.rank;
  }
  bool IsCurrent(const Candidate& candidate, std::uint32_t group) const {
    return group_of_[candidate.row] == group && sum_[candidate.row] == candidate.sum;
  }

  void Leave(Row row) {
    if (group_of_[row] != kNone) --groups_[group_of_[row]].nodes;
  }
  void Sweep(std::uint32_t group) {
    std::vector<Candidate>& heap = heaps_[group];
    std::erase_if(heap, [&](const Candidate& c) { return !IsCurrent(c, group); });
    // A node that left and came back as it was is in there twice.
    std::sort(heap.begin(), heap.end(),
              [](const Candidate& a, const Candidate& b) { return IsWorse(b, a); });
    heap.erase(std::unique(heap.begin(), heap.end(),
                           [](const Candidate& a, const Candidate& b) { return a.row == b.row; }),
               heap.end());
  }

  // The group with a key, made if it is new; kNone: there would be too many.
  std::uint32_t FindGroup(const std::int64_t* key) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < key_size_; ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(key[i])) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    for (std::size_t at = hash % slots_.size();; at = (at + 1) % slots_.size()) {
      const std::uint32_t group = slots_[at];
      if (group == kNone) {
        if (groups_.size() >= most_groups_) return kNone;
        slots_[at] = size();
        groups_.emplace_back();
        heaps_.emplace_back();
        keys_.insert(keys_.end(), key, key + key_size_);
        return size() - 1;
      }
      if (std::equal(key, key + key_size_, this->key(group))) return group;
    }
  }

  std::size_t key_size_ = 0;
  const std::uint32_t* rank_ = nullptr;
  std::uint32_t most_groups_ = 0;
  bool building_ = false;
  std::vector<std::uint32_t> group_of_;  // by row; kNone: its own filters fail
  std::vector<std::int64_t> sum_;        // by row
  std::vector<Group> groups_;
  std::vector<std::vector<Candidate>> heaps_;  // by group
  std::vector<std::int64_t> keys_;             // groups × key_size_
  std::vector<std::uint32_t> slots_;           // a hash table of groups
};

/// The caches of the plans that came up more than once, the least recently used making room.
class PlanCaches {
 public:
  /// The cache of a plan, or nullptr when it comes up for the first time in a while.
  PlanCache* Find(const std::shared_ptr<const PodPlan>& plan, Row nodes) {
    ++clock_;
    for (const auto& cache : caches_) {
      if (cache->plan != plan) continue;
      cache->last_use = clock_;
      return cache.get();
    }
    const PodPlan*& seen = seen_[reinterpret_cast<std::uintptr_t>(plan.get()) / 64 % seen_.size()];
    if (seen != plan.get()) {
      seen = plan.get();
      return nullptr;
    }
    const std::size_t most =
        std::clamp<std::size_t>(kMostRows / std::max<Row>(nodes, 1), kLeast, kMost);
    while (caches_.size() >= most) {
      caches_.erase(
          std::min_element(caches_.begin(), caches_.end(),
                           [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
    }
    caches_.push_back(std::make_unique<PlanCache>(plan));
    caches_.back()->last_use = clock_;
    return caches_.back().get();
  }

 private:
  static constexpr std::size_t kMostRows = std::size_t{1} << 21;
  static constexpr std::size_t kLeast = 8;
  static constexpr std::size_t kMost = 256;

  std::vector<std::unique_ptr<PlanCache>> caches_;
  std::array<const PodPlan*, 1024> seen_{};  // to compare with only
  std::uint64_t clock_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_PLAN_CACHE_H_
