// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <type_traits>
#include <utility>

#include "edgewise/base/bfloat16.h"

// For the .cc files of autograd functions: what a backward pass needs beside tensors.
namespace edgewise {

/// Holds any value as libtorch holds objects of its own.
template <class Value>
struct FunctionState : torch::CustomClassHolder {
  explicit FunctionState(Value v) : value(std::move(v)) {}
  Value value;
};

inline constexpr const char* kStateKey = "state";

/// Keeps a value from forward to backward.
template <class Value>
void save_state(torch::autograd::AutogradContext* context, Value value) {
  context->saved_data[kStateKey] =
      c10::IValue::make_capsule(c10::make_intrusive<FunctionState<Value>>(std::move(value)));
}

template <class Value>
const Value& saved_state(torch::autograd::AutogradContext* context) {
  return static_cast<FunctionState<Value>&>(*context->saved_data.at(kStateKey).toCapsule()).value;
}

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
