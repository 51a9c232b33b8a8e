// Messages about text that should be JSON.
#ifndef SCHEDFW_SRC_IO_JSON_SYNTAX_H_
#define SCHEDFW_SRC_IO_JSON_SYNTAX_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace schedfw::io {

/// `text` as a message may quote it: on one line, with control characters escaped, cut to at most
/// `most` bytes between two characters. Complexity: linear in `most`.
std::string Printable(std::string_view text, std::size_t most = 60);

/// Whether a text is JSON and not YAML, as its beginning tells: a brace or bracket, and in the
/// first object either nothing or a key in quotes. YAML's flow style has keys without quotes.
/// Complexity: linear in the blanks at the beginning.
bool BeginsAsJson(std::string_view text);

/// The first place where a text breaks the grammar of JSON.
struct JsonFault {
  std::size_t offset = 0;
  std::string path;    ///< the value around it: "items[3].spec"; empty at the top
  std::string reason;  ///< what was expected and what is there
};

/// Looks for a fault in a text of JSON objects and lists, one or several after another; nullopt
/// when there is none.
///
/// simdjson doesn't say where a text is broken and what should stand there; this reads the text
/// once more to find out. As in simdjson, halves of surrogate pairs are faults; as in Go's
/// encoding/json, so is nesting deeper than 10000 levels. Complexity: linear.
std::optional<JsonFault> FindJsonFault(std::string_view text);

/// Behind the end of the object or list that `text` begins with; what is inside isn't checked.
/// Complexity: linear in the result.
std::size_t EndOfJsonValue(std::string_view text);

}  // namespace schedfw::io

#endif  // SCHEDFW_SRC_IO_JSON_SYNTAX_H_
