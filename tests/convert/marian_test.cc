// SPDX-License-Identifier: Apache-2.0
// A model that Edgewise trained and exported (check_marian --fixture) gives after import_model what Marian computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/files/json_settings.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "tests/base/support.h"
#include "tests/convert/model_folders.h"
#include "tests/convert/scored_case.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr double kMarianTolerance = 1e-4;  // of a score, and of a log-probability; Marian prints six digits

/// An output of Marian.
struct MarianOutput {
  std::vector<std::string> tokens;
  std::vector<double> log_probabilities;  // of the tokens and, unless the output is at the limit, of the end token
  double score = 0;
};

MarianOutput parse_output(const JsonValue& json) {
  MarianOutput output = {{}, to_numbers(json.members.at("log_probabilities")), json.members.at("score").number};
  for (const JsonValue& token : json.members.at("tokens").items) output.tokens.push_back(token.text);
  return output;
}

class MarianFixtureTest : public testing::Test {
 protected:
  MarianFixtureTest() { write_model(import_model(source_, "test"), directory(), "test"); }

  fs::path directory() const { return temporary_.path() / "model"; }
  std::vector<JsonValue> cases() const {
    return JsonSettings::read(source_ / "marian_outputs.json", "test").find("cases")->items;
  }

  const fs::path source_ = fs::path(EDGEWISE_CONVERT_FIXTURES) / "../models/marian_npz";

 private:
  TemporaryFolder temporary_;
};

TEST_F(MarianFixtureTest, TranslatesAsMarianDoes) {
  for (const JsonValue& given : cases()) {
    const auto beam = static_cast<std::int64_t>(given.members.at("beam").number);
    const double penalty = given.members.at("length_penalty").number;
    const std::string& text = given.members.at("text").text;
    SCOPED_TRACE(fmt::format("beam {}: {}", beam, text));
    Translator translator(directory(), {.beam = beam, .n_best = beam, .length_penalty = penalty});
    const auto found = translator.translate(text).outputs;
    const std::vector<JsonValue>& outputs = given.members.at("outputs").items;
    ASSERT_EQ(found.size(), outputs.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const MarianOutput expected = parse_output(outputs[i]);
      EXPECT_EQ(found[i].tokens, expected.tokens);
      EXPECT_NEAR(found[i].score, expected.score, kMarianTolerance);
    }
  }
}

TEST_F(MarianFixtureTest, GivesTheTokensOfAnOutputTheProbabilitiesOfMarian) {
  ModelFiles model = read_model_files(directory(), "test");
  const TextCodec codec = model.codec;
  const Vocabulary& vocabulary = *codec.vocabularies.output;
  std::map<std::string, std::int64_t, std::less<>> number_of;
  for (std::int64_t i = 0; i < vocabulary.size(); ++i) number_of.emplace(vocabulary.token_text(i), i);
  const ScorerFactory make_scorer = make_runtime_scorer_factory(std::move(model));
  const auto scorer = make_scorer();
  for (const JsonValue& given : cases()) {
    SCOPED_TRACE(given.members.at("text").text);
    const Tokens input = codec.encode({.input = given.members.at("text").text}).parts.at(0).input.tokens;
    for (const JsonValue& json : given.members.at("outputs").items) {
      const MarianOutput expected = parse_output(json);
      Tokens forced;
      for (const std::string& token : expected.tokens) forced.push_back(number_of.at(token));
      forced.push_back(vocabulary.special().end);
      const auto found = log_probabilities_of(*scorer, input, forced, vocabulary.special().begin);
      for (std::size_t i = 0; i < expected.log_probabilities.size(); ++i) {
        EXPECT_NEAR(found[i], expected.log_probabilities[i], kMarianTolerance);
      }
    }
  }
}

TEST_F(MarianFixtureTest, GivesPaddingNoProbabilityInAnyPrecision) {
  for (const auto& [precision, name] : enum_names(RuntimePrecision{})) {
    SCOPED_TRACE(name);
    ModelFiles model = read_model_files(directory(), "test");
    const SpecialTokens special = model.codec.vocabularies.output->special();
    const ScorerFactory make_scorer = make_runtime_scorer_factory(std::move(model), precision);
    const auto scorer = make_scorer();
    scorer->encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{{9, 8, special.end}});
    const std::vector<NewNode> nodes = {{.slot = 0, .parent = HypothesisTree::kRoot, .token = special.begin}};
    StepResult result;
    scorer->step({.nodes = nodes, .all = true}, result);
    EXPECT_EQ(std::exp(result.log_probabilities[static_cast<std::size_t>(special.padding)]), 0.0F);
    const double sum = std::accumulate(result.log_probabilities.begin(), result.log_probabilities.end(), 0.0,
                                       [](double so_far, float value) { return so_far + std::exp(value); });
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

}  // namespace
}  // namespace edgewise
