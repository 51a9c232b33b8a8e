// Snapshot: the state of a cluster as columns, one row a node; immutable.
#ifndef SCHEDFW_CLUSTER_SNAPSHOT_H_
#define SCHEDFW_CLUSTER_SNAPSHOT_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/cluster/cow.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/domains.h"
#include "schedfw/cluster/generation.h"
#include "schedfw/cluster/gpus.h"
#include "schedfw/cluster/node_index.h"
#include "schedfw/cluster/node_tree.h"
#include "schedfw/cluster/numa.h"
#include "schedfw/cluster/object_store.h"
#include "schedfw/cluster/pod_info.h"
#include "schedfw/cluster/pod_plans.h"
#include "schedfw/cluster/term_counts.h"
#include "schedfw/cluster/topology_table.h"

namespace schedfw {

/// A row of the node table. Rows are dense; deleting a node moves the last row into its place.
using Row = std::uint32_t;

/// Rows that share a block generation.
inline constexpr Row kRowsOfBlock = 64;
constexpr std::size_t BlockCount(Row rows) {
  return (std::size_t{rows} + kRowsOfBlock - 1) / kRowsOfBlock;
}

/// Rows [begin, end).
struct RowRange {
  Row begin = 0;
  Row end = 0;
  Row size() const { return end - begin; }
};

/// The image's size and how many nodes have it (ImageStateSummary). The size is that of the node
/// that brought it first.
struct ImageState {
  std::int64_t size_bytes = 0;
  std::int32_t node_count = 0;
};

/// What scoring by topology asks of a node, small since it is asked of all of them.
struct FreeGpus {
  TopologyId topology = 0;  ///< 0: unknown
  GpuMask mask = 0;         ///< the GPUs that no pod has any of
};

/// An immutable state of a cluster.
///
/// Copying is cheap (it shares all columns); a copy never changes, whatever happens to the Cluster
/// it was taken from. All members are safe from any thread. Pointers into columns are valid while
/// the Snapshot lives.
class Snapshot {
 public:
  Snapshot()
      : dictionary_(std::make_shared<Dictionary>()),
        index_(std::make_shared<NodeIndex>(source_.Next())),
        plans_(std::make_shared<PodPlans>()),
        topologies_(std::make_shared<TopologyTable>()),
        numa_table_(std::make_shared<NumaTable>()) {}

  /// The number of nodes.
  Row size() const { return static_cast<Row>(nodes_.size()); }
  RowRange rows() const { return {0, size()}; }
  /// A node's object; kept packed until it is first asked for. O(size of the node) then.
  const api::Node& node(Row row) const {
    const NodeRecord& record = *nodes_[row];
    return record.object.Get(record.name_text, record.labels, *dictionary_);
  }
  const std::string& name(Row row) const { return nodes_[row]->name_text; }
  const NodeRecord& record(Row row) const { return *nodes_[row]; }
  /// One of a node's annotations; its object stays packed. O(annotations).
  std::optional<std::string> NodeAnnotation(Row row, std::string_view key) const {
    return nodes_[row]->object.Annotation(key, *dictionary_);
  }
  /// The row of a node, or nullopt. O(1).
  std::optional<Row> Find(std::string_view name) const {
    return FindById(dictionary_->Intern(name));
  }
  std::optional<Row> FindById(StringId name) const {
    const Row* row = rows_by_name_.Find(name);
    return row == nullptr ? std::nullopt : std::optional<Row>(*row);
  }

