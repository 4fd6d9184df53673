// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/tile_work.h"

namespace edgewise::kernels {
namespace {

// Products that each kind of part computes.
constexpr std::int64_t kProductsOfRun = 5;
constexpr std::int64_t kProductsOfRows = 3;
constexpr std::int64_t kProductsOfSources = 4;

// Gradients of a run's keys and values are kept in floats while it goes whole.
constexpr std::int64_t kMostSourcesAtOnce = 4096;

// A part that is a quarter of a thread's share makes the others wait for it less than computing weights twice costs.
constexpr std::int64_t kPartsOfThread = 4;

}  // namespace

std::vector<BackwardPart> backward_parts(const TilePlan& plan, std::int64_t num_heads, int num_threads) {
  std::int64_t total = 0;
  for (const TileRun& run : plan.runs) total += run.cost;
  const std::int64_t largest_run = num_threads == 1 ? total : total * num_heads / (kPartsOfThread * num_threads);

  std::vector<BackwardPart> parts;
  std::int64_t cost = 0;
  auto add = [&](BackwardPart::Kind kind, std::int64_t run, std::int64_t index, std::int64_t part_cost) {
    parts.push_back({kind, run, index, cost});
    cost += part_cost;
  };
  for (std::int64_t i = 0; i < std::ssize(plan.runs); ++i) {
    const TileRun& run = plan.runs[i];
    const bool is_one_tile = run.block_end - run.block_begin <= 1 && run.tile_end - run.tile_begin <= 1;
    const bool is_small = run.sources.end - run.sources.begin <= kMostSourcesAtOnce && run.cost <= largest_run;
    if (is_one_tile || is_small) {
      add(BackwardPart::Kind::kRun, i, 0, kProductsOfRun * run.cost);
      continue;
    }
    for (std::int64_t block = run.block_begin; block < run.block_end; ++block) {
      add(BackwardPart::Kind::kRows, i, block, kProductsOfRows * plan.blocks[block].cost);
    }
    for (std::int64_t tile = run.tile_begin; tile < run.tile_end; ++tile) {
      add(BackwardPart::Kind::kSources, i, tile, kProductsOfSources * plan.tiles[tile].cost);
    }
  }
  parts.push_back({BackwardPart::Kind::kRun, -1, 0, cost});
  return parts;
}

}  // namespace edgewise::kernels
