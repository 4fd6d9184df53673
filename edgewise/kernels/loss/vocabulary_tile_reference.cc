// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/vocabulary_tile_reference.h"

#include <cmath>

#include "edgewise/kernels/loss/best_tokens.h"

namespace edgewise::kernels::reference {
namespace {

void see(const VocabularyTile& p, std::int64_t row) {
  OutputRow& state = p.state[row];
  for (std::int64_t n = 0; n < p.columns; ++n) {
    const float value = p.values[row * p.columns + n];
    if (state.logits != nullptr) state.logits[n] = value;
    if (value > state.maximum) {
      state.total = state.total * std::exp(double{state.maximum} - value) + 1;
      state.maximum = value;
    } else {
      state.total += std::exp(double{value} - state.maximum);
    }
    const float as_candidate = p.penalty == nullptr ? value : value - p.penalty[n];
    if (as_candidate > worst_of_best(state)) {
      insert(state, as_candidate, static_cast<std::int32_t>(p.first_token + n));
    }
  }
}

}  // namespace

void see_tile(const VocabularyTile& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) see(p, row);
}

}  // namespace edgewise::kernels::reference
