// The lists are those of hkust-adsl/kubernetes-scheduler-simulator (data/csv), and orders are drawn
// as its pkg/simulator does when it tunes a workload.
#include "schedfw/simulation/gpu_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "io/csv.h"
#include "io/json_syntax.h"
#include "io/text_file.h"
#include "schedfw/base/random.h"

namespace schedfw {
namespace {

constexpr std::int64_t kMaxAmount = std::int64_t{1} << 53;           // beyond, doubles skip numbers
constexpr std::int64_t kMaxMemoryMib = (std::int64_t{1} << 43) - 1;  // 64 bits hold it in bytes
constexpr std::int64_t kWholeGpu = 1000;                             // thousandths

/// Thrown inside of this file only; public functions turn it into their result.
struct Refused {
  Error error;
};

std::string Quoted(std::string_view text) { return "\"" + io::Printable(text) + "\""; }

std::string Gpus(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

struct Column {
  std::string name;
  bool optional = false;
};

/// The rows of a CSV text by the columns that are wanted of it, which are numbered in their order.
class Table {
 public:
  Table(std::string_view text, std::string name, std::vector<Column> wanted)
      : rows_(text), name_(std::move(name)), wanted_(std::move(wanted)) {
    ReadHeader();
  }

  /// Goes to the next row; false at the end.
  bool Next() {
    if (!NextRow()) return false;
    if (const std::size_t size = rows_.fields().size(); size != width_) {
      Refuse(std::to_string(size) + (size == 1 ? " value in a row is" : " values in a row are") +
             " not allowed (allowed: " + std::to_string(width_) + ", one for each column)");
    }
    return true;
  }

  /// The value of a column; of one that the file doesn't have, nothing.
  std::string_view Text(std::size_t column) const {
    return places_[column] ? std::string_view(rows_.fields()[*places_[column]])
                           : std::string_view();
  }

  /// The whole number from `least` to `most` in a column.
  std::int64_t Number(std::size_t column, std::int64_t least, std::int64_t most) const {
    const std::string_view text = Text(column);
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data(), end, number);
    const bool whole = error != std::errc::invalid_argument && behind == end;
    if (!whole || error != std::errc() || number < least || number > most) {
      Refuse(
          column,
          whole ? io::Printable(text) + " is not allowed" : Quoted(text) + " is not a whole number",
          least > most ? "none" : std::to_string(least) + " to " + std::to_string(most));
    }
    return number;
  }

  /// A column that says which row it is: not empty and not there before.
  std::string Key(std::size_t column) {
    std::string key(Text(column));
    if (key.empty()) Refuse(column, "\"\" is not allowed", "a name");
    const auto [before, is_new] = lines_.try_emplace(key, rows_.line());
    if (!is_new) {
      Refuse(column, Quoted(key) + " is already in line " + std::to_string(before->second),
             "each name once");
    }
    return key;
  }

  [[noreturn]] void Refuse(std::size_t column, const std::string& reason,
                           const std::string& allowed) const {
    Refuse(io::Printable(wanted_[column].name) + ": " + reason + " (allowed: " + allowed + ")");
  }

  /// An error of the whole file.
  [[noreturn]] void RefuseFile(std::size_t column, const std::string& reason,
                               const std::string& allowed) const {
    throw Refused{ParseError(name_ + ": " + wanted_[column].name + ": " + reason +
                             " (allowed: " + allowed + ")")};
  }

 private:
  bool NextRow() {
    const Result<bool> more = rows_.Next();
    if (!more.ok()) Refuse(more.error().message());
    return *more;
  }

  void ReadHeader() {
    if (!NextRow()) Refuse(0, "the column is missing", Names());
    const std::vector<std::string>& names = rows_.fields();
    width_ = names.size();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto& [name, optional] = wanted_[i];
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        if (!optional) Refuse(i, "the column is missing", Names());
        places_.emplace_back();
        continue;
      }
      if (std::find(found + 1, names.end(), name) != names.end()) {
        Refuse(i, "the column is there twice", "each column once");
      }
      places_.emplace_back(found - names.begin());
    }
  }

