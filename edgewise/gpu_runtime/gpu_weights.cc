// SPDX-License-Identifier: Apache-2.0
#include "edgewise/gpu_runtime/gpu_weights.h"

#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace edgewise {
namespace {

/// Copies parameters to memory of a stream.
class WeightsCopy {
 public:
  explicit WeightsCopy(const GpuStream& stream) : stream_(stream) {}

  template <typename T>
  GpuArray<T> array(const std::vector<T>& values) {
    GpuArray<T> copy;
    if (!values.empty()) copy_.begin(std::span<const T>(values), copy, stream_);
    return copy;
  }

  GpuNorm norm(const NormParameters& norm) { return {array(norm.gain), array(norm.bias), norm.formula}; }

  GpuTable table(const EmbeddingTable& table) { return {array(table.vectors), table.num_rows}; }

  template <typename T>
  GpuLinear<T> linear(const PlainLinear& linear) {
    const std::vector<T> weight(linear.weight.begin(), linear.weight.end());
    return {array(weight), array(linear.bias), linear.inputs, linear.outputs};
  }

  template <typename T>
  GpuAttentionParameters<T> attention(const AttentionParameters<PlainLinear>& attention) {
    return {.query_key_value = linear<T>(attention.query_key_value),
            .query = linear<T>(attention.query),
            .key_value = linear<T>(attention.key_value),
            .output = linear<T>(attention.output),
            .norm = norm(attention.norm)};
  }

  template <typename T>
  GpuFeedForwardParameters<T> feed_forward(const FeedForwardParameters<PlainLinear>& parameters) {
    return {linear<T>(parameters.inner), linear<T>(parameters.outer), norm(parameters.norm)};
  }

 private:
  const GpuStream& stream_;
  StagedCopy copy_;
};

/// Returns the layer with a multiple of 4 outputs. The additional ones are -infinity, so that they have no probability.
/// The order in which a kernel sums the logits of a row depends on the row's alignment, so on the other rows.
PlainLinear pad_outputs(PlainLinear linear) {
  linear.outputs = (linear.outputs + 3) / 4 * 4;
  linear.weight.resize(static_cast<std::size_t>(linear.outputs * linear.inputs));
  linear.bias.resize(static_cast<std::size_t>(linear.outputs), -std::numeric_limits<float>::infinity());
  return linear;
}

}  // namespace

template <typename T>
GpuWeights<T> copy_weights_to_gpu(const Weights<PlainLinear>& weights) {
  auto stream = std::make_unique<const GpuStream>();
  WeightsCopy copy(*stream);
  GpuWeights<T> on_gpu = {.stream = nullptr,
                          .options = weights.options,
                          .input_embedding = copy.table(weights.input_embedding),
                          .own_output_embedding = copy.table(weights.own_output_embedding),
                          .input_positions = copy.table(weights.input_positions),
                          .output_positions = copy.table(weights.output_positions),
                          .encoder = {},
                          .encoder_norm = copy.norm(weights.encoder_norm),
                          .decoder = {},
                          .decoder_norm = copy.norm(weights.decoder_norm),
                          .output_projection = copy.template linear<T>(pad_outputs(weights.output_projection.front()))};
  for (const auto& layer : weights.encoder) {
    on_gpu.encoder.push_back(
        {copy.template attention<T>(layer.self_attention), copy.template feed_forward<T>(layer.feed_forward)});
  }
  for (const auto& layer : weights.decoder) {
    on_gpu.decoder.push_back({copy.template attention<T>(layer.self_attention),
                              copy.template attention<T>(layer.cross_attention),
                              copy.template feed_forward<T>(layer.feed_forward)});
  }
  device::wait_for(*stream);
  on_gpu.stream = std::move(stream);
  return on_gpu;
}

template GpuWeights<float> copy_weights_to_gpu(const Weights<PlainLinear>&);
template GpuWeights<BFloat16> copy_weights_to_gpu(const Weights<PlainLinear>&);

}  // namespace edgewise
