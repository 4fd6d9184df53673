// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/byte_range.h"

namespace edgewise {

struct AbbreviationRules;

/// The meaning of a line break in a text. kEnd: each line break ends a sentence, as in titles, lists and chats. kSpace:
/// a line break is a space, as in text whose lines were wrapped; an empty line or the mark of a list item (`-`, `*`,
/// `•` or a number like `1.` or `2)`) at the beginning of a line still ends the sentence before it. A tab within a line
/// ends a sentence, too: it separates columns.
enum class LineBreaks { kEnd, kSpace };

inline constexpr auto enum_names(LineBreaks) {
  return std::array{EnumName{LineBreaks::kEnd, "end"}, EnumName{LineBreaks::kSpace, "space"}};
}

/// Splits texts into sentences by the marks at sentence ends, the words around the marks, and the abbreviations of the
/// text's language (edgewise/text/sentences/abbreviations/). A copy costs nothing. Several threads may use a splitter.
class SentenceSplitter {
 public:
  /// The language is a code of ISO 639-1 or ISO 639-3, alone or as a model writes the code: `de`, `deu`, `de-AT`,
  /// `deu_Latn`, `__de__` or `>>deu<<`. A language without a list, or no language, has the rules that hold in most
  /// languages.
  explicit SentenceSplitter(std::string_view language = {}, LineBreaks line_breaks = LineBreaks::kEnd);

  /// Returns the sentences in the order of the text, which may be of any length. The first and the last character of a
  /// sentence are not white space. Between two sentences, before the first and after the last sentence there is white
  /// space only, or nothing; a byte order mark at the beginning of the text counts as white space. So every other
  /// character is in a sentence. A byte that is not UTF-8 counts as U+FFFD. Costs O(bytes).
  std::vector<ByteRange> split(std::string_view text) const;

  /// Returns the number of bytes of the marks at the beginning of a line, with the white space after them: of list
  /// items (`-`, `1.`, `a)`, `[x]`), quotations (`>`) and headings (`##`). A number before a word that follows ordinals
  /// in the language, as in `3. Mai`, is not the mark of an item.
  std::size_t skip_line_marks(std::string_view line) const;

 private:
  const AbbreviationRules* rules_;
  LineBreaks line_breaks_;
};

}  // namespace edgewise
