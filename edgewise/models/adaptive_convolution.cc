// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/adaptive_convolution.h"

#include <ATen/ops/cat.h>

#include "edgewise/models/adaptive_computation.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

at::Tensor AdaptiveConvolution::operator()(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted,
                                           const at::Tensor& input_AM) const {
  if (!convolution_->is_on()) return input_AM;
  const std::vector<NodeIndex> row_of_node = rows_by_node(active, halted);
  std::vector<NodeIndex> rows = find_neighbours(*relation_, active, active, convolution_->window);
  for (NodeIndex& row : rows) {
    if (row != kNoNode) row = row_of_node[static_cast<std::size_t>(row)];
  }
  return (*convolution_)(frozen_.defined() ? at::cat({input_AM, frozen_}) : input_AM, rows);
}

void AdaptiveConvolution::halt(const std::vector<NodeIndex>& halting, const at::Tensor& x_AM, const Pass& pass) {
  if (convolution_->is_on()) append_rows(frozen_, sublayer_->begin(take_rows(x_AM, halting), pass).input_TM);
}

}  // namespace edgewise
