// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace edgewise {

/// While it lives, backward passes on this thread may add the gradients of parameters (leaves that have a gradient
/// already) to them where they lie, instead of handing them to autograd, which would allocate each and add it in
/// another pass:
///
///     const GradientsInPlace in_place;
///     loss.backward();
///
/// Only for `backward()`: torch::autograd::grad would not see those gradients.
class GradientsInPlace {
 public:
  GradientsInPlace();
  ~GradientsInPlace();
  GradientsInPlace(const GradientsInPlace&) = delete;
  GradientsInPlace& operator=(const GradientsInPlace&) = delete;

  static bool is_active();

 private:
  bool before_;
};

/// Where a backward pass puts the gradient of a parameter.
struct GradientPlace {
  at::Tensor memory;       // contiguous, of the parameter's shape and type
  bool holds_sum = false;  // the parameter's own gradient, to be added to; else uninitialised

  /// What the backward pass returns for it.
  at::Tensor for_autograd() const { return holds_sum ? at::Tensor() : memory; }
};

/// The parameter's own gradient under GradientsInPlace, where it has one; else new memory.
GradientPlace gradient_place(const at::Tensor& parameter);

/// The same, with new memory zeroed, for what can only add.
GradientPlace zeroed_gradient_place(const at::Tensor& parameter);

}  // namespace edgewise
