// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/text_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/server/languages.h"
#include "tests/server/copying_server.h"
#include "tests/support/error_of.h"
#include "tests/support/number_fields.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TextTranslation translation_of(const std::string& text, std::vector<TextSentence> sentences) {
  return {.text = text, .sentences = std::move(sentences)};
}

TextSentence sentence_at(std::size_t begin, std::size_t end, const std::vector<std::string>& outputs) {
  TextSentence sentence{.space = "", .output = {begin, end}};
  for (const std::string& output : outputs) sentence.translation.outputs.emplace_back().text = output;
  return sentence;
}

TEST(Alternatives, HaveTheOtherOutputsOfAllSentences) {
  const TextTranslation translation =
      translation_of(" A. B.\n", {sentence_at(1, 3, {"A.", "a.", "á."}), sentence_at(4, 6, {"B.", "b."})});
  EXPECT_THAT(alternatives_of(translation, 9), ElementsAre(" a. b.\n", " á. b.\n"));
  EXPECT_THAT(alternatives_of(translation, 1), ElementsAre(" a. b.\n"));
  EXPECT_THAT(alternatives_of(translation, 0), IsEmpty());
}

TEST(Alternatives, AreDifferentFromEachOther) {
  EXPECT_THAT(alternatives_of(translation_of("A", {sentence_at(0, 1, {"A", "b", "b", "A", "c"})}), 9),
              ElementsAre("b", "c"));
  EXPECT_THAT(alternatives_of(translation_of("***", {sentence_at(0, 3, {})}), 9), IsEmpty());
}

/// Translates by the models of a server, and counts the sentences that a sink receives.
class Translating {
 public:
  explicit Translating(CopyingServer& server) : server_(server) {}

  std::vector<TextTranslation> run(TextRequest request, const std::string& source, const std::string& target) {
    request.client = "c";
    request.routes.assign(request.texts.size(), server_.registry.languages()->find_route(source, target).value());
    FakeExchange exchange({});
    RequestWait wait(exchange, RequestWait::Clock::now() + std::chrono::minutes(10), server_.state.metrics);
    return translate(request, wait, [&](const StreamedSentence&) { ++num_sentences; });
  }

  int num_sentences = 0;

 private:
  CopyingServer& server_;
};

TEST(TextRequest, KeepsWhatIsBetweenSentences) {
  CopyingServer server;
  const std::string text = "\n  a b g.  c h!\r\n\r\n ***\n d\t";
  EXPECT_EQ(Translating(server).run({.texts = {text}}, "en", "de").at(0).text, text);
}

TEST(TextRequest, GivesTheSentencesOfTheLastModelToTheSink) {
  CopyingServer server({.pivot = "en"}, {"fr-en=one", "en-de=two"});
  Translating translating(server);
  const auto results = translating.run({.texts = {"a g. b", "c"}}, "fr", "de");
  EXPECT_EQ(translating.num_sentences, 3);
  EXPECT_EQ(results.at(0).intermediate, "a g. b");
}

TEST(TextRequest, TranslatesHtmlByTwoModels) {
  CopyingServer server({.pivot = "en"}, {"fr-en=one", "en-de=two"});
  const auto results = Translating(server).run({.texts = {"<b>a</b> b", "c"}, .format = TextFormat::kHtml}, "fr", "de");
  EXPECT_EQ(results.at(0).text, "<b>a</b> b");
  EXPECT_EQ(results.at(1).text, "c");
}

TEST(DetectLanguages, ReturnsOnlyLanguagesOfTheServer) {
  CopyingServer server({}, {"nl-da=one"});
  const auto languages = server.registry.languages();
  const auto detected =
      detect_languages("Das ist ein deutscher Satz, den jeder Mensch sofort erkennen kann.", *languages);
  ASSERT_EQ(detected.size(), 1U);
  EXPECT_EQ(detected[0].code, "nl");
  EXPECT_EQ(detected[0].confidence, 0);
  EXPECT_EQ(detect_languages("Dit is een zin die iedereen meteen kan herkennen.", *languages).at(0).code, "nl");
}

