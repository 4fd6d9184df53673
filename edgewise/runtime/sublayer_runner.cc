// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/sublayer_runner.h"

#include <algorithm>
#include <cmath>

#include "edgewise/kernels/recurrence/ssru.h"
#include "edgewise/runtime/packed_linear.h"

namespace edgewise {

template <typename T>
float* SublayerRunner<T>::begin(std::int64_t rows) {
  rows_ = rows;
  state_ = state_buffer_.allocate(rows, options_.size);
  input_ = input_buffer_.allocate(rows, options_.size);
  return state_;
}

template <typename T>
void SublayerRunner<T>::keep_rows(std::span<const NodeIndex> kept) {
  rows_ = 0;
  for (const NodeIndex row : kept) {
    if (row != rows_) std::copy_n(state_ + row * options_.size, options_.size, state_ + rows_ * options_.size);
    ++rows_;
  }
}

template <typename T>
void SublayerRunner<T>::reorder_rows(std::span<const NodeIndex> former) {
  rows_ = std::ssize(former);
  float* moved = normed_buffer_.allocate(rows_, options_.size);
  float* to = moved;
  for (const NodeIndex row : former) to = std::copy_n(state_ + row * options_.size, options_.size, to);
  std::copy_n(moved, rows_ * options_.size, state_);
}

template <typename T>
const NormParameters& SublayerRunner<T>::pre_norm(const NormParameters& norm) const {
  return options_.norm_placement == NormPlacement::kPre ? norm : kNoNorm;
}

template <typename T>
void SublayerRunner<T>::prepare_input(const NormParameters& norm) {
  norm_and_round(rows_, options_.size, state_, norm, /*norms_values=*/false, input_);
  input_multiplier_ = 0;
}

template <typename T>
float* SublayerRunner<T>::apply_norm(const NormParameters& norm) {
  float* to = normed_buffer_.allocate(rows_, options_.size);
  norm_and_round(rows_, options_.size, state_, norm, /*norms_values=*/false, Activations<float>{to});
  return to;
}

template <typename T>
void SublayerRunner<T>::set_input(float* values) {
  norm_and_round(rows_, options_.size, values, kNoNorm, /*norms_values=*/false, input_);
  input_multiplier_ = 0;
}

template <typename T>
const Activations<T>& SublayerRunner<T>::input_of(const PackedLinear<T>& linear) {
  if (linear.input_multiplier() != input_multiplier_) {
    input_multiplier_ = linear.input_multiplier();
    convert_operand(rows_, options_.size, state_, input_multiplier_, input_);
  }
  return input_;
}

template <typename T>
float* SublayerRunner<T>::project(const PackedLinear<T>& linear) {
  float* projected = projected_buffer_.allocate(rows_, linear.out());
  linear.write(rows_, input_of(linear), projected);
  return projected;
}

template <typename T>
Activations<T> SublayerRunner<T>::convert(float* values, std::int64_t columns,
                                          [[maybe_unused]] const PackedLinear<T>& linear) {
  if constexpr (std::is_same_v<T, float>) {
    return {values};
  } else {
    const Activations<T> to = converted_buffer_.allocate(rows_, columns);
    convert_operand(rows_, columns, values, linear.input_multiplier(), to);
    return to;
  }
}

/// `add(norm, norms_sum)` adds the result of a sublayer's function to the states, and sets the input to the norm of the
/// sums; with `norms_sum`, the states, too.
template <typename T>
template <class Add>
void SublayerRunner<T>::add_residual(const NormParameters& own, const NormParameters& next, Add add) {
  const bool is_post = options_.norm_placement == NormPlacement::kPost;
  add(is_post ? own : next, is_post);
  input_multiplier_ = 0;
  if (is_post && !next.gain.empty()) prepare_input(next);
}

/// Makes `p` read queries that are multiplied by ln(sources of the row).
template <typename T>
template <typename E>
void SublayerRunner<T>::scale_queries(kernels::NodeAttention<E>& p) {
  const std::int64_t width = heads_.query_width();
  float* scaled = scaled_buffer_.allocate(rows_, width);
  for (std::int64_t row = 0; row < rows_; ++row) {
    const auto sources = static_cast<float>(std::max<std::int64_t>(p.ranges[row].count, 1));
    const float factor = std::log(sources);
    const float* query = p.query + row * p.query_stride;
    std::transform(query, query + width, scaled + row * width, [factor](float q) { return factor * q; });
  }
  p.query = scaled;
  p.query_stride = width;
}

template <typename T>
template <typename E>
void SublayerRunner<T>::attend(const AttentionParameters<T>& parameters, kernels::NodeAttention<E> p,
                               const NormParameters& next) {
  p.rows = rows_ * heads_.group_size;
  p.group_size = heads_.group_size;
  p.num_heads = heads_.padded_heads;
  p.head_size = heads_.padded_head_size;
  p.value_offset = p.key_offset + heads_.width();
  p.out = attended_buffer_.allocate(rows_, heads_.query_width());
  p.scale = 1.0f / std::sqrt(static_cast<float>(heads_.head_size));
  if (options_.log_scale) scale_queries(p);
  if (options_.clamp) p.clamp = static_cast<float>(*options_.clamp);
  if (!parameters.score_vector.empty()) p.score_vector = parameters.score_vector.data();
  kernels::node_attention(p);
  const Activations<T> averages = convert(p.out, heads_.query_width(), parameters.output);
  add_residual(parameters.norm, next, [&](const NormParameters& norm, bool norms_sum) {
    parameters.output.add_and_norm(rows_, averages, state_, norm, norms_sum, input_);
  });
}

template <typename T>
void SublayerRunner<T>::recur(const PackedLinear<T>& linear, const NormParameters& own,
                              std::span<const float* const> before, std::span<float* const> cells,
                              const NormParameters& next) {
  const std::int64_t size = options_.size;
  const float* projected = project(linear);
  float* out = attended_buffer_.allocate(rows_, size);
  kernels::ssru(kernels::SsruRows<float>{.rows = rows_,
                                         .columns = size,
                                         .stride = 2 * size,
                                         .forget = projected,
                                         .input = projected + size,
                                         .before = before.data(),
                                         .state = cells.data(),
                                         .out = out});
  add_residual(own, next, [&](const NormParameters& norm, bool norms_sum) {
    add_and_norm(rows_, size, out, state_, norm, norms_sum, input_);
  });
}

template <typename T>
void SublayerRunner<T>::feed_forward(const FeedForwardParameters<T>& parameters, const NormParameters& next) {
  const Activations<T> inner = inner_buffer_.allocate(rows_, options_.feed_forward);
  const kernels::GemmActivation activation = gemm_activation(options_.activation);
  if (options_.feed_forward_gate) {
    parameters.inner.gate(rows_, input_of(parameters.inner), activation, parameters.outer, inner);
  } else {
    parameters.inner.activate(rows_, input_of(parameters.inner), activation, parameters.outer, inner);
  }
  add_residual(parameters.norm, next, [&](const NormParameters& norm, bool norms_sum) {
    parameters.outer.add_and_norm(rows_, inner, state_, norm, norms_sum, input_);
  });
}

template class SublayerRunner<float>;
template class SublayerRunner<BFloat16>;
template class SublayerRunner<std::int8_t>;

template void SublayerRunner<float>::attend(const AttentionParameters<float>&, kernels::NodeAttention<float>,
                                            const NormParameters&);
template void SublayerRunner<BFloat16>::attend(const AttentionParameters<BFloat16>&, kernels::NodeAttention<float>,
                                               const NormParameters&);
template void SublayerRunner<BFloat16>::attend(const AttentionParameters<BFloat16>&, kernels::NodeAttention<BFloat16>,
                                               const NormParameters&);
template void SublayerRunner<std::int8_t>::attend(const AttentionParameters<std::int8_t>&,
                                                  kernels::NodeAttention<float>, const NormParameters&);
template void SublayerRunner<std::int8_t>::attend(const AttentionParameters<std::int8_t>&,
                                                  kernels::NodeAttention<BFloat16>, const NormParameters&);

}  // namespace edgewise
