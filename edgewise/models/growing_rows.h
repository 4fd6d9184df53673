// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace edgewise {

/// Rows of numbers that grow at their end: memory doubles when it is full, so that appending n rows costs O(n) over
/// time.
class GrowingRows {
 public:
  std::int64_t size() const { return size_; }

  /// `rows` is [n, …]; all appended rows have one shape.
  void append(const at::Tensor& rows);

  /// All rows so far, [size, …], without a copy. Good until the next append.
  at::Tensor all() const { return storage_.narrow(0, 0, size_); }

 private:
  at::Tensor storage_;  // [capacity, …]
  std::int64_t size_ = 0;
};

}  // namespace edgewise
