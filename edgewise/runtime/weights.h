// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/safetensors.h"
#include "edgewise/runtime/neighbour_sum.h"
#include "edgewise/runtime/packed_linear.h"
#include "edgewise/options/transformer_options.h"

// A Transformer's parameters, packed. Shapes: M = size of a state, W = heads * head size as they lie side by side.

namespace edgewise {

/// How heads lie in a row of queries, keys or values: as kernels/attention/node_attention.h wants them, filled up with zeros.
struct HeadLayout {
  std::int64_t num_heads;         // of the model
  std::int64_t head_size;         // of the model
  std::int64_t padded_heads;      // a power of two
  std::int64_t padded_head_size;  // that makes a row a multiple of 16

  static HeadLayout of(const LayerOptions& options);
  std::int64_t width() const { return padded_heads * padded_head_size; }
};

template <typename T>
struct AttentionParameters {
  PackedLinear<T> query_key_value;  // M to 3 W, of self-attention
  PackedLinear<T> query;            // M to W, of attention to the input, as are keys and values:
  PackedLinear<T> key_value;        // M to 2 W
  PackedLinear<T> output;           // W to M
  std::vector<float> score_vector;  // [W], of additive scores only
  NormParameters norm;
};

template <typename T>
struct FeedForwardParameters {
  PackedLinear<T> inner;
  PackedLinear<T> outer;
  NormParameters norm;
};

template <typename T>
struct EncoderLayerParameters {
  AttentionParameters<T> self_attention;
  FeedForwardParameters<T> feed_forward;
};

template <typename T>
struct DecoderLayerParameters {
  AttentionParameters<T> self_attention;
  AttentionParameters<T> cross_attention;
  FeedForwardParameters<T> feed_forward;
};

/// Of a Universal Transformer: how near a row is to being done, sigmoid(<weight, norm(state)> + bias).
struct HaltingParameters {
  NormParameters norm;
  std::vector<float> weight;  // [M]
  float bias = 0;
};

/// Word vectors, scaled. They share memory where the model ties them.
struct WordTable {
  std::vector<float> vectors;  // [C, M]
  std::int64_t words = 0;
};

template <typename T>
struct Weights {
  TransformerOptions options;
  HeadLayout heads;
  WordTable input_words;
  WordTable output_words;                          // empty where they are the input's
  std::vector<EncoderLayerParameters<T>> encoder;  // of a Universal Transformer the one that is applied again and again
  FilterParameters encoder_filter;                 // of a Universal Transformer
  HaltingParameters encoder_halting;
  NormParameters encoder_norm;
  std::vector<DecoderLayerParameters<T>> decoder;
  FilterParameters decoder_filter;
  HaltingParameters decoder_halting;
  NormParameters decoder_norm;
  std::vector<PackedLinear<T>> generator;  // tiles of the vocabulary
  std::int64_t tile_size = 0;              // columns of all but the last

  const WordTable& words_of_output() const { return output_words.words == 0 ? input_words : output_words; }
};

/// Packs what a file holds, all of it and nothing else. With `is_bf16` weights of products of floats are rounded to
/// bf16. Throws Error for a file that does not fit the options, naming it by `file_name`.
template <typename T>
Weights<T> pack_weights(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                        bool is_bf16 = false);

}  // namespace edgewise
