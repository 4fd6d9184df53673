// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"
#include "edgewise/translate/fitted_text.h"

// Takes the protected spans (text/sentences/protected_spans.h) out of a sentence before a model reads the sentence.

namespace edgewise {

/// Tokens that stand for protected spans: the pieces U+E001, U+E002, … of a vocabulary, a number for each.
struct Placeholders {
  std::vector<std::int64_t> input;   // tokens of the input vocabulary
  std::vector<std::int64_t> output;  // as many tokens of the output vocabulary
};

/// Returns the placeholders that both vocabularies have, at most 4. Costs O(tokens).
Placeholders find_placeholders(const Vocabulary& input, const Vocabulary& output);

/// The neighbour of a span on one side.
enum class Beside {
  kEdge,   // the beginning or the end of the sentence
  kSpace,  // white space
  kMark,   // a mark without white space between
  kWord,   // a letter or a digit without white space between, in a script with spaces between words
  kSpan    // another span without white space between
};

/// A protected span of a sentence, which the model's text has not, or has as a placeholder.
struct TakenSpan {
  std::string bytes;
  std::size_t offset = 0;                       // in the model's text: of the placeholder, or where the span was
  std::optional<std::size_t> placeholder = {};  // index in Placeholders; nothing: the text has no placeholder
  std::optional<std::size_t> partner = {};      // index of the other mark of a pair
  Beside before = Beside::kEdge;
  Beside after = Beside::kEdge;
  bool is_last = false;  // whether only marks, spaces and other spans follow
};

/// Returns the text for a model without invisible characters, and puts its protected spans into `taken`, which must be
/// empty. A word with a letter that is not known is a span, too. A text without other words is one span as a whole,
/// unless it is white space alone. Of the spans that are no marks around words, the first `num_placeholders` become
/// placeholders; the others are left out.
std::string prepare_text(std::string_view text, std::size_t num_placeholders, const KnownCharacters& known,
                         std::vector<TakenSpan>& taken);

}  // namespace edgewise
