// DryRun: what a node would be like without some of its pods, or with others.
#ifndef SCHEDFW_CLUSTER_DRY_RUN_H_
#define SCHEDFW_CLUSTER_DRY_RUN_H_

#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"

namespace schedfw {

/// A private copy of a snapshot on which pods come to nodes and go, for filters to look at.
///
/// It changes what upstream's NodeInfo holds: the columns of the row and its list of pods. Counts
/// by matcher and the terms of inter-pod affinity stay as they are, since filters keep those in
/// their cycle state (PreFilterExtensions); so do the lists of all pods.
class DryRun {
 public:
  explicit DryRun(const Snapshot& snapshot) : cluster_(snapshot) {}

  /// The state with all changes so far; it changes with the next one.
  const Snapshot& view() const { return cluster_.view(); }

  /// Error: the node's amounts would not fit into 64 bits. O(resources of the pod).
  Result<void> AddPod(const PodPtr& pod, Row row) {
    if (auto done = cluster_.CheckRoom(*pod, row); !done) return done;
    const bool waits = cluster_.state_.HasNuma() && cluster_.state_.IsPending(pod->Key());
    if (pod->plan->gpus.IsNone()) {
      cluster_.PutOnRow(pod, row, 0);
      if (waits) cluster_.TakeZones(*pod, row);
      return {};
    }
    const Snapshot::Placement* known = cluster_.state_.placements_.Find(pod->Key());
    const GpuMask had = known == nullptr ? GpuMask{0} : known->gpus;
    const GpuMask gpus = cluster_.PutOnRow(pod, row, had);
    // A pod that comes back has the same ones as a rule, and writing copies.
    if (known != nullptr && gpus != had) {
      cluster_.state_.placements_.FindMutable(pod->Key())->gpus = gpus;
    }
    if (waits) cluster_.TakeZones(*pod, row);
    return {};
  }
  /// The pod is on the node. O(pods of the node).
  void RemovePod(const PodInfo& pod, Row row) {
    cluster_.TakeFromRow(pod.Key(), row);
    // What it has of zones is kept in mind for a pod that comes back, but not for a nominated one.
    if (cluster_.state_.HasNuma() && cluster_.state_.IsPending(pod.Key())) {
      cluster_.state_.numa_takes_.Erase(pod.Key());
    }
  }

 private:
  Cluster cluster_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_DRY_RUN_H_
