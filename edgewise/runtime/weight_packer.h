// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/runtime/weight_matrix.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Reads parameters by name, each of a given shape and stored in any way that base/files/stored_parameters.h describes,
/// and records which of them were read. Throws Error, whose messages begin with "read_parameters", and StopException if
/// `stop` is set before a parameter is read.
class ParameterReader {
 public:
  ParameterReader(const SafetensorsFile& file, std::string file_name, const StopRequest* stop);

  /// Returns the values of a parameter.
  std::vector<float> read(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Returns a matrix in the type in which the file stores it; F16 becomes float.
  WeightMatrix read_matrix(const std::string& name, std::int64_t rows, std::int64_t columns);

  /// Throws Error if the file has a tensor that was not read.
  void expect_all_read() const;

 private:
  const TensorInfo& find(const std::string& name, std::initializer_list<std::int64_t> shape);

  const SafetensorsFile& file_;
  std::string file_name_;
  const StopRequest* stop_;
  std::set<std::string, std::less<>> read_;
};

/// Reads the parameters of a Transformer from a file of parameters, and stores them as a Store does:
///
///     using Type = …;                                              // T of Weights<T>
///     HeadLayout heads(const LayerOptions&);
///     std::int64_t query_place(std::int64_t i, const HeadLayout&);  // of element i of a row of queries
///     std::int64_t key_place(std::int64_t i, const HeadLayout&);    // of element i of a row of keys or values
///     std::int64_t tile_size(std::int64_t vocabulary);             // columns of a tile of the output projection
///     LinearOf<Type> linear(const WeightRows&, std::vector<float> bias);
///     LinearOf<Type> output_projection(const WeightRows&, std::vector<float> bias);
///     FloatsOf<Type> floats(std::vector<float>);
template <class Store>
class WeightPacker {
  using T = typename Store::Type;
  using Linear = LinearOf<T>;

 public:
  WeightPacker(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
               const StopRequest* stop, Store& store)
      : options_(options), stop_(stop), store_(store), heads_(store.heads(options)), reader_(file, file_name, stop) {
    for (std::int64_t i = 0; i < options.size; ++i) query_places_.push_back(store.query_place(i, heads_));
    for (std::int64_t i = 0; i < options.key_value_size(); ++i) key_places_.push_back(store.key_place(i, heads_));
  }

  Weights<T> pack() {
    Weights<T> weights;
    weights.options = options_;
    weights.heads = heads_;
    read_embeddings(weights);
    if (options_.num_learned_positions() > 0) {
      if (has_encoder(options_.kind)) weights.input_positions = read_positions("input_positions.weight");
      weights.output_positions = read_positions("output_positions.weight");
    }
    for (std::int64_t i = 0; i < options_.num_own_layers(options_.num_encoder_layers()); ++i) {
      const std::string layer = layer_prefix("encoder", i);
      weights.encoder.layers.add() = {read_self_attention(layer), {}, read_feed_forward(layer), {}};
    }
    for (std::int64_t i = 0; i < options_.num_own_layers(options_.decoder_layers); ++i) {
      const std::string layer = layer_prefix("decoder", i);
      LayerParameters<T>& parameters = weights.decoder.layers.add();
      if (options_.has_ssru()) {
        parameters.ssru = read_ssru(layer + "ssru");
        parameters.self_attention.norm = read_norm(layer + "ssru_norm");
      } else {
        parameters.self_attention = read_self_attention(layer, options_.has_separate_queries(i));
      }
      if (has_encoder(options_.kind)) parameters.cross_attention = read_cross_attention(layer);
      parameters.feed_forward = read_feed_forward(layer);
    }
    if (options_.share_layers && !is_universal()) {
      weights.encoder.layers.repeat_first(options_.num_encoder_layers());
      weights.decoder.layers.repeat_first(options_.decoder_layers);
    }
    for (std::size_t i = 0; i < options_.exits.layers.size(); ++i) {
      weights.decoder.exits.push_back(read_halting("exits." + std::to_string(i)));
    }
    if (options_.positions == PositionKind::kT5) {
      const auto read_bias = [&](const char* name) {
        return reader_.read(name, {options_.t5_buckets, options_.heads});
      };
      if (has_encoder(options_.kind)) weights.encoder.position_bias = read_bias("encoder.position_bias");
      weights.decoder.position_bias = read_bias("decoder.position_bias");
      if (options_.cross_distance) weights.decoder.cross_bias = read_bias("decoder.cross_position_bias");
    }
    if (is_universal()) {
      const std::int64_t width = options_.universal.filter_width;
      weights.encoder.convolution = read_convolution("encoder.filter", NeighbourWindow::centred(width));
      weights.decoder.convolution = read_convolution("decoder.filter", NeighbourWindow::causal(width));
      const AdaptiveSides adaptive = options_.universal.adaptive;
      if (encoder_adapts(adaptive)) weights.encoder.halting = read_halting("encoder.halting");
      if (decoder_adapts(adaptive)) weights.decoder.halting = read_halting("decoder.halting");
    }
    if (options_.final_norm) {
      if (has_encoder(options_.kind)) weights.encoder.norm = read_norm("encoder.norm");
      weights.decoder.norm = read_norm("decoder.norm");
    }
    reader_.expect_all_read();
    return weights;
  }

