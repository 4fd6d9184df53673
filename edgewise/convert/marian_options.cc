// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_options.h"

#include <fmt/format.h>

#include <string_view>

namespace edgewise {
namespace {

class OptionsWriter {
 public:
  explicit OptionsWriter(const TransformerOptions& options) : options_(options) {}

  std::string run() && {
    add("type", "transformer");
    add("dim-emb", options_.size);
    add("dim-vocabs", fmt::format("[{}, {}]", options_.input_vocabulary, options_.output_vocabulary));
    add("enc-depth", options_.encoder_layers);
    add("dec-depth", options_.decoder_layers);
    add_layers();
    add_norms();
    add_embeddings();
    add_constants();
    return std::move(text_);
  }

 private:
  template <class Value>
  void add(std::string_view key, const Value& value) {
    text_ += fmt::format("{}: {}\n", key, value);
  }

  void add_layers() {
    add("transformer-heads", options_.heads);
    add("transformer-dim-ffn", options_.feed_forward);
    add("transformer-decoder-dim-ffn", options_.feed_forward);
    add("transformer-ffn-depth", 2);
    add("transformer-decoder-ffn-depth", 2);
    add("transformer-ffn-activation", options_.activation == Activation::kSilu ? "swish" : "relu");
  }

  void add_norms() {
    const bool is_pre = options_.norm_placement == NormPlacement::kPre;
    add("transformer-preprocess", is_pre ? "n" : "\"\"");
    add("transformer-postprocess", is_pre ? "da" : "dan");
    add("transformer-postprocess-top", is_pre ? "n" : "\"\"");
    add("transformer-postprocess-emb", "d");
  }

  void add_embeddings() {
    add("tied-embeddings-all", options_.tying == Tying::kAll);
    add("tied-embeddings", options_.tying == Tying::kOutput);
    add("tied-embeddings-src", false);
    add("transformer-train-position-embeddings", false);
  }

  /// Adds the options with only one value that Edgewise has. Other programs require many of them.
  void add_constants() {
    add("transformer-decoder-autoreg", "self-attention");
    add("transformer-guided-alignment-layer", "last");
    add("transformer-tied-layers", "[]");
    add("transformer-aan-depth", 2);
    for (const char* key : {"transformer-no-projection", "transformer-aan-nogate", "transformer-pool",
                            "transformer-rnn-projection", "transformer-depth-scaling", "transformer-no-bias",
                            "transformer-no-affine", "layer-normalization", "right-left", "skip", "output-omit-bias"}) {
      add(key, false);
    }
    add("input-types", "[]");
    add("ulr-dim-emb", 0);
    add("lemma-dim-emb", 0);
    add("dec-cell-base-depth", 2);
    add("dec-cell-high-depth", 1);
    add("version", "v1.12.0");
  }

  const TransformerOptions& options_;
  std::string text_;
};

}  // namespace

std::string write_marian_options(const TransformerOptions& options) { return OptionsWriter(options).run(); }

}  // namespace edgewise
