// Rules of plugins that recorded answers don't show.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedfw/scheduler/report.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

using testing::MakeScheduler;
using testing::NodeYaml;
using testing::Parse;
using testing::PodYaml;

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Explanation Explain(Scheduler& scheduler, const Cluster& cluster, const std::string& pod) {
  return scheduler.Explain(cluster.view(), cluster.view().FindPod("default", pod));
}

std::vector<std::string> Feasible(const std::string& cluster_yaml, const std::string& config = "") {
  const Cluster cluster = Parse(cluster_yaml);
  const auto scheduler = MakeScheduler(config);
  std::vector<std::string> out;
  for (const Row row : Explain(*scheduler, cluster, "p").feasible) {
    out.push_back(cluster.view().name(row));
  }
  return out;
}

using Names = std::vector<std::string>;

// A Filter whose PreFilter is disabled fails as upstream's does, with upstream's words.
TEST(Rules, AFilterWithoutItsPreFilterFails) {
  const Cluster cluster = Parse(NodeYaml("n1") + PodYaml("p"));
  for (const std::string plugin : {"NodePorts", "NodeResourcesFit", "PodTopologySpread"}) {
    const auto scheduler = MakeScheduler(
        kHead + "profiles: [{plugins: {preFilter: {disabled: [{name: " + plugin + "}]}}}]\n");
    const Status status = Explain(*scheduler, cluster, "p").diagnosis.status(0);
    EXPECT_EQ(status.code(), Code::kError) << plugin;
    EXPECT_EQ(status.plugin(), plugin);
    const std::string start = "running \"" + plugin + "\" filter plugin: ";
    EXPECT_EQ(status.message().substr(0, start.size()), start);
    EXPECT_EQ(
        scheduler->Schedule(cluster.view(), *cluster.view().FindPod("default", "p")).status.code(),
        Code::kError);
  }
}

// The same for Score: some plugins compute anew, others fail.
TEST(Rules, AScoreWithoutItsPreScore) {
  const Cluster cluster = Parse(NodeYaml("n1") + NodeYaml("n2") + PodYaml("p"));
  const auto all = MakeScheduler();
  const Explanation want = Explain(*all, cluster, "p");
  const auto without = [](const std::string& plugin) {
    return MakeScheduler(kHead + "profiles: [{plugins: {preScore: {disabled: [{name: " + plugin +
                         "}]}}}]\n");
  };
  for (const std::string plugin : {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}) {
    const Explanation got = Explain(*without(plugin), cluster, "p");
    EXPECT_EQ(ToJson(ToValue(got, cluster.view())), ToJson(ToValue(want, cluster.view())));
  }
  EXPECT_EQ(Explain(*without("TaintToleration"), cluster, "p").score_status.code(), Code::kError);
}

// A bound of Gt that is no integer is stored by the API server; such a term matches nothing.
TEST(Rules, ATermThatCannotBeParsedMatchesNothing) {
  const auto affinity = [](const std::string& terms) {
    return "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [" +
           terms + "]}}}\n";
  };
  const std::string nodes = NodeYaml("n1", "gen: '1'") + NodeYaml("n2", "gen: '5'");
  const std::string bad = "{matchExpressions: [{key: gen, operator: Gt, values: [abc]}]}";
  const std::string good = "{matchExpressions: [{key: gen, operator: Lt, values: ['2']}]}";
  EXPECT_EQ(Feasible(nodes + PodYaml("p", "", affinity(bad))), Names{});
  EXPECT_EQ(Feasible(nodes + PodYaml("p", "", affinity(bad + ", " + good))), Names{"n1"});
  const Cluster cluster =
      Parse(nodes +
            PodYaml("p", "",
                    "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
                    "[{weight: 1, preference: " +
                        bad + "}]}}\n"));
  const Status status = Explain(*MakeScheduler(), cluster, "p").score_status;
  EXPECT_EQ(status.code(), Code::kError);
  EXPECT_EQ(status.plugin(), "NodeAffinity");
  EXPECT_NE(status.message().find("\"abc\" is not an integer"), std::string::npos);
}

