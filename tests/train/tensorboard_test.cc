// SPDX-License-Identifier: Apache-2.0
// Checks each tag of the event files and each field of metrics.jsonl against numbers that follow from the task.
#include "edgewise/train/tensorboard.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/train/event_reader.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::Pair;
using testing::UnorderedElementsAre;

/// A task whose mean gradient is known: the loss of a token is the dot product of parameters and constants. The layer
/// encoder.layers.0 has the gradients 3, 4 and 12, the layer generator has 84, so that the norms are 13, 84 and 85.
class LinearTask : public TrainingTask {
 public:
  std::string kind() const override { return "linear"; }
  std::int64_t size() const override { return 16; }
  std::vector<NamedTensor> parameters() override {
    return {{"encoder.layers.0.weight", weight_}, {"encoder.layers.0.bias", bias_}, {"generator.bias", generator_}};
  }
  std::map<std::string, std::string> model_files() override { return {}; }

  BatchLoss loss(const Batch& batch, Pass&) override {
    const auto tokens = static_cast<std::int64_t>(batch.labels.size());
    const at::Tensor loss =
        (weight_.flatten().dot(at::tensor({3.0f, 4.0f})) + bias_.sum() * 12 + generator_.sum() * 84);
    const std::int64_t number = std::ssize(losses) + 1;
    const double factor = number == broken_loss ? std::numeric_limits<double>::infinity() : 1.0;
    losses.push_back({.loss = static_cast<double>(tokens * number),
                      .tokens = tokens,
                      .correct = number % 3,
                      .encoder = {.nodes = 2, .steps = number},
                      .decoder = {.nodes = 4, .steps = 5}});
    return {.objective = loss * (factor * static_cast<double>(tokens)), .counts = losses.back()};
  }

  Validation validate(const StopRequest& /*stop*/) override {
    return {.loss = 2.5,
            .accuracy = 0.25,
            .sequence_accuracy = 0.125,
            .bleu = 31.5,
            .samples = {{.input = "a|b", .output = "c\nd", .reference = "e"}},
            .encoder_steps = {{1, 7}, {2, 3}},
            .decoder_steps = {{3, 1}},
            .exit_loss = {{2, 0.75}}};
  }

  std::vector<LossSums> losses;   // of each batch
  std::int64_t broken_loss = -1;  // number of the batch whose gradients are infinite

 private:
  static at::Tensor parameter(const at::Tensor& values) { return values.clone().set_requires_grad(true); }

  at::Tensor weight_ = parameter(at::tensor({1.0f, 2.0f}).view({1, 2}));
  at::Tensor bias_ = parameter(at::tensor({2.0f}));
  at::Tensor generator_ = parameter(at::tensor({-5.0f}));
};

class TensorBoardTest : public RunFolder {
 protected:
  /// Options for seven steps of batches of five pairs; an epoch has five batches, the last with three pairs.
  static TrainOptions seven_steps() {
    TrainOptions options = short_run();
    options.epochs = 0;
    options.steps = 7;
    options.log_every = 3;
    options.validate_every = 4;
    return options;
  }

  void train(const TrainOptions& options, LinearTask& task) const {
    BatchShares batches(std::make_shared<PairsInMemory>(NextTokenTask::pairs()),
                        {.tokens = 0, .sentences = 5, .bucket = 2}, options.seed);
    TensorBoard board(folder(), task, options.clip_norm);
    RunRequests requests;
    Trainer trainer(options, task, batches, board);
    trainer.open(folder());
    trainer.run(requests);
  }

