// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/server/endpoints.h"
#include "tests/server/copying_server.h"

namespace edgewise {
namespace {

std::string error_of_json(CopyingServer& server, const std::string& json) {
  const HttpResponse response = server.post_json("/translate", json);
  EXPECT_EQ(response.status, 400) << json;
  return response.body;
}

TEST(LibreTranslate, TranslatesAText) {
  CopyingServer server;
  const HttpResponse response = server.post_json("/translate", R"({"q": "a b g. c", "source": "en", "target": "de"})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body, R"({"translatedText": "a b g. c"})");
}

TEST(LibreTranslate, TranslatesAList) {
  CopyingServer server;
  EXPECT_EQ(server.post_json("/translate", R"({"q": ["a", "b c"], "source": "en", "target": "de"})").body,
            R"({"translatedText": ["a", "b c"]})");
  EXPECT_EQ(server.post_json("/translate", R"({"q": ["a"], "source": "en", "target": "de"})").body,
            R"({"translatedText": ["a"]})");
}

TEST(LibreTranslate, TakesFieldsFromFormsAndTheQuery) {
  CopyingServer server;
  EXPECT_EQ(server.post_form("/translate", "q=a+b%0D%0Ac%0D%0A&source=en&target=de").body,
            R"({"translatedText": "a b\u000ac\u000a"})");
  EXPECT_EQ(server.respond({.method = "POST", .path = "/translate", .query = "q=a&source=en&target=de"}).body,
            R"({"translatedText": "a"})");
}

TEST(LibreTranslate, TakesRepeatedFieldsOfAFormAsTextsAndRefusesOthers) {
  CopyingServer server;
  EXPECT_EQ(server.post_form("/translate", "q=a&q=b%0D%0Ac&source=en&target=de").body,
            R"({"translatedText": ["a", "b\u000ac"]})");
  EXPECT_EQ(server
                .respond({.method = "POST",
                          .path = "/translate",
                          .query = "q=a&target=de",
                          .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                          .body = "q=b&source=en"})
                .body,
            R"({"translatedText": ["a", "b"]})");
  const HttpResponse refused = server.post_form("/translate", "q=a&source=en&source=de&target=de");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body, R"({"error": "request: source has 2 values, needs one"})");
  const std::string file = "--b\r\nContent-Disposition: form-data; name=q; filename=f\r\n\r\na\r\n--b--\r\n";
  EXPECT_EQ(server
                .respond({.method = "POST",
                          .path = "/translate",
                          .query = "source=en&target=de",
                          .headers = {{"Content-Type", "multipart/form-data; boundary=b"}},
                          .body = file})
                .body,
            R"({"error": "request: q has other values, needs a string or a list of strings"})");
}

TEST(LibreTranslate, DetectsTheSourceOfEachText) {
  CopyingServer server({}, {"en-de=one", "fr-de=two"});
  const HttpResponse response = server.post_json(
      "/translate", R"({"q": ["Wo ist der Bahnhof?", "Where is my brother?"], "source": "auto", "target": "de"})");
  EXPECT_THAT(response.body,
              testing::MatchesRegex(R"(\{"translatedText": \["Wo ist der Bahnhof\?", "[^"]*"\], "detectedLanguage": )"
                                    R"(\[\{"confidence": [0-9]+, "language": "de"\}, \{"confidence": [0-9]+, )"
                                    R"("language": "en"\}\]\})"));
}

TEST(LibreTranslate, DetectsTheSource) {
  CopyingServer server;
  const std::string german = "Das ist ein deutscher Satz, den jeder Mensch sofort erkennen kann.";
  const std::string detected = R"({"confidence": 98, "language": "de"})";
  const std::string undetected = R"({"confidence": 0, "language": "de"})";  // as all texts together
  EXPECT_THAT(server.post_json("/translate", R"({"q": ")" + german + R"(", "source": "auto", "target": "en"})").body,
              testing::EndsWith(R"(, "detectedLanguage": )" + detected + "}"));
  EXPECT_THAT(
      server.post_json("/translate", R"({"q": [")" + german + R"(", "12"], "source": "auto", "target": "en"})").body,
      testing::EndsWith(R"(, "detectedLanguage": [)" + detected + ", " + undetected + "]}"));
  EXPECT_EQ(server.post_json("/detect", R"({"q": ")" + german + R"("})").body, "[" + detected + "]");
  EXPECT_EQ(server.post_json("/detect", R"({"q": "123"})").body, R"([{"confidence": 0, "language": "en"}])");
}

TEST(LibreTranslate, ReturnsAlternativesOnlyIfAskedFor) {
  CopyingServer server;
  EXPECT_THAT(server.post_json("/translate", R"({"q": "a", "source": "en", "target": "de", "alternatives": 1})").body,
              testing::MatchesRegex(R"(\{"translatedText": "a", "alternatives": \["[^"]*"\]\})"));
  EXPECT_EQ(server.post_json("/translate", R"({"q": "a", "source": "en", "target": "de", "alternatives": 0})").body,
            R"({"translatedText": "a"})");
  EXPECT_THAT(server.post_json("/translate", R"({"q": ["a"], "source": "en", "target": "de", "alternatives": 2})").body,
              testing::MatchesRegex(R"(\{"translatedText": \["a"\], "alternatives": \[\["[^"]*", "[^"]*"\]\]\})"));
}

TEST(LibreTranslate, TranslatesHtml) {
  CopyingServer server;
  EXPECT_EQ(server
                .post_json("/translate", R"({"q": ["<p>a <b>b</b></p>", "<i>c</i>"], "source": "en", "target": "de",
                                         "format": "html", "alternatives": 1, "api_key": null})")
                .body,
            R"({"translatedText": ["<p>a <b>b</b></p>", "<i>c</i>"], "alternatives": [[], []]})");
}

