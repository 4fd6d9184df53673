// SPDX-License-Identifier: Apache-2.0
// A Universal Transformer in the program: training, translating and counting ponder steps.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/translate/translator.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

class UniversalProgram : public ProgramTest {
 protected:
  void train(const std::vector<std::string>& settings = {}, const std::string& config = kTinyConfig) const {
    write("tiny.toml", config);
    std::filesystem::remove_all(path("run"));
    std::vector<std::string> command = {"train", "tiny.toml", "--out", "run"};
    for (const std::string& setting : {std::string("model.kind=universal"), std::string("model.encoder_layers=4"),
                                       std::string("model.decoder_layers=3")}) {
      command.insert(command.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }

  /// Compares the tokens and ponder steps of the runtime with those of the libtorch model.
  void expect_same_with_libtorch(const std::string& inputs, std::size_t count) const {
    write("inputs", inputs);
    const nlohmann::json counted_steps =
        nlohmann::json::parse(run_well({"inspect", "run", "--ponder", "inputs", "--json"}));
    ASSERT_EQ(counted_steps.at("sentences").size(), count);
    std::istringstream lines(run_well({"translate", "--model", "run", "--json"}, {.input = inputs}));
    for (const nlohmann::json& sentence : counted_steps.at("sentences")) {
      std::vector<std::string> tokens;
      std::vector<std::int64_t> steps;
      for (const nlohmann::json& token : sentence.at("output")) {
        tokens.push_back(token.at("text"));
        steps.push_back(token.at("steps"));
      }
      tokens.erase(tokens.begin());  // the begin token
      std::string line;
      ASSERT_TRUE(std::getline(lines, line));
      const nlohmann::json output = nlohmann::json::parse(line).at("outputs")[0];
      EXPECT_EQ(output.at("tokens"), tokens) << line;
      EXPECT_EQ(output.at("steps"), steps) << line;
    }
  }
};

TEST_F(UniversalProgram, WritesTheMeanPonderStepsOfBothSidesToTheMetrics) {
  train({"train.log_every=5"});
  const std::string metrics = read("run/metrics.jsonl");
  const nlohmann::json first = nlohmann::json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_GE(first.at("encoder_steps").get<double>(), 1.0);
  EXPECT_LE(first.at("encoder_steps").get<double>(), 4.0);
  EXPECT_GE(first.at("decoder_steps").get<double>(), 1.0);
  EXPECT_LE(first.at("decoder_steps").get<double>(), 3.0);
}

TEST_F(UniversalProgram, WritesAHistogramOfPonderStepsForEachValidation) {
  train();
  std::istringstream lines(read("run/metrics.jsonl"));
  std::int64_t validations = 0;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json values = nlohmann::json::parse(line);
    if (!values.contains("valid_loss")) continue;
    ++validations;
    for (const auto& [side, most] : {std::pair{"valid_encoder_steps", 4}, {"valid_decoder_steps", 3}}) {
      std::int64_t nodes = 0;
      for (const auto& [steps, count] : values.at(side).items()) {
        EXPECT_GE(std::stoi(steps), 1);
        EXPECT_LE(std::stoi(steps), most);
        nodes += count.get<std::int64_t>();
      }
      EXPECT_GT(nodes, 20) << side << ": the twenty pairs have a token each at least";
    }
  }
  EXPECT_GT(validations, 0);
}

TEST_F(UniversalProgram, LearnsWithEachOptionOfAUniversalTransformer) {
  train({"train.log_every=5"});
  std::set<std::string> all_weights = {read("run/last/model.safetensors")};
  for (const std::string setting :
       {"train.precision=bf16", "model.universal.halted_keys=dropped",
        "model.universal.transition=separable_convolution", "model.universal.adaptive=none", "train.rdrop=1"}) {
    SCOPED_TRACE(setting);
    train({setting, "train.log_every=5"});
    std::vector<double> losses;
    std::istringstream lines(read("run/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json metrics = nlohmann::json::parse(line);
      if (metrics.contains("loss")) losses.push_back(metrics.at("loss"));
    }
    ASSERT_EQ(losses.size(), 4U);
    EXPECT_LT(losses.back(), losses.front());
    EXPECT_TRUE(all_weights.insert(read("run/last/model.safetensors")).second) << "the option has no effect";
  }
}

TEST_F(UniversalProgram, TranslatesTheSameWithTheRuntimeAndWithLibtorch) {
  train({"train.epochs=6", "train.schedule=constant", "train.learning_rate=0.01"});
  const std::string inputs = "a b c\nd a\nb\nc c d a b a\n";
  const std::string found = run_well({"translate", "--model", "run", "--beam", "1"}, {.input = inputs});

  const TranslationModel model = open_model(path("run"));
  TranslatorOptions options;
  options.search = model.experiment.search;
  options.beam = 1;
  Translator translator(
      text_codec(model.experiment, model.vocabularies), [&model] { return model.model->make_scorer(); }, options);
  std::string expected;
  for (const std::string input : {"a b c", "d a", "b", "c c d a b a"}) {
    expected += translator.translate(input).outputs.front().text + "\n";
  }
  EXPECT_EQ(found, expected);
}

TEST_F(UniversalProgram, TakesTheSamePonderStepsWithTheRuntimeAndWithLibtorch) {
  train({"train.epochs=6", "train.schedule=constant", "train.learning_rate=0.01"});
  expect_same_with_libtorch("a b c\nd a\nb\nc c d a b a\n", 4);
}

// After few steps, the tokens of an output may differ from those that SentencePiece gives for its text.
TEST_F(UniversalProgram, GivesTheSameTokensWithTheRuntimeAndWithLibtorch) {
  train({R"(data.train=[")" EDGEWISE_SOURCE R"(/data/tatoeba-eng-fra/valid.tsv.xz"])", "vocabulary.kind=sentencepiece",
         "vocabulary.model=bpe", "vocabulary.size=500", "batch.tokens=1000", "train.epochs=0", "train.steps=30"},
        kTinyModelConfig);
  expect_same_with_libtorch("Where is your brother?\nI don't speak French.\nShe bought a new car.\nWow!\n", 4);
}

TEST_F(UniversalProgram, PrintsThePonderStepsOfEachToken) {
  train();
  write("inputs", "a b c\nd a\n");
  const std::string text = run_well({"inspect", "run", "--ponder", "inputs"});
  EXPECT_NE(text.find("input   a b c"), std::string::npos) << text;
  EXPECT_NE(text.find("steps a token"), std::string::npos) << text;

  const nlohmann::json json = nlohmann::json::parse(run_well({"inspect", "run", "--ponder", "inputs", "--json"}));
  ASSERT_EQ(json.at("sentences").size(), 2U);
  ASSERT_EQ(json.at("sentences")[0].at("input").size(), 3U);
  EXPECT_EQ(json.at("sentences")[0].at("input")[1].at("text"), "b");
  std::int64_t counted = 0;
  for (const auto& [steps, count] : json.at("input_steps").items()) {
    EXPECT_LE(std::stoi(steps), 4);
    counted += count.get<std::int64_t>();
  }
  EXPECT_EQ(counted, 5);
}

TEST_F(UniversalProgram, RefusesToCountThePonderStepsOfATransformer) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("inputs", "a b\n");
  expect_refused({"inspect", "run", "--ponder", "inputs"},
                 "steps: the model is a transformer, whose nodes take all its layers; a universal one is needed");
}

}  // namespace
}  // namespace edgewise
