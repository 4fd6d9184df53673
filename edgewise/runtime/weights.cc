// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weights.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <span>
#include <utility>

#include "edgewise/options/layer_kinds.h"
#include "edgewise/runtime/parameter_reader.h"

namespace edgewise {
namespace {

// The number of tokens in a tile of the output projection. The weights of a tile, and its logits for a hundred states,
// fit into a core's L2 cache.
constexpr std::int64_t kTileSize = 1024;

constexpr std::int64_t kVectorSize = 16;  // node_attention needs rows of a multiple of 16 elements

HeadLayout make_plain_head_layout(const LayerOptions& options) {
  const std::int64_t head_size = options.size / options.heads;
  return {options.heads, head_size, options.heads, head_size};
}

/// Lists the index of each element of a row of a model in a row of the layout: element k of a head has index
/// head * head_size + k in the model and in plain weights, and k * padded_heads + head in packed weights.
std::vector<std::int64_t> list_head_places(const LayerOptions& options, const HeadLayout& heads, bool is_plain) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < options.size; ++i) {
    places.push_back(is_plain ? i : i % heads.head_size * heads.padded_heads + i / heads.head_size);
  }
  return places;
}

template <typename T>
class WeightPacker {
  using Linear = LinearOf<T>;

 public:
  WeightPacker(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
               const PackingOptions& packing)
      : options_(options),
        heads_(kIsPlain<T> ? make_plain_head_layout(options) : make_head_layout(options)),
        head_places_(list_head_places(options, heads_, kIsPlain<T>)),
        packing_(packing),
        reader_(file, file_name, packing.stop) {}

  Weights<T> pack() {
    Weights<T> weights;
    weights.options = options_;
    weights.heads = heads_;
    read_embeddings(weights);
    if (options_.num_learned_positions() > 0) {
      weights.input_positions = read_positions("input_positions.weight");
      weights.output_positions = read_positions("output_positions.weight");
    }
    for (std::int64_t i = 0; i < num_layers(options_.encoder_layers); ++i) {
      const std::string layer = layer_prefix("encoder", i);
      weights.encoder.push_back({read_self_attention(layer), read_feed_forward(layer)});
    }
    for (std::int64_t i = 0; i < num_layers(options_.decoder_layers); ++i) {
      const std::string layer = layer_prefix("decoder", i);
      weights.decoder.push_back({read_self_attention(layer), read_cross_attention(layer), read_feed_forward(layer)});
    }
    if (is_universal()) {
      const std::int64_t width = options_.universal.filter_width;
      weights.encoder_filter = read_filter("encoder.filter", NeighbourWindow::centred(width));
      weights.decoder_filter = read_filter("decoder.filter", NeighbourWindow::causal(width));
      const AdaptiveSides adaptive = options_.universal.adaptive;
      if (encoder_adapts(adaptive)) weights.encoder_halting = read_halting("encoder.halting");
      if (decoder_adapts(adaptive)) weights.decoder_halting = read_halting("decoder.halting");
    }
    if (options_.final_norm) {
      weights.encoder_norm = read_norm("encoder.norm");
      weights.decoder_norm = read_norm("decoder.norm");
    }
    reader_.expect_all_read();
    return weights;
  }

 private:
  // A Universal Transformer has one layer on each side, for all steps.
  bool is_universal() const { return options_.kind == ModelKind::kUniversal; }
  std::int64_t num_layers(std::int64_t count) const { return is_universal() ? 1 : count; }
  std::string layer_prefix(const std::string& side, std::int64_t index) const {
    return is_universal() ? side + ".layer." : side + ".layers." + std::to_string(index) + ".";
  }

  DepthwiseFilter read_filter(const std::string& name, NeighbourWindow window) {
    if (options_.universal.transition == Transition::kFeedForward) return {};
    return {reader_.read(name + ".weight", {window.width(), options_.size}), window};
  }

  HaltingParameters read_halting(const std::string& name) {
    return {read_norm(name + ".norm"), reader_.read(name + ".linear.weight", {1, options_.size}),
            reader_.read(name + ".linear.bias", {1}).front()};
  }

  NormParameters read_norm(const std::string& name) {
    return {reader_.read(name + ".gain", {options_.size}), reader_.read(name + ".bias", {options_.size}),
            norm_formula<kernels::NormFormula>(options_.norm, options_.size, options_.norm_epsilon)};
  }

