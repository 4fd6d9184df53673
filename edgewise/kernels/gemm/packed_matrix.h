// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
};

}  // namespace edgewise::kernels
