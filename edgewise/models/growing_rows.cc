// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/growing_rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

namespace edgewise {

void GrowingRows::append(const at::Tensor& rows) {
  const std::int64_t needed = size_ + rows.size(0);
  const std::int64_t capacity = storage_.defined() ? storage_.size(0) : 0;
  if (needed > capacity || !storage_.defined()) {
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[0] = std::max(needed, 2 * capacity);
    const at::Tensor larger = at::empty(shape, rows.options());
    if (size_ > 0) larger.narrow(0, 0, size_).copy_(all());
    storage_ = larger;
  }
  storage_.narrow(0, size_, rows.size(0)).copy_(rows);
  size_ = needed;
}

}  // namespace edgewise
