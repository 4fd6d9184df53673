// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "edgewise/server/endpoints.h"
#include "tests/server/copying_server.h"

namespace edgewise {
namespace {

using Json = nlohmann::json;

TEST(NativeInterface, SaysEverythingAboutATranslation) {
  CopyingServer server;
  const HttpResponse response = server.post_json(
      "/v1/translate", R"({"text": "a g. b", "source": "en", "target": "de", "alternatives": 1, "attention": true})");
  ASSERT_EQ(response.status, 200) << response.body;
  const Json json = Json::parse(response.body);
  EXPECT_EQ(json["target"], "de");
  const Json& translation = json["translations"].at(0);
  EXPECT_EQ(translation["source"], "en");
  EXPECT_FALSE(translation.contains("confidence"));
  EXPECT_EQ(translation["text"], "a g. b");
  EXPECT_FALSE(translation.contains("intermediate"));
  EXPECT_EQ(translation["alternatives"].size(), 1U);
  ASSERT_EQ(translation["sentences"].size(), 2U);
  const Json& second = translation["sentences"][1];
  EXPECT_EQ(second["input"], Json::parse("[5, 6]"));
  EXPECT_EQ(second["output"], Json::parse("[5, 6]"));
  EXPECT_EQ(second["input_tokens"], Json::parse(R"(["b"])"));
  ASSERT_EQ(second["outputs"].size(), 2U);
  EXPECT_EQ(second["outputs"][0]["text"], "b");
  EXPECT_EQ(second["outputs"][0]["log_probability"], -0.25);
  EXPECT_EQ(second["outputs"][0]["alignment"], Json::parse("[[0, 0]]"));
  EXPECT_EQ(second["outputs"][0]["attention"], Json::parse("[[1.0]]"));
}

TEST(NativeInterface, SaysTheBytesOfEachTokenOnRequest) {
  CopyingServer server;
  const auto sentence = [&](const std::string& fields) {
    const HttpResponse response = server.post_json(
        "/v1/translate", R"({"text": ["a", "a g. é  b"], "source": "en", "target": "de", )" + fields + "}");
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body)["translations"].at(1)["sentences"].at(1);
  };
  const Json with = sentence(R"("token_ranges": true)");
  EXPECT_EQ(with["input"], Json::parse("[5, 10]"));
  EXPECT_EQ(with["input_token_ranges"], Json::parse("[[0, 2], [4, 5]]"));
  EXPECT_EQ(with["outputs"][0]["token_ranges"].size(), with["outputs"][0]["tokens"].size());
  const Json without = sentence(R"("token_ranges": false)");
  EXPECT_FALSE(without.contains("input_token_ranges"));
  EXPECT_FALSE(without["outputs"][0].contains("token_ranges"));
}

TEST(NativeInterface, MeasuresTokensInTheTextBetweenTwoModels) {
  CopyingServer server({.pivot = "en"}, {"fr-en=one", "en-de=two"});
  const Json json = Json::parse(
      server.post_json("/v1/translate", R"({"text": "  a b", "source": "fr", "target": "de", "token_ranges": true})")
          .body);
  EXPECT_EQ(json["translations"][0]["sentences"][0]["input_token_ranges"], Json::parse("[[0, 1], [2, 3]]"));
}

TEST(NativeInterface, TranslatesSeveralTexts) {
  CopyingServer server;
  const Json json = Json::parse(server.post_json("/v1/translate", R"({"text": ["a", "b"], "target": "en"})").body);
  EXPECT_EQ(json["translations"].size(), 2U);
  EXPECT_EQ(json["translations"][1]["text"], "b");
  EXPECT_TRUE(json["translations"][1].contains("confidence"));
}

TEST(NativeInterface, NamesTheLanguageOfEachText) {
  CopyingServer server({}, {"en-de=one", "fr-de=two"});
  const Json json = Json::parse(
      server
          .post_json("/v1/translate", R"({"text": ["Wo ist der Bahnhof?", "Where is my brother?", "Où est la gare ?"],
                                            "target": "de"})")
          .body);
  for (const auto& [number, language] : {std::pair(0, "de"), std::pair(1, "en"), std::pair(2, "fr")}) {
    EXPECT_EQ(json["translations"][number]["source"], language);
  }
}

