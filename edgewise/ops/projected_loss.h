// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/ops/loss.h"

// Shapes: T = tokens, M = size of a state, C = vocabulary (classes).
namespace edgewise {

/// Computes smoothed_loss and count_correct (loss.h) of the logits `state Wᵀ + bias` without storing all logits. Each
/// tile of rows passes through product, softmax and loss and, if gradients are needed, through the backward pass too,
/// so that no logit is computed twice. Memory besides the gradients does not grow with T, except by about 13 bytes per
/// token on a GPU, for labels and results. Labels are int64 on the CPU; on a GPU nothing waits for the result.
///
/// State is fp32, bf16 (with softmax and loss in fp32) or fp64; weight and bias are fp32, or fp64 if the state is; bias
/// may be undefined. The objective is fp32, or fp64 if the state is. Throws Error when a shape, a type or a label does
/// not fit.
BatchLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                         const at::Tensor& labels_T, const LossOptions& options = {});

/// Computes the loss of R-Drop or SimCut (kernels::ConsistencyKind): the model computes each token twice, with
/// different dropout masks or embeddings, and the loss makes the two distributions similar. Rows i and T / 2 + i of the
/// state belong to the same token, so that the second half of the labels repeats the first. The loss is that of
/// projected_loss, of all rows with R-Drop and of the first T / 2 rows with SimCut, which alone are counted then, plus
/// the weight times the sum of the pairs' divergences; pairs with an ignored label add nothing. Types, memory and
/// errors are as in projected_loss.
BatchLoss projected_consistency_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                     const at::Tensor& labels_T, const Consistency& consistency,
                                     const LossOptions& options = {});

/// Define the two functions above in plain ATen, from all logits.
BatchLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                               const at::Tensor& labels_T, const LossOptions& options = {});
BatchLoss projected_consistency_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM,
                                           const at::Tensor& bias_C, const at::Tensor& labels_T,
                                           const Consistency& consistency, const LossOptions& options = {});

}  // namespace edgewise
