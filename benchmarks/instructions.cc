// Fixed pieces of work whose instructions callgrind counts: scripts/instructions.sh runs them and
// compares with benchmarks/instructions.json. Unlike times, the counts don't depend on what else
// the machine does.

#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clusters.h"
#include "kubectl_text.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/base/simd.h"

namespace schedfw::benchmarks {
namespace {

// A piece of work, given how often it ran before.
using Step = std::function<void(int i)>;

struct Scenario {
  std::string_view name;
  int warm_up = 0;       // steps that aren't counted
  int steps = 1;         // those that are
  int items_a_step = 1;  // counts are given for one item, e.g. a cycle
  Step (*make)(int items) = nullptr;
};

// A scenario that does something else than its name says must not pass.
void Require(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << "schedfw_instructions: " << what << "\n";
  std::exit(2);
}

constexpr int kNodes = 1000;

enum class Pipeline : std::uint8_t { kWhole, kGroups };

// One cycle and the binding: pods that wait in a cluster, in turn.
Step Cycles(Cluster cluster, Pipeline expected) {
  return [cluster = std::move(cluster), waiting = std::vector<PodPtr>(),
          scheduler = std::shared_ptr<Scheduler>(MakeScheduler()), expected](int i) mutable {
    if (waiting.empty()) waiting = cluster.view().Pending();
    const ScheduleResult result = scheduler->ScheduleOne(cluster, *waiting[i]);
    Require(result.status.ok(), "a pod finds no node");
    // Groups are made when a plan comes up for the second time: in the warm-up.
    Require(i < 30 || result.incremental == (expected == Pipeline::kGroups),
            "the cycle isn't of the kind that the scenario is about");
  };
}

Step ScheduleShapes(int) {
  return Cycles(TrainingCluster(kNodes, kNodes, {.spread = true, .shapes = true}),
                Pipeline::kWhole);
}
Step SchedulePlain(int) {
  return Cycles(TrainingCluster(kNodes, kNodes, {.shapes = true}), Pipeline::kWhole);
}
Step ScheduleReplicas(int) {
  return Cycles(TrainingCluster(kNodes, kNodes, {.spread = true}), Pipeline::kGroups);
}

// Pods with a Service, which spread by default.
Step Services(int) {
  Cluster cluster = TrainingCluster(kNodes, kNodes, {});
  for (int app = 0; app < 10; ++app) {
    api::Service service;
    service.metadata.name = "app-" + std::to_string(app);
    service.metadata.ns = kNamespace;
    service.selector = {{"app", service.metadata.name}};
    cluster.Upsert(std::move(service));
  }
  return Cycles(std::move(cluster), Pipeline::kGroups);
}

// One cycle with all scores kept.
Step Explain(int) {
  Cluster cluster = TrainingCluster(kNodes, kNodes, {.spread = true});
  return [cluster, pod = FirstPending(cluster),
          scheduler = std::shared_ptr<Scheduler>(MakeScheduler())](int) {
    const Explanation explanation = scheduler->Explain(cluster.view(), pod);
    Require(!explanation.best.empty(), "a pod finds no node");
  };
}

Step AddPods(int items, const PodKind& kind) {
  std::vector<api::Pod> pods;
  for (int i = 0; i < items; ++i) pods.push_back(TrainingPod(i, kind));
  return [cluster = TrainingCluster(kNodes, 0, {}), pods = std::move(pods)](int i) mutable {
    Require(cluster.AddPod(std::move(pods[i])).ok(), "a pod can't be added");
  };
}
Step AddPodNewKind(int items) { return AddPods(items, {.spread = true, .shapes = true}); }
Step AddPodKnownKind(int items) { return AddPods(items, {.spread = true}); }

Step ForkAndBind(int) {
  Cluster cluster = TrainingCluster(kNodes, kNodes, {});
  return [cluster, pod = FirstPending(cluster)](int i) {
    Cluster fork = cluster.Fork();
    Require(fork.AssumePod(*pod, static_cast<Row>(i)).ok(), "a pod can't be bound");
  };
}

// A text of `items` pods into objects, which outlive the step.
Step ParsePods(int items) {
  return [text = KubectlText(items), kept = std::vector<api::ObjectList>()](int) mutable {
    auto objects = api::ParseObjects(text);
    Require(objects.ok(), "the text can't be read");
    kept.push_back(*std::move(objects));
  };
}

// The objects of such a text into a cluster.
Step BuildCluster(int items) {
  auto objects = api::ParseObjects(KubectlText(items));
  Require(objects.ok(), "the text can't be read");
  return [objects = *std::move(objects), kept = std::vector<Cluster>()](int) mutable {
    Require(api::Normalize(objects).ok(), "the objects can't be normalised");
    auto cluster = Cluster::FromObjects(std::move(objects));
    Require(cluster.ok(), "there is no cluster of these objects");
    kept.push_back(*std::move(cluster));
  };
}

Step Preempt(int) {
  Cluster cluster = FullCluster(200, Demand::kSpread);
  return [cluster, pod = FirstPending(cluster),
          scheduler = std::shared_ptr<Scheduler>(MakeScheduler())](int) {
    const PreemptionResult result = scheduler->FindVictims(cluster.view(), *pod);
    Require(!result.victims.empty(), "no victims were found");
  };
}

constexpr Scenario kScenarios[] = {
    {"schedule_shapes", 30, 100, 1, ScheduleShapes},
    {"schedule_plain", 30, 100, 1, SchedulePlain},
    {"schedule_replicas", 50, 200, 1, ScheduleReplicas},
    {"services", 50, 200, 1, Services},
    {"explain", 2, 20, 1, Explain},
    {"add_pod_new_kind", 100, 500, 1, AddPodNewKind},
    {"add_pod_known_kind", 100, 500, 1, AddPodKnownKind},
    {"fork_and_bind", 10, 50, 1, ForkAndBind},
    {"parse_pods", 1, 2, 500, ParsePods},
    {"build_cluster", 0, 1, 500, BuildCluster},
    {"preempt", 1, 3, 1, Preempt},
};

std::string Compiler() {
  const std::string on =
#if defined(__x86_64__)
      " x86_64";
#elif defined(__aarch64__)
      " aarch64";
#else
      " other";
#endif
#if defined(__clang__)
  return "Clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + on;
#else
  return "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + on;
#endif
}

void Run(const Scenario& scenario) {
  const int items =
      scenario.items_a_step == 1 ? scenario.warm_up + scenario.steps : scenario.items_a_step;
  const Step step = scenario.make(items);
  int i = 0;
  for (; i < scenario.warm_up; ++i) step(i);
  // Only from here on callgrind looks at instructions at all, which makes the rest fast.
  CALLGRIND_START_INSTRUMENTATION;
  for (; i < scenario.warm_up + scenario.steps; ++i) step(i);
  CALLGRIND_STOP_INSTRUMENTATION;
}

int Main(int argc, char** argv) {
  const std::string argument = argc == 2 ? argv[1] : "";
  if (argument == "--list") {
    for (const Scenario& scenario : kScenarios) {
      std::cout << scenario.name << " " << scenario.steps * scenario.items_a_step << "\n";
    }
    return 0;
  }
  if (argument == "--compiler") {
    std::cout << Compiler() << "\n";
    return 0;
  }
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name != argument) continue;
    // What every x86-64 machine of the last ten years runs, so that machines agree.
    (void)SetSimdLevel(SimdLevel::kX8664V2);
    Run(scenario);
    return 0;
  }
  std::cerr << "usage: schedfw_instructions --list | --compiler | SCENARIO\n";
  return 2;
}

}  // namespace
}  // namespace schedfw::benchmarks

int main(int argc, char** argv) { return schedfw::benchmarks::Main(argc, argv); }
