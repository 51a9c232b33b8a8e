// Reports: results as trees of values, for JSON output.
#ifndef SCHEDFW_SCHEDULER_REPORT_H_
#define SCHEDFW_SCHEDULER_REPORT_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/base/value.h"
#include "schedfw/framework/profile.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw {

namespace internal {

inline Value StatusValue(const Status& status) {
  Value out = Value::Object();
  out.Set("code", CodeName(status.code()));
  if (!status.plugin().empty()) out.Set("plugin", status.plugin());
  if (!status.reasons().empty()) {
    Value::List reasons;
    for (const std::string& reason : status.reasons()) reasons.emplace_back(reason);
    out.Set("reasons", std::move(reasons));
  }
  return out;
}

inline std::vector<Row> ByName(const Snapshot& snapshot, std::vector<Row> rows) {
  const auto& rank = snapshot.NameRank();
  std::sort(rows.begin(), rows.end(), [&](Row a, Row b) { return rank[a] < rank[b]; });
  return rows;
}

inline Value::List Names(const Snapshot& snapshot, const std::vector<Row>& rows) {
  Value::List out;
  for (const Row row : rows) out.emplace_back(snapshot.name(row));
  return out;
}

}  // namespace internal

/// What preemption does for a pod, in the form of the recorded answers; each victim is a pod's
/// name.
inline Value ToValue(const PreemptionResult& in) {
  Value out = internal::StatusValue(in.status);
  if (!in.nominated_node.empty()) out.Set("nominatedNode", in.nominated_node);
  if (!in.victims.empty()) {
    Value::List victims;
    for (const Victim& victim : in.victims) victims.emplace_back(victim.pod->FullName());
    out.Set("victims", std::move(victims));
  }
  return out;
}

/// One pod's explanation in the form that the reference scheduler's recorded answers have: statuses
/// by node, raw and weighted scores by plugin and node, totals, and the best nodes. Nodes in name
/// order. `scores`: false leaves scores and totals out.
inline Value ToValue(const Explanation& in, const Snapshot& snapshot, bool scores = true) {
  Value out = Value::Object();
  out.Set("pod", in.pod->FullName());
  if (!in.known_profile) {
    Value status = Value::Object();
    status.Set("code", "NoProfile");
    status.Set("reasons", Value::List{in.profile});
    out.Set("preFilter", std::move(status));
    return out;
  }
  if (!in.pre_enqueue.ok()) {
    out.Set("preEnqueue", internal::StatusValue(in.pre_enqueue));
    return out;
  }
  if (!in.diagnosis.pre_filter.ok()) {
    out.Set("preFilter", internal::StatusValue(in.diagnosis.pre_filter));
    if (in.preemption) out.Set("preemption", ToValue(*in.preemption));
    return out;
  }
  if (in.diagnosis.pre_filter_nodes) {
    Value::List names;
    for (const std::string& name : *in.diagnosis.pre_filter_nodes) names.emplace_back(name);
    out.Set("preFilterNodes", std::move(names));
  }
  std::vector<Row> all(snapshot.size());
  for (Row row = 0; row < snapshot.size(); ++row) all[row] = row;
  Value::Object filter;
  for (const Row row : internal::ByName(snapshot, all)) {
    if (in.diagnosis.IsFeasible(row) || in.diagnosis.IsLeftOut(row)) continue;
    filter.emplace_back(snapshot.name(row), internal::StatusValue(in.diagnosis.status(row)));
  }
  out.Set("filter", std::move(filter));
  const std::vector<Row> feasible = internal::ByName(snapshot, in.feasible);
  out.Set("feasible", internal::Names(snapshot, feasible));
  if (!in.score_status.ok()) {
    out.Set("preScore", internal::StatusValue(in.score_status));
    return out;
  }
  if (in.feasible.empty()) {
    if (in.preemption) out.Set("preemption", ToValue(*in.preemption));
    return out;
  }

  out.Set("best", internal::Names(snapshot, in.best));
  if (!scores) return out;
  const auto& rank = snapshot.NameRank();
  std::vector<Eigen::Index> order(in.scores.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Eigen::Index>(i);
  std::sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) {
    return rank[in.scores.rows[static_cast<std::size_t>(a)]] <
           rank[in.scores.rows[static_cast<std::size_t>(b)]];
  });
  const auto by_node = [&](const auto& score_of) {
    Value::Object nodes;
    for (const Eigen::Index i : order) {
      nodes.emplace_back(snapshot.name(in.scores.rows[static_cast<std::size_t>(i)]), score_of(i));
    }
    return nodes;
  };
  Value::Object raw, weighted;
  for (std::size_t p = 0; p < in.scores.plugins.size(); ++p) {
    const auto row = static_cast<Eigen::Index>(p);
    raw.emplace_back(in.scores.plugins[p],
                     by_node([&](Eigen::Index i) { return in.scores.raw(row, i); }));
    weighted.emplace_back(in.scores.plugins[p],
                          by_node([&](Eigen::Index i) { return in.scores.weighted(row, i); }));
  }
  out.Set("raw", std::move(raw));
  out.Set("weighted", std::move(weighted));
  out.Set("total", by_node([&](Eigen::Index i) { return in.scores.total(i); }));
  return out;
}

/// Placements as [[pod, node], …]; an empty node means none.
inline Value ToValue(const std::vector<Placement>& placements) {
  Value::List out;
  for (const Placement& placement : placements) {
    out.emplace_back(Value::List{placement.pod->FullName(), placement.node});
  }
  return out;
}

/// The effective plugins of a profile by extension point: names, with ":weight" for Score.
inline Value ToValue(const Profile& profile) {
  Value::Object out;
  for (ExtensionPoint point : AllPoints()) {
    Value::List names;
    for (const PluginRef& ref : profile.at(point)) {
      names.emplace_back(
          point == ExtensionPoint::kScore ? ref.name + ":" + std::to_string(ref.weight) : ref.name);
    }
    out.emplace_back(PointName(point), std::move(names));
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_SCHEDULER_REPORT_H_
