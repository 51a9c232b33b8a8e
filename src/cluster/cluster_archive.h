// ClusterArchive: a cluster as bytes, and the same cluster from them.
#ifndef SCHEDFW_SRC_CLUSTER_CLUSTER_ARCHIVE_H_
#define SCHEDFW_SRC_CLUSTER_CLUSTER_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/bytes.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"

namespace schedfw {

/// Keeps all that a cluster's behaviour follows from: the objects, and what depends on how they
/// came: rows, the order of nodes in their zones and of zones, the sizes of images, the order of
/// pods that wait and of those that are nominated to a node, and which GPUs pods have.
///
/// Pods that are only assumed on their node are kept as pods that wait, behind all others, in the
/// order of namespace and name.
class ClusterArchive {
 public:
  struct Saved {
    std::string objects;              // JSON: all but the pods
    std::vector<std::string> pods;    // JSON, in pieces
    std::string layout;               // what isn't said by objects
    std::vector<std::uint64_t> keys;  // of the pods, in their order
    std::size_t first_waiting = 0;    // of these; the pods before it have a node
  };
  /// O(objects).
  static Saved Save(const Snapshot& snapshot);

  struct Restored {
    Cluster cluster;
    std::vector<PodPtr> pods;  // in the order in which they were saved
    std::size_t first_waiting = 0;
  };
  /// Errors (ParseError): bytes that Save doesn't make. O(objects).
  static Result<Restored> Restore(std::string_view objects,
                                  const std::vector<std::string_view>& pods,
                                  std::string_view layout);

 private:
  static void SaveLayout(const Snapshot& snapshot, const Saved& saved,
                         const std::vector<PodPtr>& returned, std::string& out);
  // False: the bytes make no sense.
  static bool RestoreGpus(io::ByteReader& reader, Restored& out);
  static bool RestoreZones(io::ByteReader& reader, Restored& out);
};

}  // namespace schedfw

#endif  // SCHEDFW_SRC_CLUSTER_CLUSTER_ARCHIVE_H_
