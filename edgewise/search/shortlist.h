// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/search/scorer.h"

// A lexical shortlist: the output tokens that may translate an input, by the tokens of the input. A model with a
// shortlist computes the logits of these tokens alone, a few hundred instead of a whole vocabulary. Its file has the
// format of Marian; numbers are little-endian, of 64 bits, but tokens have 32:
//   0xF11A48D5013417F5; a checksum; `first`; `best`; number of offsets; number of tokens
//   the offsets: input token i has the list of tokens offsets[i] … offsets[i + 1] - 1
//   the tokens, those of the first list first

namespace edgewise {

/// The content of a shortlist's file.
struct ShortlistTable {
  std::uint64_t first = 0;                   // tokens 0 … first - 1 may translate any input
  std::uint64_t best = 0;                    // the most tokens of a list, as its maker chose it; has no effect
  std::vector<std::uint64_t> offsets = {0};  // [lists + 1], from 0 to the number of tokens, ascending
  std::vector<std::uint32_t> tokens = {};
};

/// Parses such a file. Throws Error, beginning with `where`, for another size than the numbers of offsets and tokens
/// give, for offsets that do not ascend from 0 to the number of tokens, and for another checksum.
ShortlistTable parse_shortlist(std::string_view bytes, const std::string& where);

/// Returns the checksum that a file must have: it covers the whole numbers of 64 bits after it, but not the last token
/// of an odd number.
std::uint64_t shortlist_checksum(std::string_view file);

/// Returns the bytes of the file of a table whose offsets are as described. parse_shortlist returns this table.
std::string serialize_shortlist(const ShortlistTable& table);

/// The vocabularies of a model, for its shortlist.
struct ShortlistVocabularies {
  std::int64_t input_size = 0;
  std::int64_t output_size = 0;
  std::int64_t end_token = 0;  // which ends outputs
  bool is_shared = false;      // whether inputs and outputs have the same tokens
};

/// The shortlist of a model. Threads may use it at the same time.
class Shortlist {
 public:
  /// Throws Error, beginning with `where`, unless the table has a list for each input token, or for each but the last
  /// one, which is the padding of imported models, and unless its tokens are in the output vocabulary.
  Shortlist(ShortlistTable table, const ShortlistVocabularies& vocabularies, const std::string& where);

  /// Returns the tokens that outputs for an input may have, in ascending order: the first ones of the table, the list
  /// of each token of the input, the end token and, with a shared vocabulary, the tokens of the input. As in Marian,
  /// the next tokens after the first ones that are not among them fill their number up to a multiple of 8. Input tokens
  /// without a list have no effect.
  std::vector<std::int32_t> select(const Tokens& input) const;

  const ShortlistTable& table() const { return table_; }

 private:
  ShortlistTable table_;
  ShortlistVocabularies vocabularies_;
};

}  // namespace edgewise
