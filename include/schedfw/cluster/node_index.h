// NodeIndex: columns of node labels and the order of names, made when first asked for.
#ifndef SCHEDFW_CLUSTER_NODE_INDEX_H_
#define SCHEDFW_CLUSTER_NODE_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "schedfw/cluster/cow.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/cluster/gpus.h"
#include "schedfw/cluster/node_tree.h"
#include "schedfw/cluster/packed_object.h"
#include "schedfw/cluster/topology_table.h"

namespace schedfw {

/// One label key over all nodes: a small number a row.
///
/// `ordinals[row]` is 0 where the node lacks the key, else 1 + the position of its value in
/// `values`; so it is both what selectors compare and the topology domain of the node.
struct LabelColumn {
  std::vector<std::uint32_t> ordinals;
  std::vector<StringId> values;
  std::unordered_map<StringId, std::uint32_t> ordinal_of;  ///< look-ups only
  bool unique = false;                                     ///< no two nodes have the same value
  bool complete = false;                                   ///< every node has the label

  /// How many ordinals there are, absence (0) included.
  std::size_t OrdinalCount() const { return values.size() + 1; }
  /// The ordinal of a value, or 0 when no node has it.
  std::uint32_t OrdinalOf(StringId value) const {
    const auto it = ordinal_of.find(value);
    return it == ordinal_of.end() ? 0 : it->second;
  }
};

/// A node as it was added, and its labels and images as ids.
struct NodeRecord {
  NodeRecord(const api::Node& node, Dictionary& dictionary)
      : object(node, dictionary),
        name_text(node.metadata.name),
        name(dictionary.Intern(name_text)),
        labels(dictionary.InternLabels(node.metadata.labels)) {}

  NodeObject object;
  std::string name_text;
  StringId name;
  Labels labels;
  std::vector<StringId> images;  ///< sorted, each once
  StringId zone = 0;             ///< see NodeTree::ZoneKey
  std::vector<MigSlices> mig;    ///< all of them, a profile each
  TopologyId topology = 0;       ///< by its annotation
  std::string topology_error;    ///< why kGpuTopologyAnnotation can't be used; empty: it can
  std::uint64_t arrival = 0;     ///< grows from node to node of a zone, in the order they came
};
using NodePtr = std::shared_ptr<const NodeRecord>;

/// What follows from the set of nodes and their labels, made on demand.
///
/// One index belongs to one state of the node set; forks and snapshots with the same nodes share
/// it. Every member may be called from any thread; results stay valid as long as the index.
class NodeIndex {
 public:
  /// `in_name_order`: rows are known to be in the order of names.
  explicit NodeIndex(std::uint64_t id, bool in_name_order = false)
      : id_(id), in_name_order_(in_name_order) {}
  /// A number that no other index has.
  std::uint64_t id() const { return id_; }

  /// The column of a label key. The first call for a key is O(nodes × log labels).
  const LabelColumn& Label(StringId key, const BlockColumn<NodePtr>& nodes) const {
    std::lock_guard lock(mutex_);
    std::unique_ptr<LabelColumn>& column = labels_[key];
    if (!column) {
      column = std::make_unique<LabelColumn>();
      column->ordinals.resize(nodes.size());
      std::size_t with_label = 0;
      for (std::size_t row = 0; row < nodes.size(); ++row) {
        Prefetch(nodes, row);
        const StringId* value = FindLabel(nodes[row]->labels, key);
        if (value == nullptr) continue;
        ++with_label;
        const auto next = static_cast<std::uint32_t>(column->values.size() + 1);
        const auto [it, inserted] = column->ordinal_of.try_emplace(*value, next);
        if (inserted) column->values.push_back(*value);
        column->ordinals[row] = it->second;
      }
      column->unique = with_label == column->values.size();
      column->complete = with_label == nodes.size();
    }
    return *column;
  }

