// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/loss.h"

// The loss of projected states, computed tile by tile without autograd. Shapes: T = tokens, M = size of a state, C =
// vocabulary.
namespace edgewise {

/// Inputs and outputs, all contiguous and on one device. The state and its gradient are fp32 or bf16, labels int64, the
/// other tensors fp32. An undefined gradient is not computed. `grad_bias_C` must hold zeros before the call.
struct LossTensors {
  at::Tensor state_TM, weight_CM, bias_C, labels_T;
  at::Tensor grad_state_TM = {}, grad_weight_CM = {}, grad_bias_C = {};
};

struct LossRule {
  kernels::SmoothedTarget target;
  // With two passes (kernels::ConsistencyLoss), rows i and T / 2 + i are a pair, and the loss includes the weighted
  // divergence of each pair.
  std::optional<Consistency> consistency = std::nullopt;
};

/// Returns how many of the `num_rows` rows of a state have a cross-entropy: all, or the first half with SimCut.
std::int64_t count_tokens(std::int64_t num_rows, const std::optional<Consistency>& consistency);

/// Returns the loss and its counts, and writes the gradients that are defined.
LossSums run_loss_tiles(const LossTensors& tensors, const LossRule& rule);

/// The rows of a tile on a GPU. Fewer rows would read and write the gradient of the weight more often; more rows would
/// take more memory: 400 megabytes are the logits of this tile and their gradient in bf16 for 32 000 tokens.
inline constexpr std::int64_t kTileRowsOfGpu = 2048;

/// Computes run_loss_tiles() where backend_of() (backend.h) is kGpu. Returns the loss and the number of
/// correct tokens, fp64 [2], and does not wait for the GPU. `max_tile_rows` is at least 2.
at::Tensor run_loss_tiles_on_gpu(const LossTensors& tensors, const LossRule& rule,
                                 std::int64_t max_tile_rows = kTileRowsOfGpu);

}  // namespace edgewise
