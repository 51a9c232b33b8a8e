// Cycles that use answers of earlier ones: the same results, and only what has changed is asked.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/cluster/row_changes.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"
#include "support/random_cluster.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;
using testing::RandomCluster;

constexpr const char* kSpread =
    "  topologySpreadConstraints:\n"
    "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,\n"
    "     labelSelector: {matchLabels: {app: a}}}\n"
    "  - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway,\n"
    "     labelSelector: {matchLabels: {app: a}}}\n";

std::string Nodes(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(1000 + i);
    out += NodeYaml(name,
                    "kubernetes.io/hostname: " + name + ", zone: z" + std::to_string(i % 3) +
                        ", rack: r" + std::to_string(i % 6),
                    std::to_string(4 + i % 3));
  }
  return out;
}

std::string Replicas(int count, const std::string& name, const std::string& spec,
                     const std::string& labels = "app: a") {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += PodYaml(name + std::to_string(1000 + i), labels, spec, "500m");
  }
  return out;
}

// Places all waiting pods and says how many cycles used earlier answers. Every one of them is
// compared with the whole pipeline (testing::MakeScheduler asks for that).
int PlaceAll(Scheduler& scheduler, Cluster& cluster) {
  int incremental = 0;
  for (const PodPtr& pod : cluster.view().Pending()) {
    const ScheduleResult result = scheduler.ScheduleOne(cluster, *pod);
    EXPECT_NE(result.status.code(), Code::kError) << result.status.message();
    incremental += result.incremental ? 1 : 0;
  }
  return incremental;
}

TEST(Incremental, ReplicasUseEarlierAnswers) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(Nodes(60) + Replicas(40, "p", "") + Replicas(40, "q", kSpread));
  // All but the first of each kind.
  EXPECT_EQ(PlaceAll(*scheduler, cluster), 78);
}

// Domains are looked for block by block; here those of the first block are a quarter of all, and
// the weight of a constraint is log(domains + 2): 3.7 for 40 of them, 2.5 for 10.
TEST(Incremental, DomainsBeyondTheFirstBlockCount) {
  std::string nodes;
  for (int i = 0; i < 1200; ++i) {
    nodes += NodeYaml("n" + std::to_string(1000 + i),
                      "rack: r" + std::to_string(i < 1100 ? i % 10 : i % 40));
  }
  const std::string spread =
      "  topologySpreadConstraints:\n"
      "  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway,\n"
      "     labelSelector: {matchLabels: {app: a}}}\n";
  const Cluster cluster = Parse(nodes + PodYaml("there", "app: a", "  nodeName: n1000\n") +
                                PodYaml("p", "app: a", spread));
  const auto scheduler = MakeScheduler();
  const Explanation explanation =
      scheduler->Explain(cluster.view(), cluster.view().FindPod("default", "p"));
  const auto& plugins = explanation.scores.plugins;
  const auto at = std::find(plugins.begin(), plugins.end(), "PodTopologySpread");
  ASSERT_NE(at, plugins.end());
  EXPECT_EQ(explanation.scores.raw(at - plugins.begin(), 0), 4);
}

TEST(Incremental, HostnamesAreGroupedByTheirPods) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(Nodes(60) +
                          "---\n{apiVersion: v1, kind: Service, metadata: {name: s}, "
                          "spec: {selector: {app: a}}}\n" +
                          Replicas(80, "p", ""));
  EXPECT_EQ(PlaceAll(*scheduler, cluster), 79);
}

TEST(Incremental, ChangesOfNodesAndObjectsAreSeen) {
  const auto scheduler = MakeScheduler();
  Cluster cluster = Parse(Nodes(60));
  int incremental = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 5; ++i) {
      api::ObjectList list = *api::ParseObjects(
          PodYaml("p" + std::to_string(round * 10 + i), "app: a", kSpread, "500m"));
      ASSERT_TRUE(cluster.AddPod(list.pods[0]).ok());
    }
    incremental += PlaceAll(*scheduler, cluster);
    const Row row = static_cast<Row>(round * 7 % cluster.view().size());
    api::Node node = cluster.view().node(row);
    if (round % 3 == 0) {
      node.spec.taints.push_back({"t", "", api::TaintEffect::kPreferNoSchedule});
      ASSERT_TRUE(cluster.UpdateNode(node).ok());
    } else if (round % 3 == 1) {
      ASSERT_TRUE(cluster.DeleteNode(node.metadata.name).ok());
    } else {
      node.metadata.name = "extra" + std::to_string(round);
      ASSERT_TRUE(cluster.AddNode(node).ok());
    }
  }
  EXPECT_GT(incremental, 20);
}

