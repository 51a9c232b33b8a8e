// Packed objects: nodes and pods as the cluster keeps them, small until somebody looks inside.
#ifndef SCHEDFW_CLUSTER_PACKED_OBJECT_H_
#define SCHEDFW_CLUSTER_PACKED_OBJECT_H_

#include <algorithm>
#include <array>
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
#include "schedfw/cluster/dictionary.h"

namespace schedfw {

namespace internal {

// A UUID in the form that Kubernetes gives uids: 32 hexadecimal digits in lower case, by dashes.
struct Uuid {
  std::array<char, 16> bytes{};

  static constexpr std::string_view kDigits = "0123456789abcdef";
  static bool IsDash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

  // Nothing for any other text.
  static std::optional<Uuid> Parse(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    Uuid out;
    std::size_t digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (IsDash(i)) {
        if (text[i] != '-') return std::nullopt;
        continue;
      }
      const char c = text[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) return std::nullopt;
      char& byte = out.bytes[digits++ / 2];
      byte = static_cast<char>(static_cast<std::uint8_t>(byte) << 4 | static_cast<unsigned>(digit));
    }
    return out;
  }
  std::string ToString() const {
    std::string out;
    for (const char byte : bytes) {
      if (IsDash(out.size())) out.push_back('-');
      out.push_back(kDigits[static_cast<std::uint8_t>(byte) >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
    return out;
  }
};

// Writes values one after another: lengths and numbers in base 128, texts as they are. With a
// dictionary, texts that many objects have are written as their ids.
class PackWriter {
 public:
  explicit PackWriter(Dictionary* dictionary = nullptr) : dictionary_(dictionary) {}

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
      Repeated(key);
      (*this)(value);
    }
  }
  template <typename T>
  void operator()(const T& object) {
    PackFields(*this, object);
  }

  // A text that many objects have.
  void Repeated(const std::string& text) {
    if (dictionary_ == nullptr) return (*this)(text);
    (*this)(std::uint64_t{dictionary_->Intern(text)});
  }
  void operator()(const api::ContainerImage& image) {
    (*this)(std::uint64_t{dictionary_->Image(image)});
  }
  // Nanoseconds; Kubernetes prints whole seconds.
  void Time(const std::optional<std::int64_t>& time_ns) {
    const std::uint64_t form = !time_ns ? 0 : *time_ns % kSecond == 0 ? 1 : 2;
    (*this)(form);
    if (form != 0) (*this)(form == 1 ? *time_ns / kSecond : *time_ns);
  }
  // 16 bytes when it is a UUID as Kubernetes writes them.
  void Uid(const std::string& uid) {
    const std::optional<Uuid> uuid = Uuid::Parse(uid);
    (*this)(uuid.has_value());
    if (!uuid) return (*this)(uid);
    out_.append(uuid->bytes.begin(), uuid->bytes.end());
  }
  // A value that is most often that of the pattern, which the reader has.
  template <typename T>
  void OrPattern(const T& value, const T& pattern) {
    const bool same = value == pattern;
    (*this)(same);
    if (!same) (*this)(value);
  }
  // A text that begins as the pattern's does.
  void OrPattern(const std::string& text, const std::string& pattern) {
    const auto same = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), pattern.begin(), pattern.end()).first -
        text.begin());
    (*this)(std::uint64_t{same});
    (*this)(std::uint64_t{text.size() - same});
    out_.append(text, same);
  }
  void OrPattern(const api::Volume& volume, const api::Volume& pattern) {
    OrPattern(volume.name, pattern.name);
    (*this)(volume.image);
    OrPattern(volume.image_reference, pattern.image_reference);
    OrPattern(volume.persistent_volume_claim, pattern.persistent_volume_claim);
    (*this)(volume.ephemeral);
  }

  static constexpr std::int64_t kSecond = 1'000'000'000;

 private:
  Dictionary* const dictionary_;
  std::string out_;
};

// Reads what PackWriter wrote.
class PackReader {
 public:
  explicit PackReader(std::string_view in, const Dictionary* dictionary = nullptr)
      : in_(in), dictionary_(dictionary) {}

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
  void operator()(api::TaintEffect& effect) { effect = static_cast<api::TaintEffect>(Number()); }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool there = false;
    (*this)(there);
    value.reset();
    if (there) (*this)(value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& list) {
    list.resize(Number());
    for (T& item : list) (*this)(item);
  }
  template <typename T>
  void operator()(std::map<std::string, T>& map) {
    map.clear();
    for (std::size_t left = Number(); left > 0; --left) {
      std::string key;
      Repeated(key);
      (*this)(map.emplace_hint(map.end(), std::move(key), T())->second);
    }
  }
  template <typename T>
  void operator()(T& object) {
    PackFields(*this, object);
  }

