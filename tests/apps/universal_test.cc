// SPDX-License-Identifier: Apache-2.0
// A Universal Transformer in the program: training, translating and counting ponder steps.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/translate/translator.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"
#include "tests/models/model_scorer.h"

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

  /// An output's tokens and ponder steps.
  struct Output {
    std::vector<std::string> tokens;
    std::vector<std::int64_t> steps;

    bool operator==(const Output&) const = default;
    friend void PrintTo(const Output& output, std::ostream* out) {
      *out << testing::PrintToString(output.tokens) << testing::PrintToString(output.steps);
    }
  };

  /// Returns the outputs of `inspect --ponder`.
  std::vector<Output> inspected(const std::string& inputs) const {
    write("inputs", inputs);
    return outputs_of(nlohmann::json::parse(run_well({"inspect", "run", "--ponder", "inputs", "--json"})));
  }

  /// Returns the outputs in an object of `inspect --ponder --json`, without the begin tokens.
  static std::vector<Output> outputs_of(const nlohmann::json& counted) {
    std::vector<Output> outputs;
    for (const nlohmann::json& sentence : counted.at("sentences")) {
      Output& output = outputs.emplace_back();
      for (const nlohmann::json& token : sentence.at("output")) {
        output.tokens.push_back(token.at("text"));
        output.steps.push_back(token.at("steps"));
      }
      output.tokens.erase(output.tokens.begin());
    }
    return outputs;
  }

  std::vector<Output> translated(const std::string& inputs) const {
    std::vector<Output> outputs;
    std::istringstream lines(run_well({"translate", "--model", "run", "--json"}, {.input = inputs}));
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json output = nlohmann::json::parse(line).at("outputs")[0];
      outputs.push_back({.tokens = output.at("tokens").get<std::vector<std::string>>(),
                         .steps = output.at("steps").get<std::vector<std::int64_t>>()});
    }
    return outputs;
  }

  /// Translates lines with the model over libtorch.
  std::vector<Output> translated_by_libtorch(const std::string& inputs) const {
    const TranslationModel model = load_model(path("run"));
    TranslatorOptions options;
    options.search = model.experiment.search;
    Translator translator(
        text_codec(model.experiment, model.vocabularies), [&model] { return make_scorer(*model.model); }, options);
    std::vector<Output> outputs;
    std::istringstream lines(inputs);
    for (std::string line; std::getline(lines, line);) {
      const TranslatedText output = translator.translate(line).outputs.front();
      outputs.push_back({output.tokens, output.ponder_steps});
    }
    return outputs;
  }
};

/// Changes the numbers of a tensor of a safetensors file.
std::string with_changed_tensor(const std::string& bytes, std::string_view name,
                                const std::function<void(std::vector<float>& values)>& change) {
  const SafetensorsFile file = SafetensorsFile::parse(bytes, "parameters");
  std::vector<TensorInfo> tensors(file.tensors().begin(), file.tensors().end());
  const auto tensor = std::ranges::find(tensors, name, &TensorInfo::name);
  std::vector<float> values(tensor->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  change(values);
  tensor->bytes = std::as_bytes(std::span(values));
  return serialize_safetensors(tensors);
}

/// Makes the embeddings of all letters nearly equal, so that the rounding errors of a computation decide which letter
/// is likeliest, and the end unlikely.
std::string with_letters_nearly_alike(const std::string& parameters) {
  constexpr std::size_t kFirstLetter = SpecialTokens().end + 1;
  constexpr std::size_t kSize = 16;
  const std::string alike = with_changed_tensor(parameters, "input_embedding.weight", [](std::vector<float>& values) {
    for (std::size_t i = (kFirstLetter + 1) * kSize; i < values.size(); ++i) {
      values[i] = std::nextafter(values[i - kSize], (i * 7 + i / kSize) % 3 == 0 ? 9.0f : -9.0f);
    }
  });
  return with_changed_tensor(alike, "generator.bias", [](std::vector<float>& values) {
    std::ranges::fill(values, 0.0f);
    values[SpecialTokens().end] = -3.0f;
  });
}

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

  const TranslationModel model = load_model(path("run"));
  TranslatorOptions options;
  options.search = model.experiment.search;
  options.beam = 1;
  Translator translator(
      text_codec(model.experiment, model.vocabularies), [&model] { return make_scorer(*model.model); }, options);
  std::string expected;
  for (const std::string input : {"a b c", "d a", "b", "c c d a b a"}) {
    expected += translator.translate(input).outputs.front().text + "\n";
  }
  EXPECT_EQ(found, expected);
}

TEST_F(UniversalProgram, TakesTheSamePonderStepsWithTheRuntimeAndWithLibtorch) {
  train({"train.epochs=6", "train.schedule=constant", "train.learning_rate=0.01"});
  const std::string inputs = "a b c\nd a\nb\nc c d a b a\n";
  EXPECT_EQ(translated(inputs), translated_by_libtorch(inputs));
  EXPECT_EQ(inspected(inputs), translated(inputs));
}

// After few steps, the tokens of an output may differ from those that SentencePiece gives for its text.
TEST_F(UniversalProgram, GivesTheSameTokensWithTheRuntimeAndWithLibtorch) {
  train({R"(data.train=[")" EDGEWISE_SOURCE R"(/data/tatoeba-eng-fra/valid.tsv.xz"])", "vocabulary.kind=sentencepiece",
         "vocabulary.model=bpe", "vocabulary.size=500", "batch.tokens=1000", "train.epochs=0", "train.steps=30"},
        kTinyModelConfig);
  const std::string inputs = "Where is your brother?\nI don't speak French.\nShe bought a new car.\nWow!\n";
  EXPECT_EQ(translated(inputs), translated_by_libtorch(inputs));
  EXPECT_EQ(inspected(inputs), translated(inputs));
}

TEST_F(UniversalProgram, ShowsTheHaltingOfTheOutputThatTranslateGives) {
  train();
  write("run/best/model.safetensors", with_letters_nearly_alike(read("run/best/model.safetensors")));
  write_manifest(path("run/best"), {"config.toml", "model.safetensors", "vocabulary.txt"});
  std::string inputs;
  for (const char* input : {"a", "b a", "c d", "a b c", "d d a", "b c d a", "a a b b", "d c b a d"}) {
    inputs += input + std::string("\n");
  }
  const std::vector<Output> expected = translated(inputs);
  ASSERT_NE(translated_by_libtorch(inputs), expected) << "this model would not tell the two searches apart";

  EXPECT_EQ(inspected(inputs), expected);
  run_well({"picture", "halting", "--model", "run", "--corpus", "inputs", "-o", "halting.json"});
  EXPECT_EQ(outputs_of(nlohmann::json::parse(read("halting.json")).at("halting")), expected);
}

TEST_F(UniversalProgram, DrawsNoHaltingOfSentencesOfMoreThanAThousandTokens) {
  train({"data.max_length=0"});
  std::string letters = "a";
  for (int i = 1; i < 1001; ++i) letters += " a";
  write("inputs", "\na b\n" + letters + "\n");
  expect_refused({"picture", "halting", "--model", "run", "--corpus", "inputs", "-o", "page.html"},
                 "picture halting: the input of sentence 2 has 1001 tokens, needs at most 1000; choose a shorter "
                 "sentence");
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
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
  expect_refused(
      {"inspect", "run", "--ponder", "inputs"},
      "steps: the model is a transformer, whose nodes take all its layers, needs a universal one, or exits whose "
      "threshold is below 1");
}

}  // namespace
}  // namespace edgewise
