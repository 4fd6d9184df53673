// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/text/metrics/word_alignment.h"
#include "edgewise/viz/attention_page.h"

namespace edgewise {

/// Sentence pairs as text, with gold word alignments if there are any.
struct AlignmentPairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<GoldAlignment> gold;  // one per pair, or empty
};

/// Reads a file with `input ||| output` on each line, plain or compressed. Errors begin with `caller`.
AlignmentPairs read_alignment_pairs(const std::string& file, std::string_view caller);

/// Reads the gold alignments of the pairs, one per line (parse_gold_alignment); the first word of a sentence has the
/// number `first`. Throws Error for a different number of lines, and for a link to a word that the pair does not have.
void read_gold_alignments(const std::string& file, std::int64_t first, AlignmentPairs& pairs, std::string_view caller);

/// Aligns the words of pair number `drawn`, which are separated by spaces, by each map of its cross-attention
/// (map_links.h). With gold alignments, also computes the alignment error rates of the pair and of all pairs; pairs
/// that are too long for the model, or whose tokens are not parts of words, are left out.
AlignmentReport align_words(const TranslationModel& model, const AlignmentPairs& pairs, std::size_t drawn,
                            const AttentionMaps& cross, std::string_view caller);

}  // namespace edgewise
