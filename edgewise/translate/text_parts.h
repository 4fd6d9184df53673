// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/sentence_splitter.h"
#include "edgewise/translate/translation.h"

// A text as sentences and what is between them, and the way back.

namespace edgewise {

/// A sentence of a text, and the text between it and the sentence before. The last part of a text may have no sentence.
struct TextPart {
  std::string space;  // white space, and marks that are no part of a sentence
  std::string sentence = {};
  bool needs_translation = false;  // false: the sentence is copied

  /// Returns the sentence in one line, for a model.
  std::string input() const;
};

/// Divides texts in UTF-8 into parts; all parts joined are the text. Copied are sentences without words
/// (needs_translation in text/protected_spans.h), lines between fences of three or more backticks, or of three tildes,
/// as Markdown has them, time codes of subtitles, and definitions of links. Marks of list items, quotations and
/// headings at the beginning of a line, and those between the cells of a line that begins with `|`, are no part of a
/// sentence.
class TextDivider {
 public:
  explicit TextDivider(SentenceSplitter splitter) : splitter_(splitter) {}

  /// Divides the next piece of a text, which ends with a line, or a whole text. A fence that is open at the end of a
  /// piece is open at the beginning of the next one.
  std::vector<TextPart> divide(std::string_view text);

 private:
  bool is_copied(std::string_view line);

  SentenceSplitter splitter_;
  std::string fence_;  // the fence that is open; empty: none
};

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
