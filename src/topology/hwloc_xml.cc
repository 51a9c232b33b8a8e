#include "schedfw/topology/hwloc_xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "io/json_syntax.h"
#include "schedfw/topology/cpu_numa.h"
#include "schedfw/topology/id_ranges.h"
#include "schedfw/topology/nvidia_smi.h"

namespace schedfw {
namespace {

// hwloc's own trees have some twenty levels, and PCI buses are 256.
constexpr std::size_t kMaxDepth = 400;
// Distances are nodes squared.
constexpr std::size_t kMaxNodes = 1024;
// MB/s of one NVLink in each direction, as hwloc/topology-nvml.c gives them.
constexpr std::uint64_t kNvLink1 = 20'000;
constexpr std::uint64_t kNvLink2 = 25'000;

std::string Quoted(std::string_view text) { return "\"" + io::Printable(text) + "\""; }

// Thrown and caught in this file only.
struct BadTopology {
  std::string message;
};
[[noreturn]] void Refuse(const std::string& what, const std::string& allowed) {
  throw BadTopology{what + " (allowed: " + allowed + ")"};
}

std::string_view Attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

// The value of <info name="…" value="…"/> inside of an object.
std::string_view Info(const pugi::xml_node& node, std::string_view name) {
  for (const pugi::xml_node& info : node.children("info")) {
    if (Attribute(info, "name") == name) return Attribute(info, "value");
  }
  return {};
}

template <typename T>
std::optional<T> Number(std::string_view text, int base = 10) {
  T out{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out, base);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return out;
}

// Reads "0x0000000f,,0x00000001": words of 32 bits, the highest first; an empty one is zero.
std::vector<CpuRange> ReadBits(std::string_view text, std::int32_t most) {
  std::vector<std::int32_t> ids;
  std::size_t words = static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
  for (std::string_view rest = text; words-- > 0;) {
    const std::size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (word.starts_with("0x")) word.remove_prefix(2);
    const auto bits = word.empty() ? 0 : Number<std::uint32_t>(word, 16);
    const bool fits = words * 32 <= static_cast<std::size_t>(most);
    if (!bits || (*bits != 0 && !fits)) {
      Refuse(Quoted(text) + " is no set of bits", "as 0x0000000f,0x00000001");
    }
    for (std::int32_t bit = 31; *bits != 0 && bit >= 0; --bit) {
      if ((*bits >> bit & 1) != 0) ids.push_back(static_cast<std::int32_t>(words * 32) + bit);
    }
  }
  return IdRanges(ids);
}

// A text that is only shown, which may hold any bytes.
std::string Ascii(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

// What an OS device's name says: which library found it, and its number there.
struct OsName {
  std::size_t library = 0;
  std::uint32_t number = 0;
};

// In the order in which their numbers are preferred.
constexpr std::array<std::string_view, 7> kGpuLibraries{"nvml", "amdsmi", "rsmi",     "cuda",
                                                        "ze",   "opencl", "levelzero"};

std::optional<OsName> GpuName(std::string_view name) {
  for (std::size_t i = 0; i < kGpuLibraries.size(); ++i) {
    if (!name.starts_with(kGpuLibraries[i])) continue;
    std::string_view number = name.substr(kGpuLibraries[i].size());
    if (kGpuLibraries[i] == "opencl") {  // opencl0d1: platform and device
      const std::size_t d = number.find('d');
      if (d == std::string_view::npos || !Number<std::uint32_t>(number.substr(0, d))) continue;
      number.remove_prefix(d + 1);
    }
    if (const auto value = Number<std::uint32_t>(number)) return OsName{i, *value};
  }
  return std::nullopt;
}

// An object that devices are attached to: CPUs and memory.
struct Place {
  std::vector<CpuRange> cpus;
  std::vector<std::int32_t> numa;
};

// A GPU or NIC.
struct Found {
  DeviceKind kind = DeviceKind::kGpu;
  std::string name;  // of a NIC
  std::string bus;   // PCI address
  std::string model;
  OsName order{kGpuLibraries.size(), 0};
  bool certain = true;                 // an OS device says so
  std::uint64_t nvlink = kNvLink2;     // MB/s of one
  std::vector<std::string> ids;        // of its objects, as matrices name them
  std::size_t place = 0;               // index
  std::vector<std::uint64_t> bridges;  // from the host bridge down, numbered
  bool has_host_bridge = false;
};

class HwlocReader {
 public:
  NodeTopology Read(const pugi::xml_document& document) {
    const pugi::xml_node root = document.child("topology");
    if (!root) Refuse("the XML is none of hwloc", "what lstopo --of xml writes");
    version3_ = Attribute(root, "version").starts_with("3");
    Walk walk;
    for (const pugi::xml_node& child : root.children("object")) Visit(child, walk, 1);
    if (!found_any_gpu_) certain_only_ = false;
    Choose();
    MakeDevices();
    ReadMatrices(root);
    SetCpuNuma(out_);
    out_.source = "hwloc";
    return std::move(out_);
  }

 private:
  struct Walk {
    std::size_t place = kNoPlace;
    std::vector<std::uint64_t> bridges;
    bool has_host_bridge = false;
  };
  static constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

  void Visit(const pugi::xml_node& node, const Walk& outer, std::size_t depth) {
    if (depth > kMaxDepth) {
      Refuse("objects are nested too deep", "at most " + std::to_string(kMaxDepth) + " levels");
    }
    const std::string_view type = Attribute(node, "type");
    Walk walk = outer;
    if (type == "Bridge") {
      walk.bridges.push_back(++bridges_);
      if (Attribute(node, "bridge_type").starts_with("0")) walk.has_host_bridge = true;
    } else if (type == "PCIDev") {
      VisitPci(node, walk);
    } else if (type == "OSDev") {
      VisitOs(node, walk);
    } else if (type == "NUMANode") {
      VisitNuma(node);
    }
    const bool in_tree = type != "Bridge" && type != "PCIDev" && type != "OSDev" && type != "Misc";
    // Devices hang on packages, NUMA nodes and groups, never on a processing unit.
    if (in_tree && type != "PU" && node.attribute("cpuset")) {
      places_.push_back({ReadBits(Attribute(node, "cpuset"), kMaxCpuId),
                         RangeIds(ReadBits(Attribute(node, "nodeset"), kMaxNumaId))});
      walk.place = places_.size() - 1;
    }
    for (const pugi::xml_node& child : node.children("object")) Visit(child, walk, depth + 1);
  }

  void VisitNuma(const pugi::xml_node& node) {
    const auto id = ParseId(Attribute(node, "os_index"), kMaxNumaId);
    if (!id) {
      Refuse("a NUMANode has the os_index " + Quoted(Attribute(node, "os_index")),
             "0 to " + std::to_string(kMaxNumaId));
    }
    if (out_.numa_nodes.size() == kMaxNodes) {
      Refuse("too many NUMA nodes", "at most " + std::to_string(kMaxNodes));
    }
    NumaNode out;
    out.id = *id;
    out.cpus = ReadBits(Attribute(node, "cpuset"), kMaxCpuId);
    if (const auto memory = Number<std::int64_t>(Attribute(node, "local_memory"))) {
      out.memory_bytes = std::max<std::int64_t>(*memory, 0);
    }
    numa_order_.push_back(*id);
    numa_ids_["NUMANode:" + std::string(Attribute(node, "gp_index"))] = *id;
    const std::string_view bus = Info(node, "PCIBusID");
    if (Attribute(node, "subtype") == "GPUMemory" && !bus.empty()) {
      gpu_memory_.emplace(std::string(bus), *id);
      out.cpus.clear();  // hwloc gives it those of the CPU beside it
    }
    out_.numa_nodes.push_back(std::move(out));
  }

  static Found At(const Walk& walk) {
    Found out;
    out.place = walk.place;
    out.bridges = walk.bridges;
    out.has_host_bridge = walk.has_host_bridge;
    return out;
  }

  // A PCI device with what programs call it.
  void VisitPci(const pugi::xml_node& node, const Walk& walk) {
    Found gpu = At(walk);
    gpu.bus = Attribute(node, "pci_busid");
    gpu.ids.push_back("PCIDev:" + std::string(Attribute(node, "gp_index")));
    gpu.certain = false;
    for (const pugi::xml_node& child : node.children("object")) {
      if (Attribute(child, "type") != "OSDev") continue;
      TakeGpuName(child, gpu);
    }
    // "0302 [10de:20b0] …": class, vendor, device.
    const std::string_view text = Attribute(node, "pci_type");
    const std::string_view kind = text.substr(0, 4);
    const std::string_view vendor = text.size() >= 10 ? text.substr(6, 4) : std::string_view();
    const std::string_view device = text.size() >= 15 ? text.substr(11, 4) : std::string_view();
    // Tesla P100, of which NVLinks are of the first kind.
    if (vendor == "10de" && device.starts_with("15f")) gpu.nvlink = kNvLink1;
    // Display and 3D controllers; AMD's 0300 are also the consoles of old servers.
    const bool likely = (vendor == "10de" && kind.starts_with("03")) ||
                        (vendor == "1002" && (kind == "0380" || kind == "1200"));
    if (gpu.model.empty()) gpu.model = Info(node, "PCIDevice");
    if (gpu.certain || likely) found_.push_back(std::move(gpu));
  }

  void TakeGpuName(const pugi::xml_node& node, Found& gpu) {
    const auto name = GpuName(Attribute(node, "name"));
    if (!name) return;
    gpu.certain = true;
    found_any_gpu_ = true;
    gpu.ids.push_back("OSDev:" + std::string(Attribute(node, "gp_index")));
    if (name->library < gpu.order.library) gpu.order = *name;
    if (gpu.model.empty()) gpu.model = Info(node, "GPUModel");
  }

  void VisitOs(const pugi::xml_node& node, const Walk& walk) {
    const std::string_view name = Attribute(node, "name");
    // Where PCI devices were left out, OS devices hang on the tree of CPUs.
    if (Attribute(node.parent(), "type") != "PCIDev" && GpuName(name)) {
      Found gpu = At(walk);
      TakeGpuName(node, gpu);
      found_.push_back(std::move(gpu));
      return;
    }
    const std::string_view type = Attribute(node, "osdev_type");
    const auto number = Number<unsigned>(type);
    // A number in versions 1 and 2, a set of bits in version 3.
    if (!number || (version3_ ? (*number & 32U) == 0 : *number != 3)) return;
    if (!internal::IsDeviceName(name)) {
      Refuse("an OpenFabrics device has the name " + Quoted(name),
             std::string(internal::kAllowedNames));
    }
    Found nic = At(walk);
    nic.kind = DeviceKind::kNic;
    nic.name = name;
    nic.bus = Attribute(node.parent(), "pci_busid");
    found_.push_back(std::move(nic));
  }

  // Sorts the devices and leaves out what is none.
  void Choose() {
    std::erase_if(found_, [&](const Found& found) {
      if (found.kind != DeviceKind::kGpu) return false;
      return certain_only_ && !found.certain;
    });
    // Without PCI devices, each library has its own objects: the first counts.
    std::size_t library = kGpuLibraries.size();
    for (const Found& found : found_) {
      if (found.bus.empty()) library = std::min(library, found.order.library);
    }
    std::erase_if(found_, [&](const Found& found) {
      return found.kind == DeviceKind::kGpu && found.bus.empty() && found.order.library != library;
    });
    const auto key = [](const Found& found) {
      return std::tuple(found.kind, found.order.library, found.order.number,
                        found.kind == DeviceKind::kGpu ? found.bus : std::string());
    };
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Found& a, const Found& b) { return key(a) < key(b); });
    if (found_.empty() || found_.front().kind != DeviceKind::kGpu) {
      Refuse("the topology has no GPU", "at least one; lstopo --whole-io shows all devices");
    }
    if (found_.size() > kMaxDevices) {
      Refuse(std::to_string(found_.size()) + " devices", "at most " + std::to_string(kMaxDevices));
    }
  }

