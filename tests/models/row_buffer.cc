// SPDX-License-Identifier: Apache-2.0
#include "tests/models/row_buffer.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "edgewise/ops/device_copies.h"

namespace edgewise {
namespace {

bool are_consecutive(std::span<const NodeIndex> numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[0] + static_cast<NodeIndex>(i)) return false;
  }
  return true;
}

}  // namespace

void RowBuffer::write(std::span<const NodeIndex> numbers, const at::Tensor& rows) {
  if (numbers.empty()) return;
  reserve(*std::ranges::max_element(numbers) + 1, rows);
  if (are_consecutive(numbers)) {
    storage_.narrow(0, numbers.front(), rows.size(0)).copy_(rows);
  } else {
    storage_.index_copy_(0, index_tensor(numbers, rows.device()).to(at::kLong), rows);
  }
}

void RowBuffer::reserve(std::int64_t count, const at::Tensor& like) {
  const std::int64_t capacity = storage_.defined() ? storage_.size(0) : 0;
  if (storage_.defined() && count <= capacity) return;
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[0] = std::max(count, 2 * capacity);
  const at::Tensor larger = at::zeros(shape, like.options());
  if (capacity > 0) larger.narrow(0, 0, capacity).copy_(storage_);
  storage_ = larger;
}

}  // namespace edgewise
