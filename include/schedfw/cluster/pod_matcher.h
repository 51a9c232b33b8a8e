// PodMatcher: which pods count, by namespace and labels.
#ifndef SCHEDFW_CLUSTER_POD_MATCHER_H_
#define SCHEDFW_CLUSTER_POD_MATCHER_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "schedfw/cluster/pod_info.h"
#include "schedfw/cluster/selector.h"

namespace schedfw {

/// Selects pods: those in one of the namespaces whose labels match.
struct PodMatcher {
  std::vector<StringId> namespaces;  ///< sorted
  bool any_namespace = false;        ///< the namespaces don't matter
  Selector selector = Selector::Nothing();
  bool terminating = true;  ///< pods that are being deleted match too

  bool MatchesNamespace(StringId ns) const {
    return any_namespace || std::binary_search(namespaces.begin(), namespaces.end(), ns);
  }
  bool Matches(const PodInfo& pod, const Dictionary& dictionary) const {
    return MatchesNamespace(pod.ns()) && (terminating || !pod.terminating()) &&
           selector.Matches(dictionary.LabelsOf(pod.label_set()), dictionary);
  }

  /// Narrows to the pods that `other` matches too.
  void And(const PodMatcher& other) {
    if (any_namespace) {
      namespaces = other.namespaces;
      any_namespace = other.any_namespace;
    } else if (!other.any_namespace) {
      std::vector<StringId> both;
      std::set_intersection(namespaces.begin(), namespaces.end(), other.namespaces.begin(),
                            other.namespaces.end(), std::back_inserter(both));
      namespaces = std::move(both);
    }
    terminating = terminating && other.terminating;
    if (other.selector.IsNothing()) selector = Selector::Nothing();
    for (const Requirement& requirement : other.selector.requirements()) {
      selector.Add(requirement);
    }
  }

  friend bool operator==(const PodMatcher&, const PodMatcher&) = default;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_POD_MATCHER_H_
