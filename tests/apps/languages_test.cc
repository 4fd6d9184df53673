// SPDX-License-Identifier: Apache-2.0
// Models with the vocabulary of another system, and with languages.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/token_list.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// `</s>` 0, `<unk>` 1, words, `eng` 6, `fra` 7, `>>eng<<` 8, `>>fra<<` 9, `<pad>` 10.
TokenList list_with_languages(LanguagePlace place) {
  TokenList list = {.text = TokenText::kTokens,
                    .tokens = {"</s>", "<unk>", "a", "b", "c", "d", "eng", "fra", ">>eng<<", ">>fra<<", "<pad>"}};
  const std::int64_t first = place == LanguagePlace::kOutputBeforeInput ? 8 : 6;
  list.rules = {.special = {.padding = 10, .unknown = 1, .begin = 10, .end = 0},
                .omitted = {0, 1, 6, 7, 10},
                .forbidden = {6, 7, 8, 9, 10},
                .end_input = true,
                .language_place = place};
  if (place != LanguagePlace::kNone) list.rules.languages = {{"eng", first}, {"fra", first + 1}};
  return list;
}

class LanguagesProgram : public ProgramTest {
 protected:
  LanguagesProgram() { write("text.tsv", "a b\tb a\nc d a\ta d c\nb c\tc b\nd a\ta d\n"); }

  /// Trains a tiny model for a few steps.
  void train(LanguagePlace place, const std::vector<std::string>& settings) const {
    std::filesystem::create_directory(path("vocabulary"));
    const auto vocabulary =
        make_mapped_vocabulary(std::make_shared<TokenIndex>(list_with_languages(place), "test"), nullptr);
    write("vocabulary/vocabulary.json", vocabulary->serialize());
    write_manifest(path("vocabulary"), {"vocabulary.json"});
    write("tiny.toml", "[data]\ntrain = [\"text.tsv\"]\nvalid = [\"text.tsv\"]\nend_input = true\n" + kTinyModelConfig);
    std::vector<std::string> arguments = {"train", "tiny.toml",
                                          "--out", "run",
                                          "--set", "train.steps=2",
                                          "--set", "vocabulary.kind=mapped",
                                          "--set", "vocabulary.file=vocabulary"};
    for (const std::string& setting : settings) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    run_well(arguments);
  }

  std::vector<std::string> translate_with(const std::vector<std::string>& options) const {
    std::vector<std::string> arguments = {"translate", "--model", "run", "input"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }
};

TEST_F(LanguagesProgram, TranslateBetweenTheLanguagesOfTheOptionsOrTheConfig) {
  train(LanguagePlace::kBeforeBoth, {"data.input_language=eng", "data.output_language=fra"});
  write("input", "a b\nc d\n");

  const std::string translated = run_well(translate_with({"--scores"}));
  EXPECT_EQ(run_well(translate_with({"--scores", "--from", "eng", "--to", "fra"})), translated);
  EXPECT_NE(run_well(translate_with({"--scores", "--to", "eng"})), translated);
  EXPECT_NE(run_well(translate_with({"--scores", "--from", "fra"})), translated);
  EXPECT_THAT(run_well({"inspect", "run"}), HasSubstr("input       11 tokens (mapped), 2 languages\n"));
  expect_refused(translate_with({"--to", "fre"}),
                 "Translator: the output language is fre, needs one of the model's 2 languages, such as fra");
  expect_refused(translate_with({"--from", ""}), "edgewise translate: --from is empty, needs the name of a language");
}

TEST_F(LanguagesProgram, SplitATextByTheInputLanguageOfTheOptionsOrTheConfig) {
  train(LanguagePlace::kBeforeBoth, {"data.input_language=eng", "data.output_language=fra"});
  write("input", "a b Mme. A b\n");  // one sentence in French, two in English
  const auto translate_text = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--text", "--set", "search.min_length=2"});
    return run_well(translate_with(options));
  };

  EXPECT_NE(translate_text({"--text-language", "fr"}), translate_text({"--text-language", "en"}));
  EXPECT_EQ(translate_text({}), translate_text({"--text-language", "en"}));
  EXPECT_EQ(translate_text({"--from", "fra"}), translate_text({"--from", "fra", "--text-language", "fr"}));
}

TEST_F(LanguagesProgram, TakeTheOutputLanguageFromTheOptionOrTheLine) {
  train(LanguagePlace::kOutputBeforeInput, {"data.output_language=fra"});
  write("input", "a b\n");
  write("coded", ">>eng<< a b\n");

  const std::string french = run_well(translate_with({"--scores"}));
  const std::string english = run_well(translate_with({"--scores", "--to", "eng"}));
  EXPECT_NE(french, english);
  EXPECT_EQ(run_well({"translate", "--model", "run", "coded", "--scores"}), english);
  EXPECT_EQ(run_well({"translate", "--model", "run", "coded", "--scores", "--to", "fra"}), english);
  expect_refused(translate_with({"--from", "eng"}),
                 "Translator: the input language is eng, but the model has only output languages; leave out --from or "
                 "data.input_language");
}

TEST_F(LanguagesProgram, HavePonderStepsInAUniversalTransformer) {
  train(LanguagePlace::kBeforeBoth,
        {"data.input_language=eng", "data.output_language=fra", "model.kind=universal", "model.decoder_layers=3"});
  write("input", "a b\n");

  const auto inspected = nlohmann::json::parse(run_well({"inspect", "run", "--ponder", "input", "--json"}));
  const auto translated = nlohmann::json::parse(run_well(translate_with({"--json"})));

  const nlohmann::json& sentence = inspected.at("sentences").at(0);
  std::vector<std::string> texts;
  for (const nlohmann::json& token : sentence.at("input")) texts.push_back(token.at("text"));
  EXPECT_THAT(texts, ElementsAre("eng", "a", "b", "</s>"));
  std::vector<std::int64_t> steps;
  for (const nlohmann::json& token : sentence.at("output")) steps.push_back(token.at("steps"));
  EXPECT_EQ(sentence.at("output").at(0).at("text"), "fra");
  EXPECT_EQ(translated.at("outputs").at(0).at("steps"), steps);
}

TEST_F(LanguagesProgram, AreRefusedWhereTheModelHasNone) {
  train(LanguagePlace::kNone, {});
  write("input", "a b\n");

  run_well(translate_with({}));
  expect_refused(translate_with({"--to", "fra"}),
                 "Translator: the output language is fra, but the model has no languages; leave out --to or "
                 "data.output_language");
}

TEST_F(LanguagesProgram, RefuseToLearnAMappedVocabularyOrToDropTheEndOfInputs) {
  train(LanguagePlace::kNone, {});
  expect_refused(
      {"vocab", "tiny.toml", "--out", "v", "--set", "vocabulary.kind=mapped"},
      "vocab: vocabulary.kind is mapped, needs vocabulary.file, the directory of an imported model; a mapped "
      "vocabulary cannot be learned");
  const ProcessResult result = run({"train", "tiny.toml", "--out", "other", "--set", "vocabulary.kind=mapped", "--set",
                                    "vocabulary.file=run/best", "--set", "data.end_input=false"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("PairEncoder: data.end_input is false, needs true, as the vocabulary says"));
}

}  // namespace
}  // namespace edgewise
