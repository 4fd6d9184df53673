// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {
namespace {

/// Returns the smallest interval that holds the sources of a row, which must ascend; empty for a row without edges.
Interval row_span(const RelationView& relation, std::int64_t row) {
  if (relation.intervals != nullptr) return relation.intervals[row];
  const EdgeIndex begin = relation.row_begin[row];
  const EdgeIndex end = relation.row_begin[row + 1];
  return begin == end ? Interval{} : Interval{relation.sources[begin], relation.sources[end - 1] + 1};
}

/// Returns the smallest interval that holds the sources of the rows; empty if the rows have no edges.
Interval rows_span(const RelationView& relation, std::int64_t row_begin, std::int64_t row_end) {
  Interval span;
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    const Interval sources = row_span(relation, row);
    if (sources.begin == sources.end) continue;
    const bool is_first = span.begin == span.end;
    span = is_first ? sources : Interval{std::min(span.begin, sources.begin), std::max(span.end, sources.end)};
  }
  return span;
}

// The cost of packing a node and storing its results; 1 is the cost of an edge.
constexpr std::int64_t kNodeCost = 4;

// From this fill on, tiles are at least as fast as rows. Measured break-even of forward and backward: a fill of 0.25 to
// 0.4 (Sapphire Rapids, fp32, head size 64, random rows of 128 to 4096 sources).
constexpr double kDenseFill = 0.4;

/// Returns an upper bound of TilePlan::fill: tiles compute at least the scores of the groups from which a row has
/// edges.
double max_fill(const RelationView& relation) {
  EdgeIndex scores = 0;
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    NodeIndex group_end = 0;
    for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
      const NodeIndex source = relation.sources[edge];
      if (source < group_end) continue;
      group_end = static_cast<NodeIndex>(source + kGroupSources);
      scores += kGroupSources;
    }
  }
  return scores == 0 ? 0 : static_cast<double>(relation.num_edges()) / static_cast<double>(scores);
}

class TilePlanner {
 public:
  TilePlanner(const RelationView& relation, TilePlan& plan) : relation_(relation), plan_(plan) {}

  void plan() {
    const std::vector<std::int64_t> run_begin = find_independent_runs(relation_);
    for (std::size_t run = 0; run + 1 < run_begin.size(); ++run) add_run(run_begin[run], run_begin[run + 1]);
    if (used_end_ < relation_.num_sources) {
      plan_.unused_sources.push_back({used_end_, static_cast<NodeIndex>(relation_.num_sources)});
    }
    if (num_scores_ > 0) plan_.fill = static_cast<double>(relation_.num_edges()) / static_cast<double>(num_scores_);
  }

 private:
  void add_run(std::int64_t row_begin, std::int64_t row_end) {
    TileRun run;
    run.block_begin = std::ssize(plan_.blocks);
    run.tile_begin = std::ssize(plan_.tiles);
    run.sources = rows_span(relation_, row_begin, row_end);
    add_blocks(row_begin, row_end, run.sources);
    run.block_end = std::ssize(plan_.blocks);
    for (std::int64_t i = run.block_begin; i < run.block_end; ++i) run.cost += plan_.blocks[i].cost;
    if (run.sources.begin < run.sources.end) {
      if (used_end_ < run.sources.begin) plan_.unused_sources.push_back({used_end_, run.sources.begin});
      used_end_ = run.sources.end;
      add_tiles(run);
    }
    run.tile_end = std::ssize(plan_.tiles);
    reserve_saved_weights(run);
    plan_.runs.push_back(run);
  }

  void reserve_saved_weights(const TileRun& run) {
    const std::int64_t num_sources = run.sources.end - run.sources.begin;
    if (run.block_end - run.block_begin != 1 || num_sources > kMaxSavedSources) return;
    RowBlock& block = plan_.blocks[run.block_begin];
    block.saved_begin = plan_.num_saved_weights;
    const std::int64_t stride = (num_sources + kGroupSources - 1) / kGroupSources * kGroupSources;
    plan_.num_saved_weights += (block.row_end - block.row_begin) * stride;
  }

  void add_blocks(std::int64_t row_begin, std::int64_t row_end, Interval run_sources) {
    const bool is_csr = relation_.intervals == nullptr;
    const std::int64_t max_rows = is_csr ? kCsrBlockRows : kTileRows;
    for (std::int64_t begin = row_begin; begin < row_end; begin += max_rows) {
      const std::int64_t end = std::min(begin + max_rows, row_end);
      RowBlock block = {.row_begin = begin, .row_end = end, .sources = rows_span(relation_, begin, end), .cost = 0};
      EdgeIndex scores = relation_.row_begin[end] - relation_.row_begin[begin];
      if (is_csr) scores = add_cells(block, run_sources);
      const std::int64_t num_sources = block.sources.end - block.sources.begin;
      block.cost = scores + kNodeCost * ((end - begin) + std::min(num_sources, scores));
      plan_.blocks.push_back(block);
    }
  }

