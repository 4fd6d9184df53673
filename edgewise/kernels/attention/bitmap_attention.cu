// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/tiled_backward_cuda.h"

// The tiles and edges of BitmapTiles. A tile is nodes from a list, and a bitmap for each row.
namespace edgewise::kernels {
namespace gpu {

/// The first `count` bits, at most 63.
EDGEWISE_DEVICE std::uint64_t first_bits(int count) { return (std::uint64_t{1} << count) - 1; }

template <int kCount>
EDGEWISE_DEVICE std::uint64_t all_bits() {
  return ~std::uint64_t{0} >> (64 - kCount);
}

/// The edges of a row in a tile: bit i of `columns` is an edge from column i.
struct RowBitmap {
  std::uint64_t columns = 0;
  EdgeIndex first_edge = 0;

  EDGEWISE_DEVICE bool has(int column) const { return (columns >> column & 1) != 0; }
  EDGEWISE_DEVICE EdgeIndex edge(int column) const { return first_edge + count_bits(columns & first_bits(column)); }
  EDGEWISE_DEVICE RowBitmap shifted(int count) const { return {columns >> count, edge(count)}; }

  /// Returns the row without the columns from kColumns on.
  template <int kColumns>
  EDGEWISE_DEVICE RowBitmap first() const {
    return kColumns < 64 ? RowBitmap{columns & first_bits(kColumns % 64), first_edge} : *this;
  }

  template <int kColumns>
  EDGEWISE_DEVICE EdgeRange edges() const {
    return {first_edge, first_edge + count_bits(first<kColumns>().columns)};
  }

  /// Each of the kLanes lanes finds some of the columns. A collective of the warp.
  template <int kColumns, int kLanes>
  EDGEWISE_DEVICE std::uint64_t to_columns(std::uint64_t bits) const {
    constexpr int kColumnsOfLane = kColumns / kLanes;
    static_assert(kColumnsOfLane <= 32);
    const int first_column = lane_index() % kLanes * kColumnsOfLane;
    const RowBitmap own = shifted(first_column);
    auto remaining = static_cast<std::uint32_t>(bits >> (own.first_edge - first_edge));
    std::uint32_t found = 0;
    EDGEWISE_UNROLL
    for (int i = 0; i < kColumnsOfLane; ++i) {
      const auto edge = static_cast<std::uint32_t>(own.columns >> i) & 1;
      found |= (remaining & edge) << i;
      remaining >>= edge;
    }
    return join_bits<kColumns, kLanes>(std::uint64_t{found} << first_column);
  }
};

/// The nodes of a list. Nodes with negative numbers do not exist.
struct ListedNodes {
  const NodeIndex* nodes;

  EDGEWISE_DEVICE int operator()(int i) const { return nodes[i]; }
};

template <class Layout, int kColumns>
class BitmapRowTiles;
template <class Layout>
class BitmapSourceTiles;

struct BitmapEdges {
  static constexpr bool kIsBitmap = true;
  template <class Layout, int kColumns>
  using RowTiles = BitmapRowTiles<Layout, kColumns>;
  template <class Layout>
  using SourceTiles = BitmapSourceTiles<Layout>;
  static_assert(kNodesOfBitmapBlock == kNodesOfBlock);

  BitmapTilesView by_destination;
  BitmapTilesView by_source;

  EDGEWISE_DEVICE void prepare_row_tile(int /*tile*/) const {}
};

/// The tiles of kColumns sources of a block of rows. The list of a tile's sources is copied while the tile before
/// begins, so that it is in shared memory when the tile begins.
template <class Layout, int kColumns>
class BitmapRowTiles {
 public:
  using Tile = int;
  using Row = RowBitmap;
  struct Shared {
    BitmapRow rows[2][kNodesOfBlock];
    alignas(16) NodeIndex sources[2][kColumns];
  };

