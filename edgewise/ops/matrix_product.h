// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/kernels/gemm/gemm.h"

// Matrix products of operations that call kernels for GPUs, without autograd: ATen, which calls cuBLAS.
// Shapes: R = rows, D = depth, C = columns.
namespace edgewise {

/// Writes a b, or adds a b to the numbers in memory, with sums in fp32. a and b are both fp32 or both bf16; out is fp32
/// or has their type. The first product on a GPU sets an option of libtorch for the process: cuBLAS no longer rounds
/// partial sums to bf16.
void multiply(const at::Tensor& a_RD, const at::Tensor& b_DC, kernels::GemmResult result, const at::Tensor& out_RC);

/// Computes a b + bias. A bias, if defined, is fp32, and is rounded to the type of out.
void multiply_add_bias(const at::Tensor& a_RD, const at::Tensor& b_DC, const at::Tensor& bias_C,
                       const at::Tensor& out_RC);

}  // namespace edgewise
