// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "edgewise/text/metrics/bleu.h"
#include "edgewise/text/metrics/chrf.h"
#include "edgewise/text/unicode.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using Lines = std::vector<std::string>;

const nlohmann::json& fixtures() {
  static const auto kFixtures = nlohmann::json::parse(std::ifstream(EDGEWISE_TEXT_FIXTURES "/metrics.json"));
  return kFixtures;
}

BleuTokenizer tokenizer_named(const std::string& name) {
  for (const auto& known : enum_names(BleuTokenizer{})) {
    if (known.name == name) return known.value;
  }
  throw std::out_of_range(name);
}

/// Replaces sacreBLEU's version in a signature by this program's.
std::string as_ours(std::string signature) {
  return signature.replace(signature.find("version:2.6.0"), std::string::npos, "version:edgewise-0.1+sacrebleu-2.6.0");
}

Lines words_of(std::string_view line) {
  const auto words = split_words(line);
  return {words.begin(), words.end()};
}

TEST(Bleu, EqualsSacreBleuToTheLastPrintedDigit) {
  for (const auto& corpus : fixtures().at("cases")) {
    for (const auto& expected : corpus.at("scores")) {
      if (expected.at("metric") != "bleu") continue;
      SCOPED_TRACE(corpus.at("name").get<std::string>() + ": " + expected.dump());
      const BleuOptions options = {.tokenizer = tokenizer_named(expected.at("tokenizer")),
                                   .lower_case = expected.at("lower_case")};

      const BleuScore actual =
          bleu(corpus.at("hypotheses").get<Lines>(), corpus.at("references").get<Lines>(), options);

      EXPECT_EQ(actual.format(), expected.at("printed"));
      EXPECT_NEAR(actual.score, expected.at("score").get<double>(), 1e-9);
      if (expected.contains("signature")) {
        EXPECT_EQ(bleu_signature(options), as_ours(expected.at("signature")));
      }
    }
  }
}

TEST(Chrf, EqualsSacreBleuToTheLastPrintedDigit) {
  for (const auto& corpus : fixtures().at("cases")) {
    for (const auto& expected : corpus.at("scores")) {
      if (expected.at("metric") != "chrf") continue;
      SCOPED_TRACE(corpus.at("name").get<std::string>() + ": " + expected.dump());
      const ChrfOptions options = {.word_order = expected.at("word_order"), .lower_case = expected.at("lower_case")};

      const ChrfScore actual =
          chrf(corpus.at("hypotheses").get<Lines>(), corpus.at("references").get<Lines>(), options);

      EXPECT_EQ(actual.format(), expected.at("printed"));
      EXPECT_NEAR(actual.score, expected.at("score").get<double>(), 1e-9);
      if (expected.contains("signature")) {
        EXPECT_EQ(chrf_signature(options), as_ours(expected.at("signature")));
      }
    }
  }
}

TEST(BleuTokenizers, SplitLinesAsSacreBleuDoes) {
  for (const auto& expected : fixtures().at("tokenized")) {
    const auto line = expected.at("line").get<std::string>();
    SCOPED_TRACE(line);
    for (const auto& tokenizer : enum_names(BleuTokenizer{})) {
      EXPECT_EQ(words_of(tokenize_for_bleu(line, tokenizer.value)),
                expected.at(std::string(tokenizer.name)).get<Lines>())
          << tokenizer.name;
    }
  }
}

TEST(Unicode, SplitsAndLowersAsPythonDoes) {
  for (const auto& expected : fixtures().at("tokenized")) {
    const auto line = expected.at("line").get<std::string>();
    SCOPED_TRACE(line);
    EXPECT_EQ(words_of(line), expected.at("words").get<Lines>());
    EXPECT_EQ(lower_case(line), expected.at("lower"));
  }
}

TEST(Bleu, PutsTheSignatureAfterTheName) {
  const Lines same = {"one two three four"};

  EXPECT_EQ(bleu(same, same).format(2, bleu_signature()),
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:edgewise-0.1+sacrebleu-2.6.0 = 100.00 "
            "100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 ref_len = 4)");
  EXPECT_EQ(chrf(same, same, {.word_order = 2}).format(2, chrf_signature({.word_order = 2})),
            "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:edgewise-0.1+sacrebleu-2.6.0 = 100.00");
}

TEST(Bleu, ReturnsTheCountsBehindItsScore) {
  const BleuScore score = bleu(Lines{"the the cat"}, Lines{"the cat sat down"});

  EXPECT_THAT(score.matches, testing::ElementsAre(2, 1, 0, 0));
  EXPECT_THAT(score.totals, testing::ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(score.hypothesis_length, 3);
  EXPECT_EQ(score.reference_length, 4);
  EXPECT_DOUBLE_EQ(score.ratio(), 0.75);
}

TEST(Bleu, IsZeroWithoutSmoothingIfAnOrderHasNoMatch) {
  const Lines hypothesis = {"a b c x e"};
  const Lines reference = {"a b c d e"};

  EXPECT_EQ(bleu(hypothesis, reference, {.smoothing = BleuSmoothing::kNone}).score, 0.0);
  EXPECT_GT(bleu(hypothesis, reference).score, 0.0);
  EXPECT_EQ(bleu_signature({.smoothing = BleuSmoothing::kNone}),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:none|version:edgewise-0.1+sacrebleu-2.6.0");
}

TEST(Metrics, ErrorsNameArgumentsThatDoNotFit) {
  const Lines none;
  const Lines one = {"a"};
  const Lines two = {"a", "b"};
  const Lines bad = {"a", "b\xFF"};

  EXPECT_EQ(error_of([&] { bleu(one, two); }),
            "bleu: hypotheses have 1 lines, but references have 2, needs one line each");
  EXPECT_EQ(error_of([&] { bleu(none, none); }), "bleu: hypotheses have 0 lines, need at least one");
  EXPECT_EQ(error_of([&] { bleu(bad, two); }), "bleu: hypotheses[1] has a byte at 1 that is not UTF-8, needs UTF-8");
  EXPECT_EQ(error_of([&] { chrf(two, bad); }), "chrf: references[1] has a byte at 1 that is not UTF-8, needs UTF-8");
  EXPECT_EQ(error_of([&] { chrf(one, one, {.word_order = 5}); }), "chrf: word_order is 5, needs 0 to 4");
  EXPECT_EQ(error_of([&] { tokenize_for_bleu("a", static_cast<BleuTokenizer>(7)); }),
            "tokenize_for_bleu: tokenizer is 7, needs one of enum_names");
}

}  // namespace
}  // namespace edgewise
