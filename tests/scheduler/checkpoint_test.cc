// Checkpoints of a running scheduler: it goes on from them as if nothing had happened, and whatever
// happens while they are written, there is one.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/base/digest.h"
#include "schedfw/base/random.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/checkpoint_file.h"
#include "schedfw/scheduler/loop.h"
#include "support/cluster.h"
#include "support/dump.h"
#include "support/files.h"
#include "support/random_cluster.h"

namespace schedfw {
namespace {

using std::chrono::seconds;
using testing::CanonicalDump;

// --- cases

std::string GpuNode(const std::string& name, std::int64_t gpus, const std::string& labels) {
  return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {" + labels +
         "}\nstatus:\n  allocatable: {cpu: \"32\", memory: 256Gi, pods: \"110\", "
         "nvidia.com/gpu: \"" +
         std::to_string(gpus) +
         "\"}\n  images: [{names: [img], sizeBytes: " + std::to_string(gpus * 1000000) + "}]\n";
}

std::string GpuPod(const std::string& name, std::int64_t gpus, std::int64_t priority,
                   const std::string& more = "") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         ", namespace: ml, labels: {app: " + name.substr(0, name.find_first_of("0123456789")) +
         "}}\nspec:\n  priority: " + std::to_string(priority) +
         "\n  containers: [{name: c, image: img, resources: {requests: {cpu: \"1\", memory: 1Gi, "
         "nvidia.com/gpu: \"" +
         std::to_string(gpus) + "\"}, limits: {nvidia.com/gpu: \"" + std::to_string(gpus) +
         "\"}}}]\n" + more;
}

std::string Group(const std::string& name, std::int64_t min_count, std::int64_t priority) {
  return "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: " + name +
         ", namespace: ml}\nspec:\n  priority: " + std::to_string(priority) +
         "\n  schedulingPolicy: " +
         (min_count > 0 ? "{gang: {minCount: " + std::to_string(min_count) + "}}" : "{basic: {}}") +
         "\n";
}

// Random clusters as those of the recorded loop-* cases: accelerators that are short, groups,
// gates, pods that others may evict; and what may happen meanwhile.
class RandomLoop {
 public:
  explicit RandomLoop(std::uint64_t seed) : random_(seed) {}

  std::string Cluster() {
    std::string out;
    const int nodes = Int(2, 5);
    int old = 0;
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      std::int64_t room = Pick({4, 8});
      out += GpuNode(name, room, Labels(name));
      while (room >= 2 && Chance(70)) {
        const std::int64_t gpus = std::min<std::int64_t>(Pick({1, 2, 2, 4}), room);
        room -= gpus;
        out +=
            GpuPod("old" + std::to_string(old), gpus, Pick({0, 1, 5}),
                   "  nodeName: " + name + "\nstatus: {phase: Running, startTime: \"2026-01-01T" +
                       "00:" + std::to_string(10 + old) + ":00Z\"}\n");
        ++old;
      }
    }
    for (int i = Int(1, 3); i > 0; --i) out += Gang(Chance(85));
    for (int i = Int(2, 6); i > 0; --i) out += Solo();
    return out;
  }

  // What happens between two steps; nothing as a rule.
  std::function<void(SchedulingLoop&)> Event() {
    std::string text;
    switch (random_.Below(12)) {
      case 0:
        text = Solo();
        break;
      case 1:
        text = Gang(true);
        break;
      case 2:
        text = GpuNode("late" + std::to_string(next_), Pick({4, 8}),
                       Labels("late" + std::to_string(next_)));
        ++next_;
        break;
      case 3: {  // it moves to another zone, and another size of the image is the first
        const std::string name = "n" + std::to_string(Int(0, 4));
        text = GpuNode(name, Pick({4, 8}), Labels(name));
        break;
      }
      case 4: {
        const std::string name = "n" + std::to_string(Int(0, 4));
        return [name](SchedulingLoop& loop) { (void)loop.DeleteNode(name); };
      }
      case 5: {
        const std::string name =
            Chance(50) ? "solo" + std::to_string(Int(0, 9)) : "old" + std::to_string(Int(0, 9));
        return [name](SchedulingLoop& loop) { (void)loop.DeletePod("ml", name); };
      }
      case 6: {  // its gates go, or its request changes
        text = GpuPod("solo" + std::to_string(Int(0, 9)), Pick({1, 2}), 10);
        break;
      }
      default:
        return {};
    }
    return [text](SchedulingLoop& loop) { Apply(text, loop); };
  }

