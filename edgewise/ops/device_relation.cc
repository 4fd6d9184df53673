// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/device_relation.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/attention/tile_attention.h"
#include "edgewise/kernels/message/edge_rows.h"
#include "edgewise/ops/device_copies.h"

namespace edgewise {
namespace {

std::span<const EdgeIndex> row_begin_of(const RelationView& relation) {
  return {relation.row_begin, static_cast<std::size_t>(relation.num_destinations) + 1};
}

std::vector<NodeIndex> list_sources(const RelationView& relation) {
  if (relation.sources != nullptr) return {relation.sources, relation.sources + relation.num_edges()};
  std::vector<NodeIndex> sources(static_cast<std::size_t>(relation.num_edges()));
  for_each_edge(relation, [&](NodeIndex source, NodeIndex /*destination*/, EdgeIndex edge) {
    sources[static_cast<std::size_t>(edge)] = source;
  });
  return sources;
}

template <typename T>
at::Tensor copy_all(const std::vector<T>& values, at::Device device) {
  return index_tensor(std::span<const T>(values), device);
}

/// Returns the begin and end of each interval, [D, 2].
at::Tensor copy_intervals(const std::vector<Interval>& rows, at::Device device) {
  std::vector<NodeIndex> ends;
  ends.reserve(2 * rows.size());
  for (const Interval& row : rows) ends.insert(ends.end(), {row.begin, row.end});
  return copy_all(ends, device);
}

/// Returns the bytes of a vector of structs.
template <typename T>
at::Tensor copy_bytes(const std::vector<T>& values, at::Device device) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return index_tensor(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), device);
}

const Interval* as_intervals(const at::Tensor& ends) {
  static_assert(sizeof(Interval) == 2 * sizeof(NodeIndex));
  return reinterpret_cast<const Interval*>(ends.const_data_ptr<NodeIndex>());
}

}  // namespace

DeviceIntervals::DeviceIntervals(const RelationView& relation, at::Device device) {
  const std::optional<std::vector<Interval>> rows = rows_as_intervals(relation);
  if (!rows) return;
  row_begin_ = index_tensor(row_begin_of(relation), device);
  intervals_ = copy_intervals(*rows, device);
  view_ = {.num_sources = relation.num_sources,
           .num_destinations = relation.num_destinations,
           .row_begin = row_begin_.const_data_ptr<EdgeIndex>(),
           .intervals = as_intervals(intervals_)};
}

DeviceRows::DeviceRows(const RelationView& relation, at::Device device)
    : row_begin_(index_tensor(row_begin_of(relation), device)),
      sources_(copy_all(list_sources(relation), device)),
      view_{.num_sources = relation.num_sources,
            .num_destinations = relation.num_destinations,
            .row_begin = row_begin_.const_data_ptr<EdgeIndex>(),
            .sources = sources_.const_data_ptr<NodeIndex>()} {}

DeviceTiles::DeviceTiles(const kernels::BitmapTiles& tiles, at::Device device)
    : blocks_(copy_bytes(tiles.blocks, device)),
      others_(copy_all(tiles.others, device)),
      rows_(copy_bytes(tiles.rows, device)) {}

kernels::BitmapTilesView DeviceTiles::view() const {
  return {.blocks = static_cast<const kernels::BitmapBlock*>(blocks_.const_data_ptr()),
          .others = others_.const_data_ptr<NodeIndex>(),
          .rows = static_cast<const kernels::BitmapRow*>(rows_.const_data_ptr())};
}

DeviceTilesByDestination::DeviceTilesByDestination(const RelationView& relation, at::Device device)
    : num_edges_(relation.num_edges()) {
  if (!kernels::rows_ascend(relation)) return;
  const kernels::BitmapTiles tiles = kernels::tile_by_destination(relation);
  num_tiles_ = tiles.num_tiles();
  if (are_dense<float>() || are_dense<BFloat16>()) tiles_ = DeviceTiles(tiles, device);
}

DeviceEdgesBySource::DeviceEdgesBySource(const RelationView& relation, at::Device device) {
  const kernels::EdgesBySource edges = kernels::group_by_source(relation);
  begin_ = copy_all(edges.begin, device);
  edge_ = copy_all(edges.edge, device);
  destination_ = copy_all(edges.destination, device);
  view_ = {begin_.const_data_ptr<EdgeIndex>(), edge_.const_data_ptr<EdgeIndex>(),
           destination_.const_data_ptr<NodeIndex>()};
}

}  // namespace edgewise
