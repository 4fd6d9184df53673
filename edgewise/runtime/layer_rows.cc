// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/layer_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgewise {
namespace {

const NormParameters kNoNorm;

kernels::GemmActivation gemm_activation(Activation activation) {
  return activation == Activation::kRelu ? kernels::GemmActivation::kRelu : kernels::GemmActivation::kGelu;
}

}  // namespace

template <typename T>
float* LayerRows<T>::begin(std::int64_t rows) {
  rows_ = rows;
  state_ = state_room_.of(rows, options_.size);
  read_ = read_room_.of(rows, options_.size);
  return state_;
}

template <typename T>
void LayerRows<T>::keep(std::span<const NodeIndex> kept) {
  rows_ = 0;
  for (const NodeIndex row : kept) {
    if (row != rows_) std::copy_n(state_ + row * options_.size, options_.size, state_ + rows_ * options_.size);
    ++rows_;
  }
}

template <typename T>
const NormParameters& LayerRows<T>::first_norm(const NormParameters& norm) const {
  return options_.norm_placement == NormPlacement::kPre ? norm : kNoNorm;
}

template <typename T>
void LayerRows<T>::read_through(const NormParameters& norm) {
  norm_and_round(rows_, options_.size, state_, norm, /*norms_values=*/false, read_);
}

template <typename T>
float* LayerRows<T>::normed(const NormParameters& norm) {
  float* to = normed_room_.of(rows_, options_.size);
  norm_and_round(rows_, options_.size, state_, norm, /*norms_values=*/false, Activations<float>{to});
  return to;
}

template <typename T>
void LayerRows<T>::read_instead(float* values) {
  norm_and_round(rows_, options_.size, values, kNoNorm, /*norms_values=*/false, read_);
}

template <typename T>
float* LayerRows<T>::project(const PackedLinear<T>& linear) {
  float* projected = projected_room_.of(rows_, linear.out());
  linear.write(rows_, read_, projected);
  return projected;
}

template <typename T>
Activations<T> LayerRows<T>::rounded(float* values, std::int64_t columns) {
  if constexpr (std::is_same_v<T, float>) {
    return {values};
  } else {
    const Activations<T> to = attended_read_room_.of(rows_, columns);
    norm_and_round(rows_, columns, values, kNoNorm, /*norms_values=*/false, to);
    return to;
  }
}

template <typename T>
void LayerRows<T>::add(const PackedLinear<T>& linear, const Activations<T>& x, const NormParameters& own,
                       const NormParameters& next) {
  if (options_.norm_placement == NormPlacement::kPre) {
    linear.add_and_norm(rows_, x, state_, next, /*norms_sum=*/false, read_);
  } else {
    linear.add_and_norm(rows_, x, state_, own, /*norms_sum=*/true, read_);
    if (!next.gain.empty()) read_through(next);
  }
}

template <typename T>
template <typename Kept>
void LayerRows<T>::attend(const AttentionParameters<T>& parameters, const RowSources<Kept>& sources,
                          const NormParameters& next) {
  float* attended = attended_room_.of(rows_, heads_.width());
  kernels::node_attention(kernels::NodeAttention<Kept>{
      .rows = rows_,
      .num_heads = heads_.padded_heads,
      .head_size = heads_.padded_head_size,
      .ranges = sources.ranges,
      .sources = sources.pieces,
      .key_offset = sources.key_offset,
      .value_offset = sources.value_offset,
      .query = sources.query,
      .query_stride = sources.query_stride,
      .out = attended,
      .scale = 1.0f / std::sqrt(static_cast<float>(heads_.head_size)),
      .clamp = options_.clamp ? static_cast<float>(*options_.clamp) : std::numeric_limits<float>::infinity(),
      .score_vector = parameters.score_vector.empty() ? nullptr : parameters.score_vector.data(),
      .weights = sources.weights});
  add(parameters.output, rounded(attended, heads_.width()), parameters.norm, next);
}

template <typename T>
void LayerRows<T>::feed_forward(const FeedForwardParameters<T>& parameters, const NormParameters& next) {
  const Activations<T> inner = inner_room_.of(rows_, parameters.inner.out());
  parameters.inner.activate(rows_, read_, gemm_activation(options_.activation), inner);
  add(parameters.outer, inner, parameters.norm, next);
}

template class LayerRows<float>;
template class LayerRows<BFloat16>;
template class LayerRows<std::int8_t>;

template void LayerRows<float>::attend(const AttentionParameters<float>&, const RowSources<float>&,
                                       const NormParameters&);
template void LayerRows<BFloat16>::attend(const AttentionParameters<BFloat16>&, const RowSources<float>&,
                                          const NormParameters&);
template void LayerRows<BFloat16>::attend(const AttentionParameters<BFloat16>&, const RowSources<BFloat16>&,
                                          const NormParameters&);
template void LayerRows<std::int8_t>::attend(const AttentionParameters<std::int8_t>&, const RowSources<float>&,
                                             const NormParameters&);
template void LayerRows<std::int8_t>::attend(const AttentionParameters<std::int8_t>&, const RowSources<BFloat16>&,
                                             const NormParameters&);

}  // namespace edgewise
