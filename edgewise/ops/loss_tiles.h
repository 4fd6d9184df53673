// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "edgewise/kernels/loss/softmax_loss.h"

// The loss of projected states, tile by tile, without autograd. Shapes: T = tokens, M = size of a state, C =
// vocabulary.
namespace edgewise {

/// All contiguous; the state and its gradient are fp32 or bf16, the rest is fp32. Gradients that nobody wants are
/// undefined; that of the bias is zero.
struct LossTensors {
  at::Tensor state_TM, weight_CM, bias_C, labels_T;
  at::Tensor grad_state_TM, grad_weight_CM, grad_bias_C;
};

struct LossRule {
  kernels::SmoothedTarget target;
  // Where it is set, rows i and T / 2 + i are a pair, and the loss grows by their distance times this (paired_loss.h).
  std::optional<float> pair_weight = std::nullopt;
};

struct LossSums {
  double loss = 0.0;
  std::int64_t correct = 0;
};

/// Writes the gradients of the sum of losses.
LossSums run_loss_tiles(const LossTensors& tensors, const LossRule& rule);

}  // namespace edgewise
