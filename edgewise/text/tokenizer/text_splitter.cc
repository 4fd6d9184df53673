// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/tokenizer/byte_alphabet.h"
#include "edgewise/text/tokenizer/replaced_text.h"
#include "edgewise/text/tokenizer/text_steps.h"

namespace edgewise {
namespace {

/// A part of a piece: a match of a pattern, or the text between two matches.
struct Segment {
  ByteRange bytes;
  bool is_match = false;
};

using Segments = std::vector<Segment>;

/// Makes a segment of each character; `is_match(point)` says which are matches.
Segments match_characters(std::string_view text, auto is_match) {
  Segments segments;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    segments.push_back({{offset, offset + std::max<std::size_t>(point.size, 1)}, is_match(point.value)});
  });
  return segments;
}

/// Joins neighbours for which `joins(before, segment)` holds.
Segments join_neighbours(const Segments& segments, auto joins) {
  Segments joined;
  for (const Segment& segment : segments) {
    if (!joined.empty() && joins(joined.back(), segment)) {
      joined.back().bytes.end = segment.bytes.end;
      joined.back().is_match = segment.is_match;
    } else {
      joined.push_back(segment);
    }
  }
  return joined;
}

/// Joins the characters between matches.
Segments join_between_matches(const Segments& segments) {
  return join_neighbours(segments, [](const Segment& a, const Segment& b) { return !a.is_match && !b.is_match; });
}

/// Joins neighbours that are both matches or both not.
Segments join_equal(const Segments& segments) {
  return join_neighbours(segments, [](const Segment& a, const Segment& b) { return a.is_match == b.is_match; });
}

Segments match_text(std::string_view text, std::string_view pattern) {
  Segments segments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = std::min(text.find(pattern, begin), text.size());
    if (found > begin) segments.push_back({{begin, found}, false});
    begin = found;
    if (found == text.size()) break;
    begin += pattern.size();
    segments.push_back({{found, begin}, true});
  }
  return segments;
}

Segments match_pattern(std::string_view text, SplitPattern pattern) {
  Segments segments;
  for (const ByteRange& word : match_words(text, pattern)) segments.push_back({word, true});
  return segments;
}

std::vector<ByteRange> apply_behavior(const Segments& segments, SplitBehavior behavior) {
  std::vector<ByteRange> pieces;
  const auto take = [&](const Segments& taken) {
    for (const Segment& segment : taken) pieces.push_back(segment.bytes);
  };
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Segment& segment : segments) {
        if (!segment.is_match) pieces.push_back(segment.bytes);
      }
      break;
    case SplitBehavior::kIsolated:
      take(segments);
      break;
    case SplitBehavior::kContiguous:
      take(join_equal(segments));
      break;
    case SplitBehavior::kMergedWithPrevious:
      take(join_neighbours(segments, [](const Segment& a, const Segment& b) { return !a.is_match && b.is_match; }));
      break;
    case SplitBehavior::kMergedWithNext:
      take(join_neighbours(segments, [](const Segment& a, const Segment& b) { return a.is_match && !b.is_match; }));
      break;
  }
  return pieces;
}

bool is_punctuation_mark(char32_t point) {
  const bool is_ascii_mark = point < 0x80 && point > ' ' && point != 0x7F && !is_letter(point) && !is_number(point);
  return is_ascii_mark || is_punctuation(point);
}

/// Splits at white space and between letters, with digits, and marks.
std::vector<ByteRange> split_into_words(std::string_view text) {
  const Segments characters = join_equal(match_characters(text, [](char32_t point) { return is_regex_word(point); }));
  std::vector<ByteRange> words;
  for (const auto& [bytes, is_word] : characters) {
    if (is_word) {
      words.push_back(bytes);
      continue;
    }
    const std::string_view rest = text.substr(bytes.begin, bytes.size());
    for (const auto& [inner, is_mark] :
         join_equal(match_characters(rest, [](char32_t point) { return !is_white_space(point); }))) {
      if (is_mark) words.push_back({bytes.begin + inner.begin, bytes.begin + inner.end});
    }
  }
  return words;
}

/// Returns the parts of a text that a step makes words; the step does not change the text itself.
std::vector<ByteRange> split_by_step(std::string_view text, const SplitterStep& step) {
  switch (step.kind) {
    case SplitterKind::kByteLevel:
      return step.pattern ? match_words(text, *step.pattern) : std::vector<ByteRange>{{0, text.size()}};
    case SplitterKind::kSplit: {
      Segments segments = step.pattern ? match_pattern(text, *step.pattern) : match_text(text, step.text);
      if (step.is_inverted) {
        for (Segment& segment : segments) segment.is_match = !segment.is_match;
      }
      return apply_behavior(segments, step.behavior);
    }
    case SplitterKind::kDigits:
      return apply_behavior(
          join_between_matches(match_characters(text, [](char32_t point) { return is_number(point); })), step.behavior);
    case SplitterKind::kPunctuation:
      return apply_behavior(join_between_matches(match_characters(text, is_punctuation_mark)), step.behavior);
    case SplitterKind::kWords:
      return split_into_words(text);
    case SplitterKind::kWhiteSpace:
      return apply_behavior(join_between_matches(match_characters(text, is_white_space)), SplitBehavior::kRemoved);
    case SplitterKind::kMetaspace:
      return step.splits ? apply_behavior(match_text(text, step.text), SplitBehavior::kMergedWithNext)
                         : std::vector<ByteRange>{{0, text.size()}};
  }
  return {};
}

/// Changes the spaces of a text as a step does before it splits the text.
std::string change_spaces(TextPiece piece, const SplitterStep& step) {
  if (step.kind == SplitterKind::kByteLevel && step.prepends_space && !piece.text.starts_with(' ')) {
    return " " + piece.text;
  }
  if (step.kind != SplitterKind::kMetaspace) return std::move(piece.text);
  std::string text = replace_each(piece.text, " ", step.text);
  const bool prepends =
      step.prepend == PrependScheme::kAlways || (step.prepend == PrependScheme::kFirst && piece.begins_text);
  return prepends && !text.starts_with(step.text) ? step.text + text : text;
}

}  // namespace

std::vector<TextPiece> split_piece(TextPiece piece, std::span<const SplitterStep> steps) {
  const std::size_t bytes_before = piece.text.size();
  std::vector<TextPiece> pieces;
  pieces.push_back(std::move(piece));
  for (const SplitterStep& step : steps) {
    std::vector<TextPiece> parts;
    std::size_t bytes = 0;
    for (TextPiece& whole : pieces) {
      const bool begins_text = whole.begins_text;
      const std::string text = change_spaces(std::move(whole), step);
      for (const ByteRange& range : split_by_step(text, step)) {
        const std::string_view part = std::string_view(text).substr(range.begin, range.size());
        if (part.empty()) continue;
        parts.push_back({step.kind == SplitterKind::kByteLevel ? write_bytes(part) : std::string(part),
                         begins_text && range.begin == 0});
        bytes += parts.back().text.size();
      }
    }
    check_growth("encode", bytes, bytes_before);
    pieces = std::move(parts);
  }
  return pieces;
}

}  // namespace edgewise
