// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <type_traits>

#include "edgewise/base/bfloat16.h"

// Dispatches from the element type of a tensor at run time to a template parameter. Also returns the data and the
// number of rows of a tensor for a kernel.
namespace edgewise {

/// Calls fn(T{}) with the element type of a tensor that check_float_or_double accepts.
template <class Fn>
void with_float_or_double(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kFloat) {
    fn(float{});
  } else {
    fn(double{});
  }
}

/// Calls fn(T{}) with the element type of a tensor that check_floating_point accepts: float, double or BFloat16.
template <class Fn>
void with_floating_point(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    with_float_or_double(tensor, fn);
  }
}

/// Calls fn(T{}) with BFloat16 for kBFloat16, else with float.
template <class Fn>
void with_float_or_bf16(at::ScalarType type, Fn fn) {
  if (type == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    fn(float{});
  }
}

/// Returns the data pointer of a tensor, or null for an undefined tensor.
template <typename T>
T* data_or_null(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  if constexpr (std::is_same_v<T, BFloat16>) {
    static_assert(sizeof(BFloat16) == sizeof(at::BFloat16));
    return reinterpret_cast<BFloat16*>(tensor.data_ptr<at::BFloat16>());
  } else {
    return tensor.data_ptr<T>();
  }
}

/// Returns the product of all sizes of `x_TM` but the last, or 0 if the last size is 0.
inline std::int64_t num_rows(const at::Tensor& x_TM) { return x_TM.size(-1) == 0 ? 0 : x_TM.numel() / x_TM.size(-1); }

}  // namespace edgewise
