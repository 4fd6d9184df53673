// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/attention/attention_plan.h"
#include "tensors.h"

namespace edgewise::torch_operations {

/// Returns the buffer of saved weights if it fits the plan, else null: backward then computes the weights again.
template <typename T>
kernels::AccumulatorType<T>* saved_weights_or_null(const Tensor& saved, const kernels::AttentionPlan& plan,
                                                   std::int64_t num_heads) {
  constexpr std::size_t kAlignment = 64;  // bytes, of AttentionForward::saved_weights
  const std::int64_t count = num_heads * plan.num_saved_weights<T>();
  auto* data = data_of<kernels::AccumulatorType<T>>(saved);
  const bool fits = count > 0 && saved.numel() == count && reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
  return fits ? data : nullptr;
}

}  // namespace edgewise::torch_operations
