// Quantity: an exact amount of a resource, as Kubernetes writes them ("500m", "1.5Gi", "12e6").
#ifndef SCHEDFW_BASE_QUANTITY_H_
#define SCHEDFW_BASE_QUANTITY_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schedfw/base/result.h"

namespace schedfw {

/// The family of suffixes an amount is written with (Format in upstream's
/// apimachinery pkg/api/resource/quantity.go).
enum class QuantityFormat : std::uint8_t {
  kDecimalSI,        ///< n u m k M G T P E, or none: powers of 1000
  kBinarySI,         ///< Ki Mi Gi Ti Pi Ei: powers of 1024
  kDecimalExponent,  ///< e3, E-6: powers of ten
};

/// An exact amount of a resource: a whole number of billionths (nanos), and how it is written.
///
/// Units are the resource's own: cores, bytes, devices. A parsed amount lies within
/// 9223372036854775807 units of zero; sums may go beyond, and are exact for fewer than 10^9 terms
/// of that size (the 128-bit count of nanos can't overflow before 1.8 * 10^10 of them). Const
/// members may be called from many threads at once. All operations take O(1) time but Parse. The
/// rules are those of upstream's apimachinery pkg/api/resource/quantity.go.
class Quantity {
 public:
  /// Zero, in DecimalSI.
  Quantity() = default;

  /// Reads an amount: a sign or none, digits with at most one point, and a suffix.
  ///
  /// What is finer than a nano is rounded to the next nano away from zero, so that no wish is lost.
  /// Errors (ErrorKind::kParse, one line): a text outside the grammar, or an amount more than
  /// 9223372036854775807 units away from zero. White space is outside the grammar, too; upstream
  /// trims it only when it decodes an object (Quantity.UnmarshalJSON). O(length), whatever the
  /// exponent. Upstream: ParseQuantity in apimachinery pkg/api/resource/quantity.go, which differs
  /// in that it reads a text without digits ("Ki", "-", ".") as zero, wraps or caps amounts and
  /// exponents that are too large, and can take very long over a large exponent.
  static Result<Quantity> Parse(std::string_view text);

  /// The amount of `units` whole units, to be written in `format`.
  static Quantity FromUnits(std::int64_t units,
                            QuantityFormat format = QuantityFormat::kDecimalSI) {
    return Quantity(Int128{units} * kNanosPerUnit, format);
  }
  /// The amount of `milli` thousandths of a unit, to be written in `format`.
  static Quantity FromMilli(std::int64_t milli,
                            QuantityFormat format = QuantityFormat::kDecimalSI) {
    return Quantity(Int128{milli} * kNanosPerMilli, format);
  }

  /// Whole units, rounded away from zero; nothing if an int64 can't hold them.
  ///
  /// Upstream: Quantity.Value, which instead wraps or gives 0, and which rounds some negative
  /// amounts the other way ("-1.1Gi").
  std::optional<std::int64_t> Value() const { return CountOf(kNanosPerUnit); }
  /// Thousandths of a unit, rounded away from zero; nothing if an int64 can't hold them.
  ///
  /// Upstream: Quantity.MilliValue, with the same differences as Value().
  std::optional<std::int64_t> MilliValue() const { return CountOf(kNanosPerMilli); }

  /// The amount rounded away from zero to thousandths, as the API server stores requests.
  ///
  /// Upstream: SetDefaults_ResourceList in pkg/apis/core/v1/defaults.go.
  Quantity RoundedUpToMilli() const {
    if (nanos_ % kNanosPerMilli == 0) return *this;
    return Quantity(DivideAwayFromZero(nanos_, kNanosPerMilli) * kNanosPerMilli, format_);
  }

  /// Adds `other`; a zero takes over the format of what is added (upstream: Quantity.Add).
  Quantity& operator+=(const Quantity& other) {
    if (IsZero()) format_ = other.format_;
    nanos_ += other.nanos_;
    text_.reset();
    return *this;
  }
  /// Subtracts `other`; a zero takes over its format (upstream: Quantity.Sub).
  Quantity& operator-=(const Quantity& other) {
    if (IsZero()) format_ = other.format_;
    nanos_ -= other.nanos_;
    text_.reset();
    return *this;
  }
  /// The sum, in the format of `a` unless that is zero.
  friend Quantity operator+(Quantity a, const Quantity& b) {
    a += b;
    return a;
  }
  /// The difference, in the format of `a` unless that is zero.
  friend Quantity operator-(Quantity a, const Quantity& b) {
    a -= b;
    return a;
  }

