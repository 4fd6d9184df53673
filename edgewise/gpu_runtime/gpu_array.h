// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "edgewise/kernels/device/memory.h"

// Arrays that grow and are reused from step to step.
namespace edgewise {

/// A stream of the GPU.
class GpuStream {
 public:
  GpuStream() : stream_(kernels::device::create_stream()) {}
  ~GpuStream() { kernels::device::destroy_stream(stream_); }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  operator kernels::device::Stream() const { return stream_; }

 private:
  kernels::device::Stream stream_;
};

/// Returns how often the arrays of this header have allocated memory. While the number stays, no address changes.
inline std::atomic<std::int64_t>& num_allocations() {
  static std::atomic<std::int64_t> number = 0;
  return number;
}

/// Memory that Allocate::allocate() returns and Allocate::free() frees.
template <typename T, class Allocate>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Returns memory for `count` elements. It is valid until a call with a larger count, which discards the content.
  T* allocate(std::int64_t count) {
    if (count > capacity_) {
      capacity_ = std::max(count, capacity_ + capacity_ / 2);
      data_.reset();
      data_.reset(Allocate::allocate(static_cast<std::size_t>(capacity_) * sizeof(T)));
      ++num_allocations();
    }
    return data();
  }

  T* data() { return static_cast<T*>(data_.get()); }
  const T* data() const { return static_cast<const T*>(data_.get()); }
  std::int64_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(void* memory) const { Allocate::free(memory); }
  };

  std::int64_t capacity_ = 0;
  std::unique_ptr<void, Free> data_;
};

struct AllocateOnGpu {
  static void* allocate(std::size_t bytes) { return kernels::device::allocate_memory(bytes); }
  static void free(void* memory) { kernels::device::free_memory(memory); }
};

struct AllocateForCopies {
  static void* allocate(std::size_t bytes) { return kernels::device::allocate_host_memory(bytes); }
  static void free(void* memory) { kernels::device::free_host_memory(memory); }
};

/// Memory of the GPU.
template <typename T>
using GpuArray = GrowingArray<T, AllocateOnGpu>;

/// Memory of the host, for copies from and to the GPU.
template <typename T>
using HostArray = GrowingArray<T, AllocateForCopies>;

/// Returns a copy of `values` in memory of the GPU.
template <typename T>
GpuArray<T> copy_to_gpu(std::span<const T> values) {
  GpuArray<T> copy;
  T* data = copy.allocate(std::ssize(values));
  kernels::device::copy_memory_to_device(data, values.data(), values.size_bytes());
  return copy;
}

/// Begins to copy `count` elements to memory of the host, which is valid until the next call for `to`.
template <typename T>
const T* begin_copy_to_host(const T* from, std::int64_t count, HostArray<T>& to, const GpuStream& stream) {
  T* const data = to.allocate(count);
  kernels::device::begin_copy(data, from, static_cast<std::size_t>(count) * sizeof(T), stream);
  return data;
}

}  // namespace edgewise
