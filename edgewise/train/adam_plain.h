// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/ops/optimiser.h"
#include "edgewise/train/adam.h"

namespace edgewise {

/// The numbers of an update. `divisor` is fp32 and `is_skipped` bool, both on the device of the arrays.
struct AdamUpdate {
  std::int64_t step;  // from 1
  double learning_rate;
  double weight_decay;
  at::Tensor divisor;
  at::Tensor is_skipped;  // if true, the arrays stay as they are
};

/// Defines the update of Adam in plain ATen, for any device.
void update_plain(const AdamArrays& arrays, const AdamUpdate& update, const AdamOptions& options);

}  // namespace edgewise
