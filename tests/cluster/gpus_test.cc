// GPUs of nodes one by one: who has which, as pods come, move and go.

#include "schedfw/cluster/gpus.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/cluster/dry_run.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"
#include "support/dump.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::CanonicalDump;
using testing::MakeScheduler;
using testing::Parse;

std::string GpuNode(const std::string& name, int gpus, const std::string& model = "A100") {
  return "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name +
         ", labels: {nvidia.com/gpu.product: " + model +
         "}}\nstatus: {capacity: {cpu: '64', memory: 64Gi, pods: '110', nvidia.com/gpu: '" +
         std::to_string(gpus) + "'}}\n";
}
std::string GpuPod(const std::string& name, const std::string& annotations, int whole,
                   const std::string& node = "") {
  const std::string gpus = whole == 0 ? "" : ", nvidia.com/gpu: '" + std::to_string(whole) + "'";
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {" +
         annotations + "}}\nspec:\n" + (node.empty() ? "" : "  nodeName: " + node + "\n") +
         "  containers: [{name: c, image: i, resources: {requests: {cpu: '1', memory: 1Gi" + gpus +
         "}}}]\n";
}
std::string Whole(const std::string& name, int count, const std::string& node = "") {
  return GpuPod(name, "", count, node);
}
std::string Share(const std::string& name, int milli, const std::string& node = "",
                  const std::string& index = "") {
  return GpuPod(name,
                "alibabacloud.com/gpu-milli: '" + std::to_string(milli) + "'" +
                    (index.empty() ? "" : ", alibabacloud.com/gpu-index: '" + index + "'"),
                0, node);
}

std::vector<int> Left(const Cluster& cluster, const std::string& node) {
  const GpuDevices& gpus = cluster.view().Gpus()[*cluster.view().Find(node)];
  return {gpus.left.begin(), gpus.left.begin() + gpus.count};
}
std::string GpusOf(const Cluster& cluster, const std::string& pod) {
  return GpuIndexText(cluster.view().GpusOf(cluster.view().FindPod("default", pod)->Key()));
}
api::Pod OnePod(const std::string& text) { return api::ParseObjects(text)->pods.at(0); }
using Milli = std::vector<int>;

constexpr const char* kDeviceShare =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{plugins: {multiPoint: {enabled: [{name: DeviceShare}]}}}]\n";
constexpr const char* kSpread =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{plugins: {multiPoint: {enabled: [{name: DeviceShare}]}},\n"
    "  pluginConfig: [{name: DeviceShare, args: {strategy: spread}}]}]\n";

TEST(Gpus, PodsOnNodesHaveTheFirstThatAreFree) {
  const Cluster cluster =
      Parse(GpuNode("n1", 4) + Whole("a", 1, "n1") + Whole("b", 2, "n1") + Share("c", 300, "n1"));
  EXPECT_EQ(Left(cluster, "n1"), (Milli{0, 0, 0, 700}));
  EXPECT_EQ(GpusOf(cluster, "a"), "0");
  EXPECT_EQ(GpusOf(cluster, "b"), "1-2");
  EXPECT_EQ(GpusOf(cluster, "c"), "3");
}

TEST(Gpus, AnnotationsSayWhichAPodHas) {
  const Cluster cluster =
      Parse(GpuNode("n1", 4) + Share("a", 300, "n1", "2") + Share("b", 400, "n1", "2") +
            Share("c", 400, "n1", "2") /* it can't be there too */ + Share("d", 100, "n1", "x"));
  EXPECT_EQ(GpusOf(cluster, "a"), "2");
  EXPECT_EQ(GpusOf(cluster, "b"), "2");
  EXPECT_EQ(GpusOf(cluster, "c"), "0");
  EXPECT_EQ(GpusOf(cluster, "d"), "2");  // the tightest that fits
  EXPECT_EQ(Left(cluster, "n1"), (Milli{600, 1000, 200, 1000}));
}

TEST(Gpus, WhatMakesNoSenseAsksForNone) {
  for (const char* annotations :
       {"alibabacloud.com/gpu-milli: '0'", "alibabacloud.com/gpu-milli: '1001'",
        "alibabacloud.com/gpu-milli: half", "alibabacloud.com/gpu-milli: ''",
        "alibabacloud.com/gpu-milli: '500', alibabacloud.com/gpu-count: '2'",
        "alibabacloud.com/gpu-milli: '500', alibabacloud.com/gpu-count: '-1'",
        "alibabacloud.com/gpu-milli: '99999999999999999999'"}) {
    const Cluster cluster = Parse(GpuNode("n1", 2) + GpuPod("p", annotations, 0, "n1"));
    EXPECT_EQ(Left(cluster, "n1"), (Milli{1000, 1000})) << annotations;
  }
}

TEST(Gpus, ANodeWithVeryManyHasThemAsAnAmountOnly) {
  const Cluster cluster = Parse(GpuNode("n1", 17) + Whole("a", 3, "n1") + GpuNode("m", 16));
  EXPECT_EQ(Left(cluster, "n1"), Milli());
  EXPECT_EQ(GpusOf(cluster, "a"), "");
  EXPECT_EQ(Left(cluster, "m"), Milli(16, 1000));
  const Cluster none = Parse(testing::NodeYaml("n1"));
  EXPECT_EQ(none.view().Gpus(), nullptr);
}

TEST(Gpus, APodForWhichThereAreNoneHasNone) {
  const Cluster cluster = Parse(GpuNode("n1", 2) + Whole("a", 1, "n1") + Whole("b", 2, "n1"));
  EXPECT_EQ(GpusOf(cluster, "b"), "");
  EXPECT_EQ(Left(cluster, "n1"), (Milli{0, 1000}));
}

TEST(Gpus, GoBackWithTheirPods) {
  Cluster cluster = Parse(GpuNode("n1", 4) + Whole("a", 2, "n1") + Share("b", 250));
  const Cluster fork = cluster.Fork();
  const PodPtr b = cluster.view().FindPod("default", "b");
  ASSERT_TRUE(cluster.AssumePod(*b, 0, GpuMask{0b1000}).ok());
  EXPECT_EQ(GpusOf(cluster, "b"), "3");
  EXPECT_EQ(Left(cluster, "n1"), (Milli{0, 0, 1000, 750}));
  EXPECT_EQ(Left(fork, "n1"), (Milli{0, 0, 1000, 1000}));
  ASSERT_TRUE(cluster.ForgetPod(*b).ok());
  EXPECT_EQ(Left(cluster, "n1"), (Milli{0, 0, 1000, 1000}));
  // Those that are in use aren't given.
  ASSERT_TRUE(cluster.AssumePod(*b, 0, GpuMask{0b0001}).ok());
  EXPECT_EQ(GpusOf(cluster, "b"), "2");
  ASSERT_TRUE(cluster.DeletePod("default", "a").ok());
  ASSERT_TRUE(cluster.DeletePod("default", "b").ok());
  EXPECT_EQ(Left(cluster, "n1"), (Milli{1000, 1000, 1000, 1000}));
  EXPECT_EQ(Left(fork, "n1"), (Milli{0, 0, 1000, 1000}));
}

TEST(Gpus, StayWhatTheyAreWhenPodOrNodeChange) {
  Cluster cluster = Parse(GpuNode("m", 2) + GpuNode("n1", 4) + Whole("a", 1, "n1") +
                          Share("b", 250, "n1", "3") + Whole("c", 1, "n1"));
  ASSERT_TRUE(cluster.DeletePod("default", "a").ok());
  EXPECT_EQ(GpusOf(cluster, "c"), "1");
  api::Pod changed = OnePod(Whole("c", 1, "n1"));
  changed.metadata.labels["new"] = "label";
  ASSERT_TRUE(cluster.UpdatePod(changed).ok());
  EXPECT_EQ(GpusOf(cluster, "c"), "1");
  ASSERT_TRUE(cluster.DeleteNode("m").ok());  // n gets another row
  EXPECT_EQ(Left(cluster, "n1"), (Milli{1000, 0, 1000, 750}));
  // The node goes and comes back.
  ASSERT_TRUE(cluster.DeleteNode("n1").ok());
  ASSERT_TRUE(cluster.AddNode(api::ParseObjects(GpuNode("n1", 4))->nodes[0]).ok());
  EXPECT_EQ(Left(cluster, "n1"), (Milli{1000, 0, 1000, 750}));
  // One GPU is lost; the pod that had it gets room elsewhere, the others stay.
  ASSERT_TRUE(cluster.UpdateNode(api::ParseObjects(GpuNode("n1", 3))->nodes[0]).ok());
  EXPECT_EQ(Left(cluster, "n1"), (Milli{750, 0, 1000}));
  EXPECT_EQ(GpusOf(cluster, "c"), "1");
}

TEST(Gpus, PodsOfOneKindHaveOnePlanAndOthersOthers) {
  const Cluster cluster = Parse(GpuNode("n1", 4) + Share("a", 300) + Share("b", 300) +
                                Share("c", 400) + GpuPod("d", "other: '1'", 0));
  const auto plan = [&](const char* name) {
    return cluster.view().FindPod("default", name)->plan.get();
  };
  EXPECT_EQ(plan("a"), plan("b"));
  EXPECT_NE(plan("a"), plan("c"));
  EXPECT_NE(plan("a"), plan("d"));
}

TEST(Gpus, DryRunsMoveThem) {
  const Cluster cluster = Parse(GpuNode("n1", 2) + Whole("a", 1, "n1") + Whole("b", 1, "n1"));
  const PodPtr b = cluster.view().FindPod("default", "b");
  DryRun run(cluster.view());
  run.RemovePod(*b, 0);
  EXPECT_EQ(run.view().Gpus()[0].left[1], 1000);
  ASSERT_TRUE(run.AddPod(b, 0).ok());
  EXPECT_EQ(run.view().Gpus()[0].left[1], 0);
  EXPECT_EQ(cluster.view().Gpus()[0].left[1], 0);
}

TEST(Gpus, CheckpointsKeepWhoHasWhich) {
  Cluster cluster =
      Parse(GpuNode("n1", 4) + GpuNode("gone", 2) + Whole("a", 1, "n1") + Share("b", 300, "n1") +
            Share("c", 300, "n1") + Share("d", 100, "gone", "1") + Share("e", 500) + Whole("f", 1));
  ASSERT_TRUE(cluster.DeletePod("default", "a").ok());  // so it isn't what adding them would give
  const auto scheduler = MakeScheduler(kSpread);
  SchedulingLoop loop(*scheduler, cluster);
  ASSERT_TRUE(loop.RunUntilQuiet().ok());
  ASSERT_TRUE(loop.DeleteNode("gone").ok());
  const CheckpointFile file = loop.Checkpoint();
  Cluster other;
  const auto again = MakeScheduler(kSpread);
  SchedulingLoop restored(*again, other);
  const auto done = restored.Restore(file);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(CanonicalDump(other.view()), CanonicalDump(cluster.view()));
  for (SchedulingLoop* each : {&loop, &restored}) {
    ASSERT_TRUE(each->AddNode(api::ParseObjects(GpuNode("gone", 2))->nodes[0]).ok());
  }
  EXPECT_EQ(Left(other, "gone"), Left(cluster, "gone"));
  EXPECT_EQ(Left(other, "gone").at(1), 900);  // not the first, which adding it would give
  EXPECT_EQ(CanonicalDump(other.view()), CanonicalDump(cluster.view()));
}

TEST(DeviceShare, SaysWhyANodeDoesNotDo) {
  Cluster cluster = Parse(GpuNode("few", 1) + GpuNode("other", 4, "T4") + GpuNode("used", 4) +
                          Share("s0", 600, "used", "0") + Share("s1", 600, "used", "1") +
                          Share("s2", 600, "used", "2") + testing::NodeYaml("none") +
                          GpuPod("p", "alibabacloud.com/gpu-card-model: A100|V100", 2));
  const auto scheduler = MakeScheduler(kDeviceShare);
  const ScheduleResult result =
      scheduler->Schedule(cluster.view(), *cluster.view().FindPod("default", "p"));
  EXPECT_EQ(result.status.message(),
            "0/4 nodes are available: 1 node(s) didn't have enough free GPUs, 1 node(s) had GPUs "
            "of another model, 2 Insufficient nvidia.com/gpu.");
}

TEST(DeviceShare, SharesDoNotMeetOnOneGpu) {
  Cluster cluster = Parse(GpuNode("n1", 1) + Share("a", 600) + Share("b", 600) + Share("c", 400));
  const auto scheduler = MakeScheduler(kDeviceShare);
  std::map<std::string, std::string> nodes;
  for (const Placement& placement : scheduler->Place(cluster)) {
    nodes[placement.pod->pod->metadata.name] = placement.node;
  }
  EXPECT_EQ(nodes, (std::map<std::string, std::string>{{"a", "n1"}, {"b", ""}, {"c", "n1"}}));
  EXPECT_EQ(Left(cluster, "n1"), (Milli{0}));
}

TEST(DeviceShare, APreemptorGetsTheGpuOfItsVictim) {
  std::string high = Share("high", 500);
  high.insert(high.find("  containers"), "  priority: 100\n");
  Cluster cluster =
      Parse(GpuNode("n1", 2) + Share("a", 800, "n1", "0") + Share("b", 700, "n1", "1") + high);
  const auto scheduler = MakeScheduler(kDeviceShare);
  const PreemptionResult result =
      scheduler->FindVictims(cluster.view(), *cluster.view().FindPod("default", "high"));
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  ASSERT_EQ(result.victims.size(), 1u);
  EXPECT_EQ(result.nominated_node, "n1");
}

// The reports say: 16 halves on 8 GPUs, in bulk, and some GPUs got three or four.
TEST(Case, B19FractionalGpuBulkPlacement) {
  const auto folder = testing::TestsDir() / "cases/B19-fractional-gpu-bulk-placement";
  std::istringstream rows(testing::ReadFile(folder / "pods.csv"));
  std::string row, pods;
  std::getline(rows, row);
  int count = 0;
  for (; std::getline(rows, row); ++count) {
    const std::string name = row.substr(0, row.find(','));
    ASSERT_NE(row.find(",1,500,"), std::string::npos);
    pods += Share(name, 500);
  }
  ASSERT_EQ(count, 16);
  for (const char* config : {kDeviceShare, kSpread}) {
    for (const int threads : {1, 4}) {
      for (const bool one_by_one : {false, true}) {
        SchedulerOptions options;
        options.executor = {.threads = threads, .grain_rows = 1};
        const auto scheduler = MakeScheduler(config, options);
        Cluster cluster = Parse(GpuNode("node-a", 8) + (one_by_one ? "" : pods));
        if (one_by_one) {
          auto objects = api::ParseObjects(pods);
          ASSERT_TRUE(objects.ok());
          for (api::Pod& pod : objects->pods) {
            ASSERT_TRUE(cluster.AddPod(std::move(pod)).ok());
            for (const Placement& placement : scheduler->Place(cluster)) {
              EXPECT_EQ(placement.node, "node-a");
            }
          }
        } else {
          for (const Placement& placement : scheduler->Place(cluster)) {
            EXPECT_EQ(placement.node, "node-a");
          }
        }
        EXPECT_EQ(Left(cluster, "node-a"), Milli(8, 0));
        EXPECT_TRUE(cluster.view().Pending().empty());
      }
    }
  }
}

TEST(Case, B20NumaOrderHidesDeviceLoad) {
  const auto folder = testing::TestsDir() / "cases/B20-numa-order-hides-device-load";
  std::istringstream rows(testing::ReadFile(folder / "gpus.csv"));
  std::string row, objects = GpuNode("n1", 4) + Share("one-slice", 100);
  std::getline(rows, row);
  for (int index = 0; std::getline(rows, row); ++index) {
    std::istringstream cells(row);
    std::string gpu, numa, used;
    std::getline(cells, gpu, ',');
    std::getline(cells, numa, ',');
    std::getline(cells, used, ',');
    objects +=
        Share("there-" + std::to_string(index), std::stoi(used), "n1", std::to_string(index));
  }
  for (const auto& [config, gpu] : {std::pair{kSpread, "3"}, std::pair{kDeviceShare, "0"}}) {
    Cluster cluster = Parse(objects);
    const auto scheduler = MakeScheduler(config);
    ASSERT_EQ(scheduler->Place(cluster).at(0).node, "n1");
    EXPECT_EQ(GpusOf(cluster, "one-slice"), gpu);
  }
}

std::string MigNode(const std::string& name, const std::string& amounts,
                    const std::string& labels = "") {
  return "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels +
         "}}\nstatus: {capacity: {cpu: '64', memory: 64Gi, pods: '110', " + amounts + "}}\n";
}
std::string MigPod(const std::string& name, const std::string& profile, int slices,
                   const std::string& node = "") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" +
         (node.empty() ? "" : "  nodeName: " + node + "\n") +
         "  containers: [{name: c, image: i, resources: {limits: {cpu: '1', memory: 1Gi, "
         "nvidia.com/mig-" +
         profile + ": '" + std::to_string(slices) + "'}}}]\n";
}
std::vector<int> MigLeft(const Cluster& cluster, const std::string& profile, std::size_t gpus) {
  const ResourceId id = cluster.view().dictionary().Resource("nvidia.com/mig-" + profile);
  const MigSlices left = cluster.view().MigLeft(0, id, 0);
  return {left.of.begin(), left.of.begin() + static_cast<std::ptrdiff_t>(gpus)};
}

