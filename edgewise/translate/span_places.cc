// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/span_places.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/token_ranges.h"
#include "edgewise/translate/output_words.h"

namespace edgewise {
namespace {

/// Returns whether no space is after the mark, as after an opening bracket.
bool attaches_to_next(char32_t mark) {
  constexpr std::u32string_view kMarks = U"([{\u00A1\u00BF\u201E\u201A\u300C\u300E";
  return kMarks.find(mark) != std::u32string_view::npos;
}

/// Returns whether a space is between a span and the character beside it, which may attach to the span.
bool needs_space(Beside side, char32_t character, bool attaches, bool has_gap) {
  if (side == Beside::kWord) return false;
  return has_gap || (side == Beside::kMark ? is_word_point(character) : !attaches);
}

/// Finds the place of each span among the words of an output: the number of words in front of it.
class WordPlaces {
 public:
  WordPlaces(std::string_view text, const std::vector<OutputWord>& words, std::span<const TakenSpan> spans,
             std::size_t num_inputs)
      : text_(text), words_(words), spans_(spans), num_inputs_(num_inputs) {}

  std::size_t find(const PlacedSpan& placed) const {
    const TakenSpan& span = spans_[placed.span];
    const std::size_t next = placed.token + (span.placeholder ? 1 : 0);  // first token after the span
    // The cost of a place is first the number of words that are on the wrong side.
    std::int64_t cost = 0;
    for (const OutputWord& word : words_) {
      if (word.input_token && *word.input_token < placed.token) cost += weight(word);
    }
    std::size_t best = 0;
    double best_cost = 0;
    for (std::size_t place = 0; place <= words_.size(); ++place) {
      const double total = static_cast<double>(cost) - bonus(placed, span, place) + distance(placed, place);
      if (place == 0 || total < best_cost) {
        best = place;
        best_cost = total;
      }
      if (place == words_.size() || !words_[place].input_token) continue;
      if (*words_[place].input_token >= next) cost += weight(words_[place]);
      if (*words_[place].input_token < placed.token) cost -= weight(words_[place]);
    }
    return best;
  }

 private:
  bool is_mark_word(const OutputWord& word) const {
    return !is_word_point(text_point_at(text_, word.bytes.begin).value);
  }

  /// The alignment of marks is less certain than that of words.
  std::int64_t weight(const OutputWord& word) const { return is_mark_word(word) ? 1 : 2; }

  /// Returns the gain of a place beside the words that are aligned to the neighbours of the span.
  double bonus(const PlacedSpan& placed, const TakenSpan& span, std::size_t place) const {
    constexpr double kBeside = 3;
    constexpr double kAttached = 6;
    const auto is_aligned = [&](std::size_t word, Beside side, std::size_t first, std::size_t last) {
      const auto token = words_[word].input_token;
      const bool is_same_kind = side == Beside::kMark || !is_mark_word(words_[word]);
      return is_same_kind && token && *token >= first && *token < last;
    };
    const std::size_t next = placed.token + (span.placeholder ? 1 : 0);
    double sum = 0;
    if (place > 0 && is_aligned(place - 1, span.before, placed.before, placed.token)) {
      sum += span.before == Beside::kWord ? kAttached : kBeside;
    }
    if (place < words_.size() && is_aligned(place, span.after, next, placed.after)) {
      sum += span.after == Beside::kWord ? kAttached : kBeside;
    }
    if (span.placeholder && place > 0 && is_aligned(place - 1, span.before, placed.token, next)) sum += kBeside;
    if (span.before == Beside::kEdge && place == 0) sum += kBeside;
    const bool has_last_mark = !words_.empty() && is_mark_word(words_.back());
    const bool is_before_end = place + (has_last_mark && span.after == Beside::kMark ? 1 : 0) == words_.size();
    if (span.is_last && is_before_end) sum += kBeside;
    return sum;
  }

  /// Returns less than 1: among equal places, the one nearest to the span's relative place is best.
  double distance(const PlacedSpan& placed, std::size_t place) const {
    const double input = static_cast<double>(placed.token) / static_cast<double>(std::max<std::size_t>(num_inputs_, 1));
    const double output = static_cast<double>(place) / static_cast<double>(std::max<std::size_t>(words_.size(), 1));
    return 0.9 * std::abs(input - output);
  }

