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

#include "schedfw/base/simd.h"
#include "schedfw/cluster/row_changes.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/host.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

struct NetworkTopologyAffinityArgs {
  std::vector<std::string> levels = {
      "topology.kubernetes.io/region",
      "topology.kubernetes.io/zone",
      "network.topology.nvidia.com/core",
      "network.topology.nvidia.com/spine",
      "network.topology.nvidia.com/leaf",
      "network.topology.nvidia.com/accelerator",
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
/// A cycle costs O(changed nodes × requests + domains log domains); all nodes have changed for a
/// pod of another kind, and their pods are counted for one of another group.
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
    FindPath(std::max<std::int64_t>(
        1, LeastMembers(snapshot, cycle.pod, group) - domains_.front().members));
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
    std::uint32_t depth = 0;  // how many levels it is below the whole
    StringId value = 0;
    bool labelled = true;  // false: its nodes lack the label
    std::vector<std::uint32_t> children;
    std::int64_t room = 0;     // how many pods like this one fit
    std::int64_t members = 0;  // how many of the group are there
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
    room_changes_.Forget();
    member_changes_.Forget();
  }

  // How many pods like this one fit on each of some rows beside those that are there; at most
  // 2^52 − 1. Quotients are those of whole numbers as long as these are below 2^53.
  static void FindRoom(const Snapshot& snapshot, const PodPlan& plan, RowRange rows, double* out) {
    const Row n = rows.size();
    constexpr auto kCap = [](const std::int64_t* allocatable, const auto* taken, Row count,
                             double amount, double* __restrict room) SCHEDFW_SIMD_LOOP {
      for (Row i = 0; i < count; ++i) {
        constexpr std::int64_t kMost = (std::int64_t{1} << 52) - 1;
        std::int64_t left = allocatable[i] - taken[i];
        left = left < 0 ? 0 : left;
        left = left > kMost ? kMost : left;
        const double fits = __builtin_floor(simd::ToDouble(left) / amount);
        room[i] = fits < room[i] ? fits : room[i];
      }
    };
    std::fill_n(out, n, 0x1p52 - 1);
    RunSimd(kCap, snapshot.Allocatable(kPods) + rows.begin, snapshot.PodCount() + rows.begin, n,
            1.0, out);
    for (const ResourceAmount& request : plan.requests) {
      RunSimd(kCap, snapshot.Allocatable(request.resource) + rows.begin,
              snapshot.Requested(request.resource) + rows.begin, n,
              static_cast<double>(request.amount), out);
    }
    if (plan.gpus.count == 0 || snapshot.Gpus() == nullptr) return;
    if (!plan.gpus.IsShare()) {
      RunSimd(
          [](const FreeGpus* free, Row count, double gpus, double* __restrict room)
              SCHEDFW_SIMD_LOOP {
                for (Row i = 0; i < count; ++i) {
                  std::uint32_t bits = free[i].mask;  // counted in pairs, fours, …
                  bits = bits - (bits >> 1 & 0x5555U);
                  bits = (bits & 0x3333U) + (bits >> 2 & 0x3333U);
                  bits = (bits + (bits >> 4)) & 0x0F0FU;
                  bits = (bits + (bits >> 8)) & 0x1FU;
                  const double fits = __builtin_floor(static_cast<std::int32_t>(bits) / gpus);
                  room[i] = fits < room[i] ? fits : room[i];
                }
              },
          snapshot.Free() + rows.begin, n, static_cast<double>(plan.gpus.count), out);
      return;
    }
    for (Row i = 0; i < n; ++i) {
      std::int64_t gpus = 0;
      for (const std::int16_t left : snapshot.Gpus()[rows.begin + i].left) {
        gpus += left / plan.gpus.milli;
      }
      out[i] = std::min(out[i], static_cast<double>(gpus));
    }
  }
  static std::int64_t MembersOn(const Snapshot& snapshot, Group group, Row row) {
    const std::vector<PodPtr>& pods = snapshot.pods(row);
    return std::count_if(pods.begin(), pods.end(),
                         [&](const PodPtr& pod) { return GroupOf(*pod) == group; });
  }

  // Adds what has changed on a node to its domain and all around it.
  void Add(Row row, std::int64_t Domain::*count, std::int64_t more) {
    if (more == 0) return;
    for (std::uint32_t at = domain_of_[row];; at = domains_[at].parent) {
      domains_[at].*count += more;
      if (at == 0) break;
    }
  }
  // Sums up from what the nodes have.
  void Sum(std::int64_t Domain::*count, const std::vector<std::int64_t>& by_row) {
    for (Domain& domain : domains_) domain.*count = 0;
    for (std::size_t row = 0; row < by_row.size(); ++row) {
      domains_[domain_of_[row]].*count += by_row[row];
    }
    for (std::size_t i = domains_.size() - 1; i > 0; --i) {
      domains_[domains_[i].parent].*count += domains_[i].*count;
    }
  }
  void CountRoom(const Snapshot& snapshot, const PodInfo& pod, Group group) {
    if (plan_ != pod.plan) room_changes_.Forget();
    plan_ = pod.plan;
    if (room_changes_.Find(snapshot, changed_)) {
      for (const Row row : changed_) {
        double room = 0;
        FindRoom(snapshot, *plan_, {row, row + 1}, &room);
        Add(row, &Domain::room, static_cast<std::int64_t>(room) - room_[row]);
        room_[row] = static_cast<std::int64_t>(room);
      }
    } else {
      buffer_.resize(snapshot.size());
      room_.resize(snapshot.size());
      FindRoom(snapshot, *plan_, snapshot.rows(), buffer_.data());
      std::transform(buffer_.begin(), buffer_.end(), room_.begin(),
                     [](double room) { return static_cast<std::int64_t>(room); });
      Sum(&Domain::room, room_);
    }
    if (group_ != group) member_changes_.Forget();
    group_ = group;
    if (member_changes_.Find(snapshot, changed_)) {
      for (const Row row : changed_) {
        const std::int64_t members = MembersOn(snapshot, group, row);
        Add(row, &Domain::members, members - members_[row]);
        members_[row] = members;
      }
    } else {
      members_.resize(snapshot.size());
      for (Row row = 0; row < snapshot.size(); ++row) {
        members_[row] = MembersOn(snapshot, group, row);
      }
      Sum(&Domain::members, members_);
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
  std::vector<Domain> domains_;   // parents before children
  std::vector<std::uint32_t> domain_of_;
  // Of the last pod's plan and group, by row:
  std::shared_ptr<const PodPlan> plan_;
  Group group_;
  RowChanges room_changes_, member_changes_;
  std::vector<std::int64_t> room_, members_;
  std::vector<double> buffer_;
  std::vector<Row> changed_;
  std::vector<std::int64_t> parts_;
  std::vector<std::uint32_t> path_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NETWORK_TOPOLOGY_AFFINITY_H_
