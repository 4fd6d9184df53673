// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "edgewise/kernels/simd/aligned_bytes.h"

namespace edgewise::kernels {

/// Memory of a thread for one task after another: it grows to the largest task and is then asked for nothing more.
class Scratch {
 public:
  static Scratch& of_this_thread();

  /// Begins a task: what was taken before is free again.
  void reset();

  /// Room for `count` numbers, uninitialised and aligned to 64 bytes, until the next reset().
  float* take(std::size_t count);

 private:
  struct Block {
    AlignedBytes memory;
    std::size_t size;  // in floats
  };
  void add_block(std::size_t size);

  std::vector<Block> blocks_;  // one, except in a task that needs more than all before it
  std::size_t used_ = 0;       // of the last block
};

}  // namespace edgewise::kernels
