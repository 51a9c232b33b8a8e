#include "io/json_syntax.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "io/json_number.h"

namespace schedfw::io {
namespace {

constexpr std::size_t kMaxDepth = 10000;
constexpr std::size_t kMaxPath = 200;
constexpr std::size_t kMaxQuote = 40;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsStructural(char c) { return std::string_view("{}[],:\"").find(c) != std::string_view::npos; }

// The value of a hexadecimal digit, or -1.
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  std::optional<JsonFault> Run() {
    try {
      while (ReadNext()) {
      }
    } catch (JsonFault& fault) {  // thrown in this class only
      return std::move(fault);
    }
    return std::nullopt;
  }

 private:
  // What the grammar allows next.
  enum class Expect : std::uint8_t { kDocument, kKey, kKeyOrEnd, kValue, kValueOrEnd, kCommaOrEnd };

  struct Frame {
    bool object;
    std::size_t index;     // of the element, in a list
    std::string_view key;  // of the member, in an object: with its escapes
  };

  // Reads the next piece of the text; false at its end.
  bool ReadNext() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
    if (at_ == text_.size()) {
      if (frames_.empty()) return false;
      ThrowAtEnd();
    }
    const char c = text_[at_];
    switch (expect_) {
      case Expect::kDocument:
        if (c != '{' && c != '[') Unexpected("an object or the end of the text");
        ReadValue(c);
        break;
      case Expect::kKey:
      case Expect::kKeyOrEnd:
        if (c == '}' && expect_ == Expect::kKeyOrEnd) {
          Close();
        } else if (c == '"') {
          ReadMember();
        } else {
          Unexpected(expect_ == Expect::kKey ? "a key in quotes" : "a key in quotes or `}`");
        }
        break;
      case Expect::kValueOrEnd:
        if (c == ']') {
          Close();
        } else {
          ReadValue(c);
        }
        break;
      case Expect::kValue:
        ReadValue(c);
        break;
      case Expect::kCommaOrEnd: {
        Frame& frame = frames_.back();
        if (c == ',') {
          ++at_;
          ++frame.index;
          frame.key = {};
          expect_ = frame.object ? Expect::kKey : Expect::kValue;
        } else if (c == (frame.object ? '}' : ']')) {
          Close();
        } else {
          Unexpected(frame.object ? "`,` or `}`" : "`,` or `]`");
        }
        break;
      }
    }
    return true;
  }

  void ReadMember() {
    const std::size_t begin = at_;
    ReadString();
    frames_.back().key = text_.substr(begin + 1, at_ - begin - 2);
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
    if (at_ == text_.size()) ThrowAtEnd();
    if (text_[at_] != ':') Unexpected("`:` and a value");
    ++at_;
    expect_ = Expect::kValue;
  }

  void ReadValue(char c) {
    if (c == '{' || c == '[') {
      if (frames_.size() == kMaxDepth) {
        Throw("nested deeper than " + std::to_string(kMaxDepth) + " levels");
      }
      frames_.push_back({c == '{', 0, {}});
      expect_ = c == '{' ? Expect::kKeyOrEnd : Expect::kValueOrEnd;
      ++at_;
      return;
    }
    if (c == '"') {
      ReadString();
    } else if (c == '-' || IsDigit(c)) {
      ReadNumber();
    } else {
      const std::string_view word = Word();
      if (word != "true" && word != "false" && word != "null") Unexpected("a value");
      at_ += word.size();
    }
    EndValue();
  }

  void Close() {
    ++at_;
    frames_.pop_back();
    EndValue();
  }

  void EndValue() { expect_ = frames_.empty() ? Expect::kDocument : Expect::kCommaOrEnd; }

  void ReadNumber() {
    const std::string_view word = Word();
    std::size_t i = word[0] == '-' ? 1 : 0;
    const auto digits = [&] {
      const std::size_t begin = i;
      while (i < word.size() && IsDigit(word[i])) ++i;
      return i > begin;
    };
    bool good = i < word.size();
    if (good && word[i] == '0') {
      ++i;
    } else {
      good = digits();
    }
    if (good && i < word.size() && word[i] == '.') {
      ++i;
      good = digits();
    }
    if (good && i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
      ++i;
      if (i < word.size() && (word[i] == '-' || word[i] == '+')) ++i;
      good = digits();
    }
    if (!good || i != word.size()) {
      Throw("`" + Printable(word, kMaxQuote) + "` is neither a number nor a string in quotes");
    }
    at_ += word.size();
  }