  /// The wanted columns, and which there are.
  std::string Names() const {
    std::string wanted, here;
    for (const Column& column : wanted_) {
      wanted += (wanted.empty() ? "" : ",") + io::Printable(column.name);
    }
    for (const std::string& name : rows_.fields()) here += (here.empty() ? "" : ",") + name;
    constexpr std::size_t kMost = 200;
    return wanted + "; here: " + (here.empty() ? "nothing" : io::Printable(here, kMost));
  }

  [[noreturn]] void Refuse(const std::string& message) const {
    throw Refused{ParseError(name_ + ":" + std::to_string(rows_.line()) + ": " + message)};
  }

  io::CsvReader rows_;
  std::string name_;
  std::vector<Column> wanted_;
  std::vector<std::optional<std::size_t>> places_;  // by wanted column, in a row
  std::size_t width_ = 0;
  std::unordered_map<std::string, std::uint64_t> lines_;  // by key
};

std::vector<GpuTraceNode> ParseNodes(std::string_view text, const std::string& name) {
  enum : std::size_t { kName, kCpu, kMemory, kGpus, kModel };
  Table table(text, name, {{"sn"}, {"cpu_milli"}, {"memory_mib"}, {"gpu"}, {"model"}});
  std::vector<GpuTraceNode> nodes;
  while (table.Next()) {
    GpuTraceNode& node = nodes.emplace_back();
    node.name = table.Key(kName);
    node.cpu_milli = table.Number(kCpu, 0, kMaxAmount);
    node.memory_mib = table.Number(kMemory, 0, kMaxMemoryMib);
    node.gpus = static_cast<std::int32_t>(table.Number(kGpus, 0, kMaxGpus));
    node.model = table.Text(kModel);
    if (node.gpus > 0 && node.model.empty()) {
      table.Refuse(kModel, "\"\" is not allowed with " + Gpus(node.gpus), "the name of a model");
    }
    if (node.gpus == 0 && !node.model.empty()) {
      table.Refuse(kModel, Quoted(node.model) + " is not allowed without GPUs", "nothing");
    }
  }
  return nodes;
}

/// What is wrong with the GPUs of a pod: a reason and what is allowed; or nothing.
std::optional<std::pair<std::string, std::string>> GpuFault(std::int64_t gpus, std::int64_t milli) {
  const std::string number = std::to_string(milli) + " is not allowed ";
  if (gpus == 0 && milli != 0) return {{number + "without GPUs", "0"}};
  if (gpus == 1 && milli == 0) return {{number + "with 1 GPU", "1 or more"}};
  if (gpus > 1 && milli < kWholeGpu) return {{number + "with " + Gpus(gpus), "1000 or more"}};
  return std::nullopt;
}

std::vector<GpuTracePod> ParsePods(std::string_view text, const std::string& name) {
  enum : std::size_t { kName, kCpu, kMemory, kGpus, kMilli, kSpec };
  Table table(text, name,
              {{"name"},
               {"cpu_milli"},
               {"memory_mib"},
               {"num_gpu"},
               {"gpu_milli"},
               {"gpu_spec", /*optional=*/true}});
  std::vector<GpuTracePod> pods;
  while (table.Next()) {
    GpuTracePod& pod = pods.emplace_back();
    pod.name = table.Key(kName);
    pod.cpu_milli = table.Number(kCpu, 0, kMaxAmount);
    pod.memory_mib = table.Number(kMemory, 0, kMaxMemoryMib);
    pod.gpus = static_cast<std::int32_t>(table.Number(kGpus, 0, kMaxGpus));
    const std::int64_t milli = table.Number(kMilli, 0, kMaxAmount);
    if (const auto fault = GpuFault(pod.gpus, milli)) {
      table.Refuse(kMilli, fault->first, fault->second);
    }
    pod.gpu_milli = static_cast<std::int32_t>(std::min(milli, kWholeGpu));
    pod.gpu_spec = table.Text(kSpec);
  }
  return pods;
}

