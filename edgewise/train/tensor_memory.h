// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace edgewise {

/// Counts the memory of tensors. For the CPU, counts the tensors that all threads allocate during the life of this
/// object. For a GPU, counts those of the process since it began, without the memory that libtorch keeps for later
/// tensors. Only one object may exist.
class TensorMemory {
 public:
  explicit TensorMemory(c10::Device device);
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  /// Returns the largest number of bytes at any time. A GPU must have computed before.
  std::int64_t peak() const;

 private:
  c10::Device device_;
};

}  // namespace edgewise
