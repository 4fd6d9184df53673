// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/tiled_backward_cuda.h"

// The tiles and edges of relations in the interval form. A tile is consecutive sources, or consecutive rows.
namespace edgewise::kernels {
namespace gpu {

/// The edges of a row in a tile: an interval of columns. A row that does not exist is empty.
struct RowInterval {
  int begin = 0;
  int end = 0;
  EdgeIndex first_edge = 0;

  EDGEWISE_DEVICE bool has(int column) const { return column >= begin && column < end; }
  EDGEWISE_DEVICE EdgeIndex edge(int column) const { return first_edge + (column - begin); }
  EDGEWISE_DEVICE RowInterval shifted(int count) const { return {begin - count, end - count, first_edge}; }

  template <int kColumns>
  EDGEWISE_DEVICE EdgeRange edges() const {
    const int first = Maximum()(begin, 0);
    const int last = Minimum()(end, kColumns);
    return {edge(first), edge(Maximum()(first, last))};
  }

  template <int kColumns, int /*kLanes*/>
  EDGEWISE_DEVICE std::uint64_t to_columns(std::uint64_t bits) const {
    return bits << Minimum()(Maximum()(begin, 0), 63);  // if begin exceeds 63, bits is 0
  }
};

/// The keys that a group of rows attends to lie in [begin, end).
struct KeyRange {
  int begin;
  int end;

  EDGEWISE_DEVICE bool is_empty() const { return begin >= end; }
  EDGEWISE_DEVICE bool overlaps(int first, int count) const { return first < end && first + count > begin; }
};

/// Returns the smallest range with the keys of all rows, each with the keys of `row`. A collective of the warp.
EDGEWISE_DEVICE KeyRange keys_of_warp(KeyRange row) {
  const int begin = row.is_empty() ? std::numeric_limits<int>::max() : row.begin;
  const int end = row.is_empty() ? 0 : row.end;
  return {reduce_lanes(begin, Minimum()), reduce_lanes(end, Maximum())};
}

EDGEWISE_DEVICE KeyRange join(KeyRange a, KeyRange b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return {Minimum()(a.begin, b.begin), Maximum()(a.end, b.end)};
}

EDGEWISE_DEVICE KeyRange intersect(KeyRange a, KeyRange b) {
  return {Maximum()(a.begin, b.begin), Minimum()(a.end, b.end)};
}

template <class Layout, int kColumns>
class IntervalRowTiles;
template <class Layout>
class IntervalSourceTiles;

struct IntervalEdges {
  static constexpr bool kIsBitmap = false;
  template <class Layout, int kColumns>
  using RowTiles = IntervalRowTiles<Layout, kColumns>;
  template <class Layout>
  using SourceTiles = IntervalSourceTiles<Layout>;

  const Interval* intervals;
  const EdgeIndex* row_begin;
  int num_destinations;
  int num_sources;
  KeyRange* tile_keys;  // workspace of backward: the keys of each kRowsOfTile rows

  IntervalEdges(const RelationView& relation, KeyRange* keys_of_tiles)
      : intervals(relation.intervals),
        row_begin(relation.row_begin),
        num_destinations(static_cast<int>(relation.num_destinations)),
        num_sources(static_cast<int>(relation.num_sources)),
        tile_keys(keys_of_tiles) {}

  /// Returns the row with sources as columns.
  EDGEWISE_DEVICE RowInterval row(int number) const {
    if (number >= num_destinations) return {};
    return {intervals[number].begin, intervals[number].end, row_begin[number]};
  }

  constexpr int num_row_tiles() const { return num_blocks_for(num_destinations, kRowsOfTile); }

