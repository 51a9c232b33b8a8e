#include "schedfw/simulation/gpu_trace.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/random.h"
#include "support/files.h"

namespace schedfw {
namespace {

using namespace std::string_view_literals;
using ::schedfw::testing::TestsDir;

constexpr std::string_view kNodeColumns = "sn,cpu_milli,memory_mib,gpu,model\n";
constexpr std::string_view kPodColumns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

std::string NodeText(std::string_view rows) { return std::string(kNodeColumns) += rows; }
std::string PodText(std::string_view rows) { return std::string(kPodColumns) += rows; }

// The error of a text; of one that is read, nothing.
std::string NodeError(std::string_view text) {
  const auto nodes = ParseGpuTraceNodes(text, "nodes.csv");
  if (nodes.ok()) return "";
  EXPECT_EQ(nodes.error().kind(), ErrorKind::kParse);
  return nodes.error().message();
}
std::string PodError(std::string_view text) {
  const auto pods = ParseGpuTracePods(text, "pods.csv");
  if (pods.ok()) return "";
  EXPECT_EQ(pods.error().kind(), ErrorKind::kParse);
  return pods.error().message();
}

std::vector<GpuTraceNode> Nodes(std::string_view text) {
  auto nodes = ParseGpuTraceNodes(text, "nodes.csv");
  EXPECT_TRUE(nodes.ok()) << nodes.error().message();
  return nodes.ok() ? *std::move(nodes) : std::vector<GpuTraceNode>();
}
std::vector<GpuTracePod> Pods(std::string_view text) {
  auto pods = ParseGpuTracePods(text, "pods.csv");
  EXPECT_TRUE(pods.ok()) << pods.error().message();
  return pods.ok() ? *std::move(pods) : std::vector<GpuTracePod>();
}

std::int64_t GpuCount(const std::vector<GpuTraceNode>& nodes) {
  std::int64_t gpus = 0;
  for (const GpuTraceNode& node : nodes) gpus += node.gpus;
  return gpus;
}

std::int64_t MilliOf(const std::vector<GpuTracePod>& pods,
                     const std::vector<std::uint32_t>& order) {
  std::int64_t sum = 0;
  for (const std::uint32_t pod : order) sum += pods.at(pod).TotalGpuMilli();
  return sum;
}

/// Gives each test a folder of its own, and takes it away again.
class GpuTraceFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "schedfw-trace-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(std::string_view bytes) {
    const std::string path = (folder_ / "file").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string WriteGzip(std::string_view bytes) {
    const std::string path = (folder_ / "file").string();
    const gzFile file = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path;
  }

  /// The list that a file gives, or its error without the path.
  std::string ArrivalError(std::string_view text, const std::string& seed = "42") {
    return Cut(ReadGpuTraceArrivals(Write(text), seed, /*pods=*/4));
  }
  std::string RankError(std::string_view text, const std::string& seed = "42") {
    return Cut(ReadGpuTraceRanks(Write(text), seed,
                                 {{"a", 1, 1, 0, ""}, {"b", 1, 1, 0, ""}, {"c", 1, 1, 0, ""}}));
  }
  std::string Cut(const Result<std::vector<std::uint32_t>>& list) {
    if (list.ok()) return "";
    EXPECT_EQ(list.error().kind(), ErrorKind::kParse);
    const std::string path = (folder_ / "file").string();
    EXPECT_EQ(list.error().message().substr(0, path.size()), path);
    return list.error().message().substr(path.size());
  }

  std::filesystem::path folder_;
};

// ---- Lists ----

TEST(GpuTrace, Nodes) {
  const std::vector<GpuTraceNode> want = {{"a", 32000, 262144, 0, ""}, {"b", 0, 0, 16, "V100M32"}};
  EXPECT_EQ(Nodes(NodeText("a,32000,262144,0,\nb,0,0,16,V100M32\n")), want);
  EXPECT_EQ(Nodes("gpu,x,model,sn,\"memory_mib\",cpu_milli,x\r\n"
                  "0,,,a,262144,32000,\r\n16,y,V100M32,b,0,0,\r\n\r\n"),
            want);
  EXPECT_EQ(Nodes("\xef\xbb\xbf" + NodeText("\"a\",\"32000\",262144,0,\"\"\nb,0,00,16,V100M32")),
            want);
  EXPECT_EQ(Nodes(kNodeColumns), std::vector<GpuTraceNode>{});
  EXPECT_EQ(Nodes(NodeText("a,9007199254740992,8796093022207,0,"))[0].memory_mib,
            (std::int64_t{1} << 43) - 1);
  EXPECT_EQ(Nodes(NodeText("\"a \"\"1\"\",\nz\",1,1,1,\"G1, G2\""))[0],
            (GpuTraceNode{"a \"1\",\nz", 1, 1, 1, "G1, G2"}));
}

TEST(GpuTrace, Pods) {
  const std::vector<GpuTracePod> want = {{"a", 12000, 16384, 1, 1000, ""},
                                         {"b", 6000, 0, 1, 460, "T4|P100"},
                                         {"c", 0, 1, 0, 0, "T4"},
                                         {"d", 1, 1, 8, 1000, ""}};
  EXPECT_EQ(Pods(PodText("a,12000,16384,1,1000,\nb,6000,0,1,460,T4|P100\nc,0,1,0,0,T4\n"
                         "d,1,1,8,1500,\n")),
            want);
  EXPECT_EQ(want[3].TotalGpuMilli(), 8000);
  EXPECT_EQ(want[1].TotalGpuMilli(), 460);
  const std::vector<GpuTracePod> bare = Pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
      "a,1,2,1,9007199254740992\n");
  EXPECT_EQ(bare, (std::vector<GpuTracePod>{{"a", 1, 2, 1, 1000, ""}}));
}