// What an extender manages and the scheduler is to ignore takes the place of the ignored resources
// of NodeResourcesFit (scheduler.go, buildExtenders); a group that it ignores stays.
TEST(Rules, ResourcesOfExtendersAreIgnored) {
  const std::string cluster = NodeYaml("n1") +
                              "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: "
                              "{containers: [{name: c, image: i, "
                              "resources: {requests: {RESOURCES}}}]}\n";
  const auto feasible = [&](const std::string& resources, const std::string& config) {
    std::string text = cluster;
    text.replace(text.find("RESOURCES"), 9, resources);
    return Feasible(text, kHead + config) == Names{"n1"};
  };
  const std::string extenders =
      "extenders:\n- managedResources: [{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]\n"
      "- managedResources: [{name: e.f/g, ignoredByScheduler: true}]\n";
  EXPECT_FALSE(feasible("a.b/c: 1", ""));
  EXPECT_TRUE(feasible("a.b/c: 1", extenders));
  EXPECT_TRUE(feasible("a.b/c: 1, e.f/g: 2", extenders));
  EXPECT_FALSE(feasible("a.b/d: 1", extenders)) << "managed, but not ignored";
  const std::string args =
      "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [x.y/z], "
      "ignoredResourceGroups: [group.example]}}]}]\n";
  EXPECT_TRUE(feasible("x.y/z: 1", args));
  EXPECT_FALSE(feasible("x.y/z: 1", args + extenders));
  EXPECT_TRUE(feasible("a.b/c: 1, group.example/a: 1", args + extenders));
}

TEST(Rules, ATaintWithoutEffectKeepsNothingAway) {
  EXPECT_EQ(Feasible(NodeYaml("n1") + "spec: {taints: [{key: a}]}\n" + PodYaml("p")), Names{"n1"});
}

// Default constraints may have any minDomains: below 1 it never acts.
TEST(Rules, DefaultConstraintsWithAnyMinDomains) {
  const std::string cluster =
      NodeYaml("n1", "zone: a") + NodeYaml("n2", "zone: b") +
      PodYaml("q", "app: web", "  nodeName: n1\n") + PodYaml("p", "app: web") +
      "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: "
      "{selector: {app: web}}\n";
  for (const std::string min_domains : {"0", "-3", "1"}) {
    EXPECT_EQ(Feasible(cluster, kHead +
                                    "profiles: [{pluginConfig: [{name: PodTopologySpread, args: "
                                    "{defaultingType: List, defaultConstraints: [{maxSkew: 1, "
                                    "topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
                                    "minDomains: " +
                                    min_domains + "}]}}]}]\n"),
              Names{"n2"})
        << min_domains;
  }
}

// An image volume counts as an image even without a reference.
TEST(Rules, ImageVolumesCount) {
  const std::string node =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 8, memory: "
      "32Gi, pods: 110}, images: [{names: ['registry.local/app:1'], sizeBytes: 943718400}]}\n";
  const auto score = [&](const std::string& volumes) {
    const Cluster cluster = Parse(node + PodYaml("p", "", volumes));
    const Explanation e = Explain(*MakeScheduler(), cluster, "p");
    for (std::size_t i = 0; i < e.scores.plugins.size(); ++i) {
      if (e.scores.plugins[i] == "ImageLocality") {
        return e.scores.raw(static_cast<Eigen::Index>(i), 0);
      }
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(score(""), 89);
  EXPECT_EQ(score("  volumes: [{name: v, image: {}}]\n"), 44);
  EXPECT_EQ(score("  volumes: [{name: v, emptyDir: {}}]\n"), 89);
}

// Where amount × 100 doesn't fit into 64 bits, scores are exact.
TEST(Rules, ScoresOfHugeAmountsAreExact) {
  const std::string node =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 8, memory: "
      "1E, "
      "pods: 110}}\n";
  const Cluster cluster = Parse(node +
                                "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: "
                                "{containers: [{name: c, image: i, "
                                "resources: {requests: {cpu: 4, memory: 0.25E}}}]}\n");
  const Explanation e = Explain(*MakeScheduler(), cluster, "p");
  for (std::size_t i = 0; i < e.scores.plugins.size(); ++i) {
    if (e.scores.plugins[i] == "NodeResourcesFit") {
      EXPECT_EQ(e.scores.raw(static_cast<Eigen::Index>(i), 0), (50 + 75) / 2);
    }
  }
}

}  // namespace
}  // namespace schedfw
