// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/optimiser/adam_cuda.h"
