// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/support/error_of.h"
#include "tests/text/mapped_testing.h"
#include "tests/translate/copying_model.h"
#include "tests/translate/words.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

constexpr std::array<std::int64_t, 3> kWords = {4, 5, 6};  // tokens of words, after the special tokens

TextCodec four_word_codec() {
  const auto vocabulary = make_word_vocabulary("a b c d");
  return {.vocabularies = {vocabulary, vocabulary}};
}

Hypothesis make_hypothesis(Tokens tokens, double score) {
  Hypothesis hypothesis;
  hypothesis.tokens = std::move(tokens);
  hypothesis.score = hypothesis.log_probability = score;
  return hypothesis;
}

SentencePart searched_part(Tokens tokens, std::vector<Hypothesis> hypotheses) {
  return {.input = {.tokens = std::move(tokens)}, .hypotheses = std::move(hypotheses)};
}

/// Returns the input tokens of each part.
std::vector<Tokens> tokens_of(const TokenizedSentence& sentence) {
  std::vector<Tokens> tokens;
  for (const SentencePart& part : sentence.parts) tokens.push_back(part.input.tokens);
  return tokens;
}

/// Decodes a sentence of one part with a hypothesis.
Translation decode_one(const TextCodec& codec, TokenizedSentence sentence, const Hypothesis& hypothesis) {
  sentence.parts.at(0).hypotheses = {hypothesis};
  return codec.decode(sentence, 1);
}

/// Makes a list of hypotheses, best first. Few different scores, so that many are equal.
std::vector<Hypothesis> random_hypotheses(std::size_t count, std::mt19937& random) {
  std::vector<Hypothesis> hypotheses;
  for (std::size_t i = 0; i < count; ++i) {
    hypotheses.push_back(make_hypothesis({kWords[i % kWords.size()]}, -static_cast<double>(random() % 8) / 4));
  }
  std::ranges::stable_sort(hypotheses, std::greater<>(), &Hypothesis::score);
  return hypotheses;
}

/// Returns the mean scores of all combinations of a hypothesis of each part, best first.
std::vector<double> all_scores(const std::vector<std::vector<Hypothesis>>& parts) {
  std::vector<double> sums = {0.0};
  for (const std::vector<Hypothesis>& part : parts) {
    std::vector<double> longer;
    for (const double sum : sums) {
      for (const Hypothesis& hypothesis : part) longer.push_back(sum + hypothesis.score);
    }
    sums = longer;
  }
  for (double& sum : sums) sum /= static_cast<double>(parts.size());
  std::ranges::sort(sums, std::greater<>());
  return sums;
}

TEST(TextCodec, GivesASentenceOfSeveralPartsTheBestCombinationsOfTheirHypotheses) {
  const TextCodec codec = four_word_codec();
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::size_t n_best = 1 + random() % 6;
    TokenizedSentence sentence;
    std::vector<std::vector<Hypothesis>> results;
    for (std::size_t part = 0; part < 1 + random() % 4; ++part) {
      results.push_back(random_hypotheses(1 + random() % n_best, random));
      sentence.parts.push_back(searched_part({kWords[0]}, results.back()));
    }

    const Translation found = codec.decode(sentence, static_cast<std::int64_t>(n_best));

    std::vector<double> expected = all_scores(results);
    expected.resize(std::min(expected.size(), n_best));
    ASSERT_EQ(found.outputs.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found.outputs[i].score, expected[i], 1e-12);
      EXPECT_NEAR(found.outputs[i].log_probability, expected[i] * static_cast<double>(results.size()), 1e-12);
      EXPECT_EQ(found.outputs[i].tokens.size(), results.size());
    }
  }
}

