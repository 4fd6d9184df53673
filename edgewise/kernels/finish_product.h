// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/finish_rows.h"
#include "edgewise/kernels/gemm.h"
#include "edgewise/kernels/vocabulary_tile.h"

// Products of 8-bit matrices as floats, and what becomes of them, block by block of rows: a block is finished on the
// thread that made it, while it is in its cache. Shapes: R = rows, N = columns, K = depth.

namespace edgewise::kernels {

/// activation(a b + bias), where rows of a and columns of b have scales. Each row of it has the same bits whatever rows
/// are beside it, and on any number of threads.
struct RowProduct {
  std::int64_t rows;
  const std::int8_t* a;  // [R, K], without gaps
  const float* scales;   // [R]
  const PackedMatrix<std::int8_t>* b;
  const float* bias = nullptr;  // [N], or null
  GemmActivation activation = GemmActivation::kNone;
  std::int64_t spare_rows = 0;  // behind a's, that may be read
};

/// To `out`, in rows that begin `stride` apart.
void write_product(const RowProduct& product, float* out, std::int64_t stride);

/// finish_rows of it, as the values of `finish`.
void finish_product(const RowProduct& product, const FinishRows<std::int8_t>& finish);

/// see_tile of it, as the values of `tile`.
void see_product(const RowProduct& product, const VocabularyTile& tile);

}  // namespace edgewise::kernels
