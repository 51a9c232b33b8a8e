// Cases that schedulers and tools around them got wrong, against the recorded answers.
//
// Each folder of tests/cases with a cluster and pods has one test here, named after the folder;
// those with configurations have theirs in config_cases_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/scheduler/report.h"
#include "support/cluster.h"
#include "support/files.h"

namespace schedfw {
namespace {

using testing::Folders;
using testing::ReadFile;
using testing::TestsDir;

// What was recorded of one pod.
struct Expected {
  std::string profile = "default-scheduler";
  std::map<std::string, std::string> requests;               // resource → quantity
  std::optional<std::set<std::string>> narrowed;             // what PreFilter left
  std::map<std::string, std::string> verdicts;               // node → feasible, or CODE by PLUGIN
  std::map<std::string, std::map<std::string, int>> scores;  // node → plugin → weighted score
  bool has_scores = false;                                   // else they weren't recorded
  std::optional<std::string> preemption;  // the nominated node; empty: it doesn't help
  std::set<std::string> victims;          // none: they weren't recorded
};

// What was recorded of a node: resource → what its pods take; cpu and memory for scoring.
struct Charge {
  std::map<std::string, std::string> requested;
  std::map<std::string, std::string> for_scoring;
};

struct Recorded {
  std::map<std::string, Expected> pods;
  std::map<std::string, Charge> nodes;
};

std::string_view Trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r") + 1 - begin);
}

std::vector<std::string> Words(std::string_view text, char separator) {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, separator);) {
    if (!Trim(word).empty()) out.emplace_back(Trim(word));
  }
  return out;
}

