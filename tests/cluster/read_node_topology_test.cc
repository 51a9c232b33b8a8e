// Topologies of nodes from the objects of a cluster.

#include "schedfw/cluster/read_node_topology.h"

#include <gtest/gtest.h>

#include <string>

#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::GpuNodeYaml;

std::string Zones(const std::string& name, const std::string& resource) {
  return "---\napiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata: "
         "{name: " +
         name +
         "}\nzones:\n- {name: node-0, type: Node, costs: [{name: node-0, value: 10}, {name: "
         "node-1, value: 21}], resources: [{name: " +
         resource +
         ", capacity: '2', allocatable: '2', available: '1'}]}\n- {name: node-1, type: Node, "
         "resources: [{name: " +
         resource + ", capacity: '1', allocatable: '1', available: '1'}]}\n";
}
std::string ErrorOf(const std::string& text, const std::string& node = "") {
  const auto topology = ParseNodeTopology(text, "f", node);
  return topology ? "read" : topology.error().message();
}

TEST(ReadNodeTopology, OfANodesAnnotation) {
  const auto preset = ParseNodeTopology(GpuNodeYaml("a", 8, "dgx-a100"), "f");
  ASSERT_TRUE(preset.ok()) << preset.error().message();
  EXPECT_EQ(preset->source, "preset dgx-a100");
  const auto text = ParseNodeTopology(
      R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels":
         {"nvidia.com/gpu.product": "V100"}, "annotations":
         {"device-plugin.nvidia.com/gpu-topology":
         "\tGPU0\tGPU1\nGPU0\t X \tNV2\nGPU1\tNV2\t X \n"}}})",
      "f");
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(text->gpu_model, "V100");
  EXPECT_EQ(text->link(0, 1), (Link{LinkType::kNvLink, 2}));
}

TEST(ReadNodeTopology, OfZones) {
  const auto zones = ParseNodeTopology(Zones("a", "nvidia.com/gpu"), "f");
  ASSERT_TRUE(zones.ok()) << zones.error().message();
  EXPECT_EQ(zones->source, "NodeResourceTopology");
  ASSERT_EQ(zones->devices.size(), 3U);
  EXPECT_EQ(zones->link(0, 1).type, LinkType::kNode);
  EXPECT_EQ(zones->link(1, 2).type, LinkType::kSys);
  EXPECT_EQ(zones->numa_distances, (std::vector<std::int32_t>{10, 21, 255, 255}));
  EXPECT_EQ(ErrorOf(Zones("a", "cpu")),
            "f: NodeResourceTopology a: its zones list no GPUs, or more than 16");
}

TEST(ReadNodeTopology, OneOfSeveralIsChosen) {
  const std::string text = Zones("a", "nvidia.com/gpu") + GpuNodeYaml("a", 8, "dgx-a100") +
                           GpuNodeYaml("b", 4, "split-socket-4") + GpuNodeYaml("c", 4);
  EXPECT_EQ(ParseNodeTopology(text, "f", "a")->source, "preset dgx-a100");
  EXPECT_EQ(ParseNodeTopology(text, "f", "b")->source, "preset split-socket-4");
  EXPECT_EQ(ErrorOf(text), "f: tells of 2 nodes, and none is chosen (allowed: a, b)");
  EXPECT_EQ(ErrorOf(text, "c"), "f: no object tells of the devices of Node c");
}

TEST(ReadNodeTopology, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf(GpuNodeYaml("a", 8)),
            "f: no object tells how devices are linked (allowed: Nodes with the annotation "
            "device-plugin.nvidia.com/gpu-topology, NodeResourceTopologies)");
  EXPECT_EQ(ErrorOf(GpuNodeYaml("a", 8, "dgx-9")).substr(0, 93),
            "f: Node a: metadata.annotations.\"device-plugin.nvidia.com/gpu-topology\": \"dgx-9\": "
            "there is no");
  EXPECT_EQ(ErrorOf("\tGPU0\nGPU0\t X \n", "a"),
            "f: is the topology of one node, so that Node a can't be chosen");
  EXPECT_EQ(ErrorOf("apiVersion: v1\nkind: Node\nmetadata: {name: 1}\n"),
            "f:3: Node: metadata.name: expected a string, got a number 1 (put it in quotes)");
  EXPECT_EQ(ErrorOf("nothing"),
            "f:1: no matrix of devices; the text begins with \"nothing\" (allowed: the text of "
            "nvidia-smi topo -m)");
}

}  // namespace
}  // namespace schedfw