TEST(TextCodec, JoinsTheHypothesesOfTheParts) {
  const TextCodec codec = four_word_codec();
  const auto hypothesis = [&](const std::string& word, double score) {
    return make_hypothesis(codec.vocabularies.output->encode(word), score);
  };
  const TokenizedSentence sentence = {.parts = {searched_part({4}, {hypothesis("a", -1), hypothesis("b", -3)}),
                                                searched_part({5}, {hypothesis("c", -1), hypothesis("d", -2)})}};

  const Translation found = codec.decode(sentence, 3);

  ASSERT_EQ(found.outputs.size(), 3U);
  EXPECT_EQ(found.outputs[0].text, "a c");
  EXPECT_EQ(found.outputs[1].text, "a d");
  EXPECT_EQ(found.outputs[2].text, "b c");
}

/// A codec with the tokens `</s>` 0, `<unk>` 1, `a` 2, `b` 3, `c` 4, `eng` 5, `fra` 6, `<pad>` 7.
TextCodec codec_with_languages(LanguagePlace place) {
  TokenList list = with_languages(list_of_words({"a", "b", "c", "eng", "fra"}), place, {{"eng", 5}, {"fra", 6}});
  list.rules.omitted = {0, 1, 5, 6, 7};
  const auto vocabulary = vocabulary_of(std::move(list));
  return {.vocabularies = {vocabulary, vocabulary}, .end_input = true};
}

TEST(TextCodec, PutsLanguagesBeforeEachPartAndItsOutput) {
  TextCodec codec = codec_with_languages(LanguagePlace::kBeforeBoth);
  codec.languages = {"eng", "fra"};
  codec.max_input = 2;

  const TokenizedSentence sentence = codec.encode({.input = "a b c"});
  EXPECT_THAT(tokens_of(sentence), ElementsAre(ElementsAre(5, 2, 0), ElementsAre(5, 3, 4, 0)));
  EXPECT_THAT(sentence.parts.at(0).input.forced, ElementsAre(6));
  EXPECT_THAT(tokens_of(codec.encode({.input = "a"})), ElementsAre(ElementsAre(5, 2, 0)));
  EXPECT_THAT(tokens_of(codec.encode({.input = ""})), ElementsAre(Tokens()));
}

TEST(TextCodec, BeginsTheOutputOfEachPartWithTheLanguageAndThatOfTheFirstWithThePrefix) {
  TextCodec codec = codec_with_languages(LanguagePlace::kBeforeBoth);
  codec.languages = {"eng", "fra"};
  codec.max_input = 1;
  const TokenizedSentence sentence = codec.encode({.input = "a b", .prefix = "c"});
  ASSERT_EQ(sentence.parts.size(), 2u);
  EXPECT_THAT(sentence.parts[0].input.forced, ElementsAre(6));
  EXPECT_THAT(sentence.parts[0].input.prefix, ElementsAre(4));
  EXPECT_THAT(sentence.parts[1].input.forced, ElementsAre(6));
  EXPECT_THAT(sentence.parts[1].input.prefix, testing::IsEmpty());
  EXPECT_EQ(sentence.num_tokens(), 8);  // two parts of three tokens, the language and the prefix
}

TEST(TextCodec, PrefersTheLanguagesOfARequest) {
  TextCodec codec = codec_with_languages(LanguagePlace::kAfterInput);
  codec.languages = {"eng", "fra"};

  const TokenizedSentence sentence = codec.encode({.input = "a", .languages = {"fra", "eng"}});
  EXPECT_THAT(tokens_of(sentence), ElementsAre(ElementsAre(2, 0, 6)));
  EXPECT_THAT(sentence.parts.at(0).input.forced, ElementsAre(5));
  EXPECT_THAT(tokens_of(codec.encode({.input = "a", .languages = {.output = "eng"}})),
              ElementsAre(ElementsAre(2, 0, 5)));
}

