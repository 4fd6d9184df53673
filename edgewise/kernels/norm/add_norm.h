// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/simd/accumulated.h"
#include "edgewise/kernels/dropout/dropout.h"

// What stands between two sublayers, on raw memory: dropout, sum and norm in one pass. Shapes: T = rows, M = size of a
// row.
//
// Types: X of the residual stream, Y of what is added to it, N of what is normed. X and N are float or BFloat16; Y is
// X or BFloat16. Or all three are double.

namespace edgewise::kernels {

/// A row becomes (row - mean) / (deviation + epsilon_outside), where the deviation is
/// sqrt(sum of (row - mean)^2 / divisor + epsilon_inside). Where it is 0, its gradient counts as 0.
struct NormFormula {
  double divisor;
  double epsilon_inside;
  double epsilon_outside;

  /// (x - mean) / sqrt(variance + epsilon), of rows of `size` numbers.
  static NormFormula layer_norm(double size, double epsilon) { return {size, epsilon, 0.0}; }
  /// (x - mean) / (deviation + epsilon), where the deviation is that of a sample.
  static NormFormula std_norm(double size, double epsilon) { return {size - 1.0, 0.0, epsilon}; }
};

/// sum = x + dropout(y), rounded to X.
template <typename X, typename Y>
struct AddDropout {
  const X* x;
  const Y* y;
  X* sum;
  std::int64_t count;
  Dropout dropout;
};

template <typename X, typename Y, typename N>
struct AddNormForward {
  const X* x;                  // [T, M]
  const Y* y;                  // [T, M], or null: then sum is not written, but x normed
  const Accumulated<X>* gain;  // [M]
  const Accumulated<X>* bias;  // [M]
  X* sum;                      // [T, M]
  N* normed;                   // [T, M]
  Accumulated<X>* mean;        // [T], read again by backward, as is the deviation
  Accumulated<X>* deviation;   // [T]
  std::int64_t num_rows;
  std::int64_t size;  // M
  NormFormula formula;
  Dropout dropout;
};

template <typename X, typename Y, typename N>
struct AddNormBackward {
  const X* sum;  // [T, M], of forward, as are gain, mean and deviation
  const Accumulated<X>* gain;
  const Accumulated<X>* mean;
  const Accumulated<X>* deviation;
  const X* grad_sum;          // [T, M], or null for zeros
  const N* grad_normed;       // [T, M]
  X* grad_x;                  // [T, M]
  Y* grad_y;                  // [T, M], or null
  Accumulated<X>* grad_gain;  // [M]
  Accumulated<X>* grad_bias;  // [M]
  std::int64_t num_rows;
  std::int64_t size;
  NormFormula formula;
  Dropout dropout;
};

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p);

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p);

/// Overwrites all gradients. The order of the sums over rows depends on their number alone.
template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p);

}  // namespace edgewise::kernels
