// CsvReader: the rows of a CSV text (RFC 4180).
#ifndef SCHEDFW_IO_CSV_H_
#define SCHEDFW_IO_CSV_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/base/result.h"

namespace schedfw::io {

/// The most fields of a row: without a bound, a text of commas takes many times its size.
inline constexpr std::size_t kMaxCsvFields = 65536;

/// Reads the rows of a text one after another. Lines end with LF or CRLF, the last one with or
/// without; a byte order mark at the start and blank lines are passed over. All other bytes are
/// taken as they are, NUL too.
class CsvReader {
 public:
  /// `text` must outlive the reader.
  explicit CsvReader(std::string_view text);

  /// Goes to the next row; false if there is none. Linear in the row.
  ///
  /// Errors (kind kParse, without file and line): a quote that begins no field or isn't its end,
  /// one that is never closed, more fields than kMaxCsvFields. line() then tells where, and no
  /// further row can be read.
  Result<bool> Next();

  /// The fields of the row.
  const std::vector<std::string>& fields() const { return fields_; }
  /// The line on which the row begins, from 1; lines inside of quotes count.
  std::uint64_t line() const { return line_; }

 private:
  Result<void> ReadQuoted(std::string& out);
  bool AtLineEnd() const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;
  std::vector<std::string> fields_;
};

}  // namespace schedfw::io

#endif  // SCHEDFW_IO_CSV_H_
