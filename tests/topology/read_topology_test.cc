#include "schedfw/topology/read_topology.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/topology/hwloc_xml.h"
#include "schedfw/topology/id_ranges.h"
#include "schedfw/topology/numactl.h"
#include "schedfw/topology/nvidia_smi.h"
#include "schedfw/topology/presets.h"
#include "schedfw/topology/topology_json.h"
#include "support/files.h"

namespace schedfw {
namespace {

using Ids = std::vector<std::int32_t>;

NodeTopology Read(std::string_view text) {
  auto out = ParseTopology(text, "f");
  EXPECT_TRUE(out.ok()) << out.error().message();
  return out.ok() ? *std::move(out) : NodeTopology();
}

std::string Refused(std::string_view text) {
  const auto out = ParseTopology(text, "f");
  if (out.ok()) {
    ADD_FAILURE() << "accepted: " << text;
    return "";
  }
  EXPECT_EQ(out.error().kind(), ErrorKind::kParse);
  const std::string& message = out.error().message();
  EXPECT_TRUE(message.starts_with("f:")) << message;
  return message.substr(2);
}

// Rows of links: "X NV2 PIX".
std::vector<std::string> Matrix(const NodeTopology& topology) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    std::string row;
    for (std::size_t j = 0; j < topology.devices.size(); ++j) {
      row += (j == 0 ? "" : " ") + LinkText(topology.link(i, j));
    }
    out.push_back(row);
  }
  return out;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// hwloc. Two packages; on the first a PCIe switch with GPU 1 (NVML's number) and a NIC, a GPU below
// another root port, and one on a second host bridge; the other NIC is on the second package.

std::string Device(const std::string& id, const std::string& bus, const std::string& kind,
                   const std::string& inside) {
  return "<object type=\"PCIDev\" gp_index=\"" + id + "\" pci_busid=\"0000:" + bus +
         "\" pci_type=\"" + kind + " [0000:0000] a1\">" + inside + "</object>\n";
}
std::string Gpu(const std::string& id, const std::string& bus, const std::string& number) {
  return Device(id, bus, "0302 [10de:1db1]",
                "<object type=\"OSDev\" gp_index=\"1" + id + "\" name=\"cuda9" + number +
                    "\" osdev_type=\"5\"/><object type=\"OSDev\" gp_index=\"2" + id +
                    "\" name=\"nvml" + number +
                    "\" osdev_type=\"1\"><info name=\"GPUModel\" value=\"Tesla V100\"/></object>");
}
std::string Nic(const std::string& id, const std::string& bus, const std::string& name,
                const std::string& type) {
  return Device(id, bus, "0207 [15b3:1017]",
                "<object type=\"OSDev\" gp_index=\"1" + id + "\" name=\"" + name +
                    "\" osdev_type=\"" + type + "\"/><object type=\"OSDev\" gp_index=\"2" + id +
                    "\" name=\"ib0\" osdev_type=\"2\"/>");
}
std::string Bridge(const std::string& kind, const std::string& inside) {
  return "<object type=\"Bridge\" bridge_type=\"" + kind + "\" depth=\"0\">\n" + inside +
         "</object>\n";
}
std::string Package(const std::string& cpus, const std::string& nodes, const std::string& inside) {
  return "<object type=\"Package\" cpuset=\"" + cpus + "\" nodeset=\"" + nodes + "\">\n" + inside +
         "</object>\n";
}
std::string Numa(int id, const std::string& cpus) {
  return "<object type=\"NUMANode\" os_index=\"" + std::to_string(id) + "\" gp_index=\"9" +
         std::to_string(id) + "\" cpuset=\"" + cpus + "\" local_memory=\"1024\"/>\n";
}

std::string PciOfPackage0(const std::string& openfabrics) {
  const std::string pcie_switch =
      Bridge("1-1", Bridge("1-1", Gpu("11", "07:00.0", "1")) +
                        Bridge("1-1", Nic("12", "08:00.0", "mlx5_0", openfabrics)));
  return Bridge("0-1", Bridge("1-1", pcie_switch) + Bridge("1-1", Gpu("13", "0a:00.0", "0"))) +
         Bridge("0-1", Bridge("1-1", Gpu("14", "20:00.0", "2")));
}
std::string PciOfPackage1(const std::string& openfabrics) {
  return Bridge("0-1", Device("15", "80:00.0", "0300 [1a03:2000]",
                              "<object type=\"OSDev\" name=\"card0\" osdev_type=\"1\"/>") +
                           Bridge("1-1", Nic("16", "81:00.0", "mlx5_1", openfabrics)));
}

const std::string kHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

std::string Hwloc2(const std::string& version = "2.0", const std::string& openfabrics = "3") {
  return kHead + "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"" + version +
         "\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"0xff\" nodeset=\"0x3\">\n" +
         Package("0x0000000f,,0x0000000f", "0x1",
                 Numa(0, "0x0000000f,,0x0000000f") + PciOfPackage0(openfabrics)) +
         Package("0x000000f0", "0x2", Numa(1, "0xf0") + PciOfPackage1(openfabrics)) +
         "</object>\n"
         "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" name=\"NUMALatency\" "
         "indexing=\"os\">\n<indexes length=\"4\">1 0 </indexes>\n<u64values length=\"6\">10 21 "
         "</u64values><u64values length=\"6\">20 11 </u64values>\n</distances2>\n"
         "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"NVLinkBandwidth\" "
         "indexing=\"gp\">\n<indexes length=\"4\">213 211 214 </indexes>\n<u64values "
         "length=\"6\">1000000 50000 0 50000 1000000 25000 0 25000 1000000 "
         "</u64values>\n</distances2>\n</topology>\n";
}

TEST(HwlocXml, Version2) {
  const NodeTopology out = Read(Hwloc2());
  ASSERT_EQ(out.devices.size(), 5U);
  EXPECT_EQ(out.source, "hwloc");
  EXPECT_EQ(out.gpu_model, "Tesla V100");
  const std::vector<std::string> names{"GPU0", "GPU1", "GPU2", "mlx5_0", "mlx5_1"};
  const Ids numa{0, 0, 0, 0, 1};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(out.devices[i].name, names[i]);
    EXPECT_EQ(out.devices[i].numa, Ids{numa[i]});
    EXPECT_EQ(out.devices[i].cpu_numa, Ids{numa[i]});
    EXPECT_EQ(RangesText(out.devices[i].cpus), numa[i] == 0 ? "0-3,64-67" : "4-7");
  }
  EXPECT_EQ(Matrix(out), (std::vector<std::string>{
                             "X NV2 NODE PHB SYS",
                             "NV2 X NV1 PIX SYS",
                             "NODE NV1 X NODE SYS",
                             "PHB PIX NODE X SYS",
                             "SYS SYS SYS SYS X",
                         }));
  ASSERT_EQ(out.numa_nodes.size(), 2U);
  EXPECT_EQ(out.numa_nodes[1], (NumaNode{1, {{4, 7}}, 1024}));
  EXPECT_EQ(out.numa_distances, (Ids{11, 20, 21, 10}));
}

