// Properties of answers on random clusters: what changes them, and what must not.

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/read.h"
#include "schedfw/scheduler/report.h"
#include "support/cluster.h"
#include "support/random_cluster.h"

namespace schedfw {
namespace {

using testing::Join;
using testing::MakeScheduler;
using testing::RandomCluster;

using Answers = std::map<std::string, std::string>;

std::unique_ptr<Scheduler> AllProfiles(SchedulerOptions options = {}) {
  return MakeScheduler(testing::kRandomProfiles, std::move(options));
}

// Every status and score of every waiting pod, and what a cycle of it ends with.
Answers Explain(Scheduler& scheduler, const Snapshot& snapshot) {
  Answers out;
  for (const PodPtr& pod : snapshot.Pending()) {
    std::string& answer = out[pod->FullName()];
    answer = ToJson(ToValue(scheduler.Explain(snapshot, pod, {.preempt = true}), snapshot));
    const ScheduleResult result = scheduler.Schedule(snapshot, *pod);
    answer += " " + result.node + " " + std::to_string(result.score) + " " +
              std::to_string(result.feasible) + " " + result.status.message();
  }
  return out;
}

// Where all waiting pods go, one after another.
std::string Place(Scheduler& scheduler, const Cluster& cluster) {
  Cluster fork = cluster.Fork();
  std::string out;
  for (const Placement& placement : scheduler.Place(fork)) {
    out +=
        placement.pod->FullName() + " " + placement.node + " " + placement.status.message() + "\n";
  }
  return out;
}

// Shows the pods whose answers differ only.
void ExpectSame(Answers a, Answers b) {
  const Answers all = a;
  for (const auto& [pod, answer] : all) {
    const auto other = b.find(pod);
    if (other == b.end() || other->second != answer) continue;
    a.erase(pod);
    b.erase(pod);
  }
  EXPECT_EQ(a, b);
}

void ExpectSame(Scheduler& scheduler, const Cluster& a, const Cluster& b) {
  ExpectSame(Explain(scheduler, a.view()), Explain(scheduler, b.view()));
  EXPECT_EQ(Place(scheduler, a), Place(scheduler, b));
}

// What random clusters must reach for the other tests to say anything.
TEST(RandomClusters, ReachEveryPlugin) {
  const auto scheduler = AllProfiles();
  std::set<std::string> rejecting, scoring, profiles;
  std::size_t waiting = 0, feasible = 0, preempting = 0, nominated = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RandomCluster random(seed);
    const Snapshot& view = random.cluster().view();
    for (const PodPtr& pod : view.Pending()) {
      const Explanation e = scheduler->Explain(view, pod, {.preempt = true});
      preempting += e.preemption && e.preemption->status.ok();
      nominated += !pod->pod->status.nominated_node_name.empty();
      ++waiting;
      feasible += e.feasible.empty() ? 0 : 1;
      profiles.insert(e.profile);
      if (!e.pre_enqueue.ok() || !e.diagnosis.pre_filter.ok()) continue;
      for (Row row = 0; row < view.size(); ++row) {
        if (e.diagnosis.IsLeftOut(row) || e.diagnosis.IsFeasible(row)) continue;
        rejecting.insert(std::string(e.diagnosis.status(row).plugin()));
      }
      for (std::size_t p = 0; p < e.scores.plugins.size(); ++p) {
        const auto scores = e.scores.normalized.row(static_cast<Eigen::Index>(p));
        if (scores.minCoeff() != scores.maxCoeff()) scoring.insert(e.scores.plugins[p]);
      }
    }
  }
  for (const std::string plugin :
       {"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
        "PodTopologySpread", "InterPodAffinity"}) {
    EXPECT_TRUE(rejecting.contains(plugin)) << plugin;
  }
  for (const std::string plugin :
       {"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread",
        "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity"}) {
    EXPECT_TRUE(scoring.contains(plugin)) << plugin;
  }
  EXPECT_EQ(profiles.size(), 3u);
  EXPECT_GT(feasible, waiting / 3);
  EXPECT_LT(feasible, waiting);
  EXPECT_GT(preempting, 2u);
  EXPECT_GT(nominated, 5u);
}

TEST(Properties, IncrementalAnswersEqualThoseOfARebuiltCluster) {
  const auto scheduler = AllProfiles();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    RandomCluster random(seed);
    for (int round = 0; round < 8; ++round) {
      SCOPED_TRACE(round);
      for (int i = 0; i < 12; ++i) {
        random.Step();
        // Asking on the way makes derived columns and counts live through the events.
        if (i % 5 == 0) (void)Explain(*scheduler, random.cluster().view());
      }
      ExpectSame(*scheduler, random.cluster(), random.Rebuild());
      if (HasFailure()) return;
    }
  }
}

