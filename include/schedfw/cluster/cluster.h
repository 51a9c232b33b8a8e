// Cluster: a cluster that changes by events, as a scheduler's cache does.
#ifndef SCHEDFW_CLUSTER_CLUSTER_H_
#define SCHEDFW_CLUSTER_CLUSTER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/objects.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/numa_demand.h"
#include "schedfw/cluster/snapshot.h"
#include "schedfw/cluster/zone_topology.h"
#include "schedfw/topology/gpu_topology.h"

namespace schedfw {

/// A cluster that events change. Not safe for concurrent use; its forks and snapshots are
/// independent of it and may live on other threads.
///
/// An event that is refused leaves the cluster as it was.
class Cluster {
 public:
  Cluster() = default;
  /// A cluster that goes on from a snapshot: a what-if that costs what it changes.
  explicit Cluster(const Snapshot& snapshot) : state_(snapshot) {}

  /// Builds a cluster from normalised objects (see api::Normalize).
  ///
  /// Nodes, and pods that have one, are added in the order of their names, as a scheduler that
  /// starts up lists them; pods that wait keep the order given. Errors: an object given twice, and
  /// whatever the single events refuse.
  static Result<Cluster> FromObjects(api::ObjectList objects) {
    Cluster out;
    if (auto done = out.Fill(objects, {}); !done) return done.error();
    return out;
  }

  /// The current state; it changes with the next event.
  const Snapshot& view() const { return state_; }
  /// The current state, kept. O(resources), shares all columns.
  Snapshot snapshot() const { return state_; }
  /// An independent cluster that starts from the current state. O(resources).
  Cluster Fork() const { return Cluster(state_); }

  /// Error: a node of that name exists, or an amount that 64 bits can't hold.
  Result<void> AddNode(api::Node node) {
    if (state_.Find(node.metadata.name)) {
      return ArgumentError("Node " + node.metadata.name + " exists already");
    }
    api::SetDefaults(node);
    auto row = Compile(node);
    if (!row) return row.error();
    if (auto done = CheckOrphans(row->record->name); !done) return done;
    InsertRow(*row, node);
    AdoptOrphans();
    return {};
  }

  /// Error: there is no such node, or an amount that 64 bits can't hold.
  Result<void> UpdateNode(api::Node node) {
    const auto found = state_.Find(node.metadata.name);
    if (!found) return NoSuchNode(node.metadata.name);
    api::SetDefaults(node);
    auto row = Compile(node);
    if (!row) return row.error();
    const NodeRecord& old = *state_.nodes_[*found];
    LeaveImages(old);
    BringImages(node);
    if (old.zone == row->record->zone) {
      row->record->arrival = old.arrival;
    } else {  // as if it had left and come back
      state_.node_tree_.Remove(old.zone);
      state_.node_tree_.Add(row->record->zone);
      row->record->arrival = Advance();
    }
    SetRow(*found, *row);
    NewIndex();
    Touch(*found);
    return {};
  }

  /// The pods of a deleted node count nowhere until they are deleted or the node comes back.
  /// Error: there is no such node.
  Result<void> DeleteNode(std::string_view name) {
    const auto found = state_.Find(name);
    if (!found) return NoSuchNode(std::string(name));
    const Row row = *found;
    const std::vector<PodPtr> pods = state_.pods_[row];
    for (const PodPtr& pod : pods) {
      RemoveFromRow(pod->Key(), row);
      Placement& placement = *state_.placements_.FindMutable(pod->Key());
      placement.where = Where::kOrphan;  // it keeps in mind which GPUs it had
      // The pod remembers which node it names, also when it was only assumed there.
      state_.orphans_.Mutable().push_back(WithNodeName(pod, name));
    }
    RemoveRow(row);
    return {};
  }

  /// Adds a pod: to its node when it names one, else to the pods that wait. Finished pods are left
  /// out. Error: a pod of that name exists, or it can't be compiled (see CompilePod).
  Result<void> AddPod(api::Pod pod) {
    api::SetDefaults(pod);
    if (pod.IsTerminal()) return {};
    if (auto done = api::SetPriority(pod, state_.objects_->priority_classes); !done) return done;
    auto added = pod.spec.node_name.empty()
                     ? AddCompiled(std::make_shared<const api::Pod>(std::move(pod)))
                     : AddBound(pod);
    if (!added) return added.error();
    return {};
  }
  /// The same for a pod that is normalised already (see api::Normalize), which is shared and not
  /// copied. Returns it as the cluster holds it; null: it has finished.
  Result<PodPtr> AddNormalizedPod(std::shared_ptr<const api::Pod> pod) {
    if (pod->IsTerminal()) return PodPtr();
    return pod->spec.node_name.empty() ? AddCompiled(std::move(pod)) : AddBound(*pod);
  }

  /// Replaces a pod; one that has finished is deleted. Error: there is no such pod, or the new one
  /// can't be compiled.
  Result<void> UpdatePod(api::Pod pod) {
    api::SetDefaults(pod);
    const std::string ns = pod.metadata.ns, name = pod.metadata.name;
    const std::string node_name = pod.spec.node_name;
    const Placement* found = state_.FindPlacement(ns, name);
    if (found == nullptr) return NoSuchPod(ns, name);
    if (pod.IsTerminal()) return DeletePod(ns, name);
    if (auto done = api::SetPriority(pod, state_.objects_->priority_classes); !done) return done;
    const bool bound = !pod.spec.node_name.empty();
    auto compiled = bound ? state_.plans_->CompileBound(pod, dictionary())
                          : state_.plans_->Compile(std::make_shared<const api::Pod>(std::move(pod)),
                                                   dictionary());
    if (!compiled) return compiled.error();
    if (!bound && found->where == Where::kPending) {  // it keeps its place among those that wait
      ReplacePending(found->index, *std::move(compiled));
      return {};
    }
    Cluster before = Fork();
    const GpuMask gpus = found->where == Where::kNode ? found->gpus : GpuMask{0};
    // What it has of the zones of a node that it stays on, it keeps.
    const auto takes = bound && NodeNameOf(ns, name) == node_name
                           ? FindTakes((*compiled)->Key())
                           : std::shared_ptr<const NumaTakes>();
    Erase((*compiled)->Key());
    if (takes) state_.numa_takes_.Set((*compiled)->Key(), takes);
    if (auto done = Insert(*std::move(compiled), bound ? node_name : std::string(), gpus); !done) {
      *this = std::move(before);
      return done;
    }
    return {};
  }

