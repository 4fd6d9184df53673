// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/operation.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace edgewise {
namespace {

constexpr const char* kOperation = "operation";

/// An operation as libtorch holds objects of its own, and which of its inputs are defined: autograd takes only those.
struct Held : torch::CustomClassHolder {
  Held(std::unique_ptr<Operation> o, const Tensors& inputs) : operation(std::move(o)) {
    for (const at::Tensor& input : inputs) is_defined.push_back(input.defined());
  }
  std::unique_ptr<Operation> operation;
  std::vector<bool> is_defined;
};

struct Bridge : torch::autograd::Function<Bridge> {
  static Tensors forward(torch::autograd::AutogradContext* context, at::TensorList defined,
                         const c10::intrusive_ptr<Held>& held) {
    Tensors inputs(held->is_defined.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (held->is_defined[i]) inputs[i] = defined[next++];
    }
    Tensors saved;
    Tensors outputs = held->operation->forward(inputs, saved);
    context->set_materialize_grads(!held->operation->takes_undefined_gradients());
    context->save_for_backward(std::move(saved));
    context->saved_data[kOperation] = c10::IValue::make_capsule(held);
    return outputs;
  }

  static Tensors backward(torch::autograd::AutogradContext* context, Tensors grad_outputs) {
    const auto capsule = context->saved_data.at(kOperation).toCapsule();
    const auto& held = static_cast<const Held&>(*capsule);
    BackwardPass pass{context->get_saved_variables(), std::move(grad_outputs), {}};
    std::size_t edge = 0;
    for (const bool is_defined : held.is_defined) {
      pass.wanted.push_back(is_defined && context->needs_input_grad(edge));
      if (is_defined) ++edge;
    }
    Tensors gradients = held.operation->backward(pass);
    gradients.resize(held.is_defined.size());
    Tensors of_defined;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (held.is_defined[i]) of_defined.push_back(std::move(gradients[i]));
    }
    of_defined.emplace_back();  // of what is no tensor
    return of_defined;
  }
};

}  // namespace

Tensors apply_operation(std::unique_ptr<Operation> operation, const Tensors& inputs) {
  Tensors defined;
  for (const at::Tensor& input : inputs) {
    if (input.defined()) defined.push_back(input);
  }
  return Bridge::apply(at::TensorList(defined), c10::make_intrusive<Held>(std::move(operation), inputs));
}

}  // namespace edgewise
