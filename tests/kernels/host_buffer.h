// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace edgewise::kernels {

/// A device::Buffer in memory of the host: tests run the reference on it, and kernels for the CPU.
template <typename T>
class HostBuffer {
 public:
  explicit HostBuffer(std::size_t count) : values_(count) {
    if (count > 0) std::memset(static_cast<void*>(values_.data()), 0xFF, count * sizeof(T));
  }
  explicit HostBuffer(std::vector<T> values) : values_(std::move(values)) {}

  std::size_t size() const { return values_.size(); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  const std::vector<T>& read() const { return values_; }

 private:
  std::vector<T> values_;
};

}  // namespace edgewise::kernels
