// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device/tile_product.h"

namespace edgewise::kernels::device {

template void launch(const TileProduct&, int, Stream);

}  // namespace edgewise::kernels::device
