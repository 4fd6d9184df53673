// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/sentence_attention.h"

#include <fmt/format.h>

#include <span>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/utf8.h"
#include "edgewise/data/encode.h"
#include "edgewise/models/model_attention.h"
#include "edgewise/models/model_costs.h"

namespace edgewise {
namespace {

void check_length(std::span<const std::int64_t> tokens, std::string_view side, std::int64_t max_length,
                  std::string_view caller) {
  check(max_length == 0 || std::ssize(tokens) <= max_length,
        "{}: the {} has {} tokens, the model was trained with at most {}", caller, side, tokens.size(), max_length);
}

void require_map_memory(const TranslationModel& model, const TokenPair& pair, std::string_view caller) {
  BatchTokens size;
  size.add_pair(std::ssize(pair.input), std::ssize(pair.output) - 1);
  const TransformerOptions& options = model.model->options();
  require_memory(attention_map_memory(options, size) + edge_memory(options, size),
                 fmt::format("{}: the attention of {} input and {} output tokens", caller, size.input, size.output),
                 "choose a shorter pair");
}

TokenPair check_and_pair(const TranslationModel& model, std::string_view input, const std::vector<std::int64_t>& output,
                         std::string_view caller) {
  const DataOptions& data = model.experiment.data;
  const EncodedInput encoded = encode_input(model, input, caller);
  check(!encoded.tokens.empty(), "{}: the input has no tokens, needs at least one", caller);
  check_length(encoded.tokens, "input", data.max_length, caller);
  check_length(output, "output", data.max_length, caller);
  TokenPair pair = pair_with_output(model, encoded, output, caller);
  require_map_memory(model, pair, caller);
  return pair;
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

/// Parses the number of a layer or head below `count`; returns nothing for "mean".
std::optional<std::size_t> parse_map_index(const std::string& text, std::size_t count, std::string_view option,
                                           std::string_view caller) {
  if (text == kMeanMap) return std::nullopt;
  std::size_t index = 0;
  check(parse_number(text, below(static_cast<double>(count)), index),
        "{}: {} is {}, needs a number from 0 to {}, or mean", caller, option, quote_unless_plain(text), count - 1);
  return index;
}

}  // namespace

TokenPair encode_text(const TranslationModel& model, std::string_view text, std::string_view caller) {
  const Vocabulary& vocabulary = *model.vocabularies.output;
  const std::vector<std::int64_t> tokens = vocabulary.encode(text);
  const std::int64_t most = model.experiment.batch.length;
  check(std::ssize(tokens) < most, "{}: the text has {} tokens and an end token, the model was trained with at most {}",
        caller, tokens.size(), most);
  TokenPair pair = frame_pair({}, {}, tokens, frame_output(vocabulary, "", caller));
  require_map_memory(model, pair, caller);
  return pair;
}

TokenPair encode_pair(const TranslationModel& model, std::string_view input, std::string_view output,
                      std::string_view caller) {
  return check_and_pair(model, input, model.vocabularies.output->encode(output), caller);
}

TokenPair encode_pair(const TranslationModel& model, std::string_view input, const TranslatedText& output,
                      std::string_view caller) {
  return check_and_pair(model, input, output.token_numbers, caller);
}

std::vector<AttentionMaps> attention_maps(const TranslationModel& model, const TokenPair& pair,
                                          const StopRequest* stop) {
  throw_if_set(stop);
  const ModelAttention attention = record_attention(*model.model, make_batch(std::span(&pair, 1)), stop);
  throw_if_set(stop);
  const std::span<const std::int64_t> output(pair.output);
  const std::vector<std::string> input_texts = texts_of(*model.vocabularies.input, pair.input);
  const std::vector<std::string> decoder_inputs = texts_of(*model.vocabularies.output, output.first(output.size() - 1));
  const std::vector<std::string> predictions = texts_of(*model.vocabularies.output, output.subspan(1));
  const std::string layer_name = model.model->options().kind == ModelKind::kUniversal ? "step" : "layer";
  if (pair.input.empty()) {
    return {{.name = "self-attention",
             .layer_name = layer_name,
             .row_title = "tokens",
             .column_title = "tokens",
             .rows = decoder_inputs,
             .columns = decoder_inputs,
             .weights = by_layer_and_head(attention.decoder)}};
  }
  std::vector<AttentionMaps> maps = {{.name = "encoder self-attention",
                                      .layer_name = layer_name,
                                      .row_title = "input",
                                      .column_title = "input",
                                      .rows = input_texts,
                                      .columns = input_texts,
                                      .weights = by_layer_and_head(attention.encoder)}};
  if (!attention.decoder.empty()) {
    maps.push_back({.name = "decoder self-attention",
                    .layer_name = layer_name,
                    .row_title = "decoder inputs",
                    .column_title = "decoder inputs",
                    .rows = decoder_inputs,
                    .columns = decoder_inputs,
                    .weights = by_layer_and_head(attention.decoder)});
  }
  maps.push_back({.name = "cross-attention",
                  .layer_name = layer_name,
                  .row_title = "predicted tokens",
                  .column_title = "input",
                  .rows = predictions,
                  .columns = input_texts,
                  .weights = by_layer_and_head(attention.cross)});
  return maps;
}

std::size_t select_kind(const AttentionMapSelection& selection, std::size_t num_kinds, std::string_view caller) {
  if (num_kinds == 1) {
    check(selection.kind.value_or(AttentionKind::kDecoderSelf) == AttentionKind::kDecoderSelf,
          "{}: --attention is {}, needs decoder, the only attention of a language model", caller,
          enum_name(*selection.kind));
    return 0;
  }
  const AttentionKind selected = selection.kind.value_or(AttentionKind::kCross);
  if (num_kinds == 2) {
    check(selected != AttentionKind::kDecoderSelf,
          "{}: --attention is decoder, needs encoder or cross, because the model's decoder is an SSRU", caller);
    return selected == AttentionKind::kCross ? 1 : 0;
  }
  const auto kind = static_cast<std::size_t>(selected);
  check(kind < num_kinds, "{}: there are {} kinds of attention, needs {}", caller, num_kinds, kind + 1);
  return kind;
}

MapIndex select_map(const AttentionMapSelection& selection, const AttentionMaps& maps, std::string_view caller) {
  const std::string layer = selection.layer.empty() ? std::to_string(maps.num_layers() - 1) : selection.layer;
  const std::string head = selection.head.empty() ? std::string(kMeanMap) : selection.head;
  return {parse_map_index(layer, maps.num_layers(), "--layer", caller),
          parse_map_index(head, maps.num_heads(), "--head", caller)};
}

}  // namespace edgewise