  void Repeated(std::string& text) {
    text = dictionary_ == nullptr ? Text() : dictionary_->Text(static_cast<StringId>(Number()));
  }
  void operator()(api::ContainerImage& image) {
    image = dictionary_->ImageOf(static_cast<ImageId>(Number()));
  }
  void Time(std::optional<std::int64_t>& time_ns) {
    time_ns.reset();
    const std::uint64_t form = Number();
    if (form == 0) return;
    (*this)(time_ns.emplace());
    if (form == 1) *time_ns *= PackWriter::kSecond;
  }
  void Uid(std::string& uid) {
    bool is_uuid = false;
    (*this)(is_uuid);
    if (!is_uuid) return (*this)(uid);
    Uuid uuid;
    std::copy_n(in_.begin(), uuid.bytes.size(), uuid.bytes.begin());
    in_.remove_prefix(uuid.bytes.size());
    uid = uuid.ToString();
  }
  template <typename T>
  void OrPattern(T& value, const T& pattern) {
    bool same = false;
    (*this)(same);
    if (same) {
      value = pattern;
    } else {
      (*this)(value);
    }
  }
  void OrPattern(std::string& text, const std::string& pattern) {
    const std::size_t same = Number();
    std::string out = pattern.substr(0, same);
    out += Text();
    text = std::move(out);
  }
  void OrPattern(api::Volume& volume, const api::Volume& pattern) {
    OrPattern(volume.name, pattern.name);
    (*this)(volume.image);
    OrPattern(volume.image_reference, pattern.image_reference);
    OrPattern(volume.persistent_volume_claim, pattern.persistent_volume_claim);
    (*this)(volume.ephemeral);
  }

  std::string_view Text() {
    const std::size_t size = Number();
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }
  std::uint64_t Number() {
    std::uint64_t out = 0;
    (*this)(out);
    return out;
  }

 private:
  std::string_view in_;
  const Dictionary* const dictionary_;
};

