// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/loss/softmax_loss.h"

// Shapes: P = pairs of rows, C = vocabulary (classes).

namespace edgewise::kernels {

/// Softmax of pairs of rows, which are two opinions on the same token: for each row its divergence from the target, as
/// in SoftmaxLoss, and for each pair how far the two are apart, (KL(p || q) + KL(q || p)) / 2 of their probabilities p
/// and q (R-Drop: Liang et al. 2021). A pair is rows i and P + i. Gradient is float or BFloat16. Logits are finite.
template <typename Gradient>
struct PairedLoss {
  std::int64_t pairs;
  std::int64_t columns;
  float* logits;               // [2 P, C], overwritten
  const std::int64_t* labels;  // [P]
  SmoothedTarget target;
  float weight;        // of the distances
  Gradient* gradient;  // [2 P, C], of the sum of losses and weighted distances in the logits; or null. May be `logits`
  float* loss;         // [2 P], 0 for an ignored label
  float* distance;     // [P], likewise
  bool* is_correct;    // [2 P], as in SoftmaxLoss
};

template <typename Gradient>
void paired_loss(const PairedLoss<Gradient>& problem);

}  // namespace edgewise::kernels
