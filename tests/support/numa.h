// Nodes with NUMA zones and pods that ask for them, as YAML.
#ifndef SCHEDFW_TESTS_SUPPORT_NUMA_H_
#define SCHEDFW_TESTS_SUPPORT_NUMA_H_

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace schedfw::testing {

/// A node with these allocatable amounts ("cpu: 8, memory: 16Gi").
inline std::string NumaNode(const std::string& name, const std::string& amounts) {
  return "---\napiVersion: v1\nkind: Node\nmetadata: {name: '" + name +
         "'}\nstatus: {allocatable: {pods: 110, " + amounts + "}}\n";
}

/// Its NodeResourceTopology: zones node-0, node-1, … with these available amounts, which are all
/// that there is unless a total is given too ("cpu: 2/4"). `costs`: a row a zone, blanks between.
inline std::string Topology(const std::string& name, const std::string& policy,
                            const std::vector<std::string>& zones,
                            const std::vector<std::string>& costs = {}) {
  std::string out =
      "---\napiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
      "metadata: {name: '" +
      name + "'}\ntopologyPolicies: [" + policy + "]\nzones:\n";
  for (std::size_t zone = 0; zone < zones.size(); ++zone) {
    out += "- name: node-" + std::to_string(zone) + "\n  type: Node\n";
    if (zone < costs.size()) {
      out += "  costs:\n";
      std::istringstream in(costs[zone]);
      std::string cost;
      for (int to = 0; in >> cost; ++to) {
        out += "  - {name: node-" + std::to_string(to) + ", value: " + cost + "}\n";
      }
    }
    out += "  resources:\n";
    std::istringstream in(zones[zone]);
    for (std::string entry; std::getline(in, entry, ',');) {
      const std::size_t from = entry.find_first_not_of(' ');
      const std::size_t colon = entry.find(": ");
      std::string value = entry.substr(colon + 2), total = value;
      if (const auto slash = value.find('/'); slash != std::string::npos) {
        total = value.substr(slash + 1);
        value.resize(slash);
      }
      out += "  - {name: " + entry.substr(from, colon - from) + ", capacity: " + total +
             ", allocatable: " + total + ", available: " + value + "}\n";
    }
  }
  return out;
}

/// A waiting pod whose containers have these requests, and limits that are equal to them; one that
/// begins with "init " or "sidecar " is an init container. `burstable`: without limits.
inline std::string NumaPod(const std::string& name, const std::vector<std::string>& containers,
                           bool burstable = false, const std::string& spec = "") {
  std::string init, apps;
  int number = 0;
  for (std::string amounts : containers) {
    std::string kind;
    for (const std::string prefix : {"init ", "sidecar "}) {
      if (!amounts.starts_with(prefix)) continue;
      kind = prefix;
      amounts.erase(0, prefix.size());
    }
    std::string text = "  - {name: c" + std::to_string(number++) + ", image: i";
    if (kind == "sidecar ") text += ", restartPolicy: Always";
    text += ", resources: {requests: {" + amounts + "}";
    if (!burstable) text += ", limits: {" + amounts + "}";
    (kind.empty() ? apps : init) += text + "}}\n";
  }
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + spec +
         (init.empty() ? "" : "  initContainers:\n" + init) +
         "  containers:" + (apps.empty() ? " []\n" : "\n" + apps);
}

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_NUMA_H_
