// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/sentence_attention.h"

#include <span>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/models/model_attention.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> encode_side(const Vocabulary& vocabulary, std::string_view sentence, std::string_view side,
                                      std::int64_t max_length, std::string_view caller) {
  std::vector<std::int64_t> tokens = vocabulary.encode(sentence);
  check(max_length == 0 || std::ssize(tokens) <= max_length,
        "{}: the {} has {} tokens, the model was trained with at most {}", caller, side, tokens.size(), max_length);
  return tokens;
}

std::vector<std::string> texts_of(const Vocabulary& vocabulary, std::span<const std::int64_t> tokens) {
  std::vector<std::string> texts;
  for (const std::int64_t token : tokens) texts.emplace_back(vocabulary.token_text(token));
  return texts;
}

std::vector<std::vector<std::vector<float>>> by_layer_and_head(const std::vector<DenseAttention>& layers) {
  std::vector<std::vector<std::vector<float>>> weights;
  for (const DenseAttention& layer : layers) {
    auto& heads = weights.emplace_back();
    const std::int64_t size = layer.rows * layer.columns;
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const auto begin = layer.weights.begin() + head * size;
      heads.emplace_back(begin, begin + size);
    }
  }
  return weights;
}

}  // namespace

TokenPair encode_pair(const TranslationModel& model, std::string_view input, std::string_view output,
                      std::string_view caller) {
  const std::int64_t max_length = model.experiment.data.max_length;
  TokenPair pair;
  pair.input = encode_side(*model.vocabularies.input, input, "input", max_length, caller);
  check(!pair.input.empty(), "{}: the input has no tokens, at least one is needed", caller);
  if (model.experiment.data.end_input) pair.input.push_back(kEndToken);
  pair.output = encode_side(*model.vocabularies.output, output, "output", max_length, caller);
  pair.output.insert(pair.output.begin(), kBeginToken);
  pair.output.push_back(kEndToken);
  return pair;
}

std::vector<AttentionMaps> attention_maps(const TranslationModel& model, const TokenPair& pair) {
  GraphPool pool;
  const ModelAttention found = attention_of(*model.model, make_batch(pool, std::span(&pair, 1)));
  const std::span<const std::int64_t> output(pair.output);
  const std::vector<std::string> input_texts = texts_of(*model.vocabularies.input, pair.input);
  const std::vector<std::string> read = texts_of(*model.vocabularies.output, output.first(output.size() - 1));
  const std::vector<std::string> said = texts_of(*model.vocabularies.output, output.subspan(1));
  const std::string of_layers = model.model->options().kind == ModelKind::kUniversal ? "step" : "layer";
  return {{.name = "encoder self-attention",
           .of_layers = of_layers,
           .of_rows = "input",
           .of_columns = "input",
           .rows = input_texts,
           .columns = input_texts,
           .weights = by_layer_and_head(found.encoder)},
          {.name = "decoder self-attention",
           .of_layers = of_layers,
           .of_rows = "output, tokens read",
           .of_columns = "output, tokens read",
           .rows = read,
           .columns = read,
           .weights = by_layer_and_head(found.decoder)},
          {.name = "cross-attention",
           .of_layers = of_layers,
           .of_rows = "output, tokens said",
           .of_columns = "input",
           .rows = said,
           .columns = input_texts,
           .weights = by_layer_and_head(found.cross)}};
}

}  // namespace edgewise
