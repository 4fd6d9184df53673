// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// A growing tensor of numbered rows, such as the keys of a KV cache. Its capacity doubles when it is full, so that
/// writing n rows copies O(n) rows in total.
class RowBuffer {
 public:
  /// Copies row i of `rows`, [n, …], to row `numbers[i]`. All rows have one shape.
  void write(std::span<const NodeIndex> numbers, const at::Tensor& rows);

  /// Makes the capacity at least `count` rows of the shape and type of the rows of `like`.
  void reserve(std::int64_t count, const at::Tensor& like);

  /// Returns a view of the first `count` rows, at most the capacity. Rows never written are zero. The view is valid
  /// until the next write.
  at::Tensor first(std::int64_t count) const { return storage_.narrow(0, 0, count); }

 private:
  at::Tensor storage_;  // [capacity, …]
};

}  // namespace edgewise
