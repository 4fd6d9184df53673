// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/gemm/linear_product.h"
#include "edgewise/positions/position_formula.h"
#include "edgewise/runtime/gpu/array.h"
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

/// Queries of the rows, and the keys and values of all sources, in memory of the GPU. Shapes: R = rows, S = sources,
/// M = size of a state.
template <typename T>
struct GpuAttentionInput {
  const T* query;  // [R, M]
  const T* key;    // [S, M]
  const T* value;  // [S, M]
  RelationView relation;
};

/// Runs rows through the sublayers of a model's layers, as SublayerRunner does on the CPU. Shapes: R = rows, M = size
/// of a state.
template <typename T>
class GpuSublayers {
 public:
  GpuSublayers(const TransformerOptions& options, const GpuStream& stream)
      : options_(options), stream_(stream), products_(stream) {}

  /// Replaces all rows by `rows` new ones. Returns their states, [R, M], which the caller writes.
  float* begin(std::int64_t rows);

  std::int64_t num_rows() const { return rows_; }
  const T* input() const { return input_; }  // [R, M], of the next sublayer

  /// Returns the norm to apply before a sublayer with norm `norm`: `norm` itself, or no norm in a post-norm model.
  const GpuNorm& pre_norm(const GpuNorm& norm) const;

  /// Sets the input of the next sublayer to norm(states).
  void prepare_input(const GpuNorm& norm);

  /// Returns linear(input), [R, linear.outputs], valid until the next call.
  const float* project(const GpuLinear<T>& linear);

  /// Adds the projected output of attention to the states, and norms the sum in a post-norm model. `next` is the
  /// pre_norm of the next sublayer, or the final norm.
  void attend(const AttentionParameters<OnGpu<T>>& parameters, const GpuAttentionInput<T>& input, const GpuNorm& next);

  /// Adds feed_forward(input) to the states, and norms the sum in a post-norm model. `next` is as in attend.
  void feed_forward(const FeedForwardParameters<OnGpu<T>>& parameters, const GpuNorm& next);

  /// Writes the weights of the edges in each head, [E, heads].
  void write_weights(const GpuAttentionInput<T>& input, float* weights);

 private:
  void multiply(const GpuLinear<T>& linear, const T* x, float* out, bool is_added);
  template <typename N>
  void norm(const float* x, const GpuNorm& norm, N* out);
  void add_residual(const GpuLinear<T>& linear, const T* x, const GpuNorm& own, const GpuNorm& next);
  kernels::AttentionForward<T> attention_arguments(const GpuAttentionInput<T>& input) const;

  const TransformerOptions& options_;
  const GpuStream& stream_;
  kernels::GpuProducts products_;
  GpuNorm no_norm_;
  std::int64_t rows_ = 0;
  float* state_ = nullptr;
  const T* input_ = nullptr;
  GpuArray<float> state_buffer_, projected_, inner_, row_results_;
  GpuArray<T> input_buffer_, attended_, activated_;
};

}  // namespace edgewise
