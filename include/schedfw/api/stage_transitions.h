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

// Reads one JSON object whose members are integers; a few lines, so that a header can have them.
class StageTransitionsReader {
 public:
  explicit StageTransitionsReader(std::string_view text) : text_(text) {}

  Result<StageTransitions> Read() {
    SkipBlanks();
    if (!Eat('{')) return StartsValue() ? ParseError(": must be an object") : Broken("no value");
    StageTransitions out;
    SkipBlanks();
    if (!Eat('}')) {
      do {
        SkipBlanks();
        auto key = ReadString();
        if (!key) return key.error();
        SkipBlanks();
        if (!Eat(':')) return Broken("expected ':'");
        SkipBlanks();
        if (key->empty()) return ParseError(": a stage must have a name");
        const bool twice = std::any_of(out.begin(), out.end(),
                                       [&](const auto& entry) { return entry.first == *key; });
        if (twice) return ParseError("." + *key + ": is given twice");
        auto value = ReadPriority(*key);
        if (!value) return value.error();
        out.emplace_back(*std::move(key), *value);
        SkipBlanks();
      } while (Eat(','));
      if (!Eat('}')) return Broken("expected ',' or '}'");
    }
    SkipBlanks();
    if (at_ != text_.size()) return Broken("more text behind the object");
    return out;
  }

 private:
  Error Broken(const std::string& what) const {
    return ParseError(": invalid JSON at byte " + std::to_string(at_) + ": " + what);
  }
  bool More() const { return at_ < text_.size(); }
  bool Eat(char c) {
    if (!More() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipBlanks() {
    while (More() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  // A value of any other type than an object.
  bool StartsValue() const {
    if (!More()) return false;
    const std::string_view rest = text_.substr(at_);
    return rest[0] == '"' || rest[0] == '[' || rest[0] == '-' || IsDigit(rest[0]) ||
           rest.starts_with("true") || rest.starts_with("false") || rest.starts_with("null");
  }
  std::size_t SkipDigits() {
    const std::size_t from = at_;
    while (More() && IsDigit(text_[at_])) ++at_;
    return at_ - from;
  }

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
  bool StartsObjectOrValue() const { return More() && (text_[at_] == '{' || StartsValue()); }

  std::optional<std::uint32_t> ReadHex() {
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      if (!More()) return std::nullopt;
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(text_[at_]);
      if (digit == std::string_view::npos) return std::nullopt;
      out = 16 * out + static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
      ++at_;
    }
    return out;
  }
  static void AppendUtf8(std::uint32_t code, std::string& out) {
    const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
      add(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        add(0xE0 | code >> 12);
      } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
      }
      add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }
  Result<std::string> ReadString() {
    if (!Eat('"')) return Broken("expected a text in double quotes");
    std::string out;
    for (;;) {
      if (!More()) return Broken("the text does not end");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Broken("a control character in a text");
      ++at_;
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      if (!More()) return Broken("the text does not end");
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const char escape = text_[at_];
      if (const std::size_t found = kEscapes.find(escape); found != std::string_view::npos) {
        ++at_;
        out.push_back(kMeanings[found]);
        continue;
      }
      if (!Eat('u')) return Broken("an unknown escape");
      std::optional<std::uint32_t> code = ReadHex();
      if (code && *code >= 0xD800 && *code < 0xDC00) {
        std::optional<std::uint32_t> low;
        if (Eat('\\') && Eat('u')) low = ReadHex();
        if (!low || *low < 0xDC00 || *low > 0xDFFF) return Broken("half a surrogate pair");
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      } else if (code && *code >= 0xDC00 && *code <= 0xDFFF) {
        return Broken("half a surrogate pair");
      }
      if (!code) return Broken("\\u wants four hexadecimal digits");
      AppendUtf8(*code, out);
    }
  }

  // Beyond all that counts, and far from where numbers of 64 bits end.
  static constexpr std::int64_t kTooMuch = 10'000'000'000;

  std::string_view text_;
  std::size_t at_ = 0;
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
