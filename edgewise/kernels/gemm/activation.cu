// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/activation_cuda.h"
#include "edgewise/kernels/gemm/activation_gradient_cuda.h"
