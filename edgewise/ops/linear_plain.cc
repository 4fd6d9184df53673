// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/ops/linear.h"

namespace edgewise {
namespace {

at::Tensor activate(const at::Tensor& x, std::optional<Activation> activation) {
  if (!activation) return x;
  switch (*activation) {
    case Activation::kRelu:
      return x.relu();
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kSilu:
      return at::silu(x);
  }
  fail("linear: activation is {}, needs one of enum_names", static_cast<int>(*activation));
}

}  // namespace

at::Tensor linear_plain(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                        const LinearOptions& options) {
  const LibraryCall call;
  const at::ScalarType type = parameter_type(x_TI);
  const at::Tensor weight_as_used_OI = weight_OI.to(x_TI.scalar_type()).to(type);
  const at::Tensor y_TO = at::linear(x_TI.to(type), weight_as_used_OI, bias_O);
  return dropout(activate(y_TO, options.activation), options.dropout, options.dropout_key).to(x_TI.scalar_type());
}

}  // namespace edgewise