TEST(GpuTrace, ColumnErrors) {
  EXPECT_EQ(NodeError(""),
            "nodes.csv:1: sn: the column is missing "
            "(allowed: sn,cpu_milli,memory_mib,gpu,model; here: nothing)");
  EXPECT_EQ(
      NodeError("\n\nsn,cpu_milli,memory_mib,gpus,model\n"),
      "nodes.csv:3: gpu: the column is missing "
      "(allowed: sn,cpu_milli,memory_mib,gpu,model; here: sn,cpu_milli,memory_mib,gpus,model)");
  EXPECT_EQ(NodeError("sn,gpu,cpu_milli,memory_mib,gpu,model\n"),
            "nodes.csv:1: gpu: the column is there twice (allowed: each column once)");
  EXPECT_EQ(PodError("name,cpu_milli,memory_mib,num_gpu\na,1,1,1\n"),
            "pods.csv:1: gpu_milli: the column is missing "
            "(allowed: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec; "
            "here: name,cpu_milli,memory_mib,num_gpu)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,0\n")),
            "nodes.csv:2: 4 values in a row are not allowed (allowed: 5, one for each column)");
  EXPECT_EQ(NodeError(NodeText("\na,1,1,0,\nb,1,1,0,,\n")),
            "nodes.csv:4: 6 values in a row are not allowed (allowed: 5, one for each column)");
  EXPECT_EQ(NodeError(NodeText("a\n")),
            "nodes.csv:2: 1 value in a row is not allowed (allowed: 5, one for each column)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,0,\"\n")),
            "nodes.csv:2: a quote is never closed (allowed: \"…\", and \"\" for a quote inside)");
}

TEST(GpuTrace, NumberErrors) {
  EXPECT_EQ(NodeError(NodeText("a,1,1,0,\n\"b\nb\",1,1,x,P100\n")),
            "nodes.csv:3: gpu: \"x\" is not a whole number (allowed: 0 to 16)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,17,P100\n")),
            "nodes.csv:2: gpu: 17 is not allowed (allowed: 0 to 16)");
  EXPECT_EQ(NodeError(NodeText("a,-1,1,1,P100\n")),
            "nodes.csv:2: cpu_milli: -1 is not allowed (allowed: 0 to 9007199254740992)");
  EXPECT_EQ(NodeError(NodeText("a,1,8796093022208,1,P100\n")),
            "nodes.csv:2: memory_mib: 8796093022208 is not allowed "
            "(allowed: 0 to 8796093022207)");
  EXPECT_EQ(NodeError(NodeText("a," + std::string(10'000'000, '9') + ",1,1,P100\n")),
            "nodes.csv:2: cpu_milli: " + std::string(60, '9') +
                "… is not allowed (allowed: 0 to 9007199254740992)");
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x1", "1k", "-", "--1", "nan"}) {
    EXPECT_EQ(NodeError(NodeText("a," + std::string(text) + ",1,1,P100\n")),
              "nodes.csv:2: cpu_milli: \"" + std::string(text) +
                  "\" is not a whole number (allowed: 0 to 9007199254740992)");
  }
  EXPECT_EQ(NodeError(NodeText("a,1\0,1,1,P100\n"sv)),
            "nodes.csv:2: cpu_milli: \"1\\x00\" is not a whole number "
            "(allowed: 0 to 9007199254740992)");
  EXPECT_EQ(PodError(PodText("a,1,1,99999999999999999999,1000,\n")),
            "pods.csv:2: num_gpu: 99999999999999999999 is not allowed (allowed: 0 to 16)");
  EXPECT_EQ(PodError(PodText("a,1,1,1,-5,\n")),
            "pods.csv:2: gpu_milli: -5 is not allowed (allowed: 0 to 9007199254740992)");
}

TEST(GpuTrace, NameErrors) {
  EXPECT_EQ(NodeError(NodeText(",1,1,0,\n")),
            "nodes.csv:2: sn: \"\" is not allowed (allowed: a name)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,0,\nb,1,1,0,\n\na,1,1,0,\n")),
            "nodes.csv:5: sn: \"a\" is already in line 2 (allowed: each name once)");
  EXPECT_EQ(PodError(PodText("a,1,1,0,0,\na,2,1,0,0,\n")),
            "pods.csv:3: name: \"a\" is already in line 2 (allowed: each name once)");
}

