#include "schedfw/framework/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schedfw/plugins/registry.h"
#include "support/cluster.h"

namespace schedfw {
namespace {

struct RackArgs {
  std::string label = "rack";
  std::int32_t bonus = 10;
  std::vector<std::string> racks;
};
template <typename V>
void Fields(V& v, RackArgs& args) {
  v("label", args.label, Arg{.help = "The label of racks"});
  v("bonus", args.bonus, Arg{.help = "What a rack earns", .min = 0, .max = 100});
  v("racks", args.racks, Arg{.help = "The racks to prefer"});
}
Result<void> Validate(const RackArgs& args) {
  if (args.label.empty()) return ConfigError("label: can not be empty");
  return {};
}

class PreferRacks : public ScorePlugin {
 public:
  explicit PreferRacks(const RackArgs& args) : args_(args) {}
  std::string_view Name() const override { return "PreferRacks"; }
  Status Score(const Cycle&, const NodeInfo& node, std::int64_t& score) const override {
    const auto it = node.node().metadata.labels.find(args_.label);
    const bool wanted =
        it != node.node().metadata.labels.end() &&
        std::find(args_.racks.begin(), args_.racks.end(), it->second) != args_.racks.end();
    score = wanted ? args_.bonus : 0;
    return {};
  }

 private:
  RackArgs args_;
};

Registry WithRacks() {
  Registry registry = InTreeRegistry();
  EXPECT_TRUE((registry.Add<PreferRacks, RackArgs>("PreferRacks", "Prefers racks")).ok());
  return registry;
}

std::string Configuration(const std::string& args) {
  return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
         "profiles:\n- plugins: {score: {enabled: [{name: PreferRacks, weight: 4}]}}\n"
         "  pluginConfig: [{name: PreferRacks, args: " +
         args + "}]\n";
}

TEST(Registry, DescribesWhatIsDeclared) {
  const Registry registry = WithRacks();
  const PluginSpec* spec = registry.Find("PreferRacks");
  ASSERT_NE(spec, nullptr);
  EXPECT_TRUE(spec->points.Has(ExtensionPoint::kScore));
  EXPECT_FALSE(spec->points.Has(ExtensionPoint::kFilter));
  ASSERT_EQ(spec->args.size(), 3u);
  EXPECT_EQ(spec->args[1].name, "bonus");
  EXPECT_EQ(spec->args[1].type, "integer");
  EXPECT_EQ(spec->args[1].default_value, "10");
  EXPECT_EQ(spec->args[1].allowed, "0 to 100");
  EXPECT_EQ(spec->args[1].help, "What a rack earns");
}

TEST(Registry, ANameIsTakenOnce) {
  Registry registry = WithRacks();
  EXPECT_EQ((registry.Add<PreferRacks, RackArgs>("PreferRacks", "")).error().message(),
            "plugin \"PreferRacks\" is registered already");
  EXPECT_FALSE((registry.Add<PreferRacks, RackArgs>("", "")).ok());
}

TEST(Registry, AConfiguredPluginScores) {
  const Registry registry = WithRacks();
  auto config = ParseConfig(Configuration("{racks: [r2], bonus: 50}"), registry);
  ASSERT_TRUE(config.ok()) << config.error().message();
  auto scheduler = Scheduler::Create(*config, registry);
  ASSERT_TRUE(scheduler.ok()) << scheduler.error().message();
  const Cluster cluster =
      testing::Parse(testing::NodeYaml("n1", "rack: r1") + testing::NodeYaml("n2", "rack: r2") +
                     testing::PodYaml("p"));
  const Explanation e =
      (*scheduler)->Explain(cluster.view(), cluster.view().FindPod("default", "p"));
  ASSERT_EQ(e.scores.plugins.back(), "PreferRacks");
  const auto row = static_cast<Eigen::Index>(e.scores.plugins.size() - 1);
  EXPECT_EQ(e.scores.weighted(row, 0), 0);
  EXPECT_EQ(e.scores.weighted(row, 1), 200);
  EXPECT_EQ(cluster.view().name(e.best.at(0)), "n2");
}

TEST(Registry, BadArgumentsAreRefused) {
  const Registry registry = WithRacks();
  const auto message = [&](const std::string& args) {
    auto config = ParseConfig(Configuration(args), registry, "f");
    return config.ok() ? "" : config.error().message();
  };
  const std::string at = "f: profiles[0].pluginConfig[0].args";
  EXPECT_EQ(message("{bonus: 101}"),
            at + ".bonus: 101 is not in the valid range (allowed: 0 to 100)");
  EXPECT_EQ(message("{bonus: ten}"), at + ".bonus: expected an integer, got a string");
  EXPECT_EQ(message("{bonus: 1.5}"), at + ".bonus: expected an integer, got a number");
  EXPECT_EQ(message("{bonus: 3000000000}"), at + ".bonus: 3000000000 does not fit into 32 bits");
  EXPECT_EQ(message("{racks: r1}"), at + ".racks: expected a list, got a string");
  EXPECT_EQ(message("{racks: [1]}"), at + ".racks[0]: expected a string, got an integer");
  EXPECT_EQ(message("{label: ''}"), at + ".label: can not be empty");
  EXPECT_EQ(
      message("{rack: r1}"),
      "f: unknown field \"profiles[0].pluginConfig[0].args.rack\" (allowed: label, bonus, racks)");
  EXPECT_EQ(message("[1]"), at + ": expected an object, got a list");
  EXPECT_EQ(message("{kind: PreferRacksArgs, bonus: 1}"), "");
  EXPECT_EQ(message("{kind: OtherArgs}"),
            at + ".kind: arguments of PreferRacks must be of kind PreferRacksArgs");
}

TEST(Registry, InTreePluginsHaveUpstreamsPoints) {
  const Registry registry = InTreeRegistry();
  const PluginSpec* fit = registry.Find("NodeResourcesFit");
  ASSERT_NE(fit, nullptr);
  for (ExtensionPoint point : {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
                               ExtensionPoint::kPreScore, ExtensionPoint::kScore}) {
    EXPECT_TRUE(fit->points.Has(point));
  }
  for (const PluginRef& ref : DefaultPlugins().enabled) {
    EXPECT_NE(registry.Find(ref.name), nullptr) << ref.name;
  }
}

}  // namespace
}  // namespace schedfw
