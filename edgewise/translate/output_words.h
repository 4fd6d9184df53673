// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "edgewise/translate/markup.h"

namespace edgewise {

/// A word of a translation: its bytes, and the input token to which its first aligned token is aligned.
struct OutputWord {
  ByteRange bytes;
  std::size_t line = 0;  // number of line feeds before it
  std::optional<std::size_t> input_token = {};
};

/// Joins the tokens of a translation to words. A word ends before white space, between letters and other characters,
/// and between letters of a script without spaces. What tokens leave out and browsers show, such as a no-break space or
/// a vertical tab, belongs to the word beside it, or is a word of its own between white space.
std::vector<OutputWord> join_tokens(const AlignedTranslation& translation);

}  // namespace edgewise
