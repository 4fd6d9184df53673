// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentence_case.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaseMagic = "#edgewise-case 1";
constexpr const char* kLoad = "load_vocabulary";

bool is_part_of_word(char32_t code_point) { return is_letter(code_point) || is_mark(code_point); }

/// A run of letters, and whether it is the first word of a sentence.
struct CasedWord {
  std::string_view text;
  bool is_first = false;
};

std::vector<CasedWord> find_words(std::string_view text) {
  std::vector<CasedWord> words;
  std::size_t begin = 0;
  bool is_inside = false;
  bool is_first = true;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    const bool was_inside = std::exchange(is_inside, is_part_of_word(point.value));
    if (is_inside && !was_inside) begin = offset;
    if (!is_inside && was_inside) words.push_back({text.substr(begin, offset - begin), std::exchange(is_first, false)});
    if (std::u32string_view(U".:!?").find(point.value) != std::u32string_view::npos) is_first = true;
  });
  if (is_inside) words.push_back({text.substr(begin), is_first});
  return words;
}

/// Returns the first word of a text, which may follow quotes and brackets; empty if the text begins with a number or
/// has no word.
std::string_view first_word(std::string_view text) {
  std::optional<std::size_t> begin;
  std::size_t end = 0;
  bool is_over = false;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (is_over) return;
    if (is_part_of_word(point.value)) {
      if (!begin) begin = offset;
      end = offset + point.size;
    } else {
      is_over = begin.has_value() || is_number(point.value);
    }
  });
  return begin ? text.substr(*begin, end - *begin) : std::string_view();
}

/// Returns the word with `change` applied to its first letter.
std::string change_first(std::string_view word, char32_t (*change)(char32_t)) {
  const CodePoint first = code_point_at(word, 0);
  std::string changed;
  append_utf8(changed, change(first.value));
  return changed + std::string(word.substr(first.size));
}

std::string replace_part(std::string_view text, std::string_view part, std::string_view by) {
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  return std::string(text.substr(0, begin)).append(by).append(text.substr(begin + part.size()));
}

bool begins_lowercase(std::string_view word) { return is_lowercase(code_point_at(word, 0).value); }

/// Groups words that differ in case only, and returns the most frequent word of each group if it begins in lower case.
std::unordered_set<std::string> find_lowercase_words(const std::unordered_map<std::string, std::int64_t>& counts) {
  std::unordered_map<std::string, std::pair<std::int64_t, std::string_view>> best;
  for (const auto& [word, count] : counts) {
    auto& entry = best[lower_case(word)];
    // Between equal counts, std::max selects the word with more lower-case letters.
    entry = std::max(entry, std::pair(count, std::string_view(word)));
  }
  std::unordered_set<std::string> result;
  for (const auto& [folded, entry] : best) {
    if (begins_lowercase(entry.second)) result.emplace(entry.second);
  }
  return result;
}

bool is_lowercase_word(std::string_view text) {
  const auto words = find_words(text);
  return words.size() == 1 && words[0].text == text && begins_lowercase(text);
}

class CasedVocabulary final : public Vocabulary {
 public:
  CasedVocabulary(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case)
      : vocabulary_(std::move(vocabulary)), case_(std::move(sentence_case)) {}

  VocabularyKind kind() const override { return vocabulary_->kind(); }
  std::int64_t size() const override { return vocabulary_->size(); }
  const SentenceRules& rules() const override { return vocabulary_->rules(); }
  std::string serialize() const override { return vocabulary_->serialize(); }
  std::string_view pieces_name() const override { return vocabulary_->pieces_name(); }
  std::string serialize_pieces() const override { return vocabulary_->serialize_pieces(); }
  bool separates_punctuation() const override { return vocabulary_->separates_punctuation(); }
  std::optional<SentencePieceModel> piece_model() const override { return vocabulary_->piece_model(); }
  CaseKind case_kind() const override { return case_.kind(); }
  std::string serialize_case() const override { return case_.serialize(); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    return vocabulary_->encode(case_.apply(sentence));
  }
  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    return vocabulary_->sample(case_.apply(sentence), sampling, seed);
  }
  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    return case_.undo(vocabulary_->decode(tokens));
  }
  std::string_view text_of(std::int64_t token) const override { return vocabulary_->token_text(token); }

  std::shared_ptr<const Vocabulary> vocabulary_;
  SentenceCase case_;
};

}  // namespace

