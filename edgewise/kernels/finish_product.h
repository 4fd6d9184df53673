// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/finish_rows.h"
#include "edgewise/kernels/gemm.h"
#include "edgewise/kernels/vocabulary_tile.h"

// Products of 8-bit matrices, and what becomes of their sums, block by block of rows: a block is finished on the thread
// that made it, while it is in its cache. Shapes: R = rows, N = columns, K = depth.

namespace edgewise::kernels {

/// Rows without gaps times a packed matrix.
struct RowProduct {
  std::int64_t rows;
  const std::int8_t* a;  // [R, K]
  const float* scales;   // [R]
  const PackedMatrix<std::int8_t>* b;
  std::int64_t spare_rows = 0;  // behind a's, that may be read
};

/// finish_rows of the product: its sums and scales are filled in, the bias and the activation of `finish.product` hold.
void finish_product(const RowProduct& product, const FinishRows<std::int8_t>& finish);

/// see_tile of the product, as above.
void see_product(const RowProduct& product, const VocabularyTile& tile);

}  // namespace edgewise::kernels
