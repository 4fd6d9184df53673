// SPDX-License-Identifier: Apache-2.0
// The runtime, compared with the libtorch model.
#include <cmath>
#include <cstdlib>

#include "edgewise/base/random.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/translator.h"
#include "tests/apps/program.h"
#include "tests/models/model_scorer.h"

namespace edgewise {
namespace {

class RuntimeProgram : public ProgramTest {
 protected:
  void train(const std::string& model_options) const {
    std::string config = kTinyConfig;
    config.insert(config.find("[model]\n") + 8, model_options);
    train_on(config);
  }

  void train_on(const std::string& config) const {
    write("tiny.toml", config);
    std::filesystem::remove_all(path("run"));
    run_well({"train", "tiny.toml", "--out", "run"});
  }

  std::vector<Translation> translate(const std::vector<TranslationRequest>& sentences,
                                     RuntimePrecision precision = RuntimePrecision::kFp32) const {
    return Translator(path("run"), {.precision = precision, .beam = 4}).translate(sentences);
  }

  /// Translates with the scorers of the libtorch model.
  std::vector<Translation> translate_with_libtorch(const std::vector<TranslationRequest>& sentences) const {
    const TranslationModel model = load_model(path("run"));
    return Translator(text_codec(model.experiment, model.vocabularies), [&] { return make_scorer(*model.model); },
                      {.search = model.experiment.search, .beam = 4})
        .translate(sentences);
  }
};

std::vector<TranslationRequest> random_sentences(std::int64_t count) {
  RandomStream random(/*seed=*/6);
  std::vector<TranslationRequest> sentences;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string text;
    for (std::uint64_t n = random.next_below(9) + 1; n > 0; --n)
      text += std::string(1, static_cast<char>('a' + random.next_below(4))) + " ";
    sentences.push_back({text});
  }
  return sentences;
}

TEST_F(RuntimeProgram, TranslatesAsTheLibtorchModelDoesForEachPreset) {
  for (const std::string preset : {"tutorial", "from_scratch", "chapter"}) {
    SCOPED_TRACE(preset);
    train("preset = \"" + preset + "\"\n");
    const std::vector<TranslationRequest> sentences = random_sentences(300);
    const std::vector<Translation> found = translate(sentences);
    const std::vector<Translation> expected = translate_with_libtorch(sentences);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].outputs.front().text, expected[i].outputs.front().text) << sentences[i].input;
      ASSERT_NEAR(found[i].outputs.front().score, expected[i].outputs.front().score, 1e-4);
    }
  }
}

/// Reads the inputs of the demo's first test pairs.
std::vector<TranslationRequest> real_sentences(std::int64_t count) {
  LineReader lines(EDGEWISE_SOURCE "/data/tatoeba-eng-fra/test.tsv.xz");
  std::vector<TranslationRequest> sentences;
  for (std::string line; std::ssize(sentences) < count && lines.next(line);) {
    sentences.push_back({line.substr(0, line.find('\t'))});
  }
  return sentences;
}

/// Returns the mean over sentences of the score difference per token, because each token adds a rounding error.
double mean_difference(const std::vector<Translation>& a, const std::vector<Translation>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TranslatedText& output = b[i].outputs.front();
    sum += std::abs(a[i].outputs.front().score - output.score) / static_cast<double>(output.tokens.size() + 1);
  }
  return sum / static_cast<double>(a.size());
}

/// Returns EDGEWISE_PARITY_SENTENCES, by default 50.
std::int64_t num_real_sentences() {
  const char* setting = std::getenv("EDGEWISE_PARITY_SENTENCES");
  return setting == nullptr ? 50 : std::stoll(setting);
}

TEST_F(RuntimeProgram, TranslatesRealSentencesAsTheLibtorchModelDoesForEachPreset) {
  const std::vector<TranslationRequest> sentences = real_sentences(num_real_sentences());
  for (const std::string preset : {"tutorial", "from_scratch", "chapter"}) {
    SCOPED_TRACE(preset);
    train_on("[data]\ntrain = [\"" EDGEWISE_SOURCE
             "/data/tatoeba-eng-fra/valid.tsv.xz\"]\n"
             "[vocabulary]\nkind = \"sentencepiece\"\nmodel = \"bpe\"\nsize = 500\nshared = true\n"
             "[batch]\ntokens = 1000\n"
             "[model]\npreset = \"" +
             preset +
             "\"\nencoder_layers = 2\ndecoder_layers = 2\nsize = 64\nheads = 4\nfeed_forward = 128\n"
             "[train]\nepochs = 0\nsteps = 30\nwarmup = 10\n");
    const std::vector<Translation> found = translate(sentences);
    const std::vector<Translation> expected = translate_with_libtorch(sentences);
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const TranslatedText& output = found[i].outputs.front();
      ASSERT_EQ(output.tokens, expected[i].outputs.front().tokens) << sentences[i].input;
      largest = std::max(largest, std::abs(output.score - expected[i].outputs.front().score));
    }
    EXPECT_LT(largest, 1e-4);

    for (const auto& [precision, most] :
         {std::pair(RuntimePrecision::kBf16, 0.004), std::pair(RuntimePrecision::kInt8, 0.016)}) {
      const double difference = mean_difference(translate(sentences, precision), found);
      EXPECT_LT(difference, most) << enum_name(precision);
      EXPECT_GT(difference, 0) << enum_name(precision);
    }
    RecordProperty("largest_difference_" + preset, std::to_string(largest));
  }
}

TEST_F(RuntimeProgram, GivesTheOutputOfEdgewiseTranslate) {
  train("");
  const ProcessOptions options = {.input = "a b c\n\nd a\n", .folder = path("").string()};
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    const ProcessResult alone =
        run_process({EDGEWISE_TRANSLATE, "--model", "run", "--precision", precision, "--scores"}, options);
    EXPECT_EQ(alone.exit_code, 0) << alone.errors;
    EXPECT_EQ(alone.output, run_well({"translate", "--model", "run", "--precision", precision, "--scores"},
                                     {.input = options.input}));
  }
}

TEST_F(RuntimeProgram, NamesTheNearestOption) {
  const ProcessResult result = run_process({EDGEWISE_TRANSLATE, "--modle", "run"}, {.folder = path("").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "edgewise-translate: unknown option --modle; did you mean --model?\n");
}

}  // namespace
}  // namespace edgewise
