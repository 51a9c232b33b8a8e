#include "schedfw/topology/read_topology.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "io/text_file.h"
#include "schedfw/topology/hwloc_xml.h"
#include "schedfw/topology/nvidia_smi.h"
#include "schedfw/topology/topology_json.h"

namespace schedfw {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t\r\n";

bool IsXml(std::string_view text) {
  return text.starts_with("<?xml") || text.starts_with("<!") || text.starts_with("<topology");
}

// A bracket may begin the time in a log, too.
bool IsJson(std::string_view text) { return text.front() == '{'; }

bool IsNumactl(std::string_view text) {
  return text.starts_with("available:") && text.find(" cpus:") != std::string_view::npos;
}

Result<NodeTopology> RefuseNumactl(std::string_view /*text*/, const std::string& name) {
  return ParseError(name +
                    ": numactl -H names no devices (allowed: the text of nvidia-smi topo -m, "
                    "hwloc's XML, or JSON of schedfw topo; numactl -H only in addition)");
}

struct Format {
  bool (*is_it)(std::string_view text);  // without blanks at its beginning
  Result<NodeTopology> (*parse)(std::string_view text, const std::string& name);
};

// In the order in which they are tried; what is none of them is the text of nvidia-smi.
constexpr std::array<Format, 3> kFormats{{
    {&IsXml, &ParseHwlocXml},
    {&IsJson, &ParseTopologyJson},
    {&IsNumactl, &RefuseNumactl},
}};

}  // namespace

Result<NodeTopology> ParseTopology(std::string_view text, const std::string& name) {
  std::string_view begin = text;
  if (begin.starts_with(kByteOrderMark)) begin.remove_prefix(kByteOrderMark.size());
  begin.remove_prefix(std::min(begin.find_first_not_of(kBlanks), begin.size()));
  for (const Format& format : kFormats) {
    // Blank lines stay, so that errors have the right lines.
    if (!begin.empty() && format.is_it(begin)) return format.parse(text, name);
  }
  return ParseNvidiaSmi(text, name);
}

Result<NodeTopology> ReadTopology(const std::string& path) {
  auto text = io::ReadText(path);
  if (!text) return text.error();
  return ParseTopology(*text, path == "-" ? "standard input" : path);
}

}  // namespace schedfw
