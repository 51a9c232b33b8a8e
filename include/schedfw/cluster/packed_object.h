// Packed objects: nodes and pods as the cluster keeps them, small until somebody looks inside.
#ifndef SCHEDFW_CLUSTER_PACKED_OBJECT_H_
#define SCHEDFW_CLUSTER_PACKED_OBJECT_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "schedfw/api/node.h"
#include "schedfw/api/pod.h"

namespace schedfw {

namespace internal {

// Writes values one after another: lengths and numbers in base 128, texts as they are.
class PackWriter {
 public:
  std::string Take() { return std::move(out_); }

  void operator()(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void operator()(std::int64_t value) {
    (*this)(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void operator()(bool value) { out_.push_back(value ? 1 : 0); }
  void operator()(const std::string& text) {
    (*this)(std::uint64_t{text.size()});
    out_ += text;
  }
  void operator()(const Quantity& quantity) { (*this)(quantity.ToString()); }
  void operator()(api::TaintEffect effect) { (*this)(static_cast<std::uint64_t>(effect)); }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(std::uint64_t{list.size()});
    for (const T& item : list) (*this)(item);
  }
  template <typename T>
  void operator()(const std::map<std::string, T>& map) {
    (*this)(std::uint64_t{map.size()});
    for (const auto& [key, value] : map) {
      (*this)(key);
      (*this)(value);
    }
  }
  template <typename T>
  void operator()(const T& object) {
    PackFields(*this, object);
  }

 private:
  std::string out_;
};

// Reads what PackWriter wrote.
class PackReader {
 public:
  explicit PackReader(std::string_view in) : in_(in) {}

  void operator()(std::uint64_t& value) {
    value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(in_.front());
      in_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return;
    }
  }
  void operator()(std::int64_t& value) {
    std::uint64_t bits = 0;
    (*this)(bits);
    value = static_cast<std::int64_t>(bits >> 1 ^ (0 - (bits & 1)));
  }
  void operator()(bool& value) {
    value = in_.front() != 0;
    in_.remove_prefix(1);
  }
  void operator()(std::string& text) { text = Text(); }
  void operator()(Quantity& quantity) { quantity = *Quantity::Parse(Text()); }
  void operator()(api::TaintEffect& effect) {
    std::uint64_t value = 0;
    (*this)(value);
    effect = static_cast<api::TaintEffect>(value);
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool there = false;
    (*this)(there);
    value.reset();
    if (there) (*this)(value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& list) {
    list.resize(Size());
    for (T& item : list) (*this)(item);
  }
  template <typename T>
  void operator()(std::map<std::string, T>& map) {
    map.clear();
    for (std::size_t left = Size(); left > 0; --left) {
      std::string key(Text());
      (*this)(map.emplace_hint(map.end(), std::move(key), T())->second);
    }
  }
  template <typename T>
  void operator()(T& object) {
    PackFields(*this, object);
  }

  std::string_view Text() {
    const std::size_t size = Size();
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }

 private:
  std::size_t Size() {
    std::uint64_t size = 0;
    (*this)(size);
    return static_cast<std::size_t>(size);
  }

  std::string_view in_;
};

// The fields in the order in which they are packed; O is const when they are written.
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::OwnerReference>
void PackFields(V& v, O& o) { v(o.api_version), v(o.kind), v(o.name), v(o.uid), v(o.controller); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Taint>
void PackFields(V& v, O& o) { v(o.key), v(o.value), v(o.effect); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::ContainerImage>
void PackFields(V& v, O& o) { v(o.names), v(o.size_bytes); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Condition>
void PackFields(V& v, O& o) { v(o.type), v(o.status), v(o.reason); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Node>
void PackFields(V& v, O& o) {
  auto& m = o.metadata;
  v(m.name), v(m.ns), v(m.uid), v(m.labels), v(m.annotations), v(m.owner_references);
  v(m.creation_timestamp_ns), v(m.deletion_timestamp_ns);
  v(o.spec.taints), v(o.spec.unschedulable);
  v(o.status.capacity), v(o.status.allocatable), v(o.status.images), v(o.status.conditions);
}
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Volume>
void PackFields(V& v, O& o) {
  v(o.name), v(o.image), v(o.image_reference), v(o.persistent_volume_claim), v(o.ephemeral);
}
// What pods of one plan don't have in common (see SamePlan); the name first.
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Pod>
void PackFields(V& v, O& o) {
  auto& m = o.metadata;
  v(m.name), v(m.uid), v(m.annotations), v(m.creation_timestamp_ns), v(m.deletion_timestamp_ns);
  v(o.spec.node_name), v(o.spec.volumes);
  v(o.status.phase), v(o.status.nominated_node_name), v(o.status.start_time_ns);
  v(o.status.conditions);
}

// Bytes of any length in one allocation.
class PackedBytes {
 public:
  PackedBytes() = default;
  explicit PackedBytes(std::string_view bytes)
      : data_(new char[sizeof(std::uint32_t) + bytes.size()]) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(data_.get(), &size, sizeof(size));
    std::memcpy(data_.get() + sizeof(size), bytes.data(), bytes.size());
  }
  PackedBytes(const PackedBytes& other)
      : PackedBytes(other.data_ ? PackedBytes(other.view()) : PackedBytes()) {}
  PackedBytes(PackedBytes&&) = default;
  PackedBytes& operator=(PackedBytes other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }

  std::string_view view() const {
    std::uint32_t size = 0;
    std::memcpy(&size, data_.get(), sizeof(size));
    return {data_.get() + sizeof(size), size};
  }

 private:
  std::unique_ptr<char[]> data_;
};

// An object that is made when it is first asked for, by any thread, and kept from then on.
template <typename T>
class MadeOnDemand {
 public:
  MadeOnDemand() = default;
  MadeOnDemand(const MadeOnDemand&) = delete;
  MadeOnDemand& operator=(const MadeOnDemand&) = delete;
  ~MadeOnDemand() { delete made_.load(std::memory_order_relaxed); }

  template <typename F>
  const T& Get(F&& make) const {
    if (const T* made = made_.load(std::memory_order_acquire)) return *made;
    auto own = std::make_unique<const T>(make());
    const T* none = nullptr;
    if (made_.compare_exchange_strong(none, own.get(), std::memory_order_acq_rel)) {
      return *own.release();
    }
    return *none;  // another thread was faster
  }

 private:
  mutable std::atomic<const T*> made_ = nullptr;
};

}  // namespace internal

/// A node as the cluster keeps it: packed into one allocation, and made again when somebody looks
/// at it. Looking is safe from any thread; the object stays from then on.
class NodeObject {
 public:
  explicit NodeObject(const api::Node& node) {
    internal::PackWriter writer;
    writer(node);
    bytes_ = internal::PackedBytes(writer.Take());
  }

  const api::Node& operator*() const {
    return made_.Get([this] {
      api::Node out;
      internal::PackReader reader(bytes_.view());
      reader(out);
      return out;
    });
  }
  const api::Node* operator->() const { return &**this; }

 private:
  internal::PackedBytes bytes_;
  internal::MadeOnDemand<api::Node> made_;
};

/// A pod's object: the one that was given, or, for pods that came with a node, what it doesn't have
/// in common with the pattern of its plan, from which it is made again when somebody looks at it.
class PodObject {
 public:
  PodObject() = default;
  PodObject(const PodObject& other)
      : whole_(other.whole_), pattern_(other.pattern_), bytes_(other.bytes_) {}
  PodObject& operator=(const PodObject&) = delete;
  /// Keeps the object.
  PodObject& operator=(std::shared_ptr<const api::Pod> whole) {
    whole_ = std::move(whole);
    return *this;
  }
  /// Keeps what differs from a pattern, which must outlive this.
  void Pack(const api::Pod& pod, const api::Pod& pattern) {
    internal::PackWriter writer;
    writer(pod);
    bytes_ = internal::PackedBytes(writer.Take());
    pattern_ = &pattern;
  }

  const api::Pod& operator*() const {
    if (whole_) return *whole_;
    return made_.Get([this] {
      api::Pod out = *pattern_;
      internal::PackReader reader(bytes_.view());
      reader(out);
      return out;
    });
  }
  const api::Pod* operator->() const { return &**this; }

  /// The object to be kept by others.
  std::shared_ptr<const api::Pod> Share() const {
    return whole_ ? whole_ : std::make_shared<const api::Pod>(**this);
  }
  /// "namespace/name", without making the object.
  std::string FullName() const {
    if (whole_) return whole_->FullName();
    return pattern_->metadata.ns + "/" + std::string(internal::PackReader(bytes_.view()).Text());
  }

 private:
  std::shared_ptr<const api::Pod> whole_;
  const api::Pod* pattern_ = nullptr;
  internal::PackedBytes bytes_;
  internal::MadeOnDemand<api::Pod> made_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_PACKED_OBJECT_H_
