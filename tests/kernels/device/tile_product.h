// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"

namespace edgewise::kernels::gpu {

/// out = a b^T.
struct TileProduct {
  const BFloat16* a;  // [rows, depth]
  const BFloat16* b;  // [columns, depth]
  float* out;         // [rows, columns]
  int rows;
  int columns;
  int depth;  // a multiple of 8, so that rows are aligned to 16 bytes
};

/// A model of a kernel, which multiplies on tensor cores. All pointers are to memory of the device.
void tile_product(const TileProduct& p, device::Stream stream);

}  // namespace edgewise::kernels::gpu