Error NoSeed(const std::string& name, const std::string& seed) {
  return ParseError(name + ": seed: " + Quoted(seed) + " is not allowed (allowed: another column)");
}

std::vector<std::uint32_t> ParseArrivals(std::string_view text, const std::string& name,
                                         const std::string& seed, std::size_t pods) {
  enum : std::size_t { kEvent, kSeed };
  if (seed == "event") throw Refused{NoSeed(name, seed)};
  Table table(text, name, {{"event"}, {seed}});
  constexpr std::int64_t kMaxIndex = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t last =
      pods > static_cast<std::size_t>(kMaxIndex) ? kMaxIndex : static_cast<std::int64_t>(pods) - 1;
  std::vector<std::uint32_t> arrivals;
  bool ended = false;
  for (std::int64_t event = 0; table.Next(); ++event) {
    if (table.Number(kEvent, 0, kMaxAmount) != event) {
      table.Refuse(kEvent, io::Printable(table.Text(kEvent)) + " is not allowed",
                   std::to_string(event));
    }
    if (table.Text(kSeed).empty()) {
      ended = true;
      continue;
    }
    const std::int64_t pod = table.Number(kSeed, 0, last);
    if (ended) {
      table.Refuse(kSeed, std::to_string(pod) + " is not allowed behind a blank", "nothing");
    }
    arrivals.push_back(static_cast<std::uint32_t>(pod));
  }
  return arrivals;
}

std::vector<std::uint32_t> ParseRanks(std::string_view text, const std::string& name,
                                      const std::string& seed,
                                      const std::vector<GpuTraceNode>& nodes) {
  enum : std::size_t { kName, kSeed };
  if (seed == "sn") throw Refused{NoSeed(name, seed)};
  Table table(text, name, {{"sn"}, {seed}});
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index.try_emplace(nodes[i].name, i);
  std::vector<std::uint32_t> ranks(nodes.size());
  std::vector<bool> ranked(nodes.size()), taken(nodes.size());
  while (table.Next()) {
    const std::string node = table.Key(kName);
    const auto found = index.find(node);
    if (found == index.end()) {
      table.Refuse(kName, Quoted(node) + " is not a node", "the names of the node list");
    }
    const auto rank = static_cast<std::size_t>(
        table.Number(kSeed, 0, static_cast<std::int64_t>(nodes.size()) - 1));
    if (taken[rank]) {
      table.Refuse(kSeed, std::to_string(rank) + " is there twice", "each rank once");
    }
    taken[rank] = true;
    ranked[found->second] = true;
    ranks[found->second] = static_cast<std::uint32_t>(rank);
  }
  const auto missing = std::find(ranked.begin(), ranked.end(), false);
  if (missing != ranked.end()) {
    const auto node = static_cast<std::size_t>(missing - ranked.begin());
    table.RefuseFile(kName, Quoted(nodes[node].name) + " is missing", "every node once");
  }
  return ranks;
}

/// What `parse` makes of a text called `name`, or why it refused it.
template <typename Parse>
auto Guarded(const std::string& name, const Parse& parse) -> Result<decltype(parse())> {
  try {
    return parse();
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const std::bad_alloc&) {
    return ParseError(name + ": is too large for the memory that is left");
  } catch (const std::length_error&) {
    return ParseError(name + ": is too large for the memory that is left");
  }
}

/// The same for the text of a file.
template <typename Parse>
auto GuardedFile(const std::string& path, const Parse& parse)
    -> Result<decltype(parse(std::string_view(), path))> {
  const Result<std::string> text = io::ReadText(path);
  if (!text.ok()) return text.error();
  const std::string name = path == "-" ? "standard input" : path;
  return Guarded(name, [&] { return parse(std::string_view(*text), name); });
}

std::string Contents(const GpuTraceNode& node) {
  return std::to_string(node.cpu_milli) + "," + std::to_string(node.memory_mib) + "," +
         std::to_string(node.gpus) + "," + io::Printable(node.model);
}

