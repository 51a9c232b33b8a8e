// Times the scheduling cycle of schedfw on a cluster file: the counterpart of the real
// kube-scheduler's `-mode bench` (benchmarks/peers/kube_scheduler). benchmarks/peers/run.py runs
// and compares both.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/base/simd.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {
namespace {

constexpr std::string_view kUsage =
    R"(usage: schedfw_peer --in FILE [option…]

Schedules the waiting pods of a cluster one after another and prints how long that took a pod.

  --in FILE      the cluster: Kubernetes objects as JSON or YAML
  --config FILE  KubeSchedulerConfiguration (default: upstream's)
  --threads N    threads of a cycle, 0 to 1024; 0: as many as there are cores (default: 1)
  --simd LEVEL   instructions to use: none, x86-64-v2, avx2, avx512 or auto, the best that the
                 machine has (default: auto)
  --tensor       keep all scores of all plugins and nodes of each cycle
  --repeat N     N runs, each on a cluster made anew; times are those of all pods (default: 1)
  --verify       afterwards, untimed: check each placement against a cycle that keeps every step
)";

struct Options {
  std::string in;
  std::string config;
  int threads = 1;
  std::string simd = "auto";
  bool tensor = false;
  int repeat = 1;
  bool verify = false;
  bool help = false;
};

Result<void> ReadNumber(std::string_view option, std::string_view text, int least, int most,
                        int& out) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc() && rest == end && out >= least && out <= most) return {};
  return ArgumentError(std::string(option) + ": \"" + std::string(text) +
                       "\" is not allowed (allowed: " + std::to_string(least) + " to " +
                       std::to_string(most) + ")");
}

Result<Options> ReadOptions(const std::vector<std::string>& arguments) {
  Options out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option == "-h" || option == "--help") {
      out.help = true;
      return out;
    }
    if (option == "--tensor") {
      out.tensor = true;
      continue;
    }
    if (option == "--verify") {
      out.verify = true;
      continue;
    }
    constexpr std::string_view kWithValue[] = {"--in", "--config", "--threads", "--simd",
                                               "--repeat"};
    if (std::find(std::begin(kWithValue), std::end(kWithValue), option) == std::end(kWithValue)) {
      return ArgumentError("there is no option \"" + option + "\" (-h lists them)");
    }
    if (++i == arguments.size()) return ArgumentError(option + " needs a value");
    const std::string& value = arguments[i];
    Result<void> done;
    if (option == "--in") out.in = value;
    if (option == "--config") out.config = value;
    if (option == "--simd") out.simd = value;
    if (option == "--threads") done = ReadNumber(option, value, 0, 1024, out.threads);
    if (option == "--repeat") done = ReadNumber(option, value, 1, 1'000'000, out.repeat);
    if (!done) return done.error();
  }
  if (out.in.empty()) return ArgumentError("--in FILE is missing (-h explains the options)");
  if (out.simd == "auto") return out;
  const auto level = FindSimdLevel(out.simd);
  if (level && SetSimdLevel(*level)) return out;
  std::string allowed = "auto";
  for (const auto& [name, known] : kSimdLevelNames) {
    if (known <= MaxSimdLevel()) allowed += ", " + std::string(name);
  }
  return ArgumentError("--simd: \"" + out.simd + "\" is not " +
                       (level ? "there on this machine" : "known") + " (allowed: " + allowed + ")");
}

// A pod that waits, as the queue holds it: normalised, as the API server would store it.
using WaitingPod = std::shared_ptr<const api::Pod>;

// The pods that wait: by priority, then in the order of the file (PrioritySort).
class Queue {
 public:
  explicit Queue(const std::vector<WaitingPod>& pods) {
    std::vector<Entry> entries;
    entries.reserve(pods.size());
    for (const WaitingPod& pod : pods) {
      entries.push_back({pod, pod->spec.priority.value_or(0), entries.size()});
    }
    heap_ = Heap(Behind(), std::move(entries));
  }

  bool empty() const { return heap_.empty(); }
  WaitingPod Pop() {
    WaitingPod out = heap_.top().pod;
    heap_.pop();
    return out;
  }

 private:
  struct Entry {
    WaitingPod pod;
    std::int32_t priority = 0;
    std::size_t arrival = 0;
  };
  struct Behind {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.priority != b.priority ? a.priority < b.priority : a.arrival > b.arrival;
    }
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, Behind>;
  Heap heap_;
};

// Finds a node with all scores of the cycle kept, and puts the pod there.
Status PlaceByTensor(Scheduler& scheduler, Cluster& cluster, const PodPtr& pod) {
  const Explanation explanation = scheduler.Explain(cluster.view(), pod);
  if (!explanation.known_profile || !explanation.pre_enqueue.ok()) return scheduler.Admit(*pod);
  if (!explanation.score_status.ok()) return explanation.score_status;
  if (explanation.best.empty()) return Status::Unschedulable(explanation.diagnosis.Message());
  auto done = cluster.AssumePod(*pod, explanation.best.front());
  if (done) done = cluster.FinishBinding(*pod);
  return done ? Status() : Status::Error(done.error().message());
}

// The cluster as it is before scheduling, and the pods that wait for it.
struct Work {
  api::ObjectList objects;
  std::vector<WaitingPod> waiting;
};

Result<Work> ReadWork(const std::string& file) {
  auto objects = api::ReadObjects({file});
  if (!objects) return objects.error();
  if (auto done = api::Normalize(*objects); !done) return done.error().In(file);
  Work out{*std::move(objects), {}};
  for (const api::Pod& pod : out.objects.pods) {
    if (pod.spec.node_name.empty()) out.waiting.push_back(std::make_shared<const api::Pod>(pod));
  }
  std::erase_if(out.objects.pods, [](const api::Pod& pod) { return pod.spec.node_name.empty(); });
  if (out.waiting.empty()) return ParseError(file + ": no pod waits for a node");
  return out;
}

