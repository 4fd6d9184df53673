// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Fixed vectors that tell a model where in its sentence a word stands; options/position_formula.h has the formulas.
/// For any position and any size, odd ones too. Keeps a table of the positions asked for so far; copies share it, and
/// several threads may use it.
class Positions {
 public:
  explicit Positions(std::int64_t size = 1, PositionKind kind = PositionKind::kSinusoidal);

  /// Where the vectors of some positions lie, for `embed`.
  struct Rows {
    at::Tensor table_PM;
    std::vector<std::int64_t> rows;  // of the table, one a position
  };

  /// Throws Error for a negative position.
  Rows rows(std::span<const std::int64_t> positions, at::ScalarType dtype) const;

  /// The vectors themselves, [T, size].
  at::Tensor operator()(std::span<const std::int64_t> positions, at::ScalarType dtype) const;

 private:
  struct Table;
  std::int64_t size_;
  PositionKind kind_;
  std::shared_ptr<Table> table_;
};

}  // namespace edgewise
