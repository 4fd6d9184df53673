// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/runtime/packed_linear.h"
#include "edgewise/runtime/token_embedding.h"

namespace edgewise {

GpuEmbedding::GpuEmbedding(const TransformerOptions& options) : size_(options.size), scale_(embedding_scale(options)) {
  if (has_formula(options.positions)) formula_.emplace(options.size, options.positions);
}

void GpuEmbedding::reserve_positions(std::int64_t position, const GpuStream& stream) {
  const std::int64_t count = std::ssize(positions_) / size_;
  if (position < count) return;
  const std::int64_t new_count = std::max(position + 1, 2 * count);
  positions_.resize(static_cast<std::size_t>(new_count * size_));
  for (std::int64_t i = count; i < new_count; ++i) formula_->write(i, positions_.data() + i * size_);
  copy_.begin(std::span<const float>(positions_), positions_on_gpu_, stream);
}

GpuEmbedding::Rows GpuEmbedding::add(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                                     const GpuSide& side, const char* caller, Upload& upload, const GpuStream& stream) {
  check_tokens(tokens, side.tokens.num_rows, caller);
  if (!positions.empty()) {
    const std::int64_t last = *std::ranges::max_element(positions);
    if (formula_) {
      reserve_positions(last, stream);
    } else if (side.positions.num_rows > 0) {
      check_learned_position(last, side.positions.num_rows, caller);
    }
  }
  return {upload.add(tokens), upload.add(positions), std::ssize(tokens)};
}

void GpuEmbedding::write(const GpuSide& side, const Rows& rows, Upload& upload, const GpuStream& stream,
                         float* out) const {
  kernels::embed_forward(kernels::EmbedForward<float>{.weight = side.tokens.vectors.data(),
                                                      .tokens = upload.at(rows.tokens),
                                                      .position_table = formula_ ? positions_on_gpu_.data()
                                                                                 : side.positions.vectors.data(),
                                                      .positions = upload.at(rows.positions),
                                                      .out = out,
                                                      .num_tokens = rows.count,
                                                      .size = size_,
                                                      .scale = scale_,
                                                      .dropout = {}},
                         stream);
}

template <typename T>
float* GpuSublayers<T>::begin(std::int64_t rows) {
  rows_ = rows;
  state_ = state_buffer_.allocate(rows * options_.size, stream_);
  return state_;
}

template <typename T>
const GpuNorm& GpuSublayers<T>::pre_norm(const GpuNorm& norm) const {
  return options_.norm_placement == NormPlacement::kPre ? norm : no_norm_;
}

template <typename T>
template <typename N>
void GpuSublayers<T>::norm(const float* x, const GpuNorm& norm, N* out) {
  float* const results = row_results_.allocate(2 * rows_, stream_);
  kernels::add_norm_forward(kernels::AddNormForward<float, float, N>{.x = x,
                                                                     .y = nullptr,
                                                                     .gain = norm.gain.data(),
                                                                     .bias = norm.bias.data(),
                                                                     .sum = nullptr,
                                                                     .normed = out,
                                                                     .mean = results,
                                                                     .deviation = results + rows_,
                                                                     .num_rows = rows_,
                                                                     .size = options_.size,
                                                                     .formula = norm.formula,
                                                                     .dropout = {}},
                            stream_);
}

template <typename T>
void GpuSublayers<T>::prepare_input(const GpuNorm& norm) {
  if (!norm.is_on() && std::is_same_v<T, float>) {
    if constexpr (std::is_same_v<T, float>) input_ = state_;
    return;
  }
  T* const input = input_buffer_.allocate(rows_ * options_.size, stream_);
  input_ = input;
  if (norm.is_on()) return this->norm(state_, norm, input);
  kernels::activate(kernels::ActivationForward<float, T>{.activation = kernels::GemmActivation::kNone,
                                                         .count = rows_ * options_.size,
                                                         .x = state_,
                                                         .out = input,
                                                         .dropout = {}},
                    stream_);
}

template <typename T>
void GpuSublayers<T>::multiply(const GpuLinear<T>& linear, const T* x, float* out, bool is_added) {
  products_.multiply(kernels::LinearProduct<T>{.rows = rows_,
                                               .inputs = linear.inputs,
                                               .outputs = linear.outputs,
                                               .x = x,
                                               .weight = linear.weight.data(),
                                               .bias = linear.bias.data(),
                                               .out = out,
                                               .is_added = is_added});
}

template <typename T>
const float* GpuSublayers<T>::project(const GpuLinear<T>& linear) {
  float* const projected = projected_.allocate(rows_ * linear.outputs, stream_);
  multiply(linear, input_, projected, /*is_added=*/false);
  return projected;
}

template <typename T>
void GpuSublayers<T>::add_residual(const GpuLinear<T>& linear, const T* x, const GpuNorm& own, const GpuNorm& next) {
  multiply(linear, x, state_, /*is_added=*/true);
  if (options_.norm_placement == NormPlacement::kPost) norm(state_, own, state_);
  prepare_input(next);
}

template <typename T>
kernels::AttentionForward<T> GpuSublayers<T>::attention_arguments(const GpuAttentionInput<T>& input) const {
  const std::int64_t head_size = options_.size / options_.heads;
  return {.query = input.query,
          .key = input.key,
          .value = input.value,
          .edge_bias = nullptr,
          .out = nullptr,
          .log_normalizer = nullptr,
          .num_heads = options_.heads,
          .head_size = head_size,
          .value_size = head_size,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_size)),
          .clamp = options_.clamp ? static_cast<float>(*options_.clamp) : std::numeric_limits<float>::infinity(),
          .dropout = {}};
}

template <typename T>
void GpuSublayers<T>::attend(const AttentionParameters<OnGpu<T>>& parameters, const GpuAttentionInput<T>& input,
                             const GpuNorm& next) {
  kernels::AttentionForward<T> arguments = attention_arguments(input);
  arguments.out = attended_.allocate(rows_ * options_.size, stream_);
  arguments.log_normalizer = row_results_.allocate(rows_ * options_.heads, stream_);
  if (input.relation.intervals != nullptr) {
    kernels::interval_attention_forward(arguments, input.relation, stream_);
  } else {
    kernels::sparse_attention_forward(arguments, input.relation, stream_);
  }
  add_residual(parameters.output, arguments.out, parameters.norm, next);
}

template <typename T>
void GpuSublayers<T>::write_weights(const GpuAttentionInput<T>& input, float* weights) {
  kernels::sparse_attention_weights(kernels::AttentionWeights<T>{attention_arguments(input), weights}, input.relation,
                                    stream_);
}

template <typename T>
void GpuSublayers<T>::feed_forward(const FeedForwardParameters<OnGpu<T>>& parameters, const GpuNorm& next) {
  const std::int64_t count = rows_ * parameters.inner.outputs;
  float* const inner = inner_.allocate(count, stream_);
  multiply(parameters.inner, input_, inner, /*is_added=*/false);
  T* const activated = activated_.allocate(count, stream_);
  kernels::activate(kernels::ActivationForward<float, T>{.activation = gemm_activation(options_.activation),
                                                         .count = count,
                                                         .x = inner,
                                                         .out = activated,
                                                         .dropout = {}},
                    stream_);
  add_residual(parameters.outer, activated, parameters.norm, next);
}

template class GpuSublayers<float>;
template class GpuSublayers<BFloat16>;

}  // namespace edgewise
