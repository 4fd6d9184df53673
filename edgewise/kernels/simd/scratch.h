// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "edgewise/kernels/simd/aligned_buffer.h"

namespace edgewise::kernels {

/// A thread's workspace, which one task after another reuses. Allocates only until the largest task fits.
class Scratch {
 public:
  static Scratch& of_this_thread();

  /// Begins a task. Invalidates all buffers that take() returned before.
  void reset();

  /// Returns an uninitialised buffer of `count` floats, aligned to 64 bytes and valid until the next reset().
  float* take(std::size_t count);

 private:
  struct Block {
    AlignedBuffer memory;
    std::size_t size;  // floats
  };
  void add_block(std::size_t size);

  std::vector<Block> blocks_;  // more than one only during a task that needs more memory than earlier tasks
  std::size_t used_ = 0;       // floats taken from the last block
};

}  // namespace edgewise::kernels
