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
}

// What upstream refuses only when it builds the profiles, or reads in unusual ways.
TEST(Config, FineRules) {
  const auto profile = [](const std::string& text) {
    return Refusal(kHead + "profiles: [{" + text + "}]\n");
  };
  const auto args = [&](const std::string& plugin, const std::string& text) {
    return profile("pluginConfig: [{name: " + plugin + ", args: " + text + "}]");
  };
  const std::string at = "f: profiles[0].pluginConfig[0].args.";
  EXPECT_EQ(args("NodeResourcesFit", "{scoringStrategy: {}}"),
            at + "scoringStrategy.type: must be given (allowed: LeastAllocated, MostAllocated, "
                 "RequestedToCapacityRatio)");
  EXPECT_EQ(args("NodeResourcesFit", "{scoringStrategy: null}"), "");
  EXPECT_EQ(args("PodTopologySpread", "{defaultingType: ''}"), "");
  EXPECT_EQ(args("VolumeBinding",
                 "{shape: [{utilization: 0, score: 0}, {utilization: 100, score: "
                 "10}]}"),
            "");
  EXPECT_EQ(args("VolumeBinding",
                 "{shape: [{utilization: 5, score: 0}, {utilization: 5, score: "
                 "10}]}"),
            at + "shape[1].utilization: 5: values must be sorted in increasing order");
  EXPECT_EQ(args("DynamicResources", "{filterTimeout: null}"), "");
  EXPECT_EQ(args("NodeResourcesFitArgs", "{}"),
            "f: profiles[0].pluginConfig[0].name: \"NodeResourcesFitArgs\" is no plugin (did you "
            "mean NodeResourcesFit?)");
  EXPECT_EQ(args("DynamicResources", "{filterTimeout: -1s}"),
            at + "filterTimeout: -1s is too short (allowed: 0s or more)");
  EXPECT_EQ(args("DynamicResources", "{bindingTimeout: 999ms}"),
            at + "bindingTimeout: 999ms is too short (allowed: 1s or more)");
  EXPECT_EQ(args("DynamicResources", "{bindingTimeout: 1h2m3.5s}"), "");
  EXPECT_EQ(args("NodeAffinity",
                 "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                 "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: "
                 "['-5']}]}]}}}"),
            at + "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: "
                 "matchExpressions[0]: values[0]: \"-5\" is not a label value (key \"a\")");
  EXPECT_EQ(args("NodeResourcesFit", "{kind: '', ignoredResources: [a/b]}"), "");
  EXPECT_EQ(profile("plugins: {placementScore: {enabled: [{name: NodePorts}]}}"),
            "f: profiles[0].plugins.placementScore.enabled[0].name: plugin \"NodePorts\" does not "
            "extend this point");
  EXPECT_EQ(profile("plugins: {placementScore: {enabled: [{name: PodGroupPodsCount}]}}"), "");
  EXPECT_EQ(profile("plugins: {preScore: {enabled: [{name: DynamicResources}]}}"),
            "profile \"default-scheduler\": plugin \"DynamicResources\" does not extend PreScore");
  EXPECT_EQ(profile("plugins: {permit: {enabled: [{name: GangScheduling}]}}"), "");
  EXPECT_EQ(Refusal(kHead + "leaderElection: {leaseDuration: null}\n"),
            "f: leaderElection.leaseDuration: expected a duration like 15s, got null");
  EXPECT_EQ(
      Refusal(kHead + "profiles: [{schedulerName: a, pluginConfig: [{name: PrioritySort, args: "
                      "{x: 1}}]}, {schedulerName: b}]\n"),
      "profile \"b\": the queueSort plugin and its arguments must be the same in all "
      "profiles");
  EXPECT_EQ(Refusal("{apiVersion: kubescheduler.config.k8s.io/v1, kind: "
                    "KubeSchedulerConfiguration}"),
            "");
}

