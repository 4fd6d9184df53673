// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/sorting.h"
#include "edgewise/convert/causal_config.h"
#include "edgewise/convert/hugging_face_tensors.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/tensor_layout.h"
#include "edgewise/convert/token_list_builder.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestChunk = 1'000'000;  // the greatest batch.length

/// Returns the roles of the tokens. A model may lack a begin token: texts then begin with the end token, which stands
/// between texts in training.
SentenceRules causal_rules(const CausalConfig& config, const TokenizerCodec& codec, const std::string& where) {
  check(config.begin.has_value() || !config.ends.empty(),
        "{}: config.json has neither bos_token_id nor eos_token_id, needs one of them", where);
  const std::int64_t end = config.ends.empty() ? *config.begin : config.ends[0];
  SentenceRules rules;
  rules.special = {.padding = config.padding.value_or(end),
                   .unknown = codec.unknown().value_or(end),
                   .begin = config.begin.value_or(end),
                   .end = end};
  rules.omitted = codec.special();
  for (const std::int64_t token : {rules.special.begin, end}) rules.omitted.push_back(token);
  if (config.ends.size() > 1) rules.other_ends.assign(config.ends.begin() + 1, config.ends.end());
  std::ranges::sort(rules.other_ends);
  rules.forbidden = {};
  return rules;
}

std::shared_ptr<const Vocabulary> read_tokenizer(const fs::path& directory, const CausalConfig& config,
                                                 std::string_view caller) {
  const fs::path path = directory / kTokenizerFile;
  check(has_entry(path, caller),
        "{}: {} has no {}, needs one; save_pretrained() of transformers' AutoTokenizer writes it", caller,
        directory.string(), kTokenizerFile);
  const std::string where = fmt::format("{}: {}", caller, path.string());
  const auto codec = std::make_shared<const TokenizerCodec>(read_vocabulary_file(path, caller), where);
  TokenList list = {
      .text = TokenText::kTokenizer, .rules = causal_rules(config, *codec, where), .tokens = codec->tokens()};
  const auto size = static_cast<std::size_t>(config.model.output_vocabulary);
  check(list.tokens.size() <= size, "{} has {} tokens, needs at most the {} of config.json", where, list.tokens.size(),
        size);
  list.tokens.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (!list.tokens[i].empty()) continue;
    list.tokens[i] = unnamed_token(i);
    list.rules.omitted.push_back(static_cast<std::int64_t>(i));
  }
  sort_unique(list.rules.omitted);
  return make_tokenizer_vocabulary(std::make_shared<const TokenIndex>(std::move(list), where), codec, where);
}

/// Marks tensors that the model computes itself: masks of GPT-2, angles of Llama, and copies of the embedding.
void ignore_computed(const std::string& prefix, const CausalConfig& config, TensorLookup& tensors) {
  for (std::int64_t i = 0; i < config.model.decoder_layers; ++i) {
    for (const char* name : {"attn.bias", "attn.masked_bias"}) tensors.find(fmt::format("{}h.{}.{}", prefix, i, name));
    tensors.find(fmt::format("model.layers.{}.self_attn.rotary_emb.inv_freq", i));
  }
  tensors.find("model.rotary_emb.inv_freq");
}

/// Returns the layout of the tensors. Files of GPT-2 may leave out the prefix `transformer.`; a copy of a tied
/// embedding that differs from the embedding is a matrix of its own, as in transformers 5.
std::vector<TensorLayout> find_layout(CausalConfig& config, TensorLookup& tensors) {
  const bool is_gpt2 = config.family == CausalFamily::kGpt2;
  const std::string prefix = is_gpt2 && tensors.find("wte.weight") == nullptr ? "transformer." : "";
  ignore_computed(prefix, config, tensors);
  const TensorInfo* projection = tensors.find("lm_head.weight");
  if (config.model.tying == Tying::kOutput && projection != nullptr) {
    const TensorInfo& embedding = tensors.get(is_gpt2 ? prefix + "wte.weight" : "model.embed_tokens.weight");
    if (!are_equal(embedding, *projection)) config.model.tying = Tying::kNone;
  }
  return is_gpt2 ? gpt2_layout(config.model, prefix) : llama_layout(config.model, config.has_output_biases);
}

}  // namespace

ImportedModel import_causal(const fs::path& directory, std::string_view caller) {
  CausalConfig config = read_causal_config(directory, caller);
  const auto vocabulary = read_tokenizer(directory, config, caller);
  StoredTensors stored = read_hugging_face_tensors(directory, caller);
  TensorLookup tensors(stored.tensors, fmt::format("{}: {}", caller, directory.string()));
  const std::vector<TensorLayout> layout = find_layout(config, tensors);

  ImportedModel model;
  model.origin = fmt::format("a {} model of Hugging Face's transformers", config.name);
  model.vocabularies = {vocabulary, vocabulary};
  model.experiment.model = config.model;
  model.experiment.vocabulary.kind = VocabularyKind::kMapped;
  model.experiment.vocabulary.shared = true;
  model.experiment.train.smoothing = 0;
  model.experiment.batch.length = std::min(config.positions, kLongestChunk);
  const std::vector<ParameterShape> parameters = list_parameters(config.model);
  model.parameters = import_parameters(parameters, layout, tensors);
  if (!config.has_output_biases && config.model.attention_bias) {
    for (const ParameterShape& parameter : parameters) {
      if (parameter.name.ends_with("self_attention.output.bias")) {
        add_zeros(parameter.name, parameter.shape, model.parameters);
      }
    }
  }
  tensors.expect_all_used();
  std::ranges::move(stored.memory, std::back_inserter(model.parameters.memory));
  return model;
}

}  // namespace edgewise
