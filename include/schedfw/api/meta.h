// Metadata that every Kubernetes object carries, as far as scheduling reads it.
#ifndef SCHEDFW_API_META_H_
#define SCHEDFW_API_META_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/quantity.h"

namespace schedfw::api {

/// Label or annotation keys and values, in key order.
using StringMap = std::map<std::string, std::string>;

/// Amounts by resource name, e.g. {"cpu": 500m, "nvidia.com/gpu": 4}.
using ResourceList = std::map<std::string, Quantity>;

/// The value of a key, or nullptr. Tries one key after another: the few of an object are found
/// about as fast as by a search, for which the map wants the key as a string of its own.
template <typename T>
const T* Find(const std::map<std::string, T>& map, std::string_view key) {
  for (const auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct ObjectMeta {
  std::string name;
  std::string ns;  ///< metadata.namespace; empty for cluster-wide objects
  std::string uid;
  StringMap labels;
  StringMap annotations;
  std::vector<OwnerReference> owner_references;
  std::optional<std::int64_t> creation_timestamp_ns;  ///< since the Unix epoch
  std::optional<std::int64_t> deletion_timestamp_ns;  ///< set: the object is being deleted
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_META_H_
