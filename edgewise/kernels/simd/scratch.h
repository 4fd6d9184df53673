// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace edgewise::kernels {

/// A reusable buffer, aligned to 64 bytes, that only grows. Growing discards the content.
class AlignedBuffer {
 public:
  /// Returns memory of at least `size` bytes.
  void* reserve_bytes(std::size_t size) {
    if (size > size_) {
      bytes_.reset();
      bytes_.reset(new (kAlignment) std::byte[size]);
      size_ = size;
    }
    return bytes_.get();
  }
  /// Returns memory for at least `count` elements.
  template <typename T>
  T* elements(std::int64_t count) {
    return static_cast<T*>(reserve_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }

  const void* data() const { return bytes_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }
  };

  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_ = 0;
};

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
