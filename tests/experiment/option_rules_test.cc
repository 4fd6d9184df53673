// SPDX-License-Identifier: Apache-2.0
// Options that contradict each other are refused before training opens a file.
#include <gtest/gtest.h>

#include "edgewise/experiment/train.h"
#include "tests/experiment/option_table.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

std::string error_with(const Settings& settings) {
  return error_of([&] { check_options(parse_experiment("", "test", letter_settings() + settings), "train"); });
}

TEST(OptionRules, NameTheOptionItsValueAndWhatItNeeds) {
  EXPECT_EQ(error_with({}), "no error");
  EXPECT_EQ(error_with({"model.universal.epsilon=0.05"}),
            "train: model.universal.epsilon is 0.05, needs model.kind=universal");
  EXPECT_EQ(error_with({"train.learning_rate=0.01"}),
            "train: train.learning_rate is 0.01, needs train.schedule other than noam, which has train.factor instead");
  EXPECT_EQ(error_with({"train.patience=3", "data.valid_size=0"}),
            "train: train.patience is 3, needs validation pairs; set data.valid or data.valid_size");
  EXPECT_EQ(error_with({"train.schedule=plateau", "data.valid_size=0"}),
            "train: train.schedule is plateau, needs validation pairs; set data.valid or data.valid_size");
  EXPECT_EQ(error_with({"train.best_by=bleu"}), "train: train.best_by is bleu, needs data.task=text");
  EXPECT_EQ(error_with({"vocabulary.shared=false"}),
            "train: model.tying is all, needs vocabulary.shared=true, one vocabulary for both sides; or set "
            "model.tying=output");
  EXPECT_EQ(error_with({"batch.tokens=0", "batch.sentences=0"}),
            "train: batch.tokens and batch.sentences are 0, needs a limit; set batch.tokens or batch.sentences");
  EXPECT_EQ(error_with({"show.input=a b"}), "train: show.output is empty, needs what show.input becomes");
  EXPECT_EQ(error_with({"show.output=a b"}), "train: show.output is \"a b\", needs show.input");
  EXPECT_EQ(error_with({"search.temperature=0.5"}), "train: search.temperature is 0.5, needs search.kind=sampling");
  EXPECT_EQ(error_with({"search.kind=scoring"}), "train: search.kind is scoring, needs beam or sampling");
  EXPECT_EQ(error_with({"search.n_best=2"}), "train: search.n_best is 2, needs at most search.beam, which is 1");
  EXPECT_EQ(error_with({"model.heads=3"}), "Transformer: heads is 3, needs a divisor of size 8");
  EXPECT_EQ(error_with({"train.schedule=linear", "train.warmup=5"}),
            "Schedule: steps is 2, the linear schedule needs more than its warmup of 5");
}

TEST(OptionRules, AreCheckedBeforeTrainingOpensAFile) {
  const Experiment experiment = parse_experiment(
      "", "test",
      text_settings() + Settings{R"(data.train=["missing.tsv"])", "train.factor=2.0", "train.schedule=constant"});
  RunObserver observer;
  RunRequests requests;
  EXPECT_EQ(error_of([&] { train(experiment, "/nowhere/run", {}, observer, requests); }),
            "train: train.factor is 2.0, needs train.schedule=noam; other schedules have train.learning_rate");
}

TEST(OptionRules, CompareWithTheDefaultsOfThePreset) { EXPECT_EQ(error_with({"model.preset=chapter"}), "no error"); }

}  // namespace
}  // namespace edgewise
