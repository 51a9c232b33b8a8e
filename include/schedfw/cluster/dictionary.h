// Dictionary: strings, resources, label sets and taint sets as small integers.
#ifndef SCHEDFW_CLUSTER_DICTIONARY_H_
#define SCHEDFW_CLUSTER_DICTIONARY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/api/resource_name.h"

namespace schedfw {

/// An interned string; 0 is the empty string.
using StringId = std::uint32_t;
/// An interned set of labels; 0 is the empty set.
using LabelSetId = std::uint32_t;
/// An interned list of taints; 0 is the empty list.
using TaintSetId = std::uint32_t;
/// An interned container image with its names and size.
using ImageId = std::uint32_t;
/// An interned term of inter-pod affinity (see affinity.h).
using AffinityTermId = std::uint32_t;
/// A resource's column; the first four are fixed.
using ResourceId = std::uint32_t;

inline constexpr ResourceId kCpu = 0;               ///< thousandths of a core
inline constexpr ResourceId kMemory = 1;            ///< bytes
inline constexpr ResourceId kEphemeralStorage = 2;  ///< bytes
inline constexpr ResourceId kPods = 3;              ///< how many pods a node takes

/// Labels as interned pairs, sorted by key id.
using Labels = std::vector<std::pair<StringId, StringId>>;

/// The value of `key`, or nullptr. O(log n).
inline const StringId* FindLabel(const Labels& labels, StringId key) {
  const auto it = std::lower_bound(
      labels.begin(), labels.end(), key,
      [](const std::pair<StringId, StringId>& label, StringId k) { return label.first < k; });
  return it != labels.end() && it->first == key ? &it->second : nullptr;
}

/// Interns what clusters repeat. Shared by a Cluster and all its forks and snapshots; it only
/// grows. Every member may be called from any thread. No result depends on the numbers given out.
class Dictionary {
 public:
  Dictionary() {
    strings_.Intern("");
    for (const char* name : {"cpu", "memory", "ephemeral-storage", "pods"}) {
      resource_ids_.emplace(name, static_cast<ResourceId>(resources_.size()));
      resources_.push_back({name, true});
    }
    label_sets_.emplace_back();
    label_set_ids_.emplace(Labels{}, 0);
    taint_sets_.emplace_back();
  }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  /// A number that no other dictionary of the process has.
  std::uint64_t id() const { return id_; }

  StringId Intern(std::string_view text) {
    {
      std::shared_lock lock(mutex_);
      if (const auto id = strings_.Find(text)) return *id;
    }
    std::unique_lock lock(mutex_);
    return strings_.Intern(text);
  }
  /// The text of an id that Intern() returned; valid as long as the Dictionary lives.
  std::string_view Text(StringId id) const {
    std::shared_lock lock(mutex_);
    return strings_.Text(id);
  }

  /// The column of a resource, whatever its name.
  ResourceId Resource(std::string_view name) {
    {
      std::shared_lock lock(mutex_);
      if (auto it = resource_ids_.find(name); it != resource_ids_.end()) return it->second;
    }
    std::unique_lock lock(mutex_);
    if (auto it = resource_ids_.find(name); it != resource_ids_.end()) return it->second;
    const auto id = static_cast<ResourceId>(resources_.size());
    resources_.push_back({std::string(name), api::IsScalarResource(name)});
    resource_ids_.emplace(resources_.back().name, id);
    return id;
  }
  std::string_view ResourceName(ResourceId id) const {
    std::shared_lock lock(mutex_);
    return resources_[id].name;
  }
  /// True for cpu, memory, ephemeral-storage, pods and scalar resources: what scheduling counts.
  bool IsCounted(ResourceId id) const {
    std::shared_lock lock(mutex_);
    return resources_[id].counted;
  }
  std::size_t ResourceCount() const {
    std::shared_lock lock(mutex_);
    return resources_.size();
  }

  Labels InternLabels(const api::StringMap& labels) {
    Labels out;
    out.reserve(labels.size());
    for (const auto& [key, value] : labels) out.emplace_back(Intern(key), Intern(value));
    std::sort(out.begin(), out.end());
    return out;
  }
  LabelSetId LabelSet(const Labels& labels) {
    std::unique_lock lock(mutex_);
    const auto [it, inserted] =
        label_set_ids_.try_emplace(labels, static_cast<LabelSetId>(label_sets_.size()));
    if (inserted) label_sets_.push_back(labels);
    return it->second;
  }
  const Labels& LabelsOf(LabelSetId id) const {
    std::shared_lock lock(mutex_);
    return label_sets_[id];
  }

  TaintSetId TaintSet(const std::vector<api::Taint>& taints) {
    std::unique_lock lock(mutex_);
    for (TaintSetId id = 0; id < taint_sets_.size(); ++id) {
      if (taint_sets_[id] == taints) return id;
    }
    taint_sets_.push_back(taints);
    return static_cast<TaintSetId>(taint_sets_.size() - 1);
  }
  const std::vector<api::Taint>& TaintsOf(TaintSetId id) const {
    std::shared_lock lock(mutex_);
    return taint_sets_[id];
  }

