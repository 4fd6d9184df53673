// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Computes initial states: scaled token embeddings, with or without positional embeddings. Position vectors are
/// computed when they are first needed and then kept.
class TokenEmbedding {
 public:
  explicit TokenEmbedding(const TransformerOptions& options);

  /// Writes the sums of token and positional embeddings to `out`, [tokens, M]. Throws Error, in the name of `caller`,
  /// for a token that is not in the table.
  void write(const EmbeddingTable& table, std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
             const char* caller, float* out);

  /// Writes token embeddings without positional embeddings.
  void write(const EmbeddingTable& table, std::span<const std::int64_t> tokens, const char* caller, float* out);

  /// Computes the vectors of the positions up to `position`. Invalidates earlier results of position_vector.
  void reserve_positions(std::int64_t position);

  /// Returns a position's vector, [M], for which reserve_positions was called.
  const float* position_vector(std::int64_t position) const { return positions_.data() + position * size_; }

 private:
  void embed(const EmbeddingTable& table, std::span<const std::int64_t> tokens, const float* vectors,
             const std::int64_t* positions, const char* caller, float* out) const;

  std::int64_t size_;
  float scale_;
  std::vector<double> frequencies_;
  std::vector<float> positions_;  // [computed positions, M]
};

}  // namespace edgewise
