#include "schedfw/topology/nvidia_smi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/topology/islands.h"
#include "schedfw/topology/presets.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::ReadFile;
using testing::TestsDir;

using Ids = std::vector<std::int32_t>;

std::string CaseText(const std::string& path) { return ReadFile(TestsDir() / "cases" / path); }

NodeTopology Read(std::string_view text) {
  auto out = ParseNvidiaSmi(text);
  EXPECT_TRUE(out.ok()) << out.error().message();
  return out.ok() ? *std::move(out) : NodeTopology();
}

NodeTopology ReadCase(const std::string& path) { return Read(CaseText(path)); }

// The message of an error, without the name.
std::string Refused(std::string_view text) {
  const auto out = ParseNvidiaSmi(text, "f");
  if (out.ok()) {
    ADD_FAILURE() << "accepted: " << text;
    return "";
  }
  EXPECT_EQ(out.error().kind(), ErrorKind::kParse);
  const std::string& message = out.error().message();
  EXPECT_TRUE(message.starts_with("f:")) << message;
  EXPECT_NE(message.find(" (allowed: "), std::string::npos) << message;
  return message.substr(2);
}

std::string Between(const NodeTopology& topology, std::string_view a, std::string_view b) {
  std::optional<std::size_t> x;
  std::optional<std::size_t> y;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    if (topology.devices[i].name == a) x = i;
    if (topology.devices[i].name == b) y = i;
  }
  return x && y ? LinkText(topology.link(*x, *y)) : "no such device";
}

// What any answer must be.
void ExpectValid(const NodeTopology& topology) {
  const std::size_t count = topology.devices.size();
  EXPECT_FALSE(topology.Gpus().empty());
  ASSERT_EQ(topology.links.size(), count * count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_FALSE(topology.devices[i].name.empty());
    for (std::size_t j = 0; j < count; ++j) {
      EXPECT_EQ(topology.link(i, j), topology.link(j, i));
      EXPECT_EQ(topology.link(i, j).type == LinkType::kSelf, i == j);
    }
  }
}

// The cases with recorded answers.

TEST(Case, B50TopoNvlinkWithNics) {
  const NodeTopology tabs = ReadCase("B50-topo-nvlink-with-nics/tabs.txt");
  ExpectValid(tabs);
  const std::vector<std::size_t> gpus = tabs.Gpus();
  ASSERT_EQ(gpus.size(), 4U);
  EXPECT_EQ(tabs.Nics().size(), 2U);
  for (const std::size_t a : gpus) {
    for (const std::size_t b : gpus) {
      const Link want = a == b ? Link{LinkType::kSelf} : Link{LinkType::kNvLink, 18};
      EXPECT_EQ(tabs.link(a, b), want);
    }
  }
  EXPECT_EQ(Between(tabs, "GPU3", "NIC1"), "PHB");
  EXPECT_EQ(Between(tabs, "GPU2", "NIC1"), "PIX");
  const Ids numa{0, 0, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tabs.devices[i].numa, Ids{numa[i]});
    EXPECT_EQ(tabs.devices[i].cpu_numa, Ids{numa[i]});
    EXPECT_EQ(tabs.devices[i].gpu_numa, std::nullopt);
  }
  EXPECT_EQ(tabs.devices[2].cpus, (std::vector<CpuRange>{{80, 159}}));
  EXPECT_EQ(tabs.devices[4].numa, Ids{});
  EXPECT_EQ(tabs.devices[4].alias, "mlx5_0");
  EXPECT_EQ(tabs.devices[5].name, "NIC1");
  EXPECT_EQ(tabs.devices[5].alias, "mlx5_bond_1");

  const NodeTopology spaces = ReadCase("B50-topo-nvlink-with-nics/spaces.txt");
  ExpectValid(spaces);
  EXPECT_EQ(spaces.devices.size(), 5U);
  EXPECT_EQ(Between(spaces, "GPU1", "NIC10"), "PIX");
  EXPECT_EQ(Between(spaces, "NIC9", "NIC10"), "PIX");
  EXPECT_EQ(Between(spaces, "NIC8", "GPU0"), "SYS");
  EXPECT_EQ(spaces.devices[1].cpus, (std::vector<CpuRange>{{0, 95}, {192, 287}}));
  EXPECT_EQ(spaces.devices[1].numa, Ids{0});
}