  // Adds the groups and cells of a CSR block. Returns the number of scores that the block's tiles compute.
  EdgeIndex add_cells(RowBlock& block, Interval run_sources) {
    const std::vector<NodeIndex> groups = find_groups(block, run_sources.begin);
    block.group_begin = std::ssize(plan_.groups);
    plan_.groups.insert(plan_.groups.end(), groups.begin(), groups.end());
    block.group_end = std::ssize(plan_.groups);
    block.cell_begin = std::ssize(plan_.cells);
    if (!groups.empty()) {
      const std::int64_t end = std::min<std::int64_t>(groups.back() + kGroupSources, run_sources.end);
      block.sources = {groups.front(), static_cast<NodeIndex>(end)};
    }
    EdgeIndex scores = 0;
    for (std::int64_t row = block.row_begin; row < block.row_end; ++row) scores += add_cells_of_row(row, groups);
    num_scores_ += scores;
    return scores;
  }

  // Returns the first source of each group from which one of the block's rows has an edge, in ascending order.
  std::vector<NodeIndex> find_groups(const RowBlock& block, NodeIndex run_begin) const {
    std::vector<NodeIndex> groups;
    for (EdgeIndex edge = relation_.row_begin[block.row_begin]; edge < relation_.row_begin[block.row_end]; ++edge) {
      const auto source = static_cast<std::int64_t>(relation_.sources[edge] - run_begin);
      const auto group = static_cast<NodeIndex>(run_begin + source / kGroupSources * kGroupSources);
      if (groups.empty() || groups.back() != group) groups.push_back(group);
    }
    sort_unique(groups);
    return groups;
  }

  // Adds a cell for each group. Returns the number of scores that tiles compute for the row: the scores of all groups
  // from the first to the last group from which the row has an edge.
  EdgeIndex add_cells_of_row(std::int64_t row, const std::vector<NodeIndex>& groups) {
    const EdgeIndex begin = relation_.row_begin[row];
    const EdgeIndex end = relation_.row_begin[row + 1];
    EdgeIndex edge = begin;
    EdgeIndex scores = 0;
    for (const NodeIndex group : groups) {
      const bool is_between = edge > begin && edge < end;
      TileCell cell = {.bits = 0, .edges_before = static_cast<std::int32_t>(edge - begin)};
      for (; edge < end && relation_.sources[edge] < group + kGroupSources; ++edge) {
        cell.bits = static_cast<std::uint16_t>(cell.bits | 1u << (relation_.sources[edge] - group));
      }
      if (is_between || cell.bits != 0) scores += kGroupSources;
      plan_.cells.push_back(cell);
    }
    return scores;
  }

  void add_tiles(const TileRun& run) {
    const std::int64_t first_tile = std::ssize(plan_.tiles);
    for (NodeIndex begin = run.sources.begin; begin < run.sources.end; begin += kTileSources) {
      const auto end = static_cast<NodeIndex>(std::min<std::int64_t>(begin + kTileSources, run.sources.end));
      plan_.tiles.push_back({{begin, end}, run.block_end, run.block_begin, 0});
    }
    if (relation_.intervals == nullptr) return list_blocks(run, first_tile);
    for (std::int64_t block = run.block_begin; block < run.block_end; ++block) {
      const Interval& sources = plan_.blocks[block].sources;
      if (sources.begin == sources.end) continue;
      const std::int64_t first = first_tile + (sources.begin - run.sources.begin) / kTileSources;
      const std::int64_t last = first_tile + (sources.end - 1 - run.sources.begin) / kTileSources;
      for (std::int64_t i = first; i <= last; ++i) {
        SourceTile& tile = plan_.tiles[i];
        tile.block_begin = std::min(tile.block_begin, block);
        tile.block_end = std::max(tile.block_end, block + 1);
        tile.cost += plan_.blocks[block].cost / (last - first + 1);
      }
    }
  }

  // Calls fn(tile of the run, number of groups) for each tile that has groups of a CSR block.
  template <class Fn>
  void for_tiles_of(const RowBlock& block, const TileRun& run, Fn fn) const {
    for (std::int64_t group = block.group_begin; group < block.group_end;) {
      const std::int64_t first = group;
      const std::int64_t tile = (plan_.groups[first] - run.sources.begin) / kTileSources;
      while (group < block.group_end && (plan_.groups[group] - run.sources.begin) / kTileSources == tile) ++group;
      fn(tile, group - first);
    }
  }

  // Lists the blocks of each tile of a CSR run: a tile of sources that all rows attend to has all blocks, its
  // neighbours have few.
  void list_blocks(const TileRun& run, std::int64_t first_tile) {
    std::vector<std::int64_t> next(plan_.tiles.size() - first_tile + 1, 0);
    const auto for_all = [&](auto fn) {
      for (std::int64_t block = run.block_begin; block < run.block_end; ++block) {
        for_tiles_of(plan_.blocks[block], run,
                     [&](std::int64_t tile, std::int64_t num_groups) { fn(block, tile, num_groups); });
      }
    };
    for_all([&](std::int64_t, std::int64_t tile, std::int64_t) { ++next[tile + 1]; });
    next[0] = std::ssize(plan_.tile_blocks);
    std::partial_sum(next.begin(), next.end(), next.begin());
    plan_.tile_blocks.resize(next.back());
    for (std::int64_t tile = 0; tile + 1 < std::ssize(next); ++tile) {
      plan_.tiles[first_tile + tile].block_begin = next[tile];
      plan_.tiles[first_tile + tile].block_end = next[tile + 1];
    }
    for_all([&](std::int64_t block, std::int64_t tile, std::int64_t num_groups) {
      const RowBlock& listed = plan_.blocks[block];
      plan_.tile_blocks[next[tile]++] = block;
      plan_.tiles[first_tile + tile].cost += listed.cost * num_groups / (listed.group_end - listed.group_begin);
    });
  }

