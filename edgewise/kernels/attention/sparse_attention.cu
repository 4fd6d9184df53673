// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/sparse_attention_cuda.h"