TEST(GpuTrace, GpuErrors) {
  EXPECT_EQ(NodeError(NodeText("a,1,1,2,\n")),
            "nodes.csv:2: model: \"\" is not allowed with 2 GPUs (allowed: the name of a model)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,1,\n")),
            "nodes.csv:2: model: \"\" is not allowed with 1 GPU (allowed: the name of a model)");
  EXPECT_EQ(NodeError(NodeText("a,1,1,0,P100\n")),
            "nodes.csv:2: model: \"P100\" is not allowed without GPUs (allowed: nothing)");
  EXPECT_EQ(PodError(PodText("a,1,1,0,500,\n")),
            "pods.csv:2: gpu_milli: 500 is not allowed without GPUs (allowed: 0)");
  EXPECT_EQ(PodError(PodText("a,1,1,1,0,\n")),
            "pods.csv:2: gpu_milli: 0 is not allowed with 1 GPU (allowed: 1 or more)");
  EXPECT_EQ(PodError(PodText("a,1,1,2,500,\n")),
            "pods.csv:2: gpu_milli: 500 is not allowed with 2 GPUs (allowed: 1000 or more)");
  EXPECT_EQ(PodError(PodText("a,1,1,2,0,\n")),
            "pods.csv:2: gpu_milli: 0 is not allowed with 2 GPUs (allowed: 1000 or more)");
}

TEST_F(GpuTraceFiles, PlainAndGzip) {
  const std::string nodes = NodeText("a,1,2,1,P100\n");
  const std::string pods = PodText("p,1,2,1,500,\r\n");
  for (const bool gzip : {false, true}) {
    const auto write = [&](const std::string& text) {
      return gzip ? WriteGzip(text) : Write(text);
    };
    const auto got_nodes = ReadGpuTraceNodes(write("\xef\xbb\xbf" + nodes));
    ASSERT_TRUE(got_nodes.ok()) << got_nodes.error().message();
    EXPECT_EQ(*got_nodes, (std::vector<GpuTraceNode>{{"a", 1, 2, 1, "P100"}}));
    const auto got_pods = ReadGpuTracePods(write(pods));
    ASSERT_TRUE(got_pods.ok()) << got_pods.error().message();
    EXPECT_EQ(*got_pods, (std::vector<GpuTracePod>{{"p", 1, 2, 1, 500, ""}}));
  }
  const std::string path = Write(nodes);
  EXPECT_EQ(ReadGpuTracePods(path).error().message().substr(0, path.size() + 10),
            path + ":1: name: ");
  const std::string absent = (folder_ / "absent").string();
  EXPECT_EQ(ReadGpuTraceNodes(absent).error().message(), absent + ": No such file or directory");
  EXPECT_EQ(ReadGpuTracePods(absent).error().message(), absent + ": No such file or directory");
}

// ---- Merging ----

TEST(GpuTrace, Merge) {
  std::vector<GpuTraceNode> nodes = {{"a", 1, 1, 0, ""}, {"b", 1, 1, 2, "P100"}};
  const std::vector<GpuTraceNode> before = nodes;
  ASSERT_TRUE(MergeGpuTraceNodes(nodes, before, "more.csv").ok());
  EXPECT_EQ(nodes, before);
  ASSERT_TRUE(MergeGpuTraceNodes(nodes, nodes, "more.csv").ok());
  EXPECT_EQ(nodes, before);
  const GpuTraceNode added = {"c", 1, 1, 1, "T4"};
  ASSERT_TRUE(MergeGpuTraceNodes(nodes, {before[1], added, added}, "more.csv").ok());
  EXPECT_EQ(nodes, (std::vector<GpuTraceNode>{before[0], before[1], added}));

  nodes = before;
  const auto merged = MergeGpuTraceNodes(nodes, {added, {"b", 1, 1, 2, "T4"}}, "more.csv");
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().kind(), ErrorKind::kParse);
  EXPECT_EQ(merged.error().message(),
            "more.csv: sn: \"b\" is there already with 1,1,2,P100, here with 1,1,2,T4 "
            "(allowed: the same contents)");
  EXPECT_EQ(nodes, before);
}

