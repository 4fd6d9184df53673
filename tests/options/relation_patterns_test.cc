// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/relation_patterns.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "edgewise/options/experiment.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

constexpr std::string_view kOption = "train: model.relation";

RelationTerms terms_of(const std::string& text, Direction direction = Direction::kBoth) {
  return parse_patterns({{text}}, direction, kOption).of_layer(0);
}

std::string error_of_term(const std::string& text, Direction direction = Direction::kBoth) {
  return error_of([&] { terms_of(text, direction); });
}

TEST(RelationPatterns, ReadEveryTerm) {
  const auto term_of = [](const std::string& text) { return terms_of(text).front(); };
  EXPECT_EQ(term_of("causal"), (RelationTerm{.kind = TermKind::kCausal}));
  EXPECT_EQ(term_of("complete"), (RelationTerm{.kind = TermKind::kComplete}));
  EXPECT_EQ(term_of("document"), (RelationTerm{.kind = TermKind::kDocument}));
  EXPECT_EQ(term_of("window 256"), (RelationTerm{.kind = TermKind::kWindow, .size = 256}));
  EXPECT_EQ(term_of("dilated 64 by 16"), (RelationTerm{.kind = TermKind::kDilated, .size = 64, .step = 16}));
  EXPECT_EQ(term_of("sinks 4"), (RelationTerm{.kind = TermKind::kSinks, .size = 4}));
  EXPECT_EQ(term_of("global every 64"), (RelationTerm{.kind = TermKind::kGlobal, .size = 64}));
  EXPECT_EQ(term_of("blocks 128"), (RelationTerm{.kind = TermKind::kBlocks, .size = 128}));
  EXPECT_EQ(term_of("random 8"), (RelationTerm{.kind = TermKind::kRandom, .size = 8, .seed = 1}));
  EXPECT_EQ(term_of("random 8 seed 0"), (RelationTerm{.kind = TermKind::kRandom, .size = 8, .seed = 0}));
  EXPECT_EQ(term_of(" \twindow  256 "), (RelationTerm{.kind = TermKind::kWindow, .size = 256}));
}

TEST(RelationPatterns, RepeatOverTheLayers) {
  const RelationPatterns patterns = parse_patterns({{"window 8", "sinks 2"}, {"causal"}}, Direction::kCausal, kOption);

  EXPECT_EQ(format_terms(patterns.of_layer(0)), "window 8, sinks 2");
  EXPECT_EQ(format_terms(patterns.of_layer(1)), "causal");
  EXPECT_EQ(patterns.of_layer(4), patterns.of_layer(0));
  EXPECT_EQ(patterns.of_layer(5), patterns.of_layer(1));
}

TEST(RelationPatterns, AreTheDefaultIfEachLayerAttendsToAllTokens) {
  const auto is_default = [](const StringLists& texts, Direction direction) {
    return parse_patterns(texts, direction, kOption).is_default();
  };
  EXPECT_TRUE(is_default({{"causal"}, {"causal"}}, Direction::kCausal));
  EXPECT_TRUE(is_default({{"complete"}}, Direction::kBoth));
  EXPECT_FALSE(is_default({{"causal"}}, Direction::kBoth));
  EXPECT_FALSE(is_default({{"causal"}, {"window 1"}}, Direction::kCausal));
  EXPECT_FALSE(is_default({{"causal", "sinks 1"}}, Direction::kCausal));
}

rc::Gen<RelationTerm> arbitrary_written_term() {
  return rc::gen::exec([] {
    const auto number = [](std::int64_t most) {
      return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(1, most + 1));
    };
    RelationTerm term;
    term.kind = static_cast<TermKind>(*rc::gen::inRange(0, static_cast<int>(enum_names(TermKind()).size())));
    const bool is_whole =
        term.kind == TermKind::kCausal || term.kind == TermKind::kComplete || term.kind == TermKind::kDocument;
    if (!is_whole) term.size = *number(term.kind == TermKind::kRandom ? 10'000 : 1'000'000'000);
    if (term.kind == TermKind::kDilated) term.step = *number(1'000'000'000);
    if (term.kind == TermKind::kRandom) term.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 53);
    return term;
  });
}

RC_GTEST_PROP(RelationPatterns, ReadTheTermsThatFormatTermWrites, ()) {
  const auto term = *arbitrary_written_term();

  RC_ASSERT(terms_of(format_term(term)) == RelationTerms{term});
}

RC_GTEST_PROP(RelationPatterns, AreReadOrRefusedByName, ()) {
  const auto word = rc::gen::element<std::string>("window", "dilated", "by", "global", "every", "random", "seed", "0",
                                                  "1", "-1", "1e3", "999999999999999999999", "causal", "\xFF", "\n");
  const auto words = rc::gen::map(rc::gen::container<std::vector<std::string>>(word), [](const auto& all) {
    std::string text;
    for (const std::string& next : all) text += next + ' ';
    return text;
  });
  const auto text = *rc::gen::oneOf(words, rc::gen::arbitrary<std::string>());

  const std::string error = error_of_term(text);
  RC_ASSERT(error == "no error" || (error.starts_with("train: model.relation has \"") && error.size() < 800 &&
                                    error.find('\n') == std::string::npos));
  if (error == "no error") RC_ASSERT(terms_of(format_term(terms_of(text).front())) == terms_of(text));
}

