// NetworkTopologyAffinity: the pods of a group under as few switches as they fit under.
#ifndef SCHEDFW_PLUGINS_NETWORK_TOPOLOGY_AFFINITY_H_
#define SCHEDFW_PLUGINS_NETWORK_TOPOLOGY_AFFINITY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/cluster/row_changes.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/host.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

struct NetworkTopologyAffinityArgs {
  std::vector<std::string> levels = {
      "topology.kubernetes.io/region",     "topology.kubernetes.io/zone",
      "network.topology.nvidia.com/core",  "network.topology.nvidia.com/spine",
      "network.topology.nvidia.com/leaf",  "network.topology.nvidia.com/accelerator",
      "nvidia.com/gpu.clique",
  };
};
template <typename V>
void Fields(V& v, NetworkTopologyAffinityArgs& args) {
  v("levels", args.levels,
    Arg{.help = "Labels of nodes that say where in the network they are, the widest level first; "
                "those that no node has don't count"});
}
inline Result<void> Validate(const NetworkTopologyAffinityArgs& args) {
  if (args.levels.empty()) return ConfigError("levels: must have one element or more");
  for (std::size_t i = 0; i < args.levels.size(); ++i) {
    const std::string path = "levels[" + std::to_string(i) + "]";
    if (!api::IsQualifiedName(args.levels[i])) {
      return ConfigError(path + ": \"" + args.levels[i] + "\" is not a label name");
    }
    if (std::find(args.levels.begin(), args.levels.begin() + static_cast<std::ptrdiff_t>(i),
                  args.levels[i]) != args.levels.begin() + static_cast<std::ptrdiff_t>(i)) {
      return ConfigError(path + ": " + args.levels[i] + " is there twice");
    }
  }
  return {};
}

