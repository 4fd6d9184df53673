// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <string_view>
#include <vector>

#include "edgewise/message/frame.h"

// Node and edge numbers as int64 tensors [count] on the CPU.

namespace edgewise {

template <typename Index>
at::Tensor to_tensor(const std::vector<Index>& numbers) {
  return at::tensor(numbers).to(at::kLong);
}

/// Throws Error unless `numbers` is int64 [count] on the CPU, and each number is a row number of `frame`.
void check_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller, std::string_view argument);

/// Checks like check_numbers, and throws Error for a number that occurs twice.
void check_distinct_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller,
                            std::string_view argument);

}  // namespace edgewise
