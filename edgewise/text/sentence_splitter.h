// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

struct AbbreviationRules;

/// The bytes [begin, end) of a sentence within a text. Its first and its last character are not white space.
struct SentenceSpan {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const SentenceSpan&, const SentenceSpan&) = default;
};

/// The meaning of a line break in a text. kEnd: each line break ends a sentence, as in titles, lists and chats. kSpace:
/// a line break is a space, as in text whose lines were wrapped; an empty line or the mark of a list item (`-`, `*`,
/// `•` or a number like `1.` or `2)`) at the beginning of a line still ends the sentence before it.
enum class LineBreaks { kEnd, kSpace };

inline constexpr auto enum_names(LineBreaks) {
  return std::array{EnumName{LineBreaks::kEnd, "end"}, EnumName{LineBreaks::kSpace, "space"}};
}

/// Splits texts into sentences by the marks at sentence ends, the words around the marks, and the abbreviations of the
/// text's language (edgewise/text/abbreviations/). A copy costs nothing. Several threads may use a splitter.
class SentenceSplitter {
 public:
  /// The language is a code of ISO 639-1 or ISO 639-3, alone or as a model writes the code: `de`, `deu`, `de-AT`,
  /// `deu_Latn`, `__de__` or `>>deu<<`. A language without a list, or no language, has the rules that hold in most
  /// languages.
  explicit SentenceSplitter(std::string_view language = {}, LineBreaks line_breaks = LineBreaks::kEnd);

  /// Returns the sentences in the order of the text, which may be of any length. Between two sentences, before the
  /// first and after the last sentence there is white space only, or nothing; a byte order mark at the beginning of the
  /// text counts as white space. So every other character is in a sentence. A byte that is not UTF-8 counts as
  /// U+FFFD. Costs O(bytes).
  std::vector<SentenceSpan> split(std::string_view text) const;

 private:
  const AbbreviationRules* rules_;
  LineBreaks line_breaks_;
};

}  // namespace edgewise
