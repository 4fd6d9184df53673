// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/error.h"

// Tensors of torch's stable ABI as arguments of kernels.
namespace edgewise::torch_operations {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// Calls fn(T{}) with the element type of a tensor: float, double or BFloat16. Throws Error for other types.
template <class Fn>
void with_floating_point(std::string_view function, const Tensor& tensor, Fn fn) {
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      return fn(float{});
    case ScalarType::Double:
      return fn(double{});
    case ScalarType::BFloat16:
      return fn(BFloat16{});
    default:
      fail("{}: the type of a tensor has number {}, needs float32, float64 or bfloat16", function,
           static_cast<int>(tensor.scalar_type()));
  }
}

/// Calls fn(T{}) with float or double.
template <class Fn>
void with_float_or_double(std::string_view function, const Tensor& tensor, Fn fn) {
  with_floating_point(function, tensor, [&](auto zero) {
    if constexpr (std::is_same_v<decltype(zero), BFloat16>) {
      fail("{}: a tensor has type bfloat16, needs float32 or float64", function);
    } else {
      fn(zero);
    }
  });
}

template <typename T>
T* data_of(const Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

template <typename T>
T* data_or_null(const std::optional<Tensor>& tensor) {
  return tensor ? data_of<T>(*tensor) : nullptr;
}

/// Returns the type of sums, weights and biases: float64 for float64, else float32.
inline ScalarType accumulator_type(const Tensor& tensor) {
  return tensor.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

// torch::stable has functions like these, but looks up an operation of torch by its name in each call. These lookups
// would take as long as attention over a short sentence.

/// Allocates an uninitialised contiguous tensor of float, double, BFloat16 or int32 on the CPU.
Tensor allocate(torch::headeronly::IntHeaderOnlyArrayRef sizes, ScalarType type);

/// Allocates an uninitialised contiguous tensor with the shape and the type of another.
inline Tensor allocate_like(const Tensor& tensor) { return allocate(tensor.sizes(), tensor.scalar_type()); }

inline Tensor as_contiguous(const Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

inline std::optional<Tensor> as_contiguous(const std::optional<Tensor>& tensor) {
  return tensor ? std::optional(as_contiguous(*tensor)) : std::nullopt;
}

inline void check_shape(std::string_view function, std::string_view name, const Tensor& tensor,
                        std::initializer_list<std::int64_t> sizes) {
  check(tensor.is_cpu(), "{}: {} is not on the CPU, needs to be", function, name);
  check(tensor.dim() == static_cast<std::int64_t>(sizes.size()), "{}: {} has {} dimensions, needs {}", function, name,
        tensor.dim(), sizes.size());
  std::int64_t dimension = 0;
  for (const std::int64_t size : sizes) {
    check(tensor.size(dimension) == size, "{}: {} has size {} in dimension {}, needs {}", function, name,
          tensor.size(dimension), dimension, size);
    ++dimension;
  }
}

inline void check_type(std::string_view function, std::string_view name, const Tensor& tensor, ScalarType type) {
  check(tensor.scalar_type() == type, "{}: the type of {} has number {}, needs {}", function, name,
        static_cast<int>(tensor.scalar_type()), static_cast<int>(type));
}

}  // namespace edgewise::torch_operations