  // Devices on the whole machine can be anywhere, unless it has one node only.
  bool IsKnown(std::size_t place) const {
    return place != kNoPlace &&
           (out_.numa_nodes.size() <= 1 || places_[place].numa.size() < CpuNodes());
  }
  std::size_t CpuNodes() const {
    return out_.numa_nodes.size() - std::min(gpu_memory_.size(), out_.numa_nodes.size());
  }

  void MakeDevices() {
    std::vector<std::string> names;
    for (const Found& found : found_) {
      Device device;
      device.kind = found.kind;
      device.name =
          found.kind == DeviceKind::kGpu ? "GPU" + std::to_string(out_.devices.size()) : found.name;
      if (std::find(names.begin(), names.end(), device.name) != names.end()) {
        Refuse("two devices are named " + Quoted(device.name), "each name once");
      }
      names.push_back(device.name);
      if (IsKnown(found.place)) {
        device.cpus = places_[found.place].cpus;
        device.numa = places_[found.place].numa;
      }
      if (const auto memory = gpu_memory_.find(found.bus);
          memory != gpu_memory_.end() && found.kind == DeviceKind::kGpu) {
        device.gpu_numa = memory->second;
      }
      if (found.kind == DeviceKind::kGpu && out_.gpu_model.empty())
        out_.gpu_model = Ascii(found.model);
      out_.devices.push_back(std::move(device));
    }
    for (std::size_t a = 0; a < found_.size(); ++a) {
      for (std::size_t b = 0; b < found_.size(); ++b) {
        out_.links.push_back({a == b ? LinkType::kSelf : Between(a, b)});
      }
    }
  }

