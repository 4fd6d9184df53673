// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace edgewise::kernels {

/// Memory for intermediate results that starts at a cache line and is kept from use to use. It grows, and what it held
/// is lost then.
class AlignedBytes {
 public:
  /// At least `size` bytes.
  void* of_size(std::size_t size) {
    if (size > size_) {
      bytes_.reset();
      bytes_.reset(new (kAlignment) std::byte[size]);
      size_ = size;
    }
    return bytes_.get();
  }
  template <typename T>
  T* elements(std::int64_t count) {
    return static_cast<T*>(of_size(static_cast<std::size_t>(count) * sizeof(T)));
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

}  // namespace edgewise::kernels
