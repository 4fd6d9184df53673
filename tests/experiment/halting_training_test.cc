// SPDX-License-Identifier: Apache-2.0
// Training of halting units alone.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/experiment/small_training.h"

namespace edgewise {
namespace {

TEST(HaltingTraining, ChangesTheHaltingUnitsAndNoBitOfOtherParameters) {
  SmallTraining training({"model.exits.layers=[1]", "train.part=halting", "train.schedule=constant", "train.warmup=0",
                          "train.learning_rate=0.05"});
  std::map<std::string, at::Tensor> before;
  for (const NamedTensor& parameter : training.task().parameters()) {
    before[parameter.name] = parameter.tensor.detach().clone();
  }
  Updater update(training.options(), training.task(), training.batches());
  constexpr std::int64_t kEpoch = 4;  // steps
  LossSums first;
  LossSums last;
  for (std::int64_t step = 1; step <= 30 * kEpoch; ++step) {
    const LossSums sums = update(step).sums;
    if (step <= kEpoch) first += sums;
    if (step > 29 * kEpoch) last += sums;
  }

  EXPECT_LT(last.loss / static_cast<double>(last.tokens), 0.9 * first.loss / static_cast<double>(first.tokens));
  for (const NamedTensor& parameter : training.task().parameters()) {
    EXPECT_EQ(at::equal(parameter.tensor, before.at(parameter.name)), !parameter.name.starts_with("exits."))
        << parameter.name;
  }
}

}  // namespace
}  // namespace edgewise
