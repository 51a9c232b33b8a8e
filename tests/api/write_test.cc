// What is written is read back: every field of every kind.
#include "schedfw/api/write.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/time.h"
#include "schedfw/api/fields.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/base/random.h"
#include "schedfw/base/value.h"
#include "support/files.h"
#include "support/random_cluster.h"

namespace schedfw::api {
namespace {

using namespace std::string_literals;
using ::schedfw::testing::Folders;
using ::schedfw::testing::ReadFile;
using ::schedfw::testing::TestsDir;

// --- equality; a member that is new doesn't compile until it is compared, too

template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(const ObjectMeta& a, const ObjectMeta& b);
bool Same(const Node& a, const Node& b);
bool Same(const Pod& a, const Pod& b);
bool Same(const PriorityClass& a, const PriorityClass& b);
bool Same(const PodDisruptionBudget& a, const PodDisruptionBudget& b);
bool Same(const Namespace& a, const Namespace& b);
bool Same(const Service& a, const Service& b);
bool Same(const ReplicationController& a, const ReplicationController& b);
bool Same(const ReplicaSet& a, const ReplicaSet& b);
bool Same(const TopologyConstraint& a, const TopologyConstraint& b);
bool Same(const PodGroup& a, const PodGroup& b);
bool Same(const CoschedulingPodGroup& a, const CoschedulingPodGroup& b);
bool Same(const NodeResourceTopology& a, const NodeResourceTopology& b);

template <typename T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  bool out = a.size() == b.size();
  for (std::size_t i = 0; out && i < a.size(); ++i) out = Same(a[i], b[i]);
  return out;
}
template <typename... T>
bool SameAll(const std::tuple<T...>& a, const std::tuple<T...>& b) {
  return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    return (Same(std::get<kI>(a), std::get<kI>(b)) && ...);
  }
  (std::index_sequence_for<T...>());
}

auto Members(const ObjectMeta& o) {
  const auto& [a, b, c, d, e, f, g, h] = o;
  return std::tie(a, b, c, d, e, f, g, h);
}
auto Members(const Node& o) {
  const auto& [a, spec, status] = o;
  const auto& [b, c] = spec;
  const auto& [d, e, f, g] = status;
  return std::tie(a, b, c, d, e, f, g);
}
auto Members(const PodSpec& o) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s] = o;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, r, s);
}
auto Members(const PodStatus& o) {
  const auto& [a, b, c, d, e, f, g, h, i] = o;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
auto Members(const Pod& o) {
  const auto& [a, b, c] = o;
  return std::tuple_cat(std::tie(a), Members(b), Members(c));
}
auto Members(const PriorityClass& o) {
  const auto& [a, b, c, d] = o;
  return std::tie(a, b, c, d);
}
auto Members(const PodDisruptionBudget& o) {
  const auto& [a, b, c, d] = o;
  return std::tie(a, b, c, d);
}
auto Members(const Namespace& o) { return std::tie(o.metadata); }
auto Members(const Service& o) {
  const auto& [a, b] = o;
  return std::tie(a, b);
}
auto Members(const ReplicationController& o) {
  const auto& [a, b, c] = o;
  return std::tie(a, b, c);
}
auto Members(const ReplicaSet& o) {
  const auto& [a, b] = o;
  return std::tie(a, b);
}
auto Members(const TopologyConstraint& o) { return std::tie(o.key); }
auto Members(const PodGroup& o) {
  const auto& [a, b, c, d, e, f, g, h, i] = o;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
auto Members(const CoschedulingPodGroup& o) {
  const auto& [a, b, c, d] = o;
  return std::tie(a, b, c, d);
}
auto Members(const NodeResourceTopology& o) {
  const auto& [a, b, c, d] = o;
  return std::tie(a, b, c, d);
}
auto Members(const ObjectList& o) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, ignored] = o;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
}

