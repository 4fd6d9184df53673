// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/server/endpoints.h"
#include "tests/server/copying_server.h"

namespace edgewise {
namespace {

TEST(DeepL, TranslatesTheTextsOfAList) {
  CopyingServer server;
  EXPECT_EQ(
      server.post_json("/v2/translate", R"({"text": ["a b", "c"], "source_lang": "EN", "target_lang": "DE"})").body,
      R"({"translations": [{"detected_source_language": "EN", "text": "a b", "billed_characters": 3}, )"
      R"({"detected_source_language": "EN", "text": "c", "billed_characters": 1}]})");
  EXPECT_EQ(server.get("/v2/usage").body, R"({"character_count": 4, "character_limit": 1000000000000})");
}

TEST(DeepL, TranslatesTheTextsOfAForm) {
  CopyingServer server;
  EXPECT_EQ(server.post_form("/v2/translate", "text=a&text=b&source_lang=DE&target_lang=EN-GB").body,
            R"({"translations": [{"detected_source_language": "DE", "text": "a", "billed_characters": 1}, )"
            R"({"detected_source_language": "DE", "text": "b", "billed_characters": 1}]})");
}

TEST(DeepL, DetectsTheSource) {
  CopyingServer server;
  EXPECT_THAT(server.post_form("/v2/translate", "text=Das+ist+ein+deutscher+Satz.&target_lang=EN").body,
              testing::HasSubstr(R"("detected_source_language": "DE")"));
}

TEST(DeepL, NamesTheLanguageOfEachText) {
  CopyingServer server({}, {"en-de=one", "fr-de=two"});
  const HttpResponse response =
      server.post_json("/v2/translate", R"({"text": ["Wo ist der Bahnhof?", "Where is my brother?", "Où est la gare ?"],
                           "target_lang": "DE"})");
  EXPECT_THAT(response.body, testing::MatchesRegex(R"(.*"detected_source_language": "DE", "text": "Wo ist der )"
                                                   R"(Bahnhof\?".*"detected_source_language": "EN".*)"
                                                   R"("detected_source_language": "FR".*)"));
}

TEST(DeepL, TranslatesHtml) {
  CopyingServer server;
  EXPECT_THAT(server
                  .post_json("/v2/translate", R"({"text": ["<i>a</i> b"], "source_lang": "EN", "target_lang": "DE",
                                              "tag_handling": "html", "formality": "prefer_more"})")
                  .body,
              testing::HasSubstr(R"("text": "<i>a</i> b")"));
}

TEST(DeepL, KeepsTheTagsOfXmlAndTheContentOfIgnoredTags) {
  CopyingServer server;
  EXPECT_THAT(server
                  .post_json("/v2/translate", R"({"text": ["<d>a <x id='1'/> <k>b q</k></d>"], "target_lang": "DE",
                                              "source_lang": "EN", "tag_handling": "xml", "ignore_tags": "j, k"})")
                  .body,
              testing::HasSubstr(R"("text": "<d>a <x id='1'/> <k>b q</k></d>")"));
}

TEST(DeepL, RefusesIgnoreTagsThatAreNoNamesWithAndWithoutMarkup) {
  CopyingServer server;
  for (const std::string handling : {R"("tag_handling": "xml", )", ""}) {
    const std::string body = R"({"text": "a", "target_lang": "DE", )" + handling + R"("ignore_tags": [{}]})";
    EXPECT_EQ(server.post_json("/v2/translate", body).status, 400) << body;
  }
}

TEST(DeepL, JoinsLinesIfSentencesMayHaveSeveral) {
  CopyingServer server;
  const auto translate = [&](const std::string& split) {
    return server.post_form("/v2/translate", "text=a%0Ab&source_lang=EN&target_lang=DE&split_sentences=" + split).body;
  };
  EXPECT_THAT(translate("1"), testing::HasSubstr(R"("text": "a\u000ab")"));
  EXPECT_THAT(translate("nonewlines"), testing::HasSubstr(R"("text": "a b")"));
}

