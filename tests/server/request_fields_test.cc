// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/request_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

HttpRequest message_of(const std::string& type, const std::string& body, const std::string& query = "") {
  return {.method = "POST",
          .path = "/translate",
          .query = query,
          .headers = {{"content-type", type}},
          .body = body,
          .client = "c"};
}

RequestFields json_fields(const std::string& body) { return read_request_fields(message_of("application/json", body)); }

std::string error_of_request(const HttpRequest& request) {
  return error_of([&] { read_request_fields(request); });
}

TEST(RequestFields, ComeFromJson) {
  const RequestFields fields = json_fields(R"({"q": "a \u00e9", "n": 3, "f": 0.5, "b": true, "none": null})");
  EXPECT_TRUE(fields.is_json());
  EXPECT_THAT(fields.text("q"), Optional(std::string("a é")));
  EXPECT_THAT(fields.word("n"), Optional(std::string("3")));
  EXPECT_THAT(fields.word("f"), Optional(std::string("0.5")));
  EXPECT_THAT(fields.word("b"), Optional(std::string("true")));
  EXPECT_FALSE(fields.text("none"));
  EXPECT_FALSE(fields.text("missing"));
}

TEST(RequestFields, OfJsonAreNoTextsIfTheyAreNumbersOrBooleans) {
  const RequestFields fields = json_fields(R"({"n": 3, "b": true})");
  EXPECT_EQ(error_of([&] { fields.text("n"); }), "request: n is 3, needs a string");
  EXPECT_EQ(error_of([&] { fields.texts("b"); }), "request: b is true, needs a string");
}

TEST(RequestFields, HaveTheListsOfJson) {
  const RequestFields fields = json_fields(R"({"q": ["a", "b"], "empty": []})");
  EXPECT_THAT(fields.texts("q"), ElementsAre("a", "b"));
  EXPECT_TRUE(fields.find("q")->is_list);
  EXPECT_THAT(fields.texts("empty"), IsEmpty());
  EXPECT_EQ(error_of([&] { fields.text("q"); }), "request: q has 2 values, needs one");
  EXPECT_EQ(error_of([&] { fields.word("empty"); }), "request: empty has 0 values, needs one");
}

TEST(RequestFields, OfAnotherKindAreAnErrorWhenTheyAreRead) {
  const RequestFields fields = json_fields(R"({"o": {"a": 1}, "l": [1, "b"], "q": "a"})");
  EXPECT_THAT(fields.text("q"), Optional(std::string("a")));
  EXPECT_EQ(error_of([&] { fields.text("o"); }), "request: o has other values, needs a string or a list of strings");
  EXPECT_EQ(error_of([&] { fields.texts("l"); }), "request: l has other values, needs a string or a list of strings");
}

TEST(RequestFields, RefuseMalformedJson) {
  const auto error = [](const std::string& body) { return error_of([&] { json_fields(body); }); };
  EXPECT_EQ(error(R"({"q": "a", "q": "b"})"), "request: body, byte 11: \"q\" is there twice, needs to be there once");
  EXPECT_EQ(error("[1]"), "request: body, byte 0: the body is a list, needs an object");
  EXPECT_EQ(error("{} x"), "request: body, byte 3: more text follows, needs to end here");
  EXPECT_EQ(error("{\"q\": \"\xFF\"}"), "request: body, byte 7: the text is not UTF-8, needs to be");
  EXPECT_EQ(error(R"({"a": [[[[[[]]]]]]})"),
            "request: body, byte 11: values are nested too deep, needs at most 4 levels");
}

TEST(RequestFields, ComeFromTheQueryAndAForm) {
  const RequestFields fields = read_request_fields(message_of(
      "application/x-www-form-urlencoded; charset=UTF-8", "q=second&target=de+x%2B&empty", "q=first&&source=%C3%A9"));
  EXPECT_FALSE(fields.is_json());
  EXPECT_THAT(fields.texts("q"), ElementsAre("first", "second"));
  EXPECT_EQ(error_of([&] { fields.text("q"); }), "request: q has 2 values, needs one");
  EXPECT_THAT(fields.text("source"), Optional(std::string("é")));
  EXPECT_THAT(fields.text("target"), Optional(std::string("de x+")));
  EXPECT_THAT(fields.text("empty"), Optional(std::string()));
}

TEST(RequestFields, OfJsonIgnoreTheQuery) {
  EXPECT_FALSE(read_request_fields(message_of("application/json", "{}", "q=a")).text("q"));
}

TEST(RequestFields, ComeFromTheQueryOfARequestWithoutBody) {
  EXPECT_THAT(read_request_fields(message_of("application/json", "", "q=a")).text("q"), Optional(std::string("a")));
  EXPECT_THAT(read_request_fields({.method = "GET", .query = "q=a"}).text("q"), Optional(std::string("a")));
}

TEST(RequestFields, RefuseMalformedForms) {
  const auto error = [](const std::string& body) {
    return error_of_request(message_of("application/x-www-form-urlencoded", body));
  };
  EXPECT_EQ(error("q=%4"), "request: body has \"%4\", needs two hexadecimal digits after %");
  EXPECT_EQ(error("q=%-1"), "request: body has \"%-1\", needs two hexadecimal digits after %");
  EXPECT_EQ(error("q=%FF"), "request: body is not UTF-8, needs to be");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "a&";
  EXPECT_EQ(error(many), "request: body has more than 1000 fields, needs at most 1000");
  EXPECT_EQ(error_of_request(message_of("", "", "a=%")),
            "request: query has \"%\", needs two hexadecimal digits after %");
}

