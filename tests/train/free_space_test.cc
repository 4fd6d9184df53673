// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/train/checkpoint.h"
#include "tests/support/faulty_file_system.h"
#include "tests/train/run_folder.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

class FreeSpace : public RunFolder {
 protected:
  FreeSpace() { std::filesystem::create_directories(folder() / "last"); }

  static constexpr CheckpointSizes kSizes = {.model = 1'000'000, .state = 3'000'000, .models = 2};  // 11 MB
};

TEST_F(FreeSpace, SufficesForThreeStatesAndTheModels) {
  FaultyFileSystem files({.free_bytes = 11'000'000});
  const ScopedFileSystem replaced(files);
  EXPECT_NO_THROW(require_space(folder(), kSizes));
}

TEST_F(FreeSpace, BelowTheNeedIsAnError) {
  FaultyFileSystem files({.free_bytes = 10'900'000});
  const ScopedFileSystem replaced(files);
  EXPECT_THAT([this] { require_space(folder(), kSizes); },
              ThrowsMessage<Error>("train: the disk of " + folder().string() +
                                   " has 10.9 MB left, needs 11.0 MB for checkpoints; make room, or choose another "
                                   "directory"));
  std::ofstream(folder() / "last/model.safetensors") << std::string(200'000, 'x');
  EXPECT_NO_THROW(require_space(folder(), kSizes));
}

TEST_F(FreeSpace, IsCheckedBeforeTheFirstStepAndBeforeResuming) {
  std::filesystem::remove_all(folder());
  {
    FaultyFileSystem files({.free_bytes = 2000});
    const ScopedFileSystem replaced(files);
    TestRun run(folder(), short_run());
    EXPECT_THROW(run.start(), Error);
    EXPECT_TRUE(run.steps.empty());
    EXPECT_FALSE(std::filesystem::exists(folder() / "last"));
  }
  TestRun run(folder(), short_run());
  run.after_step = [&](const StepReport& report) { run.requests.stop = report.step == 2; };
  run.start();
  const std::string before = read_file(folder() / "last/manifest.json");

  FaultyFileSystem files({.free_bytes = 10});
  const ScopedFileSystem replaced(files);
  TrainOptions more = short_run();
  more.keep_best = 100;
  EXPECT_THROW(TestRun(folder(), more).resume(), Error);
  EXPECT_EQ(read_file(folder() / "last/manifest.json"), before);
}

}  // namespace
}  // namespace edgewise
