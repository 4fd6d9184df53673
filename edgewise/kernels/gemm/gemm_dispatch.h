// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "edgewise/kernels/gemm/gemm.h"

// The implementations that kernels::gemm chooses from, besides the reference and run_in_blocks() of gemm_slice.h.
namespace edgewise::kernels::cpu {

/// Casts blocks of rows or of the depth to float, and multiplies each with oneDNN.
template <typename Out>
void gemm_in_floats(const Gemm<BFloat16, Out>& product);

/// Returns whether sum_outer_products() accepts a product and is the fastest implementation: `a` must be stored column
/// by column and `b` row by row, as in the gradient of a weight, where the depth is the number of tokens.
template <typename T>
bool can_sum_outer_products(const Gemm<T, float>& product);

/// Sums, with AVX-512, the outer products of column k of `a` and row k of `b` over all k. The sum runs over k in
/// ascending order on any number of threads.
template <typename T>
void sum_outer_products(const Gemm<T, float>& product);

/// Sets the result of has_native_bf16() while the object lives, so that tests can run both implementations. Must not be
/// created or destroyed while kernels run. `is_native` may be true only if onednn::has_bf16().
class ForcedNativeBf16 {
 public:
  explicit ForcedNativeBf16(bool is_native);
  ~ForcedNativeBf16();
  ForcedNativeBf16(const ForcedNativeBf16&) = delete;
  ForcedNativeBf16& operator=(const ForcedNativeBf16&) = delete;

 private:
  std::optional<bool> previous_;
};

}  // namespace edgewise::kernels::cpu
