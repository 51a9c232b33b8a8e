// GPUs of nodes, one by one, and what pods ask of them.
#ifndef SCHEDFW_CLUSTER_GPUS_H_
#define SCHEDFW_CLUSTER_GPUS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/api/pod.h"
#include "schedfw/cluster/dictionary.h"
#include "schedfw/topology/node_topology.h"

namespace schedfw {

/// A whole GPU in thousandths.
inline constexpr std::int32_t kGpuMilli = 1000;
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
/// Whether a resource is whole GPUs.
inline bool IsGpuResource(std::string_view name) {
  return name == kGpuResource || name == "amd.com/gpu";
}

/// How a resource begins that is slices of GPUs of one profile: nvidia.com/mig-1g.5gb, ….
inline constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
/// How many GPUs a node has, as NVIDIA's feature discovery says: those that are cut up too.
inline constexpr std::string_view kGpuCountLabel = "nvidia.com/gpu.count";

/// Annotations of pods that share GPUs, and the label of nodes, as the open-gpu-share plugin of
/// Alibaba and the simulator of the openb trace have them.
inline constexpr std::string_view kGpuMilliAnnotation = "alibabacloud.com/gpu-milli";
inline constexpr std::string_view kGpuCountAnnotation = "alibabacloud.com/gpu-count";
inline constexpr std::string_view kGpuIndexAnnotation = "alibabacloud.com/gpu-index";
inline constexpr std::string_view kGpuModelKey = "alibabacloud.com/gpu-card-model";
/// The label that NVIDIA's feature discovery sets; where the other isn't there it is the model.
inline constexpr std::string_view kGpuProductLabel = "nvidia.com/gpu.product";

/// What a pod asks for: so many GPUs, so much of each, or so many MIG slices. Whole GPUs come from
/// the resource nvidia.com/gpu (amd.com/gpu) or the annotations, shares of one from the annotations
/// alone. A pod that asks for slices of several profiles has those of the first by name here.
struct GpuRequest {
  std::int32_t count = 0;
  std::int32_t milli = 0;        ///< of each, 1 to 1000
  std::vector<StringId> models;  ///< sorted; empty: any
  ResourceId mig = 0;            ///< the profile of slices
  std::int32_t slices = 0;       ///< how many of these; 0 with `count` above 0

  bool IsNone() const { return count == 0 && slices == 0; }
  bool IsShare() const { return count == 1 && milli < kGpuMilli; }
  std::int64_t TotalMilli() const { return std::int64_t{count} * milli; }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

/// The GPUs of one node. One that advertises more than kMaxGpus has none of its own here: they are
/// an amount like any other (nvidia.com/gpu), which is how time-slicing advertises them.
struct GpuDevices {
  std::array<std::int16_t, kMaxGpus> left{};  ///< thousandths that no pod has, 0 to 1000
  std::uint8_t count = 0;
  StringId model = 0;  ///< 0: the node doesn't say

