// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/cpu/tile_plan.h"

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/kernels/reference/work.h"

namespace edgewise::kernels {
namespace {

// The smallest interval that holds the sources of the rows; empty if they have none.
Interval span_of_rows(const RelationView& relation, std::int64_t row_begin, std::int64_t row_end) {
  Interval span;
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    const Interval sources = relation.intervals[row];
    if (sources.begin == sources.end) continue;
    const bool is_first = span.begin == span.end;
    span = is_first ? sources : Interval{std::min(span.begin, sources.begin), std::max(span.end, sources.end)};
  }
  return span;
}

// What it costs to pack a node and to store its results, in edges.
constexpr std::int64_t kNodeCost = 4;

class Planner {
 public:
  Planner(const RelationView& relation, TilePlan& plan) : relation_(relation), plan_(plan) {}

  void plan() {
    const std::vector<std::int64_t> run_begin = reference::independent_runs(relation_);
    for (std::size_t run = 0; run + 1 < run_begin.size(); ++run) add_run(run_begin[run], run_begin[run + 1]);
    if (seen_end_ < relation_.num_sources) {
      plan_.unseen_sources.push_back({seen_end_, static_cast<NodeIndex>(relation_.num_sources)});
    }
  }

 private:
  void add_run(std::int64_t row_begin, std::int64_t row_end) {
    TileRun run;
    run.block_begin = std::ssize(plan_.blocks);
    run.tile_begin = std::ssize(plan_.tiles);
    run.sources = span_of_rows(relation_, row_begin, row_end);
    add_blocks(row_begin, row_end);
    run.block_end = std::ssize(plan_.blocks);
    for (std::int64_t i = run.block_begin; i < run.block_end; ++i) run.cost += plan_.blocks[i].cost;
    if (run.sources.begin < run.sources.end) {
      if (seen_end_ < run.sources.begin) plan_.unseen_sources.push_back({seen_end_, run.sources.begin});
      seen_end_ = run.sources.end;
      add_tiles(run);
    }
    run.tile_end = std::ssize(plan_.tiles);
    plan_.runs.push_back(run);
  }

  void add_blocks(std::int64_t row_begin, std::int64_t row_end) {
    for (std::int64_t begin = row_begin; begin < row_end; begin += kTileRows) {
      const std::int64_t end = std::min(begin + kTileRows, row_end);
      const Interval sources = span_of_rows(relation_, begin, end);
      const EdgeIndex edges = relation_.row_begin[end] - relation_.row_begin[begin];
      const EdgeIndex nodes = (end - begin) + std::min<EdgeIndex>(sources.end - sources.begin, edges);
      plan_.blocks.push_back({begin, end, sources, edges + kNodeCost * nodes});
    }
  }

  void add_tiles(const TileRun& run) {
    const std::int64_t first_tile = std::ssize(plan_.tiles);
    for (NodeIndex begin = run.sources.begin; begin < run.sources.end; begin += kTileSources) {
      const auto end = static_cast<NodeIndex>(std::min<std::int64_t>(begin + kTileSources, run.sources.end));
      plan_.tiles.push_back({{begin, end}, run.block_end, run.block_begin, 0});
    }
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

  const RelationView& relation_;
  TilePlan& plan_;
  NodeIndex seen_end_ = 0;
};

}  // namespace

TilePlan::TilePlan(const RelationView& relation) {
  check(relation.intervals != nullptr || relation.num_destinations == 0,
        "TilePlan: relation is in the form of lists, needs intervals");
  Planner(relation, *this).plan();
}

}  // namespace edgewise::kernels
