// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels::cpu {

/// Each column of [K, N] divided by a scale that makes its largest number `largest`, one column behind the other in
/// `room`.
Matrix<std::int8_t> quantised(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, float largest,
                              std::vector<float>& scales, AlignedBytes& room);

}  // namespace edgewise::kernels::cpu
