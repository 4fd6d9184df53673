// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// The operations between two sublayers, on raw memory: dropout, residual sum and norm in one pass. Shapes: T = rows,
// M = size of a row. Types: X of the residual stream, Y of the sublayer output that is added to the stream, N of the
// norm's output. X and N are float or BFloat16; Y is X or BFloat16. Or all three types are double.
namespace edgewise::kernels {

/// The norm (row - mean) / (deviation + epsilon_outside), where deviation is
/// sqrt(sum of (row - mean)^2 / divisor + epsilon_inside). A deviation of 0 has a gradient of 0. If the norm is not
/// centred, 0 takes the place of the mean.
struct NormFormula {
  double divisor;
  double epsilon_inside;
  double epsilon_outside;
  bool is_centred = true;

  /// Returns layer norm for rows of `size` numbers: (x - mean) / sqrt(variance + epsilon).
  static NormFormula layer_norm(double size, double epsilon) { return {size, epsilon, 0.0}; }
  /// Returns (x - mean) / (deviation + epsilon) with the sample standard deviation, which divides by size - 1.
  static NormFormula std_norm(double size, double epsilon) { return {size - 1.0, 0.0, epsilon}; }
  /// Returns x / sqrt(mean of x^2 + epsilon) (Zhang and Sennrich 2019).
  static NormFormula rms_norm(double size, double epsilon) { return {size, epsilon, 0.0, false}; }

  /// Returns 1 / (deviation + epsilon_outside), the factor of a centred row.
  template <typename A>
  A inverse_deviation(A deviation) const {
    return A{1} / (deviation + static_cast<A>(epsilon_outside));
  }
};

/// The arguments of sum = x + dropout(y), rounded to X.
template <typename X, typename Y>
struct AddDropout {
  const X* x;
  const Y* y;
  X* sum;
  std::int64_t count;
  Dropout dropout;
};

/// The arguments of sum = x + dropout(y), normed = norm(sum) * gain + bias.
template <typename X, typename Y, typename N>
struct AddNormForward {
  const X* x;                      // [T, M]
  const Y* y;                      // [T, M]; or null: then x is normed, and sum is not written
  const AccumulatorType<X>* gain;  // [M]
  const AccumulatorType<X>* bias;  // [M], or null for zeros
  X* sum;                          // [T, M]
  N* normed;                       // [T, M]
  AccumulatorType<X>* mean;        // [T], saved for backward
  AccumulatorType<X>* deviation;   // [T], saved for backward
  std::int64_t num_rows;
  std::int64_t size;  // M
  NormFormula formula;
  Dropout dropout;
};

template <typename X, typename Y, typename N>
struct AddNormBackward {
  const X* sum;  // [T, M]; sum, gain, mean and deviation as in AddNormForward
  const AccumulatorType<X>* gain;
  const AccumulatorType<X>* mean;
  const AccumulatorType<X>* deviation;
  const X* grad_sum;              // [T, M], or null for zeros
  const N* grad_normed;           // [T, M]
  X* grad_x;                      // [T, M]
  Y* grad_y;                      // [T, M], or null
  AccumulatorType<X>* grad_gain;  // [M]
  AccumulatorType<X>* grad_bias;  // [M], or null
  std::int64_t num_rows;
  std::int64_t size;
  NormFormula formula;
  Dropout dropout;
};

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);

/// Overwrites the gradients that are not null. The order of the sums over rows depends on the number of rows alone.
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);

/// Returns whether there are kernels of norms for GPUs for rows of this size.
constexpr bool can_add_norm(std::int64_t size) { return size <= (size % 4 == 0 ? 8192 : 2048); }

/// Begins add_dropout() on a GPU in `stream`, for X and Y of float and BFloat16. All pointers are to memory of the
/// device, at multiples of 16 bytes. The sums have the bits of the CPU. A count that is a multiple of 4 is fastest.
template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p, device::Stream stream);

/// Begins add_norm_forward() in `stream`, under the conditions of add_dropout(). p.size satisfies can_add_norm(), and a
/// multiple of 4 is fastest. p.sum has the bits of the CPU; the order of the sums of a row depends on p.size alone.
template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p, device::Stream stream);

/// The rows whose gradients of gain and bias a block sums. A second kernel sums the blocks. The division depends on the
/// number of rows alone, so that results do not depend on the device.
struct AddNormParts {
  static constexpr std::int64_t kMaxParts = 264;  // two blocks for each multiprocessor of an H100
  static constexpr std::int64_t kMinRows = 8;

  explicit constexpr AddNormParts(std::int64_t num_rows)
      : rows_of_part((std::max<std::int64_t>((num_rows + kMaxParts - 1) / kMaxParts, 1) + kMinRows - 1) / kMinRows *
                     kMinRows),
        num_parts((num_rows + rows_of_part - 1) / rows_of_part) {}

  std::int64_t rows_of_part;
  std::int64_t num_parts;
};

/// Returns the number of floats of the workspace of add_norm_backward().
constexpr std::int64_t add_norm_backward_workspace(std::int64_t num_rows, std::int64_t size) {
  return AddNormParts(num_rows).num_parts * 2 * size;
}

/// Begins add_norm_backward() in `stream`. p.size satisfies can_add_norm(), and a multiple of 4 is fastest. `workspace`
/// has add_norm_backward_workspace() floats of the device, whose content is undefined before and afterwards.
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p, float* workspace, device::Stream stream);

namespace reference {
template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);
template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);
}  // namespace reference

}  // namespace edgewise::kernels
