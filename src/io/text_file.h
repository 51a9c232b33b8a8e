// ReadText: the text of a file or of standard input, decompressed if need be.
#ifndef SCHEDFW_IO_TEXT_FILE_H_
#define SCHEDFW_IO_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
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

/// A regular file, read from its beginning bit by bit.
class FileBytes {
 public:
  /// A file that can't be opened, or isn't a regular one of a size that ReadText takes, is empty.
  explicit FileBytes(const std::string& path);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  /// The size of the file when it was opened.
  std::uint64_t size() const { return size_; }
  /// Puts up to `size` bytes at `to` and tells how many; 0 at the end, and when they can't be read.
  std::size_t Read(char* to, std::size_t size);

 private:
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// Unused bytes that ReadText leaves behind the text: simdjson's SIMDJSON_PADDING.
inline constexpr std::size_t kTextPadding = 64;

}  // namespace schedfw::io

#endif  // SCHEDFW_IO_TEXT_FILE_H_
