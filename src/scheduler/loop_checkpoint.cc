// Checkpoints of a scheduling loop: all that its next steps follow from.

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "cluster/cluster_archive.h"
#include "io/bytes.h"
#include "schedfw/base/digest.h"
#include "schedfw/framework/framework.h"
#include "schedfw/scheduler/checkpoint_file.h"
#include "schedfw/scheduler/loop.h"
#include "scheduler/queue_archive.h"

namespace schedfw {

namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kFormat = 2;
constexpr const char* kObjects = "objects";
constexpr const char* kPodPieces = "pods";  // several
constexpr const char* kLayout = "layout";
constexpr const char* kQueue = "queue";
constexpr const char* kLoop = "loop";

std::string Hex(std::uint64_t number) {
  char out[17];
  std::snprintf(out, sizeof(out), "%016llx", static_cast<unsigned long long>(number));
  return out;
}

// Writes what a table has of pods or groups, by name.
template <typename T, typename F>
void WriteByName(const std::unordered_map<std::uint64_t, T>& table, const Dictionary& dictionary,
                 io::ByteWriter& out, F&& write) {
  std::vector<std::pair<std::pair<std::string_view, std::string_view>, const T*>> sorted;
  sorted.reserve(table.size());
  for (const auto& [key, value] : table) {
    sorted.emplace_back(std::pair(dictionary.Text(static_cast<StringId>(key >> 32)),
                                  dictionary.Text(static_cast<StringId>(key))),
                        &value);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  out.Number(sorted.size());
  for (const auto& [name, value] : sorted) {
    out.Shared(std::string(name.first));
    out.Text(name.second);
    write(*value);
  }
}

template <typename T, typename F>
void ReadByName(io::ByteReader& in, Dictionary& dictionary,
                std::unordered_map<std::uint64_t, T>& out, F&& read) {
  for (std::size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const std::string_view ns = in.Shared(), name = in.Text();
    const std::uint64_t key = std::uint64_t{dictionary.Intern(ns)} << 32 | dictionary.Intern(name);
    out.insert_or_assign(key, read());
  }
}

}  // namespace

// What the loop has besides cluster and queue.
struct SchedulingLoop::Saved {
  nanoseconds now{0};
  nanoseconds next_unschedulable_flush{0};
  SchedulerDraws draws;
  std::uint64_t version = 0;
  std::int64_t attempts = 0, attempts_at_change = 0;
  std::size_t bound = 0;
  std::vector<std::string> deleted;
  std::unordered_map<std::uint64_t, std::string> nominations, messages;
  std::unordered_map<std::uint64_t, std::uint64_t> tried_at, group_tried_at, timed_out_at;
  std::uint64_t waited_at = 0, round_at = 0;
};

std::uint64_t SchedulingLoop::ConfigDigest() const {
  Digest out;
  const auto number = [&](auto value) { out.Add(static_cast<std::uint64_t>(value)); };
  number(scheduler_.config_digest());
  number(options_.status_updates);
  const QueueOptions& queue = queue_.options();
  number(queue.initial_backoff.count());
  number(queue.max_backoff.count());
  number(queue.max_unschedulable.count());
  number(queue.pop_from_backoff);
  return out.value();
}

CheckpointFile SchedulingLoop::Checkpoint() const {
  CheckpointFile out;
  out.sequence = saves_ + 1;
  out.config_digest = ConfigDigest();
  ClusterArchive::Saved cluster = ClusterArchive::Save(view());
  out.sections.emplace_back(kObjects, std::move(cluster.objects));
  for (std::string& pods : cluster.pods) out.sections.emplace_back(kPodPieces, std::move(pods));
  out.sections.emplace_back(kLayout, std::move(cluster.layout));

  QueueArchive::Pods pods;
  pods.snapshot = &view();
  pods.number.reserve(cluster.keys.size() - cluster.first_waiting);
  for (std::size_t i = cluster.first_waiting; i < cluster.keys.size(); ++i) {
    pods.number.emplace(cluster.keys[i], i);
  }
  std::vector<QueueArchive::Attempt> attempts;
  for (const auto& [key, binding] : waiting_) {
    attempts.push_back({&binding.pod, binding.entity.get()});
  }
  for (const auto& [job, binding] : binding_) {
    attempts.push_back({&binding->pod, binding->entity.get()});
  }
  for (const Binding& binding : unsubmitted_) {
    attempts.push_back({&binding.pod, binding.entity.get()});
  }
  out.sections.emplace_back(kQueue, QueueArchive::Save(queue_, pods, attempts));

  io::ByteWriter loop;
  loop.Number(kFormat);
  loop.Signed(clock_.Now().count());
  loop.Signed(next_unschedulable_flush_.count());
  const SchedulerDraws draws = scheduler_.draws();
  for (const std::uint64_t word : draws.random) loop.Number(word);
  loop.Number(draws.start_index);
  loop.Number(version_);
  loop.Signed(attempts_);
  loop.Signed(attempts_at_change_);
  loop.Number(bound_);
  loop.Number(deleted_.size());
  for (const std::string& name : deleted_) loop.Text(name);
  const Dictionary& dictionary = view().dictionary();
  const auto text = [&](const std::string& value) { loop.Shared(value); };
  WriteByName(nominations_, dictionary, loop, text);
  WriteByName(messages_, dictionary, loop, text);
  for (const auto* versions : {&tried_at_, &group_tried_at_, &timed_out_at_}) {
    WriteByName(*versions, dictionary, loop, [&](std::uint64_t at) { loop.Number(at); });
  }
  loop.Number(waited_at_);
  loop.Number(round_at_);
  out.sections.emplace_back(kLoop, loop.Take());
  return out;
}

Result<SchedulingLoop::Saved> SchedulingLoop::ReadSaved(std::string_view bytes,
                                                        Dictionary& dictionary) {
  Saved out;
  io::ByteReader in(bytes);
  if (in.Number() != kFormat) return ParseError("the loop has another format");
  out.now = nanoseconds(in.Signed());
  out.next_unschedulable_flush = nanoseconds(in.Signed());
  for (std::uint64_t& word : out.draws.random) word = in.Number();
  out.draws.start_index = in.Number(std::numeric_limits<Row>::max());
  out.version = in.Number();
  out.attempts = in.Signed();
  out.attempts_at_change = in.Signed();
  out.bound = in.Number();
  for (std::size_t left = in.Count(); left > 0 && in.ok(); --left) {
    out.deleted.emplace_back(in.Text());
  }
  const auto text = [&] { return std::string(in.Shared()); };
  ReadByName(in, dictionary, out.nominations, text);
  ReadByName(in, dictionary, out.messages, text);
  for (auto* versions : {&out.tried_at, &out.group_tried_at, &out.timed_out_at}) {
    ReadByName(in, dictionary, *versions, [&] { return in.Number(); });
  }
  out.waited_at = in.Number();
  out.round_at = in.Number();
  const auto& random = out.draws.random;
  constexpr nanoseconds kMost{std::int64_t{1} << 62};  // as in the queue
  const bool in_range = out.now >= -kMost && out.now <= kMost &&
                        out.next_unschedulable_flush >= -kMost &&
                        out.next_unschedulable_flush <= kMost && out.attempts_at_change >= 0 &&
                        out.attempts >= out.attempts_at_change;
  if (!in.AtEnd() || !in_range ||
      std::all_of(random.begin(), random.end(), [](auto w) { return w == 0; })) {
    return ParseError("the loop's state makes no sense");
  }
  return out;
}

Result<void> SchedulingLoop::Restore(const CheckpointFile& file) {
  const std::uint64_t digest = ConfigDigest();
  if (file.config_digest != digest) {
    return ConfigError("was made with another configuration (digest " + Hex(file.config_digest) +
                       ", this one's is " + Hex(digest) + ")");
  }
  for (const char* name : {kObjects, kLayout, kQueue, kLoop}) {
    if (file.Find(name) == nullptr) {
      return ParseError("has no section \"" + std::string(name) + "\"");
    }
  }
  std::vector<std::string_view> pods;
  for (const auto& [name, bytes] : file.sections) {
    if (name == kPodPieces) pods.emplace_back(bytes);
  }
  auto cluster = ClusterArchive::Restore(*file.Find(kObjects), pods, *file.Find(kLayout));
  if (!cluster) return cluster.error();
  // Objects say what stages pods are in, not what their priorities count as.
  for (PodPtr& pod : cluster->pods) pod = stages_.ApplyTo(cluster->cluster, pod);
  auto saved = ReadSaved(*file.Find(kLoop), cluster->cluster.view().dictionary());
  if (!saved) return saved.error();
  // The loop's own clock is set to the time of the checkpoint; one that can't be set, or is ahead
  // already, has all that is to come as far ahead of it as it was then.
  const nanoseconds now =
      &clock_ == &own_clock_ ? std::max(clock_.Now(), saved->now) : clock_.Now();
  std::int64_t shift = 0;
  if (__builtin_sub_overflow(now.count(), saved->now.count(), &shift)) {
    return ParseError("the loop's state makes no sense");
  }
  auto queued = QueueArchive::Read(queue_, *file.Find(kQueue), cluster->pods,
                                   cluster->first_waiting, nanoseconds(shift));
  if (!queued) return queued.error();

  // Nothing fails from here on.
  TakeBackAll();
  state_.Clear();
  own_clock_.Set(now);
  cluster_ = std::move(cluster->cluster);
  nominations_ = std::move(saved->nominations);
  messages_ = std::move(saved->messages);
  tried_at_ = std::move(saved->tried_at);
  group_tried_at_ = std::move(saved->group_tried_at);
  deleted_ = std::move(saved->deleted);
  version_ = saved->version;
  attempts_ = saved->attempts;
  attempts_at_change_ = saved->attempts_at_change;
  bound_ = saved->bound;
  next_unschedulable_flush_ = saved->next_unschedulable_flush + nanoseconds(shift);
  saves_ = file.sequence;
  scheduler_.set_draws(saved->draws);
  CountGroups();
  BecomeHost();
  timed_out_at_ = std::move(saved->timed_out_at);
  waited_at_ = saved->waited_at;
  round_at_ = saved->round_at;
  QueueArchive::Fill(queue_, *std::move(queued));
  return {};
}

Result<void> SchedulingLoop::Save(const std::string& path) const {
  const CheckpointFile file = Checkpoint();
  ++saves_;
  return WriteCheckpoint(path, file);
}

Result<void> SchedulingLoop::Restore(const std::string& path) {
  const auto file = ReadCheckpoint(path);
  if (!file) return file.error();
  const auto done = Restore(*file);
  if (!done) return done.error().In(path);
  return {};
}

}  // namespace schedfw