  /// What a node offers of a resource (status.allocatable), one value a row: thousandths for cpu,
  /// bytes, or units. A resource that no node offers is a column of zeros.
  const std::int64_t* Allocatable(ResourceId resource) const {
    return resource < allocatable_.size() && allocatable_[resource].size() != 0
               ? allocatable_[resource].data()
               : zeros_.data();
  }
  /// What the pods of a node take of a resource, one value a row.
  const std::int64_t* Requested(ResourceId resource) const {
    return resource < requested_.size() && requested_[resource].size() != 0
               ? requested_[resource].data()
               : zeros_.data();
  }
  /// Requested cpu (memory) where containers that say nothing count with upstream's defaults.
  const std::int64_t* NonZeroRequestedCpu() const { return non_zero_cpu_.data(); }
  const std::int64_t* NonZeroRequestedMemory() const { return non_zero_memory_.data(); }
  /// How many pods a node has, one value a row.
  const std::int32_t* PodCount() const { return pod_count_.data(); }
  /// How many nodes have spec.unschedulable.
  Row UnschedulableTotal() const { return unschedulable_total_; }
  /// spec.unschedulable, one byte a row.
  const std::uint8_t* Unschedulable() const { return unschedulable_.data(); }
  /// The interned taints of a node, one id a row.
  const TaintSetId* TaintSets() const { return taint_sets_.data(); }
  /// How many pods with host ports a node has, one value a row.
  const std::int32_t* HostPortPods() const { return host_port_pods_.data(); }
  /// The GPUs of the nodes, one by one; null: no node has any that are told apart.
  const GpuDevices* Gpus() const { return gpus_.size() == 0 ? nullptr : gpus_.data(); }
  /// The same by what is free and how it is linked; null where Gpus() is.
  const FreeGpus* Free() const { return free_gpus_.size() == 0 ? nullptr : free_gpus_.data(); }
  /// How the GPUs of a node are linked; null: it isn't known. Lives as long as the snapshot.
  const GpuTopology* TopologyOf(Row row) const {
    const TopologyId id = free_gpus_.size() == 0 ? TopologyId{0} : free_gpus_[row].topology;
    return id == 0 ? nullptr : &(*topologies_)[id];
  }
  /// The MIG slices of a profile that no pod on a node has, by GPU; of a pod whose GPUs aren't
  /// known nothing is counted. `but`: a pod, by PodInfo::Key(), that doesn't count. O(pods of the
  /// node).
  MigSlices MigLeft(Row row, ResourceId profile, std::uint64_t but) const {
    MigSlices out;
    for (const MigSlices& slices : nodes_[row]->mig) {
      if (slices.resource == profile) out = slices;
    }
    for (const PodPtr& pod : pods_[row]) {
      const GpuRequest& request = pod->plan->gpus;
      if (request.slices == 0 || request.mig != profile || pod->Key() == but) continue;
      out.Take(GpusOf(pod->Key()), request.slices);
    }
    return out;
  }
  const TopologyTable& topologies() const { return *topologies_; }
  /// The GPUs that a pod on a node has, by PodInfo::Key(); 0: none, or it isn't known which. O(1).
  GpuMask GpusOf(std::uint64_t key) const {
    const Placement* placement = placements_.Find(key);
    return placement == nullptr || placement->where != Where::kNode ? GpuMask{0} : placement->gpus;
  }
  /// The NUMA zones of a node with what is left in them; null: no NodeResourceTopology says. Nodes
  /// that are equal in them have the same pointer. O(1).
  const NumaZones* Numa(Row row) const { return numa_.size() == 0 ? nullptr : numa_[row].get(); }
  /// False: Numa() is null for all nodes.
  bool HasNuma() const { return numa_.size() != 0; }
  /// What a pod that was placed here has of its node's zones, by PodInfo::Key(); null: nothing, or
  /// it isn't known, as of pods that the node's report counts already. O(1).
  const NumaTakes* NumaTakesOf(std::uint64_t key) const {
    const auto* takes = numa_takes_.Find(key);
    return takes == nullptr ? nullptr : takes->get();
  }
  /// A number that grows whenever the row changes. Rows with one number are equal, also those of
  /// different forks.
  const std::uint64_t* Generations() const { return generations_.data(); }
  /// The same for blocks of kRowsOfBlock rows: the number of the last change in the block.
  const std::uint64_t* BlockGenerations() const { return block_generations_.data(); }
  /// A number that grows whenever anything changes.
  std::uint64_t generation() const { return generation_; }
  /// Says which set of nodes this is, with their labels, taints and amounts; never 0. Snapshots
  /// with one number have the same nodes in the same rows.
  std::uint64_t nodes_id() const { return index_->id(); }
  /// The same for objects().
  std::uint64_t objects_id() const { return objects_id_; }

