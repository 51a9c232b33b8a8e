// Node selectors over columns: which rows a pod's node affinity matches.
#ifndef SCHEDFW_PLUGINS_NODE_MATCH_H_
#define SCHEDFW_PLUGINS_NODE_MATCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedfw/cluster/pod_info.h"
#include "schedfw/cluster/snapshot.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

/// A requirement resolved against the label column of one snapshot: a table by ordinal.
class RowRequirement {
 public:
  RowRequirement(const Requirement& requirement, const Snapshot& snapshot) {
    const LabelColumn& column = snapshot.Label(requirement.key);
    ordinals_ = column.ordinals.data();
    verdict_.resize(column.OrdinalCount());
    const auto set = [&](std::uint8_t value) {
      for (StringId id : requirement.values) {
        if (const std::uint32_t ordinal = column.OrdinalOf(id)) verdict_[ordinal] = value;
      }
    };
    switch (requirement.op) {
      case api::SelectorOperator::kIn:
        set(1);
        break;
      case api::SelectorOperator::kNotIn:
        std::fill(verdict_.begin(), verdict_.end(), std::uint8_t{1});
        set(0);
        break;
      case api::SelectorOperator::kExists:
        std::fill(verdict_.begin() + 1, verdict_.end(), std::uint8_t{1});
        break;
      case api::SelectorOperator::kDoesNotExist:
        verdict_[0] = 1;
        break;
      case api::SelectorOperator::kGt:
      case api::SelectorOperator::kLt:
        for (std::size_t i = 0; i < column.values.size(); ++i) {
          verdict_[i + 1] = requirement.Matches(&column.values[i], snapshot.dictionary()) ? 1 : 0;
        }
        break;
    }
  }

  bool Matches(Row row) const { return verdict_[ordinals_[row]] != 0; }

 private:
  const std::uint32_t* ordinals_;
  std::vector<std::uint8_t> verdict_;
};

/// A term of a node selector against one snapshot. Valid while the snapshot is.
class RowTerm {
 public:
  RowTerm(const NodeTerm& term, const Snapshot& snapshot)
      : weight_(term.weight), never_(!term.error.empty()) {
    for (const Requirement& requirement : term.expressions) {
      expressions_.emplace_back(requirement, snapshot);
    }
    for (const NodeTerm::NameTest& test : term.names) {
      names_.push_back({test.equal, snapshot.FindById(test.name)});
    }
  }

  std::int32_t weight() const { return weight_; }
  bool Matches(Row row) const {
    if (never_) return false;
    for (const RowRequirement& requirement : expressions_) {
      if (!requirement.Matches(row)) return false;
    }
    for (const auto& [equal, node] : names_) {
      if ((node == row) != equal) return false;
    }
    return true;
  }

 private:
  struct Name {
    bool equal;
    std::optional<Row> node;
  };
  std::vector<RowRequirement> expressions_;
  std::vector<Name> names_;
  std::int32_t weight_;
  bool never_;
};

/// A required node affinity against one snapshot (component-helpers nodeaffinity.go).
class RowAffinity {
 public:
  RowAffinity() = default;
  RowAffinity(const RequiredNodeAffinity& affinity, const Snapshot& snapshot)
      : has_terms_(affinity.has_terms) {
    for (const Requirement& requirement : affinity.node_selector) {
      selector_.emplace_back(requirement, snapshot);
    }
    for (const NodeTerm& term : affinity.terms) terms_.emplace_back(term, snapshot);
  }

  /// True when it matches every node.
  bool Empty() const { return selector_.empty() && !has_terms_; }
  bool Matches(Row row) const {
    for (const RowRequirement& requirement : selector_) {
      if (!requirement.Matches(row)) return false;
    }
    if (!has_terms_) return true;
    for (const RowTerm& term : terms_) {
      if (term.Matches(row)) return true;
    }
    return false;
  }

 private:
  std::vector<RowRequirement> selector_;
  bool has_terms_ = false;
  std::vector<RowTerm> terms_;
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_MATCH_H_
