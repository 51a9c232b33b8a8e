// RFC 3339 times.
#ifndef SCHEDFW_SRC_API_TIME_H_
#define SCHEDFW_SRC_API_TIME_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace schedfw::api {

/// Nanoseconds since the Unix epoch of an RFC 3339 time ("2026-01-31T23:59:59.5+02:00").
///
/// nullopt when the text is something else, or the time lies outside of 1678 to 2261, which
/// nanoseconds in 64 bits can't hold.
inline std::optional<std::int64_t> ParseRfc3339(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t digits) -> int {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const auto is = [&](std::size_t at, char c) { return at < text.size() && text[at] == c; };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (year < 1678 || year > 2261 || !is(4, '-') || !is(7, '-') || !is(10, 'T') || !is(13, ':') ||
      !is(16, ':') || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return std::nullopt;

  std::size_t at = 19;
  std::int64_t nanos = 0;
  if (is(at, '.')) {
    ++at;
    std::int64_t unit = 100000000;
    const std::size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      nanos += unit * (text[at] - '0');
      unit /= 10;
    }
    if (at == begin) return std::nullopt;
  }
  std::int64_t offset_minutes = 0;
  if (is(at, 'Z')) {
    ++at;
  } else if (is(at, '+') || is(at, '-')) {
    const int h = number(at + 1, 2), m = number(at + 4, 2);
    if (h < 0 || h > 23 || !is(at + 3, ':') || m < 0 || m > 59) return std::nullopt;
    offset_minutes = (text[at] == '-' ? -1 : 1) * (h * 60 + m);
    at += 6;
  } else {
    return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;

  // Days since the epoch: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  const int y = month <= 2 ? year - 1 : year;
  const int era = y / 400;
  const int year_of_era = y - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  const std::int64_t days = std::int64_t{era} * 146097 + day_of_era - 719468;
  const std::int64_t seconds =
      days * 86400 + hour * 3600 + minute * 60 + second - offset_minutes * 60;
  return seconds * 1000000000 + nanos;
}

}  // namespace schedfw::api

#endif  // SCHEDFW_SRC_API_TIME_H_
