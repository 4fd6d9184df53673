// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_layout.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "edgewise/convert/layout_builder.h"

namespace edgewise {
namespace {

class HuggingFaceLayout : public LayoutBuilder {
 public:
  HuggingFaceLayout(const TransformerOptions& options, const HuggingFaceEmbeddings& embeddings, bool has_output_bias)
      : LayoutBuilder(options), embeddings_(embeddings), has_output_bias_(has_output_bias) {}

 private:
  void add_linear(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", {ours + ".weight"});
    add(theirs + ".bias", {ours + ".bias"});
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", {ours + ".gain"});
    add(theirs + ".bias", {ours + ".bias"});
  }

  void add_attention(const std::string& theirs, const std::string& ours) {
    add_linear(theirs + ".q_proj", ours + ".query");
    add_linear(theirs + ".k_proj", ours + ".key");
    add_linear(theirs + ".v_proj", ours + ".value");
    add_linear(theirs + ".out_proj", ours + ".output");
    add_norm(theirs + "_layer_norm", ours + "_norm");
  }

  void add_layer(std::string_view side, std::int64_t, const std::string& ours) override {
    const std::string theirs = "model." + ours;
    add_attention(theirs + "self_attn", ours + "self_attention");
    if (side == "decoder") add_attention(theirs + "encoder_attn", ours + "cross_attention");
    add_linear(theirs + "fc1", ours + "feed_forward.inner");
    add_linear(theirs + "fc2", ours + "feed_forward.outer");
    add_norm(theirs + "final_layer_norm", ours + "feed_forward_norm");
  }

  void add_final_norm(std::string_view side, const std::string& ours) override {
    add_norm(fmt::format("model.{}.layer_norm", side), ours);
  }

  void add_embeddings() override {
    add(embeddings_.input, {"input_embedding.weight"});
    if (options().tying != Tying::kAll) add(embeddings_.output, {"output_embedding.weight"});
    if (options().tying == Tying::kNone) add(embeddings_.projection, {"generator.weight"});
    if (has_output_bias_) add("final_logits_bias", {"generator.bias"}, Orientation::kOneRow);
    if (options().num_learned_positions() == 0) return;
    add("model.encoder.embed_positions.weight", {"input_positions.weight"});
    add("model.decoder.embed_positions.weight", {"output_positions.weight"});
  }

  const HuggingFaceEmbeddings& embeddings_;
  bool has_output_bias_;
};

}  // namespace

std::vector<TensorLayout> hugging_face_layout(const TransformerOptions& options,
                                              const HuggingFaceEmbeddings& embeddings, bool has_output_bias) {
  return HuggingFaceLayout(options, embeddings, has_output_bias).run();
}

}  // namespace edgewise
