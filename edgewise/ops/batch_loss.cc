// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/batch_loss.h"

#include <vector>

#include "edgewise/ops/host_read.h"

namespace edgewise {

LossSums BatchLoss::sums() const {
  LossSums sums = counts;
  if (!loss_and_correct.defined()) return sums;
  const std::vector<double> numbers = read_numbers(loss_and_correct);
  sums.loss = numbers[0];
  sums.correct = static_cast<std::int64_t>(numbers[1]);
  return sums;
}

}  // namespace edgewise
