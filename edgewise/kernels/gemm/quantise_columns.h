// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/simd/aligned_buffer.h"

namespace edgewise::kernels {

/// Divides each column of [K, N] by a scale that makes its largest magnitude 127, and rounds. Returns the result, in
/// columns and stored in `buffer`. Writes the scales of the columns, [N], to `scales`.
Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns,
                                     std::vector<float>& scales, AlignedBuffer& buffer);

}  // namespace edgewise::kernels
