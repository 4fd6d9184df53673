// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns a text in capitals with each word in the case for which a vocabulary has the fewest unknown tokens, and then
/// the fewest tokens: lower case, or else with a first capital, or else capitals. So NATO stays where it is a token.
/// The first word of a sentence of several words prefers a first capital. Each character keeps its offset. Returns
/// nothing for a text with other letters than capitals, and for a text that stays. Costs three encodings.
std::optional<std::string> without_capitals(std::string_view text, const Vocabulary& vocabulary);

}  // namespace edgewise
