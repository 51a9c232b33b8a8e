// PodCounts: how many pods on each node match a selector, kept as pods come and go.
#ifndef SCHEDFW_CLUSTER_DOMAINS_H_
#define SCHEDFW_CLUSTER_DOMAINS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "schedfw/cluster/cow.h"
#include "schedfw/cluster/pod_info.h"

namespace schedfw {

/// Counts of matching pods by node, for the selectors that spreading asks about.
///
/// A pair of namespace and selector is counted once over all pods when it is first asked for; from
/// then on every pod that comes or goes changes one number. Counts by topology domain are sums of
/// these over a LabelColumn, since which nodes take part depends on the pod to be placed. Pods that
/// are being deleted don't count (podtopologyspread/common.go, countPodsMatchSelector).
///
/// Copies (forks, snapshots) share columns until written. Reading is safe from any thread.
class PodCounts {
 public:
  PodCounts() = default;
  PodCounts(const PodCounts& other) : trackers_(other.Trackers()) {}
  PodCounts(PodCounts&& other) noexcept : trackers_(std::move(other.trackers_)) {}
  PodCounts& operator=(PodCounts other) noexcept {
    trackers_ = std::move(other.trackers_);
    return *this;
  }

  /// Matching pods in namespace `ns`, one count a row. O(pods) at the first call, then O(1). The
  /// column is shared, so it stays as it is while the cluster goes on.
  Column<std::int32_t> Count(StringId ns, const Selector& selector,
                             const BlockColumn<std::vector<PodPtr>>& pods,
                             const Dictionary& dictionary) const {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < trackers_.size(); ++i) {
      if (trackers_[i].ns == ns && *trackers_[i].selector == selector) {
        // Keep the ones in use at the front; the last one makes room.
        if (i != 0) std::swap(trackers_[i], trackers_[i - 1]);
        return trackers_[i == 0 ? 0 : i - 1].counts;
      }
    }
    if (trackers_.size() == kMost) trackers_.pop_back();
    Tracker& tracker = trackers_.emplace_back();
    tracker.ns = ns;
    tracker.selector = std::make_shared<const Selector>(selector);
    std::vector<std::int32_t>& counts = tracker.counts.Mutable();
    counts.resize(pods.size());
    for (std::size_t row = 0; row < pods.size(); ++row) {
      for (const PodPtr& pod : pods[row]) counts[row] += tracker.Matches(*pod, dictionary);
    }
    return tracker.counts;
  }

  /// A pod has come to (delta 1) or gone from (delta -1) a row. O(selectors of its namespace).
  void Change(const PodInfo& pod, std::size_t row, std::int32_t delta,
              const Dictionary& dictionary) {
    for (Tracker& tracker : trackers_) {
      if (tracker.Matches(pod, dictionary)) tracker.counts.Mutable()[row] += delta;
    }
  }
  /// A row without pods has been added at the end.
  void AddRow() {
    for (Tracker& tracker : trackers_) tracker.counts.PushBack(0);
  }
  /// The last row has moved to `row`, whose node is gone.
  void SwapRemoveRow(std::size_t row) {
    for (Tracker& tracker : trackers_) tracker.counts.SwapRemove(row);
  }

 private:
  // More would cost every pod that comes or goes; the least recently used is counted anew.
  static constexpr std::size_t kMost = 64;

  struct Tracker {
    StringId ns = 0;
    std::shared_ptr<const Selector> selector;
    Column<std::int32_t> counts;
    // By label set: 0 not asked yet, 1 no, 2 yes.
    std::vector<std::uint8_t> matches;

    bool Matches(const PodInfo& pod, const Dictionary& dictionary) {
      if (pod.ns != ns || pod.terminating) return false;
      if (matches.size() <= pod.label_set) matches.resize(pod.label_set + 1);
      std::uint8_t& known = matches[pod.label_set];
      if (known == 0) {
        known = selector->Matches(dictionary.LabelsOf(pod.label_set), dictionary) ? 2 : 1;
      }
      return known == 2;
    }
  };

  std::vector<Tracker> Trackers() const {
    std::lock_guard lock(mutex_);
    return trackers_;
  }

  mutable std::mutex mutex_;
  mutable std::vector<Tracker> trackers_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_DOMAINS_H_
