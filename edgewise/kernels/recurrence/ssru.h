// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// The simpler simple recurrent unit (Kim et al. 2019, "From Research to Production and Back"), a recurrence for each
// column on its own:
//
//     f = sigmoid(forget),  state = f * before + (1 - f) * input,  out = max(state, 0)
//
// Shapes: R = rows, N = columns. T is the type of activations: float, double or BFloat16; states have
// AccumulatorType<T>.
namespace edgewise::kernels {

/// The arguments of the forward pass, which computes the rows in their order.
template <typename T>
struct SsruRows {
  using State = AccumulatorType<T>;

  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;  // elements from a row of `forget` or `input` to the next one
  const T* forget;      // [R, N]
  const T* input;       // [R, N]
  const State* const*
      before;           // [R], the state [N] before each row, or null for zeros; it may be that of an earlier row
  State* const* state;  // [R], where the state [N] after each row goes
  T* out;               // [R, N], without gaps
};

/// The arguments of the gradients. All matrices are [R, N], without gaps.
template <typename T>
struct SsruGradient {
  using State = AccumulatorType<T>;

  std::int64_t rows;
  std::int64_t columns;
  const T* forget;
  const T* input;
  const State* state;             // after each row
  const std::uint8_t* continues;  // [R], whether the state before a row is that of the row above; if not, it is zero
  const T* grad_out;
  T* grad_forget;
  T* grad_input;
};

/// Both divide the columns among the threads. A column's bits do not depend on the number of threads.
template <typename T>
void ssru(const SsruRows<T>& p);
template <typename T>
void ssru_gradient(const SsruGradient<T>& p);

namespace reference {

template <typename T>
void ssru(const SsruRows<T>& p);
template <typename T>
void ssru_gradient(const SsruGradient<T>& p);

}  // namespace reference
}  // namespace edgewise::kernels
