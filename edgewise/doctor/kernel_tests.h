// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/doctor/comparison.h"

// Tests of kernels with fixed random numbers. Kernels that give the same bits on every instruction set are compared
// with expected bits, the others with a computation in double.

namespace edgewise {

// Products of matrices: with oneDNN, as in training, and of rows with packed weights, as in translating.
Finding test_fp32_gemm();
Finding test_bf16_gemm();
Finding test_fp32_row_product();
Finding test_bf16_row_product();
Finding test_int8_row_product();

/// Tests embeddings, word dropout and dropout: expected bits.
Finding test_embedding();

/// Tests the residual sum, which has expected bits, and its norm.
Finding test_norm();

/// Tests attention and its gradients over a relation of intervals.
Finding test_interval_attention();

/// Tests attention and its gradients over a relation in CSR form.
Finding test_csr_attention();

}  // namespace edgewise
