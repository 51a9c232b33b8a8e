// Tolerations and taints: which taints a pod tolerates.
#ifndef SCHEDFW_PLUGINS_TOLERATIONS_H_
#define SCHEDFW_PLUGINS_TOLERATIONS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/cluster/dictionary.h"

namespace schedfw {

/// Whether one toleration covers a taint (core/v1 toleration.go, ToleratesTaint). The operators Lt
/// and Gt are behind a gate that is off by default, and match nothing.
inline bool Tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (toleration.effect != api::TaintEffect::kAny && toleration.effect != taint.effect) {
    return false;
  }
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case api::TolerationOperator::kEqual:
      return toleration.value == taint.value;
    case api::TolerationOperator::kExists:
      return true;
    case api::TolerationOperator::kLt:
    case api::TolerationOperator::kGt:
      return false;
  }
  return false;
}

inline bool Tolerates(const std::vector<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const api::Toleration& t) { return Tolerates(t, taint); });
}

/// Whether a list of taints keeps the pod away: one of effect NoSchedule or NoExecute that it
/// doesn't tolerate.
inline bool HasUntoleratedTaint(const std::vector<api::Taint>& taints,
                                const std::vector<api::Toleration>& tolerations) {
  return std::any_of(taints.begin(), taints.end(), [&](const api::Taint& taint) {
    return (taint.effect == api::TaintEffect::kNoSchedule ||
            taint.effect == api::TaintEffect::kNoExecute) &&
           !Tolerates(tolerations, taint);
  });
}

/// For every interned list of taints, whether it keeps the pod away. Empty: no list does.
inline std::vector<std::uint8_t> UntoleratedTaintSets(
    const Dictionary& dictionary, const std::vector<api::Toleration>& tolerations) {
  const std::size_t count = dictionary.TaintSetCount();
  std::vector<std::uint8_t> out;
  for (TaintSetId id = 1; id < count; ++id) {
    if (!HasUntoleratedTaint(dictionary.TaintsOf(id), tolerations)) continue;
    if (out.empty()) out.resize(count);
    out[id] = 1;
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_TOLERATIONS_H_
