// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>

#include "edgewise/nn/module.h"

namespace edgewise {

/// Converts a layer's parameters to another dtype, such as fp64 for gradient checks. Tied parameters remain tied;
/// gradients are discarded.
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
