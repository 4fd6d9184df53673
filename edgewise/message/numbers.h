// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/message/frame.h"

// Node and edge numbers as int64 tensors [count] on the CPU.

namespace edgewise {

template <typename Index>
at::Tensor to_tensor(const std::vector<Index>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

/// Throws Error unless `numbers` is int64 on the CPU, of one dimension, and names rows of `frame`.
void check_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller, std::string_view argument);

/// And unless each is named once: rows to be written, or edges to send along.
void check_distinct_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller,
                            std::string_view argument);

}  // namespace edgewise