/// Packs the pods of a PodGroup (of either kind) into the fewest domains of a network: racks, leaf
/// and spine switches, fabrics, zones, by labels of nodes.
///
/// Each pod of a group has a path, from the widest level to the narrowest, chosen domain by domain
/// inside of the one before: where pods of the group are already, if one more fits there; else of
/// the domains that the rest of the group fits into the one that needs the fewest domains of the
/// narrowest level, then the one with the least room; else the one with the most room; of equal
/// ones the first by name. A node scores 100 × the share of levels at which it is on the path. The
/// room is counted by requests and free GPUs, whatever else may keep a pod away. The rest of a
/// group is what its minimum lacks. Pods without a group aren't looked at.
///
/// A cycle costs O(changed nodes × requests + domains log domains).
class NetworkTopologyAffinity : public PreScorePlugin,
                                public BatchScorePlugin,
                                public IncrementalPlugin {
 public:
  static constexpr std::string_view kName = "NetworkTopologyAffinity";

  explicit NetworkTopologyAffinity(NetworkTopologyAffinityArgs args) : args_(std::move(args)) {}

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    const Group group = GroupOf(cycle.pod);
    if (group.id == 0) return Status::Skip();
    const Snapshot& snapshot = cycle.snapshot;
    BuildTree(snapshot);
    if (level_count_ == 0) return Status::Skip();
    CountRoom(snapshot, cycle.pod, group);
    FindPath(std::max<std::int64_t>(1, LeastMembers(snapshot, cycle.pod, group) -
                                           domains_.front().members));
    return {};
  }
  Status ScoreNodes(const Cycle&, Rows rows, std::int64_t* out) const override {
    for (Row i = 0; i < rows.size(); ++i) out[i] = domains_[domain_of_[rows[i]]].score;
    return {};
  }

  Dependence ScoreDependence(const Cycle& cycle) const override {
    return GroupOf(cycle.pod).id == 0 ? Dependence::kRow : Dependence::kDomain;
  }
  void AddScoreColumns(const Cycle& cycle, std::vector<GroupColumn>& out) const override {
    for (const std::string& level : args_.levels) {
      const LabelColumn& column = cycle.snapshot.Label(cycle.snapshot.dictionary().Intern(level));
      if (!column.values.empty()) out.push_back({&column, nullptr, nullptr});
    }
  }

 private:
  struct Group {
    std::uint64_t id = 0;   // 0: none
    bool by_label = false;  // of scheduling.x-k8s.io
    friend bool operator==(const Group&, const Group&) = default;
  };
  // A part of the network, inside of its parent. The first is the whole.
  struct Domain {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;    // how many levels it is below the whole
    StringId value = 0;
    bool labelled = true;       // false: its nodes lack the label
    std::vector<std::uint32_t> children;
    std::int64_t room = 0;      // how many pods like this one fit
    std::int64_t members = 0;   // how many of the group are there
    std::int64_t score = 0;
  };

  static Group GroupOf(const PodInfo& pod) {
    if (const std::uint64_t key = pod.GroupKey()) return {key, false};
    return {LabelGroups::Of(pod), true};
  }
  static std::int64_t LeastMembers(const Snapshot& snapshot, const PodInfo& pod, Group group) {
    const auto name = std::string(snapshot.dictionary().Text(static_cast<StringId>(group.id)));
    const std::string& ns = pod.plan->pattern->metadata.ns;
    const ObjectStore& objects = snapshot.objects();
    if (group.by_label) {
      const auto* found = ObjectStore::Find(objects.coscheduling_pod_groups, ns, name);
      return found == nullptr ? 1 : found->min_member;
    }
    const auto* found = ObjectStore::Find(objects.pod_groups, ns, name);
    return found == nullptr || !found->gang ? 1 : found->min_count;
  }

  void BuildTree(const Snapshot& snapshot) {
    if (nodes_id_ == snapshot.nodes_id()) return;
    nodes_id_ = snapshot.nodes_id();
    std::vector<const LabelColumn*> levels;
    for (const std::string& level : args_.levels) {
      const LabelColumn& column = snapshot.Label(snapshot.dictionary().Intern(level));
      if (!column.values.empty()) levels.push_back(&column);
    }
    level_count_ = static_cast<std::int64_t>(levels.size());
    domains_.assign(1, Domain());
    domain_of_.assign(snapshot.size(), 0);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    for (const LabelColumn* level : levels) {
      for (Row row = 0; row < snapshot.size(); ++row) {
        const std::uint32_t parent = domain_of_[row];
        const std::uint32_t ordinal = level->ordinals[row];
        const auto [it, inserted] =
            known.try_emplace({parent, ordinal}, static_cast<std::uint32_t>(domains_.size()));
        domain_of_[row] = it->second;
        if (!inserted) continue;
        domains_[parent].children.push_back(it->second);
        Domain& domain = domains_.emplace_back();
        domain.parent = parent;
        domain.depth = domains_[parent].depth + 1;
        domain.labelled = ordinal != 0;
        if (ordinal != 0) domain.value = level->values[ordinal - 1];
      }
    }
    // From here on equal ones are told apart by their place.
    for (Domain& domain : domains_) {
      const auto name = [&](std::uint32_t child) {
        return std::pair(!domains_[child].labelled,
                         snapshot.dictionary().Text(domains_[child].value));
      };
      std::sort(domain.children.begin(), domain.children.end(),
                [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
    }
    changes_.Forget();
  }

  // How many pods like this one fit on a node beside those that are there.
  static std::int64_t RoomOn(const Snapshot& snapshot, const PodPlan& plan, Row row) {
    std::int64_t out = snapshot.Allocatable(kPods)[row] - snapshot.PodCount()[row];
    for (const ResourceAmount& request : plan.requests) {
      const std::int64_t left = snapshot.Allocatable(request.resource)[row] -
                                snapshot.Requested(request.resource)[row];
      out = std::min(out, left / request.amount);
    }
    if (plan.gpus.count > 0 && snapshot.Gpus() != nullptr) {
      std::int64_t gpus = 0;
      for (const std::int16_t left : snapshot.Gpus()[row].left) gpus += left / plan.gpus.milli;
      out = std::min(out, gpus / plan.gpus.count);
    }
    return std::max<std::int64_t>(out, 0);
  }
  static std::int64_t MembersOn(const Snapshot& snapshot, Group group, Row row) {
    const std::vector<PodPtr>& pods = snapshot.pods(row);
    return std::count_if(pods.begin(), pods.end(),
                         [&](const PodPtr& pod) { return GroupOf(*pod) == group; });
  }

  void CountRoom(const Snapshot& snapshot, const PodInfo& pod, Group group) {
    const bool same = plan_ == pod.plan && group_ == group;
    if (!same) changes_.Forget();
    plan_ = pod.plan;
    group_ = group;
    const auto update = [&](Row row, std::int64_t room, std::int64_t members) {
      const std::int64_t more_room = room - room_[row];
      const std::int64_t more_members = members - members_[row];
      room_[row] = room;
      members_[row] = members;
      if (more_room == 0 && more_members == 0) return;
      for (std::uint32_t at = domain_of_[row];; at = domains_[at].parent) {
        domains_[at].room += more_room;
        domains_[at].members += more_members;
        if (at == 0) break;
      }
    };
    if (changes_.Find(snapshot, changed_)) {
      for (const Row row : changed_) {
        update(row, RoomOn(snapshot, *plan_, row), MembersOn(snapshot, group, row));
      }
      return;
    }
    for (Domain& domain : domains_) domain.room = domain.members = 0;
    room_.assign(snapshot.size(), 0);
    members_.assign(snapshot.size(), 0);
    for (Row row = 0; row < snapshot.size(); ++row) {
      update(row, RoomOn(snapshot, *plan_, row), MembersOn(snapshot, group, row));
    }
  }

  // Into how many domains of the narrowest level so many pods go at least.
  std::int64_t FewestParts(std::uint32_t domain, std::int64_t pods) {
    parts_.clear();
    AddParts(domain);
    std::sort(parts_.begin(), parts_.end(), std::greater<>());
    std::int64_t out = 0;
    for (std::size_t i = 0; i < parts_.size() && pods > 0; ++i, ++out) pods -= parts_[i];
    return out;
  }
  void AddParts(std::uint32_t domain) {
    const Domain& at = domains_[domain];
    if (at.children.empty()) {
      parts_.push_back(at.room);
    } else {
      for (const std::uint32_t child : at.children) AddParts(child);
    }
  }

  // `rest`: how many more pods the group needs, this one among them.
  void FindPath(std::int64_t rest) {
    std::vector<std::uint32_t>& path = path_;
    path.assign(1, 0);
    while (!domains_[path.back()].children.empty()) {
      // The less, the better; see the class.
      using Key = std::tuple<bool, bool, std::int64_t, bool, std::int64_t, std::int64_t>;
      Key best_key{};
      std::uint32_t best = 0;
      for (const std::uint32_t child : domains_[path.back()].children) {
        const Domain& domain = domains_[child];
        if (domain.room == 0) continue;
        const bool fits = domain.room >= rest;
        Key key{!domain.labelled,
                domain.members == 0,
                -domain.members,
                !fits,
                domain.members == 0 && fits ? FewestParts(child, rest) : 0,
                fits ? domain.room : -domain.room};
        if (best != 0 && !(key < best_key)) continue;
        best = child;
        best_key = key;
      }
      if (best == 0) break;
      path.push_back(best);
    }
    // A domain's score by how far its way from the whole is that of the path.
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      Domain& domain = domains_[i];
      const bool on_path = domain.depth < path.size() && path[domain.depth] == i;
      domain.score = on_path && domain.labelled ? kMaxNodeScore * domain.depth / level_count_
                                                : domains_[domain.parent].score;
    }
  }

  const NetworkTopologyAffinityArgs args_;
  // What follows is changed in PreScore alone. Of the nodes of the last cycle:
  std::uint64_t nodes_id_ = 0;
  std::int64_t level_count_ = 0;  // of those that some node has
  std::vector<Domain> domains_;  // parents before children
  std::vector<std::uint32_t> domain_of_;
  // Of the last pod's plan and group:
  std::shared_ptr<const PodPlan> plan_;
  Group group_;
  RowChanges changes_;
  std::vector<std::int64_t> room_, members_;  // by row
  std::vector<Row> changed_;
  std::vector<std::int64_t> parts_;
  std::vector<std::uint32_t> path_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NETWORK_TOPOLOGY_AFFINITY_H_