  std::int32_t LeftTotal() const {
    std::int32_t out = 0;
    for (const std::int16_t milli : left) out += milli;
    return out;
  }
  /// How many GPUs have at least so much left. `milli` is 1 or more.
  std::int32_t CountWith(std::int32_t milli) const {
    std::int32_t out = 0;
    for (const std::int16_t have : left) out += have >= milli ? 1 : 0;
    return out;
  }
  bool Accepts(const GpuRequest& request) const {
    return request.models.empty() ||
           std::binary_search(request.models.begin(), request.models.end(), model);
  }
  /// Those that no pod has any of.
  GpuMask Free() const {
    std::uint32_t out = 0;
    for (std::uint32_t g = 0; g < kMaxGpus; ++g) out |= left[g] == kGpuMilli ? 1U << g : 0;
    return static_cast<GpuMask>(out);
  }
  /// The first GPUs that have as much left; 0: there aren't enough.
  GpuMask First(const GpuRequest& request) const {
    std::uint32_t out = 0;
    std::int32_t found = 0;
    for (std::uint32_t g = 0; g < count && found < request.count; ++g) {
      if (left[g] < request.milli) continue;
      out |= 1U << g;
      ++found;
    }
    return found == request.count ? static_cast<GpuMask>(out) : GpuMask{0};
  }
  /// Of those that fit the one with the least left, the first of equal ones, for a share; else
  /// First.
  GpuMask Tightest(const GpuRequest& request) const {
    return Best(request, [](std::int16_t a, std::int16_t b) { return a < b; });
  }
  /// The one with the most left, for a share; else First.
  GpuMask Loosest(const GpuRequest& request) const {
    return Best(request, [](std::int16_t a, std::int16_t b) { return a > b; });
  }
  /// Whether these GPUs are enough for the request, and there.
  bool Has(GpuMask mask, const GpuRequest& request) const {
    if (std::popcount(mask) != request.count || (std::uint32_t{mask} >> count) != 0) return false;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      if (left[static_cast<std::size_t>(std::countr_zero(rest))] < request.milli) return false;
    }
    return true;
  }
  void Take(GpuMask mask, std::int32_t milli) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      std::int16_t& gpu = left[static_cast<std::size_t>(std::countr_zero(rest))];
      gpu = static_cast<std::int16_t>(gpu - milli);
    }
  }

  friend bool operator==(const GpuDevices&, const GpuDevices&) = default;

 private:
  template <typename F>
  GpuMask Best(const GpuRequest& request, F&& is_better) const {
    if (!request.IsShare()) return First(request);
    std::uint32_t best = kMaxGpus;
    for (std::uint32_t g = 0; g < count; ++g) {
      if (left[g] >= request.milli && (best == kMaxGpus || is_better(left[g], left[best]))) {
        best = g;
      }
    }
    return best == kMaxGpus ? GpuMask{0} : static_cast<GpuMask>(1U << best);
  }
};

/// The MIG slices of one profile that a node has, by GPU. Its whole GPUs come first; those that are
/// cut up follow.
struct MigSlices {
  ResourceId resource = 0;
  std::array<std::uint8_t, kMaxGpus> of{};

  /// Whether a pod can have n slices on these GPUs: all on one, or one on each.
  bool Has(GpuMask mask, std::int32_t n) const {
    const std::int32_t gpus = std::popcount(mask);
    if (gpus != 1 && gpus != n) return false;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      if (of[static_cast<std::size_t>(std::countr_zero(rest))] < n / gpus) return false;
    }
    return true;
  }
  /// A pod has n of them on these GPUs.
  void Take(GpuMask mask, std::int32_t n) {
    const std::int32_t each = mask == 0 ? 0 : n / std::popcount(mask);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      std::uint8_t& left = of[static_cast<std::size_t>(std::countr_zero(rest))];
      left = static_cast<std::uint8_t>(left > each ? left - each : 0);
    }
  }
  /// The GPUs for n of the slices that are left: one GPU where there is one with as many (slices
  /// can't reach each other over NVLink), that with the fewest left; else the n GPUs with the
  /// fewest left. Of equal ones the first. 0: there aren't as many.
  GpuMask Choose(std::int32_t n) const {
    std::size_t best = kMaxGpus;
    for (std::size_t g = 0; g < kMaxGpus; ++g) {
      if (of[g] >= n && (best == kMaxGpus || of[g] < of[best])) best = g;
    }
    if (best != kMaxGpus) return static_cast<GpuMask>(1U << best);
    std::array<std::size_t, kMaxGpus> order{};
    for (std::size_t g = 0; g < kMaxGpus; ++g) order[g] = g;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return of[a] < of[b]; });
    std::uint32_t out = 0;
    for (const std::size_t g : order) {
      if (of[g] > 0 && std::popcount(out) < n) out |= 1U << g;
    }
    return std::popcount(out) == n ? static_cast<GpuMask>(out) : GpuMask{0};
  }

  friend bool operator==(const MigSlices&, const MigSlices&) = default;
};

namespace internal {

inline std::optional<std::int32_t> SmallNumber(std::string_view text, std::int32_t most) {
  std::int32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0 || out > most) {
    return std::nullopt;
  }
  return out;
}

