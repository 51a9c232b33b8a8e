#include "io/yaml_to_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_number.h"
#include "io/text_file.h"
#include "support/files.h"

namespace schedfw::io {
namespace {

/// The documents' JSON texts in a row, or the error.
std::string Convert(std::string_view yaml) {
  Result<std::vector<JsonDocument>> documents = YamlToJson(yaml, "f.yaml");
  if (!documents.ok()) {
    EXPECT_EQ(documents.error().kind(), ErrorKind::kParse);
    return documents.error().message();
  }
  std::string out;
  for (const JsonDocument& document : *documents) {
    EXPECT_GE(document.json.capacity(), document.json.size() + 64);
    if (!out.empty()) out += '\n';
    out += document.json;
  }
  return out;
}

struct Row {
  std::string_view yaml;
  std::string_view json;
};

/// Checks each row's YAML as the only element of a list.
void CheckScalars(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(Convert("- " + std::string(row.yaml)), "[" + std::string(row.json) + "]") << row.yaml;
  }
}

void CheckDocuments(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(Convert(row.yaml), row.json) << row.yaml;
}

std::string Number(double value) {
  std::string out;
  AppendJsonNumber(value, &out);
  return out;
}

std::string FloatKey(double value) {
  std::string out;
  AppendYamlFloatKey(value, &out);
  return out;
}

std::string String(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

// The column "as JSON" of the case, row by row.
TEST(Case, B02UnquotedYamlScalars) {
  const std::string path =
      (schedfw::testing::TestsDir() / "cases/B02-unquoted-yaml-quantities/scalars.yaml").string();
  const std::vector<std::string> expected = {"0.5",
                                             "0.5",
                                             "1",
                                             "1000",
                                             "1000",
                                             "1500",
                                             "0.001",
                                             "8",
                                             "511",
                                             "8",
                                             "950",
                                             "8",
                                             "16",
                                             "3",
                                             "1000",
                                             "\"1_000\"",
                                             "\"1,000\"",
                                             "\"1:30\"",
                                             "5",
                                             "-1",
                                             "1e+30",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "18446744073709552000",
                                             "1000000000000000000",
                                             "\"1e18\"",
                                             "64",
                                             "null",
                                             "null",
                                             "null",
                                             "\"\"",
                                             "\" 1Gi \"",
                                             "\"1e3\"",
                                             "\"1E\"",
                                             "\"1Ei\"",
                                             "\"100m\"",
                                             "true",
                                             "",  // .inf, which can't be JSON
                                             "[1]"};
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string json = expected[i].empty() ? "f.yaml:1: the number `.inf` has no form in JSON"
                                                 : "[{\"q\":" + expected[i] + "}]";
    EXPECT_EQ(Convert(lines[i]), json) << lines[i];
  }

  // The whole file fails at the one row that fails.
  Result<std::string> text = ReadText(path);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(Convert(*text), "f.yaml:38: the number `.inf` has no form in JSON");
}

TEST(YamlToJson, BooleansAndNullAreYaml11s) {
  for (const char* word :
       {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    EXPECT_EQ(Convert(std::string("- ") + word), "[true]") << word;
  }
  for (const char* word :
       {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    EXPECT_EQ(Convert(std::string("- ") + word), "[false]") << word;
  }
  CheckScalars({{"yEs", R"("yEs")"},
                {"oN", R"("oN")"},
                {"nULL", R"("nULL")"},
                {"~", "null"},
                {"Null", "null"},
                {"NULL", "null"},
                {"", "null"},
                {"'null'", R"("null")"},
                {"\"~\"", R"("~")"}});
}

// Measured with sigs.k8s.io/yaml v1.6.0.
TEST(YamlToJson, NumbersFollowGo) {
  CheckScalars({{"0", "0"},
                {"00", "0"},
                {"-0", "0"},
                {"+0", "0"},
                {"-0.0", "-0"},
                {"007", "7"},
                {"-010", "-8"},
                {"09.5", "9.5"},
                {"1e05", "100000"},
                {"0_10", "8"},
                {"1__0", "10"},
                {"1_", "1"},
                {"_1", R"("_1")"},
                {"0x_1f", "31"},
                {"0X1F", "31"},
                {"0B11", "3"},
                {"0O17", "15"},
                {"-0x10", "-16"},
                {"0x", R"("0x")"},
                {"0b", R"("0b")"},
                {"0b102", R"("0b102")"},
                {"0o8", R"("0o8")"},
                {"0x1p4", R"("0x1p4")"},
                {"0b-101", "-5"},
                {"0b+101", "5"},
                {"-0b101", "-5"},
                {"-0b-1", R"("-0b-1")"},
                {"18446744073709551615", "18446744073709551615"},
                {"+18446744073709551615", "18446744073709552000"},
                {"-9223372036854775808", "-9223372036854775808"},
                {"-9223372036854775809", "-9223372036854776000"},
                {"0xFFFFFFFFFFFFFFFF", "18446744073709551615"},
                {"0xFFFFFFFFFFFFFFFFF", R"("0xFFFFFFFFFFFFFFFFF")"},
                {"-0x8000000000000000", "-9223372036854775808"},
                {"123456789012345678901234567890", "1.2345678901234568e+29"},
                {"+.5", "0.5"},
                {"-.5", "-0.5"},
                {".5_0", "0.5"},
                {".5_", R"(".5_")"},
                {"._5", R"("._5")"},
                {".0+_.e0", R"(".0+_.e0")"},
                {"1.e5", "100000"},
                {".e5", R"(".e5")"},
                {"1e", R"("1e")"},
                {"1e+", R"("1e+")"},
                {"1.2.3", R"("1.2.3")"},
                {"1e400", R"("1e400")"},  // out of range in Go, hence a string
                {"-1e400", R"("-1e400")"},
                {"1e-400", "0"},
                {"-1e-400", "-0"},
                {"2e-324", "0"},
                {"3e-324", "5e-324"},
                {"1.7976931348623157e308", "1.7976931348623157e+308"},
                {"1.7976931348623159e308", R"("1.7976931348623159e308")"},
                {"1e-7", "1e-7"},
                {"1e-6", "0.000001"},
                {"1e20", "100000000000000000000"},
                {"1e21", "1e+21"},
                {"1-2", R"("1-2")"},
                {"1+2", R"("1+2")"},
                {"inf", R"("inf")"},
                {"=", R"("=")"},
                {"<<", R"("<<")"},
                {"2001-01-01", R"("2001-01-01")"},
                {"2001-12-14t21:59:43.10-05:00", R"("2001-12-14t21:59:43.10-05:00")"},
                {"12:30:45", R"("12:30:45")"}});
  for (const char* word : {".inf", ".Inf", ".INF", "+.inf"}) {
    EXPECT_EQ(Convert(std::string("a: 1\nb: ") + word),
              "f.yaml:2: the number `.inf` has no form in JSON");
  }
  EXPECT_EQ(Convert("- -.INF"), "f.yaml:1: the number `-.inf` has no form in JSON");
  EXPECT_EQ(Convert("- .NaN"), "f.yaml:1: the number `.nan` has no form in JSON");
}

TEST(YamlToJson, TagsAreFollowed) {
  CheckScalars({{"!!str 12", R"("12")"},
                {"!!str", R"("")"},
                {"!<tag:yaml.org,2002:str> yes", R"("yes")"},
                {"!!int '12'", "12"},
                {"!!int 0x10", "16"},
                {"!!float 3", "3"},
                {"!!float 1e21", "1e+21"},
                {"!!bool \"no\"", "false"},
                {"!!null ''", "null"},
                {"!!null", "null"},
                {"!!binary YWJj", R"("abc")"},
                {"!!binary \"/w==\"", "\"\xef\xbf\xbd\""},
                {"!!binary |\n   YW\n   Jj\n", R"("abc")"},
                {"!!timestamp 2001-02-28", R"("2001-02-28")"},
                {"!!timestamp 2001-1-2 3:4:5.5", R"("2001-1-2 3:4:5.5")"},
                {"!!timestamp 2001-1-2T3:4:5Z", R"("2001-1-2T3:4:5Z")"},
                {"!other 12", R"("12")"},
                {"! 12", R"("12")"},
                {"!!seq [1]", "[1]"},
                {"!!map {a: 1}", R"({"a":1})"}});
  CheckDocuments(
      {{"- !!int foo", "f.yaml:1: `foo` is not a valid !!int"},
       {"- !!int 1.5", "f.yaml:1: `1.5` is not a valid !!int"},
       {"- !!int ''", "f.yaml:1: `` is not a valid !!int"},
       {"a:\n  b: !!bool 1", "f.yaml:2: `1` is not a valid !!bool"},
       {"- !!null x", "f.yaml:1: `x` is not a valid !!null"},
       {"- !!float 18446744073709551615",
        "f.yaml:1: `18446744073709551615` is not a valid !!float"},
       {"- !!timestamp 2001-02-30", "f.yaml:1: `2001-02-30` is not a valid !!timestamp"},
       {"- !!timestamp 5", "f.yaml:1: `5` is not a valid !!timestamp"},
       {"- !!binary YWJ", "f.yaml:1: `YWJ` is not valid base64, which !!binary asks for"},
       {"- !!binary YWJj=", "f.yaml:1: `YWJj=` is not valid base64, which !!binary asks for"}});
}

TEST(YamlToJson, QuotedAndBlockScalarsAreStrings) {
  CheckScalars({{"'010'", R"("010")"},
                {"\"yes\"", R"("yes")"},
                {"'it''s'", R"("it's")"},
                {R"("\n\t\"\\\/\0\x41\u00e9")", "\"\\n\\t\\\"\\\\/\\u0000A\xc3\xa9\""},
                {R"("\N\_\L\P")", "\"\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9\""},
                {R"("\U0001F600")", "\"\xf0\x9f\x98\x80\""},
                {"\"a\n  b\n\n  c\"", R"("a b\nc")"},
                {"a\n  b\n\n  c # comment", R"("a b\nc")"},
                {"x#y", R"("x#y")"},
                {"http://x.y/z?q=1", R"("http://x.y/z?q=1")"},
                {"|\n  12\n", R"("12\n")"},
                {"|\n  12", R"("12\n")"},  // a line break is added at the end
                {"|-\n  a\n   b\n\n", R"("a\n b")"},
                {"|+\n  a\n\n", R"("a\n\n")"},
                {"|2\n   a\n", R"(" a\n")"},
                {">\n  a\n  b\n\n  c\n", R"("a b\nc\n")"},
                {">-\n  a\n    b\n  c\n", R"("a\n  b\nc")"},
                {">+\n  a\n\n\n", R"("a\n\n\n")"},
                {">+ # comment\n  a\n   b\n\n", R"("a\n b\n\n")"},
                {">+\n  a\n    \n", R"("a\n  \n")"},
                {">+\n\n", R"("\n")"}});
  CheckDocuments({{"a: >+\r\n  x\r\n\r\nb: 1\r\n", R"({"a":"x\n\n","b":1})"},
                  {"a: !!str >+\n  x\n\nb: 1\n", R"({"a":"x\n\n","b":1})"},
                  {"a: &x >+\n  x\n\nb: *x\n", R"({"a":"x\n\n","b":"x\n\n"})"}});
}

TEST(YamlToJson, KeysBecomeStrings) {
  CheckDocuments(
      {{"010: a\n0x10: b\n-3: c\n", R"({"8":"a","16":"b","-3":"c"})"},
       {"yes: a\noff: b\ny: c\n", R"({"true":"a","false":"b","true":"c"})"},
       {"1.5: a\n1e6: b\n1e5: c\n1e-4: d\n1e-5: e\n0.1: f\n16777217.0: g\n",
        R"({"1.5":"a","1e+06":"b","100000":"c","0.0001":"d","1e-05":"e","0.1":"f",)"
        R"("1.6777216e+07":"g"})"},
       {".inf: a\n-.inf: b\n.nan: c\n1e300: d\n-0.0: e\n",
        R"({".inf":"a","-.inf":"b",".nan":"c",".inf":"d","-0":"e"})"},
       {"!!str 1: a\n\"2\": b\n2001-01-01: c\n", R"({"1":"a","2":"b","2001-01-01":"c"})"},
       {"? a\n: 1\n? b\n", R"({"a":1,"b":null})"},
       {"\"a\\nb\": 1\n", R"({"a\nb":1})"},
       {"a: 1\n~: 2\n", "f.yaml:2: a mapping's key is null; it must be a string"},
       {"a: 1\n: 2\n", "f.yaml:2: a mapping's key is null; it must be a string"},
       {"{null: 2}", "f.yaml:1: a mapping's key is null; it must be a string"},
       {"9223372036854775808: 2",
        "f.yaml:1: a mapping's key is the integer 9223372036854775808, beyond 64 bits with a sign; "
        "quote it"},
       {"? [a]\n: 1\n",
        "f.yaml:1: a mapping's key is a sequence or mapping; it must be a string (or is a closing "
        "bracket missing?)"},
       {"? a: b\n: 1\n", "f.yaml:1: a mapping's key is a sequence or mapping; it must be a string"},
       {"a: &x [1]\n? *x\n: 1\n",
        "f.yaml:2: a mapping's key is a sequence or mapping; it must be a string"}});
}

TEST(YamlToJson, StructureAndOrder) {
  CheckDocuments(
      {{"a:\n- 1\n- b: 2\n  c: 3\n-\n  - 4\n- - 5\n  - 6\nd: {}\ne: []\nf:\ng: {h: [i, {j: k}]}\n",
        R"({"a":[1,{"b":2,"c":3},[4],[5,6]],"d":{},"e":[],"f":null,"g":{"h":["i",{"j":"k"}]}})"},
       {R"({"a":[1,"b",{"c":null}],"d":-1.5e3})", R"({"a":[1,"b",{"c":null}],"d":-1500})"},
       {"{a, b: , c: 1,}", R"({"a":null,"b":null,"c":1})"},
       {"[a, b: c]", R"(["a",{"b":"c"}])"},
       {"{a:1, b: http://x}", R"({"a:1":null,"b":"http://x"})"},
       {"b: 1\na: 2\nb: 3\n", R"({"b":1,"a":2,"b":3})"},
       {"12", "12"},
       {"x", R"("x")"},
       {"- a\r\n- b\r\n", R"(["a","b"])"},
       {"a: 1\rb: 2\r", R"({"a":1,"b":2})"},
       {"\xef\xbb\xbf"
        "a: 1\n",
        R"({"a":1})"},
       {"a:\t1\n", R"({"a":1})"},
       {"%YAML 1.1\n---\na: 1\n", R"({"a":1})"}});
}

TEST(YamlToJson, AnchorsAndAliases) {
  CheckDocuments(
      {{"a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]\n",
        R"({"a":{"b":[1,2]},"c":{"b":[1,2]},"d":[{"b":[1,2]},{"b":[1,2]}]})"},
       {"a: &x [1, 2]\nb: *x\nc: &e []\nd: *e\ne: &m {}\nf: *m\n",
        R"({"a":[1,2],"b":[1,2],"c":[],"d":[],"e":{},"f":{}})"},
       {"a: &x 010\nb: *x\n*x : c\n", R"({"a":8,"b":8,"8":"c"})"},
       {"&k a: 1\nb: *k\n", R"({"a":1,"b":"a"})"},
       {"a: &n\nb: *n\n", R"({"a":null,"b":null})"},
       {"a: &x 1\nb: &x 2\nc: *x\n", R"({"a":1,"b":2,"c":2})"},
       {"a: &x 'x\ty'\nb: [*x]\n", R"({"a":"x\ty","b":["x\ty"]})"},
       {"a: *x\n", "f.yaml:1: the referenced anchor is not defined"},
       {"a: &x 1\n---\nb: *x\n", "f.yaml:3: the referenced anchor is not defined"},
       {"a: &x\n  b: *x\n", "f.yaml:2: the alias is inside the node that its anchor names"},
       {"&x [*x]", "f.yaml:1: the alias is inside the node that its anchor names"},
       {"a: &a.b 1\n", "f.yaml:1: the anchor `a.b` has other characters than letters and digits"}});
}

// Measured: go.yaml.in/yaml/v2 merges where the merge key stands, so that it overrides what is
// above it. The JSON reader's "last member wins" then gives Go's values, and its refusal of
// duplicates what Go's strict reader refuses.
TEST(YamlToJson, MergeKeys) {
  CheckDocuments(
      {{"a: &a {x: 1, z: 2}\nb:\n  <<: *a\n  x: 3\n",
        R"({"a":{"x":1,"z":2},"b":{"x":1,"z":2,"x":3}})"},
       {"a: &a {x: 1}\nb:\n  x: 3\n  <<: *a\n", R"({"a":{"x":1},"b":{"x":3,"x":1}})"},
       {"a: &a {x: 1}\nb: &b {x: 2, z: 4}\nc:\n  <<: [*a, *b, {x: 3, w: 5}]\n  v: 6\n",
        R"({"a":{"x":1},"b":{"x":2,"z":4},"c":{"x":3,"w":5,"x":2,"z":4,"x":1,"v":6}})"},
       {"b:\n  <<:\n    x: 1\n  z: 2\n", R"({"b":{"x":1,"z":2}})"},
       {"a: &e {}\nb: {<<: *e}\nc: {<<: [*e, *e], d: 1}\n", R"({"a":{},"b":{},"c":{"d":1}})"},
       {"a: &a {<<: {x: 1}, z: 2}\nb: {<<: *a}\n", R"({"a":{"x":1,"z":2},"b":{"x":1,"z":2}})"},
       {"a:\n  <<: [&p {x: 1}, &q {w: {z: [2]}}]\nb: *p\nc: *q\nd: {<<: *q}\n",
        R"({"a":{"w":{"z":[2]},"x":1},"b":{"x":1},"c":{"w":{"z":[2]}},"d":{"w":{"z":[2]}}})"},
       {"a: {\"<<\": 1, b: 2}\n", R"({"a":{"<<":1,"b":2}})"},
       {"a: {!!merge <<: {c: 1}, b: 2}\n", R"({"a":{"c":1,"b":2}})"}});
  const std::string wrong = "the merge key `<<` needs a mapping or a sequence of mappings";
  CheckDocuments({{"a:\n  <<: 1\n", "f.yaml:2: " + wrong},
                  {"<<:\n", "f.yaml:1: " + wrong},
                  {"<<: [1]\n", "f.yaml:1: " + wrong},
                  {"<<: [[{a: 1}]]\n", "f.yaml:1: " + wrong},
                  {"a: &a [{b: 1}]\n<<: *a\n", "f.yaml:2: " + wrong},
                  {"a: &a 1\n<<: [*a]\n", "f.yaml:2: " + wrong}});
}

TEST(YamlToJson, SeveralDocuments) {
  Result<std::vector<JsonDocument>> documents = YamlToJson(
      "# first comment\n\n---\n# nothing\n---\na: 1\n---\nnull\n--- # comment\nb: 2\n...\n# "
      "x\n---\n"
      "- 3\n---\n",
      "f.yaml");
  ASSERT_TRUE(documents.ok()) << documents.error().message();
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ((*documents)[0].json, R"({"a":1})");
  EXPECT_EQ((*documents)[0].first_line, 5);
  EXPECT_EQ((*documents)[1].json, R"({"b":2})");
  EXPECT_EQ((*documents)[1].first_line, 9);
  EXPECT_EQ((*documents)[1].lines.LineAt(1), 10);
  EXPECT_EQ((*documents)[2].json, "[3]");
  for (const char* empty : {"", "\n", " \n", "# x", "# x\n", "---", "---\n", "---\n---\n", "~",
                            "...\n", "\xef\xbb\xbf"}) {
    documents = YamlToJson(empty, "f.yaml");
    ASSERT_TRUE(documents.ok()) << empty << documents.error().message();
    EXPECT_TRUE(documents->empty()) << empty;
  }
  CheckDocuments({{"a: 1\n...\nb: 2\n", "{\"a\":1}\n{\"b\":2}"},
                  {"--- {a: 1}\n--- |\n x\n", "{\"a\":1}\n\"x\\n\""}});
}

// Texts that yaml-cpp reads without a word, and libyaml refuses.
TEST(YamlToJson, MalformedTextIsRefused) {
  const std::string rest = "unexpected text after the end of the document (`---` starts a new one)";
  CheckDocuments(
      {{"- a\nb: 1\n", "f.yaml:2: " + rest},
       {"{a: 1}{b: 2}", "f.yaml:1: " + rest},
       {" a: 1\nb: 2\n", "f.yaml:2: " + rest},
       {"[a] b", "f.yaml:1: " + rest},
       {",", "f.yaml:1: " + rest},
       {"a: 1\n...\n,", "f.yaml:3: " + rest},
       {"a: 1\n]", "f.yaml:2: illegal flow end"},
       {"a: \"b\nc: d\n", "f.yaml:2: illegal EOF in scalar"},
       {"a: 'b", "f.yaml:1: illegal EOF in scalar"},
       {"\"", "f.yaml:1: illegal EOF in scalar"},
       {"a: [b, c\n", "f.yaml:1: end of sequence flow not found"},
       {"a: {b: c\nd: e\n", "f.yaml:2: end of map flow not found"},
       {"[a, b",
        "f.yaml:1: a mapping's key is a sequence or mapping; it must be a "
        "string (or is a closing bracket missing?)"},
       {"a: b: c\n", "f.yaml:1: illegal map value"},
       {"a:\n  b: 1\n c: 2\n", "f.yaml:3: end of map not found"},
       {"a: 1\nb\n", "f.yaml:2: a `:` is missing after the mapping's key"},
       {"a:\nb\n", "f.yaml:2: a `:` is missing after the mapping's key"},
       {"a:\nb # c\nd: 1\n", "f.yaml:2: a `:` is missing, or the indentation of the key's value"},
       {"[a,,b]", "f.yaml:1: a value is missing before `,`"},
       {"{a:}", "f.yaml:1: a blank is missing between `:` and `}`"},
       {"[:a]", "f.yaml:1: a blank is missing after `:`"},
       {"%YAML 1.1\na: 1\n", "f.yaml:2: `---` is missing after the directive"},
       {"a: @b\n", "f.yaml:1: unknown token"},
       {"a: \"\\q\"\n", "f.yaml:1: unknown escape character: q"},
       {"a:\n\tb: 1\n", "f.yaml:2: illegal map value"}});
}

TEST(YamlToJson, OnlyPrintableUtf8) {
  CheckDocuments(
      {{"a: 1\nb: caf\xe9\n", "f.yaml:2: the text is not valid UTF-8"},
       {"a: \xed\xa0\x80\n", "f.yaml:1: the text is not valid UTF-8"},
       {"a: \x04\n", "f.yaml:1: control characters are not allowed"},
       {"a: \x7f\n", "f.yaml:1: control characters are not allowed"},
       {"a: \xc2\x80\n", "f.yaml:1: control characters are not allowed"},
       {"a: \xef\xbf\xbf\n", "f.yaml:1: control characters are not allowed"},
       {std::string_view("\xff\xfe"
                         "a\0:\0",
                         6),
        "f.yaml:1: the text is not UTF-8, but looks like UTF-16 or UTF-32"},
       {std::string_view("a\0", 2),
        "f.yaml:1: the text is not UTF-8, but looks like UTF-16 or UTF-32"},
       {"a: \xf0\x9f\x98\x80 \xe6\xbc\xa2\n", "{\"a\":\"\xf0\x9f\x98\x80 \xe6\xbc\xa2\"}"}});
}

std::string Repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(YamlToJson, NestingIsLimited) {
  const std::string deepest = Repeat("[", kMaxYamlDepth) + "x" + Repeat("]", kMaxYamlDepth);
  EXPECT_EQ(Convert(deepest), Repeat("[", kMaxYamlDepth) + "\"x\"" + Repeat("]", kMaxYamlDepth));
  const std::string refused = "nested deeper than 498 levels";
  EXPECT_EQ(Convert("[" + deepest + "]"), "f.yaml:1: " + refused);
  EXPECT_EQ(Convert(Repeat("- ", 100000)), "f.yaml:1: " + refused);
  EXPECT_EQ(Convert(Repeat("a: [", 100000)).substr(0, 7), "f.yaml:");
  for (const char* open : {"[", "{", "? ", "- [", "{a: ", "[[x],", "&a ", "!a ", ": "}) {
    EXPECT_FALSE(YamlToJson(Repeat(open, 100000), "f.yaml").ok()) << open;
  }
  std::string block;
  for (int i = 0; i < 1000; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(Convert(block), "f.yaml:499: " + refused);
  // Aliases add up: each level here is flat, but not what it stands for.
  std::string aliases = "a0: &a0 [x]\n";
  for (int i = 1; i < 600; ++i) {
    const std::string n = std::to_string(i);
    aliases += "a" + n + ": &a" + n + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(Convert(aliases), "f.yaml:498: " + refused);
}

TEST(YamlToJson, AliasBombsAreRefused) {
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  std::string merges = "a0: &a0 {k0: 1, k1: 1}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string n = std::to_string(i);
    const std::string p = "*a" + std::to_string(i - 1);
    laughs += "a" + n + ": &a" + n + " [" + p + ", " + p + ", " + p + ", " + p + "]\n";
    merges += "a" + n + ": &a" + n + "\n  <<: [" + p + ", " + p + ", " + p + ", " + p + "]\n";
  }
  const std::string refused = "the aliases make the document larger than 64 MiB";
  EXPECT_NE(Convert(laughs).find(refused), std::string::npos);
  EXPECT_NE(Convert(merges).find(refused), std::string::npos);
  // The limit grows with the input.
  EXPECT_EQ(YamlToJson("a: &a x\nb: [" + Repeat("*a ,", 200000) + "]\n", "f.yaml").ok(), true);
}

TEST(YamlToJson, LinesOfTheJsonText) {
  const std::string_view yaml =
      "\n"                        // 1
      "a: 1\n"                    // 2
      "b:\n"                      // 3
      "  - c: x\n"                // 4
      "    d: &d {e: z}\n"        // 5
      "  - *d\n"                  // 6
      "f:\n"                      // 7
      "  <<: [{g: 1,\n"           // 8
      "        h: 2}, {i: 3}]\n"  // 9
      "  j: 4\n";                 // 10
  Result<std::vector<JsonDocument>> documents = YamlToJson(yaml, "f.yaml");
  ASSERT_TRUE(documents.ok()) << documents.error().message();
  const std::string& json = documents->front().json;
  ASSERT_EQ(json,
            R"({"a":1,"b":[{"c":"x","d":{"e":"z"}},{"e":"z"}],"f":{"i":3,"g":1,"h":2,"j":4}})");
  const auto line = [&](std::string_view text) {
    const std::size_t offset = json.rfind(text);
    EXPECT_NE(offset, std::string::npos) << text;
    return documents->front().lines.LineAt(offset);
  };
  EXPECT_EQ(documents->front().first_line, 2);
  EXPECT_EQ(documents->front().lines.LineAt(0), 2);
  EXPECT_EQ(line("\"a\""), 2);
  EXPECT_EQ(line("\"b\""), 3);
  EXPECT_EQ(line("\"c\""), 4);
  EXPECT_EQ(line("\"d\""), 5);
  EXPECT_EQ(line("\"e\":\"z\"}]"), 6);
  EXPECT_EQ(line("\"f\""), 7);
  EXPECT_EQ(line("\"i\""), 9);
  EXPECT_EQ(line("\"g\""), 8);
  EXPECT_EQ(line("\"h\""), 9);
  EXPECT_EQ(line("\"j\""), 10);
  EXPECT_EQ(documents->front().lines.LineAt(json.size() + 5), 10);
}

TEST(LineMap, FindsTheStretchOfAnOffset) {
  LineMap map;
  EXPECT_EQ(map.LineAt(7), 1);
  map.Add(10, 3);
  map.Add(20, 3);
  map.Add(30, 7);
  EXPECT_EQ(map.LineAt(0), 3);
  EXPECT_EQ(map.LineAt(10), 3);
  EXPECT_EQ(map.LineAt(29), 3);
  EXPECT_EQ(map.LineAt(30), 7);
  EXPECT_EQ(map.LineAt(1000), 7);
}

// Values measured with Go's encoding/json.
TEST(AppendJsonNumber, IsGos) {
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(-0.0), "-0");
  EXPECT_EQ(Number(1), "1");
  EXPECT_EQ(Number(-1.5), "-1.5");
  EXPECT_EQ(Number(0.1), "0.1");
  EXPECT_EQ(Number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Number(100), "100");
  EXPECT_EQ(Number(123456789.125), "123456789.125");
  EXPECT_EQ(Number(1e20), "100000000000000000000");
  EXPECT_EQ(Number(18446744073709551616.0), "18446744073709552000");
  EXPECT_EQ(Number(999999999999999900000.0), "999999999999999900000");
  EXPECT_EQ(Number(1e21), "1e+21");
  EXPECT_EQ(Number(1.5e300), "1.5e+300");
  EXPECT_EQ(Number(0.000001), "0.000001");
  EXPECT_EQ(Number(0.00000123), "0.00000123");
  EXPECT_EQ(Number(0.0000001), "1e-7");
  EXPECT_EQ(Number(1.5e-9), "1.5e-9");
  EXPECT_EQ(Number(1e-10), "1e-10");
  EXPECT_EQ(Number(5e-324), "5e-324");
  EXPECT_EQ(Number(1.7976931348623157e308), "1.7976931348623157e+308");
}

TEST(AppendJsonNumber, GivesTheSameDoubleAgain) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(-10, 10);
  std::uniform_int_distribution<int> exponent(-310, 307);
  for (int i = 0; i < 20000; ++i) {
    const double value = mantissa(random) * std::pow(10.0, exponent(random));
    EXPECT_EQ(std::strtod(Number(value).c_str(), nullptr), value) << Number(value);
  }
}

TEST(AppendYamlFloatKey, IsAShortFloat) {
  EXPECT_EQ(FloatKey(0), "0");
  EXPECT_EQ(FloatKey(-0.0), "-0");
  EXPECT_EQ(FloatKey(1.1), "1.1");
  EXPECT_EQ(FloatKey(100000), "100000");
  EXPECT_EQ(FloatKey(1000000), "1e+06");
  EXPECT_EQ(FloatKey(1234567.5), "1.2345675e+06");
  EXPECT_EQ(FloatKey(0.0001), "0.0001");
  EXPECT_EQ(FloatKey(0.00001234), "1.234e-05");
  EXPECT_EQ(FloatKey(1e39), ".inf");
  EXPECT_EQ(FloatKey(-1e39), "-.inf");
  EXPECT_EQ(FloatKey(1e-50), "0");
  EXPECT_EQ(FloatKey(std::numeric_limits<double>::quiet_NaN()), ".nan");
}

TEST(AppendJsonString, EscapesAndMends) {
  EXPECT_EQ(String(""), R"("")");
  EXPECT_EQ(String("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(String(std::string_view("\0\x01\b\f\n\r\t\x1f\x7f", 9)),
            "\"\\u0000\\u0001\\b\\f\\n\\r\\t\\u001f\x7f\"");
  EXPECT_EQ(String("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\"");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(String("a\xff"
                   "b"),
            "\"a" + bad + "b\"");
  EXPECT_EQ(String("\xe6\xbc"), "\"" + bad + bad + "\"");
  EXPECT_EQ(String("\xc0\xaf"), "\"" + bad + bad + "\"");
  EXPECT_EQ(String("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"");
  EXPECT_EQ(String("\xf4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");
}

}  // namespace
}  // namespace schedfw::io
