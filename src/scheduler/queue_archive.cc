#include "scheduler/queue_archive.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "io/bytes.h"
#include "schedfw/cluster/snapshot.h"

namespace schedfw {

namespace {

using std::chrono::nanoseconds;
using Where = QueuedEntity::Where;

constexpr std::uint64_t kFormat = 1;
// Bits from here on have no plugin of their own (queue.cc, kOtherPlugin).
constexpr int kOtherPlugin = 63;

// What an entity has besides its numbers.
constexpr std::uint64_t kIsGroup = 1, kHasBackoff = 2, kHasFlushed = 4, kIsGated = 8,
                        kWasActive = 16;

}  // namespace

PodPtr WithNomination(const PodPtr& pod, std::string_view node) {
  if (pod->pod->status.nominated_node_name == node) return pod;
  api::Pod object = *pod->pod;
  object.status.nominated_node_name = node;
  auto out = std::make_shared<PodInfo>(*pod);
  out->pod = std::make_shared<const api::Pod>(std::move(object));
  return out;
}

class QueueArchive::Writer {
 public:
  explicit Writer(const Pods& pods) : pods_(pods) {}

  bool Knows(const QueuedPod& pod) const { return pods_.number.contains(pod.pod->Key()); }

  void Write(const QueuedPod& pod) {
    const std::uint64_t key = pod.pod->Key();
    out_.Number(pods_.number.at(key));
    // The queue may not know yet where the pod is nominated to.
    const std::string& own = pod.pod->pod->status.nominated_node_name;
    const bool same = own == pods_.snapshot->FindPod(key)->pod->status.nominated_node_name;
    out_.Number(same ? 0 : 1);
    if (!same) out_.Shared(own);
    Time(pod.timestamp);
    out_.Signed(pod.attempts);
    out_.Signed(pod.unschedulable_count);
    out_.Signed(pod.consecutive_errors);
    out_.Number(pod.profile);
    out_.Number(Renumbered(pod.unschedulable));
    out_.Number(Renumbered(pod.pending));
  }
  void Write(std::span<const QueuedPod> pods) {
    out_.Number(static_cast<std::uint64_t>(
        std::count_if(pods.begin(), pods.end(), [&](const QueuedPod& pod) { return Knows(pod); })));
    for (const QueuedPod& pod : pods) {
      if (Knows(pod)) Write(pod);
    }
  }
  void Write(const QueuedEntity& entity, Where where, std::span<const QueuedPod> pods) {
    out_.Number(static_cast<std::uint64_t>(where));
    const bool was_active = entity.initial_timestamp != QueuedEntity::kNever;
    out_.Number((was_active ? kWasActive : 0) | (entity.is_group ? kIsGroup : 0) |
                (entity.backoff_expiration ? kHasBackoff : 0) | (entity.flushed ? kHasFlushed : 0) |
                (entity.gating_plugin >= 0 ? kIsGated : 0));
    out_.Signed(entity.priority);
    Time(entity.timestamp);
    if (was_active) Time(entity.initial_timestamp);
    out_.Number(entity.sequence);
    out_.Signed(entity.attempts);
    out_.Signed(entity.unschedulable_count);
    out_.Signed(entity.consecutive_errors);
    if (entity.backoff_expiration) Time(*entity.backoff_expiration);
    if (entity.flushed) Time(*entity.flushed);
    if (entity.gating_plugin >= 0) {
      out_.Number(number_[static_cast<std::size_t>(entity.gating_plugin)]);
      out_.Number(static_cast<std::uint64_t>(entity.gate.code()));
      out_.Shared(std::string(entity.gate.plugin()));
      out_.Number(entity.gate.reasons().size());
      for (const std::string& reason : entity.gate.reasons()) out_.Shared(reason);
    }
    Write(pods);
  }

  // The names of the plugins that are blamed somewhere; they are numbered so from here on.
  void WritePlugins(const SchedulingQueue& queue, PluginBits blamed) {
    std::map<int, std::string> names;
    for (const auto& [name, bit] : queue.bits_) {
      if (bit != kOtherPlugin && (blamed >> bit & 1) != 0) names.emplace(bit, name);
    }
    out_.Number(names.size());
    std::uint64_t next = 0;
    number_[kOtherPlugin] = kOtherPlugin;
    for (const auto& [bit, name] : names) {
      out_.Text(name);
      number_[static_cast<std::size_t>(bit)] = next++;
    }
  }

  io::ByteWriter& out() { return out_; }

