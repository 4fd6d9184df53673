// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"

namespace edgewise::kernels {

/// The number of elements that share a flag of AdamArguments::is_matrix.
inline constexpr std::int64_t kElementsPerFlag = 16;

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
struct AdamArguments {
  float* value;                   // [N]
  const float* gradient;          // [N]
  float* mean;                    // [N]
  float* variance;                // [N]
  float* divided_gradient;        // [N], receives gradient / divisor; may be `gradient`; or null
  const std::uint8_t* is_matrix;  // element i is in a matrix if is_matrix[i / kElementsPerFlag] is not 0; null: none is
  std::int64_t count;             // N
  const float* divisor;           // a single number, DivideByNorm::divisor
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  std::int64_t step;  // from 1
};

/// The factors of AdamArguments, computed in double and rounded once.
struct AdamFactors {
  explicit AdamFactors(const AdamArguments& p);

  float mean_weight;  // 1 - beta1
  float beta2;
  float square_weight;        // 1 - beta2
  float variance_correction;  // sqrt(1 - beta2^step)
  float epsilon;
  float rate;   // learning_rate / (1 - beta1^step)
  float decay;  // 1 - learning_rate · weight_decay
};

/// Begins reference::adam_update() on a GPU in `stream`, and gives its bits. A count that is a multiple of 4 is
/// fastest. Moves 28 bytes an element, and 4 more with divided_gradient. A step does not wait for the device between
/// its parts:
///
///     sum_squares(gradient, count, workspace, squares, stream);
///     divide_by_norm({.sum_of_squares = squares, .tokens = tokens, .clip_norm = 1, .divisor = divisor}, stream);
///     adam_update({…, .divisor = divisor, …}, stream);
///
/// All pointers of these functions are to memory of the device, and those to arrays are multiples of 16 bytes. Each
/// result has the same bits in every run and on every device.
void adam_update(const AdamArguments& p, device::Stream stream);

/// The number of squares in a partial sum of sum_squares().
inline constexpr std::int64_t kSquaresPerPart = 8192;

/// Returns the number of floats of the workspace of sum_squares().
constexpr std::int64_t sum_squares_workspace(std::int64_t count) {
  return (count + kSquaresPerPart - 1) / kSquaresPerPart;
}

/// Begins to compute *sum, the sum of values[i]^2 over `count` values, in `stream`. Sums of kSquaresPerPart squares are
/// floats, and their sum is a double. The order depends on `count` alone. `workspace` has sum_squares_workspace()
/// floats.
void sum_squares(const float* values, std::int64_t count, float* workspace, double* sum, device::Stream stream);

/// The arguments of divide_by_norm(). The gradients of `tokens` tokens are summed, and the norm is that of their mean.
struct DivideByNorm {
  const double* sum_of_squares;  // the squared norm of the summed gradients
  double tokens;
  double clip_norm;  // larger norms are clipped to it; 0: none is
  float* divisor;    // tokens, times norm / clip_norm if that is above 1; NaN if the norm is not finite; at most the
                     // largest float
  double* norm;      // or null
};

/// Begins to compute the divisor of AdamArguments in `stream`.
void divide_by_norm(const DivideByNorm& p, device::Stream stream);

namespace reference {

/// Computes in the order and with the fused operations of ATen's _fused_adamw_ for AVX2, so that the bits are equal.
void adam_update(const AdamArguments& p);

}  // namespace reference
}  // namespace edgewise::kernels