inline const std::string* FindIn(const api::StringMap& map, std::string_view key) {
  // They are few, and finding one would allocate its key.
  for (const auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

// The annotations that a plan depends on.
inline bool SameGpuAnnotations(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  if (a.annotations.empty() && b.annotations.empty()) return true;
  for (const std::string_view key : {kGpuMilliAnnotation, kGpuCountAnnotation, kGpuModelKey}) {
    const std::string* x = FindIn(a.annotations, key);
    const std::string* y = FindIn(b.annotations, key);
    if ((x == nullptr) != (y == nullptr) || (x != nullptr && *x != *y)) return false;
  }
  return true;
}

}  // namespace internal

/// The models of a list like "A|B", sorted; empty parts are dropped.
inline std::vector<StringId> ParseGpuModels(std::string_view text, Dictionary& dictionary) {
  std::vector<StringId> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    if (end > begin) out.push_back(dictionary.Intern(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// What a pod asks of GPUs; `whole`: its amount of nvidia.com/gpu. An annotation that makes no
/// sense counts as absent, as for the plugins that read it. O(annotations).
inline GpuRequest GpuRequestOf(const api::ObjectMeta& metadata, std::int64_t whole,
                               Dictionary& dictionary) {
  GpuRequest out;
  if (whole > 0 && whole <= kMaxGpus) {
    out.count = static_cast<std::int32_t>(whole);
    out.milli = kGpuMilli;
  }
  if (const std::string* milli = internal::FindIn(metadata.annotations, kGpuMilliAnnotation)) {
    const auto amount = internal::SmallNumber(*milli, kGpuMilli);
    const std::string* count = internal::FindIn(metadata.annotations, kGpuCountAnnotation);
    const auto number =
        count == nullptr ? std::optional(1) : internal::SmallNumber(*count, kMaxGpus);
    const bool makes_sense =
        amount && number && *amount > 0 && *number > 0 && (*number == 1 || *amount == kGpuMilli);
    if (makes_sense) {
      out.count = *number;
      out.milli = *amount;
    }
  }
  if (out.count == 0) return out;
  if (const std::string* models = internal::FindIn(metadata.annotations, kGpuModelKey)) {
    out.models = ParseGpuModels(*models, dictionary);
  }
  return out;
}

/// The slices of a node by GPU, for profiles in name order with their amounts. Kubernetes tells how
/// many there are and not where: they are taken to be the same on each GPU, as in the usual
/// configurations, the first ones having one more where that isn't possible. How many GPUs are cut
/// up: `cut`, or, if that is 0, as few as have room for seven compute slices each.
inline std::vector<MigSlices> LayOutMig(
    const std::vector<std::pair<std::string_view, std::pair<ResourceId, std::int64_t>>>& profiles,
    std::int32_t whole, std::int32_t cut) {
  constexpr std::int64_t kComputeSlices = 7;
  std::int64_t compute = 0, gpus = cut;
  for (const auto& [name, amount] : profiles) {
    const auto size = static_cast<std::int64_t>(
        internal::SmallNumber(name.substr(kMigPrefix.size(), 1), 7).value_or(1));
    const std::int64_t each = kComputeSlices / std::max<std::int64_t>(size, 1);
    compute += std::min<std::int64_t>(amount.second, kMaxGpus * kComputeSlices) * size;
    if (cut == 0) gpus = std::max(gpus, (amount.second + each - 1) / each);
  }
  if (cut == 0) gpus = std::max(gpus, (compute + kComputeSlices - 1) / kComputeSlices);
  std::vector<MigSlices> out;
  if (gpus <= 0 || whole + gpus > kMaxGpus) return out;
  for (const auto& [name, amount] : profiles) {
    MigSlices& slices = out.emplace_back();
    slices.resource = amount.first;
    for (std::int64_t g = 0; g < gpus; ++g) {
      const std::int64_t here = amount.second / gpus + (g < amount.second % gpus ? 1 : 0);
      slices.of[static_cast<std::size_t>(whole + g)] =
          static_cast<std::uint8_t>(std::min<std::int64_t>(here, 255));
    }
  }
  return out;
}

/// The GPUs that an annotation names ("0", "2-3"); 0: it makes no sense.
inline GpuMask ParseGpuIndex(std::string_view text) {
  std::uint32_t out = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    const auto index = internal::SmallNumber(text.substr(begin, end - begin), kMaxGpus - 1);
    if (!index) return 0;
    out |= 1U << *index;
    begin = end + 1;
  }
  return static_cast<GpuMask>(out);
}
/// The same as text.
inline std::string GpuIndexText(GpuMask mask) {
  std::string out;
  for (std::int32_t g = 0; g < kMaxGpus; ++g) {
    if ((mask >> g & 1) != 0) out += (out.empty() ? "" : "-") + std::to_string(g);
  }
  return out;
}

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_GPUS_H_
