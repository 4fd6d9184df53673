// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace edgewise {

using Tensors = std::vector<at::Tensor>;

/// What a backward pass works with.
struct BackwardPass {
  Tensors saved;             // by the forward pass
  Tensors grad_outputs;      // one for each output
  std::vector<bool> wanted;  // for each input, whether anybody wants its gradient
};

/// An operation whose derivative is written by hand. What is no tensor is a member, and lives from the forward to the
/// backward pass. torch::autograd::Function does the same, at ten seconds of build time for each file that includes it.
class Operation {
 public:
  virtual ~Operation() = default;

  /// Runs with gradients off. Undefined inputs are those that were given so. What backward needs goes into `saved`, to
  /// be freed with the graph; undefined tensors may be among it.
  virtual Tensors forward(const Tensors& inputs, Tensors& saved) = 0;

  /// The gradients of the inputs in their order, undefined for none; those of the last ones may be left out.
  virtual Tensors backward(const BackwardPass& pass) = 0;

  /// Whether backward takes undefined gradients of outputs that nobody used; else it gets zeros.
  virtual bool takes_undefined_gradients() const { return false; }
};

/// The outputs, as autograd knows them from now on.
Tensors apply_operation(std::unique_ptr<Operation> operation, const Tensors& inputs);

/// The same of the operation `Kind(state…)`, which has one output.
template <class Kind, class... State>
at::Tensor apply_one(const Tensors& inputs, State&&... state) {
  return apply_operation(std::make_unique<Kind>(std::forward<State>(state)...), inputs).front();
}

}  // namespace edgewise