TEST(DeepL, RefusesWhatItDoesNotHave) {
  CopyingServer server;
  const auto error = [&](const std::string& fields) {
    const HttpResponse response = server.post_json("/v2/translate", "{" + fields + "}");
    EXPECT_EQ(response.status, 400) << fields;
    return response.body;
  };
  const std::string good = R"("text": ["a"], "target_lang": "DE", "source_lang": "EN")";
  EXPECT_EQ(error(R"("target_lang": "DE")"), R"({"message": "Parameter 'text' not specified."})");
  EXPECT_EQ(error(R"("text": ["a"])"), R"({"message": "Value for 'target_lang' not specified."})");
  EXPECT_EQ(error(R"("text": ["a"], "target_lang": "XX")"), R"({"message": "XX is not supported"})");
  for (const std::string formality : {"more", "less"}) {
    EXPECT_EQ(error(good + R"(, "formality": ")" + formality + "\""),
              R"({"message": "'formality' is not supported for given 'target_lang'."})");
  }
  EXPECT_EQ(error(good + R"(, "formality": "polite")"), R"({"message": "Value for 'formality' not supported."})");
  EXPECT_EQ(error(good + R"(, "glossary_id": "g")"),
            R"({"message": "glossary_id is set, but this server has no glossaries"})");
  EXPECT_EQ(error(good + R"(, "tag_handling": "sgml")"), R"({"message": "tag_handling is sgml, needs html or xml"})");
  EXPECT_EQ(error(good + R"(, "split_sentences": "2")"),
            R"({"message": "split_sentences is 2, needs 0, 1 or nonewlines"})");
}

TEST(DeepL, ListsLanguages) {
  CopyingServer server({}, {"zh+en-pb=one"});
  EXPECT_EQ(server.get("/v2/languages").body,
            R"json([{"language": "EN", "name": "English"}, {"language": "ZH", "name": "Chinese (Simplified)"}])json");
  EXPECT_EQ(server.get("/v2/languages", "type=target").body,
            R"json([{"language": "PT-BR", "name": "Portuguese (Brazil)", "supports_formality": false}])json");
  EXPECT_EQ(server.get("/v2/languages", "type=x").body, R"({"message": "type is x, needs source or target"})");
}

TEST(DeepL, RefusesWhatIsAboveTheQuotaOfTheKey) {
  CopyingServer server({.api_keys = {"alice secret 3", "other"}});
  const auto translate = [&](const std::string& text, const std::string& key) {
    return server.post_form("/v2/translate", "source_lang=EN&target_lang=DE&text=" + text + "&auth_key=" + key);
  };
  EXPECT_EQ(translate("a+b+c", "secret").status, 456);
  EXPECT_EQ(translate("a+b+c", "secret").body, R"({"message": "Quota exceeded"})");
  EXPECT_EQ(translate("a+b", "secret").status, 200);
  EXPECT_EQ(server.get("/v2/usage", "auth_key=secret").body, R"({"character_count": 3, "character_limit": 3})");
  EXPECT_EQ(translate("a", "secret").status, 456);
  EXPECT_EQ(server.post_form("/translate", "source=en&target=de&q=a&api_key=secret").status, 403);
  EXPECT_EQ(translate("a+b+c", "other").status, 200);
  EXPECT_THAT(server.get("/metrics").body, testing::HasSubstr("edgewise_characters_total{key=\"alice\"} 3\n"));
}

TEST(DeepL, ChecksTheKey) {
  CopyingServer server({.api_keys = {"secret"}, .require_api_key = true});
  const auto status = [&](const std::string& value) {
    return server.respond({.method = "GET", .path = "/v2/usage", .headers = {{"authorization", value}}}).status;
  };
  EXPECT_EQ(status("DeepL-Auth-Key secret"), 200);
  EXPECT_EQ(status("DeepL-Auth-Key other"), 403);
  EXPECT_EQ(status("Basic secret"), 400);
  EXPECT_EQ(server.post_form("/v2/usage", "auth_key=secret").status, 200);
}

}  // namespace
}  // namespace edgewise
