// Inter-pod affinity: the terms of a pod, compiled to interned ids.
#ifndef SCHEDFW_CLUSTER_AFFINITY_H_
#define SCHEDFW_CLUSTER_AFFINITY_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/selector.h"

namespace schedfw {

/// Whose term it is and what it asks for.
enum class AffinityKind : std::uint8_t {
  kRequiredAffinity,
  kRequiredAntiAffinity,
  kPreferredAffinity,
  kPreferredAntiAffinity,
};

/// A term of podAffinity or podAntiAffinity (k8s.io/kube-scheduler/framework, AffinityTerm).
struct AffinityTerm {
  StringId topology_key = 0;
  std::vector<StringId> namespaces;                   ///< sorted; each selects its pods
  Selector namespace_selector = Selector::Nothing();  ///< of namespaces, by their labels
  Selector selector = Selector::Nothing();            ///< of pods
  std::int32_t weight = 0;                            ///< of a preferred term

  /// Whether a pod is selected. `namespace_labels` are those of the pod's namespace.
  bool Matches(StringId ns, const Labels& namespace_labels, const Labels& pod_labels,
               const Dictionary& dictionary) const {
    return (std::binary_search(namespaces.begin(), namespaces.end(), ns) ||
            namespace_selector.Matches(namespace_labels, dictionary)) &&
           selector.Matches(pod_labels, dictionary);
  }
};

/// A term that the Dictionary knows: pods that share it share its id.
struct InternedTerm {
  AffinityTermId id = 0;
  AffinityKind kind = AffinityKind::kRequiredAffinity;
  AffinityTerm term;
};

/// All terms of a pod: required ones before preferred ones, in the object's order.
struct PodAffinityTerms {
  std::vector<std::shared_ptr<const InternedTerm>> terms;

  bool Has(AffinityKind kind) const {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const auto& term) { return term->kind == kind; });
  }
  /// Calls fn(const AffinityTerm&) for the terms of one kind.
  template <typename F>
  void ForEach(AffinityKind kind, F&& fn) const {
    for (const auto& term : terms) {
      if (term->kind == kind) fn(term->term);
    }
  }
};

namespace internal {

inline void AppendWords(const Selector& selector, std::vector<std::uint32_t>& words) {
  words.push_back(selector.IsNothing() ? 1 : 0);
  words.push_back(static_cast<std::uint32_t>(selector.requirements().size()));
  for (const Requirement& requirement : selector.requirements()) {
    words.push_back(requirement.key);
    words.push_back(static_cast<std::uint32_t>(requirement.op));
    words.push_back(static_cast<std::uint32_t>(requirement.values.size()));
    words.insert(words.end(), requirement.values.begin(), requirement.values.end());
  }
}

// The term as numbers, the same for equal terms.
inline std::vector<std::uint32_t> TermWords(AffinityKind kind, const AffinityTerm& term) {
  std::vector<std::uint32_t> out{static_cast<std::uint32_t>(kind),
                                 static_cast<std::uint32_t>(term.weight), term.topology_key,
                                 static_cast<std::uint32_t>(term.namespaces.size())};
  out.insert(out.end(), term.namespaces.begin(), term.namespaces.end());
  AppendWords(term.namespace_selector, out);
  AppendWords(term.selector, out);
  return out;
}

inline Result<std::shared_ptr<const InternedTerm>> CompileAffinityTerm(
    const api::PodAffinityTerm& in, AffinityKind kind, std::int32_t weight, const std::string& ns,
    Dictionary& dictionary) {
  if (in.topology_key.empty()) return ParseError("topologyKey: can not be empty");
  auto out = std::make_shared<InternedTerm>();
  out->kind = kind;
  AffinityTerm& term = out->term;
  term.weight = weight;
  term.topology_key = dictionary.Intern(in.topology_key);
  for (const std::string& name : in.namespaces) term.namespaces.push_back(dictionary.Intern(name));
  // Without any namespaces the pod's own is meant; an empty list beside a selector adds none.
  if (in.namespaces.empty() && !in.namespace_selector) {
    term.namespaces.push_back(dictionary.Intern(ns));
  }
  std::sort(term.namespaces.begin(), term.namespaces.end());
  term.namespaces.erase(std::unique(term.namespaces.begin(), term.namespaces.end()),
                        term.namespaces.end());
  auto selector = Selector::Compile(in.label_selector, dictionary);
  if (!selector) return selector.error().In("labelSelector");
  term.selector = *std::move(selector);
  auto namespaces = Selector::Compile(in.namespace_selector, dictionary);
  if (!namespaces) return namespaces.error().In("namespaceSelector");
  term.namespace_selector = *std::move(namespaces);
  out->id = dictionary.AffinityTerm(TermWords(kind, term));
  return std::shared_ptr<const InternedTerm>(std::move(out));
}

inline Result<void> CompileAffinity(const std::optional<api::PodAffinity>& in,
                                    const std::string& path, AffinityKind required,
                                    AffinityKind preferred, const std::string& ns,
                                    Dictionary& dictionary, PodAffinityTerms& out) {
  if (!in) return {};
  for (std::size_t i = 0; i < in->required.size(); ++i) {
    auto term = CompileAffinityTerm(in->required[i], required, 0, ns, dictionary);
    if (!term) {
      return term.error().In(path + ".requiredDuringSchedulingIgnoredDuringExecution[" +
                             std::to_string(i) + "]");
    }
    out.terms.push_back(*std::move(term));
  }
  for (std::size_t i = 0; i < in->preferred.size(); ++i) {
    const api::WeightedPodAffinityTerm& weighted = in->preferred[i];
    const std::string at =
        path + ".preferredDuringSchedulingIgnoredDuringExecution[" + std::to_string(i) + "]";
    if (weighted.weight < 1 || weighted.weight > 100) {
      return ParseError(at + ".weight: " + std::to_string(weighted.weight) +
                        " is not allowed (allowed: 1 to 100)");
    }
    auto term =
        CompileAffinityTerm(weighted.pod_affinity_term, preferred, weighted.weight, ns, dictionary);
    if (!term) return term.error().In(at + ".podAffinityTerm");
    out.terms.push_back(*std::move(term));
  }
  return {};
}

}  // namespace internal

/// Compiles the inter-pod affinity of a pod; null when it has none. Errors: what the API server
/// would refuse, with the path.
inline Result<std::shared_ptr<const PodAffinityTerms>> CompileAffinityTerms(
    const api::Pod& pod, Dictionary& dictionary) {
  const api::Affinity& affinity = pod.spec.affinity;
  if (!affinity.pod_affinity && !affinity.pod_anti_affinity) {
    return std::shared_ptr<const PodAffinityTerms>();
  }
  auto out = std::make_shared<PodAffinityTerms>();
  auto done = internal::CompileAffinity(
      affinity.pod_affinity, "spec.affinity.podAffinity", AffinityKind::kRequiredAffinity,
      AffinityKind::kPreferredAffinity, pod.metadata.ns, dictionary, *out);
  if (!done) return done.error();
  done = internal::CompileAffinity(affinity.pod_anti_affinity, "spec.affinity.podAntiAffinity",
                                   AffinityKind::kRequiredAntiAffinity,
                                   AffinityKind::kPreferredAntiAffinity, pod.metadata.ns,
                                   dictionary, *out);
  if (!done) return done.error();
  if (out->terms.empty()) return std::shared_ptr<const PodAffinityTerms>();
  return std::shared_ptr<const PodAffinityTerms>(std::move(out));
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_AFFINITY_H_
