#include "schedfw/topology/numactl.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_syntax.h"
#include "io/text_file.h"
#include "schedfw/topology/cpu_numa.h"
#include "schedfw/topology/id_ranges.h"

namespace schedfw {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Nodes have distances to each other, so that many of them are many numbers.
constexpr std::size_t kMaxNodes = 1024;

std::string Quoted(std::string_view text) { return "\"" + io::Printable(text) + "\""; }

std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

class NumactlReader {
 public:
  NumactlReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<NumaFacts> Read() {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      return ParseError(name_ + ": the text is empty (allowed: the text of numactl -H)");
    }
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      if (auto error = TakeLine(Words(line))) return *std::move(error);
    }
    if (out_.nodes.empty()) {
      return ParseError(name_ + ": no NUMA node (allowed: the text of numactl -H)");
    }
    for (const std::int32_t id : available_) {
      if (Find(id) == out_.nodes.end()) {
        return ParseError(name_ + ": node " + std::to_string(id) +
                          " is available but not described (allowed: a line \"node " +
                          std::to_string(id) + " cpus: …\")");
      }
    }
    Sort();
    if (auto error = TakeDistances()) return *std::move(error);
    out_.source = name_;
    return std::move(out_);
  }

 private:
  using Line = std::vector<std::string_view>;

  Error Here(const std::string& what) const {
    return ParseError(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  std::vector<NumaNode>::iterator Find(std::int32_t id) {
    return std::find_if(out_.nodes.begin(), out_.nodes.end(),
                        [&](const NumaNode& node) { return node.id == id; });
  }

  std::optional<Error> TakeLine(const Line& words) {
    if (words.size() >= 4 && words[0] == "available:" && words[2].starts_with("node")) {
      std::string_view list = words[3];  // "(0-1)"
      if (list.starts_with('(')) list.remove_prefix(1);
      if (list.ends_with(')')) list.remove_suffix(1);
      const auto ranges = ParseRanges(list, kMaxNumaId);
      if (!ranges) return Here(Quoted(words[3]) + " names no nodes (allowed: as (0-1) or (0,8))");
      available_ = RangeIds(*ranges);
      return std::nullopt;
    }
    if (words.size() >= 3 && words[0] == "node" && words[2] == "cpus:") return TakeCpus(words);
    if (words.size() >= 3 && words[0] == "node" && words[2] == "size:") return TakeSize(words);
    if (words.size() == 2 && words[0] == "node" && words[1] == "distances:") {
      in_distances_ = true;
      return std::nullopt;
    }
    if (in_distances_ && !words.empty()) return TakeDistanceLine(words);
    return std::nullopt;
  }

  std::optional<Error> TakeCpus(const Line& words) {
    const auto id = ParseId(words[1], kMaxNumaId);
    if (!id) {
      return Here(Quoted(words[1]) + " is no node (allowed: 0 to " + std::to_string(kMaxNumaId) +
                  ")");
    }
    if (Find(*id) != out_.nodes.end()) {
      return Here("node " + std::to_string(*id) + " is given twice (allowed: once)");
    }
    if (out_.nodes.size() == kMaxNodes) {
      return Here("too many nodes (allowed: at most " + std::to_string(kMaxNodes) + ")");
    }
    NumaNode node;
    node.id = *id;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const auto cpu = ParseId(words[i], kMaxCpuId);
      if (!cpu) {
        return Here("node " + std::to_string(*id) + ": " + Quoted(words[i]) +
                    " is no CPU (allowed: 0 to " + std::to_string(kMaxCpuId) + ")");
      }
      node.cpus.push_back({*cpu, *cpu});
    }
    JoinRanges(node.cpus);
    out_.nodes.push_back(std::move(node));
    return std::nullopt;
  }

  std::optional<Error> TakeSize(const Line& words) {
    // 2^31 MiB are 2 PiB.
    const auto id = ParseId(words[1], kMaxNumaId);
    const auto node = id ? Find(*id) : out_.nodes.end();
    if (node == out_.nodes.end()) {
      return Here("the size of node " + Quoted(words[1]) +
                  ", whose CPUs weren't given (allowed: "
                  "a line with its CPUs before)");
    }
    const auto size = words.size() == 5 && words[4] == "MB" ? ParseId(words[3], 2'147'483'647)
                                                            : std::optional<std::int32_t>();
    if (!size) {
      return Here("the size of node " + std::to_string(node->id) +
                  " isn't clear (allowed: a number and MB)");
    }
    node->memory_bytes = std::int64_t{*size} << 20;  // numactl's MB are MiB
    return std::nullopt;
  }

  std::optional<Error> TakeDistanceLine(const Line& words) {
    if (words[0] == "node") {  // the heading: node   0   1
      distance_lines_.clear();
      columns_.clear();
      for (std::size_t i = 1; i < words.size(); ++i) {
        const auto id = ParseId(words[i], kMaxNumaId);
        if (!id) return Here(Quoted(words[i]) + " is no node (allowed: a number)");
        columns_.push_back(*id);
      }
      heading_line_ = line_;
      return std::nullopt;
    }
    if (!words[0].ends_with(':')) {  // something behind the matrix
      in_distances_ = false;
      return std::nullopt;
    }
    const auto row = ParseId(words[0].substr(0, words[0].size() - 1), kMaxNumaId);
    if (!row) return Here(Quoted(words[0]) + " is no node (allowed: a number and a colon)");
    if (words.size() != columns_.size() + 1) {
      return Here("node " + std::to_string(*row) + " has " + std::to_string(words.size() - 1) +
                  " distances (allowed: " + std::to_string(columns_.size()) + ")");
    }
    std::vector<std::int32_t> values;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto value = ParseId(words[i], 255);
      if (!value) return Here(Quoted(words[i]) + " is no distance (allowed: 0 to 255)");
      values.push_back(*value);
    }
    distance_lines_.emplace_back(*row, std::move(values));
    return std::nullopt;
  }

  void Sort() {
    std::sort(out_.nodes.begin(), out_.nodes.end(),
              [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  }

  // Puts the distances in the order of the nodes.
  std::optional<Error> TakeDistances() {
    if (columns_.empty() && distance_lines_.empty()) return std::nullopt;
    line_ = heading_line_;
    const std::size_t count = out_.nodes.size();
    if (columns_.size() != count || distance_lines_.size() != count) {
      return Here("the distances are of " + std::to_string(distance_lines_.size()) + " × " +
                  std::to_string(columns_.size()) + " nodes (allowed: those of the " +
                  std::to_string(count) + " nodes)");
    }
    std::vector<std::int32_t> out(count * count, -1);
    for (const auto& [row, values] : distance_lines_) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto from = Find(row);
        const auto to = Find(columns_[i]);
        if (from == out_.nodes.end() || to == out_.nodes.end()) {
          return Here("distances of node " +
                      std::to_string(from == out_.nodes.end() ? row : columns_[i]) +
                      ", which isn't there (allowed: the nodes with CPU lines)");
        }
        const auto at = static_cast<std::size_t>(from - out_.nodes.begin()) * count +
                        static_cast<std::size_t>(to - out_.nodes.begin());
        out[at] = values[i];
      }
    }
    if (std::find(out.begin(), out.end(), -1) != out.end()) {
      return Here("a node has its distances twice (allowed: once)");
    }
    out_.distances = std::move(out);
    return std::nullopt;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 0;
  std::vector<std::int32_t> available_;
  bool in_distances_ = false;
  std::size_t heading_line_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>> distance_lines_;
  NumaFacts out_;
};

bool Overlap(const std::vector<CpuRange>& a, const std::vector<CpuRange>& b) {
  return std::any_of(a.begin(), a.end(), [&](const CpuRange& x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const CpuRange& y) { return x.first <= y.last && y.first <= x.last; });
  });
}

}  // namespace

