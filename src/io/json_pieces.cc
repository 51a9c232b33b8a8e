#include "io/json_pieces.h"

#include <algorithm>
#include <cstring>

#include "io/text_file.h"

namespace schedfw::io {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kItems = "\"items\"";
constexpr std::size_t kHead = 4096;  // the list must begin within these first bytes
// A piece and simdjson's index of it fit into the second level of the cache. Its end is looked for
// in what was read beyond kPiece.
constexpr std::size_t kPiece = JsonPieces::kMostBytes - 32 * 1024;
constexpr std::size_t kMaxItem = 16 * 1024 * 1024;

}  // namespace

// Reads until `wanted` bytes of the buffer are used; false at the end of the text.
bool JsonPieces::Fill(std::size_t wanted) {
  if (buffer_.size() < wanted + kTextPadding) buffer_.resize(wanted + kTextPadding);
  while (used_ < wanted && !at_end_) {
    const std::size_t n = source_(buffer_.data() + used_, wanted - used_);
    used_ += n;
    at_end_ = n == 0;
  }
  return used_ >= wanted;
}

bool JsonPieces::Begin() {
  Fill(kHead);
  const std::string_view text(buffer_.data(), used_);
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos || text[first] != '{') return false;
  const std::size_t key = text.find(kItems);
  if (key == text.npos) return false;
  const std::size_t colon = text.find_first_not_of(kBlanks, key + kItems.size());
  if (colon == text.npos || text[colon] != ':') return false;
  const std::size_t at = text.find_first_not_of(kBlanks, colon + 1);
  if (at == text.npos || text[at] != '[') return false;
  const std::size_t item = text.find_first_not_of(kBlanks, at + 1);
  if (item == text.npos || text[item] != '{') return false;
  const std::string_view indent = text.substr(at + 1, item - at - 1);
  if (indent.find('\n') != indent.npos) {
    // Neither strings hold the end of a line, nor do lists inside of an item have its indentation.
    separator_ = "}," + std::string(indent) + "{";
    next_item_ = separator_.size() - 1;
  } else {
    // All on one line: other items begin like the first, up to its second key, and no other object
    // in a list does. Quotation marks of keys can't be inside of a string.
    std::size_t end = text.find("\":", item);
    if (end != text.npos) end = text.find("\":", end + 1);
    if (end == text.npos) return false;
    separator_ = "},";
    separator_ += text.substr(colon + 1, at - colon - 1);  // as writers put blanks behind a comma
    next_item_ = separator_.size();
    separator_ += text.substr(item, end + 2 - item);
  }
  items_offset_ = at;
  head_ = text.substr(0, at + 1);
  next_ = at + 1;
  return true;
}

std::string_view JsonPieces::Next() {
  if (over_) return {};
  // What was read beyond the last piece goes to the front, behind the bracket of the new piece.
  std::memmove(buffer_.data() + 1, buffer_.data() + next_, used_ - next_);
  used_ -= next_ - 1;
  buffer_[0] = '[';
  std::size_t from = kPiece;
  for (std::size_t wanted = kMostBytes;; wanted *= 2) {
    const bool more = Fill(wanted);
    const std::string_view text(buffer_.data(), used_);
    if (const std::size_t found = text.find(separator_, from); found != text.npos) {
      buffer_[found + 1] = ']';
      next_ = found + next_item_;
      return text.substr(0, found + 2);
    }
    if (!more) break;
    if (wanted > kMaxItem) {
      over_ = true;
      return {};
    }
    from = used_ - std::min(used_, separator_.size());
  }
  over_ = true;
  const std::string_view text(buffer_.data(), used_);
  const std::size_t end = text.rfind(']');
  if (end == text.npos) return {};
  head_ += text.substr(end);  // the bracket and what follows it
  done_ = true;
  return text.substr(0, end + 1);
}

}  // namespace schedfw::io