  /// Writes what blocks of sources read about a tile of rows. A collective of the warp.
  EDGEWISE_DEVICE void prepare_row_tile(int tile) const {
    const RowInterval of_lane = row(tile * kRowsOfTile + lane_index());
    const KeyRange keys = keys_of_warp({of_lane.begin, of_lane.end});
    if (lane_index() == 0) tile_keys[tile] = keys;
  }
};

/// The keys of a block of rows, as ranges: `ranges` are in ascending order, disjoint, and not empty. A row's keys are
/// in one of them. The rows of each sentence of a batch have a range of their own if they attend only to their
/// sentence, so that the range begins with the sentence, whatever sentences share the block.
struct KeyRanges {
  KeyRange ranges[kNodesOfBlock];
  int count;
};

/// Finds the ranges of a block. A new one begins with a row after whose first key lie all keys of the rows from there
/// on, and no key of a row before. A collective of the warp, whose lane i has rows 2 i and 2 i + 1.
EDGEWISE_DEVICE void find_key_ranges(const IntervalEdges& edges, int first_node, KeyRanges& out) {
  static_assert(kNodesOfBlock == 2 * kWarpSize);
  constexpr int kNone = std::numeric_limits<int>::max();
  const int lane = lane_index();
  KeyRange keys[2];
  for (int i = 0; i < 2; ++i) {
    const RowInterval row = edges.row(first_node + 2 * lane + i);
    keys[i] = row.begin < row.end ? KeyRange{row.begin, row.end} : KeyRange{kNone, 0};
  }
  int end = Maximum()(keys[0].end, keys[1].end);        // the last one of all rows up to this lane's
  int begin = Minimum()(keys[0].begin, keys[1].begin);  // the first one of all rows from this lane's on
  EDGEWISE_UNROLL
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    const int before = shuffle(end, Maximum()(lane - distance, 0));
    const int after = shuffle(begin, Minimum()(lane + distance, kWarpSize - 1));
    end = Maximum()(end, before);
    begin = Minimum()(begin, after);
  }
  const int end_before = shuffle(end, Maximum()(lane - 1, 0));
  const int begin_after = shuffle(begin, Minimum()(lane + 1, kWarpSize - 1));
  const int ends_before[2] = {lane > 0 ? end_before : 0, Maximum()(lane > 0 ? end_before : 0, keys[0].end)};
  const int begins[2] = {begin, Minimum()(keys[1].begin, lane + 1 < kWarpSize ? begin_after : kNone)};
  const bool is_first[2] = {keys[0].end > 0 && ends_before[0] <= begins[0],
                            keys[1].end > 0 && ends_before[1] <= begins[1]};
  const LaneMask firsts[2] = {ballot(is_first[0]), ballot(is_first[1])};
  const LaneMask lanes_before = (LaneMask{1} << lane) - 1;
  int number = count_bits(firsts[0] & lanes_before) + count_bits(firsts[1] & lanes_before);
  for (int i = 0; i < 2; ++i) {
    if (!is_first[i]) continue;
    out.ranges[number].begin = begins[i];
    if (number > 0) out.ranges[number - 1].end = ends_before[i];
    ++number;
  }
  if (lane < kWarpSize - 1) return;
  out.count = number;
  if (number > 0) out.ranges[number - 1].end = end;
}

/// A tile of sources: those from `column` on of a range of KeyRanges.
struct IntervalTile {
  int range;
  int column;
};

/// The tiles of kColumns sources of a block of rows. Each of the block's KeyRanges begins a tile.
template <class Layout, int kColumns>
class IntervalRowTiles {
 public:
  using Tile = IntervalTile;
  using Row = RowInterval;
  using Shared = KeyRanges;

  /// A collective of the block.
  EDGEWISE_DEVICE IntervalRowTiles(const IntervalEdges& edges, int block, Shared& shared)
      : shared_(shared), first_node_(block * kNodesOfBlock) {
    if (warp_index() == 0) find_key_ranges(edges, first_node_, shared);
    KeyRange any = {0, 0};
    KeyRange all = {0, std::numeric_limits<int>::max()};
    EDGEWISE_UNROLL
    for (int r = 0; r < Layout::kNodesOfLane; ++r) {
      rows_[r] = edges.row(first_node_ + Layout::node(r));
      any = join(any, {rows_[r].begin, rows_[r].end});
      all = intersect(all, {rows_[r].begin, rows_[r].end});
    }
    any_of_warp_ = keys_of_warp(any);
    all_of_warp_ = {reduce_lanes(all.begin, Maximum()), reduce_lanes(all.end, Minimum())};
    synchronize_block();
  }

  EDGEWISE_DEVICE int first_node() const { return first_node_; }

  EDGEWISE_DEVICE Tile first() const { return first_of_range(0); }
  EDGEWISE_DEVICE bool has(const Tile& tile) const { return tile.range < shared_.count; }
  EDGEWISE_DEVICE Tile next(const Tile& tile) const {
    if (tile.column + kColumns < end_of_range(tile)) return {tile.range, tile.column + kColumns};
    return first_of_range(tile.range + 1);
  }

