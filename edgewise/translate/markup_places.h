// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/translate/html/html_paragraph.h"
#include "edgewise/translate/output_words.h"

namespace edgewise {

/// The place where a piece of markup is written.
struct MarkupPlace {
  std::size_t line = 0;
  std::size_t word = 0;        // the word after the piece, or the number of words
  bool is_after_space = true;  // whether the piece is after the white space in front of the word
  std::size_t piece = 0;
  std::int32_t element = kNoElement;  // the innermost element around the piece of those that words or line breaks have
  bool opens_element = true;          // false: written as well where the element is not open
};

/// Returns for each word the innermost element that it gets. The words of an element with an `id` are next to each
/// other: of several runs of words, the longest keeps the element.
std::vector<std::int32_t> elements_of_words(const ParagraphText& paragraph, const AlignedTranslation& translation,
                                            const std::vector<OutputWord>& words);

/// Returns the innermost element that is around both elements or is one of them.
std::int32_t common_element(const std::vector<InlineElement>& elements, std::int32_t a, std::int32_t b);

/// Returns the places of all pieces but objects of words and the tags of elements that words or line breaks have, in
/// the order of writing. `word_elements` has the innermost element of each word, `is_in_word` for each piece whether it
/// is an object that a word has.
std::vector<MarkupPlace> place_markup(const ParagraphText& paragraph, const AlignedTranslation& translation,
                                      const std::vector<OutputWord>& words,
                                      const std::vector<std::int32_t>& word_elements,
                                      const std::vector<bool>& is_in_word);

}  // namespace edgewise
