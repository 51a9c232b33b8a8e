// Helpers for simdjson's on-demand reader.
#ifndef SCHEDFW_SRC_IO_ONDEMAND_H_
#define SCHEDFW_SRC_IO_ONDEMAND_H_

#include <simdjson.h>

#include <utility>

namespace schedfw::io {

/// The value of a result; throws simdjson::simdjson_error when it is an error.
template <typename T>
T Take(simdjson::simdjson_result<T> result) {
  T out;
  if (const auto code = std::move(result).get(out); code != simdjson::SUCCESS) {
    throw simdjson::simdjson_error(code);
  }
  return out;
}

/// Where the reader stands, or nullptr when it has read the whole text.
inline const char* Location(simdjson::ondemand::document& document) {
  const char* at = nullptr;
  if (document.current_location().get(at) != simdjson::SUCCESS) return nullptr;
  return at;
}

}  // namespace schedfw::io

#endif  // SCHEDFW_SRC_IO_ONDEMAND_H_
