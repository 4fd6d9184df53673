// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace edgewise {

using Tensors = std::vector<at::Tensor>;

/// The arguments of a backward pass.
struct BackwardPass {
  Tensors saved;                     // saved tensors of the forward pass
  Tensors grad_outputs;              // one for each output
  std::vector<bool> needs_gradient;  // for each input
};

/// A differentiable operation with a hand-written derivative. Values that are not tensors are members, which live from
/// the forward to the backward pass. Replaces torch::autograd::Function, whose header takes 10 s to compile.
class Operation {
 public:
  virtual ~Operation() = default;

  /// Computes the outputs, without recording gradients. Inputs may be undefined. Puts the tensors that backward needs
  /// into `saved`, which is freed with the autograd graph and may contain undefined tensors.
  virtual Tensors forward(const Tensors& inputs, Tensors& saved) = 0;

  /// Returns the gradients of the inputs in order. A gradient may be undefined, and trailing gradients may be omitted.
  virtual Tensors backward(const BackwardPass& pass) = 0;

  /// Returns whether backward accepts undefined gradients for unused outputs; otherwise it receives zeros.
  virtual bool takes_undefined_gradients() const { return false; }
};

/// Runs an operation and records it with autograd. Returns its outputs.
Tensors apply_operation(std::unique_ptr<Operation> operation, const Tensors& inputs);

/// Runs the operation `Kind(state…)`, which has one output, and returns this output.
template <class Kind, class... State>
at::Tensor apply_one(const Tensors& inputs, State&&... state) {
  return apply_operation(std::make_unique<Kind>(std::forward<State>(state)...), inputs).front();
}

}  // namespace edgewise
