// Coscheduling: the pods of a group wait at Permit for each other.
#ifndef SCHEDFW_PLUGINS_COSCHEDULING_H_
#define SCHEDFW_PLUGINS_COSCHEDULING_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/framework/args.h"
#include "schedfw/framework/host.h"
#include "schedfw/framework/plugin.h"
#include "schedfw/framework/registry.h"

namespace schedfw {

struct CoschedulingArgs {
  std::int64_t permit_waiting_time_seconds = 60;
  std::int64_t pod_group_backoff_seconds = 0;
  std::int32_t pod_group_reject_percentage = 10;
};
template <typename V>
void Fields(V& v, CoschedulingArgs& args) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  v("permitWaitingTimeSeconds", args.permit_waiting_time_seconds,
    Arg{.help = "How long a pod waits for its group, where that doesn't say",
        .min = 0,
        .max = kMost});
  v("podGroupBackoffSeconds", args.pod_group_backoff_seconds,
    Arg{.help = "How long a group that was rejected is left alone", .min = 0, .max = kMost});
  v("podGroupRejectPercentage", args.pod_group_reject_percentage,
    Arg{.help = "A group that lacks more of its pods than this is rejected when one doesn't fit",
        .min = 0,
        .max = 100});
}

namespace internal {

/// The strings of a JSON list, or nullopt when the text is anything else. Escapes but those of
/// quotes, slashes and backslashes are none that a name could have.
inline std::optional<std::vector<std::string>> ParseNames(std::string_view text) {
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != text.npos) ++at;
  };
  const auto eat = [&](char c) {
    skip_blanks();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  std::vector<std::string> out;
  if (!eat('[')) return std::nullopt;
  if (!eat(']')) {
    do {
      if (!eat('"')) return std::nullopt;
      std::string name;
      for (; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') {
          ++at;
          if (at >= text.size() || std::string_view("\"\\/").find(text[at]) == text.npos) {
            return std::nullopt;
          }
        }
        name += text[at];
      }
      if (!eat('"')) return std::nullopt;
      out.push_back(std::move(name));
    } while (eat(','));
    if (!eat(']')) return std::nullopt;
  }
  skip_blanks();
  return at == text.size() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace internal

