// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gpu_kernels.h"

#include <cstdint>

namespace edgewise {

bool is_aligned(const at::Tensor& x) {
  constexpr std::uintptr_t kAlignment = 16;
  return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % kAlignment == 0;
}

at::Tensor aligned_contiguous(const at::Tensor& x) {
  if (!x.defined()) return x;
  const at::Tensor contiguous = x.contiguous();
  return !uses_gpu_kernels(x) || is_aligned(contiguous) ? contiguous : contiguous.clone();
}

}  // namespace edgewise
