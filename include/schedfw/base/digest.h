// Digest: one number for a sequence of texts, numbers and values.
#ifndef SCHEDFW_BASE_DIGEST_H_
#define SCHEDFW_BASE_DIGEST_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedfw/base/value.h"

namespace schedfw {

/// Tells sequences apart, the same on every platform: FNV-1a, 64 bits (http://www.isthe.com/
/// chongo/tech/comp/fnv/). No signature: others with the same digest are easily made. O(bytes).
class Digest {
 public:
  void Add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) Byte(static_cast<std::uint8_t>(number >> shift));
  }
  /// With its length, so that "ab" "c" isn't "a" "bc".
  void Add(std::string_view text) {
    Add(std::uint64_t{text.size()});
    for (const char c : text) Byte(static_cast<std::uint8_t>(c));
  }
  /// The members of an object count in the order of their keys, whichever they were given in.
  void AddValue(const Value& value) {
    Add(value.TypeName());
    if (const bool* flag = value.AsBool()) Add(std::uint64_t{*flag});
    if (const std::int64_t* number = value.AsInteger()) Add(static_cast<std::uint64_t>(*number));
    if (const double* number = value.AsDouble()) Add(std::bit_cast<std::uint64_t>(*number));
    if (const std::string* text = value.AsString()) Add(std::string_view(*text));
    if (const Value::List* list = value.AsList()) {
      Add(std::uint64_t{list->size()});
      for (const Value& item : *list) AddValue(item);
    }
    if (const Value::Object* object = value.AsObject()) {
      std::vector<const std::pair<std::string, Value>*> members;
      for (const auto& member : *object) members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
      Add(std::uint64_t{members.size()});
      for (const auto* member : members) {
        Add(std::string_view(member->first));
        AddValue(member->second);
      }
    }
  }

  std::uint64_t value() const { return value_; }

 private:
  void Byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_DIGEST_H_