  std::string_view text_;
  const std::vector<OutputWord>& words_;
  std::span<const TakenSpan> spans_;
  std::size_t num_inputs_;
};

/// Writes the words of an output and the spans between them.
class SpanWriter {
 public:
  SpanWriter(const AlignedTranslation& output, std::span<const PlacedSpan> placed, std::span<const TakenSpan> spans,
             std::size_t num_inputs)
      : output_(output), placed_(placed), spans_(spans), words_(join_tokens(output)), place_(placed.size()) {
    find_placeholders();
    const WordPlaces places(output.text, words_, spans, num_inputs);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (!is_replaced_[i]) place_[i] = places.find(placed[i]);
    }
    keep_pairs_in_order();
    assign_tokens();
  }

  RestoredText write() {
    std::vector<std::size_t> order(placed_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return is_replaced_[i]; });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return place_[i]; });
    auto next = order.begin();
    for (std::size_t word = 0; word <= words_.size(); ++word) {
      for (; next != order.end() && place_[*next] == word; ++next) write_span(*next, has_gap(word));
      if (word == words_.size()) break;
      if (!word_span_[word]) {
        write_word(word);
      } else if (*word_span_[word] < placed_.size()) {
        write_span(*word_span_[word], has_gap(word));
      }
    }
    const std::size_t end = words_.empty() ? 0 : words_.back().bytes.end;
    if (!last_span_) restored_.text += output_.text.substr(end);
    for (const std::size_t token : rest_tokens_) restored_.items.push_back({false, token});
    return std::move(restored_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Finds the words that are placeholders: the first one of each span is replaced, and others are left out.
  void find_placeholders() {
    is_replaced_.resize(placed_.size());
    word_span_.resize(words_.size());
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const std::string_view text = text_of(word);
      if (!is_placeholder(text)) continue;
      word_span_[word] = kNone;
      for (std::size_t i = 0; i < placed_.size(); ++i) {
        const TakenSpan& span = spans_[placed_[i].span];
        if (!span.placeholder || is_replaced_[i] || text != placeholder(static_cast<std::int64_t>(*span.placeholder)))
          continue;
        is_replaced_[i] = true;
        words_[word].input_token = placed_[i].token;
        word_span_[word] = i;
        break;
      }
    }
  }

  /// Puts the first mark of a pair in front of the second one, with a word between them if they have the same place.
  void keep_pairs_in_order() {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const auto partner = spans_[placed_[i].span].partner;
      if (!partner || *partner <= placed_[i].span) continue;
      const auto second = std::ranges::lower_bound(placed_, *partner, {}, &PlacedSpan::span);
      if (second == placed_.end() || second->span != *partner) continue;
      std::size_t& first_place = place_[i];
      std::size_t& second_place = place_[static_cast<std::size_t>(second - placed_.begin())];
      if (first_place > second_place) std::swap(first_place, second_place);
      if (first_place != second_place) continue;
      if (second_place < words_.size()) {
        ++second_place;
      } else if (first_place > 0) {
        --first_place;
      }
    }
  }

  /// Gives each word its tokens. A token without bytes belongs to the word after it.
  void assign_tokens() {
    tokens_.resize(words_.size());
    std::size_t word = 0;
    std::vector<std::size_t> waiting;
    for (std::size_t token = 0; token < output_.output_tokens.size(); ++token) {
      const ByteRange& bytes = output_.output_tokens[token];
      waiting.push_back(token);
      if (bytes.size() == 0) continue;
      while (word + 1 < words_.size() && words_[word].bytes.end <= bytes.begin) ++word;
      if (word >= words_.size()) continue;
      tokens_[word].insert(tokens_[word].end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
    rest_tokens_ = std::move(waiting);
  }

  std::string_view text_of(std::size_t word) const {
    return std::string_view(output_.text).substr(words_[word].bytes.begin, words_[word].bytes.size());
  }

  /// Returns the text between a word and the one before.
  std::string_view gap_before(std::size_t word) const {
    const std::size_t begin = word == 0 ? 0 : words_[word - 1].bytes.end;
    const std::size_t end = word == words_.size() ? output_.text.size() : words_[word].bytes.begin;
    return std::string_view(output_.text).substr(begin, end - begin);
  }

  bool has_gap(std::size_t word) const { return !gap_before(word).empty(); }

  void write_word(std::size_t word) {
    if (last_span_) {
      const char32_t right = text_point_at(text_of(word), 0).value;
      const Beside after = spans_[placed_[*last_span_].span].after;
      if (needs_space(after, right, attaches_to_word(right), has_gap(word))) restored_.text += ' ';
    } else {
      restored_.text += gap_before(word);
    }
    restored_.text += text_of(word);
    for (const std::size_t token : tokens_[word]) restored_.items.push_back({false, token});
    last_span_.reset();
  }

  void write_span(std::size_t i, bool has_gap) {
    const std::size_t number = placed_[i].span;
    if (!restored_.text.empty() && needs_space_before(i, has_gap)) restored_.text += ' ';
    restored_.text += spans_[number].bytes;
    restored_.items.push_back({true, i});
    last_span_ = i;
  }

  bool needs_space_before(std::size_t i, bool has_gap) const {
    const TakenSpan& span = spans_[placed_[i].span];
    if (last_span_) {
      const TakenSpan& last = spans_[placed_[*last_span_].span];
      const bool is_next = placed_[*last_span_].span + 1 == placed_[i].span;
      if (is_next && span.before != Beside::kWord && span.before != Beside::kMark) return span.before != Beside::kSpan;
      return last.after != Beside::kWord && span.before != Beside::kWord;
    }
    const char32_t left = text_point_before(restored_.text, restored_.text.size()).value;
    return needs_space(span.before, left, attaches_to_next(left), has_gap);
  }

  const AlignedTranslation& output_;
  std::span<const PlacedSpan> placed_;
  std::span<const TakenSpan> spans_;
  std::vector<OutputWord> words_;
  std::vector<std::size_t> place_;                     // for each span the number of words in front of it
  std::vector<bool> is_replaced_;                      // for each span whether the output has its placeholder
  std::vector<std::optional<std::size_t>> word_span_;  // for a word that is a placeholder its span, or kNone
  std::vector<std::vector<std::size_t>> tokens_;       // each word's tokens
  std::vector<std::size_t> rest_tokens_;               // without a word
  std::optional<std::size_t> last_span_;               // the span at the end of the text, if there is one
  RestoredText restored_;
};

}  // namespace

