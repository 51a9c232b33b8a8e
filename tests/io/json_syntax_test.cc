#include "io/json_syntax.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/files.h"

namespace schedfw::io {
namespace {

using namespace std::string_view_literals;

// "OFFSET PATH: REASON" of a text's fault, or "none".
std::string Fault(std::string_view text) {
  const auto fault = FindJsonFault(text);
  if (!fault) return "none";
  return std::to_string(fault->offset) + " " + fault->path + ": " + fault->reason;
}

TEST(FindJsonFault, NoneInJson) {
  for (const std::string_view text :
       {""sv, " \n"sv, "{}"sv, "[]"sv, "[[],{}]"sv, "{\"a\":null}"sv, "[true,false,null]"sv,
        "[0,-0,1,-12,0.5,1e5,1E+5,1.25e-7,-0.0]"sv,
        R"(["","\"\\\/\b\f\n\r\t\u0041\ud83d\uDE00"])"sv, "{\"ä\":\"\xf0\x9f\x98\x80\x7f\"}"sv,
        " {\r\n\t\"a\" : [ 1 , 2 ] } "sv, "{}{}[]\n{}"sv}) {
    EXPECT_EQ(Fault(text), "none") << text;
  }
  for (const auto& folder :
       testing::Folders(testing::TestsDir() / "conformance" / "vectors", "default")) {
    EXPECT_EQ(Fault(testing::ReadFile(folder / "cluster.json")), "none");
  }
}

TEST(FindJsonFault, SaysWhereAndWhy) {
  EXPECT_EQ(Fault("5"), "0 : expected an object or the end of the text, got `5`");
  EXPECT_EQ(Fault("{} x"), "3 : expected an object or the end of the text, got `x`");
  EXPECT_EQ(Fault("{"), "1 : the text ends in the middle of an object");
  EXPECT_EQ(Fault("[{\"a\":[1"), "8 [0].a: the text ends in the middle of a list");
  EXPECT_EQ(Fault("[{\"a\":"), "6 [0].a: the text ends where a value should be");
  EXPECT_EQ(Fault("{,}"), "1 : expected a key in quotes or `}`, got `,`");
  EXPECT_EQ(Fault("{\"a\":1,}"), "7 : expected a key in quotes, got `}`");
  EXPECT_EQ(Fault("{\"a\" 1}"), "5 a: expected `:` and a value, got `1`");
  EXPECT_EQ(Fault("{\"a\":1 \"b\":2}"), "7 a: expected `,` or `}`, got `\"b\"`");
  EXPECT_EQ(Fault("[1,2 3]"), "5 [1]: expected `,` or `]`, got `3`");
  EXPECT_EQ(Fault("[1,]"), "3 [1]: expected a value, got `]`");
  EXPECT_EQ(Fault("[tru]"), "1 [0]: expected a value, got `tru`");
  EXPECT_EQ(Fault("[\"a\nb\"]"), "3 [0]: a string isn't closed on its line");
  EXPECT_EQ(Fault("[\"\\u12\"]"), "2 [0]: `\\u` in a string needs four hexadecimal digits");
  EXPECT_EQ(Fault("[\"\xc0\x80\"]"), "2 [0]: the text is not valid UTF-8");
  for (const std::string number :
       {"01", "1.", ".5", "-", "1e", "1e+", "0x1", "1_000", "--1", "1a"}) {
    EXPECT_NE(Fault("[" + number + "]"), "none") << number;
  }
  EXPECT_EQ(Fault(std::string(10000, '[') + std::string(10000, ']')), "none");
  EXPECT_TRUE(Fault(std::string(10001, '[')).ends_with("nested deeper than 10000 levels"));
}

TEST(Printable, IsOneLineOfWholeCharacters) {
  EXPECT_EQ(Printable("größe 😀"), "größe 😀");
  EXPECT_EQ(Printable("a\nb\r\t\x01\x7f\"\\"), "a\\nb\\r\\t\\x01\\x7f\"\\");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(Printable("12345", 5), "12345");
  EXPECT_EQ(Printable("123456", 5), "12345…");
  EXPECT_EQ(Printable("äää", 5), "ää…");
  EXPECT_EQ(Printable("1234\n", 5), "1234…");
}

TEST(EndOfJsonValue, SkipsStrings) {
  EXPECT_EQ(EndOfJsonValue("{}"), 2u);
  EXPECT_EQ(EndOfJsonValue("{\"a\":[1,{}]},{}"), 12u);
  EXPECT_EQ(EndOfJsonValue(R"({"}":"\"}]"} x)"), 12u);
  EXPECT_EQ(EndOfJsonValue("{\"a\":["), 6u);
}

}  // namespace
}  // namespace schedfw::io
