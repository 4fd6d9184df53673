// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// N-gram counts for BLEU and chrF.

namespace edgewise {

/// The last field of a signature: this program, and the version of sacreBLEU with equal numbers.
inline constexpr std::string_view kMetricVersion = "edgewise-0.1+sacrebleu-2.6.0";

/// The words or characters of a line, from which n-grams are built. An n-gram is a substring of one joined text, so
/// units are joined in the same way in all lines.
class NgramUnits {
 public:
  /// Joins words by single spaces.
  static NgramUnits from_words(std::span<const std::string_view> words);

  /// Takes the characters of a line, without white space.
  static NgramUnits from_characters(std::string_view line);

  std::size_t size() const { return begins_.size(); }

  /// Returns the n-gram of units first to first + n - 1, for n >= 1.
  std::string_view ngram(std::size_t first, std::size_t n) const;

 private:
  void append(std::string_view unit);

  std::string text_;
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> ends_;
};

struct NgramMatches {
  std::int64_t hypothesis = 0;  // n-grams in the hypothesis
  std::int64_t reference = 0;   // n-grams in the reference
  std::int64_t matches = 0;     // sum over distinct n-grams of the smaller count
};

NgramMatches match_ngrams(const NgramUnits& hypothesis, const NgramUnits& reference, std::size_t n);

/// Throws Error unless the numbers of lines are equal and at least 1, and all lines are UTF-8.
void check_segments(std::string_view caller, std::span<const std::string> hypotheses,
                    std::span<const std::string> references);

}  // namespace edgewise
