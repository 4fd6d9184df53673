// SPDX-License-Identifier: Apache-2.0
// Models of CTranslate2 (ctranslate2_models/make_models) give its results after import_model. To test more models:
// EDGEWISE_CTRANSLATE2=FOLDER build/tests/convert/test_convert --gtest_filter='*ImportedCtranslate2*'
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/translate/translator.h"
#include "tests/base/support.h"
#include "tests/convert/scored_case.h"
#include "tests/convert/trainable_model.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr double kScoreTolerance = 1e-4;  // of a log-probability

fs::path folder_of_ctranslate2() {
  const char* other = std::getenv("EDGEWISE_CTRANSLATE2");
  return other != nullptr ? other : EDGEWISE_CONVERT_FIXTURES "/../ctranslate2_models";
}

std::vector<std::string> list_ctranslate2() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_of_ctranslate2())) {
    if (fs::exists(entry.path() / "cases.json")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

class ImportedCtranslate2Test : public testing::TestWithParam<std::string> {
 protected:
  ImportedCtranslate2Test() : source_(folder_of_ctranslate2() / GetParam()), cases_(read_scored_cases(source_)) {}

  /// Imports a directory.
  ModelFiles read(const fs::path& source, std::string_view name = "model") const {
    write_model(import_model(source, "test"), temporary_ / name, "test");
    return read_model_files(temporary_ / name, "test");
  }

  const fs::path source_;
  const std::vector<ScoredCase> cases_;
  const TemporaryFolder temporary_;
};

/// Returns a text with its languages, which begin the tokens of both sides.
TranslationRequest request_of(const ScoredCase& given, const ModelFiles& model) {
  TranslationRequest request = {.input = given.text};
  const SentenceRules& rules = model.codec.vocabularies.input->rules();
  if (rules.language_place != LanguagePlace::kBeforeBoth) return request;
  for (const Language& language : rules.languages) {
    if (language.token == given.input.front()) request.languages.input = language.name;
    if (language.token == given.forced.front()) request.languages.output = language.name;
  }
  return request;
}

TEST_P(ImportedCtranslate2Test, SplitsTextIntoTheTokensOfCtranslate2) {
  const ModelFiles model = read(source_);
  for (const ScoredCase& expected : cases_) {
    const TokenizedSentence sentence = model.codec.encode(request_of(expected, model));
    ASSERT_EQ(sentence.parts.size(), 1U);
    EXPECT_EQ(sentence.parts[0].input.tokens, expected.input) << expected.text;
  }
}

TEST_P(ImportedCtranslate2Test, GivesTheTokensOfAnOutputTheirProbabilities) {
  ModelFiles model = read(source_);
  const std::int64_t begin = model.codec.vocabularies.output->rules().special.begin;
  const ScorerFactory make_scorer = make_runtime_scorer_factory(std::move(model));
  const auto scorer = make_scorer();
  for (const ScoredCase& expected : cases_) {
    SCOPED_TRACE(expected.text);
    const std::vector<float> found = log_probabilities_of(*scorer, expected.input, expected.forced, begin);
    ASSERT_EQ(found.size(), expected.log_probabilities.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected.log_probabilities[i], kScoreTolerance);
  }
}

TEST_P(ImportedCtranslate2Test, TranslatesWithTheLimitsOfItsConfig) {
  const ModelFiles model = read(source_);
  Translator translator(temporary_ / "model");
  const TranslationRequest request = request_of(cases_.front(), model);
  const TranslatedText found = translator.translate(std::span(&request, 1)).front().outputs.front();
  EXPECT_GE(std::ssize(found.token_numbers), 1);
  EXPECT_LE(std::ssize(found.token_numbers), 256);
}

/// Checks that two models have parameters of equal values, bit for bit.
void expect_equal_parameters(const SafetensorsFile& a, const SafetensorsFile& b) {
  for (const TensorInfo& tensor : a.tensors()) {
    if (are_scales(a, tensor)) continue;
    const TensorInfo* other = b.find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    ASSERT_EQ(other->shape, tensor.shape) << tensor.name;
    std::size_t count = 1;
    for (const std::int64_t dimension : tensor.shape) count *= static_cast<std::size_t>(dimension);
    std::vector<float> values(count), other_values(count);
    read_values(a, tensor, values);
    read_values(b, *other, other_values);
    EXPECT_EQ(values, other_values) << tensor.name;
  }
}

void write_files(const std::map<std::string, std::string>& files, const fs::path& directory) {
  fs::create_directory(directory);
  for (const auto& [name, bytes] : files) write_file_atomically(directory / name, bytes);
}

TEST_P(ImportedCtranslate2Test, IsEqualAfterExportAndImport) {
  const ModelFiles model = read(source_);
  write_files(export_ctranslate2(model, "test"), temporary_ / "exported");
  const ModelFiles again = read(temporary_ / "exported", "again");
  expect_equal_parameters(model.parameters, again.parameters);
  EXPECT_EQ(again.experiment.model.tying, model.experiment.model.tying);
  EXPECT_EQ(again.experiment.model.positions, model.experiment.model.positions);
  EXPECT_EQ(again.experiment.data.end_input, model.experiment.data.end_input);
  EXPECT_EQ(again.experiment.vocabulary.shared, model.experiment.vocabulary.shared);
  for (const ScoredCase& expected : cases_) {
    EXPECT_EQ(again.codec.vocabularies.input->encode(expected.text),
              model.codec.vocabularies.input->encode(expected.text));
  }
}

TEST_P(ImportedCtranslate2Test, HasAConfigWithWhichTrainingCanStart) {
  read(source_);
  expect_trainable(temporary_ / "model");
}

INSTANTIATE_TEST_SUITE_P(All, ImportedCtranslate2Test, testing::ValuesIn(list_ctranslate2()),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace edgewise
