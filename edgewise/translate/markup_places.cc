// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/markup_places.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace edgewise {
namespace {

constexpr std::int32_t kMaxDepth = 512;  // elements around a word, as in browsers; bounds the tags of each word

std::size_t index(std::int32_t element) { return static_cast<std::size_t>(element); }

/// Returns the innermost element around the text at an offset.
std::int32_t element_at(const ParagraphText& paragraph, std::size_t offset) {
  const auto next = std::ranges::upper_bound(paragraph.spans, offset, {}, &TextSpan::offset);
  return next == paragraph.spans.begin() ? kNoElement : std::prev(next)->element;
}

/// Returns for each element the innermost one around it that is not too deep for a word.
std::vector<std::int32_t> find_carriers(const std::vector<InlineElement>& elements) {
  std::vector<std::int32_t> carriers(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool is_deep = elements[i].depth >= kMaxDepth;
    carriers[i] = is_deep ? carriers[index(elements[i].parent)] : static_cast<std::int32_t>(i);
  }
  return carriers;
}

/// Marks an element and those around it.
void mark(std::vector<bool>& is_marked, const std::vector<InlineElement>& elements, std::int32_t element) {
  for (; element != kNoElement && !is_marked[index(element)]; element = elements[index(element)].parent) {
    is_marked[index(element)] = true;
  }
}

/// Decides which elements are written around words and line breaks. The others are pieces of markup.
class UsedElements {
 public:
  UsedElements(const ParagraphText& paragraph, const std::vector<std::int32_t>& word_elements)
      : elements_(paragraph.elements), carriers_(find_carriers(elements_)), has_word_(elements_.size()) {
    for (const std::int32_t element : word_elements) mark(has_word_, elements_, element);
    is_used_ = has_word_;
    for (const MarkupPiece& piece : paragraph.pieces) {
      if (piece.kind != PieceKind::kLineBreak || piece.element == kNoElement) continue;
      mark(is_used_, elements_, carriers_[index(piece.element)]);
    }
  }

  bool has_word(std::int32_t element) const { return element == kNoElement || has_word_[index(element)]; }
  bool is_used(std::int32_t element) const { return element == kNoElement || is_used_[index(element)]; }

 private:
  const std::vector<InlineElement>& elements_;
  std::vector<std::int32_t> carriers_;
  std::vector<bool> has_word_;
  std::vector<bool> is_used_;
};

/// Takes words out of the elements with an `id`, each of which is written once, whose other words are more and
/// elsewhere.
void keep_numbered_whole(const std::vector<InlineElement>& elements, std::vector<std::int32_t>& word_elements) {
  std::vector<std::int32_t> nearest(elements.size());  // the innermost with an `id` that is the element or around it
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int32_t parent = elements[i].parent;
    const std::int32_t outer = parent == kNoElement ? kNoElement : nearest[index(parent)];
    nearest[i] = elements[i].has_id ? static_cast<std::int32_t>(i) : outer;
  }
  // Visits the elements with an `id` around a word, from the innermost on.
  const auto for_each_around = [&](std::int32_t element, const auto& visit) {
    while (element != kNoElement && nearest[index(element)] != kNoElement) {
      element = nearest[index(element)];
      visit(element);
      element = elements[index(element)].parent;
    }
  };
  struct Run {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  std::vector<Run> longest(elements.size());
  std::vector<Run> last(elements.size());
  for (std::size_t word = 0; word < word_elements.size(); ++word) {
    for_each_around(word_elements[word], [&](std::int32_t element) {
      Run& run = last[index(element)];
      if (run.size == 0 || run.begin + run.size != word) run = {word, 0};
      ++run.size;
      if (run.size > longest[index(element)].size) longest[index(element)] = run;
    });
  }
  for (std::size_t word = 0; word < word_elements.size(); ++word) {
    std::int32_t left = kNoElement;
    for_each_around(word_elements[word], [&](std::int32_t element) {
      const Run& run = longest[index(element)];
      if (word < run.begin || word >= run.begin + run.size) left = element;
    });
    if (left != kNoElement) word_elements[word] = elements[index(left)].parent;
  }
}

/// Finds the words that are aligned to the input tokens before and after an offset of the input.
class AlignedPlaces {
 public:
  AlignedPlaces(const ParagraphText& paragraph, const AlignedTranslation& translation,
                const std::vector<OutputWord>& words)
      : paragraph_(paragraph), tokens_(translation.input_tokens), words_(words) {
    first_word_.assign(tokens_.size() + 1, words.size());
    end_word_.assign(tokens_.size() + 1, 0);
    for (std::size_t word = words.size(); word-- > 0;) {
      if (!words[word].input_token) continue;
      const std::size_t token = *words[word].input_token;
      first_word_[token] = word;
      end_word_[token + 1] = std::max(end_word_[token + 1], word + 1);
    }
    fill_missing();
    for (const OutputWord& word : words) {
      if (word.line >= line_begins_.size()) line_begins_.resize(word.line + 1, index_of(word));
    }
  }

