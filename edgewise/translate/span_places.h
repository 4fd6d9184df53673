// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/markup.h"
#include "edgewise/translate/prepared_text.h"

// Puts the protected spans of a sentence back into its translation.

namespace edgewise {

/// A span of a part of a sentence, whose tokens are numbered from 0.
struct PlacedSpan {
  std::size_t span = 0;    // index in the sentence
  std::size_t token = 0;   // the token of its placeholder, or the number of tokens in front of the span
  std::size_t before = 0;  // first token of the word in front of the span
  std::size_t after = 0;   // after the last token of the word after the span
};

/// Returns which of the spans, in ascending order, are in the part of the model's text that begins at `begin` and has
/// the tokens with these texts. Spans whose offset is after the end of the part belong to it if it `is_last`.
std::vector<PlacedSpan> find_spans_of_part(std::span<const TakenSpan> spans, std::string_view part, std::size_t begin,
                                           std::span<const std::string> tokens, bool is_last);

/// An item of a restored translation: a token of the model, or a span in its place.
struct RestoredItem {
  bool is_span = false;
  std::size_t index = 0;  // number of the token, or of the span among those of the part
};

struct RestoredText {
  std::string text;
  std::vector<RestoredItem> items;  // each span once; each token but those of placeholders
};

/// Puts the spans of a part into its output. A placeholder of the output is replaced by its span. The other spans go
/// between the words where they divide the aligned words as in the input, beside the word that is aligned to their
/// neighbour. White space around a span is as in the input, unless a mark of the output needs another one. `output` has
/// the tokens' bytes, and their alignment to the tokens of the part if it is known.
RestoredText restore_spans(const AlignedTranslation& output, std::span<const PlacedSpan> placed,
                           std::span<const TakenSpan> spans, std::size_t num_inputs);

}  // namespace edgewise
