// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows_cuda.h"
#include "edgewise/kernels/rows/rows_cuda.h"
