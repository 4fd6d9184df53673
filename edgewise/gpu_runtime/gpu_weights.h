// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/gpu_runtime/gpu_array.h"
#include "edgewise/runtime/weights.h"

// The parameters of a Transformer in memory of the GPU. T, the type of operands of products, is float or BFloat16.
// Shapes: M = size of a state.
namespace edgewise {

/// A norm. A norm without a gain is switched off: it returns its input.
struct GpuNorm {
  GpuArray<float> gain;
  GpuArray<float> bias;
  kernels::NormFormula formula = {};

  bool is_on() const { return gain.data() != nullptr; }
};

/// Computes x W^T + b.
template <typename T>
struct GpuLinear {
  GpuArray<T> weight;    // [outputs, inputs]
  GpuArray<float> bias;  // [outputs], or empty
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

template <typename T>
struct GpuAttentionParameters {
  GpuLinear<T> query_key_value;  // M to 3 M, self-attention only
  GpuLinear<T> query;            // M to M, cross-attention only
  GpuLinear<T> key_value;        // M to 2 M, cross-attention only
  GpuLinear<T> output;
  GpuNorm norm;
};

template <typename T>
struct GpuFeedForwardParameters {
  GpuLinear<T> inner;
  GpuLinear<T> outer;
  GpuNorm norm;
};

template <typename T>
struct GpuEncoderLayer {
  GpuAttentionParameters<T> self_attention;
  GpuFeedForwardParameters<T> feed_forward;
};

template <typename T>
struct GpuDecoderLayer {
  GpuAttentionParameters<T> self_attention;
  GpuAttentionParameters<T> cross_attention;
  GpuFeedForwardParameters<T> feed_forward;
};

/// Vectors of tokens or positions.
struct GpuTable {
  GpuArray<float> vectors;  // [num_rows, M]
  std::int64_t num_rows = 0;
};

template <typename T>
struct GpuWeights {
  std::unique_ptr<const GpuStream> stream;  // has copied the parameters, and frees them
  TransformerOptions options;
  GpuTable input_embedding;
  GpuTable own_output_embedding;  // empty if the output shares the input's table
  GpuTable input_positions;       // these tables are empty if position vectors have a formula
  GpuTable output_positions;
  std::vector<GpuEncoderLayer<T>> encoder;
  GpuNorm encoder_norm;
  std::vector<GpuDecoderLayer<T>> decoder;
  GpuNorm decoder_norm;
  GpuLinear<T> output_projection;  // more outputs than tokens, so that each row of logits begins at 16 bytes

  const GpuTable& output_embedding() const {
    return own_output_embedding.num_rows == 0 ? input_embedding : own_output_embedding;
  }
};

/// Copies parameters to the GPU, and rounds weights to T. Throws std::exception if the GPU has not enough memory.
template <typename T>
GpuWeights<T> copy_weights_to_gpu(const Weights<PlainLinear>& weights);

}  // namespace edgewise
