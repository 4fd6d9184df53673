// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/search/scorer.h"
#include "edgewise/text/byte_range.h"
#include "edgewise/text/sentences/sentence_splitter.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

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
