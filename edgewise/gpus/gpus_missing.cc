// SPDX-License-Identifier: Apache-2.0
#include "edgewise/gpus/gpus.h"

namespace edgewise {

GpuSearch find_gpus() { return {.obstacle = GpuObstacle::kNoCuda, .detail = {}, .gpus = {}}; }

}  // namespace edgewise