TEST(TextCodec, NeedsTheLanguagesOfARequest) {
  TextCodec codec = codec_with_languages(LanguagePlace::kBeforeBoth);
  EXPECT_EQ(error_of([&] { codec.encode({.input = "a"}); }),
            "translate: the input language is not given, needs one of the model's 2 languages, such as eng, fra; set "
            "--from or data.input_language");
  EXPECT_EQ(error_of([&] {
              codec.encode({.input = "a", .languages = {"eng", "deu"}});
            }),
            "translate: the output language is deu, needs one of the model's 2 languages, such as eng, fra");
  EXPECT_EQ(error_of([] {
              four_word_codec().encode({.input = "a", .languages = {"eng", ""}});
            }),
            "translate: the input language is eng, but the model has no languages; leave out --from or "
            "data.input_language");
}

TEST(TextCodec, LeavesOutTokensAroundInputsAndTheLanguageOfOutputs) {
  TextCodec codec = codec_with_languages(LanguagePlace::kBeforeBoth);
  codec.languages = {"eng", "fra"};
  const TokenizedSentence sentence = codec.encode({.input = "a b"});
  Hypothesis hypothesis = make_hypothesis({6, 4, 3}, -1);
  hypothesis.ponder_steps = {9, 1, 2, 3};
  // Rows of the language, c, b and the end token; columns of the language, a, b and the end token.
  hypothesis.attention = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1};

  const Translation found = decode_one(codec, sentence, hypothesis);

  EXPECT_THAT(found.input_tokens, ElementsAre("a", "b"));
  const TranslatedText& output = found.outputs.at(0);
  EXPECT_EQ(output.text, "c b");
  EXPECT_THAT(output.tokens, ElementsAre("c", "b"));
  EXPECT_THAT(output.token_numbers, ElementsAre(4, 3));
  EXPECT_THAT(output.ponder_steps, ElementsAre(1, 2, 3));
  EXPECT_THAT(output.alignment, ElementsAre(AlignedPair{1, 0}));
  EXPECT_THAT(output.attention, ElementsAre(AttentionRow{0, {0, 1}}, AttentionRow{0, {0, 0}}));
}

TEST(TextCodec, LimitsInputsToPositionsWithTheTokensAroundThem) {
  TextCodec codec = codec_with_languages(LanguagePlace::kBeforeBoth);
  codec.max_positions = 10;
  codec.limit_input(0);
  EXPECT_EQ(codec.max_input, 8);
}

/// Returns the translation by a model that copies words, of which the text has the vocabulary.
Translation translated_by_words(const std::string& words, const std::string& input, TranslatorOptions options = {}) {
  Translator translator = copying_translator(words, std::move(options));
  return translator.translate(input);
}

TEST(TextCodec, CopiesAnInputWithoutWords) {
  for (const std::string input : {"1", " 31. ", "417.93 \u20AC", "-", "(\u2026)", "\u3000*", "https://a.org", "A4"}) {
    EXPECT_EQ(translated_by_words("a b", input).outputs.at(0).text, input);
  }
  EXPECT_EQ(translated_by_words("a b", " \u3000").outputs.at(0).text, "");
  const Translation found = translated_by_words("a b", "12:30", {.alignment = true});
  EXPECT_THAT(found.input_tokens, ElementsAre("12:30"));
  EXPECT_THAT(found.outputs.at(0).tokens, ElementsAre("12:30"));
  EXPECT_THAT(found.outputs.at(0).alignment, ElementsAre(AlignedPair{0, 0}));
}

TEST(TextCodec, PutsASpanThatTheModelDoesNotReadBackWithTheSpacesOfTheInput) {
  const std::string words = "see file. file, now (see) it";
  for (const std::string input :
       {"see https://a.org now", "{x} see file.", "see {x}{y} file.", "see %s %d file.", "see it {x}",
        "see \"a.txt\" now", "see (a.txt) now", "**see** file. [now](b.md) it", "<b>see</b> <x id='1'/> it"}) {
    EXPECT_EQ(translated_by_words(words, input).outputs.at(0).text, input);
  }
}