TEST(Mig, SlicesAreTheSameOnEachGpu) {
  // Fourteen of a seventh are two GPUs; the whole one comes first.
  const Cluster all = Parse(MigNode("n1", "nvidia.com/gpu: '1', nvidia.com/mig-1g.5gb: '14'"));
  EXPECT_EQ(MigLeft(all, "1g.5gb", 4), (Milli{0, 7, 7, 0}));
  // Balanced: two of 1g, one of 2g and one of 3g on each of four GPUs, which the label tells.
  const Cluster balanced = Parse(MigNode("n1",
                                         "nvidia.com/mig-1g.5gb: '8', nvidia.com/mig-2g.10gb: "
                                         "'4', nvidia.com/mig-3g.20gb: '4'",
                                         "nvidia.com/gpu.count: '4'"));
  EXPECT_EQ(MigLeft(balanced, "1g.5gb", 5), (Milli{2, 2, 2, 2, 0}));
  EXPECT_EQ(MigLeft(balanced, "3g.20gb", 5), (Milli{1, 1, 1, 1, 0}));
  // Without the label as few as have room: 8 + 8 + 12 compute slices are four GPUs.
  const Cluster guessed = Parse(MigNode("n1",
                                        "nvidia.com/mig-1g.5gb: '8', nvidia.com/mig-2g.10gb: "
                                        "'4', nvidia.com/mig-3g.20gb: '4'"));
  EXPECT_EQ(MigLeft(guessed, "2g.10gb", 5), (Milli{1, 1, 1, 1, 0}));
  EXPECT_EQ(MigLeft(guessed, "7g.40gb", 5), (Milli{0, 0, 0, 0, 0}));
}

