// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/positions/position_formula.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Throws Error, in the name of `caller`, for a token that is not in a table of `num_rows` vectors.
void check_tokens(std::span<const std::int64_t> tokens, std::int64_t num_rows, const char* caller);

/// Returns the factor of token embeddings.
float embedding_scale(const TransformerOptions& options);

/// Computes initial states: scaled token embeddings, with or without position vectors. Position vectors by a formula
/// are computed when they are first needed and then kept, in write() up to a limit, so that a text without end needs
/// constant memory.
class TokenEmbedding {
 public:
  explicit TokenEmbedding(const TransformerOptions& options);

  /// Writes the sums of token embeddings and position vectors to `out`, [tokens, M]. If `mirrored` is not empty, the
  /// second half of each position vector is that of this position. Throws Error, in the name of `caller`, for a token
  /// or a position that is not in its table.
  void write(const SideEmbeddings& side, std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
             const char* caller, float* out, std::span<const std::int64_t> mirrored = {});

  /// Writes token embeddings without position vectors.
  void write(const SideEmbeddings& side, std::span<const std::int64_t> tokens, const char* caller, float* out) const;

  /// Computes the vectors of the positions up to `position` by the model's formula. Invalidates earlier results of
  /// position_vector.
  void reserve_positions(std::int64_t position);

  /// Returns a position's vector, [M], for which reserve_positions was called.
  const float* position_vector(std::int64_t position) const { return positions_.data() + position * size_; }

 private:
  /// A table of vectors, and for each token the row of its position; nulls for a model without position vectors.
  struct PositionRows {
    const float* vectors;
    const std::int64_t* rows;
  };
  PositionRows find_rows(const EmbeddingTable& learned, std::span<const std::int64_t> positions, const char* caller);
  PositionRows write_rows(std::span<const std::int64_t> positions, std::span<const std::int64_t> second_halves);

  void embed(const EmbeddingTable& table, std::span<const std::int64_t> tokens, const float* vectors,
             const std::int64_t* positions, const char* caller, float* out) const;

  std::int64_t size_;
  float scale_;
  bool has_vectors_;
  std::optional<PositionFormula> formula_;
  std::vector<float> positions_;      // [computed positions, M]
  std::vector<float> own_positions_;  // [tokens, M], the vectors of a call whose vectors are not rows of positions_
  std::vector<std::int64_t> own_rows_;
};

}  // namespace edgewise
