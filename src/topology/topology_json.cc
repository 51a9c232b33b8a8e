#include "schedfw/topology/topology_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/json_syntax.h"
#include "schedfw/topology/cpu_numa.h"
#include "schedfw/topology/id_ranges.h"
#include "schedfw/topology/nvidia_smi.h"

namespace schedfw {
namespace {

Value RangesValue(const std::vector<CpuRange>& ranges) {
  return ranges.empty() ? Value() : Value(RangesText(ranges));
}

Value IdsValue(const std::vector<std::int32_t>& ids) {
  Value::List out;
  for (const std::int32_t id : ids) out.emplace_back(std::int64_t{id});
  return out;
}

// Thrown and caught in this file only.
struct BadValue {
  std::string message;
};

// A value and the path to it, for messages.
class Field {
 public:
  Field(const Value* value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void Refuse(const std::string& what, const std::string& allowed) const {
    throw BadValue{path_ + ": " + what + " (allowed: " + allowed + ")"};
  }

  bool IsAbsent() const { return value_ == nullptr || value_->IsNull(); }
  Field Member(std::string_view key) const {
    return {value_->Find(key), (path_.empty() ? "" : path_ + ".") + std::string(key)};
  }
  std::vector<Field> Items() const {
    const Value::List* list = value_ == nullptr ? nullptr : value_->AsList();
    if (list == nullptr) Wrong("a list");
    std::vector<Field> out;
    for (std::size_t i = 0; i < list->size(); ++i) {
      out.emplace_back(&(*list)[i], path_ + "[" + std::to_string(i) + "]");
    }
    return out;
  }
  const Field& AsObject() const {
    if (value_ == nullptr || value_->AsObject() == nullptr) Wrong("an object");
    return *this;
  }
  const std::string& Text() const {
    const std::string* text = value_ == nullptr ? nullptr : value_->AsString();
    if (text == nullptr) Wrong("a string");
    return *text;
  }
  std::int64_t Number(std::int64_t most) const {
    const std::int64_t* number = value_ == nullptr ? nullptr : value_->AsInteger();
    if (number == nullptr || *number < 0 || *number > most) {
      Wrong("an integer from 0 to " + std::to_string(most));
    }
    return *number;
  }
  // Ascending, each once; empty if there are none.
  std::vector<std::int32_t> Ids() const {
    std::vector<std::int32_t> out;
    if (IsAbsent()) return out;
    for (const Field& item : Items()) {
      out.push_back(static_cast<std::int32_t>(item.Number(kMaxNumaId)));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  std::vector<CpuRange> Ranges() const {
    if (IsAbsent()) return {};
    auto out = ParseRanges(Text(), kMaxCpuId);
    if (!out) {
      Refuse(Quoted(Text()) + " is not allowed",
             "numbers up to " + std::to_string(kMaxCpuId) + " and ranges, as 0-3,8; null");
    }
    return *std::move(out);
  }

  static std::string Quoted(std::string_view text) { return "\"" + io::Printable(text) + "\""; }

 private:
  [[noreturn]] void Wrong(const std::string& wanted) const {
    if (value_ == nullptr) Refuse("is missing", wanted);
    const std::int64_t* number = value_->AsInteger();
    Refuse((number == nullptr ? std::string(value_->TypeName()) : std::to_string(*number)) +
               " is not allowed",
           wanted);
  }

  const Value* value_;
  std::string path_;
};

Device ReadDevice(const Field& field) {
  field.AsObject();
  Device out;
  out.name = field.Member("name").Text();
  if (!internal::IsDeviceName(out.name)) {
    field.Member("name").Refuse(Field::Quoted(out.name) + " is not allowed",
                                std::string(internal::kAllowedNames));
  }
  const Field kind = field.Member("kind");
  if (kind.Text() == "NIC") {
    out.kind = DeviceKind::kNic;
  } else if (kind.Text() != "GPU") {
    kind.Refuse(Field::Quoted(kind.Text()) + " is not allowed", "GPU, NIC");
  }
  if (const Field alias = field.Member("alias"); !alias.IsAbsent()) out.alias = alias.Text();
  out.numa = field.Member("numa").Ids();
  out.cpu_numa = field.Member("cpu_numa").Ids();
  out.cpus = field.Member("cpus").Ranges();
  if (const Field id = field.Member("gpu_numa_id"); !id.IsAbsent()) {
    out.gpu_numa = static_cast<std::int32_t>(id.Number(kMaxNumaId));
  }
  return out;
}

void ReadLinks(const Field& field, NodeTopology& out) {
  const std::vector<Field> rows = field.Items();
  const std::size_t count = out.devices.size();
  const std::string wanted = std::to_string(count) + ", one for each device";
  if (rows.size() != count) field.Refuse(std::to_string(rows.size()) + " rows", wanted);
  out.links.resize(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Field> cells = rows[i].Items();
    if (cells.size() != count) rows[i].Refuse(std::to_string(cells.size()) + " links", wanted);
    for (std::size_t j = 0; j < count; ++j) {
      const auto link = ParseLink(cells[j].Text());
      if (!link || (link->type == LinkType::kSelf) != (i == j)) {
        cells[j].Refuse(Field::Quoted(cells[j].Text()) + " is not allowed",
                        i == j ? "X" : std::string(internal::kAllowedLinks.substr(3)));
      }
      if (j < i && out.link(j, i) != *link) {
        cells[j].Refuse(LinkText(*link) + ", but the other way it is " + LinkText(out.link(j, i)),
                        "the same both ways");
      }
      out.links[i * count + j] = *link;
    }
  }
}

void ReadNuma(const Field& nodes, const Field& distances, NodeTopology& out) {
  if (!nodes.IsAbsent()) {
    for (const Field& item : nodes.Items()) {
      item.AsObject();
      NumaNode node;
      node.id = static_cast<std::int32_t>(item.Member("id").Number(kMaxNumaId));
      if (!out.numa_nodes.empty() && node.id <= out.numa_nodes.back().id) {
        item.Member("id").Refuse(std::to_string(node.id) + " is not allowed",
                                 "ids that ascend from node to node");
      }
      node.cpus = item.Member("cpus").Ranges();
      const Field memory = item.Member("memory_bytes");
      if (!memory.IsAbsent()) node.memory_bytes = memory.Number(INT64_MAX);
      out.numa_nodes.push_back(std::move(node));
    }
  }
  if (distances.IsAbsent()) return;
  const std::vector<Field> rows = distances.Items();
  const std::size_t count = out.numa_nodes.size();
  if (rows.empty()) return;
  const std::string wanted = std::to_string(count) + ", one for each NUMA node";
  if (rows.size() != count) distances.Refuse(std::to_string(rows.size()) + " rows", wanted);
  for (const Field& row : rows) {
    const std::vector<Field> cells = row.Items();
    if (cells.size() != count) row.Refuse(std::to_string(cells.size()) + " distances", wanted);
    for (const Field& cell : cells) {
      out.numa_distances.push_back(static_cast<std::int32_t>(cell.Number(255)));
    }
  }
}

NodeTopology ReadObject(const Field& top) {
  NodeTopology out;
  std::unordered_set<std::string> names;
  bool has_cpu_numa = false;
  const Field devices = top.AsObject().Member("devices");
  for (const Field& item : devices.Items()) {
    if (out.devices.size() == kMaxDevices) {
      devices.Refuse("too many", "at most " + std::to_string(kMaxDevices));
    }
    out.devices.push_back(ReadDevice(item));
    const std::string& name = out.devices.back().name;
    if (!names.insert(name).second) {
      item.Member("name").Refuse(Field::Quoted(name) + " is there twice", "each device once");
    }
    has_cpu_numa = has_cpu_numa || !item.Member("cpu_numa").IsAbsent();
  }
  if (out.Gpus().empty()) devices.Refuse("no device is a GPU", "at least one");
  ReadLinks(top.Member("links"), out);
  if (const Field source = top.Member("source"); !source.IsAbsent()) out.source = source.Text();
  if (const Field model = top.Member("gpu_model"); !model.IsAbsent()) out.gpu_model = model.Text();
  ReadNuma(top.Member("numa_nodes"), top.Member("numa_distances"), out);
  if (!has_cpu_numa) SetCpuNuma(out);
  return out;
}

}  // namespace

Value TopologyValue(const NodeTopology& topology) {
  Value::List devices;
  for (const Device& device : topology.devices) {
    Value item;
    item.Set("name", device.name);
    item.Set("kind", device.kind == DeviceKind::kGpu ? "GPU" : "NIC");
    item.Set("numa", IdsValue(device.numa));
    item.Set("gpu_numa_id", Value());
    if (device.gpu_numa) item.Set("gpu_numa_id", std::int64_t{*device.gpu_numa});
    item.Set("cpu_numa", IdsValue(device.cpu_numa));
    item.Set("cpus", RangesValue(device.cpus));
    if (!device.alias.empty()) item.Set("alias", device.alias);
    devices.push_back(std::move(item));
  }
  Value::List links;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    Value::List row;
    for (std::size_t j = 0; j < topology.devices.size(); ++j) {
      row.emplace_back(LinkText(topology.link(i, j)));
    }
    links.emplace_back(std::move(row));
  }
  Value::List nodes;
  Value::List distances;
  const std::size_t count = topology.numa_nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const NumaNode& node = topology.numa_nodes[i];
    Value item;
    item.Set("id", std::int64_t{node.id});
    item.Set("cpus", RangesValue(node.cpus));
    item.Set("memory_bytes", node.memory_bytes);
    nodes.push_back(std::move(item));
    if (topology.numa_distances.empty()) continue;
    const auto row = topology.numa_distances.begin() + static_cast<std::ptrdiff_t>(i * count);
    distances.push_back(IdsValue({row, row + static_cast<std::ptrdiff_t>(count)}));
  }
  Value out;
  out.Set("devices", std::move(devices));
  out.Set("links", std::move(links));
  out.Set("source", topology.source);
  out.Set("gpu_model", topology.gpu_model.empty() ? Value() : Value(topology.gpu_model));
  out.Set("numa_nodes", std::move(nodes));
  out.Set("numa_distances", std::move(distances));
  return out;
}

Result<NodeTopology> TopologyFromValue(const Value& value, const std::string& name) {
  try {
    return ReadObject(Field(&value, ""));
  } catch (const BadValue& bad) {
    return ParseError(name + ": " + bad.message);
  }
}

Result<NodeTopology> ParseTopologyJson(std::string_view text, const std::string& name) {
  auto value = ParseValue(text, name);
  if (!value) return value.error();
  return TopologyFromValue(*value, name);
}

}  // namespace schedfw
