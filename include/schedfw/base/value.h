// Value: a tree of JSON values, for configurations, plugin arguments and reports.
#ifndef SCHEDFW_BASE_VALUE_H_
#define SCHEDFW_BASE_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schedfw/base/result.h"

namespace schedfw {

/// null, a boolean, an integer, a number, a string, a list, or an object with keys in order.
class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;

  Value() = default;
  Value(bool v) : data_(v) {}                           // NOLINT
  Value(int v) : data_(std::int64_t{v}) {}              // NOLINT
  Value(std::int64_t v) : data_(v) {}                   // NOLINT
  Value(double v) : data_(v) {}                         // NOLINT
  Value(const char* v) : data_(std::string(v)) {}       // NOLINT
  Value(std::string v) : data_(std::move(v)) {}         // NOLINT
  Value(std::string_view v) : data_(std::string(v)) {}  // NOLINT
  Value(List v) : data_(std::move(v)) {}                // NOLINT
  Value(Object v) : data_(std::move(v)) {}              // NOLINT

  bool IsNull() const { return data_.index() == 0; }
  const bool* AsBool() const { return std::get_if<bool>(&data_); }
  const std::int64_t* AsInteger() const { return std::get_if<std::int64_t>(&data_); }
  const double* AsDouble() const { return std::get_if<double>(&data_); }
  const std::string* AsString() const { return std::get_if<std::string>(&data_); }
  const List* AsList() const { return std::get_if<List>(&data_); }
  List* AsList() { return std::get_if<List>(&data_); }
  const Object* AsObject() const { return std::get_if<Object>(&data_); }
  Object* AsObject() { return std::get_if<Object>(&data_); }

  /// The member of an object; nullptr when it is absent or this is no object.
  const Value* Find(std::string_view key) const {
    const Object* object = AsObject();
    if (object == nullptr) return nullptr;
    for (const auto& [name, value] : *object) {
      if (name == key) return &value;
    }
    return nullptr;
  }
  /// Sets a member; a Value that is no object becomes one.
  void Set(std::string_view key, Value value) {
    if (AsObject() == nullptr) data_ = Object();
    for (auto& [name, old] : *AsObject()) {
      if (name == key) {
        old = std::move(value);
        return;
      }
    }
    AsObject()->emplace_back(key, std::move(value));
  }

  /// "a string", "a list", …, for messages.
  std::string_view TypeName() const {
    constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                           "a string", "a list",    "an object"};
    return kNames[data_.index()];
  }

  friend bool operator==(const Value&, const Value&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> data_;
};

/// JSON text of a value; `indent` 0 writes one line.
std::string ToJson(const Value& value, int indent = 0);

/// Parses one JSON or YAML document. A key that is given twice is an error, as in a strict decoder.
/// `name` stands for the file in errors, which carry the line.
Result<Value> ParseValue(std::string_view text, const std::string& name = "<text>");

}  // namespace schedfw

#endif  // SCHEDFW_BASE_VALUE_H_
