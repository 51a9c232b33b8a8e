#include "io/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace schedfw::io {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(BytesTest, ReadsWhatWasWritten) {
  ByteWriter out;
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, kMost}) {
    out.Number(n);
  }
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    out.Signed(n);
  }
  out.Text("");
  out.Text(std::string("a\0b", 3));
  for (const char* text : {"one", "two", "one", "", "two", ""}) out.Shared(text);
  const std::string bytes = out.Take();

  ByteReader in(bytes);
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, kMost}) {
    EXPECT_EQ(in.Number(), n);
  }
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(in.Signed(), n);
  }
  EXPECT_EQ(in.Text(), "");
  EXPECT_EQ(in.Text(), std::string("a\0b", 3));
  EXPECT_FALSE(in.AtEnd());
  for (const char* text : {"one", "two", "one", "", "two", ""}) EXPECT_EQ(in.Shared(), text);
  EXPECT_TRUE(in.AtEnd());
}

TEST(BytesTest, SmallNumbersAreShort) {
  ByteWriter out;
  out.Signed(-64), out.Number(127);
  EXPECT_EQ(out.Take(), "\x7f\x7f");
}

TEST(BytesTest, BadBytesGiveNothing) {
  const auto fails = [](const std::string& bytes, auto read) {
    ByteReader in(bytes);
    EXPECT_EQ(read(in), 0u);
    EXPECT_FALSE(in.ok());
    EXPECT_FALSE(in.AtEnd());
    EXPECT_EQ(in.Number(), 0u);  // and so it stays
    EXPECT_EQ(in.Text(), "");
    EXPECT_EQ(in.Shared(), "");
    EXPECT_EQ(in.Count(), 0u);
  };
  const auto number = [](ByteReader& in) { return in.Number(); };
  const auto text = [](ByteReader& in) { return in.Text().size(); };
  fails("", number);
  fails("\x80", number);
  fails(std::string(9, '\xff') + "\x02", number);   // 65 bits
  fails(std::string(10, '\xff') + "\x01", number);  // 11 bytes
  fails(
      "\x03"
      "ab",
      text);
  fails("\x05", [](ByteReader& in) { return in.Number(4); });
  fails(
      "\x02"
      "a",
      [](ByteReader& in) { return in.Count(); });
  fails(
      "\x01"
      "\x00",
      [](ByteReader& in) { return in.Shared().size(); });  // of none
  fails(std::string("\xff\xff\xff\xff\x1f", 5),
        [](ByteReader& in) { return static_cast<std::uint64_t>(in.Int32()); });
}

}  // namespace
}  // namespace schedfw::io
