// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/text/tokenizer/tokenizer_file.h"

namespace edgewise {

/// Splits words into the tokens of a model of byte pairs (Sennrich et al. 2016, "Neural Machine Translation of Rare
/// Words with Subword Units"): each character is a token, then the pair of neighbouring tokens with the least rank
/// becomes one token, the leftmost of several, until no pair has a rank. Immutable.
class PairMerger {
 public:
  /// Throws Error, beginning with `where`, for a token or number that is there twice, a number outside of the largest
  /// vocabulary, a merge whose parts or result are no tokens, and an unknown token that is no token.
  PairMerger(const PairModel& model, const std::string& where);

  /// Appends the tokens of a word in UTF-8. A character without a token becomes the tokens of its bytes or the unknown
  /// token, or else nothing. Takes O(n log n) for n characters.
  void append_tokens(std::string_view word, std::vector<std::int64_t>& tokens) const;

  std::optional<std::int64_t> find(std::string_view token) const;

 private:
  struct Merge {
    std::uint32_t rank;
    std::int32_t token;
  };

  class Word;

  void append_symbols(std::string_view word, Word& symbols) const;
  void append_symbol(std::string_view symbol, Word& symbols, bool& ends_with_unknown) const;
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;
  void add_merges(const PairModel& model, const std::string& where);
  void index_characters(const PairModel& model);

  std::unordered_map<std::string, std::int32_t> tokens_;
  std::unordered_map<char32_t, std::int32_t> characters_;  // the tokens of one character, by the character
  std::unordered_map<std::uint64_t, Merge> merges_;        // by the two tokens of the pair
  std::array<std::int32_t, 256> bytes_;                    // by byte; empty unless has_bytes_
  bool has_bytes_ = false;
  std::optional<std::int32_t> unknown_;
  std::string prefix_;
  std::string suffix_;
  bool fuses_unknown_ = false;
  bool ignores_merges_ = false;
};

}  // namespace edgewise
