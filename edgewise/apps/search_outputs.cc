// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/search_outputs.h"

#include <utility>

#include "edgewise/models/transformer_scorer.h"
#include "edgewise/text/vocabulary.h"

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

}  // namespace edgewise
