// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "edgewise/text/sentences/abbreviation_rules.h"
#include "edgewise/text/sentences/stop_context.h"

// Decides by the words around a stop mark. `stop` is the offset of the mark.

namespace edgewise {

/// Returns whether a single full stop before a word with a capital, a number or a symbol ends the sentence.
bool is_full_stop(std::string_view text, std::size_t stop, const SentenceContext& sentence, const NextWord& next,
                  const AbbreviationRules& rules);

/// Returns whether the full stop belongs to an abbreviation, also to one that may end a sentence.
bool is_abbreviation(std::string_view text, std::size_t stop, const SentenceContext& sentence, const NextWord& next,
                     const AbbreviationRules& rules);

/// Returns whether the word before the mark is a name that is written with it: `Yahoo!`.
bool is_name_with_mark(std::string_view text, std::size_t stop, const AbbreviationRules& rules);

/// Returns whether the word before an ellipsis is the next word: `I … I do not know`.
bool repeats_word(std::string_view text, std::size_t stop, const NextWord& next);

}  // namespace edgewise
