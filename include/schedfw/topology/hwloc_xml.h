// ParseHwlocXml: the devices of a node as hwloc's lstopo writes them.
#ifndef SCHEDFW_TOPOLOGY_HWLOC_XML_H_
#define SCHEDFW_TOPOLOGY_HWLOC_XML_H_

#include <string>
#include <string_view>

#include "schedfw/base/result.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// Reads an XML file of hwloc, of versions 1, 2 and 3 (`lstopo --of xml`).
///
/// GPUs are PCI devices with an OS device of CUDA, NVML, ROCm SMI, Level Zero or OpenCL; where
/// hwloc was built without all of them, the display controllers and processing
/// accelerators of NVIDIA and AMD.
/// They are numbered as NVML does, else as the first of those that numbers them, else by PCI
/// address. NICs are OpenFabrics devices (mlx5_0) and have their names. What lies between two of
/// them follows from the tree of PCI bridges, and from the matrices NVLinkBandwidth and
/// XGMIBandwidth: the number of NVLinks is the bandwidth over that of one link (20 GB/s on Pascal,
/// 25 GB/s since); GPUs on NVSwitches are linked by all that both have. NUMA nodes, their sizes and
/// distances are read too. A device of which hwloc knows no place has no CPUs and NUMA nodes.
///
/// Errors (kind kParse), with name and, where the XML is broken, line: no XML, not hwloc's, no GPU,
/// too many devices, malformed CPU sets and matrices. Complexity: linear, and devices squared.
Result<NodeTopology> ParseHwlocXml(std::string_view text, const std::string& name = "<text>");

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_HWLOC_XML_H_
