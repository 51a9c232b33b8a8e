// Configurations that were hard to get right: accepted with the recorded plugins, or refused with
// the name of the field.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"
#include "support/cluster.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::Folders;
using testing::ReadFile;
using testing::TestsDir;

using Texts = std::map<std::string, std::string>;

// What was recorded of a case, by file.
struct Recorded {
  std::map<std::string, Texts> scores;  // accepted: profile → "PLUGIN:WEIGHT …"
  std::map<std::string, std::vector<std::string>> remarks;  // accepted: "filter lacks X", …
  std::set<std::string> refused;
};

// Takes everything up to `separator` from the front of `text`, or all of it.
std::string Take(std::string& text, std::string_view separator) {
  const auto at = text.find(separator);
  std::string out = text.substr(0, at);
  text.erase(0, at == std::string::npos ? at : at + separator.size());
  return out;
}

// "accepted; profile a: score = A:1 B:2 | profile b: score = A:1; filter lacks C".
void ParseAccepted(const std::string& file, std::string text, Recorded& out) {
  EXPECT_EQ(Take(text, "; profile "), "accepted") << file;
  std::string profiles = Take(text, "; ");
  while (!profiles.empty()) {
    std::string profile = Take(profiles, " | profile ");
    const std::string name = Take(profile, ": score = ");
    EXPECT_FALSE(profile.empty()) << file;
    out.scores[file][name] = profile;
  }
  while (!text.empty()) out.remarks[file].push_back(Take(text, "; "));
}

// The list behind "Measured" headings. A later heading replaces what it names again.
Recorded Parse(const std::string& markdown) {
  Recorded out;
  std::string defaults;
  bool measured = false;
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Measured")) {
      measured = true;
    } else if (line.starts_with("<defaults> = ")) {
      defaults = line.substr(13);
    } else if (measured && line.starts_with("- ")) {
      line.erase(0, 2);
      const std::string file = Take(line, ": ");
      out.scores.erase(file);
      out.remarks.erase(file);
      out.refused.erase(file);
      if (line.starts_with("rejected ")) {
        out.refused.insert(file);
      } else {
        ParseAccepted(file, line, out);
      }
    }
  }
  for (auto& [file, profiles] : out.scores) {
    for (auto& [profile, scores] : profiles) {
      if (scores == "<defaults>") scores = defaults;
    }
  }
  return out;
}

// The plugins of a point. VolumeBinding and DynamicResources weren't recorded.
std::string Names(const Profile& profile, ExtensionPoint point) {
  std::string out;
  for (const PluginRef& ref : profile.at(point)) {
    if (ref.name == "VolumeBinding" || ref.name == "DynamicResources") continue;
    out += (out.empty() ? "" : " ") + ref.name;
    if (point == ExtensionPoint::kScore) out += ":" + std::to_string(ref.weight);
  }
  return out;
}

void CheckRemark(const std::string& remark, const Profile& profile) {
  const std::string filters = " " + Names(profile, ExtensionPoint::kFilter) + " ";
  if (remark.starts_with("filter lacks ")) {
    EXPECT_EQ(filters.find(" " + remark.substr(13) + " "), std::string::npos) << filters;
  } else if (remark.starts_with("filter = ")) {
    EXPECT_EQ(filters, " " + remark.substr(9) + " ");
  } else {
    ASSERT_EQ(remark, "no postFilter") << "unknown remark";
    EXPECT_TRUE(profile.at(ExtensionPoint::kPostFilter).empty());
  }
}

// Runs every configuration of the case with this number. `messages`: how that begins what is said
// of those that are refused, behind the file's name.
void RunCase(const std::string& number, const Texts& messages) {
  const auto folders = Folders(TestsDir() / "cases", number);
  ASSERT_EQ(folders.size(), 1u);
  const Recorded recorded = Parse(ReadFile(folders[0] / "expected.md"));
  std::set<std::string> refused;
  for (const auto& entry : std::filesystem::directory_iterator(folders[0])) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(file);
    const auto scheduler = testing::TryScheduler(entry.path().string());
    const auto scores = recorded.scores.find(file);
    if (scores == recorded.scores.end()) {
      EXPECT_TRUE(recorded.refused.contains(file)) << "no answer is recorded";
      ASSERT_FALSE(scheduler.ok());
      std::string message = scheduler.error().message();
      const std::string path = entry.path().string();
      if (message.starts_with(path)) message.erase(0, path.size());
      const auto want = messages.find(file);
      ASSERT_NE(want, messages.end()) << message;
      EXPECT_EQ(message.substr(0, want->second.size()), want->second) << message;
      refused.insert(file);
      continue;
    }
    ASSERT_TRUE(scheduler.ok()) << scheduler.error().message();
    Texts got;
    for (const std::string& name : (*scheduler)->profile_names()) {
      const Profile& profile = (*scheduler)->framework(name)->profile();
      got[name] = Names(profile, ExtensionPoint::kScore);
      if (const auto remarks = recorded.remarks.find(file); remarks != recorded.remarks.end()) {
        for (const std::string& remark : remarks->second) CheckRemark(remark, profile);
      }
    }
    EXPECT_EQ(got, scores->second);
  }
  EXPECT_EQ(refused, recorded.refused);
  for (const auto& [file, message] : messages) EXPECT_TRUE(refused.contains(file)) << file;
}

