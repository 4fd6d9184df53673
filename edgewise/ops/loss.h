// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace edgewise {

// Shapes: T = tokens, C = vocabulary (classes).

struct LossOptions {
  // Share of probability spread over the other words; stays with the label where there is no other. 0 is plain
  // cross-entropy.
  double smoothing = 0.0;

  // A word that is never right and takes no share (the padding token); its labels count for nothing. Negative: none.
  std::int64_t ignored = -1;
};

/// Sum over tokens of KL(target || model), where the target puts 1 - smoothing on the label and shares the rest evenly
/// among the other words but `ignored`: the graph tutorial's form of label smoothing (Szegedy et al. 2016). Computed in
/// closed form from one log-softmax, without a dense target. [T, C] and int64 [T] to a scalar. Differentiable in
/// logits.
at::Tensor smoothed_loss(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// The same, from dense targets as the source writes it: the definition.
at::Tensor smoothed_loss_plain(const at::Tensor& logits_TC, const at::Tensor& labels_T,
                               const LossOptions& options = {});

/// How many tokens have their label as the most likely word, leaving out ignored labels.
std::int64_t count_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

}  // namespace edgewise