TEST(Config, ExtendersAreUnderstood) {
  const Registry registry = InTreeRegistry();
  auto config = ParseConfig(kHead + R"(
extenders:
- urlPrefix: https://extender.example:8443/scheduler
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 5
  enableHTTPS: true
  tlsConfig:
    serverName: extender.example
    certFile: /etc/tls/tls.crt
    keyFile: /etc/tls/tls.key
    certData: "QUJDRA=="
    keyData: "QUJD\nREVG"
    caData: "QUI="
  httpTimeout: 1m30s
  nodeCacheCapable: true
  managedResources:
  - {name: example.com/foo, ignoredByScheduler: true}
  - {name: example.com/bar}
  ignorable: true
- urlPrefix: http://extender.example
  httpTimeout: 0s
  tlsConfig: {insecure: true, caData: ""}
- {}
)",
                            registry);
  ASSERT_TRUE(config.ok()) << config.error().message();
  ASSERT_EQ(config->extenders.size(), 3u);
  const ExtenderConfig& all = config->extenders[0];
  EXPECT_EQ(all.url_prefix, "https://extender.example:8443/scheduler");
  EXPECT_EQ(all.filter_verb, "filter");
  EXPECT_EQ(all.preempt_verb, "preempt");
  EXPECT_EQ(all.prioritize_verb, "prioritize");
  EXPECT_EQ(all.bind_verb, "bind");
  EXPECT_EQ(all.weight, 5);
  EXPECT_TRUE(all.enable_https);
  EXPECT_EQ(all.http_timeout_seconds, 90);
  EXPECT_TRUE(all.node_cache_capable);
  EXPECT_TRUE(all.ignorable);
  ASSERT_EQ(all.managed_resources.size(), 2u);
  EXPECT_EQ(all.managed_resources[0].name, "example.com/foo");
  EXPECT_TRUE(all.managed_resources[0].ignored_by_scheduler);
  EXPECT_EQ(all.managed_resources[1].name, "example.com/bar");
  EXPECT_FALSE(all.managed_resources[1].ignored_by_scheduler);
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(config->extenders[i].http_timeout_seconds, 5) << "the default";
    EXPECT_EQ(config->extenders[i].filter_verb, "");
    EXPECT_FALSE(config->extenders[i].ignorable);
    EXPECT_TRUE(config->extenders[i].managed_resources.empty());
  }
}

