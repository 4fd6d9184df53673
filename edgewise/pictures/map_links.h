// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/text/metrics/word_alignment.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

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
