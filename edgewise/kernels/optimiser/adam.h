// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// The arguments of a step of Adam (Kingma and Ba 2015, algorithm 1) with decoupled weight decay (Loshchilov and Hutter
/// 2019), on flat arrays of fp32:
///
///     gradient  = gradient / divisor
///     value    -= learning_rate · weight_decay · value, for matrices only
///     mean     += (1 - beta1) · (gradient - mean)
///     variance  = beta2 · variance + (1 - beta2) · gradient²
///     value    -= learning_rate / (1 - beta1^step) · mean / (sqrt(variance) / sqrt(1 - beta2^step) + epsilon)
///
/// A divisor that is not finite leaves all arrays as they are.
struct AdamUpdate {
  static constexpr std::int64_t kFlagged = 16;  // elements that share a flag of is_matrix

  float* value;                   // [N]
  const float* gradient;          // [N]
  float* mean;                    // [N]
  float* variance;                // [N]
  float* divided_gradient;        // [N], may be `gradient`; or null
  BFloat16* value_bf16;           // [N], receives the rounded values; or null
  const std::uint8_t* is_matrix;  // element i belongs to a matrix if is_matrix[i / kFlagged] is not 0; null: none does
  std::int64_t count;             // N
  const float* divisor;           // a single number: the tokens of the gradients, times the divisor that clips them
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  std::int64_t step;  // from 1
};

/// The factors of AdamUpdate, computed in double and rounded once.
struct AdamFactors {
  explicit AdamFactors(const AdamUpdate& p);

  float mean_weight;  // 1 - beta1
  float beta2;
  float square_weight;        // 1 - beta2
  float variance_correction;  // sqrt(1 - beta2^step)
  float epsilon;
  float rate;   // learning_rate / (1 - beta1^step)
  float decay;  // 1 - learning_rate · weight_decay
};

namespace reference {

/// Has the order and the fused operations of ATen's _fused_adamw_ for AVX2, and its bits.
void adam_update(const AdamUpdate& p);

}  // namespace reference
}  // namespace edgewise::kernels
