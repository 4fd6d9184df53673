// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/train/changing_pairs.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

/// Makes steps of two batches. The fourth batch cannot be read.
class UpdaterTest : public testing::Test {
 protected:
  static std::shared_ptr<PairSource> changed_pairs() {
    auto pairs = std::make_shared<ChangingPairs>();
    pairs->is_changed = true;
    return pairs;
  }

  static TrainOptions two_batches() {
    TrainOptions options = short_run();
    options.accumulate = 2;
    return options;
  }

  void expect_no_effect(const at::Tensor& table_before) {
    EXPECT_TRUE(task_.table().equal(table_before));
    for (const NamedTensor& parameter : task_.parameters()) {
      EXPECT_EQ(parameter.tensor.grad().abs().max().item<double>(), 0.0) << parameter.name;
    }
  }

  NextTokenTask task_;
  BatchShares batches_{changed_pairs(), ChangingPairs::batch_options(), 1};
  Updater update_{two_batches(), task_, batches_};
};

TEST_F(UpdaterTest, ComputesTheGradientsOfABatchBeforeTheLossOfTheNext) {
  std::vector<bool> has_gradients;
  task_.loss_factor = [&](std::int64_t) {
    has_gradients.push_back(task_.table().grad().any().item<bool>());
    return 1.0;
  };
  update_(1);
  EXPECT_THAT(has_gradients, ElementsAre(false, true));
}

TEST_F(UpdaterTest, LeavesNoGradientsOfAStepWhoseSecondBatchCannotBeRead) {
  update_(1);
  const at::Tensor before = task_.table().detach().clone();
  EXPECT_THAT([this] { update_(2); }, ThrowsMessage<BatchError>("train: the corpus was changed"));
  EXPECT_EQ(task_.num_losses, 3);
  expect_no_effect(before);
}

TEST_F(UpdaterTest, LeavesNoGradientsOfAStepThatIsStopped) {
  const at::Tensor before = task_.table().detach().clone();
  RunRequests requests;
  task_.loss_factor = [&](std::int64_t number) {
    requests.stop = number == 1;
    return 1.0;
  };
  EXPECT_THROW(update_(1, requests), StopException);
  EXPECT_EQ(task_.num_losses, 1);
  expect_no_effect(before);
}

}  // namespace
}  // namespace edgewise
