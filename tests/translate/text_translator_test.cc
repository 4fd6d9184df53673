// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/translate/text_sentences.h"
#include "tests/support/error_of.h"
#include "tests/translate/copying_model.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Translation translation_of(std::string text) {
  Translation translation;
  translation.outputs.resize(1);
  translation.outputs.front().text = std::move(text);
  return translation;
}

/// Puts brackets around each sentence.
std::vector<Translation> bracket(std::span<const TranslationRequest> requests) {
  std::vector<Translation> translations;
  for (const TranslationRequest& request : requests) translations.push_back(translation_of("<" + request.input + ">"));
  return translations;
}

std::vector<Translation> copy(std::span<const TranslationRequest> requests) {
  std::vector<Translation> translations;
  for (const TranslationRequest& request : requests) translations.push_back(translation_of(request.input));
  return translations;
}

std::string translated(std::string_view text, const TextOptions& options = {.language = "en"}) {
  return translate_text(text, options, bracket).text;
}

TEST(TranslateText, TranslatesEachSentenceAndKeepsEverythingBetween) {
  EXPECT_EQ(translated("  Mr. Smith came.\tHe sat.\r\n\r\n\n A title\n- one\u00A0\n"),
            "  <Mr. Smith came.>\t<He sat.>\r\n\r\n\n <A title>\n- <one>\u00A0\n");
  EXPECT_EQ(translated("\uFEFFOne."), "\uFEFF<One.>");
  EXPECT_EQ(translated(""), "");
  EXPECT_EQ(translated(" \n"), " \n");
}

TEST(TranslateText, CopiesSentencesWithoutWords) {
  EXPECT_EQ(translated("***\n---\nOne.\n?!\n5"), "***\n---\n<One.>\n?!\n5");
  EXPECT_EQ(translated("1\n417.93 \u20AC\nhttps://a.org\n5 km\nA4\nNo\n3rd"),
            "1\n417.93 \u20AC\nhttps://a.org\n5 km\nA4\n<No>\n<3rd>");
  const TranslateSentences never = [](std::span<const TranslationRequest>) -> std::vector<Translation> {
    fail("translated");
  };
  EXPECT_EQ(translate_text("*** \n…", {}, never).text, "*** \n…");
}

TEST(TranslateText, KeepsTheMarksOfListsQuotationsHeadingsAndTables) {
  EXPECT_EQ(translated("## My house\n- one\n  2. Open it.\n> > He said yes.\n- [x] done\na) first\n"),
            "## <My house>\n- <one>\n  2. <Open it.>\n> > <He said yes.>\n- [x] <done>\na) <first>\n");
  EXPECT_EQ(translated("| One. Two | 5 |\n|---|:-:|\n|a\\|b||\n"), "| <One.> <Two> | 5 |\n|---|:-:|\n|<a\\|b>||\n");
  EXPECT_EQ(translated("3. Mai 2020\n3. Haus", {.language = "de"}), "<3. Mai 2020>\n3. <Haus>");
  EXPECT_EQ(translated("name\tfirst value\t12\n"), "<name>\t<first value>\t12\n");
}

TEST(TranslateText, CopiesCodeTimeCodesAndDefinitionsOfLinks) {
  EXPECT_EQ(translated("One\n```sh\nls here\n\n- x\n```\nTwo\n"), "<One>\n```sh\nls here\n\n- x\n```\n<Two>\n");
  EXPECT_EQ(translated("~~~\ncode\n~~~\n~~~~~~\nTwo"), "~~~\ncode\n~~~\n~~~~~~\n<Two>");
  EXPECT_EQ(translated("1\n00:01,000 --> 00:02,000 align:start\nHe is here.\n"),
            "1\n00:01,000 --> 00:02,000 align:start\n<He is here.>\n");
  EXPECT_EQ(translated("[page]: https://a.org\n"), "[page]: https://a.org\n");
}

TEST(TranslateText, ReturnsWhereEachSentenceIs) {
  const std::string text = " One. Two!\n***";
  const TextTranslation found = translate_text(text, {}, bracket);

  ASSERT_EQ(found.text, " <One.> <Two!>\n***");
  ASSERT_EQ(found.sentences.size(), 3U);
  EXPECT_EQ(found.sentences[0].input, (ByteRange{1, 5}));
  EXPECT_EQ(found.sentences[0].output, (ByteRange{1, 7}));
  EXPECT_EQ(found.sentences[0].translation.outputs.front().text, "<One.>");
  EXPECT_EQ(found.sentences[1].input, (ByteRange{6, 10}));
  EXPECT_EQ(found.sentences[1].output, (ByteRange{8, 14}));
  EXPECT_EQ(found.sentences[2].input, (ByteRange{11, 14}));
  EXPECT_EQ(found.sentences[2].output, (ByteRange{15, 18}));
  EXPECT_THAT(found.sentences[2].translation.outputs, IsEmpty());
}

TEST(TranslateText, InsertsASpaceBetweenSentencesThatHadNoneUnlessTheyAreWide) {
  const auto translate_to = [](std::string first, std::string second) {
    const TranslateSentences translate = [&](std::span<const TranslationRequest>) {
      return std::vector<Translation>{translation_of(first), translation_of(second)};
    };
    return translate_text("好。走吧。", {.language = "zh"}, translate);
  };

  EXPECT_EQ(translate_to("Good.", "Let's go.").text, "Good. Let's go.");
  EXPECT_EQ(translate_to("Good.", "Let's go.").sentences[1].output, (ByteRange{6, 15}));
  EXPECT_EQ(translate_to("はい。", "行こう。").text, "はい。行こう。");
  EXPECT_EQ(translate_to("Good. ", "Let's go.").text, "Good. Let's go.");
  EXPECT_EQ(translate_to("", "Let's go.").text, "Let's go.");
}

