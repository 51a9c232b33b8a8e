#include "schedfw/base/digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace schedfw {
namespace {

std::uint64_t Of(const std::function<void(Digest&)>& add) {
  Digest out;
  add(out);
  return out.value();
}

Value Json(const std::string& text) {
  const auto parsed = ParseValue("{\"value\": " + text + "}");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message();
  return parsed.ok() ? *parsed->Find("value") : Value();
}

// FNV-1a of eight zero bytes and of "a" behind its length, computed by hand from the definition.
TEST(DigestTest, IsFnv1a) {
  EXPECT_EQ(Of([](Digest&) {}), 0xcbf29ce484222325U);
  const auto fnv = [](const std::string& bytes) {
    std::uint64_t out = 14695981039346656037U;
    for (const char c : bytes) out = (out ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return out;
  };
  EXPECT_EQ(fnv("a"), 0xaf63dc4c8601ec8cU);  // as published
  EXPECT_EQ(Of([](Digest& d) { d.Add(std::uint64_t{0x0102}); }),
            fnv(std::string("\x02\x01\0\0\0\0\0\0", 8)));
  EXPECT_EQ(Of([](Digest& d) { d.Add("a"); }), fnv(std::string("\x01\0\0\0\0\0\0\0a", 9)));
}

TEST(DigestTest, TellsSequencesApart) {
  std::set<std::uint64_t> seen;
  EXPECT_TRUE(seen.insert(Of([](Digest& d) { d.Add("ab"), d.Add("c"); })).second);
  EXPECT_TRUE(seen.insert(Of([](Digest& d) { d.Add("a"), d.Add("bc"); })).second);
  EXPECT_TRUE(seen.insert(Of([](Digest& d) { d.Add("abc"); })).second);
  for (const char* text : {"null", "true", "false", "1", "1.5", "\"1\"", "[]", "{}", "[1]", "[[1]]",
                           "{\"a\": 1}", "{\"a\": 2}", "{\"a\": {}}", "[\"a\", 1]"}) {
    EXPECT_TRUE(seen.insert(Of([&](Digest& d) { d.AddValue(Json(text)); })).second) << text;
  }
}

TEST(DigestTest, KeysCountInTheirOrder) {
  EXPECT_EQ(Of([](Digest& d) { d.AddValue(Json("{\"a\": 1, \"b\": {\"c\": 2, \"d\": 3}}")); }),
            Of([](Digest& d) { d.AddValue(Json("{\"b\": {\"d\": 3, \"c\": 2}, \"a\": 1}")); }));
}

}  // namespace
}  // namespace schedfw
