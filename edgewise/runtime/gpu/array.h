// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/device/memory.h"

// Arrays that grow and are reused from step to step, and copies to and from them. Nothing here waits for more than one
// stream.
namespace edgewise {

/// A stream of the GPU, and the memory that belongs to its kernels and copies.
class GpuStream {
 public:
  GpuStream() : stream_(device::create_stream()) {}
  /// Waits for the end of all kernels and copies.
  ~GpuStream() {
    try {
      device::wait_for(stream_);
    } catch (const std::exception&) {
      // Whoever waited for the results has received the error.
    }
    device::destroy_stream(stream_);
  }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  operator device::Stream() const { return stream_; }

  /// Returns how often arrays of this stream have allocated memory. While the number stays, no address changes.
  std::int64_t num_allocations() const { return num_allocations_; }
  void count_allocation() const { ++num_allocations_; }

 private:
  device::Stream stream_;
  mutable std::int64_t num_allocations_ = 0;
};

/// Memory of the GPU for the kernels and copies of a stream, which outlives the array.
template <typename T>
class GpuArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Returns memory for `count` elements. It is valid until a call with a larger count, which discards the content.
  /// Throws std::exception if there is no memory; the array is then empty.
  T* allocate(std::int64_t count, const GpuStream& stream) {
    if (count > capacity_) {
      const std::int64_t capacity = std::max(count, capacity_ + capacity_ / 2);
      capacity_ = 0;
      data_.reset();
      data_ = Memory(device::allocate_memory(static_cast<std::size_t>(capacity) * sizeof(T), stream), Free{stream});
      capacity_ = capacity;
      stream.count_allocation();
    }
    return data();
  }

  T* data() { return static_cast<T*>(data_.get()); }
  const T* data() const { return static_cast<const T*>(data_.get()); }

 private:
  struct Free {
    device::Stream stream;
    void operator()(void* memory) const { device::free_memory(memory, stream); }
  };
  using Memory = std::unique_ptr<void, Free>;

  std::int64_t capacity_ = 0;
  Memory data_;
};

/// Memory of the host, for copies from and to the GPU. Memory that is too small is kept until the array ends, because
/// to free it would wait for the whole GPU; all of it together is at most twice the last one.
template <typename T>
class HostArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// As GpuArray::allocate().
  T* allocate(std::int64_t count, const GpuStream& stream) {
    if (count > capacity_) {
      const std::int64_t capacity = std::max(count, 2 * capacity_);
      memory_.emplace_back(device::allocate_host_memory(static_cast<std::size_t>(capacity) * sizeof(T)));
      capacity_ = capacity;
      stream.count_allocation();
    }
    return data();
  }

  T* data() { return memory_.empty() ? nullptr : static_cast<T*>(memory_.back().get()); }
  const T* data() const { return memory_.empty() ? nullptr : static_cast<const T*>(memory_.back().get()); }

 private:
  struct Free {
    void operator()(void* memory) const { device::free_host_memory(memory); }
  };

  std::int64_t capacity_ = 0;
  std::vector<std::unique_ptr<void, Free>> memory_;
};

/// Copies arrays of the host to the GPU, in parts, through memory that the GPU can read while kernels run.
class StagedCopy {
 public:
  /// Begins to copy `values` to `to`, whose content is discarded. Waits for the copies before.
  template <typename T>
  void begin(std::span<const T> values, GpuArray<T>& to, const GpuStream& stream) {
    T* const data = to.allocate(std::ssize(values), stream);
    const std::span<const std::byte> bytes = std::as_bytes(values);
    for (std::size_t first = 0; first < bytes.size(); first += kPartBytes) {
      const auto part = bytes.subspan(first, std::min(kPartBytes, bytes.size() - first));
      device::wait_for(stream);
      std::byte* const staging = staging_.allocate(std::ssize(part), stream);
      std::ranges::copy(part, staging);
      device::begin_copy(reinterpret_cast<std::byte*>(data) + first, staging, part.size(), stream);
    }
  }

 private:
  static constexpr std::size_t kPartBytes = 4 << 20;

  HostArray<std::byte> staging_;
};

/// Begins to copy `count` elements to memory of the host, which is valid until the next call for `to`.
template <typename T>
const T* begin_copy_to_host(const T* from, std::int64_t count, HostArray<T>& to, const GpuStream& stream) {
  T* const data = to.allocate(count, stream);
  device::begin_copy(data, from, static_cast<std::size_t>(count) * sizeof(T), stream);
  return data;
}

/// An array of an Upload.
template <typename T>
struct UploadedArray {
  std::int64_t offset;  // in bytes
};

/// Copies the arrays of a step to the GPU, in one copy. Each array takes a power of two of bytes, so that the arrays of
/// steps of similar sizes have the same addresses.
///
///     upload.begin();
///     const auto tokens = upload.add<std::int64_t>(request_tokens);
///     upload.send(stream);
///     kernel(upload.at(tokens));
class Upload {
 public:
  /// Removes all arrays.
  void begin() {
    bytes_.clear();
    offsets_.clear();
  }

  template <typename T>
  UploadedArray<std::remove_const_t<T>> add(std::span<T> values) {
    static_assert(alignof(T) <= kAlignment);
    const UploadedArray<std::remove_const_t<T>> array = {std::ssize(bytes_)};
    offsets_.push_back(array.offset);
    bytes_.resize(bytes_.size() + std::bit_ceil(std::max(values.size_bytes(), kAlignment)));
    if (!values.empty()) std::memcpy(bytes_.data() + array.offset, values.data(), values.size_bytes());
    return array;
  }

  /// Returns where the arrays begin, in bytes.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

  /// Begins to copy all arrays. Waits for the last copy.
  void send(const GpuStream& stream) {
    device::wait_for(stream);
    std::byte* const staging = staging_.allocate(std::ssize(bytes_), stream);
    std::ranges::copy(bytes_, staging);
    device::begin_copy(on_gpu_.allocate(std::ssize(bytes_), stream), staging, bytes_.size(), stream);
  }

  /// Returns an array in memory of the GPU, which is valid until the next send().
  template <typename T>
  T* at(const UploadedArray<T>& array) {
    return reinterpret_cast<T*>(on_gpu_.data() + array.offset);
  }

 private:
  static constexpr std::size_t kAlignment = 16;

  std::vector<std::byte> bytes_;
  std::vector<std::int64_t> offsets_;
  HostArray<std::byte> staging_;
  GpuArray<std::byte> on_gpu_;
};

}  // namespace edgewise