bool Same(const ObjectMeta& a, const ObjectMeta& b) { return SameAll(Members(a), Members(b)); }
bool Same(const Node& a, const Node& b) { return SameAll(Members(a), Members(b)); }
bool Same(const Pod& a, const Pod& b) { return SameAll(Members(a), Members(b)); }
bool Same(const PriorityClass& a, const PriorityClass& b) {
  return SameAll(Members(a), Members(b));
}
bool Same(const PodDisruptionBudget& a, const PodDisruptionBudget& b) {
  return SameAll(Members(a), Members(b));
}
bool Same(const Namespace& a, const Namespace& b) { return SameAll(Members(a), Members(b)); }
bool Same(const Service& a, const Service& b) { return SameAll(Members(a), Members(b)); }
bool Same(const ReplicationController& a, const ReplicationController& b) {
  return SameAll(Members(a), Members(b));
}
bool Same(const ReplicaSet& a, const ReplicaSet& b) { return SameAll(Members(a), Members(b)); }
bool Same(const TopologyConstraint& a, const TopologyConstraint& b) {
  return SameAll(Members(a), Members(b));
}
bool Same(const PodGroup& a, const PodGroup& b) { return SameAll(Members(a), Members(b)); }
bool Same(const CoschedulingPodGroup& a, const CoschedulingPodGroup& b) {
  return SameAll(Members(a), Members(b));
}
bool Same(const NodeResourceTopology& a, const NodeResourceTopology& b) {
  return SameAll(Members(a), Members(b));
}

// Writes and reads objects, and expects the same ones. Gives the text.
std::string Check(const ObjectList& objects) {
  const std::string text = WriteObjects(objects);
  const Result<ObjectList> read = ParseObjects(text);
  if (!read.ok()) {
    ADD_FAILURE() << read.error().message() << "\n" << text;
    return text;
  }
  EXPECT_TRUE(read->ignored.empty());
  EXPECT_TRUE(SameAll(Members(objects), Members(*read))) << text << "\nbecame\n"
                                                         << WriteObjects(*read);
  // Quantities are equal by their amounts: their texts stay, too.
  EXPECT_EQ(WriteObjects(*read), text);
  return text;
}

// The same for objects in a text; gives them.
ObjectList CheckText(std::string_view text) {
  Result<ObjectList> objects = ParseObjects(text);
  if (!objects.ok()) {
    ADD_FAILURE() << objects.error().message() << "\n" << text;
    return {};
  }
  Check(*objects);
  return *std::move(objects);
}

// The line of the only object.
std::string Line(const ObjectList& objects) {
  const std::string text = Check(objects);
  const std::string begin = "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[\n",
                    end = "\n]}\n";
  EXPECT_TRUE(text.starts_with(begin) && text.ends_with(end)) << text;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

// --- files and random clusters

TEST(WriteObjects, FilesOfTheConformanceVectors) {
  int files = 0;
  for (const auto& folder : Folders(TestsDir() / "conformance" / "vectors", "")) {
    const auto path = folder / "cluster.json";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(path.string());
    ObjectList objects = CheckText(ReadFile(path));
    ASSERT_TRUE(Normalize(objects).ok());
    Check(objects);
    ++files;
  }
  EXPECT_GT(files, 100);
}

TEST(WriteObjects, FilesOfTheCases) {
  int files = 0;
  for (const auto& folder : Folders(TestsDir() / "cases", "")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".yaml" && extension != ".json") continue;
      SCOPED_TRACE(entry.path().string());
      // Configurations, reports and files that must be refused are there, too.
      const Result<ObjectList> objects = ReadObjects({entry.path().string()});
      if (!objects.ok() || SameAll(Members(*objects), Members(ObjectList()))) continue;
      ObjectList without = *objects;
      without.ignored.clear();
      Check(without);
      ++files;
    }
  }
  EXPECT_GT(files, 10);
}

TEST(WriteObjects, RandomClusters) {
  testing::RandomObjects random(11);
  std::vector<std::string> documents = {random.Others(), random.NamespaceObject("ml"),
                                        random.Service("s")};
  for (int i = 0; i < 200; ++i) {
    documents.push_back(random.Node("n" + std::to_string(i)));
    documents.push_back(random.Pod(random.Namespace(), "p" + std::to_string(i), ""));
    documents.push_back(random.Pod(random.Namespace(), "q" + std::to_string(i), "n1"));
  }
  ObjectList objects = CheckText(testing::Join(documents));
  EXPECT_EQ(objects.pods.size(), 400u);
  ASSERT_TRUE(Normalize(objects).ok());
  Check(objects);
}