TEST(Case, B62OpenbCsvCorners) {
  const auto dir = TestsDir() / "cases" / "B62-openb-csv-corners";
  auto nodes = ReadGpuTraceNodes((dir / "nodes.csv").string());
  ASSERT_TRUE(nodes.ok()) << nodes.error().message();
  EXPECT_EQ(nodes->size(), 4U);
  EXPECT_EQ(GpuCount(*nodes), 14);
  EXPECT_EQ((*nodes)[0], (GpuTraceNode{"node-0000", 32000, 262144, 0, ""}));
  EXPECT_EQ((*nodes)[2], (GpuTraceNode{"node-0002", 96000, 393216, 8, "V100M32"}));

  const auto pods = ReadGpuTracePods((dir / "pods.csv").string());
  ASSERT_TRUE(pods.ok()) << pods.error().message();
  ASSERT_EQ(pods->size(), 7U);
  EXPECT_EQ((*pods)[1], (GpuTracePod{"pod-0001", 6000, 12288, 1, 460, ""}));
  EXPECT_EQ((*pods)[2].TotalGpuMilli(), 0);
  EXPECT_EQ((*pods)[3], (GpuTracePod{"pod-0003", 88000, 327680, 8, 1000, "V100M16|V100M32"}));
  EXPECT_EQ((*pods)[3].TotalGpuMilli(), 8000);
  EXPECT_EQ((*pods)[4].gpu_spec, "T4");
  EXPECT_EQ((*pods)[5].memory_mib, 0);

  const auto more = ReadGpuTraceNodes((dir / "nodes-gpu-only.csv").string());
  ASSERT_TRUE(more.ok()) << more.error().message();
  const auto merged = MergeGpuTraceNodes(*nodes, *more, "nodes-gpu-only.csv");
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(
      merged.error().message(),
      "nodes-gpu-only.csv: sn: \"node-0000\" is there already with 32000,262144,0,, here with "
      "64000,262144,2,P100 (allowed: the same contents)");
}

// ---- Any bytes ----

// The text after one to three changes: bytes replaced, put in, taken out, doubled, or cut off.
std::string Mutated(std::string text, Random& random) {
  constexpr std::string_view kBytes = "\0\"\n\r,|-+.019x \xef\xff"sv;
  for (std::uint64_t n = 1 + random.Below(3); n > 0 && !text.empty(); --n) {
    const auto at = static_cast<std::size_t>(random.Below(text.size()));
    const char byte = kBytes[static_cast<std::size_t>(random.Below(kBytes.size()))];
    const auto size = static_cast<std::size_t>(1 + random.Below(12));
    switch (random.Below(6)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, size);
        break;
      case 3:
        text.insert(at, text.substr(at, size));
        break;
      case 4:
        text.insert(at, size * 4, '9');
        break;
      default:
        if (random.Below(10) == 0) text.resize(at);
    }
  }
  return text;
}

template <typename T>
void CheckAnswer(const Result<std::vector<T>>& answer, int& refused) {
  if (answer.ok()) return;
  ++refused;
  const std::string& message = answer.error().message();
  EXPECT_TRUE(message.starts_with("f:")) << message;
  EXPECT_NE(message.find("(allowed: "), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 600U) << message;
}

TEST(GpuTrace, AnyBytes) {
  const std::string nodes = NodeText("a,32000,262144,0,\r\n\"b\",64000,262144,2,\"P100\"\n");
  const std::string pods = PodText("p,1,1,1,460,\nq,2,3,8,1000,\"V100M16|V100M32\"\nr,1,0,0,0,\n");
  Random random(7);
  int refused = 0, all = 0;
  for (; all < 6000; all += 2) {
    CheckAnswer(ParseGpuTraceNodes(Mutated(nodes, random), "f"), refused);
    CheckAnswer(ParseGpuTracePods(Mutated(pods, random), "f"), refused);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, all / 2);
  EXPECT_LT(refused, all);
}

TEST(GpuTrace, LongLines) {
  constexpr std::size_t kLong = 10'000'000;
  const std::string name(kLong, 'n');
  EXPECT_EQ(Nodes(NodeText(name + ",1,1,0,\n"))[0].name, name);
  EXPECT_EQ(NodeError(NodeText(name + ",1,1,0,\n" + name + ",1,1,0,\n")),
            "nodes.csv:3: sn: \"" + std::string(60, 'n') +
                "…\" is already in line 2 (allowed: each name once)");
  EXPECT_EQ(NodeError(NodeText(std::string(kLong, '"'))),
            "nodes.csv:2: 1 value in a row is not allowed (allowed: 5, one for each column)");
  EXPECT_EQ(NodeError(std::string(kLong, 'x')).size(),
            std::string_view("nodes.csv:1: sn: the column is missing (allowed: "
                             "sn,cpu_milli,memory_mib,gpu,model; here: …)")
                    .size() +
                200);
  EXPECT_EQ(NodeError(NodeText(std::string(kLong, ','))),
            "nodes.csv:2: too many values in a row (allowed: at most 65536)");
  EXPECT_EQ(
      NodeError(NodeText(std::string(kLong, '\n') + "a")),
      "nodes.csv:10000002: 1 value in a row is not allowed (allowed: 5, one for each column)");
}

// ---- Orders from files ----

TEST_F(GpuTraceFiles, Arrivals) {
  const std::string text = "event,42,43\n0,3,1\n1,3,0\n2,,2\n3,,0\n";
  for (const std::string& path : {Write(text), WriteGzip(text)}) {
    const auto arrivals = ReadGpuTraceArrivals(path, "42", /*pods=*/4);
    ASSERT_TRUE(arrivals.ok()) << arrivals.error().message();
    EXPECT_EQ(*arrivals, (std::vector<std::uint32_t>{3, 3}));
    EXPECT_EQ(*ReadGpuTraceArrivals(path, "43", 4), (std::vector<std::uint32_t>{1, 0, 2, 0}));
  }
  EXPECT_EQ(*ReadGpuTraceArrivals(Write("42,event\n"), "42", 0), std::vector<std::uint32_t>{});
}

