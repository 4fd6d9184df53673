// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"
#include "edgewise/text/parallel_text.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

struct EncodeOptions {
  std::int64_t max_length = 0;  // tokens of a sentence, begin and end not counted; 0: no limit
  LongSentences too_long = LongSentences::kSkip;
  bool end_input = false;  // inputs end with the end token, as the textbook chapter has them
};

/// Those of `data`, for training.
EncodeOptions encode_options(const DataOptions& data);

struct EncodedPairs {
  std::vector<TokenPair> pairs;
  std::vector<std::int64_t> kept;  // for each of them, its number among the sentence pairs
  std::int64_t empty = 0;          // pairs left out because a side has no tokens
  std::int64_t too_long = 0;       // pairs left out, or shortened, because of a sentence above max_length
};

/// Sentence pairs as tokens; outputs stand between the begin and the end token. Throws Error when none is left.
EncodedPairs encode_pairs(const SentencePairs& pairs, const Vocabulary& input_vocabulary,
                          const Vocabulary& output_vocabulary, const EncodeOptions& options = {});

}  // namespace edgewise
