// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/logits_tile_cuda.h"
#include "edgewise/kernels/loss/rdrop_loss_cuda.h"
#include "edgewise/kernels/loss/softmax_loss_cuda.h"
