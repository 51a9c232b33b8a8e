// A capacity question answered with the headers alone: no files, no parsers.

#include <iostream>
#include <string>

#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/scheduler.h"

int main() {
  schedfw::Cluster cluster;
  for (int i = 0; i < 2; ++i) {
    schedfw::api::Node node;
    node.metadata.name = "node-" + std::to_string(i);
    node.status.capacity["cpu"] = schedfw::Quantity::FromUnits(8 + 2 * i);
    node.status.capacity["memory"] = schedfw::Quantity::FromUnits(std::int64_t{64} << 30);
    node.status.capacity["pods"] = schedfw::Quantity::FromUnits(110);
    if (auto done = cluster.AddNode(node); !done) {
      std::cerr << done.error().message() << "\n";
      return 2;
    }
  }
  schedfw::api::Pod pod;
  pod.metadata.name = "worker";
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.requests["cpu"] = schedfw::Quantity::FromMilli(2500);

  auto scheduler = schedfw::Scheduler::Create({}, schedfw::InTreeRegistry());
  if (!scheduler) {
    std::cerr << scheduler.error().message() << "\n";
    return 2;
  }
  auto fit = (*scheduler)->Fit(cluster.view(), pod, 1000);
  if (!fit) {
    std::cerr << fit.error().message() << "\n";
    return 2;
  }
  std::cout << fit->count << " more pods fit:";
  std::string comma = " ";
  for (const auto& [node, count] : fit->nodes) {
    std::cout << comma << node << " " << count;
    comma = ", ";
  }
  std::cout << "\nthe next one pends: " << fit->status.message() << "\n";
  return 0;
}