  void ReadString() {
    ++at_;
    while (true) {
      if (at_ == text_.size()) Throw("the text ends in the middle of a string");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        ReadEscape();
      } else if (c == '\n' || c == '\r') {
        Throw("a string isn't closed on its line");
      } else if (static_cast<unsigned char>(c) < 0x20) {
        Throw("a control character in a string must be escaped (" +
              Printable(text_.substr(at_, 1)) + ")");
      } else if (const int length = Utf8Length(text_.substr(at_, 4)); length > 0) {
        at_ += static_cast<std::size_t>(length);
      } else {
        Throw("the text is not valid UTF-8");
      }
    }
    ++at_;
  }

  // The four digits of \uXXXX at `from`, or -1.
  int Hex4(std::size_t from) const {
    int value = 0;
    for (std::size_t i = from; i < from + 4; ++i) {
      const int digit = i < text_.size() ? HexDigit(text_[i]) : -1;
      if (digit < 0) return -1;
      value = 16 * value + digit;
    }
    return value;
  }

  void ReadEscape() {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : 'n';  // the end is seen to later
    if (c != 'u') {
      if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
        Throw("unknown escape `\\" + Printable(text_.substr(at_ + 1, 1)) + "` in a string");
      }
      at_ = std::min(at_ + 2, text_.size());
      return;
    }
    const int code = Hex4(at_ + 2);
    if (code < 0) Throw("`\\u` in a string needs four hexadecimal digits");
    std::size_t length = 6;
    if (code >= 0xd800 && code < 0xe000) {
      const int low = text_.substr(at_ + 6, 2) == "\\u" ? Hex4(at_ + 8) : -1;
      if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000) {
        Throw("`" + std::string(text_.substr(at_, 6)) + "` in a string is half of a character");
      }
      length = 12;
    }
    at_ += length;
  }

  // The run of characters that a number or a word would be.
  std::string_view Word() const {
    std::size_t end = at_;
    while (end < text_.size() && !IsBlank(text_[end]) && !IsStructural(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // What stands where something else should.
  std::string Got() const {
    if (text_[at_] != '"') {
      const std::string_view word = Word();
      return Printable(word.empty() ? text_.substr(at_, 1) : word, kMaxQuote);
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') ++end;
    return Printable(text_.substr(at_, end + 1 - at_), kMaxQuote);
  }

  [[noreturn]] void ThrowAtEnd() {
    if (expect_ == Expect::kValue) Throw("the text ends where a value should be");
    const bool object = frames_.back().object;
    frames_.pop_back();  // the path is that of the object or list
    Throw(std::string("the text ends in the middle of ") + (object ? "an object" : "a list"));
  }

  [[noreturn]] void Unexpected(const char* expected) const {
    if (Utf8Length(text_.substr(at_, 4)) == 0) Throw("the text is not valid UTF-8");
    Throw(std::string("expected ") + expected + ", got `" + Got() + "`");
  }

  [[noreturn]] void Throw(std::string reason) const {
    JsonFault fault{at_, {}, std::move(reason)};
    for (const Frame& frame : frames_) {
      if (!frame.object) {
        fault.path += "[" + std::to_string(frame.index) + "]";
      } else if (frame.key.data() != nullptr) {
        fault.path += (fault.path.empty() ? "" : ".") + Printable(frame.key);
      }
      if (fault.path.size() > kMaxPath) {
        fault.path += "…";
        break;
      }
    }
    throw fault;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expect expect_ = Expect::kDocument;
  std::vector<Frame> frames_;
};

}  // namespace

std::string Printable(std::string_view text, std::size_t most) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto length = static_cast<std::size_t>(Utf8Length(text.substr(i, 4)));
    std::string piece(text.substr(i, length == 0 ? 1 : length));
    if (text[i] == '\n') {
      piece = "\\n";
    } else if (text[i] == '\r') {
      piece = "\\r";
    } else if (text[i] == '\t') {
      piece = "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      piece = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
    if (out.size() + piece.size() > most) return out + "…";
    out += piece;
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::optional<JsonFault> FindJsonFault(std::string_view text) { return FaultFinder(text).Run(); }

std::size_t EndOfJsonValue(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

bool BeginsAsJson(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::size_t at = text.find_first_not_of(kBlanks);
  if (at == std::string_view::npos || (text[at] != '{' && text[at] != '[')) return false;
  while (at != std::string_view::npos && text[at] == '[')
    at = text.find_first_not_of(kBlanks, at + 1);
  if (at == std::string_view::npos || text[at] != '{') return true;
  at = text.find_first_not_of(kBlanks, at + 1);
  return at == std::string_view::npos || text[at] == '"' || text[at] == '}';
}

}  // namespace schedfw::io