TEST(HwlocXml, Version3) { EXPECT_EQ(Read(Hwloc2("3.0", "32")), Read(Hwloc2())); }

TEST(HwlocXml, Version1) {
  const auto numa = [](int id, const std::string& cpus, const std::string& nodes,
                       const std::string& inside) {
    return "<object type=\"NUMANode\" os_index=\"" + std::to_string(id) + "\" cpuset=\"" + cpus +
           "\" nodeset=\"" + nodes +
           "\" local_memory=\"1024\">\n<object type=\"Socket\" cpuset=\"" + cpus + "\" nodeset=\"" +
           nodes + "\"/>" + inside + "</object>\n";
  };
  const NodeTopology out =
      Read(kHead +
           "<!DOCTYPE topology SYSTEM \"hwloc.dtd\">\n<topology>\n<object type=\"Machine\" "
           "cpuset=\"0xff\" nodeset=\"0x3\">\n<distances nbobjs=\"2\" relative_depth=\"1\" "
           "latency_base=\"10.000000\"><latency value=\"1.100000\"/><latency value=\"2.000000\"/>"
           "<latency value=\"2.100000\"/><latency value=\"1.000000\"/></distances>\n" +
           numa(0, "0x0000000f,,0x0000000f", "0x1", PciOfPackage0("3")) +
           numa(1, "0x000000f0", "0x2", PciOfPackage1("3")) + "</object>\n</topology>\n");
  NodeTopology want = Read(Hwloc2());
  // Version 1 has no matrix of NVLinks.
  EXPECT_EQ(Matrix(out)[0], "X PHB NODE PHB SYS");
  EXPECT_EQ(Matrix(out)[1], "PHB X NODE PIX SYS");
  EXPECT_EQ(out.devices, want.devices);
  EXPECT_EQ(out.numa_nodes, want.numa_nodes);
  EXPECT_EQ(out.numa_distances, want.numa_distances);
}