  static void Apply(const std::string& text, SchedulingLoop& loop) {
    auto objects = api::ParseObjects(text);
    ASSERT_TRUE(objects.ok()) << objects.error().message();
    ASSERT_TRUE(api::Normalize(*objects).ok());
    const Snapshot& view = loop.cluster().view();
    for (const auto& group : objects->pod_groups) (void)loop.Upsert(group);
    for (const auto& node : objects->nodes) {
      (void)(view.Find(node.metadata.name) ? loop.UpdateNode(node) : loop.AddNode(node));
    }
    for (const auto& pod : objects->pods) {
      const PodPtr known = view.FindPod("ml", pod.metadata.name);
      if (!known) {
        (void)loop.AddPod(pod);
      } else if (view.IsPending(known->Key()) &&
                 known->pod->spec.scheduler_name == pod.spec.scheduler_name) {  // it can't change
        (void)loop.UpdatePod(pod);
      }
    }
  }

  std::string Solo() {
    std::string more;
    if (Chance(15)) more += "  schedulingGates: [{name: example.com/wait}]\n";
    if (Chance(15)) {
      more +=
          "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: "
          "DoNotSchedule, labelSelector: {matchLabels: {app: solo}}}]\n";
    }
    if (Chance(20)) more += "  schedulerName: other\n";
    return GpuPod("solo" + std::to_string(next_++), Pick({1, 2, 4}), Pick({0, 3, 10, 50}), more);
  }
  std::string Gang(bool with_object) {
    const std::string name = "g" + std::to_string(next_++) + "x";
    const int size = Int(2, 6);
    const std::int64_t priority = Pick({0, 10, 100}), gpus = Pick({1, 2, 4});
    std::string out;
    if (with_object) {
      out += Group(name, Chance(80) ? Pick({size, size, std::max(1, size - 1), size + 1}) : 0,
                   priority);
    }
    for (int i = 0; i < size; ++i) {
      out += GpuPod(name + "p" + std::to_string(i), gpus, priority,
                    "  schedulingGroup: {podGroupName: " + name + "}\n");
    }
    return out;
  }

  bool Chance(int percent) { return random_.Below(100) < static_cast<std::uint64_t>(percent); }
  int Int(int low, int high) {
    return low + static_cast<int>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::int64_t Pick(std::vector<std::int64_t> from) { return from[random_.Below(from.size())]; }

 private:
  std::string Labels(const std::string& name) {
    return "kubernetes.io/hostname: " + name + ", rack: r" + std::to_string(Int(0, 1)) +
           ", topology.kubernetes.io/zone: z" + std::to_string(Int(0, 2));
  }

  Random random_;
  int next_ = 0;
};

// A scheduler, a cluster and a loop, made alike each time.
struct World {
  explicit World(const std::string& objects = "", const SchedulerOptions& options = {},
                 const LoopOptions& loop_options = {}, const std::string& config = "")
      : scheduler(testing::MakeScheduler(config, options)),
        cluster(objects.empty() ? Cluster() : testing::Parse(objects)),
        loop(std::make_unique<SchedulingLoop>(*scheduler, cluster, loop_options)) {}