  /// Equality of amounts, however they are written: "1Ki" equals "1024".
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  /// The order of amounts; weak, because equal amounts may be written differently.
  friend std::weak_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ <=> b.nanos_;
  }

  /// A number to tell amounts apart by, equal for equal amounts: the low 64 bits of the billionths.
  std::uint64_t Fingerprint() const { return static_cast<std::uint64_t>(nanos_); }
  /// True if the amount is zero.
  bool IsZero() const { return nanos_ == 0; }
  /// -1, 0 or 1: the sign of the amount.
  int Sign() const { return (nanos_ > 0) - (nanos_ < 0); }
  /// The family of suffixes that ToString() prefers.
  QuantityFormat format() const { return format_; }

  /// The canonical text: no fraction, no needless sign, the largest suffix that loses nothing.
  ///
  /// A parsed amount that upstream considers canonical already keeps its text, e.g. "1." or "1E3".
  /// Upstream: Quantity.String and CanonicalizeBytes in apimachinery pkg/api/resource/quantity.go;
  /// for sums of 1000E or 1024Ei and more, which it writes without a suffix, this is "1000E".
  std::string ToString() const { return text_ ? *text_ : Canonical(); }

 private:
  __extension__ typedef __int128 Int128;
  __extension__ typedef unsigned __int128 UInt128;

  static constexpr Int128 kNanosPerUnit = 1'000'000'000;
  static constexpr Int128 kNanosPerMilli = 1'000'000;
  static constexpr std::int64_t kMaxUnits = std::numeric_limits<std::int64_t>::max();
  static constexpr UInt128 kMaxNanos = UInt128{kMaxUnits} * 1'000'000'000;
  // kMaxNanos has this many decimal digits.
  static constexpr std::int64_t kMaxNanosDigits = 28;

  // A quantity's text, taken apart.
  struct Parts {
    bool negative = false;
    bool plain = true;          // no "+", no leading zero, no point
    std::string_view whole;     // digits before the point, without leading zeros
    std::string_view fraction;  // digits after the point
    std::string_view suffix;    // all that follows the number
    bool has_digits = false;
  };

  // A suffix stands for a factor of 10^ten * 2^two; one of them is zero.
  struct Suffix {
    QuantityFormat format = QuantityFormat::kDecimalSI;
    std::int64_t ten = 0;
    int two = 0;
  };

  explicit Quantity(Int128 nanos, QuantityFormat format) : nanos_(nanos), format_(format) {}

  static Int128 DivideAwayFromZero(Int128 dividend, Int128 divisor) {
    const Int128 quotient = dividend / divisor;
    if (dividend % divisor == 0) return quotient;
    return dividend < 0 ? quotient - 1 : quotient + 1;
  }

  std::optional<std::int64_t> CountOf(Int128 nanos_per_step) const {
    const Int128 count = DivideAwayFromZero(nanos_, nanos_per_step);
    if (count < std::numeric_limits<std::int64_t>::min() || count > kMaxUnits) return std::nullopt;
    return static_cast<std::int64_t>(count);
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static std::string_view TakeDigits(std::string_view text, std::size_t& at);
  static Parts Split(std::string_view text);
  static std::optional<Suffix> ReadSuffix(std::string_view text);
  static std::optional<UInt128> DecimalNanos(const Parts& parts, std::int64_t exponent);
  static std::optional<UInt128> BinaryNanos(const Parts& parts, int power);
  static bool UpstreamKeepsText(const Parts& parts, const Suffix& suffix);
  static std::string Quoted(std::string_view text);
  static Error NotAQuantity(std::string_view text, std::string_view what);
  std::string Canonical() const;

  Int128 nanos_ = 0;
  // The text upstream would keep, if it isn't the computed one. Rare, hence behind a pointer.
  std::shared_ptr<const std::string> text_;
  QuantityFormat format_ = QuantityFormat::kDecimalSI;
};

static_assert(sizeof(Quantity) <= 48);

inline std::string_view Quantity::TakeDigits(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  return text.substr(begin, at - begin);
}

inline Quantity::Parts Quantity::Split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    parts.plain = parts.negative;
    at = 1;
  }
  const std::size_t begin = at;
  while (at < text.size() && text[at] == '0') ++at;
  parts.plain = parts.plain && at == begin;
  parts.whole = TakeDigits(text, at);
  parts.has_digits = at > begin;
  if (at < text.size() && text[at] == '.') {
    parts.plain = false;
    parts.fraction = TakeDigits(text, ++at);
    parts.has_digits = parts.has_digits || !parts.fraction.empty();
  }
  parts.suffix = text.substr(at);
  return parts;
}

