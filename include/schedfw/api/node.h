// Node: a machine (core/v1), as far as scheduling reads it.
#ifndef SCHEDFW_API_NODE_H_
#define SCHEDFW_API_NODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedfw/api/meta.h"

namespace schedfw::api {

/// Effects of taints; as a toleration's effect, kAny means that it matches all.
enum class TaintEffect : std::uint8_t { kAny, kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kAny;  ///< kAny keeps nothing away

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;

  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};

struct Condition {
  std::string type;
  std::string status;
  std::string reason;

  friend bool operator==(const Condition&, const Condition&) = default;
};

struct NodeSpec {
  std::vector<Taint> taints;
  bool unschedulable = false;
};

struct NodeStatus {
  ResourceList capacity;
  std::optional<ResourceList> allocatable;  ///< absent: capacity
  std::vector<ContainerImage> images;
  std::vector<Condition> conditions;  ///< not read by any plugin: only taints filter
};

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_NODE_H_