  /// Error: there is no such pod.
  Result<void> DeletePod(std::string_view ns, std::string_view name) {
    const std::uint64_t key = state_.KeyOf(ns, name);
    if (state_.placements_.Find(key) == nullptr) return NoSuchPod(ns, name);
    Erase(key);
    return {};
  }

  /// Nominates a waiting pod to a node (status.nominatedNodeName): filters count it there for pods
  /// of the same or a lower priority. An empty `node` takes the nomination back. The node need not
  /// exist. Error: there is no such pod, or it doesn't wait.
  Result<void> NominatePod(std::string_view ns, std::string_view name, std::string_view node) {
    const Placement* found = state_.FindPlacement(ns, name);
    if (found == nullptr) return NoSuchPod(ns, name);
    if (found->where != Where::kPending) {
      return ArgumentError("Pod " + std::string(ns) + "/" + std::string(name) +
                           " does not wait for a node");
    }
    const PodInfo& pod = *(*state_.pending_)[found->index];
    if (pod.pod->status.nominated_node_name == node) return {};
    api::Pod object = *pod.pod;
    object.status.nominated_node_name = node;
    ReplacePending(found->index, WithObject(pod, std::move(object)));
    return {};
  }

  /// Changes what a pod's priority counts as, wherever the pod is: PodInfo::priority(), by which
  /// the queue, preemption and nominations go. The pod's object, its spec.priority included, stays
  /// as it is, but for the annotation `key`, if one is given: it becomes `text`, or goes when that
  /// is empty. UpdatePod goes back to spec.priority. Error: there is no such pod. O(size of the pod
  /// and of its node's list).
  Result<void> SetPodPriority(std::string_view ns, std::string_view name, std::int32_t priority,
                              const std::string& key = {}, const std::string& text = {}) {
    const std::uint64_t pod_key = state_.KeyOf(ns, name);
    const Placement* found = state_.placements_.Find(pod_key);
    if (found == nullptr) return NoSuchPod(ns, name);
    const PodPtr pod = state_.PodAt(pod_key, *found);
    api::Pod object = pod->pod.Copy();
    if (text.empty()) {
      object.metadata.annotations.erase(key);
    } else {
      object.metadata.annotations[key] = text;
    }
    auto compiled =
        pod->plan->for_cycle
            ? state_.plans_->Compile(std::make_shared<const api::Pod>(std::move(object)),
                                     dictionary(), priority)
            : state_.plans_->CompileBound(object, dictionary(), priority);
    if (!compiled) return compiled.error();
    switch (found->where) {
      case Where::kPending: {
        const std::string& node = pod->pod->status.nominated_node_name;
        if (!node.empty()) {  // it keeps its place among the nominated ones
          std::vector<PodPtr>& list = state_.nominated_.Mutable()[dictionary().Intern(node)];
          std::replace(list.begin(), list.end(), pod, *compiled);
        }
        state_.pending_.Mutable()[found->index] = *std::move(compiled);
        Advance();
        break;
      }
      case Where::kNode:  // no column depends on it; preemption reads the list
        std::replace(state_.pods_.Mutable(found->index).begin(),
                     state_.pods_.Mutable(found->index).end(), pod, *std::move(compiled));
        Touch(found->index);
        break;
      case Where::kOrphan:
        std::replace(state_.orphans_.Mutable().begin(), state_.orphans_.Mutable().end(), pod,
                     *std::move(compiled));
        Advance();
        break;
    }
    return {};
  }

  /// Puts a waiting pod on a node before it is bound there. Error: the pod doesn't wait, or the
  /// node's amounts would not fit into 64 bits. O(resources of the pod).
  ///
  /// `gpus`: those that a pod with a GPU request gets. If they aren't enough and free, those that
  /// fit best are taken: of whole GPUs the first, for a share the one with the least left. Where
  /// there are none it has none, which no filter but DeviceShare minds.
  Result<void> AssumePod(const PodInfo& pod, Row row, GpuMask gpus = 0) {
    const Placement* found = state_.placements_.Find(pod.Key());
    if (found == nullptr || found->where != Where::kPending) {
      return ArgumentError("Pod " + pod.FullName() + " does not wait for a node");
    }
    const PodPtr kept = (*state_.pending_)[found->index];
    if (auto done = CheckRoom(*kept, row); !done) return done;
    LeavePending(found->index);
    const GpuMask taken = AddToRow(kept, row, gpus);
    state_.placements_.Set(kept->Key(), {row, Where::kNode, /*assumed=*/true, taken});
    TakeZones(*kept, row);
    return {};
  }

  /// Takes an assumed pod back to those that wait, behind all others. Error: it is not assumed.
  Result<void> ForgetPod(const PodInfo& pod) {
    const Placement* found = state_.placements_.Find(pod.Key());
    if (found == nullptr || !found->assumed) {
      return ArgumentError("Pod " + pod.FullName() + " is not assumed");
    }
    const PodPtr kept = state_.PodAt(pod.Key(), *found);
    Erase(pod.Key());
    // It names the node if that was deleted in the meantime.
    return Insert(WithNodeName(kept, ""), {});
  }

