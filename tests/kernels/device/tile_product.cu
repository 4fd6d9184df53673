// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device/tile_product_cuda.h"

namespace edgewise::kernels::gpu {

void tile_product(const TileProduct& p, device::Stream stream) {
  const TileProductKernel kernel = {p};
  launch(kernel, kernel.num_blocks(), stream);
}

}  // namespace edgewise::kernels::gpu
