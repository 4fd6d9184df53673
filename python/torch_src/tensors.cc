// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace edgewise::torch_operations {
namespace {

constexpr std::size_t kMaxDimensions = 16;

std::int32_t number_of(ScalarType type) {
  switch (type) {
    case ScalarType::Double:
      return aoti_torch_dtype_float64();
    case ScalarType::BFloat16:
      return aoti_torch_dtype_bfloat16();
    case ScalarType::Int:
      return aoti_torch_dtype_int32();
    default:
      return aoti_torch_dtype_float32();
  }
}

}  // namespace

Tensor allocate(torch::headeronly::IntHeaderOnlyArrayRef sizes, ScalarType type) {
  check(sizes.size() <= kMaxDimensions, "allocate: a tensor has {} dimensions, needs at most {}", sizes.size(),
        kMaxDimensions);
  std::array<std::int64_t, kMaxDimensions> strides;
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(),
                                                  number_of(type), aoti_torch_device_type_cpu(), 0, &handle));
  return Tensor(handle);
}

}  // namespace edgewise::torch_operations
