// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace edgewise {

/// Elements of the arrays that Adam updates, all of one size.
struct AdamArrays {
  at::Tensor values, gradients, means, variances;
};

/// The numbers of a step of update_on_gpu().
struct AdamKernelStep {
  std::int64_t step;  // from 1
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;  // only matrices decay
  at::Tensor divisor;   // fp32, a single number on the device of the arrays; if it is not finite, the arrays stay
};

/// Elements that share an element of `is_matrix`.
inline constexpr std::int64_t kElementsOfFlag = 16;

/// Divides the gradients and updates the arrays by kernels::adam_update(), where backend_of() is kGpu. The arrays
/// are fp32 [N], contiguous, and aligned to 16 bytes; `is_matrix` is uint8 [N / kElementsOfFlag] on their device: 1
/// for the elements of matrices, else 0.
void update_on_gpu(const AdamArrays& arrays, const at::Tensor& is_matrix, const AdamKernelStep& step);

}  // namespace edgewise