  // What lies between two devices by the tree of PCI.
  LinkType Between(std::size_t a, std::size_t b) const {
    const Found& x = found_[a];
    const Found& y = found_[b];
    const auto [end, unused] =
        std::mismatch(x.bridges.begin(), x.bridges.end(), y.bridges.begin(), y.bridges.end());
    const auto shared = static_cast<std::size_t>(end - x.bridges.begin());
    if (shared == 0) {
      const Device& c = out_.devices[a];
      const Device& d = out_.devices[b];
      const bool one_node = out_.numa_nodes.size() <= 1 || (!c.numa.empty() && c.numa == d.numa);
      return one_node ? LinkType::kNode : LinkType::kSys;
    }
    if (shared == 1 && x.has_host_bridge && y.has_host_bridge) return LinkType::kPhb;
    // A switch is a bridge above and one for each of its ports below.
    const std::size_t below = std::max(x.bridges.size(), y.bridges.size()) - shared;
    return below <= 1 ? LinkType::kPix : LinkType::kPxb;
  }

  // A matrix of hwloc: the objects, and a value for each two of them.
  struct Matrix {
    std::vector<std::string> ids;
    std::vector<std::uint64_t> values;
  };

  static std::vector<std::string> Words(const pugi::xml_node& node, const char* name) {
    std::vector<std::string> out;
    for (const pugi::xml_node& child : node.children(name)) {
      std::string_view text = child.text().get();
      while (true) {
        const std::size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) break;
        const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
        out.emplace_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
      }
    }
    return out;
  }

