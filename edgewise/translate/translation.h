// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/json.h"
#include "edgewise/text/byte_range.h"
#include "edgewise/text/vocabulary/sentence_frame.h"

namespace edgewise {

struct TranslationRequest {
  std::string input;
  std::string prefix = {};        // first words of the output; for scoring, the whole output
  std::string prefix_place = {};  // file and line of the prefix, for errors
  PairLanguages languages = {};   // for a multilingual model; not given: those of the model's config
};

/// An output token and the input token to which it has the highest attention weight, as indices from 0.
struct AlignedPair {
  std::int64_t input = 0;
  std::int64_t output = 0;

  friend bool operator==(const AlignedPair&, const AlignedPair&) = default;
};

/// The cross-attention weights of an output token: weights[i] is the weight of input token first_input + i. A sentence
/// that was translated in parts has a row's weights for the part of the row; the weights of other parts are 0.
struct AttentionRow {
  std::int64_t first_input = 0;
  std::vector<float> weights;

  friend bool operator==(const AttentionRow&, const AttentionRow&) = default;
};

/// One output of a translation. For a sentence that was translated in parts, `score` is the mean over the parts. The
/// alignment has no pair for an output token whose highest attention weight is to a token around the input, such as the
/// end token. Tokens, alignment, attention and ponder steps leave out the language that the output begins with.
struct TranslatedText {
  std::string text;
  double score = 0.0;
  double log_probability = 0.0;  // sum over all tokens, end tokens included
  std::vector<std::string> tokens;
  std::vector<std::int64_t> token_numbers;  // indices in the output vocabulary
  std::vector<AlignedPair> alignment;       // if requested, in ascending order of the outputs
  std::vector<AttentionRow> attention;      // if requested, one for each output token
  std::vector<std::int64_t> ponder_steps;   // by token, each part's end token included, if tokens halt
};

struct Translation {
  std::vector<std::string> input_tokens;
  std::vector<TranslatedText> outputs;  // best first, at least one; an empty one for an input without tokens
  bool was_cut = false;                 // whether the end of the input was not translated
};

/// The members of a translation that its JSON may have.
struct TranslationMembers {
  bool has_alignments = false;
  bool has_attention = false;     // attention weights
  bool has_token_ranges = false;  // bytes of each token in the text of its output
};

/// Returns `[begin, end]`.
std::string range_json(const ByteRange& range);

/// Returns the list of the bytes of each token in a text (find_token_ranges).
std::string token_ranges_json(std::string_view text, std::span<const std::string> tokens);

/// Adds the members of a translation: `input_tokens`, `outputs`, and `was_cut` if the input was cut. An output has
/// `text`, `score`, `log_probability` and `tokens`, `steps` if its model halts, and the requested members.
void add_translation(JsonObject& json, const Translation& translation, const TranslationMembers& members);

}  // namespace edgewise
