// SPDX-License-Identifier: Apache-2.0
// Models of other systems (models/make_models) give the results of those systems after import_model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/files/json_settings.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/search/scorer.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "tests/base/support.h"
#include "tests/convert/model_folders.h"
#include "tests/convert/trainable_model.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-4;  // of a log-probability

Tokens to_tokens(const JsonValue& list) {
  Tokens tokens;
  for (const JsonValue& item : list.items) tokens.push_back(static_cast<std::int64_t>(item.number));
  return tokens;
}

/// An output of generate().
struct Output {
  Tokens tokens;  // with the begin token
  std::string text;
  double score = 0;
};

struct Case {
  std::string text;
  Tokens input;
  Tokens forced;
  std::vector<double> log_probabilities;
  std::map<std::int64_t, Output> outputs;  // by beam
};

Case parse_case(const JsonValue& json) {
  Case result = {
      json.members.at("text").text, to_tokens(json.members.at("ids")), to_tokens(json.members.at("forced")), {}, {}};
  for (const JsonValue& item : json.members.at("log_probabilities").items)
    result.log_probabilities.push_back(item.number);
  for (const auto& [beam, output] : json.members.at("outputs").members) {
    const auto score = output.members.find("score");
    result.outputs[std::stoll(beam)] = {to_tokens(output.members.at("ids")), output.members.at("text").text,
                                        score == output.members.end() ? 0 : score->second.number};
  }
  return result;
}

std::vector<Case> read_cases(const fs::path& model) {
  const JsonSettings json = JsonSettings::read(model / "cases.json", "test");
  std::vector<Case> cases;
  for (const JsonValue& item : json.find("cases")->items) cases.push_back(parse_case(item));
  return cases;
}

class ImportedModelTest : public testing::TestWithParam<std::string> {
 protected:
  ImportedModelTest() : source_(folder_of_models() / GetParam()), cases_(read_cases(source_)) {
    write_model(import_model(source_, "test"), model_directory(), "test");
  }

  fs::path model_directory() const { return temporary_.path() / "model"; }
  ModelFiles read() const { return read_model_files(model_directory(), "test"); }

  const fs::path source_;
  const std::vector<Case> cases_;

 private:
  TemporaryFolder temporary_;
};

TEST_P(ImportedModelTest, SplitsTextIntoTheTokensOfTheTokenizer) {
  const ModelFiles model = read();
  for (const Case& expected : cases_) {
    const TokenizedSentence sentence = model.codec.encode({.input = expected.text});
    ASSERT_EQ(sentence.parts.size(), 1U);
    EXPECT_EQ(sentence.parts[0].input.tokens, expected.input) << expected.text;
  }
}

/// Returns the log-probability of each token of an output.
std::vector<float> log_probabilities_of(Scorer& scorer, const Case& given, std::int64_t begin) {
  const std::vector<std::int64_t> slots = {0};
  scorer.encode(slots, std::vector<Tokens>{given.input});
  std::vector<NewNode> nodes;
  std::vector<Continuation> wanted;
  for (std::size_t i = 0; i < given.forced.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    nodes.push_back(
        {.slot = 0, .parent = static_cast<NodeIndex>(row - 1), .token = i == 0 ? begin : given.forced[i - 1]});
    wanted.push_back({row, given.forced[i]});
  }
  StepResult result;
  scorer.step({.nodes = nodes, .wanted = wanted}, result);
  return result.wanted;
}

TEST_P(ImportedModelTest, GivesTheTokensOfAnOutputTheirProbabilities) {
  ModelFiles model = read();
  const std::int64_t begin = model.codec.vocabularies.output->rules().special.begin;
  const ScorerFactory make_scorer = make_runtime_scorer_factory(std::move(model));
  const auto scorer = make_scorer();
  for (const Case& expected : cases_) {
    SCOPED_TRACE(expected.text);
    const std::vector<float> found = log_probabilities_of(*scorer, expected, begin);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected.log_probabilities[i], kTolerance);
  }
}

/// Returns the tokens of an output of generate() without those around the sentence.
Tokens inner_tokens(const Output& output, const SentenceRules& rules) {
  Tokens tokens(output.tokens.begin() + 1, output.tokens.end());
  const bool has_language =
      rules.language_place == LanguagePlace::kBeforeBoth || rules.language_place == LanguagePlace::kAfterInput;
  if (has_language) tokens.erase(tokens.begin());
  if (!tokens.empty() && tokens.back() == rules.special.end) tokens.pop_back();
  return tokens;
}

TEST_P(ImportedModelTest, TranslatesAsGenerateDoes) {
  for (const auto& [beam, unused] : cases_.front().outputs) {
    Translator translator(model_directory(), {.beam = beam});
    const SentenceRules rules = read().codec.vocabularies.output->rules();
    int ties = 0;
    for (const Case& given : cases_) {
      SCOPED_TRACE(fmt::format("beam {}: {}", beam, given.text));
      const Output& expected = given.outputs.at(beam);
      const TranslatedText found = translator.translate(given.text).outputs.front();
      const bool is_same_score = beam > 1 && std::abs(found.score - expected.score) < kTolerance;
      if (found.token_numbers != inner_tokens(expected, rules) && is_same_score) {
        ++ties;
        continue;
      }
      EXPECT_EQ(found.token_numbers, inner_tokens(expected, rules));
      EXPECT_EQ(found.text, expected.text);
      if (beam > 1) {
        EXPECT_NEAR(found.score, expected.score, kTolerance);
      }
    }
    if (ties > 0) RecordProperty(fmt::format("ties_beam_{}", beam), ties);
    EXPECT_LE(ties, std::ssize(cases_) / 20);
  }
}

TEST_P(ImportedModelTest, HasAConfigWithWhichTrainingCanStart) { expect_trainable(model_directory()); }

INSTANTIATE_TEST_SUITE_P(All, ImportedModelTest, testing::ValuesIn(list_models()),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace edgewise
