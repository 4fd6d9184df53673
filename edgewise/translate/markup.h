// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/token_ranges.h"
#include "edgewise/translate/html/html_document.h"
#include "edgewise/translate/translation.h"

namespace edgewise {

/// The translation of a text of one or several sentences, with the bytes of its tokens in both texts, which ascend.
struct AlignedTranslation {
  std::string text;
  std::vector<ByteRange> input_tokens = {};
  std::vector<ByteRange> output_tokens = {};
  std::vector<AlignedPair> alignment = {};  // in ascending order of the outputs
};

/// Appends the tokens and the alignment of a part whose texts begin at these bytes of the whole texts.
void append_tokens(AlignedTranslation& whole, const AlignedTranslation& part, std::size_t input_begin,
                   std::size_t output_begin);

/// Translates texts of one line each, and returns as many translations.
using TranslateTexts = std::function<std::vector<AlignedTranslation>(std::span<const std::string> texts)>;

/// Translates the text of an HTML document or a part of one, and returns HTML in UTF-8 (html_document.h), with U+FFFD
/// for bytes that are not UTF-8 and for NUL. Calls `translate` once, with the lines of all paragraphs and the texts of
/// attributes.
///
/// White space in a line is translated as one space; inline tags are no white space. An object, such as an image or
/// code, is a U+FFFC in the line, and stands where the translation has the U+FFFC. Each word of a translation gets the
/// inline elements of the input token to which its first aligned token is aligned; a word without alignment gets the
/// elements that both its neighbours have. An element whose words are not next to each other is written several times,
/// unless it has an `id`: then it has only its longest run of words. An element without a word, a comment, and an
/// object without its U+FFFC are put next to the word that is aligned to their neighbour.
/// The tags of the result are nested. Takes linear time if `translate` does; words get at most 512 of the elements
/// around them.
std::string translate_markup(std::string_view html, const TranslateTexts& translate, const MarkupOptions& options = {});

/// Translates several documents with one call of `translate`.
std::vector<std::string> translate_markups(std::span<const std::string> documents, const TranslateTexts& translate,
                                           const MarkupOptions& options = {});

}  // namespace edgewise
