// TopologyPreset: the devices of well-known machines.
//
// Where a figure comes from stands beside it. What no vendor documents is a usual value, and called
// typical: PCIe switches of servers that several makers build, sizes of main memory, and distances
// between NUMA nodes (the firmware's: 21 between sockets on Xeon, 12 within one and 32 between two
// on EPYC).
#ifndef SCHEDFW_TOPOLOGY_PRESETS_H_
#define SCHEDFW_TOPOLOGY_PRESETS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/topology/cpu_numa.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

struct TopologyPresetInfo {
  std::string_view name;
  std::string_view about;   ///< one sentence
  std::string_view source;  ///< where its links come from
};

/// All presets, in the order in which the machines came out.
inline constexpr std::array<TopologyPresetInfo, 6> kTopologyPresets{{
    {"dgx-1-v100", "NVIDIA DGX-1 with 8 V100 in a hybrid cube mesh of one and two NVLinks.",
     "NVIDIA DGX-1 With Tesla V100 System Architecture (white paper); NVIDIA/nccl#671"},
    {"dgx-a100", "NVIDIA DGX A100: 8 A100 on NVSwitch, 8 NICs, and 8 NUMA nodes (NPS4).",
     "NVIDIA DGX A100 User Guide; NVIDIA/nccl#1505; NVIDIA/DCGM#149"},
    {"a100-pcie-8", "A server with 8 PCIe A100, bridged by NVLink in pairs, on two sockets.",
     "NVIDIA A100 80GB PCIe product brief; the server is typical"},
    {"dgx-h100", "NVIDIA DGX H100: 8 H100 on NVSwitch, 8 NICs, and 2 NUMA nodes.",
     "NVIDIA DGX H100/H200 User Guide; sgl-project/sglang#9812"},
    {"split-socket-4", "A server with 4 GPUs without NVLink, two on each socket.", "typical"},
    {"mi300x-8", "A server with 8 AMD MI300X, each linked to all others by Infinity Fabric.",
     "AMD Instinct MI300X Platform data sheet; the server is typical"},
}};

namespace internal {

// Where a device is, from which follows what lies between two of them.
struct PresetPlace {
  std::string name;
  std::int32_t numa = 0;
  std::int32_t pcie_switch = 0;
  std::string alias;
};

// The links of a machine whose devices are the nearer, the more of the place they share.
struct PresetLinks {
  LinkType same_switch = LinkType::kPix;
  LinkType same_numa = LinkType::kNode;
};

class PresetBuilder {
 public:
  PresetBuilder(std::string_view name, std::string gpu_model) {
    out_.source = "preset " + std::string(name);
    out_.gpu_model = std::move(gpu_model);
  }

  // NUMA nodes of `cores` cores each with two hardware threads, numbered as Linux does on x86:
  // first one thread of every core, then the others.
  void AddNumaNodes(std::int32_t count, std::int32_t cores, std::int64_t gib) {
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t first = i * cores;
      const std::int32_t second = (count + i) * cores;
      out_.numa_nodes.push_back(
          {i, {{first, first + cores - 1}, {second, second + cores - 1}}, gib << 30});
    }
  }
  // Distances of nodes that are spread evenly over two sockets.
  void SetDistances(std::int32_t same_socket, std::int32_t other_socket) {
    const std::size_t count = out_.numa_nodes.size();
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        const bool same = a / (count / 2) == b / (count / 2);
        out_.numa_distances.push_back(a == b ? 10 : (same ? same_socket : other_socket));
      }
    }
  }

  void Add(DeviceKind kind, PresetPlace place) {
    Device device;
    device.name = place.name;
    device.kind = kind;
    device.alias = place.alias;
    device.numa = {place.numa};
    for (const NumaNode& node : out_.numa_nodes) {
      if (node.id == place.numa) device.cpus = node.cpus;
    }
    out_.devices.push_back(std::move(device));
    places_.push_back(std::move(place));
  }
  // Adds GPU0, GPU1, … or NIC0, NIC1, …, a number of them for each (NUMA node, PCIe switch).
  void AddRow(DeviceKind kind, std::size_t each,
              const std::vector<std::pair<std::int32_t, std::int32_t>>& where) {
    const bool gpu = kind == DeviceKind::kGpu;
    for (std::size_t i = 0; i < where.size() * each; ++i) {
      const std::string number = std::to_string(i);
      const auto [numa, pcie_switch] = where[i / each];
      Add(kind, {(gpu ? "GPU" : "NIC") + number, numa, pcie_switch, gpu ? "" : "mlx5_" + number});
    }
  }

  // `direct` gives the link of two GPUs, by their numbers; kUnknown: there is none.
  template <typename Direct>
  NodeTopology Build(PresetLinks links, const Direct& direct) {
    for (std::size_t a = 0; a < places_.size(); ++a) {
      for (std::size_t b = 0; b < places_.size(); ++b) {
        Link link = a == b ? Link{LinkType::kSelf} : ByPlace(links, places_[a], places_[b]);
        const bool gpus =
            out_.devices[a].kind == DeviceKind::kGpu && out_.devices[b].kind == DeviceKind::kGpu;
        if (a != b && gpus) {  // GPUs come first, so that a place is a number
          const Link found = direct(a, b);
          if (found.type != LinkType::kUnknown) link = found;
        }
        out_.links.push_back(link);
      }
    }
    SetCpuNuma(out_);
    return std::move(out_);
  }

 private:
  static Link ByPlace(PresetLinks links, const PresetPlace& a, const PresetPlace& b) {
    if (a.numa != b.numa) return {LinkType::kSys};
    return {a.pcie_switch == b.pcie_switch ? links.same_switch : links.same_numa};
  }

  NodeTopology out_;
  std::vector<PresetPlace> places_;
};

