// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/search.h"

namespace edgewise {

/// What checked options mean over a vocabulary: which tokens may follow, how long an output may get, what it is worth.
class Rules {
 public:
  Rules(const SearchOptions& options, std::int64_t vocabulary_size);

  std::int64_t begin_token() const { return begin_token_; }
  std::int64_t end_token() const { return end_token_; }

  /// Tokens of the longest output allowed, the end token not counted.
  std::int64_t longest_output(std::int64_t input_length) const;

  /// What may follow `length` tokens, ascending.
  std::span<const std::int64_t> continuations(std::int64_t length, std::int64_t longest) const;

  /// Of a hypothesis of `length` tokens, the end token counted.
  double score(double log_probability, std::int64_t length) const;

 private:
  std::int64_t begin_token_;
  std::int64_t end_token_;
  double length_penalty_;
  double length_factor_;
  std::int64_t length_offset_;
  std::vector<std::int64_t> allowed_;
};

}  // namespace edgewise
