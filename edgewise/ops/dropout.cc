// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout.h"

#include <ATen/ops/empty_like.h>

#include "edgewise/kernels/dropout.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/function_state.h"

namespace edgewise {
namespace {

struct Dropout : torch::autograd::Function<Dropout> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const kernels::Dropout& rule) {
    const at::Tensor contiguous = x.contiguous();
    at::Tensor out = at::empty_like(contiguous);
    with_element_type(x, [&](auto zero) {
      using T = decltype(zero);
      kernels::dropout(rule, x.numel(), contiguous.const_data_ptr<T>(), out.data_ptr<T>());
    });
    save_state(context, rule);
    return out;
  }

  // The gradient is dropout again, so a gradient of the gradient is too.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grad_outputs) {
    return {Dropout::apply(grad_outputs[0], saved_state<kernels::Dropout>(context)), at::Tensor()};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key) {
  check_computable("dropout", "x", x);
  check_dropout_rate("dropout", "rate", rate);
  if (rate == 0) return x;
  return Dropout::apply(x, kernels::Dropout{rate, key.seed, key.stream});
}

}  // namespace edgewise