inline NodeTopology Dgx1V100(std::string_view name) {
  // NVLinks between GPUs: the figure of the white paper; the counts also stand in the dump of
  // NVIDIA/nccl#671. Each GPU has six.
  constexpr std::array<std::array<std::uint8_t, 8>, 8> kNvLinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                                 {1, 0, 2, 1, 0, 2, 0, 0},
                                                                 {1, 2, 0, 2, 0, 0, 1, 0},
                                                                 {2, 1, 2, 0, 0, 0, 0, 1},
                                                                 {2, 0, 0, 0, 0, 1, 1, 2},
                                                                 {0, 2, 0, 0, 1, 0, 2, 1},
                                                                 {0, 0, 1, 0, 1, 2, 0, 2},
                                                                 {0, 0, 0, 1, 2, 1, 2, 0}}};
  PresetBuilder builder(name, "V100-SXM2");
  // Two Xeon E5-2698 v4 of 20 cores and 512 GB.
  builder.AddNumaNodes(2, 20, 256);
  builder.SetDistances(21, 21);
  // Two GPUs and a NIC on each of four PCIe switches.
  builder.AddRow(DeviceKind::kGpu, 2, {{0, 0}, {0, 1}, {1, 2}, {1, 3}});
  builder.AddRow(DeviceKind::kNic, 1, {{0, 0}, {0, 1}, {1, 2}, {1, 3}});
  return builder.Build({LinkType::kPix, LinkType::kPhb}, [&](std::size_t a, std::size_t b) {
    const std::uint8_t count = kNvLinks[a][b];
    return count == 0 ? Link{} : Link{LinkType::kNvLink, count};
  });
}

// GPUs that NVSwitches link each to all others.
inline auto AllToAll(LinkType type, std::uint8_t count) {
  return [=](std::size_t, std::size_t) { return Link{type, count}; };
}

inline NodeTopology DgxA100(std::string_view name) {
  PresetBuilder builder(name, "A100-SXM4");
  // Two EPYC 7742 of 64 cores, four NUMA nodes each, and 1 TB (with 40 GB GPUs).
  builder.AddNumaNodes(8, 16, 128);
  builder.SetDistances(12, 32);
  // The NUMA nodes as the outputs in NVIDIA/nccl#1505 and NVIDIA/DCGM#149 show them.
  builder.AddRow(DeviceKind::kGpu, 2, {{3, 0}, {1, 1}, {7, 2}, {5, 3}});
  // mlx5_4, 5, 10 and 11 are for storage and left out.
  constexpr std::array<std::string_view, 8> kNics{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
                                                  "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"};
  constexpr std::array<std::int32_t, 4> kNuma{3, 1, 7, 5};
  for (std::size_t i = 0; i < kNics.size(); ++i) {
    builder.Add(DeviceKind::kNic, {"NIC" + std::to_string(i), kNuma[i / 2],
                                   static_cast<std::int32_t>(i / 2), std::string(kNics[i])});
  }
  return builder.Build({LinkType::kPxb, LinkType::kNode}, AllToAll(LinkType::kNvLink, 12));
}