TEST_F(GpuTraceFiles, ArrivalErrors) {
  EXPECT_EQ(ArrivalError("event,42\n0,0\n1,4\n"), ":3: 42: 4 is not allowed (allowed: 0 to 3)");
  EXPECT_EQ(ArrivalError("event,42\n0,x\n"),
            ":2: 42: \"x\" is not a whole number (allowed: 0 to 3)");
  EXPECT_EQ(ArrivalError("event,42\n0,0\n1,\n2,1\n"),
            ":4: 42: 1 is not allowed behind a blank (allowed: nothing)");
  EXPECT_EQ(ArrivalError("event,42\n0,0\n2,1\n"), ":3: event: 2 is not allowed (allowed: 1)");
  EXPECT_EQ(ArrivalError("event,42,43\n0,0,0\n", "44"),
            ":1: 44: the column is missing (allowed: event,44; here: event,42,43)");
  EXPECT_EQ(ArrivalError("event,42,42\n0,0,0\n"),
            ":1: 42: the column is there twice (allowed: each column once)");
  EXPECT_EQ(ArrivalError("event,42\n0,0\n", "event"),
            ": seed: \"event\" is not allowed (allowed: another column)");
  EXPECT_EQ(ArrivalError("event,42\n0\n"),
            ":2: 1 value in a row is not allowed (allowed: 2, one for each column)");
  EXPECT_EQ(ReadGpuTraceArrivals(Write("event,42\n0,0\n"), "42", 0).error().message(),
            (folder_ / "file").string() + ":2: 42: 0 is not allowed (allowed: none)");
}

