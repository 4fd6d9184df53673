// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

// Loops that reference kernels and kernels/message/edge_softmax_cpu.cc share. The size alone sets the order of a sum.
namespace edgewise::kernels::reference {

template <typename T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <typename T>
T dot(const T* a, const T* b, std::int64_t size) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
void add_scaled(T* to, T factor, const T* from, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
}

template <typename T>
void scale_in_place(T* x, T factor, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) x[i] *= factor;
}

/// Returns exp(score - base), or 0 if both are -inf: a row whose edges all have this score has the weights 0.
template <typename T>
T exp_difference(T score, T base) {
  return score == base && score == -kInfinity<T> ? T{0} : std::exp(score - base);
}

/// Replaces `count` scores, `stride` elements apart, by their softmax. Never overflows: subtracts the maximum.
template <typename T>
void softmax_in_place(T* score, std::int64_t stride, std::int64_t count) {
  T maximum = -kInfinity<T>;
  for (std::int64_t i = 0; i < count; ++i) maximum = std::max(maximum, score[i * stride]);

  T total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    score[i * stride] = exp_difference(score[i * stride], maximum);
    total += score[i * stride];
  }

  if (total == 0) return;
  for (std::int64_t i = 0; i < count; ++i) score[i * stride] /= total;
}

}  // namespace edgewise::kernels::reference
