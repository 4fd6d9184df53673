// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Turns the tokens of a text into pieces of text, one token after another, in constant time and memory for each. All
/// pieces together are the text that the tokens add to the text before them, in well-formed UTF-8: a piece ends with a
/// whole character, and bytes that belong to none become U+FFFD.
class TokenDecoder {
 public:
  /// `before` are the tokens of the text before, of which the last few are used. `vocabulary` must outlive the object.
  TokenDecoder(const Vocabulary& vocabulary, std::span<const std::int64_t> before);

  /// Returns the text that is certain after another token: none if the token ends within a character.
  std::string push(std::int64_t token);

  /// Returns the rest at the end of the text.
  std::string finish();

 private:
  std::string take(bool is_last);

  const Vocabulary* vocabulary_;
  std::vector<std::int64_t> tokens_;  // the context, and then the tokens whose text is not certain
  std::size_t num_context_ = 0;
  std::string context_;  // the text of the context
};

}  // namespace edgewise
