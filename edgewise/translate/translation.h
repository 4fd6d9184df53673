// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgewise {

struct TranslationRequest {
  std::string input;
  std::string prefix = {};  // what the output begins with; of a scoring, the output itself
};

/// A token of the output, and the one of the input that it looked at most.
struct AlignedPair {
  std::int64_t input = 0;
  std::int64_t output = 0;

  friend bool operator==(const AlignedPair&, const AlignedPair&) = default;
};

/// One way to translate a sentence. Of a sentence that was translated in parts, `score` is the mean of theirs.
struct TranslatedText {
  std::string text;
  double score = 0.0;
  double log_probability = 0.0;  // of all tokens
  std::vector<std::string> tokens;
  std::vector<std::int64_t> token_numbers;    // of the output's vocabulary
  std::vector<AlignedPair> alignment;         // if wanted, ascending by output; none to the input's end token
  std::vector<std::vector<float>> attention;  // if wanted, of each token, to each token of the input
  std::vector<std::int64_t> steps;            // of a Universal Transformer: how many it thought before each token, and
                                              // before the end; of a sentence in parts, before the end of each
};

struct Translation {
  std::vector<std::string> input_tokens;
  std::vector<TranslatedText> outputs;  // best first, at least one; of an input without tokens the empty one
  bool was_cut = false;                 // whether the end of the input was left out
};

}  // namespace edgewise
