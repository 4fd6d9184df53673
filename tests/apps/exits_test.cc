// SPDX-License-Identifier: Apache-2.0
// A decoder with exits, from training to calibrated translations.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using Words = std::vector<std::string>;

class ExitsProgram : public ProgramTest {
 protected:
  ExitsProgram() {
    write("tiny.toml", kTinyConfig);
    write("in", "a b c\nd a\nb b a c\n");
    train("run", {});
  }

  void train(const std::string& out, const Words& more) const {
    Words arguments = {
        "train", "tiny.toml", "--out", out, "--set", "model.decoder_layers=3", "--set", "model.exits.layers=[1,2]"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run_well(arguments);
  }

  std::vector<nlohmann::json> translate(const Words& more) const {
    Words arguments = {"translate", "in", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::istringstream lines(run_well(arguments));
    std::vector<nlohmann::json> translations;
    for (std::string line; std::getline(lines, line);) translations.push_back(nlohmann::json::parse(line));
    return translations;
  }
};

TEST_F(ExitsProgram, ReportsTheLossAndTheAccuracyOfEachExit) {
  std::istringstream lines(read("run/metrics.jsonl"));
  int validations = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto metrics = nlohmann::json::parse(line);
    if (!metrics.contains("valid_loss")) continue;
    ++validations;
    for (const char* name : {"valid_exit_loss", "valid_exit_accuracy"}) {
      ASSERT_EQ(metrics.at(name).size(), 2U);
      EXPECT_GT(metrics.at(name).at("1").get<double>(), 0);
      EXPECT_GT(metrics.at(name).at("2").get<double>(), 0);
    }
  }
  EXPECT_GT(validations, 0);
}

TEST_F(ExitsProgram, TranslatesWithEachDepth) {
  for (const std::string layers : {"1", "2", "3"}) {
    EXPECT_EQ(translate({"--model", "run", "--decoder-layers", layers}).size(), 3U);
  }
  EXPECT_EQ(translate({"--model", "run", "--decoder-layers", "3"}), translate({"--model", "run"}));
  EXPECT_EQ(translate({"--model", "run", "--decoder-layers", "1", "--set", "search.attention_layer=2"}),
            translate({"--model", "run", "--decoder-layers", "1"}));
  expect_refused({"translate", "in", "--model", "run", "--decoder-layers", "4"},
                 "Translator: decoder_layers is 4, but run/best/model.safetensors needs one of [1, 2, 3]");
}

TEST_F(ExitsProgram, MeasuresDecodingWithADepthOrAThreshold) {
  const Words decode = {"bench", "decode", "--input", "in", "--output-length", "3", "--min-seconds", "0"};
  const auto with = [&](const Words& more) {
    Words arguments = decode;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  run_well(with({"--model", "run", "--decoder-layers", "1"}));
  run_well(with({"--model", "run", "--exit-threshold", "0.5"}));
  expect_refused(with({"--model", "run", "--decoder-layers", "4"}),
                 "bench decode: decoder_layers is 4, but run/best/model.safetensors needs one of [1, 2, 3]");
  expect_refused(with({"--decoder-layers", "1"}),
                 "edgewise bench decode: --decoder-layers requires --model; see edgewise bench decode --help");
}

TEST_F(ExitsProgram, CalibratesTrainedHaltingUnitsAndTranslatesWithThem) {
  train("halting", {"--from", "run", "--set", "train.part=halting"});
  const auto tested = nlohmann::json::parse(
      run_well({"calibrate", "halting", "in", "in", "--out", "calibrated", "--loss", "99", "--risk", "0.5", "--json"}));
  ASSERT_FALSE(tested.empty());
  for (std::size_t i = 0; i < tested.size(); ++i) {
    EXPECT_NEAR(tested[i].at("threshold").get<double>(), 0.95 - 0.05 * static_cast<double>(i), 1e-9);
    EXPECT_GE(tested[i].at("layers").get<double>(), 1);
    EXPECT_LE(tested[i].at("layers").get<double>(), 3);
    if (i + 1 < tested.size()) {
      EXPECT_LE(tested[i].at("p_value").get<double>(), 0.5);
    }
  }
  const std::string config = read("calibrated/config.toml");
  EXPECT_EQ(config.find("# `edgewise calibrate` set model.exits.threshold to "), 0U);
  EXPECT_NE(run_well({"inspect", "calibrated"}).find("after decoder layers 1, 2, threshold "), std::string::npos);

  const std::vector<nlohmann::json> translations = translate({"--model", "calibrated"});
  const auto pondered = nlohmann::json::parse(run_well({"inspect", "calibrated", "--ponder", "in", "--json"}));
  for (std::size_t i = 0; i < translations.size(); ++i) {
    std::vector<int> expected;
    for (const auto& token : pondered.at("sentences")[i].at("output")) expected.push_back(token.at("steps").get<int>());
    EXPECT_EQ(translations[i].at("outputs")[0].at("steps").get<std::vector<int>>(), expected);
  }
  run_well({"picture", "halting", "--model", "calibrated", "--corpus", "in", "-o", "page.html"});
  EXPECT_EQ(translate({"--model", "calibrated", "--exit-threshold", "1"}), translate({"--model", "run"}));
}

TEST_F(ExitsProgram, IsNotCalibratedWithoutExitsOrWithoutEvidence) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "plain"});
  expect_refused({"calibrate", "plain", "in", "in", "--out", "calibrated"},
                 "calibrate: plain has no exits, needs a model with exits");
  const ProcessResult result = run({"calibrate", "run", "in", "in", "--out", "calibrated"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("calibrate: with the threshold 0.95, the mean loss of 3 sentences is "),
            std::string::npos)
      << result.errors;
  EXPECT_FALSE(std::filesystem::exists(path("calibrated")));
}

}  // namespace
}  // namespace edgewise