  MarkupPlace place(std::size_t piece_number) const {
    const MarkupPiece& piece = paragraph_.pieces[piece_number];
    MarkupPlace place = {.line = piece.line, .piece = piece_number};
    const std::size_t begin = line_begin(piece.line);
    const std::size_t end = line_begin(piece.line + 1);
    const bool is_after_word = !is_before_line(piece) && !is_after_line(piece) && paragraph_.text[piece.offset] == ' ';
    if (piece.kind == PieceKind::kLineBreak || is_after_line(piece)) {
      place.word = end;
    } else if (is_before_line(piece)) {
      place.word = begin;
    } else {
      const std::size_t word =
          is_after_word ? end_word_[tokens_before(piece.offset)] : first_word_[token_at(piece.offset)];
      place.word = std::clamp(word, begin, end);
    }
    place.is_after_space = place.word < end && !is_after_word;
    return place;
  }

 private:
  std::size_t index_of(const OutputWord& word) const { return static_cast<std::size_t>(&word - words_.data()); }

  /// Lets tokens without a word have the place of the next token after or before them that has one.
  void fill_missing() {
    for (std::size_t token = tokens_.size(); token-- > 0;) {
      if (first_word_[token] == words_.size()) first_word_[token] = first_word_[token + 1];
    }
    for (std::size_t token = 1; token < end_word_.size(); ++token) {
      if (end_word_[token] == 0) end_word_[token] = end_word_[token - 1];
    }
  }

  std::size_t line_begin(std::size_t line) const {
    return line < line_begins_.size() ? line_begins_[line] : words_.size();
  }

  bool is_after_line(const MarkupPiece& piece) const {
    return piece.offset == paragraph_.text.size() || paragraph_.text[piece.offset] == '\n';
  }
  bool is_before_line(const MarkupPiece& piece) const {
    return piece.offset == 0 || paragraph_.text[piece.offset - 1] == '\n';
  }

  /// Returns the number of tokens that begin before the offset.
  std::size_t tokens_before(std::size_t offset) const {
    const auto next = std::ranges::lower_bound(tokens_, offset, {}, &ByteRange::begin);
    return static_cast<std::size_t>(next - tokens_.begin());
  }

  /// Returns the token that has the byte at the offset, or the next one.
  std::size_t token_at(std::size_t offset) const {
    const auto next = std::ranges::upper_bound(tokens_, offset, {}, &ByteRange::end);
    return static_cast<std::size_t>(next - tokens_.begin());
  }

  const ParagraphText& paragraph_;
  const std::vector<ByteRange>& tokens_;
  const std::vector<OutputWord>& words_;
  std::vector<std::size_t> first_word_;   // first word aligned to each token; at the end the number of words
  std::vector<std::size_t> end_word_;     // word after those aligned to the token before each one
  std::vector<std::size_t> line_begins_;  // first word of each line
};

}  // namespace

