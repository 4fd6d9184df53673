// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels::cpu {

/// Whether sum_outer_products takes such a product, and is fast at it: the left side lies in columns and the right one
/// in rows, as in gradients of weights, where the depth is the number of tokens.
template <typename T>
bool is_fast_sum_of_outer_products(const Gemm<T, float>& product);

/// The sum over k of column k of `a` times row k of `b`, on AVX-512. Each sum runs over k in ascending order on any
/// number of threads.
template <typename T>
void sum_outer_products(const Gemm<T, float>& product);

}  // namespace edgewise::kernels::cpu
