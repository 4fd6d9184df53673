// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm.h"

// For operations that multiply tensors by weights in kernels/: fp32 and bf16, the weights always fp32.
namespace edgewise {

/// Calls fn(T{}) with the element type of an fp32 or bf16 tensor.
template <class Fn>
void with_product_type(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kFloat) {
    fn(float{});
  } else {
    fn(BFloat16{});
  }
}

template <typename T>
const T* read(const at::Tensor& tensor) {
  return static_cast<const T*>(tensor.const_data_ptr());
}

template <typename T>
T* write(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

/// Sets the right side of a product of activations with weights, [K, N], packed where that pays. The packed weights
/// live until this thread's next call.
template <typename T, typename Out>
void set_weights(kernels::Gemm<T, Out>& product, const kernels::Matrix<float>& weights) {
  constexpr std::int64_t kRowsWorthPacking = 256;
  if constexpr (std::is_same_v<T, float>) {
    if (product.rows < kRowsWorthPacking) {
      product.b = weights;
      return;
    }
  }
  static thread_local kernels::PackedMatrix<T> packed;
  packed.pack(weights, product.depth, product.columns);
  product.packed_b = &packed;
}

}  // namespace edgewise
