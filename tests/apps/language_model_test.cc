// SPDX-License-Identifier: Apache-2.0
// Language models: trained on texts, resumed, shared by processes, measured and inspected.
#include <gmock/gmock.h>

#include <cmath>
#include <regex>

#include "edgewise/base/files/files.h"
#include "tests/apps/program.h"
#include "tests/text/compression.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class LanguageModelProgram : public ProgramTest {
 protected:
  LanguageModelProgram() {
    write("in", text(0, 40));
    write("language.toml", kTinyLanguageConfig);
  }

  /// Returns lines that count, so that much of the text can be predicted.
  static std::string text(int begin, int end) {
    std::string lines;
    for (int i = begin; i < end; ++i) lines += "line " + std::to_string(i) + " of the text\n";
    return lines;
  }

  std::string train(const std::string& run, const Words& more = {}) const {
    return run_well(Words{"train", "language.toml", "--out", run} + more);
  }

  static Words set(const std::string& setting) { return {"--set", setting}; }

  /// Returns a number of a line of JSON.
  static double number_in(const std::string& json, const std::string& name) {
    std::smatch match;
    EXPECT_TRUE(std::regex_search(json, match, std::regex("\"" + name + "\": ([0-9.e-]+)"))) << json;
    return std::stod(match[1]);
  }

  std::string measure(const Words& arguments) const { return run_well(Words{"perplexity", "--json"} + arguments); }
};

TEST_F(LanguageModelProgram, LearnsATextAndReportsBitsPerCharacter) {
  const std::string output = train("run", set("train.steps=200"));

  EXPECT_THAT(output, HasSubstr("tokens from 790 bytes in 1 documents to learn from, 790 bytes to validate, 0 to test; "
                                "one vocabulary of 25 tokens\n"));
  EXPECT_THAT(output, HasSubstr("a language model of "));
  EXPECT_THAT(output, testing::ContainsRegex("validation loss [0-9.]+, accuracy [0-9.]+ %, perplexity [0-9.]+, [0-9.]+ "
                                             "bits per character"));
  const std::string json = measure({"--model", "run", "in"});
  EXPECT_LT(number_in(json, "loss"), 1.0);
  // Windows that overlap count each token once.
  const std::string metrics = read_file(path("run") / "metrics.jsonl");
  const std::string last = metrics.substr(metrics.rfind("valid_loss") - 1);
  EXPECT_NEAR(number_in(json, "accuracy"), number_in(last, "valid_accuracy"), 0.15);
  EXPECT_EQ(number_in(json, "tokens"), 791);
  EXPECT_EQ(number_in(json, "characters"), 790);
  EXPECT_NEAR(number_in(json, "perplexity"), std::exp(number_in(json, "loss")), 1e-9);
  EXPECT_NEAR(number_in(json, "bits_per_character"), number_in(json, "loss") * 791 / 790 / std::log(2), 1e-9);
}

TEST_F(LanguageModelProgram, HasTheLossOfItsBestValidationForItsValidationText) {
  train("run", set("train.validate_every=20"));

  // The windows of a context of one token, or without overlap in a text of one chunk, are those of the validation.
  const std::string json = measure({"--model", "run", "in", "--context", "1"});
  train("one", set("train.validate_every=20") + set("batch.length=1"));
  const double trained = number_in(measure({"--model", "one", "in", "--context", "1"}), "loss");
  const std::string metrics = read_file(path("one") / "metrics.jsonl");
  EXPECT_NEAR(number_in(metrics, "valid_loss"), trained, 1e-6);
  EXPECT_GT(number_in(json, "loss"), number_in(measure({"--model", "run", "in"}), "loss"));
}

TEST_F(LanguageModelProgram, MeasuresATextThatIsCompressedOrOnStandardInputAlike) {
  train("run");
  write("in.gz", compress_gzip(text(0, 40)));
  const std::string plain = measure({"--model", "run", "in"});

  EXPECT_EQ(measure({"--model", "run", "in.gz"}), plain);
  EXPECT_EQ(run_well({"perplexity", "--json", "--model", "run", "-"}, {.input = text(0, 40)}), plain);
}

TEST_F(LanguageModelProgram, GivesTheSameBitsInPartsAndInProcesses) {
  const Words settings = set("train.virtual_ranks=2") + set("train.save_every=7") + set("train.average=0.9") +
                         set("model.dropout.residual=0.2") + set("train.rdrop=1.0");
  train("whole", settings);
  train("parts", settings + set("train.steps=9"));
  train("parts", settings + Words{"--resume"});
  train("shared", settings + Words{"--processes", "2", "--threads", "1"});

  expect_same_run(path("parts"), path("whole"));
  expect_same_run(path("shared"), path("whole"));
}

