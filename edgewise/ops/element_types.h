// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "edgewise/base/bfloat16.h"

// From the element type that a tensor has to the one that code is compiled for.
namespace edgewise {

/// Calls fn(T{}) with the element type of a tensor that check_computable has let through.
template <class Fn>
void with_element_type(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kFloat) {
    fn(float{});
  } else {
    fn(double{});
  }
}

/// The same, of a tensor that check_storable has let through: T is float, double or BFloat16.
template <class Fn>
void with_stored_type(const at::Tensor& tensor, Fn fn) {
  if (tensor.scalar_type() == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    with_element_type(tensor, fn);
  }
}

/// Calls fn(T{}) with float, or with BFloat16 for kBFloat16.
template <class Fn>
void with_narrow_type(at::ScalarType type, Fn fn) {
  if (type == at::kBFloat16) {
    fn(BFloat16{});
  } else {
    fn(float{});
  }
}

/// The memory of a tensor, or null for an undefined one.
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

}  // namespace edgewise
