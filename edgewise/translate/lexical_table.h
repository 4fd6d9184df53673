// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/scorer.h"
#include "edgewise/text/metrics/word_alignment.h"

namespace edgewise {

/// A sentence pair in tokens, and the links between them if an alignment is known.
struct LinkedSentences {
  Tokens input;
  Tokens output;
  std::vector<WordLink> links = {};
};

/// The probability that an input token is translated by an output token.
struct LexicalEntry {
  std::int32_t output;
  double probability;
};

/// The probabilities p(output token | input token): entries of input token i are those of list i, in ascending order of
/// their output tokens.
struct LexicalTable {
  std::vector<std::size_t> offsets;  // [input vocabulary + 1]
  std::vector<LexicalEntry> entries;

  std::span<const LexicalEntry> list(std::int64_t input) const {
    const auto i = static_cast<std::size_t>(input);
    return std::span(entries).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

/// Estimates the table from the links of the pairs: the share of an input token's links that have an output token.
LexicalTable count_lexical_links(std::span<const LinkedSentences> pairs, std::int64_t input_vocabulary);

/// Estimates the table without links by Model 1 (Brown et al. 1993, "The Mathematics of Statistical Machine
/// Translation"): each output token comes from an input token of its pair, or from none of them; `iterations` steps of
/// expectation maximisation from equal probabilities, in fp64 and in the order of the pairs. Its memory grows with the
/// number of different pairs of tokens that occur together. Throws StopException if `stop` is set meanwhile.
LexicalTable estimate_lexical_table(std::span<const LinkedSentences> pairs, std::int64_t input_vocabulary,
                                    std::int64_t iterations, const StopRequest* stop = nullptr);

}  // namespace edgewise
