// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_range.h"
#include "edgewise/text/sentences/sentence_splitter.h"
#include "edgewise/translate/translation.h"

// A text as sentences and what is between them, and the way back.

namespace edgewise {

/// A sentence of a text, and the text between it and the sentence before; after the last sentence, a text without
/// words.
struct TextSentence {
  std::string space;  // white space, and marks that are no part of a sentence
  std::string text = {};
  bool needs_translation = false;  // false: the sentence is copied
  Translation translation = {};    // without outputs if the sentence was copied
  ByteRange input = {};            // bytes of the sentence in its text
  ByteRange output = {};           // and in the translated text

  /// Returns the sentence in one line, for a model.
  std::string line() const;
};

/// Divides texts in UTF-8 into sentences; all of them joined are the text. Copied are sentences without words
/// (needs_translation in text/sentences/protected_spans.h), lines between fences of three or more backticks, or of
/// three tildes, as Markdown has them, time codes of subtitles, and definitions of links. Marks of list items,
/// quotations and headings at the beginning of a line, and those between the cells of a line that begins with `|`, are
/// no part of a sentence.
class TextDivider {
 public:
  explicit TextDivider(SentenceSplitter splitter) : splitter_(splitter) {}

  /// Divides the next piece of a text, which ends with a line, or a whole text. A fence that is open at the end of a
  /// piece is open at the beginning of the next one.
  std::vector<TextSentence> divide(std::string_view text);

 private:
  bool is_copied(std::string_view line);

  SentenceSplitter splitter_;
  std::string fence_;  // the fence that is open; empty: none
};

/// Joins translated sentences to a text. White space stays as it is, byte for byte, with one exception: between two
/// sentences without white space, as in Chinese, a space is inserted unless the characters around it are wide.
class SentenceJoiner {
 public:
  /// Returns the white space of the next sentence and its first output in one line, or the sentence if it is copied.
  std::string next(const TextSentence& sentence, const Translation& translation);

 private:
  std::string append(std::string text);

  bool needs_space_ = false;  // whether the text so far ends with a character that is neither wide nor white space
};

/// Replaces line feeds, which a vocabulary may have learned as tokens, by spaces.
std::string replace_line_feeds(std::string text);

}  // namespace edgewise
