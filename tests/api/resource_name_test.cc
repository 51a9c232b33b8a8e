#include "schedfw/api/resource_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace schedfw::api {
namespace {

std::string Times(int n, char c) { return std::string(static_cast<std::size_t>(n), c); }

// A DNS subdomain of so many characters, in labels of at most 63.
std::string Subdomain(std::size_t size) {
  std::string out;
  while (out.size() + 64 <= size) out += Times(63, 'a') + ".";
  return out + std::string(size - out.size(), 'b');
}

struct Row {
  std::string name;
  std::string is;  // of q(ualified), e(xtended), h(uge pages), n(ative), s(calar)
};

// The answers of apimachinery's validation.IsQualifiedName, of IsExtendedResourceName,
// IsHugePageResourceName and IsNativeResource in pkg/apis/core/v1/helper/helpers.go, and of
// IsScalarResourceName in pkg/scheduler/util/utils.go.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      // Names without a prefix are native; only some of them are counted.
      {"cpu", "qn"},
      {"memory", "qn"},
      {"ephemeral-storage", "qn"},
      {"pods", "qn"},
      {"storage", "qn"},
      {"gpu", "qn"},
      {"requests.cpu", "qn"},
      {"hugepages", "qn"},
      {"attachable-volumes", "qn"},
      {"hugepages-2Mi", "qhns"},
      {"hugepages-1Gi", "qhns"},
      {"hugepages-", "hns"},
      {"Hugepages-2Mi", "qn"},
      {"attachable-volumes-aws-ebs", "qns"},
      {"attachable-volumes-", "ns"},
      {"", "n"},
      {"-", "n"},
      {"a", "qn"},
      {"A", "qn"},
      {"1", "qn"},
      {"a_", "n"},
      {"_a", "n"},
      {"a b", "n"},
      {"a.b", "qn"},
      {"a..b", "qn"},
      {"a-.b", "qn"},
      {"a.b_c-d", "qn"},
      {Times(63, 'a'), "qn"},
      {Times(64, 'a'), "n"},
      // The *kubernetes.io/ namespace, wherever in the name.
      {"kubernetes.io/batch-cpu", "qns"},
      {"example.kubernetes.io/foo", "qns"},
      {"mykubernetes.io/foo", "qns"},
      {"resource.kubernetes.io/x", "qns"},
      {"deviceclass.resource.kubernetes.io/gpu", "qns"},
      {"kubernetes.io/", "ns"},
      {"foo.com/kubernetes.io/", "ns"},
      {"kubernetes.io.example.com/foo", "qes"},
      {"example.com/kubernetes.io", "qes"},
      // Extended resources.
      {"nvidia.com/gpu", "qes"},
      {"nvidia.com/GPU", "qes"},
      {"nvidia.com/g_p.u-1", "qes"},
      {"a/b", "qes"},
      {"a/B_c.d-9", "qes"},
      {"n-v.com/gpu", "qes"},
      {"1.2/3", "qes"},
      {"a--b/c", "qes"},
      {"xn--a/c", "qes"},
      {"limits.nvidia.com/gpu", "qes"},
      {"requests.nvidia.com/gpu", "q"},
      {"x/hugepages-2Mi", "qes"},
      {"hugepages-foo.com/bar", "qehs"},
      {"hugepages-2Mi/x", "hs"},
      {"attachable-volumes-x.com/y", "qes"},
      {"a.b/" + Times(63, 'x'), "qes"},
      {"a.b/" + Times(64, 'x'), ""},
      {Times(64, 'a') + ".b/x", "qes"},  // the labels of a prefix may be longer than DNS allows
      {Subdomain(244) + "/x", "qes"},
      {Subdomain(244) + "/" + Times(63, 'x'), "qes"},
      {Subdomain(245) + "/x", "q"},  // too long with "requests." in front, as quotas have it
      {Subdomain(253) + "/x", "q"},
      {Subdomain(254) + "/x", ""},
      // What is no name.
      {"/", ""},
      {"a/", ""},
      {"/a", ""},
      {"a/b/c", ""},
      {"Nvidia.com/gpu", ""},
      {"nvidia_x.com/gpu", ""},
      {"-nvidia.com/gpu", ""},
      {"nvidia-.com/gpu", ""},
      {"nvidia.-com/gpu", ""},
      {"nvidia..com/gpu", ""},
      {".nvidia.com/gpu", ""},
      {"nvidia.com./gpu", ""},
      {"nvidia.com/", ""},
      {"nvidia.com/-gpu", ""},
      {"nvidia.com/gpu-", ""},
      {"nvidia.com/.gpu", ""},
      {"nvidia.com/gpu.", ""},
      {"nvidia.com/g pu", ""},
      {"nvidia.com/gpü", ""},
      {"a\nb/c", ""},
      {"a/b\n", ""},
  };
  return rows;
}

TEST(ResourceName, KindsAreTheReferences) {
  for (const Row& row : Rows()) {
    std::string is;
    if (IsQualifiedName(row.name)) is += 'q';
    if (IsExtendedResource(row.name)) is += 'e';
    if (IsHugePageResource(row.name)) is += 'h';
    if (IsNativeResource(row.name)) is += 'n';
    if (IsScalarResource(row.name)) is += 's';
    EXPECT_EQ(is, row.is) << row.name;
  }
}

// IsSupportedPodLevelResource in k8s.io/component-helpers/resource/helpers.go.
TEST(ResourceName, PodLevelResources) {
  for (const char* name : {"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "hugepages-"}) {
    EXPECT_TRUE(IsPodLevelResource(name)) << name;
  }
  for (const char* name : {"ephemeral-storage", "pods", "storage", "nvidia.com/gpu", "hugepages",
                           "kubernetes.io/cpu", "", "CPU"}) {
    EXPECT_FALSE(IsPodLevelResource(name)) << name;
  }
}

// validation.IsValidLabelValue of apimachinery.
TEST(ResourceName, LabelValues) {
  for (const std::string& value : {std::string(), std::string("a"), std::string("A-b_c.1"),
                                   std::string("1"), std::string("a..b"), Times(63, 'a')}) {
    EXPECT_TRUE(IsLabelValue(value)) << value;
  }
  for (const std::string& value :
       {std::string("-"), std::string("a-"), std::string("_a"), std::string("a b"),
        std::string("a/b"), std::string("ä"), std::string("a\n"), Times(64, 'a')}) {
    EXPECT_FALSE(IsLabelValue(value)) << value;
  }
}

// A name that holds zero bytes or ends in the middle of the view is read as it is.
TEST(ResourceName, ViewsNeedNoTerminator) {
  constexpr std::string_view kText = "nvidia.com/gpu-x";
  EXPECT_TRUE(IsExtendedResource(kText.substr(0, 14)));
  EXPECT_FALSE(IsExtendedResource(kText.substr(0, 15)));
  EXPECT_FALSE(IsExtendedResource(std::string_view("nvidia.com/gpu\0", 15)));
}

}  // namespace
}  // namespace schedfw::api
