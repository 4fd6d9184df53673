// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/positions/position_formula.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// The relative positions of the self-attention or the cross-attention of a stack: turns queries and keys, or adds
/// numbers to scores (nn/relative_positions.h). For other kinds of positions, no function has an effect.
class RowPositions {
 public:
  /// `bias_table` is StackParameters::position_bias, which is empty for a stack that the model does not have, or
  /// cross_bias. With `is_causal`, no row attends to later ones.
  RowPositions(const TransformerOptions& options, const HeadLayout& heads, std::span<const float> bias_table,
               bool is_causal);

  /// Starts with rows at `positions`, which must outlive the rows.
  void begin(std::span<const std::int64_t> positions);

  /// Turns the queries and keys of the rows; `projected` is the result of query_key_value. A key is turned once, before
  /// it is cached.
  void rotate(float* projected) const {
    rotate(projected, std::ssize(positions_), heads_.group_size + 1, heads_.projected_width());
  }

  /// Turn the queries of the first `rows` rows alone, the result of query, or the keys of all rows, that of key_value.
  void rotate_queries(std::int64_t rows, float* queries) const {
    rotate(queries, rows, heads_.group_size, heads_.query_width());
  }
  void rotate_keys(float* keys) const { rotate(keys, std::ssize(positions_), 1, 2 * heads_.width()); }

  /// Makes node attention of the rows add numbers to scores. Source i of a row has position i unless p.source_positions
  /// says otherwise.
  template <typename E>
  void add_bias(kernels::NodeAttention<E>& p) const {
    if (!bias_) return;
    p.bias = &*bias_;
    p.node_positions = positions_.data();
  }

 private:
  void reserve_rotations(std::int64_t position);
  void rotate(float* values, std::int64_t rows, std::int64_t parts, std::int64_t stride) const;

  const HeadLayout& heads_;
  std::span<const std::int64_t> positions_;
  std::optional<PositionFormula> formula_;
  std::vector<float> known_rotations_;  // [positions computed so far, head size], of positions below a limit
  std::vector<float> rotations_;        // [rows, head size]
  std::vector<float> slopes_, table_;
  std::optional<kernels::ScoreBias> bias_;
};

}  // namespace edgewise