TEST(RequestFields, RefuseOtherTypes) {
  EXPECT_EQ(error_of_request(message_of("text/plain", "q=a")),
            "request: Content-Type is \"text/plain\", needs application/json, application/x-www-form-urlencoded or "
            "multipart/form-data");
  EXPECT_EQ(error_of_request({.method = "POST", .body = "q=a"}),
            "request: Content-Type is missing, needs application/json, application/x-www-form-urlencoded or "
            "multipart/form-data");
  EXPECT_EQ(error_of_request(message_of("application/json; charset=latin1", "{}")),
            "request: Content-Type has charset latin1, needs utf-8");
}

TEST(RequestFields, ComeFromMultipart) {
  const RequestFields fields =
      read_request_fields(message_of("multipart/form-data; boundary=\"b c\"",
                                     "--b c\r\n"
                                     "Content-Disposition: form-data; name=\"q\"\r\n"
                                     "Content-Type: text/plain\r\n\r\n"
                                     "a\r\n--b\r\n"
                                     "\r\n--b c\r\n"
                                     "content-disposition: form-data; name=f; filename=x\r\n\r\n"
                                     "\xFF"
                                     "\r\n--b c\r\n"
                                     "Content-Disposition: form-data; name=\"a\\\"b\"\r\n\r\n"
                                     "\r\n--b c--\r\n"));
  EXPECT_THAT(fields.text("q"), Optional(std::string("a\r\n--b\r\n")));
  EXPECT_EQ(error_of([&] { fields.text("f"); }), "request: f has other values, needs a string or a list of strings");
  EXPECT_THAT(fields.text("a\"b"), Optional(std::string()));
}

TEST(RequestFields, RefuseMalformedMultipart) {
  const auto error = [](const std::string& body) {
    return error_of_request(message_of("multipart/form-data; boundary=b", body));
  };
  const std::string beginning = "request: body is malformed multipart/form-data, needs ";
  const std::string header = "--b\r\nContent-Disposition: form-data; name=q\r\n\r\n";
  EXPECT_EQ(error("x"), beginning + "the boundary at its beginning");
  EXPECT_EQ(error("--b\r\nx: y"), beginning + "an empty line after the headers of each part");
  EXPECT_EQ(error("--b\r\nx\r\n\r\n"), beginning + "a colon in each header");
  EXPECT_EQ(error("--b\r\n\r\nabc\r\n--b--"), beginning + "Content-Disposition: form-data with a name in each part");
  EXPECT_EQ(error(header + "abc"), beginning + "the boundary after each part");
  EXPECT_EQ(error(header + "abc\r\n--b"), beginning + "the closing boundary at its end");
  EXPECT_EQ(error(header + "abc\r\n--b--x"), beginning + "the closing boundary at its end");
  EXPECT_EQ(error_of_request(message_of("multipart/form-data", "x")),
            "request: Content-Type has no boundary, needs one");
  EXPECT_EQ(error_of_request(message_of("multipart/form-data; boundary=" + std::string(71, 'b'), "x")),
            "request: boundary of multipart/form-data has 71 bytes, needs 1 to 70");
}

TEST(HeaderValue, HasParameters) {
  const HeaderValue value = parse_header_value(" Text/Plain ; A = b;c=\"d;\\\"e\" ; ", "X");
  EXPECT_EQ(value.value, "text/plain");
  EXPECT_THAT(value.parameters, ElementsAre(std::pair("a", "b"), std::pair("c", "d;\"e")));
}

TEST(HeaderValue, MayHaveABackslashAtTheEndOfAParameter) {
  const auto value_of = [](const std::string& text) { return parse_header_value(text, "X").parameters.at("b"); };
  EXPECT_EQ(value_of("a;b=\"c\\\""), "c\\");
  EXPECT_EQ(value_of("a;b=\"c\\\\\""), "c\\");
}

TEST(HeaderValue, RefusesMalformedParameters) {
  for (const char* text : {"a;b", "a;=c", "a;b=", "a;b=\"c", "a;b=\"c\"d", "a;b=c\"", "a;b=c;b=d"}) {
    EXPECT_THAT(error_of([&] { parse_header_value(text, "X"); }),
                testing::StartsWith("request: X has malformed parameters"))
        << text;
  }
}

std::string escape_everything(const std::string& text) {
  std::string escaped;
  for (const char next : text) escaped += fmt::format("%{:02x}", static_cast<unsigned char>(next));
  return escaped;
}

RC_GTEST_PROP(RequestFields, AreTheSameInEveryEncoding, (const std::string& bytes)) {
  const std::string text = replace_bad_utf8(bytes);
  const std::string part = "--b\r\nContent-Disposition: form-data; name=q\r\n\r\n";
  RC_PRE(text.find("\r\n--b") == std::string::npos);
  RC_ASSERT(json_fields(JsonObject().add("q", text).text()).text("q") == text);
  RC_ASSERT(
      read_request_fields(message_of("application/x-www-form-urlencoded", "q=" + escape_everything(text))).text("q") ==
      text);
  RC_ASSERT(read_request_fields(message_of("multipart/form-data; boundary=b", part + text + "\r\n--b--")).text("q") ==
            text);
}

RC_GTEST_PROP(RequestFields, AreReadOrRefusedWhateverTheBytes, (const std::string& type, const std::string& body)) {
  for (const std::string& each : {type, std::string("application/json"), std::string("multipart/form-data;boundary=b"),
                                  std::string("application/x-www-form-urlencoded")}) {
    error_of_request(message_of(each, body, body));
    error_of_request(message_of(each, "--b\r\n" + body, ""));
  }
}

}  // namespace
}  // namespace edgewise
