#include <string>
#include <utility>
#include <vector>

#include "schedfw/scheduler/loop.h"

namespace schedfw {

namespace {

// As the queue knows the pod: a nomination may be news to it (StatusUpdates).
PodPtr WithNomination(const PodPtr& pod, const std::string& node) {
  if (pod->pod->status.nominated_node_name == node) return pod;
  api::Pod object = *pod->pod;
  object.status.nominated_node_name = node;
  auto out = std::make_shared<PodInfo>(*pod);
  out->pod = std::make_shared<const api::Pod>(std::move(object));
  return out;
}

}  // namespace

Result<void> SchedulingLoop::SetStage(std::string_view ns, std::string_view name,
                                      std::string_view stage) {
  if (!stages_.on()) {
    return ArgumentError(
        "the plugin that sorts the queue knows no stages (allowed: one that does, like "
        "PriorityDrift)");
  }
  const PodPtr before = view().FindPod(ns, name);
  if (!before) {
    return ArgumentError("there is no Pod " + std::string(ns) + "/" + std::string(name));
  }
  const std::int32_t priority = stages_.PriorityAt(view(), *before, stage);
  if (auto done =
          cluster_.SetPodPriority(ns, name, priority, stages_.annotation(), std::string(stage));
      !done) {
    return done;
  }
  const PodPtr now = view().FindPod(before->Key());
  Changed();
  if (const auto waiting = waiting_.find(now->Key()); waiting != waiting_.end()) {
    waiting->second.assumed = now;
  }
  if (view().IsPending(now->Key())) {
    std::vector<QueueEvent> events;
    AddRise(before, now, events);
    const PodPtr known = queue_.Find(now->Key());
    queue_.Update(known ? WithNomination(now, known->pod->status.nominated_node_name) : now,
                  events);
  }
  MoveAfterFall(before, now);
  bus_.Publish(StageChanged{now, stage, before->priority(), now->priority()});
  return {};
}

// A pod that has risen may evict others now, whoever rejected it.
void SchedulingLoop::AddRise(const PodPtr& before, const PodPtr& now,
                             std::vector<QueueEvent>& events) const {
  if (!stages_.on() || now->priority() <= before->priority()) return;
  QueueEvent event;
  event.only_pod = now->Key();
  event.old_pod = before;
  event.new_pod = now;
  events.push_back(std::move(event));
}

// For pods that are now above it, a pod that has fallen is as good as gone from its node: they can
// evict it, or take the room that it is nominated to.
void SchedulingLoop::MoveAfterFall(const PodPtr& before, const PodPtr& now) {
  if (!stages_.on() || now->priority() >= before->priority()) return;
  if (view().IsPending(now->Key()) && now->pod->status.nominated_node_name.empty()) return;
  QueueEvent event;
  event.event = {EventResource::kAssignedPod, kDelete};
  event.old_pod = now;
  EventFilter filter;
  filter.min_priority = now->priority() + 1;
  filter.max_priority = before->priority();
  queue_.MoveAll(event, filter);
}

}  // namespace schedfw
