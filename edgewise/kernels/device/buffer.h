// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "edgewise/kernels/device/memory.h"

namespace edgewise::kernels::device {

/// An array in the memory of the device, for tests and programs that run on a device and in the emulator.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// The bytes are 0xFF at first: NaN as a float and as a BFloat16, so that numbers that no kernel writes are found.
  explicit Buffer(std::size_t count) : Buffer(undefined(count)) {}

  explicit Buffer(const std::vector<T>& values)
      : size_(values.size()), data_(allocate_memory(values.size() * sizeof(T))) {
    copy_memory_to_device(data_.get(), values.data(), size_ * sizeof(T));
  }

  std::size_t size() const { return size_; }
  T* data() { return static_cast<T*>(data_.get()); }
  const T* data() const { return static_cast<const T*>(data_.get()); }

  /// Waits for all kernels of the device and returns the content.
  std::vector<T> read() const {
    std::vector<T> values(size_);
    copy_memory_to_host(values.data(), data_.get(), size_ * sizeof(T));
    return values;
  }

 private:
  struct Free {
    void operator()(void* memory) const { free_memory(memory); }
  };

  static std::vector<T> undefined(std::size_t count) {
    std::vector<T> values(count);
    if (count > 0) std::memset(static_cast<void*>(values.data()), 0xFF, count * sizeof(T));
    return values;
  }

  std::size_t size_;
  std::unique_ptr<void, Free> data_;
};

}  // namespace edgewise::kernels::device
