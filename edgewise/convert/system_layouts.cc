// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/system_layouts.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace edgewise {
namespace {

/// Collects the tensors of a model part by part. A derived class names the tensors of another system.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(const TransformerOptions& options) : options_(options) {}
  LayoutBuilder(const LayoutBuilder&) = delete;
  LayoutBuilder& operator=(const LayoutBuilder&) = delete;
  virtual ~LayoutBuilder() = default;

  /// Returns the tensors of the embeddings, the encoder and the decoder.
  std::vector<TensorLayout> run() && {
    add_embeddings();
    if (has_encoder(options_.kind)) add_side("encoder", options_.encoder_layers);
    add_side("decoder", options_.decoder_layers);
    return std::move(layout_);
  }

 protected:
  virtual void add_embeddings() = 0;

  /// Adds layer `i` of a side, "encoder" or "decoder"; the names of its parameters begin with `ours`.
  virtual void add_layer(std::string_view side, std::int64_t i, const std::string& ours) = 0;

  /// Adds the norm `ours` behind the last layer of a side.
  virtual void add_final_norm(std::string_view side, const std::string& ours) = 0;

  /// Adds the tensor `theirs` with the rows of the parameters `ours`.
  void add(std::string theirs, std::vector<std::string> ours, Orientation orientation = Orientation::kRows) {
    layout_.push_back({std::move(theirs), std::move(ours), orientation});
  }

  const TransformerOptions& options() const { return options_; }

 private:
  void add_side(std::string_view side, std::int64_t layers) {
    for (std::int64_t i = 0; i < layers; ++i) add_layer(side, i, fmt::format("{}.layers.{}.", side, i));
    if (options_.final_norm) add_final_norm(side, fmt::format("{}.norm", side));
  }

  const TransformerOptions& options_;
  std::vector<TensorLayout> layout_;
};

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

class HuggingFaceLayout : public LayoutBuilder {
 public:
  HuggingFaceLayout(const TransformerOptions& options, const HuggingFaceEmbeddingNames& embeddings,
                    bool has_output_bias)
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

  const HuggingFaceEmbeddingNames& embeddings_;
  bool has_output_bias_;
};

class Gpt2Layout : public LayoutBuilder {
 public:
  Gpt2Layout(const TransformerOptions& options, std::string prefix)
      : LayoutBuilder(options), prefix_(std::move(prefix)) {}

 private:
  /// Adds a Conv1D of the rows of several projections of `ours`: a linear layer whose matrix is transposed.
  void add_linear(const std::string& theirs, const std::string& ours, const std::vector<std::string>& projections) {
    std::vector<std::string> weights, biases;
    for (const std::string& projection : projections) {
      weights.push_back(fmt::format("{}.{}.weight", ours, projection));
      biases.push_back(fmt::format("{}.{}.bias", ours, projection));
    }
    add(theirs + ".weight", std::move(weights), Orientation::kTransposed);
    add(theirs + ".bias", std::move(biases));
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    add(theirs + ".weight", {ours + ".gain"});
    add(theirs + ".bias", {ours + ".bias"});
  }

  void add_layer(std::string_view, std::int64_t i, const std::string& ours) override {
    const std::string theirs = fmt::format("{}h.{}.", prefix_, i);
    add_norm(theirs + "ln_1", ours + "self_attention_norm");
    add_linear(theirs + "attn.c_attn", ours + "self_attention", {"query", "key", "value"});
    add_linear(theirs + "attn.c_proj", ours + "self_attention", {"output"});
    add_norm(theirs + "ln_2", ours + "feed_forward_norm");
    add_linear(theirs + "mlp.c_fc", ours + "feed_forward", {"inner"});
    add_linear(theirs + "mlp.c_proj", ours + "feed_forward", {"outer"});
  }

  void add_final_norm(std::string_view, const std::string& ours) override { add_norm(prefix_ + "ln_f", ours); }

  void add_embeddings() override {
    add(prefix_ + "wte.weight", {"output_embedding.weight"});
    add(prefix_ + "wpe.weight", {"output_positions.weight"});
    if (options().tying == Tying::kNone) add("lm_head.weight", {"generator.weight"});
  }

  std::string prefix_;
};

class LlamaLayout : public LayoutBuilder {
 public:
  LlamaLayout(const TransformerOptions& options, bool has_output_biases)
      : LayoutBuilder(options), has_output_biases_(has_output_biases) {}

 private:
  void add_linear(const std::string& theirs, const std::string& ours, bool has_bias) {
    add(theirs + ".weight", {ours + ".weight"});
    if (has_bias) add(theirs + ".bias", {ours + ".bias"});
  }

