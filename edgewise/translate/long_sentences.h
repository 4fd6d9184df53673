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

/// A text of more than `most` tokens in pieces that have at most so many, none lost: one for each sentence, up to `.`,
/// `!`, `?`, `…` and their like with white space behind; one that is too long by itself is parted at white space near
/// its middle, or inside a word. White space between pieces goes. Sentences are not joined again, even where several
/// fit: who was trained on single ones leaves out the others. Costs encoding the text a few times.
std::vector<Tokens> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t most);

}  // namespace edgewise
