// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace edgewise {

/// A link between an input word and an output word that translate each other, both counted from 0.
struct WordLink {
  std::int64_t input = 0;
  std::int64_t output = 0;

  auto operator<=>(const WordLink&) const = default;  // NOLINT(modernize-use-nullptr): false alarm of clang-tidy 14
};

/// A manual alignment of a sentence pair: sure links, and possible links, which include the sure ones. Both lists
/// ascend without repetitions.
struct GoldAlignment {
  std::vector<WordLink> sure;
  std::vector<WordLink> possible;
};

/// Parses a line such as `1-1 2p3`: input word, `-` for sure or `p` for possible, output word. Words are counted from
/// `first`. Throws Error for other text; the message begins with `place`.
GoldAlignment parse_gold_alignment(std::string_view line, std::int64_t first, std::string_view place);

/// Computes the alignment error rate (Och and Ney 2003) over any number of sentences.
class AlignmentErrors {
 public:
  /// Adds the links of a sentence; repeated links count once.
  void add(std::vector<WordLink> found, const GoldAlignment& gold);

  /// Returns 1 - (|found ∩ sure| + |found ∩ possible|) / (|found| + |sure|); 0 if both sets are empty.
  double rate() const;

 private:
  std::int64_t found_ = 0;
  std::int64_t sure_ = 0;
  std::int64_t found_sure_ = 0;
  std::int64_t found_possible_ = 0;
};

}  // namespace edgewise