TEST(TranslateText, PassesLanguagesToTheRequestsAndTheInputLanguageToTheSplitter) {
  const TranslateSentences check_request = [](std::span<const TranslationRequest> requests) {
    EXPECT_EQ(requests.front().languages.input, "deu_Latn");
    EXPECT_EQ(requests.front().languages.output, "eng_Latn");
    return bracket(requests);
  };
  TextOptions options = {.languages = {.input = "deu_Latn", .output = "eng_Latn"}};

  EXPECT_EQ(translate_text("Am 3. Mai. Ja.", options, check_request).text, "<Am 3. Mai.> <Ja.>");
  options.language = "en";
  EXPECT_EQ(translate_text("Am 3. Mai. Ja.", options, check_request).text, "<Am 3.> <Mai.> <Ja.>");
}

TEST(TranslateText, GivesTheModelASentenceOfWrappedTextInOneLine) {
  EXPECT_EQ(translated("He is\r\nhere.\nShe\n\nOne", {.line_breaks = LineBreaks::kSpace}),
            "<He is here.>\n<She>\n\n<One>");
}

TEST(TranslateText, ReplacesLineFeedsInOutputs) {
  const TranslateSentences translate = [](std::span<const TranslationRequest>) {
    return std::vector<Translation>{translation_of("a\nb")};
  };
  EXPECT_EQ(translate_text("One\n", {}, translate).text, "a b\n");
}

TEST(DividedTexts, ListTheGapsBeforeTheirRequests) {
  const std::vector<std::string> texts = {" One. \n***\nTwo!", "---", "Three.\n"};
  EXPECT_THAT(DividedTexts(texts, {}).gaps(), ElementsAre(" ", " \n***\n", ""));
}

std::string any_text() {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "One.", "Mr.", "two", "?", "好。", "…", " ", "  ", "\n", "\r\n", "\t", "\u00A0", "\u3000", "***", "\uFEFF"));
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

RC_GTEST_PROP(TranslateText, ReturnsTheTextIfEachTranslationIsItsSentence, ()) {
  const std::string text = any_text();
  const TextTranslation found = translate_text(text, {}, copy);

  // An inserted space is after a sentence that another one follows without white space.
  std::size_t end = 0;
  std::string expected;
  for (const TextSentence& sentence : found.sentences) {
    expected += text.substr(end, sentence.input.begin - end);
    const bool has_space = found.text.substr(expected.size(), sentence.output.begin - expected.size()) == " ";
    if (has_space) expected += ' ';
    expected += text.substr(sentence.input.begin, sentence.input.end - sentence.input.begin);
    end = sentence.input.end;
    RC_ASSERT(found.text.substr(0, sentence.output.end) == expected);
  }
  RC_ASSERT(found.text == expected + text.substr(end));
}

TextSource pieces(std::vector<std::string> texts) {
  return [texts = std::move(texts), next = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (next == texts.size()) return std::nullopt;
    return texts[next++];
  };
}

TEST(TranslateTextStream, GivesTheTextThatTheWholeTextGives) {
  Translator translator = copier();
  const std::vector<std::string> lines = {"  a g. c\n", "\r\n", "", "***\n", " \t\n", "d h! e i", ""};
  std::string text;
  int sentences = 0;
  translate_text(translator, pieces(lines),
                 [&](std::string_view part, int count) {
                   text += part;
                   sentences += count;
                 },
                 {});

  EXPECT_EQ(text, "  a g. c\n\r\n***\n \t\nd h! e i");
  EXPECT_EQ(sentences, 5);
}

TEST(TranslateTextStream, HoldsNoMoreThanALimitOfWhiteSpace) {
  Translator translator = copier();
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  std::atomic<std::int64_t> read = 0;
  std::atomic<std::int64_t> written = 0;
  std::int64_t most = 0;
  const TextSource next = [&]() -> std::optional<std::string> {
    most = std::max(most, read - written);
    if (read == 40) return std::nullopt;
    ++read;
    return std::string(kPiece, ' ');
  };
  translate_text(translator, next, [&](std::string_view, int) { ++written; }, {});

  EXPECT_EQ(written, 40);
  EXPECT_LE(most, 7);
}

TEST(TranslateTextStream, ThrowsTheErrorsOfTheSourceAndOfTheSink) {
  Translator translator = copier();
  const TextSource failing = [count = 0]() mutable -> std::optional<std::string> {
    if (++count == 2) fail("the source");
    return "a\n";
  };
  std::string text;
  EXPECT_EQ(
      error_of([&] { translate_text(translator, failing, [&](std::string_view part, int) { text += part; }, {}); }),
      "the source");
  EXPECT_EQ(text, "a\n");

  bool is_interrupted = false;
  const TextSource endless = [] { return std::string(1 << 20, ' ') + "a\n"; };
  EXPECT_EQ(error_of([&] {
              translate_text(
                  translator, endless, [](std::string_view, int) { fail("the sink"); }, {},
                  [&] { is_interrupted = true; });
            }),
            "the sink");
  EXPECT_TRUE(is_interrupted);
}

TEST(TranslateTextStream, SplitsByTheLanguageOfTheOptions) {
  Translator translator = copier();
  std::vector<int> counts;
  const TextSink take = [&](std::string_view, int count) { counts.push_back(count); };

  translate_text(translator, pieces({"Am 3. Mai"}), take, {.language = "de"});
  EXPECT_THAT(counts, ElementsAre(1));

  counts.clear();
  translate_text(translator, pieces({"Am 3. Mai"}), take, {});
  EXPECT_THAT(counts, ElementsAre(1, 1));
}

}  // namespace
}  // namespace edgewise
