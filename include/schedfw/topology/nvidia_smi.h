// ParseNvidiaSmi: the devices of a node as `nvidia-smi topo -m` prints them.
//
// The layouts are those of the drivers from 2015 to 2025: what their outputs have in common is that
// a header names the devices and then some of "CPU Affinity", "NUMA Affinity" and "GPU NUMA ID",
// and that a row is a device's name, a link for each device of the header, and what is known of
// the affinity. Columns drift, so that only the order of cells counts.
#ifndef SCHEDFW_TOPOLOGY_NVIDIA_SMI_H_
#define SCHEDFW_TOPOLOGY_NVIDIA_SMI_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/base/result.h"
#include "schedfw/topology/cpu_numa.h"
#include "schedfw/topology/id_ranges.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// How many devices a topology may have.
inline constexpr std::size_t kMaxDevices = 256;

/// A link by its name in `nvidia-smi topo -m`, also by the names that old drivers used: SOC is SYS,
/// PSB and INTERNAL (two GPUs of a board) are PIX. nullopt for any other text.
inline std::optional<Link> ParseLink(std::string_view text) {
  if (text.starts_with("NV")) {
    const auto count = ParseId(text.substr(2), 255);
    if (!count || *count == 0 || text[2] == '0') return std::nullopt;
    return Link{LinkType::kNvLink, static_cast<std::uint8_t>(*count)};
  }
  for (const auto& [type, name] : internal::kLinkNames) {
    if (text == name) return Link{type};
  }
  if (text == "SOC") return Link{LinkType::kSys};
  if (text == "PSB" || text == "INTERNAL") return Link{LinkType::kPix};
  return std::nullopt;
}

namespace internal {

inline constexpr std::string_view kAllowedLinks =
    "X, NV1 to NV255, XGMI, PIX, PXB, PHB, NODE, SYS, N/A";

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// NV# counts with any number.
inline bool IsLinkName(std::string_view text) {
  return ParseLink(text).has_value() || (text.size() > 2 && text.starts_with("NV") &&
                                         std::all_of(text.begin() + 2, text.end(), IsDigit));
}

// mlx5_0, NIC10, ibp24s0, …
inline bool IsDeviceName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && IsLetter(text.front()) && !IsLinkName(text) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.' || c == '@';
         });
}
inline constexpr std::string_view kAllowedNames =
    "a letter, then letters, digits and _-.@, at most 64, and no link";

// A piece of input for a message: in quotes, on one line, ASCII, cut off.
inline std::string QuotedInput(std::string_view text, std::size_t most = 60) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, most)) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + (text.size() > most ? "…\"" : "\"");
}

// Reads a text line by line, without what terminals and web pages put around it.
class NvidiaSmiLines {
 public:
  struct Cell {
    std::string text;
    std::size_t column = 0;  // where it begins, with tabs of 8
  };

  explicit NvidiaSmiLines(std::string_view text)
      : text_(text), separator_(text.find('\n') == std::string_view::npos ? '\r' : '\n') {}