  std::unique_ptr<Scheduler> scheduler;
  Cluster cluster;
  std::unique_ptr<SchedulingLoop> loop;
};

SchedulerOptions WithGroups() {
  SchedulerOptions out;
  out.handle.generic_workload = true;
  return out;
}

// One step, or the clock moves on. False: all is quiet.
bool StepOn(SchedulingLoop& loop) {
  int rounds = 0;
  const std::chrono::nanoseconds before = loop.clock().Now();
  const std::int64_t attempts = loop.Report().attempts;
  EXPECT_TRUE(loop.RunUntilQuiet([&](std::size_t, std::size_t) { return rounds++ < 1; }).ok());
  return loop.clock().Now() != before || loop.Report().attempts != attempts;
}

std::string Text(const RunReport& report) {
  std::string out =
      std::to_string(report.attempts) + " " + std::to_string(report.duration.count()) + "\nbound";
  for (const std::string& pod : report.bound) out += " " + pod;
  out += "\ndeleted";
  for (const std::string& pod : report.deleted) out += " " + pod;
  for (const auto& [pod, why] : report.pending) out += "\n" + pod + ": " + why;
  return out;
}

// Where the first difference is; empty: there is none.
std::string Difference(const CheckpointFile& a, const CheckpointFile& b) {
  if (a.sections.size() != b.sections.size()) return "other sections";
  for (std::size_t i = 0; i < a.sections.size(); ++i) {
    const auto& [name, bytes] = a.sections[i];
    if (name != b.sections[i].first) return "section " + name;
    const std::string& others = b.sections[i].second;
    if (bytes == others) continue;
    const auto at = static_cast<std::size_t>(
        std::mismatch(bytes.begin(), bytes.end(), others.begin(), others.end()).first -
        bytes.begin());
    const std::size_t from = at > 100 ? at - 100 : 0;
    return name + " at byte " + std::to_string(at) + ": " + bytes.substr(from, 200) + " / " +
           others.substr(from, 200);
  }
  return {};
}

// Runs a loop to its end, and from each step on another one that was restored there; all end alike.
// `happens`: changes from outside, by step.
int ExpectSameFromEachStep(
    const std::function<std::unique_ptr<World>(bool empty)>& make,
    const std::map<int, std::function<void(SchedulingLoop&)>>& happens = {}) {
  const int last = happens.empty() ? 0 : happens.rbegin()->first;
  const auto change = [&](SchedulingLoop& loop, int step) {
    const auto found = happens.find(step);
    if (found != happens.end()) found->second(loop);
  };
  const auto world = make(false);
  std::vector<CheckpointFile> files;
  std::vector<std::string> dumps;
  int step = 0;
  for (;; ++step) {
    files.push_back(world->loop->Checkpoint());
    dumps.push_back(CanonicalDump(world->cluster.view()));
    change(*world->loop, step);
    if (!StepOn(*world->loop) && step >= last) break;
  }
  const std::string report = Text(world->loop->Report());
  const std::string dump = CanonicalDump(world->cluster.view());
  const CheckpointFile end = world->loop->Checkpoint();
  for (std::size_t k = 0; k < files.size(); ++k) {
    SCOPED_TRACE("restored at step " + std::to_string(k));
    const auto other = make(true);
    const auto done = other->loop->Restore(files[k]);
    EXPECT_TRUE(done.ok()) << done.error().message();
    if (!done) return step;
    EXPECT_EQ(Difference(other->loop->Checkpoint(), files[k]), "");
    EXPECT_EQ(CanonicalDump(other->cluster.view()), dumps[k]);
    for (int i = static_cast<int>(k);; ++i) {
      change(*other->loop, i);
      if (!StepOn(*other->loop) && i >= last) break;
    }
    EXPECT_EQ(Text(other->loop->Report()), report);
    EXPECT_EQ(CanonicalDump(other->cluster.view()), dump);
    EXPECT_EQ(Difference(other->loop->Checkpoint(), end), "");
    if (::testing::Test::HasFailure()) return step;
  }
  return step;
}

TEST(CheckpointTest, RestoredLoopsGoOnAlikeInTheRecordedCases) {
  const auto folders = testing::Folders(testing::TestsDir() / "conformance" / "vectors", "loop-");
  ASSERT_GE(folders.size(), 48u);
  int steps = 0;
  for (const auto& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const std::string objects = testing::ReadFile(folder / "cluster.json");
    steps += ExpectSameFromEachStep(
        [&](bool empty) { return std::make_unique<World>(empty ? "" : objects, WithGroups()); });
    if (HasFailure()) return;
  }
  EXPECT_GE(steps, 300);
}

TEST(CheckpointTest, RestoredLoopsGoOnAlikeInRandomCases) {
  const std::string config =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "percentageOfNodesToScore: 40\nprofiles:\n- schedulerName: default-scheduler\n"
      "- schedulerName: other\n  plugins: {score: {disabled: [{name: \"*\"}]}}\n";
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLoop random(seed);
    const std::string objects = random.Cluster();
    SchedulerOptions options = WithGroups();
    options.tie_break = random.Chance(50) ? TieBreak::kSeeded : TieBreak::kFirst;
    options.nodes_to_score = random.Chance(50) ? NodesToScore::kConfigured : NodesToScore::kAll;
    options.seed = seed;
    options.handle.generic_workload = !random.Chance(15);
    LoopOptions loop_options;
    if (random.Chance(50)) loop_options.status_updates = StatusUpdates::kAtOnce;
    if (random.Chance(30)) {
      loop_options.queue = QueueOptions{seconds(2), seconds(7), seconds(40), random.Chance(50)};
    }
    std::map<int, std::function<void(SchedulingLoop&)>> happens;
    for (int step = 0; step < 25; ++step) {
      if (auto event = random.Event()) happens.emplace(step, std::move(event));
    }
    ExpectSameFromEachStep(
        [&](bool empty) {
          return std::make_unique<World>(empty ? "" : objects, options, loop_options, config);
        },
        happens);
    if (HasFailure()) return;
  }
}

// Clusters with every field that plugins read, after events of all kinds, assumed pods among them.
TEST(CheckpointTest, RandomClustersComeBack) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomCluster random(seed);
    for (int i = 0; i < 150; ++i) random.Step();
    World world("", {}, {}, testing::kRandomProfiles);
    world.loop.reset();
    world.cluster = random.cluster().Fork();
    world.loop = std::make_unique<SchedulingLoop>(*world.scheduler, world.cluster);
    const CheckpointFile file = world.loop->Checkpoint();
    World other("", {}, {}, testing::kRandomProfiles);
    const auto done = other.loop->Restore(file);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(Difference(other.loop->Checkpoint(), file), "");
    // Assumed pods wait there; where they are taken back here, both are alike.
    Cluster taken_back = world.cluster.Fork();
    std::vector<PodPtr> assumed;
    const Snapshot& view = world.cluster.view();
    for (const PodPtr& pod : other.cluster.view().Pending()) {
      const PodPtr here = view.FindPod(pod->pod->metadata.ns, pod->pod->metadata.name);
      if (!view.IsPending(here->Key())) assumed.push_back(here);
    }
    for (const PodPtr& pod : assumed) ASSERT_TRUE(taken_back.ForgetPod(*pod).ok());
    EXPECT_EQ(CanonicalDump(other.cluster.view()), CanonicalDump(taken_back.view()));
    const auto names = [](const Snapshot& snapshot, const std::vector<std::uint32_t>& order) {
      std::vector<std::string> out;
      for (const std::uint32_t at : order) out.push_back(snapshot.name(at));
      return out;
    };
    EXPECT_EQ(names(other.cluster.view(), other.cluster.view().TreeOrder()),
              names(view, view.TreeOrder()));
    EXPECT_EQ(other.cluster.view().NameRank(), view.NameRank());
    if (HasFailure()) return;
  }
}

