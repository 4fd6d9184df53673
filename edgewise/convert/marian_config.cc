// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"
#include "edgewise/convert/yaml_settings.h"

namespace edgewise {
namespace {

bool is_forbidden(std::string_view token, const MarianTokenRules& rules) {
  return token == kMarianPadding || (token == kUnknownToken && !rules.allow_unknown) ||
         (is_marian_control_token(token) && !rules.allow_control);
}

namespace fs = std::filesystem;

constexpr std::string_view kOptionsArray = "special:model.yml";

/// Returns the path of a file of the directory. Absolute paths of the machine that trained a model are refused.
fs::path path_in(const fs::path& directory, const std::string& name, const YamlSettings& settings) {
  if (!is_plain_name(name)) settings.refuse("a file", quote(name), "the name of a file beside decoder.yml");
  return directory / name;
}

NormPlacement read_norms(const YamlSettings& settings) {
  const std::string before = settings.text("transformer-preprocess", "");
  const std::string after = settings.text("transformer-postprocess", "dan");
  const std::string top = settings.text("transformer-postprocess-top", "");
  if (before.empty() && after == "dan" && top.empty()) return NormPlacement::kPost;
  if (before == "n" && after == "da" && top == "n") return NormPlacement::kPre;
  settings.refuse("transformer-preprocess",
                  fmt::format("{} with postprocess {} and postprocess-top {}", quote(before), quote(after), quote(top)),
                  R"("", "dan" and "", or "n", "da" and "n")");
}

Activation read_marian_activation(const YamlSettings& settings) {
  const std::string key = "transformer-ffn-activation";
  const std::string name = settings.text(key, "swish");
  if (name == "relu") return Activation::kRelu;
  if (name == "swish") return Activation::kSilu;
  settings.refuse(key, quote(name),
                  "relu or swish; Marian's gelu is x * sigmoid(1.702 x), which Edgewise does not have");
}

Tying read_tying(const YamlSettings& settings) {
  const bool is_output = settings.boolean("tied-embeddings", false);
  const bool is_source = settings.boolean("tied-embeddings-src", false);
  if (settings.boolean("tied-embeddings-all", false)) return Tying::kAll;
  if (is_source) settings.refuse("tied-embeddings-src", "true", "false, or tied-embeddings-all");
  return is_output ? Tying::kOutput : Tying::kNone;
}

void refuse_other_models(const YamlSettings& settings) {
  settings.require("type", "transformer");
  settings.require("transformer-decoder-autoreg", "self-attention");
  settings.require("transformer-no-projection", "false");
  settings.require("transformer-ffn-depth", "2");
  settings.require("right-left", "false");
  settings.require("ulr-dim-emb", "0");
  settings.require("output-omit-bias", "false");
  settings.require("transformer-rnn-projection", "false");
  settings.require("transformer-pool", "false");
  settings.require("transformer-train-position-embeddings", "false");
  settings.require("transformer-train-positions", "false");
  settings.require("transformer-disable-position-embeddings", "false");
  const std::string decoder_depth = settings.text("transformer-decoder-ffn-depth", "2");
  if (decoder_depth != "0") settings.require("transformer-decoder-ffn-depth", "2");
  for (const char* key : {"transformer-no-bias", "transformer-no-affine", "ulr", "no-nope"}) {
    settings.require(key, "false");
  }
  for (const char* key : {"lemma-dim-emb", "factors-dim-emb"}) settings.require(key, "0");
  for (const char* key : {"transformer-tied-layers", "input-types"}) settings.require_none(key);
  const std::string embedding = settings.text("transformer-postprocess-emb", "d");
  if (!embedding.empty() && embedding != "d") {
    settings.refuse("transformer-postprocess-emb", quote(embedding), "\"d\" or \"\"");
  }
}

/// Throws Error for options of marian-decoder that change translations and that Edgewise does not have.
void refuse_other_search(const YamlSettings& settings) {
  for (const char* key :
       {"best-deep", "force-decode", "ignore-model-config", "no-spm-decode", "no-spm-encode", "output-approx-knn",
        "output-sampling", "shortlist", "skip-cost", "tsv", "tsv-fields", "weights"}) {
    settings.require_none(key);
  }
}

/// Returns the search of Marian. Its active and finished hypotheses share a beam, as those of Edgewise do.
SearchOptions read_search(const YamlSettings& settings) {
  const std::string key = "max-length-factor";
  SearchOptions search;
  search.beam = settings.whole_number("beam-size", 12);
  search.length_norm = LengthNorm::kPower;
  search.length_penalty = settings.number("normalize", 0);
  search.length_factor = settings.number(key, 3);
  search.length_offset = 0;
  search.force_end = false;
  search.stop_loops = false;
  if (search.length_factor != std::floor(search.length_factor)) {
    settings.refuse(key, settings.text(key, ""), "a whole number");
  }
  if (settings.number("word-penalty", 0) != 0) {
    settings.refuse("word-penalty", settings.text("word-penalty", ""), "0, because Edgewise has no such option");
  }
  return search;
}

}  // namespace

bool is_marian_control_token(std::string_view token) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  const bool is_below_32 = token.starts_with("<0x0") || token.starts_with("<0x1");
  return is_below_32 && token.size() == 6 && kHexDigits.find(token[4]) != std::string_view::npos && token[5] == '>';
}

