// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/text/word_alignment.h"
#include "edgewise/viz/attention_page.h"

namespace edgewise {

/// Pairs as they were written, and, where people aligned their words, how.
struct AlignmentPairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<GoldAlignment> gold;  // one a pair, or none at all
};

/// Reads `input ||| output` a line, plain or packed. Throws Error in the name of `caller`.
AlignmentPairs read_alignment_pairs(const std::string& file, std::string_view caller);

/// Reads one line for each of the pairs, whose words are counted from `first`. Throws Error for another number of
/// lines, and for a link to a word that its pair does not have.
void read_gold(const std::string& file, std::int64_t first, AlignmentPairs& pairs, std::string_view caller);

/// Which words cross-attention aligns, in each map of `chosen`, one of the pairs. A token of the output belongs to the
/// token of the input that it looks at most, and so do their words, which stand between spaces. With gold, how often
/// that errs: over all pairs, but for those that are too long for the model or whose tokens are no parts of words.
AlignmentReport align_words(const TranslationModel& model, const AlignmentPairs& pairs, std::size_t chosen,
                            const AttentionMaps& cross, std::string_view caller);

}  // namespace edgewise