 private:
  // A Universal Transformer has one layer on each side, for all steps.
  bool is_universal() const { return options_.kind == ModelKind::kUniversal; }
  std::string layer_prefix(const std::string& side, std::int64_t index) const {
    return is_universal() ? side + ".layer." : side + ".layers." + std::to_string(index) + ".";
  }

  ConvolutionParameters read_convolution(const std::string& name, NeighbourWindow window) {
    if (options_.universal.transition == Transition::kFeedForward) return {};
    return {reader_.read(name + ".weight", {window.width(), options_.size}), window};
  }

  HaltingParameters read_halting(const std::string& name) {
    return {read_norm_parameters(name + ".norm"), reader_.read(name + ".linear.weight", {1, options_.size}),
            reader_.read(name + ".linear.bias", {1}).front()};
  }

  NormOf<T> read_norm(const std::string& name) {
    NormParameters norm = read_norm_parameters(name);
    return {store_.floats(std::move(norm.gain)), store_.floats(std::move(norm.bias)), norm.formula};
  }

  NormParameters read_norm_parameters(const std::string& name) {
    std::vector<float> gain = reader_.read(name + ".gain", {options_.size});
    std::vector<float> bias;
    if (options_.has_norm_bias()) bias = reader_.read(name + ".bias", {options_.size});
    return {std::move(gain), std::move(bias),
            norm_formula<kernels::NormFormula>(options_.norm, options_.size, options_.norm_epsilon)};
  }

  // Reads linear layers of feed-forward, and joins them into one.
  Linear read_linear(const std::vector<std::string>& names, std::int64_t in, std::int64_t out) {
    WeightMatrix weight;
    std::vector<float> bias;
    for (const std::string& name : names) {
      weight.append(reader_.read_matrix(name + ".weight", out, in));
      if (!options_.feed_forward_bias) continue;
      const std::vector<float> part = reader_.read(name + ".bias", {out});
      bias.insert(bias.end(), part.begin(), part.end());
    }
    return store_.linear(weight.all_rows(), std::move(bias));
  }

  // Returns a row of heads with padding.
  static std::vector<float> pad_heads(const std::vector<float>& values, const std::vector<std::int64_t>& places,
                                      std::int64_t width) {
    std::vector<float> padded(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < values.size(); ++i) padded[static_cast<std::size_t>(places[i])] = values[i];
    return padded;
  }

  // Reads several projections and joins them into one, whose result has the results of all of them.
  Linear read_projections(const std::string& name, std::initializer_list<std::string_view> parts) {
    WeightMatrix weight;
    std::vector<float> bias;
    for (const std::string_view part : parts) {
      const std::string prefix = name + "." + std::string(part);
      const bool is_query = part == "query";
      const std::vector<std::int64_t>& places = is_query ? query_places_ : key_places_;
      const std::int64_t width = is_query ? heads_.query_width() : heads_.width();
      weight.append(
          reader_.read_matrix(prefix + ".weight", std::ssize(places), options_.size).place_rows(places, width));
      if (!options_.attention_bias) continue;
      const std::vector<float> part_bias =
          pad_heads(reader_.read(prefix + ".bias", {std::ssize(places)}), places, width);
      bias.insert(bias.end(), part_bias.begin(), part_bias.end());
    }
    return store_.linear(weight.all_rows(), std::move(bias));
  }