  /// Returns the sources of a tile, for copy_nodes().
  EDGEWISE_DEVICE ConsecutiveNodes nodes(const Tile& tile) const { return {tile.column, end_of_range(tile)}; }

  /// Begins to copy what find_rows() reads about a tile, and nodes() about the next one. All threads call this
  /// function.
  EDGEWISE_DEVICE void begin_copy(const Tile& /*tile*/) const {}

  /// Sets `rows` to the edges in a tile of the lane's rows. Returns how many pairs of the warp's rows and the tile's
  /// sources have an edge. A collective of the warp.
  EDGEWISE_DEVICE TileFill find_rows(const Tile& tile, Row (&rows)[Layout::kNodesOfLane]) const {
    const int end = end_of_range(tile);
    EDGEWISE_UNROLL
    for (int r = 0; r < Layout::kNodesOfLane; ++r) {
      rows[r] = rows_[r].begin < end ? rows_[r].shifted(tile.column) : RowInterval{};
    }
    if (!any_of_warp_.overlaps(tile.column, Minimum()(kColumns, end - tile.column))) return TileFill::kNone;
    const bool has_all = all_of_warp_.begin <= tile.column && all_of_warp_.end >= tile.column + kColumns;
    return has_all ? TileFill::kAll : TileFill::kSome;
  }

 private:
  EDGEWISE_DEVICE int end_of_range(const Tile& tile) const { return shared_.ranges[tile.range].end; }
  EDGEWISE_DEVICE Tile first_of_range(int range) const {
    return {range, range < shared_.count ? shared_.ranges[range].begin : 0};
  }

  const Shared& shared_;
  int first_node_;
  RowInterval rows_[Layout::kNodesOfLane];
  KeyRange any_of_warp_;  // from the first to the last key of the warp's rows
  KeyRange all_of_warp_;  // the keys of each of these rows
};

/// The tiles of kRowsOfTile rows of a block of sources. Two stages of copies are in shared memory. Lane i has row i of
/// a tile.
template <class Layout>
class IntervalSourceTiles {
 public:
  using Row = RowInterval;
  struct Shared {
    alignas(8) Interval intervals[2][kRowsOfTile];
    EdgeIndex first_edge[2][kRowsOfTile];
    RowRecord records[2][kRowsOfTile];
    int partial[Layout::kWarps];
  };

  /// A collective of the block.
  EDGEWISE_DEVICE IntervalSourceTiles(const IntervalEdges& edges, int block, Shared& shared)
      : edges_(edges), shared_(shared), first_node_(block * kNodesOfBlock) {
    int first = edges_.num_row_tiles();
    int last = 0;
    for (int tile = thread_index(); tile < edges_.num_row_tiles(); tile += Layout::kThreads) {
      if (!may_have_edges(tile)) continue;
      first = Minimum()(first, tile);
      last = tile + 1;
    }
    begin_ = reduce_block<Layout::kThreads>(first, Minimum(), shared_.partial);
    end_ = reduce_block<Layout::kThreads>(last, Maximum(), shared_.partial);
  }

  EDGEWISE_DEVICE int first_node() const { return first_node_; }
  EDGEWISE_DEVICE int begin() const { return begin_; }
  EDGEWISE_DEVICE int end() const { return end_; }

  /// Returns the tile after `tile`, or else end().
  EDGEWISE_DEVICE int next(int tile) const {
    do {
      ++tile;
    } while (tile < end_ && !may_have_edges(tile));
    return tile;
  }

  /// Returns the rows of a tile, for copy_nodes().
  EDGEWISE_DEVICE ConsecutiveNodes nodes(int tile, int /*stage*/) const {
    return {tile * kRowsOfTile, edges_.num_destinations};
  }

