// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_layout.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "edgewise/convert/layout_builder.h"

namespace edgewise {
namespace {

class Ctranslate2Layout : public LayoutBuilder {
 public:
  using LayoutBuilder::LayoutBuilder;

 private:
  /// Adds a linear layer of the rows of several projections of `ours`.
  void add_linear(const std::string& theirs, const std::string& ours, const std::vector<std::string>& projections,
                  bool has_bias) {
    std::vector<std::string> weights, biases;
    for (const std::string& projection : projections) {
      weights.push_back(fmt::format("{}.{}.weight", ours, projection));
      biases.push_back(fmt::format("{}.{}.bias", ours, projection));
    }
    add(theirs + "/weight", std::move(weights));
    if (has_bias) add(theirs + "/bias", std::move(biases));
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    add(theirs + "/gamma", {ours + ".gain"});
    add(theirs + "/beta", {ours + ".bias"});
  }

  /// Adds the linear layers of attention, of which each has the projections named.
  void add_attention(const std::string& theirs, const std::string& ours,
                     const std::vector<std::vector<std::string>>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add_linear(fmt::format("{}/linear_{}", theirs, i), ours, layers[i], options().attention_bias);
    }
    add_norm(theirs + "/layer_norm", ours + "_norm");
  }

  void add_layer(std::string_view side, std::int64_t i, const std::string& ours) override {
    const std::string theirs = fmt::format("{}/layer_{}/", side, i);
    add_attention(theirs + "self_attention", ours + "self_attention", {{"query", "key", "value"}, {"output"}});
    if (side == "decoder") {
      add_attention(theirs + "attention", ours + "cross_attention", {{"query"}, {"key", "value"}, {"output"}});
    }
    add_linear(theirs + "ffn/linear_0", ours + "feed_forward", {"inner"}, true);
    add_linear(theirs + "ffn/linear_1", ours + "feed_forward", {"outer"}, true);
    add_norm(theirs + "ffn/layer_norm", ours + "feed_forward_norm");
  }

  void add_final_norm(std::string_view side, const std::string& ours) override {
    add_norm(fmt::format("{}/layer_norm", side), ours);
  }

  void add_embeddings() override {
    add("encoder/embeddings_0/weight", {"input_embedding.weight"});
    if (options().tying != Tying::kAll) add("decoder/embeddings/weight", {"output_embedding.weight"});
    if (options().tying == Tying::kNone) add("decoder/projection/weight", {"generator.weight"});
    add("decoder/projection/bias", {"generator.bias"});
    if (options().num_learned_positions() == 0) return;
    add("encoder/position_encodings/encodings", {"input_positions.weight"});
    add("decoder/position_encodings/encodings", {"output_positions.weight"});
  }
};

}  // namespace

std::vector<TensorLayout> ctranslate2_layout(const TransformerOptions& options) {
  return Ctranslate2Layout(options).run();
}

}  // namespace edgewise