  const RelationView& relation_;
  TilePlan& plan_;
  NodeIndex used_end_ = 0;
  EdgeIndex num_scores_ = 0;  // scores that the tiles of a CSR relation compute
};

// The matrix products that a part of each kind computes.
constexpr std::int64_t kProductsPerRun = 5;
constexpr std::int64_t kProductsPerRows = 3;
constexpr std::int64_t kProductsPerSources = 4;

// The most sources of a run that is one part: the gradients of these sources stay in memory until the part ends.
constexpr std::int64_t kMaxSourcesOfRunPart = 4096;

// A run of at most 1 / 4 of a thread's cost is one part: computing its weights twice would take longer than waiting.
constexpr std::int64_t kPartsPerThread = 4;

}  // namespace

bool rows_ascend(const RelationView& relation) {
  if (relation.sources == nullptr) return true;
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    const NodeIndex* begin = relation.sources + relation.row_begin[row];
    const NodeIndex* end = relation.sources + relation.row_begin[row + 1];
    if (!std::ranges::is_sorted(begin, end, std::ranges::less_equal())) return false;
  }
  return true;
}

TilePlan::TilePlan(const RelationView& view) : relation(view) {
  check(rows_ascend(relation), "TilePlan: relation has a row whose sources do not ascend, needs rows that do");
  TilePlanner(relation, *this).plan();
}

std::optional<TilePlan> make_dense_tile_plan(const RelationView& relation) {
  if (!rows_ascend(relation) || max_fill(relation) < kDenseFill) return std::nullopt;
  TilePlan plan(relation);
  if (plan.fill < kDenseFill) return std::nullopt;
  return plan;
}

std::vector<std::int64_t> cut_pieces(const TilePlan& plan, std::int64_t max_pieces) {
  std::int64_t total = 0;
  for (const TileRun& run : plan.runs) total += run.cost;
  const std::int64_t piece_cost = total / max_pieces + 1;

  std::vector<std::int64_t> piece_of_block(plan.blocks.size());
  std::int64_t piece = 0;
  std::int64_t cost = 0;
  auto end_piece_from = [&](std::int64_t least_cost) {
    if (cost < least_cost) return;
    ++piece;
    cost = 0;
  };
  for (const TileRun& run : plan.runs) {
    const bool is_cut = run.cost > piece_cost;
    if (is_cut) end_piece_from(1);
    for (std::int64_t block = run.block_begin; block < run.block_end; ++block) {
      piece_of_block[block] = piece;
      cost += plan.blocks[block].cost;
      if (is_cut) end_piece_from(piece_cost);
    }
    end_piece_from(is_cut ? 1 : piece_cost);
  }
  return piece_of_block;
}

std::vector<BackwardPart> split_backward(const TilePlan& plan, std::int64_t num_heads, int num_threads) {
  std::int64_t total = 0;
  for (const TileRun& run : plan.runs) total += run.cost;
  const std::int64_t max_run_cost = num_threads == 1 ? total : total * num_heads / (kPartsPerThread * num_threads);

  std::vector<BackwardPart> parts;
  std::int64_t cost = 0;
  auto add = [&](BackwardPart::Kind kind, std::int64_t run, std::int64_t index, std::int64_t part_cost) {
    parts.push_back({kind, run, index, cost});
    cost += part_cost;
  };
  for (std::int64_t i = 0; i < std::ssize(plan.runs); ++i) {
    const TileRun& run = plan.runs[i];
    const bool is_one_tile = run.block_end - run.block_begin <= 1 && run.tile_end - run.tile_begin <= 1;
    const bool is_small = run.sources.end - run.sources.begin <= kMaxSourcesOfRunPart && run.cost <= max_run_cost;
    if (is_one_tile || is_small) {
      add(BackwardPart::Kind::kRun, i, 0, kProductsPerRun * run.cost);
      continue;
    }
    for (std::int64_t block = run.block_begin; block < run.block_end; ++block) {
      add(BackwardPart::Kind::kRows, i, block, kProductsPerRows * plan.blocks[block].cost);
    }
    for (std::int64_t tile = run.tile_begin; tile < run.tile_end; ++tile) {
      add(BackwardPart::Kind::kSources, i, tile, kProductsPerSources * plan.tiles[tile].cost);
    }
  }
  parts.push_back({BackwardPart::Kind::kRun, -1, 0, cost});
  return parts;
}

}  // namespace edgewise::kernels
