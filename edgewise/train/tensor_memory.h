// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace edgewise {

/// Counts the memory of tensors that this thread, and the backward passes that it starts, allocate on a device during
/// the life of this object. Tensors that exist before are not counted. On a GPU, the memory that libtorch keeps for
/// later tensors is not counted either. libtorch's profiler cannot run meanwhile.
class TensorMemory {
 public:
  explicit TensorMemory(c10::Device device);

  /// Returns the largest number of bytes at any time.
  std::int64_t peak() const;

 private:
  class Counter;

  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace edgewise
