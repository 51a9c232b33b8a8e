// A steady-state cycle allocates nothing.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"

namespace {

thread_local std::size_t allocations = 0;

void* AllocateOrNull(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* AllocateOrNull(std::size_t size, std::align_val_t align) noexcept {
  ++allocations;
  const auto unit = static_cast<std::size_t>(align);
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}
template <typename... Align>
void* Allocate(std::size_t size, Align... align) {
  if (void* out = AllocateOrNull(size, align...)) return out;
  throw std::bad_alloc();
}

}  // namespace

// Every allocation of this program is counted, on the thread that asks for it. All forms are here:
// what one of them has allocated another one of the same family may free.
void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t align) { return Allocate(size, align); }
void* operator new[](std::size_t size, std::align_val_t align) { return Allocate(size, align); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size);
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, align);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }

namespace schedfw {
namespace {

using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

std::string Nodes(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(1000 + i);
    out += NodeYaml(name, "kubernetes.io/hostname: " + name + ", topology.kubernetes.io/zone: z" +
                              std::to_string(i % 3) + ", rack: r" + std::to_string(i % 6));
  }
  return out;
}

constexpr const char* kSpread =
    "  topologySpreadConstraints:\n"
    "  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,\n"
    "     labelSelector: {matchLabels: {app: a}}}\n"
    "  - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway,\n"
    "     labelSelector: {matchLabels: {app: a}}}\n";

constexpr const char* kService =
    "---\n{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: a}}}\n";

struct Kind {
  const char* name;
  const char* spec;
  bool service;
};

class Allocations : public ::testing::TestWithParam<Kind> {
 protected:
  // Pods that differ in what they ask for, or all alike.
  static Cluster Load(bool replicas) {
    std::string text = Nodes(300) + (GetParam().service ? kService : "");
    for (int i = 0; i < 60; ++i) {
      text += PodYaml("p" + std::to_string(1000 + i), "app: a", GetParam().spec,
                      std::to_string(replicas ? 100 : 100 + i) + "m");
    }
    return Parse(text);
  }
  static std::unique_ptr<Scheduler> New() {
    return *Scheduler::Create({}, InTreeRegistry(), SchedulerOptions());
  }
};

TEST_P(Allocations, OfACycleOverAllNodes) {
  const Cluster cluster = Load(/*replicas=*/false);
  const auto scheduler = New();
  const std::vector<PodPtr> pods = cluster.view().Pending();
  for (std::size_t i = 0; i < 10; ++i) (void)scheduler->Schedule(cluster.view(), *pods[i]);
  const std::size_t before = allocations;
  for (std::size_t i = 10; i < pods.size(); ++i) {
    const ScheduleResult result = scheduler->Schedule(cluster.view(), *pods[i]);
    if (!result.status.ok() || result.incremental) std::abort();
  }
  EXPECT_EQ(allocations - before, 0u);
}

TEST_P(Allocations, OfACycleByGroupsAndItsBinding) {
  Cluster cluster = Load(/*replicas=*/true);
  const auto scheduler = New();
  const std::vector<PodPtr> pods = cluster.view().Pending();
  // At first lists of nodes grow as pods come and go; the third time they are as large as they get.
  std::size_t counted = 0;
  for (const int round : {1, 2, 3}) {
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const std::size_t before = allocations;
      const ScheduleResult result = scheduler->Schedule(cluster.view(), *pods[i]);
      if (round == 3) counted += allocations - before;
      if (!result.status.ok() || (i >= 2 && !result.incremental)) std::abort();
      ASSERT_TRUE(cluster.AssumePod(*pods[i], *result.row).ok());
    }
    for (const PodPtr& pod : pods) ASSERT_TRUE(cluster.ForgetPod(*pod).ok());
  }
  EXPECT_EQ(counted, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Allocations,
                         ::testing::Values(Kind{"Plain", "", false}, Kind{"Spread", kSpread, false},
                                           Kind{"Service", "", true}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace schedfw
