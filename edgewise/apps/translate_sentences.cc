// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/translate_sentences.h"

#include <utility>

#include "edgewise/models/transformer_scorer.h"

namespace edgewise {
namespace {

// Rows that a step computes at once: enough to keep the GEMMs busy, few enough to stay in the caches.
constexpr std::int64_t kSentencesAtOnce = 128;

}  // namespace

std::vector<Tokens> search_outputs(const Transformer& transformer, std::span<const Tokens> inputs,
                                   const SearchOptions& options) {
  SearchOptions used = options;
  used.begin_token = kBeginToken;
  used.end_token = kEndToken;
  used.never = {kPaddingToken, kUnknownToken, kBeginToken};
  used.n_best = 1;
  TransformerScorer scorer(transformer);
  std::vector<Tokens> outputs;
  for (auto& best : search(scorer, inputs, used, {.sentences = kSentencesAtOnce})) {
    outputs.push_back(std::move(best.front().tokens));
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
