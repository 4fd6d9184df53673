// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/relation_patterns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "edgewise/base/ascii.h"
#include "edgewise/base/config/nearest_name.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxPatterns = 1000;  // as many as layers
constexpr std::size_t kMaxTerms = 32;
constexpr double kMaxTermNumber = 1e9;
constexpr double kMaxRandomTokens = 10'000;  // a draw takes time in proportion to the square

/// A way to write a term: words, and letters that stand for numbers, N for `size`, S for `step` and R for `seed`.
struct TermForm {
  TermKind kind;
  std::string_view words;
};

constexpr auto kTermForms = std::to_array<TermForm>({
    {TermKind::kCausal, "causal"},
    {TermKind::kComplete, "complete"},
    {TermKind::kDocument, "document"},
    {TermKind::kWindow, "window N"},
    {TermKind::kDilated, "dilated N by S"},
    {TermKind::kSinks, "sinks N"},
    {TermKind::kGlobal, "global every N"},
    {TermKind::kBlocks, "blocks N"},
    {TermKind::kRandom, "random N"},
    {TermKind::kRandom, "random N seed R"},
});

bool is_number(std::string_view word) { return word == "N" || word == "S" || word == "R"; }

/// Reads one term. Errors begin with `option`.
class TermParser {
 public:
  TermParser(std::string_view text, Direction direction, std::string_view option)
      : text_(text), direction_(direction), option_(option), words_(split_ascii(text, " \t")) {}

  RelationTerm parse() const {
    std::vector<std::string_view> forms;  // with the same first word
    for (const auto& [kind, form] : kTermForms) {
      const std::vector<std::string> form_words = split_ascii(form, " ");
      if (words_.empty() || words_.front() != form_words.front()) continue;
      if (fits(form_words)) return read_numbers(kind, form_words);
      forms.push_back(form);
    }
    if (forms.empty()) fail_unknown();
    fail("{} has {}, needs {}", option_, quote(text_), fmt::join(forms, " or "));
  }

 private:
  bool fits(const std::vector<std::string>& form_words) const {
    return std::ranges::equal(words_, form_words, [](const std::string& word, const std::string& form_word) {
      return is_number(form_word) || word == form_word;
    });
  }

  RelationTerm read_numbers(TermKind kind, const std::vector<std::string>& form_words) const {
    check(kind != TermKind::kComplete || direction_ == Direction::kBoth,
          "{} has {}, needs terms without later tokens, because a decoder has not computed them yet; use causal",
          option_, quote(text_));
    RelationTerm term{.kind = kind};
    for (std::size_t i = 0; i < form_words.size(); ++i) {
      if (form_words[i] == "N") {
        read_number(words_[i], at_least(1).at_most(kind == TermKind::kRandom ? kMaxRandomTokens : kMaxTermNumber),
                    term.size);
      } else if (form_words[i] == "S") {
        read_number(words_[i], at_least(1).at_most(kMaxTermNumber), term.step);
      } else if (form_words[i] == "R") {
        read_number(words_[i], at_least(0).at_most(0x1p53), term.seed);
      }
    }
    return term;
  }

  template <class Number>
  void read_number(std::string_view word, const Range& range, Number& number) const {
    check(parse_number(word, range, number), "{} has {}, needs a whole number{} instead of {}", option_, quote(text_),
          range.text(), quote_unless_plain(word));
  }

  [[noreturn]] void fail_unknown() const {
    std::vector<std::string> names;
    std::vector<std::string_view> forms;
    for (const auto& [kind, form] : kTermForms) {
      if (kind == TermKind::kComplete && direction_ == Direction::kCausal) continue;
      names.push_back(split_ascii(form, " ").front());
      forms.push_back(form);
    }
    const auto nearest = words_.empty() ? std::nullopt : nearest_name(words_.front(), names);
    fail("{} has {}, needs a term: {}{}", option_, quote(text_), fmt::join(forms, ", "),
         nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }

  std::string_view text_;
  Direction direction_;
  std::string_view option_;
  std::vector<std::string> words_;
};

}  // namespace

bool RelationPatterns::is_default(std::size_t layer) const {
  const RelationTerms& terms = of_layer(layer);
  const TermKind kind = direction_ == Direction::kCausal ? TermKind::kCausal : TermKind::kComplete;
  return terms.size() == 1 && terms.front().kind == kind;
}

bool RelationPatterns::is_default() const {
  for (std::size_t layer = 0; layer < size(); ++layer) {
    if (!is_default(layer)) return false;
  }
  return true;
}

RelationPatterns parse_patterns(const StringLists& texts, Direction direction, std::string_view option) {
  check(!texts.empty() && texts.size() <= kMaxPatterns, "{} has {} patterns, needs 1 to {}", option, texts.size(),
        kMaxPatterns);
  std::vector<RelationTerms> patterns;
  for (const std::vector<std::string>& terms : texts) {
    check(!terms.empty() && terms.size() <= kMaxTerms, "{} has a pattern of {} terms, needs 1 to {}", option,
          terms.size(), kMaxTerms);
    RelationTerms& pattern = patterns.emplace_back();
    for (const std::string& term : terms) pattern.push_back(TermParser(term, direction, option).parse());
  }
  return {direction, std::move(patterns)};
}

std::string format_term(const RelationTerm& term) {
  std::string text;
  for (const auto& [kind, form] : kTermForms) {
    if (kind != term.kind) continue;
    const std::vector<std::string> words = split_ascii(form, " ");
    if (words.back() == "R" && term.seed == RelationTerm().seed) continue;
    text.clear();
    for (const std::string& word : words) {
      if (!text.empty()) text += ' ';
      if (word == "N") {
        text += fmt::format("{}", term.size);
      } else if (word == "S") {
        text += fmt::format("{}", term.step);
      } else {
        text += word == "R" ? fmt::format("{}", term.seed) : word;
      }
    }
  }
  return text;
}

std::string format_terms(const RelationTerms& terms) {
  std::vector<std::string> texts;
  for (const RelationTerm& term : terms) texts.push_back(format_term(term));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace edgewise
