// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/unicode.h"

namespace edgewise {

/// How a language writes `!` and `?`: English at the word, French after a space.
enum class MarkSpacing { kClose, kApart };

/// U+00A0 and U+202F, the no-break spaces of French, become spaces, and `,.!?` after anything but a space get one
/// before them: "Va ! Oui, va." becomes "Va ! Oui , va .". What the textbook chapter does before it splits at spaces.
std::string separate_punctuation(std::string_view text);

/// Takes back the spaces that separate_punctuation put in: before `,` and `.`, and before `!` and `?` where they are
/// written close. Of digits on both sides of a point it cannot know better: "3 .14" becomes "3.14", "3 . 14" "3. 14".
std::string join_punctuation(std::string_view text, MarkSpacing marks = MarkSpacing::kClose);

/// The spacing that most of the `!` and `?` in the sentences of these sides have; kClose when there are none.
MarkSpacing mark_spacing_of(const std::vector<std::span<const std::string>>& sides);

/// Each code point of a UTF-8 text; they point into it.
std::vector<std::string_view> split_characters(std::string_view text);

/// Words with one space between them.
std::string join_words(std::span<const std::string_view> words);

}  // namespace edgewise
