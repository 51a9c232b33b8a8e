// ObjectStore: the cluster-wide objects that scheduling looks up.
#ifndef SCHEDFW_CLUSTER_OBJECT_STORE_H_
#define SCHEDFW_CLUSTER_OBJECT_STORE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/api/objects.h"
#include "schedfw/cluster/numa.h"
#include "schedfw/cluster/selector.h"

namespace schedfw {

/// Namespaces, Services, workload owners, budgets and classes; each list sorted by namespace and
/// name, so that every rule that walks one walks it in a declared order.
struct ObjectStore {
  std::vector<api::Namespace> namespaces;
  std::vector<api::Service> services;
  std::vector<api::ReplicationController> replication_controllers;
  std::vector<api::ReplicaSet> replica_sets;
  std::vector<api::StatefulSet> stateful_sets;
  std::vector<api::PodDisruptionBudget> pod_disruption_budgets;
  std::vector<api::PriorityClass> priority_classes;
  std::vector<api::PodGroup> pod_groups;
  std::vector<api::CoschedulingPodGroup> coscheduling_pod_groups;
  std::vector<NumaReportPtr> node_resource_topologies;  ///< one a node, so they are shared

  /// The object with this name, or nullptr. O(log n).
  template <typename T>
  static const T* Find(const std::vector<T>& list, const std::string& ns, const std::string& name) {
    const auto it = LowerBound(list, ns, name);
    return it != list.end() && Key(*it) == std::tie(ns, name) ? &*it : nullptr;
  }

  /// Adds an object, or replaces the one with the same namespace and name.
  template <typename T>
  static void Upsert(std::vector<T>& list, T object) {
    const auto it = LowerBound(list, MetadataOf(object).ns, MetadataOf(object).name);
    if (it != list.end() && Key(*it) == Key(object)) {
      list[static_cast<std::size_t>(it - list.begin())] = std::move(object);
    } else {
      list.insert(it, std::move(object));
    }
  }

  /// Fills an empty list; of objects with the same namespace and name the last counts. O(n log n).
  template <typename T>
  static void Fill(std::vector<T>& list, std::vector<T> objects) {
    list = std::move(objects);
    std::stable_sort(list.begin(), list.end(),
                     [](const T& a, const T& b) { return Key(a) < Key(b); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i + 1 < list.size() && Key(list[i]) == Key(list[i + 1])) continue;
      if (kept != i) list[kept] = std::move(list[i]);
      ++kept;
    }
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept), list.end());
  }

  /// Removes an object; false when there is none.
  template <typename T>
  static bool Erase(std::vector<T>& list, const std::string& ns, const std::string& name) {
    const auto it = LowerBound(list, ns, name);
    if (it == list.end() || Key(*it) != std::tie(ns, name)) return false;
    list.erase(it);
    return true;
  }

  /// The services of a namespace, in name order.
  std::pair<const api::Service*, const api::Service*> ServicesIn(const std::string& ns) const {
    const auto begin = LowerBound(services, ns, std::string());
    auto end = begin;
    while (end != services.end() && end->metadata.ns == ns) ++end;
    return {services.data() + (begin - services.begin()),
            services.data() + (end - services.begin())};
  }

 private:
  template <typename T>
  static std::tuple<const std::string&, const std::string&> Key(const T& object) {
    return std::tie(MetadataOf(object).ns, MetadataOf(object).name);
  }
  template <typename T>
  static const api::ObjectMeta& MetadataOf(const T& object) {
    return object.metadata;
  }
  static const api::ObjectMeta& MetadataOf(const NumaReportPtr& report) {
    return report->object.metadata;
  }
  template <typename T>
  static typename std::vector<T>::const_iterator LowerBound(const std::vector<T>& list,
                                                            const std::string& ns,
                                                            const std::string& name) {
    return std::lower_bound(list.begin(), list.end(), std::tie(ns, name),
                            [](const T& object, const auto& key) { return Key(object) < key; });
  }
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_OBJECT_STORE_H_
