#include "io/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace schedfw::io {
namespace {

using namespace std::string_view_literals;

// The rows of a text, values parted by '|'; a fault as "line: reason".
std::vector<std::string> Rows(std::string_view text) {
  CsvReader reader(text);
  std::vector<std::string> out;
  while (true) {
    const Result<bool> more = reader.Next();
    if (!more.ok()) {
      out.push_back(std::to_string(reader.line()) + ": " + more.error().message());
      return out;
    }
    if (!*more) return out;
    std::string row = std::to_string(reader.line()) + ": ";
    for (std::size_t i = 0; i < reader.fields().size(); ++i) {
      row += (i == 0 ? "" : "|") + reader.fields()[i];
    }
    out.push_back(row);
  }
}

using Lines = std::vector<std::string>;

TEST(Csv, Rows) {
  EXPECT_EQ(Rows(""), Lines{});
  EXPECT_EQ(Rows("\n\r\n\n"), Lines{});
  EXPECT_EQ(Rows("\xef\xbb\xbf"), Lines{});
  EXPECT_EQ(Rows("a"), Lines{"1: a"});
  EXPECT_EQ(Rows("a,b\nc,d"), (Lines{"1: a|b", "2: c|d"}));
  EXPECT_EQ(Rows("a,b\r\nc,d\r\n"), (Lines{"1: a|b", "2: c|d"}));
  EXPECT_EQ(Rows("\xef\xbb\xbf"
                 "a,b\n\n\r\nc,d\n\n"),
            (Lines{"1: a|b", "4: c|d"}));
  EXPECT_EQ(Rows(",\n,,"), (Lines{"1: |", "2: ||"}));
  EXPECT_EQ(Rows("a,b\nc\n"), (Lines{"1: a|b", "2: c"}));
  // A CR that no LF follows is a byte like any other.
  EXPECT_EQ(Rows("a\rb,c\r"), Lines{"1: a\rb|c\r"});
  EXPECT_EQ(Rows("a\0b,c"sv), Lines{std::string("1: a\0b|c"sv)});
}

TEST(Csv, Quotes) {
  EXPECT_EQ(Rows("\"a\",\"b\"\n"), Lines{"1: a|b"});
  EXPECT_EQ(Rows("\"\"\n\"\",\"\"\r\n"), (Lines{"1: ", "2: |"}));
  EXPECT_EQ(Rows("\"a,b\",\"say \"\"c\"\"\"\r\nd"), (Lines{"1: a,b|say \"c\"", "2: d"}));
  EXPECT_EQ(Rows("\"a\nb\r\nc\",d\ne,f\n"), (Lines{"1: a\nb\r\nc|d", "4: e|f"}));
  EXPECT_EQ(Rows("\"\xef\xbb\xbf\"\n"), Lines{"1: \xef\xbb\xbf"});
}

TEST(Csv, Faults) {
  EXPECT_EQ(
      Rows("a\n\"b\nc"),
      (Lines{"1: a", "2: a quote is never closed (allowed: \"…\", and \"\" for a quote inside)"}));
  EXPECT_EQ(Rows("\"")[0],
            "1: a quote is never closed (allowed: \"…\", and \"\" for a quote inside)");
  EXPECT_EQ(Rows("a,b\"c\""),
            Lines{"1: a quote inside of a value (allowed: values in quotes, with \"\" for it)"});
  EXPECT_EQ(
      Rows("a\n\"b\nb\" ,c"),
      (Lines{"1: a", "3: \" \" behind a closing quote (allowed: a comma or the end of the line)"}));
  EXPECT_EQ(Rows("\"b\"\rc")[0],
            "1: \"\\r\" behind a closing quote (allowed: a comma or the end of the line)");
}

TEST(Csv, ManyFields) {
  EXPECT_EQ(Rows(std::string(kMaxCsvFields - 1, ','))[0].size(),
            std::string_view("1: ").size() + kMaxCsvFields - 1);
  EXPECT_EQ(Rows(std::string(10'000'000, ',')),
            Lines{"1: too many values in a row (allowed: at most 65536)"});
}

}  // namespace
}  // namespace schedfw::io
