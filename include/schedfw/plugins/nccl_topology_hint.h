// NcclTopologyHint: a score from an annotation of nodes.
#ifndef SCHEDFW_PLUGINS_NCCL_TOPOLOGY_HINT_H_
#define SCHEDFW_PLUGINS_NCCL_TOPOLOGY_HINT_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/json_object.h"
#include "schedfw/framework/args.h"
#include "schedfw/framework/plugin.h"

namespace schedfw {

struct NcclTopologyHintArgs {
  std::string annotation = "nccl.nvidia.com/topology-hint";
};
template <typename V>
void Fields(V& v, NcclTopologyHintArgs& args) {
  v("annotation", args.annotation,
    Arg{.help = "Of nodes: a JSON object with PCIProximity, from 0.7 to 1, and NVLinkBandwidth, "
                "from 0.85 to 1"});
}
inline Result<void> Validate(const NcclTopologyHintArgs& args) {
  if (api::IsQualifiedName(args.annotation)) return {};
  return ConfigError("annotation: \"" + args.annotation + "\" is not a name of an annotation");
}

/// What the annotation says: how near to each other a node's devices are on PCIe, and how much
/// bandwidth its NVLinks have, both relative to the best.
struct NcclHint {
  double pci_proximity = 0;      ///< 0.7 to 1
  double nv_link_bandwidth = 0;  ///< 0.85 to 1

  /// 0 to 100, rounded to the nearest.
  std::int64_t Score() const {
    return std::llround(kMaxNodeScore * (0.4 * pci_proximity + 0.6 * nv_link_bandwidth));
  }
};

/// Reads a hint. Error: no JSON object with these two numbers alone, each in its range; it begins
/// with the path inside of the annotation and a colon (": must be an object",
/// ".PCIProximity: 2 is …").
inline Result<NcclHint> ParseNcclHint(std::string_view text) {
  std::optional<double> proximity, bandwidth;
  const auto number = [](double value) {
    std::string out = std::to_string(value);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out;
  };
  internal::JsonObjectReader reader(text);
  auto done = reader.ReadObject([&](const std::string& key) -> Result<void> {
    const bool is_proximity = key == "PCIProximity";
    if (!is_proximity && key != "NVLinkBandwidth") {
      return ParseError("." + key + ": is unknown (allowed: PCIProximity, NVLinkBandwidth)");
    }
    std::optional<double>& out = is_proximity ? proximity : bandwidth;
    if (out) return ParseError("." + key + ": is given twice");
    auto value = reader.ReadNumber(key);
    if (!value) return value.error();
    const double least = is_proximity ? 0.7 : 0.85;
    if (!(*value >= least && *value <= 1)) {
      return ParseError("." + key + ": " + number(*value) +
                        " is out of range (allowed: " + number(least) + " to 1)");
    }
    out = *value;
    return {};
  });
  if (!done) return done.error();
  if (!proximity) return ParseError(".PCIProximity: is missing");
  if (!bandwidth) return ParseError(".NVLinkBandwidth: is missing");
  return NcclHint{*proximity, *bandwidth};
}

/// Scores nodes by a hint that they carry: 100 × (0.4 × PCIProximity + 0.6 × NVLinkBandwidth). A
/// node without the annotation scores 0, and so does one whose annotation is malformed or out of
/// range, of which CheckNode says what is wrong; other nodes aren't affected. Annotations are read
/// when the nodes change; a score is a look-up.
class NcclTopologyHint : public PreScorePlugin,
                         public BatchScorePlugin,
                         public IncrementalPlugin,
                         public NodeCheckPlugin {
 public:
  static constexpr std::string_view kName = "NcclTopologyHint";

  explicit NcclTopologyHint(const NcclTopologyHintArgs& args) : annotation_(args.annotation) {}

  std::string_view Name() const override { return kName; }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row>) override {
    const Snapshot& snapshot = cycle.snapshot;
    if (nodes_id_ == snapshot.nodes_id()) return {};
    nodes_id_ = snapshot.nodes_id();
    scores_.resize(snapshot.size());
    for (Row row = 0; row < snapshot.size(); ++row) {
      const std::optional<std::string> text = snapshot.NodeAnnotation(row, annotation_);
      const auto hint = text ? ParseNcclHint(*text) : Result<NcclHint>(NcclHint{});
      scores_[row] = static_cast<std::uint8_t>(hint ? hint->Score() : 0);
    }
    return {};
  }
  Status ScoreNodes(const Cycle&, Rows rows, std::int64_t* out) const override {
    for (Row i = 0; i < rows.size(); ++i) out[i] = scores_[rows[i]];
    return {};
  }
  std::string CheckNode(const Snapshot& snapshot, Row row) const override {
    const std::optional<std::string> text = snapshot.NodeAnnotation(row, annotation_);
    if (!text) return {};
    const auto hint = ParseNcclHint(*text);
    if (hint) return {};
    return "metadata.annotations.\"" + annotation_ + "\"" + hint.error().message();
  }

 private:
  const std::string annotation_;
  // Of the nodes of the last cycle; changed in PreScore alone.
  std::uint64_t nodes_id_ = 0;
  std::vector<std::uint8_t> scores_;  // by row
};

}  // namespace schedfw

#endif  // SCHEDFW_PLUGINS_NCCL_TOPOLOGY_HINT_H_
