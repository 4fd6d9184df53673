// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/translate/translator.h"
#include "tests/search/table_scorer.h"
#include "tests/translate/words.h"

// A model of words that copies its input, with attention to the word that it copies.

namespace edgewise {

inline constexpr SpecialTokens kSpecial;
inline const std::string kAllWords = "a b c d e f g. h! i";

/// Returns log-probabilities that favour copying the input and then the end token.
inline std::vector<float> copying_scores(std::int64_t vocabulary, const Tokens& input, const Tokens& produced) {
  std::vector<float> row(static_cast<std::size_t>(vocabulary), -9.0f);
  const bool is_at_end = produced.size() >= input.size() || input[produced.size()] == kSpecial.end;
  row[static_cast<std::size_t>(is_at_end ? kSpecial.end : input[produced.size()])] = -0.125f;
  return row;
}

/// Returns attention to the token that is copied.
inline std::vector<float> copying_attention(const Tokens& input, const Tokens& produced) {
  std::vector<float> weights(input.size(), 0.0f);
  weights[std::min(produced.size(), input.size() - 1)] = 1.0f;
  return weights;
}

/// Returns a codec of the words above.
inline TextCodec make_codec() {
  const auto vocabulary = make_word_vocabulary(kAllWords);
  return {.vocabularies = {vocabulary, vocabulary}};
}

inline ScorerFactory copying_scorers(const TextCodec& codec) {
  const std::int64_t size = codec.vocabularies.output->size();
  return [size] {
    return std::make_unique<TableScorer>(
        size, [size](const Tokens& input, const Tokens& produced) { return copying_scores(size, input, produced); },
        copying_attention);
  };
}

/// Returns scorers whose steps wait until `may_go_on` is set.
inline ScorerFactory waiting_scorers(const TextCodec& codec, const std::atomic<bool>& may_go_on) {
  const std::int64_t size = codec.vocabularies.output->size();
  return [size, &may_go_on] {
    return std::make_unique<TableScorer>(
        size,
        [size, &may_go_on](const Tokens& input, const Tokens& produced) {
          may_go_on.wait(false);
          return copying_scores(size, input, produced);
        },
        copying_attention);
  };
}

/// Returns a translator whose output is its input.
inline Translator copier(TextCodec codec = make_codec(), TranslatorOptions options = {}) {
  SearchOptions search = options.search.value_or(SearchOptions());
  search.length_norm = LengthNorm::kNone;
  options.search = search;
  auto scorers = copying_scorers(codec);
  return Translator(std::move(codec), scorers, std::move(options));
}

}  // namespace edgewise
