// NodeTopology: the GPUs and NICs of one node, and what lies between them.
#ifndef SCHEDFW_TOPOLOGY_NODE_TOPOLOGY_H_
#define SCHEDFW_TOPOLOGY_NODE_TOPOLOGY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedfw {

/// How many GPUs of a node are told apart.
inline constexpr std::int32_t kMaxGpus = 16;
/// Some of a node's GPUs, a bit each.
using GpuMask = std::uint16_t;

/// What lies between two devices, by the names of `nvidia-smi topo -m`; the later, the farther,
/// from kNvLink on.
enum class LinkType : std::uint8_t {
  kUnknown,  ///< N/A
  kSelf,     ///< X
  kNvLink,   ///< NV#: a bonded set of # NVLinks
  kXgmi,     ///< XGMI: AMD's Infinity Fabric
  kPix,      ///< at most one PCIe bridge
  kPxb,      ///< several PCIe bridges, no host bridge
  kPhb,      ///< a PCIe host bridge
  kNode,     ///< host bridges of one NUMA node
  kSys,      ///< the interconnect between NUMA nodes
};

struct Link {
  LinkType type = LinkType::kUnknown;
  std::uint8_t count = 0;  ///< how many NVLinks; 0 of other types

  /// Whether data goes from GPU to GPU without PCIe.
  bool IsDirect() const { return type == LinkType::kNvLink || type == LinkType::kXgmi; }
  friend bool operator==(const Link&, const Link&) = default;
};

namespace internal {

inline constexpr std::array<std::pair<LinkType, std::string_view>, 8> kLinkNames{{
    {LinkType::kUnknown, "N/A"},
    {LinkType::kSelf, "X"},
    {LinkType::kXgmi, "XGMI"},
    {LinkType::kPix, "PIX"},
    {LinkType::kPxb, "PXB"},
    {LinkType::kPhb, "PHB"},
    {LinkType::kNode, "NODE"},
    {LinkType::kSys, "SYS"},
}};

}  // namespace internal

/// "NV12", "PIX", "X", "N/A", ….
inline std::string LinkText(Link link) {
  if (link.type == LinkType::kNvLink) return "NV" + std::to_string(link.count);
  for (const auto& [type, name] : internal::kLinkNames) {
    if (type == link.type) return std::string(name);
  }
  return "N/A";
}

enum class DeviceKind : std::uint8_t { kGpu, kNic };

/// CPUs first to last.
struct CpuRange {
  std::int32_t first = 0;
  std::int32_t last = 0;

  friend bool operator==(const CpuRange&, const CpuRange&) = default;
};

struct Device {
  std::string name;  ///< as links name it: "GPU0", "NIC1", "mlx5_0"
  DeviceKind kind = DeviceKind::kGpu;
  std::string alias;                     ///< what else it is called ("mlx5_bond_1"); may be empty
  std::vector<CpuRange> cpus;            ///< near ones, ascending; empty: unknown
  std::vector<std::int32_t> numa;        ///< near NUMA nodes, ascending; empty: unknown
  std::vector<std::int32_t> cpu_numa;    ///< those of them that have CPUs
  std::optional<std::int32_t> gpu_numa;  ///< the NUMA node that is the GPU's own memory

  friend bool operator==(const Device&, const Device&) = default;
};

struct NumaNode {
  std::int32_t id = 0;
  std::vector<CpuRange> cpus;  ///< ascending; empty: it has memory alone
  std::int64_t memory_bytes = 0;

  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

/// The devices of one node. A plain value: readers and presets make it.
struct NodeTopology {
  std::string source;     ///< "nvidia-smi topo -m", "preset dgx-a100", …
  std::string gpu_model;  ///< "A100-SXM4"; empty: unknown
  std::vector<Device> devices;
  std::vector<Link> links;  ///< devices × devices, row by row, symmetric

  std::vector<NumaNode> numa_nodes;  ///< ascending; empty: not read
  std::vector<std::int32_t>
      numa_distances;  ///< nodes × nodes, row by row (ACPI SLIT); may be empty

  Link link(std::size_t a, std::size_t b) const { return links[a * devices.size() + b]; }
  /// The places of the GPUs among the devices, in their order.
  std::vector<std::size_t> Gpus() const { return Places(DeviceKind::kGpu); }
  std::vector<std::size_t> Nics() const { return Places(DeviceKind::kNic); }

  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;

 private:
  std::vector<std::size_t> Places(DeviceKind kind) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].kind == kind) out.push_back(i);
    }
    return out;
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_NODE_TOPOLOGY_H_