TEST(TextCodec, PutsASpanBetweenAWordAndItsMark) {
  const std::vector<std::string> characters = {"se, now.()"};
  const auto vocabulary = build_vocabulary({std::span(characters)}, {.kind = VocabularyKind::kCharacters});
  Translator translator = copying_translator(TextCodec{.vocabularies = {vocabulary, vocabulary}});
  for (const std::string input : {"see {x}, now", "see {x}.", "now (see {x}) {y}, see", "{x}, see now {y}"}) {
    EXPECT_EQ(translator.translate(input).outputs.at(0).text, input);
  }
}

TEST(TextCodec, NumbersSpansWithTheTokens) {
  const Translation found = translated_by_words("a b c", "a {x} b", {.alignment = true});
  EXPECT_THAT(found.input_tokens, ElementsAre("a", "{x}", "b"));
  const TranslatedText& output = found.outputs.at(0);
  EXPECT_THAT(output.tokens, ElementsAre("a", "{x}", "b"));
  EXPECT_EQ(output.token_numbers.at(1), kSpecial.unknown);
  EXPECT_THAT(output.alignment, ElementsAre(AlignedPair{0, 0}, AlignedPair{1, 1}, AlignedPair{2, 2}));
  EXPECT_THAT(output.attention,
              ElementsAre(AttentionRow{0, {1, 0, 0}}, AttentionRow{0, {0, 1, 0}}, AttentionRow{0, {0, 0, 1}}));
}

TEST(TextCodec, GivesNoAlignmentsThatWereNotRequested) {
  const TranslatedText output = translated_by_words("a b", "a {x} b").outputs.at(0);
  EXPECT_EQ(output.text, "a {x} b");
  EXPECT_TRUE(output.alignment.empty());
  EXPECT_TRUE(output.attention.empty());
}

TEST(TextCodec, KeepsEachSpanOnceInALongInputThatIsSplitOrCut) {
  const std::string words = "a b. c d. e f";
  EXPECT_EQ(translated_by_words(words, "a {1} b. c {2} d. e {3} f", {.max_input = 2}).outputs.at(0).text,
            "a {1} b. c {2} d. e {3} f");
  const Translation cut =
      translated_by_words(words, "a {1} b. c {2} d.", {.max_input = 2, .long_inputs = LongInputs::kCut});
  EXPECT_TRUE(cut.was_cut);
  EXPECT_EQ(cut.outputs.at(0).text, "a {1} b.");
}

TEST(TextCodec, ReadsAPlaceholderOfTheVocabularyForEachOfTheFirstFourSpans) {
  const std::string words = "a b \uE001 \uE002 \uE003 \uE004";
  const auto vocabulary = make_word_vocabulary(words);
  TextCodec codec = {.vocabularies = {vocabulary, vocabulary}, .is_protecting = true};
  codec.placeholders = find_placeholders(*vocabulary, *vocabulary);
  const TokenizedSentence sentence = codec.encode({.input = "a {1} {2} b {3} {4} {5} a"});
  EXPECT_EQ(sentence.parts.at(0).input.tokens, vocabulary->encode("a \uE001 \uE002 b \uE003 \uE004 a"));
  EXPECT_EQ(sentence.parts.at(0).input.once.size(), 4U);
  EXPECT_EQ(translated_by_words(words, "a {1} {2} b {3} {4} {5} a").outputs.at(0).text, "a {1} {2} b {3} {4} {5} a");
}

TEST(TextCodec, PlacesASpanWhosePlaceholderTheOutputLacks) {
  const auto vocabulary = make_word_vocabulary("a b \uE001 \uE002");
  TextCodec codec = {.vocabularies = {vocabulary, vocabulary}, .is_protecting = true};
  codec.placeholders = find_placeholders(*vocabulary, *vocabulary);
  const TokenizedSentence sentence = codec.encode({.input = "a {1} b"});
  Hypothesis hypothesis = make_hypothesis(vocabulary->encode("a b"), -1);
  hypothesis.attention = {1, 0, 0, 0, 0, 1, 0, 0, 1};
  EXPECT_EQ(decode_one(codec, sentence, hypothesis).outputs.at(0).text, "a {1} b");
}