TEST_F(GpuTraceFiles, Ranks) {
  const std::vector<GpuTraceNode> nodes = {
      {"a", 1, 1, 0, ""}, {"b", 1, 1, 0, ""}, {"c", 1, 1, 0, ""}};
  const std::string path = Write("sn,42,43\nc,2,0\na,1,1\nb,0,2\n");
  const auto ranks = ReadGpuTraceRanks(path, "42", nodes);
  ASSERT_TRUE(ranks.ok()) << ranks.error().message();
  EXPECT_EQ(*ranks, (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(*ReadGpuTraceRanks(path, "43", nodes), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_TRUE(ReadGpuTraceRanks(Write("sn,42\n"), "42", {}).ok());
}

TEST_F(GpuTraceFiles, RankErrors) {
  EXPECT_EQ(RankError("sn,42\na,0\nb,1\nd,2\n"),
            ":4: sn: \"d\" is not a node (allowed: the names of the node list)");
  EXPECT_EQ(RankError("sn,42\na,0\nb,1\na,2\n"),
            ":4: sn: \"a\" is already in line 2 (allowed: each name once)");
  EXPECT_EQ(RankError("sn,42\na,0\nb,3\n"), ":3: 42: 3 is not allowed (allowed: 0 to 2)");
  EXPECT_EQ(RankError("sn,42\na,0\nb,\n"), ":3: 42: \"\" is not a whole number (allowed: 0 to 2)");
  EXPECT_EQ(RankError("sn,42\na,0\nb,0\n"), ":3: 42: 0 is there twice (allowed: each rank once)");
  EXPECT_EQ(RankError("sn,42\na,0\nc,1\n"), ": sn: \"b\" is missing (allowed: every node once)");
  EXPECT_EQ(RankError("sn,42\na,0\n", "sn"),
            ": seed: \"sn\" is not allowed (allowed: another column)");
  EXPECT_EQ(RankError("sn,42\na,0\n", "4\n2"),
            ":1: 4\\n2: the column is missing (allowed: sn,4\\n2; here: sn,42)");
}

TEST_F(GpuTraceFiles, OrdersOfAnyBytes) {
  Random random(8);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!ArrivalError(Mutated("event,42,43\n0,3,1\n1,3,0\n2,,2\n", random)).empty()) ++refused;
    if (!RankError(Mutated("sn,42,43\nc,2,0\na,1,1\nb,0,2\n", random)).empty()) ++refused;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 2000);
}

// ---- Drawn orders ----

std::vector<GpuTraceNode> FourNodes() {
  return {{"d", 1, 1, 0, ""}, {"b", 1, 1, 2, "T4"}, {"a", 1, 1, 4, "T4"}, {"c", 1, 1, 4, "T4"}};
}

// 120 pods, among them some without GPUs, for 65.5 GPUs.
std::vector<GpuTracePod> ManyPods() {
  std::vector<GpuTracePod> pods;
  for (int i = 0; i < 20; ++i) {
    for (const auto& [gpus, milli] : {std::pair(1, 500), std::pair(0, 0), std::pair(1, 1000),
                                      std::pair(1, 250), std::pair(1, 525), std::pair(0, 0)}) {
      pods.push_back({"pod-" + std::to_string(pods.size()), 1, 1, gpus, milli, ""});
    }
  }
  for (int i = 0; i < 5; ++i) pods.push_back({"big-" + std::to_string(i), 1, 1, 4, 1000, ""});
  return pods;
}

// Ranks and arrivals as the header says of every order; gives what is asked for.
std::int64_t CheckOrder(const std::vector<GpuTraceNode>& nodes,
                        const std::vector<GpuTracePod>& pods, const GpuTraceOrder& order) {
  EXPECT_EQ(std::set<std::uint32_t>(order.ranks.begin(), order.ranks.end()).size(), nodes.size());
  EXPECT_EQ(order.ranks.size(), nodes.size());
  for (const std::uint32_t rank : order.ranks) EXPECT_LT(rank, nodes.size());
  const std::size_t first = std::min(pods.size(), order.pods.size());
  const auto begin = order.pods.begin();
  const std::set<std::uint32_t> originals(begin, begin + static_cast<std::ptrdiff_t>(first));
  EXPECT_EQ(originals.size(), first);
  return MilliOf(pods, order.pods);
}

GpuTraceOrder Draw(const std::vector<GpuTraceNode>& nodes, const std::vector<GpuTracePod>& pods,
                   double tune, std::uint64_t seed) {
  auto order = DrawGpuTraceOrder(nodes, pods, tune, seed);
  EXPECT_TRUE(order.ok()) << order.error().message();
  return order.ok() ? *std::move(order) : GpuTraceOrder();
}

TEST(GpuTraceOrder, TheSameEverywhere) {
  const std::vector<GpuTraceNode> nodes = FourNodes();
  const std::vector<GpuTracePod> pods = {
      {"e", 1, 1, 0, 0, ""},    {"d", 1, 1, 1, 500, ""}, {"c", 1, 1, 2, 1000, ""},
      {"b", 1, 1, 1, 1000, ""}, {"a", 1, 1, 1, 250, ""},
  };
  const GpuTraceOrder order = Draw(nodes, pods, 0.6, 42);
  EXPECT_EQ(order.pods, (std::vector<std::uint32_t>{4, 3, 1, 0, 2, 3, 0, 0, 2}));
  EXPECT_EQ(order.ranks, (std::vector<std::uint32_t>{2, 1, 0, 3}));
  EXPECT_EQ(Draw(nodes, pods, 0.2, 42).pods, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(Draw(nodes, pods, 0.6, 42).pods, order.pods);
  EXPECT_NE(Draw(nodes, pods, 0.6, 43).pods, order.pods);

  // The order of the files doesn't count.
  const std::vector<GpuTraceNode> other_nodes(nodes.rbegin(), nodes.rend());
  const std::vector<GpuTracePod> other_pods(pods.rbegin(), pods.rend());
  GpuTraceOrder other = Draw(other_nodes, other_pods, 0.6, 42);
  for (std::uint32_t& pod : other.pods) pod = static_cast<std::uint32_t>(pods.size() - 1) - pod;
  std::reverse(other.ranks.begin(), other.ranks.end());
  EXPECT_EQ(other.pods, order.pods);
  EXPECT_EQ(other.ranks, order.ranks);
}

TEST(GpuTraceOrder, Untuned) {
  const auto nodes = FourNodes();
  const auto pods = ManyPods();
  std::set<std::vector<std::uint32_t>> orders, ranks;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const GpuTraceOrder order = Draw(nodes, pods, 0, seed);
    EXPECT_EQ(order.pods.size(), pods.size());
    EXPECT_EQ(CheckOrder(nodes, pods, order), 65500);
    orders.insert(order.pods);
    ranks.insert(order.ranks);
  }
  EXPECT_EQ(orders.size(), 20U);
  EXPECT_GT(ranks.size(), 8U);
}

TEST(GpuTraceOrder, Copies) {
  const auto nodes = FourNodes();  // 10 GPUs
  const auto pods = ManyPods();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const GpuTraceOrder order = Draw(nodes, pods, 13, seed);
    const std::int64_t sum = CheckOrder(nodes, pods, order);
    EXPECT_GT(order.pods.size(), pods.size());
    // It ends when a copy of up to one GPU doesn't fit; one of four may have gone beyond.
    EXPECT_GT(sum, 130000 - 1000);
    EXPECT_LE(sum, 130000 + 3000);
    // The originals are shuffled as without copies.
    const GpuTraceOrder untuned = Draw(nodes, pods, 0, seed);
    EXPECT_TRUE(std::equal(untuned.pods.begin(), untuned.pods.end(), order.pods.begin()));
  }
}

TEST(GpuTraceOrder, CopiesAreDrawnEvenly) {
  const auto pods = ManyPods();
  const std::vector<GpuTraceNode> nodes(700, GpuTraceNode{"n", 1, 1, 10, "T4"});
  const GpuTraceOrder order = Draw(nodes, pods, 1, 1);
  std::vector<double> counts(pods.size());
  for (const std::uint32_t pod : order.pods) ++counts[pod];
  const double mean = static_cast<double>(order.pods.size()) / static_cast<double>(pods.size());
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - mean) * (count - mean) / mean;
  EXPECT_GT(mean, 90);
  EXPECT_LT(chi_square, 200);  // 124 degrees of freedom: exceeded once in 50000 times
  EXPECT_GT(chi_square, 70);
}

