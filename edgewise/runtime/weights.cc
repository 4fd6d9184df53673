// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weights.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "edgewise/runtime/parameter_reader.h"
#include "edgewise/options/norm_formula.h"

namespace edgewise {
namespace {

// A tile's logits of a hundred rows, and its weights, stay in a core's second cache.
constexpr std::int64_t kTileSize = 1024;

constexpr std::int64_t kVector = 16;

template <typename T>
class Packer {
 public:
  Packer(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name, bool is_bf16)
      : options_(options), heads_(HeadLayout::of(options)), is_bf16_(is_bf16), reader_(file, file_name) {}

  Weights<T> pack() {
    Weights<T> weights;
    weights.options = options_;
    weights.heads = heads_;
    pack_words(weights);
    for (const std::string& layer : layers("encoder", options_.encoder_layers)) {
      weights.encoder.push_back({self_attention(layer), feed_forward(layer)});
    }
    for (const std::string& layer : layers("decoder", options_.decoder_layers)) {
      weights.decoder.push_back({self_attention(layer), cross_attention(layer), feed_forward(layer)});
    }
    if (options_.kind == ModelKind::kUniversal) {
      const std::int64_t width = options_.universal.filter_width;
      weights.encoder_filter = filter("encoder.filter", Reach::around(width));
      weights.decoder_filter = filter("decoder.filter", Reach::up_to(width));
      weights.encoder_halting = halting("encoder.halting");
      weights.decoder_halting = halting("decoder.halting");
    }
    if (options_.final_norm) {
      weights.encoder_norm = norm("encoder.norm");
      weights.decoder_norm = norm("decoder.norm");
    }
    reader_.expect_all_read();
    return weights;
  }

 private:
  std::vector<std::string> layers(const std::string& side, std::int64_t count) const {
    if (options_.kind == ModelKind::kUniversal) return {side + ".layer."};
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < count; ++i) names.push_back(side + ".layers." + std::to_string(i) + ".");
    return names;
  }

  FilterParameters filter(const std::string& name, Reach reach) {
    if (options_.universal.transition == Transition::kFeedForward) return {};
    return {reader_.read(name + ".weight", {reach.width(), options_.size}), reach};
  }

  HaltingParameters halting(const std::string& name) {
    return {norm(name + ".norm"), reader_.read(name + ".linear.weight", {1, options_.size}),
            reader_.read(name + ".linear.bias", {1}).front()};
  }

  NormParameters norm(const std::string& name) {
    return {reader_.read(name + ".gain", {options_.size}), reader_.read(name + ".bias", {options_.size}),
            norm_formula<kernels::NormFormula>(options_.norm, options_.size, options_.norm_epsilon)};
  }

  PackedLinear<T> linear(const std::string& name, std::int64_t in, std::int64_t out) {
    return packed(reader_.read(name + ".weight", {out, in}), reader_.read(name + ".bias", {out}), in, out);
  }

  PackedLinear<T> packed(const std::vector<float>& weight, std::vector<float> bias, std::int64_t in,
                         std::int64_t out) const {
    return PackedLinear<T>(weight, std::move(bias), in, out, is_bf16_);
  }

  // Where element (head, k) of a projection lies.
  std::int64_t place(std::int64_t i) const { return i % heads_.head_size * heads_.padded_heads + i / heads_.head_size; }

  std::vector<float> spread(const std::vector<float>& values, std::int64_t row_size) const {
    std::vector<float> spread(static_cast<std::size_t>(heads_.width() * row_size));
    for (std::int64_t i = 0; i * row_size < std::ssize(values); ++i) {
      std::copy_n(values.begin() + i * row_size, row_size, spread.begin() + place(i) * row_size);
    }
    return spread;
  }

  // Several projections below each other.
  PackedLinear<T> projections(const std::string& name, std::initializer_list<const char*> parts) {
    std::vector<float> weight, bias;
    for (const char* part : parts) {
      const std::string of_part = name + "." + part;
      const auto append = [](std::vector<float>& to, const std::vector<float>& more) {
        to.insert(to.end(), more.begin(), more.end());
      };
      append(weight, spread(reader_.read(of_part + ".weight", {options_.size, options_.size}), options_.size));
      if (options_.attention_bias) append(bias, spread(reader_.read(of_part + ".bias", {options_.size}), 1));
    }
    const auto width = heads_.width() * static_cast<std::int64_t>(parts.size());
    return packed(weight, std::move(bias), options_.size, width);
  }