// --- objects of which each field is drawn from odd values

class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  template <std::size_t kSize, typename T>
  void operator()(const char (&name)[kSize], T&& field) {
    const bool required = in_required_ && std::string_view(name) != "matchLabelKeys";
    if (required || Chance(60)) Fill(field);
  }

  template <typename T>
  void Object(T& object) {
    Fields(*this, object);
    object.metadata.name = "n" + object.metadata.name;
  }
  std::uint64_t Below(std::uint64_t n) { return random_.Below(n); }

 private:
  bool Chance(std::uint64_t percent) { return random_.Below(100) < percent; }

  template <typename T>
  void Fill(T& out) {
    if constexpr (std::is_enum_v<T>) {
      const auto& names = EnumNames<T>::kNames;
      out = names[random_.Below(names.size())].second;
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      const std::array<T, 6> values = {0, 1, static_cast<T>(-1), 17, Limits::min(), Limits::max()};
      out = values[random_.Below(values.size())];
    } else {
      const bool before = std::exchange(in_required_, !kRequiredFields<T>.empty());
      Fields(*this, out);
      in_required_ = before;
    }
  }
  void Fill(bool& out) { out = Chance(50); }
  void Fill(std::string& out) {
    static const std::vector<std::string> kTexts = {
        "",
        "a",
        "app.kubernetes.io/name",
        "null",
        "true",
        "1e3",
        "~",
        "with blanks ",
        "\"quoted\" \\ and /",
        "},\n{",
        "\"items\":[",
        "\n\r\t\b\f",
        "\0"s,
        "a\0b\x01\x1f\x7f"s,
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",  // of two, three and four bytes
        "\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf",
        std::string(3000, 'x'),
    };
    out = kTexts[random_.Below(kTexts.size())];
  }
  void Fill(Quantity& out) {
    static const std::vector<std::string> kTexts = {"0",
                                                    "0Ki",
                                                    "1",
                                                    "-1",
                                                    "100m",
                                                    "-100m",
                                                    "1n",
                                                    "-1n",
                                                    "1.5Gi",
                                                    "512",
                                                    "-2Ti",
                                                    "0.5Ki",
                                                    "1e3",
                                                    "1E3",
                                                    "12e-9",
                                                    "+5",
                                                    "007",
                                                    "1.",
                                                    "1.5",
                                                    "3k",
                                                    "9E",
                                                    "7.9Ei",
                                                    "1u",
                                                    "1.50",
                                                    "-0",
                                                    "100000000000",
                                                    "9223372036854775807",
                                                    "-9223372036854775807",
                                                    "9223372036854775806999m",
                                                    "9007199254740991Ki",
                                                    "4611686018427387904",
                                                    "123456789.123456789"};
    out = *Quantity::Parse(kTexts[random_.Below(kTexts.size())]);
  }
  void Fill(Time& out) { out.ns = FillTime(); }
  std::int64_t FillTime() {
    const auto number = static_cast<std::int64_t>(random_.Next());
    constexpr std::int64_t kMost = 292LL * 365 * 86400;  // both ends are in a year that is read
    switch (random_.Below(4)) {
      case 0:
        return 0;
      case 1:
        return number % kMost * 1'000'000'000;
      case 2:
        return number % (kMost * 1000) * 1'000'000;
      default:
        return number % (kMost * 1'000'000'000);
    }
  }
  template <typename T>
  void Fill(std::optional<T>& out) {
    Fill(out.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& out) {
    out.resize(random_.Below(4));
    for (T& item : out) Fill(item);
  }
  template <typename T>
  void Fill(std::map<std::string, T>& out) {
    for (std::uint64_t left = random_.Below(4); left > 0; --left) {
      std::string key;
      Fill(key);
      Fill(out[key]);
    }
  }
  void Fill(Keys& out) { Fill(out.names); }
  template <typename F>
  void Fill(Nested<F>& nested) {
    if (nested.present != nullptr) *nested.present = Chance(70);
    if (nested.present == nullptr || *nested.present) nested.fields(*this);
  }

  Random random_;
  bool in_required_ = false;
};

TEST(WriteObjects, OddValuesInEveryField) {
  Filler filler(7);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    ObjectList objects;
    const auto fill = [&](auto& list) {
      list.resize(filler.Below(3));
      for (auto& object : list) filler.Object(object);
    };
    fill(objects.nodes);
    fill(objects.pods);
    fill(objects.priority_classes);
    fill(objects.pod_disruption_budgets);
    fill(objects.namespaces);
    fill(objects.services);
    fill(objects.replication_controllers);
    fill(objects.replica_sets);
    fill(objects.stateful_sets);
    fill(objects.pod_groups);
    fill(objects.coscheduling_pod_groups);
    fill(objects.node_resource_topologies);
    Check(objects);
    if (HasFailure()) break;
  }
}