TEST(RelationPatterns, HaveErrorsThatShowTheTerm) {
  EXPECT_EQ(
      error_of_term("windw 8"),
      "train: model.relation has \"windw 8\", needs a term: causal, complete, document, window N, dilated N by S, "
      "sinks N, global every N, blocks N, random N, random N seed R; did you mean window?");
  EXPECT_EQ(error_of_term("", Direction::kCausal),
            "train: model.relation has \"\", needs a term: causal, document, window N, dilated N by S, sinks N, global "
            "every N, blocks N, random N, random N seed R");
  EXPECT_EQ(error_of_term("window"), "train: model.relation has \"window\", needs window N");
  EXPECT_EQ(error_of_term("window 8 9"), "train: model.relation has \"window 8 9\", needs window N");
  EXPECT_EQ(error_of_term("global 64"), "train: model.relation has \"global 64\", needs global every N");
  EXPECT_EQ(error_of_term("random 8 9"), "train: model.relation has \"random 8 9\", needs random N or random N seed R");
  EXPECT_EQ(error_of_term("window 0"),
            "train: model.relation has \"window 0\", needs a whole number from 1 to 1000000000 instead of 0");
  EXPECT_EQ(error_of_term("dilated 4 by -1"),
            "train: model.relation has \"dilated 4 by -1\", needs a whole number from 1 to 1000000000 instead of -1");
  EXPECT_EQ(error_of_term("random 10001"),
            "train: model.relation has \"random 10001\", needs a whole number from 1 to 10000 instead of 10001");
  EXPECT_EQ(error_of_term("sinks four"),
            "train: model.relation has \"sinks four\", needs a whole number from 1 to 1000000000 instead of four");
  EXPECT_EQ(error_of_term("complete", Direction::kCausal),
            "train: model.relation has \"complete\", needs terms without later tokens, because a decoder has not "
            "computed them yet; use causal");
  EXPECT_EQ(error_of([] { parse_patterns({}, Direction::kBoth, kOption); }),
            "train: model.relation has 0 patterns, needs 1 to 1000");
  EXPECT_EQ(error_of([] {
              parse_patterns({{"causal"}, {}}, Direction::kBoth, kOption);
            }),
            "train: model.relation has a pattern of 0 terms, needs 1 to 32");
  EXPECT_EQ(error_of([] { parse_patterns({std::vector<std::string>(33, "causal")}, Direction::kBoth, kOption); }),
            "train: model.relation has a pattern of 33 terms, needs 1 to 32");
}

Experiment experiment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"data.task=copy", "vocabulary.shared=true", "model.encoder_layers=2",
                                  "model.decoder_layers=2"};
  all.insert(all.end(), settings.begin(), settings.end());
  return parse_experiment("", "config.toml", all);
}

std::string error_of_settings(const std::vector<std::string>& settings) {
  return error_of([&] { check_options(experiment_with(settings), "train"); });
}

TEST(RelationsInAConfig, AreTextsListsOrListsOfLists) {
  for (const std::string value : {R"("window 8")", R"(["window 8", "sinks 2"])", R"([["window 8"], ["causal"]])"}) {
    const Experiment experiment = experiment_with({"model.relation=" + value, "model.encoder_relation=" + value});
    EXPECT_EQ(error_of([&] { check_options(experiment, "train"); }), "no error") << value;
    const std::string toml = to_toml(experiment);
    EXPECT_NE(toml.find("\nrelation = " + value + "\nencoder_relation = " + value + "\n"), std::string::npos) << toml;
    const Experiment again = parse_experiment(toml, "config.toml");
    EXPECT_EQ(again.model.relation, experiment.model.relation);
    EXPECT_EQ(again.model.encoder_relation, experiment.model.encoder_relation);
  }
}

TEST(RelationsInAConfig, AreRefusedByTheNameOfTheOption) {
  EXPECT_EQ(error_of_settings({R"(model.encoder_relation=[["window 8"], ["windows 8"]])"}).substr(0, 55),
            "train: model.encoder_relation has \"windows 8\", needs a ");
  EXPECT_EQ(error_of_settings({R"(model.relation=[["window 1"], ["window 2"], ["window 3"]])"}),
            "train: model.relation has 3 patterns, needs at most decoder_layers, which is 2");
  EXPECT_EQ(error_of_settings({R"(model.relation=["complete"])"}),
            "train: model.relation has \"complete\", needs terms without later tokens, because a decoder has not "
            "computed them yet; use causal");
  EXPECT_EQ(error_of_settings({R"(model.relation=["window 8", "sinks 2"])", "model.kind=universal"}),
            "train: model.relation is \"window 8, sinks 2\", needs causal in a Universal Transformer");
  EXPECT_EQ(error_of_settings({"model.encoder_relation=causal", "model.kind=universal"}),
            "train: model.encoder_relation is \"causal\", needs complete in a Universal Transformer");
}

}  // namespace
}  // namespace edgewise