  std::vector<nlohmann::json> read_metrics_lines() const {
    std::istringstream text(read_file(folder() / "metrics.jsonl"));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
};

TEST_F(TensorBoardTest, HasNormsOfTheMeanGradientBeforeClipping) {
  for (const double clip_norm : {0.0, 1.0, 85.0, 1000.0}) {
    for (const std::int64_t accumulate : {1, 3}) {
      SCOPED_TRACE(testing::Message() << "clip_norm " << clip_norm << ", accumulate " << accumulate);
      std::filesystem::remove_all(folder());
      TrainOptions options = seven_steps();
      options.clip_norm = clip_norm;
      options.accumulate = accumulate;
      LinearTask task;
      train(options, task);

      RunEvents events = read_run_events(folder());
      EXPECT_THAT(events.scalars["gradient_norm/encoder.layers.0"],
                  ElementsAre(Pair(4, FloatEq(13)), Pair(7, FloatEq(13))));
      EXPECT_THAT(events.scalars["gradient_norm/generator"], ElementsAre(Pair(4, FloatEq(84)), Pair(7, FloatEq(84))));
      EXPECT_THAT(events.scalars["train/gradient_norm"],
                  ElementsAre(Pair(3, FloatEq(85)), Pair(6, FloatEq(85)), Pair(7, FloatEq(85))));
    }
  }
}

TEST_F(TensorBoardTest, HasHistogramsOfTheMeanGradientBeforeClipping) {
  TrainOptions options = seven_steps();
  options.clip_norm = 1.0;
  LinearTask task;
  train(options, task);

  RunEvents events = read_run_events(folder());
  ASSERT_EQ(events.histograms["gradients/encoder.layers.0"].size(), 2U);
  for (const auto& [step, histogram] : events.histograms["gradients/encoder.layers.0"]) {
    EXPECT_NEAR(real(histogram, 1), 3, 1e-5) << "lowest";
    EXPECT_NEAR(real(histogram, 2), 12, 1e-5) << "highest";
    EXPECT_EQ(real(histogram, 3), 3) << "count";
    EXPECT_NEAR(real(histogram, 4), 19, 1e-5) << "sum";
    EXPECT_NEAR(real(histogram, 5), 169, 1e-4) << "sum of squares";
    const std::vector<double> limits = reals(histogram, 6);
    const std::vector<double> counts = reals(histogram, 7);
    ASSERT_EQ(limits.size(), 40U);
    ASSERT_EQ(counts.size(), 40U);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), 3);
    // 3 is in the first bucket, 4 in the bucket that ends above 4, 12 in the last.
    EXPECT_EQ(counts.front(), 1);
    EXPECT_EQ(counts.back(), 1);
    const auto bucket = static_cast<std::size_t>(std::ranges::upper_bound(limits, 4.0) - limits.begin());
    EXPECT_EQ(counts[bucket], 1);
  }
  const Fields single = events.histograms["gradients/generator"].back().second;
  EXPECT_THAT(reals(single, 6), ElementsAre(testing::DoubleNear(84, 1e-4)));
  EXPECT_THAT(reals(single, 7), ElementsAre(1));
}

TEST_F(TensorBoardTest, HasNormsOfTheWeights) {
  LinearTask task;
  train(seven_steps(), task);

  RunEvents events = read_run_events(folder());
  for (const char* layer : {"encoder.layers.0", "generator"}) {
    double squares = 0;
    for (const NamedTensor& parameter : task.parameters()) {
      if (layer_of(parameter.name) == layer) squares += parameter.tensor.square().sum().item<double>();
    }
    EXPECT_GT(squares, 1);
    EXPECT_FLOAT_EQ(events.scalars[std::string("weight_norm/") + layer].back().second,
                    static_cast<float>(std::sqrt(squares)));
    EXPECT_NEAR(real(events.histograms[std::string("weights/") + layer].back().second, 5), squares, 1e-5 * squares);
  }
}

TEST_F(TensorBoardTest, HasNoGradientsOfASkippedStep) {
  LinearTask task;
  task.broken_loss = 4;
  train(seven_steps(), task);

  RunEvents events = read_run_events(folder());
  EXPECT_THAT(events.steps()["gradient_norm/generator"], ElementsAre(7));
  EXPECT_THAT(events.steps()["weight_norm/generator"], ElementsAre(4, 7));
}

