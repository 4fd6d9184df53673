// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/convert/exported_content.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/marian_config.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/system_search.h"
#include "edgewise/convert/yaml.h"

namespace edgewise {
namespace {

/// Writes the text of special:model.yml for a model whose vocabularies are those of Marian.
class OptionsWriter {
 public:
  /// `alignment_layer` is that of CrossHeads.
  OptionsWriter(const TransformerOptions& options, std::int64_t alignment_layer)
      : options_(options), alignment_layer_(alignment_layer) {}

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
    add("transformer-guided-alignment-layer",
        alignment_layer_ < 0 ? std::string("last") : std::to_string(alignment_layer_ + 1));
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
  std::int64_t alignment_layer_;
  std::string text_;
};

/// Returns the rules with which the outputs of Marian contain the tokens that those of Edgewise may contain.
MarianTokenRules marian_token_rules(const Vocabulary& output) {
  const std::vector<std::int64_t>& forbidden = output.rules().forbidden;
  const auto is_allowed = [&](std::int64_t token) { return !std::ranges::binary_search(forbidden, token); };
  MarianTokenRules rules = {.allow_unknown = is_allowed(output.special().unknown)};
  for (std::int64_t token = 0; token < output.size(); ++token) {
    if (is_marian_control_token(output.token_text(token)) && is_allowed(token)) rules.allow_control = true;
  }
  return rules;
}

std::vector<std::string> imported_tokens(const Vocabulary& vocabulary, bool has_languages, std::string_view caller) {
  const TokenList list = mapped_tokens(vocabulary);
  std::vector<std::string> tokens(list.tokens.begin(), list.tokens.end() - 1);
  TokenListBuilder builder = marian_token_list(tokens, marian_token_rules(vocabulary), "the vocabulary");
  if (has_languages) builder.add_marian_languages();
  check(std::move(builder).finish()->list() == list,
        "{}: the vocabulary has other rules than Marian, needs </s>, <unk> and, as the last token, {}, which is the "
        "begin token; import a model of Marian",
        caller, kMarianPadding);
  return tokens;
}

/// Gives a special token its name in Marian. The byte of a control character that has this name, and is in no text,
/// gets a name that no token of Marian has.
void rename(std::vector<std::string>& tokens, std::int64_t special, const std::string& name,
            const std::vector<std::int64_t>& forbidden, std::string_view caller) {
  std::string& own = tokens[static_cast<std::size_t>(special)];
  if (const auto other = std::ranges::find(tokens, name); other != tokens.end()) {
    check(std::ranges::binary_search(forbidden, other - tokens.begin()),
          "{}: the vocabulary has the token {}, needs other tokens", caller, quote(name));
    *other = fmt::format("<{}>", name);
  }
  own = name;
}

std::vector<std::string> learned_tokens(const Vocabulary& vocabulary, std::string_view caller) {
  const SpecialTokens& special = vocabulary.special();
  const std::array<std::pair<std::int64_t, std::string>, 4> names = {{{special.padding, "<0x00>"},
                                                                      {special.begin, "<0x01>"},
                                                                      {special.unknown, std::string(kUnknownToken)},
                                                                      {special.end, std::string(kMarianEnd)}}};
  std::vector<std::string> tokens = all_tokens(vocabulary);
  for (const auto& [number, name] : names) rename(tokens, number, name, vocabulary.rules().forbidden, caller);
  return tokens;
}

/// Returns the text of vocab.yml. A mapped vocabulary must have been imported from Marian; its last token,
/// kMarianPadding, is left out. Of a vocabulary that SentencePiece learned, the end and the unknown token get Marian's
/// names, and the padding and the begin token get the names of control characters, which outputs of Marian cannot
/// contain. Throws Error, beginning with `caller`, for other vocabularies.
std::string write_marian_vocabulary(const Vocabulary& vocabulary, bool has_languages, std::string_view caller) {
  std::vector<std::string> tokens;
  if (vocabulary.kind() == VocabularyKind::kMapped) {
    tokens = imported_tokens(vocabulary, has_languages, caller);
  } else if (vocabulary.kind() == VocabularyKind::kSentencePiece) {
    tokens = learned_tokens(vocabulary, caller);
  } else {
    refuse_option(caller, "vocabulary.kind", enum_name(vocabulary.kind()), "sentencepiece, or mapped as in an import");
  }
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) text += fmt::format("{}: {}\n", quote_yaml(tokens[i]), i);
  return text;
}

void check_norms(const TransformerOptions& options, std::string_view caller) {
  if (options.norm_placement != NormPlacement::kPost) {
    refuse_option(caller, "model.norm_placement", enum_name(options.norm_placement),
                  "post, because Marian computes pre-norm models in another way when it translates than in training");
  }
  if (options.final_norm) refuse_option(caller, "model.final_norm", "true", "false with norm_placement post");
  if (options.norm_epsilon != kMarianEpsilon) {
    refuse_option(caller, "model.norm_epsilon", json_number(options.norm_epsilon),
                  fmt::format("{}, as Marian has", json_number(kMarianEpsilon)));
  }
}

void check_layers(const TransformerOptions& options, std::string_view caller) {
  check_norms(options, caller);
  if (options.activation == Activation::kGelu) {
    refuse_option(caller, "model.activation", "gelu",
                  "relu or silu, because Marian's gelu is x * sigmoid(1.702 x), another function");
  }
  if (!options.scale_embedding) {
    refuse_option(caller, "model.scale_embedding", "false", "true, because Marian multiplies by sqrt(size)");
  }
  if (options.positions != PositionKind::kMarian) {
    refuse_option(caller, "model.positions", enum_name(options.positions), "marian");
  }
  if (options.begin_embedding != BeginEmbedding::kZero) {
    refuse_option(caller, "model.begin_embedding", enum_name(options.begin_embedding),
                  "zero, because Marian begins outputs with a vector of zeros");
  }
}

/// Throws Error for options that Marian does not have.
void check_marian_options(const ModelFiles& model, std::string_view caller) {
  check_exportable(model.experiment.model, caller);
  check_case_is_kept(model.experiment.vocabulary, caller);
  check_layers(model.experiment.model, caller);
  if (!model.experiment.data.end_input) {
    refuse_option(caller, "data.end_input", "false",
                  "true, because Marian ends each input with the end token; train with data.end_input=true");
  }
}

/// Takes the last row, that of kMarianPadding, out of a parameter of the vocabularies.
void remove_padding(TensorInfo& parameter, float needed, std::string_view caller) {
  const std::int64_t row_size = parameter.shape.size() == 2 ? parameter.shape[1] : 1;
  const std::int64_t last = --parameter.shape[0];
  const std::size_t kept = static_cast<std::size_t>(last * row_size) * dtype_size(parameter.dtype);
  const TensorInfo row = {parameter.name, parameter.dtype, {row_size}, parameter.bytes.subspan(kept)};
  check(std::ranges::all_of(to_floats(row, caller), [&](float value) { return value == needed; }),
        "{}: {} has other elements than {} for token {}, needs {}, because Marian has no such token", caller,
        parameter.name, needed, last, needed);
  parameter.bytes = parameter.bytes.first(kept);
}

void add_options(const Experiment& experiment, const TransformerOptions& options, StoredTensors& arrays) {
  std::string text = OptionsWriter(options, experiment.search.recorded_heads.layer).run();
  text += '\0';
  const auto size = std::ssize(text);
  const std::string_view bytes = arrays.keep(std::move(text));
  arrays.tensors.push_back({"special:model.yml", DType::kI8, {size}, std::as_bytes(std::span(bytes))});
}

std::string write_arrays(const ModelFiles& model, std::string_view caller) {
  TransformerOptions options = model.experiment.model;
  StoredTensors parameters = exported_parameters(model, ExportedTypes::kF32, caller);
  if (model.codec.vocabularies.output->kind() == VocabularyKind::kMapped) {
    constexpr std::array kTables = {"input_embedding.weight", "output_embedding.weight", "generator.weight"};
    for (TensorInfo& parameter : parameters.tensors) {
      if (std::ranges::find(kTables, parameter.name) != kTables.end()) remove_padding(parameter, 0, caller);
      if (parameter.name == "generator.bias") remove_padding(parameter, kPaddingBias, caller);
    }
    --options.input_vocabulary;
    --options.output_vocabulary;
  }
  StoredTensors arrays = export_parameters(parameters.tensors, marian_layout(options));
  add_options(model.experiment, options, arrays);
  return serialize_npz(arrays.tensors);
}

std::string write_decoder(const SearchOptions& search, const MarianTokenRules& rules, std::string_view input,
                          std::string_view output) {
  std::string text = fmt::format(
      "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - {}\n  - {}\nbeam-size: {}\nnormalize: {}\n"
      "word-penalty: 0\n",
      input, output, search.beam, json_number(exported_length_penalty(search)));
  if (rules.allow_unknown) text += "allow-unk: true\n";
  if (rules.allow_control) text += "allow-special: true\n";
  if (has_marian_lengths(search)) text += fmt::format("max-length-factor: {}\n", json_number(search.length_factor));
  return text;
}

}  // namespace

std::map<std::string, std::string> export_marian(const ModelFiles& model, std::string_view caller) {
  check_marian_options(model, caller);
  const Vocabularies& vocabularies = model.codec.vocabularies;
  const bool is_shared = model.experiment.vocabulary.shared;
  const std::string input = is_shared ? "vocab.yml" : "source.vocab.yml";
  const std::string output = is_shared ? "vocab.yml" : "target.vocab.yml";
  std::map<std::string, std::string> files;
  files[input] = write_marian_vocabulary(*vocabularies.input, true, caller);
  if (!is_shared) files[output] = write_marian_vocabulary(*vocabularies.output, false, caller);
  files["source.spm"] = piece_model(*vocabularies.input);
  files["target.spm"] = piece_model(*vocabularies.output);
  files["decoder.yml"] =
      write_decoder(model.experiment.search, marian_token_rules(*vocabularies.output), input, output);
  files["model.npz"] = write_arrays(model, caller);
  return files;
}

}  // namespace edgewise
