// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/tile_attention_cuda.h"