  /// Confirms an assumed pod: it is bound. Error: it is not assumed.
  Result<void> FinishBinding(const PodInfo& pod) {
    const Placement* found = state_.placements_.Find(pod.Key());
    if (found == nullptr || !found->assumed) {
      return ArgumentError("Pod " + pod.FullName() + " is not assumed");
    }
    state_.placements_.FindMutable(pod.Key())->assumed = false;
    return {};
  }

  /// Adds every object of a list, or replaces the one that has its name; all of them or, on an
  /// error, none. Finished pods are deleted. Errors: see the single events, and a PriorityClass
  /// whose transitions are malformed (see api::TransitionsOf).
  Result<void> Apply(const api::ObjectList& objects) {
    if (auto done = api::CheckTransitions(objects.priority_classes); !done) return done;
    Cluster next = Fork();
    for (const auto& o : objects.namespaces) next.Upsert(o);
    for (const auto& o : objects.services) next.Upsert(o);
    for (const auto& o : objects.replication_controllers) next.Upsert(o);
    for (const auto& o : objects.replica_sets) next.UpsertReplicaSet(o);
    for (const auto& o : objects.stateful_sets) next.UpsertStatefulSet(o);
    for (const auto& o : objects.pod_disruption_budgets) next.Upsert(o);
    for (const auto& o : objects.priority_classes) next.Upsert(o);
    for (const auto& o : objects.pod_groups) {
      if (auto done = next.Upsert(o); !done) return done;
    }
    for (const auto& o : objects.coscheduling_pod_groups) {
      if (auto done = next.Upsert(o); !done) return done;
    }
    for (const auto& o : objects.node_resource_topologies) {
      if (auto done = next.Upsert(o); !done) return done;
    }
    for (const api::Node& node : objects.nodes) {
      auto done = next.state_.Find(node.metadata.name) ? next.UpdateNode(node) : next.AddNode(node);
      if (!done) return done;
    }
    for (const api::Pod& pod : objects.pods) {
      const std::string ns = pod.metadata.ns.empty() ? "default" : pod.metadata.ns;
      auto done =
          next.state_.FindPod(ns, pod.metadata.name) ? next.UpdatePod(pod) : next.AddPod(pod);
      if (!done) return done;
    }
    *this = std::move(next);
    return {};
  }

