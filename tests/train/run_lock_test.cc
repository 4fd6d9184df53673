// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "edgewise/base/error.h"
#include "tests/train/run_folder.h"
#include "tests/train/run_of.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

class RunLockTest : public RunFolder {
 protected:
  auto says_who_is_there() const {
    return ThrowsMessage<Error>("train: another process trains in " + folder().string() +
                                ", needs a run directory of its own; wait for that one's end, or choose another");
  }
};

TEST_F(RunLockTest, LetsOneIn) {
  require_nobody_trains(folder());
  EXPECT_FALSE(std::filesystem::exists(folder()));

  std::optional<RunLock> lock(folder());
  EXPECT_THAT([this] { RunLock another(folder()); }, says_who_is_there());
  EXPECT_THAT([this] { require_nobody_trains(folder()); }, says_who_is_there());

  lock.reset();
  require_nobody_trains(folder());
  const RunLock next(folder());
}

TEST_F(RunLockTest, KeepsOthersFromBeginningARunAndFromGoingOnWithIt) {
  RunOf first(folder(), short_run());
  bool was_refused = false;
  first.after_step = [&](const StepReport& report) {
    if (report.step != 2) return;
    EXPECT_THAT([this] { RunOf(folder(), short_run()).start(); }, says_who_is_there());
    EXPECT_THAT([this] { RunOf(folder(), short_run()).go_on(); }, says_who_is_there());
    was_refused = true;
  };
  first.start();
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace edgewise
