#include "io/json_pieces.h"

#include <algorithm>
#include <utility>

#include "io/text_file.h"

namespace schedfw::io {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kItems = "\"items\"";
constexpr std::size_t kHead = 4096;         // the list must begin within these first bytes
constexpr std::size_t kPiece = 256 * 1024;  // with simdjson's index of it, fits the L2 cache
constexpr std::size_t kAhead = 32 * 1024;   // read beyond a piece, where its end is looked for
constexpr std::size_t kMaxItem = 16u << 20;

}  // namespace

// Reads until the buffer has `wanted` bytes; false at the end of the text.
bool JsonPieces::Fill(std::string& buffer, std::size_t wanted) {
  std::size_t used = buffer.size();
  if (used >= wanted) return true;
  if (at_end_) return false;
  buffer.reserve(wanted + kTextPadding);
  buffer.resize(wanted);
  while (used < wanted) {
    const std::size_t n = source_(buffer.data() + used, wanted - used);
    if (n == 0) {
      at_end_ = true;
      break;
    }
    used += n;
  }
  buffer.resize(used);
  return used == wanted;
}

bool JsonPieces::Begin() {
  Fill(rest_, kHead);
  const std::string_view text = rest_;
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos || text[first] != '{') return false;
  const std::size_t key = text.find(kItems);
  if (key == text.npos) return false;
  std::size_t at = text.find_first_not_of(kBlanks, key + kItems.size());
  if (at == text.npos || text[at] != ':') return false;
  at = text.find_first_not_of(kBlanks, at + 1);
  if (at == text.npos || text[at] != '[') return false;
  const std::size_t item = text.find_first_not_of(kBlanks, at + 1);
  if (item == text.npos || text[item] != '{') return false;
  // No string holds the end of a line, so that the one before an item is not inside of another's
  // strings; its indentation keeps it from being found inside of another's lists.
  const std::string_view indent = text.substr(at + 1, item - at - 1);
  if (indent.find('\n') == indent.npos) return false;
  separator_ = std::string(indent) + "}," + std::string(indent);
  next_ = separator_.size();
  separator_ += "{";
  items_offset_ = at;
  head_ = text.substr(0, at + 1);
  rest_.erase(0, at);  // the bracket remains, as that of the first piece
  return true;
}

bool JsonPieces::Next(std::string& piece) {
  if (done_) return false;
  // The old piece's memory takes what follows the new one.
  std::swap(piece, rest_);
  rest_.clear();
  for (std::size_t from = kPiece, wanted = kPiece + kAhead;; wanted = 2 * wanted) {
    const bool more = Fill(piece, wanted);
    if (const std::size_t found = piece.find(separator_, from); found != piece.npos) {
      const std::size_t comma = found + separator_.find(',');
      const std::size_t next = found + next_;
      rest_.reserve(kPiece + kAhead + kTextPadding);
      rest_ = "[";
      rest_.append(piece, next);
      piece.resize(comma + 1);
      piece[comma] = ']';
      return true;
    }
    if (!more) break;
    if (wanted > kMaxItem) return false;
    from = piece.size() - std::min(piece.size() - kPiece, separator_.size());
  }
  const std::size_t end = piece.rfind(']');
  if (end == piece.npos) return false;
  head_.append(piece, end);  // the bracket and what follows it
  piece.resize(end + 1);
  done_ = true;
  return true;
}

}  // namespace schedfw::io