TEST(DetectLanguages, AcceptsAllTexts) {
  CopyingServer server;
  const auto languages = server.registry.languages();
  for (const std::string& text : {std::string(), std::string("\0\x7F\uFFFE\uFDD0", 8), std::string("\xFF\xC3"),
                                  std::string(3'000'000, 'a'), std::string("\U0010FFFF")}) {
    EXPECT_EQ(detect_languages(text, *languages).size(), 1U);
  }
}

TEST(DetectLanguages, FindsTheLanguageOfEachText) {
  CopyingServer server({}, {"en-de=one", "fr-de=two"});
  const std::vector<std::string> texts = {"Wo ist der Bahnhof?", "Where is my brother?", "Où est la gare ?", "12"};
  const auto detected = detect_language_of_each(texts, *server.registry.languages());
  std::vector<std::string> codes;
  for (const DetectedLanguage& language : detected) codes.push_back(language.code);
  EXPECT_THAT(codes, ElementsAre("de", "en", "fr", testing::AnyOf("de", "en", "fr")));
  EXPECT_GT(detected[0].confidence, 0);
  EXPECT_EQ(detected[3].confidence, 0);
  const std::vector<std::string> german = {"12", "Das ist ein deutscher Satz, den jeder Mensch sofort erkennen kann."};
  EXPECT_EQ(detect_language_of_each(german, *server.registry.languages())[0].code, "de");
}

TEST(DetectLanguages, IgnoresTheTagsOfHtml) {
  CopyingServer server({}, {"nl-en=one"});
  const std::string html =
      "<section style=\"background: nothing but the english of the words\">Dit is een zin.</section>";
  EXPECT_EQ(detect_languages(html, *server.registry.languages(), true).at(0).code, "nl");
}

TEST(TextRequest, TranslatesEachTextByItsOwnModels) {
  CopyingServer server({.pivot = "en"}, {"fr-en=one", "en-de=two"});
  const auto languages = server.registry.languages();
  TextRequest request{.client = "c", .texts = {"a g. b", "c", "b g. c", "a"}};
  for (const char* source : {"fr", "de", "en", "fr"}) request.routes.push_back(*languages->find_route(source, "de"));
  FakeExchange exchange({});
  RequestWait wait(exchange, RequestWait::Clock::now() + std::chrono::minutes(10), server.state.metrics);
  std::vector<std::pair<std::size_t, std::size_t>> received;
  const auto results = translate(
      request, wait, [&](const StreamedSentence& sentence) { received.emplace_back(sentence.text, sentence.number); });
  EXPECT_THAT(received, testing::UnorderedElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(2, 0),
                                                      std::pair(2, 1), std::pair(3, 0)));
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].text, request.texts[i]);
  EXPECT_EQ(results[0].intermediate, "a g. b");
  EXPECT_FALSE(results[1].intermediate || results[2].intermediate);
  EXPECT_EQ(results[3].intermediate, "a");
}

TEST(ServerOptions, HaveARangeForEachNumber) {
  for (const NumberField& field : number_fields<ServerOptions>()) {
    EXPECT_TRUE(field.range.smallest() && field.range.largest()) << field.path;
  }
}

TEST(ServerOptions, AreCheckedTogether) {
  const auto error = [](const ServerOptions& options) { return error_of([&] { check_server_options(options); }); };
  EXPECT_EQ(error({}), "no error");
  EXPECT_EQ(error({.texts = 0}), "server: server.texts is 0, needs a whole number from 1 to 1000000");
  EXPECT_EQ(error({.api_keys = {""}}), "server: server.api_keys has an empty key, needs characters");
  EXPECT_EQ(error({.api_keys = {"a b c"}}),
            "server: key 1 of server.api_keys has \"c\" characters, needs a whole number of at least 0");
  EXPECT_EQ(error({.require_api_key = true}),
            "server: server.require_api_key is true and server.api_keys has no key, needs a key");
  EXPECT_EQ(error({.pivot = "auto"}), "server: server.pivot is \"auto\", needs a code such as en");
}

}  // namespace
}  // namespace edgewise
