// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "edgewise/ops/loss_tiles.h"

namespace edgewise {

/// The rows of one tile: `count` rows of the state from `begin`; with R-Drop also their pairs, `stride` rows below.
struct TileRows {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t passes;  // 1, or 2 with R-Drop
  std::int64_t stride;

  std::int64_t num_rows() const { return passes * count; }

  /// Calls body(row in the tile, row of the state) for the first row of each pass.
  template <class Body>
  void for_passes(Body body) const {
    for (std::int64_t pass = 0; pass < passes; ++pass) body(pass * count, pass * stride + begin);
  }
};

/// Calls run(TileRows) for tiles of at most `max_rows` rows, which together have all rows of the state.
template <class Run>
void for_tiles(std::int64_t num_tokens, const LossRule& rule, std::int64_t max_rows, Run run) {
  const std::int64_t passes = rule.rdrop_weight ? 2 : 1;
  const std::int64_t stride = num_tokens / passes;
  const std::int64_t max_count = max_rows / passes;
  for (std::int64_t begin = 0; begin < stride; begin += max_count) {
    run(TileRows{.begin = begin, .count = std::min(max_count, stride - begin), .passes = passes, .stride = stride});
  }
}

}  // namespace edgewise
