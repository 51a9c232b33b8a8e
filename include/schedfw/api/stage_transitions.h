// StageTransitions: the priorities that a PriorityClass gives to the stages of a pod.
#ifndef SCHEDFW_API_STAGE_TRANSITIONS_H_
#define SCHEDFW_API_STAGE_TRANSITIONS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/objects.h"
#include "schedfw/base/json_object.h"
#include "schedfw/base/result.h"

namespace schedfw::api {

/// The annotation of a PriorityClass that holds them: a JSON object, stage → priority.
inline constexpr const char* kStageTransitions = "scheduling.kubeflow.org/stage-transitions";

/// The highest priority that isn't kept for system classes (scheduling.HighestUserDefinablePriority
/// in pkg/apis/scheduling/types.go).
inline constexpr std::int32_t kHighestUserPriority = 1'000'000'000;

/// In the order given; no stage is named twice.
using StageTransitions = std::vector<std::pair<std::string, std::int32_t>>;

namespace internal {

// Reads one JSON object whose members are integers.
class StageTransitionsReader : schedfw::internal::JsonObjectReader {
 public:
  using JsonObjectReader::JsonObjectReader;

  Result<StageTransitions> Read() {
    StageTransitions out;
    auto done = ReadObject([&](std::string key) -> Result<void> {
      if (key.empty()) return ParseError(": a stage must have a name");
      const bool twice = std::any_of(out.begin(), out.end(),
                                     [&](const auto& entry) { return entry.first == key; });
      if (twice) return ParseError("." + key + ": is given twice");
      auto value = ReadPriority(key);
      if (!value) return value.error();
      out.emplace_back(std::move(key), *value);
      return {};
    });
    if (!done) return done.error();
    return out;
  }

 private:
  Result<std::int32_t> ReadPriority(const std::string& key) {
    const bool negative = Eat('-');
    const std::size_t from = at_;
    const std::size_t digits = SkipDigits();
    if (digits == 0) {
      if (negative || !StartsObjectOrValue()) return Broken("expected a value");
      return ParseError("." + key + ": must be an integer");
    }
    if (digits > 1 && text_[from] == '0') return Broken("a number begins with 0");
    if (More() && std::string_view(".eE").find(text_[at_]) != std::string_view::npos) {
      return ParseError("." + key + ": must be an integer");
    }
    const std::string number = (negative ? "-" : "") + std::string(text_.substr(from, digits));
    std::int64_t value = 0;
    for (std::size_t i = from; i < from + digits && value < kTooMuch; ++i) {
      value = 10 * value + (text_[i] - '0');
    }
    if (negative) value = -value;
    if (value < std::numeric_limits<std::int32_t>::min()) {
      return ParseError("." + key + ": " + number + " does not fit into 32 bits");
    }
    if (value > kHighestUserPriority) {
      return ParseError("." + key + ": " + number + " is more than " +
                        std::to_string(kHighestUserPriority));
    }
    return static_cast<std::int32_t>(value);
  }
  // Beyond all that counts, and far from where numbers of 64 bits end.
  static constexpr std::int64_t kTooMuch = 10'000'000'000;
};

}  // namespace internal

/// The transitions of a class; absent: it has none. O(size of the annotation).
///
/// Error: the annotation is no JSON object, or a value of it is no integer of 32 bits, is more than
/// kHighestUserPriority, or belongs to a stage without a name or one that is given twice. It names
/// the annotation and the key, but not the class.
inline Result<std::optional<StageTransitions>> TransitionsOf(const PriorityClass& priority_class) {
  const auto& annotations = priority_class.metadata.annotations;
  const auto it = annotations.find(kStageTransitions);
  if (it == annotations.end()) return std::optional<StageTransitions>();
  auto read = internal::StageTransitionsReader(it->second).Read();
  if (!read) {
    return ParseError(std::string("metadata.annotations.\"") + kStageTransitions + "\"" +
                      read.error().message());
  }
  return std::optional(*std::move(read));
}

/// An Error where TransitionsOf gives one for a class of a list; it names the class too.
inline Result<void> CheckTransitions(const std::vector<PriorityClass>& classes) {
  for (const PriorityClass& priority_class : classes) {
    if (auto read = TransitionsOf(priority_class); !read) {
      return read.error().In("PriorityClass " + priority_class.metadata.name);
    }
  }
  return {};
}

}  // namespace schedfw::api

#endif  // SCHEDFW_API_STAGE_TRANSITIONS_H_