// --- pods on their way

// Lets all pods with the label `waits` wait, and says who was taken back.
class WaitPlugin : public PermitPlugin, public ReservePlugin {
 public:
  std::string_view Name() const override { return "Wait"; }
  Status Permit(const Cycle& cycle, CycleState&, const NodeInfo&,
                std::chrono::nanoseconds& timeout) override {
    timeout = seconds(60);
    return cycle.pod.pod->metadata.labels.contains("waits") ? Status(Code::kWait, "not yet")
                                                            : Status();
  }
  Status Reserve(const Cycle&, CycleState&, const NodeInfo&) override { return {}; }
  void Unreserve(const Cycle& cycle, CycleState&, const NodeInfo&) noexcept override {
    taken_back.push_back(cycle.pod.FullName());
  }
  std::vector<std::string> taken_back;
};

std::unique_ptr<Scheduler> WaitingScheduler() {
  Registry registry = InTreeRegistry();
  EXPECT_TRUE(registry.Add<WaitPlugin>("Wait", "waits").ok());
  const auto config = ParseConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "- plugins: {multiPoint: {enabled: [{name: Wait}]}}\n",
      registry);
  EXPECT_TRUE(config.ok());
  auto out = Scheduler::Create(*config, registry, WithGroups());
  EXPECT_TRUE(out.ok());
  return *std::move(out);
}

const QueuedPod* FindQueued(const SchedulingQueue& queue, const std::string& name,
                            QueuedEntity* entity = nullptr) {
  const QueuedPod* out = nullptr;
  queue.ForEach([&](const QueuedEntity& its_entity) {
    for (const QueuedPod& pod : its_entity.pods()) {
      if (pod.pod->FullName() != name) continue;
      out = &pod;
      if (entity != nullptr) {
        entity->attempts = its_entity.attempts;
        entity->timestamp = its_entity.timestamp;
        entity->is_group = its_entity.is_group;
      }
    }
  });
  return out;
}

TEST(CheckpointTest, PodsAtPermitWaitToBeScheduled) {
  const auto scheduler = WaitingScheduler();
  Cluster cluster = testing::Parse(
      testing::NodeYaml("n1") + testing::PodYaml("a", "waits: now", "  priority: 5\n") +
      testing::PodYaml("b") + Group("g", 2, 0) +
      testing::PodYaml("g1", "waits: now", "  schedulingGroup: {podGroupName: g}\n"));
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_TRUE(loop.Step());
  EXPECT_TRUE(loop.Step());
  EXPECT_FALSE(loop.cluster().view().IsPending(cluster.view().FindPod("default", "a")->Key()));
  EXPECT_EQ(loop.InFlight(), 1u);
  const CheckpointFile file = loop.Checkpoint();

  const auto other_scheduler = WaitingScheduler();
  Cluster other_cluster;
  SchedulingLoop other(*other_scheduler, other_cluster);
  const auto done = other.Restore(file);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(other.InFlight(), 0u);
  EXPECT_EQ(other.Report().bound, std::vector<std::string>{"default/b"});
  QueuedEntity entity;
  const QueuedPod* pod = FindQueued(other.queue(), "default/a", &entity);
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->attempts, 1);
  EXPECT_EQ(entity.attempts, 1);
  EXPECT_EQ(other.queue().active(), 1u);
  EXPECT_TRUE(other.Step());
  EXPECT_EQ(other.InFlight(), 1u);

  // Where a pod waits at Permit when the checkpoint comes, it is taken back.
  auto* wait = dynamic_cast<WaitPlugin*>(
      other_scheduler->framework("default-scheduler")->profile().Instance("Wait"));
  ASSERT_NE(wait, nullptr);
  wait->taken_back.clear();
  ASSERT_TRUE(other.Restore(file).ok());
  EXPECT_EQ(wait->taken_back, std::vector<std::string>{"default/a"});
  EXPECT_EQ(
      Difference(other.Checkpoint(), SchedulingLoop(*other_scheduler, other_cluster).Checkpoint())
          .substr(0, 5),
      "queue");  // a loop that starts anew knows of no attempts
}

