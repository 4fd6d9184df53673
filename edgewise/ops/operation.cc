// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/operation.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace edgewise {
namespace {

constexpr const char* kOperation = "operation";

/// An operation in a class that libtorch can own. Only inputs that are defined pass through autograd.
struct OperationHolder : torch::CustomClassHolder {
  OperationHolder(std::unique_ptr<Operation> o, const Tensors& inputs) : operation(std::move(o)) {
    for (const at::Tensor& input : inputs) is_defined.push_back(input.defined());
  }
  std::unique_ptr<Operation> operation;
  std::vector<bool> is_defined;
};

struct AutogradOperation : torch::autograd::Function<AutogradOperation> {
  static Tensors forward(torch::autograd::AutogradContext* context, at::TensorList defined,
                         const c10::intrusive_ptr<OperationHolder>& holder) {
    Tensors inputs(holder->is_defined.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (holder->is_defined[i]) inputs[i] = defined[next++];
    }
    Tensors saved;
    Tensors outputs = holder->operation->forward(inputs, saved);
    context->set_materialize_grads(!holder->operation->takes_undefined_gradients());
    context->save_for_backward(std::move(saved));
    context->saved_data[kOperation] = c10::IValue::make_capsule(holder);
    return outputs;
  }

  static Tensors backward(torch::autograd::AutogradContext* context, Tensors grad_outputs) {
    const auto capsule = context->saved_data.at(kOperation).toCapsule();
    const auto& holder = static_cast<const OperationHolder&>(*capsule);
    BackwardPass pass{context->get_saved_variables(), std::move(grad_outputs), {}};
    std::size_t edge = 0;
    for (const bool is_defined : holder.is_defined) {
      pass.needs_gradient.push_back(is_defined && context->needs_input_grad(edge));
      if (is_defined) ++edge;
    }
    Tensors gradients = holder.operation->backward(pass);
    gradients.resize(holder.is_defined.size());
    Tensors defined_gradients;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (holder.is_defined[i]) defined_gradients.push_back(std::move(gradients[i]));
    }
    defined_gradients.emplace_back();  // undefined gradient of the holder
    return defined_gradients;
  }
};

}  // namespace

Tensors apply_operation(std::unique_ptr<Operation> operation, const Tensors& inputs) {
  Tensors defined;
  for (const at::Tensor& input : inputs) {
    if (input.defined()) defined.push_back(input);
  }
  return AutogradOperation::apply(at::TensorList(defined),
                                  c10::make_intrusive<OperationHolder>(std::move(operation), inputs));
}

}  // namespace edgewise