TEST(HwlocXml, SwitchesOfNvLink) {
  const std::string matrix =
      "<distances2hetero nbobjs=\"4\" kind=\"25\" name=\"NVLinkBandwidth\"><indexes "
      "length=\"1\">OSDev:213 OSDev:211 PCIDev:77 </indexes><indexes "
      "length=\"1\">PCIDev:78</indexes><u64values length=\"1\">0 0 150000 150000 0 0 150000 125000 "
      "150000 150000 0 0 150000 125000 0 0</u64values></distances2hetero>";
  std::string text = Hwloc2();
  text.replace(text.find("<distances2 type=\"OSDev\""), std::string::npos, matrix + "</topology>");
  EXPECT_EQ(Matrix(Read(text))[0], "X NV11 NODE PHB SYS");
  // Pascal's links are of 20 GB/s.
  EXPECT_EQ(Matrix(Read(Replaced(Hwloc2(), "10de:1db1", "10de:15f9")))[1], "NV3 X NV1 PIX SYS");
  const std::string pascal =
      Replaced(Replaced(Hwloc2(), "10de:1db1", "10de:15f9"), " 50000", " 40000");
  EXPECT_EQ(Matrix(Read(pascal))[1], "NV2 X NV1 PIX SYS");
}

TEST(HwlocXml, Amd) {
  std::string text =
      Replaced(Replaced(Hwloc2(), "\"nvml", "\"rsmi"), "NVLinkBandwidth", "XGMIBandwidth");
  EXPECT_EQ(Matrix(Read(text))[0], "X XGMI NODE PHB SYS");
  // Without a library that knows GPUs, in the order of PCI.
  text = Replaced(Replaced(Hwloc2(), "\"nvml", "\"x"), "\"cuda", "\"y");
  EXPECT_EQ(Matrix(Read(text))[0], "X PHB NODE PIX SYS");
  EXPECT_EQ(Read(text).gpu_model, "");
}

TEST(HwlocXml, MemoryOfGpus) {
  const std::string memory =
      "<object type=\"NUMANode\" subtype=\"GPUMemory\" os_index=\"2\" gp_index=\"92\" "
      "cpuset=\"0xf\" local_memory=\"7\"><info name=\"PCIBusID\" value=\"0000:07:00.0\"/></object>";
  const NodeTopology out = Read(Replaced(Hwloc2(), "<object type=\"NUMANode\" os_index=\"0\"",
                                         memory + "<object type=\"NUMANode\" os_index=\"0\""));
  EXPECT_EQ(out.devices[1].gpu_numa, 2);
  EXPECT_EQ(out.devices[0].gpu_numa, std::nullopt);
  EXPECT_EQ(out.numa_nodes[2], (NumaNode{2, {}, 7}));
  EXPECT_EQ(out.devices[1].cpu_numa, Ids{0});
}

