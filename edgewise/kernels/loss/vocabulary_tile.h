// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

// The output projection, seen tile by tile of the vocabulary and never whole: the logarithm of the sum of exponentials,
// and the largest logits. Shapes: R = rows, N = columns of a tile.

namespace edgewise::kernels {

/// What is known of a row from the tiles so far.
struct OutputRow {
  float maximum = -std::numeric_limits<float>::infinity();  // or nearly: what exponentials are taken from
  double total = 0;                                         // sum of exp(logit - maximum), within 1e-5 of itself
  std::int64_t capacity = 0;                                // how many of the largest are wanted
  std::int64_t count = 0;                                   // how many there are
  float* best = nullptr;  // [capacity], descending; among equals the lower token first
  std::int32_t* tokens = nullptr;
  float* logits = nullptr;  // [N], where this tile's logits go, or null
};

/// A tile of logits.
struct VocabularyTile {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t first_token;
  const float* values = nullptr;   // [R, N]
  const float* penalty = nullptr;  // [N] that a logit is less by as a candidate: 0 or infinity; or null
  OutputRow* state;                // [R]
};

/// Tiles of one row come in the order of their tokens.
void see_tile(const VocabularyTile& p);

}  // namespace edgewise::kernels
