// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/sentence_splitter.h"
#include "edgewise/translate/translation.h"

// A text as sentences and the white space between them, and the way back.

namespace edgewise {

/// White space of a text, and the sentence behind it. The last part of a text may have no sentence.
struct TextPart {
  std::string space;
  std::string sentence;

  /// Returns whether the sentence has a letter or a digit. Any other sentence, such as a line of stars, is copied.
  bool needs_translation() const;

  /// Returns the sentence in one line, for a model.
  std::string input() const;
};

/// Splits a text in UTF-8. All parts joined are the text.
std::vector<TextPart> split_parts(std::string_view text, const SentenceSplitter& splitter);

/// Joins translated parts to a text. White space stays as it is, byte for byte, with one exception: between two
/// sentences without white space, as in Chinese, a space is inserted unless the characters around it are wide.
class PartJoiner {
 public:
  /// Returns the text of the next part: its white space, and `output` in one line instead of the sentence.
  std::string translated(const TextPart& part, std::string_view output);

  /// Returns the text of the next part without a change.
  std::string copied(const TextPart& part);

 private:
  std::string append(std::string text);

  bool needs_space_ = false;  // whether the text so far ends with a character that is neither wide nor white space
};

/// Replaces line feeds, which a vocabulary may have learned as tokens, by spaces.
std::string replace_line_feeds(std::string text);

}  // namespace edgewise