TEST(CheckpointTest, MembersOfGroupsAtPermitJoinTheirGroup) {
  const auto scheduler = WaitingScheduler();
  std::string objects = testing::NodeYaml("n1", "", "1") + Group("g", 2, 0);
  for (const char* name : {"p1", "p2", "p3"}) {
    std::string pod = GpuPod(name, 0, 0, "  schedulingGroup: {podGroupName: g}\n");
    pod.replace(pod.find("app: p"), 6, "waits: p");
    pod.replace(pod.find("cpu: \"1\""), 8, "cpu: 400m");
    objects += pod;
  }
  Cluster cluster = testing::Parse(objects);
  SchedulingLoop loop(*scheduler, cluster);
  EXPECT_TRUE(loop.Step());
  ASSERT_EQ(loop.InFlight(), 2u);
  const CheckpointFile file = loop.Checkpoint();
  Cluster other_cluster;
  SchedulingLoop other(*scheduler, other_cluster);
  ASSERT_TRUE(other.Restore(file).ok());
  int groups = 0;
  other.queue().ForEach([&](const QueuedEntity& entity) {
    ++groups;
    EXPECT_TRUE(entity.is_group);
    EXPECT_EQ(entity.members.size(), 3u);
    for (const QueuedPod& pod : entity.members) EXPECT_EQ(pod.attempts, 1);
  });
  EXPECT_EQ(groups, 1);
}

// --- clocks

// A loop with waiting, gated and nominated pods, groups with and without object.
std::string MixedCluster() {
  RandomLoop random(3);
  return random.Cluster() + random.Gang(true) + random.Gang(false) +
         GpuPod("solo90", 1, 1, "  schedulingGates: [{name: example.com/wait}]\n");
}

TEST(CheckpointTest, OtherClocksKeepWhatIsToCome) {
  VirtualClock clock(seconds(100)), later(seconds(5000));
  LoopOptions options, later_options;
  options.clock = &clock;
  later_options.clock = &later;
  World world(testing::NodeYaml("n1") + testing::PodYaml("big", "", "", "9"), {}, options);
  World other("", {}, later_options);
  while (world.loop->Step()) {
  }
  clock.Advance(seconds(3));
  ASSERT_TRUE(other.loop->Restore(world.loop->Checkpoint()).ok());
  QueuedEntity here, there;
  ASSERT_NE(FindQueued(world.loop->queue(), "default/big", &here), nullptr);
  ASSERT_NE(FindQueued(other.loop->queue(), "default/big", &there), nullptr);
  EXPECT_EQ(here.timestamp, seconds(100));
  EXPECT_EQ(there.timestamp, seconds(4997));
  // The flush of what is unschedulable for too long comes at the same moment for both.
  for (int i = 0; i < 400; ++i) {
    clock.Advance(seconds(1));
    later.Advance(seconds(1));
    EXPECT_EQ(world.loop->Step(), other.loop->Step()) << i;
  }
  EXPECT_EQ(world.loop->Report().attempts, 2);
  EXPECT_EQ(other.loop->Report().attempts, 2);
}

TEST(CheckpointTest, ALoopGoesBackToAnEarlierState) {
  World world(MixedCluster(), WithGroups());
  const CheckpointFile start = world.loop->Checkpoint();
  const std::string dump = CanonicalDump(world.cluster.view());
  ASSERT_TRUE(world.loop->RunUntilQuiet().ok());
  const RunReport first = world.loop->Report();
  ASSERT_GT(first.attempts, 3);
  ASSERT_TRUE(world.loop->Restore(start).ok());
  EXPECT_EQ(CanonicalDump(world.cluster.view()), dump);
  ASSERT_TRUE(world.loop->RunUntilQuiet().ok());
  const RunReport second = world.loop->Report();
  EXPECT_EQ(second.bound, first.bound);
  EXPECT_EQ(second.deleted, first.deleted);
  EXPECT_EQ(second.attempts, first.attempts);
}

