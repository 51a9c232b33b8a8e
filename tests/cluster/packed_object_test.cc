#include "schedfw/cluster/packed_object.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "schedfw/cluster/pod_plans.h"

namespace schedfw {
namespace {

api::Pod Pattern() {
  api::Pod out;
  out.metadata.ns = "shop";
  out.metadata.name = "api-7d9f-x2x4";
  out.metadata.uid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  out.metadata.annotations = {{"checksum", "1234"}};
  out.spec.node_name = "node-1";
  out.spec.volumes.resize(2);
  out.spec.volumes[0].name = "config";
  out.spec.volumes[1].name = "kube-api-access-abcde";
  out.status.phase = "Running";
  out.status.conditions = {{"Ready", "True", ""}};
  return out;
}

void ExpectPacksTo(api::Pod pod, const api::Pod& pattern) {
  pod.metadata.ns = pattern.metadata.ns;  // it is part of the plan
  PodObject packed;
  packed.Pack(pod, pattern);
  const PodObject copy(packed);
  EXPECT_EQ(packed.FullName(), pod.FullName());
  EXPECT_EQ(packed.StartTimeNs(), pod.status.start_time_ns);
  for (const PodObject* object : std::initializer_list<const PodObject*>{&packed, &copy}) {
    const api::ObjectMeta& a = (*object)->metadata;
    const api::ObjectMeta& b = pod.metadata;
    EXPECT_EQ(
        std::tie(a.name, a.uid, a.annotations, a.creation_timestamp_ns, a.deletion_timestamp_ns),
        std::tie(b.name, b.uid, b.annotations, b.creation_timestamp_ns, b.deletion_timestamp_ns));
    EXPECT_EQ((*object)->spec.node_name, pod.spec.node_name);
    EXPECT_EQ((*object)->spec.volumes, pod.spec.volumes);
    const api::PodStatus& s = (*object)->status;
    EXPECT_EQ(std::tie(s.phase, s.nominated_node_name, s.start_time_ns, s.conditions),
              std::tie(pod.status.phase, pod.status.nominated_node_name, pod.status.start_time_ns,
                       pod.status.conditions));
  }
}

TEST(PodObject, PacksWhatDiffersFromThePattern) {
  const api::Pod pattern = Pattern();
  ExpectPacksTo(pattern, pattern);
  ExpectPacksTo(api::Pod(), pattern);
  ExpectPacksTo(pattern, api::Pod());
  api::Pod pod = pattern;
  for (const char* name : {"", "api", "api-7d9f-x2x4-and-more", "other", "api-7d9f-x2x5"}) {
    pod.metadata.name = name;
    pod.spec.node_name = name;
    pod.spec.volumes[1].name = name;
    pod.spec.volumes[0].persistent_volume_claim = name;
    ExpectPacksTo(pod, pattern);
  }
  pod.spec.volumes.emplace_back().ephemeral = true;
  ExpectPacksTo(pod, pattern);
  pod.spec.volumes.resize(1);
  ExpectPacksTo(pod, pattern);
  pod.metadata.annotations["more"] = "text";
  pod.status.conditions[0].status = "False";
  pod.status.phase.clear();
  pod.status.nominated_node_name = "node-2";
  ExpectPacksTo(pod, pattern);
}

TEST(PodObject, PacksUidsOfAnyForm) {
  api::Pod pod = Pattern();
  for (const char* uid :
       {"", "1", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "3f2504e0_4f89-41d3-9a0c-0305e82c3301",
        "3f2504e04f89-41d3-9a0c-0305e82c33010-", "3f2504e0-4f89-41d3-9a0c-0305e82c330g",
        "0123456789abcdef0123456789abcdef"}) {
    pod.metadata.uid = uid;
    ExpectPacksTo(pod, Pattern());
  }
}

TEST(PodObject, PacksTimesOfAnyKind) {
  api::Pod pod = Pattern();
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{1'767'225'600'000'000'000},
        std::int64_t{1'767'225'600'000'000'001}, std::int64_t{-5'000'000'000},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    pod.status.start_time_ns = time;
    pod.metadata.creation_timestamp_ns = time;
    pod.metadata.deletion_timestamp_ns = time;
    ExpectPacksTo(pod, Pattern());
  }
}

TEST(PodObject, KeepsAWholeObjectAsItIs) {
  const auto whole = std::make_shared<const api::Pod>(Pattern());
  PodObject object;
  object = whole;
  EXPECT_EQ(&*object, whole.get());
  EXPECT_EQ(object.Share(), whole);
  EXPECT_EQ(&*PodObject(object), whole.get());
  EXPECT_EQ(object.FullName(), "shop/api-7d9f-x2x4");
  EXPECT_EQ(object.StartTimeNs(), std::nullopt);
}

}  // namespace
}  // namespace schedfw
