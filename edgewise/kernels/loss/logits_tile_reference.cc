// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "edgewise/kernels/loss/logits_tile.h"

namespace edgewise::kernels::reference {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

void reduce_row(const LogitsTile& p, std::int64_t row) {
  LogSumExpTopK& result = p.accumulators[row];
  for (std::int64_t n = 0; n < p.columns; ++n) {
    const float logit = p.logits[row * p.columns + n];
    if (result.logits_out != nullptr) result.logits_out[n] = logit;
    if (logit > result.base) {
      result.sum = result.sum * std::exp(double{result.base} - logit) + 1;
      result.base = logit;
    } else if (logit != kLowest) {  // which adds nothing, also where the base is as low
      result.sum += std::exp(double{logit} - result.base);
    }
    const float candidate = p.penalty == nullptr ? logit : logit - p.penalty[n];
    if (candidate > result.threshold()) result.insert(candidate, static_cast<std::int32_t>(p.first_token + n));
  }
}

}  // namespace

void reduce_logits_tile(const LogitsTile& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) reduce_row(p, row);
}

}  // namespace edgewise::kernels::reference
