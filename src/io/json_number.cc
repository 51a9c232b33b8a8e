#include "io/json_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace schedfw::io {
namespace {

/// The shortest decimal form of a finite number: 0.DIGITS times ten to the power of `point`.
struct Decimal {
  bool negative = false;
  std::array<char, 24> digits;
  int count = 0;
  int point = 0;

  std::string_view Digits(int from, int to) const {
    return {digits.data() + from, static_cast<std::size_t>(to - from)};
  }
};

template <typename Float>
Decimal Shortest(Float value) {
  char text[40];
  const char* end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  Decimal out;
  const char* p = text;
  if (*p == '-') {
    out.negative = true;
    ++p;
  }
  for (; p != end && *p != 'e'; ++p) {
    if (*p != '.') out.digits[static_cast<std::size_t>(out.count++)] = *p;
  }
  int exponent = 0;
  if (p != end) {
    ++p;
    if (p != end && *p == '+') ++p;
    std::from_chars(p, end, exponent);
  }
  // Go counts zero as no digits at all, with the point in front of them.
  out.point = value == 0 ? 0 : exponent + 1;
  if (value == 0) out.count = 0;
  return out;
}

void AppendFixed(const Decimal& number, std::string* out) {
  if (number.negative) *out += '-';
  if (number.point <= 0) {
    *out += '0';
  } else if (number.point >= number.count) {
    *out += number.Digits(0, number.count);
    out->append(static_cast<std::size_t>(number.point - number.count), '0');
  } else {
    *out += number.Digits(0, number.point);
  }
  if (number.point < number.count) {
    *out += '.';
    if (number.point < 0) out->append(static_cast<std::size_t>(-number.point), '0');
    *out += number.Digits(number.point > 0 ? number.point : 0, number.count);
  }
}

/// `min_exponent_digits` is 2 in Go's own format and 1 in JSON, which cleans e-09 up to e-9.
void AppendScientific(const Decimal& number, int min_exponent_digits, std::string* out) {
  if (number.negative) *out += '-';
  *out += number.digits[0];
  if (number.count > 1) {
    *out += '.';
    *out += number.Digits(1, number.count);
  }
  const int exponent = number.point - 1;
  const int magnitude = exponent < 0 ? -exponent : exponent;
  *out += 'e';
  *out += exponent < 0 ? '-' : '+';
  if (magnitude < 10 && min_exponent_digits > 1) *out += '0';
  *out += std::to_string(magnitude);
}

/// What a byte of a JSON string needs: nothing, a look at its UTF-8 sequence, or an escape.
enum class Care : char { kNone, kUtf8, kEscape };

constexpr std::array<Care, 256> MakeCare() {
  std::array<Care, 256> out{};
  for (std::size_t c = 0; c < 256; ++c) {
    out[c] = c < 0x20 || c == '"' || c == '\\' ? Care::kEscape
             : c >= 0x80                       ? Care::kUtf8
                                               : Care::kNone;
  }
  return out;
}

constexpr std::array<Care, 256> kCare = MakeCare();

void AppendEscape(unsigned char c, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '\\';
  switch (c) {
    case '"':
    case '\\':
      *out += static_cast<char>(c);
      return;
    case '\b':
      *out += 'b';
      return;
    case '\f':
      *out += 'f';
      return;
    case '\n':
      *out += 'n';
      return;
    case '\r':
      *out += 'r';
      return;
    case '\t':
      *out += 't';
      return;
    default:
      *out += "u00";
      *out += kHex[c >> 4];
      *out += kHex[c & 0xf];
  }
}

}  // namespace

void AppendJsonNumber(double value, std::string* out) {
  const double magnitude = std::fabs(value);
  const Decimal number = Shortest(value);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    AppendScientific(number, 1, out);
  } else {
    AppendFixed(number, out);
  }
}

void AppendYamlFloatKey(double value, std::string* out) {
  const float narrow = static_cast<float>(value);
  if (std::isnan(narrow)) {
    *out += ".nan";
  } else if (std::isinf(narrow)) {
    *out += narrow > 0 ? ".inf" : "-.inf";
  } else {
    const Decimal number = Shortest(narrow);
    const int exponent = number.point - 1;
    if (number.count > 0 && (exponent < -4 || exponent >= 6)) {
      AppendScientific(number, 2, out);
    } else {
      AppendFixed(number, out);
    }
  }
}

int Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto trails = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !trails(1)) return 0;
  if (lead < 0xe0) return 2;
  const unsigned char second = byte(1);
  if (!trails(2)) return 0;
  if (lead < 0xf0) {
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return 3;
  }
  if (!trails(3)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return 4;
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  std::size_t copied = 0;  // text[0, copied) is in `out`
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const Care care = kCare[c];
    if (care == Care::kNone) {
      ++i;
      continue;
    }
    if (care == Care::kUtf8) {
      if (const int length = Utf8Length(text.substr(i)); length > 0) {
        i += static_cast<std::size_t>(length);
        continue;
      }
    }
    out->append(text, copied, i - copied);
    if (care == Care::kEscape) {
      AppendEscape(c, out);
    } else {
      *out += "\xef\xbf\xbd";
    }
    copied = ++i;
  }
  out->append(text, copied, text.size() - copied);
  *out += '"';
}

}  // namespace schedfw::io
