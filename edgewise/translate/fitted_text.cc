// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/fitted_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

/// A run of letters, with apostrophes between them.
struct Word {
  ByteRange bytes;
  bool begins_sentence = false;
};

/// Returns the words of a text in capitals; nothing for other texts.
std::optional<std::vector<Word>> find_words(std::string_view text) {
  std::vector<Word> words;
  bool has_others = false;
  bool begins_sentence = true;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (has_others) return;
    const bool is_part = is_letter(point.value) || is_mark(point.value);
    const bool is_apostrophe = point.value == U'\'' || point.value == U'\u2019';
    begins_sentence = begins_sentence || point.value == U'.' || point.value == U'!' || point.value == U'?';
    if (!is_part && !is_apostrophe) return;
    const bool continues = !words.empty() && words.back().bytes.end == offset;
    if (!continues && !is_part) return;
    if (!continues) words.push_back({{offset, offset}, std::exchange(begins_sentence, false)});
    words.back().bytes.end = offset + point.size;
    std::string lower;
    append_utf8(lower, lowercase_letter(point.value));
    const bool is_capital = lower != text.substr(offset, point.size) && lower.size() == point.size;
    has_others = is_letter(point.value) && !is_capital;
  });
  return has_others || words.empty() ? std::nullopt : std::optional(words);
}

std::string change_letters(std::string_view word, bool keeps_first) {
  std::string changed;
  for_each_code_point(word, [&](CodePoint point, std::size_t offset) {
    append_utf8(changed, keeps_first && offset == 0 ? point.value : lowercase_letter(point.value));
  });
  return changed;
}

/// Returns the form of a word that the vocabulary has best.
std::string best_form(std::string_view word, bool prefers_capital, const Vocabulary& vocabulary) {
  std::array forms = {change_letters(word, false), change_letters(word, true), std::string(word)};
  if (prefers_capital) std::swap(forms[0], forms[1]);
  return *std::ranges::min_element(forms, {}, [&](const std::string& form) {
    const std::vector<std::int64_t> tokens = vocabulary.encode(form);
    return std::pair(std::ranges::count(tokens, vocabulary.special().unknown), tokens.size());
  });
}

bool is_byte_token(std::string_view text) { return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>'); }

/// Adds spans of words to spans of the same text, whose pairs get the new numbers of their partners.
std::vector<ProtectedSpan> merge_spans(const std::vector<ProtectedSpan>& spans, const std::vector<ByteRange>& words) {
  std::vector<ProtectedSpan> merged;
  std::vector<std::size_t> numbers;  // index of each given span among the merged ones
  auto word = words.begin();
  for (const ProtectedSpan& span : spans) {
    for (; word != words.end() && word->begin < span.bytes.begin; ++word) merged.push_back({*word});
    numbers.push_back(merged.size());
    merged.push_back(span);
  }
  for (; word != words.end(); ++word) merged.push_back({*word});
  for (const std::size_t number : numbers) {
    if (merged[number].partner) merged[number].partner = numbers[*merged[number].partner];
  }
  return merged;
}

/// Returns the offset at which the code point at `offset` begins.
std::size_t align_to_code_point(std::string_view text, std::size_t offset) {
  while (offset > 0 && offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) --offset;
  return offset;
}

/// Returns where to split a text of more than one code point: after white space near its middle, or else between the
/// two code points nearest to the middle.
std::size_t find_middle(std::string_view text) {
  constexpr std::size_t kNear = 4096;  // longer than words, and bounds the cost for texts of megabytes
  const std::size_t middle = text.size() / 2;
  const std::size_t begin = align_to_code_point(text, middle - std::min(middle, kNear));
  const std::string_view around = text.substr(begin, 2 * kNear);
  std::size_t best_space = 0;
  std::size_t best_any = 0;
  const auto distance = [&](std::size_t offset) { return offset > middle ? offset - middle : middle - offset; };
  for_each_code_point(around, [&](CodePoint point, std::size_t offset) {
    const std::size_t end = begin + offset + point.size;
    if (point.size == 0 || end >= text.size()) return;  // the window may end inside a code point
    if (distance(end) <= distance(best_any)) best_any = end;
    if (is_space(point.value) && distance(end) <= distance(best_space)) best_space = end;
  });
  return best_space > 0 ? best_space : best_any;
}

class TextSplitter {
 public:
  TextSplitter(const Vocabulary& vocabulary, std::int64_t max_tokens)
      : vocabulary_(vocabulary), max_tokens_(max_tokens) {}

  std::vector<FittingPart> run(std::string_view text, const SentenceSplitter& splitter) && {
    text_ = text;
    if (try_add(text)) return std::move(parts_);
    for (const ByteRange& span : splitter.split(text)) add(text.substr(span.begin, span.end - span.begin));
    return std::move(parts_);
  }

 private:
  /// Adds the text as one part. Returns false, without adding the text, if it is too long.
  bool try_add(std::string_view text) {
    if (text.size() > kMaxBytesPerToken * static_cast<std::size_t>(max_tokens_)) return false;
    Tokens tokens = vocabulary_.encode(text);
    if (std::ssize(tokens) > max_tokens_) return false;
    const auto begin = static_cast<std::size_t>(text.data() - text_.data());
    if (!tokens.empty()) parts_.push_back({std::move(tokens), {begin, begin + text.size()}});
    return true;
  }

  void add(std::string_view sentence) {
    if (try_add(sentence)) return;
    const std::size_t middle = find_middle(sentence);
    check(middle > 0, "split_to_fit: {} is a single character of {} tokens, at most {} are allowed", quote(sentence),
          vocabulary_.encode(sentence).size(), max_tokens_);
    add(sentence.substr(0, middle));
    add(sentence.substr(middle));
  }

  const Vocabulary& vocabulary_;
  std::int64_t max_tokens_;
  std::string_view text_;
  std::vector<FittingPart> parts_;
};

}  // namespace

