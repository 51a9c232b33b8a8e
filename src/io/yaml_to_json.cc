#include "io/yaml_to_json.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <istream>
#include <limits>
#include <optional>
#include <streambuf>
#include <system_error>
#include <utility>

#include "io/json_number.h"

namespace schedfw::io {
namespace {

constexpr std::size_t kJsonPadding = 64;
constexpr std::size_t kFreeExpansion = std::size_t{64} << 20;  // bytes of JSON always allowed
constexpr std::size_t kExpansionRatio = 16;                    // and this many per byte of YAML
constexpr int kNoLine = -1;

/// A refusal on its way out through yaml-cpp's parser, which passes exceptions on.
struct Refusal {
  int line;  // 0-based as in yaml-cpp's marks, or kNoLine
  std::string reason;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, std::string reason) {
  throw Refusal{mark.is_null() ? kNoLine : mark.line, std::move(reason)};
}

Error ErrorAt(const std::string& file, int line, const std::string& reason) {
  if (line < 0) return ParseError(file + ": " + reason);
  return ParseError(file + ":" + std::to_string(line + 1) + ": " + reason);
}

/// The last line with a text, 0-based. Marks of what is missing at the end lie below it.
int LastLine(std::string_view yaml) {
  const std::size_t end = yaml.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return 0;
  return static_cast<int>(
      std::count(yaml.begin(), yaml.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
}

/// A scalar in backquotes for a message, shortened if it is long.
std::string Quote(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out = "`";
  if (text.size() <= kLongest) {
    out += text;
  } else {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    out += text.substr(0, end);
    out += "...";
  }
  out += '`';
  return out;
}

// ---------------------------------------------------------------------------------------------
// Scalars: the rules of go.yaml.in/yaml/v2, resolve.go, for a target without a type.

/// A scalar's value.
struct Scalar {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kUint, kFloat, kString };
  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t natural = 0;  // kUint: an integer above 2^63 - 1
  double real = 0;
  std::string_view text = {};  // kString

  static Scalar Null() { return {}; }
  static Scalar Bool(bool value) { return {.kind = Kind::kBool, .boolean = value}; }
  static Scalar Int(std::int64_t value) { return {.kind = Kind::kInt, .integer = value}; }
  static Scalar Uint(std::uint64_t value) { return {.kind = Kind::kUint, .natural = value}; }
  static Scalar Float(double value) { return {.kind = Kind::kFloat, .real = value}; }
  static Scalar String(std::string_view value) { return {.kind = Kind::kString, .text = value}; }
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Go's strconv.ParseUint of 64 bits: base 0 means the base that the prefix names.
std::optional<std::uint64_t> ParseUint(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  if (base == 0) {
    base = 10;
    if (text[0] == '0') {
      const char letter = text.size() >= 3 ? static_cast<char>(text[1] | 0x20) : '\0';
      base = letter == 'b' ? 2 : letter == 'x' ? 16 : 8;
      text.remove_prefix(letter == 'b' || letter == 'o' || letter == 'x' ? 2 : 1);
      if (text.empty()) return 0;  // "0" is a prefix of octal with no digits behind it
    }
  }
  if (text[0] == '-') return std::nullopt;  // from_chars would take it
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Go's strconv.ParseInt followed, where that fails, by strconv.ParseUint.
std::optional<Scalar> ParseInteger(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  const bool sign = negative || text[0] == '+';
  const std::optional<std::uint64_t> magnitude = ParseUint(sign ? text.substr(1) : text, base);
  if (!magnitude) return std::nullopt;
  constexpr std::uint64_t kMinMagnitude = std::uint64_t{1} << 63;
  if (negative) {
    if (*magnitude > kMinMagnitude) return std::nullopt;
    return Scalar::Int(static_cast<std::int64_t>(0 - *magnitude));
  }
  if (*magnitude < kMinMagnitude) {
    return Scalar::Int(static_cast<std::int64_t>(*magnitude));
  }
  if (sign) return std::nullopt;  // ParseUint takes no sign
  return Scalar::Uint(*magnitude);
}

/// resolve.go's yamlStyleFloat: ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$
bool IsYamlFloat(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i - start;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  } else {
    if (digits() == 0) return false;
    if (i < text.size() && text[i] == '.') {
      ++i;
      digits();
    }
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

/// Whether a decimal number that no double can hold is too small rather than too large.
bool IsTiny(std::string_view text) {
  // The power of ten of its first non-zero digit, counted before the exponent is added.
  std::int64_t power = 0;
  bool point = false;
  bool significant = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      point = true;
    } else if (IsDigit(text[i])) {
      if (text[i] != '0') significant = true;
      if (significant && !point) ++power;
      if (!significant && point) --power;
    }
  }
  if (!significant) return true;
  std::int64_t exponent = 0;
  if (i < text.size()) {
    ++i;
    const bool negative = i < text.size() && text[i] == '-';
    for (; i < text.size(); ++i) {
      if (IsDigit(text[i]) && exponent < std::numeric_limits<std::int32_t>::max()) {
        exponent = 10 * exponent + (text[i] - '0');
      }
    }
    if (negative) exponent = -exponent;
  }
  return power + exponent < 0;
}

/// Go's strconv.ParseFloat of a text that IsYamlFloat accepts: too small a number is zero, too
/// large a number is none.
std::optional<double> ParseDecimal(std::string_view text) {
  const bool negative = text[0] == '-';
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range) {
    if (!IsTiny(text)) return std::nullopt;
    return negative ? -0.0 : 0.0;
  }
  if (code != std::errc() || end != text.data() + text.size() || std::isinf(value)) {
    return std::nullopt;
  }
  return value;
}

/// `text` without its underscores; `scratch` holds the result if there were any.
std::string_view WithoutUnderscores(std::string_view text, std::string* scratch) {
  if (text.find('_') == std::string_view::npos) return text;
  scratch->clear();
  std::copy_if(text.begin(), text.end(), std::back_inserter(*scratch),
               [](char c) { return c != '_'; });
  return *scratch;
}

/// A number that begins with a point. Unlike the others it goes to strconv.ParseFloat as it is,
/// which accepts underscores between digits only.
std::optional<Scalar> ParsePointNumber(std::string_view text, std::string* scratch) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    const bool between_digits =
        i > 0 && i + 1 < text.size() && IsDigit(text[i - 1]) && IsDigit(text[i + 1]);
    if (!between_digits) return std::nullopt;
  }
  const std::string_view plain = WithoutUnderscores(text, scratch);
  if (!IsYamlFloat(plain)) return std::nullopt;
  const std::optional<double> value = ParseDecimal(plain);
  if (!value) return std::nullopt;
  return Scalar::Float(*value);
}

/// A number that begins with a digit or a sign.
std::optional<Scalar> ParseNumber(std::string_view text, std::string* scratch) {
  const std::string_view plain = WithoutUnderscores(text, scratch);
  if (std::optional<Scalar> integer = ParseInteger(plain, 0)) return integer;
  if (IsYamlFloat(plain)) {
    if (const std::optional<double> value = ParseDecimal(plain)) return Scalar::Float(*value);
  }
  // Whatever base 0 didn't take: 0b-11 is -3.
  if (plain.substr(0, 2) == "0b") return ParseInteger(plain.substr(2), 2);
  if (plain.substr(0, 3) == "-0b") {
    const std::string digits = "-" + std::string(plain.substr(3));
    return ParseInteger(digits, 2);
  }
  return std::nullopt;
}

/// The words of resolve.go's resolveMap.
std::optional<Scalar> LookUpWord(std::string_view text) {
  constexpr std::size_t kLongestWord = 5;
  if (text.size() > kLongestWord) return std::nullopt;
  for (const std::string_view word :
       {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    if (text == word) return Scalar::Bool(true);
  }
  for (const std::string_view word :
       {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    if (text == word) return Scalar::Bool(false);
  }
  for (const std::string_view word : {"", "~", "null", "Null", "NULL"}) {
    if (text == word) return Scalar::Null();
  }
  for (const std::string_view word : {".nan", ".NaN", ".NAN"}) {
    if (text == word) return Scalar::Float(std::numeric_limits<double>::quiet_NaN());
  }
  for (const std::string_view word : {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"}) {
    if (text == word) return Scalar::Float(std::numeric_limits<double>::infinity());
  }
  for (const std::string_view word : {"-.inf", "-.Inf", "-.INF"}) {
    if (text == word) return Scalar::Float(-std::numeric_limits<double>::infinity());
  }
  return std::nullopt;
}

/// The value of a scalar without a tag that isn't quoted. `scratch` is working space.
Scalar ResolvePlain(std::string_view text, std::string* scratch) {
  const char first = text.empty() ? '~' : text[0];
  const bool number = IsDigit(first) || first == '+' || first == '-';
  if (number || first == '.' ||
      std::string_view("yYnNtTfFoO~").find(first) != std::string_view::npos) {
    if (std::optional<Scalar> word = LookUpWord(text)) return *word;
    std::optional<Scalar> value;
    if (number) value = ParseNumber(text, scratch);
    if (first == '.') value = ParsePointNumber(text, scratch);
    if (value) return *value;
  }
  return Scalar::String(text);
}

/// Whether resolve.go's parseTimestamp takes `text`: 2006-1-2, 2006-1-2 15:4:5.9, or RFC 3339 with
/// short fields.
bool IsTimestamp(std::string_view text) {
  std::size_t i = 0;
  const auto number = [&](std::size_t min_digits, std::size_t max_digits) {
    int value = 0;
    std::size_t digits = 0;
    for (; digits < max_digits && i < text.size() && IsDigit(text[i]); ++digits, ++i) {
      value = 10 * value + (text[i] - '0');
    }
    return digits >= min_digits ? value : -1;
  };
  const auto eat = [&](char c) {
    if (i >= text.size() || text[i] != c) return false;
    ++i;
    return true;
  };
  const int year = number(4, 4);
  if (year < 0 || !eat('-')) return false;
  const int month = number(1, 2);
  if (month < 1 || month > 12 || !eat('-')) return false;
  const int day = number(1, 2);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int days = kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
  if (day < 1 || day > days) return false;
  if (i == text.size()) return true;
  const bool rfc3339 = eat('T') || eat('t');
  if (!rfc3339 && !eat(' ')) return false;
  const int hour = number(1, 2);
  if (hour < 0 || hour > 23 || !eat(':')) return false;
  const int minute = number(1, 2);
  if (minute < 0 || minute > 59 || !eat(':')) return false;
  const int second = number(1, 2);
  if (second < 0 || second > 59) return false;
  if (eat('.') || eat(',')) {
    if (number(1, 9) < 0) return false;
    while (i < text.size() && IsDigit(text[i])) ++i;
  }
  if (!rfc3339) return i == text.size();
  if (eat('Z')) return i == text.size();
  if (!eat('+') && !eat('-')) return false;
  const int zone_hour = number(2, 2);
  if (zone_hour < 0 || zone_hour > 24 || !eat(':')) return false;
  const int zone_minute = number(2, 2);
  return zone_minute >= 0 && zone_minute <= 60 && i == text.size();
}

/// Go's base64.StdEncoding: with padding; line breaks are ignored, blanks are not.
std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;    // characters of the current group of four
  int padding = 0;  // of which are '='
  bool ended = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (ended) return std::nullopt;
    int value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = c - 'A';
    } else if (c >= 'a' && c <= 'z') {
      value = c - 'a' + 26;
    } else if (IsDigit(c)) {
      value = c - '0' + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else if (c == '=' && count >= 2) {
      ++padding;
    } else {
      return std::nullopt;
    }
    if (padding > 0 && c != '=') return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++count < 4) continue;
    for (int byte = 0; byte < 3 - padding; ++byte) {
      out += static_cast<char>(bits >> (16 - 8 * byte) & 0xff);
    }
    ended = padding > 0;
    bits = 0;
    count = 0;
    padding = 0;
  }
  if (count != 0) return std::nullopt;
  return out;
}

constexpr std::string_view kYamlTag = "tag:yaml.org,2002:";
constexpr std::string_view kMergeTag = "tag:yaml.org,2002:merge";

/// The value of a scalar with a tag, `?` (plain) and `!` (quoted) included. `text` must outlive the
/// result, as must `scratch`, which holds decoded data.
Scalar Resolve(const YAML::Mark& mark, std::string_view tag, std::string_view text,
               std::string* scratch) {
  if (tag == "?") return ResolvePlain(text, scratch);
  if (tag.substr(0, kYamlTag.size()) != kYamlTag) return Scalar::String(text);
  const std::string_view name = tag.substr(kYamlTag.size());
  if (name == "binary") {
    std::optional<std::string> decoded = DecodeBase64(text);
    if (!decoded) Refuse(mark, Quote(text) + " is not valid base64, which !!binary asks for");
    *scratch = *std::move(decoded);
    return Scalar::String(*scratch);
  }
  const bool to_int = name == "int";
  const bool to_float = name == "float";
  const bool to_bool = name == "bool";
  const bool to_null = name == "null";
  const bool to_timestamp = name == "timestamp";
  if (!to_int && !to_float && !to_bool && !to_null && !to_timestamp) return Scalar::String(text);
  Scalar value = ResolvePlain(text, scratch);
  using Kind = Scalar::Kind;
  if (to_float && value.kind == Kind::kInt) {
    value = Scalar::Float(static_cast<double>(value.integer));
  }
  const bool fits = (to_int && (value.kind == Kind::kInt || value.kind == Kind::kUint)) ||
                    (to_float && value.kind == Kind::kFloat) ||
                    (to_bool && value.kind == Kind::kBool) ||
                    (to_null && value.kind == Kind::kNull) || (to_timestamp && IsTimestamp(text));
  if (!fits) Refuse(mark, Quote(text) + " is not a valid !!" + std::string(name));
  // A timestamp stays the text that it was written as.
  return to_timestamp ? Scalar::String(text) : value;
}

/// Makes valid UTF-8 of yaml-cpp 0.7's escapes \N (U+0085) and \_ (U+00A0), which it turns into the
/// single bytes 85 and a0. The input is checked, so no other invalid bytes reach this function.
std::string_view MendEscapes(std::string_view text, std::string* scratch) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::size_t i = 0;
  std::size_t copied = std::string_view::npos;  // text[0, copied) is in `scratch`
  while (true) {
    while (i < text.size() && ascii(text[i])) ++i;
    if (i == text.size()) break;
    if (const int length = Utf8Length(text.substr(i)); length > 0) {
      i += static_cast<std::size_t>(length);
      continue;
    }
    if (copied == std::string_view::npos) {
      scratch->clear();
      copied = 0;
    }
    scratch->append(text, copied, i - copied);
    *scratch += '\xc2';
    *scratch += text[i];
    copied = ++i;
  }
  if (copied == std::string_view::npos) return text;
  scratch->append(text, copied, text.size() - copied);
  return *scratch;
}

