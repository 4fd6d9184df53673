// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "edgewise/ops/index_tensor.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

at::Tensor take_rows_plain(std::span<const at::Tensor> from, std::span<const NodeIndex> order) {
  return at::cat({from.data(), from.size()}).index_select(0, index_tensor(order, from.front().device()));
}

at::Tensor sum_weighted_plain(std::int64_t num_rows, std::span<const WeightedRows> parts) {
  const at::Tensor& first_AM = parts.front().state_AM;
  at::Tensor sum_NM = at::zeros({num_rows, first_AM.size(1)}, first_AM.options());
  for (const WeightedRows& part : parts) {
    const at::Tensor rows_A = index_tensor(std::span<const NodeIndex>(part.rows), first_AM.device());
    sum_NM = sum_NM.index_add(0, rows_A, part.state_AM * part.weight_A.unsqueeze(1));
  }
  return sum_NM;
}

}  // namespace edgewise
