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
#include "schedfw/cluster/pod_matcher.h"

namespace schedfw {

/// Counts of matching pods by node, for what spreading and inter-pod affinity ask about.
///
/// What a PodMatcher selects is counted once over all pods when it is first asked for; from then on
/// every pod that comes or goes changes one number. Counts by topology domain are sums of these
/// over a LabelColumn, since which nodes take part depends on the pod to be placed.
///
/// Copies (forks, snapshots) share columns until written. Reading is safe from any thread.
class PodCounts {
 public:
  PodCounts() = default;
  PodCounts(const PodCounts& other) {
    std::lock_guard lock(other.mutex_);
    trackers_ = other.trackers_;
    clock_ = other.clock_;
  }
  PodCounts(PodCounts&& other) noexcept
      : trackers_(std::move(other.trackers_)), clock_(other.clock_) {}
  PodCounts& operator=(PodCounts other) noexcept {
    trackers_ = std::move(other.trackers_);
    clock_ = other.clock_;
    return *this;
  }

  /// Matching pods, one count a row. O(pods) at the first call, then O(1) (O(matchers) for a
  /// matcher that was not used before under this pointer). The column is shared: it stays as it is
  /// while the cluster goes on, and the next change copies it if it is still held then.
  Column<std::int32_t> Count(const std::shared_ptr<const PodMatcher>& matcher,
                             const BlockColumn<std::vector<PodPtr>>& pods,
                             const Dictionary& dictionary) const {
    std::lock_guard lock(mutex_);
    for (Tracker& tracker : trackers_) {
      if (tracker.matcher == matcher) return tracker.Use(++clock_);
    }
    for (Tracker& tracker : trackers_) {
      if (*tracker.matcher != *matcher) continue;
      tracker.matcher = matcher;
      return tracker.Use(++clock_);
    }
    if (trackers_.size() >= std::max(kLeast, kMostCounts / std::max<std::size_t>(pods.size(), 1))) {
      trackers_.erase(std::min_element(
          trackers_.begin(), trackers_.end(),
          [](const Tracker& a, const Tracker& b) { return a.last_use < b.last_use; }));
    }
    Tracker& tracker = trackers_.emplace_back();
    tracker.matcher = matcher;
    std::vector<std::int32_t>& counts = tracker.counts.Mutable();
    counts.resize(pods.size());
    for (std::size_t row = 0; row < pods.size(); ++row) {
      for (const PodPtr& pod : pods[row]) counts[row] += tracker.Matches(*pod, dictionary);
    }
    return tracker.Use(++clock_);
  }

  /// A pod has come to (delta 1) or gone from (delta -1) a row. O(matchers).
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
  // More would cost memory, and every pod that comes or goes some nanoseconds; the least recently
  // used makes room, and is counted anew when it is asked for again.
  static constexpr std::size_t kLeast = 64;
  static constexpr std::size_t kMostCounts = std::size_t{1} << 23;

  struct Tracker {
    std::shared_ptr<const PodMatcher> matcher;
    Column<std::int32_t> counts;
    // What the selector says of a label set: 0 not asked yet, 1 no, 2 yes.
    std::vector<std::uint8_t> known;
    std::uint64_t last_use = 0;

    const Column<std::int32_t>& Use(std::uint64_t now) {
      last_use = now;
      return counts;
    }
    bool Matches(const PodInfo& pod, const Dictionary& dictionary) {
      if (pod.terminating() && !matcher->terminating) return false;
      if (!matcher->MatchesNamespace(pod.ns())) return false;
      if (known.size() <= pod.label_set()) known.resize(pod.label_set() + 1);
      std::uint8_t& answer = known[pod.label_set()];
      if (answer == 0) {
        const Labels& labels = dictionary.LabelsOf(pod.label_set());
        answer = matcher->selector.Matches(labels, dictionary) ? 2 : 1;
      }
      return answer == 2;
    }
  };

  mutable std::mutex mutex_;
  mutable std::vector<Tracker> trackers_;
  mutable std::uint64_t clock_ = 0;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_DOMAINS_H_