  Linear read_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    const WeightMatrix weight = reader_.read_matrix(name + ".weight", out, in);
    return make_linear(weight.all_rows(), reader_.read(name + ".bias", {out}));
  }

  Linear make_linear(const WeightRows& weight, std::vector<float> bias) const {
    if constexpr (kIsPlain<T>) {
      return {weight, std::move(bias)};
    } else {
      return {weight, std::move(bias), packing_.is_bf16};
    }
  }

  // Returns a row of heads with padding.
  std::vector<float> pad_heads(const std::vector<float>& values) const {
    std::vector<float> padded(static_cast<std::size_t>(heads_.width()));
    for (std::size_t i = 0; i < values.size(); ++i) padded[static_cast<std::size_t>(head_places_[i])] = values[i];
    return padded;
  }

  // Reads several projections and joins them into one, whose result has the results of all of them.
  Linear read_projections(const std::string& name, std::initializer_list<const char*> parts) {
    WeightMatrix weight;
    std::vector<float> bias;
    for (const char* part : parts) {
      const std::string prefix = name + "." + part;
      weight.append(reader_.read_matrix(prefix + ".weight", options_.size, options_.size)
                        .place_rows(head_places_, heads_.width()));
      if (!options_.attention_bias) continue;
      const std::vector<float> part_bias = pad_heads(reader_.read(prefix + ".bias", {options_.size}));
      bias.insert(bias.end(), part_bias.begin(), part_bias.end());
    }
    return make_linear(weight.all_rows(), std::move(bias));
  }

  Linear read_attention_output(const std::string& name) {
    const WeightMatrix weight = reader_.read_matrix(name + ".output.weight", options_.size, options_.size)
                                    .place_columns(head_places_, heads_.width());
    std::vector<float> bias;
    if (options_.attention_bias) bias = reader_.read(name + ".output.bias", {options_.size});
    return make_linear(weight.all_rows(), std::move(bias));
  }

  void read_common_attention_parameters(const std::string& name, AttentionParameters<T>& attention) {
    attention.output = read_attention_output(name);
    attention.norm = read_norm(name + "_norm");
    if (options_.score == ScoreKind::kAdditive) {
      attention.score_vector = pad_heads(reader_.read(name + ".score_vector", {options_.heads, heads_.head_size}));
    }
  }

  AttentionParameters<T> read_self_attention(const std::string& layer) {
    AttentionParameters<T> attention;
    attention.query_key_value = read_projections(layer + "self_attention", {"query", "key", "value"});
    read_common_attention_parameters(layer + "self_attention", attention);
    return attention;
  }

  AttentionParameters<T> read_cross_attention(const std::string& layer) {
    AttentionParameters<T> attention;
    attention.query = read_projections(layer + "cross_attention", {"query"});
    attention.key_value = read_projections(layer + "cross_attention", {"key", "value"});
    read_common_attention_parameters(layer + "cross_attention", attention);
    return attention;
  }

  FeedForwardParameters<T> read_feed_forward(const std::string& layer) {
    return {read_linear(layer + "feed_forward.inner", options_.size, options_.feed_forward),
            read_linear(layer + "feed_forward.outer", options_.feed_forward, options_.size),
            read_norm(layer + "feed_forward_norm")};
  }

  EmbeddingTable read_positions(const std::string& name) {
    return {reader_.read(name, {options_.max_positions, options_.size}), options_.max_positions};
  }

  void read_embeddings(Weights<T>& weights) {
    const std::int64_t num_inputs = options_.input_vocabulary;
    const std::int64_t num_outputs = options_.output_vocabulary;
    WeightMatrix input = reader_.read_matrix("input_embedding.weight", num_inputs, options_.size);
    if (options_.tying == Tying::kAll) {
      pack_output_projection(weights, input);
    } else {
      WeightMatrix output = reader_.read_matrix("output_embedding.weight", num_outputs, options_.size);
      if (options_.tying == Tying::kNone) {
        pack_output_projection(weights, reader_.read_matrix("generator.weight", num_outputs, options_.size));
      } else {
        pack_output_projection(weights, output);
      }
      weights.own_output_embedding = {output.take_floats(), num_outputs};
    }
    weights.input_embedding = {input.take_floats(), num_inputs};
  }

  void pack_output_projection(Weights<T>& weights, const WeightMatrix& table) {
    const std::vector<float> bias = reader_.read("generator.bias", {options_.output_vocabulary});
    weights.tile_size = kIsPlain<T> ? options_.output_vocabulary : std::min(kTileSize, options_.output_vocabulary);
    for (std::int64_t first = 0; first < options_.output_vocabulary; first += weights.tile_size) {
      throw_if_set(packing_.stop);
      const std::int64_t count = std::min(weights.tile_size, options_.output_vocabulary - first);
      const std::span biases = std::span(bias).subspan(first, count);
      weights.output_projection.push_back(make_linear(table.some_rows(first, count), {biases.begin(), biases.end()}));
    }
  }

  const TransformerOptions& options_;
  HeadLayout heads_;
  std::vector<std::int64_t> head_places_;  // [M], the index of each element of a row of heads in a row with padding
  PackingOptions packing_;
  ParameterReader reader_;
};

}  // namespace

HeadLayout make_head_layout(const LayerOptions& options) {
  const std::int64_t head_size = options.size / options.heads;
  const auto heads = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.heads)));
  const std::int64_t step = std::max<std::int64_t>(1, kVectorSize / heads);
  return {options.heads, head_size, heads, (head_size + step - 1) / step * step};
}

template <typename T>
Weights<T> pack_weights(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                        const PackingOptions& packing) {
  return WeightPacker<T>(options, file, file_name, packing).pack();
}

template Weights<float> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                     const PackingOptions&);
template Weights<BFloat16> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                        const PackingOptions&);
template Weights<std::int8_t> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                           const PackingOptions&);
template Weights<PlainLinear> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                           const PackingOptions&);

}  // namespace edgewise
