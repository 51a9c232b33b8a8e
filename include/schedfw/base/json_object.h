// JsonObjectReader: reads one JSON object member by member.
#ifndef SCHEDFW_BASE_JSON_OBJECT_H_
#define SCHEDFW_BASE_JSON_OBJECT_H_

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "schedfw/base/result.h"

namespace schedfw::internal {

// Reads the small JSON objects that annotations hold; a few lines, so that a header can have them.
// Errors begin with the path of what is wrong: "" for the object, ".key" for a member, and a colon.
class JsonObjectReader {
 public:
  explicit JsonObjectReader(std::string_view text) : text_(text) {}

  // Calls member(key), which reads the value that comes next, for each member. Returns the first
  // error; keys are unescaped, and may be empty or given twice.
  template <typename F>
  Result<void> ReadObject(F&& member) {
    SkipBlanks();
    if (!Eat('{')) return StartsValue() ? ParseError(": must be an object") : Broken("no value");
    SkipBlanks();
    if (!Eat('}')) {
      do {
        SkipBlanks();
        auto key = ReadString();
        if (!key) return key.error();
        SkipBlanks();
        if (!Eat(':')) return Broken("expected ':'");
        SkipBlanks();
        if (Result<void> done = member(*std::move(key)); !done) return done;
        SkipBlanks();
      } while (Eat(','));
      if (!Eat('}')) return Broken("expected ',' or '}'");
    }
    SkipBlanks();
    if (at_ != text_.size()) return Broken("more text behind the object");
    return {};
  }

  // A number, within what a double can hold.
  Result<double> ReadNumber(const std::string& key) {
    if (!StartsNumber()) {
      if (!StartsObjectOrValue()) return Broken("expected a value");
      return ParseError("." + key + ": must be a number");
    }
    const std::size_t from = at_;
    (void)Eat('-');
    const std::size_t first = at_;
    const std::size_t digits = SkipDigits();
    if (digits == 0) return Broken("expected a value");
    if (digits > 1 && text_[first] == '0') return Broken("a number begins with 0");
    if (Eat('.') && SkipDigits() == 0) return Broken("a number ends with a point");
    if (Eat('e') || Eat('E')) {
      if (!Eat('+')) (void)Eat('-');
      if (SkipDigits() == 0) return Broken("an exponent has no digits");
    }
    double out = 0;
    const auto [end, error] = std::from_chars(text_.data() + from, text_.data() + at_, out);
    if (error != std::errc() || end != text_.data() + at_ || !std::isfinite(out)) {
      return ParseError("." + key + ": " + std::string(text_.substr(from, at_ - from)) +
                        " is out of range");
    }
    return out;
  }

 protected:
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

  bool StartsNumber() const { return More() && (text_[at_] == '-' || IsDigit(text_[at_])); }
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

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace schedfw::internal

#endif  // SCHEDFW_BASE_JSON_OBJECT_H_
