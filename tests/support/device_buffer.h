// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "edgewise/device/memory.h"

namespace edgewise::device {

/// An array in the memory of the device, for tests and programs that run on a device and in the emulator. Copies are in
/// the default stream.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// The bytes are 0xFF at first: NaN as a float and as a BFloat16, so that numbers that no kernel writes are found.
  explicit Buffer(std::size_t count) : Buffer(undefined(count)) {}

  explicit Buffer(const std::vector<T>& values)
      : size_(values.size()), data_(allocate_memory(values.size() * sizeof(T), Stream())) {
    assign(values);
  }

  /// Replaces the content, by as many values.
  void assign(const std::vector<T>& values) {
    const HostMemory staging(allocate_host_memory(size_ * sizeof(T)));
    if (size_ > 0) std::memcpy(staging.get(), values.data(), size_ * sizeof(T));
    begin_copy(data_.get(), staging.get(), size_ * sizeof(T), Stream());
    wait_for(Stream());
  }

  std::size_t size() const { return size_; }
  T* data() { return static_cast<T*>(data_.get()); }
  const T* data() const { return static_cast<const T*>(data_.get()); }

  /// Waits for all kernels of `stream` and returns the content.
  std::vector<T> read(Stream stream = {}) const {
    std::vector<T> values(size_);
    const HostMemory staging(allocate_host_memory(size_ * sizeof(T)));
    begin_copy(staging.get(), data_.get(), size_ * sizeof(T), stream);
    wait_for(stream);
    if (size_ > 0) std::memcpy(static_cast<void*>(values.data()), staging.get(), size_ * sizeof(T));
    return values;
  }

 private:
  struct Free {
    void operator()(void* memory) const { free_memory(memory, Stream()); }
  };
  struct FreeOnHost {
    void operator()(void* memory) const { free_host_memory(memory); }
  };
  using HostMemory = std::unique_ptr<void, FreeOnHost>;

  static std::vector<T> undefined(std::size_t count) {
    std::vector<T> values(count);
    if (count > 0) std::memset(static_cast<void*>(values.data()), 0xFF, count * sizeof(T));
    return values;
  }

  std::size_t size_;
  std::unique_ptr<void, Free> data_;
};

}  // namespace edgewise::device
