// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/translate_sentences.h"

#include <algorithm>
#include <numeric>

#include "edgewise/models/transformer_scorer.h"

namespace edgewise {
namespace {

// Rows that a step computes at once: enough to keep the GEMMs busy, few enough to stay in the caches.
constexpr std::size_t kSentencesAtOnce = 128;

}  // namespace

std::vector<Tokens> search_outputs(const Transformer& transformer, std::span<const Tokens> inputs,
                                   const SearchOptions& options) {
  SearchOptions used = options;
  used.begin_token = kBeginToken;
  used.end_token = kEndToken;
  used.never = {kPaddingToken, kUnknownToken, kBeginToken};
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return inputs[i].size(); });

  TransformerScorer scorer(transformer);
  std::vector<Tokens> outputs(inputs.size());
  for (std::size_t begin = 0; begin < order.size(); begin += kSentencesAtOnce) {
    const auto chosen = std::span(order).subspan(begin, std::min(kSentencesAtOnce, order.size() - begin));
    std::vector<Tokens> batch;
    for (const std::size_t i : chosen) batch.push_back(inputs[i]);
    std::vector<Hypothesis> found = search(scorer, batch, used);
    for (std::size_t i = 0; i < chosen.size(); ++i) outputs[chosen[i]] = std::move(found[i].tokens);
  }
  return outputs;
}

std::vector<std::string> translate_sentences(const TranslationModel& model, std::span<const std::string> sentences,
                                             const SearchOptions& options) {
  const EncodeOptions encoding = encode_options(model.experiment.data);
  std::vector<Tokens> inputs;
  for (const std::string& sentence : sentences) {
    Tokens input = encode_input(sentence, *model.vocabularies.input, encoding);
    const bool is_empty = input.empty() || input.front() == kEndToken;
    inputs.push_back(is_empty ? Tokens{} : std::move(input));
  }
  std::vector<std::string> outputs;
  for (const Tokens& tokens : search_outputs(model.transformer, inputs, options)) {
    outputs.push_back(model.vocabularies.output->decode(tokens));
  }
  return outputs;
}

}  // namespace edgewise
