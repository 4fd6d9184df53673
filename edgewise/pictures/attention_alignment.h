// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

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
/// (link_words). With gold alignments, also computes the alignment error rates of the pair and of all pairs; pairs
/// that are too long for the model, or whose tokens are not parts of words, are left out.
AlignmentReport align_words(const TranslationModel& model, const AlignmentPairs& pairs, std::size_t drawn,
                            const AttentionMaps& cross, std::string_view caller);

/// The word of each token of a cross-attention map; -1: the token belongs to no word.
struct TokenWords {
  std::vector<std::int64_t> of_row;     // words of the output
  std::vector<std::int64_t> of_column;  // words of the input
};

/// Links the word of each output token to the word of the input token with the largest attention weight. An output
/// token without weights, which halted in an earlier step of a Universal Transformer, has no link. The links ascend
/// without repetitions.
std::vector<WordLink> link_words(const AttentionMaps& cross, const MapIndex& map, const TokenWords& words);

/// The alignment errors of one map over several sentence pairs.
struct MapErrors {
  MapIndex map;
  AlignmentErrors errors = {};
  std::int64_t pairs = 0;
};

/// Adds the links of a sentence pair to the errors of each map that the pair has: in a Universal Transformer, the nodes
/// of a pair may all halt before a step that other pairs have.
void add_pair(std::vector<MapErrors>& maps, const AttentionMaps& cross, const TokenWords& words,
              const GoldAlignment& gold);

}  // namespace edgewise
