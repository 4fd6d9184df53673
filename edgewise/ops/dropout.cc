// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout.h"

#include <ATen/ops/empty.h>

#include "edgewise/base/profile.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/dropout_mask.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

class ApplyDropout : public Operation {
 public:
  explicit ApplyDropout(const kernels::Dropout& rule) : rule_(rule) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("dropout");
    const at::Tensor& x = inputs[0];
    return {apply_dropout(aligned_contiguous(x), rule_, x.scalar_type())};
  }

  // The derivative is the same dropout, and so is every higher derivative.
  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("dropout");
    return {apply_one<ApplyDropout>({pass.grad_outputs[0]}, rule_)};
  }

 private:
  kernels::Dropout rule_;
};

}  // namespace

at::Tensor apply_dropout(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type) {
  at::Tensor out = at::empty(x.sizes(), x.options().dtype(type));
  const auto run = [&](auto from, auto to) {
    call_kernel<decltype(from)>(x, [&](auto... stream) {
      kernels::dropout(rule, x.numel(), data_or_null<decltype(from)>(x), data_or_null<decltype(to)>(out), stream...);
    });
  };
  if (x.scalar_type() == at::kDouble) {
    run(double{}, double{});
  } else {
    with_float_or_bf16(x.scalar_type(), [&](auto from) { with_float_or_bf16(type, [&](auto to) { run(from, to); }); });
  }
  return out;
}

at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key) {
  check_floating_point("dropout", "x", x);
  check_dropout_rate("dropout", "rate", rate);
  if (rate == 0) return x;
  if (backend_of(x) == Backend::kDefinition) return dropout_plain(x, rate, key);
  return apply_one<ApplyDropout>({x}, dropout_rule(rate, key));
}

at::Tensor dropout_plain(const at::Tensor& x, double rate, DropoutKey key) {
  const kernels::Dropout rule = dropout_rule(rate, key);
  return keep_elements(x, kept_elements(rule, x.numel(), x.device()), rule);
}

}  // namespace edgewise
