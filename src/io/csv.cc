#include "io/csv.h"

#include <algorithm>

#include "io/json_syntax.h"

namespace schedfw::io {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

bool CsvReader::AtLineEnd() const {
  return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

Result<void> CsvReader::ReadQuoted(std::string& out) {
  ++at_;
  while (true) {
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) {
      return ParseError("a quote is never closed (allowed: \"…\", and \"\" for a quote inside)");
    }
    const std::string_view piece = text_.substr(at_, end - at_);
    next_line_ += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
    out += piece;
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    out += '"';
    ++at_;
  }
  if (!AtLineEnd() && text_[at_] != ',') {
    line_ = next_line_;
    return ParseError("\"" + Printable(text_.substr(at_, 1)) +
                      "\" behind a closing quote (allowed: a comma or the end of the line)");
  }
  return {};
}

Result<bool> CsvReader::Next() {
  while (at_ < text_.size() && AtLineEnd()) {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++next_line_;
  }
  line_ = next_line_;
  if (at_ == text_.size()) return false;
  for (std::size_t i = 0;; ++i) {
    if (i == kMaxCsvFields) {
      return ParseError("too many values in a row (allowed: at most " +
                        std::to_string(kMaxCsvFields) + ")");
    }
    // The strings of the row before are used again: most rows then need no memory.
    if (i == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[i];
    field.clear();
    if (at_ < text_.size() && text_[at_] == '"') {
      const Result<void> read = ReadQuoted(field);
      if (!read.ok()) return read.error();
    } else {
      const std::size_t end = std::min(text_.find_first_of(",\n\"", at_), text_.size());
      if (end < text_.size() && text_[end] == '"') {
        return ParseError(
            "a quote inside of a value (allowed: values in quotes, with \"\" for it)");
      }
      field = text_.substr(at_, end - at_);
      at_ = end;
      if (at_ < text_.size() && text_[at_] == '\n' && field.ends_with('\r')) field.pop_back();
    }
    if (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      continue;
    }
    if (at_ < text_.size()) {
      at_ += text_[at_] == '\r' ? 2 : 1;
      ++next_line_;
    }
    fields_.resize(i + 1);
    return true;
  }
}

}  // namespace schedfw::io
