// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout_cuda.h"
