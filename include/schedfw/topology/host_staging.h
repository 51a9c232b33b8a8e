// HostStaging: an AllReduce that goes through host memory, with and without binding to NUMA nodes.
//
// A parametric model: every parameter is an input, docs/bandwidth.md has the formulas.
#ifndef SCHEDFW_TOPOLOGY_HOST_STAGING_H_
#define SCHEDFW_TOPOLOGY_HOST_STAGING_H_

#include <cmath>
#include <limits>

namespace schedfw {

/// A node's memory and the messages that go through it. Units of data are the caller's, the same
/// everywhere.
struct HostStaging {
  double local_bandwidth = 0;  ///< data/s when all accesses are local; above 0
  double remote_ratio = 1;     ///< bandwidth of remote accesses over that of local ones; above 0
  double message = 0;          ///< data that one AllReduce moves
  double arrivals_per_s = 0;   ///< AllReduces that are asked for
};

/// How processes are bound, and how an AllReduce is divided.
struct StagingMode {
  double remote_share = 0;   ///< accesses to memory of another NUMA node, 0 to 1
  double shards = 1;         ///< parts of a message that go at the same time; at least 1
  double sharded_share = 0;  ///< what of a message's time is divided among them, 0 to 1
};

struct StagingResult {
  double bandwidth = 0;    ///< data/s
  double service_ms = 0;   ///< a message alone
  double utilization = 0;  ///< of the path, by all arrivals; from 1 on it never catches up
  double p99_ms = 0;       ///< 99 % of messages take less, waiting included; infinity: no end
};

/// Bandwidth is the harmonic mix of local and remote accesses, times what overlapping shards save
/// (Amdahl); the time of the 99th percentile is that of an M/M/1 queue.
inline StagingResult Stage(const HostStaging& host, const StagingMode& mode) {
  StagingResult out;
  const double slowdown = 1 - mode.remote_share + mode.remote_share / host.remote_ratio;
  const double overlap = 1 - mode.sharded_share + mode.sharded_share / mode.shards;
  out.bandwidth = host.local_bandwidth / (slowdown * overlap);
  const double service_s = host.message / out.bandwidth;
  out.service_ms = 1000 * service_s;
  out.utilization = host.arrivals_per_s * service_s;
  out.p99_ms = out.utilization < 1 ? std::log(100.0) * out.service_ms / (1 - out.utilization)
                                   : std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_HOST_STAGING_H_
