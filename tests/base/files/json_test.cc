// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "tests/base/support.h"

namespace edgewise {
namespace {

std::string error_of_skipping(std::string_view text) {
  return error_of([&] {
    JsonScanner json(text, "f");
    json.skip();
    json.expect_end();
  });
}

TEST(JsonObject, WritesOneLine) {
  const std::string text = JsonObject()
                               .add("step", 3)
                               .add("loss", 0.1)
                               .add("name", "a \"b\"\n")
                               .add("done", false)
                               .add("seed", ~std::uint64_t{0})
                               .add_json("list", "[1, 2]")
                               .text();
  EXPECT_EQ(text, R"({"step": 3, "loss": 0.1, "name": "a \"b\"\u000a", "done": false, "seed": 18446744073709551615, )"
                  R"("list": [1, 2]})");
  EXPECT_EQ(JsonObject().text(), "{}");
}

TEST(JsonArray, WritesTheElementsOfARange) {
  EXPECT_EQ(json_array(std::array{0.5, 2.0}, json_number), "[0.5, 2]");
  EXPECT_EQ(json_array(std::array{"a"}, quote_json), "[\"a\"]");
  EXPECT_EQ(json_array(std::array<double, 0>{}, json_number), "[]");
}

TEST(JsonObject, WritesNullForNanAndInfinity) {
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonObject, ReplacesBytesThatAreNotUtf8) { EXPECT_EQ(quote_json("a\xFF"), "\"a\uFFFD\""); }

RC_GTEST_PROP(JsonScanner, ReadsEveryStringThatQuoteJsonWrites, (const std::string& text)) {
  const std::string written = quote_json(text);
  JsonScanner json(written, "f");
  RC_ASSERT(json.read_string("text") == replace_bad_utf8(text));
}

RC_GTEST_PROP(JsonScanner, ReadsEveryWholeNumber, (std::uint64_t number)) {
  const std::string written = std::to_string(number);
  RC_ASSERT(JsonScanner(written, "f").read_whole_number("n") == number);
}

RC_GTEST_PROP(JsonScanner, ReadsEveryNumberThatJsonNumberWrites, (double number)) {
  const std::string written = json_number(number);
  RC_ASSERT(JsonScanner(written, "f").read_number("n") == number);
}

TEST(JsonScanner, ReadsNullAsNan) { EXPECT_TRUE(std::isnan(JsonScanner("null", "f").read_number("n"))); }

TEST(JsonScanner, RejectsInvalidNumbers) {
  const auto error = [](std::string_view text) {
    return error_of([&] { JsonScanner(text, "f").read_number("loss"); });
  };
  EXPECT_EQ(error("1e999"), "f, byte 0: loss is 1e999, needs a number that JSON writes and a double holds");
  EXPECT_EQ(error("01"), "f, byte 0: loss is 01, needs a number that JSON writes and a double holds");
  EXPECT_EQ(error("\"1\""), "f, byte 0: loss is a string, needs a number");
  EXPECT_EQ(error(std::string(1'000'000, '1')),
            "f, byte 0: loss is " + std::string(40, '1') + "…, needs a number that JSON writes and a double holds");
}

TEST(JsonScanner, ReadsMembersInOrder) {
  JsonScanner json(" { \"a\" : 1 , \"b\":[ 2,3 ] ,\"c\" : [], \"d\":{} } ", "f");
  std::string seen;
  json.read_object("it", [&](const std::string& key) {
    seen += key;
    if (key == "a") seen += std::to_string(json.read_whole_number("a"));
    if (key == "b" || key == "c")
      json.read_array("list", [&] { seen += std::to_string(json.read_whole_number("element")); });
    if (key == "d") json.read_object("d", [](const std::string&) {});
  });
  json.expect_end();
  EXPECT_EQ(seen, "a1b23cd");
}

TEST(JsonScanner, ReadsEveryEscape) {
  JsonScanner json(R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")", "f");
  EXPECT_EQ(json.read_string("text"), "\"\\/\b\f\n\r\té\U0001F600");
}

TEST(JsonScanner, SkipsEveryKindOfValue) {
  for (const char* text : {"null", "true", "false", "\"a\\u0041\"", "-0", "0.5", "1e3", "-12.25E-7", "[[[1]], {}]",
                           "{\"a\": {\"b\": [null]}}", " [ 1 , 2 ] "}) {
    EXPECT_EQ(error_of_skipping(text), "no error") << text;
  }
}

struct BadJson {
  std::string text;
  const char* error;
};

TEST(JsonScanner, ReportsInvalidJsonWithItsPosition) {
  const BadJson rows[] = {
      {"", "f, byte 0: a value is missing, needs one of JSON; the text was cut, copy it again"},
      {"nul", "f, byte 3: the text ends, needs null; the text was cut, copy it again"},
      {"nil", "f, byte 0: the text has \"n\", needs null"},
      {"x", "f, byte 0: a value is \"x\", needs one of JSON"},
      {"01", "f, byte 0: a number is 01, needs the form of JSON, such as -1.5e3"},
      {"1.", "f, byte 0: a number is 1., needs the form of JSON, such as -1.5e3; the text was cut, copy it again"},
      {"1e", "f, byte 0: a number is 1e, needs the form of JSON, such as -1.5e3; the text was cut, copy it again"},
      {"-", "f, byte 0: a number is -, needs the form of JSON, such as -1.5e3; the text was cut, copy it again"},
      {"1 2", "f, byte 2: more text follows, needs to end here"},
      {"[1 2]", "f, byte 3: the text has \"2\", needs a comma or a closing bracket"},
      {"[1,]", "f, byte 3: a value is \"]\", needs one of JSON"},
      {"[1", "f, byte 2: the text ends, needs a comma or a closing bracket; the text was cut, copy it again"},
      {"{1: 2}", "f, byte 1: a key is 1, needs a string"},
      {"{\"a\" 1}", "f, byte 5: the text has \"1\", needs a colon"},
      {"{\"a\": 1", "f, byte 7: the text ends, needs a comma or a closing brace; the text was cut, copy it again"},
      {"{\"a\": 1, }", "f, byte 9: a key is \"}\", needs a string"},
      {"{\"a\": 1, \"a\": 2}", "f, byte 9: \"a\" is there twice, needs to be there once"},
      {"{\"a\": 1, \"\\u0061\": 2}", "f, byte 9: \"a\" is there twice, needs to be there once"},
      {"\"a", "f, byte 0: a string is not closed, needs a quote at its end; the text was cut, copy it again"},
      {"\"\n\"", "f, byte 1: a control character is in a string, needs an escape"},
      {"\"\\x\"", "f, byte 2: the text has \"x\", needs one of \"\\/bfnrtu after a backslash"},
      {"\"\\", "f, byte 2: the text ends, needs one of \"\\/bfnrtu after a backslash; the text was cut, copy it again"},
      {"\"\\u12g4\"", "f, byte 2: the text has \"12g4\" after \\u, needs four hexadecimal digits"},
      {"\"\\u12",
       "f, byte 2: the text has \"12\" after \\u, needs four hexadecimal digits; the text was cut, copy it again"},
      {"\"\\ud800\"", "f, byte 6: a surrogate stands alone, needs its pair"},
      {"\"\\ud800\\u0041\"", "f, byte 12: a surrogate stands alone, needs its pair"},
      {"\"\\udc00\"", "f, byte 6: a surrogate stands alone, needs its pair"},
      {"\"\xC0\xAF\"", "f, byte 1: the text is not UTF-8, needs to be"},
      {"\"\xC3\"", "f, byte 1: the text is not UTF-8, needs to be"},
      {"\"\xC3", "f, byte 1: the text ends inside a character, needs its other bytes; the text was cut, copy it again"},
      {"\"a\xF0\x9F\x98",
       "f, byte 2: the text ends inside a character, needs its other bytes; the text was cut, copy it again"},
      {"\"\xFF\" \xC3", "f, byte 1: the text is not UTF-8, needs to be"},
      {"[[[[1]]]]", "f, byte 4: values are nested too deep, needs at most 4 levels"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_skipping(row.text), row.error) << row.text;
}

TEST(JsonScanner, LimitsTheKeysOfAnObject) {
  std::string text = "{\"0\":0";
  for (int i = 1; i <= 200'000; ++i) text += fmt::format(",\"{}\":0", i);

  EXPECT_EQ(error_of_skipping(text + "}"), "f, byte 2088891: a value has more than 200000 keys, needs at most 200000");
}

TEST(JsonScanner, ReadsWholeNumbersWithoutConversion) {
  const auto error_of_number = [](std::string_view text) {
    return error_of([&] { JsonScanner(text, "f").read_whole_number("size"); });
  };
  EXPECT_EQ(error_of_number("-1"), "f, byte 0: size is -1, needs a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of_number("2.0"), "f, byte 0: size is 2.0, needs a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of_number("1e3"), "f, byte 0: size is 1e3, needs a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of_number("007"), "f, byte 0: size is 007, needs a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of_number("18446744073709551616"),
            "f, byte 0: size is 18446744073709551616, needs a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of_number("\"1\""), "f, byte 0: size is a string, needs a whole number");
  EXPECT_EQ(error_of_number("true"), "f, byte 0: size is true or false, needs a whole number");
  EXPECT_EQ(error_of_number("null"), "f, byte 0: size is null, needs a whole number");
}

TEST(JsonScanner, ReportsAValueOfAnotherType) {
  EXPECT_EQ(error_of([] { JsonScanner("[]", "f", 8).read_object("it", [](const std::string&) {}); }),
            "f, byte 8: it is a list, needs an object");
  EXPECT_EQ(error_of([] { JsonScanner(" {}", "f", 8).read_array("it", [] {}); }),
            "f, byte 9: it is an object, needs a list");
  EXPECT_EQ(error_of([] { JsonScanner("-2", "f").read_string("it"); }), "f, byte 0: it is -2, needs a string");
}

}  // namespace
}  // namespace edgewise