struct Timing {
  std::vector<double> cycles_us;  // one a pod, in all runs
  double total_s = 0;
  std::size_t bound = 0;  // in one run; all runs do the same
  Status rejected;        // of the first pod that found no node
};

// One run. Like the real scheduler's, a cycle is timed by one pair of clock readings a pod.
Result<void> Run(const Work& work, Scheduler& scheduler, Cluster& cluster, bool tensor,
                 Timing& timing) {
  using Clock = std::chrono::steady_clock;
  Queue queue(work.waiting);
  timing.cycles_us.reserve(timing.cycles_us.size() + work.waiting.size());
  timing.bound = 0;
  const Clock::time_point start = Clock::now();
  while (!queue.empty()) {
    const Clock::time_point begin = Clock::now();
    const auto pod = cluster.AddNormalizedPod(queue.Pop());
    if (!pod) return pod.error();
    Status status = tensor ? PlaceByTensor(scheduler, cluster, *pod)
                           : scheduler.ScheduleOne(cluster, **pod).status;
    if (status.ok()) ++timing.bound;
    timing.cycles_us.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    if (status.code() == Code::kError) return PluginError(status.message());
    if (!status.ok() && timing.rejected.ok()) timing.rejected = std::move(status);
  }
  timing.total_s += std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

std::string NodeOf(const Cluster& cluster, const api::Pod& pod) {
  const auto row = cluster.view().RowOf(pod.metadata.ns, pod.metadata.name);
  return row ? cluster.view().name(*row) : "no node";
}

// Places all pods again, on one thread and with every step kept, and compares where they go.
Result<void> Verify(const Work& work, const SchedulerConfig& config, const Registry& registry,
                    const Cluster& placed) {
  auto scheduler = Scheduler::Create(config, registry);
  if (!scheduler) return scheduler.error();
  auto cluster = Cluster::FromObjects(work.objects);
  if (!cluster) return cluster.error();
  for (Queue queue(work.waiting); !queue.empty();) {
    const WaitingPod pod = queue.Pop();
    const auto added = cluster->AddNormalizedPod(pod);
    if (!added) return added.error();
    (void)PlaceByTensor(**scheduler, *cluster, *added);
    const std::string node = NodeOf(*cluster, *pod), got = NodeOf(placed, *pod);
    if (node == got) continue;
    return PluginError("--verify: " + pod->FullName() + " is on " + got + ", but belongs on " +
                       node);
  }
  return {};
}

std::string Compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

Value ToValue(const Options& options, const Work& work, Timing timing) {
  std::vector<double>& us = timing.cycles_us;
  std::sort(us.begin(), us.end());
  const std::size_t n = us.size();
  const auto integer = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  Value out = Value::Object();
  out.Set("pods", integer(work.waiting.size()));
  out.Set("bound", integer(timing.bound));
  out.Set("nodes", integer(work.objects.nodes.size()));
  out.Set("threads", options.threads);
  out.Set("simd", std::string(SimdLevelName(CurrentSimdLevel())));
  out.Set("tensor", options.tensor);
  out.Set("repeat", options.repeat);
  out.Set("compiler", Compiler());
  out.Set("total_s", timing.total_s);
  out.Set("pods_per_s", static_cast<double>(n) / timing.total_s);
  out.Set("mean_us", std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(n));
  out.Set("p50_us", us[n / 2]);
  out.Set("p99_us", us[n * 99 / 100]);
  out.Set("max_us", us.back());
  return out;
}

Result<void> Main(const std::vector<std::string>& arguments) {
  const auto options = ReadOptions(arguments);
  if (!options) return options.error();
  if (options->help) {
    std::cout << kUsage;
    return {};
  }
  const Registry registry = InTreeRegistry();
  SchedulerConfig config;
  if (!options->config.empty()) {
    auto read = ReadConfig(options->config, registry);
    if (!read) return read.error();
    config = *std::move(read);
  }
  const auto work = ReadWork(options->in);
  if (!work) return work.error();
  SchedulerOptions scheduler_options;
  scheduler_options.executor.threads = options->threads;

  Timing timing;
  std::optional<Cluster> placed;
  for (int i = 0; i < options->repeat; ++i) {
    auto scheduler = Scheduler::Create(config, registry, scheduler_options);
    if (!scheduler) return scheduler.error();
    auto cluster = Cluster::FromObjects(work->objects);
    if (!cluster) return cluster.error().In(options->in);
    if (auto done = Run(*work, **scheduler, *cluster, options->tensor, timing); !done) return done;
    placed = *std::move(cluster);
  }
  if (options->verify) {
    if (auto done = Verify(*work, config, registry, *placed); !done) return done;
  }
  if (timing.bound < work->waiting.size()) {
    std::cerr << "schedfw_peer: " << work->waiting.size() - timing.bound << " of "
              << work->waiting.size()
              << " pods found no node; the first: " << timing.rejected.message() << "\n";
  }
  std::cout << ToJson(ToValue(*options, *work, std::move(timing)), 1) << "\n";
  return {};
}

}  // namespace
}  // namespace schedfw

int main(int argc, char** argv) {
  std::string message;
  try {
    const auto done = schedfw::Main({argv + 1, argv + argc});
    if (done) return 0;
    message = done.error().message();
  } catch (const std::exception& error) {
    message = error.what();
  }
  std::cerr << "schedfw_peer: " << message << "\n";
  return 2;
}
