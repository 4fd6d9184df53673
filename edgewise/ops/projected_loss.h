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

/// R-Drop (Liang et al. 2021): the model reads the same tokens twice, under dropouts of their own, and is to say the
/// same of them. Row T / 2 + i of the state is the second opinion on the token of row i, so that the labels are there
/// twice. The loss is that of projected_loss, and `weight` times the sum over tokens of (KL(p || q) + KL(q || p)) / 2,
/// with p and q for the two rows' probabilities; a token whose label is ignored counts for nothing. Memory and errors
/// likewise.
ProjectedLoss projected_rdrop_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                   const at::Tensor& labels_T, double weight, const LossOptions& options = {});

/// The same by way of all logits, in plain ATen: the definitions.
ProjectedLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                   const at::Tensor& labels_T, const LossOptions& options = {});
ProjectedLoss projected_rdrop_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM,
                                         const at::Tensor& bias_C, const at::Tensor& labels_T, double weight,
                                         const LossOptions& options = {});

}  // namespace edgewise