  void add_layer(std::string_view, std::int64_t i, const std::string& ours) override {
    const std::string theirs = fmt::format("model.layers.{}.", i);
    const bool has_bias = options().attention_bias;
    const auto add_attention = [&](const char* their_name, const char* our_name, bool is_biased) {
      add_linear(theirs + "self_attn." + their_name, ours + "self_attention." + our_name, is_biased);
    };
    const auto add_inner = [&](const char* their_name, const char* our_name) {
      add_linear(theirs + "mlp." + their_name, ours + "feed_forward." + our_name, options().feed_forward_bias);
    };
    add(theirs + "input_layernorm.weight", {ours + "self_attention_norm.gain"});
    add_attention("q_proj", "query", has_bias);
    add_attention("k_proj", "key", has_bias);
    add_attention("v_proj", "value", has_bias);
    add_attention("o_proj", "output", has_bias && has_output_biases_);
    add(theirs + "post_attention_layernorm.weight", {ours + "feed_forward_norm.gain"});
    add_inner("gate_proj", "gate");
    add_inner("up_proj", "inner");
    add_inner("down_proj", "outer");
  }

  void add_final_norm(std::string_view, const std::string& ours) override {
    add("model.norm.weight", {ours + ".gain"});
  }

  void add_embeddings() override {
    add("model.embed_tokens.weight", {"output_embedding.weight"});
    if (options().tying == Tying::kNone) add("lm_head.weight", {"generator.weight"});
  }

  bool has_output_biases_;
};

class MarianLayout : public LayoutBuilder {
 public:
  using LayoutBuilder::LayoutBuilder;

 private:
  /// Adds the arrays PREFIX_W… and PREFIX_b….
  void add_linear(const std::string& prefix, std::string_view suffix, const std::string& ours) {
    add(fmt::format("{}_W{}", prefix, suffix), {ours + ".weight"}, Orientation::kTransposed);
    add(fmt::format("{}_b{}", prefix, suffix), {ours + ".bias"}, Orientation::kOneRow);
  }

  void add_norm(const std::string& prefix, std::string_view suffix, const std::string& ours) {
    add(fmt::format("{}_ln_scale{}", prefix, suffix), {ours + ".gain"}, Orientation::kOneRow);
    add(fmt::format("{}_ln_bias{}", prefix, suffix), {ours + ".bias"}, Orientation::kOneRow);
  }

  void add_sublayer_norm(const std::string& prefix, const std::string& ours) {
    add_norm(prefix, options().norm_placement == NormPlacement::kPre ? "_pre" : "", ours);
  }

  void add_attention(const std::string& prefix, const std::string& ours) {
    add_linear(prefix, "q", ours + ".query");
    add_linear(prefix, "k", ours + ".key");
    add_linear(prefix, "v", ours + ".value");
    add_linear(prefix, "o", ours + ".output");
    add_sublayer_norm(prefix + "_Wo", ours + "_norm");
  }

  void add_ssru(const std::string& prefix, const std::string& ours) {
    add_linear(prefix, "f", ours + ".forget");
    add(prefix + "_W", {ours + ".input.weight"}, Orientation::kTransposed);
    add_sublayer_norm(prefix + "_ffn", ours + "_norm");
  }

  void add_layer(std::string_view side, std::int64_t i, const std::string& ours) override {
    const std::string prefix = fmt::format("{}_l{}_", side, i + 1);
    const bool has_ssru = side == "decoder" && options().has_ssru();
    has_ssru ? add_ssru(prefix + "rnn", ours + "ssru") : add_attention(prefix + "self", ours + "self_attention");
    if (side == "decoder") add_attention(prefix + "context", ours + "cross_attention");
    add_linear(prefix + "ffn", "1", ours + "feed_forward.inner");
    add_linear(prefix + "ffn", "2", ours + "feed_forward.outer");
    add_sublayer_norm(prefix + "ffn_ffn", ours + "feed_forward_norm");
  }

  void add_final_norm(std::string_view side, const std::string& ours) override {
    add_norm(fmt::format("{}_top", side), "", ours);
  }

  void add_embeddings() override {
    if (options().tying == Tying::kAll) {
      add("Wemb", {"input_embedding.weight"}, Orientation::kRows);
    } else {
      add("encoder_Wemb", {"input_embedding.weight"}, Orientation::kRows);
      add("decoder_Wemb", {"output_embedding.weight"}, Orientation::kRows);
    }
    if (options().tying == Tying::kNone) add("decoder_ff_logit_out_W", {"generator.weight"}, Orientation::kTransposed);
    add("decoder_ff_logit_out_b", {"generator.bias"}, Orientation::kOneRow);
  }
};

}  // namespace

std::vector<TensorLayout> ctranslate2_layout(const TransformerOptions& options) {
  return Ctranslate2Layout(options).run();
}

std::vector<TensorLayout> hugging_face_layout(const TransformerOptions& options,
                                              const HuggingFaceEmbeddingNames& embeddings, bool has_output_bias) {
  return HuggingFaceLayout(options, embeddings, has_output_bias).run();
}

std::vector<TensorLayout> gpt2_layout(const TransformerOptions& options, const std::string& prefix) {
  return Gpt2Layout(options, prefix).run();
}

std::vector<TensorLayout> llama_layout(const TransformerOptions& options, bool has_output_biases) {
  return LlamaLayout(options, has_output_biases).run();
}

std::vector<TensorLayout> marian_layout(const TransformerOptions& options) { return MarianLayout(options).run(); }

}  // namespace edgewise
