// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace edgewise {

// Shapes: T = tokens, C = vocabulary (classes).

struct LossOptions {
  // Probability that the tokens other than the label share evenly; 0 gives cross-entropy. In a vocabulary without other
  // tokens, the label keeps all probability.
  double smoothing = 0.0;

  // The padding token, which gets no probability and whose rows have no loss. If negative, no token is ignored.
  std::int64_t ignored = -1;
};

/// Returns the sum over tokens of KL(target || model), a scalar. The target distribution gives the label probability
/// 1 - smoothing and shares the rest evenly among the other tokens except `ignored`. This is label smoothing (Szegedy
/// et al. 2016), except that the label gets no share of the rest. Computes a closed form, without a target tensor
/// [T, C]; keeps one tensor [T, C] for the backward pass. `labels_T` is int64, on the device of the logits. The result
/// can be differentiated once with respect to the logits.
at::Tensor smoothed_loss(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// Computes smoothed_loss from one log-softmax in ATen on any device, also where there is a kernel.
at::Tensor smoothed_loss_in_aten(const at::Tensor& logits_TC, const at::Tensor& labels_T,
                                 const LossOptions& options = {});

/// Defines smoothed_loss: computes the same loss from a target tensor [T, C], in plain ATen.
at::Tensor smoothed_loss_plain(const at::Tensor& logits_TC, const at::Tensor& labels_T,
                               const LossOptions& options = {});

/// Returns the number of rows whose label has the highest logit; rows with an ignored label do not count.
std::int64_t count_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// Returns the rows that count_correct() counts, bool [T], on the device of the logits and the labels.
at::Tensor find_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

}  // namespace edgewise
