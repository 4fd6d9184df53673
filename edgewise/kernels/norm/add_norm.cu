// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/norm/add_norm_cuda.h"
