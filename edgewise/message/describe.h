// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

// Describes tensors and names in error texts, and compares tensors.
namespace edgewise {

/// Returns the sizes, such as "[4, 2]".
std::string describe_shape(const at::Tensor& tensor);

/// Returns the type and sizes, such as "Float [4, 2]", or "undefined".
std::string describe(const at::Tensor& tensor);

/// Returns whether both tensors have the same element type, and the same sizes except in dimension 0.
bool has_same_rows(const at::Tensor& a, const at::Tensor& b);

/// Returns the keys of a map, such as "'k', 'v'", or "none".
template <typename Map>
std::string describe_names(const Map& map) {
  std::string names;
  for (const auto& entry : map) names += (names.empty() ? "'" : ", '") + entry.first + "'";
  return names.empty() ? "none" : names;
}

}  // namespace edgewise
