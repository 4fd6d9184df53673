// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// Numbered rows that are written in any order and read together: memory doubles when it is full, so that writing n
/// rows costs O(n) over time.
class RowStore {
 public:
  /// Writes row i of `rows`, [n, …], to number `numbers[i]`. All rows have one shape.
  void put(std::span<const NodeIndex> numbers, const at::Tensor& rows);

  /// Room for rows of the shape of those in `like` with numbers below `count`.
  void make_room(std::int64_t count, const at::Tensor& like);

  /// The first rows, of which there is room, without a copy; those that were never put hold anything. Good until the
  /// next put.
  at::Tensor first(std::int64_t count) const { return storage_.narrow(0, 0, count); }

 private:
  at::Tensor storage_;  // [capacity, …]
};

}  // namespace edgewise