// --- files that are refused

class CheckpointLoopTest : public ::testing::Test {
 protected:
  CheckpointLoopTest() {
    std::string pattern = ::testing::TempDir() + "checkpointXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CheckpointLoopTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name = "state") const { return folder_ / name; }

  std::filesystem::path folder_;
};

TEST_F(CheckpointLoopTest, SavesAreCounted) {
  World world(MixedCluster(), WithGroups());
  EXPECT_EQ(world.loop->saves(), 0u);
  ASSERT_TRUE(world.loop->Save(Path()).ok());
  EXPECT_TRUE(world.loop->Step());
  ASSERT_TRUE(world.loop->Save(Path()).ok());
  EXPECT_EQ(world.loop->saves(), 2u);
  const auto file = ReadCheckpoint(Path());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->sequence, 2u);
  World other("", WithGroups());
  ASSERT_TRUE(other.loop->Restore(Path()).ok());
  EXPECT_EQ(other.loop->saves(), 2u);
  EXPECT_EQ(Difference(other.loop->Checkpoint(), world.loop->Checkpoint()), "");
  EXPECT_EQ(world.loop->Checkpoint().sequence, 3u);
  const auto failed = world.loop->Save(Path("no/such/folder"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(world.loop->saves(), 3u);
}

TEST_F(CheckpointLoopTest, RefusedFilesChangeNothing) {
  World world(MixedCluster(), WithGroups());
  for (int i = 0; i < 4; ++i) StepOn(*world.loop);
  ASSERT_TRUE(world.loop->Save(Path()).ok());
  StepOn(*world.loop);
  const CheckpointFile before = world.loop->Checkpoint();
  const std::string whole = testing::ReadFile(Path());
  const auto refused = [&](const std::string& path) {
    const auto done = world.loop->Restore(path);
    EXPECT_FALSE(done.ok()) << path;
    EXPECT_EQ(Difference(world.loop->Checkpoint(), before), "") << path;
    EXPECT_EQ(world.loop->Checkpoint().sequence, before.sequence);
    return done.ok() ? std::string() : done.error().message();
  };
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  };
  EXPECT_EQ(refused(Path("none")).substr(0, Path("none").size()), Path("none"));
  EXPECT_NE(refused(write("foreign", "{\"kind\": \"List\"}")).find("isn't a checkpoint"),
            std::string::npos);
  EXPECT_NE(refused(write("half", whole.substr(0, whole.size() / 2))).find("truncated"),
            std::string::npos);
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  EXPECT_NE(refused(write("flipped", flipped)).find("damaged"), std::string::npos);

  // What reads well is refused when it belongs elsewhere.
  auto file = ReadCheckpoint(Path());
  ASSERT_TRUE(file.ok());
  CheckpointFile without = *file;
  std::erase_if(without.sections, [](const auto& section) { return section.first == "queue"; });
  ASSERT_TRUE(WriteCheckpoint(Path("without"), without).ok());
  EXPECT_EQ(refused(Path("without")), Path("without") + ": has no section \"queue\"");
  CheckpointFile foreign{1, file->config_digest, {{"something", "else"}}};
  ASSERT_TRUE(WriteCheckpoint(Path("other"), foreign).ok());
  refused(Path("other"));
  EXPECT_TRUE(world.loop->Restore(Path()).ok());
}

TEST_F(CheckpointLoopTest, OtherConfigurationsAreRefused) {
  const std::string head =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
  const auto profile = [&](const std::string& more) {
    return head + "profiles:\n- " + more + "\n";
  };
  const std::string args =
      "pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 5, "
      "ignorePreferredTermsOfExistingPods: true}}]";
  const SchedulerOptions groups = WithGroups();
  SchedulerOptions no_groups, seeded = groups, sampled = groups;
  seeded.tie_break = TieBreak::kSeeded;
  sampled.nodes_to_score = NodesToScore::kConfigured;
  LoopOptions at_once, queue;
  at_once.status_updates = StatusUpdates::kAtOnce;
  queue.queue = QueueOptions{seconds(1), seconds(10), seconds(60), true};
  std::vector<std::unique_ptr<World>> worlds;
  const auto add = [&](const std::string& config, const SchedulerOptions& options,
                       const LoopOptions& loop_options = {}) {
    worlds.push_back(std::make_unique<World>("", options, loop_options, config));
  };
  add("", groups);
  add("", no_groups);
  add("", seeded);
  add("", sampled);
  add("", groups, at_once);
  add("", groups, queue);
  add(head + "percentageOfNodesToScore: 50\n", groups);
  add(head + "podMaxBackoffSeconds: 20\n", groups);
  add(profile("schedulerName: other"), groups);
  add(profile("percentageOfNodesToScore: 50"), groups);
  add(profile("plugins: {score: {disabled: [{name: ImageLocality}]}}"), groups);
  add(profile("plugins: {score: {enabled: [{name: NodeAffinity, weight: 7}]}}"), groups);
  add(profile(args), groups);
  add(profile("pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 6}}]"),
      groups);
  std::set<std::uint64_t> digests;
  for (const auto& world : worlds) {
    const CheckpointFile file = world->loop->Checkpoint();
    EXPECT_TRUE(digests.insert(file.config_digest).second) << digests.size();
    if (world == worlds.front()) continue;
    const auto done = worlds.front()->loop->Restore(file);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind(), ErrorKind::kConfig);
    EXPECT_NE(done.error().message().find("another configuration"), std::string::npos);
  }
  // The order of arguments, threads and the seed are none of it.
  SchedulerOptions threads = groups;
  threads.seed = 9;
  threads.executor.threads = 2;
  World same("", threads, {},
             profile("pluginConfig: [{name: InterPodAffinity, args: "
                     "{ignorePreferredTermsOfExistingPods: true, hardPodAffinityWeight: 5}}]"));
  EXPECT_TRUE(digests.contains(same.loop->Checkpoint().config_digest));
}