  // Goes to the next line; false if there is none.
  bool Next() {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find(separator_, at_), text_.size());
    raw_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    Split(Clean(raw_));
    return true;
  }

  std::size_t number() const { return number_; }
  std::string_view raw() const { return raw_; }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  // How many bytes of a terminal's escape sequence `text` begins with. Pasted texts have lost the
  // escape character or show it in some other way: "[4mGPU0".
  static std::size_t EscapeSize(std::string_view text) {
    constexpr std::string_view kShown[] = {"^[",      "\\x1b",        "\\x1B",
                                           "\\033",   "\\e",          "\\u001b",
                                           "\\u001B", "\xef\xbf\xbd", "\xe2\x90\x9b"};
    std::size_t at = 0;
    const bool real = text.front() == '\x1b';
    if (real) {
      at = 1;
      if (text.substr(1, 1) == "]") {  // a window's title, up to BEL or ESC backslash
        const std::size_t end = text.find_first_of("\a\x1b", 2);
        if (end == std::string_view::npos) return text.size();
        return end + (text[end] == '\x1b' && text.substr(end + 1, 1) == "\\" ? 2 : 1);
      }
      if (text.substr(1, 1) == "(") return std::min<std::size_t>(3, text.size());
    } else {
      for (const std::string_view shown : kShown) {
        if (text.starts_with(shown)) at = shown.size();
      }
    }
    if (text.substr(at, 1) != "[") return real ? std::min<std::size_t>(2, text.size()) : 0;
    ++at;
    while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) {
      if (!real && !IsDigit(text[at]) && text[at] != ';') return 0;
      ++at;
    }
    if (at == text.size()) return real ? at : 0;
    return real || text[at] == 'm' || text[at] == 'K' ? at + 1 : 0;
  }

  static std::string Clean(std::string_view text) {
    constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
        {"\xef\xbb\xbf", ""},   // byte order mark
        {"\xe2\x80\x8b", ""},   // zero-width space
        {"\xc2\xa0", " "},      // no-break space
        {"\xe2\x94\x82", " "},  // box drawing: vertical line
        {"|", " "},
        {"`", " "},
        {"\r", " "}};
    std::string out;
    bool quoting = true;  // nothing but "> " so far
    while (!text.empty()) {
      if (const std::size_t size = EscapeSize(text)) {
        text.remove_prefix(size);
        continue;
      }
      const auto* const found =
          std::find_if(std::begin(kReplaced), std::end(kReplaced),
                       [&](const auto& item) { return text.starts_with(item.first); });
      if (found != std::end(kReplaced)) {
        out += found->second;
        text.remove_prefix(found->first.size());
        continue;
      }
      const char c = text.front();
      text.remove_prefix(1);
      quoting = quoting && (c == ' ' || c == '\t' || c == '>');
      if (quoting && c == '>') {
        out += ' ';
      } else if (c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) {
        out += c;
      }
    }
    return out;
  }

  void Split(const std::string& line) {
    cells_.clear();
    std::size_t column = 0;
    bool inside = false;
    for (const char c : line) {
      if (c == ' ' || c == '\t') {
        column = c == ' ' ? column + 1 : column / 8 * 8 + 8;
        inside = false;
        continue;
      }
      if (!inside) cells_.push_back({{}, column});
      inside = true;
      cells_.back().text += c;
      if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++column;
    }
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  std::string_view raw_;
  std::vector<Cell> cells_;
};

