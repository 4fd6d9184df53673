// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"

// Shapes: R = rows (tokens), P = pairs of rows, C = classes (the vocabulary).
namespace edgewise::kernels {

/// The target distribution of a row: label smoothing over all tokens but `ignored_token`.
struct SmoothedTarget {
  double label_probability;
  double other_probability;    // probability of each other token; `ignored_token` has 0
  double entropy;              // sum of p * log(p) over the distribution
  std::int64_t ignored_token;  // a row with this label has no loss and no gradient; negative: none
};

/// The arguments of the cross-entropy of softmax(logits) with smoothed targets, as KL(target || softmax), and of its
/// gradient, row by row. Gradient is float or BFloat16.
template <typename Gradient>
struct SoftmaxLoss {
  std::int64_t rows;
  std::int64_t columns;
  float* logits;               // [R, C], overwritten
  const std::int64_t* labels;  // [R]
  SmoothedTarget target;
  Gradient* gradient;  // [R, C], of the sum of losses with respect to the logits; or null. May be `logits`
  float* loss;         // [R], 0 for an ignored label
  bool* is_correct;    // [R]: the label is the first of the most probable tokens, and not ignored
};

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem);

/// Begins softmax_loss() on a GPU in `stream`. All pointers are to memory of the device, logits and gradients to
/// multiples of 16 bytes, and a row has fewer than 2^31 columns. The result has the same bits in every run. Reads the
/// logits twice, the second time mostly from the cache, and writes only the results. Only a gradient of floats may be
/// `logits`.
template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem, device::Stream stream);

namespace reference {
template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& problem);
}  // namespace reference

/// The rules that make two forward passes over each token agree, where p and q are the probabilities of the first and
/// the second pass:
/// - kRDrop (Liang et al. 2021): the SoftmaxLoss of both passes, and the divergence (KL(p || q) + KL(q || p)) / 2;
/// - kSimCut (Gao et al. 2022): the SoftmaxLoss of the first pass, and the divergence KL(p || q). The divergence has a
///   gradient in both passes, which the paper's section 3 calls bidirectional backpropagation and finds better than a
///   gradient in the second pass alone.
enum class ConsistencyKind { kRDrop, kSimCut };

/// The arguments of the loss of consistency training, where two forward passes predict each token. Pair i is rows i and
/// P + i. Gradient is float or BFloat16. Logits must be finite.
template <typename Gradient>
struct ConsistencyLoss {
  std::int64_t pairs;
  std::int64_t columns;
  float* logits;               // [2 P, C], overwritten
  const std::int64_t* labels;  // [P]
  SmoothedTarget target;
  ConsistencyKind kind;
  float divergence_weight;
  Gradient* gradient;  // [2 P, C], of the sum of losses and weighted divergences with respect to the logits; or null.
                       // May be `logits`
  float* loss;         // [2 P], 0 for an ignored label, and for rows that the kind gives no SoftmaxLoss
  float* divergence;   // [P], 0 for an ignored label
  bool* is_correct;    // [2 P], as in SoftmaxLoss; false for rows without a SoftmaxLoss
};

template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& problem);

/// Begins consistency_loss() on a GPU in `stream`, under the conditions of softmax_loss() and with its passes over
/// memory.
template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& problem, device::Stream stream);

namespace reference {
template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& problem);
}  // namespace reference

}  // namespace edgewise::kernels
