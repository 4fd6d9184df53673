// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/embedding/embed_cuda.h"
