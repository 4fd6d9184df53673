// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_config.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <system_error>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"
#include "edgewise/convert/packed_file.h"
#include "edgewise/convert/yaml.h"
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
  if (!is_plain_name(name)) settings.refuse("a file", quote(name), "the name of a file beside this one");
  return directory / name;
}

YamlSettings read_model_settings(TensorLookup& arrays, std::string_view where) {
  const std::string name = fmt::format("{}, {}", where, kOptionsArray);
  return YamlSettings(parse_yaml(to_text(arrays.get(kOptionsArray), where), name), name);
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

DecoderMixer read_decoder_mixer(const YamlSettings& settings, NormPlacement placement) {
  const std::string key = "transformer-decoder-autoreg";
  const std::string name = settings.text(key, "self-attention");
  if (name == "self-attention") return DecoderMixer::kAttention;
  if (name != "rnn") settings.refuse(key, quote(name), "self-attention, or rnn with the cell ssru");
  const std::string cell = settings.text("dec-cell", "gru");
  if (cell != "ssru") settings.refuse("dec-cell", quote(cell), "ssru");
  settings.require("layer-normalization", "false");
  if (placement != NormPlacement::kPost) settings.refuse(key, "rnn", "self-attention in a pre-norm model");
  return DecoderMixer::kSsru;
}

/// Throws Error for options of marian-decoder that change translations and that Edgewise does not have.
void refuse_other_search(const YamlSettings& settings) {
  for (const char* key : {"best-deep", "force-decode", "ignore-model-config", "no-spm-decode", "no-spm-encode",
                          "output-approx-knn", "output-sampling", "tsv", "tsv-fields", "weights"}) {
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

/// Returns the files and settings of a config in `directory`.
MarianDecoder read_decoder_settings(const fs::path& directory, const YamlSettings& settings) {
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
  return decoder;
}

// Without a config, Firefox sets these options.
constexpr std::string_view kFirefoxConfig = R"(models:
- {}
vocabs:
- {}
- {}
beam-size: 1
normalize: 1.0
max-length-break: 128
max-length-factor: 2.0
skip-cost: true
shortlist:
{})";

constexpr std::string_view kShortlistEnding = ".bin";

/// Returns the path of the binary shortlist of a config, whose list has the name of the file and options of its reader;
/// empty if there is none, and for a file of text.
fs::path shortlist_path(const fs::path& directory, const YamlSettings& settings) {
  if (!settings.has("shortlist")) return {};
  const std::vector<std::string> values = settings.list("shortlist");
  std::string_view name = values.empty() ? std::string_view() : values.front();
  if (name.ends_with(kPackedEnding)) name.remove_suffix(kPackedEnding.size());
  if (!name.ends_with(kShortlistEnding)) return {};
  return path_in(directory, values.front(), settings);
}

std::vector<std::string> file_names(const fs::path& directory, std::string_view caller) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  check(!error, "{}: {} cannot be read: {}", caller, directory.string(), error.message());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> names_like(std::span<const std::string> names, std::string_view begin, std::string_view end) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end)) {
      found.push_back(name);
    }
  }
  return found;
}

/// Returns the names as names_like does, or, if there are none, those of compressed files.
std::vector<std::string> names_like_packed(std::span<const std::string> names, std::string_view begin,
                                           std::string_view end) {
  std::vector<std::string> found = names_like(names, begin, end);
  return found.empty() ? names_like(names, begin, std::string(end) + std::string(kPackedEnding)) : found;
}

constexpr std::string_view kStudentConfig = "config.intgemm8bitalpha.yml";

/// Returns the name of a student's config; empty if it has none.
std::string find_student_config(const fs::path& directory, std::span<const std::string> names,
                                std::string_view caller) {
  if (std::ranges::find(names, kStudentConfig) != names.end()) return std::string(kStudentConfig);
  std::vector<std::string> found = names_like(names, "config", ".yml");
  check(found.size() <= 1, "{}: {} has {} and {}, needs one config, or {}", caller, directory.string(),
        found.empty() ? "" : found.front(), found.empty() ? "" : found.back(), kStudentConfig);
  return found.empty() ? "" : found.front();
}

