// ReadText: the text of a file or of standard input, decompressed if need be.
#ifndef SCHEDFW_IO_TEXT_FILE_H_
#define SCHEDFW_IO_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "schedfw/base/result.h"

namespace schedfw::io {

/// Reads a whole file, or standard input when `path` is "-".
///
/// Bytes that begin with gzip's magic number (1f 8b) are decompressed, whatever the file's name;
/// several gzip members in a row give their texts in a row, as with gzip -d. Zero bytes after the
/// last member are padding; anything else there is an error. A UTF-8 byte order mark at the start
/// is dropped; apart from that the bytes are returned as they are, in no particular encoding.
///
/// The string has at least kTextPadding bytes of unused capacity, so that simdjson can parse it in
/// place. A text may have up to 4 GiB - 1 byte, which is simdjson's own limit.
///
/// Errors (kind kParse) begin with the path or "standard input" and say why: the system's reason
/// (no such file, permission denied), a directory, truncated or corrupt gzip data, too large.
/// Complexity: linear in the compressed and the decompressed size; one read for a regular file.
Result<std::string> ReadText(const std::string& path);

/// Unused bytes that ReadText leaves behind the text: simdjson's SIMDJSON_PADDING.
inline constexpr std::size_t kTextPadding = 64;

}  // namespace schedfw::io

#endif  // SCHEDFW_IO_TEXT_FILE_H_
