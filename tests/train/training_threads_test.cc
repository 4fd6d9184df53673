// SPDX-License-Identifier: Apache-2.0
// Trains while other threads prepare batches, read the next window and write checkpoints; for ThreadSanitizer too.
#include <gtest/gtest.h>

#include "edgewise/base/threads.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

class TrainingThreads : public RunFolder {};

TEST_F(TrainingThreads, ShareNoDataWithoutALock) {
  const NumThreadsScope two_threads(2);
  TrainOptions options = short_run();
  options.save_every = options.validate_every = options.log_every = 1;
  options.keep_best = 1;
  options.average = 0.5;
  const BatchOptions batches = {.tokens = 0, .sentences = 2, .bucket = 0, .window = 10};
  TestRun run(folder(), options, {}, batches, std::make_shared<PairsInMemory>(NextTokenTask::pairs(), 5));

  EXPECT_EQ(run.start(), Outcome::kFinished);

  EXPECT_GE(run.saves.size(), run.steps.size());
  EXPECT_TRUE(run.warnings.empty());
}

}  // namespace
}  // namespace edgewise
