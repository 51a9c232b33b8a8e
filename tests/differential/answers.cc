// Answers a folder of cases, each with cluster.json, config.yaml if any, and mode: one JSON file a
// case, in the form of the real kube-scheduler's answers (benchmarks/peers/kube_scheduler).

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/report.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {
namespace {

namespace fs = std::filesystem;

Value Only(const char* key, const std::string& text) {
  Value out = Value::Object();
  out.Set(key, text);
  return out;
}

std::string ReadMode(const fs::path& folder) {
  std::ifstream in(folder / "mode");
  std::string mode;
  in >> mode;
  return mode;
}

// The waiting pods that are scheduled, in the order of the file.
std::vector<PodPtr> Waiting(const Cluster& cluster) {
  std::vector<PodPtr> out = cluster.view().Pending();
  std::erase_if(out, [](const PodPtr& pod) { return pod->terminating(); });
  return out;
}

Value Explain(Scheduler& scheduler, const Cluster& cluster, bool preempt) {
  Value::List out;
  for (const PodPtr& pod : Waiting(cluster)) {
    const Explanation explanation = scheduler.Explain(cluster.view(), pod, {.preempt = preempt});
    out.push_back(ToValue(explanation, cluster.view(), /*scores=*/!preempt));
  }
  return Value(std::move(out));
}

// How many nodes a cycle looks at, sampling as configured; nothing is placed.
Value Cycles(Scheduler& scheduler, const Cluster& cluster) {
  Value::List out;
  for (const PodPtr& pod : Waiting(cluster)) {
    if (scheduler.framework(pod->pod->spec.scheduler_name) == nullptr) continue;
    const ScheduleResult result = scheduler.Schedule(cluster.view(), *pod);
    Value entry = Only("pod", pod->FullName());
    entry.Set("evaluated", std::int64_t{result.evaluated});
    entry.Set("feasible", std::int64_t{result.feasible});
    out.push_back(std::move(entry));
  }
  return Value(std::move(out));
}

Value Profiles(const Scheduler& scheduler) {
  Value out = Value::Object();
  for (const std::string& name : scheduler.profile_names()) {
    out.Set(name, ToValue(scheduler.framework(name)->profile()));
  }
  return out;
}

// The answer to one case, or {"error": message} for what is refused.
Value Answer(const fs::path& folder) {
  const std::string mode = ReadMode(folder);
  const Registry registry = InTreeRegistry();
  SchedulerConfig config;
  if (const fs::path file = folder / "config.yaml"; fs::exists(file)) {
    auto read = ReadConfig(file.string(), registry);
    if (!read) return Only("error", read.error().message());
    config = *std::move(read);
  }
  SchedulerOptions options;
  if (mode == "cycle") options.nodes_to_score = NodesToScore::kConfigured;
  auto scheduler = Scheduler::Create(config, registry, options);
  if (!scheduler) return Only("error", scheduler.error().message());
  if (mode == "config") return Profiles(**scheduler);

  auto objects = api::ReadObjects({(folder / "cluster.json").string()});
  if (!objects) return Only("error", objects.error().message());
  if (auto done = api::Normalize(*objects); !done) return Only("error", done.error().message());
  auto cluster = Cluster::FromObjects(*std::move(objects));
  if (!cluster) return Only("error", cluster.error().message());
  if (mode == "explain") return Explain(**scheduler, *cluster, /*preempt=*/false);
  if (mode == "preempt") return Explain(**scheduler, *cluster, /*preempt=*/true);
  if (mode == "cycle") return Cycles(**scheduler, *cluster);
  if (mode == "place") return ToValue((*scheduler)->Place(*cluster));
  return Only("error", "there is no mode " + mode);
}

// Reads "I/N".
bool ReadShard(std::string_view text, std::size_t& index, std::size_t& count) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), text.data() + slash, index);
  const auto second = std::from_chars(text.data() + slash + 1, end, count);
  return first.ec == std::errc() && second.ec == std::errc() && second.ptr == end && index < count;
}

int Run(const fs::path& cases, const fs::path& out, std::size_t index, std::size_t count) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(cases)) {
    if (fs::exists(entry.path() / "mode")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (std::size_t i = index; i < folders.size(); i += count) {
    Value answer;
    try {
      answer = Answer(folders[i]);
    } catch (const std::exception& error) {
      answer = Only("error", std::string("exception: ") + error.what());
    }
    const fs::path file = out / (folders[i].filename().string() + ".json");
    std::ofstream stream(file);
    stream << ToJson(answer) << "\n";
    if (!stream.flush()) {
      std::cerr << file.string() << ": can't be written\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace schedfw

int main(int argc, char** argv) {
  std::size_t index = 0, count = 1;
  if (argc < 3 || argc > 4 || (argc == 4 && !schedfw::ReadShard(argv[3], index, count))) {
    std::cerr << "usage: schedfw_answers CASES OUT [I/N]\n"
                 "Answers every N-th case of the folder CASES, from the I-th on: OUT/CASE.json\n";
    return 2;
  }
  return schedfw::Run(argv[1], argv[2], index, count);
}
