// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/attention/row_task.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels {

/// The memory of a RowTable for one head at a time. In a tensor [N, H, K] the rows of a head are H * K elements apart:
/// if H and K are powers of two, these rows map to few sets of a cache, which then holds only a few of them.
class PackedRows {
 public:
  PackedRows(std::int64_t num_rows, std::int64_t first_size, std::int64_t second_size);

  /// Overwrites the table with rows of `first` and `second`, which must have the sizes given to the constructor.
  void pack(const HeadRows<ConstElements>& first, const HeadRows<ConstElements>& second);

  const RowTable& table() const { return table_; }

 private:
  std::int64_t num_rows_;
  AlignedBuffer memory_;
  RowTable table_;
};

}  // namespace edgewise::kernels