  /// Adds or replaces an object that is looked up by plugins.
  void Upsert(api::Namespace o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().namespaces, std::move(o));
  }
  void Upsert(api::Service o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().services, std::move(o));
  }
  void Upsert(api::ReplicationController o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().replication_controllers, std::move(o));
  }
  void UpsertReplicaSet(api::ReplicaSet o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().replica_sets, std::move(o));
  }
  void UpsertStatefulSet(api::StatefulSet o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().stateful_sets, std::move(o));
  }
  void Upsert(api::PodDisruptionBudget o) {
    api::SetDefaults(o);
    ObjectStore::Upsert(Store().pod_disruption_budgets, std::move(o));
  }
  /// Malformed transitions count as none (see api::TransitionsOf).
  void Upsert(api::PriorityClass o) { ObjectStore::Upsert(Store().priority_classes, std::move(o)); }
  /// Error: see api::Complete.
  Result<void> Upsert(api::PodGroup o) {
    api::SetDefaults(o);
    auto done = api::Complete(o, state_.objects_->priority_classes);
    if (!done) return done;
    Advance();  // no answer of a plugin depends on it: objects_id() stays
    ObjectStore::Upsert(state_.objects_.Mutable().pod_groups, std::move(o));
    return {};
  }
  Result<void> Upsert(api::CoschedulingPodGroup o) {
    api::SetDefaults(o);
    if (auto done = api::Complete(o); !done) return done;
    Advance();
    ObjectStore::Upsert(state_.objects_.Mutable().coscheduling_pod_groups, std::move(o));
    return {};
  }
  /// Says the zones of a node, which may come later. It counts all pods that are on the node now;
  /// one that says the same as the one before changes nothing. Error: see CompileNumaZones.
  Result<void> Upsert(api::NodeResourceTopology o) {
    api::SetDefaults(o);
    const std::string name = o.metadata.name;
    auto report = Compile(std::move(o));
    if (!report) return report.error();
    std::vector<NumaReportPtr>& reports = state_.objects_.Mutable().node_resource_topologies;
    const NumaReportPtr* before = ObjectStore::Find(reports, {}, name);
    const bool same = before != nullptr && (*before)->zones == (*report)->zones;
    ObjectStore::Upsert(reports, *report);
    Advance();
    if (same) return {};
    if (const auto row = state_.Find(name)) {
      for (const PodPtr& pod : state_.pods_[*row]) state_.numa_takes_.Erase(pod->Key());
      SetZones(*row, (*report)->zones);
      if (state_.gpus_.size() != 0) {
        state_.free_gpus_.Mutable()[*row].topology = TopologyOf(*row);
        NewIndex();  // which topologies there are is kept by the set of nodes
      }
      Touch(*row);
      return {};
    }
    for (const PodPtr& pod : *state_.orphans_) {
      if (pod->pod->spec.node_name == name) state_.numa_takes_.Erase(pod->Key());
    }
    return {};
  }

 private:
  friend class ClusterArchive;
  friend class ClusterReader;
  friend class DryRun;
  using Placement = Snapshot::Placement;
  using Where = Snapshot::Where;

  struct CompiledRow {
    std::shared_ptr<NodeRecord> record;
    std::vector<ResourceAmount> allocatable;
    TaintSetId taints = 0;
    bool unschedulable = false;
    GpuDevices gpus;  // all free
  };

  static Error NoSuchNode(const std::string& name) {
    return ArgumentError("there is no Node " + name);
  }
  static Error NoSuchPod(std::string_view ns, std::string_view name) {
    return ArgumentError("there is no Pod " + std::string(ns) + "/" + std::string(name));
  }
  Dictionary& dictionary() { return *state_.dictionary_; }
  ObjectStore& Store() {
    state_.objects_id_ = Advance();
    return state_.objects_.Mutable();
  }

  Result<NumaReportPtr> Compile(api::NodeResourceTopology object) {
    auto zones = CompileNumaZones(object, dictionary(), *state_.numa_table_);
    if (!zones) return zones.error();
    return std::make_shared<const NumaReport>(NumaReport{std::move(object), *std::move(zones)});
  }

  Result<CompiledRow> Compile(const api::Node& node) {
    CompiledRow out;
    auto record = std::make_shared<NodeRecord>(node, dictionary());
    for (const auto& [name, quantity] : *node.status.allocatable) {
      const ResourceId resource = dictionary().Resource(name);
      if (!dictionary().IsCounted(resource)) continue;
      const auto value = ColumnValue(resource, quantity);
      if (!value) {
        return ParseError("Node " + node.metadata.name + ": status.allocatable." + name + ": " +
                          quantity.ToString() + " is more than 64 bits can hold");
      }
      if (*value < 0) {
        return ParseError("Node " + node.metadata.name + ": status.allocatable." + name + ": " +
                          quantity.ToString() + " is negative (allowed: zero or more)");
      }
      out.allocatable.push_back({resource, *value});
    }
    std::vector<StringId> images;
    for (const api::ContainerImage& image : node.status.images) {
      for (const std::string& name : image.names) images.push_back(dictionary().Intern(name));
    }
    std::sort(images.begin(), images.end());
    record->images.assign(images.begin(), std::unique(images.begin(), images.end()));
    out.taints = dictionary().TaintSet(node.spec.taints);
    out.unschedulable = node.spec.unschedulable;
    record->zone = dictionary().Intern(NodeTree::ZoneKey(node));
    out.record = std::move(record);
    CompileGpus(node, out);
    return out;
  }
  void CompileGpus(const api::Node& node, CompiledRow& out) {
    std::int64_t count = 0;
    for (const ResourceAmount& amount : out.allocatable) {
      if (IsGpuResource(dictionary().ResourceName(amount.resource))) count += amount.amount;
    }
    if (count > kMaxGpus) return;
    CompileMig(node, static_cast<std::int32_t>(count), out);
    if (count == 0 && out.record->mig.empty()) return;
    out.gpus.count = static_cast<std::uint8_t>(count);
    std::fill_n(out.gpus.left.begin(), count, static_cast<std::int16_t>(kGpuMilli));
    const std::string* model = internal::FindIn(node.metadata.labels, kGpuModelKey);
    if (model == nullptr) model = internal::FindIn(node.metadata.labels, kGpuProductLabel);
    if (model != nullptr) out.gpus.model = dictionary().Intern(*model);
    CompileTopology(node, model == nullptr ? std::string() : *model, out);
  }
  void CompileMig(const api::Node& node, std::int32_t whole, const CompiledRow& out) {
    std::vector<std::pair<std::string_view, std::pair<ResourceId, std::int64_t>>> profiles;
    for (const ResourceAmount& amount : out.allocatable) {
      const std::string_view name = dictionary().ResourceName(amount.resource);
      if (!name.starts_with(kMigPrefix) || amount.amount == 0) continue;
      profiles.push_back({name, {amount.resource, amount.amount}});
    }
    if (profiles.empty()) return;
    std::sort(profiles.begin(), profiles.end());
    const std::string* label = internal::FindIn(node.metadata.labels, kGpuCountLabel);
    const auto all = label == nullptr ? std::nullopt : internal::SmallNumber(*label, kMaxGpus);
    out.record->mig = LayOutMig(profiles, whole, all && *all > whole ? *all - whole : 0);
  }
  // A topology that can't be used is as good as none; what is wrong with it is kept.
  void CompileTopology(const api::Node& node, const std::string& gpu_model, CompiledRow& out) {
    const std::string* text = internal::FindIn(node.metadata.annotations, kGpuTopologyAnnotation);
    if (text == nullptr) return;
    std::string error;
    const TopologyId id = state_.topologies_->Intern(*text, gpu_model, error);
    if (id != 0 && (*state_.topologies_)[id].count() < out.gpus.count) {
      error = "has " + std::to_string((*state_.topologies_)[id].count()) + " GPUs, but " +
              std::to_string(out.gpus.count) + " are allocatable";
    }
    if (error.empty()) {
      out.record->topology = id;
      return;
    }
    out.record->topology_error =
        "metadata.annotations.\"" + std::string(kGpuTopologyAnnotation) + "\": " + error;
  }

  void InsertRow(const CompiledRow& compiled, const api::Node& node) {
    const Row row = state_.size();
    compiled.record->arrival = Advance();
    state_.node_tree_.Add(compiled.record->zone);
    state_.in_name_order_ =
        state_.in_name_order_ && (row == 0 || state_.name(row - 1) < compiled.record->name_text);
    state_.nodes_.PushBack(compiled.record);
    state_.rows_by_name_.Set(compiled.record->name, row);
    for (auto* columns : {&state_.allocatable_, &state_.requested_}) {
      for (Column<std::int64_t>& column : *columns) {
        if (column.size() != 0) column.PushBack(0);
      }
    }
    state_.zeros_.PushBack(0);
    state_.non_zero_cpu_.PushBack(0);
    state_.non_zero_memory_.PushBack(0);
    state_.pod_count_.PushBack(0);
    state_.unschedulable_.PushBack(0);
    state_.taint_sets_.PushBack(0);
    state_.host_port_pods_.PushBack(0);
    if (state_.gpus_.size() != 0) {
      state_.gpus_.PushBack({});
      state_.free_gpus_.PushBack({});
    }
    state_.generations_.PushBack(0);
    if (row % kRowsOfBlock == 0) state_.block_generations_.PushBack(0);
    state_.pods_.PushBack({});
    state_.pod_counts_.AddRow();
    AddZonesOf(compiled.record->name_text);
    BringImages(node);
    SetRow(row, compiled);
    NewIndex();
    Touch(row);
  }

  void SetRow(Row row, const CompiledRow& compiled) {
    state_.nodes_.Mutable(row) = compiled.record;
    for (Column<std::int64_t>& column : state_.allocatable_) {
      if (column.size() != 0) column.Set(row, 0);
    }
    for (const ResourceAmount& amount : compiled.allocatable) {
      if (amount.amount == 0) continue;  // as where the node doesn't offer it
      ColumnOf(state_.allocatable_, amount.resource).Set(row, amount.amount);
    }
    const std::uint8_t unschedulable = compiled.unschedulable ? 1 : 0;
    state_.unschedulable_total_ += unschedulable;
    state_.unschedulable_total_ -= state_.unschedulable_[row];
    state_.unschedulable_.Set(row, unschedulable);
    state_.taint_sets_.Set(row, compiled.taints);
    if (state_.gpus_.size() == 0) {
      if (compiled.gpus.count == 0 && compiled.record->topology == 0) return;
      state_.gpus_.Reserve(state_.zeros_.capacity());
      state_.gpus_.Mutable().resize(state_.size());
      state_.free_gpus_.Reserve(state_.zeros_.capacity());
      state_.free_gpus_.Mutable().resize(state_.size());
    }
    state_.gpus_.Set(row, compiled.gpus);
    state_.free_gpus_.Set(row, {TopologyOf(row), compiled.gpus.Free()});
    // Pods that are there keep their GPUs as long as these are.
    for (const PodPtr& pod : state_.pods_[row]) {
      if (pod->plan->gpus.IsNone()) continue;
      Placement& placement = *state_.placements_.FindMutable(pod->Key());
      placement.gpus = TakeGpus(*pod, row, placement.gpus);
    }
  }

  // Takes GPUs of a node for a pod: these, if they are enough and free, else those that fit best;
  // 0: there aren't any.
  GpuMask TakeGpus(const PodInfo& pod, Row row, GpuMask wanted) {
    const GpuRequest& request = pod.plan->gpus;
    if (request.slices != 0) {
      const MigSlices left = state_.MigLeft(row, request.mig, pod.Key());
      return left.Has(wanted, request.slices) ? wanted : left.Choose(request.slices);
    }
    if (request.count == 0 || state_.gpus_.size() == 0) return 0;
    const GpuDevices& gpus = state_.gpus_[row];
    const GpuMask out = gpus.Has(wanted, request) ? wanted : gpus.Tightest(request);
    if (out != 0) ChangeGpus(row, out, request.milli);
    return out;
  }
  void ReturnGpus(const PodInfo& pod, Row row, GpuMask gpus) {
    if (gpus != 0 && pod.plan->gpus.count != 0) ChangeGpus(row, gpus, -pod.plan->gpus.milli);
  }
  void ChangeGpus(Row row, GpuMask gpus, std::int32_t milli) {
    GpuDevices& devices = state_.gpus_.Mutable()[row];
    devices.Take(gpus, milli);
    state_.free_gpus_.Mutable()[row].mask = devices.Free();
  }
  // Of a pod that comes with its node.
  static GpuMask NamedGpus(const PodInfo& pod) {
    if (pod.plan->gpus.IsNone()) return 0;
    const auto text = pod.pod.Annotation(std::string(kGpuIndexAnnotation));
    return text ? ParseGpuIndex(*text) : GpuMask{0};
  }

  // The zones of the last row, which is new.
  void AddZonesOf(const std::string& node) {
    const NumaReportPtr* report =
        ObjectStore::Find(state_.objects_->node_resource_topologies, {}, node);
    if (state_.numa_.size() != 0) state_.numa_.PushBack(nullptr);
    if (report != nullptr) SetZones(state_.size() - 1, (*report)->zones);
  }
  void SetZones(Row row, NumaZonesPtr zones) {
    if (state_.numa_.size() == 0) state_.numa_.Grow(state_.size());
    state_.numa_.Mutable(row) = std::move(zones);
  }
  // What the node's annotation says, else what its zones tell of GPUs.
  TopologyId TopologyOf(Row row) {
    const NodeRecord& record = *state_.nodes_[row];
    const NumaZones* zones = state_.Numa(row);
    const std::uint8_t gpus = state_.gpus_[row].count;
    if (record.topology != 0 || zones == nullptr || gpus == 0) return record.topology;
    NodeTopology topology = TopologyOfZones(*zones->layout, dictionary());
    return topology.devices.size() != gpus ? TopologyId{0}
                                           : state_.topologies_->Intern(std::move(topology));
  }
  // Takes zones of a node for a pod that is placed there, as the kubelet would.
  void TakeZones(const PodInfo& pod, Row row) {
    const NumaZones* zones = state_.Numa(row);
    if (zones == nullptr) return;
    const NumaDemand demand = NumaDemandOf(*pod.plan->pattern, dictionary());
    if (!demand.BindsAny()) return;
    NumaTakes takes = PlaceInZones(*zones, demand, dictionary()).takes;
    if (takes.empty()) return;
    state_.numa_takes_.Set(pod.Key(), std::make_shared<const NumaTakes>(std::move(takes)));
    ChangeZones(pod.Key(), row, -1);
  }
  // Takes what the pod is known to have (`sign` -1), or gives it back (1).
  void ChangeZones(std::uint64_t key, Row row, std::int64_t sign) {
    const NumaZones* zones = state_.Numa(row);
    if (zones == nullptr) return;
    const NumaTakes* takes = state_.NumaTakesOf(key);
    if (takes == nullptr) return;
    SetZones(row, state_.numa_table_->Change(*zones, *takes, sign));
  }
  std::shared_ptr<const NumaTakes> FindTakes(std::uint64_t key) const {
    const auto* takes = state_.numa_takes_.Find(key);
    return takes == nullptr ? nullptr : *takes;
  }
  // The node that a pod is on or names, when it has been given one.
  std::string NodeNameOf(std::string_view ns, std::string_view name) const {
    const Placement* found = state_.FindPlacement(ns, name);
    if (found->where == Where::kNode) return state_.name(found->index);
    return found->where == Where::kOrphan
               ? state_.PodAt(state_.KeyOf(ns, name), *found)->pod->spec.node_name
               : std::string();
  }

  // The column of a resource, made of zeros if it has none yet.
  Column<std::int64_t>& ColumnOf(std::vector<Column<std::int64_t>>& columns, ResourceId resource) {
    if (columns.size() <= resource) columns.resize(resource + 1);
    Column<std::int64_t>& column = columns[resource];
    if (column.size() == 0) {
      column.Reserve(state_.zeros_.capacity());
      column.Mutable().resize(state_.size());
    }
    return column;
  }
  // Columns grow by doubling otherwise, and a half of them stays empty.
  void ReserveRows(std::size_t rows) {
    state_.zeros_.Reserve(rows);
    state_.non_zero_cpu_.Reserve(rows);
    state_.non_zero_memory_.Reserve(rows);
    state_.pod_count_.Reserve(rows);
    state_.unschedulable_.Reserve(rows);
    state_.taint_sets_.Reserve(rows);
    state_.host_port_pods_.Reserve(rows);
    state_.generations_.Reserve(rows);
  }

  void RemoveRow(Row row) {
    const Row last = state_.size() - 1;
    state_.in_name_order_ = last == 0 || (state_.in_name_order_ && row == last);
    LeaveImages(*state_.nodes_[row]);
    state_.node_tree_.Remove(state_.nodes_[row]->zone);
    state_.rows_by_name_.Erase(state_.nodes_[row]->name);
    if (row != last) {
      state_.rows_by_name_.Set(state_.nodes_[last]->name, row);
      for (const PodPtr& pod : state_.pods_[last]) {
        state_.placements_.FindMutable(pod->Key())->index = row;
        state_.terms_.Change(*pod, last, -1, Advance());
        state_.terms_.Change(*pod, row, 1, Advance());
      }
    }
    state_.nodes_.SwapRemove(row);
    for (auto* columns : {&state_.allocatable_, &state_.requested_}) {
      for (Column<std::int64_t>& column : *columns) {
        if (column.size() != 0) column.SwapRemove(row);
      }
    }
    state_.zeros_.SwapRemove(row);
    state_.non_zero_cpu_.SwapRemove(row);
    state_.non_zero_memory_.SwapRemove(row);
    state_.pod_count_.SwapRemove(row);
    state_.unschedulable_total_ -= state_.unschedulable_[row];
    state_.unschedulable_.SwapRemove(row);
    state_.taint_sets_.SwapRemove(row);
    state_.host_port_pods_.SwapRemove(row);
    if (state_.gpus_.size() != 0) {
      state_.gpus_.SwapRemove(row);
      state_.free_gpus_.SwapRemove(row);
    }
    if (state_.numa_.size() != 0) state_.numa_.SwapRemove(row);
    state_.generations_.SwapRemove(row);
    if (last % kRowsOfBlock == 0) {
      state_.block_generations_.SwapRemove(state_.block_generations_.size() - 1);
    }
    state_.pods_.SwapRemove(row);
    state_.pod_counts_.SwapRemoveRow(row);
    NewIndex();
    Advance();
    if (row != last) Touch(row);
  }

  void LeaveImages(const NodeRecord& record) {
    if (record.images.empty()) return;
    auto& images = state_.images_.Mutable();
    for (StringId name : record.images) {
      if (--images[name].node_count == 0) images.erase(name);
    }
  }
  void BringImages(const api::Node& node) {
    if (node.status.images.empty()) return;
    auto& images = state_.images_.Mutable();
    // Several entries of one node may carry the same name: the first one's size counts.
    std::set<StringId> counted;
    for (const api::ContainerImage& image : node.status.images) {
      for (const std::string& text : image.names) {
        const StringId name = dictionary().Intern(text);
        if (!counted.insert(name).second) continue;
        auto [it, inserted] = images.try_emplace(name, ImageState{image.size_bytes, 0});
        ++it->second.node_count;
      }
    }
  }

  // The node set has changed: what was derived from it is made anew when asked for.
  void NewIndex() { state_.index_ = std::make_shared<NodeIndex>(Advance(), state_.in_name_order_); }
  std::uint64_t Advance() { return state_.generation_ = state_.source_.Next(); }
  void Touch(Row row) {
    state_.generations_.Set(row, Advance());
    state_.block_generations_.Set(row / kRowsOfBlock, state_.generation_);
  }

  Result<void> CheckRoom(const PodInfo& pod, Row row) {
    const auto overflows = [](std::int64_t a, std::int64_t b) {
      std::int64_t sum = 0;
      return __builtin_add_overflow(a, b, &sum);
    };
    bool bad = overflows(state_.non_zero_cpu_[row], pod.plan->non_zero_cpu) ||
               overflows(state_.non_zero_memory_[row], pod.plan->non_zero_memory);
    for (const ResourceAmount& request : pod.plan->taken) {
      bad = bad || overflows(state_.Requested(request.resource)[row], request.amount);
    }
    if (!bad) return {};
    return ParseError("Pod " + pod.FullName() + ": requests on Node " + state_.name(row) +
                      " add up to more than 64 bits can hold");
  }

  // Returns the GPUs that the pod has got. `wanted`: those that it should get.
  GpuMask AddToRow(const PodPtr& pod, Row row, GpuMask wanted) {
    const GpuMask gpus = PutOnRow(pod, row, wanted);
    state_.pod_counts_.Change(*pod, row, 1, dictionary());
    state_.terms_.Change(*pod, row, 1, state_.generation_);
    return gpus;
  }

  void RemoveFromRow(std::uint64_t key, Row row) {
    const PodPtr removed = TakeFromRow(key, row);
    state_.pod_counts_.Change(*removed, row, -1, dictionary());
    state_.terms_.Change(*removed, row, -1, state_.generation_);
  }

  // The columns of the row and its list of pods alone; DryRun needs no more.
  GpuMask PutOnRow(const PodPtr& pod, Row row, GpuMask wanted) {
    ChangeRow(*pod, row, 1);
    ChangeZones(pod->Key(), row, -1);
    state_.pods_.Mutable(row).push_back(pod);
    return TakeGpus(*pod, row, wanted);
  }
  PodPtr TakeFromRow(std::uint64_t key, Row row) {
    std::vector<PodPtr>& pods = state_.pods_.Mutable(row);
    const auto it = std::find_if(pods.begin(), pods.end(),
                                 [&](const PodPtr& candidate) { return candidate->Key() == key; });
    PodPtr removed = std::move(*it);
    ChangeRow(*removed, row, -1);
    ChangeZones(key, row, 1);
    if (removed->plan->gpus.count != 0) {
      if (const Placement* placement = state_.placements_.Find(key)) {
        ReturnGpus(*removed, row, placement->gpus);
      }
    }
    *it = std::move(pods.back());
    pods.pop_back();
    return removed;
  }

  void ChangeRow(const PodInfo& pod, Row row, std::int32_t sign) {
    for (const ResourceAmount& request : pod.plan->taken) {
      ColumnOf(state_.requested_, request.resource).Mutable()[row] += sign * request.amount;
    }
    state_.non_zero_cpu_.Mutable()[row] += sign * pod.plan->non_zero_cpu;
    state_.non_zero_memory_.Mutable()[row] += sign * pod.plan->non_zero_memory;
    state_.pod_count_.Mutable()[row] += sign;
    if (!pod.plan->host_ports.empty()) state_.host_port_pods_.Mutable()[row] += sign;
    Touch(row);
  }

  // A pod with a node that is compiled already.
  struct BoundPod {
    PodPtr pod;
    std::string node;
  };

  Result<BoundPod> CompileBound(api::Pod& pod) {
    auto compiled = state_.plans_->CompileBound(pod, dictionary());
    if (!compiled) return compiled.error();
    return BoundPod{*std::move(compiled), std::move(pod.spec.node_name)};
  }

  // Fills an empty cluster with normalised objects, which are moved from, and with more pods.
  Result<void> Fill(api::ObjectList& objects, std::vector<BoundPod> compiled) {
    ObjectStore& store = Store();
    ObjectStore::Fill(store.namespaces, std::move(objects.namespaces));
    ObjectStore::Fill(store.services, std::move(objects.services));
    ObjectStore::Fill(store.replication_controllers, std::move(objects.replication_controllers));
    ObjectStore::Fill(store.replica_sets, std::move(objects.replica_sets));
    ObjectStore::Fill(store.stateful_sets, std::move(objects.stateful_sets));
    ObjectStore::Fill(store.pod_disruption_budgets, std::move(objects.pod_disruption_budgets));
    ObjectStore::Fill(store.priority_classes, std::move(objects.priority_classes));
    ObjectStore::Fill(store.pod_groups, std::move(objects.pod_groups));
    ObjectStore::Fill(store.coscheduling_pod_groups, std::move(objects.coscheduling_pod_groups));
    std::vector<NumaReportPtr> reports;
    reports.reserve(objects.node_resource_topologies.size());
    for (api::NodeResourceTopology& object : objects.node_resource_topologies) {
      auto report = Compile(std::move(object));
      if (!report) return report.error();
      reports.push_back(*std::move(report));
    }
    ObjectStore::Fill(store.node_resource_topologies, std::move(reports));

    std::vector<api::Node*> nodes;
    for (api::Node& node : objects.nodes) nodes.push_back(&node);
    std::stable_sort(nodes.begin(), nodes.end(), [](const api::Node* a, const api::Node* b) {
      return a->metadata.name < b->metadata.name;
    });
    ReserveRows(nodes.size());
    for (api::Node* node : nodes) {
      if (auto done = AddNode(std::move(*node)); !done) return done.error();
    }
    for (api::Pod& pod : objects.pods) {
      if (pod.IsTerminal()) continue;
      if (!pod.spec.node_name.empty()) {
        auto bound = CompileBound(pod);
        if (!bound) return bound.error();
        compiled.push_back(*std::move(bound));
        continue;
      }
      auto done = AddCompiled(std::make_shared<const api::Pod>(std::move(pod)));
      if (!done) return done.error();
    }
    const auto key = [&](const BoundPod& bound) {
      return std::pair(std::string_view(bound.pod->plan->pattern->metadata.ns),
                       dictionary().Text(bound.pod->name));
    };
    std::vector<std::pair<decltype(key(compiled[0])), BoundPod*>> sorted;
    sorted.reserve(compiled.size());
    for (BoundPod& bound : compiled) sorted.emplace_back(key(bound), &bound);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, bound] : sorted) {
      if (auto done = AddNew(std::move(bound->pod), bound->node); !done) return done.error();
    }
    return {};
  }

  Result<PodPtr> AddCompiled(std::shared_ptr<const api::Pod> pod) {
    return AddNew(state_.plans_->Compile(std::move(pod), dictionary()), {});
  }
  Result<PodPtr> AddBound(const api::Pod& pod) {
    return AddNew(state_.plans_->CompileBound(pod, dictionary()), pod.spec.node_name);
  }
  Result<PodPtr> AddNew(Result<PodPtr> compiled, const std::string& node) {
    if (!compiled) return compiled;
    if (state_.placements_.Find((*compiled)->Key()) != nullptr) {
      return ArgumentError("Pod " + (*compiled)->FullName() + " exists already");
    }
    if (auto done = Insert(*compiled, node); !done) return done.error();
    return compiled;
  }

  // `node` is spec.nodeName, `gpus` what the pod had there before.
  Result<void> Insert(PodPtr pod, const std::string& node, GpuMask gpus = 0) {
    const std::uint64_t key = pod->Key();
    Placement placement;
    if (node.empty()) {
      std::vector<PodPtr>& pending = state_.pending_.Mutable();
      placement.index = static_cast<std::uint32_t>(pending.size());
      AddNomination(pod);
      pending.push_back(std::move(pod));
    } else if (const auto row = state_.Find(node)) {
      if (auto done = CheckRoom(*pod, *row); !done) return done;
      placement.where = Where::kNode;
      placement.index = *row;
      const GpuMask named = NamedGpus(*pod);
      placement.gpus = AddToRow(pod, *row, named != 0 ? named : gpus);
    } else {
      placement.where = Where::kOrphan;
      state_.orphans_.Mutable().push_back(std::move(pod));
    }
    Advance();
    state_.placements_.Set(key, placement);
    return {};
  }

  // The pod with this key, which there is.
  void Erase(std::uint64_t key) {
    const Placement placement = *state_.placements_.Find(key);
    switch (placement.where) {
      case Where::kPending:
        LeavePending(placement.index);
        break;
      case Where::kNode:
        RemoveFromRow(key, placement.index);
        break;
      case Where::kOrphan:
        std::erase_if(state_.orphans_.Mutable(),
                      [&](const PodPtr& pod) { return pod->Key() == key; });
        break;
    }
    Advance();
    state_.placements_.Erase(key);
    state_.numa_takes_.Erase(key);
  }

  // Another object of the same pod, which keeps its place among those that wait.
  void ReplacePending(std::uint32_t index, PodPtr next) {
    PodPtr& place = state_.pending_.Mutable()[index];
    RemoveNomination(*place);
    AddNomination(next);
    place = std::move(next);
    Advance();
  }

  void LeavePending(std::uint32_t index) {
    std::vector<PodPtr>& pending = state_.pending_.Mutable();
    RemoveNomination(*pending[index]);
    pending[index] = nullptr;
    Advance();
    if (++state_.pending_gaps_ < 64 || 2 * state_.pending_gaps_ < pending.size()) return;
    std::erase(pending, nullptr);
    state_.pending_gaps_ = 0;
    for (std::uint32_t i = 0; i < pending.size(); ++i) {
      state_.placements_.FindMutable(pending[i]->Key())->index = i;
    }
  }

  void AddNomination(const PodPtr& pod) {
    const std::string& node = pod->pod->status.nominated_node_name;
    if (node.empty()) return;
    state_.nominated_.Mutable()[dictionary().Intern(node)].push_back(pod);
  }
  void RemoveNomination(const PodInfo& pod) {
    const std::string& node = pod.pod->status.nominated_node_name;
    if (node.empty()) return;
    auto& nominated = state_.nominated_.Mutable();
    const auto it = nominated.find(dictionary().Intern(node));
    std::erase_if(it->second, [&](const PodPtr& other) { return other->Key() == pod.Key(); });
    if (it->second.empty()) nominated.erase(it);
  }

  PodPtr WithNodeName(const PodPtr& pod, std::string_view node) {
    if (pod->pod->spec.node_name == node) return pod;
    api::Pod object = *pod->pod;
    object.spec.node_name = node;
    return WithObject(*pod, std::move(object));
  }
  // The same pod with an object that differs in what its plan doesn't depend on.
  static PodPtr WithObject(const PodInfo& pod, api::Pod object) {
    auto out = std::make_shared<PodInfo>();
    out->plan = pod.plan;
    out->name = pod.name;
    out->scheduling_group = pod.scheduling_group;
    out->pod = std::make_shared<const api::Pod>(std::move(object));
    return out;
  }

  // Whether the pods that wait for a node of this name would fit into its columns.
  Result<void> CheckOrphans(StringId node) {
    std::vector<std::pair<ResourceId, std::int64_t>> sums;
    std::int64_t non_zero_cpu = 0, non_zero_memory = 0;
    for (const PodPtr& pod : *state_.orphans_) {
      if (dictionary().Intern(pod->pod->spec.node_name) != node) continue;
      bool bad = __builtin_add_overflow(non_zero_cpu, pod->plan->non_zero_cpu, &non_zero_cpu);
      bad |= __builtin_add_overflow(non_zero_memory, pod->plan->non_zero_memory, &non_zero_memory);
      for (const ResourceAmount& request : pod->plan->taken) {
        auto it = std::find_if(sums.begin(), sums.end(),
                               [&](const auto& sum) { return sum.first == request.resource; });
        if (it == sums.end()) it = sums.insert(it, {request.resource, 0});
        bad |= __builtin_add_overflow(it->second, request.amount, &it->second);
      }
      if (bad) {
        return ParseError("Pod " + pod->FullName() +
                          ": requests on its Node add up to more than 64 bits can hold");
      }
    }
    return {};
  }

  void AdoptOrphans() {
    if (state_.orphans_->empty()) return;
    const std::vector<PodPtr> orphans = *state_.orphans_;
    std::vector<PodPtr> left;
    for (const PodPtr& pod : orphans) {
      const auto row = state_.Find(pod->pod->spec.node_name);
      if (!row) {
        left.push_back(pod);
        continue;
      }
      Placement* placement = state_.placements_.FindMutable(pod->Key());
      placement->gpus =
          AddToRow(pod, *row, placement->gpus != 0 ? placement->gpus : NamedGpus(*pod));
      placement->where = Where::kNode;
      placement->index = *row;
    }
    state_.orphans_.Mutable() = std::move(left);
  }

  Snapshot state_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_CLUSTER_H_
