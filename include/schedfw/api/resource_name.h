// Which kind of resource a name stands for.
#ifndef SCHEDFW_API_RESOURCE_NAME_H_
#define SCHEDFW_API_RESOURCE_NAME_H_

#include <algorithm>
#include <string_view>

namespace schedfw::api {

namespace internal {

inline bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace internal

/// True for `[prefix/]name` as labels and extended resources are written: the prefix a DNS
/// subdomain of at most 253 characters, the name at most 63 letters, digits, '-', '_', '.', which
/// begins and ends with a letter or digit (apimachinery content.IsQualifiedName).
inline bool IsQualifiedName(std::string_view name) {
  std::string_view base = name;
  if (const auto slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    base = name.substr(slash + 1);
    if (prefix.empty() || prefix.size() > 253 || base.find('/') != std::string_view::npos) {
      return false;
    }
    char before = '.';
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      const char c = prefix[i];
      const bool lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      const bool edge = before == '.' || i + 1 == prefix.size() || prefix[i + 1] == '.';
      if (!(lower || (!edge && c == '-') || (c == '.' && before != '.' && i + 1 < prefix.size()))) {
        return false;
      }
      before = c;
    }
  }
  if (base.empty() || base.size() > 63) return false;
  return internal::IsAlphanumeric(base.front()) && internal::IsAlphanumeric(base.back()) &&
         std::all_of(base.begin(), base.end(), [](char c) {
           return internal::IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

/// True for what a label may have as its value: empty, or at most 63 letters, digits, '-', '_',
/// '.', which begin and end with a letter or digit (apimachinery content.IsLabelValue).
inline bool IsLabelValue(std::string_view value) {
  return value.empty() || (value.find('/') == std::string_view::npos && IsQualifiedName(value));
}

inline bool IsHugePageResource(std::string_view name) { return name.starts_with("hugepages-"); }

/// True for names in the *kubernetes.io/ namespace, which unprefixed names belong to as well.
inline bool IsNativeResource(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

/// True for devices and the like, e.g. nvidia.com/gpu (pkg/apis/core/v1/helper/helpers.go).
inline bool IsExtendedResource(std::string_view name) {
  if (IsNativeResource(name) || name.starts_with("requests.")) return false;
  // Upstream tests "requests." + name, so the prefix has 9 characters less to itself.
  return IsQualifiedName(name) && name.find('/') <= 253 - 9;
}

/// True for resources that NodeResourcesFit counts besides cpu, memory and ephemeral-storage
/// (IsScalarResourceName in pkg/scheduler/util/utils.go). Other names are ignored everywhere.
inline bool IsScalarResource(std::string_view name) {
  return IsExtendedResource(name) || IsHugePageResource(name) ||
         name.find("kubernetes.io/") != std::string_view::npos ||
         name.starts_with("attachable-volumes-");
}

/// True for resources that a pod may ask for as a whole: cpu, memory and huge pages.
inline bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || IsHugePageResource(name);
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_RESOURCE_NAME_H_
