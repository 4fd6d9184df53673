// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/parameter_list.h"

#include <string_view>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

class ParameterList {
 public:
  explicit ParameterList(const TransformerOptions& options) : options_(options) {}

  std::vector<ParameterShape> run() && {
    add_embeddings();
    for (std::int64_t i = 0; i < options_.encoder_layers; ++i) add_layer(fmt::format("encoder.layers.{}.", i), false);
    for (std::int64_t i = 0; i < options_.decoder_layers; ++i) add_layer(fmt::format("decoder.layers.{}.", i), true);
    if (options_.final_norm) {
      add_norm("encoder.norm");
      add_norm("decoder.norm");
    }
    return std::move(list_);
  }

 private:
  void add(std::string name, std::vector<std::int64_t> shape) { list_.push_back({std::move(name), std::move(shape)}); }

  void add_linear(const std::string& name, std::int64_t in, std::int64_t out, bool has_bias = true) {
    add(name + ".weight", {out, in});
    if (has_bias) add(name + ".bias", {out});
  }

  void add_norm(const std::string& name) {
    add(name + ".gain", {options_.size});
    add(name + ".bias", {options_.size});
  }

  void add_attention(const std::string& name) {
    for (const std::string_view part : {"query", "key", "value", "output"}) {
      add_linear(fmt::format("{}.{}", name, part), options_.size, options_.size, options_.attention_bias);
    }
    add_norm(name + "_norm");
  }

  void add_layer(const std::string& layer, bool has_cross_attention) {
    add_attention(layer + "self_attention");
    if (has_cross_attention) add_attention(layer + "cross_attention");
    add_linear(layer + "feed_forward.inner", options_.size, options_.feed_forward);
    add_linear(layer + "feed_forward.outer", options_.feed_forward, options_.size);
    add_norm(layer + "feed_forward_norm");
  }

  void add_embeddings() {
    add("input_embedding.weight", {options_.input_vocabulary, options_.size});
    if (options_.tying != Tying::kAll) add("output_embedding.weight", {options_.output_vocabulary, options_.size});
    if (options_.tying == Tying::kNone) add("generator.weight", {options_.output_vocabulary, options_.size});
    add("generator.bias", {options_.output_vocabulary});
    if (options_.num_learned_positions() == 0) return;
    add("input_positions.weight", {options_.max_positions, options_.size});
    add("output_positions.weight", {options_.max_positions, options_.size});
  }

  const TransformerOptions& options_;
  std::vector<ParameterShape> list_;
};

}  // namespace

std::vector<ParameterShape> list_parameters(const TransformerOptions& options) {
  check(options.kind == ModelKind::kTransformer, "list_parameters: model.kind is universal, needs transformer");
  check(options.score == ScoreKind::kDot, "list_parameters: model.score is additive, needs dot");
  return ParameterList(options).run();
}

}  // namespace edgewise
