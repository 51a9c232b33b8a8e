// LabelSelector: which labels an object must have (metav1.LabelSelector).
#ifndef SCHEDFW_API_LABEL_SELECTOR_H_
#define SCHEDFW_API_LABEL_SELECTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schedfw/api/meta.h"

namespace schedfw::api {

/// Operators of label selectors and node selectors; Gt and Lt exist for nodes only.
enum class SelectorOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

/// `key operator values`; one type for LabelSelectorRequirement and NodeSelectorRequirement.
struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;

  friend bool operator==(const SelectorRequirement&, const SelectorRequirement&) = default;
};

/// All of matchLabels and matchExpressions must hold. An empty selector matches everything; where
/// the field is optional, an absent one matches nothing.
struct LabelSelector {
  StringMap match_labels;
  std::vector<SelectorRequirement> match_expressions;

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

}  // namespace schedfw::api

#endif  // SCHEDFW_API_LABEL_SELECTOR_H_