  ImageId Image(const api::ContainerImage& image) {
    std::vector<std::uint32_t> words = {
        static_cast<std::uint32_t>(image.size_bytes),
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(image.size_bytes) >> 32)};
    for (const std::string& name : image.names) words.push_back(Intern(name));
    std::unique_lock lock(mutex_);
    const auto [it, inserted] =
        image_ids_.try_emplace(std::move(words), static_cast<ImageId>(images_.size()));
    if (inserted) images_.push_back(&it->first);
    return it->second;
  }
  api::ContainerImage ImageOf(ImageId id) const {
    std::shared_lock lock(mutex_);
    const std::vector<std::uint32_t>& words = *images_[id];
    api::ContainerImage out;
    out.size_bytes = static_cast<std::int64_t>(std::uint64_t{words[1]} << 32 | words[0]);
    for (std::size_t i = 2; i < words.size(); ++i) out.names.emplace_back(strings_.Text(words[i]));
    return out;
  }

  /// The number of an affinity term that is written as words; equal words, equal number. From 0 on,
  /// without gaps.
  AffinityTermId AffinityTerm(const std::vector<std::uint32_t>& words) {
    std::unique_lock lock(mutex_);
    return affinity_terms_.try_emplace(words, static_cast<AffinityTermId>(affinity_terms_.size()))
        .first->second;
  }
  std::size_t TaintSetCount() const {
    std::shared_lock lock(mutex_);
    return taint_sets_.size();
  }

 private:
  // The texts lie one after another in blocks that never move, each behind its length, and a table
  // of hashes finds them: a string costs its characters and some 23 bytes.
  class Strings {
   public:
    std::optional<StringId> Find(std::string_view text) const {
      if (slots_.empty()) return std::nullopt;
      const Slot& slot = slots_[Locate(text, Hash(text))];
      if (slot.id_plus_one == 0) return std::nullopt;
      return slot.id_plus_one - 1;
    }
    StringId Intern(std::string_view text) {
      if (4 * (texts_.size() + 1) > 3 * slots_.size()) Grow();
      const std::uint32_t hash = Hash(text);
      Slot& slot = slots_[Locate(text, hash)];
      if (slot.id_plus_one == 0) {
        texts_.push_back(Store(text));
        slot = {hash, static_cast<std::uint32_t>(texts_.size())};
      }
      return slot.id_plus_one - 1;
    }
    std::string_view Text(StringId id) const {
      std::uint32_t size = 0;
      std::memcpy(&size, texts_[id], sizeof(size));
      return {texts_[id] + sizeof(size), size};
    }

   private:
    static constexpr std::size_t kBlock = std::size_t{1} << 16;

    struct Slot {
      std::uint32_t hash = 0;
      std::uint32_t id_plus_one = 0;  // 0: free
    };

    static std::uint32_t Hash(std::string_view text) {
      const std::uint64_t hash = std::hash<std::string_view>()(text);
      return static_cast<std::uint32_t>(hash ^ hash >> 32);
    }
    // The slot that holds the text, or the free one where it belongs.
    std::size_t Locate(std::string_view text, std::uint32_t hash) const {
      const std::size_t mask = slots_.size() - 1;  // a power of two
      for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.id_plus_one == 0 || (slot.hash == hash && Text(slot.id_plus_one - 1) == text)) {
          return at;
        }
      }
    }
    void Grow() {
      std::vector<Slot> old(std::max<std::size_t>(256, 2 * slots_.size()));
      std::swap(old, slots_);
      const std::size_t mask = slots_.size() - 1;
      for (const Slot& slot : old) {
        if (slot.id_plus_one == 0) continue;
        std::size_t at = slot.hash & mask;
        while (slots_[at].id_plus_one != 0) at = (at + 1) & mask;
        slots_[at] = slot;
      }
    }
    const char* Store(std::string_view text) {
      const auto size = static_cast<std::uint32_t>(text.size());
      const std::size_t needed = sizeof(size) + text.size();
      if (needed > left_) {
        left_ = std::max(kBlock, needed);
        blocks_.push_back(std::make_unique<char[]>(left_));
        free_ = blocks_.back().get();
      }
      const char* out = free_;
      std::memcpy(free_, &size, sizeof(size));
      std::memcpy(free_ + sizeof(size), text.data(), text.size());
      free_ += needed;
      left_ -= needed;
      return out;
    }

    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t left_ = 0;
    std::deque<const char*> texts_;  // by id: the size and the characters
    std::vector<Slot> slots_;
  };
  struct LabelsHash {
    std::size_t operator()(const Labels& labels) const {
      std::uint64_t out = labels.size();
      for (const auto& [key, value] : labels) {
        out = (out ^ (std::uint64_t{key} << 32 | value)) * 0x9E3779B97F4A7C15u;
        out ^= out >> 29;
      }
      return static_cast<std::size_t>(out);
    }
  };
  struct ResourceInfo {
    std::string name;
    bool counted;
  };

  static std::uint64_t NextId() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  const std::uint64_t id_ = NextId();
  mutable std::shared_mutex mutex_;
  Strings strings_;
  std::deque<ResourceInfo> resources_;
  std::unordered_map<std::string_view, ResourceId> resource_ids_;
  std::deque<Labels> label_sets_;
  std::unordered_map<Labels, LabelSetId, LabelsHash> label_set_ids_;  // look-ups only
  std::deque<std::vector<api::Taint>> taint_sets_;
  std::map<std::vector<std::uint32_t>, ImageId> image_ids_;
  std::deque<const std::vector<std::uint32_t>*> images_;  // by id: the size in two words, the names
  std::map<std::vector<std::uint32_t>, AffinityTermId> affinity_terms_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_DICTIONARY_H_