// ---------------------------------------------------------------------------------------------
// Documents.

/// Writes the JSON of each document while yaml-cpp's parser reports what it reads.
///
/// Each member and element is written with a comma behind it; the closing bracket takes the place
/// of the last one. So the inside of a mapping is a run of bytes that an alias or a merge key can
/// copy as it is.
class Writer final : public YAML::EventHandler {
 public:
  explicit Writer(std::string_view yaml)
      : yaml_(yaml),
        limit_(kFreeExpansion + kExpansionRatio * yaml.size()),
        last_line_(LastLine(yaml)) {}

  std::vector<JsonDocument> TakeDocuments() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    CheckDocumentStart(mark);
    document_start_ = mark.pos;
    document_line_ = mark.line + 1;
    json_.clear();
    lines_.clear();
    anchors_.clear();
    frames_.clear();
    root_is_null_ = false;
  }

  void OnDocumentEnd() override {
    if (root_is_null_) return;
    JsonDocument document;
    written_ += json_.size();
    json_.reserve(json_.size() + kJsonPadding);
    document.json = std::move(json_);
    json_ = std::string();
    for (const Line& entry : lines_) document.lines.Add(entry.offset, entry.line);
    document.first_line = document_line_;
    documents_.push_back(std::move(document));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    // libyaml's rule; yaml-cpp takes nearly everything.
    for (const char c : name) {
      const char lower = static_cast<char>(c | 0x20);
      if (!IsDigit(c) && !(lower >= 'a' && lower <= 'z') && c != '_' && c != '-') {
        Refuse(mark, "the anchor " + Quote(name) + " has other characters than letters and digits");
      }
    }
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckMissingFlowNode(mark);
    // yaml-cpp takes a word on a line of its own, where the text or a document ends, for a key.
    // The null in place of its value then bears the key's mark.
    if (!frames_.empty() && !frames_.back().flow && !frames_.back().expects_key &&
        frames_.back().kind == Frame::Kind::kMapping && frames_.back().key_offset == mark.pos) {
      Refuse(mark, "a `:` is missing after the mapping's key");
    }
    // The mark of a value that isn't there is that of the next token, maybe lines below.
    YAML::Mark where = mark;
    if (!frames_.empty() && frames_.back().kind == Frame::Kind::kMapping && !ExpectsKey()) {
      where.line = std::min(where.line, frames_.back().key_line);
    }
    WriteScalar(where, anchor, Scalar::Null(), /*merge_key=*/false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag == "?" && value[0] == ':' && !frames_.empty() && frames_.back().flow) {
      Refuse(mark, "a blank is missing after `:`");  // no plain scalar begins so for libyaml
    }
    CheckIndentation(mark);
    const std::string_view text = tag == "?" ? value : Mend(mark, value);
    const bool merge_key = text == "<<" && (tag == "?" || tag == kMergeTag);
    WriteScalar(mark, anchor, Resolve(mark, tag, text, &scratch_), merge_key);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckIndentation(mark);
    const Anchor* source = anchor < anchors_.size() ? &anchors_[anchor] : nullptr;
    if (source == nullptr || source->kind == Anchor::Kind::kNone) {
      Refuse(mark, "the alias refers to no anchor");
    }
    if (source->kind == Anchor::Kind::kOpen) {
      Refuse(mark, "the alias is inside the node that its anchor names");
    }
    if (MergesHere()) {
      if (source->kind != Anchor::Kind::kMapping) RefuseMerge(mark);
      NoteLine(mark);
      const std::size_t size = source->end - source->begin;
      CheckDepth(mark, static_cast<int>(frames_.size()) + source->height);
      CheckExpansion(mark, size + 1);
      BeginChunk();
      AppendCopy(source->begin, size);
      if (size > 0) json_ += ',';
      NoteHeight(source->height);
      if (frames_.back().kind == Frame::Kind::kMapping) EndMember();
      return;
    }
    if (source->kind == Anchor::Kind::kScalar) {
      CheckExpansion(mark, source->text.size());
      Scalar value = source->scalar;
      value.text = source->text;
      WriteScalar(mark, YAML::NullAnchor, value, /*merge_key=*/false);
      return;
    }
    if (ExpectsKey()) RefuseCollectionKey(mark, YAML::EmitterStyle::Block);
    const bool mapping = source->kind == Anchor::Kind::kMapping;
    const int height = source->height + 1;
    CheckDepth(mark, static_cast<int>(frames_.size()) + height);
    NoteLine(mark);
    const std::size_t size = source->end - source->begin;
    CheckExpansion(mark, size + 3);
    json_ += mapping ? '{' : '[';
    AppendCopy(source->begin, size);
    json_ += mapping ? '}' : ']';
    NoteHeight(height);
    EndValue();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    if (ExpectsKey()) RefuseCollectionKey(mark, style);
    CheckDepth(mark, static_cast<int>(frames_.size()) + 1);
    const bool flow = style == YAML::EmitterStyle::Flow;
    if (MergesHere()) {
      if (frames_.back().kind == Frame::Kind::kMergeSequence) RefuseMerge(mark);
      Open(mark, Frame::Kind::kMergeSequence, anchor, flow);
      return;
    }
    NoteLine(mark);
    json_ += '[';
    Open(mark, Frame::Kind::kSequence, anchor, flow);
  }

  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    if (ExpectsKey()) RefuseCollectionKey(mark, style);
    CheckDepth(mark, static_cast<int>(frames_.size()) + 1);
    const bool flow = style == YAML::EmitterStyle::Flow;
    if (MergesHere()) {
      BeginChunk();
      Open(mark, Frame::Kind::kMapping, anchor, flow);
      frames_.back().merged = true;
      return;
    }
    NoteLine(mark);
    json_ += '{';
    Open(mark, Frame::Kind::kMapping, anchor, flow);
  }

  void OnMapEnd() override { Close(); }

 private:
  /// A sequence or mapping that is being read.
  struct Frame {
    enum class Kind : std::uint8_t { kSequence, kMapping, kMergeSequence };
    Kind kind;
    bool flow = false;          // written with brackets
    bool merged = false;        // a mapping whose members go into the one around it
    bool expects_key = false;   // a mapping's next node is a key
    bool merges_value = false;  // a mapping's last key was a merge key
    int key_offset = -1;        // where a mapping's last key is in the YAML text
    int key_line = -1;
    int key_column = -1;
    int height = 0;  // the levels of nesting inside of it
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::size_t begin = 0;            // where its inside begins in the JSON text
    std::size_t first_anchor = 0;     // the number of the first anchor that can be inside of it
    std::vector<std::size_t> chunks;  // a merge sequence: where each mapping's members begin
  };

  /// A node that aliases may refer to.
  struct Anchor {
    enum class Kind : std::uint8_t { kNone, kOpen, kScalar, kSequence, kMapping };
    Kind kind = Kind::kNone;
    int height = 0;  // as in Frame
    Scalar scalar;
    std::string text;  // of a string
    // The inside of a sequence or mapping in the JSON text, without the brackets.
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  struct Line {
    std::size_t offset;
    int line;
  };

  char At(std::size_t offset) const { return offset < yaml_.size() ? yaml_[offset] : '\0'; }

  /// Refuses what yaml-cpp 0.7 silently reads as one more document: the tokens that are left after
  /// the end of a document. This also ends its endless loop over a token that it never consumes.
  void CheckDocumentStart(const YAML::Mark& mark) const {
    if (mark.pos < 0) return;
    const std::size_t offset = static_cast<std::size_t>(mark.pos);
    const auto is_marker = [&](std::size_t at, std::string_view marker) {
      const char next = At(at + marker.size());
      return yaml_.substr(std::min(at, yaml_.size()), marker.size()) == marker &&
             (next == '\0' || next == ' ' || next == '\t' || next == '\n' || next == '\r');
    };
    const bool first = document_start_ < 0;
    const bool progress = first || mark.pos > document_start_;
    if (progress && mark.column == 0 && is_marker(offset, "---")) return;
    // Without `---` it must come first or after `...`; a directive always needs `---`.
    const std::size_t previous = first ? 0 : static_cast<std::size_t>(document_start_);
    std::size_t end = std::min(offset, yaml_.size());
    while (progress && end > previous) {
      std::size_t begin = yaml_.rfind('\n', end - 1);
      begin = begin == std::string_view::npos ? 0 : begin + 1;
      if (begin < end) {
        const std::string_view line = yaml_.substr(begin, end - begin);
        if (line[0] == '%') Refuse(mark, "`---` is missing after the directive");
        if (begin >= previous && is_marker(begin, "...")) return;
        const std::size_t text = line.find_first_not_of(" \t\r");
        if (text != std::string_view::npos && line[text] != '#') break;
      }
      if (begin == 0) {
        end = 0;
        break;
      }
      end = begin - 1;
    }
    if (first && end <= previous) return;
    Refuse(mark, "unexpected text after the end of the document (`---` starts a new one)");
  }

  /// The text of a scalar that is quoted or has a tag, with yaml-cpp 0.7's mistakes put right.
  std::string_view Mend(const YAML::Mark& mark, std::string_view value) {
    value = MendEscapes(value, &mended_);
    if (value.empty() || value.back() != '\n' || mark.pos < 0) return value;
    const std::size_t line_breaks = TrailingBreaksKept(static_cast<std::size_t>(mark.pos), value);
    const std::size_t text_end = value.find_last_not_of('\n') + 1;
    if (line_breaks <= value.size() - text_end) return value;
    std::string longer(value);
    longer.append(line_breaks - (value.size() - text_end), '\n');
    mended_ = std::move(longer);
    return mended_;
  }

  /// How many line breaks end the scalar whose node begins at `offset`, if it is a folded block
  /// scalar that keeps them (`>+`), else 0. yaml-cpp loses one of them before empty lines.
  std::size_t TrailingBreaksKept(std::size_t offset, std::string_view value) const {
    while (true) {  // properties, and what may separate them from the indicator
      offset = yaml_.find_first_not_of(" \t\r\n", offset);
      if (offset == std::string_view::npos) return 0;
      const char c = yaml_[offset];
      if (c == '#') {
        offset = yaml_.find('\n', offset);
      } else if (c == '!' || c == '&') {
        offset = yaml_.find_first_of(" \t\r\n", offset);
      } else {
        break;
      }
    }
    if (yaml_[offset] != '>') return 0;
    std::size_t begin = std::min(yaml_.find('\n', offset), yaml_.size() - 1) + 1;
    const std::string_view header = yaml_.substr(offset, begin - offset);
    if (header.substr(0, header.find('#')).find('+') == std::string_view::npos) return 0;
    const std::size_t first_text = value.find_first_not_of('\n');
    if (first_text == std::string_view::npos) return 0;
    const std::size_t more_indented = value.find_first_not_of(' ', first_text) - first_text;
    std::size_t indent = std::string_view::npos;
    std::size_t line_breaks = 0;
    while (begin < yaml_.size()) {
      const std::size_t end = std::min(yaml_.find('\n', begin), yaml_.size());
      const std::string_view line = yaml_.substr(begin, end - begin);
      const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
      const bool blank = blanks == line.size() || line[blanks] == '\r';
      if (blank && blanks <= indent) {  // deeper blanks are text
        ++line_breaks;
      } else {
        if (indent == std::string_view::npos) indent = blanks - std::min(blanks, more_indented);
        if (blanks < indent) break;
        line_breaks = 1;
      }
      begin = end + 1;
    }
    return line_breaks;
  }

  /// Refuses a scalar on the line below its key that isn't indented any further. It is a key
  /// without its colon, as far as libyaml is concerned; yaml-cpp takes it for the value.
  void CheckIndentation(const YAML::Mark& mark) const {
    if (frames_.empty()) return;
    const Frame& frame = frames_.back();
    if (frame.kind != Frame::Kind::kMapping || frame.flow || frame.expects_key) return;
    if (mark.line == frame.key_line || mark.column > frame.key_column || frame.key_offset < 0) {
      return;
    }
    // The key of `? key` is indented itself.
    const std::string_view before = yaml_.substr(0, static_cast<std::size_t>(frame.key_offset));
    const std::size_t last = before.find_last_not_of(" \t");
    if (last != std::string_view::npos && before[last] == '?') return;
    Refuse(mark, "a `:` is missing, or the indentation of the key's value");
  }

  /// Refuses two readings of flow collections that differ from libyaml's: yaml-cpp reads a missing
  /// element, as in [a,,b], as null, where libyaml refuses it; and it takes the colon in {a:} for
  /// the end of the key, where libyaml takes it for a part of the key.
  void CheckMissingFlowNode(const YAML::Mark& mark) const {
    if (mark.pos < 1) return;
    const std::size_t offset = static_cast<std::size_t>(mark.pos);
    const char next = At(offset);
    if (next == ',' && InSequence()) Refuse(mark, "a value is missing before `,`");
    if ((next == ',' || next == ']' || next == '}') && yaml_[offset - 1] == ':' && offset > 1) {
      const char key = yaml_[offset - 2];
      if (key != '"' && key != '\'' && key != '}' && key != ']') {
        Refuse(mark, std::string("a blank is missing between `:` and `") + next + "`");
      }
    }
  }

  bool InSequence() const {
    return !frames_.empty() && frames_.back().kind != Frame::Kind::kMapping;
  }
  bool ExpectsKey() const { return !frames_.empty() && frames_.back().expects_key; }
  /// Whether the next node's members go into a mapping around it.
  bool MergesHere() const {
    return !frames_.empty() &&
           (frames_.back().merges_value || frames_.back().kind == Frame::Kind::kMergeSequence);
  }

  [[noreturn]] static void RefuseMerge(const YAML::Mark& mark) {
    Refuse(mark, "the merge key `<<` needs a mapping or a sequence of mappings");
  }
  [[noreturn]] static void RefuseCollectionKey(const YAML::Mark& mark,
                                               YAML::EmitterStyle::value style) {
    // yaml-cpp also takes a bracket that is never closed for the beginning of a key.
    const bool flow = style == YAML::EmitterStyle::Flow;
    Refuse(mark, std::string("a mapping's key is a sequence or mapping; it must be a string") +
                     (flow ? " (or is a closing bracket missing?)" : ""));
  }
  static void CheckDepth(const YAML::Mark& mark, int depth) {
    if (depth > kMaxYamlDepth) {
      Refuse(mark, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
  }
  void CheckExpansion(const YAML::Mark& mark, std::size_t more) const {
    if (written_ + json_.size() + more > limit_) {
      Refuse(mark,
             "the aliases make the document larger than " + std::to_string(limit_ >> 20) + " MiB");
    }
  }

  /// What is written next comes from the mark's line.
  void NoteLine(const YAML::Mark& mark) {
    if (mark.is_null()) return;
    const int line = std::min(mark.line, last_line_) + 1;
    if (!lines_.empty() && lines_.back().line == line) return;
    lines_.push_back({json_.size(), line});
  }

  void NoteHeight(int height) {
    if (!frames_.empty()) frames_.back().height = std::max(frames_.back().height, height);
  }

  void AppendCopy(std::size_t begin, std::size_t size) {
    json_.reserve(std::max(json_.capacity() >= json_.size() + size ? 0 : 2 * json_.capacity(),
                           json_.size() + size));
    json_.append(json_.data() + begin, size);
  }

  void SetAnchor(YAML::anchor_t id, Anchor anchor) {
    if (id == YAML::NullAnchor) return;
    if (id >= anchors_.size()) anchors_.resize(id + 1);
    anchors_[id] = std::move(anchor);
  }

  void BeginChunk() {
    if (frames_.back().kind == Frame::Kind::kMergeSequence) {
      frames_.back().chunks.push_back(json_.size());
    }
  }

  void Open(const YAML::Mark& mark, Frame::Kind kind, YAML::anchor_t anchor, bool flow) {
    if (anchor != YAML::NullAnchor) {
      Anchor open;
      open.kind = Anchor::Kind::kOpen;
      SetAnchor(anchor, std::move(open));
    }
    NoteLine(mark);
    Frame frame;
    frame.kind = kind;
    frame.expects_key = kind == Frame::Kind::kMapping;
    frame.flow = flow;
    frame.anchor = anchor;
    frame.begin = json_.size();
    frame.first_anchor = anchors_.size();
    frames_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.kind == Frame::Kind::kMergeSequence) {
      ReverseChunks(frame);
      // The list is gone from the JSON text, so its anchor has nothing to refer to.
      if (frame.anchor != YAML::NullAnchor) anchors_[frame.anchor] = Anchor();
      NoteHeight(frame.height);
      EndMember();
      return;
    }
    const bool empty = json_.size() == frame.begin;
    const bool mapping = frame.kind == Frame::Kind::kMapping;
    if (frame.anchor != YAML::NullAnchor) {
      Anchor& anchor = anchors_[frame.anchor];
      anchor.kind = mapping ? Anchor::Kind::kMapping : Anchor::Kind::kSequence;
      anchor.height = frame.height;
      anchor.begin = frame.begin;
      anchor.end = json_.size() - (empty ? 0 : 1);
    }
    if (frame.merged) {
      NoteHeight(frame.height);
      if (frames_.back().kind == Frame::Kind::kMapping) EndMember();
      return;
    }
    if (!empty) json_.pop_back();
    json_ += mapping ? '}' : ']';
    NoteHeight(frame.height + 1);
    EndValue();
  }

  /// Puts the mappings of a merge key's list in the opposite order, so that the last member wins
  /// where the first mapping should (decode.go, merge).
  void ReverseChunks(const Frame& frame) {
    if (frame.chunks.size() < 2) return;
    const std::size_t begin = frame.chunks.front();
    const std::string text = json_.substr(begin);
    json_.resize(begin);
    std::size_t first_line = lines_.size();
    while (first_line > 0 && lines_[first_line - 1].offset >= begin) --first_line;
    const std::vector<Line> lines(lines_.begin() + static_cast<std::ptrdiff_t>(first_line),
                                  lines_.end());
    int line = first_line > 0 ? lines_[first_line - 1].line : document_line_;
    lines_.resize(first_line);
    // The line on which each chunk begins, which it may share with the chunk before it.
    std::vector<int> chunk_lines;
    std::size_t l = 0;
    for (const std::size_t chunk : frame.chunks) {
      for (; l < lines.size() && lines[l].offset <= chunk; ++l) line = lines[l].line;
      chunk_lines.push_back(line);
    }
    std::vector<std::size_t> moved(frame.chunks.size());
    for (std::size_t i = frame.chunks.size(); i-- > 0;) {
      const std::size_t from = frame.chunks[i];
      const std::size_t to =
          i + 1 < frame.chunks.size() ? frame.chunks[i + 1] : begin + text.size();
      moved[i] = json_.size();
      lines_.push_back({json_.size(), chunk_lines[i]});
      auto entry = std::lower_bound(lines.begin(), lines.end(), from + 1,
                                    [](const Line& a, std::size_t b) { return a.offset < b; });
      for (; entry != lines.end() && entry->offset < to; ++entry) {
        lines_.push_back({entry->offset - from + moved[i], entry->line});
      }
      json_.append(text, from - begin, to - from);
    }
    for (std::size_t a = frame.first_anchor; a < anchors_.size(); ++a) {
      Anchor& anchor = anchors_[a];
      if (anchor.kind != Anchor::Kind::kSequence && anchor.kind != Anchor::Kind::kMapping) continue;
      if (anchor.begin == anchor.end) continue;
      const std::size_t i = static_cast<std::size_t>(
          std::upper_bound(frame.chunks.begin(), frame.chunks.end(), anchor.begin) -
          frame.chunks.begin() - 1);
      anchor.end = anchor.end - frame.chunks[i] + moved[i];
      anchor.begin = anchor.begin - frame.chunks[i] + moved[i];
    }
  }

  /// A mapping's value, or what a merge key stands for, is complete.
  void EndMember() {
    frames_.back().expects_key = true;
    frames_.back().merges_value = false;
  }

  /// A value has been written.
  void EndValue() {
    if (frames_.empty()) return;
    json_ += ',';
    if (frames_.back().kind == Frame::Kind::kMapping) EndMember();
  }

  void WriteScalar(const YAML::Mark& mark, YAML::anchor_t anchor, const Scalar& value,
                   bool merge_key) {
    if (anchor != YAML::NullAnchor) {
      Anchor named;
      named.kind = Anchor::Kind::kScalar;
      named.scalar = value;
      named.scalar.text = {};  // it points at working space; the copy below stays
      named.text = value.text;
      SetAnchor(anchor, std::move(named));
    }
    if (ExpectsKey()) {
      Frame& frame = frames_.back();
      frame.expects_key = false;
      frame.key_offset = mark.pos;
      frame.key_line = mark.line;
      frame.key_column = mark.column;
      if (merge_key) {
        frame.merges_value = true;
        return;
      }
      NoteLine(mark);
      WriteKey(mark, value);
      json_ += ':';
      return;
    }
    if (MergesHere()) RefuseMerge(mark);
    NoteLine(mark);
    if (frames_.empty()) root_is_null_ = value.kind == Scalar::Kind::kNull;
    WriteValue(mark, value);
    EndValue();
  }

  /// yaml.go, convertToJSONableObject: the string that a key becomes.
  void WriteKey(const YAML::Mark& mark, const Scalar& value) {
    switch (value.kind) {
      case Scalar::Kind::kString:
        AppendJsonString(value.text, &json_);
        return;
      case Scalar::Kind::kNull:
        Refuse(mark, "a mapping's key is null; it must be a string");
      case Scalar::Kind::kUint:
        Refuse(mark, "a mapping's key is the integer " + std::to_string(value.natural) +
                         ", beyond 64 bits with a sign; quote it");
      default:
        break;
    }
    json_ += '"';
    if (value.kind == Scalar::Kind::kBool) {
      json_ += value.boolean ? "true" : "false";
    } else if (value.kind == Scalar::Kind::kInt) {
      json_ += std::to_string(value.integer);
    } else {
      AppendYamlFloatKey(value.real, &json_);
    }
    json_ += '"';
  }

  void WriteValue(const YAML::Mark& mark, const Scalar& value) {
    switch (value.kind) {
      case Scalar::Kind::kNull:
        json_ += "null";
        return;
      case Scalar::Kind::kBool:
        json_ += value.boolean ? "true" : "false";
        return;
      case Scalar::Kind::kInt:
        json_ += std::to_string(value.integer);
        return;
      case Scalar::Kind::kUint:
        json_ += std::to_string(value.natural);
        return;
      case Scalar::Kind::kFloat:
        if (!std::isfinite(value.real)) {
          const char* name = std::isnan(value.real) ? ".nan" : value.real > 0 ? ".inf" : "-.inf";
          Refuse(mark, std::string("the number `") + name + "` has no form in JSON");
        }
        AppendJsonNumber(value.real, &json_);
        return;
      case Scalar::Kind::kString:
        AppendJsonString(value.text, &json_);
        return;
    }
  }

  const std::string_view yaml_;
  const std::size_t limit_;
  const int last_line_;  // 0-based
  std::vector<JsonDocument> documents_;
  std::size_t written_ = 0;  // bytes of JSON in documents_

  // Of the document that is being read.
  int document_start_ = -1;  // an offset in yaml_
  int document_line_ = 1;
  std::string json_;
  std::vector<Line> lines_;
  std::vector<Anchor> anchors_;  // by yaml-cpp's number
  std::vector<Frame> frames_;
  bool root_is_null_ = false;

  std::string scratch_;
  std::string mended_;
};

/// A stream buffer that reads a text, without copying it, and behind it the end of a document.
///
/// The marker makes yaml-cpp 0.7 refuse a quoted scalar that never ends, which it takes if a line
/// break is all that comes before the end of the text. The line break before the marker is what
/// go.yaml.in/yaml/v2 also sees behind a last line that has none.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text)
      : tail_(text.empty() || text.back() == '\n' ? "...\n" : "\n...\n") {
    // yaml-cpp puts back up to four bytes after it has guessed the encoding, so they must be in
    // one piece.
    constexpr std::size_t kPutBack = 4;
    if (text.size() < kPutBack) {
      short_text_ = text;
      short_text_ += tail_;
      text = short_text_;
      in_tail_ = true;
    }
    Read(text);
  }

 protected:
  int_type underflow() override {
    if (gptr() == egptr() && !in_tail_) {
      in_tail_ = true;
      Read(tail_);
    }
    return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  void Read(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // only ever read
    setg(begin, begin, begin + text.size());
  }

  const std::string_view tail_;
  std::string short_text_;
  bool in_tail_ = false;
};

/// `text` with the line breaks of old Macs (CR alone) as LF, which libyaml knows and yaml-cpp
/// doesn't. `copy` holds the result if there are any; offsets stay the same.
std::string_view WithoutLoneReturns(std::string_view text, std::string* copy) {
  for (std::size_t i = text.find('\r'); i != std::string_view::npos; i = text.find('\r', i + 1)) {
    if (i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (copy->empty()) *copy = text;
    (*copy)[i] = '\n';
  }
  return copy->empty() ? text : *copy;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Refuses the bytes that go.yaml.in/yaml/v2's readerc.go refuses. yaml-cpp takes them, and takes
/// the byte 04 for the end of the text.
std::optional<Refusal> CheckCharacters(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t') {
      ++i;
      continue;
    }
    const int length = Utf8Length(text.substr(i));
    const std::string_view bytes = text.substr(i, static_cast<std::size_t>(length));
    const bool control = length == 1 ||
                         (length == 2 && c == 0xc2 && bytes < "\xc2\xa0" && bytes != "\xc2\x85") ||
                         bytes == "\xef\xbf\xbe" || bytes == "\xef\xbf\xbf";
    if (length > 0 && !control) {
      i += static_cast<std::size_t>(length);
      continue;
    }
    const std::string_view intro = text.substr(0, 2);
    const bool wide = intro == "\xff\xfe" || intro == "\xfe\xff" || c == '\0';
    return Refusal{
        static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(i), '\n')),
        wide     ? "the text is not UTF-8, but looks like UTF-16 or UTF-32"
        : length ? "control characters are not allowed"
                 : "the text is not valid UTF-8"};
  }
  return std::nullopt;
}

}  // namespace