inline std::optional<Quantity::Suffix> Quantity::ReadSuffix(std::string_view text) {
  using enum QuantityFormat;
  if (text.empty()) return Suffix{};
  if (text.size() == 1) {
    // A letter's place is its power of 1000, from n (-3) to E (6); none has the blank's.
    const std::size_t place = std::string_view("num kMGTPE").find(text[0]);
    if (place == std::string_view::npos || text[0] == ' ') return std::nullopt;
    return Suffix{kDecimalSI, 3 * (static_cast<std::int64_t>(place) - 3), 0};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const std::size_t place = std::string_view("KMGTPE").find(text[0]);
    if (place == std::string_view::npos) return std::nullopt;
    return Suffix{kBinarySI, 0, 10 * static_cast<int>(place + 1)};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  std::size_t at = text[1] == '-' || text[1] == '+' ? 2 : 1;
  if (at == text.size()) return std::nullopt;
  // The exponent stops growing where no text in memory is long enough to make up for it.
  constexpr std::int64_t kLimit = 1'000'000'000'000'000;
  std::int64_t exponent = 0;
  for (; at < text.size(); ++at) {
    if (!IsDigit(text[at])) return std::nullopt;
    exponent = std::min(exponent * 10 + (text[at] - '0'), kLimit);
  }
  return Suffix{kDecimalExponent, text[1] == '-' ? -exponent : exponent, 0};
}

// The number times 10^exponent in nanos, rounded up; nothing if that is too large.
inline std::optional<Quantity::UInt128> Quantity::DecimalNanos(const Parts& parts,
                                                               std::int64_t exponent) {
  std::string_view fraction = parts.fraction;
  if (parts.whole.empty()) {
    fraction.remove_prefix(std::min(fraction.find_first_not_of('0'), fraction.size()));
    if (fraction.empty()) return UInt128{0};
  }
  // The digits that remain begin with one that isn't zero. `length` of them, with zeros appended
  // if there aren't so many, are the count of nanos; the rest only decides about rounding.
  const auto digits = static_cast<std::int64_t>(parts.whole.size() + fraction.size());
  const std::int64_t length =
      digits + exponent + 9 - static_cast<std::int64_t>(parts.fraction.size());
  if (length > kMaxNanosDigits) return std::nullopt;
  if (length <= 0) return UInt128{1};
  UInt128 nanos = 0;
  std::int64_t at = 0;
  bool rest = false;
  for (const std::string_view part : {parts.whole, fraction}) {
    for (const char c : part) {
      if (at++ < length) {
        nanos = nanos * 10 + static_cast<unsigned>(c - '0');
      } else {
        rest = rest || c != '0';
      }
    }
  }
  for (; at < length; ++at) nanos *= 10;
  if (rest) ++nanos;
  if (nanos > kMaxNanos) return std::nullopt;
  return nanos;
}

// The number times 2^power in nanos, rounded up; nothing if that is too large.
inline std::optional<Quantity::UInt128> Quantity::BinaryNanos(const Parts& parts, int power) {
  constexpr std::size_t kMaxUnitsDigits = 19;
  if (parts.whole.size() > kMaxUnitsDigits) return std::nullopt;
  UInt128 whole = 0;
  for (const char c : parts.whole) whole = whole * 10 + static_cast<unsigned>(c - '0');
  if (whole > static_cast<UInt128>(kMaxUnits >> power)) return std::nullopt;
  const UInt128 scale = static_cast<UInt128>(kNanosPerUnit) << power;  // below 2^90
  // Horner's rule from the last digit on. A remainder that is dropped on the way can't change the
  // whole part of a later quotient, only whether the result is exact.
  UInt128 fraction = 0;
  bool rest = false;
  for (std::size_t i = parts.fraction.size(); i-- > 0;) {
    fraction += scale * static_cast<unsigned>(parts.fraction[i] - '0');
    rest = rest || fraction % 10 != 0;
    fraction /= 10;
  }
  const UInt128 nanos = whole * scale + fraction + (rest ? 1 : 0);
  if (nanos > kMaxNanos) return std::nullopt;
  return nanos;
}

// Upstream reads short numbers into an int64 and a scale, and then takes the text for canonical
// by a rule of thumb that lets some other spellings through ("1.", "+5", "007", "1.500", "1E3").
inline bool Quantity::UpstreamKeepsText(const Parts& parts, const Suffix& suffix) {
  const std::string_view whole = parts.whole;
  const std::string_view fraction = parts.fraction;
  if (whole.empty()) return false;
  if (suffix.format == QuantityFormat::kBinarySI) {
    // 2^10 counts for three digits of the fifteen that are sure to fit.
    if (!fraction.empty() || static_cast<int>(whole.size()) + suffix.two * 3 / 10 > 14) {
      return false;
    }
    // Whether 8 divides a number shows in its last three digits.
    unsigned tail = 0;
    for (const char c : whole.substr(whole.size() - std::min<std::size_t>(whole.size(), 3))) {
      tail = tail * 10 + static_cast<unsigned>(c - '0');
    }
    return tail % 8 != 0;
  }
  const std::size_t digits = whole.size() + fraction.size();
  const std::int64_t scale = suffix.ten - static_cast<std::int64_t>(fraction.size());
  if (digits > 18 || scale < -9 || scale % 3 != 0) return false;
  if (digits < 3) return true;
  for (std::size_t i = digits - 3; i < digits; ++i) {
    if ((i < whole.size() ? whole[i] : fraction[i - whole.size()]) != '0') return true;
  }
  return false;
}

// `text` in quotes, on one line and not long.
inline std::string Quantity::Quoted(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool cut = text.size() > kMaxShown;
  std::string out = "\"";
  for (const char c : text.substr(0, cut ? kMaxShown - 3 : kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    } else {
      out += c;
    }
  }
  out += cut ? "...\"" : "\"";
  return out;
}

inline Error Quantity::NotAQuantity(std::string_view text, std::string_view what) {
  std::string message = Quoted(text);
  message += " is not a quantity: ";
  message += what;
  message +=
      " (allowed: a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent like e3)";
  return ParseError(std::move(message));
}

inline Result<Quantity> Quantity::Parse(std::string_view text) {
  if (text.empty()) return NotAQuantity(text, "it is empty");
  const Parts parts = Split(text);
  if (!parts.has_digits) return NotAQuantity(text, "it doesn't start with a number");
  const std::optional<Suffix> suffix = ReadSuffix(parts.suffix);
  if (!suffix) return NotAQuantity(text, "unknown suffix " + Quoted(parts.suffix));
  const bool binary = suffix->format == QuantityFormat::kBinarySI;
  const std::optional<UInt128> nanos =
      binary ? BinaryNanos(parts, suffix->two) : DecimalNanos(parts, suffix->ten);
  if (!nanos) {
    return ParseError(Quoted(text) +
                      " is too large for a quantity (allowed: at most 9223372036854775807 units, "
                      "with either sign)");
  }
  Quantity out(parts.negative ? -static_cast<Int128>(*nanos) : static_cast<Int128>(*nanos),
               suffix->format);
  // Upstream gives up the binary suffixes for less than a unit, also for sums that begin with it.
  if (binary && *nanos > 0 && *nanos < UInt128{kNanosPerUnit}) {
    out.format_ = QuantityFormat::kDecimalSI;
  }
  // A plain number's text that upstream keeps is the computed one, but for its exponent.
  if ((!parts.plain || suffix->format == QuantityFormat::kDecimalExponent) &&
      UpstreamKeepsText(parts, *suffix) && out.Canonical() != text) {
    out.text_ = std::make_shared<const std::string>(text);
  }
  return out;
}

inline std::string Quantity::Canonical() const {
  if (nanos_ == 0) return "0";
  constexpr std::array<std::string_view, 10> kDecimal = {"n", "u", "m", "",  "k",
                                                         "M", "G", "T", "P", "E"};
  constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  UInt128 count = nanos_ < 0 ? -static_cast<UInt128>(nanos_) : static_cast<UInt128>(nanos_);
  std::string suffix;
  if (format_ == QuantityFormat::kBinarySI && count >= 1024 * UInt128{kNanosPerUnit} &&
      count % kNanosPerUnit == 0) {
    count /= kNanosPerUnit;
    std::size_t power = 0;
    while (power + 1 < kBinary.size() && count % 1024 == 0) {
      count /= 1024;
      ++power;
    }
    suffix = kBinary[power];
  } else {
    const bool exponent = format_ == QuantityFormat::kDecimalExponent;
    int power = -3;  // of 1000
    while ((exponent || power < 6) && count % 1000 == 0) {
      count /= 1000;
      ++power;
    }
    if (!exponent) {
      suffix = kDecimal[static_cast<std::size_t>(power + 3)];
    } else if (power != 0) {
      suffix = "e" + std::to_string(3 * power);
    }
  }
  std::string out;
  for (; count != 0; count /= 10) out += static_cast<char>('0' + static_cast<int>(count % 10));
  if (nanos_ < 0) out += '-';
  std::reverse(out.begin(), out.end());
  return out + suffix;
}

}  // namespace schedfw

#endif  // SCHEDFW_BASE_QUANTITY_H_
