// Lists of CPUs and NUMA nodes as Linux writes them: "0-3,8,10-11".
#ifndef SCHEDFW_TOPOLOGY_ID_RANGES_H_
#define SCHEDFW_TOPOLOGY_ID_RANGES_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// No CPU or NUMA node has a higher number; Linux allows far fewer.
inline constexpr std::int32_t kMaxCpuId = 1'048'575;
inline constexpr std::int32_t kMaxNumaId = 4095;

/// A decimal number from 0 to `most` and nothing else; nullopt for any other text.
inline std::optional<std::int32_t> ParseId(std::string_view text, std::int32_t most) {
  std::int32_t out = 0;
  const char* end = text.data() + text.size();
  // from_chars would take a minus sign.
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [at, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || at != end || out > most) return std::nullopt;
  return out;
}

/// Sorts ranges and joins those that overlap or touch.
inline void JoinRanges(std::vector<CpuRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CpuRange& a, const CpuRange& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (const CpuRange& range : ranges) {
    if (kept != 0 && range.first <= ranges[kept - 1].last + 1) {
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

/// Reads "0-3,8" as ascending ranges; nullopt if the text is anything else, also for a range that
/// runs backwards and for numbers above `most`.
inline std::optional<std::vector<CpuRange>> ParseRanges(std::string_view text, std::int32_t most) {
  std::vector<CpuRange> out;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = ParseId(item.substr(0, dash), most);
    const auto last = dash == std::string_view::npos ? first : ParseId(item.substr(dash + 1), most);
    if (!first || !last || *last < *first) return std::nullopt;
    out.push_back({*first, *last});
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  JoinRanges(out);
  return out;
}

/// The numbers of ranges, one by one.
inline std::vector<std::int32_t> RangeIds(const std::vector<CpuRange>& ranges) {
  std::vector<std::int32_t> out;
  for (const CpuRange& range : ranges) {
    for (std::int32_t id = range.first; id <= range.last; ++id) out.push_back(id);
  }
  return out;
}

/// Ascending numbers as ranges.
inline std::vector<CpuRange> IdRanges(const std::vector<std::int32_t>& ids) {
  std::vector<CpuRange> out;
  for (const std::int32_t id : ids) out.push_back({id, id});
  JoinRanges(out);
  return out;
}

/// "0-3,8"; empty without ranges.
inline std::string RangesText(const std::vector<CpuRange>& ranges) {
  std::string out;
  for (const CpuRange& range : ranges) {
    if (!out.empty()) out += ',';
    out += std::to_string(range.first);
    if (range.last != range.first) out += '-' + std::to_string(range.last);
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_ID_RANGES_H_
