// YamlToJson: YAML as kubectl and the API server read it, turned into JSON text.
#ifndef SCHEDFW_IO_YAML_TO_JSON_H_
#define SCHEDFW_IO_YAML_TO_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"

namespace schedfw::io {

/// Which line of the YAML text each stretch of the JSON text came from.
class LineMap {
 public:
  /// Says that the JSON text from `json_offset` on came from `line` (1-based), up to the next
  /// offset added. Offsets must not decrease. Complexity: amortised constant.
  void Add(std::size_t json_offset, int line);

  /// The 1-based line that the byte at `json_offset` came from; an offset before the first one
  /// added belongs to the first line added, and without any the answer is 1.
  /// Complexity: logarithmic in the number of lines.
  int LineAt(std::size_t json_offset) const;

 private:
  struct Entry {
    std::size_t json_offset;
    int line;
  };
  std::vector<Entry> entries_;
};

/// One document of a YAML stream, as JSON.
struct JsonDocument {
  /// UTF-8, with 64 bytes of unused capacity so that simdjson can parse it in place.
  std::string json;
  /// Lines of the whole YAML stream, for messages. What an alias or a merge key copies counts as
  /// the line of the alias.
  LineMap lines;
  /// The line on which the document begins: that of its `---` if it has one.
  int first_line = 1;
};

/// Converts every document of a YAML stream to JSON as sigs.k8s.io/yaml's YAMLToJSON does, which is
/// what kubectl and the API server do with a file (yaml.go; go.yaml.in/yaml/v2 resolve.go and
/// decode.go).
///
/// - Plain scalars resolve by YAML 1.1: y/n/yes/no/on/off are booleans; 010, 0o10, 0x10, 0b11 and
///   1_000 are integers (of 64 bits; 8, 8, 16, 3, 1000); 08 is no octal number and so the float 8;
///   integers beyond 64 bits are floats; dates and 1:30 are strings. Quoted and block scalars are
///   strings. The tags !!str, !!int, !!float, !!bool, !!null, !!timestamp and !!binary (decoded)
///   are followed, other tags mean a string.
/// - Keys that are integers, floats or booleans become strings; null, unsigned integers above
///   2^63 - 1, sequences and mappings can't be keys.
/// - Members stay in the order of the file, duplicates too: the JSON reader decides what a
///   duplicate means.
/// - A merge key `<<` is replaced, in place, by the members of its mapping or mappings, the first
///   mapping of a list last. Read with "the last member wins", this is what go.yaml.in/yaml/v2
///   does: a member after the merge key wins over a merged one, and a merged one over a member
///   before the merge key.
/// - An empty document (only comments, nothing after `---`, or null) is left out.
///
/// Errors (kind kParse) read `FILE:LINE: REASON`, with `file` as FILE: a syntax error, with
/// yaml-cpp's words; bytes that aren't UTF-8 or are control characters; a scalar that its tag or
/// JSON forbids (.inf, .nan); a key as above; text after the end of a document without `---`;
/// nesting deeper than kMaxYamlDepth levels; an alias inside its own anchor; aliases that blow the
/// JSON up beyond 64 MiB and 16 times the input; input of 2 GiB or more.
///
/// Stricter than go.yaml.in/yaml/v2: it reads the first document of a text and drops what follows
/// without `---`; it drops .inf under a duplicate key; `{a:}` needs a blank (`{a: }`). More
/// lenient: yaml-cpp takes `\/` in double quotes, and tabs before a line's text in a few places.
///
/// A byte order mark at the start is skipped. Complexity: linear in the input and the output;
/// yaml-cpp reads some 5 MB/s. A flow collection that could still be a key, such as a whole
/// document in brackets, is kept as tokens, about 100 bytes each, until its bracket closes.
Result<std::vector<JsonDocument>> YamlToJson(std::string_view yaml, const std::string& file);

/// The deepest nesting of sequences and mappings that YamlToJson reads, aliases followed. yaml-cpp
/// itself stops at 499 levels (singledocparser.cpp), of which the innermost scalar is one.
inline constexpr int kMaxYamlDepth = 498;

}  // namespace schedfw::io

#endif  // SCHEDFW_IO_YAML_TO_JSON_H_
