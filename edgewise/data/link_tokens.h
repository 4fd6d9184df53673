// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/text/metrics/word_alignment.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// A side of a sentence pair: its text, the tokens of the text, and those around them.
struct TokenizedSide {
  const Vocabulary& vocabulary;
  std::string_view text;
  std::span<const std::int64_t> tokens;
  const SentenceFrame& frame;
  std::string_view text_before = {};  // text whose words the links count, but which has no tokens of its own
};

/// Returns the links between the nodes of a pair whose words, separated by white space, have the given links: each
/// token of an input word is linked to each decoder node that predicts a token of the output word. A token belongs to
/// the word in which it begins. The decoder node that predicts an end token is linked to the end token of the input, if
/// both sides have one. Links of words without tokens are left out, such as words that changed texts lack. The links
/// ascend by decoder node, then by encoder node.
std::vector<NodeLink> link_tokens(const TokenizedSide& input, const TokenizedSide& output,
                                  std::span<const WordLink> links);

}  // namespace edgewise
