#include "schedfw/cluster/read_node_topology.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/text_file.h"
#include "schedfw/api/read.h"
#include "schedfw/cluster/numa.h"
#include "schedfw/cluster/topology_table.h"
#include "schedfw/cluster/zone_topology.h"
#include "schedfw/topology/read_topology.h"

namespace schedfw {
namespace {

// Whether a line of YAML, or a member of JSON, begins with this key. The JSON of a topology and the
// text of nvidia-smi have neither.
bool HasKey(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    std::size_t before = at, after = at + key.size();
    const bool quoted = before > 0 && text[before - 1] == '"';
    if (quoted) --before, ++after;
    const bool begins = before == 0 || std::string_view("\n{,- \t").find(text[before - 1]) !=
                                           std::string_view::npos;
    after = std::min(text.find_first_not_of(" \t", std::min(after, text.size())), text.size());
    if (begins && after < text.size() && text[after] == ':') return true;
  }
  return false;
}
bool AreObjects(std::string_view text) {
  return HasKey(text, "apiVersion") && HasKey(text, "kind");
}

Result<NodeTopology> OfAnnotation(const api::Node& node, const std::string& text) {
  const std::string* model = api::Find(node.metadata.labels, kGpuModelKey);
  if (model == nullptr) model = api::Find(node.metadata.labels, kGpuProductLabel);
  auto out = ParseTopologyAnnotation(text, model == nullptr ? std::string_view() : *model);
  if (out) return out;
  return out.error().In("Node " + node.metadata.name + ": metadata.annotations.\"" +
                        std::string(kGpuTopologyAnnotation) + "\"");
}

Result<NodeTopology> OfZones(const api::NodeResourceTopology& object) {
  Dictionary dictionary;
  NumaTable table;
  auto zones = CompileNumaZones(object, dictionary, table);
  if (!zones) return zones.error();
  NodeTopology out = TopologyOfZones(*(*zones)->layout, dictionary);
  if (!out.devices.empty()) return out;
  return ParseError("NodeResourceTopology " + object.metadata.name +
                    ": its zones list no GPUs, or more than " + std::to_string(kMaxGpus));
}

}  // namespace

Result<NodeTopology> ParseNodeTopology(std::string_view text, const std::string& name,
                                       std::string_view node) {
  if (!AreObjects(text)) {
    if (node.empty()) return ParseTopology(text, name);
    return ArgumentError(name + ": is the topology of one node, so that Node " + std::string(node) +
                         " can't be chosen");
  }
  const auto objects = api::ParseObjects(text, name);
  if (!objects) return objects.error();
  // What tells of a node: its annotation before its zones.
  std::map<std::string_view, const api::NodeResourceTopology*> zones;
  std::map<std::string_view, std::pair<const api::Node*, const std::string*>> annotations;
  std::vector<std::string_view> names;
  for (const api::NodeResourceTopology& object : objects->node_resource_topologies) {
    if (zones.insert_or_assign(object.metadata.name, &object).second) {
      names.push_back(object.metadata.name);
    }
  }
  for (const api::Node& object : objects->nodes) {
    const std::string* found = api::Find(object.metadata.annotations, kGpuTopologyAnnotation);
    if (found == nullptr) continue;
    annotations[object.metadata.name] = {&object, found};
    if (!zones.contains(object.metadata.name)) names.push_back(object.metadata.name);
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    return ParseError(name + ": no object tells how devices are linked (allowed: Nodes with the " +
                      "annotation " + std::string(kGpuTopologyAnnotation) +
                      ", NodeResourceTopologies)");
  }
  if (node.empty() && names.size() > 1) {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 8); ++i) {
      list += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    if (names.size() > 8) list += ", …";
    return ArgumentError(name + ": tells of " + std::to_string(names.size()) +
                         " nodes, and none is chosen (allowed: " + list + ")");
  }
  const std::string_view chosen = node.empty() ? names.front() : node;
  const auto annotation = annotations.find(chosen);
  const auto object = zones.find(chosen);
  if (annotation == annotations.end() && object == zones.end()) {
    return ArgumentError(name + ": no object tells of the devices of Node " + std::string(chosen));
  }
  auto out = annotation != annotations.end()
                 ? OfAnnotation(*annotation->second.first, *annotation->second.second)
                 : OfZones(*object->second);
  return out ? std::move(out) : Result<NodeTopology>(out.error().In(name));
}

Result<NodeTopology> ReadNodeTopology(const std::string& path, std::string_view node) {
  const auto text = io::ReadText(path);
  if (!text) return text.error();
  return ParseNodeTopology(*text, path == "-" ? "standard input" : path, node);
}

}  // namespace schedfw
