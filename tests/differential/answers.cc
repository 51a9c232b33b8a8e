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

Value Explain(Scheduler& scheduler, const Cluster& cluster, const api::ObjectList& objects) {
  const Snapshot& snapshot = cluster.view();
  Value::List out;
  for (const api::Pod& pod : objects.pods) {
    const PodPtr found = snapshot.FindPod(pod.metadata.ns, pod.metadata.name);
    if (found == nullptr || found->plan == nullptr || found->terminating) continue;
    out.push_back(ToValue(scheduler.Explain(snapshot, found), snapshot));
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

// The answer to one case, {"error": message} for what is refused, or {"unsupported": mode}.
Value Answer(const fs::path& folder) {
  const std::string mode = ReadMode(folder);
  const Registry registry = InTreeRegistry();
  SchedulerConfig config;
  if (const fs::path file = folder / "config.yaml"; fs::exists(file)) {
    auto read = ReadConfig(file.string(), registry);
    if (!read) return Only("error", read.error().message());
    config = *std::move(read);
  }
  auto scheduler = Scheduler::Create(config, registry);
  if (!scheduler) return Only("error", scheduler.error().message());
  if (mode == "config") return Profiles(**scheduler);

  auto objects = api::ReadObjects({(folder / "cluster.json").string()});
  if (!objects) return Only("error", objects.error().message());
  if (auto done = api::Normalize(*objects); !done) return Only("error", done.error().message());
  auto cluster = Cluster::FromObjects(*objects);
  if (!cluster) return Only("error", cluster.error().message());
  if (mode == "explain") return Explain(**scheduler, *cluster, *objects);
  if (mode == "place") return ToValue((*scheduler)->Place(*cluster));
  return Only("unsupported", mode);
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
