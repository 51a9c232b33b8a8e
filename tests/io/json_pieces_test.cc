#include "io/json_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedfw::io {
namespace {

// A source that gives `text` in reads of at most `most` bytes.
JsonPieces::Source From(std::string_view text, std::size_t most = 1 << 30) {
  return [text, most](char* to, std::size_t size) mutable {
    const std::size_t n = text.copy(to, std::min(size, most));
    text.remove_prefix(n);
    return n;
  };
}

std::string Items(int count, const std::string& indent, std::size_t size) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += (i == 0 ? "" : ",") + indent + "{" + indent + "  \"i\": " + std::to_string(i) +
           std::string(size, ' ') + indent + "}";
  }
  return out;
}

struct Pieces {
  std::vector<std::string> pieces;
  std::string frame;  // empty: not done
  std::size_t items_offset = 0;
};

Pieces Split(JsonPieces::Source source) {
  JsonPieces reader(std::move(source));
  Pieces out;
  if (!reader.Begin()) return out;
  for (std::string_view piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
    out.pieces.emplace_back(piece);
  }
  if (reader.done()) out.frame = reader.frame();
  out.items_offset = reader.items_offset();
  EXPECT_TRUE(reader.Next().empty());
  return out;
}

TEST(JsonPieces, GiveAllItemsInOrder) {
  for (const std::string indent : {"\n", "\n    ", "\r\n\t"}) {
    for (const std::size_t most : {std::size_t{1000}, std::size_t{1} << 30}) {
      const std::string items = Items(1000, indent, 2000);
      const Pieces got = Split(From("{\"items\": [" + items + "\n], \"kind\": \"List\"}\n", most));
      EXPECT_EQ(got.frame, "{\"items\": [], \"kind\": \"List\"}\n");
      EXPECT_EQ(got.frame.at(got.items_offset), '[');
      EXPECT_GT(got.pieces.size(), 5u);
      std::string all;
      for (const std::string& piece : got.pieces) {
        EXPECT_TRUE(piece.starts_with("[") && piece.ends_with("]"));
        EXPECT_LE(piece.size(), JsonPieces::kMostBytes);
        if (!all.empty()) all += "," + indent;
        all += piece.substr(1, piece.size() - 2);
      }
      EXPECT_EQ(all, items + "\n");
    }
  }
}

TEST(JsonPieces, TextsOnOneLine) {
  for (const std::string blank : {"", " "}) {
    std::string items;
    for (int i = 0; i < 1000; ++i) {
      items += i == 0 ? "" : "," + blank;
      items += "{\"kind\": \"Pod\",\"n\": [{},{}, {\"x\": \"},{\"}],\"i\": " + std::to_string(i) +
               std::string(1000, ' ') + "}";
    }
    const Pieces got = Split(From("{\"a\": {},\"items\":" + blank + "[" + items + "]}"));
    EXPECT_EQ(got.frame, "{\"a\": {},\"items\":" + blank + "[]}");
    EXPECT_GT(got.pieces.size(), 3u);
    std::string all;
    for (const std::string& piece : got.pieces) {
      if (!all.empty()) all += "," + blank;
      all += piece.substr(1, piece.size() - 2);
    }
    EXPECT_EQ(all, items);
  }
}

TEST(JsonPieces, LongItemsAreKeptWhole) {
  const std::string items = Items(3, "\n", 1 << 20);
  const Pieces got = Split(From("{\"items\": [" + items + "\n]}"));
  EXPECT_EQ(got.pieces.size(), 3u);
  EXPECT_EQ(got.frame, "{\"items\": []}");
  const Pieces too_long = Split(From("{\"items\": [" + Items(2, "\n", 20 << 20) + "\n]}"));
  EXPECT_EQ(too_long.pieces.size(), 0u);
  EXPECT_EQ(too_long.frame, "");
}

TEST(JsonPieces, OtherTextsAreLeftAlone) {
  for (const std::string_view text :
       {"", " ", "[\n{}]", "{}", "{\"items\"", "{\"items\":", "{\"items\": [", "{\"items\": [{}]}",
        "{\"items\": [{\"a\": 5}]}", "{\"items\": [\n]}", "{\"items\": [\n5]}", "{\"items\": 5}",
        "items: [\n{}]", "\x1f\x8b{\"items\": [\n{}]}"}) {
    JsonPieces reader(From(text));
    EXPECT_FALSE(reader.Begin()) << text;
  }
  EXPECT_EQ(Split(From("{\"items\": [\n{}, {}")).frame, "");
}

}  // namespace
}  // namespace schedfw::io
