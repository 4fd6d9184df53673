// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/positions/position_formula.h"
#include "edgewise/runtime/gpu/upload.h"
#include "edgewise/runtime/gpu/weights.h"

namespace edgewise {

/// Computes initial states, as TokenEmbedding does on the CPU: scaled token embeddings plus position vectors. Position
/// vectors by a formula are computed on the host when they are first needed, and then kept.
class GpuEmbedding {
 public:
  explicit GpuEmbedding(const TransformerOptions& options);

  /// Tokens and their positions, as arrays of an upload.
  struct Rows {
    UploadedArray<std::int64_t> tokens;
    UploadedArray<std::int64_t> positions;
    std::int64_t count;
  };

  /// Adds tokens and positions to `upload`. Throws Error, in the name of `caller`, for a token or a position that is
  /// not in its table.
  Rows add(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions, const GpuSide& side,
           const char* caller, Upload& upload, const GpuStream& stream);

  /// Writes the sums of token embeddings and position vectors to `out`, [count, M].
  void write(const GpuSide& side, const Rows& rows, Upload& upload, const GpuStream& stream, float* out) const;

 private:
  void reserve_positions(std::int64_t position, const GpuStream& stream);

  std::int64_t size_;
  float scale_;
  std::optional<PositionFormula> formula_;
  std::vector<float> positions_;  // [computed positions, M]
  GpuArray<float> positions_on_gpu_;
  StagedCopy copy_;
};

}  // namespace edgewise
