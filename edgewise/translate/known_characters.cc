// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/known_characters.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

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

}  // namespace

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

}  // namespace edgewise
