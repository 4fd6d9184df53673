// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/describe.h"

#include <fmt/format.h>

namespace edgewise {

std::string describe_shape(const at::Tensor& tensor) {
  std::string sizes;
  for (const std::int64_t size : tensor.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return "[" + sizes + "]";
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return fmt::format("{} {}", c10::toString(tensor.scalar_type()), describe_shape(tensor));
}

bool has_same_rows(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes().slice(1) == b.sizes().slice(1);
}

}  // namespace edgewise
