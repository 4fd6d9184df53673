// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels {

/// What a PackedMatrix holds: how it was packed says which way products with it go.
struct PackedContent {
  onednn::ElementType type = onednn::ElementType::kFloat;  // floats stand for bf16 where that is not native
  onednn::RightLayout layout = onednn::RightLayout::kRows;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  AlignedBytes bytes = {};
  std::vector<float> scales = {};  // of columns, for 8 bits
};

}  // namespace edgewise::kernels
