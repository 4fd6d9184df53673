// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/neighbour_filter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include "edgewise/nn/init.h"

namespace edgewise {

NeighbourFilter::NeighbourFilter(std::int64_t size, Reach reach_of_filter)
    : weight_WM(constant_init({reach_of_filter.width(), size}, 0.0)), reach(reach_of_filter) {
  weight_WM.detach()[reach.before].fill_(1.0);
}

at::Tensor NeighbourFilter::operator()(const at::Tensor& x_NM, std::span<const NodeIndex> neighbours) const {
  const at::Tensor rows_AW =
      at::tensor(std::vector<std::int64_t>(neighbours.begin(), neighbours.end())).view({-1, reach.width()});
  const at::Tensor is_there_AW = rows_AW != kNoNode;
  // For a neighbour that is not there the node itself is read, and dropped: any other row may hold anything.
  const at::Tensor read_AW = at::where(is_there_AW, rows_AW, rows_AW.narrow(1, reach.before, 1));
  const at::Tensor read_AWM = x_NM.index_select(0, read_AW.view(-1)).view({-1, reach.width(), x_NM.size(1)});
  return (read_AWM * is_there_AW.unsqueeze(-1) * weight_WM.to(x_NM.scalar_type())).sum(1);
}

}  // namespace edgewise
