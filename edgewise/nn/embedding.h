// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/positions/position_formula.h"

// Shapes: T = tokens or positions asked for, P = positions of the table, M = size of an encoding.
namespace edgewise {

/// A table, and the rows of some positions in this table: arguments of `embed` (ops/embed.h) and `rotate`
/// (ops/rotate.h). Without position vectors, the table is undefined and there are no rows.
struct PositionRows {
  at::Tensor table_PM;
  std::vector<std::int64_t> rows;  // [T], the row of each position
};

/// Fixed position encodings, by the formulas of positions/position_formula.h, for any position and any size, including
/// odd sizes. Caches a table that grows with the largest position; copies share the table. Thread-safe.
class PositionEncodings {
 public:
  explicit PositionEncodings(std::int64_t size = 1, PositionKind kind = PositionKind::kSinusoidal)
      : PositionEncodings(PositionFormula(size, kind)) {}
  explicit PositionEncodings(PositionFormula formula);

  /// Returns the rows of `positions`, in a table with the type and on the device of `options`. Throws Error for a
  /// negative position.
  PositionRows rows(std::span<const std::int64_t> positions, const at::TensorOptions& options) const;

  /// Returns the encodings of `positions`, [T, M], with the type and on the device of `options`. If `mirrored` is not
  /// empty, the second half of each vector is that of this position.
  at::Tensor operator()(std::span<const std::int64_t> positions, const at::TensorOptions& options,
                        std::span<const std::int64_t> mirrored = {}) const;

 private:
  struct Table;
  std::shared_ptr<Table> table_;
};

/// The position vectors of a side of a model: those of a formula, the rows of a trained table, or none by default.
struct SidePositions {
  at::Tensor weight;                           // [P, M], or undefined
  std::optional<PositionEncodings> encodings;  // with a formula

  SidePositions() = default;
  explicit SidePositions(PositionEncodings of_formula) : encodings(std::move(of_formula)) {}
  SidePositions(std::int64_t count, std::int64_t size, EmbeddingInit init, RandomStream& random);

  /// Returns the rows of `positions`; a table of a formula has the type and the device of `options`. Throws Error
  /// for a negative position, and for one beyond the table. If `mirrored` is not empty, which needs a formula, the
  /// second half of each vector is that of this position.
  PositionRows rows(std::span<const std::int64_t> positions, const at::TensorOptions& options,
                    std::span<const std::int64_t> mirrored = {}) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
  }
};

/// An embedding table with one row for each token of the vocabulary.
struct Embedding {
  at::Tensor weight;  // [C, M], C = vocabulary size
  double scale = 1.0;

  Embedding() = default;
  Embedding(std::int64_t vocabulary, std::int64_t size, EmbeddingInit init, RandomStream& random);

  /// Returns the rows of `tokens` times `scale`: [T, M]. Throws Error for a token outside of the table.
  at::Tensor operator()(std::span<const std::int64_t> tokens) const;

  /// Also applies dropout to whole tokens in training, and cuts tokens (Pass::set_cut).
  at::Tensor operator()(std::span<const std::int64_t> tokens, const DropoutRates& dropout, Pass& pass) const;

  /// Also adds position vectors, and in training applies dropout to whole tokens and to the sums, and cuts tokens.
  /// `mirrored` is as in SidePositions::rows.
  at::Tensor operator()(std::span<const std::int64_t> tokens, const SidePositions& side_positions,
                        std::span<const std::int64_t> positions, const DropoutRates& dropout, Pass& pass,
                        std::span<const std::int64_t> mirrored = {}) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
  }
};

}  // namespace edgewise