void LineMap::Add(std::size_t json_offset, int line) {
  if (!entries_.empty() && entries_.back().line == line) return;
  entries_.push_back({json_offset, line});
}

int LineMap::LineAt(std::size_t json_offset) const {
  if (entries_.empty()) return 1;
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), json_offset,
      [](std::size_t offset, const Entry& entry) { return offset < entry.json_offset; });
  return after == entries_.begin() ? after->line : std::prev(after)->line;
}

Result<std::vector<JsonDocument>> YamlToJson(std::string_view yaml, const std::string& file) {
  if (yaml.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    yaml.remove_prefix(kByteOrderMark.size());
  }
  if (yaml.size() >= std::size_t{std::numeric_limits<int>::max()}) {
    return ErrorAt(file, kNoLine, "is 2 GiB or larger");  // yaml-cpp counts in int
  }
  std::string copy;
  try {
    if (const std::optional<Refusal> refusal = CheckCharacters(yaml)) {
      return ErrorAt(file, refusal->line, refusal->reason);
    }
    yaml = WithoutLoneReturns(yaml, &copy);
    ViewBuffer buffer(yaml);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    Writer writer(yaml);
    while (parser.HandleNextDocument(writer)) {
    }
    return writer.TakeDocuments();
  } catch (const Refusal& refusal) {
    return ErrorAt(file, std::min(refusal.line, LastLine(yaml)), refusal.reason);
  } catch (const YAML::Exception& exception) {
    // ViewBuffer's marker must not show as the reason why a quoted scalar ends too late.
    const bool at_marker = exception.mark.pos >= static_cast<int>(yaml.size()) &&
                           exception.msg == YAML::ErrorMsg::DOC_IN_SCALAR;
    return ErrorAt(file, std::min(exception.mark.line, LastLine(yaml)),
                   at_marker ? YAML::ErrorMsg::EOF_IN_SCALAR : exception.msg);
  } catch (const std::exception& exception) {
    return ErrorAt(file, kNoLine, exception.what());
  }
}

}  // namespace schedfw::io
