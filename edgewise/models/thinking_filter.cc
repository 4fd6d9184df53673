// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/thinking_filter.h"

#include <ATen/ops/cat.h>

#include "edgewise/models/thinking.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

at::Tensor ThinkingFilter::operator()(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted,
                                      const at::Tensor& read_AM) const {
  if (!filter_->is_on()) return read_AM;
  const std::vector<NodeIndex> row_of = rows_by_node(active, halted);
  std::vector<NodeIndex> rows = neighbours(*relation_, active, active, filter_->reach);
  for (NodeIndex& row : rows) {
    if (row != kNoNode) row = row_of[static_cast<std::size_t>(row)];
  }
  return (*filter_)(kept_.defined() ? at::cat({read_AM, kept_}) : read_AM, rows);
}

void ThinkingFilter::halt(const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM, const Pass& pass) {
  if (filter_->is_on()) append(kept_, sublayer_->begin(take_rows(x_AM, leaving), pass).read_TM);
}

}  // namespace edgewise