// Sections that are damaged, as a program with a mistake or a forger would make them: they are
// refused, or make another state, but never more.
TEST(CheckpointTest, DamagedSectionsAreSafe) {
  World world(MixedCluster(), WithGroups());
  for (int i = 0; i < 4; ++i) StepOn(*world.loop);
  const CheckpointFile good = world.loop->Checkpoint();
  World other("", WithGroups());
  ASSERT_TRUE(other.loop->Restore(good).ok());
  const auto time = other.loop->clock().Now();
  for (std::size_t at = 0; at < good.sections.size(); ++at) {
    const auto& [name, bytes] = good.sections[at];
    const bool is_json = name == "objects" || name == "pods";
    SCOPED_TRACE(name);
    for (std::size_t size = 0; size < bytes.size(); size += is_json ? 97 : 1) {
      CheckpointFile file = good;
      file.sections[at].second.resize(size);
      if (is_json && size + 2 >= bytes.size()) continue;  // the last line end is no loss
      const auto done = other.loop->Restore(file);
      ASSERT_FALSE(done.ok()) << size;
      EXPECT_EQ(done.error().kind(), ErrorKind::kParse);
    }
    EXPECT_EQ(Difference(other.loop->Checkpoint(), good), "");
  }
  Random random(11);
  int refused = 0, compared = 0;
  for (int i = 0; i < 4000; ++i) {
    CheckpointFile file = good;
    auto& bytes = file.sections[random.Below(file.sections.size())].second;
    for (std::uint64_t flips = 1 + random.Below(2); flips > 0; --flips) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    if (other.loop->Restore(file)) {
      (void)other.loop->Step();
      ASSERT_TRUE(other.loop->Restore(good).ok());
    } else {
      ++refused;
    }
    // A damaged time may have moved the clock on, which never goes back: all times move with it.
    if (i % 64 == 0 && other.loop->clock().Now() == time) {
      EXPECT_EQ(Difference(other.loop->Checkpoint(), good), "");
      ++compared;
    }
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(compared, 0);
}

// --- a process that dies

std::uint64_t DigestOf(const Snapshot& snapshot) {
  Digest out;
  out.Add(CanonicalDump(snapshot));
  return out.value();
}

constexpr std::size_t kMostSaves = 1 << 16;
// Written by the process that dies, read by the one that looks.
struct Shared {
  std::atomic<std::uint64_t> saved;                // the last one that was in place
  std::atomic<std::uint64_t> digests[kMostSaves];  // by sequence, before it is written
};

std::string LargeCluster() {
  RandomLoop random(5);
  std::string out;
  for (int i = 0; i < 30; ++i) {
    out += GpuNode("n" + std::to_string(i), 8, "rack: r" + std::to_string(i % 3));
  }
  for (int i = 0; i < 60; ++i) {
    out += GpuPod("old" + std::to_string(i), 3, i % 3,
                  "  nodeName: n" + std::to_string(i / 2) +
                      "\nstatus: {phase: Running, startTime: \"2026-01-01T00:00:" +
                      std::to_string(10 + i % 50) + "Z\"}\n");
  }
  for (int i = 0; i < 15; ++i) out += random.Gang(true);
  for (int i = 0; i < 150; ++i) out += random.Solo();
  return out;
}

// Runs on from the checkpoint, if there is one, until it is killed.
[[noreturn]] void RunAndSave(const std::string& objects, const std::string& path, Shared& shared) {
  const bool restores = std::filesystem::exists(path);
  World world(restores ? "" : objects, WithGroups());
  SchedulingLoop& loop = *world.loop;
  if (restores && !loop.Restore(path)) _exit(2);
  while (loop.saves() + 1 < kMostSaves) {
    // What happens follows from the state, so that a run that is repeated is the same.
    RandomLoop random(loop.saves());
    for (int i = 0; i < 3; ++i) {
      if (StepOn(loop)) continue;
      const std::vector<std::string> bound = loop.Report().bound;
      for (int n = 0; n < 10 && !bound.empty(); ++n) {
        const std::string& name =
            bound[static_cast<std::size_t>(random.Int(0, static_cast<int>(bound.size()) - 1))];
        (void)loop.DeletePod("ml", name.substr(3));
      }
      std::string more = random.Gang(true);
      for (int n = 0; n < 6; ++n) more += random.Solo();
      RandomLoop::Apply(more, loop);
    }
    const std::uint64_t next = loop.saves() + 1;
    shared.digests[next] = DigestOf(world.cluster.view());
    if (!loop.Save(path)) _exit(3);
    shared.saved = next;
  }
  _exit(4);
}

// No node has more than it offers, and each pod that waits is in the queue once.
void ExpectConsistent(const SchedulingLoop& loop) {
  const Snapshot& view = loop.cluster().view();
  for (Row row = 0; row < view.size(); ++row) {
    for (ResourceId id = 0; id < view.dictionary().ResourceCount(); ++id) {
      ASSERT_LE(view.Requested(id)[row], view.Allocatable(id)[row]) << view.name(row);
    }
    ASSERT_EQ(static_cast<std::size_t>(view.PodCount()[row]), view.pods(row).size());
  }
  std::map<std::uint64_t, int> queued;
  loop.queue().ForEach([&](const QueuedEntity& entity) {
    for (const QueuedPod& pod : entity.pods()) ++queued[pod.pod->Key()];
  });
  for (const auto& [group, pods] : loop.queue().incomplete()) {
    for (const QueuedPod& pod : pods) ++queued[pod.pod->Key()];
  }
  std::size_t waiting = 0;
  for (const PodPtr& pod : view.Pending()) {
    if (pod->pod->spec.scheduler_name != "default-scheduler") continue;
    ++waiting;
    ASSERT_EQ(queued[pod->Key()], 1) << pod->FullName();
  }
  ASSERT_EQ(queued.size(), waiting);
  std::size_t bound = 0;
  for (Row row = 0; row < view.size(); ++row) bound += view.pods(row).size();
  ASSERT_EQ(bound + view.Pending().size(), view.PodTotal());
}

TEST_F(CheckpointLoopTest, KilledAtAnyMomentThereIsACommittedState) {
  constexpr int kKills = 200;
  const std::string objects = LargeCluster(), path = Path();
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& shared = *new (memory) Shared();
  Random random(21);
  World world("", WithGroups());
  std::uint64_t last = 0;
  int in_between = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    SCOPED_TRACE("kill " + std::to_string(kill_number));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) RunAndSave(objects, path, shared);
    // Some moment after so many more checkpoints; the first kills also come before there is one.
    const std::uint64_t until = shared.saved + random.Below(kill_number < 10 ? 2 : 4);
    int status = 0;
    bool alive = true;
    while (shared.saved < until && alive) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      alive = waitpid(child, &status, WNOHANG) == 0;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(6000)));
    if (alive) {
      kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "it ended by itself: " << WEXITSTATUS(status);

    const std::uint64_t saved = shared.saved;
    if (!std::filesystem::exists(path)) {
      ASSERT_EQ(saved, 0u);
      continue;
    }
    const auto file = ReadCheckpoint(path);
    ASSERT_TRUE(file.ok()) << file.error().message();
    ASSERT_GE(file->sequence, saved);
    // The one before may have been killed when its file was there and not yet counted.
    ASSERT_LE(file->sequence, std::max(saved, last) + 1);
    ASSERT_GE(file->sequence, last);
    last = file->sequence;
    in_between += file->sequence == saved ? 0 : 1;
    const auto done = world.loop->Restore(*file);
    ASSERT_TRUE(done.ok()) << done.error().message();
    ASSERT_EQ(DigestOf(world.cluster.view()), shared.digests[last].load());
    ExpectConsistent(*world.loop);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(last, 200u);
  RecordProperty("checkpoints", static_cast<int>(last));
  RecordProperty("in_between", in_between);
  // What the dead left behind goes with the next checkpoint.
  ASSERT_TRUE(world.loop->Save(path).ok());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    files += entry.path().empty() ? 0 : 1;
  }
  EXPECT_EQ(files, 1);
  munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace schedfw
