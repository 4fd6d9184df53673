// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace edgewise::kernels {

/// The heads `[begin, end)`.
struct HeadRange {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

/// Sets some heads of rows `[row_begin, row_end)` of a tensor [N, H, size] to zero.
template <typename T>
void clear_heads(T* data, std::int64_t row_begin, std::int64_t row_end, HeadRange heads, std::int64_t num_heads,
                 std::int64_t size) {
  if (heads.size() == num_heads) {
    std::fill_n(data + row_begin * num_heads * size, (row_end - row_begin) * num_heads * size, T{0.0f});
    return;
  }
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    std::fill_n(data + (row * num_heads + heads.begin) * size, heads.size() * size, T{0.0f});
  }
}

}  // namespace edgewise::kernels