  /// The pods on a node, in no particular order.
  const std::vector<PodPtr>& pods(Row row) const { return pods_[row]; }
  /// The pods that wait for a node, in order of arrival. O(pods that waited).
  std::vector<PodPtr> Pending() const {
    std::vector<PodPtr> out;
    out.reserve(pending_->size());
    for (const PodPtr& pod : *pending_) {
      if (pod) out.push_back(pod);
    }
    return out;
  }
  /// A pod by namespace and name, or null. O(pods of its node).
  PodPtr FindPod(std::string_view ns, std::string_view name) const {
    const std::uint64_t key = KeyOf(ns, name);
    const Placement* placement = placements_.Find(key);
    return placement == nullptr ? nullptr : PodAt(key, *placement);
  }
  /// The same by PodInfo::Key().
  PodPtr FindPod(std::uint64_t key) const {
    const Placement* placement = placements_.Find(key);
    return placement == nullptr ? nullptr : PodAt(key, *placement);
  }
  /// True when the pod, by key, is there and waits for a node. O(1).
  bool IsPending(std::uint64_t key) const {
    const Placement* placement = placements_.Find(key);
    return placement != nullptr && placement->where == Where::kPending;
  }
  /// The node that a pod has, or nullopt when it waits, is on an unknown node, or doesn't exist.
  std::optional<Row> RowOf(std::string_view ns, std::string_view name) const {
    const Placement* placement = FindPlacement(ns, name);
    if (placement == nullptr || placement->where != Where::kNode) return std::nullopt;
    return placement->index;
  }
  /// How many pods the cluster holds: on nodes, waiting, and on unknown nodes.
  std::size_t PodTotal() const { return placements_.size(); }
  /// How many pods name a node that isn't there; they count nowhere until it is added.
  std::size_t OrphanTotal() const { return orphans_->size(); }

  const LabelColumn& Label(StringId key) const { return index_->Label(key, nodes_); }
  const std::vector<std::uint32_t>& NameRank() const { return index_->NameRank(nodes_); }
  bool IsNameOrder() const { return index_->IsNameOrder(nodes_); }
  /// See NodeIndex::TreeOrder.
  const std::vector<std::uint32_t>& TreeOrder() const {
    return index_->TreeOrder(nodes_, node_tree_);
  }
  /// See PodCounts::Count.
  Column<std::int32_t> CountPods(const std::shared_ptr<const PodMatcher>& matcher) const {
    return pod_counts_.Count(matcher, pods_, *dictionary_);
  }
  Column<std::int32_t> CountPods(PodMatcher matcher) const {
    return CountPods(std::make_shared<const PodMatcher>(std::move(matcher)));
  }
  /// The terms of inter-pod affinity that pods on nodes have.
  const TermCounts& terms() const { return terms_; }
  /// The waiting pods that are nominated to a node (status.nominatedNodeName), in order of arrival.
  /// O(log nominations).
  const std::vector<PodPtr>& NominatedPods(StringId node) const {
    static const std::vector<PodPtr> kNone;
    const auto it = nominated_->find(node);
    return it == nominated_->end() ? kNone : it->second;
  }
  bool HasNominations() const { return !nominated_->empty(); }
  /// The nodes that some waiting pod is nominated to, whether they exist or not.
  std::vector<StringId> NominatedNodes() const {
    std::vector<StringId> out;
    for (const auto& [node, pods] : *nominated_) out.push_back(node);
    return out;
  }
  /// The labels of a namespace; none when there is no such object. O(log namespaces + labels).
  Labels NamespaceLabels(const std::string& name) const {
    const auto* found = ObjectStore::Find(objects_->namespaces, std::string(), name);
    return found == nullptr ? Labels() : dictionary_->InternLabels(found->metadata.labels);
  }
  /// See NodeIndex::HasImage.
  const std::vector<std::uint8_t>& HasImage(StringId name) const {
    return index_->HasImage(name, nodes_);
  }
  /// The image's state, or nullptr when no node has it. O(1).
  const ImageState* Image(StringId name) const {
    const auto it = images_->find(name);
    return it == images_->end() ? nullptr : &it->second;
  }

  const ObjectStore& objects() const { return *objects_; }
  Dictionary& dictionary() const { return *dictionary_; }

 private:
  friend class Cluster;
  friend class ClusterArchive;
  friend class DryRun;

  enum class Where : std::uint8_t { kPending, kNode, kOrphan };
  // Where a pod is found; there is one a pod, so it is small.
  struct Placement {
    std::uint32_t index = 0;  // a row, a place in pending_, or unused
    Where where = Where::kPending;
    bool assumed = false;
    GpuMask gpus = 0;  // on a node
  };

