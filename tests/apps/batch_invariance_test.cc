// SPDX-License-Identifier: Apache-2.0
// The scores that the program prints for a sentence are the same alone and in any batch, with any number of workers and
// threads, on every instruction set.
#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

class BatchInvariance : public ProgramTest {
 protected:
  /// Trains a model of the sizes at which the bits of a product may depend on its rows, and writes inputs and outputs.
  void prepare(const std::vector<std::string>& settings) const {
    write("tiny.toml", kTinyConfig);
    std::vector<std::string> command = {"train", "tiny.toml", "--out", "run"};
    for (const char* setting :
         {"data.symbols=26", "model.size=64", "model.heads=4", "model.feed_forward=256", "model.encoder_layers=2"}) {
      command.insert(command.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
    RandomStream random(/*seed=*/3);
    write("inputs", random_lines(30, random));
    write("outputs", random_lines(30, random));
  }

  void expect_same_scores_in_any_batch() const {
    for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
      for (const std::string precision : {"fp32", "bf16", "int8"}) {
        SCOPED_TRACE(std::string(kernels::instruction_set_name(set)) + ", " + precision);
        const std::vector<std::string> common = {"--model", "run", "--precision", precision};
        expect_same_in_batches(set, with(common, {"translate", "--beam", "4", "--scores", "inputs"}),
                               {{"--threads", "3"}, {"--batch-sentences", "7", "--workers", "2", "--threads", "2"}});
        expect_same_in_batches(set, with(common, {"score-pairs", "inputs", "outputs"}), {{"--threads", "2"}});
      }
    }
  }

 private:
  static std::string random_lines(int count, RandomStream& random) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      for (std::uint64_t n = 1 + random.next_below(20); n > 0; --n) {
        text += {static_cast<char>('a' + random.next_below(26)), n == 1 ? '\n' : ' '};
      }
    }
    return text;
  }

  static std::vector<std::string> with(const std::vector<std::string>& arguments, std::vector<std::string> command) {
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }

  void expect_same_in_batches(kernels::InstructionSet set, const std::vector<std::string>& command,
                              const std::vector<std::vector<std::string>>& all_batches) const {
    const ProcessOptions options = {.environment = {"EDGEWISE_KERNELS=" + std::string(instruction_set_name(set))}};
    const std::string alone = run_well(with({"--batch-sentences", "1", "--threads", "1"}, command), options);
    for (const std::vector<std::string>& batches : all_batches) {
      EXPECT_EQ(run_well(with(batches, command), options), alone) << command.front() << " " << batches.front();
    }
  }
};

TEST_F(BatchInvariance, HoldsForTransformersOnEveryInstructionSetInEachPrecision) {
  prepare({});
  expect_same_scores_in_any_batch();
}

TEST_F(BatchInvariance, HoldsForUniversalTransformersOnEveryInstructionSetInEachPrecision) {
  prepare({"model.kind=universal", "model.decoder_layers=3"});
  expect_same_scores_in_any_batch();
}

}  // namespace
}  // namespace edgewise
