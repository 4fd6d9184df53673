// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout.h"

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropped.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

class Dropout : public Operation {
 public:
  explicit Dropout(const kernels::Dropout& rule) : rule_(rule) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const TimedWork timed("dropout");
    const at::Tensor& x = inputs[0];
    return {dropped(x.contiguous(), rule_, x.scalar_type())};
  }

  // The gradient is dropout again, so a gradient of the gradient is too.
  Tensors backward(const BackwardPass& pass) override {
    const TimedWork timed("dropout");
    return {apply_one<Dropout>({pass.grad_outputs[0]}, rule_)};
  }

 private:
  kernels::Dropout rule_;
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key) {
  check_storable("dropout", "x", x);
  check_dropout_rate("dropout", "rate", rate);
  if (rate == 0) return x;
  return apply_one<Dropout>({x}, dropout_rule(rate, key));
}

}  // namespace edgewise
