// Handlers on a scheduler's bus that come and go while it runs: preemption, bindings sent in
// batches, and counts by QoS class. The scheduler's own profile knows nothing of them.

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/framework/config.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/scheduler.h"

namespace {

constexpr const char* kWithoutPreemption = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {disabled: [{name: DefaultPreemption}]}
)";
constexpr const char* kUpstream = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
)";

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "event_handlers: " << message << "\n";
  std::exit(2);
}

schedfw::Quantity Amount(const char* text) { return *schedfw::Quantity::Parse(text); }

std::unique_ptr<schedfw::Scheduler> MakeScheduler(const char* text) {
  const schedfw::Registry registry = schedfw::InTreeRegistry();
  auto config = schedfw::ParseConfig(text, registry, "event_handlers.cc");
  if (!config) Fail(config.error().message());
  auto scheduler = schedfw::Scheduler::Create(*config, registry);
  if (!scheduler) Fail(scheduler.error().message());
  return *std::move(scheduler);
}

schedfw::api::Pod Pod(const std::string& name, int priority, const char* cpu, bool limits) {
  schedfw::api::Pod pod;
  pod.metadata.ns = "ml";
  pod.metadata.name = name;
  pod.spec.priority = priority;
  schedfw::api::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  if (std::string(cpu) != "0") {
    container.resources.requests = {{"cpu", Amount(cpu)}, {"memory", Amount("1Gi")}};
    if (limits) container.resources.limits = container.resources.requests;
  }
  return pod;
}

// pkg/apis/core/v1/helper/qos, for pods whose resources are those of one container.
std::string QosClass(const schedfw::api::Pod& pod) {
  const schedfw::api::ResourceRequirements& resources = pod.spec.containers.front().resources;
  if (resources.requests.empty() && resources.limits.empty()) return "BestEffort";
  return resources.requests == resources.limits ? "Guaranteed" : "Burstable";
}

// Counts what happens to pods, by class.
class QosCounts {
 public:
  explicit QosCounts(schedfw::EventBus& bus)
      : started_(bus.Subscribe<schedfw::CycleStarted>([this](const schedfw::CycleStarted& event) {
          ++counts_[QosClass(*event.pod->pod)].attempts;
        })),
        bound_(bus.Subscribe<schedfw::PodBound>([this](const schedfw::PodBound& event) {
          ++counts_[QosClass(*event.pod->pod)].bound;
        })) {}

  void Print() const {
    for (const auto& [name, count] : counts_) {
      std::cout << "  " << name << ": " << count.attempts << " attempts, " << count.bound
                << " bound\n";
    }
  }

 private:
  struct Count {
    int attempts = 0;
    int bound = 0;
  };
  std::map<std::string, Count> counts_;
  schedfw::Subscription started_, bound_;
};

// Sends bindings to somebody in batches, where one call a pod would cost too much.
class BindingBatches {
 public:
  BindingBatches(schedfw::EventBus& bus, std::size_t size)
      : size_(size),
        bound_(bus.Subscribe<schedfw::PodBound>([this](const schedfw::PodBound& event) {
          batch_.push_back(event.pod->pod->metadata.name + " on " + std::string(event.node));
          if (batch_.size() == size_) Send();
        })) {}
  ~BindingBatches() {
    bound_.Reset();
    if (!batch_.empty()) Send();
  }

 private:
  void Send() {
    std::cout << "  sent:";
    for (const std::string& binding : batch_) std::cout << " " << binding << ";";
    std::cout << "\n";
    batch_.clear();
  }

  const std::size_t size_;
  std::vector<std::string> batch_;
  schedfw::Subscription bound_;
};

// Finds victims for pods that are rejected. A handler must not change what it watches, so they go
// between two runs of the loop.
class Preemption {
 public:
  explicit Preemption(schedfw::SchedulingLoop& loop)
      : loop_(loop),
        scheduler_(MakeScheduler(kUpstream)),
        rejected_(
            loop.bus().Subscribe<schedfw::PodRejected>([this](const schedfw::PodRejected& event) {
              const schedfw::PreemptionResult found =
                  scheduler_->FindVictims(loop_.cluster().view(), *event.pod);
              for (const schedfw::Victim& victim : found.victims) {
                victims_.emplace(victim.pod->pod->metadata.name, event.pod->pod->metadata.name);
              }
            })) {}

  // False: nobody has to go.
  bool Evict() {
    const std::map<std::string, std::string> victims = std::exchange(victims_, {});
    for (const auto& [victim, preemptor] : victims) {
      std::cout << "  " << victim << " makes room for " << preemptor << "\n";
      if (auto done = loop_.DeletePod("ml", victim); !done) Fail(done.error().message());
    }
    return !victims.empty();
  }

 private:
  schedfw::SchedulingLoop& loop_;
  const std::unique_ptr<schedfw::Scheduler> scheduler_;  // the loop's is in use when it rejects
  std::map<std::string, std::string> victims_;           // victim → for whom
  schedfw::Subscription rejected_;
};

void Run(schedfw::SchedulingLoop& loop) {
  auto report = loop.RunUntilQuiet();
  if (!report) Fail(report.error().message());
  for (const auto& [pod, why] : report->pending)
    std::cout << "  " << pod << " pends: " << why << "\n";
}

}  // namespace

int main() {
  const auto scheduler = MakeScheduler(kWithoutPreemption);
  schedfw::Cluster cluster;
  for (const char* name : {"node-a", "node-b"}) {
    schedfw::api::Node node;
    node.metadata.name = name;
    node.status.capacity = {
        {"cpu", Amount("4")}, {"memory", Amount("16Gi")}, {"pods", Amount("10")}};
    if (auto done = cluster.AddNode(std::move(node)); !done) Fail(done.error().message());
  }
  schedfw::SchedulingLoop loop(*scheduler, cluster);
  const QosCounts counts(loop.bus());
  const auto add = [&](schedfw::api::Pod pod) {
    if (auto done = loop.AddPod(std::move(pod)); !done) Fail(done.error().message());
  };

  std::cout << "bindings in batches of two:\n";
  {
    const BindingBatches batches(loop.bus(), 2);
    add(Pod("batch-0", 0, "3", false));
    add(Pod("batch-1", 0, "3", false));
    add(Pod("log", 0, "0", false));
    Run(loop);
  }
  std::cout << "nobody preempts:\n";
  add(Pod("train", 1000, "4", true));
  Run(loop);
  std::cout << "now somebody does:\n";
  {
    Preemption preemption(loop);
    add(Pod("serve", 2000, "4", true));
    do {
      Run(loop);
    } while (preemption.Evict());
  }
  std::cout << "attempts by QoS class:\n";
  counts.Print();
  return 0;
}
