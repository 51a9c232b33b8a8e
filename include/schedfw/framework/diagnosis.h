// Diagnosis: who rejected which node, and why.
#ifndef SCHEDFW_FRAMEWORK_DIAGNOSIS_H_
#define SCHEDFW_FRAMEWORK_DIAGNOSIS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/base/status.h"
#include "schedfw/cluster/snapshot.h"

namespace schedfw {

/// "0/5 nodes are available: …": how many nodes each reason rejected, in the order of the parts as
/// text (pkg/scheduler/framework/types.go, FitError.Error).
inline std::string NoNodeMessage(Row nodes, const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? " " : ", ") + part;
  return "0/" + std::to_string(nodes) + " nodes are available:" + joined +
         (joined.empty() ? "" : ".");
}

/// Why a cycle ended as it did, over all nodes (pkg/scheduler/framework/types.go, Diagnosis).
class Diagnosis {
 public:
  Diagnosis() = default;
  explicit Diagnosis(Row nodes) : status_of_row_(nodes, kFeasible) {}

  /// That of a pod which PreFilter rejected as a whole: no filter saw any node.
  static Diagnosis OfPreFilter(Row nodes, Status status) {
    Diagnosis out(nodes);
    out.pre_filter = std::move(status);
    out.LeaveOutAll();
    return out;
  }

  /// Not Success when a PreFilter plugin rejected the pod as a whole.
  Status pre_filter;
  /// The nodes that PreFilter left, by name, sorted; absent: all.
  std::optional<std::vector<std::string>> pre_filter_nodes;
  /// The plugins that left only these.
  std::set<std::string> narrowed_by;

  /// The number of nodes of the cluster.
  Row size() const { return static_cast<Row>(status_of_row_.size()); }
  /// True when the node passed every filter.
  bool IsFeasible(Row row) const { return status_of_row_[row] == kFeasible; }
  /// True when PreFilter left the node out, so that no filter saw it.
  bool IsLeftOut(Row row) const { return status_of_row_[row] == kLeftOut; }
  /// The status that a node was rejected with, plugin included.
  const Status& status(Row row) const {
    static const Status kNotEvaluated = Status::Unresolvable("node(s) didn't satisfy plugin(s)");
    static const Status kNone;
    const std::uint32_t index = status_of_row_[row];
    return index == kFeasible ? kNone : index == kLeftOut ? kNotEvaluated : statuses_[index];
  }

  /// Records a status that rows may share; returns its number for Reject().
  std::uint32_t AddStatus(Status status) {
    statuses_.push_back(std::move(status));
    return static_cast<std::uint32_t>(statuses_.size() - 1);
  }
  void Reject(Row row, std::uint32_t status) { status_of_row_[row] = status; }
  void Admit(Row row) { status_of_row_[row] = kFeasible; }
  void LeaveOutAll() { std::fill(status_of_row_.begin(), status_of_row_.end(), kLeftOut); }

  /// How many nodes each reason rejected, most frequent first, then by text.
  std::vector<std::pair<std::string, std::int64_t>> Reasons() const {
    const std::map<std::string, std::int64_t> counts = CountByReason();
    std::vector<std::pair<std::string, std::int64_t>> out(counts.begin(), counts.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return out;
  }

  /// The plugins that rejected the pod or a node, or left nodes out.
  std::set<std::string> UnschedulablePlugins() const {
    std::set<std::string> out = narrowed_by;
    if (!pre_filter.plugin().empty()) out.emplace(pre_filter.plugin());
    for (const auto& [status, count] : CountByStatus()) {
      if (!status->plugin().empty()) out.emplace(status->plugin());
    }
    return out;
  }

  /// Those of them that wait for something outside the scheduler (Code::kPending).
  std::set<std::string> PendingPlugins() const {
    std::set<std::string> out;
    const auto add = [&](const Status& status) {
      if (status.code() == Code::kPending) out.emplace(status.plugin());
    };
    add(pre_filter);
    for (const auto& [status, count] : CountByStatus()) add(*status);
    return out;
  }

  /// The sentence of upstream's FailedScheduling event: "0/5 nodes are available: …".
  std::string Message() const {
    if (pre_filter.ok()) return NoNodeMessage(size(), CountByReason());
    return NoNodeMessage(size(), {}) + " " + pre_filter.message() + ".";
  }

 private:
  static constexpr std::uint32_t kFeasible = 0xFFFFFFFF;
  static constexpr std::uint32_t kLeftOut = 0xFFFFFFFE;

  std::map<std::string, std::int64_t> CountByReason() const {
    std::map<std::string, std::int64_t> out;
    if (!pre_filter.ok()) return out;
    for (const auto& [status, count] : CountByStatus()) {
      for (const std::string& reason : status->reasons()) out[reason] += count;
    }
    return out;
  }
  std::vector<std::pair<const Status*, std::int64_t>> CountByStatus() const {
    std::vector<std::int64_t> counts(statuses_.size() + 1);
    Row left_out = size();
    for (Row row = 0; row < size(); ++row) {
      const std::uint32_t index = status_of_row_[row];
      if (index < statuses_.size()) ++counts[index];
      if (index == kLeftOut) {
        ++counts.back();
        left_out = row;
      }
    }
    std::vector<std::pair<const Status*, std::int64_t>> out;
    for (std::size_t i = 0; i < statuses_.size(); ++i) {
      if (counts[i] != 0) out.emplace_back(&statuses_[i], counts[i]);
    }
    if (counts.back() != 0) out.emplace_back(&status(left_out), counts.back());
    return out;
  }

  std::vector<Status> statuses_;
  std::vector<std::uint32_t> status_of_row_;  // into statuses_, or one of the constants
};

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_DIAGNOSIS_H_
