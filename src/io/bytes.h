// ByteWriter and ByteReader: numbers and texts one after another, read back with every bound
// checked.
#ifndef SCHEDFW_SRC_IO_BYTES_H_
#define SCHEDFW_SRC_IO_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedfw::io {

/// Writes numbers in base 128 and texts with their length.
class ByteWriter {
 public:
  void Number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  /// Small ones of either sign are short.
  void Signed(std::int64_t value) {
    Number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void Text(std::string_view text) {
    Number(text.size());
    out_ += text;
  }
  /// A text that comes often: written once, and then as its number.
  void Shared(const std::string& text) {
    const auto [it, is_new] = shared_.try_emplace(text, shared_.size());
    Number(it->second);
    if (is_new) Text(text);
  }

  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
  std::unordered_map<std::string, std::uint64_t> shared_;  // look-ups only
};

/// Reads what a ByteWriter wrote. Whatever the bytes are, reading is safe: beyond their end, or
/// where they make no sense, everything is zero or empty, and ok() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  /// True when all was read, and read well.
  bool AtEnd() const { return ok_ && in_.empty(); }
  void Fail() {
    ok_ = false;
    in_ = {};
  }

  std::uint64_t Number() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64 && !in_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(in_.front());
      in_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      out |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return out;
    }
    Fail();
    return 0;
  }
  std::int64_t Signed() {
    const std::uint64_t bits = Number();
    return static_cast<std::int64_t>(bits >> 1 ^ (0 - (bits & 1)));
  }
  /// A number that is at most `most`.
  std::uint64_t Number(std::uint64_t most) {
    const std::uint64_t out = Number();
    if (out <= most) return out;
    Fail();
    return 0;
  }
  /// How many items follow, of which each takes a byte at least.
  std::size_t Count() {
    const std::uint64_t out = Number();
    if (out <= in_.size()) return out;
    Fail();
    return 0;
  }
  std::int32_t Int32() {
    const std::int64_t out = Signed();
    if (out == static_cast<std::int32_t>(out)) return static_cast<std::int32_t>(out);
    Fail();
    return 0;
  }
  /// Valid as long as the bytes.
  std::string_view Text() {
    const std::size_t size = Count();
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }
  std::string_view Shared() {
    const std::uint64_t number = Number(shared_.size());
    if (!ok_) return {};
    if (number == shared_.size()) shared_.push_back(Text());
    return ok_ ? shared_[number] : std::string_view();
  }

 private:
  std::string_view in_;
  bool ok_ = true;
  std::vector<std::string_view> shared_;
};

}  // namespace schedfw::io

#endif  // SCHEDFW_SRC_IO_BYTES_H_