TokenListBuilder marian_token_list(std::vector<std::string> tokens, const MarianTokenRules& rules,
                                   const std::string& where) {
  const auto end = std::ranges::find(tokens, kMarianEnd);
  check(end != tokens.end(), "{} has no token {}, needs one", where, kMarianEnd);
  const std::int64_t padding = std::ssize(tokens);
  const SpecialTokens special = {.padding = padding, .begin = padding, .end = end - tokens.begin()};
  tokens.emplace_back(kMarianPadding);
  std::vector<std::int64_t> forbidden;
  for (std::int64_t i = 0; i <= padding; ++i) {
    if (is_forbidden(tokens[static_cast<std::size_t>(i)], rules)) forbidden.push_back(i);
  }
  TokenListBuilder builder(std::move(tokens), padding + 1, special, kUnknownToken, where);
  builder.list().rules.forbidden = std::move(forbidden);
  return builder;
}

MarianDecoder read_marian_decoder(const fs::path& directory, std::string_view caller) {
  const fs::path path = directory / "decoder.yml";
  const YamlSettings settings(read_yaml(path, caller), fmt::format("{}: {}", caller, path.string()));
  const std::vector<std::string> models = settings.list("models");
  const std::vector<std::string> vocabularies = settings.list("vocabs");
  if (models.size() != 1) settings.refuse("models", fmt::format("a list of {}", models.size()), "one model");
  if (vocabularies.size() != 2) {
    settings.refuse("vocabs", fmt::format("a list of {}", vocabularies.size()), "those of input and output");
  }
  MarianDecoder decoder = {
      .model = path_in(directory, models[0], settings),
      .vocabularies = {path_in(directory, vocabularies[0], settings), path_in(directory, vocabularies[1], settings)},
      .max_length = settings.whole_number("max-length", 1000),
      .token_rules = {.allow_unknown = settings.boolean("allow-unk", false),
                      .allow_control = settings.boolean("allow-special", false)},
      .search = read_search(settings)};
  refuse_other_search(settings);
  settings.expect_all_known(kNeutralDecoderOptions);
  return decoder;
}

TransformerOptions read_marian_options(TensorLookup& arrays, std::string_view where) {
  const std::string name = fmt::format("{}, {}", where, kOptionsArray);
  const YamlSettings settings(parse_yaml(to_text(arrays.get(kOptionsArray), where), name), name);
  refuse_other_models(settings);
  TransformerOptions options;
  options.size = settings.whole_number("dim-emb", 512);
  options.heads = settings.whole_number("transformer-heads", 8);
  options.feed_forward = settings.whole_number("transformer-dim-ffn", 2048);
  const std::int64_t decoder_width = settings.whole_number("transformer-decoder-dim-ffn", 0);
  if (decoder_width != 0 && decoder_width != options.feed_forward) {
    settings.refuse("transformer-decoder-dim-ffn", std::to_string(decoder_width),
                    fmt::format("{} as transformer-dim-ffn", options.feed_forward));
  }
  options.encoder_layers = settings.whole_number("enc-depth", 6);
  options.decoder_layers = settings.whole_number("dec-depth", 6);
  options.norm_placement = read_norms(settings);
  options.final_norm = options.norm_placement == NormPlacement::kPre;
  options.activation = read_marian_activation(settings);
  options.tying = read_tying(settings);
  settings.expect_all_known(kNeutralModelOptions);
  options.norm_epsilon = kMarianEpsilon;
  options.positions = PositionKind::kMarian;
  options.begin_embedding = BeginEmbedding::kZero;
  const bool is_shared = options.tying == Tying::kAll;
  const auto rows_with_padding = [&](const char* table_name) {
    const TensorInfo& table = arrays.get(table_name);
    check(table.shape.size() == 2, "{}: {} has {} dimensions, needs 2", where, table_name, table.shape.size());
    return table.shape[0] + 1;
  };
  options.input_vocabulary = rows_with_padding(is_shared ? "Wemb" : "encoder_Wemb");
  options.output_vocabulary = is_shared ? options.input_vocabulary : rows_with_padding("decoder_Wemb");
  options.dropout.attention = 0;
  options.dropout.activation = 0;
  check_ranges(options, name);  // before memory is taken for so many parameters
  return options;
}

}  // namespace edgewise
