// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/gradient_hooks.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace edgewise {
namespace {

class CallHook : public torch::autograd::FunctionPostHook {
 public:
  explicit CallHook(std::function<void()> call) : call_(std::move(call)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    call_();
    return outputs;
  }

 private:
  std::function<void()> call_;
};

}  // namespace

// The node that accumulates a leaf's gradient runs once in a pass, after all functions that add to the gradient, also
// those that add in place (gradients_in_place.h).
GradientHooks::GradientHooks(const std::vector<NamedTensor>& parameters, std::function<void(std::size_t)> on_complete)
    : on_complete_(std::move(on_complete)) {
  hooks_.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(parameters[i].tensor);
    const std::uintptr_t key = node->add_post_hook(std::make_unique<CallHook>([this, i] { call(i); }));
    hooks_.emplace_back(std::move(node), key);
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& [node, key] : hooks_) node->del_post_hook(key);
}

void GradientHooks::call(std::size_t parameter) {
  if (error_) return;
  try {
    on_complete_(parameter);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void GradientHooks::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

}  // namespace edgewise
