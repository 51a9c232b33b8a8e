#include "schedfw/framework/config.h"

#include <gtest/gtest.h>

#include <string>

#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

// The error of a configuration, or "" if a scheduler can be made of it.
std::string Refusal(const std::string& text) {
  const Registry registry = InTreeRegistry();
  auto config = ParseConfig(text, registry, "f");
  if (!config) return config.error().message();
  auto scheduler = Scheduler::Create(*config, registry);
  return scheduler.ok() ? "" : scheduler.error().message();
}

std::string Scores(const std::string& text) {
  const auto scheduler = testing::MakeScheduler(kHead + text);
  if (scheduler == nullptr) return "";
  std::string out;
  for (const PluginRef& ref :
       scheduler->framework("default-scheduler")->profile().at(ExtensionPoint::kScore)) {
    // Left out, since these have no effect here.
    if (ref.name == "VolumeBinding" || ref.name == "DynamicResources") continue;
    out += (out.empty() ? "" : " ") + ref.name + ":" + std::to_string(ref.weight);
  }
  return out;
}

TEST(Config, SaysWhatIsWrongWhereAndWhatIsAllowed) {
  EXPECT_EQ(Refusal(""), "f: the document is empty");
  EXPECT_EQ(Refusal("apiVersion: kubescheduler.config.k8s.io/v1\n"),
            "f: kind: must be given (allowed: KubeSchedulerConfiguration)");
  EXPECT_EQ(Refusal("apiVersion: kubescheduler.config.k8s.io/v1beta3\n"
                    "kind: KubeSchedulerConfiguration\n"),
            "f: apiVersion: \"kubescheduler.config.k8s.io/v1beta3\" is not supported (allowed: "
            "kubescheduler.config.k8s.io/v1)");
  EXPECT_EQ(Refusal(kHead + "parallelism: 4\nparallelism: 5\n"),
            "f:4: the key \"parallelism\" is given twice");
  EXPECT_EQ(Refusal(kHead + "parallelism: 0\n"),
            "f: parallelism: 0 is not in the valid range (allowed: 1 or more)");
  EXPECT_EQ(Refusal(kHead + "percentageOfNodesToScore: 101\n"),
            "f: percentageOfNodesToScore: 101 is not in the valid range (allowed: 0 to 100)");
  EXPECT_EQ(Refusal(kHead + "podInitialBackoffSeconds: 20\n"),
            "f: podMaxBackoffSeconds: 10: must be greater than or equal to "
            "podInitialBackoffSeconds");
  EXPECT_EQ(Refusal(kHead + "leaderElection: {leaseDuration: 5s}\n"),
            "f: leaderElection.leaseDuration: must be greater than renewDeadline");
  EXPECT_EQ(Refusal(kHead + "leaderElection: {leaseDuration: soon}\n"),
            "f: leaderElection.leaseDuration: \"soon\" is not a duration (allowed: like 15s or "
            "1m30s)");
  EXPECT_EQ(Refusal(kHead + "profiles: [{schedulerName: a}, {schedulerName: a}]\n"),
            "f: profiles[1].schedulerName: \"a\" is the name of profiles[0] too");
  EXPECT_EQ(Refusal(kHead + "profiles: [{}, {schedulerName: a}]\n"),
            "f: profiles[0].schedulerName: a name is required");
  EXPECT_EQ(Refusal(kHead + "profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]\n"),
            "profile \"default-scheduler\": plugin \"Nope\" does not exist");
  EXPECT_EQ(Refusal(kHead + "profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]\n"),
            "profile \"default-scheduler\": plugin \"NodePorts\" does not extend Score");
  EXPECT_EQ(Refusal(kHead + "profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n"),
            "profile \"default-scheduler\": at least one bind plugin is needed");
  EXPECT_EQ(Refusal(kHead + "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]\n"),
            "profile \"default-scheduler\": exactly one queueSort plugin is needed, but 0 are "
            "enabled");
  EXPECT_EQ(Refusal(kHead + "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, "
                            "weight: -1}]}}}]\n"),
            "profile \"default-scheduler\": score plugin \"NodeAffinity\": weight -1 is not "
            "allowed (allowed: 0 or more)");
  EXPECT_EQ(Refusal(kHead + "extenders: [{urlPrefix: x, prioritizeVerb: p}]\n"),
            "f: extenders[0].weight: 0: must have a positive weight applied to it");
  EXPECT_EQ(Refusal(kHead + "extenders: [{urlPrefix: x, filterVerb: f, weight: 1}]\n"), "");
}

TEST(Config, WeightsAndOrder) {
  const std::string defaults =
      "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 PodTopologySpread:2 InterPodAffinity:2 "
      "NodeResourcesBalancedAllocation:1 ImageLocality:1";
  EXPECT_EQ(Scores(""), defaults);
  EXPECT_EQ(Scores("profiles: []\n"), defaults);
  // Enabled at the point without disabling: it moves first with its weight.
  EXPECT_EQ(Scores("profiles: [{plugins: {score: {enabled: [{name: NodeResourcesFit, weight: "
                   "7}]}}}]\n"),
            "NodeResourcesFit:7 TaintToleration:3 NodeAffinity:2 PodTopologySpread:2 "
            "InterPodAffinity:2 NodeResourcesBalancedAllocation:1 ImageLocality:1");
  // Disabled and enabled: it moves last.
  EXPECT_EQ(Scores("profiles: [{plugins: {score: {disabled: [{name: NodeResourcesFit}], enabled: "
                   "[{name: NodeResourcesFit, weight: 7}]}}}]\n"),
            "TaintToleration:3 NodeAffinity:2 PodTopologySpread:2 InterPodAffinity:2 "
            "NodeResourcesBalancedAllocation:1 ImageLocality:1 NodeResourcesFit:7");
  // No weight counts as 1, not as the default of the plugin.
  EXPECT_EQ(Scores("profiles: [{plugins: {score: {enabled: [{name: PodTopologySpread, weight: "
                   "0}]}}}]\n"),
            "PodTopologySpread:1 TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 "
            "InterPodAffinity:2 NodeResourcesBalancedAllocation:1 ImageLocality:1");
  EXPECT_EQ(Scores("profiles: [{plugins: {multiPoint: {enabled: [{name: PodTopologySpread, "
                   "weight: 9}]}}}]\n"),
            "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 PodTopologySpread:9 "
            "InterPodAffinity:2 NodeResourcesBalancedAllocation:1 ImageLocality:1");
  EXPECT_EQ(Scores("profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: "
                   "NodeResourcesFit, weight: 7}]}}}]\n"),
            "NodeResourcesFit:7");
}

}  // namespace
}  // namespace schedfw
