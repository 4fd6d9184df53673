// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

// Comparing tensors and names, and speaking of them in errors.
namespace edgewise {

/// "[4, 2]"
std::string describe_shape(const at::Tensor& tensor);

/// "Float [4, 2]", or "undefined".
std::string describe(const at::Tensor& tensor);

/// Whether the rows of both, their first dimension, have one element type and shape.
bool has_same_rows(const at::Tensor& a, const at::Tensor& b);

/// "'k', 'v'" for the keys of a map, or "none".
template <typename Map>
std::string describe_names(const Map& map) {
  std::string names;
  for (const auto& entry : map) {
    names += (names.empty() ? "'" : ", '") + entry.first + "'";
  }
  return names.empty() ? "none" : names;
}

}  // namespace edgewise
