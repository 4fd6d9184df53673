// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_layout.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace edgewise {
namespace {

class HuggingFaceLayout {
 public:
  explicit HuggingFaceLayout(const TransformerOptions& options) : options_(options) {}

  std::vector<TensorLayout> run(const HuggingFaceEmbeddings& embeddings, bool has_output_bias) && {
    add_embeddings(embeddings);
    if (has_output_bias) add("final_logits_bias", "generator.bias", Orientation::kOneRow);
    add_side("encoder", options_.encoder_layers);
    add_side("decoder", options_.decoder_layers);
    return std::move(layout_);
  }

 private:
  void add(const std::string& theirs, const std::string& ours, Orientation orientation = Orientation::kRows) {
    layout_.push_back({theirs, {ours}, orientation});
  }

  void add_linear(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", ours + ".weight");
    add(theirs + ".bias", ours + ".bias");
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", ours + ".gain");
    add(theirs + ".bias", ours + ".bias");
  }

  void add_attention(const std::string& theirs, const std::string& ours) {
    add_linear(theirs + ".q_proj", ours + ".query");
    add_linear(theirs + ".k_proj", ours + ".key");
    add_linear(theirs + ".v_proj", ours + ".value");
    add_linear(theirs + ".out_proj", ours + ".output");
    add_norm(theirs + "_layer_norm", ours + "_norm");
  }

  void add_side(std::string_view side, std::int64_t layers) {
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string ours = fmt::format("{}.layers.{}.", side, i);
      const std::string theirs = "model." + ours;
      add_attention(theirs + "self_attn", ours + "self_attention");
      if (side == "decoder") add_attention(theirs + "encoder_attn", ours + "cross_attention");
      add_linear(theirs + "fc1", ours + "feed_forward.inner");
      add_linear(theirs + "fc2", ours + "feed_forward.outer");
      add_norm(theirs + "final_layer_norm", ours + "feed_forward_norm");
    }
    if (options_.final_norm) add_norm(fmt::format("model.{}.layer_norm", side), fmt::format("{}.norm", side));
  }

  void add_embeddings(const HuggingFaceEmbeddings& embeddings) {
    add(embeddings.input, "input_embedding.weight");
    if (options_.tying != Tying::kAll) add(embeddings.output, "output_embedding.weight");
    if (options_.tying == Tying::kNone) add(embeddings.projection, "generator.weight");
    if (options_.num_learned_positions() == 0) return;
    add("model.encoder.embed_positions.weight", "input_positions.weight");
    add("model.decoder.embed_positions.weight", "output_positions.weight");
  }

  const TransformerOptions& options_;
  std::vector<TensorLayout> layout_;
};

}  // namespace

std::vector<TensorLayout> hugging_face_layout(const TransformerOptions& options,
                                              const HuggingFaceEmbeddings& embeddings, bool has_output_bias) {
  return HuggingFaceLayout(options).run(embeddings, has_output_bias);
}

}  // namespace edgewise