TEST(HwlocXml, Errors) {
  const std::string good = Hwloc2();
  EXPECT_TRUE(Refused(kHead + "<topology>\n<object").starts_with("3: "))
      << Refused(kHead + "<topology>\n<object");
  EXPECT_EQ(Refused(kHead + "<html></html>"),
            " the XML is none of hwloc (allowed: what lstopo --of xml writes)");
  EXPECT_TRUE(Refused("<topology version=\"2.0\"><object type=\"Machine\"/></topology>")
                  .starts_with(" the topology has no GPU"));
  EXPECT_EQ(Refused(Replaced(good, "cpuset=\"0xf0\"", "cpuset=\"0xfg\"")),
            " \"0xfg\" is no set of bits (allowed: as 0x0000000f,0x00000001)");
  EXPECT_EQ(Refused(Replaced(good, "os_index=\"1\"", "os_index=\"-1\"")),
            " a NUMANode has the os_index \"-1\" (allowed: 0 to 4095)");
  EXPECT_EQ(Refused(Replaced(good, "os_index=\"1\"", "os_index=\"0\"")),
            " two NUMA nodes have the os_index 0 (allowed: each once)");
  EXPECT_EQ(Refused(Replaced(good, " 25000 1000000 ", " 25000 ")),
            " NVLinkBandwidth: 8 values for 3 objects (allowed: the square of their number)");
  EXPECT_EQ(Refused(Replaced(good, " 25000 ", " 25e3 ")),
            " NVLinkBandwidth: \"25e3\" is no number (allowed: 0 or more)");
  EXPECT_EQ(Refused(Replaced(good, "mlx5_1", "mlx5_0")),
            " two devices are named \"mlx5_0\" (allowed: each name once)");
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "<object type=\"Group\">";
  for (int i = 0; i < 500; ++i) deep += "</object>";
  EXPECT_EQ(Refused("<topology>" + deep + "</topology>"),
            " objects are nested too deep (allowed: at most 400 levels)");
}

// numactl.

constexpr std::string_view kNumactl =
    "available: 4 nodes (0-1,8,16)\n"
    "node 0 cpus: 0 1 2 3 8 9\n"
    "node 0 size: 1024 MB\n"
    "node 0 free: 512 MB\n"
    "node 1 cpus: 4 5 6 7\n"
    "node 1 size: 2048 MB\n"
    "node 1 free: 512 MB\n"
    "node 8 cpus:\n"
    "node 8 size: 96 MB\n"
    "node 8 free: 0 MB\n"
    "node 16 cpus:\n"
    "node 16 size: 0 MB\n"
    "node distances:\n"
    "node   0   1   8  16 \n"
    "  0:  10  20  40  41 \n"
    "  1:  21  10  42  43 \n"
    "  8:  44  45  10  46 \n"
    " 16:  47  48  49  10 \n";

TEST(Numactl, Facts) {
  const auto facts = ParseNumactl(kNumactl, "n");
  ASSERT_TRUE(facts.ok()) << facts.error().message();
  EXPECT_EQ(facts->nodes, (std::vector<NumaNode>{{0, {{0, 3}, {8, 9}}, 1024 << 20},
                                                 {1, {{4, 7}}, std::int64_t{2048} << 20},
                                                 {8, {}, 96 << 20},
                                                 {16, {}, 0}}));
  EXPECT_EQ(facts->distances,
            (Ids{10, 20, 40, 41, 21, 10, 42, 43, 44, 45, 10, 46, 47, 48, 49, 10}));
  const std::string text(kNumactl);
  for (const std::string& other :
       {Replaced(text, "\n", "\r\n"), "$ numactl -H\n" + text + "$ exit\n", "\n\n" + text}) {
    const auto again = ParseNumactl(other, "n");
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(*again, *facts);
  }
  const auto without = ParseNumactl(text.substr(0, text.find("node distances")), "n");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->nodes, facts->nodes);
  EXPECT_TRUE(without->distances.empty());
}

