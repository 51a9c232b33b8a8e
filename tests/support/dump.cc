#include "support/dump.h"

#include <algorithm>
#include <map>
#include <vector>

#include "schedfw/api/write.h"

namespace schedfw::testing {
namespace {

std::string ToLine(const PodInfo& pod, const std::string& node) {
  api::ObjectList one;
  one.pods.push_back(*pod.pod);
  one.pods[0].spec.node_name = node;
  if (!node.empty()) one.pods[0].status.nominated_node_name.clear();
  const std::string text = api::WriteObjects(one);
  const std::size_t begin = text.find('\n') + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string Sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

std::string CanonicalDump(const Snapshot& snapshot) {
  std::string out = "nodes " + std::to_string(snapshot.size()) + "\npods " +
                    std::to_string(snapshot.PodTotal()) + "\nwithout their node " +
                    std::to_string(snapshot.OrphanTotal()) + "\n";
  const Dictionary& dictionary = snapshot.dictionary();
  std::map<std::string, ResourceId> resources;
  for (ResourceId id = 0; id < dictionary.ResourceCount(); ++id) {
    resources.emplace(dictionary.ResourceName(id), id);
  }
  std::map<std::string, Row> nodes;
  for (Row row = 0; row < snapshot.size(); ++row) nodes.emplace(snapshot.name(row), row);
  std::map<std::string, std::int64_t> images;
  for (const auto& [name, row] : nodes) {
    out += "node " + name + "\n";
    for (const auto& [resource, id] : resources) {
      const std::int64_t allocatable = snapshot.Allocatable(id)[row];
      const std::int64_t requested = snapshot.Requested(id)[row];
      if (allocatable == 0 && requested == 0) continue;
      out += "  " + resource + " " + std::to_string(requested) + " of " +
             std::to_string(allocatable) + "\n";
    }
    out += "  non-zero cpu " + std::to_string(snapshot.NonZeroRequestedCpu()[row]) + " memory " +
           std::to_string(snapshot.NonZeroRequestedMemory()[row]) + ", pods " +
           std::to_string(snapshot.PodCount()[row]) + ", with host ports " +
           std::to_string(snapshot.HostPortPods()[row]) + ", unschedulable " +
           std::to_string(snapshot.Unschedulable()[row]) + "\n";
    if (snapshot.Gpus() != nullptr && snapshot.Gpus()[row].count > 0) {
      const GpuDevices& gpus = snapshot.Gpus()[row];
      out += "  GPUs " + std::string(dictionary.Text(gpus.model)) + ":";
      for (int g = 0; g < gpus.count; ++g) out += " " + std::to_string(gpus.left[g]);
      out += "\n";
    }
    if (const NumaZones* zones = snapshot.Numa(row)) {
      for (std::size_t zone = 0; zone < zones->layout->zones(); ++zone) {
        out += "  zone " + std::to_string(zones->layout->ids[zone]);
        for (const auto& [resource, id] : resources) {
          const auto column = zones->layout->Find(id);
          if (column) out += " " + resource + " " + std::to_string(zones->Available(zone, *column));
        }
        out += "\n";
      }
    }
    std::vector<std::string> pods;
    for (const PodPtr& pod : snapshot.pods(row)) {
      const GpuMask gpus = snapshot.GpusOf(pod->Key());
      std::string has = gpus == 0 ? "" : "GPU " + GpuIndexText(gpus) + " ";
      if (const NumaTakes* takes = snapshot.NumaTakesOf(pod->Key())) {
        for (const NumaTake& take : *takes) {
          has += "zone " + std::to_string(take.zone) + " " +
                 std::string(dictionary.ResourceName(take.resource)) + " " +
                 std::to_string(take.amount) + " ";
        }
      }
      pods.push_back("  " + has + ToLine(*pod, name));
    }
    out += Sorted(std::move(pods));
    for (const StringId image : snapshot.record(row).images) {
      const ImageState& state = *snapshot.Image(image);
      images[std::string(dictionary.Text(image)) + " on " + std::to_string(state.node_count)] =
          state.size_bytes;
    }
  }
  for (const auto& [image, size] : images) {
    out += "image " + image + ": " + std::to_string(size) + "\n";
  }
  out += "search order";
  for (const Row row : snapshot.TreeOrder()) out += " " + snapshot.name(row);
  out += "\nwaiting\n";
  std::vector<std::string> waiting;
  for (const PodPtr& pod : snapshot.Pending()) waiting.push_back("  " + ToLine(*pod, ""));
  out += Sorted(std::move(waiting)) + "nominated\n";
  std::vector<std::string> nominated;
  for (const StringId node : snapshot.NominatedNodes()) {
    for (const PodPtr& pod : snapshot.NominatedPods(node)) {
      nominated.push_back("  " + std::string(dictionary.Text(node)) + ": " + pod->FullName());
    }
  }
  out += Sorted(std::move(nominated));

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
  for (const auto& [name, row] : nodes) objects.nodes.push_back(snapshot.node(row));
  return out + api::WriteObjects(objects);
}

}  // namespace schedfw::testing
