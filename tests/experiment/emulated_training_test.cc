// SPDX-License-Identifier: Apache-2.0
// Training with the kernels for GPUs, in the emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/experiment/small_training.h"
#include "tests/support/emulated_kernels.h"

namespace edgewise {
namespace {

struct FewSteps {
  std::vector<double> losses;          // of each step, per token
  std::vector<double> gradient_norms;  // of each step
  at::Tensor values;
};

constexpr std::int64_t kSteps = 3;

FewSteps train_few_steps(std::vector<std::string> settings) {
  settings.insert(settings.begin(), {"model.encoder_layers=1", "model.decoder_layers=1", "batch.sentences=4"});
  SmallTraining training(settings);
  Updater update(training.options(), training.task(), training.batches());
  FewSteps steps;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const Update result = update(step);
    EXPECT_TRUE(result.is_applied());
    steps.losses.push_back(result.sums.loss / static_cast<double>(result.sums.tokens));
    steps.gradient_norms.push_back(result.gradient_norm);
  }
  steps.values = update.parameters().values().clone();
  return steps;
}

/// Expects that training with the kernels for GPUs gives the losses and norms of the kernels of the CPU, up to a
/// relative error, and the same bits twice. Returns the names of the kernels.
std::set<std::string> expect_same_training(const std::vector<std::string>& settings, double tolerance) {
  const FewSteps expected = train_few_steps(settings);
  FewSteps actual;
  const std::set<std::string> kernels = launched_kernels([&] { actual = train_few_steps(settings); });
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(actual.losses[step], expected.losses[step], tolerance * expected.losses[step]) << step;
    EXPECT_NEAR(actual.gradient_norms[step], expected.gradient_norms[step], tolerance * expected.gradient_norms[step])
        << step;
  }
  FewSteps again;
  EXPECT_EQ(launched_kernels([&] { again = train_few_steps(settings); }), kernels);
  EXPECT_EQ(again.losses, actual.losses);
  EXPECT_EQ(again.gradient_norms, actual.gradient_norms);
  EXPECT_TRUE(again.values.equal(actual.values));
  return kernels;
}

// The sums of fp32 have other orders. Adam makes steps of about the learning rate from gradients of any size, so that
// rounding errors of 1e-7 in gradients near zero grow to some 1e-5 in the losses of the next steps.
constexpr double kTolerance = 1e-4;

TEST(EmulatedTraining, HasTheLossesOfTheKernelsOfTheCpu) {
  const std::set<std::string> kernels = expect_same_training(
      {"model.dropout.embedding=0.1", "model.dropout.residual=0.1", "train.weight_decay=0.01"}, kTolerance);
  EXPECT_THAT(kernels, testing::IsSupersetOf({"adam_update", "add_norm_backward", "add_norm_forward", "divide_by_norm",
                                              "embed_backward", "embed_forward", "sum_squares"}));
}

TEST(EmulatedTraining, HasTheLossesOfTheKernelsOfTheCpuForAUniversalTransformer) {
  const std::set<std::string> kernels =
      expect_same_training({"model.kind=universal", "model.encoder_layers=2", "model.decoder_layers=2"}, kTolerance);
  EXPECT_THAT(kernels, testing::IsSupersetOf({"adam_update", "embed_backward", "gather_rows", "place_rows"}));
}

TEST(EmulatedTraining, HasTheLossesOfTheKernelsOfTheCpuInBf16) {
  // The kernels round other sums to the 8 bits of bf16.
  expect_same_training({"train.precision=bf16"}, 2e-2);
}

}  // namespace
}  // namespace edgewise
