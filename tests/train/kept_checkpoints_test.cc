// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/kept_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class KeptCheckpointsTest : public RunFolder {
 protected:
  void write(std::int64_t step, double loss) const {
    DirectoryWriter writer(folder() / name_of_step(step));
    writer.write(kWorthFile, to_toml(ModelWorth{.step = step, .validation = {.loss = loss}}));
    writer.commit();
  }

  static KeptCheckpoints with(std::initializer_list<double> losses, std::int64_t most) {
    KeptCheckpoints kept(most, BestBy::kAuto);
    std::int64_t step = 0;
    for (const double loss : losses) kept.add(++step, {.loss = loss});
    return kept;
  }
};

TEST_F(KeptCheckpointsTest, AreTheBestOfAllValidations) {
  EXPECT_TRUE(rc::check([] {
    const auto losses = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    const auto most = *rc::gen::inRange<std::int64_t>(0, 5);
    KeptCheckpoints kept(most, BestBy::kLoss);
    std::vector<std::pair<int, std::int64_t>> order;  // of equal ones, the first is better
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i);
      order.emplace_back(losses[i], step);
      std::ranges::sort(order);
      if (static_cast<std::int64_t>(order.size()) > most) order.pop_back();
      const bool is_among = std::ranges::any_of(order, [&](const auto& pair) { return pair.second == step; });
      RC_ASSERT(kept.add(step, {.loss = static_cast<double>(losses[i])}) == is_among);
    }
    std::set<std::string> names;
    for (const auto& [loss, step] : order) names.insert(name_of_step(step));
    RC_ASSERT(kept.names() == names);
  }));
}

TEST_F(KeptCheckpointsTest, AreFoundAgainAsTheyWereAtAStep) {
  write(3, 2.0);
  write(7, 1.0);
  write(9, 3.0);
  write(12, 0.5);  // later: a run that was killed behind its checkpoint comes there again
  KeptCheckpoints kept(2, BestBy::kAuto);
  kept.read(folder(), 10);
  EXPECT_THAT(kept.names(), ElementsAre("step-00000003", "step-00000007"));
}

TEST_F(KeptCheckpointsTest, SayWhichCannotBeRead) {
  write(3, 2.0);
  std::ofstream(folder() / "step-00000003" / kWorthFile) << "step = -1";
  KeptCheckpoints kept(2, BestBy::kAuto);
  EXPECT_THAT([&] { kept.read(folder(), 10); }, ThrowsMessage<Error>(HasSubstr("step-00000003/validation.toml:1")));
}

TEST_F(KeptCheckpointsTest, GoButForThoseNamedAndForWhatIsNotTheirs) {
  for (const std::int64_t step : {3, 7, 9}) write(step, 1.0);
  std::filesystem::create_directory(folder() / "step-mine");
  std::filesystem::create_directory(folder() / "step-00000011");
  std::ofstream(folder() / "step-00000009/notes.txt") << "mine";

  remove_other_checkpoints(folder(), with({1.0, 2.0, 0.5}, 1).names());

  EXPECT_THAT(names_in(folder()), ElementsAre("step-00000003", "step-00000009", "step-00000011", "step-mine"));
}

}  // namespace
}  // namespace edgewise