 private:
  PluginBits Renumbered(PluginBits plugins) const {
    PluginBits out = 0;
    for (std::size_t bit = 0; bit < number_.size(); ++bit) {
      if ((plugins >> bit & 1) != 0) out |= PluginBits{1} << number_[bit];
    }
    return out;
  }
  void Time(nanoseconds time) { out_.Signed(time.count()); }

  const Pods& pods_;
  std::array<std::uint64_t, 64> number_{};  // of plugins, by bit
  io::ByteWriter out_;
};

std::string QueueArchive::Save(const SchedulingQueue& queue, const Pods& pods,
                               std::span<const Attempt> attempts) {
  Writer writer(pods);
  io::ByteWriter& out = writer.out();
  out.Number(kFormat);
  std::vector<std::pair<const QueuedEntity*, Where>> entities;
  const auto add = [&](const SchedulingQueue::Heap& heap, Where where) {
    for (const auto& entry : heap) {
      const auto known = std::as_const(*entry.entity).pods();
      if (std::any_of(known.begin(), known.end(),
                      [&](const QueuedPod& pod) { return writer.Knows(pod); })) {
        entities.emplace_back(entry.entity, where);
      }
    }
  };
  add(queue.active_, Where::kActive);
  add(queue.backoff_, Where::kBackoff);
  add(queue.error_backoff_, Where::kErrorBackoff);
  add(queue.unschedulable_, Where::kUnschedulable);
  std::vector<QueuedPod> members;
  std::vector<Attempt> alone;
  for (const Attempt& attempt : attempts) {
    if (!writer.Knows(*attempt.pod)) continue;
    if (attempt.entity != nullptr) {
      alone.push_back(attempt);
    } else {
      members.push_back(*attempt.pod);
    }
  }
  const auto in_order = [&](std::uint64_t key) { return pods.number.at(key); };
  for (const auto& [group, arrived] : queue.arrived_) {
    std::copy_if(arrived.begin(), arrived.end(), std::back_inserter(members),
                 [&](const QueuedPod& pod) { return writer.Knows(pod); });
  }
  std::sort(members.begin(), members.end(), [&](const QueuedPod& a, const QueuedPod& b) {
    return in_order(a.pod->Key()) < in_order(b.pod->Key());
  });
  std::sort(alone.begin(), alone.end(), [&](const Attempt& a, const Attempt& b) {
    return in_order(a.pod->pod->Key()) < in_order(b.pod->pod->Key());
  });

  PluginBits blamed = 0;
  const auto collect = [&](std::span<const QueuedPod> some) {
    for (const QueuedPod& pod : some) blamed |= pod.unschedulable | pod.pending;
  };
  for (const auto& [entity, where] : entities) {
    collect(entity->pods());
    if (entity->gating_plugin >= 0) blamed |= PluginBits{1} << entity->gating_plugin;
  }
  for (const Attempt& attempt : alone) {
    collect(std::span(attempt.pod, 1));
    if (attempt.entity->gating_plugin >= 0) {
      blamed |= PluginBits{1} << attempt.entity->gating_plugin;
    }
  }
  for (const auto& [group, waiting] : queue.incomplete_) collect(waiting);
  collect(members);
  writer.WritePlugins(queue, blamed);
  out.Number(queue.last_sequence_);
  out.Number(entities.size() + alone.size());
  for (const auto& [entity, where] : entities) writer.Write(*entity, where, entity->pods());
  for (const Attempt& attempt : alone) {
    writer.Write(*attempt.entity, Where::kNowhere, std::span(attempt.pod, 1));
  }
  std::vector<const std::vector<QueuedPod>*> incomplete;
  for (const auto& [group, waiting] : queue.incomplete_) {
    if (std::any_of(waiting.begin(), waiting.end(),
                    [&](const QueuedPod& pod) { return writer.Knows(pod); })) {
      incomplete.push_back(&waiting);
    }
  }
  // Their keys are others in another process.
  const auto first = [&](const std::vector<QueuedPod>& waiting) {
    return in_order(std::find_if(waiting.begin(), waiting.end(), [&](const QueuedPod& pod) {
                      return writer.Knows(pod);
                    })->pod->Key());
  };
  std::sort(incomplete.begin(), incomplete.end(),
            [&](const auto* a, const auto* b) { return first(*a) < first(*b); });
  out.Number(incomplete.size());
  for (const auto* waiting : incomplete) writer.Write(std::span<const QueuedPod>(*waiting));
  writer.Write(std::span<const QueuedPod>(members));
  return out.Take();
}

class QueueArchive::Reader {
 public:
  Reader(const SchedulingQueue& queue, std::string_view bytes, const std::vector<PodPtr>& pods,
         std::size_t first_waiting, nanoseconds shift)
      : queue_(queue),
        in_(bytes),
        pods_(pods),
        first_waiting_(first_waiting),
        shift_(shift),
        seen_(pods.size()) {}