  static Matrix ReadMatrix(const pugi::xml_node& node) {
    Matrix out;
    const std::string type(Attribute(node, "type"));
    const bool by_os = Attribute(node, "indexing") == "os";
    for (std::string& id : Words(node, "indexes")) {
      const bool typed = id.find(':') != std::string::npos;
      out.ids.push_back(typed ? std::move(id) : (by_os ? "os:" : type + ":") + id);
    }
    const std::string name(Attribute(node, "name"));
    for (const std::string& word : Words(node, "u64values")) {
      const auto value = Number<std::uint64_t>(word);
      if (!value) Refuse(name + ": " + Quoted(word) + " is no number", "0 or more");
      out.values.push_back(*value);
    }
    if (out.values.size() != out.ids.size() * out.ids.size()) {
      Refuse(name + ": " + std::to_string(out.values.size()) + " values for " +
                 std::to_string(out.ids.size()) + " objects",
             "the square of their number");
    }
    return out;
  }

  void ReadMatrices(const pugi::xml_node& root) {
    std::vector<std::int32_t> distances;
    for (const pugi::xml_node& node : root.children()) {
      const std::string_view element = node.name();
      if (element != "distances2" && element != "distances2hetero") continue;
      const std::string_view name = Attribute(node, "name");
      if (name == "NVLinkBandwidth") {
        TakeNvLinks(ReadMatrix(node));
      } else if (name == "XGMIBandwidth") {
        TakeXgmi(ReadMatrix(node));
      } else if (Attribute(node, "type") == "NUMANode" && distances.empty() && IsLatency(node)) {
        distances = NumaDistances(ReadMatrix(node));
      }
    }
    if (distances.empty()) distances = OldDistances(root);
    SortNuma(distances);
  }