inline NodeTopology A100Pcie8(std::string_view name) {
  PresetBuilder builder(name, "A100-PCIE");
  // Typical: two EPYC of 64 cores, one NUMA node and 512 GB each, a PCIe switch for two GPUs, and a
  // NIC a socket.
  builder.AddNumaNodes(2, 64, 512);
  builder.SetDistances(32, 32);
  builder.AddRow(DeviceKind::kGpu, 2, {{0, 0}, {0, 1}, {1, 2}, {1, 3}});
  builder.AddRow(DeviceKind::kNic, 1, {{0, 4}, {1, 5}});
  // Three bridges of four links join two cards: 600 GB/s.
  return builder.Build({LinkType::kPxb, LinkType::kNode}, [](std::size_t a, std::size_t b) {
    return a / 2 == b / 2 ? Link{LinkType::kNvLink, 12} : Link{};
  });
}

inline NodeTopology DgxH100(std::string_view name) {
  PresetBuilder builder(name, "H100-SXM5");
  // Two Xeon 8480C of 56 cores and 2 TB.
  builder.AddNumaNodes(2, 56, 1024);
  builder.SetDistances(21, 21);
  // A GPU and its ConnectX-7 are below one PCIe switch.
  const std::vector<std::pair<std::int32_t, std::int32_t>> where{{0, 0}, {0, 1}, {0, 2}, {0, 3},
                                                                 {1, 4}, {1, 5}, {1, 6}, {1, 7}};
  builder.AddRow(DeviceKind::kGpu, 1, where);
  builder.AddRow(DeviceKind::kNic, 1, where);
  return builder.Build({LinkType::kPxb, LinkType::kNode}, AllToAll(LinkType::kNvLink, 18));
}

inline NodeTopology SplitSocket4(std::string_view name) {
  PresetBuilder builder(name, "L40S");
  // Typical: two Xeon of 32 cores, 256 GB each; each card in a slot of its own.
  builder.AddNumaNodes(2, 32, 256);
  builder.SetDistances(21, 21);
  builder.AddRow(DeviceKind::kGpu, 1, {{0, 0}, {0, 1}, {1, 2}, {1, 3}});
  builder.AddRow(DeviceKind::kNic, 1, {{0, 4}, {1, 5}});
  return builder.Build({LinkType::kPix, LinkType::kNode},
                       [](std::size_t, std::size_t) { return Link{}; });
}

inline NodeTopology Mi300x8(std::string_view name) {
  PresetBuilder builder(name, "MI300X");
  // Typical: two EPYC of 96 cores, one NUMA node and 1 TB each, and a NIC beside each GPU.
  builder.AddNumaNodes(2, 96, 1024);
  builder.SetDistances(32, 32);
  const std::vector<std::pair<std::int32_t, std::int32_t>> where{{0, 0}, {0, 1}, {0, 2}, {0, 3},
                                                                 {1, 4}, {1, 5}, {1, 6}, {1, 7}};
  builder.AddRow(DeviceKind::kGpu, 1, where);
  builder.AddRow(DeviceKind::kNic, 1, where);
  return builder.Build({LinkType::kPxb, LinkType::kNode}, AllToAll(LinkType::kXgmi, 0));
}

}  // namespace internal

/// The devices, links, NUMA nodes and distances of a machine; `source` is "preset " and its name.
///
/// Errors (kind kArgument): no such preset; the message names all. Complexity: devices squared.
inline Result<NodeTopology> TopologyPreset(std::string_view name) {
  if (name == "dgx-1-v100") return internal::Dgx1V100(name);
  if (name == "dgx-a100") return internal::DgxA100(name);
  if (name == "a100-pcie-8") return internal::A100Pcie8(name);
  if (name == "dgx-h100") return internal::DgxH100(name);
  if (name == "split-socket-4") return internal::SplitSocket4(name);
  if (name == "mi300x-8") return internal::Mi300x8(name);
  std::string allowed;
  for (const TopologyPresetInfo& info : kTopologyPresets) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(info.name);
  }
  return ArgumentError("there is no preset of that name (allowed: " + allowed + ")");
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_PRESETS_H_
