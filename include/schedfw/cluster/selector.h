// Selector: a label selector or node selector compiled to interned ids.
#ifndef SCHEDFW_CLUSTER_SELECTOR_H_
#define SCHEDFW_CLUSTER_SELECTOR_H_

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/api/label_selector.h"
#include "schedfw/api/resource_name.h"
#include "schedfw/base/result.h"
#include "schedfw/cluster/dictionary.h"

namespace schedfw {

/// Go's strconv.ParseInt(text, 10, 64): a sign, then digits; nullopt when it doesn't fit.
inline std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One requirement: `key op values` (apimachinery pkg/labels/selector.go, Requirement).
struct Requirement {
  StringId key = 0;
  api::SelectorOperator op = api::SelectorOperator::kIn;
  std::vector<StringId> values;  ///< sorted
  std::int64_t bound = 0;        ///< of Gt and Lt

  /// Whether a label's value, or its absence (nullptr), satisfies it.
  bool Matches(const StringId* value, const Dictionary& dictionary) const {
    switch (op) {
      case api::SelectorOperator::kIn:
        return value != nullptr && Has(*value);
      case api::SelectorOperator::kNotIn:
        return value == nullptr || !Has(*value);
      case api::SelectorOperator::kExists:
        return value != nullptr;
      case api::SelectorOperator::kDoesNotExist:
        return value == nullptr;
      case api::SelectorOperator::kGt:
      case api::SelectorOperator::kLt: {
        if (value == nullptr) return false;
        const auto number = ParseInteger(dictionary.Text(*value));
        if (!number) return false;
        return op == api::SelectorOperator::kGt ? *number > bound : *number < bound;
      }
    }
    return false;
  }

  friend bool operator==(const Requirement&, const Requirement&) = default;

 private:
  bool Has(StringId value) const { return std::binary_search(values.begin(), values.end(), value); }
};

/// The first value that the API server stores in a node selector though it can't be parsed: a bound
/// of Gt or Lt that is not an integer, a value that no label can have.
inline std::optional<std::size_t> FindLazyError(const api::SelectorRequirement& in) {
  const bool bound = in.op == api::SelectorOperator::kGt || in.op == api::SelectorOperator::kLt;
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    if (bound && in.values.size() == 1 && !ParseInteger(in.values[i])) return i;
    if (!api::IsLabelValue(in.values[i])) return i;
  }
  return std::nullopt;
}

/// The same as an Error.
inline Result<void> LazyError(const api::SelectorRequirement& in) {
  const std::optional<std::size_t> found = FindLazyError(in);
  if (!found) return {};
  const bool bound = in.op == api::SelectorOperator::kGt || in.op == api::SelectorOperator::kLt;
  const std::string& value = in.values[*found];
  const std::string at = "values[" + std::to_string(*found) + "]: \"" + value + "\" ";
  if (bound && in.values.size() == 1 && !ParseInteger(value)) {
    return ParseError(at + "is not an integer, which Gt and Lt need (key \"" + in.key + "\")");
  }
  return ParseError(at + "is not a label value (key \"" + in.key + "\")");
}

/// Compiles a requirement. Errors: an operator that `nodes` doesn't allow (Gt and Lt select nodes
/// only), a number of values the operator doesn't allow, a bound that is not an integer.
inline Result<Requirement> Compile(const api::SelectorRequirement& in, bool nodes,
                                   Dictionary& dictionary) {
  Requirement out;
  out.key = dictionary.Intern(in.key);
  out.op = in.op;
  for (const std::string& value : in.values) out.values.push_back(dictionary.Intern(value));
  std::sort(out.values.begin(), out.values.end());
  if (!api::IsQualifiedName(in.key)) {
    return ParseError("key: \"" + in.key + "\" is not a label key (allowed: [prefix/]name)");
  }
  switch (in.op) {
    case api::SelectorOperator::kIn:
    case api::SelectorOperator::kNotIn:
      if (in.values.empty()) {
        return ParseError("values: In and NotIn need at least one value (key \"" + in.key + "\")");
      }
      break;
    case api::SelectorOperator::kExists:
    case api::SelectorOperator::kDoesNotExist:
      if (!in.values.empty()) {
        return ParseError("values: Exists and DoesNotExist take no values (key \"" + in.key +
                          "\")");
      }
      break;
    case api::SelectorOperator::kGt:
    case api::SelectorOperator::kLt: {
      if (!nodes) {
        return ParseError("operator: Gt and Lt select nodes only (key \"" + in.key +
                          "\"; allowed: In, NotIn, Exists, DoesNotExist)");
      }
      if (in.values.size() != 1) {
        return ParseError("values: Gt and Lt need exactly one value (key \"" + in.key + "\")");
      }
      break;
    }
  }
  if (auto done = LazyError(in); !done) return done.error();
  if (nodes && (in.op == api::SelectorOperator::kGt || in.op == api::SelectorOperator::kLt)) {
    out.bound = *ParseInteger(in.values[0]);
  }
  return out;
}

/// A compiled label selector: nothing, everything, or requirements that must all hold.
class Selector {
 public:
  /// Matches nothing: what an absent (nil) selector means.
  static Selector Nothing() {
    Selector out;
    out.nothing_ = true;
    return out;
  }
  /// Matches everything: what an empty selector means.
  static Selector Everything() { return {}; }
  /// Matches labels that hold all of `labels`.
  static Selector FromLabels(const api::StringMap& labels, Dictionary& dictionary) {
    Selector out;
    for (const auto& [key, value] : labels) {
      out.Add({dictionary.Intern(key), api::SelectorOperator::kIn, {dictionary.Intern(value)}, 0});
    }
    return out;
  }
  /// metav1.LabelSelectorAsSelector. Errors: see Compile(SelectorRequirement).
  static Result<Selector> Compile(const std::optional<api::LabelSelector>& in,
                                  Dictionary& dictionary) {
    if (!in) return Nothing();
    for (const auto& [key, value] : in->match_labels) {
      if (!api::IsQualifiedName(key)) {
        return ParseError("matchLabels: \"" + key +
                          "\" is not a label key (allowed: [prefix/]name)");
      }
      if (!api::IsLabelValue(value)) {
        return ParseError("matchLabels." + key + ": \"" + value + "\" is not a label value");
      }
    }
    Selector out = FromLabels(in->match_labels, dictionary);
    for (std::size_t i = 0; i < in->match_expressions.size(); ++i) {
      Result<Requirement> requirement =
          schedfw::Compile(in->match_expressions[i], /*nodes=*/false, dictionary);
      if (!requirement) {
        return requirement.error().In("matchExpressions[" + std::to_string(i) + "]");
      }
      out.Add(*std::move(requirement));
    }
    return out;
  }

  /// Adds a requirement; Nothing stays Nothing.
  void Add(Requirement requirement) {
    if (!nothing_) requirements_.push_back(std::move(requirement));
  }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  bool IsNothing() const { return nothing_; }
  /// True for Everything (upstream's Empty()).
  bool Empty() const { return !nothing_ && requirements_.empty(); }

  bool Matches(const Labels& labels, const Dictionary& dictionary) const {
    if (nothing_) return false;
    for (const Requirement& requirement : requirements_) {
      if (!requirement.Matches(FindLabel(labels, requirement.key), dictionary)) return false;
    }
    return true;
  }

  friend bool operator==(const Selector&, const Selector&) = default;

 private:
  bool nothing_ = false;
  std::vector<Requirement> requirements_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_SELECTOR_H_
