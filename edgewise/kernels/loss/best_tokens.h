// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/loss/vocabulary_tile.h"

namespace edgewise::kernels {

/// What a logit must be above to be among the best.
inline float worst_of_best(const OutputRow& row) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (row.capacity == 0) return kInfinity;
  return row.count < row.capacity ? -kInfinity : row.best[row.count - 1];
}

/// Puts a logit that is above that behind those that are not less.
inline void insert(OutputRow& row, float value, std::int32_t token) {
  if (row.count < row.capacity) ++row.count;
  std::int64_t place = row.count - 1;
  for (; place > 0 && row.best[place - 1] < value; --place) {
    row.best[place] = row.best[place - 1];
    row.tokens[place] = row.tokens[place - 1];
  }
  row.best[place] = value;
  row.tokens[place] = token;
}

}  // namespace edgewise::kernels