// Long texts are read in pieces.
TEST(WriteObjects, LongLists) {
  Filler filler(8);
  ObjectList objects;
  objects.pods.resize(2000);
  for (Pod& pod : objects.pods) filler.Object(pod);
  objects.nodes.resize(200);
  for (Node& node : objects.nodes) filler.Object(node);
  EXPECT_GT(Check(objects).size(), 2u * 1024 * 1024);
}

// --- what is written

TEST(WriteObjects, NothingIsAListToo) {
  EXPECT_EQ(Check({}), "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[\n]}\n");
  ObjectList objects;
  objects.ignored["apps/v1 Deployment"] = 3;
  EXPECT_EQ(WriteObjects(objects), WriteObjects({}));
}

TEST(WriteObjects, AbsentFieldsAreNotWritten) {
  const auto line = [](const std::string& text) { return Line(CheckText(text)); };
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"})";
  EXPECT_EQ(line(pod + "}"), pod + "}");
  EXPECT_EQ(line(pod + R"(,"spec":{"affinity":{},"containers":[],"overhead":{},"nodeName":"",
                          "hostNetwork":false,"schedulingGroup":{}},"status":{"startTime":null}})"),
            pod + "}");
  // What is there without saying anything is something else here.
  for (const char* rest :
       {R"(,"spec":{"nodeSelector":{}}})", R"(,"spec":{"resources":{}}})",
        R"(,"spec":{"priority":0}})", R"(,"spec":{"preemptionPolicy":""}})",
        R"(,"spec":{"affinity":{"nodeAffinity":{}}}})",
        R"(,"spec":{"affinity":{"podAffinity":{},"podAntiAffinity":{}}}})",
        R"(,"spec":{"containers":[{}]}})", R"(,"spec":{"volumes":[{}]}})",
        R"(,"spec":{"volumes":[{"image":{}},{"ephemeral":{}}]}})",
        R"(,"spec":{"volumes":[{"name":"v","image":{"reference":"r"}}]}})",
        R"(,"spec":{"volumes":[{"persistentVolumeClaim":{"claimName":"c"}}]}})",
        R"(,"spec":{"schedulingGroup":{"podGroupName":"g"}}})", R"(,"status":{"resources":{}}})",
        R"(,"status":{"resources":{"requests":{}}}})", R"(,"status":{"allocatedResources":{}}})",
        R"(,"status":{"containerStatuses":[{"resources":{"requests":{}}}]}})",
        R"(,"status":{"initContainerStatuses":[{"allocatedResources":{}},{}]}})",
        R"(,"spec":{"tolerations":[{"operator":"Equal"}]}})",
        R"(,"spec":{"containers":[{"resources":{"requests":{"":"0"}}}]}})"}) {
    EXPECT_EQ(line(pod + rest), pod + rest);
  }
  // Fields that must be given, whatever they say.
  const std::string selector =
      R"(,"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{)"
      R"("nodeSelectorTerms":[{"matchExpressions":[{"key":"","operator":"In"}]}]}}},)"
      R"("topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"",)"
      R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{}}]}})";
  EXPECT_EQ(line(pod + selector), pod + selector);

  const std::string group =
      R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"g"})";
  for (const char* rest : {"}", R"(,"spec":{"schedulingPolicy":{"basic":{}}}})",
                           R"(,"spec":{"schedulingPolicy":{"gang":{"minCount":0}}}})",
                           R"(,"spec":{"schedulingConstraints":{"topology":[{},{"key":"rack"}]},)"
                           R"("disruptionMode":{"single":{},"all":{}},"priority":0}})"}) {
    EXPECT_EQ(line(group + rest), group + rest);
  }
  EXPECT_EQ(line(R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup",
                     "metadata":{"name":"g"}})"),
            R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup",)"
            R"("metadata":{"name":"g"},"spec":{"minMember":1}})");
  EXPECT_EQ(
      line(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},
                     "spec":{"selector":{}}})"),
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{}}})");
  EXPECT_EQ(line(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},
                     "status":{"disruptedPods":{"x":"2026-01-01T00:00:00Z","":null}}})"),
            R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},)"
            R"("status":{"disruptionsAllowed":0,"disruptedPods":{"x":null,"":null}}})");
}