  /// Whether a node has an image, one byte a row. The first call for an image is O(nodes × log
  /// images).
  const std::vector<std::uint8_t>& HasImage(StringId image,
                                            const BlockColumn<NodePtr>& nodes) const {
    std::lock_guard lock(mutex_);
    std::unique_ptr<std::vector<std::uint8_t>>& column = images_[image];
    if (!column) {
      column = std::make_unique<std::vector<std::uint8_t>>(nodes.size());
      for (std::size_t row = 0; row < nodes.size(); ++row) {
        const std::vector<StringId>& images = nodes[row]->images;
        (*column)[row] = std::binary_search(images.begin(), images.end(), image) ? 1 : 0;
      }
    }
    return *column;
  }

  /// For each row, its place in the order of node names. O(nodes log nodes) at the first call.
  const std::vector<std::uint32_t>& NameRank(const BlockColumn<NodePtr>& nodes) const {
    std::lock_guard lock(mutex_);
    if (name_rank_.size() != nodes.size()) {
      std::vector<std::uint32_t> order(nodes.size());
      std::iota(order.begin(), order.end(), 0u);
      const auto by_name = [&](std::uint32_t a, std::uint32_t b) {
        return nodes[a]->name_text < nodes[b]->name_text;
      };
      if (!in_name_order_) std::sort(order.begin(), order.end(), by_name);
      name_rank_.resize(nodes.size());
      for (std::uint32_t i = 0; i < order.size(); ++i) name_rank_[order[i]] = i;
      name_order_ = std::is_sorted(order.begin(), order.end());
    }
    return name_rank_;
  }

  /// True when rows are in the order of names.
  bool IsNameOrder(const BlockColumn<NodePtr>& nodes) const {
    NameRank(nodes);
    std::lock_guard lock(mutex_);
    return name_order_;
  }

  /// The rows in the order of upstream's node list: one of each zone in turn, within a zone in
  /// order of arrival (node_tree.go, list). O(nodes log nodes) at the first call.
  const std::vector<std::uint32_t>& TreeOrder(const BlockColumn<NodePtr>& nodes,
                                              const NodeTree& tree) const {
    std::lock_guard lock(mutex_);
    if (tree_order_.size() == nodes.size()) return tree_order_;
    std::unordered_map<StringId, std::size_t> zone_index;  // look-ups only
    std::vector<std::vector<std::uint32_t>> zones(tree.size());
    for (std::uint32_t row = 0; row < nodes.size(); ++row) {
      const StringId zone = nodes[row]->zone;
      const auto it = zone_index.try_emplace(zone, 0);
      if (it.second) it.first->second = tree.IndexOf(zone);
      zones[it.first->second].push_back(row);
    }
    for (std::vector<std::uint32_t>& zone : zones) {
      std::sort(zone.begin(), zone.end(), [&](std::uint32_t a, std::uint32_t b) {
        return nodes[a]->arrival < nodes[b]->arrival;
      });
    }
    for (std::size_t turn = 0; tree_order_.size() < nodes.size(); ++turn) {
      for (const std::vector<std::uint32_t>& zone : zones) {
        if (turn < zone.size()) tree_order_.push_back(zone[turn]);
      }
    }
    return tree_order_;
  }

 private:
  // Records are all over the memory: those of the next rows are fetched meanwhile.
  static void Prefetch(const BlockColumn<NodePtr>& nodes, std::size_t row) {
#if defined(__GNUC__)
    constexpr std::size_t kRecords = 16, kLabels = 8;
    if (row + kRecords >= nodes.size()) return;
    __builtin_prefetch(&nodes[row + kRecords]->labels);
    __builtin_prefetch(nodes[row + kLabels]->labels.data());
#else
    (void)nodes, (void)row;
#endif
  }

  const std::uint64_t id_;
  const bool in_name_order_;
  mutable std::mutex mutex_;
  mutable std::map<StringId, std::unique_ptr<LabelColumn>> labels_;
  mutable std::map<StringId, std::unique_ptr<std::vector<std::uint8_t>>> images_;
  mutable std::vector<std::uint32_t> name_rank_;
  mutable bool name_order_ = true;
  mutable std::vector<std::uint32_t> tree_order_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_NODE_INDEX_H_
