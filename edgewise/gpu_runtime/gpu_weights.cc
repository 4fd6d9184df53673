// SPDX-License-Identifier: Apache-2.0
#include "edgewise/gpu_runtime/gpu_weights.h"

#include <limits>
#include <span>

namespace edgewise {
namespace {

GpuArray<float> copy_floats(const std::vector<float>& values) {
  return values.empty() ? GpuArray<float>() : copy_to_gpu(std::span(values));
}

GpuNorm copy_norm(const NormParameters& norm) { return {copy_floats(norm.gain), copy_floats(norm.bias), norm.formula}; }

GpuTable copy_table(const EmbeddingTable& table) { return {copy_floats(table.vectors), table.num_rows}; }

template <typename T>
GpuLinear<T> copy_linear(const PlainLinear& linear) {
  const std::vector<T> weight(linear.weight.begin(), linear.weight.end());
  return {copy_to_gpu(std::span(weight)), copy_floats(linear.bias), linear.inputs, linear.outputs};
}

/// Returns the layer with a multiple of 4 outputs. The additional ones are -infinity, so that they have no probability.
/// The order in which a kernel sums the logits of a row depends on the row's alignment, so on the other rows.
PlainLinear pad_outputs(PlainLinear linear) {
  linear.outputs = (linear.outputs + 3) / 4 * 4;
  linear.weight.resize(static_cast<std::size_t>(linear.outputs * linear.inputs));
  linear.bias.resize(static_cast<std::size_t>(linear.outputs), -std::numeric_limits<float>::infinity());
  return linear;
}

template <typename T>
GpuAttentionParameters<T> copy_attention(const AttentionParameters<PlainLinear>& attention) {
  return {.query_key_value = copy_linear<T>(attention.query_key_value),
          .query = copy_linear<T>(attention.query),
          .key_value = copy_linear<T>(attention.key_value),
          .output = copy_linear<T>(attention.output),
          .norm = copy_norm(attention.norm)};
}

template <typename T>
GpuFeedForwardParameters<T> copy_feed_forward(const FeedForwardParameters<PlainLinear>& parameters) {
  return {copy_linear<T>(parameters.inner), copy_linear<T>(parameters.outer), copy_norm(parameters.norm)};
}

}  // namespace

template <typename T>
GpuWeights<T> copy_weights_to_gpu(const Weights<PlainLinear>& weights) {
  GpuWeights<T> copy = {.options = weights.options,
                        .input_embedding = copy_table(weights.input_embedding),
                        .own_output_embedding = copy_table(weights.own_output_embedding),
                        .input_positions = copy_table(weights.input_positions),
                        .output_positions = copy_table(weights.output_positions),
                        .encoder = {},
                        .encoder_norm = copy_norm(weights.encoder_norm),
                        .decoder = {},
                        .decoder_norm = copy_norm(weights.decoder_norm),
                        .output_projection = copy_linear<T>(pad_outputs(weights.output_projection.front()))};
  for (const auto& layer : weights.encoder) {
    copy.encoder.push_back({copy_attention<T>(layer.self_attention), copy_feed_forward<T>(layer.feed_forward)});
  }
  for (const auto& layer : weights.decoder) {
    copy.decoder.push_back({copy_attention<T>(layer.self_attention), copy_attention<T>(layer.cross_attention),
                            copy_feed_forward<T>(layer.feed_forward)});
  }
  return copy;
}

template GpuWeights<float> copy_weights_to_gpu(const Weights<PlainLinear>&);
template GpuWeights<BFloat16> copy_weights_to_gpu(const Weights<PlainLinear>&);

}  // namespace edgewise