/// All pods of a PodGroup of scheduling.x-k8s.io or none: those that have a node wait at Permit
/// until minMember have one (sigs.k8s.io/scheduler-plugins, pkg/coscheduling).
///
/// Groups that name each other in the annotation gang.scheduling.koordinator.sh/groups (a JSON list
/// of "namespace/name") make up a set, which is bound or rejected as one; a list that can't be read
/// counts as none. Every other group is a set of its own.
///
/// Without a host (Handle::host) nothing ends the waiting of a pod: an incomplete set waits, and
/// nothing is rejected or activated.
class Coscheduling : public QueueSortPlugin,
                     public PreFilterPlugin,
                     public PostFilterPlugin,
                     public ReservePlugin,
                     public PermitPlugin,
                     public EnqueueExtensions,
                     public IncrementalPlugin,
                     public WaitingSetsPlugin {
 public:
  static constexpr std::string_view kName = "Coscheduling";
  static constexpr std::string_view kGroupsAnnotation = "gang.scheduling.koordinator.sh/groups";

  explicit Coscheduling(const CoschedulingArgs& args, const Handle& handle = {})
      : args_(args), slot_(handle.host) {}

  std::string_view Name() const override { return kName; }

  /// By priority, then by the time of the set, then by names, so that the pods of a set follow each
  /// other. The time of a set is when it failed last, else when its first group was created; that
  /// of other pods is when they were tried first.
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    const Group* group_a = GroupInQueue(*a.pod);
    const Group* group_b = GroupInQueue(*b.pod);
    const auto time = [](const Group* group, const QueuedPodInfo& pod) {
      return group == nullptr ? Time{kByClock, pod.initial_timestamp, 0} : group->set->time;
    };
    const Time time_a = time(group_a, a), time_b = time(group_b, b);
    if (time_a != time_b) return time_a < time_b;
    const auto names = [](const Group* group, const PodInfo& pod) {
      std::string name = pod.FullName();
      return group == nullptr ? std::tuple{name, std::string(), name}
                              : std::tuple{group->set->name, group->name, name};
    };
    return names(group_a, *a.pod) < names(group_b, *b.pod);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kAssignedPod, kAdd}, {}},
            {{EventResource::kUnscheduledPod, kAdd}, {}},
            {{EventResource::kCoschedulingPodGroup, kAdd | kUpdate}, {}}};
  }

  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult&) override {
    const std::uint64_t id = LabelGroups::Of(cycle.pod);
    if (id == 0) return {};
    State& state = Synced(cycle.snapshot);
    const Group* group = Find(state, id);
    if (group == nullptr) return {};
    if (const auto until = state.backed_off.find(id);
        until != state.backed_off.end() && Now() < until->second) {
      return Status::Unresolvable("podGroup " + group->name + " failed recently");
    }
    std::int64_t pods = 0, gated = 0;
    ForEachMember(cycle.snapshot, id, [&](const PodInfo& pod, bool pending) {
      ++pods;
      gated += pending && !pod.plan->pattern->spec.scheduling_gates.empty() ? 1 : 0;
    });
    const std::string pod = "pre-filter pod " + cycle.pod.pod->metadata.name;
    if (pods < group->min_member) {
      return Status::Unresolvable(
          pod + " cannot find enough sibling pods, current pods number: " + std::to_string(pods) +
          ", minMember of group: " + std::to_string(group->min_member));
    }
    if (pods - gated < group->min_member) {
      return Status::Unresolvable(pod + " cannot proceed due to gated pods in the same PodGroup");
    }
    if (group->min_resources.empty()) return {};
    if (const auto until = state.permitted.find(id);
        until != state.permitted.end() && Now() < until->second) {
      return {};
    }
    if (Status gap = CheckResources(cycle.snapshot, id, *group); !gap.ok()) return gap;
    state.permitted[id] = Now() + Seconds(args_.permit_waiting_time_seconds);
    return {};
  }

  /// One pod doesn't fit, so the others of its set are likely not to either: what waits of it is
  /// rejected, unless nearly all have a node.
  Status PostFilter(const Cycle& cycle, const Diagnosis&, const Framework&,
                    PostFilterResult&) override {
    const std::uint64_t id = LabelGroups::Of(cycle.pod);
    State& state = Synced(cycle.snapshot);
    const Group* group = id == 0 ? nullptr : Find(state, id);
    if (group == nullptr) return Status::Unschedulable("can not find pod group");
    Set& set = *group->set;
    std::int64_t lacking = 0, least = 0;
    for (const Group* member : set.groups) {
      lacking +=
          std::max<std::int64_t>(0, member->min_member - Assigned(cycle.snapshot, member->id));
      least += member->min_member;
    }
    // With as many as are needed, or nearly so, the pods that follow may complete it.
    if (lacking == 0 || lacking * 100 <= least * args_.pod_group_reject_percentage) {
      return Status(Code::kUnschedulable);
    }
    Reject(set, "optimistic rejection in PostFilter");
    if (args_.pod_group_backoff_seconds > 0) {
      for (const Group* member : set.groups) {
        if (CountPods(cycle.snapshot, member->id) < member->min_member) continue;
        state.backed_off[member->id] = Now() + Seconds(args_.pod_group_backoff_seconds);
      }
    }
    HasFailed(state, set);
    return Status::Unschedulable("PodGroup " + group->name + " gets rejected due to Pod " +
                                 cycle.pod.pod->metadata.name +
                                 " is unschedulable even after PostFilter");
  }

  Status Reserve(const Cycle&, CycleState&, const NodeInfo&) override { return {}; }
  /// A pod that was on its way is not bound after all: the others of its set don't go on waiting.
  void Unreserve(const Cycle& cycle, CycleState&, const NodeInfo&) noexcept override {
    if (host() == nullptr) return;
    const std::uint64_t id = LabelGroups::Of(cycle.pod);
    if (id == 0) return;
    State& state = Synced(cycle.snapshot);
    const Group* group = Find(state, id);
    if (group == nullptr) return;
    Reject(*group->set, "rejection in Unreserve");
    HasFailed(state, *group->set);
  }

  Status Permit(const Cycle& cycle, CycleState&, const NodeInfo&,
                std::chrono::nanoseconds& timeout) override {
    const std::uint64_t id = LabelGroups::Of(cycle.pod);
    if (id == 0) return {};
    State& state = Synced(cycle.snapshot);
    const Group* group = Find(state, id);
    if (group == nullptr) return Status::Unschedulable("PodGroup not found");
    Set& set = *group->set;
    if (IsComplete(cycle.snapshot, set)) {
      HasSucceeded(state, set);
      ForEachPodOf(set, [&](std::uint64_t pod) { host()->AllowWaitingPod(pod, kName); });
      return {};
    }
    timeout = Seconds(group->timeout_seconds.value_or(0) != 0 ? *group->timeout_seconds
                                                              : args_.permit_waiting_time_seconds);
    if (IsFirst(cycle.pod.Key(), id)) {
      // The others needn't wait any longer for what they were rejected for.
      std::vector<std::uint64_t> siblings;
      ForEachPodOf(set, [&](std::uint64_t pod) {
        if (pod != cycle.pod.Key() && cycle.snapshot.IsPending(pod)) siblings.push_back(pod);
      });
      if (!siblings.empty()) host()->Activate(siblings);
    }
    return Status(Code::kWait, std::to_string(Assigned(cycle.snapshot, id)) + " of " +
                                   std::to_string(group->min_member) + " pods of PodGroup " +
                                   group->name + " have a node");
  }

  /// Of several sets that wait, the first in the queue's order goes on and the others are rejected.
  /// Where that didn't help it, because something else is in its way, the next one goes on.
  bool ResolveDeadlock(std::uint64_t version) override {
    if (host() == nullptr) return false;
    const Snapshot& snapshot = host()->snapshot();
    State& state = Synced(snapshot);
    std::vector<std::pair<Set*, std::int64_t>> waiting;  // with the highest of their priorities
    host()->ForEachWaitingPod([&](const PodInfo& pod, std::string_view) {
      const std::uint64_t id = LabelGroups::Of(pod);
      const Group* group = id == 0 ? nullptr : Find(state, id);
      if (group == nullptr) return;
      const auto found = std::find_if(waiting.begin(), waiting.end(),
                                      [&](const auto& entry) { return entry.first == group->set; });
      if (found == waiting.end()) {
        waiting.emplace_back(group->set, pod.priority());
      } else {
        found->second = std::max<std::int64_t>(found->second, pod.priority());
      }
    });
    std::erase_if(waiting, [&](const auto& entry) { return IsComplete(snapshot, *entry.first); });
    if (waiting.size() < 2) return false;
    const auto rank = [](const auto& entry) {
      return std::tuple(-entry.second, entry.first->time, entry.first->name);
    };
    const std::pair<Set*, std::int64_t>* kept = nullptr;
    for (const auto& entry : waiting) {
      const auto before = state.kept.find(entry.first->name);
      if (before != state.kept.end() && before->second == version) continue;
      if (kept == nullptr || rank(entry) < rank(*kept)) kept = &entry;
    }
    if (kept == nullptr) return false;
    state.kept[kept->first->name] = version;
    bool any = false;
    for (const auto& [set, priority] : waiting) {
      if (set == kept->first) continue;
      any =
          Reject(*set, "rejected so that PodGroup " + kept->first->name + " gets its nodes") || any;
      HasFailed(state, *set);
    }
    return any;
  }

 private:
  // A place in time: what was there at the start comes before all that the clock has seen since,
  // in order of creation; of what fails at one moment the later failure comes later.
  using Time = std::tuple<int, std::int64_t, std::uint64_t>;
  static constexpr int kAtStart = 0;
  static constexpr int kByClock = 1;

  struct Set;
  struct Group {
    std::uint64_t id = 0;
    std::string name;  // "namespace/name"
    std::int64_t min_member = 1;
    std::optional<std::int32_t> timeout_seconds;
    api::ResourceList min_resources;
    Time created;
    Set* set = nullptr;
  };
  struct Set {
    std::vector<const Group*> groups;
    std::string name;   // of its first group by name
    bool whole = true;  // all groups that it names have an object
    Time time;
  };
  using Groups = std::unordered_map<std::uint64_t, Group>;  // look-ups only

  // What the cluster doesn't say of groups, by their numbers, and what it says, ready for use.
  struct State {
    std::unordered_map<std::uint64_t, Time> last_failed;  // look-ups only, as the others
    std::unordered_map<std::uint64_t, std::chrono::nanoseconds> permitted;   // until when
    std::unordered_map<std::uint64_t, std::chrono::nanoseconds> backed_off;  // the same
    std::unordered_map<std::string, std::uint64_t> kept;  // set → in which version
    std::uint64_t failures = 0;

    std::uint64_t version = 0;  // of the objects; 0: nothing was read yet
    std::shared_ptr<Groups> groups;
    std::shared_ptr<std::vector<std::unique_ptr<Set>>> sets;
  };

  Host* host() const { return slot_ ? slot_->host : nullptr; }
  std::chrono::nanoseconds Now() const {
    return host() == nullptr ? std::chrono::nanoseconds(0) : host()->clock().Now();
  }
  // Beyond what the nanoseconds can hold it is for ever.
  static std::chrono::nanoseconds Seconds(std::int64_t seconds) {
    constexpr std::int64_t kForEver = 1'000'000'000;
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kForEver));
  }

  static const Group* Find(const State& state, std::uint64_t id) {
    const auto found = state.groups->find(id);
    return found == state.groups->end() ? nullptr : &found->second;
  }
  const Group* GroupInQueue(const PodInfo& pod) const {
    if (host() == nullptr) return nullptr;
    const std::uint64_t id = LabelGroups::Of(pod);
    return id == 0 ? nullptr : Find(Synced(host()->snapshot()), id);
  }

  // The state, with the groups as they are now. Without a host nothing is kept between calls.
  State& Synced(const Snapshot& snapshot) const {
    if (host() == nullptr) {
      own_state_ = State();
      Read(snapshot, own_state_);
      return own_state_;
    }
    State* state = slot_->state.Find<State>();
    if (state == nullptr) state = &slot_->state.Emplace<State>();
    const std::uint64_t version = host()->label_groups().version();
    if (state->version != version) {
      Read(host()->snapshot(), *state);
      state->version = version;
    }
    return *state;
  }

  void Read(const Snapshot& snapshot, State& state) const {
    Dictionary& dictionary = snapshot.dictionary();
    const auto& objects = snapshot.objects().coscheduling_pod_groups;
    auto groups = std::make_shared<Groups>();
    std::map<std::string, std::size_t> place_of;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      place_of.emplace(objects[i].metadata.ns + "/" + objects[i].metadata.name, i);
    }
    // Groups that name each other, directly or not, have one root.
    std::vector<std::size_t> root(objects.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    std::vector<bool> whole(objects.size(), true);
    const auto find_root = [&](std::size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const std::string* list = api::Find(objects[i].metadata.annotations, kGroupsAnnotation);
      const auto names = list == nullptr ? std::nullopt : internal::ParseNames(*list);
      if (!names) continue;
      for (const std::string& name : *names) {
        if (const auto other = place_of.find(name); other == place_of.end()) {
          whole[i] = false;
        } else {
          const std::size_t a = find_root(i), b = find_root(other->second);
          root[std::max(a, b)] = std::min(a, b);
        }
      }
    }
    auto sets = std::make_shared<std::vector<std::unique_ptr<Set>>>();
    std::map<std::size_t, Set*> set_of;  // by root
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const api::CoschedulingPodGroup& object = objects[i];
      const std::uint64_t id = LabelGroups::IdOf(object.metadata, dictionary);
      Group& group = (*groups)[id];
      group.id = id;
      group.name = object.metadata.ns + "/" + object.metadata.name;
      group.min_member = std::max<std::int64_t>(1, object.min_member);
      group.timeout_seconds = object.schedule_timeout_seconds;
      group.min_resources = object.min_resources;
      const LabelGroups::Group* known =
          host() == nullptr ? nullptr : host()->label_groups().Find(id);
      group.created = known != nullptr && known->came
                          ? Time{kByClock, known->came->count(), 0}
                          : Time{kAtStart,
                                 object.metadata.creation_timestamp_ns.value_or(
                                     std::numeric_limits<std::int64_t>::min()),
                                 0};
      Set*& set = set_of[find_root(i)];
      if (set == nullptr) set = sets->emplace_back(std::make_unique<Set>()).get();
      group.set = set;
      set->groups.push_back(&group);  // elements of the map stay where they are
      set->whole = set->whole && whole[i];
      if (set->name.empty() || group.name < set->name) set->name = group.name;
    }
    state.groups = std::move(groups);
    state.sets = std::move(sets);
    for (const auto& set : *state.sets) SetTime(state, *set);
  }

  static void SetTime(const State& state, Set& set) {
    std::optional<Time> failed;
    set.time = set.groups.front()->created;
    for (const Group* group : set.groups) {
      set.time = std::min(set.time, group->created);
      const auto found = state.last_failed.find(group->id);
      if (found != state.last_failed.end())
        failed = std::max(failed.value_or(found->second), found->second);
    }
    if (failed) set.time = *failed;
  }
  void HasFailed(State& state, Set& set) const {
    const Time time{kByClock, Now().count(), ++state.failures};
    for (const Group* group : set.groups) {
      state.permitted.erase(group->id);
      state.last_failed[group->id] = time;
    }
    Reorder(state, set);
  }
  void HasSucceeded(State& state, Set& set) const {
    bool failed = false;
    for (const Group* group : set.groups) failed = state.last_failed.erase(group->id) > 0 || failed;
    if (failed) Reorder(state, set);
  }
  void Reorder(const State& state, Set& set) const {
    SetTime(state, set);
    if (host() == nullptr) return;
    std::vector<std::uint64_t> pods;
    ForEachPodOf(set, [&](std::uint64_t pod) { pods.push_back(pod); });
    host()->OrderChanged(pods);
  }

  // Calls fn(key) for all pods of a set, when there is a host.
  template <typename F>
  void ForEachPodOf(const Set& set, F&& fn) const {
    if (host() == nullptr) return;
    for (const Group* group : set.groups) {
      const LabelGroups::Group* known = host()->label_groups().Find(group->id);
      if (known == nullptr) continue;
      for (const std::uint64_t pod : known->pods) fn(pod);
    }
  }
  // Calls fn(pod, pending) for the pods of a group.
  template <typename F>
  void ForEachMember(const Snapshot& snapshot, std::uint64_t id, F&& fn) const {
    if (host() != nullptr) {
      const LabelGroups::Group* known = host()->label_groups().Find(id);
      if (known == nullptr) return;
      for (const std::uint64_t key : known->pods) {
        if (const PodPtr pod = snapshot.FindPod(key)) fn(*pod, snapshot.IsPending(key));
      }
      return;
    }
    for (const PodPtr& pod : snapshot.Pending()) {
      if (LabelGroups::Of(*pod) == id) fn(*pod, true);
    }
    for (Row row = 0; row < snapshot.size(); ++row) {
      for (const PodPtr& pod : snapshot.pods(row)) {
        if (LabelGroups::Of(*pod) == id) fn(*pod, false);
      }
    }
  }
  std::int64_t CountPods(const Snapshot& snapshot, std::uint64_t id) const {
    std::int64_t out = 0;
    ForEachMember(snapshot, id, [&](const PodInfo&, bool) { ++out; });
    return out;
  }
  // How many pods of a group have a node: bound, waiting at Permit, or just now on their way there.
  std::int64_t Assigned(const Snapshot& snapshot, std::uint64_t id) const {
    std::int64_t out = 0;
    if (host() != nullptr) {
      const LabelGroups::Group* known = host()->label_groups().Find(id);
      if (known == nullptr) return 0;
      for (const std::uint64_t pod : known->pods) out += snapshot.IsPending(pod) ? 0 : 1;
      return out;
    }
    ForEachMember(snapshot, id, [&](const PodInfo&, bool pending) { out += pending ? 0 : 1; });
    return out;
  }
  // Whether no other pod of the group waits already. (Upstream asks whether no other has a node,
  // so that a group of which some are bound is never activated.)
  bool IsFirst(std::uint64_t pod, std::uint64_t id) const {
    const LabelGroups::Group* known = host() == nullptr ? nullptr : host()->label_groups().Find(id);
    return known != nullptr &&
           std::none_of(known->pods.begin(), known->pods.end(), [&](std::uint64_t other) {
             return other != pod && host()->IsWaiting(other);
           });
  }
  bool IsComplete(const Snapshot& snapshot, const Set& set) const {
    return set.whole && std::all_of(set.groups.begin(), set.groups.end(), [&](const Group* group) {
             return Assigned(snapshot, group->id) >= group->min_member;
           });
  }

  // Rejects what waits of a set; false: nothing does.
  bool Reject(const Set& set, const std::string& message) const {
    bool any = false;
    ForEachPodOf(set, [&](std::uint64_t pod) {
      any = host()->RejectWaitingPod(pod, kName, message) || any;
    });
    return any;
  }

  // Whether the nodes together have room for minResources when the group's own pods are gone
  // (core.go, CheckClusterResource). O(nodes + pods of the group).
  Status CheckResources(const Snapshot& snapshot, std::uint64_t id, const Group& group) const {
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;
    Dictionary& dictionary = snapshot.dictionary();
    std::map<std::string, std::pair<ResourceId, std::int64_t>> lacking;
    for (const auto& [name, quantity] : group.min_resources) {
      const ResourceId resource = dictionary.Resource(name);
      lacking[name] = {resource, std::min(kHuge, ColumnValue(resource, quantity).value_or(kHuge))};
    }
    lacking["pods"] = {kPods, group.min_member};
    std::map<Row, std::vector<PodPtr>> own;
    ForEachMember(snapshot, id, [&](const PodInfo& pod, bool pending) {
      if (pending) return;
      const api::Pod& object = *pod.pod;
      if (const auto row = snapshot.RowOf(object.metadata.ns, object.metadata.name)) {
        own[*row].push_back(snapshot.FindPod(pod.Key()));
      }
    });
    for (Row row = 0; row < snapshot.size() && !lacking.empty(); ++row) {
      const auto here = own.find(row);
      for (auto it = lacking.begin(); it != lacking.end();) {
        auto& [resource, amount] = it->second;
        std::int64_t left =
            snapshot.Allocatable(resource)[row] -
            (resource == kPods ? snapshot.PodCount()[row] : snapshot.Requested(resource)[row]);
        if (here != own.end()) {
          for (const PodPtr& pod : here->second) {
            if (resource == kPods) ++left;
            for (const ResourceAmount& taken : pod->plan->taken) {
              if (taken.resource == resource) left += taken.amount;
            }
          }
        }
        amount -= left;
        it = amount <= 0 ? lacking.erase(it) : std::next(it);
      }
    }
    if (lacking.empty()) return {};
    std::string text;
    for (const auto& [name, entry] : lacking) {
      const Quantity amount = entry.first == kCpu ? Quantity::FromMilli(entry.second)
                                                  : Quantity::FromUnits(entry.second);
      text += (text.empty() ? "" : ", ") + name + " " + amount.ToString();
    }
    return Status::Unresolvable("resource gap: " + text);
  }

  const CoschedulingArgs args_;
  const std::shared_ptr<HostSlot> slot_;
  mutable State own_state_;  // without a host
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_COSCHEDULING_H_