TEST_F(LanguageModelProgram, LearnsBytesPiecesAndDocumentsInBf16) {
  write("in", text(0, 20) + "==\n" + text(20, 40));
  for (const Words& settings :
       {set("vocabulary.kind=bytes") + set("data.document_separator===") + set("train.precision=bf16"),
        set("vocabulary.kind=sentencepiece") + set("vocabulary.size=28") + set("vocabulary.output_sampling=0.2")}) {
    const std::string output = train("run", settings + set("train.steps=200"));
    const std::string json = measure({"--model", "run", "in"});
    EXPECT_LT(number_in(json, "bits_per_byte"), 3.0);
    EXPECT_EQ(number_in(json, "bytes"), output.find(" 2 documents") != std::string::npos ? 790 : 793);
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(LanguageModelProgram, ValidatesWithAShareOfItsTextAndScoresATestText) {
  write("language.toml", std::regex_replace(kTinyLanguageConfig, std::regex("valid = .*"), "valid_share = 0.25"));
  write("other", text(90, 99));

  const std::string output = train("run", set(R"(data.test=["other"])"));

  EXPECT_THAT(output, HasSubstr("592 bytes in 1 documents to learn from, 198 bytes to validate, 180 to test"));
  EXPECT_THAT(output, testing::ContainsRegex("test: loss [0-9.]+, .* bits per character\n"));
}

TEST_F(LanguageModelProgram, IsInspectedAveragedQuantisedAndCompared) {
  train("run", set("show.output=line 3"));

  const std::string shown = run_well({"inspect", "run"});
  EXPECT_THAT(shown, HasSubstr("model       language model, 1 layers, size 16, 2 heads"));
  EXPECT_THAT(shown, HasSubstr("vocabulary  25 tokens (characters)\n"));
  const double loss = number_in(measure({"--model", "run", "in"}), "loss");
  run_well({"average", "run", "run/last", "--out", "mean"});
  run_well({"quantise", "run", "--out", "small"});
  EXPECT_NEAR(number_in(measure({"--model", "mean", "in"}), "loss"), loss, 0.2);
  EXPECT_NEAR(number_in(measure({"--model", "small", "in"}), "loss"), loss, 0.2);
  EXPECT_THAT(run_well({"compare", "run"}), HasSubstr("run"));
  run_well({"picture", "training", "run", "-o", "page.html"});
  run_well({"picture", "attention", "--model", "run", "--input", "line 3", "-o", "page.html"});
  EXPECT_THAT(read("page.html"), HasSubstr("Attention of a language model"));
  expect_refused({"picture", "attention", "--model", "run", "--input", "line 3", "--attention", "cross", "-o", "a.svg"},
                 "picture attention: --attention is cross, needs decoder, the only attention of a language model");
  expect_refused({"picture", "attention", "--model", "run", "--input", "a line of the text", "-o", "a.svg"},
                 "picture attention: the text has 18 tokens and an end token, the model was trained with at most 16");
  run_well({"vocab", "language.toml", "--out", "vocabulary"});
  train("with_file", set("vocabulary.file=vocabulary"));
  EXPECT_EQ(read("with_file/last/vocabulary.txt"), read("run/last/vocabulary.txt"));
}

TEST_F(LanguageModelProgram, RefusesOptionsOfSentencePairsAndTextsThatItCannotUse) {
  const auto expect = [&](const std::string& setting, const std::string& error) {
    SCOPED_TRACE(setting);
    expect_refused({"train", "language.toml", "--out", "run", "--set", setting}, error);
  };
  const std::string pairs = ", needs model.kind=transformer or universal, which learn from sentence pairs";
  expect("data.max_length=20", "train: data.max_length is 20" + pairs);
  expect("vocabulary.input_sampling=0.5", "train: vocabulary.input_sampling is 0.5" + pairs);
  expect("search.beam=4", "train: search.beam is 4" + pairs);
  expect("train.best_by=bleu", "train: train.best_by is bleu" + pairs);
  expect("model.encoder_layers=2",
         "train: model.encoder_layers is 2, needs model.kind=transformer or universal; a language model has "
         "decoder_layers");
  expect(
      "model.tying=all",
      "train: model.tying is all, needs none or output with model.kind=language_model, which has no input embedding");
  expect("vocabulary.kind=words",
         "train: vocabulary.kind is words, which leave out white space, needs characters, bytes or sentencepiece with "
         "model.kind=language_model");
  expect("vocabulary.shared=false", "train: vocabulary.shared is false, needs true with model.kind=language_model");
  expect("data.task=copy", "train: data.train is [\"in\"], needs data.task=text");
  expect("data.valid_share=0.1", "train: data.valid_share is 0.1, needs no file in data.valid");
  expect("data.train=[]", "train: data.train names no file, needs at least one");
  write("in", "b\xFF d\n");
  expect("data.bad_utf8=error", "read_texts: in:1 has a byte at 1 that is not UTF-8, needs UTF-8");
}

TEST_F(LanguageModelProgram, IsRefusedWhereATranslationModelIsNeededAndTheReverse) {
  train("run");
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "pairs", "--set", "train.epochs=1"});

  expect_refused({"perplexity", "--model", "pairs", "in"},
                 "perplexity: pairs is a Transformer, needs a language model; `edgewise score-pairs` scores "
                 "translations");
  expect_refused({"translate", "--model", "run", "in"},
                 "translate: run/best/model.safetensors has a language model, needs one that translates; `edgewise "
                 "generate` writes with it");
  expect_refused({"generate", "--model", "pairs", "--prompt", "a"},
                 "generate: pairs/best/model.safetensors has a Transformer, needs a language model; translate with it");
}

TEST_F(LanguageModelProgram, NeedsAWindowWithinItsLearnedPositions) {
  train("run", set("model.positions=learned") + set("model.max_positions=16"));

  EXPECT_GT(number_in(measure({"--model", "run", "in"}), "loss"), 0);
  expect_refused({"perplexity", "--model", "run", "in", "--context", "17"},
                 "perplexity: --context is 17, needs at most the 16 positions of the model");
  expect_refused({"train", "language.toml", "--out", "other", "--set", "model.positions=learned", "--set",
                  "model.max_positions=15"},
                 "train: batch.length is 16, needs at most model.max_positions, which is 15");
}

}  // namespace
}  // namespace edgewise
