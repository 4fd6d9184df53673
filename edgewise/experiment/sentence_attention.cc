// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/sentence_attention.h"

#include <span>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/data/encode.h"
#include "edgewise/models/model_attention.h"

namespace edgewise {
namespace {

void check_length(std::span<const std::int64_t> tokens, std::string_view side, std::int64_t max_length,
                  std::string_view caller) {
  check(max_length == 0 || std::ssize(tokens) <= max_length,
        "{}: the {} has {} tokens, the model was trained with at most {}", caller, side, tokens.size(), max_length);
}

TokenPair pair_of(const TranslationModel& model, std::string_view input, const std::vector<std::int64_t>& output,
                  std::string_view caller) {
  const DataOptions& data = model.experiment.data;
  std::vector<std::int64_t> tokens = model.vocabularies.input->encode(input);
  check(!tokens.empty(), "{}: the input has no tokens, at least one is needed", caller);
  check_length(tokens, "input", data.max_length, caller);
  check_length(output, "output", data.max_length, caller);
  return with_special_tokens(std::move(tokens), output, encode_options(data));
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
  return pair_of(model, input, model.vocabularies.output->encode(output), caller);
}

TokenPair encode_pair(const TranslationModel& model, std::string_view input, const TranslatedText& output,
                      std::string_view caller) {
  return pair_of(model, input, output.token_numbers, caller);
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
