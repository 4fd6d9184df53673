// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/base/bfloat16.h"

// From a tensor's element type to a kernel's.
namespace edgewise {

/// Calls fn(T{}) with float, or with BFloat16 for kBFloat16.
template <class Fn>
void with_narrow_type(at::ScalarType type, Fn fn) {
  if (type == at::kBFloat16) {
    fn(BFloat16());
  } else {
    fn(float{});
  }
}

/// The memory of a contiguous tensor whose elements are laid out as T's; null for an undefined one.
template <typename T>
T* elements(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

}  // namespace edgewise
