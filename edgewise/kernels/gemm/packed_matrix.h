// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/simd/aligned_buffer.h"

namespace edgewise::kernels {

/// The content of a PackedMatrix. Type and layout select the implementation of the product.
struct PackedContent {
  onednn::ElementType type = onednn::ElementType::kFloat;  // kFloat also for bf16 without native bf16 products
  onednn::RightLayout layout = onednn::RightLayout::kRows;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  AlignedBuffer bytes = {};
  std::vector<float> scales = {};  // [columns], for 8 bits
};

/// Divides each column of [K, N] by a scale that makes its largest magnitude `largest`, and rounds. Returns the result,
/// in columns and stored in `buffer`. Writes the scales of the columns, [N], to `scales`.
Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, float largest,
                                     std::vector<float>& scales, AlignedBuffer& buffer);

}  // namespace edgewise::kernels
