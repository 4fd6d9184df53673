// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/gpu/array.h"

namespace edgewise {

/// The keys and values of a KV cache in memory of the GPU: [layers, 2, entries, width], keys before values. T is float
/// or BFloat16.
template <typename T>
class KeyValuePool {
 public:
  KeyValuePool(std::int64_t layers, std::int64_t width) : layers_(layers), width_(width) {}

  /// Makes room for `entries` entries and keeps the content. Growth takes a copy of the content, in `stream`.
  void reserve(std::int64_t entries, const GpuStream& stream) {
    if (entries <= capacity_) return;
    const std::int64_t capacity = std::max(entries, 2 * capacity_);
    GpuArray<T> grown;
    T* const to = grown.allocate(2 * layers_ * capacity * width_, stream);
    for (std::int64_t plane = 0; plane < 2 * layers_ && capacity_ > 0; ++plane) {
      device::begin_copy(to + plane * capacity * width_, memory_.data() + plane * capacity_ * width_,
                         static_cast<std::size_t>(capacity_ * width_) * sizeof(T), stream);
    }
    memory_ = std::move(grown);
    capacity_ = capacity;
  }

  /// Returns the address of an entry's key in the first layer, valid until the pool grows.
  T* entry(NodeIndex number) { return memory_.data() + number * width_; }

  // The distance from an entry's key in the first layer to its key, or its value, in a layer.
  std::int64_t key_offset(std::int64_t layer) const { return 2 * layer * capacity_ * width_; }
  std::int64_t value_offset(std::int64_t layer) const { return (2 * layer + 1) * capacity_ * width_; }

  const T* keys(std::int64_t layer) const { return memory_.data() + key_offset(layer); }
  const T* values(std::int64_t layer) const { return memory_.data() + value_offset(layer); }
  std::int64_t num_entries() const { return capacity_; }

 private:
  std::int64_t layers_;
  std::int64_t width_;
  std::int64_t capacity_ = 0;
  GpuArray<T> memory_;
};

}  // namespace edgewise