/// 0, 1, … in the order of names; equal names keep theirs.
template <typename Named>
std::vector<std::uint32_t> ByName(const std::vector<Named>& list) {
  std::vector<std::uint32_t> out(list.size());
  std::iota(out.begin(), out.end(), 0U);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return list[a].name < list[b].name; });
  return out;
}

/// Of our own, because standard libraries shuffle each in its own way.
void Shuffle(std::vector<std::uint32_t>& list, Random& random) {
  for (std::size_t i = list.size(); i > 1; --i) {
    std::swap(list[i - 1], list[static_cast<std::size_t>(random.Below(i))]);
  }
}

/// Takes entries of a shuffled list away, each equally likely, until the others ask for no more
/// than the target.
void RemoveSome(const std::vector<GpuTracePod>& pods, std::int64_t target, std::int64_t sum,
                Random& random, std::vector<std::uint32_t>& list) {
  std::vector<std::uint32_t> places(list.size());
  std::iota(places.begin(), places.end(), 0U);
  std::vector<bool> gone(list.size());
  // Taking them out of the list itself would move all behind them each time.
  while (sum > target) {
    std::uint32_t& drawn = places[static_cast<std::size_t>(random.Below(places.size()))];
    gone[drawn] = true;
    sum -= pods[list[drawn]].TotalGpuMilli();
    drawn = places.back();
    places.pop_back();
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!gone[i]) list[kept++] = list[i];
  }
  list.resize(kept);
}

/// Appends copies while the pods ask for less than the target; false if they don't reach it.
bool AddCopies(const std::vector<GpuTracePod>& pods, const std::vector<std::uint32_t>& by_name,
               std::int64_t target, std::int64_t sum, Random& random,
               std::vector<std::uint32_t>& list) {
  for (std::size_t copies = 0; sum < target; ++copies) {
    const std::uint32_t drawn = by_name[static_cast<std::size_t>(random.Below(by_name.size()))];
    if (sum + pods[drawn].gpu_milli > target) return true;
    if (copies == kMaxGpuTraceCopies) return false;
    list.push_back(drawn);
    sum += pods[drawn].TotalGpuMilli();
  }
  return true;
}

std::string Text(double number) {
  char out[32];
  return {out, std::to_chars(out, out + sizeof(out), number).ptr};
}

GpuTraceOrder DrawOrder(const std::vector<GpuTraceNode>& nodes,
                        const std::vector<GpuTracePod>& pods, double tune, std::uint64_t seed) {
  const auto refuse = [](const std::string& message) { throw Refused{ArgumentError(message)}; };
  if (!std::isfinite(tune) || tune < 0) {
    refuse("tune: " + Text(tune) + " is not allowed (allowed: 0 or more)");
  }
  std::int64_t gpus = 0;
  for (const GpuTraceNode& node : nodes) {
    if (node.gpus < 0 || node.gpus > kMaxGpus) {
      refuse("node " + Quoted(node.name) + ": " + Gpus(node.gpus) +
             " are not allowed (allowed: 0 to " + std::to_string(kMaxGpus) + ")");
    }
    gpus += node.gpus;
  }
  std::int64_t sum = 0;
  for (const GpuTracePod& pod : pods) {
    if (pod.gpus < 0 || pod.gpus > kMaxGpus) {
      refuse("pod " + Quoted(pod.name) + ": " + Gpus(pod.gpus) +
             " are not allowed (allowed: 0 to " + std::to_string(kMaxGpus) + ")");
    }
    if (pod.gpu_milli < 0 || pod.gpu_milli > kWholeGpu) {
      refuse("pod " + Quoted(pod.name) + ": gpu_milli: " + std::to_string(pod.gpu_milli) +
             " is not allowed (allowed: 0 to 1000)");
    }
    if (const auto fault = GpuFault(pod.gpus, pod.gpu_milli)) {
      refuse("pod " + Quoted(pod.name) + ": gpu_milli: " + fault->first +
             " (allowed: " + fault->second + ")");
    }
    sum += pod.TotalGpuMilli();
  }
  Random random(seed);
  GpuTraceOrder order;
  const std::vector<std::uint32_t> by_name = ByName(pods);
  order.pods = by_name;
  Shuffle(order.pods, random);
  if (tune > 0) {
    // A product like 1.3 * 6212000 may come out beside the whole number that is meant.
    const double exact = tune * static_cast<double>(gpus * kWholeGpu);
    const std::int64_t target =
        exact < static_cast<double>(kMaxAmount) ? std::llround(exact) : kMaxAmount;
    if (sum == 0 && target > 0) {
      refuse("pods: none asks for a GPU (allowed: one or more that do, or tune 0)");
    }
    if (sum > target) RemoveSome(pods, target, sum, random, order.pods);
    if (sum < target && !AddCopies(pods, by_name, target, sum, random, order.pods)) {
      refuse("tune: " + Text(tune) + " takes too many copies of pods (allowed: at most " +
             std::to_string(kMaxGpuTraceCopies) + ")");
    }
  }
  std::vector<std::uint32_t> ranks(nodes.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  Shuffle(ranks, random);
  order.ranks.resize(nodes.size());
  const std::vector<std::uint32_t> nodes_by_name = ByName(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) order.ranks[nodes_by_name[i]] = ranks[i];
  return order;
}

}  // namespace