TEST(Numactl, Combined) {
  const NumaFacts facts = *ParseNumactl(kNumactl, "n");
  NodeTopology topology = Read(
      "     GPU0 GPU1 GPU2 GPU3 CPU Affinity NUMA Affinity\n"
      "GPU0 X    SYS  SYS  SYS  0-3,8-9      0,8\n"
      "GPU1 SYS  X    SYS  SYS  4-7          N/A\n"
      "GPU2 SYS  SYS  X    SYS  N/A          0-1\n"
      "GPU3 SYS  SYS  SYS  X    N/A          N/A\n");
  EXPECT_EQ(topology.devices[0].cpu_numa, (Ids{0, 8}));
  ASSERT_TRUE(AddNumaFacts(topology, facts).ok());
  EXPECT_EQ(topology.devices[0].numa, (Ids{0, 8}));
  EXPECT_EQ(topology.devices[0].cpu_numa, Ids{0});
  EXPECT_EQ(topology.devices[1].numa, Ids{1});
  EXPECT_EQ(topology.devices[1].cpu_numa, Ids{1});
  EXPECT_EQ(RangesText(topology.devices[2].cpus), "0-9");
  EXPECT_EQ(topology.devices[3].numa, Ids{});
  EXPECT_EQ(topology.devices[3].cpus.size(), 0U);
  EXPECT_EQ(topology.numa_nodes, facts.nodes);
  EXPECT_EQ(topology.numa_distances, facts.distances);

  topology.devices[3].numa = {5, 7};
  const NodeTopology before = topology;
  const auto added = AddNumaFacts(topology, facts);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message(),
            "n: has none of the NUMA nodes of GPU3, 5,7 (allowed: what the same node prints)");
  EXPECT_EQ(topology, before);
}

TEST(Numactl, Errors) {
  const std::string text(kNumactl);
  const auto refused = [&](const std::string& from, const std::string& to) {
    const auto out = ParseNumactl(Replaced(text, from, to), "n");
    EXPECT_FALSE(out.ok()) << from << " " << to;
    return out.ok() ? "" : out.error().message();
  };
  EXPECT_EQ(refused("cpus: 4 5", "cpus: 4 x"),
            "n:5: node 1: \"x\" is no CPU (allowed: 0 to 1048575)");
  EXPECT_EQ(refused("node 1 cpus", "node 0 cpus"), "n:5: node 0 is given twice (allowed: once)");
  EXPECT_EQ(refused("(0-1,8,16)", "(0-2,8,16)"),
            "n: node 2 is available but not described (allowed: a line \"node 2 cpus: …\")");
  EXPECT_EQ(refused("(0-1,8,16)", "()"), "n:1: \"()\" names no nodes (allowed: as (0-1) or (0,8))");
  EXPECT_EQ(refused("2048 MB", "2048 GB"),
            "n:6: the size of node 1 isn't clear (allowed: a number and MB)");
  EXPECT_EQ(refused("42  43", "42"), "n:16: node 1 has 3 distances (allowed: 4)");
  EXPECT_EQ(refused("42  43", "42  256"), "n:16: \"256\" is no distance (allowed: 0 to 255)");
  EXPECT_EQ(refused("  1:  21", "  0:  21"),
            "n:14: a node has its distances twice (allowed: once)");
  EXPECT_EQ(refused("  1:  21", "  2:  21"),
            "n:14: distances of node 2, which isn't there (allowed: the nodes with CPU lines)");
  EXPECT_EQ(ParseNumactl("No NUMA support available on this system.\n", "n").error().message(),
            "n: no NUMA node (allowed: the text of numactl -H)");
  EXPECT_EQ(ParseNumactl(" \n", "n").error().message(),
            "n: the text is empty (allowed: the text of numactl -H)");
  EXPECT_EQ(ReadNumactl("nonesuch").error().message(), "nonesuch: No such file or directory");
}

// JSON.

