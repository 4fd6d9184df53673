// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "edgewise/device/stream.h"

// Reduces the logits of an output projection by tiles of the vocabulary, so that memory never holds all logits.
// Shapes: R = rows, N = columns (tokens) of a tile.
namespace edgewise::kernels {

/// The running log-sum-exp and the k largest logits of one row. log(sum of exp(logit)) = base + log(sum).
struct LogSumExpTopK {
  float base = -std::numeric_limits<float>::infinity();  // the largest logit so far, or at most 40 less
  double sum = 0;                                        // sum of exp(logit - base), relative error 1e-5
  std::int64_t capacity = 0;                             // k; 0: the logits are only summed
  std::int64_t count = 0;                                // elements of `top_logits` so far, at most `capacity`
  float* top_logits = nullptr;         // [capacity], descending; of equal logits the lower token first
  std::int32_t* top_tokens = nullptr;  // [capacity], the tokens of `top_logits`
  float* logits_out = nullptr;         // [N], receives a copy of the tile's logits, or null

  /// Returns the value that a logit must exceed to be among the k largest so far.
  float threshold() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (capacity == 0) return kInfinity;
    return count < capacity ? -kInfinity : top_logits[count - 1];
  }

  /// Inserts a logit above threshold() after equal logits, and removes the last logit of a full list.
  void insert(float logit, std::int32_t token) {
    if (count < capacity) ++count;
    std::int64_t i = count - 1;
    for (; i > 0 && top_logits[i - 1] < logit; --i) {
      top_logits[i] = top_logits[i - 1];
      top_tokens[i] = top_tokens[i - 1];
    }
    top_logits[i] = logit;
    top_tokens[i] = token;
  }
};

/// The logits of R rows for the N tokens from `first_token` on.
struct LogitsTile {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t first_token;
  const float* logits = nullptr;   // [R, N]
  const float* penalty = nullptr;  // [N], 0 or infinity: subtracted for the top k, not for the sum; or null
  LogSumExpTopK* accumulators;     // [R]
};

/// Adds a tile to the accumulators. The caller must pass the tiles of a row in ascending order of tokens.
void reduce_logits_tile(const LogitsTile& p);

/// The largest LogSumExpTopK::capacity that reduce_logits_tile() accepts on a GPU.
inline constexpr int kMaxTopTokens = 64;

/// Begins reduce_logits_tile() on a GPU in `stream`. All pointers are to memory of the device, logits to multiples of
/// 16 bytes, and a row has fewer than 2^31 columns. The results have the same bits in every run, and the sums a
/// relative error of about 1e-6. A tile may have all tokens. The time of a row grows where hundreds of logits are as
/// large as one of the k largest.
void reduce_logits_tile(const LogitsTile& p, device::Stream stream);

namespace reference {
void reduce_logits_tile(const LogitsTile& p);
}

}  // namespace edgewise::kernels
