// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/bitmap_attention.h"

#include <algorithm>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {
namespace {

void check_order(const RelationView& relation, std::string_view function) {
  check(rows_ascend(relation), "{}: relation has a row whose sources do not ascend, needs rows that do", function);
}

std::int64_t round_up(std::int64_t count) {
  return (count + kNodesOfBitmapBlock - 1) / kNodesOfBitmapBlock * kNodesOfBitmapBlock;
}

void sort_by_size(std::vector<BitmapBlock>& blocks) {
  std::ranges::stable_sort(blocks, std::ranges::greater(), &BitmapBlock::num_others);
}

}  // namespace

BitmapTiles tile_by_destination(const RelationView& relation) {
  check_order(relation, "tile_by_destination");
  BitmapTiles tiles;
  std::vector<NodeIndex> sources;
  std::vector<std::int32_t> column_of(relation.num_sources);
  for (std::int64_t first = 0; first < relation.num_destinations; first += kNodesOfBitmapBlock) {
    const std::int64_t last = std::min<std::int64_t>(first + kNodesOfBitmapBlock, relation.num_destinations);
    auto for_edges = [&](auto fn) {
      for (std::int64_t row = first; row < last; ++row) {
        for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
          fn(row - first, edge, relation.source(row, edge));
        }
      }
    };
    sources.clear();
    for_edges([&](std::int64_t /*row*/, EdgeIndex /*edge*/, NodeIndex source) { sources.push_back(source); });
    sort_unique(sources);
    for (std::size_t i = 0; i < sources.size(); ++i) column_of[sources[i]] = static_cast<std::int32_t>(i);

    const std::int64_t begin = std::ssize(tiles.others);
    tiles.blocks.push_back({begin, static_cast<NodeIndex>(first), static_cast<NodeIndex>(sources.size())});
    tiles.others.insert(tiles.others.end(), sources.begin(), sources.end());
    tiles.others.resize(round_up(std::ssize(tiles.others)), kNoOther);
    tiles.rows.resize(tiles.others.size());
    for_edges([&](std::int64_t row, EdgeIndex edge, NodeIndex source) {
      const std::int32_t column = column_of[source];
      const std::int32_t bit = column % kNodesOfBitmapBlock;
      BitmapRow& of_tile = tiles.rows[begin + (column - bit) + row];
      if (of_tile.sources == 0) of_tile.first_edge = edge;
      of_tile.sources |= std::uint64_t{1} << bit;
    });
  }
  sort_by_size(tiles.blocks);
  return tiles;
}

BitmapTiles tile_by_source(const RelationView& relation) {
  check_order(relation, "tile_by_source");
  // Calls fn(block, row, bitmap) for each row and each block of sources from which the row has an edge, row by row.
  auto for_rows = [&](auto fn) {
    for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
      for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1];) {
        const NodeIndex block = relation.source(row, edge) / kNodesOfBitmapBlock;
        BitmapRow bitmap = {.first_edge = edge};
        for (; edge < relation.row_begin[row + 1]; ++edge) {
          const NodeIndex source = relation.source(row, edge);
          if (source / kNodesOfBitmapBlock != block) break;
          bitmap.sources |= std::uint64_t{1} << source % kNodesOfBitmapBlock;
        }
        fn(block, static_cast<NodeIndex>(row), bitmap);
      }
    }
  };
  BitmapTiles tiles;
  for (std::int64_t first = 0; first < relation.num_sources; first += kNodesOfBitmapBlock) {
    tiles.blocks.push_back({0, static_cast<NodeIndex>(first), 0});
  }
  for_rows([&](NodeIndex block, NodeIndex, const BitmapRow&) { ++tiles.blocks[block].num_others; });
  std::int64_t size = 0;
  for (BitmapBlock& block : tiles.blocks) {
    block.begin = size;
    size += round_up(block.num_others);
  }
  tiles.others.assign(size, kNoOther);
  tiles.rows.resize(size);
  std::vector<std::int64_t> next;
  for (const BitmapBlock& block : tiles.blocks) next.push_back(block.begin);
  for_rows([&](NodeIndex block, NodeIndex row, const BitmapRow& bitmap) {
    tiles.others[next[block]] = row;
    tiles.rows[next[block]++] = bitmap;
  });
  sort_by_size(tiles.blocks);
  return tiles;
}

}  // namespace edgewise::kernels
