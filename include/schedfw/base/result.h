// Result<T>: a value or an Error, for input and configuration.
#ifndef SCHEDFW_BASE_RESULT_H_
#define SCHEDFW_BASE_RESULT_H_

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace schedfw {

/// What kind of input an Error is about; the Python package raises one exception type for each.
enum class ErrorKind {
  kParse,     ///< a file or an object in it can't be read (schedfw.ParseError)
  kConfig,    ///< a KubeSchedulerConfiguration or plugin argument is wrong (schedfw.ConfigError)
  kPlugin,    ///< a plugin failed or doesn't exist (schedfw.PluginError)
  kArgument,  ///< a caller's argument: no such pod, node or option (schedfw.Error)
};

/// A refused input: one line that says what was wrong, where, and what is allowed.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  /// The same error, said to have happened in `where` (a file, an object, a field path).
  Error In(std::string_view where) const {
    return Error(kind_, std::string(where) + ": " + message_);
  }

 private:
  ErrorKind kind_;
  std::string message_;
};

inline Error ParseError(std::string message) { return {ErrorKind::kParse, std::move(message)}; }
inline Error ConfigError(std::string message) { return {ErrorKind::kConfig, std::move(message)}; }
inline Error PluginError(std::string message) { return {ErrorKind::kPlugin, std::move(message)}; }
inline Error ArgumentError(std::string message) {
  return {ErrorKind::kArgument, std::move(message)};
}

/// A value of type T, or the Error that prevented it.
///
/// Reading the value of a failed Result is undefined, as it is for std::optional: test ok() first.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return error_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *std::get_if<1>(&error_); }

 private:
  std::variant<std::monostate, Error> error_;
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_RESULT_H_
