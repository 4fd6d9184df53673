// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/nn/module.h"

namespace edgewise {

/// The types in which a file may store parameters.
inline constexpr std::array kStoredTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

/// Tensors of a file, and the memory of their bytes.
class StoredTensorList {
 public:
  void add(const std::string& name, DType dtype, const at::Tensor& tensor) {
    owners_.push_back(tensor.contiguous());
    const auto* data = static_cast<const std::byte*>(owners_.back().const_data_ptr());
    infos_.push_back({name, dtype, owners_.back().sizes().vec(), {data, owners_.back().nbytes()}});
  }

  /// Adds a parameter, stored as `dtype`, and returns the values that this type has: fp32 numbers. Only matrices are
  /// stored as I8, with integers of at most 100, so that dividing their rows by other scales would round them.
  at::Tensor add_parameter(const std::string& name, DType dtype, const at::Tensor& values) {
    if (dtype == DType::kI8 && values.dim() == 2) return add_int8(name, values);
    const at::ScalarType type = dtype == DType::kF16 ? at::kHalf : dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat;
    const at::Tensor stored = values.to(type);
    add(name, dtype == DType::kI8 ? DType::kF32 : dtype, stored);
    return stored.to(at::kFloat);
  }

  std::string bytes() const { return serialize_safetensors(infos_); }
  SafetensorsFile file() const { return SafetensorsFile::parse(bytes(), "model.safetensors"); }

 private:
  at::Tensor add_int8(const std::string& name, const at::Tensor& values) {
    const at::Tensor scales = (values.abs().amax({1}) / 100 + 1e-6).to(at::kFloat);
    const at::Tensor integers = (values.to(at::kFloat) / scales.unsqueeze(1)).round().to(at::kChar);
    add(name, DType::kI8, integers);
    add(name + ".scale", DType::kF32, scales);
    return integers.to(at::kFloat) * scales.unsqueeze(1);
  }

  std::vector<at::Tensor> owners_;
  std::vector<TensorInfo> infos_;
};

/// Parameters in a file of one type, and the same values in a file of fp32.
struct StoredParameters {
  StoredTensorList stored;
  StoredTensorList floats;
};

inline StoredParameters store_parameters(const std::vector<NamedTensor>& parameters, DType dtype) {
  StoredParameters files;
  for (const NamedTensor& named : parameters) {
    const at::Tensor values = files.stored.add_parameter(named.name, dtype, named.tensor.detach());
    files.floats.add(named.name, DType::kF32, values);
  }
  return files;
}

}  // namespace edgewise
