// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Shapes: R = rows (tokens), C = vocabulary (classes).

namespace edgewise::kernels {

/// The probabilities that a token's target gives to words.
struct SmoothedTarget {
  double label;          // to the label
  double share;          // to each other word but `ignored`
  double entropy;        // sum of p * log(p)
  std::int64_t ignored;  // a word without a share, whose labels count for nothing; negative: none
};

/// Softmax, its divergence from the target, and the gradient of that, row by row. Gradient is float or BFloat16.
template <typename Gradient>
struct SoftmaxLoss {
  std::int64_t rows;
  std::int64_t columns;
  float* logits;               // [R, C], overwritten
  const std::int64_t* labels;  // [R]
  SmoothedTarget target;
  Gradient* gradient;  // [R, C], of the sum of losses in the logits; or null. It may be `logits`
  float* loss;         // [R], 0 for an ignored label
  bool* is_correct;    // [R]: the label is the first of the most likely words, and not ignored
};

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem);

}  // namespace edgewise::kernels