  /// Begins to copy what the functions below read about a tile. All threads call this function.
  template <typename T>
  EDGEWISE_DEVICE void begin_copy(const GradientArguments<T>& p, int tile, int stage) const {
    const int i = thread_index();
    if (i >= kRowsOfTile) return;
    const int row = tile * kRowsOfTile + i;
    const bool is_valid = row < edges_.num_destinations;
    const int valid_row = is_valid ? row : 0;
    copy_async<8>(&shared_.intervals[stage][i], edges_.intervals + valid_row, is_valid);
    copy_async<8>(&shared_.first_edge[stage][i], edges_.row_begin + valid_row, is_valid);
    copy_async<8>(&shared_.records[stage][i], p.records_of_head() + valid_row, is_valid);
  }

  /// Returns the edges of a row of the tile. Column 0 is the first source of the warp.
  EDGEWISE_DEVICE Row row(int stage, int i) const {
    const Interval& interval = shared_.intervals[stage][i];
    return Row{interval.begin, interval.end, shared_.first_edge[stage][i]}.shifted(first_source());
  }

  EDGEWISE_DEVICE RowRecord record(int stage, int i) const { return shared_.records[stage][i]; }

  /// Returns how many pairs of the tile's rows and the warp's sources have an edge. A collective of the warp.
  EDGEWISE_DEVICE TileFill fill(int stage) const {
    const Interval own = shared_.intervals[stage][lane_index()];
    const bool has_any =
        own.begin < own.end && KeyRange{own.begin, own.end}.overlaps(first_source(), Layout::kNodesOfWarp);
    if (ballot(has_any) == 0) return TileFill::kNone;
    const bool has_all = own.begin <= first_source() && own.end >= first_source() + Layout::kNodesOfWarp;
    return ballot(has_all) == kAllLanes ? TileFill::kAll : TileFill::kSome;
  }

 private:
  EDGEWISE_DEVICE int first_source() const { return first_node_ + warp_index() * Layout::kNodesOfWarp; }
  EDGEWISE_DEVICE bool may_have_edges(int tile) const {
    return edges_.tile_keys[tile].overlaps(first_node_, kNodesOfBlock);
  }

  const IntervalEdges& edges_;
  Shared& shared_;
  int first_node_;
  int begin_;
  int end_;
};

}  // namespace gpu

template <typename T>
bool can_attend_intervals(std::int64_t head_size, std::int64_t value_size) {
  return head_size == value_size && gpu::can_start_tiled_kernels<T, gpu::IntervalEdges>(head_size);
}

template bool can_attend_intervals<float>(std::int64_t, std::int64_t);
template bool can_attend_intervals<BFloat16>(std::int64_t, std::int64_t);

template <typename T>
void interval_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream) {
  const gpu::AttentionArguments<T> arguments(p, relation.num_destinations, relation.num_sources);
  gpu::launch_tiled_forward(arguments, gpu::IntervalEdges(relation, nullptr), p.head_size,
                            static_cast<int>(p.heads().size()), stream);
}

template void interval_attention_forward(const AttentionForward<float>&, const RelationView&, device::Stream);
template void interval_attention_forward(const AttentionForward<BFloat16>&, const RelationView&, device::Stream);

std::int64_t interval_backward_workspace(const RelationView& relation, std::int64_t num_heads) {
  constexpr std::int64_t kRecordBytes = sizeof(gpu::RowRecord);
  constexpr std::int64_t kTileBytes = sizeof(gpu::KeyRange);
  const std::int64_t num_tiles = gpu::IntervalEdges(relation, nullptr).num_row_tiles();
  return num_heads * relation.num_destinations * kRecordBytes + num_tiles * kTileBytes;
}

template <typename T>
void interval_attention_backward(const AttentionBackward<T>& p, const RelationView& relation, void* workspace,
                                 device::Stream stream) {
  const int num_heads = static_cast<int>(p.forward.heads().size());
  auto* const records = static_cast<gpu::RowRecord*>(workspace);
  auto* const tile_keys = reinterpret_cast<gpu::KeyRange*>(records + num_heads * relation.num_destinations);
  const gpu::GradientArguments<T> arguments(p, relation.num_destinations, relation.num_sources, records);
  gpu::launch_tiled_backward(arguments, gpu::IntervalEdges(relation, tile_keys), p.forward.head_size, num_heads,
                             stream);
}

template void interval_attention_backward(const AttentionBackward<float>&, const RelationView&, void*, device::Stream);
template void interval_attention_backward(const AttentionBackward<BFloat16>&, const RelationView&, void*,
                                          device::Stream);

}  // namespace edgewise::kernels
