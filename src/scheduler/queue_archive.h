// QueueArchive: what waits in a scheduling queue as bytes, and back.
#ifndef SCHEDFW_SRC_SCHEDULER_QUEUE_ARCHIVE_H_
#define SCHEDFW_SRC_SCHEDULER_QUEUE_ARCHIVE_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/scheduler/queue.h"

namespace schedfw {

/// Keeps all that a queue's behaviour follows from, except what belongs to attempts that haven't
/// ended: their pods are queued again, with the attempts that they had.
class QueueArchive {
 public:
  // A pod whose attempt hasn't ended.
  struct Attempt {
    const QueuedPod* pod;
    const QueuedEntity* entity;  // its own; null: it came with its group
  };
  // Pods by number, as in the list of the cluster's pods.
  struct Pods {
    std::unordered_map<std::uint64_t, std::size_t> number;  // by key; of those that wait
    const Snapshot* snapshot;
  };
  static std::string Save(const SchedulingQueue& queue, const Pods& pods,
                          std::span<const Attempt> attempts);

  struct Content {
    using Where = QueuedEntity::Where;
    std::vector<std::pair<QueuedEntityPtr, Where>> entities;  // kNowhere: to be queued again
    std::vector<std::vector<QueuedPod>> incomplete;           // by group
    std::vector<QueuedPod> members;                           // to be queued again
    std::vector<std::string> plugins;                         // by the bits of all the above
    std::uint64_t last_sequence = 0;
  };
  /// Changes nothing. `pods`: the cluster's, of which those from `first_waiting` on wait. All times
  /// are moved by `shift`. Errors (ParseError): bytes that Save doesn't make, or that don't fit.
  static Result<Content> Read(const SchedulingQueue& queue, std::string_view bytes,
                              const std::vector<PodPtr>& pods, std::size_t first_waiting,
                              std::chrono::nanoseconds shift);
  /// Replaces all that the queue holds, attempts that haven't ended included. The queue's groups
  /// are those of the new cluster by now.
  static void Fill(SchedulingQueue& queue, Content content);

 private:
  class Writer;
  class Reader;
};

/// The same pod with another status.nominatedNodeName.
PodPtr WithNomination(const PodPtr& pod, std::string_view node);

}  // namespace schedfw

#endif  // SCHEDFW_SRC_SCHEDULER_QUEUE_ARCHIVE_H_