  std::uint64_t KeyOf(std::string_view ns, std::string_view name) const {
    return std::uint64_t{dictionary_->Intern(ns)} << 32 | dictionary_->Intern(name);
  }
  const Placement* FindPlacement(std::string_view ns, std::string_view name) const {
    return placements_.Find(KeyOf(ns, name));
  }
  const PodPtr& PodAt(std::uint64_t key, const Placement& placement) const {
    if (placement.where == Where::kPending) return (*pending_)[placement.index];
    const std::vector<PodPtr>& list =
        placement.where == Where::kNode ? pods_[placement.index] : *orphans_;
    return *std::find_if(list.begin(), list.end(),
                         [&](const PodPtr& pod) { return pod->Key() == key; });
  }

  GenerationSource source_;
  std::shared_ptr<Dictionary> dictionary_;
  std::shared_ptr<NodeIndex> index_;
  std::shared_ptr<PodPlans> plans_;
  std::shared_ptr<TopologyTable> topologies_;
  std::shared_ptr<NumaTable> numa_table_;
  std::uint64_t generation_ = 0;
  std::uint64_t objects_id_ = 0;

  BlockColumn<NodePtr> nodes_;
  CowMap<Row> rows_by_name_;
  std::vector<Column<std::int64_t>> allocatable_;  // by ResourceId; an empty column is all zeros
  std::vector<Column<std::int64_t>> requested_;
  Column<std::int64_t> zeros_;
  Column<std::int64_t> non_zero_cpu_;
  Column<std::int64_t> non_zero_memory_;
  Column<std::int32_t> pod_count_;
  Column<std::uint8_t> unschedulable_;
  Row unschedulable_total_ = 0;
  Column<TaintSetId> taint_sets_;
  Column<std::int32_t> host_port_pods_;
  Column<GpuDevices> gpus_;         // empty: no node has GPUs,
  Column<FreeGpus> free_gpus_;      // and this too
  BlockColumn<NumaZonesPtr> numa_;  // empty: no node has zones
  Column<std::uint64_t> generations_;
  Column<std::uint64_t> block_generations_;
  BlockColumn<std::vector<PodPtr>> pods_;
  PodCounts pod_counts_;
  TermCounts terms_;
  NodeTree node_tree_;
  bool in_name_order_ = true;                             // rows are; false: they may be
  Cow<std::unordered_map<StringId, ImageState>> images_;  // look-ups only

  CowMap<Placement> placements_;
  CowMap<std::shared_ptr<const NumaTakes>> numa_takes_;  // of pods that zones were taken for
  Cow<std::vector<PodPtr>> pending_;                     // null where a pod has left
  std::uint32_t pending_gaps_ = 0;
  Cow<std::map<StringId, std::vector<PodPtr>>> nominated_;  // by the node's name
  Cow<std::vector<PodPtr>> orphans_;
  Cow<ObjectStore> objects_;
};

/// One node of a Snapshot, for code that looks at nodes one by one (upstream's NodeInfo).
///
/// A view of two words: it is valid while the Snapshot lives.
class NodeInfo {
 public:
  NodeInfo(const Snapshot& snapshot, Row row) : snapshot_(&snapshot), row_(row) {}

  Row row() const { return row_; }
  const Snapshot& snapshot() const { return *snapshot_; }
  const std::string& name() const { return snapshot_->name(row_); }
  const api::Node& node() const { return snapshot_->node(row_); }
  const std::vector<PodPtr>& pods() const { return snapshot_->pods(row_); }
  std::int64_t allocatable(ResourceId resource) const {
    return snapshot_->Allocatable(resource)[row_];
  }
  std::int64_t requested(ResourceId resource) const { return snapshot_->Requested(resource)[row_]; }
  /// The same by name, e.g. "nvidia.com/gpu"; slower.
  std::int64_t allocatable(std::string_view resource) const {
    return allocatable(snapshot_->dictionary().Resource(resource));
  }
  std::int64_t requested(std::string_view resource) const {
    return requested(snapshot_->dictionary().Resource(resource));
  }
  std::uint64_t generation() const { return snapshot_->Generations()[row_]; }

 private:
  const Snapshot* snapshot_;
  Row row_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_SNAPSHOT_H_
