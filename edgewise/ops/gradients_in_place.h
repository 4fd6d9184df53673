// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace edgewise {

/// While an object of this class exists, backward passes that its thread starts may add the gradient of a parameter in
/// place, if the parameter is a leaf and has a gradient already. Otherwise autograd allocates each gradient and adds it
/// later.
///
///     const GradientsInPlaceGuard in_place;
///     loss.backward();
///
/// Use this guard with `backward()` only: torch::autograd::grad does not return gradients that are added in place.
class GradientsInPlaceGuard {
 public:
  GradientsInPlaceGuard();

  static bool is_active();

 private:
  // Autograd runs the backward pass of a GPU on a thread of its own, to which it copies this information.
  c10::DebugInfoGuard guard_;
};

/// The memory into which a backward pass writes the gradient of a parameter.
struct GradientBuffer {
  at::Tensor memory;            // contiguous, of the parameter's shape and type
  bool is_accumulated = false;  // true: `memory` is the parameter's gradient, to be added to; false: `memory` is new

  /// Returns what a backward function returns to autograd: an undefined tensor if the gradient was added in place.
  at::Tensor gradient_for_autograd() const { return is_accumulated ? at::Tensor() : memory; }
};

/// Returns the gradient of a parameter if there is one and a GradientsInPlaceGuard exists on this thread, otherwise new
/// memory, which is not initialised.
GradientBuffer gradient_buffer(const at::Tensor& parameter);

/// Returns gradient_buffer(parameter), with new memory set to zero, for kernels that can only add.
GradientBuffer zeroed_gradient_buffer(const at::Tensor& parameter);

}  // namespace edgewise