TEST(Case, B58ConfigStrictFields) {
  RunCase(
      "B58",
      {{"args-kind-mismatch.yaml",
        ": profiles[0].pluginConfig[0].args.kind: arguments of InterPodAffinity must be of kind "
        "InterPodAffinityArgs"},
       {"args-out-of-range.yaml",
        ": profiles[0].pluginConfig[0].args.hardPodAffinityWeight: 101 is not in the valid range "
        "(allowed: 0 to 100)"},
       {"duplicate-key.yaml", ":4: the key \"parallelism\" is given twice"},
       {"extra-metadata.yaml",
        ": unknown field \"metadata\" (allowed: apiVersion, kind, parallelism, "},
       {"lost-indent.yaml", ": unknown field \"kubeconfig\" (allowed: "},
       {"old-toplevel-knobs.yaml", ": unknown field \"bindTimeoutSeconds\" (allowed: "},
       {"pluginconfig-as-map.yaml", ": profiles[0].pluginConfig: expected a list, got an object"},
       {"score-over-10.yaml",
        ": "
        "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[0].score: "
        "100 is not in the valid range (allowed: 0 to 10)"},
       {"unreserve-point.yaml",
        ": unknown field \"profiles[0].plugins.unreserve\" (allowed: preEnqueue, "},
       {"unsorted-shape.yaml",
        ": "
        "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[1]."
        "utilization: 0: values must be sorted in increasing order"},
       {"wrong-arg-name.yaml",
        ": unknown field "
        "\"profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatioParam\" "
        "(allowed: type, resources, requestedToCapacityRatio)"},
       {"wrong-case.yaml",
        ": unknown field \"profiles[0].SchedulerName\" (allowed: schedulerName, "}});
}
TEST(Case, B59ConfigProfilesAndQueueSort) {
  RunCase(
      "B59",
      {{"duplicate-name.yaml", ": profiles[1].schedulerName: \"a\" is the name of profiles[0] too"},
       {"no-bind.yaml", "profile \"a\": at least one bind plugin is needed"},
       {"no-queue-sort.yaml",
        "profile \"a\": exactly one queueSort plugin is needed, but 0 are enabled"},
       {"percentage-101.yaml",
        ": percentageOfNodesToScore: 101 is not in the valid range (allowed: 0 to 100)"},
       {"queue-sort-args-differ.yaml",
        "profile \"b\": the queueSort plugin and its arguments must be the same in all profiles"},
       {"queue-sort-differs.yaml",
        ": profiles[1].plugins.queueSort: must be the same for all profiles"},
       {"unnamed-two.yaml", ": profiles[0].schedulerName: a name is required"}});
}
TEST(Case, B61ConfigStarAndMultipoint) {
  RunCase("B61", {{"negative-weight.yaml",
                   "profile \"default-scheduler\": score plugin \"ImageLocality\": weight -1 is "
                   "not allowed (allowed: 0 or more)"}});
}

// A parser that reads too little would let everything pass.
TEST(ConfigCases, RecordedAnswersAreReadWhole) {
  const Recorded recorded = Parse(
      "# Title\n\n- no.yaml: accepted\n\nMeasured (x):\n\n- a.yaml: rejected while decoding: why\n"
      "- b.yaml: accepted; profile p: score = A:1 B:2 | profile q: score = <defaults>; filter "
      "lacks "
      "A; no postFilter\n- c.yaml: accepted; profile p: score = A:1\n\n<defaults> = C:3 "
      "D:4\n\nMeasured on y (differs):\n\n- c.yaml: rejected when profiles are built: why\n");
  EXPECT_EQ(recorded.refused, (std::set<std::string>{"a.yaml", "c.yaml"}));
  ASSERT_EQ(recorded.scores.size(), 1u);
  EXPECT_EQ(recorded.scores.at("b.yaml"), (Texts{{"p", "A:1 B:2"}, {"q", "C:3 D:4"}}));
  EXPECT_EQ(recorded.remarks.at("b.yaml"),
            (std::vector<std::string>{"filter lacks A", "no postFilter"}));
}

}  // namespace
}  // namespace schedfw