// "KEY=VALUE"; fails the test on anything else.
std::pair<std::string, std::string> KeyAndValue(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    ADD_FAILURE() << "no KEY=VALUE: " << text;
    return {};
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

bool Eat(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// One line below a pod's name.
void ParseLine(std::string_view line, Expected& out) {
  if (Eat(line, "preemption: ")) {
    if (Eat(line, "nominate ")) {
      out.preemption = line;
    } else {
      EXPECT_TRUE(line == "nothing to gain" || line == "not attempted") << line;
      out.preemption = "";
    }
    return;
  }
  if (Eat(line, "victim: ")) {
    out.victims.emplace(line);
    return;
  }
  if (Eat(line, "requests ")) {
    for (const std::string& word : Words(line, ' ')) out.requests.insert(KeyAndValue(word));
    return;
  }
  if (Eat(line, "prefilter narrows to [")) {
    const std::vector<std::string> names = Words(line.substr(0, line.find(']')), ' ');
    out.narrowed.emplace(names.begin(), names.end());
    return;
  }
  const auto colon = line.find(": ");
  ASSERT_NE(colon, std::string_view::npos) << "unknown form of line: " << line;
  const std::string node(line.substr(0, colon));
  std::string_view answer = line.substr(colon + 2);
  if (Eat(answer, "score ")) {
    out.has_scores = true;
    auto& scores = out.scores[node];
    if (answer == "none (plugin skipped)") return;
    for (const std::string& word : Words(answer, ' ')) {
      const auto [plugin, score] = KeyAndValue(word);
      scores[plugin] = std::stoi(score);
    }
    return;
  }
  ASSERT_TRUE(answer == "feasible" || answer.find(" by ") != std::string_view::npos)
      << "unknown form of line: " << line;
  EXPECT_TRUE(out.verdicts.emplace(node, answer).second) << node << " is there twice";
}

// "node n1: charged cpu=500m mem=1024 scalar=map[a.b/c:1 d:2]; for scoring cpu=500m mem=1024".
void ParseNode(std::string_view line, Recorded& out) {
  const auto colon = line.find(": charged ");
  const auto semicolon = line.find("; for scoring ");
  ASSERT_TRUE(colon != std::string_view::npos && semicolon != std::string_view::npos)
      << "unknown form of line: " << line;
  Charge charge;
  std::string_view amounts = line.substr(colon + 10, semicolon - colon - 10);
  if (const auto map = amounts.find("scalar=map["); map != std::string_view::npos) {
    for (const std::string& word :
         Words(amounts.substr(map + 11, amounts.find(']') - map - 11), ' ')) {
      const auto at = word.rfind(':');
      ASSERT_NE(at, std::string::npos) << "unknown form of line: " << line;
      charge.requested[word.substr(0, at)] = word.substr(at + 1);
    }
    amounts = amounts.substr(0, map);
  }
  const auto name = [](const std::string& resource) {
    return resource == "mem" ? "memory" : resource;
  };
  for (const std::string& word : Words(amounts, ' ')) {
    const auto [resource, amount] = KeyAndValue(word);
    charge.requested[name(resource)] = amount;
  }
  for (const std::string& word : Words(line.substr(semicolon + 14), ' ')) {
    const auto [resource, amount] = KeyAndValue(word);
    charge.for_scoring[name(resource)] = amount;
  }
  out.nodes[std::string(line.substr(0, colon))] = std::move(charge);
}

// The blocks behind "Measured" headings, by pod and node. A later heading (of a later release of
// the reference) replaces what it names again.
Recorded ParseExpected(const std::string& markdown) {
  Recorded out;
  bool measured = false;
  bool inside = false;
  Expected* pod = nullptr;
  std::istringstream in(markdown);
  for (std::string text; std::getline(in, text);) {
    std::string_view line = Trim(text);
    if (line.starts_with("```")) {
      inside = !inside;
      pod = nullptr;
    } else if (!inside) {
      measured = line.starts_with("Measured") || (measured && line.empty());
    } else if (measured && Eat(line, "node ")) {
      ParseNode(line, out);
    } else if (measured && !text.starts_with(' ')) {
      if (line.empty() || line.back() != ':') {
        ADD_FAILURE() << "unknown form of line: " << text;
        continue;
      }
      line.remove_suffix(1);
      Expected expected;
      if (const auto bracket = line.find(" [profile "); bracket != std::string_view::npos) {
        expected.profile = line.substr(bracket + 10, line.size() - bracket - 11);
        line = line.substr(0, bracket);
      }
      pod = &(out.pods[std::string(line)] = std::move(expected));
    } else if (measured && pod != nullptr) {
      ParseLine(line, *pod);
    }
  }
  return out;
}

// The plugins whose scores a case is about.
std::set<std::string> ScoredPlugins(const std::map<std::string, Expected>& pods) {
  std::set<std::string> out;
  for (const auto& [name, expected] : pods) {
    for (const auto& [node, scores] : expected.scores) {
      for (const auto& [plugin, score] : scores) out.insert(plugin);
    }
  }
  return out;
}

// What the pod asks for, exactly and as its cycle compares it: in whole units, rounded up once.
void CheckRequests(const Expected& expected, const PodInfo& pod, Dictionary& dictionary) {
  std::map<std::string, Quantity> want;
  for (const auto& [resource, text] : expected.requests) {
    auto quantity = Quantity::Parse(text);
    ASSERT_TRUE(quantity.ok()) << quantity.error().message();
    want.emplace(resource, *quantity);
  }
  std::map<std::string, Quantity> exact;
  const ExactAmounts amounts = PodRequests(*pod.pod, {}, dictionary);
  for (const auto& entry : amounts.entries()) {
    if (entry.quantity.IsZero()) continue;
    exact.emplace(dictionary.ResourceName(entry.resource), entry.quantity);
  }
  EXPECT_EQ(exact, want);

  std::map<std::string, std::int64_t> want_units, units;
  for (const auto& [resource, quantity] : want) {
    const auto value = ColumnValue(dictionary.Resource(resource), quantity);
    ASSERT_TRUE(value.has_value()) << resource;
    want_units.emplace(resource, *value);
  }
  ASSERT_NE(pod.plan, nullptr);
  for (const ResourceAmount& request : pod.plan->requests) {
    units.emplace(dictionary.ResourceName(request.resource), request.amount);
  }
  EXPECT_EQ(units, want_units);
}

void CheckScores(const Expected& expected, const std::set<std::string>& plugins,
                 const Explanation& explanation, const Snapshot& snapshot) {
  const ScoreMatrix& matrix = explanation.scores;
  std::map<std::string, std::map<std::string, int>> scores;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    auto& of_node = scores[snapshot.name(matrix.rows[i])];
    for (std::size_t p = 0; p < matrix.plugins.size(); ++p) {
      if (!plugins.empty() && !plugins.contains(matrix.plugins[p])) continue;
      of_node[matrix.plugins[p]] = static_cast<int>(
          matrix.weighted(static_cast<Eigen::Index>(p), static_cast<Eigen::Index>(i)));
    }
  }
  EXPECT_EQ(scores, expected.scores);
}

void CheckPod(const Expected& expected, const std::set<std::string>& plugins, Scheduler& scheduler,
              const Snapshot& snapshot, const PodPtr& pod) {
  CheckRequests(expected, *pod, snapshot.dictionary());
  EXPECT_EQ(pod->pod->spec.scheduler_name, expected.profile);
  const Explanation explanation = scheduler.Explain(snapshot, pod, {.preempt = true});
  ASSERT_TRUE(explanation.known_profile);
  ASSERT_TRUE(explanation.pre_enqueue.ok()) << explanation.pre_enqueue.message();
  const Diagnosis& diagnosis = explanation.diagnosis;
  ASSERT_TRUE(diagnosis.pre_filter.ok()) << diagnosis.pre_filter.message();

  std::optional<std::set<std::string>> narrowed;
  if (const auto& names = diagnosis.pre_filter_nodes)
    narrowed.emplace(names->begin(), names->end());
  EXPECT_EQ(narrowed, expected.narrowed);

  std::map<std::string, std::string> verdicts;
  std::vector<Row> feasible;
  for (Row row = 0; row < diagnosis.size(); ++row) {
    if (diagnosis.IsLeftOut(row)) continue;
    const Status& status = diagnosis.status(row);
    verdicts[snapshot.name(row)] =
        diagnosis.IsFeasible(row)
            ? "feasible"
            : std::string(CodeName(status.code())) + " by " + std::string(status.plugin());
    if (diagnosis.IsFeasible(row)) feasible.push_back(row);
  }
  EXPECT_EQ(verdicts, expected.verdicts);
  EXPECT_EQ(explanation.feasible, feasible);
  ASSERT_TRUE(explanation.score_status.ok()) << explanation.score_status.message();
  if (expected.has_scores) CheckScores(expected, plugins, explanation, snapshot);
  if (!expected.preemption) return;
  ASSERT_TRUE(explanation.preemption.has_value());
  EXPECT_EQ(explanation.preemption->status.ok(), !expected.preemption->empty());
  EXPECT_EQ(explanation.preemption->nominated_node, *expected.preemption);
  std::set<std::string> victims;
  for (const Victim& victim : explanation.preemption->victims) {
    victims.insert(victim.pod->pod->metadata.name);
  }
  if (!expected.victims.empty() || expected.preemption->empty()) {
    EXPECT_EQ(victims, expected.victims);
  }
}

// What the pods of a node take, as the columns hold it.
void CheckNode(const std::string& name, const Charge& charge, const Snapshot& snapshot) {
  const auto row = snapshot.Find(name);
  ASSERT_TRUE(row.has_value()) << "no node " << name;
  Dictionary& dictionary = snapshot.dictionary();
  const auto units = [&](const std::map<std::string, std::string>& amounts) {
    std::map<std::string, std::int64_t> out;
    for (const auto& [resource, text] : amounts) {
      auto quantity = Quantity::Parse(text);
      EXPECT_TRUE(quantity.ok()) << text;
      if (quantity.ok()) out[resource] = *ColumnValue(dictionary.Resource(resource), *quantity);
    }
    return out;
  };
  std::map<std::string, std::int64_t> requested;
  for (const auto& [resource, unused] : charge.requested) {
    requested[resource] = snapshot.Requested(dictionary.Resource(resource))[*row];
  }
  EXPECT_EQ(requested, units(charge.requested)) << name;
  const std::map<std::string, std::int64_t> for_scoring = {
      {"cpu", snapshot.NonZeroRequestedCpu()[*row]},
      {"memory", snapshot.NonZeroRequestedMemory()[*row]}};
  EXPECT_EQ(for_scoring, units(charge.for_scoring)) << name;
}

// "B07-sidecar-resource-sum" → "B07SidecarResourceSum".
std::string TestName(const std::string& folder) {
  std::string out;
  bool upper = true;
  for (const char c : folder) {
    if (c != '-') out += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '-';
  }
  return out;
}

// Runs the case that the current test is named after.
void RunCase() {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::path folder;
  for (const auto& candidate : Folders(TestsDir() / "cases", "B")) {
    if (TestName(candidate.filename().string()) == test) folder = candidate;
  }
  ASSERT_FALSE(folder.empty()) << "no case " << test;

  const auto yaml = folder / "cluster.yaml";
  const auto cluster_file = std::filesystem::exists(yaml) ? yaml : folder / "cluster.json";
  const auto config = folder / "scheduler-config.yaml";
  auto cluster = testing::TryLoad({cluster_file.string(), (folder / "pod.yaml").string()});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message();
  auto scheduler =
      testing::TryScheduler(std::filesystem::exists(config) ? config.string() : std::string());
  ASSERT_TRUE(scheduler.ok()) << scheduler.error().message();

  const Recorded recorded = ParseExpected(ReadFile(folder / "expected.md"));
  const auto& expected = recorded.pods;
  const std::set<std::string> plugins = ScoredPlugins(expected);
  const Snapshot& snapshot = cluster->view();
  std::set<std::string> pending;
  for (const PodPtr& pod : snapshot.Pending()) {
    const std::string& name = pod->pod->metadata.name;
    SCOPED_TRACE(name);
    pending.insert(name);
    const auto it = expected.find(name);
    ASSERT_NE(it, expected.end()) << "no answer is recorded";
    CheckPod(it->second, plugins, **scheduler, snapshot, pod);
  }
  for (const auto& [name, unused] : expected) {
    EXPECT_TRUE(pending.contains(name)) << "no pod " << name << " waits";
  }
  for (const auto& [name, charge] : recorded.nodes) CheckNode(name, charge, snapshot);
  EXPECT_FALSE(pending.empty());
}

TEST(Case, B04MemoryInMillibytes) { RunCase(); }
TEST(Case, B07SidecarResourceSum) { RunCase(); }
TEST(Case, B08LimitsWithoutRequests) { RunCase(); }
TEST(Case, B10PodLevelOverheadDoubleCount) { RunCase(); }
TEST(Case, B11ResizeMaxBeforeSum) { RunCase(); }
TEST(Case, B13TerminalAndTerminatingPods) { RunCase(); }
TEST(Case, B14PodSlots) { RunCase(); }
TEST(Case, B16HeterogeneousGpuScore) { RunCase(); }
TEST(Case, B17RequestedToCapacityRounding) { RunCase(); }
TEST(Case, B22NodeSelectorLeavesOneDomain) { RunCase(); }
TEST(Case, B23MinDomains) { RunCase(); }
TEST(Case, B25TerminatingPodsAndSkew) { RunCase(); }
TEST(Case, B26NodeLacksTopologyKey) { RunCase(); }
TEST(Case, B28MatchLabelKeysAndNamespaces) { RunCase(); }
TEST(Case, B29SelectorDoesNotMatchSelf) { RunCase(); }
TEST(Case, B31SelfAffinityFirstPod) { RunCase(); }
TEST(Case, B32NodeAffinityOrAnd) { RunCase(); }
TEST(Case, B34PreferNoScheduleScore) { RunCase(); }
TEST(Case, B35HostPorts) { RunCase(); }
TEST(Case, B37PreemptionPdbVsPriority) { RunCase(); }
TEST(Case, B38PreemptionDisruptedPods) { RunCase(); }
TEST(Case, B40StaleNominationOnUnusableNode) { RunCase(); }
TEST(Case, B41PreemptionTieBreaks) { RunCase(); }
TEST(Case, B56KubectlJsonListVgpuNode) { RunCase(); }

TEST(Cases, EachFolderHasATest) {
  std::set<std::string> numbers;  // "B07"
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    if (std::string_view(suite.name()) != "Case") continue;
    for (int t = 0; t < suite.total_test_count(); ++t) {
      numbers.insert(std::string(suite.GetTestInfo(t)->name()).substr(0, 3));
    }
  }
  for (const auto& folder : Folders(TestsDir() / "cases", "B")) {
    EXPECT_TRUE(numbers.contains(folder.filename().string().substr(0, 3))) << folder;
  }
}

