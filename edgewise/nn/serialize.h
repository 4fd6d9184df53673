// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/base/safetensors.h"
#include "edgewise/nn/module.h"

namespace edgewise {

/// The bytes of a safetensors file with these tensors; fp32, fp64 or int64, on the CPU.
std::string serialize_tensors(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata = {});

/// Fills the tensors from a file that has exactly these names, dtypes and shapes; what else it is said in one Error,
/// and then nothing is changed. `file_name` is what errors call the file:
///
///     load_tensors: model.safetensors lacks encoder.norm.bias; has decoder.gate, which is not asked for; has
///     encoder.norm.gain as F32 [8], F32 [4] is needed
void load_tensors(std::span<const NamedTensor> tensors, const SafetensorsFile& file, std::string_view file_name);

/// Numbers in all of them together.
std::int64_t count_parameters(std::span<const NamedTensor> tensors);

/// Puts a layer's parameters into another dtype, tied ones still tied: fp64 for gradient checks. Gradients are
/// forgotten.
template <typename Layer>
void convert_parameters(Layer& layer, at::ScalarType dtype) {
  std::unordered_map<const void*, at::Tensor> converted;
  visit_parameters(layer, "", [&](const std::string&, at::Tensor& tensor) {
    at::Tensor& other = converted[tensor.unsafeGetTensorImpl()];
    if (!other.defined()) {
      other = tensor.detach().to(dtype, /*non_blocking=*/false, /*copy=*/true);
      other.set_requires_grad(tensor.requires_grad());
    }
  });
  visit_parameters(
      layer, "", [&](const std::string&, at::Tensor& tensor) { tensor = converted.at(tensor.unsafeGetTensorImpl()); });
}

}  // namespace edgewise
