// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/dropout/dropout.h"

// Shapes: T = rows (tokens), O = columns (outputs).

namespace edgewise::kernels {

/// The way back through dropout(relu(sum + bias)), or dropout(sum + bias). T is float or BFloat16.
template <typename T>
struct LinearGradient {
  std::int64_t rows;
  std::int64_t columns;
  const T* grad_out;  // [T, O]
  const T* relu_out;  // [T, O], the result, whose zeros say all of what was dropped or negative; null without ReLU
  Dropout dropout;
  T* grad_sum;       // [T, O], or null
  float* grad_bias;  // [O], to which the sums over T are added; or null
};

/// One pass over memory. Sums are made in an order that depends on sizes alone.
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);

}  // namespace edgewise::kernels
