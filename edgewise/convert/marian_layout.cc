// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_layout.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "edgewise/convert/layout_builder.h"

namespace edgewise {
namespace {

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

  void add_layer(std::string_view side, std::int64_t i, const std::string& ours) override {
    const std::string prefix = fmt::format("{}_l{}_", side, i + 1);
    add_attention(prefix + "self", ours + "self_attention");
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

std::vector<TensorLayout> marian_layout(const TransformerOptions& options) { return MarianLayout(options).run(); }

}  // namespace edgewise
