// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/neighbour_filter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "edgewise/nn/init.h"

namespace edgewise {

NeighbourFilter::NeighbourFilter(std::int64_t size, Reach reach_of_filter)
    : weight_WM(constant_init({reach_of_filter.width(), size}, 0.0)), reach(reach_of_filter) {
  weight_WM.detach()[reach.before].fill_(1.0);
}

at::Tensor NeighbourFilter::operator()(const at::Tensor& x_NM, std::span<const NodeIndex> neighbours) const {
  const at::Tensor zeros_1M = at::zeros({1, x_NM.size(1)}, x_NM.options().requires_grad(false));
  const at::Tensor numbers = at::tensor(std::vector<std::int64_t>(neighbours.begin(), neighbours.end()));
  const at::Tensor rows = at::where(numbers == kNoNode, x_NM.size(0), numbers);
  const at::Tensor read_AWM = at::cat({x_NM, zeros_1M}).index_select(0, rows).view({-1, reach.width(), x_NM.size(1)});
  return (read_AWM * weight_WM.to(x_NM.scalar_type())).sum(1);
}

}  // namespace edgewise
