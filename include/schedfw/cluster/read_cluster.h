// ReadCluster: from files to a cluster in one go.
#ifndef SCHEDFW_CLUSTER_READ_CLUSTER_H_
#define SCHEDFW_CLUSTER_READ_CLUSTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/cluster/cluster.h"

namespace schedfw {

/// Reads files into a cluster: api::ReadObjects, api::Normalize and Cluster::FromObjects, with the
/// same result and the same errors, in half the time and a fraction of the memory. Pods of a long
/// List that have a node are compiled as they are read, so that their objects are never there all
/// at once.
///
/// `ignored`, if given, gets the objects that scheduling doesn't read: "apps/v1 Deployment" → how
/// many. O(size of the files).
Result<Cluster> ReadCluster(const std::vector<std::string>& paths,
                            std::map<std::string, std::int64_t>* ignored = nullptr);

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_READ_CLUSTER_H_
