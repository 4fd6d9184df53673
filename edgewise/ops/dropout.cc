// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout.h"

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropped.h"
#include "edgewise/ops/function_state.h"

namespace edgewise {
namespace {

struct Dropout : torch::autograd::Function<Dropout> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const kernels::Dropout& rule) {
    const TimedWork timed("dropout");
    save_state(context, rule);
    return dropped(x.contiguous(), rule, x.scalar_type());
  }

  // The gradient is dropout again, so a gradient of the gradient is too.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grad_outputs) {
    const TimedWork timed("dropout");
    return {Dropout::apply(grad_outputs[0], saved_state<kernels::Dropout>(context)), at::Tensor()};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key) {
  check_storable("dropout", "x", x);
  check_dropout_rate("dropout", "rate", rate);
  if (rate == 0) return x;
  return Dropout::apply(x, dropout_rule(rate, key));
}

}  // namespace edgewise
