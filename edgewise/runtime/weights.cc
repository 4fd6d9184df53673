// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/options/layer_kinds.h"

namespace edgewise {
namespace {

// The number of tokens in a tile of the output projection. The weights of a tile, and its logits for a hundred states,
// fit into a core's L2 cache.
constexpr std::int64_t kTileSize = 1024;

constexpr std::int64_t kVectorSize = 16;  // node_attention needs rows of a multiple of 16 elements

/// Reads parameters by name, each an fp32 tensor of a given shape, and records which of them were read. Throws Error;
/// the messages begin with "read_parameters". Throws StopException if `stop` is set before a parameter is read.
class ParameterReader {
 public:
  ParameterReader(const SafetensorsFile& file, std::string file_name, const StopRequest* stop)
      : file_(file), file_name_(std::move(file_name)), stop_(stop) {}

  std::vector<float> read(const std::string& name, std::initializer_list<std::int64_t> shape) {
    throw_if_set(stop_);
    const TensorInfo* info = file_.find(name);
    check(info != nullptr, "read_parameters: {} lacks \"{}\", {}", file_name_, name, kNeedsTensorsOfConfig);
    check(info->dtype == DType::kF32 && std::ranges::equal(info->shape, shape),
          "read_parameters: {} has \"{}\" as {} [{}] instead of F32 [{}], {}", file_name_, name,
          dtype_name(info->dtype), fmt::join(info->shape, ", "), fmt::join(shape, ", "), kNeedsTensorsOfConfig);
    read_.insert(name);
    std::vector<float> values(info->bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), info->bytes.data(), info->bytes.size());
    return values;
  }

  void expect_all_read() const {
    for (const TensorInfo& info : file_.tensors()) {
      check(read_.contains(info.name), "read_parameters: {} has {}, which is not needed, {}", file_name_,
            quote(info.name), kNeedsTensorsOfConfig);
    }
  }

 private:
  const SafetensorsFile& file_;
  std::string file_name_;
  const StopRequest* stop_;
  std::set<std::string, std::less<>> read_;
};

template <typename T>
class WeightPacker {
 public:
  WeightPacker(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
               const PackingOptions& packing)
      : options_(options),
        heads_(make_head_layout(options)),
        packing_(packing),
        reader_(file, file_name, packing.stop) {}

  Weights<T> pack() {
    Weights<T> weights;
    weights.options = options_;
    weights.heads = heads_;
    read_embeddings(weights);
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

  PackedLinear<T> read_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    return {reader_.read(name + ".weight", {out, in}), reader_.read(name + ".bias", {out}), in, out, packing_.is_bf16};
  }

  // Element k of a head is element i = head * head_size + k of a row without padding. Returns the index of this element
  // in a row with padding: k * padded_heads + head.
  std::int64_t padded_index(std::int64_t i) const {
    return i % heads_.head_size * heads_.padded_heads + i / heads_.head_size;
  }

  std::vector<float> pad_heads(const std::vector<float>& values, std::int64_t row_size) const {
    std::vector<float> padded(static_cast<std::size_t>(heads_.width() * row_size));
    for (std::int64_t i = 0; i * row_size < std::ssize(values); ++i) {
      std::copy_n(values.begin() + i * row_size, row_size, padded.begin() + padded_index(i) * row_size);
    }
    return padded;
  }

  // Reads several projections and joins them into one, whose result has the results of all of them.
  PackedLinear<T> read_projections(const std::string& name, std::initializer_list<const char*> parts) {
    std::vector<float> weight, bias;
    for (const char* part : parts) {
      const std::string prefix = name + "." + part;
      const auto append = [](std::vector<float>& to, const std::vector<float>& more) {
        to.insert(to.end(), more.begin(), more.end());
      };
      append(weight, pad_heads(reader_.read(prefix + ".weight", {options_.size, options_.size}), options_.size));
      if (options_.attention_bias) append(bias, pad_heads(reader_.read(prefix + ".bias", {options_.size}), 1));
    }
    const auto width = heads_.width() * static_cast<std::int64_t>(parts.size());
    return {std::move(weight), std::move(bias), options_.size, width, packing_.is_bf16};
  }

  PackedLinear<T> read_attention_output(const std::string& name) {
    const std::vector<float> stored = reader_.read(name + ".output.weight", {options_.size, options_.size});
    std::vector<float> weight(static_cast<std::size_t>(options_.size * heads_.width()));
    for (std::int64_t row = 0; row < options_.size; ++row) {
      for (std::int64_t i = 0; i < options_.size; ++i) {
        weight[row * heads_.width() + padded_index(i)] = stored[row * options_.size + i];
      }
    }
    std::vector<float> bias;
    if (options_.attention_bias) bias = reader_.read(name + ".output.bias", {options_.size});
    return {std::move(weight), std::move(bias), heads_.width(), options_.size, packing_.is_bf16};
  }

  void read_common_attention_parameters(const std::string& name, AttentionParameters<T>& attention) {
    attention.output = read_attention_output(name);
    attention.norm = read_norm(name + "_norm");
    if (options_.score == ScoreKind::kAdditive) {
      attention.score_vector = pad_heads(reader_.read(name + ".score_vector", {options_.heads, heads_.head_size}), 1);
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

  void read_embeddings(Weights<T>& weights) {
    const std::int64_t num_outputs = options_.output_vocabulary;
    weights.input_embedding = {reader_.read("input_embedding.weight", {options_.input_vocabulary, options_.size}),
                               options_.input_vocabulary};
    if (options_.tying != Tying::kAll) {
      weights.own_output_embedding = {reader_.read("output_embedding.weight", {num_outputs, options_.size}),
                                      num_outputs};
    }
    std::vector<float> own_weights;
    if (options_.tying == Tying::kNone) own_weights = reader_.read("generator.weight", {num_outputs, options_.size});
    pack_output_projection(weights, own_weights.empty() ? weights.output_embedding().vectors : own_weights);
  }

  void pack_output_projection(Weights<T>& weights, const std::vector<float>& table) {
    const std::vector<float> bias = reader_.read("generator.bias", {options_.output_vocabulary});
    weights.tile_size = std::min(kTileSize, options_.output_vocabulary);
    for (std::int64_t first = 0; first < options_.output_vocabulary; first += weights.tile_size) {
      throw_if_set(packing_.stop);
      const std::int64_t count = std::min(weights.tile_size, options_.output_vocabulary - first);
      const std::span rows = std::span(table).subspan(first * options_.size, count * options_.size);
      const std::span biases = std::span(bias).subspan(first, count);
      weights.output_projection.push_back(
          {{rows.begin(), rows.end()}, {biases.begin(), biases.end()}, options_.size, count, packing_.is_bf16});
    }
  }

  const TransformerOptions& options_;
  HeadLayout heads_;
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

}  // namespace edgewise