  // hwloc/include/hwloc/distances.h: 4 is "means latency".
  static bool IsLatency(const pugi::xml_node& node) {
    const auto kind = Number<unsigned>(Attribute(node, "kind"));
    return kind && (*kind & 4U) != 0;
  }

  // The device that an object of a matrix is; found_.size() if it is none.
  std::size_t DeviceOf(const std::string& id) const {
    const auto found = std::find_if(found_.begin(), found_.end(), [&](const Found& item) {
      return std::find(item.ids.begin(), item.ids.end(), id) != item.ids.end();
    });
    return static_cast<std::size_t>(found - found_.begin());
  }

  void SetLink(std::size_t a, std::size_t b, Link link) {
    out_.links[a * found_.size() + b] = link;
    out_.links[b * found_.size() + a] = link;
  }

  void TakeNvLinks(const Matrix& matrix) {
    const std::size_t count = matrix.ids.size();
    std::vector<std::size_t> devices;
    for (const std::string& id : matrix.ids) devices.push_back(DeviceOf(id));
    // What each GPU has to NVSwitches, which no device of ours is.
    std::vector<std::uint64_t> to_switches(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (devices[i] == found_.size()) continue;
      for (std::size_t j = 0; j < count; ++j) {
        const bool is_switch = matrix.ids[j].starts_with("PCIDev:") && devices[j] == found_.size();
        if (is_switch)
          to_switches[i] += std::min<std::uint64_t>(matrix.values[i * count + j], 1U << 30);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (devices[i] == found_.size() || devices[j] == found_.size()) continue;
        if (devices[i] == devices[j]) continue;
        const std::uint64_t direct =
            std::max(matrix.values[i * count + j], matrix.values[j * count + i]);
        const std::uint64_t bandwidth =
            direct != 0 ? direct : std::min(to_switches[i], to_switches[j]);
        if (bandwidth == 0) continue;
        const std::uint64_t one = std::min(found_[devices[i]].nvlink, found_[devices[j]].nvlink);
        const std::uint64_t links = std::clamp<std::uint64_t>((bandwidth + one / 2) / one, 1, 255);
        SetLink(devices[i], devices[j], {LinkType::kNvLink, static_cast<std::uint8_t>(links)});
      }
    }
  }