TEST(Config, SaysWhatIsWrongWithExtenders) {
  const auto extenders = [](const std::string& list) {
    return Refusal(kHead + "extenders: [" + list + "]\n");
  };
  EXPECT_EQ(extenders("{prioritizeVerb: p}"),
            "f: extenders[0].weight: 0: must have a positive weight applied to it");
  EXPECT_EQ(extenders("{}, {prioritizeVerb: p, weight: -1}"),
            "f: extenders[1].weight: -1: must have a positive weight applied to it");
  EXPECT_EQ(extenders("{weight: -1}"), "");
  EXPECT_EQ(extenders("{bindVerb: b}, {}, {bindVerb: b}"),
            "f: extenders: only one extender can implement bind");
  EXPECT_EQ(extenders("{bindVerb: b}, {bindVerb: ''}"), "");
  EXPECT_EQ(extenders("{filterverb: f}"),
            "f: unknown field \"extenders[0].filterverb\" (allowed: urlPrefix, filterVerb, "
            "preemptVerb, prioritizeVerb, weight, bindVerb, enableHTTPS, tlsConfig, httpTimeout, "
            "nodeCacheCapable, managedResources, ignorable)");
  EXPECT_EQ(extenders("{filterVerb: 1}"),
            "f: extenders[0].filterVerb: expected a string, got an integer");
  EXPECT_EQ(extenders("{weight: a}"), "f: extenders[0].weight: expected an integer, got a string");
  EXPECT_EQ(extenders("{ignorable: maybe}"),
            "f: extenders[0].ignorable: expected true or false, got a string");
  EXPECT_EQ(extenders("{httpTimeout: 5}"),
            "f: extenders[0].httpTimeout: expected a duration like 15s, got an integer");
  EXPECT_EQ(extenders("{filterVerb: a, filterVerb: b}"),
            "f:3: the key \"filterVerb\" is given twice");
  EXPECT_EQ(extenders("{tlsConfig: {caBundle: x}}"),
            "f: unknown field \"extenders[0].tlsConfig.caBundle\" (allowed: insecure, serverName, "
            "certFile, keyFile, caFile, certData, keyData, caData)");
  for (const std::string bad :
       {"QUJ", "QUJDR", "QU J", "Q===", "====", "QUI=QUJD", "Q-JD", "%%%"}) {
    for (const std::string field : {"certData", "keyData", "caData"}) {
      EXPECT_EQ(extenders("{tlsConfig: {" + field + ": '" + bad + "'}}"),
                "f: extenders[0].tlsConfig." + field + ": is not base64")
          << bad;
    }
  }
  EXPECT_EQ(extenders("{tlsConfig: {insecure: true, caFile: ca.crt}}"),
            "f: extenders[0].tlsConfig.insecure: root certificates (caFile) are not allowed with "
            "it");
  EXPECT_EQ(extenders("{tlsConfig: {insecure: true, caData: QUJD}}"),
            "f: extenders[0].tlsConfig.insecure: root certificates (caData) are not allowed with "
            "it");
  for (const std::string name :
       {"cpu", "memory", "foo", "kubernetes.io/foo", "a.kubernetes.io/foo",
        "requests.example.com/a", "example.com/", "/foo", "example.com/foo/bar", "Example.com/foo",
        "example.com/foo bar", ""}) {
    EXPECT_EQ(extenders("{managedResources: [{name: '" + name + "'}]}"),
              "f: extenders[0].managedResources[0].name: \"" + name +
                  "\" is not the name of an extended resource");
  }
  EXPECT_EQ(extenders("{managedResources: [{name: a.b/c}, {name: a.b/c}]}"),
            "f: extenders[0].managedResources[1].name: \"a.b/c\" is there twice");
  EXPECT_EQ(extenders("{managedResources: [{name: a.b/c}]}, {managedResources: [{name: a.b/c}]}"),
            "f: extenders[1].managedResources[0].name: \"a.b/c\" is there twice");
  EXPECT_EQ(extenders("{managedResources: [{name: a.b/c, ignored: true}]}"),
            "f: unknown field \"extenders[0].managedResources[0].ignored\" (allowed: name, "
            "ignoredByScheduler)");
}

// Resources that the scheduler is to ignore need a NodeResourcesFit that ignores them.
TEST(Config, IgnoredResourcesNeedNodeResourcesFit) {
  const std::string extenders =
      "extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n";
  const std::string named = "profiles: [{schedulerName: p}, {schedulerName: q, ";
  const std::string without = "plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n";
  EXPECT_EQ(Refusal(kHead + extenders + named + without),
            "f: extenders: managed resources with ignoredByScheduler need plugin NodeResourcesFit "
            "in every profile, but profile \"q\" doesn't enable it");
  EXPECT_EQ(Refusal(kHead + "extenders: [{managedResources: [{name: a.b/c}]}]\n" + named + without),
            "");
  // Arguments will do, and so will any point that enables it.
  EXPECT_EQ(
      Refusal(kHead + extenders + named + "pluginConfig: [{name: NodeResourcesFit}], " + without),
      "");
  for (const std::string point : {"score", "placementScore"}) {
    EXPECT_EQ(Refusal(kHead + extenders + named + "plugins: {" + point +
                      ": {enabled: [{name: NodeResourcesFit}]}, multiPoint: {disabled: [{name: "
                      "NodeResourcesFit}]}}}]\n"),
              "")
        << point;
  }
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
