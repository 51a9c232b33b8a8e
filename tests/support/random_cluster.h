// Random objects that carry every field that plugins read, and events on them.
#ifndef SCHEDFW_TESTS_SUPPORT_RANDOM_CLUSTER_H_
#define SCHEDFW_TESTS_SUPPORT_RANDOM_CLUSTER_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/random.h"
#include "schedfw/cluster/cluster.h"

namespace schedfw::testing {

/// The scheduler names that random pods ask for, with weights and arguments of all kinds.
extern const char* const kRandomProfiles;

/// Makes objects as YAML; the seed decides everything.
///
/// Names, labels and values come from small sets, so that selectors match, ports collide and nodes
/// fill up. An image has the same size on every node: which node brought it first doesn't matter.
class RandomObjects {
 public:
  explicit RandomObjects(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  bool Chance(int percent) { return random_.Below(100) < static_cast<std::uint64_t>(percent); }
  std::string Pick(std::initializer_list<const char*> list);

  std::string NodeName() { return "n" + std::to_string(100 + random_.Below(24)); }
  std::string Namespace() { return Pick({"default", "default", "ml", "web"}); }

  std::string Node(const std::string& name);
  /// A pod; `node` "" : it waits.
  std::string Pod(const std::string& ns, const std::string& name, const std::string& node);
  /// A namespace with labels.
  std::string NamespaceObject(const std::string& name);
  std::string Service(const std::string& name);
  /// Namespaces, priority classes, services, controllers and disruption budgets.
  std::string Others();

 private:
  std::string Labels();
  std::string Amounts(bool scalars);
  std::string LabelSelector();
  std::string NodeTerm();
  std::string NodeAffinity();
  std::string AffinityTerm();
  std::string AffinityTerms();
  std::string Affinity();
  std::string SpreadConstraint();
  std::string Toleration();
  std::string Container(const std::string& name, bool sidecar);
  std::string Status(const std::string& node, int containers);
  std::string List(int most, std::string (RandomObjects::*make)());

  Random random_;
  int pods_ = 0;  // how many were made
};

/// What a test knows of a cluster that events change: enough to build the same one from nothing.
class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed);

  const schedfw::Cluster& cluster() const { return cluster_; }
  RandomObjects& objects() { return objects_; }

  /// Applies a random event to the cluster and to what is known of it: nodes and pods come, change
  /// and go, pods are assumed, forgotten and bound, namespaces and services change.
  void Step();
  /// The objects as YAML: nodes and bound pods by name, waiting pods in order of arrival.
  std::vector<std::string> Documents() const;
  /// A cluster of Documents().
  schedfw::Cluster Rebuild() const;
  /// The same on a fork that goes its own way from here.
  RandomCluster Fork() const;

 private:
  struct PodState {
    std::string ns, name;
    std::string yaml;  // as given; a pod that was bound here has no node name in it
    std::string node;
    bool waits = false;
    bool assumed = false;
  };

  void ChangeNode();
  void DeleteNode();
  void AddPod();
  void UpdatePod(PodState& pod);
  void DeletePod(const std::string& key);
  void Assume(PodState& pod);
  void Forget(PodState& pod);
  void FinishBinding(PodState& pod);
  void ChangeOther();
  PodPtr Find(const PodState& pod) const;

  RandomObjects objects_;
  schedfw::Cluster cluster_;
  std::map<std::string, std::string> others_;  // name → YAML
  std::map<std::string, std::string> nodes_;   // name → YAML
  std::map<std::string, PodState> pods_;       // by full name
  std::vector<std::string> order_;             // full names of waiting pods
  int count_ = 0;
};

/// YAML documents as one text.
std::string Join(const std::vector<std::string>& documents);

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_RANDOM_CLUSTER_H_