TEST(GpuTraceOrder, Removal) {
  const auto nodes = FourNodes();
  const auto pods = ManyPods();
  std::vector<double> kept(pods.size());
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const GpuTraceOrder order = Draw(nodes, pods, 3.27505, seed);
    const std::int64_t sum = CheckOrder(nodes, pods, order);
    EXPECT_LE(sum, 32750);
    EXPECT_GT(sum, 32750 - 4000);
    for (const std::uint32_t pod : order.pods) ++kept[pod];
    // The others stay in their order.
    const GpuTraceOrder untuned = Draw(nodes, pods, 0, seed);
    auto at = untuned.pods.begin();
    for (const std::uint32_t pod : order.pods) {
      at = std::find(at, untuned.pods.end(), pod);
      ASSERT_NE(at, untuned.pods.end());
      ++at;
    }
  }
  // About half of the pods stay, small ones and those without GPUs no oftener than others but for
  // the last one to go, which is large.
  const auto [least, most] = std::minmax_element(kept.begin(), kept.end());
  EXPECT_GT(*least, 150);
  EXPECT_LT(*most, 250);
}

TEST(GpuTraceOrder, Targets) {
  const std::vector<GpuTraceNode> nodes = {{"n", 1, 1, 10, "T4"}};
  const auto sum = [&](const std::vector<GpuTracePod>& pods, double tune) {
    return CheckOrder(nodes, pods, Draw(nodes, pods, tune, 5));
  };
  const std::vector<GpuTracePod> tens(50, GpuTracePod{"p", 1, 1, 1, 10, ""});
  // Exactly what is asked for, though 10000 times 0.29 is 2899.999… in doubles.
  EXPECT_EQ(sum(tens, 0.29), 2900);
  EXPECT_EQ(sum(tens, 0.05), 500);
  EXPECT_EQ(sum(tens, 0.035), 350);
  EXPECT_EQ(sum(tens, 0.0354), 350);
  EXPECT_EQ(sum(tens, 0.0509), 500);
  // All are too large.
  const std::vector<GpuTracePod> wholes(10, GpuTracePod{"p", 1, 1, 1, 1000, ""});
  EXPECT_EQ(sum(wholes, 1.05), 10000);
  // Of the last copy only one GPU must fit.
  const std::vector<GpuTracePod> eights(2, GpuTracePod{"p", 1, 1, 8, 1000, ""});
  EXPECT_EQ(sum(eights, 1.7), 24000);
  EXPECT_EQ(sum(eights, 1.65), 16000);
  // Next to nothing: all that ask for GPUs go.
  EXPECT_EQ(sum(wholes, 1e-9), 0);
  // Without GPUs nothing fits.
  const std::vector<GpuTraceNode> bare = {{"n", 1, 1, 0, ""}};
  EXPECT_EQ(MilliOf(wholes, Draw(bare, wholes, 1.3, 5).pods), 0);
  EXPECT_EQ(Draw(bare, {{"c", 1, 1, 0, 0, ""}}, 1.3, 5).pods.size(), 1U);
  EXPECT_TRUE(Draw({}, {}, 1.3, 5).pods.empty());
}

TEST(GpuTraceOrder, Errors) {
  const auto message = [](const std::vector<GpuTraceNode>& nodes,
                          const std::vector<GpuTracePod>& pods, double tune) {
    const auto order = DrawGpuTraceOrder(nodes, pods, tune, 1);
    if (order.ok()) return std::string();
    EXPECT_EQ(order.error().kind(), ErrorKind::kArgument);
    return order.error().message();
  };
  const auto nodes = FourNodes();
  EXPECT_EQ(message(nodes, ManyPods(), -0.5), "tune: -0.5 is not allowed (allowed: 0 or more)");
  EXPECT_EQ(message(nodes, ManyPods(), std::numeric_limits<double>::infinity()),
            "tune: inf is not allowed (allowed: 0 or more)");
  EXPECT_EQ(message(nodes, ManyPods(), std::nan("")),
            "tune: nan is not allowed (allowed: 0 or more)");
  const std::string none = "pods: none asks for a GPU (allowed: one or more that do, or tune 0)";
  EXPECT_EQ(message(nodes, {{"a", 1, 1, 0, 0, ""}}, 1.3), none);
  EXPECT_EQ(message(nodes, {}, 1.3), none);
  EXPECT_EQ(message(nodes, {}, 0), "");
  EXPECT_EQ(message(nodes, ManyPods(), 1e300),
            "tune: 1e+300 takes too many copies of pods (allowed: at most 16777216)");
  EXPECT_EQ(message({{"n", 1, 1, 17, "T4"}}, {}, 0),
            "node \"n\": 17 GPUs are not allowed (allowed: 0 to 16)");
  EXPECT_EQ(message(nodes, {{"p", 1, 1, -1, 0, ""}}, 0),
            "pod \"p\": -1 GPUs are not allowed (allowed: 0 to 16)");
  EXPECT_EQ(message(nodes, {{"p", 1, 1, 1, 1001, ""}}, 0),
            "pod \"p\": gpu_milli: 1001 is not allowed (allowed: 0 to 1000)");
  EXPECT_EQ(message(nodes, {{"p", 1, 1, 2, 500, ""}}, 0),
            "pod \"p\": gpu_milli: 500 is not allowed with 2 GPUs (allowed: 1000 or more)");
}

