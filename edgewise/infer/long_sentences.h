// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/search/scorer.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

// Text of so many bytes for each token that is allowed is too long without a look: encoding megabytes just to see that
// costs seconds.
inline constexpr std::size_t kMostBytesOfAToken = 64;

/// Splits a text into pieces of at most `most` tokens, none lost: at the ends of sentences (`.`, `!`, `?`, `…` and
/// their like, then white space), as few pieces as these allow; a sentence that is too long by itself at white space
/// near its middle, or inside a word. White space between pieces goes. Costs encoding the text a few times.
std::vector<Tokens> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t most);

}  // namespace edgewise
