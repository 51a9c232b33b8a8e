// RFC 3339 times.
#ifndef SCHEDFW_SRC_API_TIME_H_
#define SCHEDFW_SRC_API_TIME_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace schedfw::api {

/// Nanoseconds since the Unix epoch of an RFC 3339 time ("2026-01-31T23:59:59.5+02:00").
///
/// Read as Go's time.Parse does, which also takes an hour of one digit and a comma before the
/// fraction. Times before 1678 and after 2261 don't fit into 64 bits: they become the first and the
/// last nanosecond that does. nullopt when the text is something else.
inline std::optional<std::int64_t> ParseRfc3339(std::string_view text) {
  std::size_t at = 0;
  const auto digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  const auto number = [&](int digits) {
    int value = 0;
    for (; digits > 0; --digits, ++at) {
      if (!digit()) return -1;
      value = value * 10 + (text[at] - '0');
    }
    return value;
  };
  const auto eat = [&](char c) {
    const bool there = at < text.size() && text[at] == c;
    if (there) ++at;
    return there;
  };

  const int year = number(4);
  if (year < 0 || !eat('-')) return std::nullopt;
  const int month = number(2);
  if (month < 1 || month > 12 || !eat('-')) return std::nullopt;
  const int day = number(2);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day < 1 || day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return std::nullopt;
  if (!eat('T')) return std::nullopt;
  const bool short_hour = at + 1 < text.size() && text[at + 1] == ':';
  const int hour = number(short_hour ? 1 : 2);
  if (hour < 0 || hour > 23 || !eat(':')) return std::nullopt;
  const int minute = number(2);
  if (minute < 0 || minute > 59 || !eat(':')) return std::nullopt;
  const int second = number(2);
  if (second < 0 || second > 59) return std::nullopt;

  std::int64_t nanos = 0;
  if (eat('.') || eat(',')) {
    if (!digit()) return std::nullopt;
    for (std::int64_t unit = 100000000; digit(); unit /= 10, ++at) nanos += unit * (text[at] - '0');
  }
  int offset_minutes = 0;
  if (!eat('Z')) {
    const bool east = eat('+');
    if (!east && !eat('-')) return std::nullopt;
    const int hours = number(2);
    if (hours < 0 || hours > 24 || !eat(':')) return std::nullopt;
    const int minutes = number(2);
    if (minutes < 0 || minutes > 60) return std::nullopt;
    offset_minutes = (east ? 1 : -1) * (hours * 60 + minutes);
  }
  if (at != text.size()) return std::nullopt;

  if (year < 1678) return std::numeric_limits<std::int64_t>::min();
  if (year > 2261) return std::numeric_limits<std::int64_t>::max();

  // Days since the epoch: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  const int y = month <= 2 ? year - 1 : year;
  const int era = y / 400;
  const int year_of_era = y - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  const std::int64_t days = std::int64_t{era} * 146097 + day_of_era - 719468;
  const std::int64_t seconds =
      days * 86400 + hour * 3600 + minute * 60 + second - std::int64_t{offset_minutes} * 60;
  return seconds * 1000000000 + nanos;
}

/// Appends a time in the form that ParseRfc3339 reads back to the same nanosecond: in UTC, with as
/// many digits behind the point as it takes.
///
/// ParseRfc3339 goes by the year as it is written, so a time that is in 1677 or 2262 only in UTC is
/// written in the zone that is farthest away. Other times of these years are read as the first and
/// the last nanosecond.
inline void AppendRfc3339(std::int64_t ns, std::string* out) {
  constexpr std::int64_t kSecond = 1000000000, kDay = 86400;
  constexpr std::int64_t kFirstYear = -9214560000, kAfterLastYear = 9214646400;  // 1678 and 2262
  constexpr std::int64_t kFarthest = 25 * 3600;
  const auto floor_div = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  std::int64_t seconds = floor_div(ns, kSecond);
  const std::int64_t nanos = ns % kSecond + (ns % kSecond < 0 ? kSecond : 0);
  const char* zone = "Z";
  if (seconds < kFirstYear && seconds + kFarthest >= kFirstYear) {
    seconds += kFarthest;
    zone = "+24:60";
  } else if (seconds >= kAfterLastYear && seconds - kFarthest < kAfterLastYear) {
    seconds -= kFarthest;
    zone = "-24:60";
  }
  const std::int64_t days = floor_div(seconds, kDay);
  const auto of_day = static_cast<int>(seconds - days * kDay);

  // The civil date of a day: H. Hinnant, as above.
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = floor_div(shifted, 146097);
  const auto day_of_era = static_cast<int>(shifted - era * 146097);
  const int year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int month_from_march = (5 * day_of_year + 2) / 153;
  const int day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int year = static_cast<int>(era) * 400 + year_of_era + (month <= 2 ? 1 : 0);

  const auto append = [&](std::int64_t value, std::size_t digits) {
    const std::size_t end = out->size() + digits;
    out->append(digits, '0');
    for (std::size_t at = end; value > 0; value /= 10) {
      (*out)[--at] = static_cast<char>('0' + value % 10);
    }
  };
  append(year, 4);
  *out += '-';
  append(month, 2);
  *out += '-';
  append(day, 2);
  *out += 'T';
  append(of_day / 3600, 2);
  *out += ':';
  append(of_day / 60 % 60, 2);
  *out += ':';
  append(of_day % 60, 2);
  if (nanos != 0) {
    *out += '.';
    append(nanos, 9);
    out->erase(out->find_last_not_of('0') + 1);
  }
  *out += zone;
}

}  // namespace schedfw::api

#endif  // SCHEDFW_SRC_API_TIME_H_
