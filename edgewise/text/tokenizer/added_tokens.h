// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/text/byte_range.h"
#include "edgewise/text/tokenizer/tokenizer_file.h"

namespace edgewise {

/// A part of a text: an added token, or the text between two of them.
struct TextSection {
  ByteRange bytes;
  std::optional<std::int64_t> token = {};
};

/// Finds added tokens in texts. Immutable.
class AddedTokenFinder {
 public:
  /// `text_of(token)` returns the text to find; an empty one is never found.
  AddedTokenFinder(std::span<const AddedToken> tokens, const auto& text_of) {
    for (const AddedToken& token : tokens) add(text_of(token), token);
  }

  bool is_empty() const { return tokens_.empty(); }

  /// Returns the sections of a text, without empty ones between tokens. At one place the longest token is found; a
  /// token that letters beside it prevent hides shorter ones. Takes O(bytes · bytes of the longest token).
  std::vector<TextSection> split(std::string_view text) const;

 private:
  struct Found {
    const AddedToken* token = nullptr;  // null: none
    std::size_t end = 0;
  };

  void add(std::string_view text, const AddedToken& token);
  Found find(std::string_view text, std::size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;   // by a node and the next byte; node 0 is empty
  std::unordered_map<std::uint32_t, std::size_t> token_of_;  // by node: index of the token that ends there
};

}  // namespace edgewise
