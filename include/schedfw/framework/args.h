// Declared arguments: one table a struct gives its decoder, its bounds and its documentation.
//
// A struct of arguments declares its fields once:
//
//   struct FooArgs {
//     std::int32_t limit = 10;
//   };
//   template <typename V>
//   void Fields(V& v, FooArgs& args) {
//     v("limit", args.limit, Arg{.help = "how many", .min = 1, .max = 100});
//   }
//
// Configuration files, `schedfw plugins`, the Python package and the docs all come from that table.
#ifndef SCHEDFW_FRAMEWORK_ARGS_H_
#define SCHEDFW_FRAMEWORK_ARGS_H_

#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schedfw/api/fields.h"
#include "schedfw/base/result.h"
#include "schedfw/base/value.h"
#include "schedfw/framework/duration.h"

namespace schedfw {

/// What is said of one argument beside its name, type and default.
struct Arg {
  std::string_view help = {};
  std::int64_t min = std::numeric_limits<std::int64_t>::min();  ///< of integers
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string_view allowed = {};  ///< in words, where min and max don't say it
};

/// One argument as documentation shows it.
struct ArgSpec {
  std::string name;  ///< dotted for nested fields, "[]" for the items of a list
  std::string type;
  std::string default_value;
  std::string allowed;
  std::string help;
};

namespace internal {

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsMap = false;
template <typename T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsNested = false;
template <typename F>
inline constexpr bool kIsNested<api::Nested<F>> = true;
template <typename T>
concept IsEnum = requires {
  api::EnumNames<T>::kNames;
};

inline std::string JoinPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

template <typename E>
std::string Spellings() {
  std::string out;
  for (const auto& [name, constant] : api::EnumNames<E>::kNames) {
    if (!name.empty()) out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

inline std::string RangeText(const Arg& arg) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (!arg.allowed.empty()) return std::string(arg.allowed);
  if (arg.min == kMin && arg.max == kMax) return {};
  if (arg.max == kMax) return std::to_string(arg.min) + " or more";
  if (arg.min == kMin) return std::to_string(arg.max) + " or less";
  return std::to_string(arg.min) + " to " + std::to_string(arg.max);
}

// The shortest text that reads as this number.
inline std::string NumberText(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

// Decodes a Value into declared structs. Strict: a field that isn't declared is an error, a null
// leaves the default, types aren't converted.
class ArgsDecoder {
 public:
  std::optional<Error> error;

  template <typename T>
  void Read(const Value& value, T& out, const std::string& path, const Arg& arg = {}) {
    if (error) return;
    if constexpr (kIsOptional<T>) {
      if (value.IsNull()) {
        out.reset();
        return;
      }
      Read(value, out.emplace(), path, arg);
    } else {
      // A null leaves everything but a duration as it is.
      if (value.IsNull() && !std::is_same_v<T, GoDuration>) return;
      if constexpr (std::is_same_v<T, GoDuration>) {
        ReadDuration(value, out, path, arg);
      } else if constexpr (std::is_same_v<T, Value>) {
        out = value;
      } else if constexpr (std::is_same_v<T, std::string>) {
        const std::string* text = value.AsString();
        if (text == nullptr) return Mismatch(value, path, "a string");
        out = *text;
      } else if constexpr (std::is_same_v<T, bool>) {
        const bool* flag = value.AsBool();
        if (flag == nullptr) return Mismatch(value, path, "true or false");
        out = *flag;
      } else if constexpr (std::is_integral_v<T>) {
        ReadInteger(value, out, path, arg);
      } else if constexpr (std::is_floating_point_v<T>) {
        if (const std::int64_t* whole = value.AsInteger()) {
          out = static_cast<T>(*whole);
        } else if (const double* number = value.AsDouble()) {
          out = static_cast<T>(*number);
        } else {
          Mismatch(value, path, "a number");
        }
      } else if constexpr (IsEnum<T>) {
        ReadEnum(value, out, path);
      } else if constexpr (kIsVector<T>) {
        const Value::List* list = value.AsList();
        if (list == nullptr) return Mismatch(value, path, "a list");
        out.clear();
        for (std::size_t i = 0; i < list->size(); ++i) {
          Read((*list)[i], out.emplace_back(), path + "[" + std::to_string(i) + "]", arg);
        }
      } else if constexpr (kIsMap<T>) {
        const Value::Object* object = value.AsObject();
        if (object == nullptr) return Mismatch(value, path, "an object");
        out.clear();
        for (const auto& [key, item] : *object) Read(item, out[key], JoinPath(path, key), arg);
      } else {
        ReadStruct(value, out, path);
      }
    }
  }

 private:
  class Visitor {
   public:
    Visitor(ArgsDecoder& decoder, std::string_view key, const Value& value, const std::string& path)
        : decoder_(decoder), key_(key), value_(value), path_(path) {}

    template <typename T>
    void operator()(std::string_view name, T&& field, const Arg& arg = {}) {
      if (names_ != nullptr) *names_ += (names_->empty() ? "" : ", ") + std::string(name);
      if (found_ || name != key_) return;
      found_ = true;
      if constexpr (kIsNested<std::remove_cvref_t<T>>) {
        decoder_.ReadNested(value_, field, JoinPath(path_, name));
      } else {
        decoder_.Read(value_, field, JoinPath(path_, name), arg);
      }
    }
    bool found() const { return found_; }
    void ListNames(std::string* names) { names_ = names; }

   private:
    ArgsDecoder& decoder_;
    std::string_view key_;
    const Value& value_;
    const std::string& path_;
    bool found_ = false;
    std::string* names_ = nullptr;
  };

  template <typename T>
  void ReadStruct(const Value& value, T& out, const std::string& path) {
    ReadFields(value, path, [&](Visitor& visitor) { Fields(visitor, out); });
  }
  template <typename F>
  void ReadNested(const Value& value, api::Nested<F>& nested, const std::string& path) {
    if (value.IsNull()) return;
    ReadFields(value, path, nested.fields);
    if (nested.present != nullptr) *nested.present = true;
  }

  template <typename F>
  void ReadFields(const Value& value, const std::string& path, F&& fields) {
    const Value::Object* object = value.AsObject();
    if (object == nullptr) return Mismatch(value, path, "an object");
    for (const auto& [key, item] : *object) {
      Visitor visitor(*this, key, item, path);
      fields(visitor);
      if (error) return;
      if (!visitor.found()) {
        std::string names;
        Visitor lister(*this, std::string_view("\0", 1), item, path);
        lister.ListNames(&names);
        fields(lister);
        error =
            ConfigError("unknown field \"" + JoinPath(path, key) + "\" (allowed: " + names + ")");
        return;
      }
    }
  }

  template <typename T>
  void ReadInteger(const Value& value, T& out, const std::string& path, const Arg& arg) {
    const std::int64_t* number = value.AsInteger();
    if (number == nullptr) return Mismatch(value, path, "an integer");
    if (*number < std::numeric_limits<T>::min() || *number > std::numeric_limits<T>::max()) {
      error = ConfigError(path + ": " + std::to_string(*number) + " does not fit into " +
                          std::to_string(8 * sizeof(T)) + " bits");
    } else if (*number < arg.min || *number > arg.max) {
      error = ConfigError(path + ": " + std::to_string(*number) +
                          " is not in the valid range (allowed: " + RangeText(arg) + ")");
    } else {
      out = static_cast<T>(*number);
    }
  }

  // `arg.min`: the least number of seconds.
  void ReadDuration(const Value& value, GoDuration& out, const std::string& path, const Arg& arg) {
    const std::string* text = value.AsString();
    if (text == nullptr) return Mismatch(value, path, "a duration like 15s");
    out.seconds = ParseDuration(*text);
    if (!out.seconds) {
      error =
          ConfigError(path + ": \"" + *text + "\" is not a duration (allowed: like 15s or 1m30s)");
    } else if (*out.seconds < static_cast<double>(arg.min)) {
      error = ConfigError(path + ": " + *text + " is too short (allowed: " + RangeText(arg) + ")");
    }
  }

  template <typename E>
  void ReadEnum(const Value& value, E& out, const std::string& path) {
    const std::string* text = value.AsString();
    if (text == nullptr) return Mismatch(value, path, "a string");
    for (const auto& [name, constant] : api::EnumNames<E>::kNames) {
      if (name == *text) {
        out = constant;
        return;
      }
    }
    error = ConfigError(path + ": \"" + *text + "\" is not supported (allowed: " + Spellings<E>() +
                        ")");
  }

  void Mismatch(const Value& value, const std::string& path, std::string_view wanted) {
    error = ConfigError((path.empty() ? "" : path + ": ") + "expected " + std::string(wanted) +
                        ", got " + std::string(value.TypeName()));
  }
};

// Lists the declared fields of a struct with their defaults.
class ArgsDescriber {
 public:
  ArgsDescriber(std::string prefix, std::vector<ArgSpec>& out)
      : prefix_(std::move(prefix)), out_(out) {}

  template <typename T>
  void operator()(std::string_view name, T&& field, const Arg& arg = {}) {
    using Type = std::remove_cvref_t<T>;
    if constexpr (!kIsNested<Type>) {
      Describe(JoinPath(prefix_, name), field, arg);
    }
  }

 private:
  template <typename T>
  void Describe(const std::string& name, T& field, const Arg& arg) {
    if constexpr (kIsOptional<T>) {
      typename T::value_type value{};
      if (field) value = *field;
      const std::size_t at = out_.size();
      Describe(name, value, arg);
      if (!field && at < out_.size()) out_[at].default_value.clear();
    } else if constexpr (std::is_same_v<T, std::string>) {
      Push(name, "string", field, RangeText(arg), arg);
    } else if constexpr (std::is_same_v<T, GoDuration>) {
      Push(name, "duration", "", RangeText(arg), arg);
    } else if constexpr (std::is_same_v<T, bool>) {
      Push(name, "boolean", field ? "true" : "false", RangeText(arg), arg);
    } else if constexpr (std::is_integral_v<T>) {
      Push(name, "integer", std::to_string(field), RangeText(arg), arg);
    } else if constexpr (std::is_floating_point_v<T>) {
      Push(name, "number", NumberText(field), RangeText(arg), arg);
    } else if constexpr (IsEnum<T>) {
      std::string spelling;
      for (const auto& [text, constant] : api::EnumNames<T>::kNames) {
        if (constant == field && spelling.empty()) spelling = text;
      }
      Push(name, "string", spelling, Spellings<T>(), arg);
    } else if constexpr (kIsVector<T>) {
      using Item = typename T::value_type;
      if constexpr (std::is_same_v<Item, std::string>) {
        Push(name, "list of strings", "[]", RangeText(arg), arg);
      } else {
        Push(name, "list of objects", field.empty() ? "[]" : "", RangeText(arg), arg);
        if (!arg.help.empty()) {
          Item item = field.empty() ? Item{} : field.front();
          ArgsDescriber nested(name + "[]", out_);
          Fields(nested, item);
        }
      }
    } else if constexpr (std::is_same_v<T, Value> || kIsMap<T>) {
      Push(name, "object", "{}", RangeText(arg), arg);
    } else {
      Push(name, "object", "", RangeText(arg), arg);
      ArgsDescriber nested(name, out_);
      Fields(nested, field);
    }
  }

  // What has no help is part of a Kubernetes object, which has its own documentation.
  void Push(const std::string& name, std::string type, std::string default_value,
            std::string allowed, const Arg& arg) {
    if (arg.help.empty()) return;
    out_.push_back({name, std::move(type), std::move(default_value), std::move(allowed),
                    std::string(arg.help)});
  }

  std::string prefix_;
  std::vector<ArgSpec>& out_;
};

}  // namespace internal

/// Decodes `value` into the declared struct `out`, whose members hold the defaults.
///
/// Errors (ConfigError) name the field by its path: unknown fields, wrong types, values out of
/// bounds. `path` stands before the names. O(fields × members).
template <typename T>
Result<void> DecodeArgs(const Value& value, T& out, const std::string& path = "") {
  internal::ArgsDecoder decoder;
  decoder.Read(value, out, path);
  if (decoder.error) return *decoder.error;
  return {};
}

/// The declared fields of a struct of arguments, nested ones behind their parent.
template <typename T>
std::vector<ArgSpec> DescribeArgs() {
  std::vector<ArgSpec> out;
  T defaults{};
  internal::ArgsDescriber describer("", out);
  Fields(describer, defaults);
  return out;
}

/// For plugins without arguments.
struct NoArgs {};
template <typename V>
void Fields(V&, NoArgs&) {}

}  // namespace schedfw

#endif  // SCHEDFW_FRAMEWORK_ARGS_H_