TEST_F(TensorBoardTest, HasTheMetricsOfTheTask) {
  TrainOptions options = seven_steps();
  options.schedule = ScheduleKind::kInverseSqrt;
  options.learning_rate = 0.25;
  options.warmup = 2;
  LinearTask task;
  train(options, task);
  const auto sum_of = [&](std::size_t begin, std::size_t end) {
    LossSums sums;
    for (std::size_t i = begin; i < end; ++i) sums += task.losses[i];
    return sums;
  };

  RunEvents events = read_run_events(folder());
  const std::vector<nlohmann::json> lines = read_metrics_lines();
  ASSERT_EQ(lines.size(), 5U);  // steps 3, 4 (validation), 6, 7 and 7 (validation)
  double seconds = 0;
  for (const auto& [line, begin, end, epoch] :
       {std::tuple{0, 0, 3, 1}, std::tuple{2, 3, 6, 2}, std::tuple{3, 6, 7, 2}}) {
    SCOPED_TRACE(line);
    const nlohmann::json& metrics = lines[static_cast<std::size_t>(line)];
    const LossSums sums = sum_of(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    const auto tokens = static_cast<double>(sums.tokens);
    std::map<std::string, double> expected = {
        {"step", end},
        {"epoch", epoch},
        {"loss", sums.loss / tokens},
        {"accuracy", static_cast<double>(sums.correct) / tokens},
        {"learning_rate", 0.25 * std::sqrt(2.0 / end)},
        {"gradient_norm", 85},
        {"skipped_steps", 0},
        {"encoder_steps", static_cast<double>(sums.encoder.steps) / static_cast<double>(sums.encoder.nodes)},
        {"decoder_steps", 1.25}};
    for (const auto& [name, value] : expected) EXPECT_NEAR(metrics.at(name).get<double>(), value, 1e-5) << name;
    EXPECT_GT(metrics.at("tokens_per_second").get<double>(), 0);
    EXPECT_GE(metrics.at("seconds").get<double>(), seconds);
    seconds = metrics.at("seconds").get<double>();
    EXPECT_EQ(metrics.size(), expected.size() + 2);

    for (const auto& [name, value] : metrics.items()) {
      if (name == "step" || name == "epoch") continue;
      EXPECT_THAT(events.scalars["train/" + name],
                  testing::Contains(Pair(end, FloatEq(static_cast<float>(value.get<double>())))))
          << name;
      EXPECT_THAT(events.steps()["train/" + name], ElementsAre(3, 6, 7)) << name;
    }
  }
}

TEST_F(TensorBoardTest, HasTheScoresOfEachValidation) {
  LinearTask task;
  train(seven_steps(), task);

  RunEvents events = read_run_events(folder());
  const std::vector<nlohmann::json> lines = read_metrics_lines();
  for (const std::size_t line : {1, 4}) {
    EXPECT_EQ(lines.at(line), (nlohmann::json{{"step", line == 1 ? 4 : 7},
                                              {"epoch", line == 1 ? 1 : 2},
                                              {"valid_loss", 2.5},
                                              {"valid_accuracy", 0.25},
                                              {"valid_sequence_accuracy", 0.125},
                                              {"valid_bleu", 31.5},
                                              {"valid_encoder_steps", {{"1", 7}, {"2", 3}}},
                                              {"valid_decoder_steps", {{"3", 1}}},
                                              {"valid_exit_loss", {{"2", 0.75}}}}));
  }
  for (const auto& [tag, value] : {std::pair{"valid/loss", 2.5f},
                                   {"valid/accuracy", 0.25f},
                                   {"valid/sequence_accuracy", 0.125f},
                                   {"valid/bleu", 31.5f},
                                   {"valid/exit_loss/2", 0.75f}}) {
    EXPECT_THAT(events.scalars[tag], ElementsAre(Pair(4, value), Pair(7, value))) << tag;
  }
  EXPECT_EQ(events.texts["valid/samples"].front().second, "input | output | reference\n---|---|---\na\\|b | c d | e\n");
}

TEST_F(TensorBoardTest, HasTheSameEventsForAResumedAndAnUninterruptedRun) {
  TrainOptions options = short_run();
  options.validate_every = 4;
  options.save_every = 5;
  options.clip_norm = 0.01;
  const auto train = [&](const std::filesystem::path& run, std::int64_t lost_at, bool is_resumed) {
    TestRun parts(run, options);
    TensorBoard board(run, parts.task, options.clip_norm);
    Trainer trainer(options, parts.task, parts.batches, board);
    trainer.open(run);
    if (is_resumed) trainer.resume();
    if (lost_at > 0)
      parts.task.loss_factor = [=](std::int64_t loss) {
        if (loss == lost_at) throw std::runtime_error("killed");
        return 1.0;
      };
    trainer.run(parts.requests);
  };

  train(folder() / "uninterrupted", 0, false);
  EXPECT_THROW(train(folder() / "resumed", 9, false), std::runtime_error);
  train(folder() / "resumed", 0, true);

  RunEvents expected = read_run_events(folder() / "uninterrupted");
  RunEvents resumed = read_run_events(folder() / "resumed");
  EXPECT_EQ(resumed.steps(), expected.steps());
  for (const char* measured : {"train/seconds", "train/tokens_per_second"}) {
    EXPECT_EQ(resumed.scalars.erase(measured), 1U);
    expected.scalars.erase(measured);
  }
  EXPECT_EQ(resumed.scalars, expected.scalars);
  EXPECT_EQ(resumed.histograms, expected.histograms);
  EXPECT_THAT(expected.steps().at("gradient_norm/bias"), testing::Contains(8));
}

TEST(LayerOf, ReturnsTheLayerOfAParameter) {
  EXPECT_EQ(layer_of("encoder.layers.0.feed_forward.inner.weight"), "encoder.layers.0");
  EXPECT_EQ(layer_of("decoder.layers.11.norm.gain"), "decoder.layers.11");
  EXPECT_EQ(layer_of("decoder.norm.gain"), "decoder.norm");
  EXPECT_EQ(layer_of("generator.bias"), "generator");
  EXPECT_EQ(layer_of("table"), "table");
}

}  // namespace
}  // namespace edgewise
