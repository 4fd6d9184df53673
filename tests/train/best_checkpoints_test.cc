// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/best_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class BestCheckpointsTest : public RunFolder {
 protected:
  void write(std::int64_t step, double loss) const { write(step, kScoreFile, score_text(step, loss)); }

  static std::string score_text(std::int64_t step, double loss) {
    return to_toml(CheckpointScore{.step = step, .validation = {.loss = loss}});
  }

  void write(std::int64_t step, const std::string& name, const std::string& bytes) const {
    DirectoryWriter writer(folder() / checkpoint_name(step));
    writer.write(name, bytes);
    writer.commit();
  }

  static BestCheckpoints list_of(std::initializer_list<double> losses, std::int64_t capacity) {
    BestCheckpoints checkpoints(capacity, BestMetric::kAuto);
    std::int64_t step = 0;
    for (const double loss : losses) checkpoints.add(++step, {.loss = loss});
    return checkpoints;
  }
};

TEST_F(BestCheckpointsTest, HaveTheBestValidations) {
  EXPECT_TRUE(rc::check([] {
    const auto losses = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    const auto most = *rc::gen::inRange<std::int64_t>(0, 5);
    BestCheckpoints checkpoints(most, BestMetric::kLoss);
    std::vector<std::pair<int, std::int64_t>> order;  // of equal validations, the first is better
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i);
      order.emplace_back(losses[i], step);
      std::ranges::sort(order);
      if (static_cast<std::int64_t>(order.size()) > most) order.pop_back();
      const bool is_among = std::ranges::any_of(order, [&](const auto& pair) { return pair.second == step; });
      RC_ASSERT(checkpoints.add(step, {.loss = static_cast<double>(losses[i])}) == is_among);
    }
    std::set<std::string> names;
    for (const auto& [loss, step] : order) names.insert(checkpoint_name(step));
    RC_ASSERT(checkpoints.names() == names);
  }));
}

TEST_F(BestCheckpointsTest, AreRestoredToTheListAfterAStep) {
  write(3, 2.0);
  write(7, 1.0);
  write(9, 3.0);
  write(12, 0.5);  // a killed run repeats the steps after its last checkpoint
  BestCheckpoints checkpoints(2, BestMetric::kAuto);
  checkpoints.read(folder(), 10);
  EXPECT_THAT(checkpoints.names(), ElementsAre("step-00000003", "step-00000007"));
}

TEST_F(BestCheckpointsTest, AreReadFromListedFilesOnly) {
  write(3, 2.0);
  write(7, "notes.txt", "not a model of a validation");
  std::filesystem::create_directory(folder() / "step-00000009");
  for (const std::int64_t step : {7, 9}) {
    std::ofstream(folder() / checkpoint_name(step) / kScoreFile) << score_text(step, 1.0);
  }
  BestCheckpoints checkpoints(2, BestMetric::kAuto);
  checkpoints.read(folder(), 10);
  EXPECT_THAT(checkpoints.names(), ElementsAre("step-00000003"));
}

TEST_F(BestCheckpointsTest, ReportAFileThatCannotBeReadOrWasAltered) {
  const auto throws = [](const char* text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  BestCheckpoints checkpoints(2, BestMetric::kAuto);
  write(3, kScoreFile, "step = -1");
  EXPECT_THAT([&] { checkpoints.read(folder(), 10); }, throws("step-00000003/validation.toml:1"));

  write(3, kScoreFile, "step = 3");
  std::ofstream(folder() / "step-00000003" / kScoreFile) << "step = 4";
  EXPECT_THAT([&] { checkpoints.read(folder(), 10); }, throws("step-00000003/validation.toml has SHA-256 "));
}

TEST_F(BestCheckpointsTest, AreRemovedExceptForGivenNamesAndDirectoriesWithForeignFiles) {
  for (const std::int64_t step : {3, 7, 9}) write(step, 1.0);
  std::filesystem::create_directory(folder() / "step-mine");
  std::filesystem::create_directory(folder() / "step-00000011");
  std::ofstream(folder() / "step-00000009/notes.txt") << "mine";

  remove_checkpoints_except(folder(), list_of({1.0, 2.0, 0.5}, 1).names());

  EXPECT_THAT(names_in(folder()), ElementsAre("step-00000003", "step-00000009", "step-00000011", "step-mine"));
}

}  // namespace
}  // namespace edgewise
