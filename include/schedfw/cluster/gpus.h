// How many GPUs a node may have.
#ifndef SCHEDFW_CLUSTER_GPUS_H_
#define SCHEDFW_CLUSTER_GPUS_H_

#include <cstdint>

namespace schedfw {

/// The most GPUs of one node: which of them are in use is a mask of 16 bits.
inline constexpr std::int32_t kMaxGpus = 16;

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_GPUS_H_
