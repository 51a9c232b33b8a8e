// JsonPieces: a long JSON list, read piece by piece.
#ifndef SCHEDFW_SRC_IO_JSON_PIECES_H_
#define SCHEDFW_SRC_IO_JSON_PIECES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace schedfw::io {

/// Splits an object whose member "items" is a long list of objects, laid out evenly as programs do,
/// without reading it all at once: what is read a second time is still in the processor's cache
/// then, and no memory is needed for the whole text.
///
/// It goes by the layout and checks no syntax: it looks for what stands between the items. The text
/// is what it seems to be if every piece is a list of objects, and frame() an object whose only
/// member "items" is the empty list that begins at items_offset(). If either isn't so, the text
/// must be read in another way.
class JsonPieces {
 public:
  /// No piece is longer, unless an item is.
  static constexpr std::size_t kMostBytes = 288 * 1024;

  /// Puts up to `size` bytes at `to` and tells how many; 0 is the end of the text.
  using Source = std::function<std::size_t(char* to, std::size_t size)>;

  explicit JsonPieces(Source source) : source_(std::move(source)) {}

  /// Reads up to the first item; false if the text isn't laid out like that.
  bool Begin();
  /// The text before the items, with the bracket: `{"kind": "PodList", "items": [`.
  std::string_view head() const { return head_; }

  /// The next items, in brackets, and behind them at least kTextPadding bytes that may be read;
  /// valid up to the next call. Empty at the end, and when the list has no end or an item of more
  /// than 16 MiB: see done().
  std::string_view Next();

  /// Whether all of the text was read and the end of the list found.
  bool done() const { return done_; }
  /// The text around the items: `{"items": [], "kind": "List"}`. Only when done().
  const std::string& frame() const { return head_; }
  /// Where in frame() the list begins.
  std::size_t items_offset() const { return items_offset_; }

 private:
  bool Fill(std::size_t wanted);

  Source source_;
  std::string head_;
  std::size_t items_offset_ = 0;
  std::string separator_;      // the end of an item, a comma, the beginning of the next item
  std::size_t next_item_ = 0;  // where in the separator the next item begins
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of the buffer that were read
  std::size_t next_ = 0;  // where in the buffer the next piece begins: behind its bracket
  bool at_end_ = false;
  bool over_ = false;  // there are no more pieces
  bool done_ = false;
};

}  // namespace schedfw::io

#endif  // SCHEDFW_SRC_IO_JSON_PIECES_H_