  /// A collective of the block.
  EDGEWISE_DEVICE BitmapRowTiles(const BitmapEdges& edges, int block, Shared& shared)
      : edges_(edges.by_destination), block_(edges_.blocks[block]), shared_(shared) {
    if (!has(first())) return;
    begin_copy_of_sources(first());
    commit_copies();
    wait_for_copies<0>();
    synchronize_block();
  }

  EDGEWISE_DEVICE int first_node() const { return block_.first_node; }
  EDGEWISE_DEVICE Tile first() const { return 0; }
  EDGEWISE_DEVICE bool has(Tile tile) const { return tile < num_blocks_for(block_.num_others, kColumns); }
  EDGEWISE_DEVICE Tile next(Tile tile) const { return tile + 1; }
  EDGEWISE_DEVICE ListedNodes nodes(int tile) const { return {shared_.sources[tile % 2]}; }

  EDGEWISE_DEVICE void begin_copy(int tile) const {
    const int i = thread_index();
    if (part(tile) == 0 && i < kNodesOfBlock) {
      copy_async<16>(&row(tile, i), edges_.rows + block_.begin + std::int64_t{tile} * kColumns + i);
    }
    if (has(next(tile))) begin_copy_of_sources(next(tile));
  }

  EDGEWISE_DEVICE TileFill find_rows(int tile, Row (&rows)[Layout::kNodesOfLane]) const {
    bool has_any = false;
    bool has_all = true;
    EDGEWISE_UNROLL
    for (int r = 0; r < Layout::kNodesOfLane; ++r) {
      const BitmapRow& all = row(tile, Layout::node(r));
      rows[r] = RowBitmap{all.sources, all.first_edge}.shifted(part(tile) * kColumns).template first<kColumns>();
      has_any = has_any || rows[r].columns != 0;
      has_all = has_all && rows[r].columns == all_bits<kColumns>();
    }
    if (ballot(has_any) == 0) return TileFill::kNone;
    return ballot(has_all) == kAllLanes ? TileFill::kAll : TileFill::kSome;
  }

 private:
  // The tiles of BitmapTiles have kTilesOfBitmap parts.
  static constexpr int kTilesOfBitmap = 64 / kColumns;
  EDGEWISE_DEVICE static int part(int tile) { return tile % kTilesOfBitmap; }
  EDGEWISE_DEVICE BitmapRow& row(int tile, int i) const { return shared_.rows[tile / kTilesOfBitmap % 2][i]; }

  EDGEWISE_DEVICE void begin_copy_of_sources(int tile) const {
    constexpr int kChunk = 16 / sizeof(NodeIndex);
    const int i = thread_index() * kChunk;
    if (i >= kColumns) return;
    copy_async<16>(&shared_.sources[tile % 2][i], edges_.others + block_.begin + std::int64_t{tile} * kColumns + i);
  }

  const BitmapTilesView& edges_;
  const BitmapBlock block_;
  Shared& shared_;
};

/// The tiles of kRowsOfTile rows of a block of sources.
template <class Layout>
class BitmapSourceTiles {
 public:
  using Row = RowBitmap;
  struct Shared {
    BitmapRow rows[2][kRowsOfTile];
    RowRecord records[2][kRowsOfTile];
    NodeIndex numbers[2][kRowsOfTile];
  };

  /// A collective of the block.
  EDGEWISE_DEVICE BitmapSourceTiles(const BitmapEdges& edges, int block, Shared& shared)
      : edges_(edges.by_source), block_(edges_.blocks[block]), shared_(shared) {
    if (end() == 0) return;
    begin_copy_of_numbers(0, 0);
    commit_copies();
    wait_for_copies<0>();
    synchronize_block();
  }

  EDGEWISE_DEVICE int first_node() const { return block_.first_node; }
  EDGEWISE_DEVICE int begin() const { return 0; }
  EDGEWISE_DEVICE int end() const { return num_blocks_for(block_.num_others, kRowsOfTile); }
  EDGEWISE_DEVICE int next(int tile) const { return tile + 1; }
  EDGEWISE_DEVICE ListedNodes nodes(int /*tile*/, int stage) const { return {shared_.numbers[stage]}; }

