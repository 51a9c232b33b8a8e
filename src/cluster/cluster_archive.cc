#include "cluster/cluster_archive.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "io/bytes.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/api/write.h"

namespace schedfw {

namespace {

constexpr std::uint64_t kFormat = 3;
// Pods of one piece of JSON, so that their objects are never there all at once.
constexpr std::size_t kPodsOfPiece = 4096;

Error BadLayout() { return ParseError("the layout of the cluster doesn't fit its objects"); }

// What a cluster says of an image first counts: by row, the first of several with one name.
std::unordered_map<StringId, std::int64_t> SizesByRow(const Snapshot& snapshot) {
  std::unordered_map<StringId, std::int64_t> out;
  for (Row row = 0; row < snapshot.size(); ++row) {
    if (snapshot.record(row).images.empty()) continue;
    for (const api::ContainerImage& image : snapshot.node(row).status.images) {
      for (const std::string& name : image.names) {
        out.try_emplace(snapshot.dictionary().Intern(name), image.size_bytes);
      }
    }
  }
  return out;
}

}  // namespace

ClusterArchive::Saved ClusterArchive::Save(const Snapshot& snapshot) {
  Saved out;
  const ObjectStore& store = snapshot.objects();
  api::ObjectList objects;
  objects.namespaces = store.namespaces;
  objects.services = store.services;
  objects.replication_controllers = store.replication_controllers;
  objects.replica_sets = store.replica_sets;
  objects.stateful_sets = store.stateful_sets;
  objects.pod_disruption_budgets = store.pod_disruption_budgets;
  objects.priority_classes = store.priority_classes;
  objects.pod_groups = store.pod_groups;
  objects.coscheduling_pod_groups = store.coscheduling_pod_groups;
  for (const NumaReportPtr& report : store.node_resource_topologies) {
    objects.node_resource_topologies.push_back(report->object);
  }
  for (Row row = 0; row < snapshot.size(); ++row) objects.nodes.push_back(snapshot.node(row));
  out.objects = api::WriteObjects(objects);

  api::ObjectList piece;
  const auto write_piece = [&] {
    if (piece.pods.empty()) return;
    out.pods.push_back(api::WriteObjects(piece));
    piece.pods.clear();
  };
  const auto add = [&](const PodInfo& pod, const std::string& node) {
    // Of a copy, so that a packed object isn't kept unpacked.
    piece.pods.push_back(*PodObject(pod.pod));
    piece.pods.back().spec.node_name = node;
    out.keys.push_back(pod.Key());
    if (piece.pods.size() == kPodsOfPiece) write_piece();
  };
  std::vector<std::pair<std::string, PodPtr>> assumed;
  const auto add_if_bound = [&](const PodPtr& pod, const std::string& node) {
    if (snapshot.placements_.Find(pod->Key())->assumed) {
      assumed.emplace_back(pod->FullName(), pod);
    } else {
      add(*pod, node);
    }
  };
  for (Row row = 0; row < snapshot.size(); ++row) {
    for (const PodPtr& pod : snapshot.pods(row)) add_if_bound(pod, snapshot.name(row));
  }
  for (const PodPtr& pod : *snapshot.orphans_) add_if_bound(pod, pod->pod->spec.node_name);
  out.first_waiting = out.keys.size();
  for (const PodPtr& pod : *snapshot.pending_) {
    if (pod) add(*pod, {});
  }
  std::sort(assumed.begin(), assumed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PodPtr> returned;
  for (auto& [name, pod] : assumed) {
    add(*pod, {});
    returned.push_back(std::move(pod));
  }
  write_piece();
  SaveLayout(snapshot, out, returned, out.layout);
  return out;
}

void ClusterArchive::SaveLayout(const Snapshot& snapshot, const Saved& saved,
                                const std::vector<PodPtr>& returned, std::string& out) {
  const Row rows = snapshot.size();
  io::ByteWriter writer;
  writer.Number(kFormat);
  writer.Number(rows);
  std::vector<Row> by_arrival(rows), rank(rows);
  for (Row row = 0; row < rows; ++row) by_arrival[row] = row;
  std::sort(by_arrival.begin(), by_arrival.end(),
            [&](Row a, Row b) { return snapshot.record(a).arrival < snapshot.record(b).arrival; });
  for (Row i = 0; i < rows; ++i) rank[by_arrival[i]] = i;
  for (const Row place : rank) writer.Number(place);

  // Of each zone, in order, a row in it.
  std::vector<std::optional<Row>> zones(snapshot.node_tree_.size());
  for (Row row = 0; row < rows; ++row) {
    std::optional<Row>& zone = zones[snapshot.node_tree_.IndexOf(snapshot.record(row).zone)];
    if (!zone) zone = row;
  }
  writer.Number(zones.size());
  for (const std::optional<Row>& row : zones) writer.Number(row.value_or(0));

  std::map<std::string_view, std::int64_t> sizes;
  for (const auto& [name, size] : SizesByRow(snapshot)) {
    const std::int64_t counts = snapshot.Image(name)->size_bytes;
    if (counts != size) sizes.emplace(snapshot.dictionary().Text(name), counts);
  }
  writer.Number(sizes.size());
  for (const auto& [name, size] : sizes) {
    writer.Text(name);
    writer.Signed(size);
  }

  // Nominations by node, where there are several; those of pods that wait again come last.
  std::map<std::string, std::vector<std::uint64_t>> nominated;
  for (const auto& [node, pods] : *snapshot.nominated_) {
    auto& keys = nominated[std::string(snapshot.dictionary().Text(node))];
    for (const PodPtr& pod : pods) keys.push_back(pod->Key());
  }
  for (const PodPtr& pod : returned) {
    const std::string& node = pod->pod->status.nominated_node_name;
    if (!node.empty()) nominated[node].push_back(pod->Key());
  }
  std::erase_if(nominated, [](const auto& entry) { return entry.second.size() < 2; });
  writer.Number(nominated.size());
  if (!nominated.empty()) {
    std::unordered_map<std::uint64_t, std::size_t> number;
    for (std::size_t i = saved.first_waiting; i < saved.keys.size(); ++i) {
      number.emplace(saved.keys[i], i);
    }
    for (const auto& [node, keys] : nominated) {
      writer.Text(node);
      writer.Number(keys.size());
      for (const std::uint64_t key : keys) writer.Number(number.at(key));
    }
  }

  // Which GPUs pods have.
  std::vector<std::pair<std::size_t, GpuMask>> gpus;
  for (std::size_t i = 0; i < saved.first_waiting; ++i) {
    const GpuMask mask = snapshot.placements_.Find(saved.keys[i])->gpus;
    if (mask != 0) gpus.emplace_back(i, mask);
  }
  writer.Number(gpus.size());
  for (const auto& [pod, mask] : gpus) {
    writer.Number(pod);
    writer.Number(mask);
  }

  // What pods have of NUMA zones.
  std::vector<std::pair<std::size_t, const NumaTakes*>> takes;
  for (std::size_t i = 0; i < saved.first_waiting; ++i) {
    const NumaTakes* own = snapshot.NumaTakesOf(saved.keys[i]);
    if (own != nullptr) takes.emplace_back(i, own);
  }
  writer.Number(takes.size());
  for (const auto& [pod, list] : takes) {
    writer.Number(pod);
    writer.Number(list->size());
    for (const NumaTake& take : *list) {
      writer.Number(take.zone);
      writer.Text(snapshot.dictionary().ResourceName(take.resource));
      writer.Signed(take.amount);
    }
  }
  out = writer.Take();
}

// Gives pods what they had of NUMA zones, as long as there is as much.
bool ClusterArchive::RestoreZones(io::ByteReader& reader, Restored& out) {
  Snapshot& state = out.cluster.state_;
  for (std::size_t left = reader.Count(); left > 0; --left) {
    const std::uint64_t pod = reader.Number();
    NumaTakes takes(reader.Count());
    for (NumaTake& take : takes) {
      take.zone = static_cast<std::uint32_t>(reader.Number(kMaxNumaIds - 1));
      take.resource = state.dictionary().Resource(reader.Text());
      take.amount = reader.Signed();
    }
    if (!reader.ok() || pod >= out.first_waiting || takes.empty()) return false;
    const std::uint64_t key = out.pods[pod]->Key();
    if (state.NumaTakesOf(key) != nullptr) return false;
    const auto& placement = *state.placements_.Find(key);
    const NumaZones* zones =
        placement.where == Snapshot::Where::kNode ? state.Numa(placement.index) : nullptr;
    if (placement.where == Snapshot::Where::kNode && zones == nullptr) return false;
    for (const NumaTake& take : takes) {
      if (take.amount <= 0) return false;
      if (zones == nullptr) continue;
      const auto column = zones->layout->Find(take.resource);
      if (take.zone >= zones->layout->zones() || !column ||
          zones->Available(take.zone, *column) < take.amount) {
        return false;
      }
    }
    state.numa_takes_.Set(key, std::make_shared<const NumaTakes>(std::move(takes)));
    if (zones != nullptr) out.cluster.ChangeZones(key, placement.index, -1);
  }
  return true;
}

// Gives pods the GPUs that they had; when they were added some may have got others.
bool ClusterArchive::RestoreGpus(io::ByteReader& reader, Restored& out) {
  Snapshot& state = out.cluster.state_;
  const auto placement_of = [&](std::size_t pod) {
    return state.placements_.FindMutable(out.pods[pod]->Key());
  };
  for (std::size_t i = 0; i < out.first_waiting; ++i) {
    if (out.pods[i]->plan->gpus.IsNone()) continue;
    auto* placement = placement_of(i);
    if (placement->where == Snapshot::Where::kNode) {
      out.cluster.ReturnGpus(*out.pods[i], placement->index, placement->gpus);
    }
    placement->gpus = 0;
  }
  for (std::size_t left = reader.Count(); left > 0; --left) {
    const std::uint64_t pod = reader.Number();
    const auto mask = static_cast<GpuMask>(reader.Number(std::numeric_limits<GpuMask>::max()));
    if (!reader.ok() || pod >= out.first_waiting || mask == 0) return false;
    const GpuRequest& request = out.pods[pod]->plan->gpus;
    auto* placement = placement_of(pod);
    if (request.IsNone() || placement->gpus != 0) return false;
    if (placement->where == Snapshot::Where::kNode && request.slices != 0) {
      const std::uint64_t key = out.pods[pod]->Key();
      if (!state.MigLeft(placement->index, request.mig, key).Has(mask, request.slices)) {
        return false;
      }
    } else if (placement->where == Snapshot::Where::kNode) {
      if (state.gpus_.size() == 0 || !state.gpus_[placement->index].Has(mask, request)) {
        return false;
      }
      out.cluster.ChangeGpus(placement->index, mask, request.milli);
    }
    placement->gpus = mask;
  }
  return true;
}

Result<ClusterArchive::Restored> ClusterArchive::Restore(std::string_view objects,
                                                         const std::vector<std::string_view>& pods,
                                                         std::string_view layout) {
  Restored out;
  Snapshot& state = out.cluster.state_;
  auto others = api::ParseObjects(objects, "objects");
  if (!others) return others.error();
  if (!others->pods.empty()) return BadLayout();
  std::vector<api::Node> nodes = std::exchange(others->nodes, {});
  if (auto done = out.cluster.Fill(*others, {}); !done) return done.error();

  io::ByteReader reader(layout);
  if (reader.Number() != kFormat) return ParseError("the layout of the cluster has another format");
  const std::size_t rows = reader.Count();
  if (!reader.ok() || rows != nodes.size()) return BadLayout();
  std::vector<std::uint64_t> rank(rows);
  std::vector<bool> taken(rows);
  for (std::uint64_t& place : rank) {
    place = reader.Number(rows - 1);
    if (!reader.ok() || taken[place]) return BadLayout();
    taken[place] = true;
  }
  out.cluster.ReserveRows(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (state.Find(nodes[i].metadata.name)) return BadLayout();
    api::SetDefaults(nodes[i]);  // as it was; nothing is taken on trust
    auto compiled = out.cluster.Compile(nodes[i]);
    if (!compiled) return compiled.error();
    out.cluster.InsertRow(*compiled, nodes[i]);
    // Below all that come later: numbers start at 1, and each row has used up one.
    compiled->record->arrival = rank[i] + 1;
  }
  NodeTree tree;
  const std::size_t zones = reader.Count();
  std::vector<bool> first(rows);
  for (std::size_t i = 0; i < zones; ++i) {
    const std::uint64_t row = reader.Number();
    if (!reader.ok() || row >= rows) return BadLayout();
    tree.Add(state.record(static_cast<Row>(row)).zone);
    if (tree.size() != i + 1) return BadLayout();
    first[row] = true;
  }
  for (Row row = 0; row < rows; ++row) {
    if (!first[row]) tree.Add(state.record(row).zone);
  }
  if (tree.size() != zones) return BadLayout();
  state.node_tree_ = std::move(tree);
  out.cluster.NewIndex();
  for (std::size_t left = reader.Count(); left > 0; --left) {
    const std::string_view name = reader.Text();
    const std::int64_t size = reader.Signed();
    auto& images = state.images_.Mutable();
    const auto image = images.find(state.dictionary().Intern(name));
    if (!reader.ok() || image == images.end()) return BadLayout();
    image->second.size_bytes = size;
  }

  bool waiting = false;
  for (const std::string_view text : pods) {
    auto piece = api::ParseObjects(text, "pods");
    if (!piece) return piece.error();
    for (api::Pod& pod : piece->pods) {
      api::SetDefaults(pod);
      waiting = waiting || pod.spec.node_name.empty();
      if (waiting != pod.spec.node_name.empty()) return BadLayout();
      auto added = out.cluster.AddNormalizedPod(std::make_shared<const api::Pod>(std::move(pod)));
      if (!added) return added.error();
      if (*added == nullptr) return BadLayout();
      if (!waiting) ++out.first_waiting;
      out.pods.push_back(*std::move(added));
    }
  }

  for (std::size_t left = reader.Count(); left > 0; --left) {
    const StringId node = state.dictionary().Intern(reader.Text());
    std::unordered_map<std::uint64_t, std::size_t> place;
    for (std::size_t i = 0, n = reader.Count(); i < n; ++i) {
      const std::uint64_t number = reader.Number();
      if (!reader.ok() || number >= out.pods.size()) return BadLayout();
      place.emplace(out.pods[number]->Key(), i);
    }
    auto& nominated = state.nominated_.Mutable();
    const auto found = nominated.find(node);
    if (!reader.ok() || found == nominated.end()) return BadLayout();
    const auto at = [&](const PodPtr& pod) {
      const auto it = place.find(pod->Key());
      return it == place.end() ? place.size() : it->second;
    };
    std::stable_sort(found->second.begin(), found->second.end(),
                     [&](const PodPtr& a, const PodPtr& b) { return at(a) < at(b); });
  }
  if (!RestoreGpus(reader, out) || !RestoreZones(reader, out) || !reader.AtEnd()) {
    return BadLayout();
  }
  return out;
}

}  // namespace schedfw
