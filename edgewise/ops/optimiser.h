// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/kernels/optimiser/adam.h"

namespace edgewise {

/// Returns the sum of the squares of each tensor, fp64 [N] on their device. The tensors, at least one, have one type
/// and one device. The bits depend on the tensors alone, not on the number of threads.
at::Tensor sums_of_squares(const std::vector<at::Tensor>& tensors);

/// The results of divide_by_norm(), single numbers on the device of the gradients.
struct NormAndDivisor {
  at::Tensor norm;  // fp64, of the mean gradient, before clipping
  at::Tensor
      divisor;  // fp32, of the summed gradients: tokens · clip_divisor(norm, clip_norm); NaN if the norm is not finite
};

/// Computes the norm of the mean gradient of `tokens` tokens from the sum of squares of their summed gradients, fp64,
/// and the number that divides the summed gradients. `clip_norm` 0: no limit. Does not wait for the device.
NormAndDivisor divide_by_norm(const at::Tensor& sum_of_squares, double tokens, double clip_norm);

/// Returns the number, at least 1, by which clipping divides gradients of this norm; `clip_norm` 0: no limit.
double clip_divisor(double norm, double clip_norm);

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

using kernels::kElementsPerFlag;

/// Divides the gradients and updates the arrays by kernels::adam_update(), where backend_of() is kGpu. The arrays
/// are fp32 [N], contiguous, and aligned to 16 bytes; `is_matrix` is uint8 [N / kElementsPerFlag] on their device: 1
/// for the elements of matrices, else 0.
void update_on_gpu(const AdamArrays& arrays, const at::Tensor& is_matrix, const AdamKernelStep& step);

}  // namespace edgewise