// A scheduler that is given forks in turn, each of which goes its own way.
TEST(Incremental, ForksAndEarlierStatesAreTold) {
  const auto scheduler = MakeScheduler();
  const Cluster origin = Parse(Nodes(60) + Replicas(60, "p", kSpread));
  std::vector<Cluster> forks(3, origin.Fork());
  const std::vector<PodPtr> pods = origin.view().Pending();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    Cluster& fork = forks[i * i % 3];
    const ScheduleResult result = scheduler->ScheduleOne(fork, *pods[i]);
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    if (i % 10 == 9) forks[0] = forks[1].Fork();
    const ScheduleResult again = scheduler->Schedule(origin.view(), *pods[i]);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    EXPECT_TRUE(again.incremental);
  }
}

TEST(Incremental, SeededTiesAreDrawnAlike) {
  SchedulerOptions options;
  options.tie_break = TieBreak::kSeeded;
  options.seed = 3;
  const auto scheduler = MakeScheduler("", options);
  std::map<std::string, int> nodes;
  Cluster cluster = Parse(Nodes(60) + Replicas(30, "p", ""));
  const std::vector<PodPtr> pods = cluster.view().Pending();
  for (int i = 0; i < 200; ++i) ++nodes[scheduler->Schedule(cluster.view(), *pods[1]).node];
  // 20 nodes of the most room: all of them come up, and no other.
  EXPECT_EQ(nodes.size(), 20u);
}

TEST(Incremental, RandomKindsOfPodsEqualTheWholePipeline) {
  const auto scheduler = MakeScheduler(testing::kRandomProfiles);
  int incremental = 0, cycles = 0;
  for (std::uint64_t seed = 501; seed <= 512; ++seed) {
    SCOPED_TRACE(seed);
    RandomCluster random(seed);
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 5; ++i) random.Step();
      Cluster fork = random.cluster().Fork();
      for (const PodPtr& pod : fork.view().Pending()) {  // nominated pods need the whole pipeline
        ASSERT_TRUE(fork.NominatePod(pod->pod->metadata.ns, pod->pod->metadata.name, "").ok());
      }
      std::vector<PodPtr> kinds = fork.view().Pending();
      if (kinds.size() > 6) kinds.resize(6);
      for (int copy = 0; copy < 6; ++copy) {
        for (const PodPtr& kind : kinds) {
          auto pod = std::make_shared<api::Pod>(*kind->pod);
          pod->metadata.name += "-" + std::to_string(copy);
          pod->metadata.uid.clear();
          pod->status.nominated_node_name.clear();
          auto added = fork.AddNormalizedPod(std::move(pod));
          ASSERT_TRUE(added.ok()) << added.error().message();
          if (!scheduler->Admit(**added).ok()) continue;
          const ScheduleResult result = scheduler->ScheduleOne(fork, **added);
          ASSERT_EQ(result.status.message().find("verify_incremental"), std::string::npos)
              << result.status.message();
          incremental += result.incremental ? 1 : 0;
          ++cycles;
        }
      }
    }
  }
  EXPECT_GT(incremental, cycles / 4) << cycles;
}

// --- what a plan depends on

