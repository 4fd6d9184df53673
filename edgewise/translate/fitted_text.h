// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "edgewise/search/scorer.h"
#include "edgewise/text/byte_range.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/sentences/sentence_splitter.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns a text in capitals with each word in the case for which a vocabulary has the fewest unknown tokens, and then
/// the fewest tokens: lower case, or else with a first capital, or else capitals. So NATO stays where it is a token.
/// The first word of a sentence of several words prefers a first capital. Each character keeps its offset. Returns
/// nothing for a text with other letters than capitals, and for a text that stays. Costs three encodings.
std::optional<std::string> without_capitals(std::string_view text, const Vocabulary& vocabulary);

/// The characters of a vocabulary of pieces. Immutable, so several threads may use it.
class KnownCharacters {
 public:
  /// Knows all characters.
  KnownCharacters() = default;

  /// Knows the characters that are not unknown tokens or bytes. All characters are known with a vocabulary of another
  /// kind than kSentencePiece: a mapped one has the text of its own system. Costs O(bytes of the tokens).
  explicit KnownCharacters(std::shared_ptr<const Vocabulary> vocabulary);

  /// Returns the spans and the words outside of them that have an unknown letter, in ascending order. In a script
  /// without spaces between words, a run of unknown letters is a word.
  std::vector<ProtectedSpan> add_unknown_words(std::string_view text, std::vector<ProtectedSpan> spans) const;

 private:
  bool is_known(std::string_view character, char32_t code_point) const;

  std::shared_ptr<const Vocabulary> vocabulary_;  // nullptr: all characters are known
  std::unordered_set<char32_t> characters_;       // characters of tokens; normalisation makes others known, too
};

// A text of more bytes per allowed token counts as too long without encoding it, because encoding megabytes takes
// seconds.
inline constexpr std::size_t kMaxBytesPerToken = 64;

/// A part of a text that a model accepts.
struct FittingPart {
  Tokens tokens;    // at least one
  ByteRange bytes;  // the part of the text
};

/// Splits a text of more than `max_tokens` tokens into parts of at most `max_tokens`: a part for each sentence that the
/// splitter finds. A sentence that is too long is split at white space near its middle, or else inside a word. Only
/// white space between parts is lost. Short sentences are not merged into one part, because a model that was trained on
/// single sentences would translate only one of them. Costs as much as encoding the text a few times.
std::vector<FittingPart> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t max_tokens,
                                      const SentenceSplitter& splitter = SentenceSplitter());

}  // namespace edgewise
