// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace edgewise {

/// A word of an input and one of its output that translate each other, both counted from 0.
struct WordLink {
  std::int64_t input = 0;
  std::int64_t output = 0;

  auto operator<=>(const WordLink&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

/// What people say of a pair of sentences: links that must be there, and links that may; sure ones are among those.
/// Both ascend, each link once.
struct GoldAlignment {
  std::vector<WordLink> sure;
  std::vector<WordLink> possible;
};

/// Reads a line such as `1-1 2p3`: input word, `-` for sure or `p` for possible, output word, whose first is number
/// `first`. Throws Error for anything else, in the name of `place`.
GoldAlignment parse_gold_alignment(std::string_view line, std::int64_t first, std::string_view place);

/// The alignment error rate of Och and Ney (2003), over any number of sentences.
class AlignmentErrors {
 public:
  /// Links found in a sentence; doubles count once.
  void add(std::vector<WordLink> found, const GoldAlignment& gold);

  /// 1 - (found and sure + found and possible) / (found + sure); 0 where there is neither.
  double rate() const;

 private:
  std::int64_t found_ = 0;
  std::int64_t sure_ = 0;
  std::int64_t found_sure_ = 0;
  std::int64_t found_possible_ = 0;
};

}  // namespace edgewise
