// PrioritySort: higher priority first, then who came first.
#ifndef SCHEDFW_PLUGINS_PRIORITY_SORT_H_
#define SCHEDFW_PLUGINS_PRIORITY_SORT_H_

#include "schedfw/framework/plugin.h"

namespace schedfw {

/// Sorts the queue by priority, then by time (plugins/queuesort/priority_sort.go).
class PrioritySort : public QueueSortPlugin {
 public:
  static constexpr std::string_view kName = "PrioritySort";

  std::string_view Name() const override { return kName; }
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.timestamp < b.timestamp;
  }
  bool SortsByPriority() const override { return true; }
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_PRIORITY_SORT_H_
