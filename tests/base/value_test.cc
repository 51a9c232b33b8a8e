#include "schedfw/base/value.h"

#include <gtest/gtest.h>

#include <string>

namespace schedfw {
namespace {

TEST(Value, RoundTrip) {
  const std::string text =
      R"({"a":[1,-2.5,true,false,null,"x\"y"],"b":{"c":9223372036854775807},"d":[],"e":{}})";
  auto value = ParseValue(text);
  ASSERT_TRUE(value.ok()) << value.error().message();
  EXPECT_EQ(ToJson(*value), text);
  auto again = ParseValue(ToJson(*value, 2));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *value);
  EXPECT_EQ(*value->Find("b")->Find("c")->AsInteger(), 9223372036854775807);
  EXPECT_EQ(value->Find("z"), nullptr);
}

TEST(Value, YamlIsRead) {
  auto value = ParseValue("a: 010\nb: [on, 'on']\n");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(ToJson(*value), R"({"a":8,"b":[true,"on"]})");
  EXPECT_EQ(ToJson(*ParseValue("{a: 1}")), R"({"a":1})");
}

TEST(Value, SaysWhereATextIsBroken) {
  const auto message = [](const std::string& text) {
    auto value = ParseValue(text, "f");
    return value.ok() ? "" : value.error().message();
  };
  EXPECT_EQ(message(" \n"), "f: the document is empty");
  EXPECT_EQ(message("{\"a\": 1,\n \"a\": 2}"), "f:2: the key \"a\" is given twice");
  for (const std::string text : {"{\"a\":\n1,}", "{\"a\":\n[1 2]}", "{\"a\":\n\"b}"}) {
    EXPECT_EQ(message(text).substr(0, 4), "f:2:") << text;
  }
  EXPECT_EQ(message("---\na: 1\n---\na: 2\n"), "f: 2 documents, but one is expected");
  EXPECT_EQ(message(std::string(1000000, '[')).substr(0, 2), "f:");
  EXPECT_EQ(message(std::string(600, '[') + std::string(600, ']')),
            "f: nested deeper than 500 levels");
}

}  // namespace
}  // namespace schedfw