TEST(Mig, FillsTheGpuThatHasTheFewestLeft) {
  Cluster cluster =
      Parse(MigNode("n1", "nvidia.com/mig-1g.5gb: '14'") + MigPod("old", "1g.5gb", 3, "n1") +
            MigPod("a", "1g.5gb", 1) + MigPod("b", "1g.5gb", 5) + MigPod("c", "1g.5gb", 4) +
            MigPod("d", "1g.5gb", 2));
  EXPECT_EQ(GpusOf(cluster, "old"), "0");
  const auto scheduler = MakeScheduler(kDeviceShare);
  const auto place = [&](const char* pod) {
    return scheduler->ScheduleOne(cluster, *cluster.view().FindPod("default", pod)).status.ok();
  };
  ASSERT_TRUE(place("a"));
  EXPECT_EQ(GpusOf(cluster, "a"), "0");
  ASSERT_TRUE(place("b"));
  EXPECT_EQ(GpusOf(cluster, "b"), "1");
  EXPECT_EQ(MigLeft(cluster, "1g.5gb", 2), (Milli{3, 2}));
  const Cluster fork = cluster.Fork();
  // Four fit on no single GPU, and one each on four there aren't: nobody knows where they are.
  ASSERT_TRUE(place("c"));
  EXPECT_EQ(GpusOf(cluster, "c"), "");
  ASSERT_TRUE(cluster.DeletePod("default", "c").ok());
  ASSERT_TRUE(place("d"));
  EXPECT_EQ(GpusOf(cluster, "d"), "1");
  EXPECT_EQ(MigLeft(cluster, "1g.5gb", 2), (Milli{3, 0}));
  ASSERT_TRUE(cluster.DeletePod("default", "b").ok());
  EXPECT_EQ(MigLeft(cluster, "1g.5gb", 2), (Milli{3, 5}));
  EXPECT_EQ(MigLeft(fork, "1g.5gb", 2), (Milli{3, 2}));
}

TEST(Mig, OneOnEachWhereNoGpuHasAsMany) {
  MigSlices slices;
  slices.of = {1, 0, 1, 2};
  EXPECT_EQ(slices.Choose(1), 0b0001);
  EXPECT_EQ(slices.Choose(2), 0b1000);
  EXPECT_EQ(slices.Choose(3), 0b1101);
  EXPECT_EQ(slices.Choose(4), 0);
  EXPECT_TRUE(slices.Has(0b1000, 2));
  EXPECT_FALSE(slices.Has(0b0001, 2));
  EXPECT_TRUE(slices.Has(0b0101, 2));
  EXPECT_FALSE(slices.Has(0b1101, 2));
  EXPECT_FALSE(slices.Has(0, 1));
}

}  // namespace
}  // namespace schedfw
