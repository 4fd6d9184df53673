// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/dropout/dropout.h"

// Shapes: T = rows (tokens), O = columns (outputs).

namespace edgewise::kernels {

/// The arguments for the gradients of z and of the bias, where out = dropout(relu(z)) or out = dropout(z), and
/// z = product + bias. T is float or BFloat16.
template <typename T>
struct LinearGradient {
  std::int64_t rows;
  std::int64_t columns;
  const T* grad_out;  // [T, O]
  const T* relu_out;  // [T, O], out: 0 where a value was dropped or z was not positive; or null, without ReLU
  Dropout dropout;
  T* grad_sum;       // [T, O], the gradient of z; or null
  float* grad_bias;  // [O], the column sums of the gradient of z are added to it; or null
};

/// Makes one pass over memory. The order of the sums depends on the sizes alone.
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);

namespace reference {
template <typename T>
void linear_gradient(const LinearGradient<T>& gradient);
}  // namespace reference

}  // namespace edgewise::kernels
