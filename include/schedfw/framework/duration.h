// Durations as Go reads and writes them.
#ifndef SCHEDFW_FRAMEWORK_DURATION_H_
#define SCHEDFW_FRAMEWORK_DURATION_H_

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace schedfw {

/// A metav1.Duration field. Absent is the only way to say nothing: null and "" are errors.
struct GoDuration {
  std::optional<double> seconds;
};

/// Go's time.ParseDuration, in seconds: "1h2m3.5s", "300ms", "0". nullopt: it isn't a duration, or
/// is beyond 2^63 nanoseconds.
inline std::optional<double> ParseDuration(std::string_view text) {
  double sign = 1;
  if (text.starts_with('-') || text.starts_with('+')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6},
      {"ms", 1e-3}, {"s", 1},     {"m", 60},         {"h", 3600}};
  double total = 0;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    const std::string_view unit = text.substr(0, text.find_first_of("0123456789."));
    const auto* known =
        std::find_if(std::begin(kUnits), std::end(kUnits),
                     [&](const auto& candidate) { return candidate.first == unit; });
    if (known == std::end(kUnits)) return std::nullopt;
    total += number * known->second;
    text.remove_prefix(unit.size());
  }
  if (total > 9223372036.854775807) return std::nullopt;
  return sign * total;
}

/// A time of 0 or more as Go writes it (time.Duration.String): "1m30s", "1.5s", "20ms".
inline std::string FormatDuration(std::chrono::nanoseconds time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ns = time.count();
  const auto decimal = [](std::int64_t amount, std::int64_t unit) {
    std::string out = std::to_string(amount / unit);
    if (amount % unit == 0) return out;
    std::string digits = std::to_string(unit + amount % unit).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    return out + "." + digits;
  };
  if (ns != 0 && ns < 1'000) return std::to_string(ns) + "ns";
  if (ns != 0 && ns < 1'000'000) return decimal(ns, 1'000) + "\u00b5s";
  if (ns != 0 && ns < kSecond) return decimal(ns, 1'000'000) + "ms";
  std::string out;
  const std::int64_t minutes = ns / (60 * kSecond);
  if (minutes >= 60) out += std::to_string(minutes / 60) + "h";
  if (minutes > 0) out += std::to_string(minutes % 60) + "m";
  return out + decimal(ns % (60 * kSecond), kSecond) + "s";
}

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_DURATION_H_
