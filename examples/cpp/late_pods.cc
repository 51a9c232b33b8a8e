// What pods cost that become ready late, by how a scheduler learns of it: gated before they are
// queued (SchedulingGates), or rejected by a filter in cycle after cycle (ReadinessFilter).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "schedfw/framework/config.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/inbox.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/scheduler.h"

namespace {

using std::chrono::nanoseconds;

constexpr int kNodes = 512;
constexpr int kProducers = 4;
constexpr nanoseconds kSpan = std::chrono::seconds(60);
constexpr nanoseconds kAttempt = std::chrono::milliseconds(1);

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
)";
// readiness: filter. The other one is the default.
constexpr const char* kFilter = R"(
  plugins:
    preEnqueue: {disabled: [{name: SchedulingGates}]}
    filter: {enabled: [{name: ReadinessFilter}]}
)";

schedfw::Quantity Amount(const char* text) { return *schedfw::Quantity::Parse(text); }

schedfw::api::Node Node(int i) {
  schedfw::api::Node node;
  node.metadata.name = "node-" + std::to_string(i);
  node.status.capacity = {
      {"cpu", Amount("32")}, {"memory", Amount("64Gi")}, {"pods", Amount("110")}};
  return node;
}

schedfw::api::Pod Pod(int i, bool gated) {
  schedfw::api::Pod pod;
  pod.metadata.name = "pod-" + std::to_string(i);
  pod.metadata.ns = "late";
  pod.spec.containers.resize(1);
  pod.spec.containers[0].name = "main";
  pod.spec.containers[0].resources.requests = {{"cpu", Amount("1")}, {"memory", Amount("1Gi")}};
  if (gated) pod.spec.scheduling_gates = {{"data-is-there"}};
  return pod;
}

struct Counts {
  schedfw::QueueStats queue;
  schedfw::InboxStats inbox;
  std::size_t bound = 0;
  double seconds = 0;  // of virtual time, until the last pod was bound
};

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "late_pods: " << message << "\n";
  std::exit(2);
}

// Gates go one after another, evenly over kSpan of virtual time, in which each attempt takes
// kAttempt.
Counts RunInVirtualTime(const std::string& config_text, int pods) {
  const schedfw::Registry registry = schedfw::InTreeRegistry();
  auto config = schedfw::ParseConfig(config_text, registry, "late_pods.cc");
  if (!config) Fail(config.error().message());
  auto scheduler = schedfw::Scheduler::Create(*config, registry);
  if (!scheduler) Fail(scheduler.error().message());
  schedfw::Cluster cluster;
  for (int i = 0; i < kNodes; ++i) {
    if (auto done = cluster.AddNode(Node(i)); !done) Fail(done.error().message());
  }
  for (int i = 0; i < pods; ++i) {
    if (auto done = cluster.AddPod(Pod(i, true)); !done) Fail(done.error().message());
  }
  schedfw::VirtualClock clock;
  schedfw::LoopOptions options;
  options.clock = &clock;
  schedfw::SchedulingLoop loop(**scheduler, cluster, options);
  const auto run_until = [&](nanoseconds end) {
    while (clock.Now() < end) {
      if (loop.Step()) {
        clock.Advance(kAttempt);
      } else {  // nothing to do: for a second at most, when backoffs end
        clock.Set(std::min(end, clock.Now() + nanoseconds(std::chrono::seconds(1))));
      }
    }
  };
  for (int i = 0; i < pods; ++i) {
    run_until(kSpan * (i + 1) / pods);
    if (auto done = loop.UpdatePod(Pod(i, false)); !done) Fail(done.error().message());
  }
  for (int i = 0; i < 600'000 && !cluster.view().Pending().empty(); ++i) {
    run_until(clock.Now() + kAttempt);
  }
  const nanoseconds end = clock.Now();
  Counts out;
  out.seconds = std::chrono::duration<double>(end).count();
  out.queue = loop.queue().stats();
  out.bound = static_cast<std::size_t>(pods) - cluster.view().Pending().size();
  return out;
}

// The same gates, posted by several threads as fast as they can while the loop runs: who waits for
// whom at the one lock that they share.
Counts RunWithThreads(const std::string& config_text, int pods) {
  const schedfw::Registry registry = schedfw::InTreeRegistry();
  auto config = schedfw::ParseConfig(config_text, registry, "late_pods.cc");
  if (!config) Fail(config.error().message());
  auto scheduler = schedfw::Scheduler::Create(*config, registry);
  if (!scheduler) Fail(scheduler.error().message());
  schedfw::Cluster cluster;
  for (int i = 0; i < kNodes; ++i) {
    if (auto done = cluster.AddNode(Node(i)); !done) Fail(done.error().message());
  }
  for (int i = 0; i < pods; ++i) {
    if (auto done = cluster.AddPod(Pod(i, true)); !done) Fail(done.error().message());
  }
  const schedfw::SystemClock clock;
  schedfw::LoopOptions options;
  options.clock = &clock;
  schedfw::SchedulingLoop loop(**scheduler, cluster, options);
  schedfw::Inbox<int> ready;
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&ready, p, pods] {
      for (int i = p; i < pods; i += kProducers) ready.Post(i);
    });
  }
  std::vector<int> messages;
  for (int updated = 0; updated < pods;) {
    // Takes what has come between any two attempts, so that it is late for none.
    if (ready.Drain(messages)) {
      for (const int i : messages) {
        if (auto done = loop.UpdatePod(Pod(i, false)); !done) Fail(done.error().message());
        ++updated;
      }
    }
    if (!loop.Step() && updated < pods) ready.Wait(std::chrono::milliseconds(10));
  }
  while (loop.Step()) {
  }
  for (std::thread& producer : producers) producer.join();
  Counts out;
  out.queue = loop.queue().stats();
  out.inbox = ready.stats();
  out.bound = static_cast<std::size_t>(pods) - cluster.view().Pending().size();
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const int pods = argc > 1 ? std::atoi(argv[1]) : 5000;
  if (pods < 1 || pods > 15'000) Fail("usage: late_pods [PODS] (allowed: 1 to 15000)");
  std::printf("%d pods that become ready over 60 s, %d nodes, an attempt takes 1 ms\n", pods,
              kNodes);
  std::printf("%-12s %10s %10s %10s %8s %8s\n", "readiness", "attempts", "retries", "moves",
              "bound", "after s");
  const std::vector<std::pair<const char*, std::string>> modes = {
      {"pre_enqueue", kProfile}, {"filter", std::string(kProfile) + kFilter}};
  for (const auto& [name, config] : modes) {
    const Counts c = RunInVirtualTime(config, pods);
    std::printf("%-12s %10lld %10lld %10lld %8zu %8.1f\n", name,
                static_cast<long long>(c.queue.attempts), static_cast<long long>(c.queue.retries),
                static_cast<long long>(c.queue.moves), c.bound, c.seconds);
  }
  std::printf("\nthe same, posted at once by %d threads (real time)\n", kProducers);
  std::printf("%-12s %10s %10s %10s %10s\n", "readiness", "attempts", "locks", "lock waits",
              "waited µs");
  for (const auto& [name, config] : modes) {
    const Counts c = RunWithThreads(config, pods);
    std::printf("%-12s %10lld %10llu %10llu %10llu\n", name,
                static_cast<long long>(c.queue.attempts),
                static_cast<unsigned long long>(c.inbox.acquisitions),
                static_cast<unsigned long long>(c.inbox.contended),
                static_cast<unsigned long long>(c.inbox.waited_ns / 1000));
  }
  return 0;
}
