// SPDX-License-Identifier: Apache-2.0
// The two ways to translate with a model that was trained: over libtorch, and with the runtime alone.
#include <cmath>
#include <cstdlib>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/apps/runtime/open_translator.h"
#include "edgewise/base/random.h"
#include "edgewise/translate/runtime_scorers.h"
#include "edgewise/text/line_reader.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

/// Scorers over the model that training builds.
Translator::MakeScorer open_transformer_scorers(ModelFiles files, const ScorerOptions& /*options*/) {
  const auto model = std::make_shared<const TranslationModel>(load_model(std::move(files)));
  return [model] { return model->model->scorer(); };
}

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

  std::vector<Translation> translate(const OpenScorers& open_scorers,
                                     const std::vector<TranslationRequest>& sentences) const {
    ModelFiles files = read_model_files(path("run"), "test");
    TranslatorOptions options;
    options.search = files.experiment.search;
    options.search.beam = 4;
    const Coding coding = coding_of(files);
    Translator translator(coding, open_scorers(std::move(files), {}), options);
    return translator.translate(sentences);
  }
};

std::vector<TranslationRequest> random_sentences(std::int64_t count) {
  RandomStream random(/*seed=*/6);
  std::vector<TranslationRequest> sentences;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(9) + 1; n > 0; --n)
      text += std::string(1, static_cast<char>('a' + random.below(4))) + " ";
    sentences.push_back({text});
  }
  return sentences;
}

TEST_F(RuntimeProgram, TranslatesAsTheModelOverLibtorchDoesWhicheverDocumentsItIs) {
  for (const std::string preset : {"tutorial", "from_scratch", "chapter"}) {
    SCOPED_TRACE(preset);
    train("preset = \"" + preset + "\"\n");
    const std::vector<TranslationRequest> sentences = random_sentences(300);
    const std::vector<Translation> found = translate(open_runtime_scorers, sentences);
    const std::vector<Translation> expected = translate(open_transformer_scorers, sentences);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].outputs.front().text, expected[i].outputs.front().text) << sentences[i].input;
      ASSERT_NEAR(found[i].outputs.front().score, expected[i].outputs.front().score, 1e-4);
    }
  }
}

/// The input sides of the demo's test pairs.
std::vector<TranslationRequest> real_sentences(std::int64_t count) {
  LineReader lines(EDGEWISE_SOURCE "/data/tatoeba-eng-fra/test.tsv.xz");
  std::vector<TranslationRequest> sentences;
  for (std::string line; std::ssize(sentences) < count && lines.next(line);) {
    sentences.push_back({line.substr(0, line.find('\t'))});
  }
  return sentences;
}

/// Of the scores of a sentence, a token: each token adds a rounding of its own.
double mean_difference(const std::vector<Translation>& a, const std::vector<Translation>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TranslatedText& output = b[i].outputs.front();
    sum += std::abs(a[i].outputs.front().score - output.score) / static_cast<double>(output.tokens.size() + 1);
  }
  return sum / static_cast<double>(a.size());
}

/// EDGEWISE_PARITY_SENTENCES, or a few.
std::int64_t num_real_sentences() {
  const char* wanted = std::getenv("EDGEWISE_PARITY_SENTENCES");
  return wanted == nullptr ? 50 : std::stoll(wanted);
}

TEST_F(RuntimeProgram, TranslatesRealSentencesAsTheModelOverLibtorchDoesWhicheverDocumentsItIs) {
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
    const std::vector<Translation> found = translate(open_runtime_scorers, sentences);
    const std::vector<Translation> expected = translate(open_transformer_scorers, sentences);
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
      const auto open = [precision = precision](ModelFiles files, const ScorerOptions& /*options*/) {
        return open_runtime_scorers(std::move(files), {.precision = precision});
      };
      const double difference = mean_difference(translate(open, sentences), found);
      EXPECT_LT(difference, most) << enum_name(precision);
      EXPECT_GT(difference, 0) << enum_name(precision);
    }
    RecordProperty("largest_difference_" + preset, std::to_string(largest));
  }
}

TEST_F(RuntimeProgram, IsTheSameProgramWithoutLibtorch) {
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

TEST_F(RuntimeProgram, SaysWhatItNeeds) {
  const ProcessResult result = run_process({EDGEWISE_TRANSLATE, "--modle", "run"}, {.folder = path("").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "edgewise-translate: unknown option --modle; did you mean --model?\n");
}

}  // namespace
}  // namespace edgewise