TEST(LibreTranslate, CopiesATextInItsOwnLanguage) {
  CopyingServer server;
  EXPECT_EQ(server.post_json("/translate", R"({"q": "any words", "source": "de", "target": "de"})").body,
            R"({"translatedText": "any words"})");
}

TEST(LibreTranslate, RefusesMissingFields) {
  CopyingServer server;
  EXPECT_EQ(error_of_json(server, "{}"), R"({"error": "Invalid request: missing q parameter"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "", "source": "en"})"),
            R"({"error": "Invalid request: missing q parameter"})");
  EXPECT_EQ(error_of_json(server, R"({"q": []})"), R"({"error": "Invalid request: missing q parameter"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a"})"), R"({"error": "Invalid request: missing source parameter"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "en"})"),
            R"({"error": "Invalid request: missing target parameter"})");
}

TEST(LibreTranslate, RefusesOtherLanguagesAndFormats) {
  CopyingServer server({}, {"en-de=one", "fr-en=two"});
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "zz", "target": "de"})"),
            R"({"error": "zz is not supported"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "en", "target": "no language"})"),
            R"({"error": "\"no language\" is not supported"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "en-de", "target": "de"})"),
            R"({"error": "en-de is not supported"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "en", "target": "fr"})"),
            R"json({"error": "French (fr) is not available as a target language from English (en)"})json");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "source": "en", "target": "de", "format": "pdf"})"),
            R"({"error": "pdf format is not supported"})");
}

TEST(LibreTranslate, RefusesMoreThanItsLimits) {
  CopyingServer server({.characters = 3, .texts = 2, .alternatives = 1});
  const std::string end = R"(, "source": "en", "target": "de"})";
  EXPECT_EQ(server.post_json("/translate", R"({"q": "äbc")" + end).status, 200);
  EXPECT_EQ(error_of_json(server, R"({"q": "abcd")" + end),
            R"json({"error": "Invalid request: request (4) exceeds text limit (3)"})json");
  EXPECT_EQ(error_of_json(server, R"({"q": ["a", "b", "c"])" + end),
            R"json({"error": "Invalid request: request (3) exceeds text limit (2)"})json");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "alternatives": 2)" + end),
            R"({"error": "Invalid request: alternatives parameter must be <= 1"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "alternatives": 1e300)" + end),
            R"({"error": "Invalid request: alternatives parameter must be <= 1"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "alternatives": 0.5)" + end),
            R"({"error": "Invalid request: alternatives parameter is not a number"})");
  EXPECT_EQ(error_of_json(server, R"({"q": "a", "alternatives": "x")" + end),
            R"({"error": "Invalid request: alternatives parameter is not a number"})");
}

TEST(LibreTranslate, ChecksKeys) {
  CopyingServer server({.api_keys = {"one", "two"}, .require_api_key = true});
  const auto respond = [&](const std::string& key) {
    return server.post_json("/translate", R"({"q": "a", "source": "en", "target": "de")" + key + "}");
  };
  EXPECT_EQ(respond(R"(, "api_key": "two")").status, 200);
  EXPECT_EQ(respond(R"(, "api_key": "three")").status, 403);
  EXPECT_EQ(respond(R"(, "api_key": "three")").body, R"({"error": "Invalid API key"})");
  EXPECT_EQ(respond("").status, 400);
  EXPECT_EQ(respond("").body, R"({"error": "Please contact the server operator to get an API key"})");
  server.state.keys.replace({"one", "two"}, false);
  EXPECT_EQ(respond("").status, 200);
  EXPECT_EQ(respond(R"(, "api_key": "three")").status, 403);
}

TEST(LibreTranslate, ListsLanguages) {
  CopyingServer server({}, {"en-de=one", "pt_BR-en=two"});
  EXPECT_EQ(server.get("/languages").body,
            R"([{"code": "de", "name": "German", "targets": ["de"]}, )"
            R"({"code": "en", "name": "English", "targets": ["de", "en"]}, )"
            R"json({"code": "pt-BR", "name": "Portuguese (Brazil)", "targets": ["en", "pt-BR"]}])json");
}

TEST(LibreTranslate, AcceptsAliasesOfLanguages) {
  CopyingServer server({}, {"zh-en=one", "en-pb=two"});
  for (const char* languages : {R"("source": "zh", "target": "en")", R"("source": "ZH-hans", "target": "en-US")",
                                R"("source": "en", "target": "pb")", R"("source": "en", "target": "pt-br")"}) {
    EXPECT_EQ(server.post_json("/translate", R"({"q": "a", )" + std::string(languages) + "}").body,
              R"({"translatedText": "a"})")
        << languages;
  }
}

TEST(LibreTranslate, HasSettingsAndNoFiles) {
  CopyingServer server;
  EXPECT_EQ(server.get("/frontend/settings").body,
            R"({"charLimit": 5000, "frontendTimeout": 500, "apiKeys": false, "keyRequired": false, )"
            R"("suggestions": false, "filesTranslation": false, "supportedFilesFormat": [], )"
            R"("language": {"source": {"code": "auto", "name": "Auto Detect"}, )"
            R"("target": {"code": "de", "name": "German"}}})");
  const HttpResponse response = server.post_form("/translate_file", "file=a");
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(response.body, R"({"error": "Files translation are disabled on this server."})");
}

}  // namespace
}  // namespace edgewise
