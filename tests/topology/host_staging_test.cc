#include "schedfw/topology/host_staging.h"

#include <gtest/gtest.h>

#include <cmath>

namespace schedfw {
namespace {

constexpr HostStaging kHost{
    .local_bandwidth = 20, .remote_ratio = 0.5, .message = 0.02, .arrivals_per_s = 0};

TEST(HostStaging, MixesLocalAndRemoteAccesses) {
  EXPECT_DOUBLE_EQ(Stage(kHost, {}).bandwidth, 20);
  EXPECT_DOUBLE_EQ(Stage(kHost, {.remote_share = 1}).bandwidth, 10);
  EXPECT_DOUBLE_EQ(Stage(kHost, {.remote_share = 0.5}).bandwidth, 20 / 1.5);
}

TEST(HostStaging, ShardsOverlap) {
  EXPECT_DOUBLE_EQ(Stage(kHost, {.shards = 2, .sharded_share = 1}).bandwidth, 40);
  EXPECT_DOUBLE_EQ(Stage(kHost, {.shards = 2, .sharded_share = 0.5}).bandwidth, 20 / 0.75);
  EXPECT_DOUBLE_EQ(Stage(kHost, {.shards = 1, .sharded_share = 0.5}).bandwidth, 20);
}

TEST(HostStaging, WaitingGrowsWithArrivals) {
  const StagingResult idle = Stage(kHost, {});
  EXPECT_DOUBLE_EQ(idle.service_ms, 1);
  EXPECT_DOUBLE_EQ(idle.p99_ms, std::log(100.0));
  HostStaging busy = kHost;
  busy.arrivals_per_s = 500;
  EXPECT_DOUBLE_EQ(Stage(busy, {}).utilization, 0.5);
  EXPECT_DOUBLE_EQ(Stage(busy, {}).p99_ms, 2 * std::log(100.0));
  // Remote accesses cost twice: the path is slower, and fuller.
  EXPECT_GT(Stage(busy, {.remote_share = 0.4}).p99_ms, 2 * idle.p99_ms * 1.4);
  busy.arrivals_per_s = 1000;
  EXPECT_TRUE(std::isinf(Stage(busy, {}).p99_ms));
}

}  // namespace
}  // namespace schedfw