TEST(PodPlans, EveryFieldThatIsReadTellsPlansApart) {
  const auto list = api::ParseObjects(PodYaml("p", "app: a", kSpread));
  ASSERT_TRUE(list.ok());
  api::ObjectList objects = *list;
  ASSERT_TRUE(api::Normalize(objects).ok());
  const api::Pod base = objects.pods[0];
  using Change = std::pair<const char*, void (*)(api::Pod&)>;
  const std::vector<Change> changes = {
      {"namespace", [](api::Pod& p) { p.metadata.ns = "other"; }},
      {"labels", [](api::Pod& p) { p.metadata.labels["x"] = "y"; }},
      {"label value", [](api::Pod& p) { p.metadata.labels["app"] = "b"; }},
      {"owner",
       [](api::Pod& p) {
         p.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "r", "u", true});
       }},
      {"deletion", [](api::Pod& p) { p.metadata.deletion_timestamp_ns = 1; }},
      {"schedulerName", [](api::Pod& p) { p.spec.scheduler_name = "other"; }},
      {"priority", [](api::Pod& p) { p.spec.priority = 7; }},
      {"preemptionPolicy", [](api::Pod& p) { p.spec.preemption_policy = "Never"; }},
      {"nodeSelector",
       [](api::Pod& p) {
         p.spec.node_selector = api::StringMap{{"a", "b"}};
       }},
      {"nodeAffinity", [](api::Pod& p) { p.spec.affinity.node_affinity.emplace(); }},
      {"podAffinity", [](api::Pod& p) { p.spec.affinity.pod_affinity.emplace(); }},
      {"podAntiAffinity", [](api::Pod& p) { p.spec.affinity.pod_anti_affinity.emplace(); }},
      {"tolerations", [](api::Pod& p) { p.spec.tolerations.emplace_back(); }},
      {"maxSkew", [](api::Pod& p) { p.spec.topology_spread_constraints[0].max_skew = 5; }},
      {"constraints", [](api::Pod& p) { p.spec.topology_spread_constraints.pop_back(); }},
      {"image", [](api::Pod& p) { p.spec.containers[0].image = "other"; }},
      {"requests",
       [](api::Pod& p) { p.spec.containers[0].resources.requests["cpu"] = *Quantity::Parse("2"); }},
      {"ports",
       [](api::Pod& p) {
         p.spec.containers[0].ports.push_back({1, 2, "TCP", ""});
       }},
      {"init container", [](api::Pod& p) { p.spec.init_containers.emplace_back(); }},
      {"overhead", [](api::Pod& p) { p.spec.overhead["cpu"] = *Quantity::Parse("1"); }},
      {"resources", [](api::Pod& p) { p.spec.resources.emplace(); }},
      {"gates", [](api::Pod& p) { p.spec.scheduling_gates.push_back({"g"}); }},
      {"claim",
       [](api::Pod& p) { p.spec.volumes.emplace_back().persistent_volume_claim = "data"; }},
      {"ephemeral volume", [](api::Pod& p) { p.spec.volumes.emplace_back().ephemeral = true; }},
      {"image volume", [](api::Pod& p) { p.spec.volumes.emplace_back().image = true; }},
      {"claims", [](api::Pod& p) { p.spec.resource_claims.push_back({"c"}); }},
      {"containerStatuses", [](api::Pod& p) { p.status.container_statuses.emplace_back(); }},
      {"allocatedResources", [](api::Pod& p) { p.status.allocated_resources.emplace(); }},
      {"resize", [](api::Pod& p) {
         p.status.conditions.push_back({"PodResizePending", "True", "Infeasible"});
       }}};
  // Whether a pod and the base have one plan.
  const auto share = [&](api::Pod pod) {
    Dictionary dictionary;
    PodPlans plans;
    auto first = plans.Compile(std::make_shared<const api::Pod>(base), dictionary);
    auto second = plans.Compile(std::make_shared<const api::Pod>(std::move(pod)), dictionary);
    EXPECT_TRUE(first.ok() && second.ok());
    return (*first)->plan == (*second)->plan;
  };
  for (const auto& [name, change] : changes) {
    api::Pod pod = base;
    change(pod);
    EXPECT_FALSE(share(pod)) << name;
    EXPECT_FALSE(SamePlan(pod, base)) << name;
  }
  const std::vector<Change> same = {
      {"name", [](api::Pod& p) { p.metadata.name = "q"; }},
      {"uid", [](api::Pod& p) { p.metadata.uid = "u"; }},
      {"annotations", [](api::Pod& p) { p.metadata.annotations["a"] = "b"; }},
      {"creation", [](api::Pod& p) { p.metadata.creation_timestamp_ns = 5; }},
      {"nomination", [](api::Pod& p) { p.status.nominated_node_name = "n"; }},
      {"start", [](api::Pod& p) { p.status.start_time_ns = 5; }},
      {"volume of a token",
       [](api::Pod& p) { p.spec.volumes.emplace_back().name = "kube-api-access-x7k2p"; }},
      {"written otherwise", [](api::Pod& p) {
         p.spec.containers[0].resources.requests["cpu"] = *Quantity::Parse("0.1");
       }}};
  for (const auto& [name, change] : same) {
    api::Pod pod = base;
    change(pod);
    EXPECT_TRUE(share(pod)) << name;
  }
}

TEST(PodPlans, APlanGoesWithItsLastPod) {
  Dictionary dictionary;
  PodPlans plans;
  std::weak_ptr<const PodPlan> plan;
  {
    const auto objects = api::ParseObjects(PodYaml("p"));
    auto pod = plans.Compile(std::make_shared<const api::Pod>(objects->pods[0]), dictionary);
    plan = (*pod)->plan;
    EXPECT_FALSE(plan.expired());
  }
  EXPECT_TRUE(plan.expired());
}

// --- packed objects

