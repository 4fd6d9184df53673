// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/tokenizer/tokenizer_file.h"

// The steps of a tokenizer before and after its model, with the results of Hugging Face's tokenizers. Texts are UTF-8.

namespace edgewise {

struct NormalizedText {
  std::string text;
  bool has_beginning = true;  // whether the first character was neither stripped nor replaced by nothing
};

/// Normalises a text. Throws Error if the result is much longer than the text.
NormalizedText normalize(std::string_view text, std::span<const NormalizerStep> steps);

/// A part of a text that will be split further, or a word.
struct TextPiece {
  std::string text;
  bool begins_text = false;  // whether nothing is before the piece
};

/// Splits a piece into words, each step splitting the pieces of the step before. Throws Error if the words are much
/// longer than the piece.
std::vector<TextPiece> split_piece(TextPiece piece, std::span<const SplitterStep> steps);

/// Returns the text of tokens. Bytes that are no UTF-8 become U+FFFD. Without steps, tokens have spaces between them.
std::string join_tokens(std::vector<std::string> tokens, const std::optional<std::vector<DecoderStep>>& steps);

}  // namespace edgewise
