// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/search/hypothesis.h"
#include "edgewise/search/sentence_search.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/translate/prepared_text.h"
#include "edgewise/translate/span_places.h"
#include "edgewise/translate/translation.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// Treatment of inputs of more tokens than the model accepts: split the input into parts that are translated one by one
/// (fitted_text.h), or cut the input, so that only its beginning is translated.
enum class LongInputs { kSplit, kCut };

inline constexpr auto enum_names(LongInputs) {
  return std::array{EnumName{LongInputs::kSplit, "split"}, EnumName{LongInputs::kCut, "cut"}};
}

/// A part of a sentence, which a model translates at a time.
struct SentencePart {
  SearchInput input;                        // input of the search of this part
  std::vector<PlacedSpan> placed = {};      // protected spans of the part
  std::vector<Hypothesis> hypotheses = {};  // results of the search, best first
};

/// A sentence as tokens: several parts for a long sentence, one empty part for a sentence without tokens. The output of
/// each part begins with its language (SearchInput::forced), that of the first part also with the prefix.
struct TokenizedSentence {
  std::vector<SentencePart> parts;
  SentenceFrame frame = {};  // the first and last tokens of each part that is not empty
  bool was_cut = false;
  bool is_in_capitals = false;        // the model reads and writes it in another case
  std::vector<TakenSpan> spans = {};  // protected spans, which the model does not translate

  /// Returns how many tokens the searches of all parts get. The forced tokens count once.
  std::int64_t num_tokens() const;
};

/// Converts text into the tokens of a model, and tokens into text.
struct TextCodec {
  Vocabularies vocabularies;
  bool end_input = false;          // whether each input ends with the end token
  std::int64_t max_input = 0;      // most tokens of an input, without those around it; 0: no limit
  std::int64_t max_positions = 0;  // positions that the model has on each side; 0: no limit
  PairLanguages languages = {};    // languages of requests that name none
  Placeholders placeholders = {};  // tokens of both vocabularies for protected spans
  KnownCharacters known = {};      // characters of the input vocabulary
  bool is_protecting = false;      // whether text that is no language is kept (prepared_text.h)
  bool has_alignments = true;      // whether translations have alignments and attention, if hypotheses have them

  /// Sets max_input to `limit`, or to the longest input for which the model has positions if that is shorter.
  void limit_input(std::int64_t limit);

  /// Throws Error for text that is not UTF-8, for an input or a prefix for which the model has too few positions, and
  /// for a language that is missing or that the model does not have. An input without tokens gets no tokens around it.
  /// An input with a prefix has no protected spans, because its output may have begun with them.
  TokenizedSentence encode(const TranslationRequest& request, LongInputs long_inputs = LongInputs::kSplit) const;

  /// Builds the translation from the hypotheses of the parts. An output of a sentence of several parts joins a
  /// hypothesis of each part by spaces; of all these combinations, the translation has the `n_best` with the highest
  /// mean score.
  Translation decode(const TokenizedSentence& sentence, std::int64_t n_best) const;
};

}  // namespace edgewise