TEST(TopologyJson, RoundTrip) {
  std::vector<NodeTopology> topologies{Read(Hwloc2())};
  for (const TopologyPresetInfo& info : kTopologyPresets) {
    topologies.push_back(*TopologyPreset(info.name));
  }
  const auto cases = testing::TestsDir() / "cases";
  for (const char* name :
       {"B50-topo-nvlink-with-nics/tabs.txt", "B53-topo-old-driver-layout/old.txt",
        "B52-topo-memory-only-numa-nodes/grace.txt"}) {
    topologies.push_back(Read(testing::ReadFile(cases / name)));
  }
  for (const NodeTopology& topology : topologies) {
    EXPECT_EQ(Read(ToJson(TopologyValue(topology))), topology);
    EXPECT_EQ(Read("\xef\xbb\xbf \n" + ToJson(TopologyValue(topology), 2)), topology);
  }
}

TEST(TopologyJson, Form) {
  NodeTopology topology = Read(
      "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tPIX\t0-3\t0\nNIC0\tPIX\tX\n\nNIC0: m\n");
  const std::string json = ToJson(TopologyValue(topology));
  EXPECT_EQ(json, R"({"devices":[{"name":"GPU0","kind":"GPU","numa":[0],"gpu_numa_id":null,)"
                  R"("cpu_numa":[0],"cpus":"0-3"},{"name":"NIC0","kind":"NIC","numa":[],)"
                  R"("gpu_numa_id":null,"cpu_numa":[],"cpus":null,"alias":"m"}],)"
                  R"("links":[["X","PIX"],["PIX","X"]],"source":"nvidia-smi topo -m",)"
                  R"("gpu_model":null,"numa_nodes":[],"numa_distances":[]})");
  // The fixed part is enough.
  const NodeTopology less = Read(
      R"({"devices": [{"name": "GPU0", "kind": "GPU", "numa": [3, 0], "gpu_numa_id": 2}],
          "links": [["X"]], "source": "a", "more": {}})");
  EXPECT_EQ(less.devices[0].numa, (Ids{0, 3}));
  EXPECT_EQ(less.devices[0].cpu_numa, Ids{0});
  EXPECT_EQ(less.source, "a");
}

TEST(TopologyJson, Errors) {
  const std::string good =
      R"({"devices": [{"name": "GPU0", "kind": "GPU", "numa": [0], "gpu_numa_id": null, "cpus": "0-3"},)"
      "\n"
      R"({"name": "NIC0", "kind": "NIC"}], "links": [["X", "PIX"], ["PIX", "X"]],)"
      R"("numa_nodes": [{"id": 0}, {"id": 1}], "numa_distances": [[10, 20], [20, 10]]})";
  EXPECT_TRUE(ParseTopology(good).ok()) << ParseTopology(good).error().message();
  const auto with = [&](const std::string& from, const std::string& to) {
    EXPECT_NE(good.find(from), std::string::npos) << from;
    return Refused(Replaced(good, from, to));
  };
  EXPECT_EQ(with("\"devices\"", "\"x\""), " devices: is missing (allowed: a list)");
  EXPECT_EQ(with("\"links\"", "\"x\""), " links: is missing (allowed: a list)");
  EXPECT_EQ(with("\"GPU\"", "\"TPU\""),
            " devices[0].kind: \"TPU\" is not allowed (allowed: GPU, NIC)");
  EXPECT_EQ(with("\"kind\": \"GPU\"", "\"kind\": \"NIC\""),
            " devices: no device is a GPU (allowed: at least one)");
  EXPECT_EQ(
      with("\"NIC0\"", "\"NIC 0\""),
      " devices[1].name: \"NIC 0\" is not allowed (allowed: a letter, then letters, digits and "
      "_-.@, at most 64, and no link)");
  EXPECT_EQ(with("\"NIC0\"", "\"GPU0\""),
            " devices[1].name: \"GPU0\" is there twice (allowed: each device once)");
  EXPECT_EQ(with("[0]", "[-1]"),
            " devices[0].numa[0]: -1 is not allowed (allowed: an integer from 0 to 4095)");
  EXPECT_EQ(with("[0]", "0"), " devices[0].numa: 0 is not allowed (allowed: a list)");
  EXPECT_EQ(
      with("\"0-3\"", "\"3-0\""),
      " devices[0].cpus: \"3-0\" is not allowed (allowed: numbers up to 1048575 and ranges, as "
      "0-3,8; null)");
  EXPECT_EQ(with("[\"PIX\", \"X\"]", "[\"PXB\", \"X\"]"),
            " links[1][0]: PXB, but the other way it is PIX (allowed: the same both ways)");
  EXPECT_EQ(with("[\"PIX\", \"X\"]", "[\"PIX\", \"SYS\"]"),
            " links[1][1]: \"SYS\" is not allowed (allowed: X)");
  EXPECT_EQ(with("[\"PIX\", \"X\"]", "[\"X\", \"X\"]"),
            " links[1][0]: \"X\" is not allowed (allowed: NV1 to NV255, XGMI, PIX, PXB, PHB, NODE, "
            "SYS, N/A)");
  EXPECT_EQ(with(", [\"PIX\", \"X\"]", ""), " links: 1 rows (allowed: 2, one for each device)");
  EXPECT_EQ(with("{\"id\": 1}", "{\"id\": 0}"),
            " numa_nodes[1].id: 0 is not allowed (allowed: ids that ascend from node to node)");
  EXPECT_EQ(with("[20, 10]", "[20]"),
            " numa_distances[1]: 1 distances (allowed: 2, one for each NUMA node)");
  EXPECT_TRUE(with("\"kind\": \"NIC\"}", "\"kind\": \"NIC\"").starts_with("2: "));
  EXPECT_TRUE(Refused("{}").starts_with(" devices: is missing"));
}