Result<NumaFacts> ParseNumactl(std::string_view text, const std::string& name) {
  return NumactlReader(text, name).Read();
}

Result<NumaFacts> ReadNumactl(const std::string& path) {
  auto text = io::ReadText(path);
  if (!text) return text.error();
  return ParseNumactl(*text, path == "-" ? "standard input" : path);
}

Result<void> AddNumaFacts(NodeTopology& topology, const NumaFacts& facts) {
  const auto find = [&](std::int32_t id) {
    return std::find_if(facts.nodes.begin(), facts.nodes.end(),
                        [&](const NumaNode& node) { return node.id == id; });
  };
  const auto known = [&](std::int32_t id) { return find(id) != facts.nodes.end(); };
  for (const Device& device : topology.devices) {
    if (device.numa.empty() || std::any_of(device.numa.begin(), device.numa.end(), known)) continue;
    return ParseError(facts.source + ": has none of the NUMA nodes of " + device.name + ", " +
                      RangesText(IdRanges(device.numa)) + " (allowed: what the same node prints)");
  }
  for (Device& device : topology.devices) {
    if (device.numa.empty() && !device.cpus.empty()) {
      for (const NumaNode& node : facts.nodes) {
        if (Overlap(node.cpus, device.cpus)) device.numa.push_back(node.id);
      }
    }
    if (!device.cpus.empty()) continue;
    for (const std::int32_t id : device.numa) {
      const auto node = find(id);
      if (node == facts.nodes.end()) continue;
      device.cpus.insert(device.cpus.end(), node->cpus.begin(), node->cpus.end());
    }
    JoinRanges(device.cpus);
  }
  topology.numa_nodes = facts.nodes;
  topology.numa_distances = facts.distances;
  SetCpuNuma(topology);
  return {};
}

}  // namespace schedfw