std::optional<std::string> without_capitals(std::string_view text, const Vocabulary& vocabulary) {
  const auto words = find_words(text);
  if (!words) return std::nullopt;
  std::string changed;
  std::size_t end = 0;
  for (const Word& word : *words) {
    changed += text.substr(end, word.bytes.begin - end);
    changed += best_form(text.substr(word.bytes.begin, word.bytes.size()), word.begins_sentence && words->size() > 1,
                         vocabulary);
    end = word.bytes.end;
  }
  changed += text.substr(end);
  return changed == text ? std::nullopt : std::optional(changed);
}

KnownCharacters::KnownCharacters(std::shared_ptr<const Vocabulary> vocabulary) {
  if (vocabulary->kind() != VocabularyKind::kSentencePiece) return;
  for (std::int64_t token = 0; token < vocabulary->size(); ++token) {
    for_each_code_point(vocabulary->token_text(token),
                        [&](CodePoint point, std::size_t) { characters_.insert(point.value); });
  }
  vocabulary_ = std::move(vocabulary);
}

bool KnownCharacters::is_known(std::string_view character, char32_t code_point) const {
  if (code_point < 0x80 || !is_letter(code_point) || characters_.contains(code_point)) return true;
  return std::ranges::none_of(vocabulary_->encode(character), [&](std::int64_t token) {
    return token == vocabulary_->special().unknown || is_byte_token(vocabulary_->token_text(token));
  });
}

std::vector<ProtectedSpan> KnownCharacters::add_unknown_words(std::string_view text,
                                                              std::vector<ProtectedSpan> spans) const {
  if (vocabulary_ == nullptr) return spans;
  std::vector<ByteRange> words;
  ByteRange word = {0, 0};
  bool has_unknown = false;
  const auto end_word = [&] {
    if (std::exchange(has_unknown, false)) words.push_back(word);
  };
  auto span = spans.begin();
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    while (span != spans.end() && span->bytes.end <= offset) ++span;
    const bool is_outside = span == spans.end() || offset < span->bytes.begin;
    if (!is_outside || point.size == 0 || !is_word_point(point.value)) {
      end_word();
      return;
    }
    const bool is_unknown = !is_known(text.substr(offset, point.size), point.value);
    const bool stands_alone = has_letters_without_spaces(point.value) && !is_unknown;
    if (stands_alone || word.end != offset) end_word();
    if (stands_alone) return;
    if (word.end != offset) word.begin = offset;
    word.end = offset + point.size;
    has_unknown = has_unknown || is_unknown;
  });
  end_word();
  return words.empty() ? spans : merge_spans(spans, words);
}

std::vector<FittingPart> split_to_fit(std::string_view text, const Vocabulary& vocabulary, std::int64_t max_tokens,
                                      const SentenceSplitter& splitter) {
  return TextSplitter(vocabulary, max_tokens).run(text, splitter);
}

}  // namespace edgewise
