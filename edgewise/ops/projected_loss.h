// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/ops/loss.h"

// Shapes: T = tokens, M = size of a state, C = vocabulary (classes).

namespace edgewise {

struct ProjectedLoss {
  at::Tensor loss_sum;       // scalar, differentiable once; fp32, or fp64 where state is
  std::int64_t correct = 0;  // tokens whose label is the most likely word; of equally likely ones the first
};

/// smoothed_loss and count_correct of loss.h on the logits `state Wᵀ + bias`, which never exist as a whole: tiles of
/// rows go through product, softmax and loss, and where a gradient is wanted straight on to the gradients of state,
/// weight and bias, so that nothing is computed twice. Memory beyond those gradients does not grow with T.
///
/// State is fp32, bf16 (softmax and loss in fp32) or fp64; weight and bias are fp32, or fp64 where state is; bias may
/// be undefined. Throws Error when a shape, a type or a label does not fit.
ProjectedLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                             const at::Tensor& labels_T, const LossOptions& options = {});

/// The same by way of all logits, in plain ATen: the definition.
ProjectedLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                   const at::Tensor& labels_T, const LossOptions& options = {});

}  // namespace edgewise