SentenceCase SentenceCase::learn(CaseKind kind, std::span<const std::string> sentences) {
  SentenceCase learned;
  learned.kind_ = kind;
  if (kind != CaseKind::kTruecase) return learned;
  std::unordered_map<std::string, std::int64_t> counts;
  for (const std::string& sentence : sentences) {
    for (const CasedWord& word : find_words(sentence)) {
      if (!word.is_first) ++counts[std::string(word.text)];
    }
  }
  learned.lowercase_words_ = find_lowercase_words(counts);
  return learned;
}

std::string SentenceCase::apply(std::string_view sentence) const {
  if (kind_ == CaseKind::kLower) return lower_case(sentence);
  if (kind_ == CaseKind::kKeep) return std::string(sentence);
  const std::string_view word = first_word(sentence);
  if (word.empty()) return std::string(sentence);
  const std::string lowercase = change_first(word, lowercase_letter);
  return lowercase_words_.contains(lowercase) ? replace_part(sentence, word, lowercase) : std::string(sentence);
}

std::string SentenceCase::undo(std::string_view sentence) const {
  const std::string_view word = kind_ == CaseKind::kTruecase ? first_word(sentence) : std::string_view();
  return word.empty() ? std::string(sentence) : replace_part(sentence, word, change_first(word, titlecase_letter));
}

std::string SentenceCase::header() const {
  return fmt::format("{} {} {}", kCaseMagic, enum_name(kind_), lowercase_words_.size());
}

std::string SentenceCase::serialize() const {
  const std::set<std::string_view> sorted(lowercase_words_.begin(), lowercase_words_.end());
  std::string text = header() + '\n';
  for (const std::string_view word : sorted) text.append(word) += '\n';
  return text;
}

SentenceCase SentenceCase::parse(std::string_view bytes, std::string_view name) {
  const std::size_t header_size = std::min(bytes.find('\n'), bytes.size());
  const std::string_view header = bytes.substr(0, header_size);
  SentenceCase parsed;
  bool is_known = false;
  for (const auto& named : enum_names(CaseKind{})) {
    if (!header.starts_with(fmt::format("{} {} ", kCaseMagic, named.name))) continue;
    parsed.kind_ = named.value;
    is_known = true;
  }
  check(is_known, "{}: {}:1 has {}, needs {}, a kind and a number of words", kLoad, name, quote(header), kCaseMagic);
  std::string_view previous;
  for (std::size_t begin = header_size + 1; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view word = bytes.substr(begin, end - begin);
    if (find_bad_utf8(word) || !is_lowercase_word(word)) {
      fail("{}: {} has {}, needs words that begin with a small letter", kLoad, name, quote(word));
    }
    if (word <= previous) {
      fail("{}: {} has {} after {}, needs sorted words; the file was altered", kLoad, name, quote(word),
           quote(previous));
    }
    parsed.lowercase_words_.emplace(word);
    previous = word;
    begin = end + 1;
  }
  const std::string needed = parsed.header();
  check(header == needed && bytes.ends_with('\n'),
        "{}: {} has {} words after the line {}, needs {} and a line feed at the end; the file was cut or altered, copy "
        "it again",
        kLoad, name, parsed.lowercase_words_.size(), quote(header), quote(needed));
  return parsed;
}

std::shared_ptr<const Vocabulary> with_case(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case) {
  if (sentence_case.kind() == CaseKind::kKeep) return vocabulary;
  return std::make_shared<CasedVocabulary>(std::move(vocabulary), std::move(sentence_case));
}

}  // namespace edgewise