// The fields in the order in which they are packed; O is const when they are written.
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::OwnerReference>
void PackFields(V& v, O& o) { v(o.api_version), v(o.kind), v(o.name), v(o.uid), v(o.controller); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Taint>
void PackFields(V& v, O& o) { v.Repeated(o.key), v.Repeated(o.value), v(o.effect); }
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Condition>
void PackFields(V& v, O& o) { v.Repeated(o.type), v.Repeated(o.status), v.Repeated(o.reason); }
// Without name and labels, which the cluster has as ids.
template <typename V, typename O>
requires std::is_same_v<std::remove_const_t<O>, api::Node>
void PackFields(V& v, O& o) {
  auto& m = o.metadata;
  v(m.ns), v.Uid(m.uid), v(m.annotations), v(m.owner_references);
  v.Time(m.creation_timestamp_ns), v.Time(m.deletion_timestamp_ns);
  v(o.spec.taints), v(o.spec.unschedulable);
  v(o.status.capacity), v(o.status.allocatable), v(o.status.images), v(o.status.conditions);
}
// What pods of one plan don't have in common (see SamePlan); the name first, then the start.
template <typename V, typename O>
void PackOwnFields(V& v, O& o, const api::Pod& pattern) {
  auto& m = o.metadata;
  v.OrPattern(m.name, pattern.metadata.name);
  v.Time(o.status.start_time_ns), v.Uid(m.uid);
  v.OrPattern(m.annotations, pattern.metadata.annotations);
  v.Time(m.creation_timestamp_ns), v.Time(m.deletion_timestamp_ns);
  v.OrPattern(o.spec.node_name, pattern.spec.node_name);
  v.OrPattern(o.spec.scheduling_group, pattern.spec.scheduling_group);
  // One of the volumes has a name of the pod's own as a rule.
  auto volumes = std::uint64_t{o.spec.volumes.size()};
  v(volumes);
  if constexpr (!std::is_const_v<O>) o.spec.volumes.resize(volumes);
  const api::Volume none;
  for (std::size_t i = 0; i < volumes; ++i) {
    v.OrPattern(o.spec.volumes[i],
                i < pattern.spec.volumes.size() ? pattern.spec.volumes[i] : none);
  }
  v.OrPattern(o.status.phase, pattern.status.phase);
  v.OrPattern(o.status.nominated_node_name, pattern.status.nominated_node_name);
  v.OrPattern(o.status.conditions, pattern.status.conditions);
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
  NodeObject(const api::Node& node, Dictionary& dictionary) {
    internal::PackWriter writer(&dictionary);
    writer(node);
    bytes_ = internal::PackedBytes(writer.Take());
  }

  /// The node, given the name and the labels that it was packed with. O(size of the node) once.
  const api::Node& Get(const std::string& name, const Labels& labels,
                       const Dictionary& dictionary) const {
    return made_.Get([&] {
      api::Node out;
      out.metadata.name = name;
      for (const auto& [key, value] : labels) {
        out.metadata.labels.emplace(dictionary.Text(key), dictionary.Text(value));
      }
      internal::PackReader reader(bytes_.view(), &dictionary);
      reader(out);
      return out;
    });
  }
  /// One of metadata.annotations, without making the object.
  std::optional<std::string> Annotation(std::string_view key, const Dictionary& dictionary) const {
    internal::PackReader reader(bytes_.view(), &dictionary);
    std::string uid;
    reader.Text(), reader.Uid(uid);  // what comes first, the namespace
    for (std::size_t left = reader.Number(); left > 0; --left) {
      const std::string_view name = dictionary.Text(static_cast<StringId>(reader.Number()));
      const std::string_view value = reader.Text();
      if (name == key) return std::string(value);
    }
    return std::nullopt;
  }

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
      : whole_(other.whole_ ? std::make_unique<Whole>(*other.whole_) : nullptr),
        pattern_(other.pattern_),
        bytes_(other.bytes_) {}
  PodObject& operator=(const PodObject&) = delete;
  /// Keeps the object.
  PodObject& operator=(std::shared_ptr<const api::Pod> whole) {
    whole_ = std::make_unique<Whole>(std::move(whole));
    return *this;
  }
  /// Keeps what differs from a pattern, which must outlive this.
  void Pack(const api::Pod& pod, const api::Pod& pattern) {
    internal::PackWriter writer;
    internal::PackOwnFields(writer, pod, pattern);
    bytes_ = internal::PackedBytes(writer.Take());
    pattern_ = &pattern;
  }

  const api::Pod& operator*() const {
    if (whole_) return **whole_;
    return made_.Get([this] { return Copy(); });
  }
  const api::Pod* operator->() const { return &**this; }
  /// The object; a packed one stays packed.
  api::Pod Copy() const {
    if (whole_) return **whole_;
    api::Pod out = *pattern_;
    internal::PackReader reader(bytes_.view());
    internal::PackOwnFields(reader, out, *pattern_);
    return out;
  }

  /// The object to be kept by others.
  std::shared_ptr<const api::Pod> Share() const {
    return whole_ ? *whole_ : std::make_shared<const api::Pod>(**this);
  }
  /// "namespace/name", without making the object.
  std::string FullName() const {
    if (whole_) return (*whole_)->FullName();
    std::string name;
    internal::PackReader(bytes_.view()).OrPattern(name, pattern_->metadata.name);
    return pattern_->metadata.ns + "/" + name;
  }
  /// status.startTime, without making the object.
  std::optional<std::int64_t> StartTimeNs() const {
    if (whole_) return (*whole_)->status.start_time_ns;
    internal::PackReader reader(bytes_.view());
    reader.Number(), reader.Text();  // the name
    std::optional<std::int64_t> out;
    reader.Time(out);
    return out;
  }
  /// One of metadata.annotations, without making the object.
  std::optional<std::string> Annotation(const std::string& key) const {
    const auto find = [&](const api::StringMap& map) -> std::optional<std::string> {
      const auto it = map.find(key);
      return it == map.end() ? std::nullopt : std::optional(it->second);
    };
    if (whole_) return find((*whole_)->metadata.annotations);
    internal::PackReader reader(bytes_.view());
    reader.Number(), reader.Text();  // the name
    std::optional<std::int64_t> start;
    std::string uid;
    reader.Time(start), reader.Uid(uid);
    bool same = false;
    reader(same);
    if (same) return find(pattern_->metadata.annotations);
    for (std::size_t left = reader.Number(); left > 0; --left) {
      const std::string_view name = reader.Text(), value = reader.Text();
      if (name == key) return std::string(value);
    }
    return std::nullopt;
  }

 private:
  using Whole = std::shared_ptr<const api::Pod>;

  // There is an object for each pod, so it is small: packed pods, which are the most, have no room
  // for a shared pointer.
  std::unique_ptr<Whole> whole_;
  const api::Pod* pattern_ = nullptr;
  internal::PackedBytes bytes_;
  internal::MadeOnDemand<api::Pod> made_;
};

}  // namespace schedfw

#endif  // SCHEDFW_CLUSTER_PACKED_OBJECT_H_