TEST(Case, B52TopoMemoryOnlyNumaNodes) {
  const NodeTopology grace = ReadCase("B52-topo-memory-only-numa-nodes/grace.txt");
  ExpectValid(grace);
  const Ids cpu_numa{0, 0, 1, 1};
  const Ids memory{2, 10, 18, 26};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(grace.devices[i].cpu_numa, Ids{cpu_numa[i]});
    EXPECT_EQ(grace.devices[i].gpu_numa, memory[i]);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_EQ(grace.link(i, j), (Link{LinkType::kNvLink, 18}));
    }
  }
  EXPECT_EQ(grace.devices[0].numa, (Ids{0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17}));
}

TEST(Case, B53TopoOldDriverLayout) {
  const NodeTopology old = ReadCase("B53-topo-old-driver-layout/old.txt");
  ExpectValid(old);
  ASSERT_EQ(old.Gpus().size(), 3U);
  ASSERT_EQ(old.Nics(), (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(old.devices[3].name, "mlx5_0");
  EXPECT_EQ(old.devices[4].name, "mlx5_1");
  EXPECT_EQ(Between(old, "GPU0", "GPU2"), "NV6");
  EXPECT_EQ(Between(old, "GPU1", "GPU2"), "NV6");
  for (const Device& device : old.devices) {
    EXPECT_EQ(device.numa, Ids{});
    EXPECT_EQ(device.cpu_numa, Ids{});
  }
  EXPECT_EQ(RangesText(old.devices[2].cpus), "24-47,72-95");

  const NodeTopology no_id = ReadCase("B53-topo-old-driver-layout/numa-no-id.txt");
  ExpectValid(no_id);
  EXPECT_EQ(Between(no_id, "GPU0", "GPU1"), "NV8");
  EXPECT_EQ(no_id.devices[0].numa, Ids{0});
  EXPECT_EQ(no_id.devices[1].numa, Ids{1});
  EXPECT_EQ(no_id.devices[0].gpu_numa, std::nullopt);
}

TEST(Case, B55TopoWithoutGpus) {
  for (const std::string name : {"driver-missing.txt", "nvml-error.txt", "shell.txt"}) {
    const std::string text = CaseText("B55-topo-without-gpus/" + name);
    const std::string message = Refused(text);
    EXPECT_TRUE(message.starts_with("1: no matrix of devices")) << message;
    EXPECT_NE(message.find(text.substr(0, text.find('\n'))), std::string::npos) << message;
  }
  const std::string message = Refused(CaseText("B55-topo-without-gpus/empty.txt"));
  EXPECT_TRUE(message.starts_with(" the text is empty")) << message;
}

// Layouts.

constexpr std::string_view kTwo =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\tPIX\t0-9,20-29\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\t10-19\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Puts `prefix` before every line.
std::string Prefixed(std::string_view text, const std::string& prefix) {
  return prefix + Replaced(std::string(text.substr(0, text.size() - 1)), "\n", "\n" + prefix) +
         "\n";
}

TEST(NvidiaSmi, AroundTheMatrix) {
  const NodeTopology want = Read(kTwo);
  ExpectValid(want);
  EXPECT_EQ(want.source, "nvidia-smi topo -m");
  EXPECT_EQ(want.devices[2].alias, "mlx5_0");
  const std::string two(kTwo);
  const std::string underlined = Replaced(two, "\tGPU0\tGPU1", "\t\x1b[4mGPU0\tGPU1");
  const std::vector<std::string> texts{
      Replaced(two, "\n", "\r\n"),
      Replaced(two, "\n", "\r\r\n"),
      Replaced(two, "\n", "\r"),
      Replaced(two, "\n", "\n\n \t\n"),
      Replaced(two, "\n", "  \t \n"),
      Replaced(two, "\t", "    "),
      Replaced(two, "\t", "\xc2\xa0"),
      Replaced(two, "NIC0\tCPU", "NIC0 CPU"),
      Replaced(two, "\t\t\t\t\n", "\n"),
      "\xef\xbb\xbf" + two,
      "\n\n" + two,
      Replaced(underlined, "GPU NUMA ID\n", "GPU NUMA ID\x1b[0m\n"),
      Replaced(Replaced(underlined, "\x1b", ""), "GPU NUMA ID\n", "GPU NUMA ID[0m\n"),
      Replaced(Replaced(underlined, "\x1b", "\xef\xbf\xbd"), "GPU NUMA ID\n",
               "GPU NUMA ID\xef\xbf\xbd[0m\n"),
      Replaced(Replaced(underlined, "\x1b", "^["), "GPU NUMA ID\n", "GPU NUMA ID^[[0m\n"),
      Replaced(two, "NV4", "\x1b[1;32mNV4\x1b[m\x1b[K"),
      "\x1b]0;root@node: ~\aroot@node:~# nvidia-smi topo -m\n" + two,
      "$ nvidia-smi topo -m\n" + two + "$ echo GPU0\nGPU0\n$ \n",
      "Defaulted container \"main\" out of: main, init (init)\n" + two +
          "command terminated with exit code 0\n",
      "Mon Dec  1 10:00:00 2025\nGPU0 and GPU1 are those of node GPU0\n" + two + "GPU0 is idle\n",
      Prefixed(two, "> "),
      Prefixed(two, "    "),
      Prefixed(two, "> > "),
      "```\n" + two + "```\n",
      Prefixed(two, "2025-12-01T10:00:00.123456789Z "),
      Prefixed(two, "2025-12-01 10:00:00,123 [main] "),
      Prefixed(two, "app-1  | "),
      "nvidia-smi topo -m |" + Replaced(two, "\t", " | "),
      // The first matrix counts.
      two + "\n" + Replaced(two, "NV4", "SYS"),
      two + "\n \tGPU0\tGPU1\t\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n",
  };
  for (const std::string& text : texts) {
    const auto got = ParseNvidiaSmi(text, "f");
    ASSERT_TRUE(got.ok()) << got.error().message() << "\n" << text;
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(NvidiaSmi, LegendsThatAreCutOff) {
  const std::string two(kTwo);
  NodeTopology want = Read(kTwo);
  want.devices[2].alias.clear();
  const std::size_t rows = two.find("\nLegend");
  const std::size_t aliases = two.find("\nNIC Legend");
  for (std::size_t end = rows - 5; end < two.size() - 8; ++end) {
    const auto got = ParseNvidiaSmi(two.substr(0, end), "f");
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ(*got, want) << end;
  }
  EXPECT_EQ(*ParseNvidiaSmi(two.substr(0, aliases) + "\n  NIC0: mlx5_0\n"), Read(kTwo));
  EXPECT_EQ(Read(Replaced(two, "NIC0: mlx5_0", "NIC0: mlx5_bond_1 (up)")).devices[2].alias,
            "mlx5_bond_1");
  EXPECT_EQ(Read(Replaced(two, "NIC0: mlx5_0", "NIC7: mlx5_0")).devices[2].alias, "");
}

TEST(NvidiaSmi, NamesOfOldDrivers) {
  const NodeTopology old = Read(
      "      GPU0  GPU1  GPU2  mlx4_0  CPU Affinity\n"
      "GPU0  X     PSB   SOC   PHB     0-0,2-2,4-4\n"
      "GPU1  PSB   X     SOC   INTERNAL 0,2,4\n"
      "GPU2  SOC   SOC   X     SOC     1,3,5\n"
      "mlx4_0 PHB  INTERNAL  SOC   X\n"
      "\nLegend:\n\n  X   = Self\n  SOC = Path traverses a socket-level link (e.g. QPI)\n");
  ExpectValid(old);
  EXPECT_EQ(Between(old, "GPU0", "GPU1"), "PIX");
  EXPECT_EQ(Between(old, "GPU0", "GPU2"), "SYS");
  EXPECT_EQ(Between(old, "GPU1", "mlx4_0"), "PIX");
  EXPECT_EQ(old.devices[0].cpus, old.devices[1].cpus);
  EXPECT_EQ(RangesText(old.devices[0].cpus), "0,2,4");
}

TEST(NvidiaSmi, Headings) {
  const auto with = [](const std::string& headings, const std::string& cells) {
    return Read("     GPU0" + headings + "\nGPU0 X" + cells + "\n").devices[0];
  };
  EXPECT_EQ(with("", ""), with(" CPU Affinity", ""));
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity", " N/A N/A"), with("", ""));
  EXPECT_EQ(with(" NUMA Affinity", " 1").numa, Ids{1});
  EXPECT_EQ(with(" CPU Affinity  NUMA", " 0-3  1").numa, Ids{1});
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity GPU NUMA ID", " 0-3 0 1").gpu_numa, 1);
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity GPU NUMA ID", " 0-3 0-1 1").cpu_numa, Ids{0});
  EXPECT_EQ(with(" CPU Affinity NUMA Affi", " 0-3 0").numa, Ids{0});
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity", " 0-3").numa, Ids{});
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity", " 0-3, 8 0").numa, Ids{0});
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity", " 0-3, 8 -1").numa, Ids{});
  EXPECT_EQ(with(" CPU Affinity NUMA Affinity", " 8,0-3,2-5,4 0,3-9,11-17").cpus,
            (std::vector<CpuRange>{{0, 5}, {8, 8}}));
}

TEST(NvidiaSmi, CellsThatAreLeftBlank) {
  const NodeTopology out = Read(
      "      GPU0  GPU1  CPU Affinity  NUMA Affinity  GPU NUMA ID\n"
      "GPU0  X     NV2                 1              N/A\n"
      "GPU1  NV2   X     0-3                          N/A\n");
  EXPECT_EQ(out.devices[0].cpus, std::vector<CpuRange>{});
  EXPECT_EQ(out.devices[0].numa, Ids{1});
  EXPECT_EQ(RangesText(out.devices[1].cpus), "0-3");
  EXPECT_EQ(out.devices[1].numa, Ids{});
}

TEST(NvidiaSmi, DevicesInAnyOrder) {
  const NodeTopology out = Read(
      "      NIC0 GPU1 ibp24s0 GPU0 CPU Affinity\n"
      "GPU0  PIX  NV2  SYS  X  0\n"
      "NIC0  X    PHB  N/A  PIX\n"
      "ibp24s0 N/A XGMI  X  SYS  0-3\n"
      "GPU1  PHB  X    XGMI NV2 1\n");
  ExpectValid(out);
  EXPECT_EQ(out.Gpus(), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(Between(out, "ibp24s0", "GPU1"), "XGMI");
  EXPECT_EQ(Between(out, "ibp24s0", "NIC0"), "N/A");
}

TEST(NvidiaSmi, ManyDevices) {
  const auto text = [](std::size_t gpus, std::size_t nics) {
    NodeTopology topology;
    for (std::size_t i = 0; i < gpus + nics; ++i) {
      Device device;
      device.kind = i < gpus ? DeviceKind::kGpu : DeviceKind::kNic;
      device.name = i < gpus ? "GPU" + std::to_string(i) : "NIC" + std::to_string(i - gpus);
      topology.devices.push_back(device);
      for (std::size_t j = 0; j < gpus + nics; ++j) {
        topology.links.push_back(i == j ? Link{LinkType::kSelf} : Link{LinkType::kSys});
      }
    }
    return NvidiaSmiText(topology);
  };
  EXPECT_EQ(Read(text(24, 34)).devices.size(), 58U);
  EXPECT_EQ(Read(text(1, 255)).devices.size(), kMaxDevices);
  EXPECT_TRUE(Refused(text(1, 256)).starts_with("1: 257 devices (allowed: at most 256)"));
}

TEST(NvidiaSmi, Errors) {
  const std::string two(kTwo);
  const auto with = [&](const std::string& from, const std::string& to) {
    return Refused(Replaced(two, from, to));
  };
  EXPECT_EQ(with("GPU1\tNV4\t X \tSYS\t10-19\t1\t\tN/A\n", ""),
            "1: the row of \"GPU1\" is missing (allowed: a row for each column)");
  EXPECT_EQ(with("GPU1\tNV4", "GPU7\tNV4"),
            "3: the row \"GPU7\" has no column (allowed: GPU0, GPU1, NIC0)");
  EXPECT_EQ(with("GPU1\tNV4\t X ", "GPU0\t X \tNV4"),
            "3: the row of GPU0 is given twice, first on line 2 (allowed: once)");
  EXPECT_EQ(with("NIC0\tPIX\tSYS\t X \t", "NIC0\tPIX\t X \t"),
            "4: the row of NIC0 has 2 cells (allowed: at least 3, one for each device)");
  EXPECT_EQ(with("10-19\t1", "10-19\t1\t2"),
            "3: the row of GPU1 has 4 cells behind its links (allowed: at most 3, one for each "
            "heading)");
  for (const char* link : {"NV0", "NV", "NV01", "NV256", "NV-1", "NVX", "pix", "PIXX", "?"}) {
    EXPECT_EQ(with("NV4", link), "2: GPU0 to GPU1: \"" + std::string(link) +
                                     "\" is no link (allowed: X, NV1 to NV255, XGMI, PIX, PXB, "
                                     "PHB, NODE, SYS, N/A)");
  }
  EXPECT_EQ(with("NV4\t X ", "NV8\t X "),
            "3: GPU1 to GPU0 is NV8, but NV4 on line 2 (allowed: the same both ways)");
  EXPECT_EQ(with("GPU0\t X ", "GPU0\tSYS"),
            "2: GPU0 to GPU0: \"SYS\" (allowed: X, as a device to itself)");
  EXPECT_EQ(with("NV4\tPIX", "X\tPIX"),
            "2: GPU0 to GPU1: \"X\" (allowed: X only where row and column meet)");
  EXPECT_EQ(with("GPU0\tGPU1\tNIC0", "GPU0\tGPU0\tNIC0"),
            "1: two columns are named \"GPU0\" (allowed: each device once)");
  EXPECT_EQ(with("GPU NUMA ID", "NUMA Affinity"),
            "1: two columns have the same heading (allowed: CPU Affinity, NUMA Affinity and GPU "
            "NUMA ID, each once)");
  for (const char* range : {"9-0", "0-", "-9", "0--9", "a", "0-9,", ",0-9", "0-9,,1", "1048576",
                            "0-99999999999", "0x1", "+1", "1.5"}) {
    EXPECT_EQ(with("10-19", range),
              "3: CPU Affinity of GPU1: \"" + std::string(range) +
                  "\" is not allowed (allowed: numbers up to 1048575 and ranges, as 0-3,8; N/A)");
  }
  EXPECT_EQ(with("\t1\t", "\t0-4096\t"),
            "3: NUMA Affinity of GPU1: \"0-4096\" is not allowed (allowed: numbers up to 4095 and "
            "ranges, as 0-3,8; N/A)");
  EXPECT_EQ(with("10-19\t1\t\tN/A", "10-19\t1\t\t1-2"),
            "3: GPU NUMA ID of GPU1: \"1-2\" is not allowed (allowed: 0 to 4095, N/A)");
  EXPECT_EQ(Refused("\tNIC0\tNIC1\nNIC0\tX\tSYS\nNIC1\tSYS\tX\n"),
            "1: no column is a GPU (allowed: at least one, as GPU0)");
  EXPECT_EQ(Refused("\tGPU0\tGPU1\n"),
            "1: the row of \"GPU0\" is missing (allowed: a row for each column)");
}

TEST(NvidiaSmi, NoMatrix) {
  EXPECT_EQ(Refused("  \n\t\r\n"), " the text is empty (allowed: the text of nvidia-smi topo -m)");
  EXPECT_EQ(Refused("\n\n  No devices\x01 were \x1b[1mfound\n"),
            "3: no matrix of devices; the text begins with \"No devices were found\" (allowed: the "
            "text of nvidia-smi topo -m)");
  EXPECT_EQ(Refused("caf\xc3\xa9\n"),
            "1: no matrix of devices; the text begins with \"caf\\xc3\\xa9\" (allowed: the text of "
            "nvidia-smi topo -m)");
  EXPECT_LT(Refused(std::string(100'000, 'a')).size(), 300U);
  EXPECT_LT(Refused(Replaced(std::string(10'000, 'a'), "a", "a ")).size(), 400U);
  for (const char* text : {"GPU0\n", "$ echo GPU0\nGPU0\n", "GPU0 is broken\n",
                           "Legend:\n X = Self\n", "GPU0: Tesla V100\n", "X\n", "GPU0\tX\tNV2\n"}) {
    EXPECT_NE(Refused(text).find("no matrix of devices"), std::string::npos) << text;
  }
}

TEST(NvidiaSmi, RoundTrip) {
  for (const TopologyPresetInfo& info : kTopologyPresets) {
    const NodeTopology preset = *TopologyPreset(info.name);
    const NodeTopology again = Read(NvidiaSmiText(preset));
    EXPECT_EQ(again.devices, preset.devices);
    EXPECT_EQ(again.links, preset.links);
    EXPECT_EQ(Read(NvidiaSmiText(again)), again);
  }
  const NodeTopology grace = ReadCase("B52-topo-memory-only-numa-nodes/grace.txt");
  EXPECT_EQ(Read(NvidiaSmiText(grace)), grace);
}

// Any text gives a valid topology or an error with a line.
TEST(NvidiaSmi, MutatedTexts) {
  std::vector<std::string> texts{
      std::string(kTwo),
      CaseText("B50-topo-nvlink-with-nics/tabs.txt"),
      CaseText("B50-topo-nvlink-with-nics/spaces.txt"),
      CaseText("B52-topo-memory-only-numa-nodes/grace.txt"),
      CaseText("B53-topo-old-driver-layout/old.txt"),
      NvidiaSmiText(*TopologyPreset("dgx-1-v100")),
      Prefixed(kTwo, "2025-12-01T10:00:00Z "),
  };
  const std::vector<std::string> tokens{"GPU0",
                                        "GPU1",
                                        "GPU",
                                        "NIC0",
                                        "NIC",
                                        "X",
                                        "NV4",
                                        "NV0",
                                        "PIX",
                                        "SYS",
                                        "N/A",
                                        "0-3",
                                        "3-0",
                                        ",",
                                        "-",
                                        "CPU",
                                        "Affinity",
                                        "NUMA",
                                        "ID",
                                        "=",
                                        ":",
                                        "\x1b[",
                                        "\x1b",
                                        "\xff",
                                        "\t",
                                        "\n",
                                        "\r\n",
                                        "|",
                                        "> ",
                                        "mlx5_0",
                                        std::string(1, '\0')};
  std::mt19937 random(20251201);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random()) % most; };
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[below(texts.size())];
    const std::size_t changes = 1 + below(3);
    for (std::size_t change = 0; change < changes && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      const std::size_t size = std::min(1 + below(12), text.size() - at);
      switch (below(7)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
        case 1:
          text.erase(at, size);
          break;
        case 2:
          std::swap(text[at], text[below(text.size())]);
          break;
        case 3:
          text.resize(at);
          break;
        case 4:
          text.insert(at, tokens[below(tokens.size())]);
          break;
        case 5: {  // another word in the place of one
          const std::size_t begin = text.find_first_not_of(" \t\n", at);
          if (begin == std::string::npos) break;
          const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
          text.replace(begin, end - begin, tokens[below(tokens.size())]);
          break;
        }
        default: {                                             // a line twice, or none of it
          const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
          const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
          if (begin >= end) break;
          const std::string line = text.substr(begin, end - begin);
          if (below(2) == 0) {
            text.erase(begin, end - begin);
          } else {
            text.insert(begin, line);
          }
        }
      }
    }
    const auto got = ParseNvidiaSmi(text, "dir/file.txt");
    if (got.ok()) {
      ++accepted;
      ExpectValid(*got);
      const auto again = ParseNvidiaSmi(NvidiaSmiText(*got));
      ASSERT_TRUE(again.ok()) << again.error().message() << "\n" << NvidiaSmiText(*got);
      EXPECT_EQ(again->links, got->links);
      EXPECT_EQ(again->devices, got->devices);
      continue;
    }
    const std::string& message = got.error().message();
    ASSERT_TRUE(message.starts_with("dir/file.txt:")) << message;
    const char next = message[std::string_view("dir/file.txt:").size()];
    EXPECT_TRUE((next >= '1' && next <= '9') || message.find(" is empty") != std::string::npos)
        << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20;
    })) << message;
    EXPECT_LT(message.size(), 700U);
  }
  EXPECT_GT(accepted, 400);
  EXPECT_LT(accepted, 3600);
}

TEST(Islands, Components) {
  EXPECT_EQ(NvLinkIslands(*TopologyPreset("dgx-1-v100")), Ids(8, 0));
  EXPECT_EQ(NvLinkIslands(*TopologyPreset("mi300x-8")), Ids(8, 0));
  EXPECT_EQ(NvLinkIslands(*TopologyPreset("a100-pcie-8")), (Ids{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(NvLinkIslands(*TopologyPreset("split-socket-4")), (Ids{0, 1, 2, 3}));
  // A chain: 0 - 2 - 3, and 1 alone. Links of NICs don't count.
  EXPECT_EQ(NvLinkIslands(Read("     NIC0 GPU0 GPU1 GPU2 GPU3\n"
                               "NIC0 X    PIX  PIX  PIX  PIX\n"
                               "GPU0 PIX  X    SYS  NV1  SYS\n"
                               "GPU1 PIX  SYS  X    SYS  SYS\n"
                               "GPU2 PIX  NV1  SYS  X    XGMI\n"
                               "GPU3 PIX  SYS  SYS  XGMI X\n")),
            (Ids{0, 1, 0, 0}));
}

// Presets.

TEST(Presets, Shape) {
  struct Want {
    std::string_view name;
    std::size_t gpus, nics, numa;
  };
  for (const Want& want :
       {Want{"dgx-1-v100", 8, 4, 2}, Want{"dgx-a100", 8, 8, 8}, Want{"dgx-h100", 8, 8, 2},
        Want{"a100-pcie-8", 8, 2, 2}, Want{"split-socket-4", 4, 2, 2}, Want{"mi300x-8", 8, 8, 2}}) {
    const NodeTopology topology = *TopologyPreset(want.name);
    ExpectValid(topology);
    EXPECT_EQ(topology.Gpus().size(), want.gpus) << want.name;
    EXPECT_EQ(topology.Nics().size(), want.nics) << want.name;
    ASSERT_EQ(topology.numa_nodes.size(), want.numa) << want.name;
    ASSERT_EQ(topology.numa_distances.size(), want.numa * want.numa) << want.name;
    EXPECT_FALSE(topology.gpu_model.empty()) << want.name;
    EXPECT_EQ(topology.source, "preset " + std::string(want.name));
    for (std::size_t a = 0; a < want.numa; ++a) {
      EXPECT_GT(topology.numa_nodes[a].memory_bytes, 0);
      for (std::size_t b = 0; b < want.numa; ++b) {
        const std::int32_t distance = topology.numa_distances[a * want.numa + b];
        EXPECT_EQ(distance, topology.numa_distances[b * want.numa + a]);
        EXPECT_EQ(distance == 10, a == b);
      }
    }
    for (const Device& device : topology.devices) {
      ASSERT_EQ(device.numa.size(), 1U);
      EXPECT_EQ(device.cpu_numa, device.numa);
      EXPECT_EQ(device.cpus, topology.numa_nodes[static_cast<std::size_t>(device.numa[0])].cpus);
    }
  }
  EXPECT_EQ(kTopologyPresets.size(), 6U);
  for (const TopologyPresetInfo& info : kTopologyPresets) {
    EXPECT_TRUE(TopologyPreset(info.name).ok()) << info.name;
  }
  const auto none = TopologyPreset("dgx-9");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind(), ErrorKind::kArgument);
  EXPECT_EQ(
      none.error().message(),
      "there is no preset of that name (allowed: dgx-1-v100, dgx-a100, a100-pcie-8, dgx-h100, "
      "split-socket-4, mi300x-8)");
}

TEST(Presets, Dgx1) {
  // As published.
  const NodeTopology published = Read(
      "     GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 CPU Affinity\n"
      "GPU0 X    NV1  NV1  NV2  NV2  SYS  SYS  SYS  0-19,40-59\n"
      "GPU1 NV1  X    NV2  NV1  SYS  NV2  SYS  SYS  0-19,40-59\n"
      "GPU2 NV1  NV2  X    NV2  SYS  SYS  NV1  SYS  0-19,40-59\n"
      "GPU3 NV2  NV1  NV2  X    SYS  SYS  SYS  NV1  0-19,40-59\n"
      "GPU4 NV2  SYS  SYS  SYS  X    NV1  NV1  NV2  20-39,60-79\n"
      "GPU5 SYS  NV2  SYS  SYS  NV1  X    NV2  NV1  20-39,60-79\n"
      "GPU6 SYS  SYS  NV1  SYS  NV1  NV2  X    NV2  20-39,60-79\n"
      "GPU7 SYS  SYS  SYS  NV1  NV2  NV1  NV2  X    20-39,60-79\n");
  const NodeTopology preset = *TopologyPreset("dgx-1-v100");
  for (std::size_t a = 0; a < 8; ++a) {
    int links = 0;
    for (std::size_t b = 0; b < 8; ++b) {
      EXPECT_EQ(preset.link(a, b), published.link(a, b)) << a << " " << b;
      links += preset.link(a, b).count;
    }
    EXPECT_EQ(links, 6);
    EXPECT_EQ(preset.devices[a].cpus, published.devices[a].cpus);
  }
}

TEST(Presets, DgxA100) {
  const NodeTopology topology = *TopologyPreset("dgx-a100");
  const Ids numa{3, 3, 1, 1, 7, 7, 5, 5};
  const std::vector<std::string> cpus{"48-63,176-191", "16-31,144-159", "112-127,240-255",
                                      "80-95,208-223"};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(topology.devices[i].numa, Ids{numa[i]});
    EXPECT_EQ(RangesText(topology.devices[i].cpus), cpus[i / 2]);
    for (std::size_t nic = 0; nic < 8; ++nic) {
      EXPECT_EQ(LinkText(topology.link(i, 8 + nic)), i / 2 == nic / 2 ? "PXB" : "SYS");
    }
  }
  EXPECT_EQ(Between(topology, "GPU0", "GPU7"), "NV12");
  EXPECT_EQ(topology.devices[12].alias, "mlx5_6");
}

}  // namespace
}  // namespace schedfw