TEST(TextCodec, PutsASpanAtTheEndOfASentenceInFrontOfItsMarkWhateverTheAlignmentOfTheMark) {
  const std::vector<std::string> characters = {"ab ."};
  const auto vocabulary = build_vocabulary({std::span(characters)}, {.kind = VocabularyKind::kCharacters});
  TextCodec codec = {.vocabularies = {vocabulary, vocabulary}, .is_protecting = true};
  const TokenizedSentence sentence = codec.encode({.input = "a b {1}."});
  Hypothesis hypothesis = make_hypothesis(vocabulary->encode("a b."), -1);
  hypothesis.attention = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1};  // the mark is aligned to b
  EXPECT_EQ(decode_one(codec, sentence, hypothesis).outputs.at(0).text, "a b {1}.");
}

TEST(TextCodec, RemovesInvisibleCharactersFromWords) {
  EXPECT_EQ(translated_by_words("open door", "o\u00ADpen do\u200Bor\uFE0F").outputs.at(0).text, "open door");
}

TEST(TextCodec, ReadsASentenceInCapitalsAsItsVocabularyHasItAndWritesCapitals) {
  EXPECT_EQ(translated_by_words("Come in . sit", "COME IN .").outputs.at(0).text, "COME IN .");
  EXPECT_EQ(translated_by_words("come in", "COME IN").outputs.at(0).text, "COME IN");
  const Translation found = translated_by_words("Come in https", "COME {a} IN", {.alignment = true});
  EXPECT_EQ(found.outputs.at(0).text, "COME {a} IN");
  EXPECT_THAT(found.input_tokens, ElementsAre("COME", "{a}", "IN"));
  EXPECT_THAT(found.outputs.at(0).tokens, ElementsAre("COME", "{a}", "IN"));
}

TEST(TextCodec, KeepsCapitalsThatItsVocabularyHas) {
  EXPECT_EQ(translated_by_words("NATO a", "NATO").outputs.at(0).token_numbers.at(0), 4);
}

TEST(TextCodec, PassesTextAsItIsWithoutProtectionAndWithAPrefix) {
  EXPECT_EQ(translated_by_words("a 1 {x}", "a 1 {x}", {.protect = false}).input_tokens.size(), 3U);
  EXPECT_EQ(translated_by_words("1", "1", {.protect = false}).outputs.at(0).token_numbers.at(0), 4);
  TextCodec codec = four_word_codec();
  EXPECT_THAT(tokens_of(codec.encode({.input = "A B"})), ElementsAre(Tokens(2, kSpecial.unknown)));
  codec.is_protecting = true;
  EXPECT_TRUE(codec.encode({.input = "a {x}", .prefix = "a"}).spans.empty());
}

TEST(TextCodec, KeepsForEachOutputTokenTheAttentionToItsPartAndNoMore) {
  const TextCodec codec = four_word_codec();
  constexpr std::size_t kParts = 2000;
  Hypothesis copied = make_hypothesis({kWords[0], kWords[1]}, -1);
  copied.attention = {0.75, 0.25, 0.25, 0.75, 0.5, 0.5};
  const TokenizedSentence sentence = {.parts = std::vector(kParts, searched_part({kWords[0], kWords[1]}, {copied}))};

  const Translation found = codec.decode(sentence, 1);

  const TranslatedText& output = found.outputs.at(0);
  ASSERT_EQ(output.attention.size(), 2 * kParts);
  ASSERT_EQ(output.alignment.size(), 2 * kParts);
  for (std::size_t i = 0; i < output.attention.size(); ++i) {
    const bool is_first = i % 2 == 0;
    const auto begin = static_cast<std::int64_t>(i - i % 2);
    const std::vector<float> weights = is_first ? std::vector{0.75f, 0.25f} : std::vector{0.25f, 0.75f};
    ASSERT_EQ(output.attention[i], (AttentionRow{begin, weights}));
    ASSERT_EQ(output.alignment[i], (AlignedPair{static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)}));
  }
}

}  // namespace
}  // namespace edgewise