/// Returns the config of a folder as Firefox has it.
std::string firefox_config(const fs::path& directory, std::span<const std::string> names, std::string_view caller) {
  const auto find_one = [&](std::string_view begin, std::string_view end) {
    const std::vector<std::string> found = names_like_packed(names, begin, end);
    check(found.size() == 1, "{}: {} has {} files {}*{}, needs one", caller, directory.string(), found.size(), begin,
          end);
    return found.front();
  };
  const std::string model = quote_yaml(find_one("model.", ".bin"));
  const bool is_split = !names_like_packed(names, "srcvocab.", ".spm").empty();
  const std::string input = find_one(is_split ? "srcvocab." : "vocab.", ".spm");
  const std::string output = is_split ? find_one("trgvocab.", ".spm") : input;
  const bool has_shortlist = !names_like_packed(names, "lex.", kShortlistEnding).empty();
  const std::string shortlist = has_shortlist ? "- " + quote_yaml(find_one("lex.", kShortlistEnding)) + "\n" : "  []\n";
  return fmt::format(kFirefoxConfig, model, quote_yaml(input), quote_yaml(output), shortlist);
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
  MarianDecoder decoder = read_decoder_settings(directory, settings);
  for (const char* key : {"shortlist", "skip-cost"}) settings.require_none(key);
  settings.expect_all_known(kNeutralDecoderOptions);
  return decoder;
}

bool is_marian_student(const fs::path& directory, std::string_view caller) {
  const std::vector<std::string> names = file_names(directory, caller);
  return !names_like(names, "config", ".yml").empty() || !names_like_packed(names, "model.", ".bin").empty();
}

MarianDecoder read_marian_student(const fs::path& directory, std::string_view caller) {
  const std::vector<std::string> names = file_names(directory, caller);
  const std::string config = find_student_config(directory, names, caller);
  const std::string where = fmt::format("{}: {}", caller, (config.empty() ? directory : directory / config).string());
  const YamlSettings settings(config.empty() ? parse_yaml(firefox_config(directory, names, caller), where)
                                             : read_yaml(directory / config, caller),
                              where);
  MarianDecoder decoder = read_decoder_settings(directory, settings);
  decoder.shortlist = shortlist_path(directory, settings);
  // Bergamot breaks sentences into parts of this many tokens, without the end token.
  const std::int64_t part = settings.whole_number("max-length-break", decoder.max_length - 1);
  if (part < 1) settings.refuse("max-length-break", std::to_string(part), "at least 1");
  decoder.max_length = std::min(decoder.max_length, part + 1);
  // Costs are log-probabilities: without them, the best of several hypotheses may be another one.
  if (decoder.search.beam > 1) settings.require("skip-cost", "false");
  settings.expect_all_known(fmt::format("{} {}", kNeutralDecoderOptions, kNeutralStudentOptions));
  return decoder;
}

CrossHeads read_marian_heads(TensorLookup& arrays, std::string_view where) {
  const YamlSettings settings = read_model_settings(arrays, where);
  const std::string key = "transformer-guided-alignment-layer";
  if (settings.text(key, "last") == "last") return {.head = 0};
  const std::int64_t number = settings.whole_number(key, 1);
  const std::int64_t layers = settings.whole_number("dec-depth", 6);
  if (number < 1 || number > layers) settings.refuse(key, std::to_string(number), fmt::format("1 to {}", layers));
  return {.layer = number - 1, .head = 0};
}

TransformerOptions read_marian_options(TensorLookup& arrays, std::string_view where) {
  const std::string name = fmt::format("{}, {}", where, kOptionsArray);
  const YamlSettings settings = read_model_settings(arrays, where);
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
  options.decoder_mixer = read_decoder_mixer(settings, options.norm_placement);
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
