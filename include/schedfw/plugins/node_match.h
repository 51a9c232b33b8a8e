// Node selectors over columns: which rows a pod's node affinity matches.
#ifndef SCHEDFW_PLUGINS_NODE_MATCH_H_
#define SCHEDFW_PLUGINS_NODE_MATCH_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
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

/// Whether a selector matches a node.
enum class NodeMatch : std::uint8_t {
  kNo,
  kYes,
  kUnparsable,  ///< no term that can be parsed does
};

/// Whether a label's value, or its absence (nullptr), satisfies a requirement that can be parsed:
/// Requirement::Matches, by the texts.
inline bool Matches(const api::SelectorRequirement& requirement, const std::string* value) {
  const auto has_value = [&] {
    const std::vector<std::string>& values = requirement.values;
    return std::find(values.begin(), values.end(), *value) != values.end();
  };
  switch (requirement.op) {
    case api::SelectorOperator::kIn:
      return value != nullptr && has_value();
    case api::SelectorOperator::kNotIn:
      return value == nullptr || !has_value();
    case api::SelectorOperator::kExists:
      return value != nullptr;
    case api::SelectorOperator::kDoesNotExist:
      return value == nullptr;
    case api::SelectorOperator::kGt:
    case api::SelectorOperator::kLt: {
      const auto number = value == nullptr ? std::nullopt : ParseInteger(*value);
      if (!number) return false;
      const std::int64_t bound = *ParseInteger(requirement.values[0]);
      return requirement.op == api::SelectorOperator::kGt ? *number > bound : *number < bound;
    }
  }
  return false;
}

/// Matches one node, which need not be in a snapshot, without compiling anything
/// (component-helpers nodeaffinity.go, LazyErrorNodeSelector).
inline NodeMatch MatchNode(const api::NodeSelector& selector, const api::Node& node) {
  bool unparsable = false;
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) {
    if (internal::IsEmpty(term)) continue;
    const auto& expressions = term.match_expressions;
    if (std::any_of(expressions.begin(), expressions.end(),
                    [](const auto& expression) { return FindLazyError(expression).has_value(); })) {
      unparsable = true;
      continue;
    }
    const auto matches_label = [&](const api::SelectorRequirement& expression) {
      const auto label = node.metadata.labels.find(expression.key);
      return Matches(expression, label == node.metadata.labels.end() ? nullptr : &label->second);
    };
    const auto matches_name = [&](const api::SelectorRequirement& field) {
      return Matches(field, &node.metadata.name);
    };
    if (std::all_of(expressions.begin(), expressions.end(), matches_label) &&
        std::all_of(term.match_fields.begin(), term.match_fields.end(), matches_name)) {
      return NodeMatch::kYes;
    }
  }
  return unparsable ? NodeMatch::kUnparsable : NodeMatch::kNo;
}

/// The same for spec.nodeSelector and the required node affinity (RequiredNodeAffinity.Match).
inline NodeMatch MatchNode(const api::PodSpec& spec, const api::Node& node) {
  if (spec.node_selector) {
    for (const auto& [key, value] : *spec.node_selector) {
      const auto label = node.metadata.labels.find(key);
      if (label == node.metadata.labels.end() || label->second != value) return NodeMatch::kNo;
    }
  }
  const auto& affinity = spec.affinity.node_affinity;
  return affinity && affinity->required ? MatchNode(*affinity->required, node) : NodeMatch::kYes;
}

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NODE_MATCH_H_