TEST(WriteObjects, WhatNoReaderMakesIsMadeReadable) {
  ObjectList objects;
  objects.nodes.resize(1);
  Node& node = objects.nodes[0];
  node.metadata.name =
      "a\xff"
      "b";
  const Quantity most = *Quantity::Parse("9223372036854775807");
  node.status.capacity = {{"least", Quantity() - most - most}, {"most", most + most}};
  node.metadata.creation_timestamp_ns = std::numeric_limits<std::int64_t>::min() + 1;
  const auto read = ParseObjects(WriteObjects(objects));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->nodes[0].metadata.name,
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(read->nodes[0].status.capacity,
            (ResourceList{{"least", Quantity() - most}, {"most", most}}));
  EXPECT_EQ(read->nodes[0].metadata.creation_timestamp_ns,
            std::numeric_limits<std::int64_t>::min());
}

// --- times

std::string TimeText(std::int64_t ns) {
  std::string out;
  AppendRfc3339(ns, &out);
  return out;
}

TEST(AppendRfc3339, Texts) {
  EXPECT_EQ(TimeText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(TimeText(1), "1970-01-01T00:00:00.000000001Z");
  EXPECT_EQ(TimeText(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(TimeText(1'500'000'000), "1970-01-01T00:00:01.5Z");
  for (const char* text :
       {"2000-02-29T12:34:56Z", "1999-12-31T23:59:59Z", "2100-03-01T00:00:00Z",
        "2026-01-31T23:59:59.123456789Z", "1678-01-01T00:00:00Z", "2024-12-31T00:00:00.1Z",
        "2261-12-31T23:59:59.999999999Z", "1900-02-28T00:00:00Z", "1969-03-01T00:00:00.00001Z"}) {
    EXPECT_EQ(TimeText(*ParseRfc3339(text)), text);
  }
}

TEST(AppendRfc3339, IsReadBack) {
  const auto check = [](std::int64_t ns) { EXPECT_EQ(ParseRfc3339(TimeText(ns)), ns) << ns; };
  for (const char* text :
       {"1678-01-01T00:00:00+24:60", "1678-01-01T00:00:00.5+01:00", "1678-01-01T00:00:00-24:60",
        "2261-12-31T23:59:59-24:60", "2261-12-31T23:59:59.75-01:00", "2261-12-31T23:59:59+24:60",
        "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"}) {
    check(*ParseRfc3339(text));
  }
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    // 291 years to both sides.
    check(static_cast<std::int64_t>(random.Next()) % (291LL * 365 * 86400 * 1'000'000'000));
  }
  for (std::int64_t day = -106'000; day <= 106'000; ++day) {
    check(day * 86400 * 1'000'000'000 - 1);
    check(day * 86400 * 1'000'000'000);
  }
}

}  // namespace
}  // namespace schedfw::api
