// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/loss/softmax_loss.h"

// Shapes: P = pairs of rows, C = classes (the vocabulary).

namespace edgewise::kernels {

/// The arguments of the loss of R-Drop (Liang et al. 2021), where two forward passes with different dropout predict
/// each token: the SoftmaxLoss of each row, and for each pair of rows with probabilities p and q the divergence (KL(p
/// || q) + KL(q || p)) / 2. Pair i is rows i and P + i. Gradient is float or BFloat16. Logits must be finite.
template <typename Gradient>
struct RDropLoss {
  std::int64_t pairs;
  std::int64_t columns;
  float* logits;               // [2 P, C], overwritten
  const std::int64_t* labels;  // [P]
  SmoothedTarget target;
  float divergence_weight;
  Gradient* gradient;  // [2 P, C], of the sum of losses and weighted divergences with respect to the logits; or null.
                       // May be `logits`
  float* loss;         // [2 P], 0 for an ignored label
  float* divergence;   // [P], 0 for an ignored label
  bool* is_correct;    // [2 P], as in SoftmaxLoss
};

template <typename Gradient>
void rdrop_loss(const RDropLoss<Gradient>& problem);

/// Begins rdrop_loss() on a GPU in `stream`, under the conditions of softmax_loss() and with its passes over memory.
template <typename Gradient>
void rdrop_loss(const RDropLoss<Gradient>& problem, device::Stream stream);

namespace reference {
template <typename Gradient>
void rdrop_loss(const RDropLoss<Gradient>& problem);
}  // namespace reference

}  // namespace edgewise::kernels
