// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <mutex>
#include <optional>
#include <unordered_map>

#include "edgewise/graph/relation.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/sparse_attention.h"

// Relations in memory of a device, for kernels. derive_on() makes each of these objects once for a
// relation and a device.
namespace edgewise {

/// The values T(relation, device) of a relation, one for each device that was asked for.
template <class T>
class DeviceCache {
 public:
  explicit DeviceCache(const RelationView& relation) : relation_(relation) {}

  const T& on(c10::Device device) const {
    const std::scoped_lock lock(mutex_);
    return values_.try_emplace(device, relation_, device).first->second;
  }

 private:
  RelationView relation_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<c10::Device, T> values_;
};

/// Returns T(relation.view(), device), tensors that are derived from a relation. The first call for a relation and a
/// device stores the value with the relation, as Relation::derive() does. On a GPU, copies to the tensors begin in the
/// current stream of this first call; other streams must wait for it.
template <class T>
const T& derive_on(const Relation& relation, c10::Device device) {
  return relation.derive<DeviceCache<T>>().on(device);
}

/// The rows of a relation as intervals.
class DeviceIntervals {
 public:
  DeviceIntervals(const RelationView& relation, at::Device device);

  /// Returns pointers to memory of the device; nothing if the sources of some row are not consecutive.
  const std::optional<RelationView>& view() const { return view_; }

 private:
  at::Tensor row_begin_;
  at::Tensor intervals_;
  std::optional<RelationView> view_;
};

/// The rows of a relation in the CSR form. O(edges) memory, also for a relation in the interval form.
class DeviceRows {
 public:
  DeviceRows(const RelationView& relation, at::Device device);

  /// Returns pointers to memory of the device.
  const RelationView& view() const { return view_; }

 private:
  at::Tensor row_begin_;
  at::Tensor sources_;
  RelationView view_;
};

/// BitmapTiles in memory of a device.
class DeviceTiles {
 public:
  DeviceTiles() = default;
  DeviceTiles(const kernels::BitmapTiles& tiles, at::Device device);

  /// Returns pointers to memory of the device.
  kernels::BitmapTilesView view() const;

 private:
  at::Tensor blocks_;
  at::Tensor others_;
  at::Tensor rows_;
};

/// The tiles of a relation by destination. O(edges) memory.
class DeviceTilesByDestination {
 public:
  DeviceTilesByDestination(const RelationView& relation, at::Device device);

  /// Returns whether the kernels of bitmap_attention.h suit the relation, for float or BFloat16; then tiles() has the
  /// tiles.
  template <typename T>
  bool are_dense() const {
    return num_tiles_ && kernels::has_dense_tiles<T>(num_edges_, *num_tiles_);
  }

  const DeviceTiles& tiles() const { return tiles_; }

 private:
  std::int64_t num_edges_;
  std::optional<std::int64_t> num_tiles_;  // nothing if the sources of some row do not ascend
  DeviceTiles tiles_;
};

/// The tiles of a relation by source, for the backward pass. The sources of each row ascend. O(edges) memory.
struct DeviceTilesBySource : DeviceTiles {
  DeviceTilesBySource(const RelationView& relation, at::Device device)
      : DeviceTiles(kernels::tile_by_source(relation), device) {}
};

/// The edges of a relation by source. O(edges) memory.
class DeviceEdgesBySource {
 public:
  DeviceEdgesBySource(const RelationView& relation, at::Device device);

  /// Returns pointers to memory of the device.
  const kernels::EdgesBySourceView& view() const { return view_; }

 private:
  at::Tensor begin_;
  at::Tensor edge_;
  at::Tensor destination_;
  kernels::EdgesBySourceView view_;
};

}  // namespace edgewise
