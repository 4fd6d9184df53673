// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What BLEU and chrF share.

namespace edgewise {

/// The last field of a signature: who computed the score, and whose numbers it equals.
inline constexpr std::string_view kMetricVersion = "edgewise-0.1+sacrebleu-2.6.0";

/// A line and its units, words or characters. What lies from one unit to a later one names an n-gram: so equal n-grams
/// need equal text between their units, such as one space.
class Units {
 public:
  /// Words with one space between them.
  static Units of_words(std::span<const std::string_view> words);

  /// The characters of a line without its white space.
  static Units of_characters(std::string_view line);

  std::size_t size() const { return begins_.size(); }

  /// The n-gram that begins at a unit; n is at least 1 and the last unit exists.
  std::string_view ngram(std::size_t first, std::size_t n) const;

 private:
  void append(std::string_view unit);

  std::string text_;
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> ends_;
};

struct NgramMatches {
  std::int64_t hypothesis = 0;  // n-grams of the hypothesis
  std::int64_t reference = 0;   // of the reference
  std::int64_t matches = 0;     // of both: the smaller count of each
};

NgramMatches match_ngrams(const Units& hypothesis, const Units& reference, std::size_t n);

/// Throws Error unless there is a line, each hypothesis has its reference, and all are UTF-8.
void check_segments(std::string_view caller, std::span<const std::string> hypotheses,
                    std::span<const std::string> references);

}  // namespace edgewise
