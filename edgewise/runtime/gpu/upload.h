// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/runtime/gpu/array.h"

namespace edgewise {

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