  template <typename T>
  EDGEWISE_DEVICE void begin_copy(const GradientArguments<T>& p, int tile, int stage) const {
    const int i = thread_index();
    if (i < kRowsOfTile) {
      const int number = shared_.numbers[stage][i];
      const bool is_valid = number >= 0;
      copy_async<16>(&shared_.rows[stage][i], edges_.rows + block_.begin + std::int64_t{tile} * kRowsOfTile + i);
      copy_async<8>(&shared_.records[stage][i], p.records_of_head() + (is_valid ? number : 0), is_valid);
    }
    if (next(tile) < end()) begin_copy_of_numbers(next(tile), 1 - stage);
  }

  EDGEWISE_DEVICE Row row(int stage, int i) const {
    const BitmapRow& all = shared_.rows[stage][i];
    return RowBitmap{all.sources, all.first_edge}.shifted(first_bit());
  }

  EDGEWISE_DEVICE RowRecord record(int stage, int i) const { return shared_.records[stage][i]; }

  EDGEWISE_DEVICE TileFill fill(int stage) const {
    const std::uint64_t own = row(stage, lane_index()).template first<Layout::kNodesOfWarp>().columns;
    if (ballot(own != 0) == 0) return TileFill::kNone;
    return ballot(own == all_bits<Layout::kNodesOfWarp>()) == kAllLanes ? TileFill::kAll : TileFill::kSome;
  }

 private:
  // The bit of the warp's first source.
  EDGEWISE_DEVICE static int first_bit() { return warp_index() * Layout::kNodesOfWarp; }

  EDGEWISE_DEVICE void begin_copy_of_numbers(int tile, int stage) const {
    const int i = thread_index();
    if (i >= kRowsOfTile) return;
    copy_async<4>(&shared_.numbers[stage][i], edges_.others + block_.begin + std::int64_t{tile} * kRowsOfTile + i);
  }

  const BitmapTilesView& edges_;
  const BitmapBlock block_;
  Shared& shared_;
};

}  // namespace gpu

template <typename T>
bool can_attend_bitmaps(std::int64_t head_size, std::int64_t value_size) {
  return head_size == value_size && gpu::can_start_tiled_kernels<T, gpu::BitmapEdges>(head_size);
}

template bool can_attend_bitmaps<float>(std::int64_t, std::int64_t);
template bool can_attend_bitmaps<BFloat16>(std::int64_t, std::int64_t);

template <typename T>
void bitmap_attention_forward(const AttentionForward<T>& p, const BitmapRelationView& relation, device::Stream stream) {
  const gpu::AttentionArguments<T> arguments(p, relation.num_destinations, relation.num_sources);
  gpu::launch_tiled_forward(arguments, gpu::BitmapEdges{relation.by_destination, relation.by_source}, p.head_size,
                            static_cast<int>(p.heads().size()), stream);
}

template void bitmap_attention_forward(const AttentionForward<float>&, const BitmapRelationView&, device::Stream);
template void bitmap_attention_forward(const AttentionForward<BFloat16>&, const BitmapRelationView&, device::Stream);

template <typename T>
void bitmap_attention_backward(const AttentionBackward<T>& p, const BitmapRelationView& relation, void* workspace,
                               device::Stream stream) {
  static_assert(bitmap_backward_workspace(1, 1) == sizeof(gpu::RowRecord));
  const gpu::GradientArguments<T> arguments(p, relation.num_destinations, relation.num_sources,
                                            static_cast<gpu::RowRecord*>(workspace));
  gpu::launch_tiled_backward(arguments, gpu::BitmapEdges{relation.by_destination, relation.by_source},
                             p.forward.head_size, static_cast<int>(p.forward.heads().size()), stream);
}

template void bitmap_attention_backward(const AttentionBackward<float>&, const BitmapRelationView&, void*,
                                        device::Stream);
template void bitmap_attention_backward(const AttentionBackward<BFloat16>&, const BitmapRelationView&, void*,
                                        device::Stream);

}  // namespace edgewise::kernels
