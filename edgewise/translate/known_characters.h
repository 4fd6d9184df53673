// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

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

}  // namespace edgewise
