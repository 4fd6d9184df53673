// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/graph/neighbours.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/runtime/packed_linear.h"

// The parameters of a Transformer. Shapes: M = size of a state, W = HeadLayout::width(), Q = HeadLayout::query_width(),
// F = inner size of feed-forward.
namespace edgewise {

/// The layout of heads in a row of keys or values: padded with zeros to the sizes that
/// kernels/attention/node_attention.h requires, or on a GPU as the model has them. A row of queries has `group_size`
/// such rows, one after the other: row g has the heads that are number g of those that share a head of keys.
struct HeadLayout {
  std::int64_t num_heads;         // heads of queries
  std::int64_t head_size;         // elements of a head of the model
  std::int64_t padded_heads;      // heads of keys, and zeros up to a power of two
  std::int64_t padded_head_size;  // makes width() a multiple of 16
  std::int64_t group_size = 1;    // heads of queries that share a head of keys

  std::int64_t num_key_heads() const { return num_heads / group_size; }
  std::int64_t width() const { return padded_heads * padded_head_size; }  // elements of a key, or of a value
  std::int64_t query_width() const { return group_size * width(); }
  std::int64_t projected_width() const { return query_width() + 2 * width(); }  // query, key and value
};

HeadLayout make_head_layout(const LayerOptions& options);

/// The types of parameters. T names the backend and the type of its weights: float, BFloat16 or std::int8_t,
/// packed for matrix products of the CPU, or OnGpu<float> or OnGpu<BFloat16> (gpu/weights.h).
template <typename T>
struct ParameterTypes {
  using Linear = PackedLinear<T>;
  using Norm = NormParameters;
  using Floats = std::vector<float>;
};

template <typename T>
using LinearOf = typename ParameterTypes<T>::Linear;
template <typename T>
using NormOf = typename ParameterTypes<T>::Norm;
template <typename T>
using FloatsOf = typename ParameterTypes<T>::Floats;

template <typename T>
struct AttentionParameters {
  LinearOf<T> query_key_value;  // M to Q + 2 W, self-attention only
  LinearOf<T> query;            // M to Q, cross-attention, and self-attention with has_separate_queries()
  LinearOf<T> key_value;        // M to 2 W, likewise
  LinearOf<T> output;           // Q to M
  FloatsOf<T> score_vector;     // [W], additive scores only
  NormOf<T> norm;
};

template <typename T>
struct FeedForwardParameters {
  LinearOf<T> inner;  // M to F or, with a gate, to 2 F: the gate first
  LinearOf<T> outer;  // F to M
  NormOf<T> norm;
};

template <typename T>
struct LayerParameters {
  AttentionParameters<T> self_attention;   // with an SSRU its norm alone
  AttentionParameters<T> cross_attention;  // decoder only; empty in a language model
  FeedForwardParameters<T> feed_forward;
  LinearOf<T> ssru;  // M to 2 M, the forget gates and then the inputs; empty without an SSRU
};

/// The depthwise filter of a separable convolution; nn/linear.h has the formula. A filter without
/// weights is switched off.
struct ConvolutionParameters {
  std::vector<float> weight;  // [filter width, M]
  NeighbourWindow window;

  bool is_on() const { return !weight.empty(); }
};

/// The halting unit of a Universal Transformer or of an exit: sigmoid(<weight, norm(state)> + bias) is a row's halting
/// probability.
struct HaltingParameters {
  NormParameters norm;
  std::vector<float> weight;  // [M]
  float bias = 0;
};

/// The layers of a stack, of which the last ones may be the first one again.
template <typename T>
class LayerList {
 public:
  LayerParameters<T>& add() {
    ++size_;
    return layers_.emplace_back();
  }

  /// Makes the list `size` layers long, by the first layer again and again.
  void repeat_first(std::int64_t size) { size_ = static_cast<std::size_t>(size); }

  std::size_t size() const { return size_; }
  const LayerParameters<T>& front() const { return layers_.front(); }
  const LayerParameters<T>& operator[](std::size_t layer) const { return layers_[layer % layers_.size()]; }

 private:
  std::vector<LayerParameters<T>> layers_;  // all layers, or the first one alone
  std::size_t size_ = 0;
};

/// The layers of an encoder or a decoder.
template <typename T>
struct StackParameters {
  LayerList<T> layers;                   // a single one in a Universal Transformer
  ConvolutionParameters convolution;     // Universal Transformer only
  HaltingParameters halting;             // empty unless the side is adaptive
  std::vector<HaltingParameters> exits;  // decoder only; one for each exit
  NormOf<T> norm;                        // after the last layer
  std::vector<float> position_bias;      // [buckets, heads], t5's only
  std::vector<float> cross_bias;         // likewise, of cross-attention; decoder with cross_distance only
};

/// A table of vectors of tokens or positions.
template <class Floats>
struct EmbeddingTableOf {
  Floats vectors;  // [num_rows, M]
  std::int64_t num_rows = 0;
};
using EmbeddingTable = EmbeddingTableOf<std::vector<float>>;

/// The embeddings of a side of the model.
template <class Floats>
struct SideEmbeddingsOf {
  const EmbeddingTableOf<Floats>& tokens;
  const EmbeddingTableOf<Floats>& positions;  // empty unless position vectors are learned
};
using SideEmbeddings = SideEmbeddingsOf<std::vector<float>>;

template <typename T>
struct Weights {
  using Table = EmbeddingTableOf<FloatsOf<T>>;
  using Side = SideEmbeddingsOf<FloatsOf<T>>;

  TransformerOptions options;
  HeadLayout heads;
  Table input_embedding;       // empty in a language model, as are input_positions and encoder
  Table own_output_embedding;  // empty if the output shares the input's table
  Table input_positions;       // these tables are empty unless position vectors are learned
  Table output_positions;
  StackParameters<T> encoder, decoder;
  std::vector<LinearOf<T>> output_projection;  // tiles of the vocabulary; a single one on a GPU
  std::int64_t tile_size = 0;                  // columns of each tile but the last

  Side input_side() const { return {input_embedding, input_positions}; }
  Side output_side() const {
    return {own_output_embedding.num_rows == 0 ? input_embedding : own_output_embedding, output_positions};
  }
};

struct PackingOptions {
  bool is_bf16 = false;               // whether weights are first rounded to bf16
  const StopRequest* stop = nullptr;  // read before each parameter, and before each tile of the vocabulary
};

/// Reads and packs the parameters in `file`. Weights that the file stores in the type T, BFloat16 or std::int8_t with
/// scales, are packed unchanged. Throws Error, which calls the file `file_name`, for a parameter that is missing, of
/// another shape, or not part of the model; and StopException after a stop request.
template <typename T>
Weights<T> pack_weights(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                        const PackingOptions& packing = {});

}  // namespace edgewise
