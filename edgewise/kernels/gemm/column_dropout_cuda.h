// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/gpu/columns.h"

namespace edgewise::kernels::gpu {

/// Applies the dropout of a flat array to the values of `columns` of a row, whose first one is value `begin` of the
/// array.
template <class Columns>
EDGEWISE_DEVICE void apply_dropout(const DropoutFactors& dropout, std::int64_t begin, const Columns& columns,
                                   float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] *= dropout.one(begin + columns.first);
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += kChunk) {
      const Floats4 factors = dropout.aligned_chunk(begin + columns.at(i));
      EDGEWISE_UNROLL
      for (int j = 0; j < kChunk; ++j) value[i + j] *= factors.at[j];
    }
  }
}

}  // namespace edgewise::kernels::gpu