Result<std::vector<GpuTraceNode>> ReadGpuTraceNodes(const std::string& path) {
  return GuardedFile(path, ParseNodes);
}

Result<std::vector<GpuTraceNode>> ParseGpuTraceNodes(std::string_view text,
                                                     const std::string& name) {
  return Guarded(name, [&] { return ParseNodes(text, name); });
}

Result<std::vector<GpuTracePod>> ReadGpuTracePods(const std::string& path) {
  return GuardedFile(path, ParsePods);
}

Result<std::vector<GpuTracePod>> ParseGpuTracePods(std::string_view text, const std::string& name) {
  return Guarded(name, [&] { return ParsePods(text, name); });
}

Result<void> MergeGpuTraceNodes(std::vector<GpuTraceNode>& nodes,
                                const std::vector<GpuTraceNode>& more, const std::string& name) {
  std::unordered_map<std::string_view, const GpuTraceNode*> known;
  for (const GpuTraceNode& node : nodes) known.try_emplace(node.name, &node);
  std::vector<GpuTraceNode> added;
  for (const GpuTraceNode& node : more) {
    const auto [before, is_new] = known.try_emplace(node.name, &node);
    if (is_new) {
      added.push_back(node);
    } else if (*before->second != node) {
      return ParseError(name + ": sn: " + Quoted(node.name) + " is there already with " +
                        Contents(*before->second) + ", here with " + Contents(node) +
                        " (allowed: the same contents)");
    }
  }
  nodes.insert(nodes.end(), std::make_move_iterator(added.begin()),
               std::make_move_iterator(added.end()));
  return {};
}

Result<GpuTraceOrder> DrawGpuTraceOrder(const std::vector<GpuTraceNode>& nodes,
                                        const std::vector<GpuTracePod>& pods, double tune,
                                        std::uint64_t seed) {
  return Guarded("order", [&] { return DrawOrder(nodes, pods, tune, seed); });
}

Result<std::vector<std::uint32_t>> ReadGpuTraceArrivals(const std::string& path,
                                                        const std::string& seed, std::size_t pods) {
  return GuardedFile(path, [&](std::string_view text, const std::string& name) {
    return ParseArrivals(text, name, seed, pods);
  });
}

Result<std::vector<std::uint32_t>> ReadGpuTraceRanks(const std::string& path,
                                                     const std::string& seed,
                                                     const std::vector<GpuTraceNode>& nodes) {
  return GuardedFile(path, [&](std::string_view text, const std::string& name) {
    return ParseRanks(text, name, seed, nodes);
  });
}

}  // namespace schedfw
