// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/adam_kernel.h"

#include "edgewise/kernels/optimiser/adam.h"
#include "edgewise/ops/backend.h"

namespace edgewise {

static_assert(kElementsOfFlag == kernels::AdamArguments::kFlagged);

void update_on_gpu(const AdamArrays& arrays, const at::Tensor& is_matrix, const AdamKernelStep& step) {
  auto* const gradients = arrays.gradients.mutable_data_ptr<float>();
  const kernels::AdamArguments arguments = {.value = arrays.values.mutable_data_ptr<float>(),
                                            .gradient = gradients,
                                            .mean = arrays.means.mutable_data_ptr<float>(),
                                            .variance = arrays.variances.mutable_data_ptr<float>(),
                                            .divided_gradient = gradients,
                                            .value_bf16 = nullptr,
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
