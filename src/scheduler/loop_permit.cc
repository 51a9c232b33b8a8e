// Waiting at Permit: what plugins allow and reject, and what is done when nothing else can go on.

#include <algorithm>
#include <string>
#include <utility>

#include "schedfw/framework/framework.h"
#include "schedfw/scheduler/loop.h"

namespace schedfw {

// What plugins have kept is of the cluster as it was before.
void SchedulingLoop::BecomeHost() {
  verdicts_.clear();
  activated_.clear();
  timed_out_at_.clear();
  waited_at_ = round_at_ = 0;
  scheduler_.host_slot().host = this;
  scheduler_.host_slot().state = CycleState();
}

void SchedulingLoop::ForEachWaitingPod(const WaitingPodFn& fn) const {
  std::vector<const Binding*> waiting;
  for (const auto& [key, binding] : waiting_) waiting.push_back(&binding);
  std::sort(waiting.begin(), waiting.end(),
            [](const Binding* a, const Binding* b) { return a->order < b->order; });
  for (const Binding* binding : waiting) fn(*binding->assumed, binding->node);
}

bool SchedulingLoop::AllowWaitingPod(std::uint64_t pod, std::string_view plugin) {
  const auto found = waiting_.find(pod);
  if (found == waiting_.end() || verdicts_.contains(found->second.order)) return false;
  auto& waits = found->second.waits;
  if (waits.erase(std::string(plugin)) == 0) return false;
  if (waits.empty()) verdicts_[found->second.order] = {pod, Status()};
  return true;
}

bool SchedulingLoop::RejectWaitingPod(std::uint64_t pod, std::string_view plugin,
                                      const std::string& message) {
  const auto found = waiting_.find(pod);
  if (found == waiting_.end()) return false;
  return verdicts_
      .try_emplace(found->second.order,
                   Verdict{pod, Status::Unschedulable(message).WithPlugin(plugin)})
      .second;
}

void SchedulingLoop::Activate(std::span<const std::uint64_t> pods) {
  activated_.insert(activated_.end(), pods.begin(), pods.end());
}

void SchedulingLoop::Settle() {
  while (!activated_.empty() || !verdicts_.empty()) {
    if (!activated_.empty()) {
      const std::vector<std::uint64_t> pods = std::exchange(activated_, {});
      queue_.Activate(pods);
      continue;
    }
    const Verdict verdict = std::move(verdicts_.begin()->second);
    verdicts_.erase(verdicts_.begin());
    if (!verdict.status.ok()) {
      RejectWaiting(verdict.pod, verdict.status);
      continue;
    }
    const auto found = waiting_.find(verdict.pod);
    Binding binding = std::move(found->second);
    waiting_.erase(found);
    FinishPermit(std::move(binding), nullptr);
  }
}

// Nothing can be tried. True: sets of pods waited for each other, and some have given way.
bool SchedulingLoop::ResolveDeadlock() {
  if (waiting_.empty() || !binding_.empty() || !unsubmitted_.empty()) return false;
  bool any = false;
  for (const std::string& name : scheduler_.profile_names()) {
    for (auto* plugin : scheduler_.framework(name)->profile().Instances<WaitingSetsPlugin>(
             ExtensionPoint::kPermit)) {
      any = plugin->ResolveDeadlock(version_) || any;
      Settle();
    }
  }
  if (any) attempts_at_change_ = attempts_;
  return any;
}

// Those that wait had their time; once for each set of them what comes next has all attempts.
void SchedulingLoop::TimedOut(const PodInfo& pod) {
  const std::uint64_t group = LabelGroups::Of(pod);
  std::uint64_t& at = timed_out_at_[group != 0 ? group : pod.Key()];
  if (at == version_) return;
  at = version_;
  attempts_at_change_ = attempts_;
}

void SchedulingLoop::TakeBackWaiting() {
  while (!waiting_.empty()) {
    const auto first = std::min_element(
        waiting_.begin(), waiting_.end(),
        [](const auto& a, const auto& b) { return a.second.order < b.second.order; });
    RejectWaiting(first->first,
                  Status::Error("it waited at Permit when nothing more could change"));
    Settle();
  }
}

// Attempts take no virtual time, so a set that fails at Permit and is tried again at once keeps
// from their turn those that wait out their backoff. Where it goes on like that, it gives back what
// it holds, and time passes: all that waits is tried once more, in order. Once a version.
bool SchedulingLoop::StartAnotherRound() {
  if (waited_at_ != version_ && waiting_.empty()) return false;
  if (round_at_ == version_) return false;
  round_at_ = version_;
  TakeBackWaiting();
  std::chrono::nanoseconds end = own_clock_.Now();
  queue_.ForEach([&](const QueuedEntity& entity) {
    if (entity.backoff_expiration) end = std::max(end, *entity.backoff_expiration);
  });
  own_clock_.Set(end + std::chrono::seconds(1));
  std::vector<std::uint64_t> pods;
  queue_.ForEach([&](const QueuedEntity& entity) {
    if (entity.gating_plugin >= 0) return;
    for (const QueuedPod& pod : entity.pods()) pods.push_back(pod.pod->Key());
  });
  queue_.Activate(pods);
  attempts_at_change_ = attempts_;
  return true;
}

}  // namespace schedfw
