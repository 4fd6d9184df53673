// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/optimiser.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "edgewise/ops/backend.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

at::Tensor sums_of_squares_on_gpu(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> aligned;
  std::int64_t workspace_size = 0;
  for (const at::Tensor& tensor : tensors) {
    aligned.push_back(aligned_contiguous(tensor));
    workspace_size = std::max(workspace_size, kernels::sum_squares_workspace(tensor.numel()));
  }
  const auto options = tensors.front().options().requires_grad(false);
  const at::Tensor workspace = at::empty({workspace_size}, options);
  at::Tensor sums = at::empty({std::ssize(tensors)}, options.dtype(at::kDouble));
  call_kernel(sums, [&](device::Stream stream) {
    auto* sum = sums.mutable_data_ptr<double>();
    for (const at::Tensor& values : aligned) {
      kernels::sum_squares(values.const_data_ptr<float>(), values.numel(), workspace.mutable_data_ptr<float>(), sum++,
                           stream);
    }
  });
  return sums;
}

/// Defines divide_by_norm() in plain ATen.
NormAndDivisor divide_by_norm_plain(const at::Tensor& sum_of_squares, double tokens, double clip_norm) {
  constexpr double kMaxFloat = std::numeric_limits<float>::max();  // a clip_norm near 0 gives a larger divisor
  const at::Tensor norm = sum_of_squares.sqrt() / tokens;
  at::Tensor factor = at::ones_like(norm);
  if (clip_norm > 0) factor = at::where(norm > clip_norm, norm / clip_norm, factor);
  const at::Tensor divisor = (factor * tokens).clamp_max(kMaxFloat).to(at::kFloat);
  return {norm, divisor.masked_fill(norm.isfinite().bitwise_not(), std::numeric_limits<double>::quiet_NaN())};
}

}  // namespace

at::Tensor sums_of_squares(const std::vector<at::Tensor>& tensors) {
  const at::Tensor& first = tensors.front();
  if (first.scalar_type() == at::kFloat && backend_of(first) == Backend::kGpu) return sums_of_squares_on_gpu(tensors);
  const std::vector<TensorPart> all_parts = split_tensors(tensors);
  std::vector<at::Tensor> squares_of_parts(all_parts.size());
  parallel_parts(all_parts, [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      squares_of_parts[part.index] = at::linalg_vector_norm(take_part(tensors, part)).to(at::kDouble).square();
    }
  });
  std::vector<at::Tensor> sums(tensors.size());
  for (const TensorPart& part : all_parts) {
    at::Tensor& sum = sums[part.tensor];
    sum = sum.defined() ? sum + squares_of_parts[part.index] : squares_of_parts[part.index];
  }
  for (at::Tensor& sum : sums) {
    if (!sum.defined()) sum = at::zeros({}, first.options().dtype(at::kDouble).requires_grad(false));  // no elements
  }
  return at::stack(sums);
}

NormAndDivisor divide_by_norm(const at::Tensor& sum_of_squares, double tokens, double clip_norm) {
  at::Tensor divisor = at::empty({}, sum_of_squares.options().dtype(at::kFloat));
  if (backend_of(divisor) != Backend::kGpu) return divide_by_norm_plain(sum_of_squares, tokens, clip_norm);
  at::Tensor norm = at::empty({}, sum_of_squares.options());
  const kernels::DivideByNorm arguments = {.sum_of_squares = sum_of_squares.const_data_ptr<double>(),
                                           .tokens = tokens,
                                           .clip_norm = clip_norm,
                                           .divisor = divisor.mutable_data_ptr<float>(),
                                           .norm = norm.mutable_data_ptr<double>()};
  call_kernel(divisor, [&](device::Stream stream) { kernels::divide_by_norm(arguments, stream); });
  return {norm, divisor};
}

double clip_divisor(double norm, double clip_norm) {
  return clip_norm > 0.0 && norm > clip_norm ? norm / clip_norm : 1.0;
}

void update_on_gpu(const AdamArrays& arrays, const at::Tensor& is_matrix, const AdamKernelStep& step) {
  auto* const gradients = arrays.gradients.mutable_data_ptr<float>();
  const kernels::AdamArguments arguments = {.value = arrays.values.mutable_data_ptr<float>(),
                                            .gradient = gradients,
                                            .mean = arrays.means.mutable_data_ptr<float>(),
                                            .variance = arrays.variances.mutable_data_ptr<float>(),
                                            .divided_gradient = gradients,
                                            .is_matrix = is_matrix.const_data_ptr<std::uint8_t>(),
                                            .count = arrays.values.numel(),
                                            .divisor = step.divisor.const_data_ptr<float>(),
                                            .learning_rate = step.learning_rate,
                                            .beta1 = step.beta1,
                                            .beta2 = step.beta2,
                                            .epsilon = step.epsilon,
                                            .weight_decay = step.weight_decay,
                                            .step = step.step};
  call_kernel(arrays.values, [&](device::Stream stream) { kernels::adam_update(arguments, stream); });
}

}  // namespace edgewise