  Result<Content> Read() {
    if (in_.Number() != kFormat) return ParseError("the queue has another format");
    Content out;
    for (std::size_t left = in_.Number(kOtherPlugin); left > 0; --left) {
      out.plugins.emplace_back(in_.Text());
    }
    bits_ = (PluginBits{1} << out.plugins.size()) - 1;
    out.last_sequence = in_.Number();
    for (std::size_t left = in_.Count(); left > 0; --left) {
      auto& [entity, where] = out.entities.emplace_back();
      entity = std::make_unique<QueuedEntity>();
      where = static_cast<Where>(in_.Number(static_cast<std::uint64_t>(Where::kUnschedulable)));
      ReadEntity(*entity);
      if (entity->sequence > out.last_sequence) in_.Fail();
      if (where == Where::kNowhere && entity->is_group) in_.Fail();
      if (!in_.ok()) break;
    }
    std::set<std::uint64_t> incomplete;
    for (std::size_t left = in_.Count(); left > 0; --left) {
      std::vector<QueuedPod>& members = out.incomplete.emplace_back();
      ReadMembers(members);
      if (!in_.ok()) break;
      if (!incomplete.insert(members.front().pod->GroupKey()).second) in_.Fail();
    }
    std::vector<QueuedPod> members;
    for (std::size_t left = in_.Count(); left > 0; --left) {
      members.push_back(ReadPod());
      if (!IsMember(members.back())) in_.Fail();
      if (!in_.ok()) break;
    }
    out.members = std::move(members);
    if (!in_.AtEnd()) return ParseError("the queue doesn't fit the cluster");
    return out;
  }

 private:
  nanoseconds Shifted(std::int64_t time) {
    std::int64_t out = 0;
    // There is room to add durations to it.
    constexpr std::int64_t kMost = std::int64_t{1} << 62;
    if (__builtin_add_overflow(time, shift_.count(), &out) || out > kMost || out < -kMost) {
      in_.Fail();
      return nanoseconds(0);
    }
    return nanoseconds(out);
  }
  nanoseconds Time() { return Shifted(in_.Signed()); }
  std::int32_t Count() {
    const std::int32_t out = in_.Int32();
    if (out < 0) in_.Fail();
    return std::max(out, 0);
  }
  PluginBits Bits() {
    const PluginBits out = in_.Number();
    if ((out & ~(bits_ | PluginBits{1} << kOtherPlugin)) != 0) in_.Fail();
    return out;
  }
  bool IsMember(const QueuedPod& pod) const {
    return in_.ok() && queue_.groups_ != nullptr && pod.pod->scheduling_group != 0;
  }