  void TakeXgmi(const Matrix& matrix) {
    const std::size_t count = matrix.ids.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t a = DeviceOf(matrix.ids[i]);
        const std::size_t b = DeviceOf(matrix.ids[j]);
        if (a == b || a == found_.size() || b == found_.size()) continue;
        if (matrix.values[i * count + j] != 0) SetLink(a, b, {LinkType::kXgmi});
      }
    }
  }

  // Rows and columns in the order of numa_order_.
  std::vector<std::int32_t> NumaDistances(const Matrix& matrix) const {
    const std::size_t count = numa_order_.size();
    std::vector<std::size_t> places;
    for (const std::string& id : matrix.ids) {
      std::optional<std::int32_t> node;
      if (id.starts_with("os:")) {
        node = ParseId(std::string_view(id).substr(3), kMaxNumaId);
      } else if (const auto found = numa_ids_.find(id); found != numa_ids_.end()) {
        node = found->second;
      }
      const auto at = std::find(numa_order_.begin(), numa_order_.end(), node.value_or(-1));
      if (at == numa_order_.end()) return {};  // of nodes that weren't written
      places.push_back(static_cast<std::size_t>(at - numa_order_.begin()));
    }
    std::vector<std::int32_t> out(count * count, -1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = 0; j < places.size(); ++j) {
        const std::uint64_t value = matrix.values[i * places.size() + j];
        out[places[i] * count + places[j]] =
            static_cast<std::int32_t>(std::min<std::uint64_t>(value, 255));
      }
    }
    // Distances of some nodes only are of no use.
    return std::find(out.begin(), out.end(), -1) == out.end() ? out : std::vector<std::int32_t>();
  }

  // Version 1: <distances nbobjs="2" latency_base="10"><latency value="1.0"/>…, in the order of
  // the objects.
  std::vector<std::int32_t> OldDistances(const pugi::xml_node& root) const {
    const pugi::xml_node node = root.child("object").child("distances");
    const std::size_t count = numa_order_.size();
    if (node.attribute("nbobjs").as_uint() != count) return {};
    const double base = node.attribute("latency_base").as_double();
    std::vector<std::int32_t> out;
    for (const pugi::xml_node& item : node.children("latency")) {
      const double value = item.attribute("value").as_double() * base + 0.5;
      if (!(value >= 0 && value < 256)) return {};
      out.push_back(static_cast<std::int32_t>(value));
    }
    return out.size() == count * count ? out : std::vector<std::int32_t>();
  }

  // Puts the NUMA nodes in order, and their distances with them.
  void SortNuma(const std::vector<std::int32_t>& distances) {
    const std::size_t count = numa_order_.size();
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return numa_order_[a] < numa_order_[b]; });
    std::vector<NumaNode> sorted;
    for (const std::size_t i : order) {
      if (!sorted.empty() && sorted.back().id == numa_order_[i]) {
        Refuse("two NUMA nodes have the os_index " + std::to_string(numa_order_[i]), "each once");
      }
      sorted.push_back(std::move(out_.numa_nodes[i]));
    }
    out_.numa_nodes = std::move(sorted);
    if (distances.empty()) return;
    for (const std::size_t i : order) {
      for (const std::size_t j : order) out_.numa_distances.push_back(distances[i * count + j]);
    }
  }

  bool version3_ = false;
  bool found_any_gpu_ = false;
  bool certain_only_ = true;
  std::uint64_t bridges_ = 0;
  std::vector<Place> places_;
  std::vector<Found> found_;
  std::vector<std::int32_t> numa_order_;            // by position in the file
  std::map<std::string, std::int32_t> numa_ids_;    // by "NUMANode:" and gp_index
  std::map<std::string, std::int32_t> gpu_memory_;  // by PCI address
  NodeTopology out_;
};

}  // namespace

Result<NodeTopology> ParseHwlocXml(std::string_view text, const std::string& name) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    const auto end = std::min(static_cast<std::size_t>(parsed.offset), text.size());
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    std::string reason = parsed.description();
    if (!reason.empty() && reason.front() >= 'A' && reason.front() <= 'Z') {
      reason.front() = static_cast<char>(reason.front() - 'A' + 'a');
    }
    return ParseError(name + ":" + std::to_string(line) + ": " + reason +
                      " (allowed: what lstopo --of xml writes)");
  }
  try {
    return HwlocReader().Read(document);
  } catch (const BadTopology& bad) {
    return ParseError(name + ": " + bad.message);
  }
}

}  // namespace schedfw
