// SPDX-License-Identifier: Apache-2.0
// A model that has learned a position for each token up to a limit trains and translates texts of any length.
#include <gmock/gmock.h>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::HasSubstr;

class LearnedPositions : public ProgramTest {
 protected:
  LearnedPositions() { write("tiny.toml", kTinyConfig); }

  static std::vector<std::string> train_command(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"train", "tiny.toml",
                                        "--out", "run",
                                        "--set", "model.positions=learned",
                                        "--set", "model.max_positions=12",
                                        "--set", "data.max_length=10"};
    for (const std::string& setting : more) command.insert(command.end(), {"--set", setting});
    return command;
  }
};

TEST_F(LearnedPositions, TranslateInputsOfAnyLength) {
  run_well(train_command({"data.end_input=true"}));
  std::string words;
  for (int i = 0; i < 40; ++i) words += "a b c d ";
  const ProcessOptions input = {.input = words + "\na b\n"};

  for (const std::string max_input : {"0", "5", "12", "200"}) {
    for (const std::string long_inputs : {"split", "cut"}) {
      run_well({"translate", "--model", "run", "--max-input", max_input, "--long-inputs", long_inputs}, input);
    }
  }
  run_well({"translate", "--model", "run", "--beam", "3", "--set", "search.length_offset=1000"}, input);
  EXPECT_THAT(run_well({"inspect", "run"}), HasSubstr("Transformer, 1 + 1 layers"));
}

TEST_F(LearnedPositions, RefuseToScoreAPairThatHasTooManyTokens) {
  run_well(train_command());
  write("in", "a b\na b c d a b c d a b c d a\n");
  write("out", "a b\na\n");
  expect_refused({"score-pairs", "--model", "run", "in", "out"},
                 "translate: the input \"a b c d a b c d a b c d a\" has 13 tokens, needs at most model.max_positions, "
                 "which is 12; shorten the input");
}

TEST_F(LearnedPositions, RefuseLongValidationAndTestPairsBeforeTraining) {
  std::string training;
  for (int i = 0; i < 40; ++i) training += "a b\tb a\n";
  write("train.tsv", training);
  write("short.tsv", "a b\tb a\n");
  write("long.tsv", "a b\tb a\na\ta b a b a b a b a b a b\n");
  for (const std::string side : {"valid", "test"}) {
    const std::string other = side == "valid" ? "test" : "valid";
    write("text.toml", "[data]\ntrain = [\"train.tsv\"]\n" + side + " = [\"long.tsv\"]\n" + other +
                           " = [\"short.tsv\"]\nmax_length = 10\n" + kTinyModelConfig);
    const std::vector<std::string> command = {
        "train", "text.toml", "--out", "run", "--set", "model.positions=learned", "--set", "model.max_positions=12"};
    expect_refused(command,
                   "evaluate: a sentence has position 12, needs positions below model.max_positions, which is 12; "
                   "shorten the sentence, for training by data.max_length");
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  }
}

}  // namespace
}  // namespace edgewise
