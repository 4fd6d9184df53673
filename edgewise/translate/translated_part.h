// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "edgewise/search/hypothesis.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "edgewise/translate/prepared_text.h"
#include "edgewise/translate/span_places.h"
#include "edgewise/translate/translation.h"

namespace edgewise {

/// The tokens and the protected spans of a part of a sentence, numbered in the order of the sentence.
struct SentencePartTokens {
  std::size_t begin = 0;                 // index of the part's first token in its input, after the tokens around it
  std::size_t first = 0;                 // number of the part's first token or span
  std::size_t count = 0;                 // tokens and spans; a placeholder and its span are one
  std::vector<std::size_t> tokens = {};  // number of each token
  std::vector<std::size_t> spans = {};   // number of each span
};

/// The texts of tokens. Those of a sentence in capitals, which the model read in the case of sentences, are in
/// capitals.
struct TokenTexts {
  const Vocabulary& vocabulary;
  bool is_in_capitals = false;

  std::string text(std::int64_t token) const;
  std::string decode(std::span<const std::int64_t> tokens) const;
};

/// Numbers a part's tokens and spans from texts.size() on, and appends their texts.
SentencePartTokens append_part_tokens(std::vector<std::string>& texts, std::span<const std::int64_t> tokens,
                                      std::span<const PlacedSpan> placed, std::span<const TakenSpan> spans,
                                      const TokenTexts& token_texts);

/// Turns the hypotheses of a part into text.
struct SentencePartDecoder {
  TokenTexts token_texts;
  std::span<const std::int64_t> forced;  // first tokens of the output, which are no text
  std::span<const TakenSpan> spans;      // spans of the sentence
  bool has_alignments = true;            // whether texts get alignments and attention, if a hypothesis has them

  /// Appends the output of a part, after a space, and its spans.
  void append(TranslatedText& text, const Hypothesis& hypothesis, const SentencePartTokens& input,
              std::span<const PlacedSpan> placed) const;
};

}  // namespace edgewise
