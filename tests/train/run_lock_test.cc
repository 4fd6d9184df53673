// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "edgewise/base/error.h"
#include "edgewise/train/run_files.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

class RunLockTest : public RunFolder {
 protected:
  auto throws_another_process_trains() const {
    return ThrowsMessage<Error>("train: another process trains in " + folder().string() +
                                ", needs a run directory of its own; wait for that one's end, or choose another");
  }
};

TEST_F(RunLockTest, IsHeldByOneProcessAtATime) {
  require_unlocked(folder());
  EXPECT_FALSE(std::filesystem::exists(folder()));

  std::optional<RunLock> lock(folder());
  EXPECT_THAT([this] { RunLock another(folder()); }, throws_another_process_trains());
  EXPECT_THAT([this] { require_unlocked(folder()); }, throws_another_process_trains());

  lock.reset();
  require_unlocked(folder());
  const RunLock next(folder());
}

TEST_F(RunLockTest, PreventsAnotherStartAndAnotherResume) {
  TestRun first(folder(), short_run());
  bool was_refused = false;
  first.after_step = [&](const StepReport& report) {
    if (report.step != 2) return;
    EXPECT_THAT([this] { TestRun(folder(), short_run()).start(); }, throws_another_process_trains());
    EXPECT_THAT([this] { TestRun(folder(), short_run()).resume(); }, throws_another_process_trains());
    was_refused = true;
  };
  first.start();
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace edgewise