  Linear read_attention_output(const std::string& name) {
    const WeightMatrix weight = reader_.read_matrix(name + ".output.weight", options_.size, options_.size)
                                    .place_columns(query_places_, heads_.query_width());
    std::vector<float> bias;
    if (options_.attention_bias) bias = reader_.read(name + ".output.bias", {options_.size});
    return store_.linear(weight.all_rows(), std::move(bias));
  }

  void read_common_attention_parameters(const std::string& name, AttentionParameters<T>& attention) {
    attention.output = read_attention_output(name);
    attention.norm = read_norm(name + "_norm");
    if (options_.score == ScoreKind::kAdditive) {
      attention.score_vector = store_.floats(pad_heads(
          reader_.read(name + ".score_vector", {options_.heads, heads_.head_size}), key_places_, heads_.width()));
    }
  }

  AttentionParameters<T> read_self_attention(const std::string& layer, bool has_separate_queries = false) {
    AttentionParameters<T> attention;
    if (has_separate_queries) {
      attention.query = read_projections(layer + "self_attention", {"query"});
      attention.key_value = read_projections(layer + "self_attention", {"key", "value"});
    } else {
      attention.query_key_value = read_projections(layer + "self_attention", {"query", "key", "value"});
    }
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
    std::vector<std::string> inner = {layer + "feed_forward.inner"};
    if (options_.feed_forward_gate) inner.insert(inner.begin(), layer + "feed_forward.gate");
    return {read_linear(inner, options_.size, options_.feed_forward),
            read_linear({layer + "feed_forward.outer"}, options_.feed_forward, options_.size),
            read_norm(layer + "feed_forward_norm")};
  }

  // Only the forget gates have biases.
  Linear read_ssru(const std::string& name) {
    WeightMatrix weight = reader_.read_matrix(name + ".forget.weight", options_.size, options_.size);
    weight.append(reader_.read_matrix(name + ".input.weight", options_.size, options_.size));
    std::vector<float> bias = reader_.read(name + ".forget.bias", {options_.size});
    bias.resize(static_cast<std::size_t>(2 * options_.size));
    return store_.linear(weight.all_rows(), std::move(bias));
  }

  typename Weights<T>::Table read_positions(const std::string& name) {
    return {store_.floats(reader_.read(name, {options_.max_positions, options_.size})), options_.max_positions};
  }

  void read_embeddings(Weights<T>& weights) {
    const std::int64_t num_inputs = options_.input_vocabulary;
    const std::int64_t num_outputs = options_.output_vocabulary;
    WeightMatrix input;
    if (has_encoder(options_.kind)) {
      input = reader_.read_matrix("input_embedding.weight", num_inputs, options_.size);
    }
    if (options_.tying == Tying::kAll) {
      pack_output_projection(weights, input);
    } else {
      WeightMatrix output = reader_.read_matrix("output_embedding.weight", num_outputs, options_.size);
      if (options_.tying == Tying::kNone) {
        pack_output_projection(weights, reader_.read_matrix("generator.weight", num_outputs, options_.size));
      } else {
        pack_output_projection(weights, output);
      }
      weights.own_output_embedding = {store_.floats(output.take_floats()), num_outputs};
    }
    if (has_encoder(options_.kind)) weights.input_embedding = {store_.floats(input.take_floats()), num_inputs};
  }

  void pack_output_projection(Weights<T>& weights, const WeightMatrix& table) {
    std::vector<float> bias;
    if (options_.output_bias) bias = reader_.read("generator.bias", {options_.output_vocabulary});
    weights.tile_size = store_.tile_size(options_.output_vocabulary);
    for (std::int64_t first = 0; first < options_.output_vocabulary; first += weights.tile_size) {
      throw_if_set(stop_);
      const std::int64_t count = std::min(weights.tile_size, options_.output_vocabulary - first);
      const std::span biases = bias.empty() ? std::span<float>() : std::span(bias).subspan(first, count);
      weights.output_projection.push_back(
          store_.output_projection(table.some_rows(first, count), {biases.begin(), biases.end()}));
    }
  }

  const TransformerOptions& options_;
  const StopRequest* stop_;
  Store& store_;
  HeadLayout heads_;
  // The index of each element of a row of queries [M], or of keys or values, in a row with padding.
  std::vector<std::int64_t> query_places_, key_places_;
  ParameterReader reader_;
};

}  // namespace edgewise