TEST(NativeInterface, ShowsTheTextBetweenTwoModels) {
  CopyingServer server({.pivot = "en"}, {"fr-en=one", "en-de=two"});
  const Json json =
      Json::parse(server.post_json("/v1/translate", R"({"text": "a b", "source": "fr", "target": "de"})").body);
  EXPECT_EQ(json["translations"][0]["intermediate"], "a b");
}

TEST(NativeInterface, StreamsEachSentenceWithTheGapBeforeIt) {
  CopyingServer server;
  const auto exchange = std::make_shared<FakeExchange>(
      HttpRequest{.method = "POST",
                  .path = "/v1/translate",
                  .headers = {{"Content-Type", "application/json"}},
                  .body = R"({"text": ["a g.\n***\n b", " c"], "source": "en", "target": "de", "stream": true})"});
  server.router.handle(exchange);
  EXPECT_TRUE(exchange->has_ended_stream);
  EXPECT_EQ(exchange->num_responses, 1);
  EXPECT_EQ(exchange->response.content_type, "text/event-stream");
  const std::string& body = exchange->response.body;
  for (const char* sentence :
       {R"({"text": 0, "number": 0, "gap": "", )", R"({"text": 0, "number": 1, "gap": "\u000a***\u000a ", )",
        R"({"text": 1, "number": 0, "gap": " ", )"}) {
    EXPECT_THAT(body, testing::HasSubstr(std::string("event: sentence\ndata: ") + sentence));
  }
  const std::size_t result = body.find("event: result\ndata: ");
  ASSERT_NE(result, std::string::npos);
  const Json json = Json::parse(body.substr(result + 20));
  EXPECT_EQ(json["translations"][1]["text"], " c");
  EXPECT_EQ(json["translations"][0]["sentences"], Json::parse(R"([{"input": [0, 4], "output": [0, 4], "number": 0},
                            {"input": [5, 8], "output": [5, 8], "input_tokens": [], "outputs": []},
                            {"input": [10, 11], "output": [10, 11], "number": 1}])"));
  EXPECT_EQ(body.substr(body.size() - 2), "\n\n");
}

TEST(NativeInterface, RefusesToAnswerWithMoreBytesThanItsLimit) {
  CopyingServer server({.answer_bytes = 2000});
  std::string text = "a b g. ";
  for (int i = 0; i < 5; ++i) text += text;
  const auto ask = [&](const std::string& fields) {
    return server.post_json("/v1/translate",
                            R"({"text": ")" + text + R"(", "source": "en", "target": "de")" + fields + "}");
  };
  const std::string error =
      "Invalid request: the answer would have more than 2000 bytes; send fewer texts, or ask for less than "
      "alternatives, attention and ranges of tokens";
  EXPECT_EQ(ask("").status, 400);
  EXPECT_EQ(ask("").body, "{\"error\": \"" + error + "\"}");
  EXPECT_THAT(ask(R"(, "stream": true)").body, testing::EndsWith(R"(event: error
data: {"status": 400, "error": ")" + error + "\"}\n\n"));
  EXPECT_EQ(ask(R"(, "format": "html")").status, 200);
}

TEST(NativeInterface, RefusesBadFields) {
  CopyingServer server;
  const auto error = [&](const std::string& fields) {
    const HttpResponse response = server.post_json("/v1/translate", "{" + fields + "}");
    EXPECT_EQ(response.status, 400) << fields;
    return response.body;
  };
  EXPECT_EQ(error(""), R"({"error": "request: text is missing, needs a text or a list of texts"})");
  EXPECT_EQ(error(R"("text": "a")"), R"({"error": "request: target is missing, needs the code of a language"})");
  EXPECT_EQ(error(R"("text": "a", "target": "de", "stream": 1)"),
            R"({"error": "request: stream is 1, needs true or false"})");
  EXPECT_EQ(error(R"("text": "a", "target": "de", "line_breaks": "x")"),
            R"({"error": "request: line_breaks is x, needs end or space"})");
}

TEST(NativeInterface, ChecksTheKey) {
  CopyingServer server({.api_keys = {"secret"}, .require_api_key = true});
  const auto status = [&](const std::string& value) {
    return server
        .post_json("/v1/translate", R"({"text": "a", "source": "en", "target": "de"})", {{"Authorization", value}})
        .status;
  };
  EXPECT_EQ(status("Bearer secret"), 200);
  EXPECT_EQ(status("Bearer other"), 403);
  EXPECT_EQ(status("secret"), 400);
}

}  // namespace
}  // namespace edgewise