// A parser that reads too little would let everything pass.
TEST(Cases, RecordedAnswersAreReadWhole) {
  const Recorded recorded = ParseExpected(
      "# Title\n\nNothing: here\n\n```\nno: answer\n```\n\nMeasured (x):\n\n```\n"
      "a [profile p]:\n    requests cpu=1 memory=500m\n    prefilter narrows to [n1 n2]\n"
      "    n1: feasible\n    n2: Unschedulable by NodePorts\n    n1: score A=3 B=4\n"
      "    preemption: nothing to gain\nd:\n    preemption: nominate n1\n    victim: x\nb:\n    "
      "n1: feasible\n    n1: score none (plugin skipped)\n"
      "c:\n    n1: feasible\nnode n1: charged cpu=500m mem=0 scalar=map[a.b/c:1 d:2]; for scoring "
      "cpu=600m mem=1\n```\n\nMeasured (y):\n\n```\nc:\n    n2: feasible\n```\n");
  const auto& pods = recorded.pods;
  ASSERT_EQ(pods.size(), 4u);
  EXPECT_EQ(pods.at("a").preemption, "");
  EXPECT_EQ(pods.at("d").preemption, "n1");
  EXPECT_EQ(pods.at("d").victims, std::set<std::string>{"x"});
  EXPECT_EQ(pods.at("b").preemption, std::nullopt);
  const Expected& a = pods.at("a");
  EXPECT_EQ(a.profile, "p");
  EXPECT_EQ(a.requests, (std::map<std::string, std::string>{{"cpu", "1"}, {"memory", "500m"}}));
  EXPECT_EQ(a.narrowed, (std::set<std::string>{"n1", "n2"}));
  EXPECT_EQ(a.verdicts, (std::map<std::string, std::string>{{"n1", "feasible"},
                                                            {"n2", "Unschedulable by NodePorts"}}));
  EXPECT_EQ(a.scores,
            (std::map<std::string, std::map<std::string, int>>{{"n1", {{"A", 3}, {"B", 4}}}}));
  const Expected& b = pods.at("b");
  EXPECT_EQ(b.profile, "default-scheduler");
  EXPECT_TRUE(b.has_scores);
  EXPECT_TRUE(b.scores.at("n1").empty());
  EXPECT_EQ(pods.at("c").verdicts, (std::map<std::string, std::string>{{"n2", "feasible"}}));
  EXPECT_FALSE(pods.at("c").has_scores);
  ASSERT_EQ(recorded.nodes.size(), 1u);
  const Charge& n1 = recorded.nodes.at("n1");
  EXPECT_EQ(n1.requested, (std::map<std::string, std::string>{
                              {"cpu", "500m"}, {"memory", "0"}, {"a.b/c", "1"}, {"d", "2"}}));
  EXPECT_EQ(n1.for_scoring, (std::map<std::string, std::string>{{"cpu", "600m"}, {"memory", "1"}}));
}

}  // namespace
}  // namespace schedfw
