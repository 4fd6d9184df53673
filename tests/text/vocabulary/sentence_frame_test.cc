// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentence_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/text/mapped_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// `</s>` 0, `<unk>` 1, `a` 2, `eng` 3, `fra` 4, `frp` 5, `>>eng<<` 6, `>>fra<<` 7, `>>frp<<` 8, `<pad>` 9.
std::shared_ptr<const Vocabulary> languages_at(LanguagePlace place) {
  const TokenList list = list_of_words({"a", "eng", "fra", "frp", ">>eng<<", ">>fra<<", ">>frp<<"});
  if (place == LanguagePlace::kNone) return vocabulary_of(list);
  const std::int64_t first = place == LanguagePlace::kOutputBeforeInput ? 6 : 3;
  return vocabulary_of(with_languages(list, place, {{"eng", first}, {"fra", first + 1}, {"frp", first + 2}}));
}

FramedInput frame(const Vocabulary& vocabulary, std::string_view text, const PairLanguages& languages = {}) {
  return frame_input(vocabulary, text, true, languages, "f");
}

TEST(SentenceFrame, OfVocabulariesThatEdgewiseLearnsHasBeginAndEnd) {
  const std::vector<std::string> sentences = {"a"};
  const auto vocabulary = build_vocabulary({sentences});
  const auto [text, input] = frame_input(*vocabulary, ">>fra<< a", true, {}, "f");
  const SentenceFrame output = frame_output(*vocabulary, "", "f");

  EXPECT_EQ(text, ">>fra<< a");
  EXPECT_THAT(input.before, IsEmpty());
  EXPECT_THAT(input.after, ElementsAre(3));
  EXPECT_THAT(frame_input(*vocabulary, "a", false, {}, "f").frame.after, IsEmpty());
  EXPECT_THAT(output.before, ElementsAre(2));
  EXPECT_THAT(output.after, ElementsAre(3));
}

TEST(SentenceFrame, PutsTheOutputLanguageBeforeTheInput) {
  const auto vocabulary = languages_at(LanguagePlace::kOutputBeforeInput);
  const FramedInput framed = frame(*vocabulary, "a", {.output = "fra"});

  EXPECT_EQ(framed.text, "a");
  EXPECT_THAT(framed.frame.before, ElementsAre(7));
  EXPECT_THAT(framed.frame.after, ElementsAre(0));
  EXPECT_THAT(frame(*vocabulary, "a").frame.before, IsEmpty());
  EXPECT_THAT(frame_output(*vocabulary, "fra", "f").before, ElementsAre(9));
}

TEST(SentenceFrame, TakesALanguageCodeOutOfTheText) {
  const auto vocabulary = languages_at(LanguagePlace::kOutputBeforeInput);
  const FramedInput framed = frame(*vocabulary, ">>eng<< a", {.output = "fra"});
  EXPECT_EQ(framed.text, " a");
  EXPECT_THAT(framed.frame.before, ElementsAre(6));

  const FramedInput unknown = frame(*vocabulary, ">>x y<<a");
  EXPECT_EQ(unknown.text, "a");
  EXPECT_THAT(unknown.frame.before, ElementsAre(1));

  const FramedInput text = frame(*vocabulary, ">>x y<<a", {.output = "fra"});
  EXPECT_EQ(text.text, ">>x y<<a");
  EXPECT_THAT(text.frame.before, ElementsAre(7));

  for (const std::string_view other : {" >>eng<< a", ">>eng a", "", ">>"}) {
    EXPECT_EQ(frame(*vocabulary, other).text, other);
    EXPECT_THAT(frame(*vocabulary, other).frame.before, IsEmpty());
  }
}

TEST(SentenceFrame, PutsTheLanguageOfEachSideBeforeItsSentence) {
  const auto vocabulary = languages_at(LanguagePlace::kBeforeBoth);
  const FramedInput framed = frame(*vocabulary, ">>eng<< a", {"eng", "fra"});

  EXPECT_EQ(framed.text, ">>eng<< a");
  EXPECT_THAT(framed.frame.before, ElementsAre(3));
  EXPECT_THAT(framed.frame.after, ElementsAre(0));
  EXPECT_THAT(output_beginning(*vocabulary, "fra", "f"), ElementsAre(4));
  EXPECT_THAT(frame_output(*vocabulary, "fra", "f").before, ElementsAre(9, 4));
}

TEST(SentenceFrame, PutsTheInputLanguageBehindTheEndToken) {
  const auto vocabulary = languages_at(LanguagePlace::kAfterInput);
  const FramedInput framed = frame(*vocabulary, "a", {"eng", "fra"});

  EXPECT_THAT(framed.frame.before, IsEmpty());
  EXPECT_THAT(framed.frame.after, ElementsAre(0, 3));
  EXPECT_THAT(output_beginning(*vocabulary, "fra", "f"), ElementsAre(4));
}

TEST(SentenceFrame, NeedsLanguagesThatTheModelHas) {
  const auto vocabulary = languages_at(LanguagePlace::kBeforeBoth);

  EXPECT_EQ(error_of([&] { frame(*vocabulary, "a"); }),
            "f: the input language is not given, needs one of the model's 3 languages, such as eng, fra, frp; set "
            "--from or data.input_language");
  EXPECT_EQ(error_of([&] { output_beginning(*vocabulary, "", "f"); }),
            "f: the output language is not given, needs one of the model's 3 languages, such as eng, fra, frp; set "
            "--to or data.output_language");
  EXPECT_EQ(error_of([&] {
              frame(*vocabulary, "a", {"fr", "fra"});
            }),
            "f: the input language is fr, needs one of the model's 3 languages, such as fra, frp");
  EXPECT_EQ(error_of([&] {
              frame(*vocabulary, "a", {"zz\n", "fra"});
            }),
            "f: the input language is \"zz\\n\", needs one of the model's 3 languages, such as eng, fra, frp");
}

TEST(SentenceOptions, NeedTheEndOfInputsThatTheVocabularySays) {
  const auto vocabulary = languages_at(LanguagePlace::kNone);

  EXPECT_EQ(error_of([&] { check_sentence_options(*vocabulary, *vocabulary, true, {}, "f"); }), "no error");
  EXPECT_EQ(error_of([&] { check_sentence_options(*vocabulary, *vocabulary, false, {}, "f"); }),
            "f: data.end_input is false, needs true, as the vocabulary says; set data.end_input=true");
}

TEST(SentenceOptions, NeedLanguagesAtAPlaceThatTheModelHas) {
  const auto error = [](LanguagePlace place, const PairLanguages& languages) {
    const auto vocabulary = languages_at(place);
    return error_of([&] { check_sentence_options(*vocabulary, *vocabulary, true, languages, "f"); });
  };

  EXPECT_EQ(error(LanguagePlace::kBeforeBoth, {}), "no error");
  EXPECT_EQ(error(LanguagePlace::kBeforeBoth, {"eng", "fra"}), "no error");
  EXPECT_EQ(error(LanguagePlace::kOutputBeforeInput, {"", "fra"}), "no error");
  EXPECT_EQ(error(LanguagePlace::kOutputBeforeInput, {"eng", "fra"}),
            "f: the input language is eng, but the model has only output languages; leave out --from or "
            "data.input_language");
  EXPECT_EQ(error(LanguagePlace::kNone, {"", "fra"}),
            "f: the output language is fra, but the model has no languages; leave out --to or data.output_language");
  EXPECT_EQ(error(LanguagePlace::kAfterInput, {"eng", "ger"}),
            "f: the output language is ger, needs one of the model's 3 languages, such as eng, fra, frp");
}

}  // namespace
}  // namespace edgewise
