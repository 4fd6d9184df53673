// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/backward_parts.h"

namespace edgewise::kernels {
namespace {

// The matrix products that a part of each kind computes.
constexpr std::int64_t kProductsPerRun = 5;
constexpr std::int64_t kProductsPerRows = 3;
constexpr std::int64_t kProductsPerSources = 4;

// The most sources of a run that is one part: the gradients of these sources stay in memory until the part ends.
constexpr std::int64_t kMaxSourcesOfRunPart = 4096;

// A run of at most 1 / 4 of a thread's cost is one part: computing its weights twice would take longer than waiting.
constexpr std::int64_t kPartsPerThread = 4;

}  // namespace

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
