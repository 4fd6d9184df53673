// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/attention/row_task.h"

namespace edgewise::kernels {

/// Memory for the rows of two matrices side by side, one head at a time. In a tensor [N, H, K] the rows of a head lie
/// so far apart that, where K and H are powers of two, most of a cache cannot hold them.
class PackedRows {
 public:
  PackedRows(std::int64_t num_rows, std::int64_t first_size, std::int64_t second_size);

  /// Overwrites what is packed. Both must have the sizes given to the constructor.
  void pack(const HeadRows<ConstElements>& first, const HeadRows<ConstElements>& second);

  const RowTable& table() const { return table_; }

 private:
  std::int64_t num_rows_;
  AlignedBytes memory_;
  RowTable table_;
};

}  // namespace edgewise::kernels
