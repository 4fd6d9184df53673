// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/nn/module.h"

namespace edgewise {

/// Tensors in the memory of the CPU, as base/files/safetensors.h lists them.
struct ListedTensors {
  std::vector<TensorInfo> infos;
  std::vector<at::Tensor> owners;  // hold the bytes
};

/// Lists tensors, which are fp32, fp64 or int64 on any device. Copies only tensors that are strided or on a GPU.
ListedTensors list_tensors(std::span<const NamedTensor> tensors);

/// Returns the bytes of a safetensors file with these tensors. Throws StopException if `stop` is set before a tensor is
/// copied.
std::string serialize_tensors(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata = {},
                              const StopRequest* stop = nullptr);

/// Fills the tensors from a file that has exactly these names, dtypes and shapes. An fp32 tensor may be stored in any
/// way that base/files/stored_parameters.h describes. Otherwise throws one Error that lists the first differences, and
/// changes no tensor. `file_name` names the file in errors:
///
///     load_tensors: model.safetensors lacks "encoder.norm.bias", has "decoder.gate", which is not needed, has
///     "encoder.norm.gain" as F32 [8] instead of F32 [4], needs exactly the tensors that the config describes; …
void load_tensors(std::span<const NamedTensor> tensors, const SafetensorsFile& file, std::string_view file_name);

/// Moves parameters to a device, where the model then computes. Discards their gradients.
void move_parameters(std::span<const NamedTensor> tensors, at::Device device);

/// Returns the total number of elements.
std::int64_t count_parameters(std::span<const NamedTensor> tensors);

}  // namespace edgewise