class NvidiaSmiReader {
 public:
  NvidiaSmiReader(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

  Result<NodeTopology> Read() {
    std::optional<std::size_t> first;  // the first line that isn't blank
    std::string first_text;
    while (!done_ && lines_.Next()) {
      if (lines_.cells().empty()) continue;
      if (!first) {
        first = lines_.number();
        first_text = Joined(lines_.cells());
      }
      if (auto error = TakeLine()) return *std::move(error);
    }
    if (!first)
      return ParseError(name_ + ": the text is empty (allowed: the text of nvidia-smi topo -m)");
    if (!in_rows_ && !(header_.IsLikely() && header_.prefix == 0)) {
      return ParseError(
          name_ + ":" + std::to_string(*first) + ": no matrix of devices; the text begins with " +
          QuotedInput(first_text, 160) + " (allowed: the text of nvidia-smi topo -m)");
    }
    if (!in_rows_) {
      if (auto error = Begin()) return *std::move(error);
    }
    for (std::size_t i = 0; i < row_lines_.size(); ++i) {
      if (row_lines_[i] == 0) {
        return At(header_.line, "the row of " + QuotedInput(header_.devices[i]) +
                                    " is missing (allowed: a row for each column)");
      }
    }
    out_.source = "nvidia-smi topo -m";
    SetCpuNuma(out_);
    return std::move(out_);
  }

 private:
  using Cell = NvidiaSmiLines::Cell;
  using Cells = std::vector<Cell>;

  enum class Heading { kCpus, kNuma, kGpuNuma };

  struct Header {
    std::size_t line = 0;
    std::size_t prefix = 0;  // cells before the devices: a prompt, the time of each line
    std::vector<std::string> devices;
    std::vector<std::pair<Heading, std::size_t>> headings;  // and their columns

    // Whether it is one and no sentence that ends with a device's name.
    bool IsLikely() const { return line != 0 && (devices.size() > 1 || !headings.empty()); }
  };

  Error At(std::size_t line, const std::string& what) const {
    return ParseError(name_ + ":" + std::to_string(line) + ": " + what);
  }
  Error Here(const std::string& what) const { return At(lines_.number(), what); }

  static std::string Joined(const Cells& cells) {
    std::string out;
    for (const Cell& cell : cells) {
      if (!out.empty()) out += ' ';
      out += cell.text;
      if (out.size() > 200) break;
    }
    return out;
  }

  static bool IsGpu(std::string_view text) {
    return text.size() > 3 && text.starts_with("GPU") && text.size() <= 12 &&
           std::all_of(text.begin() + 3, text.end(), IsDigit);
  }
  static bool HasDigit(std::string_view text) {
    return std::any_of(text.begin(), text.end(), IsDigit);
  }
  static bool IsAffinity(std::string_view text) {
    return text.size() > 1 && std::string_view("Affinity").starts_with(text);
  }

  // Reads "CPU Affinity", "NUMA Affinity" or "GPU NUMA ID", also cut off, and tells how many cells
  // it takes; 0 if it is none of them.
  static std::size_t ReadHeading(const Cells& cells, std::size_t at, Heading& out) {
    const auto is = [&](std::size_t i, std::string_view text) {
      return i < cells.size() && cells[i].text == text;
    };
    if (is(at, "GPU") && is(at + 1, "NUMA")) {
      out = Heading::kGpuNuma;
      return is(at + 2, "ID") ? 3 : 2;
    }
    if (!is(at, "CPU") && !is(at, "NUMA")) return 0;
    out = is(at, "CPU") ? Heading::kCpus : Heading::kNuma;
    return at + 1 < cells.size() && IsAffinity(cells[at + 1].text) ? 2 : 1;
  }

  // The header that a line may be: from some cell on, devices and then headings up to its end.
  static std::optional<Header> FindHeader(const Cells& cells, std::size_t line) {
    Header out;
    for (std::size_t at = 0; at < cells.size();) {
      out = {};
      out.line = line;
      out.prefix = at;
      while (at < cells.size() && IsDeviceName(cells[at].text)) {
        Heading heading{};
        if (ReadHeading(cells, at, heading) != 0) break;
        out.devices.push_back(cells[at++].text);
      }
      while (at < cells.size()) {
        Heading heading{};
        const std::size_t size = ReadHeading(cells, at, heading);
        if (size == 0) break;
        out.headings.emplace_back(heading, cells[at].column);
        at += size;
      }
      if (at == cells.size()) break;
      out = {};
      ++at;
    }
    const bool has_gpu = std::any_of(out.devices.begin(), out.devices.end(), IsGpu);
    // Words of a sentence aren't devices. Without a GPU it is an error, but still a matrix.
    const bool named =
        !out.headings.empty() || std::all_of(out.devices.begin(), out.devices.end(), HasDigit);
    if (out.devices.empty() || !named || (!has_gpu && !IsNicHeader(out))) return std::nullopt;
    return out;
  }
  static bool IsNicHeader(const Header& header) {
    return header.prefix == 0 && header.IsLikely() &&
           std::all_of(header.devices.begin(), header.devices.end(), [](std::string_view text) {
             return text.starts_with("NIC") || text.starts_with("mlx");
           });
  }

  // The cell with a row's name; cells.size() if the line isn't like a row.
  std::size_t FindRow(const Cells& cells, const Header& header) const {
    for (const std::size_t at : {header.prefix, std::size_t{0}}) {
      if (at >= cells.size()) continue;
      const auto& names = header.devices;
      if (std::find(names.begin(), names.end(), cells[at].text) != names.end()) return at;
    }
    const std::size_t at = header.prefix < cells.size() ? header.prefix : 0;
    const bool text =
        std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.text == "="; });
    if (!text && at + 1 < cells.size() && IsLinkName(cells[at + 1].text)) return at;
    return cells.size();
  }

  std::optional<Error> TakeLine() {
    const Cells& cells = lines_.cells();
    if (auto header = FindHeader(cells, lines_.number())) {
      if (!in_rows_) {
        if (header->IsLikely() || !header_.IsLikely()) header_ = *std::move(header);
        return std::nullopt;
      }
      if (header->IsLikely() && header->prefix <= header_.prefix) {
        done_ = true;  // of another command or node: the first matrix counts
        return std::nullopt;
      }
    }
    if (header_.line == 0) return std::nullopt;
    const std::size_t at = FindRow(cells, header_);
    if (at == cells.size()) {
      if (in_rows_) TakeAlias();
      return std::nullopt;
    }
    if (!in_rows_) {
      // A sentence that names a device is no row.
      if (!header_.IsLikely() && (at + 1 == cells.size() || !IsLinkName(cells[at + 1].text))) {
        return std::nullopt;
      }
      DropNames(cells);
      if (auto error = Begin()) return error;
    }
    return TakeRow(FindRow(cells, header_));
  }

  // What stands before each line of a log may look like a device: "app-1 | GPU0 …". In a row a link
  // follows on the device.
  void DropNames(const Cells& cells) {
    auto& names = header_.devices;
    while (names.size() > 1 && header_.prefix + 1 < cells.size() &&
           cells[header_.prefix].text == names.front() &&
           std::find(names.begin(), names.end(), cells[header_.prefix + 1].text) != names.end()) {
      names.erase(names.begin());
      ++header_.prefix;
    }
  }

  // Makes the devices of the header.
  std::optional<Error> Begin() {
    in_rows_ = true;
    const std::size_t count = header_.devices.size();
    if (count > kMaxDevices) {
      return At(header_.line, std::to_string(count) + " devices (allowed: at most " +
                                  std::to_string(kMaxDevices) + ")");
    }
    for (std::size_t i = 0; i < count; ++i) {
      Device device;
      device.name = header_.devices[i];
      device.kind = IsGpu(device.name) ? DeviceKind::kGpu : DeviceKind::kNic;
      if (!places_.emplace(device.name, i).second) {
        return At(header_.line, "two columns are named " + QuotedInput(device.name) +
                                    " (allowed: each device once)");
      }
      out_.devices.push_back(std::move(device));
    }
    if (out_.Gpus().empty()) {
      return At(header_.line, "no column is a GPU (allowed: at least one, as GPU0)");
    }
    for (std::size_t i = 0; i < header_.headings.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (header_.headings[i].first != header_.headings[j].first) continue;
        return At(header_.line,
                  "two columns have the same heading (allowed: CPU Affinity, NUMA "
                  "Affinity and GPU NUMA ID, each once)");
      }
    }
    out_.links.resize(count * count);
    row_lines_.resize(count);
    return std::nullopt;
  }

  std::optional<Error> TakeRow(std::size_t at) {
    const Cells& cells = lines_.cells();
    const std::string& name = cells[at].text;
    const bool complete = std::count(row_lines_.begin(), row_lines_.end(), 0) == 0;
    const auto found = places_.find(name);
    if (found == places_.end()) {
      if (complete) return std::nullopt;
      return Here("the row " + QuotedInput(name) + " has no column (allowed: " + ColumnNames() +
                  ")");
    }
    const std::size_t row = found->second;
    if (row_lines_[row] != 0) {
      // Behind the matrix a sentence may begin with a device.
      if (complete && (at + 1 == cells.size() || !IsLinkName(cells[at + 1].text)))
        return std::nullopt;
      return Here("the row of " + name + " is given twice, first on line " +
                  std::to_string(row_lines_[row]) + " (allowed: once)");
    }
    const std::size_t count = out_.devices.size();
    if (cells.size() - at - 1 < count) {
      return Here("the row of " + name + " has " + std::to_string(cells.size() - at - 1) +
                  " cells (allowed: at least " + std::to_string(count) + ", one for each device)");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& text = cells[at + 1 + i].text;
      const auto link = ParseLink(text);
      const std::string& other = out_.devices[i].name;
      if (!link) {
        return Here(name + " to " + other + ": " + QuotedInput(text) +
                    " is no link (allowed: " + std::string(kAllowedLinks) + ")");
      }
      if ((link->type == LinkType::kSelf) != (i == row)) {
        return Here(name + " to " + other + ": " + QuotedInput(text) + " (allowed: " +
                    (i == row ? "X, as a device to itself" : "X only where row and column meet") +
                    ")");
      }
      if (row_lines_[i] != 0 && out_.link(i, row) != *link) {
        return Here(name + " to " + other + " is " + LinkText(*link) + ", but " +
                    LinkText(out_.link(i, row)) + " on line " + std::to_string(row_lines_[i]) +
                    " (allowed: the same both ways)");
      }
      out_.links[row * count + i] = *link;
    }
    row_lines_[row] = lines_.number();
    return TakeAffinity(at + 1 + count, out_.devices[row]);
  }

  // Reads the cells behind the links, from cell `at` on.
  std::optional<Error> TakeAffinity(std::size_t at, Device& device) {
    const auto& headings = header_.headings;
    const Cells& all = lines_.cells();
    const bool parted = all.size() - at > headings.size();  // "0-9, 20-29"
    Cells cells;
    for (; at < all.size(); ++at) {
      if (parted && !cells.empty() &&
          (cells.back().text.back() == ',' || all[at].text.front() == ',')) {
        cells.back().text += all[at].text;
      } else {
        cells.push_back(all[at]);
      }
    }
    if (cells.size() > headings.size()) {
      return Here("the row of " + device.name + " has " + std::to_string(cells.size()) +
                  " cells behind its links (allowed: at most " + std::to_string(headings.size()) +
                  ", one for each heading)");
    }
    // Cells may be left blank. Where all others stand below their headings it is clear which;
    // otherwise they are the last ones.
    std::vector<std::size_t> places;
    for (const Cell& cell : cells) {
      const auto below = std::find_if(headings.begin(), headings.end(), [&](const auto& heading) {
        return heading.second == cell.column;
      });
      places.push_back(static_cast<std::size_t>(below - headings.begin()));
    }
    if (cells.size() == headings.size() ||
        std::find(places.begin(), places.end(), headings.size()) != places.end()) {
      for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (auto error = TakeAffinityCell(headings[places[i]].first, cells[i].text, device)) {
        return error;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> TakeAffinityCell(Heading heading, const std::string& text, Device& device) {
    if (text == "N/A" || text == "-" || text == "-1") return std::nullopt;
    if (heading == Heading::kGpuNuma) {
      const auto id = ParseId(text, kMaxNumaId);
      if (!id) {
        return Here("GPU NUMA ID of " + device.name + ": " + QuotedInput(text) +
                    " is not allowed (allowed: 0 to " + std::to_string(kMaxNumaId) + ", N/A)");
      }
      if (device.kind == DeviceKind::kGpu) device.gpu_numa = id;
      return std::nullopt;
    }
    const bool cpus = heading == Heading::kCpus;
    const std::int32_t most = cpus ? kMaxCpuId : kMaxNumaId;
    auto ranges = ParseRanges(text, most);
    if (!ranges) {
      return Here((cpus ? "CPU Affinity of " : "NUMA Affinity of ") + device.name + ": " +
                  QuotedInput(text) + " is not allowed (allowed: numbers up to " +
                  std::to_string(most) + " and ranges, as 0-3,8; N/A)");
    }
    if (cpus) {
      device.cpus = *std::move(ranges);
    } else {
      device.numa = RangeIds(*ranges);
    }
    return std::nullopt;
  }

  // "NIC1: mlx5_bond_1", of the NIC legend.
  void TakeAlias() {
    const Cells& cells = lines_.cells();
    for (std::size_t at = 0; at + 1 < cells.size() && at <= header_.prefix; ++at) {
      std::string_view name = cells[at].text;
      std::size_t value = at + 1;
      if (name.ends_with(':')) {
        name.remove_suffix(1);
      } else if (cells[value].text == ":" || cells[value].text == "=") {
        ++value;
      } else {
        continue;
      }
      const auto found = places_.find(std::string(name));
      if (found == places_.end() || value == cells.size()) continue;
      Device& device = out_.devices[found->second];
      const std::string& alias = cells[value].text;
      const bool known = device.kind != DeviceKind::kNic || !device.alias.empty();
      if (!known && IsDeviceName(alias) && alias != device.name) device.alias = alias;
      return;
    }
  }

  std::string ColumnNames() const {
    std::string out;
    for (const Device& device : out_.devices) {
      if (out.size() > 100) return out + ", …";
      out += (out.empty() ? "" : ", ") + device.name;
    }
    return out;
  }

  NvidiaSmiLines lines_;
  const std::string& name_;
  Header header_;
  bool in_rows_ = false;
  bool done_ = false;
  std::vector<std::size_t> row_lines_;                   // by device; 0: not read yet
  std::unordered_map<std::string, std::size_t> places_;  // by name; only looked up
  NodeTopology out_;
};

}  // namespace internal

/// Reads the text of `nvidia-smi topo -m`, of any driver, as it was printed, pasted or quoted.
///
/// Other lines before and after the matrix are passed over; the first matrix counts. Devices that
/// aren't named GPU and a number are NICs; a NIC legend gives their aliases. What a layout doesn't
/// say stays unknown. More GPUs than kMaxGpus are read, up to kMaxDevices devices.
///
/// Errors (kind kParse) are "name:LINE: what is wrong (allowed: …)": no matrix (with the first line
/// of the text: mostly the reason why there is none), no GPU, a row that is missing, unknown, given
/// twice, too short or too long, an unknown link, two devices with another link one way than the
/// other, a malformed range. A text of blanks: "name: the text is empty …". Complexity: linear in
/// the text.
inline Result<NodeTopology> ParseNvidiaSmi(std::string_view text,
                                           const std::string& name = "<text>") {
  return internal::NvidiaSmiReader(text, name).Read();
}

/// Writes a topology as `nvidia-smi topo -m` does, with tabs and all headings; ParseNvidiaSmi reads
/// the same devices and links from it. Left out is what that command doesn't know: the GPUs' model,
/// the sizes and distances of NUMA nodes, aliases of GPUs. Complexity: devices squared.
inline std::string NvidiaSmiText(const NodeTopology& topology) {
  const auto& devices = topology.devices;
  std::string out;
  for (const Device& device : devices) out += "\t" + device.name;
  out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const auto or_unknown = [](const std::string& text) { return text.empty() ? "N/A" : text; };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    out += device.name;
    for (std::size_t j = 0; j < devices.size(); ++j) {
      out += "\t" + (i == j ? " X " : LinkText(topology.link(i, j)));
    }
    if (device.kind == DeviceKind::kGpu || !device.cpus.empty() || !device.numa.empty()) {
      out += "\t" + or_unknown(RangesText(device.cpus));
      out += "\t" + or_unknown(RangesText(IdRanges(device.numa)));
      out += "\t\t" + (device.gpu_numa ? std::to_string(*device.gpu_numa) : "N/A");
    }
    out += "\n";
  }
  out += R"(
Legend:

  X    = Self
  SYS  = PCIe and the interconnect between NUMA nodes
  NODE = PCIe and the interconnect between host bridges of a NUMA node
  PHB  = PCIe and a host bridge
  PXB  = several PCIe bridges, no host bridge
  PIX  = at most one PCIe bridge
  NV#  = a bonded set of # NVLinks
)";
  std::string aliases;
  for (const Device& device : devices) {
    if (device.kind != DeviceKind::kNic || device.alias.empty()) continue;
    aliases += "  " + device.name + ": " + device.alias + "\n";
  }
  return aliases.empty() ? out : out + "\nNIC Legend:\n\n" + aliases;
}

}  // namespace schedfw

#endif  // SCHEDFW_TOPOLOGY_NVIDIA_SMI_H_