// Formats and files.

TEST(ReadTopology, Formats) {
  EXPECT_EQ(Read("\n\n\tGPU0\nGPU0\tX\n").devices.size(), 1U);
  EXPECT_EQ(Read("[12:00:00] GPU0\n[12:00:00] GPU0 X\n").devices.size(), 1U);
  EXPECT_TRUE(Refused(kNumactl).starts_with(" numactl -H names no devices"));
  EXPECT_TRUE(Refused("").starts_with(" the text is empty"));
  EXPECT_EQ(ReadTopology("dgx-h100").error().message(), "dgx-h100: No such file or directory");
}

TEST(ReadTopology, Gzip) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "schedfw_read_topology_test.gz";
  const std::string text = Hwloc2();
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  const auto got = ReadTopology(path.string());
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_EQ(*got, Read(text));
  std::filesystem::remove(path);
}

// Broken files of all formats never do harm.
TEST(ReadTopology, MutatedTexts) {
  const std::vector<std::string> texts{Hwloc2(), Hwloc2("3.0", "32"), std::string(kNumactl),
                                       ToJson(TopologyValue(*TopologyPreset("dgx-1-v100")), 1)};
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random()) % most; };
  for (int round = 0; round < 2000; ++round) {
    std::string text = texts[below(texts.size())];
    for (std::size_t change = 0; change < 1 + below(3) && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      const std::size_t size = std::min(1 + below(20), text.size() - at);
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
        case 1:
          text.erase(at, size);
          break;
        case 2:
          text.insert(below(text.size()), text.substr(at, size));
          break;
        case 3:
          text[at] = static_cast<char>('0' + below(10));
          break;
        default:
          if (below(8) == 0) text.resize(at);
      }
    }
    const auto numa = ParseNumactl(text, "n");
    EXPECT_TRUE(numa.ok() || numa.error().message().starts_with("n:"));
    const auto got = ParseTopology(text, "f");
    if (!got.ok()) {
      EXPECT_TRUE(got.error().message().starts_with("f:")) << got.error().message();
      continue;
    }
    const std::size_t count = got->devices.size();
    ASSERT_EQ(got->links.size(), count * count);
    EXPECT_FALSE(got->Gpus().empty());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        EXPECT_EQ(got->link(i, j), got->link(j, i));
        EXPECT_EQ(got->link(i, j).type == LinkType::kSelf, i == j);
      }
    }
    EXPECT_EQ(Read(ToJson(TopologyValue(*got))), *got);
  }
}

}  // namespace
}  // namespace schedfw