TEST(PackedObjects, AreMadeAgainAsTheyWere) {
  testing::RandomObjects random(7);
  std::string text = "---\n" + random.Others() + "\n";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    text += "--- " + random.Node("n" + n) + "\n--- " +
            random.Pod(random.Namespace(), "p" + n, "n" + n) + "\n";
  }
  auto objects = api::ParseObjects(text);
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  ASSERT_TRUE(api::Normalize(*objects).ok());
  auto cluster = Cluster::FromObjects(*objects);
  ASSERT_TRUE(cluster.ok()) << cluster.error().message();
  const Snapshot& view = cluster->view();
  int pods = 0;
  for (const api::Pod& pod : objects->pods) {
    const PodPtr kept = view.FindPod(pod.metadata.ns, pod.metadata.name);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->FullName(), pod.FullName());
    EXPECT_TRUE(SamePlan(*kept->pod, pod)) << pod.FullName();
    const api::ObjectMeta& a = kept->pod->metadata;
    const api::ObjectMeta& b = pod.metadata;
    EXPECT_EQ(std::tie(a.ns, a.name, a.uid, a.labels, a.annotations, a.creation_timestamp_ns,
                       a.deletion_timestamp_ns),
              std::tie(b.ns, b.name, b.uid, b.labels, b.annotations, b.creation_timestamp_ns,
                       b.deletion_timestamp_ns));
    EXPECT_EQ(kept->pod->spec.node_name, pod.spec.node_name);
    EXPECT_EQ(kept->pod->spec.volumes, pod.spec.volumes);
    EXPECT_EQ(kept->pod->status.phase, pod.status.phase);
    EXPECT_EQ(kept->pod->status.start_time_ns, pod.status.start_time_ns);
    EXPECT_EQ(kept->pod->status.conditions, pod.status.conditions);
    EXPECT_EQ(kept->start_time_ns(), pod.status.start_time_ns);
    ++pods;
  }
  EXPECT_GT(pods, 20);
  for (const api::Node& node : objects->nodes) {
    const api::Node& kept = view.node(*view.Find(node.metadata.name));
    EXPECT_EQ(kept.metadata.labels, node.metadata.labels);
    EXPECT_EQ(kept.metadata.annotations, node.metadata.annotations);
    EXPECT_EQ(kept.metadata.uid, node.metadata.uid);
    EXPECT_EQ(kept.spec.taints, node.spec.taints);
    EXPECT_EQ(kept.spec.unschedulable, node.spec.unschedulable);
    EXPECT_EQ(kept.status.capacity, node.status.capacity);
    EXPECT_EQ(kept.status.allocatable, node.status.allocatable);
    EXPECT_EQ(kept.status.images, node.status.images);
    EXPECT_EQ(kept.status.conditions, node.status.conditions);
    EXPECT_EQ(&kept, &view.node(*view.Find(node.metadata.name)));
  }
}

// --- generations

TEST(Generations, AreNeverGivenTwice) {
  Cluster a = Parse(Nodes(3));
  Cluster b = a.Fork();
  api::Node node = a.view().node(0);
  ASSERT_TRUE(a.UpdateNode(node).ok());
  ASSERT_TRUE(b.UpdateNode(node).ok());
  EXPECT_NE(a.view().Generations()[0], b.view().Generations()[0]);
  EXPECT_EQ(a.view().Generations()[1], b.view().Generations()[1]);
  EXPECT_NE(a.view().nodes_id(), b.view().nodes_id());
}

TEST(RowChanges, FindsRowsInBlocks) {
  Cluster cluster = Parse(Nodes(200) + Replicas(3, "p", ""));
  RowChanges changes;
  std::vector<Row> rows;
  EXPECT_FALSE(changes.Find(cluster.view(), rows));
  EXPECT_TRUE(changes.Find(cluster.view(), rows));
  EXPECT_TRUE(rows.empty());
  const std::vector<PodPtr> pods = cluster.view().Pending();
  const Cluster before = cluster.Fork();
  ASSERT_TRUE(cluster.AssumePod(*pods[0], 199).ok());
  ASSERT_TRUE(cluster.AssumePod(*pods[1], 0).ok());
  ASSERT_TRUE(cluster.AssumePod(*pods[2], 63).ok());
  EXPECT_TRUE(changes.Find(cluster.view(), rows));
  EXPECT_EQ(rows, (std::vector<Row>{0, 63, 199}));
  EXPECT_TRUE(changes.Find(before.view(), rows));
  EXPECT_EQ(rows, (std::vector<Row>{0, 63, 199}));
}

}  // namespace
}  // namespace schedfw
