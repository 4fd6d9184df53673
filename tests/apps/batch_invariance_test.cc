// SPDX-License-Identifier: Apache-2.0
// The scores that the program prints for a sentence are the same alone and in any batch, with any number of workers and
// threads, on every instruction set.
#include <fmt/format.h>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kNumWords = 250;

// Sizes that are no multiples of a panel or a vector, and a search that is short although inputs are long.
constexpr const char* kInvarianceConfig = R"(
[data]
train = ["pairs.tsv"]
[vocabulary]
shared = true
[batch]
tokens = 512
[model]
encoder_layers = 2
decoder_layers = 2
size = 96
heads = 3
feed_forward = 200
[train]
epochs = 1
warmup = 20
[search]
max_length = 12
)";

class BatchInvariance : public ProgramTest {
 protected:
  using Words = std::vector<std::string>;

  BatchInvariance() {
    write("config.toml", kInvarianceConfig);
    RandomStream random(/*seed=*/3);
    std::string pairs;
    for (int i = 0; i < 200; ++i) {
      pairs += random_sentence(1 + random.next_below(8), random) + "\t";
      pairs += random_sentence(1 + random.next_below(8), random) + "\n";
    }
    write("pairs.tsv", pairs);
    // Lengths on both sides of the sizes of blocks and panels, and short sentences between them.
    std::string inputs;
    std::string outputs;
    for (const std::uint64_t length : {3, 1, 64, 7, 65, 255, 2, 129, 12, 5}) {
      inputs += random_sentence(length, random) + "\n";
      outputs += random_sentence(1 + (length * 7) % 130, random) + "\n";
    }
    write("inputs", inputs);
    write("outputs", outputs);
  }

  void train(const std::string& run, const Words& settings) const {
    Words command = {"train", "config.toml", "--out", run};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }

  /// Translates, with and without prefixes, and scores: alone, in one batch by several threads, and in small batches by
  /// several workers. The prefixes give steps of many rows. Translates by the program without libtorch, which starts
  /// much faster.
  void expect_same_scores_in_any_batch(const Words& models, const Words& precisions = {"fp32", "bf16", "int8"},
                                       const Words& search = {"--beam", "4"}) const {
    const Words many_threads = {"--threads", "3"};
    const Words workers = {"--batch-sentences", "3", "--workers", "2", "--threads", "2"};
    for (const kernels::InstructionSet set : instruction_sets_) {
      for (const std::string& precision : precisions) {
        SCOPED_TRACE(std::string(kernels::instruction_set_name(set)) + ", " + precision);
        const Words translate =
            join({{EDGEWISE_TRANSLATE, "--scores", "inputs", "--precision", precision}, search, models});
        expect_same_in_batches(set, translate, {many_threads, workers});
        expect_same_in_batches(set, join({translate, {"--prefix", "outputs"}}), {many_threads, workers});
      }
      const Words score = join({{EDGEWISE_PROGRAM, "score-pairs", "inputs", "outputs"}, models});
      expect_same_in_batches(set, score, {many_threads});
    }
  }

  std::vector<kernels::InstructionSet> instruction_sets_ = kernels::runnable_instruction_sets();

 private:
  static Words join(const std::vector<Words>& lists) {
    Words all;
    for (const Words& words : lists) all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  static std::string random_sentence(std::uint64_t length, RandomStream& random) {
    std::string text;
    for (; length > 0; --length) text += fmt::format("w{}{}", random.next_below(kNumWords), length == 1 ? "" : " ");
    return text;
  }

  std::string run_command(const Words& command, kernels::InstructionSet set) const {
    const ProcessResult result = run_process(
        command,
        {.environment = {"EDGEWISE_KERNELS=" + std::string(instruction_set_name(set))}, .folder = path("").string()});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  }

  void expect_same_in_batches(kernels::InstructionSet set, const Words& command,
                              const std::vector<Words>& all_batches) const {
    const std::string alone = run_command(join({command, {"--batch-sentences", "1", "--threads", "1"}}), set);
    for (const Words& batches : all_batches) {
      EXPECT_EQ(run_command(join({command, batches}), set), alone) << command[1] << " " << batches.front();
    }
  }
};

TEST_F(BatchInvariance, HoldsForTransformersOnTheInstructionSetInForce) {
  instruction_sets_ = {kernels::instruction_set()};
  train("run", {});
  expect_same_scores_in_any_batch({"--model", "run"}, {"fp32"});
}

TEST_F(BatchInvariance, HoldsForTransformersOnEveryInstructionSetInEachPrecision) {
  train("run", {});
  expect_same_scores_in_any_batch({"--model", "run"});
}

TEST_F(BatchInvariance, HoldsForUniversalTransformersOnEveryInstructionSetInEachPrecision) {
  train("run", {"model.kind=universal", "model.decoder_layers=3"});
  expect_same_scores_in_any_batch({"--model", "run"});
}

TEST_F(BatchInvariance, HoldsForEnsemblesAndAdditiveScores) {
  train("run", {});
  train("additive", {"model.score=additive", "train.seed=2"});
  expect_same_scores_in_any_batch({"--model", "run", "--model", "additive"}, {"fp32"}, {"--beam", "2"});
}

TEST_F(BatchInvariance, HoldsForSampling) {
  train("run", {});
  expect_same_scores_in_any_batch({"--model", "run"}, {"fp32", "int8"},
                                  {"--set", "search.kind=sampling", "--set", "search.n_best=3"});
}

}  // namespace
}  // namespace edgewise
