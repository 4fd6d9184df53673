// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/metrics/ngrams.h"

#include <algorithm>
#include <unordered_map>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

using Counts = std::unordered_map<std::string_view, std::int64_t>;

Counts count_ngrams(const NgramUnits& units, std::size_t n) {
  Counts counts;
  for (std::size_t i = 0; i + n <= units.size(); ++i) ++counts[units.ngram(i, n)];
  return counts;
}

std::int64_t num_ngrams(const NgramUnits& units, std::size_t n) {
  return units.size() < n ? 0 : static_cast<std::int64_t>(units.size() - n + 1);
}

void check_lines(std::string_view caller, std::string_view what, std::span<const std::string> lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto bad = find_bad_utf8(lines[i]);
    check(!bad, "{}: {}[{}] has a byte at {} that is not UTF-8, needs UTF-8", caller, what, i, bad.value_or(0));
  }
}

}  // namespace

NgramUnits NgramUnits::from_words(std::span<const std::string_view> words) {
  NgramUnits units;
  for (const std::string_view word : words) {
    if (!units.text_.empty()) units.text_ += ' ';
    units.append(word);
  }
  return units;
}

NgramUnits NgramUnits::from_characters(std::string_view line) {
  NgramUnits units;
  for_each_code_point(line, [&](CodePoint point, std::size_t offset) {
    if (!is_space(point.value)) units.append(line.substr(offset, point.size));
  });
  return units;
}

void NgramUnits::append(std::string_view unit) {
  begins_.push_back(text_.size());
  text_ += unit;
  ends_.push_back(text_.size());
}

std::string_view NgramUnits::ngram(std::size_t first, std::size_t n) const {
  return std::string_view(text_).substr(begins_[first], ends_[first + n - 1] - begins_[first]);
}

NgramMatches match_ngrams(const NgramUnits& hypothesis, const NgramUnits& reference, std::size_t n) {
  NgramMatches result = {num_ngrams(hypothesis, n), num_ngrams(reference, n), 0};
  if (result.hypothesis == 0 || result.reference == 0) return result;
  const Counts reference_counts = count_ngrams(reference, n);
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    const auto found = reference_counts.find(ngram);
    if (found != reference_counts.end()) result.matches += std::min(count, found->second);
  }
  return result;
}

void check_segments(std::string_view caller, std::span<const std::string> hypotheses,
                    std::span<const std::string> references) {
  check(hypotheses.size() == references.size(),
        "{}: hypotheses have {} lines, but references have {}, needs one line each", caller, hypotheses.size(),
        references.size());
  check(!hypotheses.empty(), "{}: hypotheses have 0 lines, need at least one", caller);
  check_lines(caller, "hypotheses", hypotheses);
  check_lines(caller, "references", references);
}

}  // namespace edgewise
