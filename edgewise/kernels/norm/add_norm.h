// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// The operations between two sublayers, on raw memory: dropout, residual sum and norm in one pass. Shapes: T = rows,
// M = size of a row. Types: X of the residual stream, Y of the sublayer output that is added to the stream, N of the
// norm's output. X and N are float or BFloat16; Y is X or BFloat16. Or all three types are double.

namespace edgewise::kernels {

/// The norm (row - mean) / (deviation + epsilon_outside), where deviation is
/// sqrt(sum of (row - mean)^2 / divisor + epsilon_inside). A deviation of 0 has a gradient of 0.
struct NormFormula {
  double divisor;
  double epsilon_inside;
  double epsilon_outside;

  /// Returns layer norm for rows of `size` numbers: (x - mean) / sqrt(variance + epsilon).
  static NormFormula layer_norm(double size, double epsilon) { return {size, epsilon, 0.0}; }
  /// Returns (x - mean) / (deviation + epsilon) with the sample standard deviation, which divides by size - 1.
  static NormFormula std_norm(double size, double epsilon) { return {size - 1.0, 0.0, epsilon}; }
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
  const AccumulatorType<X>* bias;  // [M]
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
  AccumulatorType<X>* grad_bias;  // [M]
  std::int64_t num_rows;
  std::int64_t size;
  NormFormula formula;
  Dropout dropout;
};

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);

/// Overwrites all gradients. The order of the sums over rows depends on the number of rows alone.
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);

namespace reference {
template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);
template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);
}  // namespace reference

}  // namespace edgewise::kernels