std::int32_t common_element(const std::vector<InlineElement>& elements, std::int32_t a, std::int32_t b) {
  while (a != b) {
    // A parent has a smaller number than its elements.
    std::int32_t& inner = a > b ? a : b;
    inner = elements[index(inner)].parent;
  }
  return a;
}

std::vector<std::int32_t> elements_of_words(const ParagraphText& paragraph, const AlignedTranslation& translation,
                                            const std::vector<OutputWord>& words) {
  const std::vector<std::int32_t> carriers = find_carriers(paragraph.elements);
  const auto carrier_at = [&](std::size_t offset) {
    const std::int32_t element = element_at(paragraph, offset);
    return element == kNoElement ? kNoElement : carriers[index(element)];
  };
  const std::size_t first_offset = paragraph.spans.empty() ? 0 : paragraph.spans.front().offset;
  std::vector<std::int32_t> elements(words.size());
  std::int32_t before = carrier_at(first_offset);
  for (std::size_t begin = 0; begin < words.size();) {
    std::size_t end = begin;
    while (end < words.size() && !words[end].input_token) ++end;
    const std::size_t offset =
        end < words.size() ? translation.input_tokens[*words[end].input_token].begin : paragraph.text.size();
    const std::int32_t after = carrier_at(offset);
    const std::int32_t common = end > begin ? common_element(paragraph.elements, before, after) : kNoElement;
    std::fill(elements.begin() + static_cast<std::ptrdiff_t>(begin),
              elements.begin() + static_cast<std::ptrdiff_t>(end), common);
    if (end < words.size()) elements[end] = after;
    before = after;
    begin = end + 1;
  }
  keep_numbered_whole(paragraph.elements, elements);
  return elements;
}

std::vector<MarkupPlace> place_markup(const ParagraphText& paragraph, const AlignedTranslation& translation,
                                      const std::vector<OutputWord>& words,
                                      const std::vector<std::int32_t>& word_elements,
                                      const std::vector<bool>& is_in_word) {
  const std::vector<InlineElement>& elements = paragraph.elements;
  const UsedElements used(paragraph, word_elements);
  const AlignedPlaces places(paragraph, translation, words);
  // For each element that is not used: the place of its outermost element that is not used.
  std::vector<std::optional<MarkupPlace>> unused(elements.size());
  std::vector<MarkupPlace> result;
  for (std::size_t i = 0; i < paragraph.pieces.size(); ++i) {
    const auto& [kind, bytes, offset, line, element] = paragraph.pieces[i];
    const bool is_tag = kind == PieceKind::kStartTag || kind == PieceKind::kEndTag;
    if (is_in_word[i] || (is_tag && used.is_used(element))) continue;
    MarkupPlace place = places.place(i);
    if (used.is_used(element)) {
      place.element = element;
    } else if (kind == PieceKind::kSpace) {
      // Stays where browsers leave it out: between words, where the tags of its element may go, it would show.
      place.element = unused[index(element)]->element;
    } else {
      std::optional<MarkupPlace>& outer = unused[index(element)];
      const std::int32_t parent = elements[index(element)].parent;
      if (!outer) outer = used.is_used(parent) ? place : unused[index(parent)];
      if (used.is_used(parent)) outer->element = parent;
      place = *outer;
      place.piece = i;
    }
    const bool needs_no_element =
        kind == PieceKind::kSpace || (kind == PieceKind::kLineBreak && used.has_word(element));
    place.opens_element = !needs_no_element;
    const bool is_left_out = is_tag && elements[index(element)].is_repeated;
    if (!is_left_out) result.push_back(place);
  }
  std::ranges::stable_sort(
      result, {}, [](const MarkupPlace& place) { return std::tuple(place.line, place.word, place.is_after_space); });
  return result;
}

}  // namespace edgewise