TEST(Properties, AForkGoesItsOwnWay) {
  const auto scheduler = AllProfiles();
  for (std::uint64_t seed = 101; seed <= 108; ++seed) {
    SCOPED_TRACE(seed);
    RandomCluster random(seed);
    for (int i = 0; i < 20; ++i) random.Step();
    const Snapshot kept = random.cluster().snapshot();
    const Answers before = Explain(*scheduler, kept);
    const std::string placed = Place(*scheduler, random.cluster());
    RandomCluster first = random.Fork();
    RandomCluster second = random.Fork();
    for (int i = 0; i < 40; ++i) {
      first.Step();
      if (i % 2 == 0) second.Step();
    }
    ExpectSame(Explain(*scheduler, random.cluster().view()), before);
    EXPECT_EQ(Place(*scheduler, random.cluster()), placed);
    ExpectSame(*scheduler, random.cluster(), random.Rebuild());
    ExpectSame(*scheduler, first.cluster(), first.Rebuild());
    ExpectSame(*scheduler, second.cluster(), second.Rebuild());
    // And the original may change below its forks.
    const Answers of_first = Explain(*scheduler, first.cluster().view());
    for (int i = 0; i < 20; ++i) random.Step();
    ExpectSame(Explain(*scheduler, first.cluster().view()), of_first);
    ExpectSame(Explain(*scheduler, kept), before);
    ExpectSame(*scheduler, random.cluster(), random.Rebuild());
    if (HasFailure()) return;
  }
}

// The order of the objects in a file, and that in which nodes and pods arrive one by one.
TEST(Properties, TheOrderOfObjectsChangesNothing) {
  const auto scheduler = AllProfiles();
  for (std::uint64_t seed = 201; seed <= 208; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCluster random(seed);
    std::vector<std::string> documents = random.Documents();
    const Answers want = Explain(*scheduler, random.cluster().view());
    Random order(seed);
    for (int round = 0; round < 3; ++round) {
      std::shuffle(documents.begin(), documents.end(), order);
      ExpectSame(Explain(*scheduler, testing::Parse(Join(documents)).view()), want);
    }
    auto objects = api::ParseObjects(Join(documents));
    ASSERT_TRUE(objects.ok());
    std::vector<api::Node> nodes;
    std::vector<api::Pod> pods;
    std::swap(nodes, objects->nodes);
    std::swap(pods, objects->pods);
    Cluster cluster;
    ASSERT_TRUE(cluster.Apply(*objects).ok());
    // Pods before their nodes, and the other way round.
    while (!nodes.empty() || !pods.empty()) {
      const bool node = pods.empty() || (!nodes.empty() && order.Below(4) == 0);
      const auto done =
          node ? cluster.AddNode(std::move(nodes.back())) : cluster.AddPod(std::move(pods.back()));
      ASSERT_TRUE(done.ok()) << done.error().message();
      node ? nodes.pop_back() : pods.pop_back();
    }
    ExpectSame(Explain(*scheduler, cluster.view()), want);
    if (HasFailure()) return;
  }
}

TEST(Properties, ALabelThatNobodySelectsChangesNothing) {
  const auto scheduler = AllProfiles();
  for (std::uint64_t seed = 301; seed <= 308; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCluster random(seed);
    const Answers want = Explain(*scheduler, random.cluster().view());
    const std::string placed = Place(*scheduler, random.cluster());
    for (const std::string kind : {"Node", "Pod", "Namespace"}) {
      SCOPED_TRACE(kind);
      std::vector<std::string> documents = random.Documents();
      std::size_t changed = 0;
      for (std::string& document : documents) {
        const auto labels = document.find(" labels: {");
        if (document.find(" kind: " + kind + ",") == std::string::npos) continue;
        ASSERT_NE(labels, std::string::npos);
        document.insert(labels + 10,
                        "example.com/unused: v" + std::to_string(changed++ % 3) + ", ");
      }
      ASSERT_GT(changed, 0u);
      const Cluster cluster = testing::Parse(Join(documents));
      ExpectSame(Explain(*scheduler, cluster.view()), want);
      EXPECT_EQ(Place(*scheduler, cluster), placed);
    }
    if (HasFailure()) return;
  }
}

// Tiny blocks, so that small clusters are split as well; a scheduler that has seen other clusters
// answers as a new one does.
TEST(Properties, ThreadsChangeNothing) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 8);
  const auto one = AllProfiles();
  std::vector<std::unique_ptr<Scheduler>> others;
  for (const int count : {2, 3, 8}) {
    for (const auto normalize : {NormalizeMode::kParallel, NormalizeMode::kSynchronous}) {
      SchedulerOptions options;
      options.executor = {.threads = count, .grain_rows = 1, .normalize = normalize};
      others.push_back(AllProfiles(std::move(options)));
    }
  }
  for (std::uint64_t seed = 401; seed <= 408; ++seed) {
    SCOPED_TRACE(seed);
    RandomCluster random(seed);
    for (int i = 0; i < 10; ++i) random.Step();
    const Answers want = Explain(*one, random.cluster().view());
    const std::string placed = Place(*one, random.cluster());
    ExpectSame(Explain(*AllProfiles(), random.cluster().view()), want);
    for (const auto& scheduler : others) {
      ExpectSame(Explain(*scheduler, random.cluster().view()), want);
      EXPECT_EQ(Place(*scheduler, random.cluster()), placed);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace schedfw