  PackedLinear<T> output(const std::string& name) {
    const std::vector<float> stored = reader_.read(name + ".output.weight", {options_.size, options_.size});
    std::vector<float> weight(static_cast<std::size_t>(options_.size * heads_.width()));
    for (std::int64_t row = 0; row < options_.size; ++row) {
      for (std::int64_t i = 0; i < options_.size; ++i) {
        weight[row * heads_.width() + place(i)] = stored[row * options_.size + i];
      }
    }
    std::vector<float> bias;
    if (options_.attention_bias) bias = reader_.read(name + ".output.bias", {options_.size});
    return packed(weight, std::move(bias), heads_.width(), options_.size);
  }

  // What both attentions have.
  void pack_rest(const std::string& name, AttentionParameters<T>& attention) {
    attention.output = output(name);
    attention.norm = norm(name + "_norm");
    if (options_.score == ScoreKind::kAdditive) {
      attention.score_vector = spread(reader_.read(name + ".score_vector", {options_.heads, heads_.head_size}), 1);
    }
  }

  AttentionParameters<T> self_attention(const std::string& layer) {
    AttentionParameters<T> attention;
    attention.query_key_value = projections(layer + "self_attention", {"query", "key", "value"});
    pack_rest(layer + "self_attention", attention);
    return attention;
  }

  AttentionParameters<T> cross_attention(const std::string& layer) {
    AttentionParameters<T> attention;
    attention.query = projections(layer + "cross_attention", {"query"});
    attention.key_value = projections(layer + "cross_attention", {"key", "value"});
    pack_rest(layer + "cross_attention", attention);
    return attention;
  }

  FeedForwardParameters<T> feed_forward(const std::string& layer) {
    return {linear(layer + "feed_forward.inner", options_.size, options_.feed_forward),
            linear(layer + "feed_forward.outer", options_.feed_forward, options_.size),
            norm(layer + "feed_forward_norm")};
  }

  void pack_words(Weights<T>& weights) {
    const std::int64_t num_outputs = options_.output_vocabulary;
    weights.input_words = {reader_.read("input_embedding.weight", {options_.input_vocabulary, options_.size}),
                           options_.input_vocabulary};
    if (options_.tying != Tying::kAll) {
      weights.output_words = {reader_.read("output_embedding.weight", {num_outputs, options_.size}), num_outputs};
    }
    std::vector<float> generator;
    if (options_.tying == Tying::kNone) generator = reader_.read("generator.weight", {num_outputs, options_.size});
    pack_generator(weights, generator.empty() ? weights.words_of_output().vectors : generator);
  }

  void pack_generator(Weights<T>& weights, const std::vector<float>& table) {
    const std::vector<float> bias = reader_.read("generator.bias", {options_.output_vocabulary});
    weights.tile_size = std::min(kTileSize, options_.output_vocabulary);
    for (std::int64_t first = 0; first < options_.output_vocabulary; first += weights.tile_size) {
      const std::int64_t count = std::min(weights.tile_size, options_.output_vocabulary - first);
      const std::vector<float> rows(table.begin() + first * options_.size,
                                    table.begin() + (first + count) * options_.size);
      weights.generator.push_back(
          packed(rows, {bias.begin() + first, bias.begin() + first + count}, options_.size, count));
    }
  }

  const TransformerOptions& options_;
  HeadLayout heads_;
  bool is_bf16_;
  ParameterReader reader_;
};

}  // namespace

HeadLayout HeadLayout::of(const LayerOptions& options) {
  const std::int64_t head_size = options.size / options.heads;
  const auto heads = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.heads)));
  const std::int64_t step = std::max<std::int64_t>(1, kVector / heads);
  return {options.heads, head_size, heads, (head_size + step - 1) / step * step};
}

template <typename T>
Weights<T> pack_weights(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                        bool is_bf16) {
  return Packer<T>(options, file, file_name, is_bf16).pack();
}

template Weights<float> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&, bool);
template Weights<BFloat16> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&, bool);
template Weights<std::int8_t> pack_weights(const TransformerOptions&, const SafetensorsFile&, const std::string&, bool);

}  // namespace edgewise