// ---- The openb trace, which isn't part of this tree ----

class Openb : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no openb trace beside the source tree";
  }
  std::string File(const std::string& name) const { return (folder_ / name).string(); }

  const std::filesystem::path folder_ =
      TestsDir().parent_path().parent_path() / "shared" / "data" / "openb";
};

TEST_F(Openb, AllListsAreRead) {
  int node_lists = 0, pod_lists = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string path = entry.path().string();
    const std::string name = entry.path().filename().string();
    if (name.starts_with("openb_node_list_")) {
      const auto nodes = ReadGpuTraceNodes(path);
      EXPECT_TRUE(nodes.ok()) << nodes.error().message();
      ++node_lists;
    } else if (name.starts_with("openb_pod_list_")) {
      const auto pods = ReadGpuTracePods(path);
      EXPECT_TRUE(pods.ok()) << pods.error().message();
      ++pod_lists;
    }
  }
  EXPECT_EQ(node_lists, 2);
  EXPECT_EQ(pod_lists, 23);
}

TEST_F(Openb, Totals) {
  const auto nodes = ReadGpuTraceNodes(File("openb_node_list_gpu_node.csv"));
  ASSERT_TRUE(nodes.ok()) << nodes.error().message();
  std::int64_t cpu = 0, memory = 0;
  for (const GpuTraceNode& node : *nodes) {
    cpu += node.cpu_milli;
    memory += node.memory_mib;
  }
  EXPECT_EQ(nodes->size(), 1213U);
  EXPECT_EQ(GpuCount(*nodes), 6212);
  EXPECT_EQ(cpu, 107'018'000);
  EXPECT_EQ(memory, 503'828'480);

  auto all = ReadGpuTraceNodes(File("openb_node_list_all_node.csv"));
  ASSERT_TRUE(all.ok()) << all.error().message();
  EXPECT_EQ(all->size(), 1523U);
  EXPECT_EQ(GpuCount(*all), 6212);
  EXPECT_FALSE(MergeGpuTraceNodes(*all, *nodes, "gpu").ok());  // they number nodes differently
}

TEST_F(Openb, Orders) {
  const auto nodes = ReadGpuTraceNodes(File("openb_node_list_gpu_node.csv"));
  const auto pods = ReadGpuTracePods(File("openb_pod_list_default.csv"));
  ASSERT_TRUE(nodes.ok() && pods.ok());
  ASSERT_EQ(pods->size(), 8152U);

  const std::string path = File("derived/arrival_rows_default.csv.gz");
  const auto arrivals = ReadGpuTraceArrivals(path, "42", pods->size());
  ASSERT_TRUE(arrivals.ok()) << arrivals.error().message();
  EXPECT_EQ(arrivals->size(), 10866U);
  EXPECT_EQ(MilliOf(*pods, *arrivals), 8'075'080);
  for (int seed = 42; seed <= 51; ++seed) {
    const auto others = ReadGpuTraceArrivals(path, std::to_string(seed), pods->size());
    ASSERT_TRUE(others.ok()) << others.error().message();
    const auto ranks =
        ReadGpuTraceRanks(File("derived/node_rank_default.csv"), std::to_string(seed), *nodes);
    ASSERT_TRUE(ranks.ok()) << ranks.error().message();
    const double published =
        static_cast<double>(CheckOrder(*nodes, *pods, {*others, *ranks})) / 62120;
    EXPECT_GE(published, 129.87);
    EXPECT_LE(published, 130.11);

    const GpuTraceOrder drawn = Draw(*nodes, *pods, 1.3, static_cast<std::uint64_t>(seed));
    const double percent = static_cast<double>(CheckOrder(*nodes, *pods, drawn)) / 62120;
    EXPECT_GE(percent, 129.87);
    EXPECT_LE(percent, 130.11);
    EXPECT_NEAR(static_cast<double>(drawn.pods.size()), 10866, 200);
  }
}

TEST_F(Openb, TooManyPods) {
  const auto nodes = ReadGpuTraceNodes(File("openb_node_list_gpu_node.csv"));
  const auto pods = ReadGpuTracePods(File("openb_pod_list_multigpu50.csv"));
  ASSERT_TRUE(nodes.ok() && pods.ok());
  const GpuTraceOrder order = Draw(*nodes, *pods, 1.3, 42);
  EXPECT_LT(order.pods.size(), pods->size());
  const double percent = static_cast<double>(CheckOrder(*nodes, *pods, order)) / 62120;
  EXPECT_GT(percent, 129.87);
  EXPECT_LE(percent, 130);
}

}  // namespace
}  // namespace schedfw
