// Host: what runs a scheduler, as its plugins see it between their calls.
#ifndef SCHEDFW_FRAMEWORK_HOST_H_
#define SCHEDFW_FRAMEWORK_HOST_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/api/pod_group.h"
#include "schedfw/base/clock.h"
#include "schedfw/cluster/snapshot.h"
#include "schedfw/framework/cycle_state.h"

namespace schedfw {

/// Which pods name a group by the label kPodGroupLabel, kept up to date by the host.
///
/// Groups are told apart by a number: that of their namespace and name in the cluster's dictionary.
class LabelGroups {
 public:
  struct Group {
    /// Its pods by PodInfo::Key(), on nodes or not, in the order in which they became known.
    std::vector<std::uint64_t> pods;
    /// When its object came, by the host's clock; nullopt: it was there from the start.
    std::optional<std::chrono::nanoseconds> came;
  };

  /// The group that a pod names, 0: none. O(labels of the pod).
  static std::uint64_t Of(const PodInfo& pod) {
    const Labels& labels = pod.labels();
    if (labels.empty()) return 0;
    const StringId key = pod.plan->dictionary->Intern(api::kPodGroupLabel);
    const auto it = std::lower_bound(labels.begin(), labels.end(), std::pair{key, StringId{0}});
    if (it == labels.end() || it->first != key || it->second == 0) return 0;
    return std::uint64_t{pod.ns()} << 32 | it->second;
  }
  static std::uint64_t IdOf(const api::ObjectMeta& metadata, Dictionary& dictionary) {
    return std::uint64_t{dictionary.Intern(metadata.ns)} << 32 | dictionary.Intern(metadata.name);
  }

  /// A group that pods name, or null.
  const Group* Find(std::uint64_t group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? nullptr : &found->second;
  }
  /// A number that grows when an object of a group comes or changes.
  std::uint64_t version() const { return version_; }

  /// A pod has come (`count` 1) or gone (-1).
  void Count(const PodInfo& pod, std::int32_t count) {
    const std::uint64_t group = count == 0 ? 0 : Of(pod);
    if (group == 0) return;
    std::vector<std::uint64_t>& pods = groups_[group].pods;
    if (count > 0) {
      pods.push_back(pod.Key());
    } else {
      std::erase(pods, pod.Key());
    }
  }
  void Clear() {
    groups_.clear();
    ++version_;
  }
  void ObjectCame(std::uint64_t group, bool is_new, std::chrono::nanoseconds now) {
    if (is_new) groups_[group].came = now;
    ++version_;
  }

 private:
  std::unordered_map<std::uint64_t, Group> groups_;  // look-ups only
  std::uint64_t version_ = 1;
};

/// What runs a scheduler: a cluster, its time, and pods that wait at Permit. Plugins reach it
/// through Handle::host, from calls of their own on the thread that makes them.
class Host {
 public:
  using WaitingPodFn = std::function<void(const PodInfo& pod, std::string_view node)>;

  virtual ~Host() = default;

  /// The cluster as it is now. With pods that are assumed on nodes, and until the next change.
  virtual const Snapshot& snapshot() const = 0;
  virtual const Clock& clock() const = 0;
  virtual const LabelGroups& label_groups() const = 0;

  /// The pods that wait at Permit, in the order in which they began to.
  virtual void ForEachWaitingPod(const WaitingPodFn& fn) const = 0;
  /// Whether a pod waits at Permit. O(log of those that do).
  virtual bool IsWaiting(std::uint64_t pod) const = 0;
  /// Ends the waiting of a pod for a plugin, by PodInfo::Key(); it is bound when it waits for no
  /// other. False: it doesn't wait for that plugin, or was rejected already.
  ///
  /// What follows from this and from RejectWaitingPod happens when the step that the call came from
  /// is over, pod after pod in the order in which they began to wait.
  virtual bool AllowWaitingPod(std::uint64_t pod, std::string_view plugin) = 0;
  /// Takes a pod back from Permit. False: it doesn't wait, or may be bound already.
  virtual bool RejectWaitingPod(std::uint64_t pod, std::string_view plugin,
                                const std::string& message) = 0;
  /// Has pods that wait in the queue tried at once, when the step is over.
  virtual void Activate(std::span<const std::uint64_t> pods) = 0;
  /// For QueueSort plugins: where these pods belong in the queue has changed, for all of them to
  /// the front or for all to the back.
  virtual void OrderChanged(std::span<const std::uint64_t> pods) = 0;
};

/// How plugins find their host, which comes after them and may go before them.
struct HostSlot {
  Host* host = nullptr;  ///< null: nothing runs the scheduler now
  /// What plugins keep between cycles, by type: shared by the profiles, new with each host.
  CycleState state;
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_HOST_H_
