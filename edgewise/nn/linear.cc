// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <fmt/ranges.h>

#include "edgewise/base/error.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/round_to_int8.h"

namespace edgewise {

Linear::Linear(std::int64_t in, std::int64_t out, Bias with_bias, RandomStream& random)
    : weight(xavier_uniform({out, in}, in, out, random)) {
  if (with_bias == Bias::kZero) bias = constant_init({out}, 0.0);
}

at::Tensor Linear::operator()(const at::Tensor& x, const LinearOptions& options) const {
  check(x.dim() > 0 && x.size(-1) == weight.size(1), "Linear: x is [{}], needs a last dimension of {}",
        fmt::join(x.sizes(), ", "), weight.size(1));
  return linear(operand(x), weight, bias, options);
}

at::Tensor Linear::operand(const at::Tensor& x) const {
  return rounds_input ? round_to_int8(x, Int8Factor::kInput) : x;
}

DepthwiseConvolution::DepthwiseConvolution(std::int64_t size, NeighbourWindow filter_window)
    : weight_WM(constant_init({filter_window.width(), size}, 0.0)), window(filter_window) {
  weight_WM.detach()[window.before].fill_(1.0);
}

at::Tensor DepthwiseConvolution::operator()(const at::Tensor& x_NM, std::span<const NodeIndex> neighbours) const {
  const at::Tensor rows_AW = index_tensor(neighbours, x_NM.device()).view({-1, window.width()});
  const at::Tensor exists_AW = rows_AW != kNoNode;
  // A missing neighbour is replaced by the node itself, times 0: other rows may be uninitialised and hold NaN.
  const at::Tensor source_AW = at::where(exists_AW, rows_AW, rows_AW.narrow(1, window.before, 1));
  const at::Tensor source_AWM = x_NM.index_select(0, source_AW.view(-1)).view({-1, window.width(), x_NM.size(1)});
  return (source_AWM * exists_AW.unsqueeze(-1) * weight_WM.to(x_NM.scalar_type())).sum(1);
}

}  // namespace edgewise