std::vector<PlacedSpan> find_spans_of_part(std::span<const TakenSpan> spans, std::string_view part, std::size_t begin,
                                           std::span<const std::string> tokens, bool is_last) {
  std::vector<PlacedSpan> placed;
  if (spans.empty()) return placed;
  const AlignedTranslation translation = {.text = std::string(part), .output_tokens = find_token_ranges(part, tokens)};
  const std::vector<ByteRange>& ranges = translation.output_tokens;
  const std::vector<OutputWord> words = join_tokens(translation);
  const auto token_at = [&](std::size_t offset) {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranges, offset, {}, &ByteRange::begin) - ranges.begin());
  };
  const auto first = std::ranges::lower_bound(spans, begin, {}, &TakenSpan::offset);
  for (auto i = static_cast<std::size_t>(first - spans.begin()); i < spans.size(); ++i) {
    if (!is_last && spans[i].offset >= begin + part.size()) break;
    const std::size_t offset = std::min(spans[i].offset - begin, part.size());
    PlacedSpan place = {.span = i, .token = token_at(offset)};
    std::size_t end = offset;
    if (spans[i].placeholder) {
      const std::string text = placeholder(static_cast<std::int64_t>(*spans[i].placeholder));
      const auto found = std::ranges::find(tokens, text);
      if (found != tokens.end()) place.token = static_cast<std::size_t>(found - tokens.begin());
      end += text.size();
    }
    // The word in front of the span is the last one that ends before it.
    const auto begin_of = [](const OutputWord& word) { return word.bytes.begin; };
    const auto after = std::ranges::lower_bound(words, end, {}, begin_of);
    const auto at = std::ranges::lower_bound(words, offset, {}, begin_of);
    if (!placed.empty()) place.token = std::max(place.token, placed.back().token);
    place.before = at == words.begin() ? place.token : token_at(std::prev(at)->bytes.begin);
    place.after = after == words.end() ? tokens.size() : token_at(after->bytes.end);
    placed.push_back(place);
  }
  return placed;
}

RestoredText restore_spans(const AlignedTranslation& output, std::span<const PlacedSpan> placed,
                           std::span<const TakenSpan> spans, std::size_t num_inputs) {
  return SpanWriter(output, placed, spans, num_inputs).write();
}

}  // namespace edgewise