  QueuedPod ReadPod() {
    QueuedPod out;
    const std::uint64_t number = in_.Number();
    if (!in_.ok() || number < first_waiting_ || number >= pods_.size() || seen_[number]) {
      in_.Fail();
      return out;
    }
    seen_[number] = true;
    out.pod = pods_[number];
    if (in_.Number(1) != 0) out.pod = WithNomination(out.pod, in_.Shared());
    out.timestamp = Time();
    out.attempts = Count();
    out.unschedulable_count = Count();
    out.consecutive_errors = Count();
    out.profile = static_cast<std::uint32_t>(in_.Number(queue_.profiles_.size() - 1));
    out.unschedulable = Bits();
    out.pending = Bits();
    return out;
  }
  // Of one group.
  void ReadMembers(std::vector<QueuedPod>& out) {
    const std::size_t count = in_.Count();
    if (count == 0) in_.Fail();
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(ReadPod());
      if (!IsMember(out.back())) in_.Fail();
      if (!in_.ok()) return;
      if (out.back().pod->GroupKey() != out.front().pod->GroupKey()) in_.Fail();
    }
  }
  void ReadEntity(QueuedEntity& out) {
    const std::uint64_t has =
        in_.Number(kIsGroup | kHasBackoff | kHasFlushed | kIsGated | kWasActive);
    out.is_group = (has & kIsGroup) != 0;
    out.priority = in_.Int32();
    out.timestamp = Time();
    if ((has & kWasActive) != 0) out.initial_timestamp = Time();
    out.sequence = in_.Number();
    out.attempts = Count();
    out.unschedulable_count = Count();
    out.consecutive_errors = Count();
    if ((has & kHasBackoff) != 0) out.backoff_expiration = Time();
    if ((has & kHasFlushed) != 0) out.flushed = Time();
    if ((has & kIsGated) != 0) {
      const std::uint64_t plugin = in_.Number(kOtherPlugin);
      if (((bits_ | PluginBits{1} << kOtherPlugin) >> plugin & 1) == 0) in_.Fail();
      out.gating_plugin = static_cast<int>(plugin);
      const auto code = static_cast<Code>(in_.Number(static_cast<std::uint64_t>(Code::kPending)));
      const std::string gate_plugin(in_.Shared());
      std::vector<std::string> reasons;
      for (std::size_t left = in_.Count(); left > 0; --left) reasons.emplace_back(in_.Shared());
      out.gate = Status(code, std::move(reasons)).WithPlugin(gate_plugin);
    }
    if (out.is_group) {
      ReadMembers(out.members);
      if (!in_.ok()) return;
      out.key = out.members.front().pod->GroupKey();
      if (!groups_.insert(out.key).second) in_.Fail();
      return;
    }
    if (in_.Count() != 1) in_.Fail();
    out.one = ReadPod();
    if (in_.ok()) out.key = out.one.pod->Key();
  }

  const SchedulingQueue& queue_;
  io::ByteReader in_;
  const std::vector<PodPtr>& pods_;
  const std::size_t first_waiting_;
  const nanoseconds shift_;
  std::vector<bool> seen_;
  std::set<std::uint64_t> groups_;  // that are entities
  PluginBits bits_ = 0;
};

Result<QueueArchive::Content> QueueArchive::Read(const SchedulingQueue& queue,
                                                 std::string_view bytes,
                                                 const std::vector<PodPtr>& pods,
                                                 std::size_t first_waiting, nanoseconds shift) {
  return Reader(queue, bytes, pods, first_waiting, shift).Read();
}

void QueueArchive::Fill(SchedulingQueue& queue, Content content) {
  for (auto* heap :
       {&queue.active_, &queue.backoff_, &queue.error_backoff_, &queue.unschedulable_}) {
    for (const auto& entry : *heap) delete entry.entity;
    heap->clear();
  }
  queue.places_.clear();
  queue.free_slots_.clear();
  queue.pods_.Clear();
  queue.entities_of_groups_.clear();
  queue.incomplete_.clear();
  queue.arrived_.clear();
  queue.rejectors_.assign(queue.rejectors_.size(), 0);
  queue.kinds_.clear();
  queue.without_kind_ = 0;
  queue.events_.clear();
  queue.in_flight_.Clear();
  queue.in_flight_from_.clear();
  queue.last_sequence_ = content.last_sequence;

  std::vector<int> bits;
  for (const std::string& name : content.plugins) bits.push_back(queue.BitOf(name));
  const auto bit_of = [&](int saved) {
    return saved == kOtherPlugin ? kOtherPlugin : bits[static_cast<std::size_t>(saved)];
  };
  const auto translate = [&](std::span<QueuedPod> pods) {
    for (QueuedPod& pod : pods) {
      for (PluginBits* all : {&pod.unschedulable, &pod.pending}) {
        PluginBits out = 0;
        for (int bit = 0; bit <= kOtherPlugin; ++bit) {
          if ((*all >> bit & 1) != 0) out |= PluginBits{1} << bit_of(bit);
        }
        *all = out;
      }
    }
  };
  for (auto& [entity, where] : content.entities) {
    translate(entity->pods());
    if (entity->gating_plugin >= 0) entity->gating_plugin = bit_of(entity->gating_plugin);
    if (where != Where::kNowhere) queue.Insert(std::move(entity), where);
  }
  for (std::vector<QueuedPod>& pods : content.incomplete) {
    translate(pods);
    const std::uint64_t key = pods.front().pod->GroupKey();
    queue.incomplete_.emplace(key, std::move(pods));
  }
  for (auto& [entity, where] : content.entities) {
    if (where == Where::kNowhere) queue.MoveToActive(std::move(entity), /*from_backoff=*/false);
  }
  translate(content.members);
  for (QueuedPod& pod : content.members) queue.AddMember(std::move(pod));
}

}  // namespace schedfw
